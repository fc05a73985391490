"""Scores of samples as one column per cluster, and the margins that follow from them."""

import math
import warnings
from contextlib import contextmanager

import numpy as np
import scipy.sparse as sp

from separatrix._sklearn import is_dask, is_numpy, last_step, namespace_of, to_numpy
from separatrix.data.gate import check_numbers
from separatrix.data.rows import exactly_beside
from separatrix.result import decoded

__all__ = [
    "agreed_shares",
    "checked_labels",
    "cluster_columns",
    "cluster_numbers",
    "cluster_scores",
    "dense",
    "ignoring_names",
    "in_memory",
    "leads",
    "log_odds",
    "margins_of",
    "predicted",
    "probabilities_of",
    "rows_for",
    "score_columns",
    "score_features",
]

# Odds of all other clusters together below which a sample is as good as certain.
LEAST_ODDS = 1e-9


def in_memory(array):
    """A NumPy array of values that may be lazy or in another library."""
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


def cluster_columns(scores, n_clusters):
    """The same in any array namespace, and one column of zeros for one cluster.

    If one of two clusters was never split off, their scores differ by infinity; here the
    difference is one.
    """
    if scores.ndim == 2:
        return scores
    xp, _ = namespace_of(scores)
    half = 0.5 * xp.where(xp.isinf(scores), xp.sign(scores), scores)
    return xp.stack([-half, half][:n_clusters], axis=1)


def score_features(scores, n_clusters):
    """Columns of which all are finite: a cluster that was never split off has the lowest."""
    xp, _ = namespace_of(scores)
    columns = cluster_columns(scores, n_clusters)
    missing = xp.isinf(columns)
    lowest = xp.min(xp.where(missing, np.inf, columns), axis=1, keepdims=True)
    return xp.where(missing, lowest, columns)


def probabilities_of(scores, n_clusters, temperature=1.0):
    """Softmax of scores over a temperature; the largest is that of `decoded`, even in ties.

    Scores that differ only in the last digits may be equal after the division.
    """
    xp, device = namespace_of(scores)
    columns = cluster_columns(scores, n_clusters)
    behind = columns - xp.max(columns, axis=1, keepdims=True)
    # which may be nothing in the precision of the scores
    temperature = max(float(temperature), float(xp.finfo(columns.dtype).smallest_normal))
    with np.errstate(over="ignore"):  # clusters infinitely far behind have probability zero
        odds = xp.exp(behind / temperature)
    clusters = xp.arange(n_clusters, dtype=xp.int32, device=device)
    won = decoded(scores)[:, None] == clusters[None, :]
    below = 1 - 8 * float(xp.finfo(odds.dtype).eps)
    odds = xp.where(won, xp.ones_like(odds), xp.where(odds < below, odds, below))
    return odds / xp.sum(odds, axis=1, keepdims=True)


def agreed_shares(probabilities, offset, slope):
    r"""Probabilities that other fits agree with, of those that one fit gives.

    The log-odds of the most probable cluster become :math:`a + b \log \frac{p}{1 - p}`; the others
    keep their ratios, and none gets more than the most probable.

    Parameters
    ----------
    probabilities : array of shape (n_samples, n_clusters)
        Probabilities, in which the first of the largest is the cluster of a sample.
    offset, slope : float
        The numbers a and b.

    Returns
    -------
    probabilities : array of shape (n_samples, n_clusters)
    """
    xp, _ = namespace_of(probabilities)
    n_clusters = probabilities.shape[1]
    if n_clusters == 1:
        return probabilities
    won, odds, others = _odds(probabilities)
    share = xp.where(others > 0, odds / xp.where(others > 0, others, 1.0), 1 / (n_clusters - 1))
    odds = share * math.exp(-offset) * xp.where(others > LEAST_ODDS, others, LEAST_ODDS) ** slope
    below = 1 - 8 * float(xp.finfo(odds.dtype).eps)
    odds = xp.where(won, xp.ones_like(odds), xp.where(odds < below, odds, below))
    return odds / xp.sum(odds, axis=1, keepdims=True)


def log_odds(probabilities):
    """Log-odds of the most probable clusters, the same for all that are next to certain."""
    _, _, others = _odds(probabilities)
    return -np.log(np.maximum(others[:, 0], LEAST_ODDS))


def _odds(probabilities):
    """Which clusters are the most probable, how probable the others are beside them, and all."""
    xp, device = namespace_of(probabilities)
    clusters = xp.arange(probabilities.shape[1], device=device)
    won = xp.argmax(probabilities, axis=1)[:, None] == clusters[None, :]
    odds = probabilities / xp.max(probabilities, axis=1, keepdims=True)
    odds = xp.where(won, xp.zeros_like(odds), odds)
    return won, odds, xp.sum(odds, axis=1, keepdims=True)


def cluster_scores(estimator, X):
    """Decision function of shape (n_samples, n_clusters)."""
    with ignoring_names():
        return score_columns(in_memory(estimator.decision_function(rows_for(estimator, X))))


def predicted(estimator, X):
    """Clusters that an estimator gives to samples."""
    with ignoring_names():
        return in_memory(estimator.predict(rows_for(estimator, X)))


def rows_for(estimator, X):
    """Samples where the estimator takes them: NumPy's on the device of those it was fitted to."""
    labels = getattr(last_step(estimator), "labels_", None)
    if not isinstance(X, np.ndarray) or labels is None or is_dask(labels) or is_numpy(labels):
        return X
    return exactly_beside(X, labels)


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
            f"labels has {strange[0]}, but the scores are for clusters 0 to {n_clusters - 1}; "
            "leave out samples that belong to none of these."
        )
    return leads(scores)[np.arange(n_samples), labels.astype(np.intp)]
