"""Methods on graphs and trees for samples that are not in memory: some of them represent all."""

import numpy as np
from sklearn.utils.random import sample_without_replacement

from separatrix._sklearn import lazy_kind
from separatrix.data.gate import check_samples, check_weights
from separatrix.data.rows import answers, rows_at

# Samples that are in the graph. A search among them for every other sample takes most of the time.
N_REPRESENTATIVES = 5_000
OF_ALL = ("min_size", "max_size", "outliers")
LINKED = ("must_link", "cannot_link", "known_labels")


def fit_to_representatives(estimator, X, sample_weight, linked, rng):
    """Fit an estimator to some samples of a dask array, or of blocks; the others follow these.

    Parameters
    ----------
    estimator : BaseClustering
        The estimator, whose model is that of the representatives.
    X : dask array or RowBlocks
        All samples.
    sample_weight : array-like or None
        Their weights, in proportion to which representatives are drawn.
    linked : tuple
        Links and known labels.
    rng : RandomState
        Draws the representatives.
    """
    check_needs_no_other(estimator, X, linked)
    X = check_samples(estimator, X, reset=True)
    names = getattr(estimator, "feature_names_in_", None)
    drawn, weight = representatives(X.shape[0], check_weights(X, sample_weight), rng)
    estimator._fit(estimator._validate_X(rows_at(X, drawn), reset=True), weight)
    if names is not None:
        estimator.feature_names_in_ = names
    estimator.representatives_ = drawn
    estimator.labels_ = answers(estimator._model.labels, X, dtype=np.int32)
    return estimator


def check_needs_no_other(estimator, X, linked):
    """Refuse what concerns all samples, of which the representatives do not know the others."""
    asked = [name for name in OF_ALL if getattr(estimator, name, None) is not None]
    asked += [name for name, value in zip(LINKED, linked, strict=True) if value is not None]
    asked += [
        f"{name}='precomputed'"
        for name in ("matrix", "affinity")
        if getattr(estimator, name, None) == "precomputed"
    ]
    if asked:
        kind, remedy = lazy_kind(X)
        raise TypeError(
            f"{asked[0]} needs all samples in memory, got {kind}, of which "
            f"{type(estimator).__name__} clusters {N_REPRESENTATIVES:,} samples: pass {remedy}, "
            f"or leave out {asked[0]}."
        )


def representatives(n_samples, weight, rng):
    """Indices of the samples that represent all, in increasing order, and their weights."""
    if weight is not None:
        present = np.flatnonzero(weight)
        if len(present) <= N_REPRESENTATIVES:
            return present, weight[present]
        ends = np.cumsum(weight)
        drawn = np.searchsorted(ends, rng.uniform(0, ends[-1], N_REPRESENTATIVES), side="right")
        return np.sort(drawn), None
    if n_samples <= N_REPRESENTATIVES:
        return np.arange(n_samples), None
    drawn = sample_without_replacement(n_samples, N_REPRESENTATIVES, random_state=rng)
    return np.sort(drawn), None
