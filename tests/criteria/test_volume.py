"""Maximum volume clustering against QP solvers, brute force, its limits and its own contract."""

import itertools
import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import null_space
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.decomposition import PCA, KernelPCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel

from separatrix import MaximumVolumeClustering
from separatrix.criteria import volume
from separatrix.criteria.volume import limit_matrix, solve_sphere
from separatrix.estimators import graph as graphs_of_volume
from separatrix.models import graph_responses
from separatrix.result import Progress, Status
from separatrix.similarity import spectra
from separatrix.similarity.quadratic_forms import MATRICES, form_of
from separatrix.similarity.spectra import LowSpectrum, Spectrum
from separatrix.solvers import orthogonal_responses
from separatrix.solvers import responses as responders
from separatrix.solvers.responses import DenseResponder, GraphResponder, responder_of
from separatrix.solvers.volume_sqp import run_sqp, solve_sqp, sqp_step
from separatrix.stability import clustering_error_bound, finite_sample_stability

AFFINITIES = ["local", "rbf", "cosine"]
GRAPHS = ["union", "mutual", "full"]


def same_partition(a, b):
    """Whether two labellings differ in the names of the clusters at most."""
    return adjusted_rand_score(a, b) == 1.0


def fit_quietly(model, X):
    """The fitted model, and the words of its ConvergenceWarning or None."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X)
    assert {warning.category for warning in caught} <= {ConvergenceWarning}
    assert len(caught) <= 1
    return model, str(caught[0].message) if caught else None


def moons(n=160, noise=0.05, seed=0):
    return make_moons(n, noise=noise, random_state=seed)


def three_blobs(n=90, seed=0):
    centers = [[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]]
    return make_blobs([n // 2, n // 3, n // 6], centers=centers, random_state=seed)


def random_similarities(rng, n):
    W = rng.random((n, n)) ** 3
    W = (W + W.T) / 2
    np.fill_diagonal(W, 0.0)
    return W


def random_definite(rng, n):
    A = rng.normal(size=(n, n))
    return A @ A.T / n + 0.05 * np.eye(n)


def random_signs(rng, n):
    s = rng.choice([-1.0, 1.0], size=n)
    s[0], s[1] = 1.0, -1.0
    return s


def criterion(Q, h, reg):
    return reg * h @ Q @ h - 2 * np.abs(h).sum()


def dense_responder(Q, bound):
    return DenseResponder(form_of(Q, "precomputed", 0.0), bound)


def solved(responder, reg, *, solve=solve_sphere, n_init=20, max_iter=200, seed=0):
    starts = responder.candidates(n_init, reg, np.random.RandomState(seed))
    return solve(responder, starts, reg=reg, max_iter=max_iter, progress=Progress())


# Algorithm 1 of the paper


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


def test_a_run_that_breaks_at_once_keeps_its_start():
    X, _ = moons(80)
    model = MaximumVolumeClustering(solver="sqp", reg=1e6, n_init=1, random_state=0)
    model, words = fit_quietly(model, X)
    assert words == Status.BROKEN_OFF.value
    np.testing.assert_allclose(np.abs(model.response_), 80**-0.5)


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


# Best responses to given signs


def sphere_points(rng, n, n_points):
    points = rng.normal(size=(n_points, n))
    return points / np.linalg.norm(points, axis=1)[:, None]


@pytest.mark.parametrize("n", [2, 3, 4])
def test_no_point_within_the_bound_is_better(n):
    rng = np.random.default_rng(n)
    points = sphere_points(rng, n, 40_000)
    kinds = {"inside": 0, "at an end": 0}
    for _ in range(150):
        Q = random_definite(rng, n) - rng.normal() * np.eye(n)
        bound = rng.uniform(0, 0.9) * n**0.5
        reg, signs = 10 ** rng.uniform(-1, 1.5), rng.choice([-1.0, 1.0], size=(n, 1))
        responder = dense_responder(Q, bound)
        found = responder.respond(signs, reg)
        h = found.h[:, 0]
        assert np.linalg.norm(h) == pytest.approx(1, abs=1e-13)
        assert abs(h.sum()) <= bound + 1e-13
        kinds["inside" if abs(h.sum()) < bound - 1e-9 else "at an end"] += 1
        allowed = points[np.abs(points.sum(axis=1)) <= bound]
        if len(allowed):
            costs = reg * np.einsum("ij,ij->i", allowed @ Q, allowed) - 2 * allowed @ signs[:, 0]
            reached = responder.quadratic(signs, found.h, reg)[0]
            assert reached <= costs.min() + 1e-12 * (1 + np.abs(costs).max())
    assert min(kinds.values()) > 20


def test_a_second_minimum_within_the_bound_beats_both_ends():
    """The best of all is just out of bounds, the other local minimum across from it inside."""
    rng = np.random.default_rng(0)
    points = sphere_points(rng, 3, 40_000)
    n_second = 0
    for _ in range(200):
        signs = rng.choice([-1.0, 1.0], size=(3, 1))
        along = rng.normal(size=3)  # but for a little, both sides of it are as good
        along += signs[:, 0] * (0.02 * rng.normal() - along @ signs[:, 0] / 3)
        along /= np.linalg.norm(along)
        Q = 0.1 * random_definite(rng, 3) - np.outer(along, along)
        reg, bound = 10 ** rng.uniform(0, 1), abs(along.sum()) * rng.uniform(0.85, 1.1)
        responder = dense_responder(Q, bound)
        free = dense_responder(Q, None).respond(signs, reg)
        found = responder.respond(signs, reg)
        reached = responder.quadratic(signs, found.h, reg)[0]
        if abs(free.h.sum()) > bound > abs(found.h.sum()) + 1e-9:
            n_second += 1
            allowed = points[np.abs(points.sum(axis=1)) <= bound]
            costs = reg * np.einsum("ij,ij->i", allowed @ Q, allowed) - 2 * allowed @ signs[:, 0]
            assert reached <= costs.min() + 1e-12
            ends = [responder._with_sum(signs, reg, total) for total in (-bound, bound)]
            assert all(reached < responder.quadratic(signs, end.h, reg)[0] for end in ends)
    assert n_second > 5


def balanced_best(Q, signs, reg):
    """Best responses of sum zero and their cost, on an explicit basis, by the dual function.

    The least value on the sphere is the greatest of eta - sum_i c_i^2 / (lambda_i - eta) over eta
    up to lambda_1: strong duality, which also holds in the hard case.
    """
    basis = null_space(np.ones((1, len(Q))))
    return sphere_values(basis.T @ Q @ basis, basis.T @ signs, reg)


def sphere_values(Q, targets, reg):
    """Least reg x'Qx - 2 c'x on the sphere for each column c, by bisection of the dual's slope."""
    values, vectors = np.linalg.eigh(reg * Q)
    squares = (vectors.T @ targets) ** 2
    low = values[0] - np.sqrt(squares.sum(axis=0)) - 1e-300
    high = np.full(targets.shape[1], values[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(200):
            eta = (low + high) / 2
            parts = np.where(squares > 0, squares / (values[:, None] - eta) ** 2, 0.0)
            rising = parts.sum(axis=0) < 1
            low, high = np.where(rising, eta, low), np.where(rising, high, eta)
        gaps = values[:, None] - low
        parts = np.where(gaps > 0, squares / gaps, 0.0)
    return low - parts.sum(axis=0)


@pytest.mark.parametrize("bound", [0.0, None])
def test_responses_have_the_value_of_the_dual(bound):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 30))
        Q = random_definite(rng, n) - rng.normal() * np.eye(n)
        signs = rng.choice([-1.0, 1.0], size=(n, 7))
        reg = 10 ** rng.uniform(-2, 3)
        responder = dense_responder(Q, bound)
        found = responder.quadratic(signs, responder.respond(signs, reg).h, reg)
        expected = balanced_best(Q, signs, reg) if bound == 0 else sphere_values(Q, signs, reg)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("bound", [0.0, 0.2, 1.0, None])
