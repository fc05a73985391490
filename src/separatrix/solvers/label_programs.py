"""Programs over the products of labels, and the way back from them to labels."""

from contextlib import suppress

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky, eigh

from separatrix.data.rows import check_fits_memory
from separatrix.result import Progress, Status
from separatrix.solvers.interior_point import Program, inverse, optimize_program

# Certified gap of the machines that labels are compared by.
MACHINE_TOL = 1e-6
# Beyond this many samples a solution takes hours.
MAX_SAMPLES = 5_000
# Matrices of all pairs of samples that a step holds.
N_MATRICES = 25


def check_size(n_samples):
    """Refuse a program that would take hours, or more memory than there is."""
    remedy = (
        "fit a sample of the rows and predict the others, or use MaximumMarginClustering or "
        "MaximumVolumeClustering"
    )
    if n_samples > MAX_SAMPLES:
        memory = 8 * N_MATRICES * n_samples**2 / 1e9
        raise ValueError(
            f"a semidefinite program of n_samples={n_samples} needs {memory:.3g} GB and hours; "
            f"the most allowed is {MAX_SAMPLES}: {remedy}."
        )
    check_fits_memory(n_samples, remedy=remedy, n_matrices=N_MATRICES)


# --- programs -----------------------------------------------------------------------------------


class LabelProgram(Program):
    r"""Relaxed labels that a support vector machine without an intercept separates best.

    .. math:: \min_M \max_{0 \le \alpha \le C} \; 2 \alpha^\top 1 - \alpha^\top (K \circ M) \alpha
              \quad \text{s.t.} \quad M \succeq 0, \; \operatorname{diag} M = 1, \;
              1^\top M 1 \le l^2

    With :math:`D = \operatorname{diag} \alpha`, multipliers d of the diagonal and :math:`\tau` of
    the balance, this is

    .. math:: \max_{\alpha, d, \tau} \; 2 \alpha^\top 1 - d^\top 1 - l^2 \tau \quad \text{s.t.}
              \quad \operatorname{diag} d + \tau 1 1^\top - D K D \succeq 0, \;
              0 \le \alpha \le C, \; \tau \ge 0

    in 2n + 1 variables. Optionally :math:`\|\alpha\| \le 1`, whose multiplier is
    :math:`\kappa`, and a constant is added to the value.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Positive semidefinite matrix.
    C : float
        Largest alpha.
    bound : float
        Largest absolute sum of labels, l.
    unit : bool, default=False
        Whether alpha is no longer than one.
    offset : float, default=0.0
        The constant.
    """

    def __init__(self, K, *, C, bound, unit=False, offset=0.0):
        self.K, self.C, self.unit, self.offset = K, C, unit, offset
        self.n = len(K)
        self.squared_bound = bound**2
        self.gains = np.concatenate([np.full(self.n, 2.0), -np.ones(self.n), [-(bound**2)]])

    def start(self):
        """Small alpha, and M near the identity with half of what the balance allows."""
        n = self.n
        alpha = first_alpha(self.K, 0.5 * self.C)
        if self.unit:
            alpha *= min(1.0, 0.5 / np.linalg.norm(alpha))
        scale = 2 * max((alpha * (np.abs(self.K) @ alpha)).max(), alpha.max())
        tau = 2 * scale / self.squared_bound
        x = np.concatenate([alpha, np.full(n, scale), [tau]])
        share = min(0.5 * self.squared_bound / n, 0.5)
        M = np.full((n, n), -(1 - share) / max(n - 1, 1))
        np.fill_diagonal(M, 1.0)
        s = self._slacks(x)
        y = scale / s
        y[2 * n] = self.squared_bound - M.sum()  # exactly what the balance leaves over
        return x, M, y

    def _slacks(self, x):
        alpha = x[: self.n]
        room = [1 - alpha @ alpha] if self.unit else []
        return np.concatenate([alpha, self.C - alpha, x[-1:], room])

    def constraints(self, x):
        """The matrix of the program; alpha, C - alpha, tau and the room below length one."""
        alpha = x[: self.n]
        X = x[-1] - alpha[:, None] * self.K * alpha
        X[np.diag_indices(self.n)] += x[self.n : -1]
        return X, self._slacks(x)

    def slope(self, x, dx):
        """Changes of both, to first order."""
        alpha, step = x[: self.n], dx[: self.n]
        product = alpha[:, None] * self.K * step
        dX = dx[-1] - product - product.T
        dX[np.diag_indices(self.n)] += dx[self.n : -1]
        room = [-2 * alpha @ step] if self.unit else []
        return dX, np.concatenate([step, -step, dx[-1:], room])

    def bend(self, dx):
        """Changes of both of second order."""
        step = dx[: self.n]
        bent = np.zeros(2 * self.n + 1 + self.unit)
        if self.unit:
            bent[-1] = -(step @ step)
        return -step[:, None] * self.K * step, bent

    def pull(self, x, M, y):
        """Gradient in alpha, d and tau."""
        n, alpha = self.n, x[: self.n]
        along = y[:n] - y[n : 2 * n] + self.turn(alpha, M, y)[:n]
        return np.concatenate([along, np.diag(M), [M.sum() + y[2 * n]]])

    def turn(self, dx, M, y):
        """Change of the gradient in alpha, by alpha alone."""
        step = dx[: self.n]
        turned = -2 * (self.K * M) @ step
        if self.unit:
            turned -= 2 * y[-1] * step
        return np.concatenate([turned, np.zeros(self.n + 1)])

    def system(self, x, s, Z, M, y):
        """The matrix in blocks of alpha, d and tau; its lower triangle, and zeros."""
        K, n, alpha = self.K, self.n, x[: self.n]
        KZ, KM = (K @ (alpha[:, None] * matrix) for matrix in (Z, M))
        KZK, KMK = ((product * alpha) @ K for product in (KZ, KM))
        A = np.zeros((2 * n + 1, 2 * n + 1))
        mixed = KM * KZ.T
        A[:n, :n] = mixed + mixed.T + KMK * Z + (KZK + 2 * K) * M
        diagonal = y[:n] / s[:n] + y[n : 2 * n] / s[n : 2 * n]
        if self.unit:
            diagonal = diagonal + 2 * y[-1]
            A[:n, :n] += (4 * y[-1] / s[-1]) * np.outer(alpha, alpha)
        A[np.arange(n), np.arange(n)] += diagonal
        A[n:-1, :n] = -(M * KZ.T + Z * KM.T)
        A[n:-1, n:-1] = M * Z
        Z1, M1 = Z.sum(axis=1), M.sum(axis=1)
        A[-1, :n] = -(KM.sum(axis=1) * Z1 + M1 * KZ.sum(axis=1))
        A[-1, n:-1] = M1 * Z1
        A[-1, -1] = M1.sum() * Z1.sum() + y[2 * n] / s[2 * n]
        return A

    def upper_bound(self, x, M, y):
        """Value of the machine of M, from above."""
        N = self.K * M
        kappa = y[-1] if self.unit else 0.0
        N[np.diag_indices(self.n)] += kappa
        return machine_bound(N, x[: self.n], y, self.C) + kappa + self.offset

    def lower_bound(self, x):
        """The value, with the constant."""
        return super().lower_bound(x) + self.offset


