r"""The optimal margin distribution machine: margins of one size instead of a large smallest one.

.. math:: \min_w \; \tfrac12 \|w\|^2 + \frac{C}{m (1 - \theta)^2} \sum_i \big( \xi_i^2
          + \nu \epsilon_i^2 \big) \quad \text{s.t.} \quad 1 - \theta - \xi_i \le
          y_i w^\top \phi(x_i) \le 1 + \theta + \epsilon_i

is (1) of [1]_, with the paper's lambda as C. A sample costs nothing while its margin lies in the
zone from 1 - theta to 1 + theta, and the square of what is missing or in excess otherwise. So the
objective is a quadratic function on each of finitely many pieces. Newton's method with an exact
line search solves it in a finite number of steps: each step solves the quadratic problem of the
piece at hand, and the objective falls until the solution lies in the same piece.

The steps are taken in the span of a kernel matrix, or in the space of the features where these
are fewer than the samples. A `KernelSpace` is the dual (3) of the paper in disguise: of its two
multipliers of a sample at most one is positive, so their difference alpha says it all.

References
----------
.. [1] T. Zhang, Z.-H. Zhou, "Optimal margin distribution clustering", AAAI 2018.
"""

import warnings
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from separatrix._sklearn import Interval, fit_context, one_blas_thread
from separatrix.chunks import map_chunks, map_rows
from separatrix.features import KERNEL_CONSTRAINTS, KernelFeaturesMixin
from separatrix.kernels import KernelMap, check_fits_memory, kernel_matrix
from separatrix.multiway import decoded, one_vs_rest_code

__all__ = [
    "FeatureSpace",
    "KernelSpace",
    "Losses",
    "MarginDistribution",
    "OptimalMarginDistributionMachine",
    "solve_in_space",
    "solve_margin_distribution",
    "solve_margin_distribution_linear",
]

# Steps without progress, after which only rounding is left of the residual.
MAX_STALLS = 3
# What the objective has to fall by, relative to it, for a step to be progress.
ROUNDING = 1e-9
TINY = 1e-300
# Cost of what is in excess, relative to what is missing, that a certificate takes zero for.
LEAST_COST = 1e-12
# Residual of a solution that users are told of, though rounding may not leave a smaller one.
NOTICEABLE = 1e-5
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
        rounding leaves no more: it comes to about 1e-16 C / (1 - theta)**2 times the largest
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
    def of(cls, y, *, C, nu, theta, sample_weight=None):
        """Losses of (1), in which m is the total weight."""
        y = np.asarray(y, dtype=np.float64)
        total = len(y) if sample_weight is None else np.sum(sample_weight)
        below = C / (total * (1 - theta) ** 2)
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
        # a cost of zero allows no negative multiplier; a tiny one says so without infinities
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
        """Newton step: minus the inverse of I + DK, D the curvature, times the residual."""
        self._factor(curvature)
        step = -residual
        active, root = self._active, self._root
        # samples without curvature lose their coefficients, and the others have to make up for it
        step[active] = 0.0
        right = -residual[active] / root - root * (self.K @ step)[active]
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
            # a kernel of low rank and large values may be indefinite by rounding; steps that are
            # a little shorter for it still lead down
            H = self._system(active, root)
            H[np.diag_indices_from(H)] += 1e-14 * len(H) * H.diagonal().max()
            try:
                self._cholesky = _factored(H)
            except LinAlgError:
                raise ValueError(
                    "kernel is not positive semidefinite: its matrix has eigenvalues below "
                    f"{-1 / curvature.max():.3g}. Use a valid kernel, such as 'rbf'."
                ) from None
        self._curvature, self._active, self._root = curvature, active, root

    def _system(self, active, root):
        """I + D^1/2 K D^1/2 of the active samples."""
        everything = active.size == len(self.K)
        H = self.K.copy() if everything else self.K[np.ix_(active, active)]
        H *= root
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
    it was computed from. Longer steps would save few, and would blow up coefficients without any
    effect on scores, where the kernel is of low rank; rounding then makes an effect of them.

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
    """Value of (1); what rounding takes from a norm does not make it negative."""
    return 0.5 * max(space.inner(coef, coef, scores), 0.0) + losses.total(scores)


def solve_in_space(space, losses, *, C, start, tol, max_iter):
    """Newton's method for the objective of `losses` in `space`, whose scale is C."""
    # 1. The start: the one given, unless w = 0, whose objective is C, is better.
    coef = space.zero() if start is None else np.array(start, dtype=np.float64)
    scores = space.values(coef)
    if not _objective(space, losses, coef, scores) <= C:
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
        # where the objective is at its least up to rounding, so are slopes nothing but that
        near = -slope <= 1e-14 * objective
        length = 1.0 if near else _exact_step(losses, scores, move, slope, square)
        coef = coef + length * step
        scores = space.values(coef)
    return replace(best, n_iter=n_iter, converged=best.kkt_residual <= tol)