def test_the_optimality_system_holds(bound):
    """reg Q h - eta h - s = omega 1, to the digits of the terms."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 30))
        Q = random_definite(rng, n)
        signs = rng.choice([-1.0, 1.0], size=(n, 5))
        reg = 10 ** rng.uniform(-2, 3)
        found = dense_responder(Q, bound).respond(signs, reg)
        residual = reg * Q @ found.h - found.eta * found.h - signs - found.omega
        assert np.abs(residual).max() <= 1e-11 * (1 + reg * np.abs(Q).max() * n)
        slack = bound is None or (np.abs(found.h.sum(axis=0)) < bound - 1e-9)
        assert (np.where(slack, found.omega, 0.0) == 0).all()


@pytest.mark.parametrize("bound", [0.0, 0.1, 0.7, 9.0, None])
def test_updates_never_raise_the_objective(bound):
    """Exact updates without the driver's safeguard, from every start alone."""
    n_moves, active = 0, 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(20, 70))
        Q = form_of(random_similarities(rng, n), ["normalized", "unnormalized"][seed % 2], 0.0).Q
        Q = random_definite(rng, n) if seed % 3 == 0 else Q
        reg = 10 ** rng.uniform(1, 3) / np.ptp(np.linalg.eigvalsh(Q))
        responder = responder_of(form_of(Q, "precomputed", 0.0), bound)
        signs = rng.choice([-1.0, 1.0], size=(n, 8))
        before = np.full(8, np.inf)
        for update in range(15):
            found = responder.respond(signs, reg)
            after = responder.objective(found.h, reg)
            assert (after <= before + 1e-12 * (1 + np.abs(after))).all()
            np.testing.assert_allclose(np.linalg.norm(found.h, axis=0), 1, atol=1e-13)
            if bound is not None:
                assert (np.abs(found.h.sum(axis=0)) <= bound + 1e-12).all()
                active += (np.abs(found.h.sum(axis=0)) >= bound - 1e-12).any()
            new = np.where(found.h > 0, 1.0, -1.0)
            n_moves += update > 0 and (new != signs).any()
            signs, before = new, after
    assert n_moves > 5
    assert (active > 0) == (bound is not None and bound < 9)


@pytest.mark.parametrize("bound", [0.0, 0.3, None])
def test_the_driver_ends_in_a_fixed_point(bound):
    for seed in range(15):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(4, 30))
        Q = random_definite(rng, n)
        reg = 10 ** rng.uniform(-1, 2)
        responder = dense_responder(Q, bound)
        result = solved(responder, reg)
        assert result.status in (Status.CONVERGED, Status.DEGENERATE)
        assert (np.diff(result.history) <= 0).all()
        assert result.objective == result.history[-1]
        h = result.model.h
        assert result.objective == pytest.approx(criterion(Q, h, reg), rel=1e-12)
        signs = np.where(h > 0, 1.0, -1.0)
        residual = reg * Q @ h - result.model.eta * h - signs - result.model.omega
        assert np.abs(residual).max() <= 1e-11 * (1 + reg * np.abs(Q).max() * n)
        assert bound is None or abs(h.sum()) <= bound + 1e-12


def test_each_start_has_a_history_that_never_rises():
    rng = np.random.default_rng(0)
    Q = form_of(random_similarities(rng, 40), "normalized", 0.0).Q
    responder = dense_responder(Q, 0.0)
    starts = responder.candidates(20, 50.0, np.random.RandomState(0))
    lasts, longest = [], 0
    for start in starts.T:
        result = solve_sphere(
            responder, start[:, None], reg=50.0, max_iter=50, tol=0.0, progress=Progress()
        )
        assert (np.diff(result.history) <= 0).all()
        lasts.append(result.objective)
        longest = max(longest, result.n_iter)
    together = solve_sphere(responder, starts, reg=50.0, max_iter=50, tol=0.0, progress=Progress())
    assert together.objective == pytest.approx(min(lasts), rel=1e-12)
    assert together.n_iter == longest > 2


def test_solvers_leave_the_starts_alone():
    rng = np.random.default_rng(0)
    responder = dense_responder(random_definite(rng, 12), 0.0)
    starts = rng.choice([-1.0, 1.0], size=(12, 5))
    for solve in (solve_sphere, solve_sqp):
        before = starts.copy()
        solve(responder, starts, reg=3.0, max_iter=50, progress=Progress())
        np.testing.assert_array_equal(starts, before)


@pytest.mark.parametrize("bound", [0.0, 0.4, None])
@pytest.mark.parametrize("solve", [solve_sphere, solve_sqp])
def test_opposite_starts_give_opposite_responses(solve, bound):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        responder = dense_responder(random_definite(rng, 15), bound)
        signs = rng.choice([-1.0, 1.0], size=(15, 1))
        a, b = (
            solve(responder, side * signs, reg=2.0, max_iter=50, progress=Progress())
            for side in (1, -1)
        )
        np.testing.assert_allclose(a.model.h, -b.model.h, atol=1e-9)
        assert a.objective == pytest.approx(b.objective, rel=1e-12)


@pytest.mark.parametrize("bound", [0.0, 0.4, None])
@pytest.mark.parametrize("name", ["normalized", "unnormalized", "precomputed"])
def test_starts_are_eigenvectors_cut_at_their_means(name, bound):
    """(9), of those that tell samples apart: a Laplacian's first one, if it is left, does not."""
    rng = np.random.default_rng(0)
    W = random_definite(rng, 25) if name == "precomputed" else random_similarities(rng, 25)
    form = form_of(W, name, 0.0)
    basis = np.eye(25) if bound is None else null_space(np.ones((1, 25)))
    vectors = basis @ np.linalg.eigh(basis.T @ form.Q @ basis)[1]
    first = int(bound is None and form.is_laplacian)
    starts = DenseResponder(form, bound).candidates(30, 1.0, np.random.RandomState(0))
    assert starts.shape == (25, 39)
    assert set(np.unique(starts)) == {-1.0, 1.0}
    for start, vector in zip(starts.T[:9], vectors.T[first:], strict=False):
        expected = np.sign(vector - vector.mean())
        assert abs(start @ expected) == 25


# Brute force over all signs


def all_signs(n):
    """Every partition in two, one of each pair of opposite signs."""
    codes = np.arange(2 ** (n - 1))
    S = np.where(codes[None, :] >> np.arange(n - 1)[:, None] & 1, 1.0, -1.0)
    return np.vstack([S, -np.ones(S.shape[1])])


