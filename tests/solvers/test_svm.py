"""Machines against LIBSVM and Clarabel."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel
from sklearn.svm import SVC, SVR

from ridge_support import feature_ridge, kernel_ridge, noisy_signs
from separatrix.solvers import svm
from separatrix.solvers.ridge import FeatureRidge
from separatrix.solvers.svm import (
    NewtonMachine,
    SplitMachine,
    SquareMachine,
    fit_all,
    machines_of,
)

EPSILON = 0.05


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
def test_split_machine_has_the_values_and_the_objective_of_libsvm(loss, kernel, C, digits):
    X, y = digits
    K = kernel_of(kernel, X)
    machine = SplitMachine(kernel_ridge(K), loss=loss, epsilon=EPSILON)
    for labels in rounds(y):
        fit = machine.fit(labels, C)
        expected, reference, bound = libsvm(K, labels, C, loss)
        assert distance(fit.fitted, expected) < 5e-3
        own = K @ fit.model.coef + fit.model.intercept
        np.testing.assert_allclose(fit.fitted, own, rtol=1e-6, atol=1e-6)
        assert bound * (1 - 1e-4) <= fit.objective <= reference * (1 + 1e-4)


@pytest.mark.parametrize("C", [0.01, 1.0, 10.0])
@pytest.mark.parametrize("loss", ["laplacian", "hinge"])
def test_newton_machine_is_as_good_as_libsvm(loss, C):
    X, y, _ = noisy_signs(0, n=120, d=4)
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
        X, y, weight = noisy_signs(seed, n=80, d=4)
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
    X, y, _ = noisy_signs(0, n=80, d=4)
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
    X, y, weight = noisy_signs(4, n=80, d=4)
    newton = NewtonMachine(feature_ridge(X, weight), loss=loss, epsilon=EPSILON)
    split = SplitMachine(kernel_ridge(X @ X.T, weight), loss=loss, epsilon=EPSILON)
    for labels in rounds(y):
        a, b = newton.fit(labels, C), split.fit(labels, C)
        assert a.objective == pytest.approx(b.objective, rel=2e-3)
        assert distance(a.fitted, b.fitted) < 3e-2


@pytest.mark.parametrize("route", ["features", "kernel"])
@pytest.mark.parametrize("loss", ["laplacian", "hinge", "square"])
def test_weights_equal_repetition_for_machines(loss, route):
    X, y, weight = noisy_signs(5, n=60, d=4)
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
    X, y, weight = noisy_signs(6)
    for ridge in (feature_ridge(X, weight), kernel_ridge(X @ X.T, weight)):
        fit = SquareMachine(ridge).fit(y, 2.0)
        w = fit.model.coef if isinstance(ridge, FeatureRidge) else X.T @ fit.model.coef

        def objective(w, b):
            return 0.5 * w @ w + 0.5 * 2.0 * weight @ (X @ w + b - y) ** 2

        assert fit.objective == pytest.approx(objective(w, fit.model.intercept), rel=1e-9)
        for step in np.random.default_rng(0).normal(scale=1e-3, size=(20, 4)):
            assert objective(w + step[:3], fit.model.intercept + step[3]) > fit.objective


def test_newton_machine_takes_up_the_model_of_another():
    X, y, _ = noisy_signs(7, n=100, d=4)
    ridge = feature_ridge(X)
    first, second = (NewtonMachine(ridge, loss="laplacian", epsilon=EPSILON) for _ in range(2))
    fit = first.fit(y, 10.0)
    np.testing.assert_allclose(second.resume(fit.model), fit.fitted)
    assert second.fit(y, 10.0).objective == pytest.approx(fit.objective, rel=3e-4)


@pytest.mark.parametrize("loss", ["laplacian", "hinge"])
def test_machines_of_all_equal_labels_are_constant(loss):
    X, y, _ = noisy_signs(8)
    for ridge in (feature_ridge(X), kernel_ridge(rbf_kernel(X))):
        (machine,) = machines_of(ridge, 1, loss=loss, epsilon=EPSILON)
        fit = machine.fit(np.ones_like(y), 1.0)
        assert fit.objective == pytest.approx(0.0, abs=1e-2)
        np.testing.assert_allclose(fit.fitted, fit.fitted.mean(), atol=1e-2)


@pytest.mark.parametrize("loss", ["laplacian", "hinge"])
@pytest.mark.parametrize("C", [1e-6, 1e-3, 0.1])
def test_newton_steps_are_few_at_a_small_weight_of_losses(C, loss, monkeypatch):
    """At a small C values hardly spread, and multipliers must not creep from kink to kink."""
    X, _, _ = noisy_signs(0, n=30)
    y = np.where(np.arange(30) % 3 == 0, 1.0, -1.0)
    steps = []
    plain = svm._newton_step
    monkeypatch.setattr(svm, "_newton_step", lambda *args: steps.append(1) or plain(*args))
    fit = NewtonMachine(feature_ridge(X), loss=loss, epsilon=EPSILON).fit(y, C)
    _, objective, bound = libsvm(X @ X.T, y, C, loss)
    assert bound * (1 - 1e-4) <= fit.objective <= objective * (1 + 1e-3)
    assert len(steps) < 250


@pytest.mark.parametrize("loss", ["laplacian", "hinge"])
def test_labels_of_one_side_leave_no_trace(loss):
    """A cluster that has lost its samples must not spoil the machines of the others."""
    X, y, weight = noisy_signs(0)
    for ridge in (feature_ridge(X, weight), kernel_ridge(rbf_kernel(X), weight)):
        (fresh,) = machines_of(ridge, 1, loss=loss, epsilon=EPSILON)
        expected = fresh.fit(y, 10.0)
        (machine,) = machines_of(ridge, 1, loss=loss, epsilon=EPSILON)
        machine.fit(y, 10.0)
        for side in (-1.0, 1.0) * 15:
            alone = machine.fit(np.full(len(y), side), 10.0)
            assert alone.objective == 0.0
            np.testing.assert_array_equal(alone.fitted, side)
        again = machine.fit(y, 10.0)
        assert again.objective == pytest.approx(expected.objective, rel=1e-3)


@pytest.mark.parametrize("C", [0.01, 1.0, 500.0])
@pytest.mark.parametrize("loss", ["laplacian", "hinge"])
def test_machines_that_are_fitted_together_are_those_of_libsvm(loss, C, digits):
    """Among them one whose labels are all the same, which is constant."""
    X, y = digits
    K = kernel_of("rbf", X)
    machines = machines_of(kernel_ridge(K), 4, loss=loss, epsilon=EPSILON)
    easy, few = np.where(X[:, 20] > 8, 1.0, -1.0), np.where(np.arange(len(y)) < 20, 1.0, -1.0)
    for labels in rounds(y):
        signs = np.stack([labels, np.ones_like(y), easy, few], axis=1)
        fits = fit_all(machines, signs, C)
        np.testing.assert_array_equal(fits[1].fitted, 1.0)
        for i in (0, 2, 3):
            expected, reference, bound = libsvm(K, signs[:, i], C, loss)
            assert distance(fits[i].fitted, expected) < 5e-3
            assert bound * (1 - 1e-4) <= fits[i].objective <= reference * (1 + 1e-4)


def test_square_machines_are_the_same_together_and_alone():
    X, y, weight = noisy_signs(9)
    signs = np.stack([y, -y, np.where(X[:, 0] > X[:, 0].mean(), 1.0, -1.0)], axis=1)
    for ridge in (feature_ridge(X, weight), kernel_ridge(rbf_kernel(X), weight)):
        fits = fit_all(machines_of(ridge, 3, loss="square", epsilon=EPSILON), signs, 2.0)
        for fit, labels in zip(fits, signs.T, strict=True):
            alone = SquareMachine(ridge).fit(np.ascontiguousarray(labels), 2.0)
            assert fit.objective == pytest.approx(alone.objective, rel=1e-9)
            np.testing.assert_allclose(fit.fitted, alone.fitted, rtol=1e-7, atol=1e-9)
