"""Newton's method for margin distributions against Clarabel, its duals, its limits and itself."""

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel
from sklearn.svm import LinearSVC

from separatrix.solvers.margin_distribution import (
    Losses,
    _exact_step,
    fit_margin_distribution,
    fit_margin_distribution_linear,
)

KERNELS = {
    "linear": lambda X: X @ X.T,
    "rbf": lambda X: rbf_kernel(X, gamma=0.5),
    "narrow": lambda X: rbf_kernel(X, gamma=20.0),
    "poly": lambda X: polynomial_kernel(X, degree=2, gamma=0.3, coef0=1),
    "laplacian": lambda X: laplacian_kernel(X, gamma=0.4),
}
# The grid of the paper, in which each pair of values of two parameters occurs.
GRID = [
    (strength, nu, theta)
    for i, strength in enumerate((1.0, 10.0, 100.0, 1000.0))
    for j, nu in enumerate((0.2, 0.4, 0.6, 0.8))
    for theta in [(0.2, 0.4, 0.6, 0.8)[(i + j) % 4]]
]


def data(seed, n=40, d=3):
    """Samples, noisy signs and random positive counts."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 0.5 * rng.normal(size=d)
    y = np.where(X @ rng.normal(size=d) + 0.7 * rng.normal(size=n) > 0, 1.0, -1.0)
    return X, y, rng.integers(1, 4, size=n).astype(float)


def primal_value(K, y, coef, *, strength, nu, theta):
    """(1) of the paper at w = sum_i coef_i phi(x_i)."""
    margins = y * (K @ coef)
    missing, excess = np.maximum(1 - theta - margins, 0), np.maximum(margins - 1 - theta, 0)
    loss = np.sum(missing**2 + nu * excess**2) / (len(y) * (1 - theta) ** 2)
    return 0.5 * coef @ K @ coef + strength * loss


def dual_value(K, y, alpha, *, strength, nu, theta):
    """(3) of the paper at zeta, beta, the positive and the negative part of alpha."""
    zeta, beta = np.maximum(alpha, 0), np.maximum(-alpha, 0)
    coef = y * (zeta - beta)
    square = len(y) * (1 - theta) ** 2 / (4 * strength) * (zeta @ zeta + beta @ beta / nu)
    return -0.5 * coef @ K @ coef - square - (theta - 1) * zeta.sum() - (theta + 1) * beta.sum()


def dual_by_clarabel(K, y, *, strength, nu, theta):
    """The dual (3) of the paper in its 2m variables."""
    n = len(y)
    zeta, beta = cp.Variable(n, nonneg=True), cp.Variable(n, nonneg=True)
    values, vectors = np.linalg.eigh(K)
    half = (vectors * np.sqrt(np.maximum(values, 0))).T
    norm = cp.sum_squares(half @ cp.multiply(y, zeta - beta))
    square = cp.sum_squares(zeta) + cp.sum_squares(beta) / nu
    linear = (theta - 1) * cp.sum(zeta) + (theta + 1) * cp.sum(beta)
    objective = -0.5 * norm - n * (1 - theta) ** 2 / (4 * strength) * square - linear
    problem = cp.Problem(cp.Maximize(objective))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    return problem.value, zeta.value - beta.value


def conditions(K, y, alpha, *, strength, nu, theta):
    """Largest violation of a sample's optimality condition, as a change of its margin."""
    margins = y * (K @ (y * alpha))
    missing, excess = np.maximum(1 - theta - margins, 0), np.maximum(margins - 1 - theta, 0)
    wanted = alpha * len(y) * (1 - theta) ** 2 / (2 * strength)
    return np.abs(wanted - missing + nu * excess).max() / max(1.0, np.abs(margins).max())


@pytest.mark.parametrize("name", KERNELS)
def test_solution_is_that_of_clarabel(name):
    for seed, (strength, nu, theta) in enumerate(GRID[:: 1 if name in ("linear", "rbf") else 3]):
        X, y, _ = data(seed)
        K, parameters = KERNELS[name](X), {"strength": strength, "nu": nu, "theta": theta}
        found = fit_margin_distribution(K, y, **parameters)
        value, _ = dual_by_clarabel(K, y, **parameters)
        assert found.objective == pytest.approx(value, rel=1e-7)
        assert found.dual_objective == pytest.approx(value, rel=1e-7)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("theta", [0.0, 0.2, 0.4, 0.6, 0.8])
