"""Algorithm 1 of the paper against QP solvers and a version of it line by line."""

import itertools

import numpy as np
import pytest

from graph_support import criterion, dense_responder, random_definite, random_similarities
from separatrix.result import Progress, Status
from separatrix.similarity.quadratic_forms import Spectrum, form_of
from separatrix.solvers.volume_sqp import run_sqp, solve_sqp, sqp_step


def random_signs(rng, n):
    s = rng.choice([-1.0, 1.0], size=n)
    s[0], s[1] = 1.0, -1.0
    return s


def quadratic_program(Q, h, eta, reg, bound):
    """(5) as it stands, by Clarabel."""
    cp = pytest.importorskip("cvxpy")
    root = np.linalg.cholesky(reg * Q - eta * np.eye(len(h)))
    p = cp.Variable(len(h))
    objective = cp.sum_squares(root.T @ p) + 2 * p @ (reg * Q @ h - np.sign(h))
    constraints = [2 * p @ h + h @ h == 1]
    if bound is not None:
        constraints += [cp.sum(p) + h.sum() <= bound, cp.sum(p) + h.sum() >= -bound]
    problem = cp.Problem(cp.Minimize(objective), constraints)
    tight = {"tol_gap_abs": 1e-13, "tol_gap_rel": 1e-13, "tol_feas": 1e-13}
    problem.solve(solver=cp.CLARABEL, **tight)
    return p.value


SQP_CASES = list(itertools.product(range(12), [0.0, 0.05, 0.5, None]))


def sqp_case(seed):
    """A matrix, responses of about length one, and a multiplier below its limit."""
    rng = np.random.default_rng(seed)
    n = 3 + seed % 8
    Q = random_definite(rng, n)
    h = rng.normal(size=n)
    h *= rng.uniform(0.8, 1.2) / np.linalg.norm(h)
    reg = 10 ** rng.uniform(-1, 1)
    return Q, h, reg * np.linalg.eigvalsh(Q)[0] - 10 ** rng.uniform(-0.5, 1), reg


def test_the_step_is_the_solution_of_the_quadratic_program():
    active = 0
    for seed, bound in SQP_CASES:
        Q, h, eta, reg = sqp_case(seed)
        u, _, omega = sqp_step(Spectrum.of(Q), h, eta, reg, bound)
        np.testing.assert_allclose(u - h, quadratic_program(Q, h, eta, reg, bound), atol=1e-8)
        active += omega != 0
    assert len(SQP_CASES) >= 40
    assert 10 < active < len(SQP_CASES) - 10  # both kinds of balance were seen


def test_the_step_meets_the_conditions_of_the_program():
    """Stationary with its own multipliers; the sum's has the sign that its end asks for."""
    for seed, bound in SQP_CASES:
        Q, h, eta, reg = sqp_case(seed)
        u, tau, omega = sqp_step(Spectrum.of(Q), h, eta, reg, bound)
        A = reg * Q - eta * np.eye(len(h))
        np.testing.assert_allclose(A @ u - np.sign(h), tau * h + omega, atol=1e-10)
        assert 2 * h @ (u - h) + h @ h == pytest.approx(1, abs=1e-12)
        if bound is None:
            assert omega == 0
        else:
            assert abs(u.sum()) <= bound + 1e-12
            assert omega == 0 or bound == 0 or omega * u.sum() < 0
            assert omega == 0 or abs(u.sum()) == pytest.approx(bound, abs=1e-12)


def literal_multiplier(Q, h, u, eta, reg):
    """(7) as it stands."""
    return h @ (reg * Q @ u - eta * (u - h) - np.sign(h)) / (h @ h)


def literal_algorithm(Q, signs, reg, bound, max_iter=100, tol=1e-6):
    """Algorithm 1 line by line; the program by linear systems for each set of active bounds."""
    n = len(Q)
    limit = reg * np.linalg.eigvalsh(Q)[0]
    h, eta = signs / np.sqrt(n), 0.0

    def program(end):
        rows = [h] if end is None else [h, np.ones(n)]
        rights = [(1 + h @ h) / 2] if end is None else [(1 + h @ h) / 2, end]
        A = reg * Q - eta * np.eye(n)
        m = len(rows)
        system = np.block([[A, -np.array(rows).T], [np.array(rows), np.zeros((m, m))]])
        u = np.linalg.solve(system, np.concatenate([np.sign(h), rights]))[:n]
        return u, u @ A @ u - 2 * u @ np.sign(h)

    for t in range(max_iter):
        u, _ = program(None)
        if bound is not None and abs(u.sum()) > bound:
            u, _ = min((program(end) for end in (-bound, bound)), key=lambda found: found[1])
        new_eta = literal_multiplier(Q, h, u, eta, reg)
        if new_eta >= limit:
            return h, eta, t, "break"
        change = np.linalg.norm(u - h) + abs(new_eta - eta)
        h, eta = u, new_eta
        if change <= tol:
            return h, eta, t + 1, "until"
    return h, eta, max_iter, "max_iter"


