"""Kernels of equal and of nearly equal samples."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import rbf_kernel

from separatrix.similarity.kernels import (
    Kernel,
    cluster_shrinkage,
    distance_gamma,
    pivoted_cholesky,
    squared_distances,
)


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


def blobs_on_a_grid(n_clusters, spread, n_each=20):
    """Round clusters at the corners of unit squares, far apart beside their spread."""
    side = int(np.ceil(np.sqrt(n_clusters)))
    corners = np.array([(i // side, i % side) for i in range(n_clusters)], dtype=float)
    rng = np.random.default_rng(0)
    return np.repeat(corners, n_each, axis=0) + spread * rng.normal(size=(n_clusters * n_each, 2))


def test_widths_shrink_as_many_clusters_do():
    """Clusters of half the spread have half the width; ten or fewer have that of all samples."""
    wide, narrow = (blobs_on_a_grid(36, spread) for spread in (0.02, 0.01))
    assert cluster_shrinkage(wide, None, 10) == 1.0
    ratio = cluster_shrinkage(narrow, None, 36) / cluster_shrinkage(wide, None, 36)
    np.testing.assert_allclose(ratio, 0.5, rtol=0.02)
    few, many = (Kernel("rbf", "mean", n_clusters=k).resolved(wide).gamma for k in (10, 36))
    np.testing.assert_allclose(many, few / cluster_shrinkage(wide, None, 36) ** 2)
    of_scikit_learn = [Kernel("rbf", "scale", n_clusters=k).resolved(wide).gamma for k in (1, 36)]
    assert of_scikit_learn[0] == of_scikit_learn[1]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_the_shrinkage_of_repeated_rows_is_that_of_weights(form):
    X = blobs_on_a_grid(25, 0.05)
    weights = np.random.default_rng(1).integers(1, 4, len(X)).astype(float)
    repeated = np.repeat(X, weights.astype(int), axis=0)[::-1]
    found = cluster_shrinkage(form(X), weights, 25)
    np.testing.assert_allclose(cluster_shrinkage(form(repeated), None, 25), found, rtol=1e-9)
    assert cluster_shrinkage(form(X[:15]), None, 25) == 1.0


def test_a_low_rank_of_huge_values_is_found_without_overflow():
    """Where the error falls too slowly is asked in units of the diagonal."""
    x = np.random.default_rng(0).normal(size=(40, 2)) * 1e153
    limits = {"max_rank": 20, "tol": 1e-9, "complete": True}
    L, _ = pivoted_cholesky((x**2).sum(axis=1), lambda i: x @ x[i], **limits)
    np.testing.assert_allclose(L / 1e153 @ (L / 1e153).T, x / 1e153 @ (x / 1e153).T, atol=1e-9)
