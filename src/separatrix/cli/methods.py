"""Short names of the clustering estimators."""

import ast

import separatrix
from separatrix.cli import Refusal

__all__ = ["make_estimator", "methods"]


def _public_names():
    """Public names by short name, in the order of the alphabet."""
    found = [(one.short_name, name) for name, one in separatrix._REGISTRY.items()]
    return dict(sorted((short, name) for short, name in found if short))


def methods():
    """Clustering estimators by short name."""
    return {short: getattr(separatrix, name) for short, name in _public_names().items()}


def make_estimator(method, n_clusters, settings, random_state):
    """Estimator with parameters given as texts ``name=value``."""
    if method not in _public_names():
        raise Refusal(f"there is no method {method!r}; there are {', '.join(methods())}")
    if n_clusters is None and method != "auto":
        raise Refusal(f"method {method} needs a number of clusters: pass -k")
    estimator = getattr(separatrix, _public_names()[method])(n_clusters, random_state=random_state)
    for setting in settings:
        name, _, value = setting.partition("=")
        if name not in estimator.get_params():
            known = ", ".join(estimator.get_params())
            raise Refusal(f"--set {setting}: {method} has no such parameter; it has {known}")
        try:
            estimator.set_params(**{name: ast.literal_eval(value)})
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            estimator.set_params(**{name: value})
    return estimator