def tiny_case(seed, bound):
    """Eight to eleven samples and a weight: a Laplacian where sums are bounded, else any matrix.

    Without a bound, the best responses on a Laplacian put all samples in one cluster.
    """
    rng = np.random.default_rng(seed)
    n = 8 + seed % 4
    reg = 10 ** rng.uniform(-0.5, 1.5)
    if bound is None:
        return form_of(random_definite(rng, n), "precomputed", 0.0), reg
    X = rng.normal(size=(n, 2))
    X[: n // 2] += 2.0 * (seed % 3 == 0)
    W = rbf_kernel(X, gamma=0.5)
    W = (W + W.T) / 2
    np.fill_diagonal(W, 0.0)
    return form_of(W, ["normalized", "unnormalized"][seed % 2], 0.0), reg


@pytest.mark.parametrize("bound", [0.0, None])
def test_starts_reach_the_exhaustive_optimum(bound, record_property):
    """The optimum of (4) is the least over all signs. Most reach it; none may claim less."""
    n_cases, reached, partition = 40, {"sphere": 0, "sqp": 0}, {"sphere": 0, "sqp": 0}
    value_of = balanced_best if bound == 0 else sphere_values
    for seed in range(n_cases):
        form, reg = tiny_case(seed, bound)
        S = all_signs(form.n_samples)
        values = value_of(form.Q, S, reg)
        best = S[:, values.argmin()] > 0
        responder = DenseResponder(form, bound)
        for name, solve in (("sphere", solve_sphere), ("sqp", solve_sqp)):
            result = solved(responder, reg, solve=solve, n_init=30, seed=seed)
            in_bounds = bound is None or abs(result.model.h.sum()) < 1e-6
            if in_bounds:  # Algorithm 1 may break off at a start that is not balanced
                assert result.objective >= values.min() - 1e-9 * abs(values.min())
            reached[name] += int(in_bounds and result.objective <= values.min() + 1e-6)
            side = result.model.h > 0
            partition[name] += int((side == best).all() or (side != best).all())
    shares = f"of {n_cases} cases, bound={bound}: optimum {reached}, its partition {partition}"
    record_property("share_of_optima_reached", shares)
    print(shares)
    assert min(partition.values()) > n_cases / 2, shares
    assert reached["sphere"] > n_cases / 2, shares


@pytest.mark.parametrize("bound", [0.0, None])
def test_the_optimum_is_a_fixed_point(bound):
    for seed in range(20):
        form, reg = tiny_case(seed, bound)
        S = all_signs(form.n_samples)
        values = (balanced_best if bound == 0 else sphere_values)(form.Q, S, reg)
        best = S[:, [values.argmin()]]
        found = solve_sphere(
            DenseResponder(form, bound), best, reg=reg, max_iter=9, tol=0.0, progress=Progress()
        )
        assert found.objective == pytest.approx(values.min(), rel=1e-9)
        np.testing.assert_array_equal(found.model.h > 0, best[:, 0] > 0)


# Limits of a large weight, section 4 of the paper


def angle(a, b):
    """1 - |cos| of two vectors, from their difference, which loses no digits."""
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    return min(np.linalg.norm(a - b), np.linalg.norm(a + b)) ** 2 / 2


def limit_of(Q, bound, reg=1e9):
    reg = reg / np.ptp(np.linalg.eigvalsh(Q))
    return solved(dense_responder(Q, bound), reg).model.h


def test_the_limit_is_unnormalised_spectral_clustering():
    for seed in range(3):
        X, _ = moons(60, seed=seed)
        W = rbf_kernel(X, gamma=5.0)
        second = np.linalg.eigh(np.diag(W.sum(axis=1)) - W)[1][:, 1]
        Q = form_of(W, "unnormalized", 0.0).Q
        assert angle(limit_of(Q, 0.0), second) <= 1e-10


def test_the_distance_to_the_limit_falls_with_the_square_of_the_weight():
    X, _ = moons(60)
    W = rbf_kernel(X, gamma=5.0)
    second = np.linalg.eigh(np.diag(W.sum(axis=1)) - W)[1][:, 1]
    Q = form_of(W, "unnormalized", 0.0).Q
    near, nearer = (angle(limit_of(Q, 0.0, reg), second) for reg in (1e5, 1e6))
    assert near / nearer == pytest.approx(100, rel=0.05)


def test_the_limit_is_kernel_pca():
    for seed in range(3):
        X = np.random.default_rng(seed).normal(size=(50, 3))
        K = rbf_kernel(X, gamma=0.3)
        first = KernelPCA(1, kernel="precomputed").fit_transform(K)[:, 0]
        Q = limit_matrix("kernel-k-means", K)
        assert np.linalg.eigvalsh(Q)[0] > 0
        for bound in (0.0, None):
            assert angle(limit_of(Q, bound), first) <= 1e-10


def test_the_limit_is_pca():
    for seed in range(3):
        X = np.random.default_rng(seed).normal(size=(50, 3)) * [3, 2, 1] + 5
        first = PCA(1).fit_transform(X)[:, 0]
        Q = limit_matrix("kernel-k-means", X @ X.T)
        for bound in (0.0, None):
            assert angle(limit_of(Q, bound), first) <= 1e-10


def test_the_limit_is_squared_loss_mutual_information_clustering():
    """Its first two responses are the first eigenvectors of the kernel matrix."""
    for seed in range(3):
        X = np.random.default_rng(seed).normal(size=(40, 2))
        K = rbf_kernel(X, gamma=0.7)
        vectors = np.linalg.eigh(K)[1]
        first = limit_of(limit_matrix("mutual-information", K), None)
        assert angle(first, vectors[:, -1]) <= 1e-10
        Q = limit_matrix("mutual-information", K, after=first)
        assert np.linalg.eigvalsh(Q)[0] > 0
        assert angle(limit_of(Q, None), vectors[:, -2]) <= 1e-10


def test_limits_through_the_estimator():
    X, _ = moons(60)
    W = rbf_kernel(X, gamma=5.0)
    W = (W + W.T) / 2
    second = np.linalg.eigh(np.diag(W.sum(axis=1)) - W)[1][:, 1]
    model = MaximumVolumeClustering(
        matrix="unnormalized", affinity="precomputed", reg=1e8, random_state=0
    )
    assert angle(model.fit(W).response_, second) <= 1e-10
    K = rbf_kernel(X, gamma=0.3)
    model = MaximumVolumeClustering(matrix="precomputed", reg=1e8, random_state=0)
    model.fit(limit_matrix("kernel-k-means", K))
    first = KernelPCA(1, kernel="precomputed").fit_transform(K)[:, 0]
    assert angle(model.response_, first) <= 1e-10


def test_an_unknown_limit_is_refused():
    with pytest.raises(ValueError, match=r"method='spectral' must be .* matrix='unnormalized'"):
        limit_matrix("spectral", np.eye(3))


# The sparse path


@pytest.fixture
def no_dense(monkeypatch):
    """Sparse graphs of any size go to the multigrid solver."""
    monkeypatch.setattr(spectra, "DENSE_SAMPLES", 3)


def both_paths(monkeypatch, X, **params):
    """The same estimator fitted by eigendecompositions and by multigrid."""
    model = MaximumVolumeClustering(random_state=0, **params)
    dense = clone(model).fit(X)
    with monkeypatch.context() as patch:
        patch.setattr(spectra, "DENSE_SAMPLES", 3)
        form = form_of(dense.affinity_matrix_, model.matrix, 0.0)
        assert isinstance(responder_of(form, model.response_bound), GraphResponder)
        return dense, clone(model).fit(X)


SHAPES = {
    "moons": moons(300)[0],
    "circles": make_circles(300, noise=0.03, factor=0.4, random_state=0)[0],
    "two blobs": make_blobs([200, 100], centers=[[0, 0], [5, 0]], random_state=0)[0],
}


@pytest.mark.parametrize("matrix", ["normalized", "unnormalized"])
@pytest.mark.parametrize("shape", SHAPES)
def test_both_paths_find_the_same(monkeypatch, shape, matrix):
    dense, by_graph = both_paths(monkeypatch, SHAPES[shape], matrix=matrix)
    np.testing.assert_array_equal(dense.labels_, by_graph.labels_)
    assert by_graph.reg_ == pytest.approx(dense.reg_, rel=1e-3)
    assert by_graph.objective_ == pytest.approx(dense.objective_, rel=1e-3)
    assert (np.diff(by_graph.history_) <= 0).all()
    np.testing.assert_allclose(by_graph.response_, dense.response_, atol=0.1 * 300**-0.5)


@pytest.mark.parametrize("bound", [0.0, 0.5])
@pytest.mark.parametrize("matrix", ["normalized", "unnormalized"])
def test_multigrid_responses_keep_their_constraints(no_dense, matrix, bound):
    """And what is reported as the objective is that of the responses."""
    for X in (*SHAPES.values(), three_blobs(120)[0]):
        model = MaximumVolumeClustering(matrix=matrix, response_bound=bound, random_state=0)
        model.fit(X)
        h = model.response_
        assert np.linalg.norm(h) == pytest.approx(1, abs=1e-12)
        assert abs(h.sum()) <= bound + 1e-10
        Q = form_of(model.affinity_matrix_, matrix, 0.0).Q.toarray()
        assert model.objective_ == pytest.approx(criterion(Q, h, model.reg_), rel=1e-10)


@pytest.mark.parametrize("matrix", ["normalized", "unnormalized"])
def test_coarse_graphs_lead_to_the_same_clusters(monkeypatch, no_dense, matrix):
    X, _ = moons(2_000)
    model = MaximumVolumeClustering(matrix=matrix, random_state=0)
    whole = clone(model).fit(X)
    monkeypatch.setattr(responders, "COARSE_NODES", 300)
    merged = clone(model).fit(X)
    assert np.mean(merged.labels_ != whole.labels_) < 0.01
    assert merged.reg_ == pytest.approx(whole.reg_, rel=0.3)


@pytest.mark.parametrize("matrix", ["normalized", "unnormalized"])
def test_both_paths_agree_on_three_clusters(monkeypatch, matrix):
    X, y = three_blobs(150)
    for multiway in ("orthogonal", "bisection"):
        for model in both_paths(monkeypatch, X, matrix=matrix, n_clusters=3, multiway=multiway):
            np.testing.assert_array_equal(model.labels_, y)


def test_the_multigrid_path_is_deterministic(no_dense):
    X, _ = moons(300, noise=0.15)
    for params in ({}, {"n_clusters": 3}, {"n_clusters": 4, "multiway": "bisection"}):
        first, second = (
            MaximumVolumeClustering(**params, random_state=3).fit(X) for _ in range(2)
        )
        np.testing.assert_array_equal(first.response_, second.response_)
        np.testing.assert_array_equal(first.labels_, second.labels_)


# Graphs in several parts


def parts(sizes, seed=0, between=0.0):
    """Similarities within groups of the given sizes alone, and the groups, in random order."""
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    W = rng.uniform(0.3, 1.0, size=(len(groups), len(groups)))
    W = np.where(groups[:, None] == groups, W + W.T, between)
    np.fill_diagonal(W, 0.0)
    return W, groups


@pytest.mark.parametrize("dense_samples", [3, 1500])
@pytest.mark.parametrize("matrix", ["normalized", "unnormalized"])
@pytest.mark.parametrize("sizes", [[20, 20], [30, 12]])
def test_two_parts_are_the_two_clusters(monkeypatch, sizes, matrix, dense_samples):
    monkeypatch.setattr(spectra, "DENSE_SAMPLES", dense_samples)
    W, groups = parts(sizes)
    for kind in (np.array, sparse.csr_array):
        model = MaximumVolumeClustering(affinity="precomputed", matrix=matrix, random_state=0)
        assert same_partition(model.fit_predict(kind(W)), groups)


@pytest.mark.parametrize("dense_samples", [3, 1500])
@pytest.mark.parametrize("multiway", ["orthogonal", "bisection"])
@pytest.mark.parametrize("matrix", ["normalized", "unnormalized"])
def test_several_parts_are_the_clusters(monkeypatch, matrix, multiway, dense_samples):
    monkeypatch.setattr(spectra, "DENSE_SAMPLES", dense_samples)
    for sizes in ([15, 12, 9], [20, 14, 10, 8, 6]):
        W, groups = parts(sizes)
        model = MaximumVolumeClustering(
            len(sizes), affinity="precomputed", matrix=matrix, multiway=multiway, random_state=0
        )
        assert same_partition(model.fit_predict(sparse.csr_array(W)), groups)
        np.testing.assert_array_equal(np.bincount(model.labels_), sizes)


@pytest.mark.parametrize("dense_samples", [3, 1500])
def test_two_clusters_of_several_parts_cut_none(monkeypatch, dense_samples):
    monkeypatch.setattr(spectra, "DENSE_SAMPLES", dense_samples)
    W, groups = parts([12, 12, 12, 12])
    model = MaximumVolumeClustering(affinity="precomputed", reg=1e4, random_state=0)
    labels = model.fit_predict(sparse.csr_array(W))
    assert all(len(set(labels[groups == group])) == 1 for group in range(4))
    np.testing.assert_array_equal(np.bincount(labels), [24, 24])


def test_isolated_samples_are_reported():
    W, groups = parts([15, 15])
    W[[3, 8]] = 0.0
    W[:, [3, 8]] = 0.0
    linked = np.setdiff1d(np.arange(30), [3, 8])
    for matrix in ("normalized", "unnormalized"):
        for kind in (np.array, sparse.csr_array):
            model = MaximumVolumeClustering(affinity="precomputed", matrix=matrix, random_state=0)
            with pytest.warns(UserWarning, match="2 of 30 samples are similar to no other"):
                model.fit(kind(W))
            assert same_partition(model.labels_[linked], groups[linked])


def test_isolated_samples_are_reported_on_the_multigrid_path(no_dense):
    W, groups = parts([15, 15])
    W[3] = W[:, 3] = 0.0
    linked = np.setdiff1d(np.arange(30), [3])
    model = MaximumVolumeClustering(affinity="precomputed", random_state=0)
    with pytest.warns(UserWarning, match="1 of 30 samples are similar to no other"):
        model.fit(sparse.csr_array(W))
    assert same_partition(model.labels_[linked], groups[linked])


def test_no_similarities_at_all_are_refused():
    words = "all similarities between samples are zero"
    with pytest.raises(ValueError, match=words):
        MaximumVolumeClustering(affinity="precomputed").fit(np.eye(6))
    with pytest.raises(ValueError, match=words):
        MaximumVolumeClustering(affinity="precomputed").fit(sparse.csr_array((6, 6)))
    with pytest.raises(ValueError, match=words):
        MaximumVolumeClustering(affinity="rbf", gamma=1e9, graph="full").fit(np.eye(6))


# Small and degenerate data


@pytest.mark.parametrize("multiway", ["orthogonal", "bisection"])
@pytest.mark.parametrize("graph", GRAPHS)
def test_as_many_clusters_as_samples(graph, multiway):
    for n in (2, 3, 5):
        X = np.random.default_rng(n).normal(size=(n, 2))
        model = MaximumVolumeClustering(n, graph=graph, multiway=multiway, random_state=0)
        assert sorted(model.fit_predict(X)) == list(range(n))
        np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("bound", [0.0, 0.5, None])
def test_two_and_three_samples(matrix, bound):
    for n in (2, 3):
        X = np.random.default_rng(n).normal(size=(n, 2))
        model = MaximumVolumeClustering(matrix=matrix, response_bound=bound, random_state=0)
        model, _ = fit_quietly(model, X)
        assert np.isfinite(model.objective_)
        assert np.linalg.norm(model.response_) == pytest.approx(1)
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        if bound == 0:
            assert set(model.labels_) == {0, 1}


@pytest.mark.parametrize("graph", GRAPHS)
def test_constant_data_are_refused(graph):
    X = np.full((24, 3), 7.0)
    for n_clusters in (2, 3):
        model = MaximumVolumeClustering(n_clusters, graph=graph)
        with pytest.raises(ValueError, match=f"1 distinct sample.*n_clusters={n_clusters}"):
            model.fit(X)


def test_copies_do_not_part_their_cluster():
    X, y = moons(100)
    many, labels = np.repeat(X, 4, axis=0), np.repeat(y, 4)
    for graph in GRAPHS:
        model = MaximumVolumeClustering(graph=graph, n_neighbors=20, random_state=0).fit(many)
        assert same_partition(model.labels_, labels)
        np.testing.assert_array_equal(model.predict(X), model.labels_[::4])


@pytest.mark.parametrize("Q", [np.zeros((6, 6)), np.eye(6), np.ones((6, 6)), -np.ones((6, 6))])
def test_a_matrix_that_tells_nothing(Q):
    """All is arbitrary but that it is an answer."""
    for n_clusters, multiway in ((2, "orthogonal"), (3, "orthogonal"), (3, "bisection")):
        model = MaximumVolumeClustering(
            n_clusters, matrix="precomputed", multiway=multiway, random_state=0
        )
        model, words = fit_quietly(model, Q)
        assert np.isfinite(model.response_).all()
        assert np.isfinite(model.objective_)
        found_all = len(set(model.labels_)) == n_clusters
        assert found_all == (words != Status.DEGENERATE.value)


def test_a_refit_forgets_the_last_graph():
    X, _ = moons(40)
    model = MaximumVolumeClustering(random_state=0).fit(X)
    Q = form_of(model.affinity_matrix_, "normalized", 0.0).Q
    model.set_params(matrix="precomputed").fit(Q.toarray())
    assert not hasattr(model, "affinity_matrix_")
    model.set_params(matrix="normalized").fit(X)
    assert hasattr(model, "affinity_matrix_")
    model.set_params(n_clusters=1).fit(X)
    assert not hasattr(model, "affinity_matrix_")


def test_one_cluster():
    X, _ = moons(40)
    model = MaximumVolumeClustering(1).fit(X)
    for values in (model.labels_, model.predict(X), model.decision_function(X), model.response_):
        np.testing.assert_array_equal(values, np.zeros(40))
    assert np.isnan(model.objective_)


def test_without_a_bound_a_single_cluster_is_not_silent():
    """The limit of a large weight is the first eigenvector, whose signs are all the same."""
    X, _ = moons(60)
    model = MaximumVolumeClustering(response_bound=None, reg=1e6, random_state=0)
    model, words = fit_quietly(model, X)
    assert set(model.labels_) == {0}
    assert words == Status.DEGENERATE.value


# Predictions


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("affinity", AFFINITIES)
def test_training_samples_keep_their_clusters(affinity, graph, matrix):
    X, _ = make_blobs([25, 20, 15], centers=[[1, 6], [6, 1], [7, 7]], random_state=0)
    for params in (
        {},
        {"n_clusters": 3},
        {"n_clusters": 3, "multiway": "bisection"},
        {"solver": "sqp"},
        {"n_clusters": 3, "multiway": "bisection", "solver": "sqp"},
    ):
        if matrix == "similarity" and "solver" in params:
            continue  # not positive definite
        model = MaximumVolumeClustering(
            affinity=affinity,
            graph=graph,
            matrix=matrix,
            n_neighbors=20,
            n_init=3,
            random_state=0,
            **params,
        )
        model, _ = fit_quietly(model, X)
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        np.testing.assert_array_equal(model.decision_function(X), model.response_)
        np.testing.assert_array_equal(model.predict(X[::-3]), model.labels_[::-3])
        sizes = np.bincount(model.labels_, minlength=model.n_clusters)
        assert (np.diff(sizes) <= 0).all()


@pytest.mark.parametrize("matrix", ["normalized", "unnormalized", "dissimilarity"])
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("shape", ["moons", "circles"])
def test_new_samples_of_two_shapes(shape, graph, matrix):
    make = {
        "moons": lambda seed: make_moons(240, noise=0.04, random_state=seed),
        "circles": lambda seed: make_circles(240, noise=0.03, factor=0.4, random_state=seed),
    }[shape]
    (X, y), (new, expected) = make(0), make(1)
    model = MaximumVolumeClustering(graph=graph, matrix=matrix, random_state=0).fit(X)
    error = min((model.labels_ != y).mean(), (model.labels_ == y).mean())
    if (model.labels_ == y).mean() < 0.5:
        expected = 1 - expected
    assert (model.predict(new) != expected).mean() <= error + 0.02


@pytest.mark.parametrize("multiway", ["orthogonal", "bisection"])
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("matrix", ["normalized", "unnormalized"])
def test_new_samples_of_three_clusters(matrix, graph, multiway):
    X, y = three_blobs(150)
    new, expected = three_blobs(150, seed=1)
    model = MaximumVolumeClustering(
        3, matrix=matrix, graph=graph, multiway=multiway, random_state=0
    ).fit(X)
    np.testing.assert_array_equal(model.labels_, y)  # sizes fall, and so do the numbers of y
    np.testing.assert_array_equal(model.predict(new), expected)


@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("affinity", AFFINITIES)
@pytest.mark.parametrize("graph", GRAPHS)
def test_far_away_samples_go_with_the_nearest(graph, affinity, n_clusters):
    X, _ = make_blobs([40, 30, 20], centers=[[1, 9], [9, 1], [9, 9]], random_state=0)
    for multiway in ("orthogonal", "bisection"):
        model = MaximumVolumeClustering(
            n_clusters, affinity=affinity, graph=graph, multiway=multiway, random_state=0
        )
        model, _ = fit_quietly(model, X)
        far = X[[0, 30, 60]] + 1e-3
        scores = model.decision_function(np.vstack([1e6 * far, -1e6 * far]))
        assert np.isfinite(scores).all()
        if affinity != "cosine":
            # along the axes of the blobs: the sample nearest to a far one leads its direction
            ends = X[(X @ [[-1, 1, 0], [1, -1, 1]]).argmax(axis=0)]
            away = ends + np.array([[-1, 1], [1, -1], [0, 1]]) * 1e4
            nearest = [((X - a) ** 2).sum(axis=1).argmin() for a in away]
            np.testing.assert_array_equal(model.predict(away), model.labels_[nearest])


def test_new_samples_next_to_training_samples_share_their_clusters():
    X, _ = moons(150)
    for matrix in ("normalized", "unnormalized", "dissimilarity"):
        for n_clusters in (2, 4):
            for multiway in ("orthogonal", "bisection"):
                model = MaximumVolumeClustering(
                    n_clusters, matrix=matrix, multiway=multiway, random_state=0
                ).fit(X)
                inner = model._graph.to_new(X).sum(axis=1) > 0
                moved = model.predict(X + 1e-9)
                assert (moved[inner] == model.labels_[inner]).mean() >= 0.98


def test_eigenvalues_next_to_the_diagonal_do_not_blow_up_new_samples():
    """Copies make many of them, whose eigenvectors say nothing of other samples."""
    X = np.repeat(np.eye(3), 700, axis=0)
    for matrix in ("normalized", "unnormalized"):
        model = MaximumVolumeClustering(3, matrix=matrix, random_state=0).fit(X)
        assert same_partition(model.labels_, X.argmax(axis=1))
        new = X[::350] + 1e-9
        np.testing.assert_array_equal(model.predict(new), model.labels_[::350])
        assert (np.abs(model.decision_function(new)) <= 1).all()


def unequal_blobs(seed):
    X, _ = make_blobs([50, 25], centers=[[0, 0], [4, 0]], random_state=seed)
    return X[np.random.default_rng(seed).permutation(75)]


@pytest.mark.parametrize("bound", [0.0, 0.8])
def test_the_fitted_responses_solve_the_optimality_system(bound):
    """Whichever of the two clusters became the first."""
    sides = set()
    for seed in range(6):
        model = MaximumVolumeClustering(response_bound=bound, random_state=seed)
        h = model.fit(unequal_blobs(seed)).response_
        Q = form_of(model.affinity_matrix_, "normalized", 0.0).Q
        eta, omega = model._model.eta, model._model.omega
        residual = model.reg_ * (Q @ h) - eta * h - np.where(h > 0, 1.0, -1.0)
        np.testing.assert_allclose(residual, omega, atol=1e-8 * model.reg_)
        assert abs(omega) > 1e-3
        # before the largest cluster became the first
        solver = solved(responder_of(model._model.form, bound), model.reg_, n_init=30, seed=seed)
        sides.add(bool((solver.model.h > 0).mean() < 0.5))
    assert sides == {True, False}


def test_responses_of_new_samples_solve_their_row_of_the_system():
    """The optimality system with one sample more, whose own row is solved for."""
    gamma, new = 4.0, 2 * moons(40, noise=0.3, seed=5)[0]
    for seed in range(4):
        X = unequal_blobs(seed)
        model = MaximumVolumeClustering(
            matrix="unnormalized", affinity="rbf", gamma=gamma, graph="full", random_state=seed
        ).fit(X)
        W, h = rbf_kernel(new, X, gamma=gamma), model.response_
        d = W.sum(axis=1)
        lift = 1e-6 * model.affinity_matrix_.sum(axis=1).mean()
        scores = model.decision_function(new)
        eta, omega = model._model.eta, model._model.omega
        assert abs(omega) > 0.1
        residual = (model.reg_ * (d + lift) - eta) * scores - model.reg_ * W @ h
        np.testing.assert_allclose(residual, np.sign(scores) + omega, atol=1e-9)


# Kinds of input


@pytest.mark.parametrize(
    "params", [{}, {"n_clusters": 3}, {"n_clusters": 3, "multiway": "bisection"}]
)
@pytest.mark.parametrize("affinity", AFFINITIES)
def test_sparse_samples_equal_dense_ones(affinity, params):
    rng = np.random.default_rng(0)
    rates = np.array(
        [[3.0] * 5 + [0.2] * 10, [0.2] * 5 + [3.0] * 5 + [0.2] * 5, [0.2] * 10 + [3.0] * 5]
    )
    counts = rng.poisson(rates[[0, 0, 0, 1, 1, 2] * 15])
    X = counts * rng.uniform(0.5, 1.5, size=(90, 15))  # no ties
    X, new = X[:60], X[60:]
    for graph in GRAPHS:
        model = MaximumVolumeClustering(
            affinity=affinity, graph=graph, n_neighbors=20, random_state=0, **params
        )
        dense, _ = fit_quietly(clone(model), X)
        for kind in (sparse.csr_array, sparse.csc_matrix):
            found, _ = fit_quietly(clone(model), kind(X))
            np.testing.assert_array_equal(found.labels_, dense.labels_)
            np.testing.assert_array_equal(found.predict(kind(X)), found.labels_)
            scores = found.decision_function(kind(new))
            np.testing.assert_allclose(scores, dense.decision_function(new), atol=1e-8)
            np.testing.assert_allclose(found.decision_function(new), scores, atol=1e-12)


def test_single_precision():
    X, _ = moons(120)
    X = X.astype(np.float32)
    for params in ({}, {"n_clusters": 3}, {"n_clusters": 3, "multiway": "bisection"}):
        model = MaximumVolumeClustering(random_state=0, **params)
        single, double = clone(model).fit(X), clone(model).fit(X.astype(np.float64))
        np.testing.assert_array_equal(single.labels_, double.labels_)
        np.testing.assert_array_equal(single.predict(X), single.labels_)
        np.testing.assert_array_equal(single.predict(X.astype(np.float64)), single.labels_)


def test_feature_names():
    pd = pytest.importorskip("pandas")
    X, _ = moons(60)
    frame = pd.DataFrame(X, columns=["x", "y"])
    model = MaximumVolumeClustering(random_state=0).fit(frame)
    assert list(model.feature_names_in_) == ["x", "y"]
    assert model.n_features_in_ == 2
    np.testing.assert_array_equal(model.predict(frame), model.labels_)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["y", "x"]])


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"graph": "full"},
        {"solver": "sqp"},
        {"n_clusters": 3},
        {"n_clusters": 3, "multiway": "bisection"},
        {"n_clusters": 1},
    ],
)
def test_a_pickle_predicts_the_same(params):
    X, _ = moons(80)
    new, _ = moons(50, noise=0.2, seed=1)
    model = MaximumVolumeClustering(random_state=0, **params).fit(X)
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.decision_function(new), model.decision_function(new))
    np.testing.assert_array_equal(loaded.predict(X), model.labels_)


