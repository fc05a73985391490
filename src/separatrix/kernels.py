"""Kernels through low-rank features, so that linear methods serve them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular
from sklearn.metrics.pairwise import pairwise_kernels

from separatrix._sklearn import like, to_numpy

__all__ = ["KernelMap", "fit_kernel_map", "pivoted_cholesky", "scale_gamma"]


def scale_gamma(X, weights=None):
    """Kernel coefficient 1 / (n_features * variance of X), as scikit-learn's SVC has it."""
    squares = X.multiply(X) if sp.issparse(X) else X * X
    mean, square = (
        np.average(np.asarray(values.mean(axis=1)).ravel(), weights=weights)
        for values in (X, squares)
    )
    variance = square - mean**2
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


def pivoted_cholesky(diagonal, column, *, max_rank, tol):
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

    Returns
    -------
    L : ndarray of shape (n, rank)
        K is LL' up to the tolerance; rows `pivots` of L are lower triangular.
    pivots : ndarray of shape (rank,)
        The columns taken.

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
            L = L[:, :rank]
            break
        L[:, rank] = (column(pivot) - L[:, :rank] @ L[pivot, :rank]) / np.sqrt(residual[pivot])
        residual -= L[:, rank] ** 2
        pivots.append(pivot)
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
        Samples that span the features.
    projection : ndarray of shape (rank, rank)
        Features are kernel values at the landmarks times this.
    """

    kernel: Any
    params: dict
    landmarks: Any
    projection: np.ndarray

    def __call__(self, X):
        """Features of the rows of `X`, in its array namespace."""
        if self.kernel == "precomputed":
            return X[:, self.landmarks] @ self.projection
        landmarks = self.landmarks if sp.issparse(self.landmarks) else like(self.landmarks, X)
        values = pairwise_kernels(
            X, landmarks, metric=self.kernel, filter_params=True, **self.params
        )
        return values @ like(self.projection.astype(values.dtype), values)


def fit_kernel_map(sample, *, kernel, params, max_rank, tol=1e-6):
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

    Returns
    -------
    kernel_map : KernelMap
    """
    if kernel == "precomputed":
        L, pivots = pivoted_cholesky(
            np.diag(sample), lambda i: sample[:, i], max_rank=max_rank, tol=tol
        )
        landmarks = pivots
    else:

        def values(rows, columns):
            return pairwise_kernels(rows, columns, metric=kernel, filter_params=True, **params)

        blocks = (sample[i : i + 256] for i in range(0, sample.shape[0], 256))
        diagonal = np.concatenate([np.diag(values(block, block)) for block in blocks])
        L, pivots = pivoted_cholesky(
            diagonal,
            lambda i: to_numpy(values(sample, sample[[i]]))[:, 0],
            max_rank=max_rank,
            tol=tol,
        )
        landmarks = sample[pivots]
    projection = solve_triangular(L[pivots], np.eye(len(pivots)), lower=True).T
    return KernelMap(kernel, params, landmarks, projection)
