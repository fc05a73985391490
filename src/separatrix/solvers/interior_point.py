r"""Interior points: semidefinite programs solved to a certified gap.

A program is written in the variables x of a concave maximisation,

.. math:: \max_x \; b^\top x \quad \text{subject to} \quad X(x) \succeq 0, \; s(x) \ge 0,

with X and s affine or concave quadratic. The matrix M of multipliers of the first constraint
represents the products :math:`y y^\top` of labels. Programs of labellings have only a few x for
each sample, though M has one entry for each pair, so a step costs a few products of n-by-n
matrices, where a general solver factors a system with a row for each pair.

Steps are primal-dual, in the direction of Helmberg, Kojima and Monteiro, with Mehrotra's
prediction and correction. The correction includes the curvature of X: without it there are five
times as many steps. Every iterate is feasible, so each x bounds the optimum from below and each M
from above.
"""

from abc import ABCMeta, abstractmethod
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.lapack import dpotrf, dpotri

from separatrix.result import Status

# Steps go this share of the way to the boundary, which is sought by steps shorter by a tenth.
TO_BOUNDARY, SHORTER = 0.95, 0.9
# Steps this short make no progress.
SHORTEST = 1e-6
# Least centring of a step: less would leave the central path and cost more than it gains.
LEAST_CENTRING = 0.01


# --- programs -----------------------------------------------------------------------------------


class Program(metaclass=ABCMeta):
    """Interface of the programs that `optimize_program` solves."""

    gains: np.ndarray  # b

    @abstractmethod
    def start(self):
        """Feasible x and M, and multipliers y of the slacks s."""

    @abstractmethod
    def constraints(self, x):
        """X and s."""

    @abstractmethod
    def slope(self, x, dx):
        """Changes of X and s, to first order in dx."""

    @abstractmethod
    def bend(self, dx):
        """Changes of X and s of second order."""

    @abstractmethod
    def pull(self, x, M, y):
        """Gradient in x of <X, M> + y's."""

    @abstractmethod
    def turn(self, dx, M, y):
        """Change of that gradient by dx."""

    @abstractmethod
    def system(self, x, s, Z, M, y):
        """Matrix of a step: `pull` of M `slope` Z and of y `slope` / s, less `turn`."""

    @abstractmethod
    def upper_bound(self, x, M, y):
        """Bound of the optimum from above, by a feasible M and any y >= 0."""

    def lower_bound(self, x):
        """Bound of the optimum from below, by a feasible x."""
        return float(self.gains @ x)


# --- the solver ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Relaxation:
    """Solution of a program, with its certificate.

    Attributes
    ----------
    x : ndarray of shape (n_variables,)
        Variables of the maximisation.
    M : ndarray of shape (n, n)
        Relaxed products of labels.
    y : ndarray of shape (n_slacks,)
        Multipliers of the slacks, of the same iterate as M.
    objective : float
        Value of M: no less than the optimum.
    lower_bound : float
        Value of x: no more than the optimum.
    history : list of float
        Values of M at each iteration.
    n_iter : int
        Iterations done.
    status : Status
        How the solver ended.
    """

    x: np.ndarray
    M: np.ndarray
    y: np.ndarray
    objective: float
    lower_bound: float
    history: list
    n_iter: int
    status: Status

    @property
    def gap(self):
        """Certified distance from the optimum, as a share of the value."""
        tiny = np.finfo(np.float64).tiny
        return (self.objective - self.lower_bound) / max(abs(self.objective), tiny)


def optimize_program(program, *, tol, max_steps, progress):
    """Follow the central path of a program until the certified gap is at most `tol`.

    Parameters
    ----------
    program : Program
        The program.
    tol : float
        Gap between the bounds of the optimum, as a share of its value.
    max_steps : int
        Most steps.
    progress : Progress
        Where the loop counter comes from.

    Returns
    -------
    relaxation : Relaxation
        The best bounds met. Its status is STALLED where rounding ends the search, as it may for a
        small `tol`.
    """
    x, M, y = program.start()
    X, s = program.constraints(x)
    best_M, best_x, best_y = M, x, y
    lower, upper = program.lower_bound(x), program.upper_bound(x, M, y)
    n_pairs = len(X) + len(s)
    iterations = progress.iterations(max_steps)
    for _ in iterations:
        # 1) the system of a step, factored once
        path = _Path(program, x, X, s, M, y)
        if path.factor is None:
            iterations.record(upper)
            iterations.status = Status.STALLED
            break
        # 2) predict how far the optimum can be approached, and aim at a point of the central path
        complementarity = np.vdot(X, M) + s @ y
        guess = path.step(0.0)
        reached = path.moved(guess)
        left = np.vdot(reached.X, reached.M) + reached.s @ reached.y
        centring = np.clip((left / complementarity) ** 2, LEAST_CENTRING, 0.9)
        # 3) correct for the curvature that the prediction shows
        step = path.step(centring * complementarity / n_pairs, guess)
        reached = path.moved(step, TO_BOUNDARY)
        if reached.shortest < SHORTEST:  # too near the boundary: back to the central path first
            reached = path.moved(path.step(complementarity / n_pairs), TO_BOUNDARY)
        x, X, s, M, y = reached.x, reached.X, reached.s, reached.M, reached.y
        # 4) certify
        below, above = program.lower_bound(x), program.upper_bound(x, M, y)
        if below > lower:
            lower, best_x = below, x
        if above < upper:
            upper, best_M, best_y = above, M, y
        iterations.record(upper)
        if upper - lower <= tol * abs(upper):
            iterations.status = Status.CONVERGED
            break
        if reached.shortest < SHORTEST:
            iterations.status = Status.STALLED
            break
    return Relaxation(
        best_x,
        best_M,
        best_y,
        upper,
        lower,
        iterations.history,
        iterations.n_iter,
        iterations.status,
    )


