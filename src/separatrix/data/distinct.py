"""Equal rows: hashes that identify them, known rows found again, and the distinct rows."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix._sklearn import is_numpy, like, namespace_of, to_numpy, widest_float
from separatrix.data.rows import beside, map_chunks, row_slices, rows_at

# Rows that are compared first: usually enough of them differ.
FIRST_ROWS = 1_000


def mixed(bits):
    """Scramble unsigned integers so that every bit depends on all (the finisher of SplitMix64)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def row_hashes(X):
    """Hash of each row's values: equal for equal rows, dense or sparse, of any float dtype.

    Those of rows on a device are there, as signed integers of the same bits.
    """
    keys = mixed(np.arange(1, X.shape[1] + 1, dtype=np.uint64))
    if not is_numpy(X):
        return _device_hashes(X, keys)

    def hashed(values, keys):
        bits = (values.astype(np.float64, order="C") + 0.0).view(np.uint64)  # no negative zeros
        return np.where(bits == 0, bits, mixed(mixed(bits) ^ keys))

    hashes = np.zeros(X.shape[0], dtype=np.uint64)
    if sp.issparse(X):
        X = sp.csr_array(X, copy=True)
        X.sum_duplicates()
        entries = sp.csr_array((hashed(X.data, keys[X.indices]), X.indices, X.indptr), X.shape)
        # sums of integers wrap around; a product would go through floats
        return np.asarray(entries.sum(axis=1, dtype=np.uint64)).ravel()
    for rows in row_slices(X):
        hashes[rows] = hashed(X[rows], keys).sum(axis=1, dtype=np.uint64)
    return hashes


def _device_hashes(X, keys):
    """The same for rows on a device, whose libraries compute with signed integers only."""
    xp, _ = namespace_of(X)
    bits, keys = _signed_bits(X), like(keys.view(np.int64), X)
    hashed = xp.where(bits == 0, bits, _mixed_signed(_mixed_signed(bits) ^ keys))
    return xp.sum(hashed, axis=1, dtype=xp.int64)


def _signed_bits(values):
    """Bits of values in double precision, by the host where the device or its library cannot."""
    xp, _ = namespace_of(values)
    if hasattr(values, "view") and widest_float(values) == xp.float64:
        return (xp.astype(values, xp.float64) + 0.0).view(xp.int64)  # no negative zeros
    return like((to_numpy(values).astype(np.float64) + 0.0).view(np.int64), values)


def _mixed_signed(bits):
    """`mixed` for the same bits in signed integers: these shift copies of their sign in."""
    bits = (bits ^ (bits >> 30 & 2**34 - 1)) * (0xBF58476D1CE4E5B9 - 2**64)
    bits = (bits ^ (bits >> 27 & 2**37 - 1)) * (0x94D049BB133111EB - 2**64)
    return bits ^ (bits >> 31 & 2**33 - 1)


@dataclass(frozen=True, eq=False)
class KnownRows:
    """Samples that are found again by the hashes of their values."""

    hashes: Any  # in increasing order
    order: Any  # the samples that they belong to

    @classmethod
    def of(cls, X):
        """The rows of `X`."""
        hashes = row_hashes(X)
        order = np.argsort(hashes, kind="stable")
        return cls(hashes[order], order)

    def match(self, X):
        """For each row of `X`, the first known row that equals it, value by value; -1 for none."""
        hashes = row_hashes(X)  # of 64 bits: a million by a million rows collide once in 10^7
        xp, _ = namespace_of(hashes)
        places = xp.searchsorted(self.hashes, hashes)
        places = xp.where(places < self.hashes.shape[0], places, 0)
        is_known = xp.take(self.hashes, places) == hashes
        return xp.where(is_known, xp.take(self.order, places), -1)

    def beside(self, X):
        """The same rows where `X` is, with the hashes that rows have there."""
        hashes = self.hashes.view(np.int64)
        again = np.argsort(hashes, kind="stable")
        return replace(self, hashes=like(hashes[again], X), order=like(self.order[again], X))

    def subset(self, rows):
        """Some of the rows, which are given in increasing order, under new numbers."""
        among = np.isin(self.order, rows)
        return KnownRows(self.hashes[among], np.searchsorted(rows, self.order[among]))


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """Which rows are equal.

    Attributes
    ----------
    first : ndarray of int of shape (n_distinct,)
        The first of each set of equal rows, in the order of the rows.
    place : ndarray of int of shape (n_rows,)
        The set that each row is in.
    counts : ndarray of int of shape (n_distinct,)
        Numbers of equal rows.
    """

    first: np.ndarray
    place: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, X):
        """The rows of `X`."""
        _, first, place, counts = np.unique(
            row_hashes(X), return_index=True, return_inverse=True, return_counts=True
        )
        order = np.argsort(first)
        return cls(first[order], np.argsort(order)[place], counts[order])

    @property
    def are_all(self):
        """Whether no two rows are equal."""
        return len(self.first) == len(self.place)


def few_distinct_rows(X, sample_weight, n_wanted):
    """Distinct rows of positive weight, the heaviest first, if these are fewer than `n_wanted`.

    Parameters
    ----------
    X : {array, sparse matrix, dask array} of shape (n_samples, n_features)
        The data. As a rule a look at its first rows is enough.
    sample_weight : array of shape (n_samples,) or None
        Nonnegative weights.
    n_wanted : int
        How many are asked for.

    Returns
    -------
    rows : ndarray of shape (n_distinct, n_features) or None
        None if there are enough.
    """
    weight = to_numpy(sample_weight)
    first = np.arange(min(X.shape[0], FIRST_ROWS))
    if weight is not None:
        first = np.flatnonzero(weight > 0)[:FIRST_ROWS]
    if len(np.unique(row_hashes(rows_at(X, first)))) >= n_wanted:
        return None
    weight = np.ones(X.shape[0]) if weight is None else weight
    local = beside(weight, X)
    weights: dict[int, float] = {}
    rows: dict[int, np.ndarray] = {}
    for hashes, found, sums in map_chunks(_distinct_of_chunk, X, local, most=n_wanted):
        for key, row, weight_of_row in zip(hashes.tolist(), found, sums.tolist(), strict=True):
            rows.setdefault(key, row)
            weights[key] = weights.get(key, 0.0) + weight_of_row
        if len(rows) >= n_wanted:
            return None
    return np.array([rows[key] for key in sorted(rows, key=lambda key: -weights[key])])


def _distinct_of_chunk(X, weight, *, most):
    """Hashes, rows and weights of at most so many distinct rows of positive weight."""
    weight = to_numpy(weight)
    X, weight = to_numpy(X)[weight > 0], weight[weight > 0]
    hashes, first, place = np.unique(row_hashes(X), return_index=True, return_inverse=True)
    sums, some = np.bincount(place, weight, len(first)), np.sort(first)[:most]
    rows = X[some].toarray() if sp.issparse(X) else X[some]
    return hashes[place[some]], rows, sums[place[some]]
