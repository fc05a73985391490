"""Kernels: their matrices, and features of low rank so that linear methods serve them."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular
from sklearn import config_context
from sklearn.metrics.pairwise import pairwise_kernels

from separatrix._sklearn import like, namespace_of, to_numpy

__all__ = [
    "KernelMap",
    "centred_kernel",
    "check_symmetric",
    "double_centred",
    "fit_kernel_map",
    "kernel_matrix",
    "mean_of",
    "normals_of",
    "pivoted_cholesky",
]


def origin_of(X, kernel):
    """Point to subtract from samples: far from the origin, distances would lose their digits.

    Zero for kernels of other things than distances, and for sparse samples, which have to stay
    sparse.
    """
    return X.mean(axis=0) if kernel == "rbf" and not sp.issparse(X) else 0.0


def kernel_matrix(X, Y, *, kernel, params):
    """Kernel of the rows of `X` and of `Y`, by the names of scikit-learn."""
    values = pairwise_kernels(X, Y, metric=kernel, filter_params=True, **params)
    xp, _ = namespace_of(values)
    if not bool(xp.isfinite(xp.sum(values))):
        raise ValueError(
            f"kernel={kernel!r} has values that are not finite for samples of X; check the "
            "kernel's parameters, or scale X down."
        )
    return values


def check_symmetric(X, *, parameter):
    """Refuse a matrix that is not symmetric, though `parameter` says that it is precomputed."""
    scale, difference = abs(X).max(), abs(X - X.T).max()
    if difference > 1e-6 * scale:
        raise ValueError(
            f"{parameter}='precomputed' needs a symmetric matrix, but X differs from its "
            f"transpose by {difference:.3g} where its largest value is {scale:.3g}; use "
            "(X + X.T) / 2."
        )


def double_centred(K):
    """Inner products of samples less their mean, from those of samples: rows that sum to zero."""
    means = K.mean(axis=1)
    return K - means[:, None] - means + means.mean()


def pivoted_cholesky(diagonal, column, *, max_rank, tol, complete=False):
    """Low-rank factor of a positive semidefinite matrix seen only through columns.

    Parameters
    ----------
    diagonal : ndarray of shape (n,)
        Diagonal of the matrix K.
    column : callable
        ``column(i)`` returns K[:, i].
    max_rank : int
        Most columns to take.
    tol : float
        Stop when the largest diagonal entry of K - LL' is at most `tol` times that of K.
    complete : bool, default=False
        Whether less than `tol` asks for is of no use. Then stop as soon as the error falls too
        slowly to reach it within `max_rank` columns; smooth kernels lose most of it early.

    Returns
    -------
    L : ndarray of shape (n, rank)
        K is LL' up to the tolerance; rows `pivots` of L are lower triangular.
    pivots : ndarray of shape (rank,)
        The columns taken. None instead of both if `complete` and `tol` is out of reach.

    Raises
    ------
    ValueError
        If a diagonal entry is clearly negative: the matrix is indefinite.
    """
    residual = np.array(diagonal, dtype=np.float64)
    scale = np.abs(residual).max()
    L = np.zeros((len(residual), min(max_rank, len(residual))))
    pivots: list[int] = []
    for rank in range(L.shape[1]):
        if residual.min() < -1e-6 * scale:
            raise ValueError(
                "kernel is not positive semidefinite: after "
                f"{rank} pivots a diagonal entry is {residual.min():.3g}, where the kernel's "
                f"largest is {scale:.3g}. Use a valid kernel."
            )
        pivot = int(residual.argmax())
        if residual[pivot] <= tol * scale:
            return L[:, :rank], np.array(pivots, dtype=np.intp)
        if complete and residual[pivot] > tol ** ((rank - 5) / L.shape[1]) * scale:
            return None
        L[:, rank] = (column(pivot) - L[:, :rank] @ L[pivot, :rank]) / np.sqrt(residual[pivot])
        residual -= L[:, rank] ** 2
        pivots.append(pivot)
    if complete and residual.max() > tol * scale:
        return None
    return L, np.array(pivots, dtype=np.intp)


@dataclass(frozen=True)
class KernelMap:
    """Map of samples to features whose inner products are the kernel, up to its rank.

    Attributes
    ----------
    kernel : str or callable
        Kernel, by the names of scikit-learn.
    params : dict
        Its parameters.
    landmarks : array of shape (rank, n_features), or of (rank,) indices if precomputed
        Samples that span the features, less the origin.
    projection : ndarray of shape (rank, rank) or None
        Features are kernel values at the landmarks times this, or the kernel values themselves.
    origin : float or ndarray of shape (n_features,)
        What is subtracted from samples.
    """

    kernel: Any
    params: dict
    landmarks: Any
    projection: np.ndarray | None = None
    origin: Any = 0.0

    @classmethod
    def of(cls, X, *, kernel, params):
        """The map to kernel values at all rows of `X`, the kernel matrix if precomputed."""
        if kernel == "precomputed":
            return cls(kernel, params, np.arange(X.shape[0]))
        origin = origin_of(X, kernel)
        return cls(kernel, params, X - origin if np.ndim(origin) else X, origin=origin)

    @property
    def rank(self):
        """Number of features."""
        return self.landmarks.shape[0]

    def values(self, X):
        """Kernel of the rows of `X` and the landmarks, in the array namespace of `X`."""
        if self.kernel == "precomputed":
            return X[:, self.landmarks]
        landmarks = self.landmarks if sp.issparse(self.landmarks) else like(self.landmarks, X)
        if np.ndim(self.origin):
            X = X - like(self.origin, X)
        return kernel_matrix(X, landmarks, kernel=self.kernel, params=self.params)

    def to_normals(self, coef):
        """Weights of the samples' own features from weights of a linear kernel's features."""
        return self.landmarks.T @ (self.projection @ coef)

    def __call__(self, X):
        """Features of the rows of `X`, in its array namespace."""
        values = self.values(X)
        if self.projection is None:
            return values
        return values @ like(self.projection.astype(values.dtype), values)


def fit_kernel_map(sample, *, kernel, params, max_rank, tol=1e-6, complete=False):
    """Landmarks among the rows of `sample` by pivoted Cholesky decomposition of its kernel.

    Parameters
    ----------
    sample : ndarray or sparse matrix of shape (n_rows, n_features)
        Rows to choose landmarks from; all columns of it if the kernel is precomputed.
    kernel : str or callable
        Kernel, by the names of scikit-learn's `pairwise_kernels`, or "precomputed".
    params : dict
        Parameters of the kernel.
    max_rank : int
        Most features.
    tol : float, default=1e-6
        Largest relative error of the diagonal that is left.
    complete : bool, default=False
        Return None if `max_rank` features are not enough for `tol`, found out early.

    Returns
    -------
    kernel_map : KernelMap or None
    """
    origin = 0.0
    factor = partial(pivoted_cholesky, max_rank=max_rank, tol=tol, complete=complete)
    if kernel == "precomputed":
        found = factor(np.diag(sample), lambda i: sample[:, i])
    else:
        origin = origin_of(sample, kernel)
        sample = sample - origin if np.ndim(origin) else sample

        def values(rows, columns):
            return to_numpy(kernel_matrix(rows, columns, kernel=kernel, params=params))

        # the samples were validated before: once is enough
        with config_context(assume_finite=True, skip_parameter_validation=True):
            if kernel in ("rbf", "laplacian"):
                diagonal = np.ones(sample.shape[0])
            else:
                blocks = (sample[i : i + 64] for i in range(0, sample.shape[0], 64))
                diagonal = np.concatenate([np.diag(values(block, block)) for block in blocks])
            found = factor(diagonal, lambda i: values(sample, sample[[i]])[:, 0])
    if found is None:
        return None
    L, pivots = found
    projection = solve_triangular(L[pivots], np.eye(len(pivots)), lower=True).T
    landmarks = pivots if kernel == "precomputed" else sample[pivots]
    return KernelMap(kernel, params, landmarks, projection, origin)


def mean_of(rows):
    """Mean of dense or sparse rows."""
    return np.asarray(rows.mean(axis=0), dtype=np.float64).ravel()


def centred_kernel(rows):
    """Inner products of rows less their mean, which sparse rows are not made dense for."""
    if not sp.issparse(rows):
        rows = rows - mean_of(rows)
        return rows @ rows.T
    return double_centred((rows @ rows.T).toarray())


def normals_of(rows, multipliers):
    """Weights of features from multipliers of the rows less their mean; one row each."""
    mean = mean_of(rows)
    if sp.issparse(rows):
        return np.asarray(rows.T @ multipliers - np.outer(mean, multipliers.sum(axis=0))).T
    return ((rows - mean).T @ multipliers).T
