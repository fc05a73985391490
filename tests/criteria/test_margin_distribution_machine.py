"""The optimal margin distribution machine against Clarabel, its duals, its limits and itself."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel
from sklearn.svm import LinearSVC

from separatrix import OptimalMarginDistributionMachine
from separatrix.data import memory
from separatrix.solvers.margin_distribution import (
    Losses,
    _exact_step,
    solve_margin_distribution,
    solve_margin_distribution_linear,
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
    (C, nu, theta)
    for i, C in enumerate((1.0, 10.0, 100.0, 1000.0))
    for j, nu in enumerate((0.2, 0.4, 0.6, 0.8))
    for theta in [(0.2, 0.4, 0.6, 0.8)[(i + j) % 4]]
]


def data(seed, n=40, d=3):
    """Samples, noisy signs and random positive counts."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 0.5 * rng.normal(size=d)
    y = np.where(X @ rng.normal(size=d) + 0.7 * rng.normal(size=n) > 0, 1.0, -1.0)
    return X, y, rng.integers(1, 4, size=n).astype(float)


def primal_value(K, y, coef, *, C, nu, theta):
    """(1) of the paper at w = sum_i coef_i phi(x_i)."""
    margins = y * (K @ coef)
    missing, excess = np.maximum(1 - theta - margins, 0), np.maximum(margins - 1 - theta, 0)
    loss = np.sum(missing**2 + nu * excess**2) / (len(y) * (1 - theta) ** 2)
    return 0.5 * coef @ K @ coef + C * loss


def dual_value(K, y, alpha, *, C, nu, theta):
    """(3) of the paper at zeta, beta, the positive and the negative part of alpha."""
    zeta, beta = np.maximum(alpha, 0), np.maximum(-alpha, 0)
    coef = y * (zeta - beta)
    square = len(y) * (1 - theta) ** 2 / (4 * C) * (zeta @ zeta + beta @ beta / nu)
    return -0.5 * coef @ K @ coef - square - (theta - 1) * zeta.sum() - (theta + 1) * beta.sum()


def dual_by_clarabel(K, y, *, C, nu, theta):
    """The dual (3) of the paper in its 2m variables."""
    n = len(y)
    zeta, beta = cp.Variable(n, nonneg=True), cp.Variable(n, nonneg=True)
    values, vectors = np.linalg.eigh(K)
    half = (vectors * np.sqrt(np.maximum(values, 0))).T
    norm = cp.sum_squares(half @ cp.multiply(y, zeta - beta))
    square = cp.sum_squares(zeta) + cp.sum_squares(beta) / nu
    linear = (theta - 1) * cp.sum(zeta) + (theta + 1) * cp.sum(beta)
    objective = -0.5 * norm - n * (1 - theta) ** 2 / (4 * C) * square - linear
    problem = cp.Problem(cp.Maximize(objective))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    return problem.value, zeta.value - beta.value


def conditions(K, y, alpha, *, C, nu, theta):
    """Largest violation of a sample's optimality condition, as a change of its margin."""
    margins = y * (K @ (y * alpha))
    missing, excess = np.maximum(1 - theta - margins, 0), np.maximum(margins - 1 - theta, 0)
    wanted = alpha * len(y) * (1 - theta) ** 2 / (2 * C)
    return np.abs(wanted - missing + nu * excess).max() / max(1.0, np.abs(margins).max())


# The solvers


@pytest.mark.parametrize("name", KERNELS)
def test_solution_is_that_of_clarabel(name):
    for seed, (C, nu, theta) in enumerate(GRID[:: 1 if name in ("linear", "rbf") else 3]):
        X, y, _ = data(seed)
        K, parameters = KERNELS[name](X), {"C": C, "nu": nu, "theta": theta}
        found = solve_margin_distribution(K, y, **parameters)
        value, _ = dual_by_clarabel(K, y, **parameters)
        assert found.objective == pytest.approx(value, rel=1e-7)
        assert found.dual_objective == pytest.approx(value, rel=1e-7)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("theta", [0.0, 0.2, 0.4, 0.6, 0.8])
