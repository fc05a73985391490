r"""Weighted moments of samples, as an additive group.

About a fixed shift :math:`c` the moments of a set of samples with weights :math:`s_i`,

.. math:: s = \sum_i s_i, \qquad f = \sum_i s_i (x_i - c), \qquad
          G = \sum_i s_i (x_i - c)(x_i - c)^\top,

add up over disjoint sets and over chunks, and samples that leave a cluster are subtracted with
negative weights. A clustering loop therefore pays only for the samples that change clusters, and
a distributed pass combines its partials by a plain sum.
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from separatrix._sklearn import (
    like,
    namespace_of,
    to_numpy,
    widest_float,
)
from separatrix.chunks import map_chunks

__all__ = ["Moments", "Units", "moments_of_chunk", "total_moments"]


@dataclass(frozen=True)
class Moments:
    """Weight, first and second moments of samples about a shift.

    `second` is None where a matrix of n_features by n_features would not pay.
    """

    weight: float
    first: np.ndarray
    second: np.ndarray | None

    def __add__(self, other):
        second = None if self.second is None else self.second + other.second
        return Moments(self.weight + other.weight, self.first + other.first, second)

    def __sub__(self, other):
        second = None if self.second is None else self.second - other.second
        return Moments(self.weight - other.weight, self.first - other.first, second)

    @classmethod
    def zero(cls, n_features, *, with_second=True):
        """The neutral element."""
        second = np.zeros((n_features, n_features)) if with_second else None
        return cls(0.0, np.zeros(n_features), second)

    @property
    def mean(self):
        """Mean relative to the shift."""
        return self.first / self.weight

    @property
    def covariance(self):
        """Covariance with divisor `weight`, as in the papers (no Bessel correction)."""
        mean = self.mean
        return self.second / self.weight - np.outer(mean, mean)


def moments_of_chunk(X, weight=None, *, shift, with_second=True):
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
    with_second : bool, default=True
        Whether to sum the outer products too.

    Returns
    -------
    moments : Moments
    """
    if sp.issparse(X):
        X = X.astype(np.float64, copy=False)
        weight = np.ones(X.shape[0]) if weight is None else np.asarray(weight, dtype=np.float64)
        second = (X.T @ X.multiply(weight[:, None]).tocsr()).toarray() if with_second else None
        return Moments(float(weight.sum()), X.T @ weight, second)
    xp, _ = namespace_of(X)
    X = xp.astype(X, widest_float(X), copy=False)
    X = X - like(shift, X)
    if weight is None:
        first = to_numpy(xp.sum(X, axis=0)).astype(np.float64, copy=False)
        second = X.T @ X if with_second else None  # BLAS sees a symmetric product here
        total = float(X.shape[0])
    else:
        weight = xp.astype(weight, X.dtype, copy=False)
        first = to_numpy(weight @ X).astype(np.float64, copy=False)
        second = X.T @ (X * weight[:, None]) if with_second else None
        total = float(xp.sum(weight))
    second = None if second is None else to_numpy(second).astype(np.float64, copy=False)
    return Moments(total, first, second)


def _squares_of_chunk(X, weight=None, *, shift):
    """Moments of a chunk whose `second` holds only the diagonal, for wide data."""
    if sp.issparse(X):
        X = X.astype(np.float64, copy=False)
        weight = np.ones(X.shape[0]) if weight is None else np.asarray(weight, dtype=np.float64)
        return Moments(float(weight.sum()), X.T @ weight, X.multiply(X).T @ weight)
    xp, _ = namespace_of(X)
    X = xp.astype(X, widest_float(X), copy=False) - like(shift, xp.astype(X, widest_float(X)))
    if weight is None:
        weight = xp.ones(X.shape[0], dtype=X.dtype, device=namespace_of(X)[1])
    weight = xp.astype(weight, X.dtype, copy=False)
    parts = (to_numpy(weight @ X), to_numpy(weight @ (X * X)))
    first, squares = (part.astype(np.float64, copy=False) for part in parts)
    return Moments(float(xp.sum(weight)), first, squares)


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
    function = _squares_of_chunk if diagonal else moments_of_chunk
    total = None
    for partial in map_chunks(function, X, sample_weight, shift=shift):
        total = partial if total is None else total + partial
    return total


@dataclass(frozen=True)
class Units:
    """Origin and unit of each feature in which the covariance is a correlation matrix.

    `scale` is the standard deviation, and infinite for a constant feature, whose standardised
    value and weight are then zero.
    """

    mean: np.ndarray
    scale: np.ndarray

    @classmethod
    def from_total(cls, total, shift):
        """Units of data with moments `total` about `shift`; refuses constant data."""
        second = total.second if total.second.ndim == 1 else np.diag(total.second)
        if not (np.isfinite(total.first).all() and np.isfinite(second).all()):
            raise ValueError(
                "X contains NaN, infinity or values too large for their squares to be summed "
                "in double precision; clean X or divide it by a large number."
            )
        mean = total.mean + shift
        variance = np.maximum(second / total.weight - total.mean**2, 0.0)
        # a variance that rounding of the shift or of the difference explains is a constant's
        rounding = 100 * np.finfo(np.float64).eps
        constant = variance <= rounding * total.mean**2 + (rounding * mean) ** 2
        if constant.all():
            raise ValueError(
                f"X is constant: none of its {mean.shape[0]} features varies beyond rounding, so "
                "no boundary can separate clusters. Check that X holds the features, or scale "
                "it up if its values are smaller than 1e-150."
            )
        return cls(mean, np.where(constant, np.inf, np.sqrt(variance)))

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
        coef = boundaries.coef / self.scale
        offset = coef @ self.mean if centered else 0.0
        return replace(boundaries, coef=coef, intercept=boundaries.intercept - offset)

    def isotropic(self, total):
        r"""One unit for all features, independent of a rotation and of adding zero features.

        It is the standard deviation along principal directions, averaged over the variance:
        :math:`\sqrt{\mathrm{tr}\,\Sigma^2 / \mathrm{tr}\,\Sigma}`.
        """
        covariance = total.covariance
        unit = np.sqrt((covariance**2).sum() / np.trace(covariance))
        return Units(self.mean, np.full_like(self.scale, unit))
