"""What every clusterer derives from its scores: features, probabilities, a score of samples."""

import warnings
from copy import copy
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from separatrix._sklearn import is_dask, is_lazy, like, namespace_of
from separatrix._typing import Array, Samples
from separatrix.data.rows import rows_beside
from separatrix.labels.numbering import align_labels
from separatrix.labels.sizes import size_bounds
from separatrix.models.calibration import forgetting, likeliest_agreement
from separatrix.models.scores import (
    agreed_shares,
    ignoring_names,
    in_memory,
    probabilities_of,
    score_features,
)

# Ways to halve samples, either half of which other fits are to. Fits to two thirds have more in
# common with a fit to all, which made errors smaller on some sets and larger on others.
N_SPLITS = 3


def transformed(self: Any, X: Samples) -> Array:
    """Scores of samples as features, one for each cluster.

    Parameters
    ----------
    X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
        Samples, as for `predict`.

    Returns
    -------
    features : array of shape (n_samples, n_clusters)
        `decision_function`, its one value for two clusters halved into minus and plus. The
        largest is that of `predict`. All are finite: a cluster that was never split off has the
        lowest score of each sample. Lazy for a dask array.
    """
    scores = scores_for(self, X, "transform")
    return columns_made(score_features, scores, self._n_features_out)


def predicted_probabilities(self: Any, X: Samples) -> Array:
    """Probability of each cluster, calibrated on held-back labels.

    A boundary learned from the clusters of one half of some training samples predicts those of
    the other half. The probabilities are the softmax of the scores divided by the temperature at
    which these predictions are likeliest. So they say how certain the cluster of a sample is,
    given the clusters; they do not say whether another fit would find the same clusters, unless
    `calibrate` was called. The first call takes longer, since it finds the temperature.

    Parameters
    ----------
    X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
        Samples, as for `predict`.

    Returns
    -------
    probabilities : array of shape (n_samples, n_clusters)
        Rows add up to one, and the largest is that of `predict`. Lazy for a dask array.
    """
    scores = scores_for(self, X, "predict_proba")
    found = columns_made(probabilities_of, scores, self._n_features_out, self._temperature)
    return as_calibrated(self, found)


def as_calibrated(estimator, probabilities):
    """Probabilities of a model, or what `calibrate` makes of them."""
    agreement = getattr(estimator, "_agreement", None)
    if agreement is None:
        return probabilities
    if is_dask(probabilities):
        return probabilities.map_blocks(agreed_shares, *agreement, dtype=probabilities.dtype)
    return agreed_shares(probabilities, *agreement)


def calibrated(self: Any, X: Samples) -> Any:
    """Make `predict_proba` say how likely another fit gives a sample the same cluster.

    The clusterer is fitted to each half of the samples, for three ways to halve them, and predicts
    the clusters of the other half. The log-odds of the most probable clusters are then shifted and
    scaled so that the agreement of these fits is likeliest. That takes about as long as three more
    fits. Probabilities are low if other fits do not find the same clusters.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples of the same source: those of the fit, or others. Links, weights and known labels
        are not taken into account.

    Returns
    -------
    self : object
        The fitted estimator.
    """
    check_is_fitted(self)
    if self.__sklearn_tags__().input_tags.pairwise or is_lazy(X):
        raise ValueError(
            "calibrate fits halves of X, which must be a feature matrix in memory, not "
            "similarities, a kernel matrix, a dask array or blocks; pass some samples in memory."
        )
    X = self._validate_X(X, reset=False)
    if X.shape[0] < 4 * self.n_clusters:
        raise ValueError(
            f"calibrate fits halves of X, but n_samples={X.shape[0]} is less than 4 * n_clusters="
            f"{4 * self.n_clusters}; pass more samples."
        )
    if _has_start(self) and len(self.init) != X.shape[0]:
        raise ValueError(
            f"calibrate fits halves of X from init, which has {len(self.init)} labels, but X has "
            f"{X.shape[0]} samples; pass the samples of the fit."
        )
    if self._n_features_out > 1:
        probabilities = probabilities_as_new(self, X)
        agree = agreement_of_refits(self, X, probabilities.argmax(axis=1))
        self._agreement = likeliest_agreement(probabilities, agree)
    return self


def probabilities_as_new(estimator, X):
    """Probabilities of samples, not yet calibrated, as if they were new to the model."""
    changed = copy(estimator)
    changed._agreement = None
    found = np.empty((X.shape[0], estimator._n_features_out))
    with ignoring_names():
        for half in (np.arange(start, X.shape[0], 2) for start in (0, 1)):
            rows = rows_beside(X, half)
            changed._model = forgetting(estimator._model, rows)
            found[half] = in_memory(changed.predict_proba(rows))
    return found