def solve_margin_distribution(
    K, y, *, C=1.0, nu=0.5, theta=0.2, sample_weight=None, start=None, tol=1e-8, max_iter=100
):
    r"""Optimal margin distribution machine in the span of a kernel matrix.

    .. math:: \max_\alpha \; -\tfrac12 (y \odot \alpha)^\top K (y \odot \alpha) + \sum_i \Big[
              (1 - \theta) \alpha_i^+ - (1 + \theta) \alpha_i^- - \frac{m (1 - \theta)^2}{4 C}
              \big( (\alpha_i^+)^2 + \tfrac1\nu (\alpha_i^-)^2 \big) \Big]

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
    C : float, default=1.0
        Weight of the losses, the paper's lambda. The larger, the weaker the regularisation.
    nu : float, default=0.5
        Weight of what margins are in excess, relative to what they miss; 0 < nu <= 1.
    theta : float, default=0.2
        Half the width of the zone in which margins cost nothing; 0 <= theta < 1.
    sample_weight : ndarray of shape (n_samples,), default=None
        Nonnegative weights; m is their sum.
    start : ndarray of shape (n_samples,), default=None
        Multipliers times signs, y * alpha, to begin with: the `coef` of a result for similar
        signs. Where a sign has changed it is the machine that stays, which takes fewer steps than
        to keep alpha.
    tol : float, default=1e-8
        Largest `kkt_residual`, the square root of the duality gap over the objective.
    max_iter : int, default=100
        Most Newton steps.

    Returns
    -------
    result : MarginDistribution

    References
    ----------
    .. [1] T. Zhang, Z.-H. Zhou, "Optimal margin distribution clustering", AAAI 2018.
    """
    losses = Losses.of(y, C=C, nu=nu, theta=theta, sample_weight=sample_weight)
    return solve_in_space(KernelSpace(K), losses, C=C, start=start, tol=tol, max_iter=max_iter)


def solve_margin_distribution_linear(
    X, y, *, C=1.0, nu=0.5, theta=0.2, sample_weight=None, start=None, tol=1e-8, max_iter=100
):
    r"""Optimal margin distribution machine on features.

    .. math:: \min_w \; \tfrac12 \|w\|^2 + \frac{C}{m (1 - \theta)^2} \sum_i
              \big(1 - \theta - y_i w^\top x_i\big)_+^2
              + \nu \big(y_i w^\top x_i - 1 - \theta\big)_+^2

    is (1) of [1]_ with the slacks eliminated. There is no intercept. Parameters and solution are
    those of `solve_margin_distribution` with K = XX', without that matrix: a Newton step costs
    O(n_samples n_features^2).

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Samples.
    y : ndarray of shape (n_samples,)
        Signs, 1 or -1.
    C : float, default=1.0
        Weight of the losses, the paper's lambda. The larger, the weaker the regularisation.
    nu : float, default=0.5
        Weight of what margins are in excess, relative to what they miss; 0 < nu <= 1.
    theta : float, default=0.2
        Half the width of the zone in which margins cost nothing; 0 <= theta < 1.
    sample_weight : ndarray of shape (n_samples,), default=None
        Nonnegative weights; m is their sum.
    start : ndarray of shape (n_features,), default=None
        Weights w to begin with, the `coef` of a result for similar signs.
    tol : float, default=1e-8
        Largest `kkt_residual`, the square root of the duality gap over the objective.
    max_iter : int, default=100
        Most Newton steps.

    Returns
    -------
    result : MarginDistribution
        With w as `coef`.

    References
    ----------
    .. [1] T. Zhang, Z.-H. Zhou, "Optimal margin distribution clustering", AAAI 2018.
    """
    losses = Losses.of(y, C=C, nu=nu, theta=theta, sample_weight=sample_weight)
    X = sp.csr_array(X) if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    return solve_in_space(FeatureSpace(X), losses, C=C, start=start, tol=tol, max_iter=max_iter)


# --- the classifier -----------------------------------------------------------------------------


def _centred_features(X, mean):
    """Space of samples less their mean, with a one appended."""
    ones = np.ones((X.shape[0], 1))
    if sp.issparse(X):
        return FeatureSpace(sp.csr_array(sp.hstack([X, ones])), np.append(mean, 0.0))
    return FeatureSpace(np.hstack([X - mean, ones]))


def _check_symmetric(kernel, X):
    """Refuse a callable that is no kernel, as the first few samples tell."""
    # of one and the same array only half of the values would be computed
    K = kernel_matrix(X[:32], X[:32].copy(), kernel=kernel, params={})
    difference, scale = np.abs(K - K.T).max(), np.abs(K).max()
    if difference > 1e-6 * scale:
        raise ValueError(
            f"kernel={kernel!r} is not symmetric: its values change by {difference:.3g} when the "
            f"two samples change places, where the largest is {scale:.3g}. Use a valid kernel."
        )


