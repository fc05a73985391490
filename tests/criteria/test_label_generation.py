"""Label generation clustering against Clarabel and LIBLINEAR."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import LinearSVC

from separatrix import LabelGenerationMarginClustering
from separatrix.solvers.label_mixtures import Machine, find_saddle
from separatrix.solvers.margin_distribution import KernelSpace
from support import groups


def cloud(seed, n):
    return np.random.default_rng(seed).normal(size=(n, 2))


def svm_of(X, y, C):
    """Weights of the support vector machine with squared hinge loss and no intercept."""
    svm = LinearSVC(loss="squared_hinge", dual=False, fit_intercept=False, tol=1e-10)
    return svm.set_params(C=C, max_iter=100_000).fit(X, y).coef_[0]


@pytest.mark.parametrize("strength", [0.1, 10.0, 1000.0])
def test_the_machine_is_a_support_vector_machine_with_squared_hinge_loss(strength):
    for seed in range(12):
        X = np.hstack([cloud(seed, n=24), np.ones((24, 1))])
        y = np.where(np.random.default_rng(seed).random(24) < 0.5, -1.0, 1.0)
        w = svm_of(X, y, strength / 24)
        found = LabelGenerationMarginClustering()._machine(strength).fit(KernelSpace(X @ X.T), y)
        value = 0.5 * w @ w + strength * np.mean(np.maximum(1 - y * (X @ w), 0) ** 2)
        assert found.objective == pytest.approx(value, rel=1e-6)
        np.testing.assert_allclose(X.T @ found.coef, w, rtol=1e-3, atol=1e-4)


@pytest.mark.filterwarnings("ignore:A labelling was still found")
@pytest.mark.parametrize("C", ["scale", 0.01, 3.0])
def test_the_objective_is_that_of_a_support_vector_machine_of_the_labels(C):
    """In which C is the weight of the sum of losses."""
    X = groups(1, n=40)
    model = LabelGenerationMarginClustering(C=C, kernel="linear", max_rounds=2).fit(X)
    assert (1 / 40 if C == "scale" else C) == model.C_
    X, y = X - X.mean(axis=0), 2.0 * model.labels_ - 1
    w = svm_of(X, y, model.C_)
    value = 0.5 * w @ w + model.C_ * np.sum(np.maximum(1 - y * (X @ w), 0) ** 2)
    assert model.objective_ == pytest.approx(value, rel=1e-6)


def value_of_the_paper(K, y, C):
    """Objective of the support vector machine at the signs y, its slacks and all, by Clarabel."""
    values, vectors = np.linalg.eigh(K)
    w, xi = cp.Variable(len(y)), cp.Variable(len(y))
    margins = cp.multiply(y, (vectors * np.sqrt(np.maximum(values, 0))) @ w)
    cost = 0.5 * cp.sum_squares(w) + C * cp.sum_squares(xi)
    program = cp.Problem(cp.Minimize(cost), [margins >= 1 - xi])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of digits beyond those that are compared
        return program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("readout", ["consensus", "vote", "best"])
def test_the_objective_is_that_of_the_paper_at_the_labels(n_clusters, readout):
    """With a machine for each of more clusters."""
    X = groups(3, n=30, n_groups=n_clusters)
    K, clusters = rbf_kernel(X, gamma=0.2), [1] if n_clusters == 2 else range(n_clusters)
    for C in ("scale", 3.0):
        model = LabelGenerationMarginClustering(n_clusters, C=C, gamma=0.2, readout=readout)
        labels = model.set_params(max_rounds=2).fit(X).labels_
        signs = [np.where(labels == cluster, 1.0, -1.0) for cluster in clusters]
        expected = sum(value_of_the_paper(K, y, model.C_) for y in signs)
        assert model.objective_ == pytest.approx(expected, rel=1e-5)


def test_negative_multipliers_are_no_solution():
    """A start that meets all conditions of the squared hinge loss but the sign of a multiplier."""
    K, first = np.array([[1.0, 5.0], [5.0, 30.0]]), 0.7
    margins = K @ [first, -0.01]
    assert first == pytest.approx(2 * (1 - margins[0]))
    assert margins[1] > 1
    found = Machine(2.0).fit(KernelSpace(K), np.ones(2), np.array([first, -0.01]))
    cold = Machine(2.0).fit(KernelSpace(K), np.ones(2))
    assert found.objective == pytest.approx(cold.objective, rel=1e-9)
    assert found.alpha.min() >= -1e-9


@pytest.mark.parametrize("strength", [0.5, 10.0, 200.0])
def test_the_mix_is_that_of_multiple_kernel_learning(strength):
    """The paper's problem, in which multipliers sum to one and C is twice that of ours."""
    m = 14
    for seed in range(3):
        rng, K = np.random.default_rng(seed), rbf_kernel(cloud(seed, n=m), gamma=0.5)
        Y = np.array([rng.permutation(np.repeat([-1.0, 1.0], m // 2)) for _ in range(4)])
        kernels = [K * np.outer(y, y) + m / (2 * strength) * np.eye(m) for y in Y]
        a, worst = cp.Variable(m, nonneg=True), cp.Variable()
        limits = [0.5 * cp.quad_form(a, cp.psd_wrap(Q)) <= worst for Q in kernels]
        program = cp.Problem(cp.Maximize(-worst), [cp.sum(a) == 1, *limits])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of digits beyond those that are compared
            program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11)
        found = find_saddle(K, Y[None], Machine(strength), tol=1e-6)
        assert found.objective == pytest.approx(-1 / (4 * program.value), rel=1e-6)
        np.testing.assert_allclose(found.alpha[0] / found.alpha.sum(), a.value, atol=1e-4)
        weights = [np.ravel(limit.dual_value)[0] for limit in limits]
        np.testing.assert_allclose(found.weights, weights, atol=2e-3)
        # the gap in units of the paper, far from the solution
        first = find_saddle(K, Y[None], Machine(strength), max_iter=0)
        shares = first.alpha[0] / first.alpha.sum()
        terms = np.array([shares @ Q @ shares for Q in kernels])
        assert first.gap == pytest.approx(terms.max() / (first.weights @ terms) - 1, abs=1e-8)
