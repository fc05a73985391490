"""The matrix of ridge regression that turns targets into fitted values."""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky
from scipy.linalg.lapack import dpotri

from separatrix._numba import njit
from separatrix._sklearn import one_blas_thread

__all__ = ["hat_matrix", "ridge_weights"]


def ridge_weights(Z, *, targets, reg):
    """Weights of features in ridge regressions on targets."""
    A = Z.T @ Z
    A[np.diag_indices_from(A)] += reg
    return cho_solve(cho_factor(A), Z.T @ targets)


@one_blas_thread
def hat_matrix(K, reg, *, tol=None):
    """Matrix of ridge regression without intercept that turns targets into fitted values.

    R = K (K + reg I)^-1, (12) of the paper, here by a Cholesky factor instead of the paper's
    eigendecomposition.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        Kernel matrix.
    reg : float
        Weight of norms.
    tol : float or None, default=None
        Negative eigenvalues are refused from this share of the largest diagonal entry on. None
        for kernels that are certain to be positive semidefinite, which are not checked.

    Returns
    -------
    R : ndarray of shape (n_samples, n_samples)
        Symmetric.
    """
    largest = np.abs(np.diag(K)).max()
    if tol is not None and factor_of(K, tol * max(largest, 1e-300)) is None:
        raise ValueError(
            "kernel is not positive semidefinite: its matrix has eigenvalues below "
            f"{-tol * largest:.3g}. Use a valid kernel, such as 'rbf'."
        )
    factor = factor_of(K, reg)
    too_small = ValueError(
        f"reg={reg:.3g} is too small beside kernel values of up to {largest:.3g}: the classifiers "
        "fit any labels up to rounding errors. Increase reg, or scale X down."
    )
    if factor is None:
        raise too_small
    inverse, _ = dpotri(factor, lower=1, overwrite_c=1)
    R = inverse.T  # in rows, with its upper half
    _complement(R, reg)
    if np.diag(R).max() >= 1:
        raise too_small
    return R


@njit
def _complement(
    A,  # INOUT
    reg,
):
    """I - reg A, both halves, from the upper half of a symmetric A."""
    n_samples = A.shape[0]
    for i in range(n_samples):
        A[i, i] = 1.0 - reg * A[i, i]
        for j in range(i + 1, n_samples):
            A[i, j] = A[j, i] = -reg * A[i, j]


def factor_of(K, strength):
    """Lower Cholesky factor of K + strength I, or None if that is not positive definite."""
    H = K.copy().T  # symmetric, and in the order that LAPACK works in
    H[np.diag_indices(len(K))] += strength
    try:
        return cholesky(H, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None