class MachineProgram(Program):
    r"""A support vector machine without an intercept: nothing is relaxed, so there is no matrix.

    .. math:: \max_{0 \le \alpha \le C} \; 2 \alpha^\top 1 - \alpha^\top N \alpha
    """

    def __init__(self, N, C):
        self.N, self.C, self.n = N, C, len(N)
        self.gains = np.full(self.n, 2.0)

    def start(self):
        """Small alpha."""
        alpha = first_alpha(self.N, 0.5 * self.C)
        _, s = self.constraints(alpha)
        return alpha, np.empty((0, 0)), 2 * alpha.max() / s

    def constraints(self, x):
        """No matrix; alpha and C - alpha."""
        return np.empty((0, 0)), np.concatenate([x, self.C - x])

    def slope(self, x, dx):
        """Changes of both."""
        return np.empty((0, 0)), np.concatenate([dx, -dx])

    def bend(self, dx):
        """Both are affine."""
        return np.empty((0, 0)), np.zeros(2 * self.n)

    def pull(self, x, M, y):
        """Gradient in alpha, with that of the square."""
        return y[: self.n] - y[self.n :] - 2 * self.N @ x

    def turn(self, dx, M, y):
        """Both are affine."""
        return np.zeros(self.n)

    def system(self, x, s, Z, M, y):
        """The matrix of a step."""
        ratios = y / s
        return 2 * self.N + np.diag(ratios[: self.n] + ratios[self.n :])

    def upper_bound(self, x, M, y):
        """Value by the dual problem."""
        return machine_bound(self.N, x, y, self.C)

    def lower_bound(self, x):
        """Value of alpha."""
        return float(2 * x.sum() - x @ self.N @ x)


def first_alpha(K, C):
    """Multipliers of about the right size: samples with many similar ones need less."""
    return np.minimum(C, 1 / np.maximum(np.abs(K).sum(axis=1), np.finfo(np.float64).tiny))


def machine_bound(N, alpha, y, C):
    r"""Bound from above of a machine's value, :math:`v^\top N^{-1} v + 2 C 1^\top \mu`.

    This is its dual, for any :math:`\mu, \nu \ge 0` and :math:`v = 1 + \nu - \mu`: for those at
    hand, halves of `y`, and for those that make alpha optimal, :math:`v = N \alpha`.
    """
    n = len(N)
    fitted = N @ alpha
    bound = alpha @ fitted + 2 * C * np.maximum(1 - fitted, 0).sum()
    v = 1 + 0.5 * (y[:n] - y[n : 2 * n])
    with suppress(LinAlgError):
        solved = cho_solve(cho_factor(N, lower=True, check_finite=False), v)
        bound = min(bound, v @ solved + C * y[n : 2 * n].sum())
    return float(bound)


