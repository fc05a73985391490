"""An order of the rows that depends on nothing but their values.

Draws, sums and ties by position in this order do not depend on the order of the rows.
"""

import numpy as np
import scipy.sparse as sp

from separatrix._sklearn import like, namespace_of, to_numpy, widest_float
from separatrix.data.distinct import mixed, row_hashes
from separatrix.data.rows import join_rows, map_chunks, rows_at


def canonical_order(X, sample_weight=None):
    """Permutation that puts the rows in an order of their values, with equal rows side by side.

    Rows are ordered by a fixed combination of their features, so that neither a positive unit nor
    the container of the data changes the order; the few that share it go by their hashes.

    Parameters
    ----------
    X : {array, sparse matrix, dask array} of shape (n_samples, n_features)
        The data.
    sample_weight : array of shape (n_samples,), default=None
        Weights, which order equal rows.

    Returns
    -------
    order : ndarray of int of shape (n_samples,)
        Indices of the rows. Rows that are equal in all, with equal weights, keep their order.
    """
    places, order, tied = _ordered_places(X)
    if len(tied) == 0:
        return to_numpy(order)
    places = to_numpy(places)
    hashes = np.zeros(len(places), dtype=np.uint64)
    hashes[tied] = row_hashes(rows_at(X, tied))
    keys = [hashes, places]
    if sample_weight is not None:
        keys.insert(0, to_numpy(sample_weight))
    return np.lexsort(keys)


def are_distinct(X):
    """Whether no two rows of an array are equal; told where it is, but for a few of them."""
    _, _, tied = _ordered_places(X)
    return len(np.unique(row_hashes(rows_at(X, tied)))) == len(tied)


def _ordered_places(X):
    """Places of rows, their order, and which rows share a place with others."""
    places = join_rows(map_chunks(_combined, X))
    xp, _ = namespace_of(places)
    order = xp.argsort(places, stable=True)
    increasing = xp.take(places, order)
    shared = increasing[1:] == increasing[:-1]
    if not bool(xp.any(shared)):
        return places, order, np.empty(0, dtype=np.intp)
    shared = to_numpy(shared)
    tied = to_numpy(order)[np.append(False, shared) | np.append(shared, False)]
    return places, order, np.sort(tied)


def places_in(order):
    """Place of each row in an order of all of them."""
    places = np.empty_like(order)
    places[order] = np.arange(len(order), dtype=order.dtype)
    return places


def reordered(values, order):
    """Rows of an array or a sparse matrix, in its namespace, in another order."""
    if sp.issparse(values):
        return values[order]
    xp, _ = namespace_of(values)
    return xp.take(values, like(order, values), axis=0)


def _combined(X):
    """Fixed combination of the features of each row, summed in the order of the features."""
    n_rows, n_features = X.shape
    bits = mixed(np.arange(1, n_features + 1, dtype=np.uint64))
    shares = (bits / 2.0**64 + 1) / (2 * n_features)  # of the largest numbers, no sum overflows
    if sp.issparse(X):
        X = sp.csr_array(X, dtype=np.float64, copy=True)
        X.sum_duplicates()
        rows = np.repeat(np.arange(n_rows), np.diff(X.indptr))
        return np.bincount(rows, X.data * shares[X.indices], n_rows)
    # one row at a time: a product of matrices rounds by where in them a row lies
    if isinstance(X, np.ndarray):
        return np.add.reduce(np.multiply(X, shares, order="C", dtype=np.float64), axis=1)
    # and so do sums of rows on a device
    xp, device = namespace_of(X)
    combined = xp.zeros(n_rows, dtype=widest_float(X), device=device)
    for feature, share in enumerate(shares.tolist()):
        combined = combined + xp.astype(X[:, feature], combined.dtype) * share
    return combined