def test_a_pickle_of_the_multigrid_path(no_dense):
    X, _ = moons(80)
    new, _ = moons(50, noise=0.2, seed=1)
    for n_clusters in (2, 3):
        model = MaximumVolumeClustering(n_clusters, random_state=0).fit(X)
        loaded = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(loaded.decision_function(new), model.decision_function(new))


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize(
    "params", [{}, {"n_clusters": 3}, {"n_clusters": 3, "multiway": "bisection"}]
)
def test_precomputed_similarities_equal_those_built_inside(params, matrix):
    X, _ = moons(80)
    for graph in GRAPHS:
        model = MaximumVolumeClustering(graph=graph, matrix=matrix, random_state=0, **params)
        inside, _ = fit_quietly(model, X)
        W = inside.affinity_matrix_
        given = clone(model).set_params(affinity="precomputed")
        for X_given in (W, W.toarray() if sparse.issparse(W) else sparse.csr_array(W)):
            found, _ = fit_quietly(clone(given), X_given)
            np.testing.assert_allclose(found.response_, inside.response_, atol=1e-7)
            np.testing.assert_array_equal(found.labels_, inside.labels_)
            np.testing.assert_array_equal(found.predict(X_given), found.labels_)


@pytest.mark.parametrize("matrix", MATRICES)
def test_precomputed_similarities_of_new_samples(matrix):
    X, _ = moons(80)
    new, _ = moons(30, seed=1)
    for params in ({}, {"n_clusters": 3}, {"n_clusters": 3, "multiway": "bisection"}):
        model = MaximumVolumeClustering(
            affinity="rbf",
            gamma=3.0,
            graph="full",
            matrix=matrix,
            random_state=0,
            reg=2.0,
            **params,
        ).fit(X)
        given = clone(model).set_params(affinity="precomputed").fit(model.affinity_matrix_)
        scores = given.decision_function(rbf_kernel(new, X, gamma=3.0))
        np.testing.assert_allclose(scores, model.decision_function(new), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    "params", [{}, {"n_clusters": 3}, {"n_clusters": 3, "multiway": "bisection"}]
)
def test_a_precomputed_matrix_equals_that_built_inside(params):
    X, _ = moons(80)
    for matrix in ("normalized", "unnormalized"):
        inside = MaximumVolumeClustering(matrix=matrix, reg=30.0, random_state=0, **params).fit(X)
        Q = form_of(inside.affinity_matrix_, matrix, 0.0).Q
        given = MaximumVolumeClustering(matrix="precomputed", reg=30.0, random_state=0, **params)
        if params.get("multiway") == "bisection":
            # splits of parts differ: a part of Q is not the Laplacian of a part
            assert len(set(given.fit_predict(Q.toarray()))) == 3
            continue
        for kind in (Q, Q.toarray()):
            given.fit(kind)
            assert given.objective_ == pytest.approx(inside.objective_, rel=1e-9)
            np.testing.assert_array_equal(given.labels_, inside.labels_)
            np.testing.assert_array_equal(given.predict(kind), given.labels_)
            assert not hasattr(given, "affinity_matrix_")


