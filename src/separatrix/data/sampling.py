"""Rows drawn from data of any size."""

import numpy as np
import scipy.sparse as sp

from separatrix._sklearn import like, namespace_of, to_numpy
from separatrix.data.chunks import is_dask

__all__ = ["rows_at", "sample_rows", "sample_size"]

SAMPLE_SIZE = 20_000


def sample_size(n_samples):
    """Rows to find a start on: all of up to 20,000, later a fiftieth.

    The sample's own error is then small beside what the first passes over all rows correct.
    """
    return max(SAMPLE_SIZE, n_samples // 50)


def rows_at(X, drawn=None):
    """Rows `drawn` of `X`, or all of them, as a NumPy or sparse matrix."""
    if is_dask(X):
        return to_numpy((X if drawn is None else X[drawn]).compute())
    if drawn is None:
        return to_numpy(X)
    if sp.issparse(X):
        return X[drawn]
    return to_numpy(namespace_of(X)[0].take(X, like(drawn, X), axis=0))


def sample_rows(X, sample_weight, *, size, rng):
    """Rows of `X` as a NumPy or sparse matrix: those of positive weight, or a sample of `size`.

    Parameters
    ----------
    X : {array, sparse matrix, dask array} of shape (n_samples, n_features)
        The data.
    sample_weight : array of shape (n_samples,) or None
        Nonnegative weights.
    size : int
        Most rows to return. A larger X is drawn from with replacement, in proportion to the
        weights.
    rng : RandomState
        Used only for drawing.

    Returns
    -------
    rows : ndarray or sparse matrix of shape (n_rows, n_features)
        The rows.
    weights : ndarray of shape (n_rows,) or None
        Their weights; None if all are one.
    """
    n_samples = X.shape[0]
    weights = to_numpy(sample_weight)
    if n_samples <= size:
        rows = rows_at(X)
        if weights is None or (weights > 0).all():
            return rows, weights
        return rows[weights > 0], weights[weights > 0]
    if weights is None:
        drawn = rng.randint(n_samples, size=size)
    else:
        cumulated = np.cumsum(weights)
        drawn = np.searchsorted(cumulated, rng.uniform(0, cumulated[-1], size), side="right")
    drawn.sort()
    return rows_at(X, drawn), None