def test_certificate(name, theta):
    """Both objectives, their gap and the optimality conditions, on the whole grid."""
    for C in (0.01, 1.0, 10.0, 100.0, 1000.0):
        for nu in (0.01, 0.2, 0.4, 0.6, 0.8, 1.0):
            X, y, _ = data(int(C + 10 * nu), n=60)
            K, parameters = KERNELS[name](X), {"C": C, "nu": nu, "theta": theta}
            found = solve_margin_distribution(K, y, **parameters)
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
        parameters = {"C": 1000.0, "nu": 0.2, "theta": 0.8}
        values = []
        for max_iter in range(4):
            found = solve_margin_distribution(K, y, max_iter=max_iter, tol=1e-12, **parameters)
            primal = primal_value(K, y, found.coef, **parameters)
            dual = dual_value(K, y, found.alpha, **parameters)
            assert found.objective == pytest.approx(primal, rel=1e-9)
            assert found.dual_objective == pytest.approx(dual, rel=1e-9, abs=1e-9)
            residual = np.sqrt(max(primal - dual, 0.0) / primal)
            assert found.kkt_residual == pytest.approx(residual, rel=1e-5, abs=1e-7)
            values.append(found.objective)
        assert values[0] == pytest.approx(1000.0)  # w = 0
        assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("theta", [0.0, 0.2, 0.8])