def agreement_of_refits(estimator, X, labels):
    """Which labels of each half of the samples a fit to the other half finds again.

    Returns
    -------
    agree : ndarray of bool of shape (N_SPLITS, n_samples)
    """
    agree = np.empty((N_SPLITS, X.shape[0]), dtype=bool)
    with warnings.catch_warnings():  # a cluster that a half lacks counts as disagreement
        warnings.simplefilter("ignore", ConvergenceWarning)
        for split in range(N_SPLITS):
            order = np.random.RandomState(split).permutation(X.shape[0])
            halves = [np.sort(half) for half in np.array_split(order, 2)]
            for half, other in (halves, halves[::-1]):
                refit = like_fit(estimator, other).fit(rows_beside(X, other))
                found = align_labels(labels, in_memory(refit.predict(X)))
                agree[split, half] = (found == labels)[half]
    return agree


def like_fit(estimator, rows):
    """A clusterer for some samples: their part of a start, bounds in proportion to the fit's."""
    n_samples = estimator.labels_.shape[0]
    part = clone(estimator)
    if _has_start(part):
        part.init = np.asarray(part.init)[rows]
    bounds = {name: getattr(part, name, None) for name in ("min_size", "max_size")}
    least, most = size_bounds(n_samples, part.n_clusters, **bounds)
    ratio = len(rows) / n_samples
    if bounds["min_size"] is not None:
        part.min_size = np.floor(ratio * least).astype(int)
    if bounds["max_size"] is not None:
        part.max_size = np.ceil(ratio * most).astype(int)
    return part


def _has_start(estimator):
    """Whether a clusterer starts from labels of its own samples."""
    return not isinstance(getattr(estimator, "init", ""), str)


def mean_probability(self: Any, X: Samples, y: Any = None) -> float:
    """Mean probability of the predicted clusters: larger is better.

    It estimates, by `predict_proba`, the share of the samples whose clusters a boundary learned
    from other samples would predict. Unlike the objectives, which have units of their own, it
    compares fits of any kind with the same number of clusters. It is one for one cluster.

    Parameters
    ----------
    X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
        Samples, as for `predict`.
    y : None
        Ignored.

    Returns
    -------
    score : float
        Between ``1 / n_clusters`` and one.
    """
    probabilities = self.predict_proba(X)
    if is_dask(probabilities):
        return float(probabilities.max(axis=1).mean().compute())
    xp, _ = namespace_of(probabilities)
    return float(xp.mean(xp.max(probabilities, axis=1)))


def assigned(self: Any, X: Samples, *, min_size: Any = None, max_size: Any = None) -> Array:
    """Cluster of each sample, so that the clusters have sizes within bounds.

    Of all labels within the bounds, these have the largest total of `transform`, exactly. The
    samples are labelled as one batch, so that equal samples may be separated; `predict` labels
    each sample by itself.

    Parameters
    ----------
    X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
        Samples, as for `predict`.
    min_size, max_size : int, float or array-like of shape (n_clusters,), default=None
        Smallest and largest number of samples in a cluster, for all clusters or one for each:
        whole numbers, or shares of the samples if they are below 1. None sets no bound.

    Returns
    -------
    labels : array of shape (n_samples,)
        Cluster numbers from 0. In memory, even for a dask array.
    """
    scores = columns_made(score_features, scores_for(self, X, "assign"), self._n_features_out)
    return within_bounds(scores, min_size, max_size)


def within_bounds(scores, min_size, max_size, n_clusters=None):
    """Best labels by columns of scores whose clusters have sizes within bounds.

    Clusters without a column have the lowest scores.
    """
    from separatrix.labels.bounded import bounded_labels  # which loads numba

    columns = in_memory(scores)
    n_samples, n_present = columns.shape
    n_clusters = n_present if n_clusters is None else n_clusters
    bounds = size_bounds(n_samples, n_clusters, min_size, max_size)
    missing = np.repeat(columns.min(axis=1, keepdims=True), n_clusters - n_present, axis=1)
    labels = bounded_labels(np.hstack([columns, missing]), *bounds)
    return labels if is_dask(scores) else like(labels, scores)


def scores_for(estimator, X, method):
    """Scores of samples that a method is given, which errors name."""
    named = getattr(estimator, "_scores", None)
    return estimator.decision_function(X) if named is None else named(X, method)


def columns_made(function, scores, n_clusters, *parameters):
    """One column per cluster, computed from scores by a function; lazily for a dask array."""
    if not is_dask(scores):
        return function(scores, n_clusters, *parameters)
    return scores.map_blocks(
        function,
        n_clusters,
        *parameters,
        chunks=(scores.chunks[0], (n_clusters,)),
        new_axis=1 if scores.ndim == 1 else None,
        dtype=scores.dtype,
    )


def temperature_of(estimator):
    """What a fitted clusterer divides its scores by before their softmax."""
    check_is_fitted(estimator)
    calibration = getattr(estimator, "_calibration", None)
    if calibration is None:
        raise ValueError(
            f"This {type(estimator).__name__} was saved by a version that had no probabilities; "
            "fit it again to have them."
        )
    return calibration.temperature
