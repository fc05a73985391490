"""Kernel k-means against Lloyd's updates, the kernel matrix, and brute force."""

import itertools

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_circles
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import pairwise_kernels

from separatrix.classics.kernel_kmeans import KernelKMeans
from separatrix.models.boundaries import Boundaries

KERNELS = [
    {"kernel": "linear"},
    {"kernel": "rbf", "gamma": 0.3},
    {"kernel": "poly", "gamma": 0.5, "degree": 2},
    {"kernel": "laplacian", "gamma": 0.5},
]


def gram(X, Y, parameters):
    """Kernel matrix, by scikit-learn alone."""
    named = {"degree": 2, "coef0": 1, **parameters}
    return pairwise_kernels(X, Y, metric=named.pop("kernel"), filter_params=True, **named)


def within(K, labels):
    """Squared distances from the means of clusters, by the kernel matrix."""
    blocks = [K[np.ix_(labels == c, labels == c)] for c in np.unique(labels)]
    return np.trace(K) - sum(block.sum() / len(block) for block in blocks)


def lloyd(K, labels, n_clusters):
    """Kernel k-means on the whole matrix, to a fixed point."""
    while True:
        shares = np.eye(n_clusters)[labels] / np.bincount(labels, minlength=n_clusters)
        scores = K @ shares - 0.5 * np.einsum("ic,ij,jc->c", shares, K, shares)
        new = scores.argmax(axis=1)
        if (new == labels).all():
            return labels
        labels = new


