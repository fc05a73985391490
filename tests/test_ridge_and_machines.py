"""Ridge regressions against their linear systems, and machines against LIBSVM and Clarabel."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel
from sklearn.svm import SVC, SVR

from separatrix.solvers.ridge import FeatureRidge, KernelRidge
from separatrix.solvers.svm import NewtonMachine, SplitMachine, SquareMachine, machines_of

EPSILON = 0.05
STRENGTHS = [1e-3, 0.1, 1.0, 10.0, 1000.0]


def data(seed, n=40, d=3):
    """Samples, noisy signs and random positive counts."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * rng.uniform(0.5, 2.0, size=d) + rng.normal(size=d)
    y = np.where(X @ rng.normal(size=d) + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    return X, y, rng.integers(1, 4, size=n).astype(float)


def feature_ridge(X, weight=None):
    return FeatureRidge(X, weight, shift=np.average(X, axis=0, weights=weight))


def kernel_ridge(K, weight=None):
    return KernelRidge(np.array(K), weight, to_coef=lambda alpha: alpha)


# Ridge regression


def bordered_system(K, y, weight, C):
    """Multipliers and intercept of the least-squares machine, from its bordered linear system."""
    n = len(K)
    system = np.ones((n + 1, n + 1))
    system[0, 0] = 0.0
    system[1:, 1:] = K + np.diag(1 / (C * weight))
    solution = np.linalg.solve(system, np.append(0.0, y))
    return solution[1:], solution[0]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("C", STRENGTHS)
def test_ridges_solve_the_bordered_system(C, weighted):
    for seed in range(5):
        X, y, weight = data(seed)
        targets = y + 0.3 * np.random.default_rng(seed).normal(size=len(y))
        given = weight if weighted else None
        alpha, b = bordered_system(X @ X.T, targets, weight if weighted else np.ones(40), C)
        fitted = X @ (X.T @ alpha) + b
        primal, dual = feature_ridge(X, given), kernel_ridge(X @ X.T, given)
        model = primal.solve(targets, C)
        np.testing.assert_allclose(model.coef, X.T @ alpha, rtol=1e-7, atol=1e-9)
        assert model.intercept == pytest.approx(b, rel=1e-7, abs=1e-9)
        assert model.norm == pytest.approx(alpha @ X @ X.T @ alpha, rel=1e-7)
        np.testing.assert_allclose(primal.fitted(model), fitted, rtol=1e-7, atol=1e-9)
        model, values = dual.fit(targets, C)
        np.testing.assert_allclose(model.coef, alpha, rtol=1e-6, atol=1e-7 * C)
        assert model.intercept == pytest.approx(b, rel=1e-7, abs=1e-8)
        assert model.norm == pytest.approx(alpha @ X @ X.T @ alpha, rel=1e-6)
        np.testing.assert_allclose(values, fitted, rtol=1e-7, atol=1e-8)


def test_kernel_ridge_is_the_same_before_and_after_it_inverts():
    """After some twenty solutions it changes from the factor to the inverse."""
    X, y, weight = data(0)
    K = rbf_kernel(X, gamma=0.3)
    ridge = kernel_ridge(K, weight)
    for C in (10.0, 0.1):
        alpha, b = bordered_system(K, y, weight, C)
        for _ in range(30):
            model, _ = ridge.fit(y, C)
            np.testing.assert_allclose(model.coef, alpha, rtol=1e-8, atol=1e-10)
            assert model.intercept == pytest.approx(b, rel=1e-9)


@pytest.mark.parametrize("C", STRENGTHS)
def test_weights_equal_repetition_for_ridges(C):
    X, y, weight = data(1)
    rows = np.repeat(np.arange(40), weight.astype(int))
    ours, whole = feature_ridge(X, weight), feature_ridge(X[rows])
    assert ours.weight == whole.weight
    assert ours.scatter == pytest.approx(whole.scatter)
    a, b = ours.solve(y, C), whole.solve(y[rows], C)
    np.testing.assert_allclose(a.coef, b.coef, rtol=1e-9)
    assert a.intercept == pytest.approx(b.intercept, rel=1e-9)
    K = rbf_kernel(X)
    ours, whole = kernel_ridge(K, weight), kernel_ridge(K[np.ix_(rows, rows)])
    assert ours.weight == whole.weight
    assert ours.scatter == pytest.approx(whole.scatter)
    (a, fitted), (b, repeated) = ours.fit(y, C), whole.fit(y[rows], C)
    np.testing.assert_allclose(fitted[rows], repeated, rtol=1e-7, atol=1e-9)
    assert a.norm == pytest.approx(b.norm, rel=1e-7)


def test_feature_ridge_takes_sparse_matrices_and_other_arrays():
    X, y, weight = data(2)
    X[np.abs(X) < 0.5] = 0.0
    expected = feature_ridge(X, weight).solve(y, 3.0)
    found = FeatureRidge(sparse.csr_array(X), weight, shift=np.zeros(3)).solve(y, 3.0)
    np.testing.assert_allclose(found.coef, expected.coef, rtol=1e-10)
    xp = pytest.importorskip("array_api_strict")
    with config_context(array_api_dispatch=True):
        ridge = FeatureRidge(xp.asarray(X), xp.asarray(weight), shift=X.mean(axis=0))
        found = ridge.solve(xp.asarray(y), 3.0)
    np.testing.assert_allclose(found.coef, expected.coef, rtol=1e-10)


def test_feature_ridge_far_from_the_origin():
    X, y, _ = data(3)
    X = np.round(X * 2**10) / 2**10  # so that the shift is exact
    near, far = feature_ridge(X).solve(y, 10.0), feature_ridge(X + 2.0**20).solve(y, 10.0)
    np.testing.assert_allclose(far.coef, near.coef, rtol=1e-6)


def test_kernel_ridge_refuses_an_indefinite_kernel():
    X, y, _ = data(0)
    K = np.tanh(X @ X.T - 3.0)
    assert np.linalg.eigvalsh(K)[0] < -1
    with pytest.raises(ValueError, match="kernel is not positive semidefinite"):
        kernel_ridge(K).fit(y, 10.0)


@pytest.mark.parametrize("constant", [0.0, 1.0, 1e6])
def test_constant_samples_have_no_scatter(constant):
    X = np.full((7, 2), constant)
    assert feature_ridge(X).scatter == 0
    assert kernel_ridge(X @ X.T).scatter == 0


# Machines


def libsvm(K, y, C, loss, weight=None):
    """Values of LIBSVM's machine at the samples, its objective and a lower bound, its dual."""
    if loss == "laplacian":
        svm = SVR(kernel="precomputed", C=C, epsilon=EPSILON, tol=1e-6)
    else:
        svm = SVC(kernel="precomputed", C=C, tol=1e-6)
    svm.fit(K, y, sample_weight=weight)
    alpha = np.zeros(len(y))
    alpha[svm.support_] = svm.dual_coef_[0]
    f = K @ alpha + svm.intercept_[0]
    losses = np.abs(f - y) - EPSILON if loss == "laplacian" else 1 - y * f
    weight = np.ones(len(y)) if weight is None else weight
    objective = 0.5 * alpha @ K @ alpha + C * weight @ np.maximum(losses, 0.0)
    bound = y @ alpha - 0.5 * alpha @ K @ alpha
    if loss == "laplacian":
        bound -= EPSILON * np.abs(alpha).sum()
    return f, objective, bound


def clarabel(X, y, C, loss, weight=None):
    """Values of the exact machine at the samples, and its objective."""
    cp = pytest.importorskip("cvxpy")
    weight = np.ones(len(y)) if weight is None else weight
    w, b = cp.Variable(X.shape[1]), cp.Variable()
    f = X @ w + b
    losses = cp.abs(f - y) - EPSILON if loss == "laplacian" else 1 - cp.multiply(y, f)
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * weight @ cp.pos(losses)))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    return X @ w.value + b.value, problem.value


