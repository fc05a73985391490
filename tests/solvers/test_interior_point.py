"""The interior point method against a quadratic program, and the bounds that it certifies."""

import cvxpy as cp
import numpy as np
import pytest

from golden import regenerate_sdp as oracle
from separatrix._sklearn import one_blas_thread
from separatrix.result import Progress, Status
from separatrix.solvers.interior_point import optimize_program
from separatrix.solvers.label_programs import LabelProgram, MachineProgram


def test_machine_is_that_of_a_quadratic_program():
    n, C = 40, 1.0
    K = oracle.kernel(n, "polynomial")
    signs = np.where(np.arange(n) < 20, 1.0, -1.0)
    N = signs[:, None] * K * signs
    machine = optimize_program(MachineProgram(N, C), tol=1e-9, max_steps=100, progress=Progress())
    alpha = cp.Variable(n)
    root = np.linalg.cholesky(N + 1e-13 * np.eye(n))
    value = 2 * cp.sum(alpha) - cp.sum_squares(root.T @ alpha)
    optimum = cp.Problem(cp.Maximize(value), [alpha >= 0, alpha <= C]).solve("CLARABEL")
    assert machine.objective == pytest.approx(optimum, rel=1e-7)
    assert machine.lower_bound == pytest.approx(optimum, rel=1e-7)


@one_blas_thread
def test_bounds_close_in_on_the_optimum_from_both_sides():
    program = LabelProgram(oracle.kernel(12), C=0.8, bound=4.0)
    best = optimize_program(program, tol=1e-8, max_steps=100, progress=Progress())
    assert best.status is Status.CONVERGED
    assert len(best.history) == best.n_iter
    assert (np.diff(best.history) <= 0).all()
    widths = []
    for max_steps in range(1, best.n_iter):
        rough = optimize_program(program, tol=1e-8, max_steps=max_steps, progress=Progress())
        assert rough.status is Status.MAX_ITER
        assert rough.history == best.history[:max_steps]
        assert rough.lower_bound <= best.objective
        assert rough.objective >= best.lower_bound
        widths.append(rough.objective - rough.lower_bound)
    assert (np.diff(widths) <= 0).all()


@one_blas_thread
def test_rounding_ends_a_search_that_asks_for_too_much():
    program = LabelProgram(oracle.kernel(12), C=0.8, bound=4.0)
    found = optimize_program(program, tol=0.0, max_steps=1000, progress=Progress())
    assert found.status in (Status.STALLED, Status.CONVERGED)  # the bounds may meet exactly
    assert found.n_iter < 100
    assert -1e-9 <= found.gap < 1e-7  # rounding may let the bounds cross