def test_features_and_kernel_agree(theta, weighted):
    for seed, (C, nu, _) in enumerate(GRID):
        X, y, weight = data(seed, n=80, d=5)
        parameters = {"C": C, "nu": nu, "theta": theta}
        parameters["sample_weight"] = weight if weighted else None
        dual = solve_margin_distribution(X @ X.T, y, **parameters)
        for samples in (X, sparse.csr_array(X)):
            primal = solve_margin_distribution_linear(samples, y, **parameters)
            assert primal.converged
            assert primal.objective == pytest.approx(dual.objective, rel=1e-12)
            np.testing.assert_allclose(primal.coef, X.T @ dual.coef, rtol=1e-8, atol=1e-10)
            np.testing.assert_allclose(primal.alpha, dual.alpha, rtol=1e-6, atol=1e-8)
            np.testing.assert_allclose(primal.scores, X @ primal.coef, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("name", KERNELS)
def test_without_a_zone_and_with_equal_costs_it_is_ridge_regression(name, C):
    X, y, _ = data(3)
    K = KERNELS[name](X)
    found = solve_margin_distribution(K, y, C=C, nu=1.0, theta=0.0)
    expected = np.linalg.solve(K + len(y) / (2 * C) * np.eye(len(y)), y)
    np.testing.assert_allclose(found.coef, expected, rtol=1e-8, atol=1e-10)
    assert found.n_iter == 1


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_without_cost_of_large_margins_it_is_a_support_vector_machine(C):
    X, y, _ = data(4, n=100)
    found = solve_margin_distribution_linear(X, y, C=C, nu=1e-12, theta=0.0)
    svm = LinearSVC(loss="squared_hinge", dual=False, fit_intercept=False, tol=1e-12)
    svm.set_params(C=C / len(y)).fit(X, y)
    np.testing.assert_allclose(found.coef, svm.coef_[0], rtol=1e-6)
    kernel = solve_margin_distribution(X @ X.T, y, C=C, nu=1e-12, theta=0.0)
    np.testing.assert_allclose(X.T @ kernel.coef, found.coef, rtol=1e-8)


@pytest.mark.parametrize("name", ["linear", "rbf"])
def test_weights_are_repetitions(name):
    for seed, (C, nu, theta) in enumerate(GRID[::3]):
        X, y, weight = data(seed)
        weight[:3] = 0.0
        repeated = np.repeat(np.arange(len(y)), weight.astype(int))
        K, parameters = KERNELS[name](X), {"C": C, "nu": nu, "theta": theta}
        found = solve_margin_distribution(K, y, sample_weight=weight, **parameters)
        whole = solve_margin_distribution(K[np.ix_(repeated, repeated)], y[repeated], **parameters)
        assert found.objective == pytest.approx(whole.objective, rel=1e-12)
        np.testing.assert_allclose(found.scores[repeated], whole.scores, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(
            found.alpha, np.bincount(repeated, whole.alpha, len(y)), rtol=1e-6, atol=1e-9
        )
        scaled = solve_margin_distribution(K, y, sample_weight=7 * weight, **parameters)
        np.testing.assert_allclose(scaled.coef, found.coef, rtol=1e-8, atol=1e-10)


def test_order_and_names_of_signs_do_not_matter():
    X, y, _ = data(5, n=70)
    order = np.random.default_rng(0).permutation(70)
    K = KERNELS["rbf"](X)
    for C, nu, theta in GRID:
        parameters = {"C": C, "nu": nu, "theta": theta}
        found = solve_margin_distribution(K, y, **parameters)
        other = solve_margin_distribution(K[np.ix_(order, order)], y[order], **parameters)
        np.testing.assert_allclose(other.alpha, found.alpha[order], rtol=1e-7, atol=1e-9)
        turned = solve_margin_distribution(K, -y, **parameters)
        np.testing.assert_allclose(turned.alpha, found.alpha, rtol=1e-7, atol=1e-9)


def test_warm_start_saves_steps():
    cold = warm = 0
    for seed, (C, nu, theta) in enumerate(GRID):
        X, y, _ = data(seed, n=100)
        K, parameters = KERNELS["rbf"](X), {"C": C, "nu": nu, "theta": theta}
        first = solve_margin_distribution(K, y, **parameters)
        again = solve_margin_distribution(K, y, start=first.coef, **parameters)
        assert again.n_iter == 0
        signs = y.copy()
        signs[[3, 17]] *= -1
        fresh = solve_margin_distribution(K, signs, **parameters)
        found = solve_margin_distribution(K, signs, start=first.coef, **parameters)
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
        signs, C = rng.choice([-1.0, 1.0], n), rng.uniform(0.1, 100)
        losses = Losses.of(signs, C=C, nu=nu, theta=theta)
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
    for C, nu, theta in GRID:
        parameters = {"C": C, "nu": nu, "theta": theta}
        expected = solve_margin_distribution(K, y, **parameters)
        start = scale * np.random.default_rng(1).normal(size=len(y))
        found = solve_margin_distribution(K, y, start=start, **parameters)
        assert found.converged
        np.testing.assert_allclose(found.coef, expected.coef, rtol=1e-7, atol=1e-9)
    nothing = solve_margin_distribution(K, y, start=np.full(len(y), np.nan), **parameters)
    np.testing.assert_allclose(nothing.coef, expected.coef, rtol=1e-7, atol=1e-9)


def test_a_kernel_of_low_rank_and_large_values():
    """Coefficients that have no effect on scores do not grow until rounding gives them one."""
    X, y, weight = data(9, n=60, d=2)
    for nu in (1e-8, 0.5, 1.0):
        for theta in (0.0, 0.9, 0.99):
            parameters = {"C": 1e6 * (1 - theta) ** 2, "nu": nu, "theta": theta}
            parameters["sample_weight"] = weight
            primal = solve_margin_distribution_linear(3 * X, y, **parameters)
            dual = solve_margin_distribution(9 * X @ X.T, y, **parameters)
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
    for C, nu, theta in [*GRID, (1.0, 1.0, 0.0), (1e4, 0.5, 0.0)]:
        parameters = {"C": C, "nu": nu, "theta": theta}
        primal = solve_margin_distribution_linear(X, y, **parameters)
        dual = solve_margin_distribution(X @ X.T, y, **parameters)
        assert primal.converged
        assert dual.converged
        assert dual.n_iter <= 10
        assert primal.objective == pytest.approx(dual.objective, rel=1e-10)
        np.testing.assert_allclose(X.T @ dual.coef, primal.coef, rtol=1e-7, atol=1e-9)


def test_more_digits_than_there_are_end_the_search():
    X, y, _ = data(8)
    for C, nu, theta in [*GRID, (1e9, 0.5, 0.9)]:
        for solve, samples in (
            (solve_margin_distribution, X @ X.T),
            (solve_margin_distribution_linear, X),
        ):
            found = solve(samples, y, C=C, nu=nu, theta=theta, tol=0.0)
            assert found.n_iter < 40
            assert found.kkt_residual <= 1e-16 * max(1e4, 1e3 * C / (1 - theta) ** 2)


def test_indefinite_kernel_is_refused():
    X, y, _ = data(0)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        solve_margin_distribution(-X @ X.T, y, C=1000.0)


# The classifier


def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def test_without_intercept_it_is_the_machine_of_the_paper():
    X, y = cancer()
    signs = 2.0 * y - 1
    parameters = {"C": 10.0, "nu": 0.3, "theta": 0.4}
    model = OptimalMarginDistributionMachine(fit_intercept=False, **parameters).fit(X, y)
    found = solve_margin_distribution_linear(X, signs, **parameters)
    np.testing.assert_allclose(model.coef_[0], found.coef, rtol=1e-10)
    assert model.intercept_ == [0.0]
    model.set_params(kernel="rbf", gamma=0.02).fit(X, y)
    found = solve_margin_distribution(rbf_kernel(X, gamma=0.02), signs, **parameters)
    np.testing.assert_allclose(model.decision_function(X), found.scores, rtol=1e-8, atol=1e-9)
    np.testing.assert_array_equal(model.support_, np.flatnonzero(found.alpha))
    assert not hasattr(model, "coef_")
    margins = signs * found.scores
    assert model.margin_mean_ == pytest.approx([margins.mean()], rel=1e-9)
    assert model.margin_variance_ == pytest.approx([margins.var()], rel=1e-9)
    assert model.objective_ == pytest.approx([found.objective], rel=1e-10)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_intercept_is_the_weight_of_a_constant(kernel):
    X, y = cancer()
    K = X @ X.T if kernel == "linear" else rbf_kernel(X, gamma=0.02)
    found = solve_margin_distribution(K + 1, 2.0 * y - 1, C=10.0)
    model = OptimalMarginDistributionMachine(C=10.0, kernel=kernel, gamma=0.02).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), found.scores, rtol=1e-8, atol=1e-9)
    assert model.intercept_ == pytest.approx([found.coef.sum()], rel=1e-7)


