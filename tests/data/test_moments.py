"""Moments kept in step with the labels."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from separatrix.data.moments import Units, total_moments
from separatrix.models.boundaries import Boundaries
from separatrix.solvers.minimax import MomentProblem


def check_moments(partition, X, labels, weight, clusters):
    inside = np.isin(labels, clusters)
    rows, weights = X[inside], weight[inside]
    moments = partition.moments(clusters)
    assert moments.weight == pytest.approx(weights.sum(), rel=1e-9)
    mean = np.average(rows, axis=0, weights=weights)
    np.testing.assert_allclose(moments.mean + partition.shift, mean, rtol=1e-9, atol=1e-9)
    covariance = np.cov(rows.T, aweights=weights, bias=True)
    np.testing.assert_allclose(moments.covariance, covariance, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(moments.variance, np.diag(covariance), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_clusters", [2, 4])
def test_moments_follow_the_labels(n_clusters, container, weighted):
    rng = np.random.default_rng(0)
    n, d = 200, 5
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6) + 0.5
    weight = rng.uniform(0.1, 3, size=n) if weighted else None
    problem = MomentProblem.of(
        container(X), weight, reg=0.1, isotropic=False, rng=np.random.RandomState(0)
    )
    partition = problem.partition(n_clusters)
    ones = np.ones(n) if weight is None else weight
    labels = np.full(n, -1)
    for step in range(120):
        if step % 10 == 0:  # a rule: whole regions move at once
            rule = Boundaries.nearest(rng.normal(size=(n_clusters, d)))
            new = rule.labels(container(X))
        else:
            new = labels.copy()
            movers = rng.choice(n, size=rng.integers(1, n), replace=False)
            new[movers] = rng.integers(n_clusters, size=len(movers))
            new[:8] = np.arange(8) % n_clusters
            rule = new = new.astype(np.int8)
        moved = partition.assign(rule)
        assert moved == pytest.approx(ones[new != labels].sum(), rel=1e-12)
        labels = np.asarray(new)
        np.testing.assert_array_equal(partition.labels, labels)
    for size in range(1, n_clusters):
        for clusters in itertools.combinations(range(n_clusters), size):
            check_moments(partition, X, labels, ones, list(clusters))
    sizes = np.bincount(labels, weights=ones, minlength=n_clusters)
    np.testing.assert_allclose(partition.weights, sizes, rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-130, 1.0, 1e130])
def test_one_unit_of_all_features_at_any_scale(scale):
    X = np.random.default_rng(0).normal(size=(40, 3)) * [1.0, 2.0, 3.0]
    moments = total_moments(scale * X, shift=np.zeros(3))
    with np.errstate(all="raise"):
        units = Units.of(moments, np.zeros(3), isotropic=True)
    values = np.linalg.eigvalsh(np.cov(X.T, bias=True))
    expected = scale * np.sqrt((values**2).sum() / values.sum())
    np.testing.assert_allclose(units.scale, expected)
