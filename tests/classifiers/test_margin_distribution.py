"""The optimal margin distribution machine, a classifier, against its solver and itself."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from separatrix import OptimalMarginDistributionMachine
from separatrix.data import memory
from separatrix.solvers.margin_distribution import (
    fit_margin_distribution,
    fit_margin_distribution_linear,
)


def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def test_without_intercept_it_is_the_machine_of_the_paper():
    X, y = cancer()
    signs = 2.0 * y - 1
    parameters = {"nu": 0.3, "theta": 0.4}
    model = OptimalMarginDistributionMachine(C=10 / len(y), fit_intercept=False, **parameters)
    model.fit(X, y)
    found = fit_margin_distribution_linear(X, signs, strength=10.0, **parameters)
    np.testing.assert_allclose(model.coef_[0], found.coef, rtol=1e-10)
    assert model.intercept_ == [0.0]
    model.set_params(kernel="rbf", gamma=0.02).fit(X, y)
    K = rbf_kernel(X, gamma=0.02)
    found = fit_margin_distribution(K, signs, strength=10.0, **parameters)
    np.testing.assert_allclose(model.decision_function(X), found.scores, rtol=1e-8, atol=1e-9)
    np.testing.assert_array_equal(model.support_, np.flatnonzero(found.alpha))
    assert not hasattr(model, "coef_")
    margins = signs * found.scores
    assert model.margin_mean_ == pytest.approx([margins.mean()], rel=1e-9)
    assert model.margin_variance_ == pytest.approx([margins.var()], rel=1e-9)
    assert isinstance(model.objective_, float)
    assert model.objective_ == pytest.approx(found.objective, rel=1e-10)
    assert model.boundary_objectives_ == pytest.approx([found.objective], rel=1e-10)
    assert (model.C_, model.gamma_) == (10 / len(y), 0.02)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_intercept_is_the_weight_of_a_constant(kernel):
    X, y = cancer()
    K = X @ X.T if kernel == "linear" else rbf_kernel(X, gamma=0.02)
    found = fit_margin_distribution(K + 1, 2.0 * y - 1, strength=10.0)
    model = OptimalMarginDistributionMachine(C=10 / len(y), kernel=kernel, gamma=0.02).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), found.scores, rtol=1e-8, atol=1e-9)
    assert model.intercept_ == pytest.approx([found.coef.sum()], rel=1e-7)


def test_a_constant_added_to_the_samples_changes_nothing():
    X, y = load_iris(return_X_y=True)
    model = OptimalMarginDistributionMachine(C=10 / len(y)).fit(X, y)
    moved = OptimalMarginDistributionMachine(C=10 / len(y)).fit(X + 1000.0, y)
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
    parameters = {"C": 100 / len(y), "kernel": kernel, "gamma": 0.2}
    model = OptimalMarginDistributionMachine(**parameters).fit(X, names)
    np.testing.assert_array_equal(model.classes_, ["alba", "rosa", "setosa"])
    scores = model.decision_function(X)
    assert scores.shape == (150, 3)
    for column, name in enumerate(model.classes_):
        single = OptimalMarginDistributionMachine(**parameters).fit(X, names == name)
        np.testing.assert_allclose(
            scores[:, column], single.decision_function(X), rtol=1e-6, atol=1e-8
        )
        margins = np.where(names == name, 1, -1) * scores[:, column]
        assert model.margin_mean_[column] == pytest.approx(margins.mean(), rel=1e-6)
        assert model.margin_variance_[column] == pytest.approx(margins.var(), rel=1e-6)
        assert model.boundary_objectives_[column] == pytest.approx(single.objective_, rel=1e-9)
    assert model.objective_ == pytest.approx(model.boundary_objectives_.sum(), rel=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])


@pytest.mark.parametrize("C", ["scale", 0.02])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_sample_weight_of_the_classifier(kernel, C):
    """C is the weight of the sum of losses; "scale" divides by the weight of all samples."""
    X, y = load_iris(return_X_y=True)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    repeated = np.repeat(np.arange(len(y)), weight)
    model = OptimalMarginDistributionMachine(C=C, kernel=kernel)
    if kernel == "precomputed":
        K = rbf_kernel(X, gamma=0.3)
        weighted = model.fit(K, y, weight).decision_function(K)
        whole = model.fit(K[np.ix_(repeated, repeated)], y[repeated])
        whole = whole.decision_function(K[:, repeated])
    else:
        weighted = model.fit(X, y, weight).decision_function(X)
        whole = model.fit(X[repeated], y[repeated]).decision_function(X)
    np.testing.assert_allclose(weighted, whole, rtol=1e-7, atol=1e-8)
    assert (1 / len(repeated) if C == "scale" else C) == model.C_


def test_precomputed_and_callable_kernels_are_the_kernel():
    X, y = cancer()
    rows = slice(0, 120)
    K = rbf_kernel(X, X[rows], gamma=0.02)
    named = OptimalMarginDistributionMachine(C=10 / 120, kernel="rbf", gamma=0.02)
    named.fit(X[rows], y[rows])
    given = OptimalMarginDistributionMachine(C=10 / 120, kernel="precomputed")
    given.fit(K[rows], y[rows])
    np.testing.assert_array_equal(named.support_, given.support_)
    np.testing.assert_allclose(given.decision_function(K), named.decision_function(X), atol=1e-9)
    model = OptimalMarginDistributionMachine(C=10 / 120, kernel=lambda a, b: a @ b)
    model.fit(X[rows], y[rows])
    assert model.dual_coef_.shape == (1, len(model.support_))
    centred = X[rows] - X[rows].mean(axis=0)
    expected = OptimalMarginDistributionMachine(C=10 / 120).fit(centred, y[rows])
    model.fit(centred, y[rows])
    np.testing.assert_allclose(
        model.decision_function(X[:50]), expected.decision_function(X[:50]), atol=1e-8
    )


def test_wider_zones_need_fewer_samples():
    X, y = cancer()
    model = OptimalMarginDistributionMachine(kernel="rbf", C=100 / len(y))
    thetas = (0.0, 0.2, 0.5, 0.8)
    sizes = [len(model.set_params(theta=theta).fit(X, y).support_) for theta in thetas]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == len(y)
    assert sizes[-1] < len(y) / 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"C": 0.0},
        {"C": "auto"},
        {"nu": 0.0},
        {"nu": 1.5},
        {"theta": 1.0},
        {"theta": -0.1},
        {"kernel": "no"},
    ],
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
    with pytest.raises(ValueError, match="got 2 of 3 classes"):
        OptimalMarginDistributionMachine().fit(X, y, sample_weight=1.0 * (y > 0))


def test_what_is_not_solved_is_told():
    X, y = cancer()
    model = OptimalMarginDistributionMachine(C=1000 / len(y), max_steps=1)
    with pytest.warns(ConvergenceWarning, match="kkt_tol=1e-08 .* Increase max_steps=1") as caught:
        model.fit(X, y)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(max_steps=100, kkt_tol=0.0).fit(X, y)  # rounding is nothing to tell
    with pytest.warns(ConvergenceWarning, match="Scale X down"):
        model.set_params(kernel="precomputed", C=1e4 / len(y)).fit(1e10 * X @ X.T, y)
