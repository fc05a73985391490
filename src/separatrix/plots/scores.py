"""Scores of samples as one column per cluster, and the margins that follow from them."""

import warnings

import numpy as np
import scipy.sparse as sp

from separatrix._sklearn import to_numpy
from separatrix.chunks import is_dask

__all__ = ["cluster_scores", "dense", "in_memory", "leads", "margins_of", "scores_or_votes"]


def in_memory(array):
    """A NumPy array of what may be lazy or live elsewhere."""
    return np.asarray(to_numpy(array.compute() if is_dask(array) else array))


def dense(rows):
    """The same, of rows that may be sparse as well."""
    return rows.toarray() if sp.issparse(rows) else in_memory(rows)


def cluster_scores(estimator, X):
    """Decision function of shape (n_samples, n_clusters).

    Two clusters share their one value, so that their scores differ by it.
    """
    scores = _without_names(estimator.decision_function, X)
    if scores.ndim == 2:
        return scores
    if getattr(estimator, "n_clusters", 2) == 1:
        return scores[:, None]
    return np.column_stack([-scores / 2, scores / 2])


def scores_or_votes(estimator, X):
    """Scores, or ones and zeros for a clusterer that only predicts."""
    if hasattr(estimator, "decision_function"):
        return cluster_scores(estimator, X)
    n_clusters = int(in_memory(estimator.labels_).max()) + 1
    return np.eye(n_clusters)[_without_names(estimator.predict, X)]


def _without_names(method, X):
    with warnings.catch_warnings():
        # a grid of points has no feature names, and needs none
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return in_memory(method(X))


def leads(scores):
    """Lead of each cluster over the best other one: positive where it wins."""
    largest = np.finfo(np.float64).max / 4
    finite = np.clip(scores, -largest, largest)  # clusters that win nowhere score -inf
    n_clusters = finite.shape[-1]
    if n_clusters == 1:
        return finite
    others = [np.delete(finite, cluster, axis=-1).max(axis=-1) for cluster in range(n_clusters)]
    return finite - np.stack(others, axis=-1)


def margins_of(scores, labels):
    """Lead of each sample's own cluster; negative where another cluster scores higher."""
    return np.take_along_axis(leads(scores), np.asarray(labels, np.intp)[:, None], axis=1)[:, 0]
