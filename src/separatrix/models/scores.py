"""Scores of samples as one column per cluster, and the margins that follow from them."""

import warnings
from contextlib import contextmanager

import numpy as np
import scipy.sparse as sp

from separatrix._sklearn import is_dask, to_numpy
from separatrix.data.gate import check_numbers

__all__ = [
    "checked_labels",
    "cluster_numbers",
    "cluster_scores",
    "dense",
    "ignoring_names",
    "in_memory",
    "leads",
    "margins_of",
    "predicted",
    "score_columns",
]


def in_memory(array):
    """A NumPy array of what may be lazy or live elsewhere."""
    return np.asarray(to_numpy(array.compute() if is_dask(array) else array))


def dense(rows):
    """The same, of rows that may be sparse as well."""
    return rows.toarray() if sp.issparse(rows) else in_memory(rows)


def cluster_numbers(labels):
    """Labels of any shape, which must be numbers of clusters."""
    labels = check_numbers(labels, "labels")
    strange = labels[~(np.abs(labels) < 2**53) | (labels != np.round(labels))]
    if strange.size or not labels.size:
        what = f"has {strange[0]:g}" if strange.size else "is empty"
        raise ValueError(f"labels {what}: pass numbers of clusters, which are integers.")
    return labels.astype(np.intp)


def checked_labels(labels, n_samples=None):
    """Numbers of clusters, one for each sample."""
    labels = cluster_numbers(labels)
    if labels.ndim != 1 or n_samples not in (None, len(labels)):
        beside = "" if n_samples is None else f" beside {n_samples} samples"
        raise ValueError(f"labels has shape {labels.shape}{beside}; pass one per sample.")
    return labels


def score_columns(scores):
    """Scores of shape (n_samples, n_clusters).

    Two clusters share their one value, so that their scores differ by it.
    """
    scores = check_numbers(scores, "scores")
    if scores.ndim not in (1, 2) or not scores.size or np.isnan(scores).any():
        raise ValueError(
            f"scores has shape {scores.shape} and NaN in {np.count_nonzero(np.isnan(scores))} "
            "entries: pass one value, or one for each cluster, per sample."
        )
    return scores if scores.ndim == 2 else np.column_stack([-scores / 2, scores / 2])


def cluster_scores(estimator, X):
    """Decision function of shape (n_samples, n_clusters)."""
    with ignoring_names():
        return score_columns(in_memory(estimator.decision_function(X)))


def predicted(estimator, X):
    """Clusters that an estimator gives to samples."""
    with ignoring_names():
        return in_memory(estimator.predict(X))


@contextmanager
def ignoring_names():
    """Let rows without feature names pass: a grid of points has none, and needs none."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield


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
    n_samples, n_clusters = scores.shape
    labels = checked_labels(labels, n_samples)
    strange = np.setdiff1d(labels, np.arange(n_clusters))
    if strange.size:
        raise ValueError(
            f"labels has {strange[0]}, but the scores are of clusters 0 to {n_clusters - 1}; "
            "leave out samples that belong to none of these."
        )
    return leads(scores)[np.arange(n_samples), labels.astype(np.intp)]