def rounds(y, seed=0):
    """Labels one after the other: cold, a few flips, many, and back."""
    rng = np.random.default_rng(seed)
    for n_flips in (0, 3, len(y) // 4, 0):
        labels = y.copy()
        labels[rng.permutation(len(y))[:n_flips]] *= -1
        yield labels


def distance(a, b):
    """Distance of fitted values, as a share of their size."""
    return np.linalg.norm(a - b) / np.linalg.norm(b)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    chosen = np.isin(y, (3, 8))
    return X[chosen][:150], np.where(y[chosen] == 3, 1.0, -1.0)[:150]


def kernel_of(name, X):
    gamma = 1 / (X.shape[1] * X.var())
    if name == "laplacian":
        return laplacian_kernel(X, gamma=0.1 * gamma)
    if name == "poly":
        return polynomial_kernel(X, degree=2, gamma=gamma, coef0=1)
    return rbf_kernel(X, gamma={"rbf": 0.3, "narrow": 3.0}[name] * gamma)


KERNELS = ["rbf", "narrow", "laplacian", "poly"]


@pytest.mark.parametrize("C", [0.01, 1.0, 10.0, 500.0])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("loss", ["laplacian", "hinge"])
def test_split_machine_has_the_values_of_libsvm(loss, kernel, C, digits):
    X, y = digits
    K = kernel_of(kernel, X)
    machine = SplitMachine(kernel_ridge(K), loss=loss, epsilon=EPSILON)
    for labels in rounds(y):
        fit = machine.fit(labels, C)
        expected, _, bound = libsvm(K, labels, C, loss)
        assert distance(fit.fitted, expected) < 5e-3
        own = K @ fit.model.coef + fit.model.intercept
        np.testing.assert_allclose(fit.fitted, own, rtol=1e-6, atol=1e-6)
        assert fit.objective >= bound * (1 - 1e-4)


@pytest.mark.parametrize("C", [0.01, 1.0, 10.0, 500.0])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("loss", ["laplacian", "hinge"])
def test_split_machine_has_the_objective_of_libsvm(loss, kernel, C, digits):
    X, y = digits
    K = kernel_of(kernel, X)
    machine = SplitMachine(kernel_ridge(K), loss=loss, epsilon=EPSILON)
    for labels in rounds(y):
        _, reference, bound = libsvm(K, labels, C, loss)
        objective = machine.fit(labels, C).objective
        assert bound * (1 - 1e-4) <= objective <= reference * (1 + 1e-4)


@pytest.mark.parametrize("C", [0.01, 1.0, 10.0])
@pytest.mark.parametrize("loss", ["laplacian", "hinge"])
def test_newton_machine_is_as_good_as_libsvm(loss, C):
    X, y, _ = data(0, n=120, d=4)
    machine = NewtonMachine(feature_ridge(X), loss=loss, epsilon=EPSILON)
    for labels in rounds(y):
        fit = machine.fit(labels, C)
        np.testing.assert_allclose(fit.fitted, X @ fit.model.coef + fit.model.intercept)
        _, reference, bound = libsvm(X @ X.T, labels, C, loss)
        worse = 1e-4 if loss == "laplacian" else 2e-3
        assert bound * (1 - 1e-4) <= fit.objective <= reference * (1 + worse)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("C", [0.01, 1.0, 500.0])
@pytest.mark.parametrize("loss", ["laplacian", "hinge"])
def test_newton_machine_is_as_good_as_an_exact_solver(loss, C, weighted):
    """Of noisy labels: the objective to 3e-4, for the hinge to 5e-3, and values to 3 %."""
    for seed in range(3):
        X, y, weight = data(seed, n=80, d=4)
        weight = weight if weighted else None
        machine = NewtonMachine(feature_ridge(X, weight), loss=loss, epsilon=EPSILON)
        for labels in rounds(y, seed):
            fit = machine.fit(labels, C)
            expected, objective = clarabel(X, labels, C, loss, weight)
            worse = 3e-4 if loss == "laplacian" else 5e-3
            assert objective * (1 - 3e-4) <= fit.objective <= objective * (1 + worse)
            assert distance(fit.fitted, expected) < 3e-2


@pytest.mark.parametrize("C", [0.01, 1.0, 500.0])
@pytest.mark.parametrize("loss", ["laplacian", "hinge"])
def test_newton_machine_has_the_objective_of_labels_that_can_be_separated(loss, C):
    """To 5e-4, which the Lagrangian meets."""
    X, y, _ = data(0, n=80, d=4)
    X += 4 * y[:, None]
    machine = NewtonMachine(feature_ridge(X), loss=loss, epsilon=EPSILON)
    for labels in rounds(y):
        fit = machine.fit(labels, C)
        expected, objective = clarabel(X, labels, C, loss)
        assert distance(fit.fitted, expected) < 1e-2
        assert fit.objective == pytest.approx(objective, rel=5e-4)


@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("loss", ["laplacian", "hinge"])
def test_newton_and_split_machines_agree(loss, C):
    X, y, weight = data(4, n=80, d=4)
    newton = NewtonMachine(feature_ridge(X, weight), loss=loss, epsilon=EPSILON)
    split = SplitMachine(kernel_ridge(X @ X.T, weight), loss=loss, epsilon=EPSILON)
    for labels in rounds(y):
        a, b = newton.fit(labels, C), split.fit(labels, C)
        assert a.objective == pytest.approx(b.objective, rel=2e-3)
        assert distance(a.fitted, b.fitted) < 3e-2


@pytest.mark.parametrize("route", ["features", "kernel"])
@pytest.mark.parametrize("loss", ["laplacian", "hinge", "square"])
def test_weights_equal_repetition_for_machines(loss, route):
    X, y, weight = data(5, n=60, d=4)
    rows = np.repeat(np.arange(60), weight.astype(int))

    def fit(rows, weight):
        if route == "features":
            ridge = feature_ridge(X[rows], weight)
        else:
            ridge = kernel_ridge(rbf_kernel(X[rows], gamma=0.1), weight)
        (machine,) = machines_of(ridge, 1, loss=loss, epsilon=EPSILON)
        return machine.fit(y[rows], 1.0)

    weighted, repeated = fit(np.arange(60), weight), fit(rows, None)
    assert weighted.objective == pytest.approx(repeated.objective, rel=3e-4)
    assert distance(weighted.fitted[rows], repeated.fitted) < 5e-3


def test_square_machine_has_the_least_objective():
    X, y, weight = data(6)
    for ridge in (feature_ridge(X, weight), kernel_ridge(X @ X.T, weight)):
        fit = SquareMachine(ridge).fit(y, 2.0)
        w = fit.model.coef if isinstance(ridge, FeatureRidge) else X.T @ fit.model.coef

        def objective(w, b):
            return 0.5 * w @ w + 0.5 * 2.0 * weight @ (X @ w + b - y) ** 2

        assert fit.objective == pytest.approx(objective(w, fit.model.intercept), rel=1e-9)
        for step in np.random.default_rng(0).normal(scale=1e-3, size=(20, 4)):
            assert objective(w + step[:3], fit.model.intercept + step[3]) > fit.objective


def test_newton_machine_takes_up_the_model_of_another():
    X, y, _ = data(7, n=100, d=4)
    ridge = feature_ridge(X)
    first, second = (NewtonMachine(ridge, loss="laplacian", epsilon=EPSILON) for _ in range(2))
    fit = first.fit(y, 10.0)
    np.testing.assert_allclose(second.resume(fit.model), fit.fitted)
    assert second.fit(y, 10.0).objective == pytest.approx(fit.objective, rel=3e-4)


@pytest.mark.parametrize("loss", ["laplacian", "hinge"])
def test_machines_of_all_equal_labels_are_constant(loss):
    X, y, _ = data(8)
    for ridge in (feature_ridge(X), kernel_ridge(rbf_kernel(X))):
        (machine,) = machines_of(ridge, 1, loss=loss, epsilon=EPSILON)
        fit = machine.fit(np.ones_like(y), 1.0)
        assert fit.objective == pytest.approx(0.0, abs=1e-2)
        np.testing.assert_allclose(fit.fitted, fit.fitted.mean(), atol=1e-2)
