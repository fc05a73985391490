"""Objectives of soft labels against their definitions, and gradients against differences."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import log_softmax, rel_entr
from sklearn.metrics import euclidean_distances, mutual_info_score

from separatrix.solvers import information_maximization
from separatrix.solvers.information_maximization import CentredRows, objective_of
from transport_support import transport_cost

OBJECTIVES = ["information", "mmd", "wasserstein"]
COMPARISONS = ["one-vs-all", "one-vs-one"]
every_objective = pytest.mark.parametrize("name", OBJECTIVES)
every_comparison = pytest.mark.parametrize("comparison", COMPARISONS)


def centred(rows, weights):
    return CentredRows.at_origin(rows - weights @ rows)


def soft_labels(seed, n=15, n_clusters=3, sure=1.0):
    """Features, weights that add up to one, and scores of clusters."""
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.5, 2, size=n)
    scores = sure * rng.normal(size=(n, n_clusters))
    return rng.normal(size=(n, 2)), weights / weights.sum(), scores


def kullback_leibler(p, q, X):
    return rel_entr(p, q).sum()


def mean_discrepancy(p, q, X):
    """From the matrix of all inner products."""
    return np.sqrt((p - q) @ (X @ X.T) @ (p - q))


def wasserstein(p, q, X):
    return transport_cost(p - q, euclidean_distances(X))


DISTANCES = dict(zip(OBJECTIVES, [kullback_leibler, mean_discrepancy, wasserstein], strict=True))


def by_definition(name, comparison, X, weights, scores):
    """The mean distance of the clusters' distributions on the samples."""
    distance, masses = DISTANCES[name], weights[:, None] * np.exp(log_softmax(scores, axis=1))
    shares = masses.sum(axis=0)
    given = (masses / shares).T
    if comparison == "one-vs-all":
        return sum(s * distance(p, weights, X) for s, p in zip(shares, given, strict=True))
    pairs = itertools.product(range(len(shares)), repeat=2)
    return sum(shares[k] * shares[m] * distance(given[k], given[m], X) for k, m in pairs if k != m)


@every_objective
@every_comparison
@pytest.mark.parametrize("n_clusters", [2, 3, 4])
def test_values_are_those_of_the_definition(name, comparison, n_clusters):
    for seed in range(3):
        X, weights, scores = soft_labels(seed, n_clusters=n_clusters)
        objective = objective_of(
            name, comparison, centred(X, weights), weights, n_clusters=n_clusters
        )
        value, _ = objective(log_softmax(scores, axis=1), weights)
        expected = by_definition(name, comparison, X, weights, scores)
        assert value == pytest.approx(expected, rel=1e-6)


@every_objective
@every_comparison
@pytest.mark.parametrize("sure", [0.1, 3.0, 30.0])
def test_gradients_are_those_of_differences(name, comparison, sure):
    for seed in range(3):
        X, weights, scores = soft_labels(seed, sure=sure)
        objective = objective_of(name, comparison, centred(X, weights), weights, n_clusters=3)
        _, gradient = objective(log_softmax(scores, axis=1), weights)
        rng = np.random.default_rng(seed)
        for _ in range(5):
            step = 1e-6 * rng.normal(size=scores.shape)
            high, low = (
                objective(log_softmax(scores + sign * step, axis=1), weights)[0]
                for sign in (1, -1)
            )
            slope = (gradient * step).sum()
            assert (high - low) / 2 == pytest.approx(slope, rel=1e-4, abs=1e-12)


def test_information_of_hard_labels_is_their_entropy():
    """One cluster each: the information that scikit-learn has of a labelling with itself."""
    labels = np.array([0, 0, 1, 2, 2, 2, 1, 0])
    weights, scores = np.full(8, 1 / 8), 800.0 * np.eye(3)[labels]
    objective = objective_of("information", "one-vs-all", None, weights, n_clusters=3)
    value, gradient = objective(log_softmax(scores, axis=1), weights)
    assert value == pytest.approx(mutual_info_score(labels, labels))
    np.testing.assert_allclose(gradient, 0, atol=1e-12)


@pytest.mark.parametrize("name", ["mmd", "wasserstein"])
def test_two_clusters_compare_the_same_way(name):
    """Both are 2 pi_0 pi_1 times the distance of the clusters."""
    X, weights, scores = soft_labels(0, n_clusters=2)
    values = [
        objective_of(name, comparison, centred(X, weights), weights, n_clusters=2)(
            log_softmax(scores, axis=1), weights
        )
        for comparison in COMPARISONS
    ]
    assert values[0][0] == pytest.approx(values[1][0])
    np.testing.assert_allclose(values[0][1], values[1][1], atol=1e-12)


@every_objective
@every_comparison
def test_labels_that_tell_nothing_are_worth_nothing(name, comparison):
    X, weights, scores = soft_labels(0)
    objective = objective_of(name, comparison, centred(X, weights), weights, n_clusters=3)
    value, gradient = objective(log_softmax(0 * scores + [0.0, 1, 2], axis=1), weights)
    assert value == pytest.approx(0, abs=1e-9)
    assert np.isfinite(gradient).all()


@every_objective
@every_comparison
def test_clusters_without_samples_do_no_harm(name, comparison):
    """Probabilities that are zero in double precision."""
    X, weights, scores = soft_labels(0)
    objective = objective_of(name, comparison, centred(X, weights), weights, n_clusters=3)
    scores[:, 2] = -2000.0
    value, gradient = objective(log_softmax(scores, axis=1), weights)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


def test_sparse_rows_are_centred_without_being_dense():
    X, weights, scores = soft_labels(0)
    sparse = CentredRows(sp.csr_array(X), weights @ X)
    dense = centred(X, weights)
    np.testing.assert_allclose(sparse.times(np.eye(2)), dense.times(np.eye(2)))
    np.testing.assert_allclose(sparse.sums(scores), dense.sums(scores))


def test_many_samples_move_to_the_nearest_points():
    """Then distances are those of the samples at these points, and off by no more than the way."""
    X, weights, scores = soft_labels(0, n=60)
    exact = by_definition("wasserstein", "one-vs-all", X, weights, scores)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(information_maximization, "TRANSPORT_POINTS", 25)
        points, places = information_maximization.transport_points(X, weights)
        objective = objective_of(
            "wasserstein", "one-vs-all", CentredRows.at_origin(X), weights, n_clusters=3
        )
    moved = places @ points
    assert points.shape == (25, 2)
    np.testing.assert_allclose(
        np.linalg.norm(X - moved, axis=1), euclidean_distances(X, points).min(axis=1), atol=1e-6
    )
    value, _ = objective(log_softmax(scores, axis=1), weights)
    assert value == pytest.approx(
        by_definition("wasserstein", "one-vs-all", moved, weights, scores), rel=1e-6
    )
    # each cluster and all samples move: at most twice the mean way
    assert abs(value - exact) <= 2 * weights @ np.linalg.norm(X - moved, axis=1)