@pytest.mark.parametrize("reg", [3.0, "auto", ("auto", 0.3)])
def test_a_multiple_of_the_identity_changes_no_partition(reg):
    """An indefinite matrix is as good as a definite one."""
    X, _ = moons(60)
    W = rbf_kernel(X, gamma=4.0)
    W = (W + W.T) / 2
    for n_clusters, multiway in ((2, "orthogonal"), (3, "orthogonal"), (3, "bisection")):
        model = MaximumVolumeClustering(
            n_clusters, matrix="precomputed", multiway=multiway, reg=reg, random_state=0
        )
        plain = clone(model).fit(-W)
        for c in (-40.0, 7.0, 40.0):
            moved = clone(model).fit(c * np.eye(60) - W)
            np.testing.assert_array_equal(moved.labels_, plain.labels_)
            assert moved.reg_ == pytest.approx(plain.reg_, rel=1e-6)
            if n_clusters == 2:
                expected = plain.objective_ + c * plain.reg_
                assert moved.objective_ == pytest.approx(expected, rel=1e-6)


def test_similarities_may_have_any_scale():
    X, _ = moons(80)
    W = MaximumVolumeClustering(random_state=0).fit(X).affinity_matrix_
    for matrix in ("normalized", "unnormalized"):
        for n_clusters in (2, 3):
            model = MaximumVolumeClustering(
                n_clusters, affinity="precomputed", matrix=matrix, random_state=0
            )
            plain = clone(model).fit(W)
            for scale in (1e-200, 1e-20, 1e20, 1e200):
                scaled = clone(model).fit(W * scale)
                np.testing.assert_array_equal(scaled.labels_, plain.labels_)
                assert scaled.objective_ == pytest.approx(plain.objective_, rel=1e-7)


