"""Ridge regressions against their linear systems."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.metrics.pairwise import rbf_kernel

from ridge_support import feature_ridge, kernel_ridge, noisy_signs
from separatrix.solvers.ridge import FeatureRidge

STRENGTHS = [1e-3, 0.1, 1.0, 10.0, 1000.0]


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
        X, y, weight = noisy_signs(seed)
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
        assert model.norm == pytest.approx(alpha @ X @ X.T @ alpha, rel=1e-6, abs=1e-9 * C)
        np.testing.assert_allclose(values, fitted, rtol=1e-7, atol=1e-8)


def test_kernel_ridge_is_the_same_before_and_after_it_inverts():
    """After some twenty solutions it changes from the factor to the inverse."""
    X, y, weight = noisy_signs(0)
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
    X, y, weight = noisy_signs(1)
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
    X, y, weight = noisy_signs(2)
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
    X, y, _ = noisy_signs(3)
    X = np.round(X * 2**10) / 2**10  # so that the shift is exact
    near, far = feature_ridge(X).solve(y, 10.0), feature_ridge(X + 2.0**20).solve(y, 10.0)
    np.testing.assert_allclose(far.coef, near.coef, rtol=1e-6)


def test_kernel_ridge_refuses_an_indefinite_kernel():
    X, y, _ = noisy_signs(0)
    K = np.tanh(X @ X.T - 3.0)
    assert np.linalg.eigvalsh(K)[0] < -1
    with pytest.raises(ValueError, match="kernel is not positive semidefinite"):
        kernel_ridge(K).fit(y, 10.0)


@pytest.mark.parametrize("constant", [0.0, 1.0, 1e6])
def test_constant_samples_have_no_scatter(constant):
    X = np.full((7, 2), constant)
    assert feature_ridge(X).scatter == 0
    assert kernel_ridge(X @ X.T).scatter == 0


@pytest.mark.parametrize("C", [1e16, 1e100, 1e150])
def test_equal_samples_at_the_largest_strengths(C):
    X, y, _ = noisy_signs(0)
    K = rbf_kernel(np.repeat(X, 2, axis=0))
    targets = np.repeat(y, 2) + np.tile([0.1, -0.1], len(y))
    model, fitted = kernel_ridge(K).fit(targets, C)
    assert np.isfinite(model.coef).all()
    np.testing.assert_allclose(fitted, np.repeat(y, 2), atol=0.05)


@pytest.mark.parametrize("n_columns", [1, 3, 15])
def test_columns_are_fitted_together_as_they_are_one_by_one(n_columns):
    X, _, weight = noisy_signs(4)
    targets = np.random.default_rng(0).normal(size=(len(X), n_columns))
    for make in (lambda: feature_ridge(X, weight), lambda: kernel_ridge(rbf_kernel(X), weight)):
        single, several = make(), make()
        for _ in range(30):  # the factor gives way to the inverse
            models, fitted = several.fit_columns(targets, 3.0)
        for column, model, values in zip(targets.T, models, fitted.T, strict=True):
            expected, at_samples = single.fit(np.ascontiguousarray(column), 3.0)
            np.testing.assert_allclose(model.coef, expected.coef, rtol=1e-7, atol=1e-9)
            assert model.intercept == pytest.approx(expected.intercept, rel=1e-8)
            assert model.norm == pytest.approx(expected.norm, rel=1e-7)
            np.testing.assert_allclose(values, at_samples, rtol=1e-7, atol=1e-9)
