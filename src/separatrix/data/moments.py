r"""Weighted moments of samples, as an additive group.

About a fixed shift :math:`c` the moments of a set of samples with weights :math:`s_i`,

.. math:: s = \sum_i s_i, \qquad f = \sum_i s_i (x_i - c), \qquad
          G = \sum_i s_i (x_i - c)(x_i - c)^\top,

add up over disjoint sets and over chunks, and samples that leave a cluster are subtracted with
negative weights. A clustering loop therefore pays only for the samples that change clusters, and
a distributed pass combines its partials by a plain sum.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix._sklearn import (
    is_dask,
    is_numpy,
    like,
    namespace_of,
    one_blas_thread,
    to_numpy,
    widest_float,
)
from separatrix.data.rows import join_rows, map_chunks, row_slices
from separatrix.result import Labelling

# Columns up to which a product of columns is one of memory, and numbers from which BLAS would take
# several threads for it.
NARROW, MANY_NUMBERS = 128, 20_000


@dataclass(frozen=True)
class Moments:
    """Weight, first and second moments of samples about a shift.

    `second` is a matrix, or its diagonal where a matrix of n_features by n_features would not
    pay. Arrays with one more axis in front are the moments of many sets at once.
    """

    weight: Any
    first: np.ndarray
    second: np.ndarray

    def __add__(self, other):
        return Moments(
            self.weight + other.weight, self.first + other.first, self.second + other.second
        )

    def __sub__(self, other):
        return Moments(
            self.weight - other.weight, self.first - other.first, self.second - other.second
        )

    @classmethod
    def zero(cls, n_features, *, diagonal=False):
        """The neutral element."""
        return cls(0.0, np.zeros(n_features), np.zeros((n_features,) * (1 if diagonal else 2)))

    @property
    def diagonal(self):
        """Whether only the diagonal of the second moments is kept."""
        return self.second.ndim == self.first.ndim

    @property
    def _divisor(self):
        """Weight, beside an array of features."""
        return np.asarray(self.weight)[..., None]

    @property
    def mean(self):
        """Mean relative to the shift."""
        return self.first / self._divisor

    @property
    def variance(self):
        """Variance of each feature with divisor `weight`, as in the papers (no correction)."""
        squares = self.second if self.diagonal else np.diagonal(self.second, axis1=-2, axis2=-1)
        return np.maximum(squares / self._divisor - self.mean**2, 0.0)

    @property
    def covariance(self):
        """Covariance with divisor `weight`."""
        mean = self.mean
        return self.second / self._divisor[..., None] - mean[..., :, None] * mean[..., None, :]


def moments_of_chunk(X, weight=None, *, shift, diagonal=False):
    """Moments of the rows of `X` about `shift`, as NumPy arrays.

    Sums run in the widest float of the device: a float32 sum over a long chunk would lose the
    digits that a later subtraction needs.

    Parameters
    ----------
    X : {array, sparse matrix} of shape (n_rows, n_features)
        Rows of the data, in any array namespace.
    weight : array of shape (n_rows,) or None
        Signed weights in the namespace of `X`; None means one each.
    shift : ndarray of shape (n_features,)
        Point the moments are taken about. It must be zero for a sparse `X`.
    diagonal : bool, default=False
        Whether to sum only the squares of each feature.

    Returns
    -------
    moments : Moments
    """
    if sp.issparse(X):
        return _moments_of_sparse(X, weight, diagonal)
    xp, device = namespace_of(X)
    X = xp.astype(X, widest_float(X), copy=False)
    X = X - like(shift, X)
    if weight is None and not diagonal:  # BLAS sees a symmetric product here
        sums = (sum_of_rows(X), product_of_columns(X, X))
        total = float(X.shape[0])
    else:
        if weight is None:
            weight = xp.ones(X.shape[0], dtype=X.dtype, device=device)
        weight = xp.astype(weight, X.dtype, copy=False)
        second = weight @ (X * X) if diagonal else product_of_columns(X, X * weight[:, None])
        sums = (weight @ X, second)
        total = float(xp.sum(weight))
    return Moments(total, *(to_numpy(part).astype(np.float64, copy=False) for part in sums))


def sum_of_rows(X):
    """Sum of the rows of an array; by a product on a device, where sums of columns may be slow."""
    xp, device = namespace_of(X)
    if is_numpy(X):
        return xp.sum(X, axis=0)
    return xp.ones(X.shape[0], dtype=X.dtype, device=device) @ X


def product_of_columns(A, B):
    """``A.T @ B``, on one BLAS thread where the columns are few and the rows many.

    Such a product waits for memory. A second thread gains nothing, and on a busy machine, where
    the threads wait for each other, it can take a hundred times as long.
    """
    narrow = isinstance(A, np.ndarray) and A.shape[1] <= NARROW and A.size >= MANY_NUMBERS
    return _product_on_one_thread(A, B) if narrow else A.T @ B


@one_blas_thread
def _product_on_one_thread(A, B):
    return A.T @ B


def _moments_of_sparse(X, weight, diagonal):
    X = X.astype(np.float64, copy=False)
    weight = np.ones(X.shape[0]) if weight is None else np.asarray(weight, dtype=np.float64)
    weighted = X.multiply(weight[:, None]).tocsr()
    if diagonal:
        second = np.asarray(X.multiply(weighted).sum(axis=0)).ravel()
    else:
        second = (X.T @ weighted).toarray()
    return Moments(float(weight.sum()), X.T @ weight, second)


def total_moments(X, sample_weight=None, *, shift, diagonal=False):
    """Moments of all rows of `X` about `shift`, in one pass.

    Parameters
    ----------
    X : {array, sparse matrix, dask array} of shape (n_samples, n_features)
        The data.
    sample_weight : array of shape (n_samples,) or None
        Nonnegative weights.
    shift : ndarray of shape (n_features,)
        Point the moments are taken about. With any point inside the data the covariance loses
        no more than a factor of (distance from the mean / standard deviation)^2 in precision.
    diagonal : bool, default=False
        Sum only the squares of each feature, in `second` as a vector.

    Returns
    -------
    moments : Moments
    """
    total = Moments.zero(X.shape[1], diagonal=diagonal)
    for part in map_chunks(moments_of_chunk, X, sample_weight, shift=shift, diagonal=diagonal):
        total = total + part
    return total


def finite_moments(X, sample_weight, *, rows, row_weight, diagonal):
    """A point inside the data, the mean of `rows`, and the moments of all samples about it.

    Returns
    -------
    shift : ndarray of shape (n_features,)
        Zero for sparse data, which cannot be shifted.
    total : Moments
        Refused if they are not finite.
    """
    shift = np.zeros(X.shape[1])
    if not sp.issparse(rows):
        shift = np.average(rows, axis=0, weights=row_weight).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):  # the next lines raise an error
        total = total_moments(X, sample_weight, shift=shift, diagonal=diagonal)
    if not (np.isfinite(total.first).all() and np.isfinite(total.second).all()):
        raise ValueError(
            "X contains NaN, infinity or values too large for their squares to be summed "
            "in double precision; clean X or divide it by a large number."
        )
    return shift, total


@dataclass(frozen=True)
class Units:
    """Origin and unit of each feature in which the covariance is a correlation matrix.

    `scale` is the standard deviation, and infinite for a constant feature, whose standardised
    value and weight are then zero.
    """

    mean: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, moments, shift, *, isotropic=False):
        r"""Units of samples with the given `moments` about `shift`.

        `isotropic` asks for one unit for all features that is independent of a rotation and of
        adding zero features: the standard deviation along principal directions, averaged over
        the variance, :math:`\sqrt{\mathrm{tr}\,\Sigma^2 / \mathrm{tr}\,\Sigma}`.
        """
        mean, variance = moments.mean + shift, moments.variance
        # a variance that rounding of the shift or of the difference explains means a constant
        # feature
        rounding = 100 * np.finfo(np.float64).eps
        constant = variance <= rounding * moments.mean**2 + (rounding * mean) ** 2
        scale = np.where(constant, np.inf, np.sqrt(variance))
        if isotropic:
            varies = ~constant.all(axis=-1, keepdims=True)
            # the square of the largest may overflow
            largest = np.where(varies, variance.max(axis=-1, keepdims=True), 1.0)
            sigma = variance / largest
            squares = sigma**2
            if not moments.diagonal:
                squares = ((moments.covariance / largest[..., None]) ** 2).sum(axis=-1)
            total = np.where(varies, sigma.sum(axis=-1, keepdims=True), 1.0)
            ratio = squares.sum(axis=-1, keepdims=True) / total
            scale = np.where(varies, np.sqrt(largest) * np.sqrt(ratio), scale)
        return cls(mean, scale)

    @property
    def active(self):
        """Mask of the features that vary."""
        return np.isfinite(self.scale)

    def standardize(self, rows):
        """Rows in units. Sparse rows are scaled but not centred, which keeps them sparse."""
        if sp.issparse(rows):
            return rows.multiply(1.0 / self.scale).tocsr()
        return (rows - self.mean) / self.scale

    def destandardize(self, boundaries, *, centered=True):
        """Boundaries for raw features from boundaries for `standardize`d ones."""
        scaled = replace(boundaries, coef=boundaries.coef / self.scale)
        return scaled.shifted(self.mean) if centered else scaled


def _take_rows(X, rows):
    return X[rows] if sp.issparse(X) else namespace_of(X)[0].take(X, rows, axis=0)


def _moments_of_rows(X, rows, signs, *, shift, diagonal):
    """Signed moments of some rows, a block at a time so that no large part of X is copied."""
    total = Moments.zero(X.shape[1], diagonal=diagonal)
    for block in row_slices(X, n_rows=rows.shape[0]):
        total = total + moments_of_chunk(
            _take_rows(X, rows[block]),
            None if signs is None else signs[block],
            shift=shift,
            diagonal=diagonal,
        )
    return total


def _move_chunk(X, weight, old, new, *, before, boundaries, n_clusters, shift, diagonal):
    """Relabel one chunk; return its labels, what weight moved, and what each cluster gained.

    Only clusters 0 to n_clusters - 2 are accounted for: the last one is the rest. `old` and `new`
    are labels, or None where boundaries make them, `before` the old ones; neither is there before
    the first labelling.
    """
    if new is None:
        new = boundaries.labels(X)
    if before is not None:
        old = before.labels(X)
    moved, changes = _changes(new, old, weight, n_clusters)
    gains = [
        _moments_of_rows(X, rows, _weighted(signs, weight, rows), shift=shift, diagonal=diagonal)
        for rows, signs in changes
    ]
    return new, moved, gains


def _changes(new, old, weight, n_clusters):
    """What weight changed its cluster; and for all clusters but the last, rows with their signs.

    These are the rows that join a cluster, of sign 1 or None, or leave it, of sign -1. There are
    none of them for any cluster if nothing changed.
    """
    xp, _ = namespace_of(new)
    clusters = range(n_clusters - 1)
    if old is None:
        n_moved, turned = new.shape[0], weight
        changes = [_rows_in(new, cluster) for cluster in clusters]
    else:
        (moved,) = xp.nonzero(new != old)
        n_moved = moved.shape[0]
        if n_moved == 0:
            return 0.0, []
        turned = None if weight is None else xp.take(weight, moved)
        labels = xp.take(new, moved), xp.take(old, moved)
        changes = [_turns(moved, *labels, cluster, n_clusters) for cluster in clusters]
    return float(n_moved if turned is None else xp.sum(turned)), changes


def _weighted(signs, weight, rows):
    """Signs of some rows times their weights, where there are weights."""
    if weight is None:
        return signs
    xp, _ = namespace_of(weight)
    own = xp.take(weight, rows)
    return own if signs is None else own * xp.astype(signs, own.dtype)


def _rows_in(labels, cluster):
    """Rows of one cluster, which all join it."""
    xp, _ = namespace_of(labels)
    return xp.nonzero(labels == cluster)[0], None


def _turns(moved, new, old, cluster, n_clusters):
    """Rows, of those that moved, that join a cluster or leave it; and 1 or -1 for which."""
    xp, _ = namespace_of(new)
    turns = xp.astype(new == cluster, xp.int8) - xp.astype(old == cluster, xp.int8)
    if n_clusters == 2:  # what moves joins one cluster and leaves the other
        return moved, turns
    (some,) = xp.nonzero(turns)
    return xp.take(moved, some), xp.take(turns, some)


def _moves_of_chunk(X, weight, old, new, **shared):
    """The same without the labels, which stay where the chunk is."""
    _, moved, gains = _move_chunk(X, weight, old, new, **shared)
    return None, moved, gains


class Partition(Labelling):
    """Labels of the rows of `X` with the moments of each cluster.

    One pass over the data relabels all rows and updates the moments by the rows that changed,
    so that a pass costs little more than one product of X with a vector. Labels of a dask array
    are not kept: the boundaries give them again, block by block, where the blocks are.

    Parameters
    ----------
    X : {array, sparse matrix, dask array} of shape (n_samples, n_features)
        The data.
    sample_weight : array of shape (n_samples,) or None
        Nonnegative weights, in the namespace of `X`.
    n_clusters : int
        Number of clusters.
    total : Moments
        Moments of all rows about `shift`. Clusters keep second moments of the same form.
    shift : ndarray of shape (n_features,)
        Point that moments are taken about.
    """

    def __init__(self, X, sample_weight, *, n_clusters, total, shift):
        self._boundaries: Any = None
        self._labels: Any = None
        super().__init__(None, n_clusters, sample_weight)
        self.X = X
        self.total = total
        self.shift = shift
        self._gains = [
            Moments.zero(X.shape[1], diagonal=total.diagonal) for _ in range(n_clusters - 1)
        ]

    def assign(self, rule):
        """Relabel all rows by `rule`, labels or `Boundaries`; return the weight that moved."""
        boundaries, given = (rule, None) if hasattr(rule, "labels") else (None, rule)
        keeps_labels = boundaries is None or not is_dask(self.X)
        passes = map_chunks(
            _move_chunk if keeps_labels else _moves_of_chunk,
            self.X,
            self.sample_weight,
            self._labels,
            given,
            before=self._boundaries,
            boundaries=boundaries,
            n_clusters=self.n_clusters,
            shift=self.shift,
            diagonal=self.total.diagonal,
            width=1 if boundaries is None else boundaries.width,
        )
        labels, total_moved = [], 0.0
        for new, moved, gains in passes:
            labels.append(new)
            total_moved += moved
            if gains:
                self._gains = [a + b for a, b in zip(self._gains, gains, strict=True)]
        self._boundaries = None if keeps_labels else boundaries
        self._labels = join_rows(labels) if keeps_labels else None
        return total_moved

    @property
    def labels(self):
        """Cluster of each row, None before there are any; lazy for a dask array."""
        if self._boundaries is None:
            return self._labels
        return self._boundaries.labels_of_rows(self.X)

    @labels.setter
    def labels(self, labels):
        self._labels = labels

    def moments(self, clusters):
        """Moments of the union of `clusters` about the shift."""
        last = self.n_clusters - 1
        if last not in clusters:
            picked = [self._gains[c] for c in clusters]
            return sum(picked[1:], picked[0])
        # the last cluster is the rest, so a union with it is the total less the others
        union = self.total
        for cluster in set(range(last)) - set(clusters):
            union = union - self._gains[cluster]
        return union

    def stacked(self, code):
        """Moments of the positive and of the negative side of each row of a code, stacked."""
        clusters = [*self._gains, self.moments([self.n_clusters - 1])]
        parts = [
            np.array([getattr(cluster, name) for cluster in clusters])
            for name in ("weight", "first", "second")
        ]
        return tuple(
            Moments(*(np.tensordot((code == sign).astype(np.float64), part, 1) for part in parts))
            for sign in (1, -1)
        )

    @property
    def weights(self):
        """Total weight of each cluster."""
        tracked = [gain.weight for gain in self._gains]
        return np.array([*tracked, self.total.weight - sum(tracked)])