# Errors


def broken(W, kind):
    W = W.copy()
    if kind == "asymmetric":
        W[0, 1] += 0.5
    elif kind == "negative":
        W[0, 1] = W[1, 0] = -0.25
    elif kind == "nan":
        W[2, 3] = W[3, 2] = np.nan
    elif kind == "inf":
        W[2, 3] = W[3, 2] = np.inf
    return W[:, :-1] if kind == "wide" else W


@pytest.mark.parametrize("kind", [np.array, sparse.csr_array])
@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("asymmetric", r"affinity='precomputed' needs a symmetric matrix.*\(X \+ X.T\) / 2"),
        ("negative", "affinity='precomputed' needs nonnegative similarities.*-0.25"),
        ("nan", "contains NaN"),
        ("inf", "contains infinity"),
        ("wide", r"affinity='precomputed' needs X to be a square matrix.*\(10, 9\)"),
    ],
)
def test_broken_similarities_are_refused(damage, words, kind):
    W, _ = parts([5, 5], between=0.1)
    with pytest.raises(ValueError, match=words):
        MaximumVolumeClustering(affinity="precomputed").fit(kind(broken(W, damage)))


@pytest.mark.parametrize("kind", [np.array, sparse.csr_array])
@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("asymmetric", r"matrix='precomputed' needs a symmetric matrix.*\(X \+ X.T\) / 2"),
        ("nan", "contains NaN"),
        ("wide", r"matrix='precomputed' needs X to be a square matrix.*\(10, 9\)"),
    ],
)
def test_broken_matrices_are_refused(damage, words, kind):
    W, _ = parts([5, 5], between=0.1)
    with pytest.raises(ValueError, match=words):
        MaximumVolumeClustering(matrix="precomputed").fit(kind(broken(W, damage)))


def test_algorithm_1_refuses_a_matrix_that_is_not_positive_definite():
    X, _ = moons(40)
    for matrix, data in (("similarity", X), ("precomputed", -np.eye(40))):
        with pytest.raises(ValueError, match=r"positive definite.*smallest eigenvalue is -"):
            MaximumVolumeClustering(matrix=matrix, solver="sqp").fit(data)


@pytest.mark.parametrize("reg", [0, 0.0, -1.0, np.inf, np.nan, "automatic", None])
def test_a_weight_that_is_no_positive_number_is_refused(reg):
    with pytest.raises(ValueError, match="The 'reg' parameter"):
        MaximumVolumeClustering(reg=reg).fit(np.eye(4))


@pytest.mark.parametrize(
    "reg",
    [
        ("auto",),
        ("auto", 0.0),
        ("auto", -1.0),
        ("auto", np.nan),
        ("auto", np.inf),
        ("auto", "1"),
        ("mean", 1.0),
        ("auto", 1.0, 2.0),
        (),
    ],
)
def test_a_rule_for_the_weight_that_is_none_is_refused(reg):
    with pytest.raises(ValueError, match=r"reg=\(.* must be a positive number, 'auto' or"):
        MaximumVolumeClustering(reg=reg).fit(np.eye(4))