def samples(seed, n=40, d=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + 2 * rng.normal(size=(3, d))[np.arange(n) % 3]


@pytest.mark.parametrize("n_clusters", [2, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_linear_kernel_is_lloyds_algorithm(n_clusters, seed):
    X = samples(seed, n=200)
    start = np.random.default_rng(seed).integers(n_clusters, size=len(X))
    centers = np.array([X[start == c].mean(axis=0) for c in range(n_clusters)])
    theirs = KMeans(n_clusters, init=centers, n_init=1, tol=0).fit(X)
    ours = KernelKMeans(n_clusters, kernel="linear", init=start, tol=0).fit(X)
    assert adjusted_rand_score(ours.labels_, theirs.labels_) == 1.0
    assert ours.objective_ == pytest.approx(theirs.inertia_)


@pytest.mark.parametrize("parameters", KERNELS)
@pytest.mark.parametrize("n_clusters", [2, 4])
def test_features_are_as_good_as_the_kernel_matrix(parameters, n_clusters):
    """From the same start the same fixed point as with the n by n matrix, and the same value."""
    X = samples(0)
    K = gram(X, X, parameters)
    start = np.random.default_rng(1).integers(n_clusters, size=len(X))
    model = KernelKMeans(n_clusters, init=start, tol=0, **parameters).fit(X)
    expected = lloyd(K, start, n_clusters)
    assert adjusted_rand_score(model.labels_, expected) == 1.0
    assert model.objective_ == pytest.approx(within(K, expected), rel=1e-4)


@pytest.mark.parametrize("parameters", KERNELS)
def test_objective_falls(parameters):
    X = samples(3, n=300)
    start = ((X[:, None] - X[:6]) ** 2).sum(axis=2).argmin(axis=1)  # the nearest of six samples
    model = KernelKMeans(6, init=start, tol=0, **parameters).fit(X)
    assert len(model.history_) > 3
    assert (np.diff(model.history_) <= 1e-9 * model.history_[0]).all()
    assert model.history_[-1] == model.objective_


@pytest.mark.parametrize("parameters", KERNELS[:2])
@pytest.mark.parametrize(("n_clusters", "n"), [(2, 9), (3, 7)])
def test_brute_force(parameters, n_clusters, n):
    """The best of all labellings stays where it is, and several starts find it."""
    for seed in range(3):
        X = samples(seed, n=n)
        K = gram(X, X, parameters)
        labellings = (np.array(y) for y in itertools.product(range(n_clusters), repeat=n - 1))
        full = (np.r_[0, y] for y in labellings if len({0, *y.tolist()}) == n_clusters)
        best = min(full, key=lambda y: within(K, y))
        stays = KernelKMeans(n_clusters, init=best, **parameters).fit(X)
        assert adjusted_rand_score(stays.labels_, best) == 1.0
        found = KernelKMeans(n_clusters, n_init=30, random_state=0, **parameters).fit(X)
        assert found.objective_ == pytest.approx(within(K, best), rel=1e-4)


@pytest.mark.parametrize("parameters", KERNELS)
def test_precomputed_kernel(parameters):
    X = samples(5, n=60)
    new = samples(6, n=30)
    model = KernelKMeans(3, **parameters).fit(X)
    given = KernelKMeans(3, kernel="precomputed").fit(gram(X, X, parameters))
    np.testing.assert_array_equal(given.labels_, model.labels_)
    np.testing.assert_array_equal(given.predict(gram(new, X, parameters)), model.predict(new))


def test_new_samples_join_the_nearest_mean():
    X, new = samples(0, n=50), samples(1, n=20)
    parameters = {"kernel": "rbf", "gamma": 0.3}
    model = KernelKMeans(3, **parameters).fit(X)
    shares = np.eye(3)[model.labels_] / np.bincount(model.labels_)
    squares = np.einsum("ic,ij,jc->c", shares, gram(X, X, parameters), shares)
    distances = squares - 2 * gram(new, X, parameters) @ shares
    np.testing.assert_array_equal(model.predict(new), distances.argmin(axis=1))


def product_of_norms(x, y):
    """A kernel with the distance from the origin as its only feature."""
    return np.linalg.norm(x) * np.linalg.norm(y)


def test_a_kernel_may_be_a_function():
    X, y = make_circles(100, noise=0.02, factor=0.3, random_state=0)
    model = KernelKMeans(2, kernel=product_of_norms).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1.0
    radii = np.linalg.norm(X, axis=1)
    plain = KernelKMeans(2, kernel="linear").fit(radii[:, None])
    assert model.objective_ == pytest.approx(plain.objective_)


@pytest.mark.parametrize("n_clusters", [2, 3, 5])
def test_means_say_the_same_as_boundaries_between_them(n_clusters):
    rng = np.random.default_rng(0)
    centers, origin = rng.normal(size=(n_clusters, 3)), rng.normal(size=3)
    X = rng.normal(size=(500, 3)) + origin
    means = Boundaries.nearest(centers).shifted(origin)
    squares = ((X[:, None] - origin - centers) ** 2).sum(axis=2)
    np.testing.assert_array_equal(means.labels(X), squares.argmin(axis=1))
    np.testing.assert_array_equal(means.pairwise.labels(X), squares.argmin(axis=1))
    # a cluster's smallest margin is that to the nearest of the other means
    others = np.where(np.eye(n_clusters, dtype=bool), np.inf, squares[:, None])
    margins = (others.min(axis=2) - squares) / 2
    expected = margins[:, 1] if n_clusters == 2 else margins
    np.testing.assert_allclose(means.pairwise.scores(X), expected, atol=1e-12)


def test_rigid_motions_change_nothing():
    X = load_iris().data
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    for kernel in ("linear", "rbf"):
        model = KernelKMeans(3, kernel=kernel).fit(X)
        moved = KernelKMeans(3, kernel=kernel).fit(X @ rotation + 1e3)
        np.testing.assert_array_equal(moved.labels_, model.labels_)


def test_what_cannot_work_is_refused(monkeypatch):
    X = samples(0)
    with pytest.raises(ValueError, match="kernel='precomputed' needs X to be the square matrix"):
        KernelKMeans(kernel="precomputed").fit(X)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        KernelKMeans(kernel="precomputed").fit(-np.eye(10))
    monkeypatch.setattr("os.sysconf", lambda name: 100)  # ten kilobytes
    with pytest.raises(ValueError, match=r"n_components=40 features of n_samples=40 samples need"):
        KernelKMeans().fit(X)
    KernelKMeans(n_components=5).fit(X)  # as the message advises


def test_features_that_lose_the_kernel_are_told():
    """A narrow kernel makes all samples orthogonal; a few features then hold a few of them."""
    X = np.random.default_rng(0).normal(size=(200, 5))
    with pytest.warns(ConvergenceWarning, match=r"20 features hold 1\d% of the kernel"):
        KernelKMeans(3, gamma=("mean", 0.05), n_components=20).fit(X)
    KernelKMeans(3, gamma=("mean", 0.05), n_components=200).fit(X)