@dataclass(frozen=True)
class _Step:
    """Changes of all variables of a program."""

    x: np.ndarray
    X: np.ndarray
    s: np.ndarray
    M: np.ndarray
    y: np.ndarray


@dataclass(frozen=True)
class _Point(_Step):
    """All variables of a program, and the shorter of the two steps that led there."""

    shortest: float


class _Path:
    """Steps from a point, of which all share one factored system."""

    def __init__(self, program, x, X, s, M, y):
        self.program = program
        self.x, self.X, self.s, self.M, self.y = x, X, s, M, y
        self.Z = inverse(X)
        self.factor = None
        if self.Z is None:
            return
        with np.errstate(all="ignore"):  # near the boundary numbers may overflow
            A = program.system(x, s, self.Z, M, y)
        diagonal = np.diag(A)
        if not (np.isfinite(diagonal) & (diagonal > 0)).all():
            return
        self.scale = 1 / np.sqrt(diagonal)
        A *= self.scale[:, None]
        A *= self.scale
        with suppress(LinAlgError):
            self.factor = cho_factor(A, lower=True, overwrite_a=True, check_finite=False)

    def step(self, target, guess=None):
        """Step to where all products of constraints and multipliers are `target`.

        With a `guess` of the step, also products of its changes are taken into account.
        """
        program, x, s, Z, M, y = self.program, self.x, self.s, self.Z, self.M, self.y
        aim, aim_y = target * Z, target / s
        right = program.gains
        if guess is not None:
            bent_X, bent_s = program.bend(guess.x)
            aim = aim - _symmetric((M @ bent_X + guess.M @ guess.X) @ Z)
            aim_y = aim_y - (y * bent_s + guess.y * guess.s) / s
            right = right + program.turn(guess.x, guess.M, guess.y)
        right = right + program.pull(x, aim, aim_y)
        dx = self.scale * cho_solve(self.factor, self.scale * right, check_finite=False)
        dX, ds = program.slope(x, dx)
        dM = aim - M - _symmetric(M @ dX @ Z)
        return _Step(dx, dX, ds, dM, aim_y - y - y * ds / s)

    def moved(self, step, share=1.0):
        """The point that a step leads to, at most a share of the way to the boundary."""
        bent_X, bent_s = self.program.bend(step.x)

        def inside(length):
            s = self.s + length * (step.s + length * bent_s)
            return (s > 0).all() and _is_positive(self.X + length * (step.X + length * bent_X))

        def multipliers_inside(length):
            return (self.y + length * step.y > 0).all() and _is_positive(self.M + length * step.M)

        length, length_M = (_longest(test, share) for test in (inside, multipliers_inside))
        x = self.x + length * step.x
        X, s = self.program.constraints(x)
        M, y = self.M + length_M * step.M, self.y + length_M * step.y
        return _Point(x, X, s, M, y, min(length, length_M))


def _longest(inside, share):
    """Length of a step that stays inside: one, or a share of the way to the boundary."""
    length = 1.0
    while length >= SHORTEST:
        if inside(length):
            return length if length == 1 else share * length
        length *= SHORTER
    return 0.0


def _is_positive(matrix):
    """Whether a symmetric matrix is positive definite."""
    return matrix.size == 0 or dpotrf(matrix.T, lower=1, clean=0)[1] == 0


def inverse(matrix):
    """Inverse of a positive definite matrix; None if it is not."""
    if matrix.size == 0:
        return matrix
    factor, info = dpotrf(matrix.T, lower=1, clean=0)
    if info:
        return None
    inverse = np.tril(dpotri(factor, lower=1, overwrite_c=1)[0])
    inverse += np.tril(inverse, -1).T
    return inverse


def _symmetric(matrix):
    return 0.5 * (matrix + matrix.T)