@pytest.mark.parametrize("bound", [-0.1, np.inf, np.nan, "0"])
def test_a_bound_that_is_no_number_is_refused(bound):
    with pytest.raises(ValueError, match="The 'response_bound' parameter"):
        MaximumVolumeClustering(response_bound=bound).fit(np.eye(4))


def test_more_clusters_than_samples_are_refused():
    with pytest.raises(ValueError, match="n_samples=3 should be >= n_clusters=4"):
        MaximumVolumeClustering(4).fit(np.eye(3))


def test_algorithm_1_has_two_sides():
    X, _ = moons(40)
    with pytest.raises(ValueError, match=r"solver='sqp' finds two clusters.*'bisection'"):
        MaximumVolumeClustering(3, solver="sqp").fit(X)
    model = MaximumVolumeClustering(3, solver="sqp", multiway="bisection", random_state=0)
    assert set(fit_quietly(model, X)[0].labels_) == {0, 1, 2}


def test_dask_arrays_are_refused_with_a_remedy():
    da = pytest.importorskip("dask.array")
    X = da.from_array(np.eye(6), chunks=3)
    with pytest.raises(TypeError, match=r"dask array; pass X.compute\(\)"):
        MaximumVolumeClustering().fit(X)
    model = MaximumVolumeClustering(random_state=0).fit(
        np.random.default_rng(0).normal(size=(9, 6))
    )
    with pytest.raises(TypeError, match=r"dask array; pass X.compute\(\)"):
        model.predict(X)


def test_new_samples_need_as_many_columns():
    X, _ = moons(40)
    model = MaximumVolumeClustering(random_state=0).fit(X)
    with pytest.raises(ValueError, match=r"X has 3 features.* expecting 2 features"):
        model.predict(np.ones((2, 3)))
    given = MaximumVolumeClustering(affinity="precomputed", random_state=0)
    given.fit(model.affinity_matrix_)
    with pytest.raises(ValueError, match=r"X has 39 features.* expecting 40 features"):
        given.predict(np.ones((2, 39)))


# More than two clusters


@pytest.mark.parametrize("matrix", ["normalized", "unnormalized", "dissimilarity"])
@pytest.mark.parametrize("multiway", ["orthogonal", "bisection"])
def test_three_blobs_are_three_clusters(multiway, matrix):
    for seed in range(3):
        X, y = three_blobs(seed=seed)
        model = MaximumVolumeClustering(
            3, multiway=multiway, matrix=matrix, random_state=seed
        ).fit(X)
        np.testing.assert_array_equal(model.labels_, y)  # the largest blob is number 0


def low_spectrum(seed, name="normalized", n=40, n_vectors=12):
    W = random_similarities(np.random.default_rng(seed), n)
    return LowSpectrum.of(form_of(W, name, 0.0), n_vectors)


@pytest.mark.parametrize("name", ["normalized", "unnormalized", "similarity"])
def test_rotations_never_raise_the_objective(name):
    """From each start, whatever the number of updates."""
    n_improved = 0
    for seed in range(8):
        low = low_spectrum(seed, name)
        rng = np.random.RandomState(seed)
        for n_clusters in (3, 4):
            reg = 10 ** rng.uniform(-1, 1.5) / np.ptp(low.values)
            start = orthogonal_responses.random_rotation(len(low.values), n_clusters, rng)
            reached = [
                orthogonal_responses._rotate(low, start, reg, max_iter, 0.0)[0]
                for max_iter in range(1, 12)
            ]
            assert (np.diff(reached) <= 1e-12 * np.abs(reached[1:])).all()
            n_improved += reached[-1] < reached[0] - 1e-6
    assert n_improved > 8


def test_an_update_of_rotations_is_the_best_for_its_tangent():
    """No orthogonal A has tr A'M above the sum of the singular values of M."""
    for seed in range(10):
        low = low_spectrum(seed)
        rng = np.random.RandomState(seed)
        A, reg = (
            orthogonal_responses.random_rotation(len(low.values), 3, rng),
            10 ** rng.uniform(-1, 1.5),
        )
        labels = (low.vectors @ A).argmax(axis=1)
        picked = low.vectors.T @ np.eye(3)[labels]
        # minus half the objective, but for its constant, is tr A'P + reg tr A'(l - L)A / 2
        M = picked + reg * (low.values[-1] - low.values)[:, None] * A
        _, updated, _ = orthogonal_responses._rotate(low, A, reg, 1, 0.0)
        np.testing.assert_allclose(updated.T @ updated, np.eye(3), atol=1e-12)
        best = np.linalg.svd(M, compute_uv=False).sum()
        assert (updated * M).sum() == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("start", [orthogonal_responses.pivoted_start, None])
def test_starting_rotations_are_orthogonal(start):
    low = low_spectrum(0)
    rng = np.random.RandomState(0)
    for n_clusters in (2, 3, 5):
        if start is None:
            A = orthogonal_responses.random_rotation(len(low.values), n_clusters, rng)
        else:
            A = start(low, n_clusters)
        np.testing.assert_allclose(A.T @ A, np.eye(n_clusters), atol=1e-12)


@pytest.mark.parametrize("matrix", [*MATRICES])
def test_orthogonal_responses(matrix):
    """H'H = I, and the objective is that of H; the history never rises."""
    for X, n_clusters in ((three_blobs()[0], 3), (moons(100, noise=0.2)[0], 4)):
        model = MaximumVolumeClustering(n_clusters, matrix=matrix, random_state=0).fit(X)
        H = model.response_
        np.testing.assert_allclose(H.T @ H, np.eye(n_clusters), atol=1e-10)
        Q = form_of(model.affinity_matrix_, matrix, 0.0).Q.toarray()
        expected = model.reg_ * np.trace(H.T @ Q @ H) - 2 * H.max(axis=1).sum()
        assert model.objective_ == pytest.approx(expected, rel=1e-9)
        assert (np.diff(model.history_) <= 0).all()
        np.testing.assert_array_equal(H.argmax(axis=1), model.labels_)


def test_two_rotated_clusters_are_those_of_two_responses():
    """The orthogonal form and the two-sided one see the same groups."""
    X, y = make_blobs([30, 20], centers=[[0, 0], [9, 0]], random_state=0)
    low = LowSpectrum.of(MaximumVolumeClustering()._form(X), 9)
    result = volume.solve_orthogonal(
        low,
        2,
        reg=10.0,
        n_init=5,
        max_iter=50,
        tol=0.0,
        progress=Progress(),
        rng=np.random.RandomState(0),
    )
    assert same_partition(result.labels, y)


@pytest.mark.parametrize("matrix", ["normalized", "unnormalized"])
def test_scores_of_a_tree_are_the_least_confident_responses(matrix):
    """Finite, positive for the own cluster alone, and of the size of some split's response."""
    X, _ = moons(120, noise=0.1)
    model = MaximumVolumeClustering(5, multiway="bisection", matrix=matrix, random_state=0).fit(X)
    assert np.isfinite(model.response_).all()
    assert ((model.response_ > 0).sum(axis=1) == 1).all()
    np.testing.assert_array_equal(model.response_.argmax(axis=1), model.labels_)
    new, _ = moons(60, noise=0.2, seed=1)
    scores = model.decision_function(new)
    assert np.isfinite(scores).all()
    assert ((scores > 0).sum(axis=1) == 1).all()
    first = model._model.splits[0].model
    assert model.reg_ == first.reg
    # the first split is that of two clusters
    two = MaximumVolumeClustering(2, matrix=matrix, random_state=0).fit(X)
    np.testing.assert_allclose(np.abs(two.response_), np.abs(first.h), atol=1e-12)


