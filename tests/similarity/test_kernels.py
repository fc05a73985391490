"""Kernels of equal and of nearly equal samples."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import rbf_kernel

from separatrix.similarity.kernels import Kernel, distance_gamma, squared_distances


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_distances_of_equal_rows_are_zero(form):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(40, 7)), 2, axis=0)
    found = squared_distances(form(X), form(X[::2]))
    np.testing.assert_allclose(found, cdist(X, X[::2], "sqeuclidean"), atol=1e-13)
    np.testing.assert_array_equal(found[np.arange(80), np.arange(80) // 2], 0.0)


@pytest.mark.parametrize("gamma", [1e-300, 0.3, 1e20, 1e100, 1e300])
def test_the_narrowest_kernel_tells_equal_rows(gamma):
    X = np.repeat(np.random.default_rng(0).normal(size=(10, 3)), 2, axis=0)
    K = Kernel("rbf", gamma).values(X, X[::-1])[:, ::-1]
    np.testing.assert_array_equal(K[::2, 1::2].diagonal(), 1.0)
    if gamma == 0.3:
        np.testing.assert_allclose(K, rbf_kernel(X, gamma=gamma))
    kernel_map = Kernel("rbf", gamma).low_rank_map(X, max_rank=20)
    np.testing.assert_allclose(np.square(kernel_map(X)).sum(axis=1), 1.0, atol=1e-5)


@pytest.mark.parametrize("rule", ["mean", "median"])
def test_the_width_of_repeated_rows_is_that_of_weights(rule):
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(15, 4)) + 100, rng.integers(1, 4, size=15)
    repeated = distance_gamma(np.repeat(X, weight, axis=0), rule=rule)
    assert distance_gamma(X, weight, rule=rule) == pytest.approx(repeated, rel=1e-12)