def factor_of(G):
    """Cholesky factor of a kernel, which rounding may have made singular."""
    for ridge in (0.0, 1e-14, 1e-12, 1e-10):
        with suppress(LinAlgError):
            return cholesky(G + ridge * np.trace(G) * np.eye(len(G)), lower=True)
    raise ValueError(
        "kernel is not positive semidefinite on X, not even up to rounding; use another."
    )


class GeneralizedProgram(Program):
    r"""The program of `relax_generalized_margin`, in coordinates in which it is well scaled.

    With :math:`G = L L^\top` the constraint is :math:`I - L^\top \operatorname{diag}(\gamma) L
    \succeq 0`, and its multiplier stands for products of values less L on both sides.
    """

    def __init__(self, G, C):
        self.C, self.n = C, len(G)
        self.L = factor_of(G)
        self.largest = np.abs(G).sum(axis=1).max()
        self.gains = np.ones(self.n)

    def products(self, M):
        """Products of values, from their multiplier."""
        return self.L @ M @ self.L.T

    def start(self):
        """Equal gamma, half of what is surely allowed, and a point of the central path."""
        size = 0.5 * min(self.C, 1 / self.largest)
        x = np.full(self.n, size)
        X, s = self.constraints(x)
        return x, size * inverse(X), size / s

    def constraints(self, x):
        """The matrix; gamma and C - gamma."""
        return np.eye(self.n) - self.L.T @ (x[:, None] * self.L), np.concatenate([x, self.C - x])

    def slope(self, x, dx):
        """Changes of both."""
        return -self.L.T @ (dx[:, None] * self.L), np.concatenate([dx, -dx])

    def bend(self, dx):
        """Both are affine."""
        return np.zeros((self.n, self.n)), np.zeros(2 * self.n)

    def pull(self, x, M, y):
        """Gradient in gamma."""
        return y[: self.n] - y[self.n :] - self._squares(M)

    def turn(self, dx, M, y):
        """Both are affine."""
        return np.zeros(self.n)

    def system(self, x, s, Z, M, y):
        """The matrix of a step."""
        ratios = y / s
        curvature = self.products(M) * self.products(Z)
        return curvature + np.diag(ratios[: self.n] + ratios[self.n :])

    def upper_bound(self, x, M, y):
        """Value of M as the products of values."""
        missing = np.maximum(1 - self._squares(M), 0.0)
        return float(np.trace(M) + self.C * missing.sum())

    def _squares(self, M):
        """Diagonal of the products of values."""
        return np.einsum("ij,ij->i", self.L @ M, self.L)


# --- from relaxed labels to labels --------------------------------------------------------------


def label_bound(balance, n_samples):
    """Largest sum of labels: a share of the samples, and at least one, as odd numbers need."""
    return max(balance * n_samples, 1.0)


def status_of(relaxation, tol):
    """Status of labels: what counts is the gap that is left, unless a callback wanted it so."""
    if relaxation.status is Status.STOPPED:
        return Status.STOPPED
    return Status.GAP_LEFT if relaxation.gap > tol else Status.CONVERGED


def best_labelling(M, K, *, C, signs_of, n_draws, rng):
    """Of several roundings of relaxed labels, the one with the best machine.

    The first is by the first eigenvector of M, the others by random combinations of all.

    Parameters
    ----------
    M : ndarray of shape (n, n)
        Relaxed products of labels.
    K : ndarray of shape (n, n)
        Kernel matrix of the machine.
    C : float
        Largest multiplier of it.
    signs_of : callable
        Turns scores of the size of labels into labels.
    n_draws : int
        How many combinations to draw.
    rng : RandomState
        Draws them.

    Returns
    -------
    response : ndarray of shape (n,)
        Multipliers of the machine times labels, -1 or 1.
    """
    values, vectors = eigh(M, driver="evd", check_finite=False)
    vectors *= np.sqrt(np.maximum(values, 0.0))
    drawn = vectors @ rng.standard_normal((len(M), n_draws))
    candidates = np.array([signs_of(scores) for scores in (vectors[:, -1], *drawn.T)])
    objective, response = np.inf, None
    for signs in np.unique(candidates * candidates[:, :1], axis=0):
        program = MachineProgram(signs[:, None] * K * signs, C)
        machine = optimize_program(program, tol=MACHINE_TOL, max_steps=100, progress=Progress())
        if machine.objective < objective:
            objective, response = machine.objective, machine.x * signs
    return response