def test_certificate(name, theta):
    """Both objectives, their gap and the optimality conditions, on the whole grid."""
    for strength in (0.01, 1.0, 10.0, 100.0, 1000.0):
        for nu in (0.01, 0.2, 0.4, 0.6, 0.8, 1.0):
            X, y, _ = data(int(strength + 10 * nu), n=60)
            K, parameters = KERNELS[name](X), {"strength": strength, "nu": nu, "theta": theta}
            found = fit_margin_distribution(K, y, **parameters)
            assert found.converged
            assert found.kkt_residual <= 1e-8
            assert found.n_iter <= 20
            assert conditions(K, y, found.alpha, **parameters) <= 1e-8
            primal = primal_value(K, y, found.coef, **parameters)
            dual = dual_value(K, y, found.alpha, **parameters)
            assert found.objective == pytest.approx(primal, rel=1e-10)
            assert found.dual_objective == pytest.approx(dual, rel=1e-10)
            assert found.objective == pytest.approx(found.dual_objective, rel=1e-10)
            np.testing.assert_allclose(found.coef, y * found.alpha, rtol=1e-15)
            np.testing.assert_allclose(found.scores, K @ found.coef, rtol=1e-10, atol=1e-12)


def test_gap_of_an_unfinished_solution():
    """After any number of steps the reported gap is that of the two objectives."""
    X, y, _ = data(0, n=60)
    for K in (KERNELS["rbf"](X), KERNELS["linear"](X)):
        parameters = {"strength": 1000.0, "nu": 0.2, "theta": 0.8}
        values = []
        for max_iter in range(4):
            found = fit_margin_distribution(K, y, max_iter=max_iter, tol=1e-12, **parameters)
            primal = primal_value(K, y, found.coef, **parameters)
            dual = dual_value(K, y, found.alpha, **parameters)
            assert found.objective == pytest.approx(primal, rel=1e-9)
            assert found.dual_objective == pytest.approx(dual, rel=1e-9, abs=1e-9)
            # squares, since the root of a rounded difference says little where it is zero
            gap = max(primal - dual, 0.0) / primal
            assert found.kkt_residual**2 == pytest.approx(gap, rel=1e-5, abs=1e-12)
            values.append(found.objective)
        assert values[0] == pytest.approx(1000.0)  # w = 0
        assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("theta", [0.0, 0.2, 0.8])