class OptimalMarginDistributionMachine(KernelFeaturesMixin, ClassifierMixin, BaseEstimator):
    """Classifier that gives all samples margins of about the same size.

    A support vector machine makes the smallest margin large. This machine wants the margin of
    every sample near one: whatever lies below 1 - `theta` costs the square of what is missing,
    and whatever lies above 1 + `theta` costs `nu` times the square of the excess [1]_. With more
    than two classes, each is told from the rest, and the largest score wins.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the mean loss, the paper's lambda. The larger, the weaker the regularisation.
    nu : float, default=0.5
        Weight of deviations above the zone, relative to those below; 0 < nu <= 1.
    theta : float, default=0.2
        Half the width of the zone around one in which margins cost nothing; 0 <= theta < 1. The
        larger, the fewer samples the machine is made of.
    kernel : str or callable, default="linear"
        "linear", "rbf", "poly", "sigmoid", "laplacian", "cosine", "chi2", "precomputed" or a
        function of two samples. Other kernels than the linear one need the matrix of all their
        values.
    gamma : float, {"scale", "mean", "median"} or tuple, default="scale"
        Kernel coefficient; "scale" is 1 / (n_features * X.var()), "mean" is 1 / sigma**2 with the
        mean distance of two samples as the width sigma, "median" with the median distance, and
        ("mean", 0.5) with half of the mean distance.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and the sigmoid kernel.
    fit_intercept : bool, default=True
        Whether to add a constant feature of value one, whose weight is the intercept and is
        penalised like the others. With the linear kernel the other features are centred first, so
        that adding a constant to X changes nothing. False is the machine of the paper, which has
        no intercept.
    max_iter : int, default=100
        Most Newton steps. Two to ten are usual.
    tol : float, default=1e-8
        Largest square root of the duality gap over the objective.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    margin_mean_ : ndarray of shape (n_boundaries,)
        Weighted mean of the margins of the training samples, for each boundary: one for two
        classes, otherwise one per class.
    margin_variance_ : ndarray of shape (n_boundaries,)
        Their variance.
    objective_ : ndarray of shape (n_boundaries,)
        Objective of each boundary.
    support_ : ndarray of shape (n_support,)
        Training samples with a margin outside of the zone of some boundary; the machine is made
        of these.
    dual_coef_ : ndarray of shape (n_boundaries, n_support)
        Weights of the kernel at these samples, for other kernels than the linear one.
    coef_ : ndarray of shape (n_boundaries, n_features)
        Weights of the features, for the linear kernel.
    intercept_ : ndarray of shape (n_boundaries,)
        Intercepts.
    n_iter_ : int
        Most Newton steps of a boundary.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X has them.

    See Also
    --------
    MinimaxProbabilityMachine : Looks at means and covariances of the classes instead.
    sklearn.svm.LinearSVC : The same without cost of large margins, near `nu` = 0 and `theta` = 0.

    References
    ----------
    .. [1] T. Zhang, Z.-H. Zhou, "Optimal margin distribution clustering", AAAI 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from separatrix import OptimalMarginDistributionMachine
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = OptimalMarginDistributionMachine(C=10).fit(scale(X), y)
    >>> model.score(scale(X), y) > 0.97
    True
    """

    _parameter_constraints: dict = {
        **{name: KERNEL_CONSTRAINTS[name] for name in ("kernel", "gamma", "degree", "coef0")},
        "C": [Interval(Real, 0, None, closed="neither")],
        "nu": [Interval(Real, 0, 1, closed="right")],
        "theta": [Interval(Real, 0, 1, closed="left")],
        "fit_intercept": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, 1, closed="left")],
    }

    def __init__(
        self,
        *,
        C=1.0,
        nu=0.5,
        theta=0.2,
        kernel="linear",
        gamma="scale",
        degree=3,
        coef0=1,
        fit_intercept=True,
        max_iter=100,
        tol=1e-8,
    ):
        self.C = C
        self.nu = nu
        self.theta = theta
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the machine.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, or the kernel matrix of the samples if that is precomputed.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Nonnegative weights. A weight of two equals a repeated sample, zero an absent one.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        self._check_precomputed(X)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        weights = self._validate_weights(X, sample_weight)
        weights = np.ones(X.shape[0]) if weights is None else weights
        self._check_classes(codes, weights)
        present = np.flatnonzero(weights)
        if len(present) < len(weights):
            X, codes, weights = X[present], codes[present], weights[present]
            X = X[:, present] if self.kernel == "precomputed" else X

        signs = one_vs_rest_code(len(self.classes_))[:, codes].astype(np.float64)
        fits = self._fit_signs(X, signs, weights, present)
        margins = signs * np.array([fit.scores for fit in fits])
        self.margin_mean_ = np.average(margins, axis=1, weights=weights)
        deviations = margins - self.margin_mean_[:, None]
        self.margin_variance_ = np.average(deviations**2, axis=1, weights=weights)
        self.objective_ = np.array([fit.objective for fit in fits])
        self.n_iter_ = max(1, *(fit.n_iter for fit in fits))
        self._warn_if_rough(max(fit.kkt_residual for fit in fits))
        return self

    def _warn_if_rough(self, residual):
        # where tol is out of reach of rounding, only what could change scores is worth a word
        if residual <= max(self.tol, NOTICEABLE):
            return
        remedy = "Scale X down, or decrease C."
        if self.n_iter_ >= self.max_iter:
            remedy = f"Increase max_iter={self.max_iter}."
        warnings.warn(
            f"Newton's method ended with a residual of {residual:.3g}, where tol={self.tol:g} was "
            f"asked for. {remedy}",
            ConvergenceWarning,
            stacklevel=3,
        )

    def _fit_signs(self, X, signs, weights, present):
        """Fit a boundary to each row of `signs` and set the model."""
        for name in ("coef_", "dual_coef_"):
            self.__dict__.pop(name, None)
        if self.kernel == "linear":
            return self._fit_linear(X, signs, weights, present)
        check_fits_memory(
            X.shape[0], remedy="fit a sample of the rows, or use kernel='linear' on features"
        )
        if self.kernel == "precomputed":
            K, kernel_map = np.array(X), KernelMap("precomputed", {}, present)
        else:
            if callable(self.kernel):
                _check_symmetric(self.kernel, X)
            params = self._kernel_params(X, weights)
            kernel_map = KernelMap.of(X, kernel=self.kernel, params=params)
            K = np.array(kernel_map.values(X), dtype=np.float64)
        if self.fit_intercept:
            K += 1.0
        fits = self._fits(KernelSpace(K), signs, weights)
        coef = np.array([fit.coef for fit in fits])
        support = self._set_support(fits, present)
        self._feature_map = replace(kernel_map, landmarks=kernel_map.landmarks[support])
        self.dual_coef_ = coef[:, support]
        self.intercept_ = coef.sum(axis=1) if self.fit_intercept else np.zeros(len(coef))
        return fits

    def _fit_linear(self, X, signs, weights, present):
        mean = weights @ X / weights.sum()
        features = _centred_features(X, mean) if self.fit_intercept else FeatureSpace(X)
        n_samples, n_features = features.X.shape
        check_fits_memory(
            min(n_samples, n_features), remedy="reduce the features, by TruncatedSVD for instance"
        )
        if n_features <= n_samples:
            fits = self._fits(features, signs, weights)
            normals = np.array([fit.coef for fit in fits])
        else:
            fits = self._fits(KernelSpace(features.kernel()), signs, weights)
            normals = np.array([features.normal(fit.coef) for fit in fits])
        self._set_support(fits, present)
        self._feature_map = None
        self.coef_, self.intercept_ = normals, np.zeros(len(normals))
        if self.fit_intercept:
            self.coef_ = normals[:, :-1]
            self.intercept_ = normals[:, -1] - self.coef_ @ mean
        return fits

    def _fits(self, space, signs, weights):
        """Machines of the rows of `signs`."""
        fits = []
        for y in signs:
            losses = Losses.of(y, C=self.C, nu=self.nu, theta=self.theta, sample_weight=weights)
            fits.append(
                solve_in_space(
                    space, losses, C=self.C, start=None, tol=self.tol, max_iter=self.max_iter
                )
            )
        return fits

    def _set_support(self, fits, present):
        """Tell which samples the machines are made of; return their rows."""
        support = np.flatnonzero(np.any([fit.alpha != 0 for fit in fits], axis=0))
        self.support_ = present[support]
        return support

    def decision_function(self, X):
        """Signed scores of samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; if the kernel is precomputed, its values at the new samples, one a row, and
            the samples of `fit`.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes one value, positive for the second. Otherwise a column per class; the
            largest wins.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float64)
        if self._feature_map is None:
            scores = X @ self.coef_.T
        else:
            scores = map_rows(self._kernel_sums, X, width=len(self.support_))
        scores = scores + self.intercept_
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def _kernel_sums(self, X):
        return self._feature_map(X) @ self.dual_coef_.T

    def predict(self, X):
        """Class of each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, as for `decision_function`.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Classes.
        """
        chosen = decoded(self.decision_function(X))
        return self.classes_[chosen]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.array_api_support = False
        return tags
