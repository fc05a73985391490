"""What must be trusted to load a saved model."""

from typing import Any

import separatrix
from separatrix.estimators.base import BoundaryClustering
from separatrix.estimators.classifier import BoundaryClassifier

__all__ = ["skops_trusted_types"]

# Homes of what models by boundaries hold; other models search neighbours and may hold any part.
_OF_BOUNDARIES = ("models.boundaries", "models.calibration", "similarity.kernels")
# The part of a classifier on a graph, which the command line does not save.
_OF_CLASSIFIERS = ("separatrix.models.graph_responses.Spread",)
_OF_SEARCHES = (
    "scipy.sparse._csr.csr_array",
    "sklearn.metrics._dist_metrics.EuclideanDistance",
    "sklearn.metrics._dist_metrics.EuclideanDistance32",
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.neighbors._kd_tree.KDTree32",
    "sklearn.neighbors._kd_tree.KDTree64",
)


def skops_trusted_types(estimator: Any) -> list[str]:
    """Types that skops must trust to load an estimator that it saved.

    Parameters
    ----------
    estimator : object or class
        Estimator of this library, its class, or a pipeline that holds one.

    Returns
    -------
    types : list of str
        Full names of the estimator and of all types that its models may hold, for the parameter
        `trusted` of `skops.io.load` and the parameter `skops_trusted_types` of
        `mlflow.sklearn.log_model`. Models on graphs hold search trees of scikit-learn, whose
        compiled code does not check what it reads: load only files whose origin you know. The
        model files of the command line do not contain them.

    Examples
    --------
    >>> from separatrix import LDAKMeans, skops_trusted_types
    >>> skops_trusted_types(LDAKMeans)[0]
    'separatrix.classics.lda_kmeans.LDAKMeans'
    """
    if hasattr(estimator, "steps"):
        ours = [step for _, step in estimator.steps if _is_ours(type(step))]
        return sorted({name for step in ours for name in skops_trusted_types(step)})
    cls = estimator if isinstance(estimator, type) else type(estimator)
    if not _is_ours(cls):
        raise TypeError(
            f"estimator is a {cls.__module__}.{cls.__name__}, not one of this library; pass "
            "an estimator of separatrix, its class, or a pipeline that holds one."
        )
    by_boundaries = issubclass(cls, BoundaryClustering | BoundaryClassifier)
    parts = [
        f"separatrix.{home}.{name}"
        for name, home in separatrix._PARTS.items()
        if home in _OF_BOUNDARIES or not by_boundaries
    ]
    others = () if by_boundaries else (*_OF_CLASSIFIERS, *_OF_SEARCHES)
    return sorted({f"{cls.__module__}.{cls.__name__}", *parts, *others})


def _is_ours(cls):
    return cls.__module__.partition(".")[0] == separatrix.__name__