def test_the_multiplier_is_the_papers_least_squares_fit():
    """(7), which is also the least-squares solution of (8)."""
    for seed, bound in SQP_CASES:
        Q, h, eta, reg = sqp_case(seed)
        u, tau, omega = sqp_step(Spectrum.of(Q), h, eta, reg, bound)
        closed = eta + tau + omega * h.sum() / (h @ h)
        assert closed == pytest.approx(literal_multiplier(Q, h, u, eta, reg), abs=1e-9)
        left = (reg * Q - eta * np.eye(len(h))) @ (u - h) + reg * Q @ h - np.sign(h)
        fitted = np.linalg.lstsq(h[:, None], left, rcond=None)[0][0]
        assert closed == pytest.approx(fitted, abs=1e-9)


def algorithm_cases():
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(4, 13))
        name = ["normalized", "unnormalized"][seed % 2]
        Q = form_of(random_similarities(rng, n), name, 0.0).Q
        yield Q, random_signs(rng, n), 10 ** rng.uniform(-1.5, 2.5), [0.0, 0.3, None][seed % 3]
    for seed in range(30):  # weights at which some runs break off after a step or two
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 13))
        W = rng.random((n, n))
        W = W + W.T - np.diag(2 * W.diagonal())
        Q = form_of(W, "unnormalized", 0.0).Q
        second = Spectrum.balanced(Q).vectors[:, 0]
        for reg in (0.3, 0.4, 0.5, 0.7):
            yield Q, np.where(second > 0, 1.0, -1.0), reg, 0.0


def test_runs_equal_the_algorithm_line_by_line():
    """Also where it breaks off: with the responses before the step that leaves the range."""
    ends = {"break": Status.BROKEN_OFF, "until": Status.CONVERGED, "max_iter": Status.MAX_ITER}
    seen = set()
    for Q, signs, reg, bound in algorithm_cases():
        h, eta, n_steps, end = literal_algorithm(Q, signs, reg, bound, max_iter=25)
        run = run_sqp(Spectrum.of(Q), signs, reg, bound, 25)
        assert run.status is ends[end]
        assert run.n_steps == n_steps
        np.testing.assert_allclose(run.h, h, atol=1e-6)
        assert run.eta == pytest.approx(eta, abs=1e-5)
        seen.add((end, min(n_steps, 1)))
    assert {("break", 0), ("break", 1), ("until", 1)} <= seen


def test_algorithm_1_competes_with_responses_of_length_one():
    """A step is longer than one to second order; what breaks off there may not win by that."""
    longer = 0
    for Q, signs, reg, bound in algorithm_cases():
        responder = dense_responder(Q, bound)
        run = run_sqp(responder.free, signs, reg, bound, 100)
        longer += np.linalg.norm(run.h) > 1.01
        result = solve_sqp(responder, signs[:, None], reg=reg, max_iter=100, progress=Progress())
        assert np.linalg.norm(result.model.h) == pytest.approx(1, abs=1e-12)
        assert result.objective == pytest.approx(criterion(Q, result.model.h, reg), rel=1e-12)
        np.testing.assert_array_equal(result.model.h > 0, run.h > 0)
    assert longer > 0


def test_a_converged_run_is_stationary():
    """With the multiplier eta + tau: (7) has a share of omega in it where the bound is met."""
    n_converged = 0
    for Q, signs, reg, bound in algorithm_cases():
        run = run_sqp(Spectrum.of(Q), signs, reg, bound, 100)
        if run.status is not Status.CONVERGED:
            continue
        n_converged += 1
        h = run.h
        eta = run.eta - run.omega * h.sum() / (h @ h)
        residual = reg * Q @ h - eta * h - np.sign(h) - run.omega
        assert np.abs(residual).max() < 1e-4
    assert n_converged > 10


def test_a_step_that_is_not_defined_breaks_off():
    """Responses that are all the same cannot sum to zero, and nothing parts equal samples."""
    for n in range(2, 9):
        run = run_sqp(Spectrum.of(np.eye(n)), np.ones(n), 1.0, 0.0, 10)
        assert run.status is Status.BROKEN_OFF
        assert (run.h > 0).all()
        assert np.isfinite(run.h).all()


def test_steps_of_nodes_are_those_of_their_samples():
    """Two equal samples, or one node whose root is that of two."""
    rng = np.random.default_rng(0)
    for seed in range(5):
        W = random_similarities(np.random.default_rng(seed), 8)
        place = np.r_[np.arange(8), 0, 3]
        P = np.eye(8)[place]
        counts = P.sum(axis=0)
        whole = form_of(P @ W @ P.T, "unnormalized", 0.0)
        merged = form_of(W * np.outer(counts, counts), "unnormalized", 0.0, counts.astype(int))
        signs = random_signs(rng, 8)
        for bound in (0.0, None):
            one = run_sqp(Spectrum.of(whole.Q), signs[place], 3.0, bound, 5)
            other = run_sqp(Spectrum.of(merged.Q), signs, 3.0, bound, 5, merged.roots)
            np.testing.assert_allclose(merged.to_samples(other.h)[place], one.h, atol=1e-8)
            assert other.eta == pytest.approx(one.eta, abs=1e-8)
