"""Programs over the products of labels, and the way back from them to labels."""

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
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


def check_size(n_samples, *, triangles=False):
    """Refuse a program that would take too long, or more memory than there is."""
    if triangles and n_samples > MAX_TRIANGLE_SAMPLES:
        raise ValueError(
            f"triangles=True takes too long for n_samples={n_samples}; the most allowed is "
            f"{MAX_TRIANGLE_SAMPLES}: fit a sample of the rows and predict the others, or use "
            "triangles=False."
        )
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


@dataclass(frozen=True, eq=False)
class Fold:
    """Components of samples whose labels are equal or opposite because of links.

    Attributes
    ----------
    component : ndarray of int of shape (n_samples,)
        Component of each sample.
    sign : ndarray of shape (n_samples,)
        Label of each sample if its component has 1.
    signs : ndarray of shape (n_components,)
        Labels of the components that are in balance, for a start.
    """

    component: np.ndarray
    sign: np.ndarray
    signs: np.ndarray

    @property
    def n_components(self):
        """Number of components."""
        return len(self.signs)

    @cached_property
    def net(self):
        """Sums of the labels of components that have 1."""
        return np.bincount(self.component, self.sign.astype(np.float64))

    def half(self, values):
        """Rows of samples, from those of components."""
        sign = self.sign if values.ndim == 1 else self.sign[:, None]
        return sign * values[self.component]

    def across(self, values):
        """The same of columns."""
        return values[:, self.component] * self.sign

    def sums(self, values):
        """Rows of components, sums over their samples."""
        members = (self.sign.astype(np.float64), (self.component, np.arange(len(self.sign))))
        return sp.csr_array(members, (self.n_components, len(self.sign))) @ values


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
    :math:`\kappa`, and a constant is added to the value. Of the constraints that all labellings
    keep, `cuts` may be added, :math:`\langle A_c, M \rangle \le 1`: each has a variable
    :math:`\sigma_c \ge 0`, adds :math:`\sigma_c A_c` to the matrix and costs
    :math:`\sigma_c`.

    Where links determine the products of some labels, :math:`M = S M' S^\top` with one row of M'
    for each component of linked samples, and S has the signs of samples in theirs. All is the same
    with M' instead of M, the matrix :math:`\operatorname{diag} d + \tau w w^\top - S^\top D K D S`
    and :math:`w = S^\top 1`.

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
    cuts : TriangleCuts, default=None
        Constraints of three samples, or components, each; none by default.
    fold : Fold, default=None
        Components of linked samples; each sample is its own by default.
    """

    def __init__(self, K, *, C, bound, unit=False, offset=0.0, cuts=None, fold=None):
        self.K, self.C, self.bound, self.unit, self.offset = K, C, bound, unit, offset
        self.n, self.fold = len(K), fold
        self.n_rows = self.n if fold is None else fold.n_components
        self.squared_bound = bound**2
        self.cuts = TriangleCuts.none() if cuts is None else cuts
        self.gains = np.concatenate(
            [np.full(self.n, 2.0), -np.ones(self.n_rows), [-(bound**2)], -np.ones(len(self.cuts))]
        )

    def with_cuts(self, cuts):
        """The same program with other cuts."""
        given = {"C": self.C, "bound": self.bound, "unit": self.unit, "offset": self.offset}
        return LabelProgram(self.K, **given, cuts=cuts, fold=self.fold)

    def products(self, M):
        """Products of the labels of all samples."""
        return M if self.fold is None else self.fold.half(self.fold.half(M).T)

    def _half(self, M):
        """Products of the labels of all samples with those of the components."""
        return M if self.fold is None else self.fold.half(M)

    def _sums(self, values):
        """Sums over the last axis, of components times their sums of labels."""
        return values.sum(axis=-1) if self.fold is None else values @ self.fold.net

    def _folded(self, X):
        """A matrix of the samples, summed over the components with their signs."""
        return X if self.fold is None else self.fold.sums(self.fold.sums(X).T)

    def start(self):
        """Small alpha, and M near the identity with half of what the balance allows."""
        n = self.n
        alpha = first_alpha(self.K, 0.5 * self.C)
        if self.unit:
            alpha *= min(1.0, 0.5 / np.linalg.norm(alpha))
        needed = alpha * (np.abs(self.K) @ alpha)
        if self.fold is not None:
            needed = np.bincount(self.fold.component, needed)
        scale = 2 * max(needed.max(), alpha.max())
        tau = 2 * scale / self.squared_bound
        sigma = np.full(len(self.cuts), 0.1 * scale / self.cuts.most_at_one_sample)
        x = np.concatenate([alpha, np.full(self.n_rows, scale), [tau], sigma])
        M = self._first_products()
        s = self._slacks(x)
        y = scale / s
        # exactly what the balance and the cuts leave
        y[2 * n] = self.squared_bound - self._sums(self._sums(M))
        y[self._slacks_of_cuts] = 1 - self.cuts.values(M)
        return x, M, y

    def _first_products(self):
        """Products with half of what the balance allows; those of components are near labels."""
        if self.fold is not None:
            signs, net = self.fold.signs, self.fold.net
            least, even = (net @ signs) ** 2, net @ net
            share = min(0.5 * (self.squared_bound - least) / max(even - least, 1.0), 0.5)
            return (1 - share) * np.outer(signs, signs) + share * np.eye(self.n_rows)
        n = self.n
        share = min(0.5 * self.squared_bound / n, 0.5)
        M = np.full((n, n), -(1 - share) / max(n - 1, 1))
        np.fill_diagonal(M, 1.0)
        return M

    @property
    def _tau(self):
        """Where tau is among the variables."""
        return self.n + self.n_rows

    @property
    def _of_cuts(self):
        """Where the cuts are among the variables."""
        return slice(self._tau + 1, self._tau + 1 + len(self.cuts))

    @property
    def _slacks_of_cuts(self):
        """Where they are among the slacks."""
        return slice(2 * self.n + 1, 2 * self.n + 1 + len(self.cuts))

    def _slacks(self, x):
        alpha = x[: self.n]
        room = [1 - alpha @ alpha] if self.unit else []
        return np.concatenate([alpha, self.C - alpha, x[self._tau :], room])

    def constraints(self, x):
        """The matrix of the program; alpha, C - alpha, tau, sigma and the room below one."""
        alpha = x[: self.n]
        return self._matrix(-alpha[:, None] * self.K * alpha, x), self._slacks(x)

    def _matrix(self, X, x):
        """A matrix of the samples, folded, with what d, tau and sigma add to it."""
        X = self._folded(X)
        net = self.fold and self.fold.net
        X = X + (x[self._tau] if net is None else x[self._tau] * np.outer(net, net))
        X[np.diag_indices(self.n_rows)] += x[self.n : self._tau]
        return self.cuts.add(x[self._of_cuts], X)

    def slope(self, x, dx):
        """Changes of both, to first order."""
        alpha, step = x[: self.n], dx[: self.n]
        product = alpha[:, None] * self.K * step
        dX = self._matrix(-product - product.T, dx)
        room = [-2 * alpha @ step] if self.unit else []
        return dX, np.concatenate([step, -step, dx[self._tau :], room])

    def bend(self, dx):
        """Changes of both of second order."""
        step = dx[: self.n]
        bent = np.zeros(2 * self.n + 1 + len(self.cuts) + self.unit)
        if self.unit:
            bent[-1] = -(step @ step)
        return self._folded(-step[:, None] * self.K * step), bent

    def pull(self, x, M, y):
        """Gradient in alpha, d, tau and sigma."""
        n, alpha = self.n, x[: self.n]
        along = y[:n] - y[n : 2 * n] + self.turn(alpha, M, y)[:n]
        of_cuts = self.cuts.values(M) + y[self._slacks_of_cuts]
        summed = self._sums(self._sums(M))
        return np.concatenate([along, np.diag(M), [summed + y[2 * n]], of_cuts])

    def turn(self, dx, M, y):
        """Change of the gradient in alpha, by alpha alone."""
        step = dx[: self.n]
        turned = -2 * (self.K * self.products(M)) @ step
        if self.unit:
            turned -= 2 * y[-1] * step
        return np.concatenate([turned, np.zeros(len(self.gains) - self.n)])

    def system(self, x, s, Z, M, y):
        """The matrix in blocks of alpha, d, tau and sigma; its lower triangle, and zeros."""
        K, n, alpha = self.K, self.n, x[: self.n]
        half_Z, half_M = self._half(Z), self._half(M)
        KZ, KM = (K @ (alpha[:, None] * half) for half in (half_Z, half_M))
        A = np.zeros((len(self.gains), len(self.gains)))
        A[:n, :n] = self._of_alpha(K, alpha, Z, M, KZ, KM)
        diagonal = y[:n] / s[:n] + y[n : 2 * n] / s[n : 2 * n]
        if self.unit:
            diagonal = diagonal + 2 * y[-1]
            A[:n, :n] += (4 * y[-1] / s[-1]) * np.outer(alpha, alpha)
        A[np.arange(n), np.arange(n)] += diagonal
        d, tau, sigma = slice(n, self._tau), self._tau, self._of_cuts
        A[d, :n] = -(half_M * KZ + half_Z * KM).T
        A[d, d] = M * Z
        Z1, M1 = self._sums(Z), self._sums(M)
        A[tau, :n] = -(self._sums(KM) * self._half(Z1) + self._half(M1) * self._sums(KZ))
        A[tau, d] = M1 * Z1
        A[tau, tau] = self._sums(M1) * self._sums(Z1) + y[2 * n] / s[2 * n]
        if len(self.cuts):
            along, of_cuts = self.cuts.along, self._slacks_of_cuts
            A[sigma, :n] = -(along(half_M.T, KZ.T) + along(KM.T, half_Z.T))
            A[sigma, d] = along(M, Z)
            A[sigma, tau] = along(M1[:, None], Z1[:, None])[:, 0]
            A[sigma, sigma] = self.cuts.across(M, Z) + np.diag(y[of_cuts] / s[of_cuts])
        return A

    def _of_alpha(self, K, alpha, Z, M, KZ, KM):
        """The block of alpha, without that of its bounds."""
        if self.fold is not None:
            Z, M, KZ, KM = self.products(Z), self.products(M), *map(self.fold.across, (KZ, KM))
        KZK, KMK = ((product * alpha) @ K for product in (KZ, KM))
        mixed = KM * KZ.T
        return mixed + mixed.T + KMK * Z + (KZK + 2 * K) * M

    def upper_bound(self, x, M, y):
        """Value of the machine of M, from above."""
        N = self.K * self.products(M)
        kappa = y[-1] if self.unit else 0.0
        N[np.diag_indices(self.n)] += kappa
        return machine_bound(N, x[: self.n], y, self.C) + kappa + self.offset

    def lower_bound(self, x):
        """The value, with the constant."""
        return super().lower_bound(x) + self.offset


# --- triangles ----------------------------------------------------------------------------------

# Pairs of three samples, and the signs of their products in the constraints.
PAIRS = np.array([[0, 1], [1, 2], [0, 2]])
SIGNS = np.array([[1, 1, -1], [1, -1, 1], [-1, 1, 1], [-1, -1, -1]])
# Violation at which a triangle is added, and slack at which a cut is dropped.
EXCESS, TO_SPARE = 1e-3, 0.02
# Most triangles added at a time for each sample, and the gap that is enough until the last ones
# are added.
CUTS_PER_SAMPLE = 4
ROUGH_TOL = 1e-3
# The time grows with about the fifth power of the number of samples: 40 took 17 seconds.
MAX_TRIANGLE_SAMPLES = 100


@dataclass(frozen=True)
class TriangleCuts:
    r"""Constraints of three samples each, which labels always keep.

    .. math:: M_{ij} + M_{jk} - M_{ik} \le 1 \quad \text{and} \quad
              -M_{ij} - M_{jk} - M_{ik} \le 1

    Of three labels at least two are equal, and if i is with j and j with k, i is with k: the first
    two groups of constraints of Xu et al. (2005), Remark 21 of Niu et al. (2013).

    Attributes
    ----------
    triples : ndarray of int of shape (n_cuts, 3)
        The samples i, j and k.
    signs : ndarray of shape (n_cuts, 3)
        Signs of the products ij, jk and ik in the constraint.
    """

    triples: np.ndarray
    signs: np.ndarray

    @classmethod
    def none(cls):
        """No constraint."""
        return cls(np.zeros((0, 3), dtype=np.intp), np.zeros((0, 3)))

    @classmethod
    def violated(cls, M, most):
        """The `most` constraints that M violates most; of three samples alone there is none.

        Those may be exactly in balance, and then the constraints have no interior.
        """
        n, found = len(M), []
        if n < 4:
            return cls.none()
        above = np.triu(np.ones((n, n), dtype=bool), 1)
        for i in range(n - 2):
            ij, ik, jk = M[i, i + 1 :, None], M[i, i + 1 :], M[i + 1 :, i + 1 :]
            for which, (a, b, c) in enumerate(SIGNS):
                excess = a * ij + b * jk + c * ik - 1
                j, k = np.nonzero((excess > EXCESS) & above[i + 1 :, i + 1 :])
                triples = np.column_stack([np.full(len(j), i), j + i + 1, k + i + 1])
                found.append((excess[j, k], triples, np.broadcast_to(SIGNS[which], (len(j), 3))))
        excess, triples, signs = (np.concatenate(parts) for parts in zip(*found, strict=True))
        worst = np.argsort(-excess, kind="stable")[:most]
        return cls(triples[worst], signs[worst].astype(np.float64))

    def __len__(self):
        return len(self.triples)

    def __getitem__(self, some):
        return TriangleCuts(self.triples[some], self.signs[some])

    def __add__(self, other):
        return TriangleCuts(
            np.concatenate([self.triples, other.triples]),
            np.concatenate([self.signs, other.signs]),
        )

    @property
    def most_at_one_sample(self):
        """Number of cuts of the sample that has most of them, and at least one."""
        return max(int(np.bincount(self.triples.ravel(), minlength=1).max()), 1)

    @cached_property
    def _pairs(self):
        """The pairs of samples that occur, and the signs of each in every cut."""
        pairs = np.sort(self.triples[:, PAIRS].reshape(-1, 2), axis=1)
        pairs, places = np.unique(pairs, axis=0, return_inverse=True)
        cuts = np.repeat(np.arange(len(self)), len(PAIRS))
        shape = (len(self), len(pairs))
        return *pairs.T, sp.csr_array((self.signs.ravel(), (cuts, places.ravel())), shape)

    def values(self, M):
        """Left sides of the constraints."""
        if len(self) == 0:
            return np.zeros(0)
        i, j, signs = self._pairs
        return signs @ M[i, j]

    def add(self, sigma, matrix):
        """Add all matrices of the constraints, times sigma, to a matrix."""
        if len(self) == 0:
            return matrix
        i, j, signs = self._pairs
        total = 0.5 * (signs.T @ sigma)
        matrix[i, j] += total
        matrix[j, i] += total
        return matrix

    def along(self, left, right):
        """Left sides for the symmetric part of each product of two columns, left and right."""
        return self._pairs[2] @ self._products(left, right)

    def _products(self, left, right):
        """Entries of the same for the pairs."""
        i, j, _ = self._pairs
        return 0.5 * (left[i] * right[j] + left[j] * right[i])

    def across(self, M, Z):
        """Left sides for M A Z with the matrix A of each constraint."""
        i, j, signs = self._pairs
        entries = self._products(M[:, i], Z[:, j]) + self._products(M[:, j], Z[:, i])
        return signs @ (signs @ (0.5 * entries)).T


def optimize_labels(program, *, triangles, tol, max_steps, progress):
    """Solve a program of labels, and again with the triangles that its solution violates.

    Parameters
    ----------
    program : LabelProgram
        The program, without cuts.
    triangles : bool
        Whether the triangle constraints hold. There are about n^3 of them, of which few matter:
        those that are violated are added until none is.
    tol, max_steps, progress
        As for `optimize_program`, each time.

    Returns
    -------
    relaxation : Relaxation
        The last one, with the history of all.
    """
    found = optimize_program(program, tol=tol, max_steps=max_steps, progress=progress)
    reach, reached = tol, -np.inf
    while triangles and found.status is not Status.STOPPED:
        violated = TriangleCuts.violated(found.M, CUTS_PER_SAMPLE * program.n)
        if len(violated) == 0 and reach == tol:
            break
        reach = max(tol, ROUGH_TOL) if len(violated) else tol
        kept = program.cuts
        rise = found.lower_bound - reached
        if rise > reach * abs(found.lower_bound):  # otherwise cuts might come and go for ever
            kept = kept[kept.values(found.M) > 1 - TO_SPARE]
        reached = max(reached, found.lower_bound)
        program = program.with_cuts(kept + violated)
        tighter = optimize_program(program, tol=reach, max_steps=max_steps, progress=progress)
        found = replace(
            tighter,
            history=found.history + tighter.history,
            n_iter=found.n_iter + tighter.n_iter,
        )
    return found


# --- machines and values ------------------------------------------------------------------------


class MachineProgram(Program):
    r"""A support vector machine without an intercept: nothing is relaxed, so there is no matrix.

    .. math:: \max_{0 \le \alpha \le C r} \; 2 \alpha^\top r - \alpha^\top N \alpha

    The roots r of the weights are ones without weights. Otherwise N has been multiplied by them on
    both sides, as in `GeneralizedProgram`, and :math:`\alpha_i / r_i` is the multiplier of each
    copy of a sample.
    """

    def __init__(self, N, C, roots=None):
        self.N, self.n = N, len(N)
        self.roots = np.ones(self.n) if roots is None else roots
        self.C = C * self.roots
        self.gains = 2 * self.roots

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
        return machine_bound(self.N, x, y, self.C, self.roots)

    def lower_bound(self, x):
        """Value of alpha."""
        return float(self.gains @ x - x @ self.N @ x)


def first_alpha(K, C):
    """Multipliers of about the right size: samples with many similar ones need less."""
    return np.minimum(C, 1 / np.maximum(np.abs(K).sum(axis=1), np.finfo(np.float64).tiny))


def machine_bound(N, alpha, y, C, roots=1.0):
    r"""Bound from above of a machine's value, :math:`v^\top N^{-1} v + 2 \mu^\top C`.

    This is its dual, for any :math:`\mu, \nu \ge 0` and :math:`v = r + \nu - \mu`: for those at
    hand, halves of `y`, and for those that make alpha optimal, :math:`v = N \alpha`.
    """
    n = len(N)
    fitted = N @ alpha
    bound = alpha @ fitted + 2 * (C * np.maximum(roots - fitted, 0)).sum()
    v = roots + 0.5 * (y[:n] - y[n : 2 * n])
    with suppress(LinAlgError):
        solved = cho_solve(cho_factor(N, lower=True, check_finite=False), v)
        bound = min(bound, v @ solved + (C * y[n : 2 * n]).sum())
    return float(bound)


def factor_of(G):
    """Cholesky factor of a kernel, which rounding may have made singular."""
    for ridge in (0.0, 1e-14, 1e-12, 1e-10):
        with suppress(LinAlgError):
            return cholesky(G + ridge * np.trace(G) * np.eye(len(G)), lower=True)
    raise ValueError(
        "kernel is not positive semidefinite on X, not even up to rounding; use another kernel."
    )


class GeneralizedProgram(Program):
    r"""The program of `relax_generalized_margin`, in coordinates in which it is well scaled.

    With :math:`G = L L^\top` the constraint is :math:`I - L^\top \operatorname{diag}(\gamma) L
    \succeq 0`, and its multiplier represents products of values without L on both sides.

    A sample of weight w stands for w copies, of which all have the same gamma, since the program
    is concave and the same for them. It has one gamma, which gains w, and of the space of its
    copies only the direction of their sum, whose row and column in G have the factor
    :math:`\sqrt w`.

    Parameters
    ----------
    G : ndarray of shape (n, n)
        Positive definite matrix.
    C : float or ndarray of shape (n,)
        Largest gamma.
    weight : ndarray of shape (n,), default=None
        Weights of the samples; None for ones.
    """

    def __init__(self, G, C, weight=None):
        self.C, self.n = C, len(G)
        self.L = factor_of(G)
        self.largest = np.abs(G).sum(axis=1).max()
        self.gains = np.ones(self.n) if weight is None else weight

    def products(self, M):
        """Products of values, from their multiplier."""
        return self.L @ M @ self.L.T

    def start(self):
        """Equal gamma, half of what is certainly allowed, and a point of the central path."""
        size = 0.5 * min(np.min(self.C), 1 / self.largest)
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
        missing = np.maximum(self.gains - self._squares(M), 0.0)
        return float(np.trace(M) + (self.C * missing).sum())

    def _squares(self, M):
        """Diagonal of the products of values."""
        return np.einsum("ij,ij->i", self.L @ M, self.L)


# --- from relaxed labels to labels --------------------------------------------------------------


def label_bound(balance, n_samples):
    """Largest sum of labels: a share of the samples, and at least one, as odd numbers need."""
    return max(balance * n_samples, 1.0)


def status_of(relaxation, tol):
    """Status of labels: it depends on the gap that is left, unless a callback ended the fit."""
    if relaxation.status is Status.STOPPED:
        return Status.STOPPED
    return Status.GAP_LEFT if relaxation.gap > tol else Status.CONVERGED


def best_labelling(M, K, *, C, signs_of, n_draws, rng, weight=None):
    """Of several roundings of relaxed labels, the one with the best machine.

    Usually M has two or three large eigenvalues. The first eigenvector is rotated into the second
    in equal steps, and random combinations include all others.

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
        How many steps to turn, and how many combinations to draw.
    rng : RandomState
        Draws them.
    weight : ndarray of shape (n,), default=None
        Weights of the samples, whose roots M and K have been multiplied by; None for ones.

    Returns
    -------
    response : ndarray of shape (n,)
        Multipliers of the machine, of all copies of a sample together, times labels, -1 or 1.
    """
    roots = np.ones(len(M)) if weight is None else np.sqrt(weight)
    values, vectors = eigh(M, driver="evd", check_finite=False)
    vectors *= np.sqrt(np.maximum(values, 0.0))
    angles = np.pi * np.arange(n_draws + 1) / (n_draws + 1)
    turned = vectors[:, -2:] @ [np.sin(angles), np.cos(angles)]
    drawn = vectors @ rng.standard_normal((len(M), n_draws))
    candidates = np.array([signs_of(scores) for scores in (*turned.T, *drawn.T)])
    parted = np.ptp(candidates, axis=1) > 0
    if parted.any():  # one cluster has the best machine of all, and parts nothing
        candidates = candidates[parted]
    objective, response = np.inf, None
    for signs in np.unique(candidates * candidates[:, :1], axis=0):
        program = MachineProgram(signs[:, None] * K * signs, C, roots)
        machine = optimize_program(program, tol=MACHINE_TOL, max_steps=100, progress=Progress())
        if machine.objective < objective:
            objective, response = machine.objective, roots * machine.x * signs
    return response