def test_a_constant_added_to_the_samples_changes_nothing():
    X, y = load_iris(return_X_y=True)
    model = OptimalMarginDistributionMachine(C=10.0).fit(X, y)
    moved = OptimalMarginDistributionMachine(C=10.0).fit(X + 1000.0, y)
    np.testing.assert_allclose(moved.coef_, model.coef_, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(
        moved.decision_function(X + 1000.0), model.decision_function(X), atol=1e-8
    )


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_many_features_and_sparse_samples(fit_intercept):
    """The kernel matrix serves where features are many; both give the same hyperplanes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 100)) * (rng.random((40, 100)) < 0.2) + 0.1
    y = rng.integers(0, 3, 40)
    weight = rng.integers(0, 3, 40) + 1.0
    model = OptimalMarginDistributionMachine(fit_intercept=fit_intercept)
    wide = model.fit(X, y, weight).decision_function(X)
    rows = np.tile(X, (3, 1))
    tall = model.fit(rows, np.tile(y, 3), np.tile(weight, 3)).decision_function(X)
    np.testing.assert_allclose(tall, wide, rtol=1e-8, atol=1e-9)
    sparse_wide = model.fit(sparse.csr_array(X), y, weight).decision_function(X)
    np.testing.assert_allclose(sparse_wide, wide, rtol=1e-8, atol=1e-9)
    sparse_rows = sparse.csr_array(rows)
    sparse_tall = model.fit(sparse_rows, np.tile(y, 3), np.tile(weight, 3)).decision_function(X)
    np.testing.assert_allclose(sparse_tall, wide, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(
        model.decision_function(sparse.csr_array(X)), sparse_tall, rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_classes_are_told_from_the_rest(kernel):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "alba", "rosa"])[y]
    model = OptimalMarginDistributionMachine(C=100.0, kernel=kernel, gamma=0.2).fit(X, names)
    np.testing.assert_array_equal(model.classes_, ["alba", "rosa", "setosa"])
    scores = model.decision_function(X)
    assert scores.shape == (150, 3)
    for column, name in enumerate(model.classes_):
        single = OptimalMarginDistributionMachine(C=100.0, kernel=kernel, gamma=0.2)
        single.fit(X, names == name)
        np.testing.assert_allclose(
            scores[:, column], single.decision_function(X), rtol=1e-6, atol=1e-8
        )
        margins = np.where(names == name, 1, -1) * scores[:, column]
        assert model.margin_mean_[column] == pytest.approx(margins.mean(), rel=1e-6)
        assert model.margin_variance_[column] == pytest.approx(margins.var(), rel=1e-6)
    np.testing.assert_array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])


@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_sample_weight_of_the_classifier(kernel):
    X, y = load_iris(return_X_y=True)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    repeated = np.repeat(np.arange(len(y)), weight)
    model = OptimalMarginDistributionMachine(kernel=kernel)
    if kernel == "precomputed":
        K = rbf_kernel(X, gamma=0.3)
        weighted = model.fit(K, y, weight).decision_function(K)
        whole = model.fit(K[np.ix_(repeated, repeated)], y[repeated])
        whole = whole.decision_function(K[:, repeated])
    else:
        weighted = model.fit(X, y, weight).decision_function(X)
        whole = model.fit(X[repeated], y[repeated]).decision_function(X)
    np.testing.assert_allclose(weighted, whole, rtol=1e-7, atol=1e-8)


def test_precomputed_and_callable_kernels_are_the_kernel():
    X, y = cancer()
    rows = slice(0, 120)
    K = rbf_kernel(X, X[rows], gamma=0.02)
    named = OptimalMarginDistributionMachine(C=10, kernel="rbf", gamma=0.02).fit(X[rows], y[rows])
    given = OptimalMarginDistributionMachine(C=10, kernel="precomputed").fit(K[rows], y[rows])
    np.testing.assert_array_equal(named.support_, given.support_)
    np.testing.assert_allclose(given.decision_function(K), named.decision_function(X), atol=1e-9)
    model = OptimalMarginDistributionMachine(C=10, kernel=lambda a, b: a @ b)
    model.fit(X[rows], y[rows])
    assert model.dual_coef_.shape == (1, len(model.support_))
    expected = OptimalMarginDistributionMachine(C=10).fit(X[rows] - X[rows].mean(axis=0), y[rows])
    model.fit(X[rows] - X[rows].mean(axis=0), y[rows])
    np.testing.assert_allclose(
        model.decision_function(X[:50]), expected.decision_function(X[:50]), atol=1e-8
    )


def test_wider_zones_need_fewer_samples():
    X, y = cancer()
    sizes = [
        len(OptimalMarginDistributionMachine(kernel="rbf", C=100, theta=theta).fit(X, y).support_)
        for theta in (0.0, 0.2, 0.5, 0.8)
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == len(y)
    assert sizes[-1] < len(y) / 2


@pytest.mark.parametrize(
    "wrong",
    [{"C": 0.0}, {"nu": 0.0}, {"nu": 1.5}, {"theta": 1.0}, {"theta": -0.1}, {"kernel": "no"}],
)
def test_wrong_parameters_are_refused(wrong):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=f"The '{next(iter(wrong))}' parameter"):
        OptimalMarginDistributionMachine(**wrong).fit(X, y)


def test_wrong_kernels_are_refused(monkeypatch):
    X, y = load_iris(return_X_y=True)
    K = rbf_kernel(X)
    model = OptimalMarginDistributionMachine(kernel="precomputed")
    with pytest.raises(ValueError, match="square matrix"):
        model.fit(X, y)
    lopsided = K.copy()
    lopsided[0, 1] += 1
    with pytest.raises(ValueError, match="symmetric"):
        model.fit(lopsided, y)
    lopsided[0, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.fit(lopsided, y)
    with pytest.raises(TypeError, match="dense"):
        model.fit(sparse.csr_array(K), y)
    with pytest.raises(ValueError, match="is not symmetric"):
        model.set_params(kernel=lambda a, b: a[0] - b[1]).fit(X, y)
    with pytest.raises(ValueError, match="not finite"):
        model.set_params(kernel=lambda a, b: np.inf).fit(X, y)
    monkeypatch.setattr(memory.os, "sysconf", lambda name: 100)
    with pytest.raises(ValueError, match=r"kernel='linear' on features\.$"):
        model.set_params(kernel="rbf").fit(X, y)


def test_one_class_is_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="at least 2 classes"):
        OptimalMarginDistributionMachine().fit(X, np.zeros(150))
    with pytest.raises(ValueError, match="got 2 class of 3"):
        OptimalMarginDistributionMachine().fit(X, y, sample_weight=1.0 * (y > 0))


def test_what_is_not_solved_is_told():
    X, y = cancer()
    model = OptimalMarginDistributionMachine(C=1000.0, max_iter=1)
    with pytest.warns(ConvergenceWarning, match="Increase max_iter=1"):
        model.fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(max_iter=100, tol=0.0).fit(X, y)  # rounding is nothing to tell
    with pytest.warns(ConvergenceWarning, match="Scale X down"):
        model.set_params(kernel="precomputed", C=1e6).fit(1e12 * X @ X.T, y)
