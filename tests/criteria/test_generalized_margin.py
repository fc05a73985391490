"""Generalized maximum margin clustering against cvxpy, theorems, brute force and symmetries."""

from itertools import product

import cvxpy as cp
import numpy as np
import pytest
from scipy.linalg import eigvalsh

from golden import regenerate_sdp as oracle
from separatrix.criteria.generalized_margin import generalized_kernel, relax_generalized_margin
from separatrix.criteria.semidefinite_margin import relax_semidefinite_margin
from separatrix.result import Status

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
