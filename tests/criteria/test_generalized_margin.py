"""Generalized maximum margin clustering against cvxpy, theorems, brute force and symmetries."""

from itertools import product

import cvxpy as cp
import numpy as np
import pytest
from scipy.linalg import eigvalsh

from golden import regenerate_sdp as oracle
from separatrix import GeneralizedMarginClustering
from separatrix.criteria.generalized_margin import (
    generalized_kernel,
    lift_of,
    relax_generalized_margin,
)
from separatrix.criteria.semidefinite_margin import relax_semidefinite_margin
from separatrix.result import Status
from separatrix.solvers.label_programs import best_labelling

# The largest multiplier of a sample, the paper's C_delta, is twice our weight of the losses.


@pytest.mark.parametrize("name", oracle.KERNELS)
@pytest.mark.parametrize("C_delta", oracle.PARAMETERS["generalized_margin"])
def test_optimum_is_that_of_cvxpy(C_delta, name):
    K = oracle.kernel(30, name)
    optimum, error = oracle.solve("generalized_margin", K, C_delta)
    G = generalized_kernel(K, oracle.SUM_PENALTY)
    found = relax_generalized_margin(G, C=C_delta / 2, tol=1e-7)
    assert found.status is Status.CONVERGED
    assert found.gap <= 1e-7
    assert found.objective == pytest.approx(optimum, rel=1e-5)
    # Clarabel measures its error before it undoes its scaling of the problem
    assert found.lower_bound <= optimum + 100 * error * abs(optimum)


@pytest.mark.parametrize("case", oracle.golden_cases("generalized_margin"), ids=oracle.name_of)
def test_optimum_is_golden(case):
    G = generalized_kernel(oracle.kernel(case["n"], case["kernel"]), oracle.SUM_PENALTY)
    found = relax_generalized_margin(G, C=case["parameter"] / 2)
    assert found.objective == pytest.approx(case["optimum"], rel=1e-5)
    assert found.gap <= 1e-6
    assert found.lower_bound <= case["optimum"] + max(case["error"], 1e-6) * case["optimum"]


def test_certificate_holds_without_the_solver():
    K = oracle.kernel(80)
    G = generalized_kernel(K, 1e4)
    for C in (0.025, 500.0):
        found = relax_generalized_margin(G, C=C)
        S = np.linalg.inv(G)
        assert eigvalsh(S - np.diag(found.x))[0] >= -1e-6 * np.abs(S).max() * 1e-6
        assert (found.x >= 0).all()
        assert (found.x <= 2 * C).all()
        assert found.lower_bound == pytest.approx(found.x.sum(), rel=1e-12)
        missing = np.maximum(1 - np.diag(found.M), 0).sum()
        value = np.vdot(S, found.M) + 2 * C * missing
        assert eigvalsh(found.M)[0] >= -1e-10 * np.abs(found.M).max()
        assert found.objective == pytest.approx(value, rel=1e-6)
        assert found.gap <= 1e-6


@pytest.mark.parametrize("name", oracle.KERNELS)
def test_hard_margins_of_both_programs_are_one(name):
    """Without slack, (24) is (22) for the centred kernel: put d = alpha^2 / gamma there."""
    G = generalized_kernel(oracle.kernel(40, name), 1e4)
    generalized = relax_generalized_margin(G, C=5e5, tol=1e-8)
    margin = relax_semidefinite_margin(G, C=1e6, balance=1.0, tol=1e-8)
    assert generalized.objective == pytest.approx(margin.objective, rel=1e-6)


def test_generalized_kernel_is_the_paper_s_matrix_without_the_offset():
    n, penalty = 25, 3.0
    K = oracle.kernel(n)
    lifted = np.linalg.inv(K + np.eye(n) / n)
    W = lifted + penalty * np.ones((n, n))
    ones = lifted.sum(axis=1)
    eliminated = W - np.outer(ones, ones) / ones.sum()
    np.testing.assert_allclose(
        np.linalg.inv(generalized_kernel(K, penalty)), eliminated, rtol=1e-6
    )


@pytest.mark.parametrize("C", [0.5, 50.0])
@pytest.mark.parametrize("name", oracle.KERNELS)
def test_one_sample_of_a_weight_has_the_optimum_of_its_copies(name, C):
    K, weight = oracle.kernel(20, name), 1.0 + np.arange(20) % 4
    copies = np.repeat(np.arange(20), weight.astype(int))
    of_all = generalized_kernel(K[np.ix_(copies, copies)], 3.0)
    expected = relax_generalized_margin(of_all, C=C, tol=1e-9)
    found = relax_generalized_margin(
        generalized_kernel(K, 3.0, weight), C=C, tol=1e-9, weight=weight, lift=lift_of(K, weight)
    )
    assert found.objective == pytest.approx(expected.objective, rel=2e-9)
    roots = np.sqrt(weight[copies])
    np.testing.assert_allclose(
        found.M[np.ix_(copies, copies)] / np.outer(roots, roots), expected.M, atol=1e-3
    )


