"""Discriminative k-means against its matrix of n by n, its limits and its invariances."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel

from separatrix.classics.discriminative_kmeans import DiscriminativeKMeans
from separatrix.classics.kernel_kmeans import KernelKMeans
from separatrix.solvers import lloyd


def samples(seed, n=60, d=4, n_groups=3):
    """Overlapping groups with correlated features of different units."""
    rng = np.random.default_rng(seed)
    X = 2 * rng.normal(size=(n_groups, d))[np.arange(n) % n_groups] + rng.normal(size=(n, d))
    return X @ rng.normal(size=(d, d))


def papers_matrix(K, reg):
    """I - (I + K / lambda)^-1 of the centred kernel matrix."""
    n = len(K)
    center = np.eye(n) - 1 / n
    K = center @ K @ center
    lam = reg * np.trace(K @ K) / np.trace(K)
    return np.eye(n) - np.linalg.inv(np.eye(n) + K / lam)


def trace_form(K, labels):
    """tr(F'KF) with the normalised indicators F of clusters."""
    F = np.eye(labels.max() + 1)[labels]
    F = F / np.sqrt(F.sum(axis=0))
    return np.trace(F.T @ K @ F)


@pytest.mark.parametrize("reg", [1e-3, 0.3, 10.0])
@pytest.mark.parametrize("n_clusters", [2, 4])
def test_objective_is_the_papers_trace(reg, n_clusters):
    X = samples(0)
    model = DiscriminativeKMeans(n_clusters, reg=reg).fit(X)
    K = papers_matrix(X @ X.T, reg)
    assert model.objective_ == pytest.approx(trace_form(K, model.labels_), rel=1e-9)


@pytest.mark.parametrize("reg", [1e-2, 0.3, 10.0])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_it_is_kernel_kmeans_with_the_papers_matrix(reg, kernel):
    X = samples(1)
    start = np.random.default_rng(0).integers(3, size=len(X))
    K = X @ X.T if kernel == "linear" else rbf_kernel(X, gamma=0.1)
    model = DiscriminativeKMeans(3, reg=reg, kernel=kernel, gamma=0.1, init=start, tol=0).fit(X)
    same = KernelKMeans(3, kernel="precomputed", init=start, tol=0).fit(papers_matrix(K, reg))
    assert adjusted_rand_score(model.labels_, same.labels_) == 1.0
    total = np.trace(papers_matrix(K, reg))
    assert model.objective_ == pytest.approx(total - same.objective_, rel=1e-3)


def test_objective_rises_and_is_bounded():
    X = load_wine().data
    for n_clusters in (2, 5):
        start = np.random.default_rng(0).integers(n_clusters, size=len(X))
        model = DiscriminativeKMeans(n_clusters, reg=0, init=start, tol=0).fit(X)
        assert len(model.history_) > 3
        assert (np.diff(model.history_) >= -1e-12).all()
        assert 0 < model.objective_ < n_clusters - 1


@pytest.mark.parametrize(("n_clusters", "n"), [(2, 9), (3, 7)])
def test_brute_force(n_clusters, n):
    for seed in range(3):
        X = samples(seed, n=n, d=2)
        K = papers_matrix(X @ X.T, 0.3)
        labellings = (np.array(y) for y in itertools.product(range(n_clusters), repeat=n - 1))
        full = (np.r_[0, y] for y in labellings if len({0, *y.tolist()}) == n_clusters)
        best = max(full, key=lambda y: trace_form(K, y))
        stays = DiscriminativeKMeans(n_clusters, reg=0.3, init=best).fit(X)
        assert adjusted_rand_score(stays.labels_, best) == 1.0
        found = DiscriminativeKMeans(n_clusters, reg=0.3, n_init=20, random_state=0).fit(X)
        assert found.objective_ == pytest.approx(trace_form(K, best))


def test_much_regularisation_makes_it_kmeans():
    X = load_iris().data
    start = np.random.default_rng(0).integers(3, size=len(X))
    plain = KernelKMeans(3, kernel="linear", init=start, tol=0).fit(X)
    model = DiscriminativeKMeans(3, reg=1e9, init=start, tol=0).fit(X)
    np.testing.assert_array_equal(model.labels_, plain.labels_)


def test_without_regularisation_no_linear_map_matters():
    X = samples(2)
    rng = np.random.default_rng(0)
    start = rng.integers(3, size=len(X))
    model = DiscriminativeKMeans(3, reg=0, init=start, tol=0).fit(X)
    mapped = DiscriminativeKMeans(3, reg=0, init=start, tol=0).fit(X @ rng.normal(size=(4, 4)) + 5)
    np.testing.assert_array_equal(mapped.labels_, model.labels_)
    assert mapped.objective_ == pytest.approx(model.objective_, rel=1e-9)


def test_rotations_and_constant_features_do_not_matter():
    X = samples(3)
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    model = DiscriminativeKMeans(3).fit(X)
    for other in (100 * X @ rotation, np.hstack([X, np.full((len(X), 3), 7.0)])):
        assert adjusted_rand_score(DiscriminativeKMeans(3).fit(other).labels_, model.labels_) == 1
        assert DiscriminativeKMeans(3).fit(other).objective_ == pytest.approx(model.objective_)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("offset", [0.0, 100.0])
def test_many_features_go_through_few(convert, offset, monkeypatch):
    """As many features as samples have rank say the same as a covariance matrix of all."""
    X = np.random.default_rng(0).normal(size=(30, 50)) + 2 * (np.arange(30)[:, None] % 2)
    X = convert(X + offset)
    whole = DiscriminativeKMeans(3).fit(X)
    monkeypatch.setattr(lloyd, "WIDE", 10)
    few = DiscriminativeKMeans(3).fit(X)
    np.testing.assert_array_equal(few.labels_, whole.labels_)
    assert few.objective_ == pytest.approx(whole.objective_, rel=1e-4)
    np.testing.assert_allclose(few.coef_, whole.coef_, rtol=0, atol=1e-3 * abs(whole.coef_).max())


def test_more_kernel_features_than_a_wide_matrix_has_stay_as_they_are(monkeypatch):
    X = samples(0)
    model = DiscriminativeKMeans(3, kernel="rbf").fit(X)
    monkeypatch.setattr(lloyd, "WIDE", 10)
    np.testing.assert_array_equal(
        DiscriminativeKMeans(3, kernel="rbf").fit(X).labels_, model.labels_
    )


def many_overlapping():
    """More samples than starts are found on, in clusters that k-means takes long to tell apart."""
    rng = np.random.default_rng(3)
    centers = rng.normal(size=(8, 6))
    return centers[rng.integers(0, 8, 60_000)] + rng.normal(size=(60_000, 6))


def test_momentum_ends_at_a_fixed_point_and_never_loses(monkeypatch):
    """Where many samples overlap: the nearest of the means of the labels are the labels."""
    X = many_overlapping()
    model = DiscriminativeKMeans(8, tol=0, max_iter=1000).fit(X)
    assert (np.diff(model.history_) >= 0).all()
    rows = X - X.mean(axis=0)
    A = lloyd.whitening_of(np.cov(X.T, bias=True), 1.0)
    means = np.array([rows[model.labels_ == c].mean(axis=0) for c in range(8)]) @ A
    nearest = ((rows @ A)[:, None] - means) ** 2
    np.testing.assert_array_equal(nearest.sum(axis=2).argmin(axis=1), model.labels_)
    # the same without momentum takes longer to one that is no better
    monkeypatch.setattr(lloyd, "Momentum", lambda tol: lloyd.update_means)
    plain = DiscriminativeKMeans(8, tol=0, max_iter=1000).fit(X)
    assert model.n_iter_ < 0.7 * plain.n_iter_
    assert model.objective_ >= plain.objective_ * (1 - 1e-3)


def test_an_update_that_loses_is_replaced_by_a_plain_one():
    """Means that momentum throws far off, so that clusters are lost or scatter is."""
    X = many_overlapping()
    problem = lloyd.WhitenedProblem.whitened(X, None, np.random.RandomState(0), reg=1.0)
    start = np.random.default_rng(0).integers(8, size=len(X))
    twins = [problem.partition(8) for _ in range(2)]
    for partition in twins:
        partition.assign(start)
        lloyd.update_means(problem, partition)
    momentum = lloyd.Momentum(0.0)
    momentum(problem, twins[0])
    momentum._last = momentum._last + 1e3 * np.random.default_rng(1).normal(size=(8, 6))
    _, _, moved = momentum(problem, twins[0])
    for _ in range(2):
        before = twins[1].labels.copy()
        lloyd.update_means(problem, twins[1])
    np.testing.assert_array_equal(twins[0].labels, twins[1].labels)
    assert moved >= (twins[1].labels != before).sum()