def test_responses_of_exactly_zero_have_a_side():
    """They are negative, and stay where they are when the clusters change their numbers."""
    form = form_of(parts([2, 2], between=0.1)[0], "normalized", 0.0)
    model = volume.TwoSided(form, np.array([0.5, 0.0, -0.5, 0.0]), 0.0, 0.3, 1.0)
    np.testing.assert_array_equal(volume.decoded(model.scores), [1, 0, 0, 0])
    turned = model.renumbered([1, 0])
    np.testing.assert_array_equal(volume.decoded(turned.scores), [0, 1, 1, 1])
    assert model.renumbered([0, 1]) is model
    inner = volume.TwoSided(form.restricted([1, 2, 3]), np.array([0.0, 0.0, 0.4]), 0.0, 0.0, 1.0)
    splits = [
        graph_responses.Split(0, 1, np.arange(4), model),
        graph_responses.Split(0, 2, np.array([1, 2, 3]), inner),
    ]
    tree = graph_responses.Tree(4, 3, splits)
    np.testing.assert_array_equal(volume.decoded(tree.scores), [1, 0, 0, 2])
    order = np.array([2, 0, 1])
    renumbered = volume.decoded(tree.renumbered(order).scores)
    np.testing.assert_array_equal(order[renumbered], [1, 0, 0, 2])


def test_more_clusters_refine_fewer_by_bisection():
    X, _ = moons(120, noise=0.1)
    labels = [
        MaximumVolumeClustering(k, multiway="bisection", random_state=0).fit_predict(X)
        for k in range(2, 6)
    ]
    for coarse, fine in itertools.pairwise(labels):
        assert all(len(set(coarse[fine == c])) == 1 for c in range(fine.max() + 1))


def test_clusters_that_cannot_be_split_are_not_silent():
    """Three parts of no links inside cannot make four clusters of five samples."""
    W = np.zeros((6, 6))
    W[0, 1] = W[1, 0] = 1.0
    model = MaximumVolumeClustering(
        5, affinity="precomputed", multiway="bisection", random_state=0
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(W)
    assert Status.DEGENERATE.value in [str(warning.message) for warning in caught]
    np.testing.assert_array_equal(model.predict(W[:2]), model.labels_[:2])


# Invariance and determinism


@pytest.mark.parametrize(
    "params",
    [{}, {"solver": "sqp"}, {"n_clusters": 3}, {"n_clusters": 3, "multiway": "bisection"}],
)
def test_the_order_of_samples_does_not_matter(params):
    X, _ = three_blobs() if "n_clusters" in params else moons(120)
    plain = MaximumVolumeClustering(random_state=0, **params).fit(X)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(X))
        mixed = MaximumVolumeClustering(random_state=0, **params).fit(X[order])
        assert same_partition(mixed.labels_, plain.labels_[order])
        assert mixed.objective_ == pytest.approx(plain.objective_, rel=1e-8)


def test_the_order_does_not_matter_on_the_multigrid_path(no_dense):
    X, _ = moons(200)
    plain = MaximumVolumeClustering(random_state=0).fit(X)
    order = np.random.default_rng(0).permutation(200)
    mixed = MaximumVolumeClustering(random_state=0).fit(X[order])
    assert same_partition(mixed.labels_, plain.labels_[order])
    assert mixed.objective_ == pytest.approx(plain.objective_, rel=1e-3)


@pytest.mark.parametrize("graph", GRAPHS)
def test_local_similarities_have_no_unit(graph):
    X, _ = moons(120, noise=0.15)
    plain = MaximumVolumeClustering(graph=graph, random_state=0).fit(X)
    for scale in (2.0**-300, 1e-5, 1024.0, 1e7, 2.0**300):
        scaled = MaximumVolumeClustering(graph=graph, random_state=0).fit(X * scale)
        np.testing.assert_array_equal(scaled.labels_, plain.labels_)
        np.testing.assert_allclose(scaled.response_, plain.response_, atol=1e-7)


@pytest.mark.parametrize(
    "params",
    [{}, {"solver": "sqp"}, {"n_clusters": 4}, {"n_clusters": 4, "multiway": "bisection"}],
)
def test_the_same_seed_gives_the_same_labels(params):
    X = np.random.default_rng(0).normal(size=(150, 3))
    model = MaximumVolumeClustering(random_state=5, **params)
    first, _ = fit_quietly(clone(model), X)
    second, _ = fit_quietly(clone(model), X)
    np.testing.assert_array_equal(first.response_, second.response_)
    np.testing.assert_array_equal(first.labels_, second.labels_)
    again, _ = fit_quietly(first, X)
    np.testing.assert_array_equal(again.labels_, second.labels_)


def test_the_automatic_weight():
    """rho sqrt(n) over the distance from the first to the ninth nontrivial eigenvalue."""
    X, _ = moons(100)
    for matrix in ("normalized", "unnormalized"):
        model = MaximumVolumeClustering(matrix=matrix, random_state=0).fit(X)
        Q = form_of(model.affinity_matrix_, matrix, 0.0).Q.toarray()
        basis = null_space(np.ones((1, 100)))
        values = np.linalg.eigvalsh(basis.T @ Q @ basis)
        assert model.reg_ == pytest.approx(
            graphs_of_volume.RHO * 10 / (values[8] - values[0]), rel=1e-9
        )
        other = clone(model).set_params(reg=("auto", 0.25)).fit(X)
        assert other.reg_ == pytest.approx(model.reg_ * 0.25 / graphs_of_volume.RHO)
        number = clone(model).set_params(reg=model.reg_).fit(X)
        np.testing.assert_allclose(number.response_, model.response_, atol=1e-12)


@pytest.mark.parametrize(
    "params",
    [
        {"n_clusters": 3, "max_iter": 2, "n_init": 5},
        {"solver": "sqp", "max_iter": 2, "n_init": 5},
        {"max_iter": 1},
        {"n_clusters": 3, "multiway": "bisection", "max_iter": 1},
    ],
)
def test_fewer_iterations_than_starts(params):
    """Starts and iterations are counted apart; too few of the latter are not silent."""
    X = np.random.default_rng(0).normal(size=(80, 2))
    model, words = fit_quietly(MaximumVolumeClustering(random_state=0, **params), X)
    assert words in (None, Status.MAX_ITER.value)
    assert len(set(model.labels_)) == model.n_clusters


# Stability and error bounds


def test_stability_is_that_of_matrix_and_responses():
    for X in (moons(40)[0], np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])):
        model = MaximumVolumeClustering(graph="full", random_state=0).fit(X)
        Q = form_of(model.affinity_matrix_, "normalized", 1.0).Q
        found, expected = model.stability(), finite_sample_stability(Q, model.response_)
        assert str(found) == str(expected)
    assert found.twin is not None  # a square has two ways to be cut
    assert "not unique" in str(found)


def test_the_error_bound_is_that_of_theorem_19():
    X, y = moons(200)
    known = np.random.default_rng(0).choice(200, 100, replace=False)
    model = MaximumVolumeClustering(random_state=0).fit(X)
    Q = form_of(model.affinity_matrix_, "normalized", 0.0).Q
    expected = clustering_error_bound(
        model.response_, y[known], known, Q=Q, reg=model.reg_, eta=model._model.eta, margin=0.05
    )
    found = model.error_bound(y[known], known, margin=0.05)
    assert found.total == pytest.approx(expected.total, rel=1e-9)
    assert found.complexity < model.error_bound(y[known], known, margin=0.01).complexity
    # the labels of the known samples only matter up to their names
    assert model.error_bound(1 - y[known], known, margin=0.05).total == found.total
    assert model.error_bound(y[known], known, delta=0.01, margin=0.05).total > found.total


@pytest.mark.parametrize("reg", [1.0, 1e2, 1e4, 1e8])
@pytest.mark.parametrize("bound", [0.0, 1.0, None])
def test_error_bounds_hold_for_any_weight(reg, bound):
    """A multiplier beyond the first eigenvalue leaves the part that all partitions share."""
    X, y = moons(80)
    known = np.arange(0, 80, 2)
    model, _ = fit_quietly(
        MaximumVolumeClustering(reg=reg, response_bound=bound, random_state=0), X
    )
    found = model.error_bound(y[known], known, margin=0.1)
    wrong = min((model.labels_ != y).sum(), (model.labels_ == y).sum())
    most = np.sqrt(2 * 40 / 40) * np.sqrt(80) / 0.1
    assert wrong <= found.total
    assert found.complexity <= most * (1 + 1e-9)


@pytest.mark.parametrize("n_clusters", [1, 3])
def test_stability_and_bounds_are_for_two_clusters(n_clusters):
    X, y = moons(40)
    model = MaximumVolumeClustering(n_clusters, random_state=0).fit(X)
    words = f"is defined for n_clusters=2, this estimator has {n_clusters}"
    with pytest.raises(ValueError, match=words):
        model.stability()
    with pytest.raises(ValueError, match=words):
        model.error_bound(y[:20], np.arange(20))
