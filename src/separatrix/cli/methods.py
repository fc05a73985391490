"""Names of methods: short names of the estimators, and those of the candidates of auto."""

import ast

import separatrix
from separatrix.cli import Refusal

__all__ = ["compared_by_default", "make_candidate", "make_estimator", "methods", "public_name"]


def _public_names():
    """Public names by short name, in the order of the alphabet."""
    found = [(one.short_name, name) for name, one in separatrix._REGISTRY.items()]
    return dict(sorted((short, name) for short, name in found if short))


def methods():
    """Clustering estimators by short name."""
    return {short: getattr(separatrix, name) for short, name in _public_names().items()}


def make_estimator(method, n_clusters, settings, random_state, outliers=None):
    """Estimator with parameters given as texts ``name=value``, and outliers as a text or None.

    Short names of estimators come first; a candidate of auto of the same name is the estimator
    on what all candidates share, and `compare` shows the estimator too.
    """
    candidate = None if method in _public_names() else _candidate(method)
    if n_clusters is None and method != "auto":
        raise Refusal(f"method {method} needs a number of clusters: pass -k")
    if candidate is None:
        public = getattr(separatrix, _public_names()[method])
        estimator = public(n_clusters, random_state=random_state)
    else:
        from separatrix.cli.candidates import CandidateClustering

        estimator = CandidateClustering(n_clusters, candidate=candidate, random_state=random_state)
    if outliers is not None:
        if "outliers" not in estimator.get_params():
            raise Refusal(f"--outliers: {method} cannot leave out rows; see `methods` for others")
        settings = [*settings, f"outliers={outliers}"]
    for setting in settings:
        name, _, value = setting.partition("=")
        known = sorted(set(estimator.get_params()) - {"candidate"})
        if name not in known:
            told = f"{method} has no such parameter; it has {', '.join(known)}"
            raise Refusal(f"--set {setting}: {told}")
        try:
            estimator.set_params(**{name: ast.literal_eval(value)})
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            estimator.set_params(**{name: value})
    return estimator


def public_name(estimator, method):
    """Name of an estimator for users: its class, or the name of the candidate."""
    is_public = type(estimator).__name__ in separatrix._REGISTRY
    return type(estimator).__name__ if is_public else method


def _candidate(method):
    """Name of the candidate of auto that is called so."""
    from separatrix.cli.candidates import candidate_named, candidates

    found = candidate_named(method)
    if found is None:
        known = ", ".join([*_public_names(), *(f"'{one}'" for one in candidates())])
        raise Refusal(f"there is no method {method!r}; there are {known}")
    return found


def make_candidate(method, n_clusters, random_state):
    """What `compare` runs under this name: the labels are those of `cluster -m`."""
    from separatrix.cli.candidates import seeded

    if method in _public_names():
        return make_estimator(method, n_clusters, [], random_state)
    return seeded(_candidate(method), random_state)


def compared_by_default():
    """Names of the methods that `compare` runs: the candidates of auto."""
    from separatrix.selection.pool import default_candidates

    return list(default_candidates())
