"""The hyperplane that separates two sets of moments best."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cholesky, eigh_tridiagonal, solve_triangular
from scipy.optimize import brentq

from separatrix._sklearn import like, namespace_of, one_blas_thread, to_numpy
from separatrix.data.chunks import map_chunks

__all__ = [
    "ImplicitCovariances",
    "minimax_direction",
    "minimax_direction_by_passes",
    "separation_probability",
]


@dataclass(frozen=True)
class Direction:
    """A direction between two sets and how well it separates them.

    Attributes
    ----------
    coef : ndarray of shape (n_features,)
        Normal w, scaled so that the two standard deviations along it add up to one; kappa is
        then the distance between the means along w.
    kappa : float
        Separation: the distance of the means over the sum of the standard deviations.
    sigma : tuple of float
        Standard deviations of the positive and the negative set along `coef`.
    """

    coef: np.ndarray
    kappa: float
    sigma: tuple

    @classmethod
    def along(cls, coef, difference, variance_plus, variance_minus):
        """Direction `coef` scaled to unit spread."""
        # one set may be flat along the direction, and rounding may then say less than flat
        deviations = np.sqrt(np.maximum([variance_plus, variance_minus], 0.0))
        spread = deviations.sum()
        if spread == 0:
            raise LinAlgError("both sets are flat along a direction")
        plus, minus = deviations / spread
        return cls(coef / spread, float(coef @ difference / spread), (float(plus), float(minus)))


def _best_share(ratios, masses):
    """Maximise sum_i masses_i / (ratios_i / theta + (1 - ratios_i) / (1 - theta)) over theta."""

    def slope(theta):
        mixed = masses / (ratios * (1 - theta) + (1 - ratios) * theta) ** 2
        return mixed @ ratios * (1 - theta) ** 2 - mixed @ (1 - ratios) * theta**2

    # The objective is concave. One set may have no spread along the best direction, which puts
    # theta at an end; kappa there is within 1e-12 of the limit.
    low, high = 1e-12, 1 - 1e-12
    if slope(low) <= 0:
        return low
    if slope(high) >= 0:
        return high
    return brentq(slope, low, high, xtol=1e-15, rtol=1e-14)


@one_blas_thread
def minimax_direction(S_plus, S_minus, difference, *, tol=1e-12):
    r"""Direction of largest worst-case separation between two sets of given moments.

    .. math:: \kappa = \max_w \frac{w^\top \delta}
              {\sqrt{w^\top S_+ w} + \sqrt{w^\top S_- w}}

    This is eq. (2) of [1]_. Since :math:`(\sigma_+ + \sigma_-)^2 = \min_\theta
    \sigma_+^2/\theta + \sigma_-^2/(1-\theta)` over shares :math:`0 < \theta < 1`, it is a concave
    problem in one variable,

    .. math:: \kappa^2 = \max_\theta g(\theta), \qquad g(\theta) = \delta^\top
              \Big(\frac{S_+}{\theta} + \frac{S_-}{1-\theta}\Big)^{-1} \delta .

    With :math:`S_+ + S_- = LL^\top` and :math:`A = L^{-1} S_+ L^{-\top}` the matrix is a function
    of A alone, whose eigenvalues lie in [0, 1]; a few steps of Lanczos' method started from
    :math:`L^{-1}\delta` serve every theta at once. So one Cholesky factor is all that the paper's
    second-order cone program costs. All eigenvalues of the middle matrix are at least 1, so the
    square of the residual bounds what is missing from :math:`\kappa^2`.

    Parameters
    ----------
    S_plus, S_minus : ndarray of shape (n_features, n_features)
        Regularised covariances of the two sets. Their sum must be positive definite.
    difference : ndarray of shape (n_features,)
        Mean of the positive set less mean of the negative set.
    tol : float, default=1e-12
        Bound on the relative error of kappa squared.

    Returns
    -------
    direction : Direction

    Raises
    ------
    scipy.linalg.LinAlgError
        If the sum of the covariances is singular, when kappa may be infinite.

    References
    ----------
    .. [1] G. Huang, J. Zhang, S. Song, Z. Chen, "Maximin separation probability clustering",
       AAAI 2015.
    """
    L = cholesky(S_plus + S_minus, lower=True, check_finite=False)
    pivots = np.diag(L)
    if (pivots.min() / pivots.max()) ** 2 < np.finfo(np.float64).eps * len(pivots):
        raise LinAlgError("the sum of the covariances is singular")

    def solve(b, *, transposed=False):
        return solve_triangular(L, b, lower=True, trans=int(transposed), check_finite=False)

    start = solve(difference)
    length = np.linalg.norm(start)
    if length == 0:  # equal means: every direction is as good, and none separates
        w = solve(np.full_like(difference, 1.0), transposed=True)
        return Direction.along(w, difference, w @ S_plus @ w, w @ S_minus @ w)

    basis = np.empty((min(16, len(start)), len(start)))
    basis[0] = start / length
    diagonal: list[float] = []
    off_diagonal: list[float] = []
    for step in range(len(start)):
        v = basis[step]
        p = solve(S_plus @ solve(v, transposed=True))
        diagonal.append(float(v @ p))
        for _ in range(2):  # once is not enough to stay orthogonal to working precision
            p -= basis[: step + 1].T @ (basis[: step + 1] @ p)
        beta = np.linalg.norm(p)
        ratios, vectors = eigh_tridiagonal(diagonal, off_diagonal)
        ratios = np.clip(ratios, 0.0, 1.0)
        masses = (length * vectors[0]) ** 2
        theta = _best_share(ratios, masses)
        damping = theta * (1 - theta) / (ratios * (1 - theta) + (1 - ratios) * theta)
        z = vectors @ (length * vectors[0] * damping)
        residual = abs(1 / theta - 1 / (1 - theta)) * beta * abs(z[-1])
        if residual**2 <= tol * (masses @ damping) or beta <= 1e-14:
            break
        off_diagonal.append(float(beta))
        if step + 1 == len(start):
            break
        if step + 1 == len(basis):
            basis = np.concatenate([basis, np.empty_like(basis)])[: len(start)]
        basis[step + 1] = p / beta
    w = solve(basis[: step + 1].T @ z, transposed=True)
    return Direction.along(w, difference, w @ S_plus @ w, w @ S_minus @ w)


def _project_back_chunk(X, weight, side, *, coef, offset, means):
    """What one chunk adds to the products of the two covariances with a vector.

    With q = coef'x + offset - mean, per side the weighted sum of q x and of q.
    """
    xp, _ = namespace_of(X)
    scores = X @ (coef if sp.issparse(X) else like(coef, X)) + offset
    parts = []
    for sign, mean in zip((1, -1), means, strict=True):
        q = (scores - mean) * xp.astype(side == sign, scores.dtype)
        if weight is not None:
            q = q * xp.astype(weight, q.dtype)
        back = X.T @ q if sp.issparse(X) else to_numpy(q @ X)
        parts.append((back.astype(np.float64, copy=False), float(xp.sum(q))))
    return parts


@dataclass(frozen=True)
class ImplicitCovariances:
    """Covariances of two sides of the data that are only ever multiplied with vectors.

    Attributes
    ----------
    X : {array, sparse matrix, dask array} of shape (n_samples, n_features)
        The data.
    sample_weight : array of shape (n_samples,) or None
        Nonnegative weights.
    side : array of shape (n_samples,)
        1 for the positive set, -1 for the negative one, 0 for samples of neither.
    units : Units
        Units in which features are measured.
    weights : ndarray of shape (2,)
        Total weights of the positive and the negative set.
    means : ndarray of shape (2, n_features)
        Their means, in `units`.
    """

    X: Any
    sample_weight: Any
    side: Any
    units: Any
    weights: np.ndarray
    means: np.ndarray

    def products(self, w):
        """Products of both covariances with `w`, in one pass over the data."""
        raw = w / self.units.scale
        back, residuals = np.zeros((2, len(w))), np.zeros(2)
        chunks = map_chunks(
            _project_back_chunk,
            self.X,
            self.sample_weight,
            self.side,
            coef=raw,
            offset=-float(raw @ self.units.mean),
            means=tuple(float(mean) for mean in self.means @ w),
            width=1,
        )
        for parts in chunks:
            for i, (vector, residual) in enumerate(parts):
                back[i] += vector
                residuals[i] += residual
        centered = (back - residuals[:, None] * self.units.mean) / self.units.scale
        return centered / self.weights[:, None]


def minimax_direction_by_passes(covariances, reg, *, start=None, tol=1e-8, max_passes=300):
    r"""Same direction as `minimax_direction`, without forming a covariance matrix.

    The problem is solved in a subspace that grows by its own residual
    :math:`\delta - \kappa (S_+ w/\theta + S_- w/(1-\theta))`, at one pass over the data for each
    dimension. For a fixed theta this is the method of conjugate gradients. The matrix is at least
    :math:`4\lambda I`, so the squared residual over :math:`4\lambda` bounds what is missing from
    :math:`\kappa^2`.

    Parameters
    ----------
    covariances : ImplicitCovariances
        The two sets.
    reg : float
        Ridge added to both covariances, in their units; positive.
    start : ndarray of shape (n_features,), default=None
        Direction to start from.
    tol : float, default=1e-8
        Bound on the relative error of kappa squared.
    max_passes : int, default=300
        Most passes over the data.

    Returns
    -------
    direction : Direction
    """
    difference = covariances.means[0] - covariances.means[1]
    basis = np.empty((0, len(difference)))
    images = np.empty((2, 0, len(difference)))  # what either covariance makes of the basis
    residual = next(v for v in (start, difference, covariances.units.active) if np.any(v))
    v = residual / np.linalg.norm(residual)
    while True:
        image = covariances.products(v) + reg * v
        basis = np.vstack([basis, v])
        images = np.concatenate([images, image[:, None]], axis=1)
        small = images @ basis.T
        S_plus, S_minus = (small + small.transpose(0, 2, 1)) / 2
        found = minimax_direction(S_plus, S_minus, basis @ difference, tol=1e-3 * tol)
        theta = np.clip(found.sigma[0], 1e-12, 1 - 1e-12)
        along = found.coef @ images[0] / theta + found.coef @ images[1] / (1 - theta)
        residual = difference - found.kappa * along
        gap = residual @ residual / (4 * reg)
        v = residual / (np.linalg.norm(residual) or 1.0)
        for _ in range(2):
            v = v - basis.T @ (basis @ v)
        length = np.linalg.norm(v)
        # where rounding is all that is new in the residual, the space holds the solution
        if gap <= tol * found.kappa**2 or length < 1e-10 or len(basis) >= max_passes:
            return replace(found, coef=found.coef @ basis)
        v = v / length


def separation_probability(kappa):
    """Minimum separation probability p = kappa^2 / (1 + kappa^2)."""
    # written so that an infinite kappa gives 1 and not nan
    with np.errstate(divide="ignore"):
        return 1.0 / (1.0 + 1.0 / np.square(np.maximum(kappa, 0.0)))
