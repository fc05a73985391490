"""Short names of the clustering estimators."""

import ast
import re

from sklearn.base import ClusterMixin

import separatrix
from separatrix.cli import Refusal

__all__ = ["make_estimator", "methods"]


def _public_names():
    """Public names by short name: the file a class is in, its own name if it is not alone."""
    homes = {name: home for name, home in separatrix._HOMES.items() if home and "." in home}
    names = {"auto": "AutoClustering"}
    for name, home in homes.items():
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name.removesuffix("Clustering")).lower()
        alone = list(homes.values()).count(home) == 1
        names[home.split(".")[1].replace("_", "-") if alone else words] = name
    return names


def _class_of(method):
    """Clustering estimator of this short name, or None."""
    found = getattr(separatrix, _public_names().get(method, ""), None)
    return found if found is not None and issubclass(found, ClusterMixin) else None


def methods():
    """Clustering estimators by short name."""
    return {method: _class_of(method) for method in _public_names() if _class_of(method)}


def make_estimator(method, n_clusters, settings, random_state):
    """Estimator with parameters given as texts ``name=value``."""
    found = _class_of(method)
    if found is None:
        raise Refusal(f"there is no method {method!r}; there are {', '.join(methods())}")
    if n_clusters is None and method != "auto":
        raise Refusal(f"method {method} needs a number of clusters: pass -k")
    estimator = found(n_clusters, random_state=random_state)
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