def test_features_and_kernel_agree(theta, weighted):
    for seed, (strength, nu, _) in enumerate(GRID):
        X, y, weight = data(seed, n=80, d=5)
        parameters = {"strength": strength, "nu": nu, "theta": theta}
        parameters["sample_weight"] = weight if weighted else None
        dual = fit_margin_distribution(X @ X.T, y, **parameters)
        for samples in (X, sparse.csr_array(X)):
            primal = fit_margin_distribution_linear(samples, y, **parameters)
            assert primal.converged
            assert primal.objective == pytest.approx(dual.objective, rel=1e-12)
            np.testing.assert_allclose(primal.coef, X.T @ dual.coef, rtol=1e-8, atol=1e-10)
            np.testing.assert_allclose(primal.alpha, dual.alpha, rtol=1e-6, atol=1e-8)
            np.testing.assert_allclose(primal.scores, X @ primal.coef, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("strength", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("name", KERNELS)
def test_without_a_zone_and_with_equal_costs_it_is_ridge_regression(name, strength):
    X, y, _ = data(3)
    K = KERNELS[name](X)
    found = fit_margin_distribution(K, y, strength=strength, nu=1.0, theta=0.0)
    expected = np.linalg.solve(K + len(y) / (2 * strength) * np.eye(len(y)), y)
    np.testing.assert_allclose(found.coef, expected, rtol=1e-8, atol=1e-10)
    assert found.n_iter == 1


@pytest.mark.parametrize("strength", [0.1, 1.0, 100.0])
def test_without_cost_of_large_margins_it_is_a_support_vector_machine(strength):
    X, y, _ = data(4, n=100)
    found = fit_margin_distribution_linear(X, y, strength=strength, nu=1e-12, theta=0.0)
    svm = LinearSVC(loss="squared_hinge", dual=False, fit_intercept=False, tol=1e-12)
    svm.set_params(C=strength / len(y)).fit(X, y)
    np.testing.assert_allclose(found.coef, svm.coef_[0], rtol=1e-6)
    kernel = fit_margin_distribution(X @ X.T, y, strength=strength, nu=1e-12, theta=0.0)
    np.testing.assert_allclose(X.T @ kernel.coef, found.coef, rtol=1e-8)


@pytest.mark.parametrize("name", ["linear", "rbf"])
def test_weights_are_repetitions(name):
    for seed, (strength, nu, theta) in enumerate(GRID[::3]):
        X, y, weight = data(seed)
        weight[:3] = 0.0
        repeated = np.repeat(np.arange(len(y)), weight.astype(int))
        K, parameters = KERNELS[name](X), {"strength": strength, "nu": nu, "theta": theta}
        found = fit_margin_distribution(K, y, sample_weight=weight, **parameters)
        whole = fit_margin_distribution(K[np.ix_(repeated, repeated)], y[repeated], **parameters)
        assert found.objective == pytest.approx(whole.objective, rel=1e-12)
        np.testing.assert_allclose(found.scores[repeated], whole.scores, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(
            found.alpha, np.bincount(repeated, whole.alpha, len(y)), rtol=1e-6, atol=1e-9
        )
        scaled = fit_margin_distribution(K, y, sample_weight=7 * weight, **parameters)
        np.testing.assert_allclose(scaled.coef, found.coef, rtol=1e-8, atol=1e-10)


def test_order_and_names_of_signs_do_not_matter():
    X, y, _ = data(5, n=70)
    order = np.random.default_rng(0).permutation(70)
    K = KERNELS["rbf"](X)
    for strength, nu, theta in GRID:
        parameters = {"strength": strength, "nu": nu, "theta": theta}
        found = fit_margin_distribution(K, y, **parameters)
        other = fit_margin_distribution(K[np.ix_(order, order)], y[order], **parameters)
        np.testing.assert_allclose(other.alpha, found.alpha[order], rtol=1e-7, atol=1e-9)
        turned = fit_margin_distribution(K, -y, **parameters)
        np.testing.assert_allclose(turned.alpha, found.alpha, rtol=1e-7, atol=1e-9)


def test_warm_start_saves_steps():
    cold = warm = 0
    for seed, (strength, nu, theta) in enumerate(GRID):
        X, y, _ = data(seed, n=100)
        K, parameters = KERNELS["rbf"](X), {"strength": strength, "nu": nu, "theta": theta}
        first = fit_margin_distribution(K, y, **parameters)
        again = fit_margin_distribution(K, y, start=first.coef, **parameters)
        assert again.n_iter == 0
        signs = y.copy()
        signs[[3, 17]] *= -1
        fresh = fit_margin_distribution(K, signs, **parameters)
        found = fit_margin_distribution(K, signs, start=first.coef, **parameters)
        np.testing.assert_allclose(found.coef, fresh.coef, rtol=1e-7, atol=1e-9)
        cold, warm = cold + fresh.n_iter, warm + found.n_iter
    assert warm < cold


@pytest.mark.parametrize("nu", [0.01, 0.3, 1.0])
@pytest.mark.parametrize("theta", [0.0, 0.1, 0.9])
def test_line_search_finds_the_minimum(nu, theta):
    """Also where a sample crosses the zone, with the same curvature on both sides of it."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        n = rng.integers(1, 10)
        signs, strength = rng.choice([-1.0, 1.0], n), rng.uniform(0.1, 100)
        losses = Losses.of(signs, strength=strength, nu=nu, theta=theta)
        scores, move = 3 * rng.normal(size=(2, n))
        square = rng.uniform(0.01, 1)
        slope = -losses.slopes(scores)[0] @ move
        move, slope = (-move, -slope) if slope > 0 else (move, slope)
        if slope == 0:  # all of them inside the zone
            continue
        length = _exact_step(losses, scores, move, slope, square)
        derivative = length * square - losses.slopes(scores + length * move)[0] @ move
        assert 0 < length <= 1
        assert derivative <= 1e-4 * abs(slope)
        assert length == 1 or derivative >= -1e-4 * abs(slope)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_any_start_leads_to_the_solution(scale):
    X, y, _ = data(7)
    K = KERNELS["rbf"](X)
    for strength, nu, theta in GRID:
        parameters = {"strength": strength, "nu": nu, "theta": theta}
        expected = fit_margin_distribution(K, y, **parameters)
        start = scale * np.random.default_rng(1).normal(size=len(y))
        found = fit_margin_distribution(K, y, start=start, **parameters)
        assert found.converged
        np.testing.assert_allclose(found.coef, expected.coef, rtol=1e-7, atol=1e-9)
    nothing = fit_margin_distribution(K, y, start=np.full(len(y), np.nan), **parameters)
    np.testing.assert_allclose(nothing.coef, expected.coef, rtol=1e-7, atol=1e-9)


def test_a_kernel_of_low_rank_and_large_values():
    """Coefficients that have no effect on scores do not grow until rounding gives them one."""
    X, y, weight = data(9, n=60, d=2)
    for nu in (1e-8, 0.5, 1.0):
        for theta in (0.0, 0.9, 0.99):
            parameters = {"strength": 1e6 * (1 - theta) ** 2, "nu": nu, "theta": theta}
            parameters["sample_weight"] = weight
            primal = fit_margin_distribution_linear(3 * X, y, **parameters)
            dual = fit_margin_distribution(9 * X @ X.T, y, **parameters)
            assert primal.converged
            assert dual.converged
            assert dual.objective == pytest.approx(primal.objective, rel=1e-8)


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.array([[1.0], [-1.0]]), [1.0, -1.0]),
        (np.array([[1.0], [1.0]]), [1.0, -1.0]),
        (np.zeros((4, 2)), [1.0, -1.0, 1.0, 1.0]),
        (np.ones((6, 1)), [1.0, -1.0, 1.0, 1.0, 1.0, -1.0]),
        (np.repeat([[1.0, 2.0], [3.0, -1.0]], 10, axis=0), [1.0] * 7 + [-1.0] * 13),
        (np.linspace(-2, 2, 30)[:, None], np.sign(np.linspace(-2, 2, 30))),
        (np.ones((3, 2)), [1.0, 1.0, 1.0]),
    ],
)
def test_degenerate_samples(X, y):
    y = np.array(y)
    for strength, nu, theta in [*GRID, (1.0, 1.0, 0.0), (1e4, 0.5, 0.0)]:
        parameters = {"strength": strength, "nu": nu, "theta": theta}
        primal = fit_margin_distribution_linear(X, y, **parameters)
        dual = fit_margin_distribution(X @ X.T, y, **parameters)
        assert primal.converged
        assert dual.converged
        assert dual.n_iter <= 10
        assert primal.objective == pytest.approx(dual.objective, rel=1e-10)
        np.testing.assert_allclose(X.T @ dual.coef, primal.coef, rtol=1e-7, atol=1e-9)


def test_more_digits_than_there_are_end_the_search():
    X, y, _ = data(8)
    for strength, nu, theta in [*GRID, (1e9, 0.5, 0.9)]:
        for fit, samples in (
            (fit_margin_distribution, X @ X.T),
            (fit_margin_distribution_linear, X),
        ):
            found = fit(samples, y, strength=strength, nu=nu, theta=theta, tol=0.0)
            assert found.n_iter < 40
            assert found.kkt_residual <= 1e-16 * max(1e4, 1e3 * strength / (1 - theta) ** 2)


def test_indefinite_kernel_is_refused():
    X, y, _ = data(0)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        fit_margin_distribution(-X @ X.T, y, strength=1000.0)
