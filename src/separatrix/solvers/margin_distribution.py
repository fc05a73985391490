r"""The optimal margin distribution machine: margins of one size instead of a large smallest one.

.. math:: \min_w \; \tfrac12 \|w\|^2 + \frac{\lambda}{m (1 - \theta)^2} \sum_i \big( \xi_i^2
          + \nu \epsilon_i^2 \big) \quad \text{s.t.} \quad 1 - \theta - \xi_i \le
          y_i w^\top \phi(x_i) \le 1 + \theta + \epsilon_i

is (1) of [1]_, with lambda as `strength`. A sample costs nothing while its margin lies in the
zone from 1 - theta to 1 + theta, and the square of the shortfall or excess otherwise. So the
objective is a quadratic function on each of finitely many pieces. Newton's method with an exact
line search solves it in a finite number of steps: each step solves the quadratic problem of the
piece at hand, and the objective falls until the solution lies in the same piece.

The steps are taken in the span of a kernel matrix, or in the space of the features where these
are fewer than the samples. A `KernelSpace` corresponds to the dual (3) of the paper: at most one
of the two multipliers of a sample is positive, so their difference alpha determines both.

References
----------
.. [1] T. Zhang, Z.-H. Zhou, "Optimal margin distribution clustering", AAAI 2018.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular

from separatrix._sklearn import one_blas_thread
from separatrix.data.rows import map_chunks
from separatrix.similarity.kernels import indefinite_kernel

# After this many steps without progress, the rest of the residual is rounding.
MAX_STALLS = 3
# Relative decrease of the objective that counts as progress.
ROUNDING = 1e-9
TINY = 1e-300
# Relative cost of excess that a certificate uses instead of zero.
LEAST_COST = 1e-12
# Trials of the line search, which needs about three.
MAX_TRIALS = 60
# Sizes between which a factor is computed on one thread: below, BLAS does so anyway; above, more
# of them pay off.
FEW_ROWS = 64
MANY_ROWS = 1_000


@dataclass(frozen=True)
class MarginDistribution:
    r"""A fitted machine with its certificate.

    Attributes
    ----------
    alpha : ndarray of shape (n_samples,)
        Multipliers, zeta - beta in (3) of the paper: positive where a margin is too small,
        negative where it is too large, zero inside the zone.
    coef : ndarray of shape (n_samples,) or (n_features,)
        Weights of the kernel at each sample, y * alpha, or of the features.
    scores : ndarray of shape (n_samples,)
        Values of the machine at the samples; their margins are y * scores.
    objective : float
        Value of (1).
    dual_objective : float
        Value of (3) at `alpha`, a lower bound on that of (1).
    kkt_residual : float
        Square root of the duality gap over the objective. The gap is summed from the squared
        violations of the optimality conditions, so it has digits far below those of the
        objective. The distance of w from the solution is at most `kkt_residual` times
        sqrt(2 * objective), which bounds the norm of the solution.
    n_iter : int
        Newton steps.
    converged : bool
        Whether `kkt_residual` is at most `tol`. If not, either `max_iter` was too small, or
        rounding leaves no more: it comes to about 1e-16 lambda / (1 - theta)**2 times the largest
        value of the kernel.
    """

    alpha: np.ndarray
    coef: np.ndarray
    scores: np.ndarray
    objective: float
    dual_objective: float
    kkt_residual: float
    n_iter: int
    converged: bool


# --- the losses ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Losses:
    """What margins outside of the zone cost.

    Attributes
    ----------
    y : ndarray of shape (n_samples,)
        Signs.
    low, high : float
        Ends of the zone.
    below, above : float or ndarray of shape (n_samples,)
        Costs of the squares of what is missing and of what is in excess.
    """

    y: np.ndarray
    low: float
    high: float
    below: Any
    above: Any

    @classmethod
    def of(cls, y, *, strength, nu, theta, sample_weight=None):
        """Losses of (1), in which m is the total weight."""
        y = np.asarray(y, dtype=np.float64)
        total = len(y) if sample_weight is None else np.sum(sample_weight)
        below = strength / (total * (1 - theta) ** 2)
        if sample_weight is not None:
            below = below * np.asarray(sample_weight, dtype=np.float64)
        return cls(y, 1 - theta, 1 + theta, below, nu * below)

    def slopes(self, scores):
        """Derivatives by the scores: the first, negative, and the second."""
        margins = self.y * scores
        missing = np.maximum(self.low - margins, 0.0)
        excess = np.maximum(margins - self.high, 0.0)
        pulls = 2 * self.y * (self.below * missing - self.above * excess)
        # at an end of the zone either derivative will do; without a zone, only the outer one
        curvature = 2 * (self.below * (margins <= self.low) + self.above * (margins > self.high))
        return pulls, curvature

    def sides(self, scores):
        """The piece of the objective: -1 for samples below the zone, 1 above, 0 inside."""
        margins = self.y * scores
        return (margins > self.high).astype(np.int8) - (margins <= self.low)

    def of_each(self, margins):
        """Loss of each sample."""
        missing = np.maximum(self.low - margins, 0.0)
        excess = np.maximum(margins - self.high, 0.0)
        return self.below * missing**2 + self.above * excess**2

    def total(self, scores):
        """Sum of the losses."""
        return float(np.sum(self.of_each(self.y * scores)))

    def gap(self, scores, coef):
        """Duality gap of multipliers y * coef whose machine has these scores.

        It is the sum of what each sample misses of L(m) + L*(-alpha) + alpha m = 0, where L* is
        the conjugate of the loss. All terms are squares or products of two positive numbers.
        """
        margins, alpha = self.y * scores, self.y * coef
        positive = alpha >= 0
        # a cost of zero allows no negative multiplier; a tiny one has the same effect without
        # infinities
        above = np.maximum(self.above, LEAST_COST * self.below)
        cost = np.where(positive, self.below, above)
        distance = np.where(positive, self.low, self.high) - margins
        wanted = np.divide(alpha, 2 * cost, out=np.zeros_like(alpha), where=cost > 0)
        same_side = distance * alpha > 0
        apart = cost * wanted**2 - alpha * distance + self.of_each(margins)
        return float(np.sum(np.where(same_side, cost * (distance - wanted) ** 2, apart)))


# --- the spaces ---------------------------------------------------------------------------------


def _cholesky(H):
    """Lower factor of a symmetric matrix in C order, which is overwritten."""
    # LAPACK wants the transpose, which is the same matrix without a copy
    return cholesky(H.T, lower=True, overwrite_a=True, check_finite=False)


_cholesky_on_one_thread = one_blas_thread(_cholesky)


def _factored(H):
    """Lower Cholesky factor of H, on as many threads as pay off."""
    one = FEW_ROWS < len(H) <= MANY_ROWS
    return _cholesky_on_one_thread(H) if one else _cholesky(H)


class KernelSpace:
    """Machines in the span of a kernel matrix; the last factor of it is kept.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        Kernel matrix, symmetric and positive semidefinite.
    """

    def __init__(self, K):
        self.K = np.asarray(K, dtype=np.float64)
        self._curvature = None

    def zero(self):
        """The coefficients of w = 0."""
        return np.zeros(len(self.K))

    def values(self, coef):
        """Values at the samples."""
        return self.K @ coef

    def inner(self, coef, _, values):
        """Inner product of the functions of `coef` and of some other coefficients and values."""
        return float(coef @ values)

    def residual(self, coef, pulls):
        """Coefficients less those that the losses ask for."""
        return coef - pulls

    def gap(self, coef, _, scores, losses):
        """Duality gap."""
        return losses.gap(scores, coef)

    def multipliers(self, coef, _, y):
        """Multipliers of the samples."""
        return y * coef

    def direction(self, residual, curvature):
        """Newton step: minus the inverse of I + DK, D the curvature, times the residual.

        A matrix of residuals, one in each column, has a matrix of steps.
        """
        self._factor(curvature)
        step = -residual
        active = self._active
        root = self._root if residual.ndim == 1 else self._root[:, None]
        # samples without curvature lose their coefficients, and the others compensate
        step[active] = 0.0
        right = -residual[active] / root
        if active.size < len(step):
            right -= root * (self.K @ step)[active]
        if active.size:
            step[active] = root * cho_solve((self._cholesky, True), right, check_finite=False)
        return step

    def whitened(self, A, curvature):
        """Matrix whose inner products are those of A by the inverse of 1 / D + K."""
        self._factor(curvature)
        scaled = self._root[:, None] * A[self._active]
        return solve_triangular(self._cholesky, scaled, lower=True, check_finite=False)

    def _factor(self, curvature):
        """Factor I + D^1/2 K D^1/2, of samples with curvature, unless that is at hand."""
        if self._curvature is not None and np.array_equal(curvature, self._curvature):
            return
        active = np.flatnonzero(curvature)
        root = np.sqrt(curvature[active])
        try:
            self._cholesky = _factored(self._system(active, root))
        except LinAlgError:
            # a kernel of low rank and large values may be indefinite by rounding; slightly shorter
            # steps still descend
            H = self._system(active, root)
            H[np.diag_indices_from(H)] += 1e-14 * len(H) * H.diagonal().max()
            try:
                self._cholesky = _factored(H)
            except LinAlgError:
                raise indefinite_kernel(-1 / curvature.max(), np.diag(self.K).max()) from None
        self._curvature, self._active, self._root = curvature, active, root

    def _system(self, active, root):
        """I + D^1/2 K D^1/2 of the active samples."""
        everything = active.size == len(self.K)
        H = (self.K if everything else self.K[np.ix_(active, active)]) * root
        H *= root[:, None]
        H[np.diag_indices_from(H)] += 1.0
        return H


def _scatter_of_chunk(X, curvature):
    """Weighted sum of outer products of some rows."""
    active = curvature > 0
    scaled = X[active] * np.sqrt(curvature[active])[:, None]
    return scaled.T @ scaled


class FeatureSpace:
    """Machines on features; no matrix of samples by samples is made.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Samples.
    origin : ndarray of shape (n_features,), default=None
        What is subtracted from sparse samples, which stay sparse.
    """

    def __init__(self, X, origin=None):
        self.X = X
        self.origin = np.zeros(X.shape[1]) if origin is None else origin
        self._curvature = None

    def zero(self):
        """The coefficients of w = 0."""
        return np.zeros(self.X.shape[1])

    def values(self, coef):
        """Values at the samples."""
        return self.X @ coef - self.origin @ coef

    def normal(self, multipliers):
        """Sum of the samples times their multipliers."""
        return self.X.T @ multipliers - self.origin * multipliers.sum()

    def kernel(self):
        """Inner products of the samples."""
        K = self.X @ self.X.T
        if not sp.issparse(self.X):
            return K
        along = self.X @ self.origin
        return K.toarray() - along[:, None] - along + self.origin @ self.origin

    def inner(self, coef, other, _):
        """Inner product of the functions of `coef` and of some other coefficients and values."""
        return float(coef @ other)

    def residual(self, coef, pulls):
        """Coefficients less those that the losses ask for: the gradient."""
        return coef - self.normal(pulls)

    def gap(self, _, residual, scores, losses):
        """Duality gap."""
        return 0.5 * float(residual @ residual)

    def multipliers(self, _, pulls, y):
        """Multipliers of the samples."""
        return y * pulls

    def direction(self, residual, curvature):
        """Newton step."""
        if self._curvature is None or not np.array_equal(curvature, self._curvature):
            H = self._scatter(curvature)
            H[np.diag_indices_from(H)] += 1.0
            try:
                self._cholesky = _factored(H.copy())
            except LinAlgError:  # features so large that rounding is more than one
                H[np.diag_indices_from(H)] += 1e-14 * len(H) * H.diagonal().max()
                self._cholesky = _factored(H)
            self._curvature = curvature
        return cho_solve((self._cholesky, True), -residual, check_finite=False)

    def _scatter(self, curvature):
        """Sum of outer products of the samples, weighted by their curvature."""
        if not sp.issparse(self.X):
            return sum(map_chunks(_scatter_of_chunk, self.X, curvature, rereads=True))
        weighted = sp.csr_array(self.X.multiply(curvature[:, None]))
        first = self.X.T @ curvature
        scatter = (self.X.T @ weighted).toarray()
        half = np.outer(self.origin, first - 0.5 * curvature.sum() * self.origin)
        return scatter - half - half.T


# --- Newton's method ----------------------------------------------------------------------------


def _exact_step(losses, scores, move, slope, square):
    """Length of a step, at most one, at which the objective is least.

    Its derivative along the step is an increasing, piecewise linear function. Newton's method in
    one variable, kept within the bracket that signs give, ends when a root lies in the piece that
    it was computed from. Longer steps would save few, and with a kernel of low rank they would
    inflate coefficients that have no effect on scores except by rounding.

    Parameters
    ----------
    losses : Losses
        The losses.
    scores, move : ndarray of shape (n_samples,)
        Values of the machine, and of a step of length one.
    slope : float
        Derivative of the objective at length zero, negative.
    square : float
        Squared norm of the step.

    Returns
    -------
    length : float
    """
    pulls, _ = losses.slopes(scores)
    first, piece = losses.sides(scores), None
    length, low, high = 1.0, 0.0, 1.0
    for _ in range(MAX_TRIALS):
        trial = scores + length * move
        new_pulls, curvature = losses.slopes(trial)
        new_piece = losses.sides(trial)
        derivative = slope + length * square - (new_pulls - pulls) @ move
        # a Newton step that stays in its piece has length one, whatever rounding says of slopes
        exact = 1e-4 if np.array_equal(new_piece, first) else 1e-10
        if abs(derivative) <= exact * abs(slope) or (length == 1 and derivative < 0):
            return length
        if piece is not None and np.array_equal(new_piece, piece):
            return length
        piece = new_piece
        if derivative < 0:
            low = length
        else:
            high = length
        bend = square + curvature @ move**2
        length = length - derivative / bend if bend > 0 else high
        if not low < length < high:
            length, piece = 0.5 * (low + high), None  # no root of this piece
    return length


def _objective(space, losses, coef, scores):
    """Value of (1); rounding of the norm does not make it negative."""
    return 0.5 * max(space.inner(coef, coef, scores), 0.0) + losses.total(scores)


def fit_in_space(space, losses, *, start=None, tol=1e-8, max_iter=100):
    """Newton's method for the objective of `losses` in `space`.

    Parameters
    ----------
    space : KernelSpace or FeatureSpace
        Where machines are sought.
    losses : Losses
        What margins cost.
    start : ndarray, default=None
        Coefficients to begin with.
    tol : float, default=1e-8
        Largest `kkt_residual`, the square root of the duality gap over the objective.
    max_iter : int, default=100
        Most Newton steps.

    Returns
    -------
    result : MarginDistribution
    """
    # 1. The start: the one given, unless w = 0 is better.
    coef = space.zero() if start is None else np.array(start, dtype=np.float64)
    scores = space.values(coef)
    if not _objective(space, losses, coef, scores) <= losses.total(np.zeros_like(losses.y)):
        coef = space.zero()
        scores = np.zeros_like(losses.y)
    best: Any = None
    n_stalls = 0
    for n_iter in range(max_iter + 1):
        # 2. How far from the solution.
        pulls, curvature = losses.slopes(scores)
        objective = _objective(space, losses, coef, scores)
        residual = space.residual(coef, pulls)
        gap = space.gap(coef, residual, scores, losses)
        kkt_residual = float(np.sqrt(gap / max(objective, TINY)))
        fell = best is None or objective < (1 - ROUNDING) * best.objective
        progress = fell or kkt_residual < 0.5 * best.kkt_residual
        n_stalls = 0 if progress else n_stalls + 1
        if fell or kkt_residual < best.kkt_residual:
            alpha = space.multipliers(coef, pulls, losses.y)
            dual = objective - gap
            best = MarginDistribution(alpha, coef, scores, objective, dual, kkt_residual, 0, False)
        if kkt_residual <= tol or n_stalls == MAX_STALLS or n_iter == max_iter:
            break
        # 3. The solution of the quadratic problem of this piece, or a part of the way to it.
        step = space.direction(residual, curvature)
        move = space.values(step)
        slope = space.inner(residual, step, move)
        square = max(space.inner(step, step, move), 0.0)
        # where the objective is minimal up to rounding, slopes are rounding errors too
        near = -slope <= 1e-14 * objective
        length = 1.0 if near else _exact_step(losses, scores, move, slope, square)
        coef = coef + length * step
        scores = space.values(coef)
    return replace(best, n_iter=n_iter, converged=best.kkt_residual <= tol)


def fit_margin_distribution(
    K, y, *, strength=1.0, nu=0.5, theta=0.2, sample_weight=None, **options
):
    r"""Optimal margin distribution machine in the span of a kernel matrix.

    .. math:: \max_\alpha \; -\tfrac12 (y \odot \alpha)^\top K (y \odot \alpha) + \sum_i \Big[
              (1 - \theta) \alpha_i^+ - (1 + \theta) \alpha_i^-
              - \frac{m (1 - \theta)^2}{4 \lambda} \big( (\alpha_i^+)^2
              + \tfrac1\nu (\alpha_i^-)^2 \big) \Big]

    is (3) of [1]_ with :math:`\alpha^+ = \zeta` and :math:`\alpha^- = \beta`, of which at most
    one is positive for each sample. The paper moves along noisy gradients; this is Newton's
    method, which ends after a few steps with an exact solution. A step costs a Cholesky factor of
    the samples whose margins are outside of the zone.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        Kernel matrix, symmetric and positive semidefinite. It is not changed.
    y : ndarray of shape (n_samples,)
        Signs, 1 or -1.
    strength : float, default=1.0
        Weight of the mean loss, the paper's lambda: C times m. The larger, the weaker the
        regularisation.
    nu : float, default=0.5
        Weight of the excess of margins relative to their shortfall; 0 < nu <= 1.
    theta : float, default=0.2
        Half the width of the zone in which margins cost nothing; 0 <= theta < 1.
    sample_weight : ndarray of shape (n_samples,), default=None
        Nonnegative weights; m is their sum.
    **options
        Of `fit_in_space`. A start is multipliers times signs, y * alpha: the `coef` of a result
        for similar signs. Where a sign has changed it is the machine that stays, which takes
        fewer steps than to keep alpha.

    Returns
    -------
    result : MarginDistribution

    References
    ----------
    .. [1] T. Zhang, Z.-H. Zhou, "Optimal margin distribution clustering", AAAI 2018.
    """
    losses = Losses.of(y, strength=strength, nu=nu, theta=theta, sample_weight=sample_weight)
    return fit_in_space(KernelSpace(K), losses, **options)


def fit_margin_distribution_linear(
    X, y, *, strength=1.0, nu=0.5, theta=0.2, sample_weight=None, **options
):
    r"""Optimal margin distribution machine on features.

    .. math:: \min_w \; \tfrac12 \|w\|^2 + \frac{\lambda}{m (1 - \theta)^2} \sum_i
              \big(1 - \theta - y_i w^\top x_i\big)_+^2
              + \nu \big(y_i w^\top x_i - 1 - \theta\big)_+^2

    is (1) of [1]_ with the slacks eliminated. There is no intercept. Parameters and solution are
    those of `fit_margin_distribution` with K = XX', without that matrix: a Newton step costs
    O(n_samples n_features^2).

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Samples.
    y : ndarray of shape (n_samples,)
        Signs, 1 or -1.
    strength : float, default=1.0
        Weight of the mean loss, the paper's lambda: C times m. The larger, the weaker the
        regularisation.
    nu : float, default=0.5
        Weight of the excess of margins relative to their shortfall; 0 < nu <= 1.
    theta : float, default=0.2
        Half the width of the zone in which margins cost nothing; 0 <= theta < 1.
    sample_weight : ndarray of shape (n_samples,), default=None
        Nonnegative weights; m is their sum.
    **options
        Of `fit_in_space`. A start is weights w, the `coef` of a result for similar signs.

    Returns
    -------
    result : MarginDistribution
        With w as `coef`.

    References
    ----------
    .. [1] T. Zhang, Z.-H. Zhou, "Optimal margin distribution clustering", AAAI 2018.
    """
    losses = Losses.of(y, strength=strength, nu=nu, theta=theta, sample_weight=sample_weight)
    X = sp.csr_array(X) if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    return fit_in_space(FeatureSpace(X), losses, **options)