def test_values_of_copies_that_differ_limit_gamma():
    """Those of copies at the mean are all but free, so that only the lift limits them."""
    X, weight = np.array([-2.0, -1.0, 0.0, 1.0, 2.0]), np.array([1.0, 1, 3, 1, 1])
    K, copies = np.outer(X, X), np.repeat(np.arange(5), weight.astype(int))
    of_all = generalized_kernel(K[np.ix_(copies, copies)], 1e8)
    expected = relax_generalized_margin(of_all, C=1e3, tol=1e-9).objective
    G, lift = generalized_kernel(K, 1e8, weight), lift_of(K, weight)
    found, free = (
        relax_generalized_margin(G, C=1e3, tol=1e-9, weight=weight, lift=one).objective
        for one in (lift, 0.0)
    )
    assert found == pytest.approx(expected, rel=2e-9)
    assert free > expected * 1.01


def test_labels_of_weights_are_those_of_copies():
    """The machines that labels are read from count each copy."""
    K, weight = oracle.kernel(9), 1.0 + np.arange(9) % 3
    copies, roots = np.repeat(np.arange(9), weight.astype(int)), np.sqrt(weight)
    signs = np.where(np.arange(9) % 2 == 0, 1.0, -1.0)
    options = {"C": 0.3, "signs_of": np.sign, "n_draws": 0, "rng": np.random.RandomState(0)}
    of_copies = best_labelling(
        np.outer(signs, signs)[np.ix_(copies, copies)],
        K[np.ix_(copies, copies)] + 1e-3 * np.eye(len(copies)),
        **options,
    )
    scaled = roots[:, None] * K * roots + 1e-3 * np.eye(9)
    products = roots[:, None] * np.outer(signs, signs) * roots
    response = best_labelling(products, scaled, **options, weight=weight)
    expected = np.bincount(copies, of_copies)
    np.testing.assert_allclose(response * signs[0], expected * np.sign(of_copies[0]), atol=1e-4)


def test_a_given_kernel_takes_weights_too():
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(20, 2)) + 3 * (np.arange(20) % 2)[:, None], np.arange(20) % 4
    K, copies = X @ X.T, np.repeat(np.arange(20), weight)
    model = GeneralizedMarginClustering(kernel="precomputed").fit(K, sample_weight=weight)
    other = GeneralizedMarginClustering(kernel="precomputed").fit(K[np.ix_(copies, copies)])
    assert model.objective_ == pytest.approx(other.objective_, rel=1e-12)
    np.testing.assert_array_equal(model.labels_[copies], other.labels_)
    np.testing.assert_array_equal(model.predict(K), model.labels_)


def test_relaxation_bounds_every_labelling():
    n = 7
    G = generalized_kernel(oracle.kernel(n), 1e4)
    S = np.linalg.inv(G)
    root = np.linalg.cholesky(S)
    found = relax_generalized_margin(G, C=5e5, tol=1e-8)
    values = []
    for rest in product((-1.0, 1.0), repeat=n - 1):
        if all(sign > 0 for sign in rest):
            continue
        signs = np.array([1.0, *rest])
        w = cp.Variable(n)
        objective = cp.Minimize(cp.sum_squares(root.T @ w))
        values.append(cp.Problem(objective, [cp.multiply(signs, w) >= 1]).solve("CLARABEL"))
    assert found.objective <= min(values) * (1 + 1e-6)


def test_optimum_does_not_depend_on_the_order_of_samples():
    K = oracle.kernel(41)
    order = np.random.RandomState(0).permutation(41)
    first, second = (
        relax_generalized_margin(generalized_kernel(matrix, 1e4), C=0.5, tol=1e-8)
        for matrix in (K, K[np.ix_(order, order)])
    )
    assert first.objective == pytest.approx(second.objective, rel=1e-7)
    np.testing.assert_allclose(first.M[np.ix_(order, order)], second.M, atol=1e-2)


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_tiny_and_badly_scaled_programs(n, scale):
    G = generalized_kernel(scale * oracle.kernel(n, "laplacian"), 1e4)
    for C in (5e-4, 0.5, 500.0):
        assert relax_generalized_margin(G, C=C).gap <= 1e-6


@pytest.mark.parametrize("sum_penalty", [1e-150, 1e-30, 1e30, 1e150])
@pytest.mark.parametrize("size", [1e-100, 1.0, 1e100])
def test_any_penalty_of_the_sum_leaves_a_definite_matrix(sum_penalty, size):
    G = generalized_kernel(size * oracle.kernel(10), sum_penalty)
    np.linalg.cholesky(G / np.abs(G).max())
