"""LDA-k-means against discriminant analysis, its own two steps, and brute force."""

import itertools

import numpy as np
import pytest
from scipy.linalg import eigh, subspace_angles
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from separatrix.classics.discriminative_kmeans import DiscriminativeKMeans
from separatrix.classics.lda_kmeans import LDAKMeans
from separatrix.data.moments import Partition


def covariances(X, labels, reg):
    """T = covariance of all samples, regularised, and B = covariance between clusters."""
    T = np.cov(X.T, bias=True)
    T = T + reg * np.trace(T @ T) / np.trace(T) * np.eye(len(T))
    means = np.array([X[labels == c].mean(axis=0) for c in np.unique(labels)])
    return T, np.cov(means.T, bias=True, fweights=np.bincount(labels))


def best_trace(X, labels, reg):
    """Largest tr((W'TW)^-1 W'BW) over all subspaces: the sum of generalised eigenvalues."""
    T, B = covariances(X, labels, reg)
    return eigh(B, T, eigvals_only=True)[-(labels.max()) :].sum()


def nearest_of_random(X, n_clusters, seed):
    """Labels of the nearest of some random samples, by standardised features."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    chosen = np.random.default_rng(seed).choice(len(Z), n_clusters, replace=False)
    return ((Z[:, None] - Z[chosen]) ** 2).sum(axis=2).argmin(axis=1)


@pytest.fixture(params=["iris", "wine"])
def X(request):
    return {"iris": load_iris, "wine": load_wine}[request.param]().data


@pytest.mark.parametrize("n_clusters", [2, 3, 4])
@pytest.mark.parametrize("reg", [0.0, 1.0])
def test_objective_is_that_of_the_best_subspace(X, n_clusters, reg):
    model = LDAKMeans(n_clusters, reg=reg).fit(X)
    assert model.objective_ == pytest.approx(best_trace(X, model.labels_, reg), rel=1e-6)
    assert 0 < model.objective_ < n_clusters - 1


@pytest.mark.parametrize("n_clusters", [2, 3, 4])
def test_components_are_those_of_discriminant_analysis(X, n_clusters):
    model = LDAKMeans(n_clusters, reg=0.0).fit(X)
    lda = LinearDiscriminantAnalysis(solver="eigen").fit(X, model.labels_)
    theirs = lda.scalings_[:, : n_clusters - 1]
    assert subspace_angles(model.components_.T, theirs).max() < 1e-6
    T, _ = covariances(X, model.labels_, 0.0)
    np.testing.assert_allclose(
        model.components_ @ T @ model.components_.T, np.eye(n_clusters - 1), atol=1e-7
    )


@pytest.mark.parametrize("n_clusters", [2, 3, 5])
@pytest.mark.parametrize("reg", [0.0, 1.0])
def test_both_steps_raise_the_objective(X, n_clusters, reg):
    start = nearest_of_random(X, n_clusters, 0)
    model = LDAKMeans(n_clusters, reg=reg, init=start, tol=0).fit(X)
    assert len(model.history_) > 1
    assert (np.diff(model.history_) >= -1e-12).all()
    # the subspace of the start, its value there, and the value of the labels found in it
    T, B = covariances(X, start, reg)
    values, vectors = eigh(B, T)
    W = vectors[:, 1 - n_clusters :]
    before = values[1 - n_clusters :].sum()
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        once = LDAKMeans(n_clusters, reg=reg, init=start, tol=0, max_iter=1).fit(X)
    after = np.trace(W.T @ covariances(X, once.labels_, reg)[1] @ W)
    assert before <= after <= once.objective_ + 1e-12


def test_two_clusters_raise_the_papers_objective_too():
    """With the covariance within clusters, the paper's ratio is a function of ours."""
    X = load_wine().data
    start = np.random.default_rng(3).integers(2, size=len(X))
    model = LDAKMeans(2, reg=0.0, init=start, tol=0).fit(X)
    T, B = covariances(X, model.labels_, 0.0)
    paper = eigh(B, T - B, eigvals_only=True)[-1]
    assert paper == pytest.approx(model.objective_ / (1 - model.objective_), rel=1e-6)


@pytest.mark.parametrize("n_clusters", [2, 3, 4])
@pytest.mark.parametrize("reg", [0.0, 1.0])
def test_fixed_points_are_those_of_discriminative_kmeans(X, n_clusters, reg):
    for seed in range(3):
        start = nearest_of_random(X, n_clusters, seed)
        for first, second in [
            (LDAKMeans, DiscriminativeKMeans),
            (DiscriminativeKMeans, LDAKMeans),
        ]:
            labels = first(n_clusters, reg=reg, init=start, tol=0).fit(X).labels_
            again = second(n_clusters, reg=reg, init=labels, tol=0).fit(X)
            np.testing.assert_array_equal(again.labels_, labels)


@pytest.mark.parametrize(("n_clusters", "n"), [(2, 9), (3, 7)])
def test_brute_force(n_clusters, n):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, 2)) @ rng.normal(size=(2, 2))
        labellings = (np.array(y) for y in itertools.product(range(n_clusters), repeat=n - 1))
        full = (np.r_[0, y] for y in labellings if len({0, *y.tolist()}) == n_clusters)
        best = max(full, key=lambda y: best_trace(X, y, 0.5))
        stays = LDAKMeans(n_clusters, reg=0.5, init=best).fit(X)
        assert adjusted_rand_score(stays.labels_, best) == 1.0
        found = LDAKMeans(n_clusters, reg=0.5, n_init=15, random_state=0).fit(X)
        assert found.objective_ == pytest.approx(best_trace(X, best, 0.5))


def test_without_regularisation_no_linear_map_matters(X):
    rng = np.random.default_rng(0)
    start = rng.integers(3, size=len(X))
    model = LDAKMeans(3, reg=0, init=start, tol=0).fit(X)
    A = np.linalg.qr(rng.normal(size=(X.shape[1],) * 2))[0] * rng.uniform(1, 9, X.shape[1])
    mapped = LDAKMeans(3, reg=0, init=start, tol=0).fit(X @ A - 3)
    np.testing.assert_array_equal(mapped.labels_, model.labels_)


def test_clusters_are_seen_in_the_subspace():
    """Distances in the subspace alone decide who belongs where."""
    X = load_iris().data
    model = LDAKMeans(3, tol=0).fit(X)
    Y = X @ model.components_.T
    means = np.array([Y[model.labels_ == c].mean(axis=0) for c in range(3)])
    nearest = ((Y[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(nearest, model.labels_)


def test_turns_of_many_samples_take_few_passes_over_them(monkeypatch):
    """From a solution for some of them; the labels of a turn are where the next one begins."""
    passes = []
    assign = Partition.assign

    def counted(partition, rule):
        passes.append(partition.X.shape[0])
        return assign(partition, rule)

    monkeypatch.setattr(Partition, "assign", counted)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 6, 30_000)
    X = 1.5 * rng.normal(size=(6, 5))[y] + rng.normal(size=(30_000, 5))
    model = LDAKMeans(6, reg=0.0, tol=0).fit(X)
    assert model.n_iter_ > 5
    assert passes.count(30_000) <= 2 * model.n_iter_ + 1
    assert model.objective_ == pytest.approx(best_trace(X, model.labels_, 0.0))
    assert (np.diff(model.history_) >= 0).all()
