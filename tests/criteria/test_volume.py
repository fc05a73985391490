"""Maximum volume clustering: predictions, more than two clusters, invariance, error bounds."""

import itertools
import warnings

import numpy as np
import pytest
from scipy.linalg import null_space
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics.pairwise import rbf_kernel

from graph_support import (
    AFFINITIES,
    GRAPHS,
    moons,
    three_blobs,
)
from separatrix import MaximumVolumeClustering
from separatrix.result import Status
from separatrix.similarity.quadratic_forms import MATRICES, RHO, form_of
from separatrix.stability import clustering_error_bound, finite_sample_stability
from support import fit_quietly, same_partition

# Predictions


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("affinity", AFFINITIES)
def test_training_samples_keep_their_clusters(affinity, graph, matrix):
    X, _ = make_blobs([25, 20, 15], centers=[[1, 6], [6, 1], [7, 7]], random_state=0)
    for params in (
        {},
        {"n_clusters": 3},
        {"n_clusters": 3, "multiway": "bisection"},
        {"solver": "sqp"},
        {"n_clusters": 3, "multiway": "bisection", "solver": "sqp"},
    ):
        if matrix == "similarity" and "solver" in params:
            continue  # not positive definite
        model = MaximumVolumeClustering(
            affinity=affinity,
            graph=graph,
            matrix=matrix,
            n_neighbors=20,
            n_combinations=3,
            random_state=0,
            **params,
        )
        model, _ = fit_quietly(model, X)
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        np.testing.assert_array_equal(model.decision_function(X), model.response_)
        np.testing.assert_array_equal(model.predict(X[::-3]), model.labels_[::-3])
        sizes = np.bincount(model.labels_, minlength=model.n_clusters)
        assert (np.diff(sizes) <= 0).all()


@pytest.mark.parametrize("matrix", ["normalized", "unnormalized", "dissimilarity"])
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("shape", ["moons", "circles"])
def test_new_samples_of_two_shapes(shape, graph, matrix):
    make = {
        "moons": lambda seed: make_moons(240, noise=0.04, random_state=seed),
        "circles": lambda seed: make_circles(240, noise=0.03, factor=0.4, random_state=seed),
    }[shape]
    (X, y), (new, expected) = make(0), make(1)
    model = MaximumVolumeClustering(graph=graph, matrix=matrix, random_state=0).fit(X)
    error = min((model.labels_ != y).mean(), (model.labels_ == y).mean())
    if (model.labels_ == y).mean() < 0.5:
        expected = 1 - expected
    assert (model.predict(new) != expected).mean() <= error + 0.02


@pytest.mark.parametrize("multiway", ["orthogonal", "bisection"])
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("matrix", ["normalized", "unnormalized"])
def test_new_samples_of_three_clusters(matrix, graph, multiway):
    X, y = three_blobs(150)
    new, expected = three_blobs(150, seed=1)
    model = MaximumVolumeClustering(
        3, matrix=matrix, graph=graph, multiway=multiway, random_state=0
    ).fit(X)
    np.testing.assert_array_equal(model.labels_, y)  # sizes fall, and so do the numbers of y
    np.testing.assert_array_equal(model.predict(new), expected)


@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("affinity", AFFINITIES)
@pytest.mark.parametrize("graph", GRAPHS)
def test_far_away_samples_go_with_the_nearest(graph, affinity, n_clusters):
    X, _ = make_blobs([40, 30, 20], centers=[[1, 9], [9, 1], [9, 9]], random_state=0)
    for multiway in ("orthogonal", "bisection"):
        model = MaximumVolumeClustering(
            n_clusters, affinity=affinity, graph=graph, multiway=multiway, random_state=0
        )
        model, _ = fit_quietly(model, X)
        far = X[[0, 30, 60]] + 1e-3
        scores = model.decision_function(np.vstack([1e6 * far, -1e6 * far]))
        assert np.isfinite(scores).all()
        if affinity != "cosine":
            # along the axes of the blobs: the sample nearest to a far one leads its direction
            ends = X[(X @ [[-1, 1, 0], [1, -1, 1]]).argmax(axis=0)]
            away = ends + np.array([[-1, 1], [1, -1], [0, 1]]) * 1e4
            nearest = [((X - a) ** 2).sum(axis=1).argmin() for a in away]
            np.testing.assert_array_equal(model.predict(away), model.labels_[nearest])


def test_new_samples_next_to_training_samples_share_their_clusters():
    X, _ = moons(150)
    for matrix in ("normalized", "unnormalized", "dissimilarity"):
        for n_clusters in (2, 4):
            for multiway in ("orthogonal", "bisection"):
                model = MaximumVolumeClustering(
                    n_clusters, matrix=matrix, multiway=multiway, random_state=0
                ).fit(X)
                inner = model._model.graph.to_new(X).sum(axis=1) > 0
                moved = model.predict(X + 1e-9)
                assert (moved[inner] == model.labels_[inner]).mean() >= 0.98


def test_eigenvalues_next_to_the_diagonal_do_not_blow_up_new_samples():
    """Copies make many of them, whose eigenvectors say nothing of other samples."""
    X = np.repeat(np.eye(3), 700, axis=0)
    for matrix in ("normalized", "unnormalized"):
        model = MaximumVolumeClustering(3, matrix=matrix, random_state=0).fit(X)
        assert same_partition(model.labels_, X.argmax(axis=1))
        new = X[::350] + 1e-9
        np.testing.assert_array_equal(model.predict(new), model.labels_[::350])
        assert (np.abs(model.decision_function(new)) <= 1).all()


def unequal_blobs(seed):
    X, _ = make_blobs([50, 25], centers=[[0, 0], [4, 0]], random_state=seed)
    return X[np.random.default_rng(seed).permutation(75)]


@pytest.mark.parametrize("bound", [0.0, 0.8])
def test_the_fitted_responses_solve_the_optimality_system(bound):
    """Whichever of the two clusters becomes the first."""
    for seed in range(8):
        model = MaximumVolumeClustering(response_bound=bound, random_state=seed)
        model.fit(unequal_blobs(seed))
        Q = form_of(model.affinity_matrix_, "normalized", 0.0).Q
        fitted = model._model.rule
        np.testing.assert_array_equal(fitted.h, model.response_)
        for rule in (fitted, fitted.renumbered([1, 0])):
            h = rule.h
            residual = model.reg_ * (Q @ h) - rule.eta * h - np.where(h > 0, 1.0, -1.0)
            np.testing.assert_allclose(residual, rule.omega, atol=1e-8 * model.reg_)
            assert abs(rule.omega) > 1e-3


def test_responses_of_new_samples_solve_their_row_of_the_system():
    """The optimality system with one sample more, whose own row is solved for."""
    gamma, new = 4.0, 2 * moons(40, noise=0.3, seed=5)[0]
    for seed in range(4):
        X = unequal_blobs(seed)
        model = MaximumVolumeClustering(
            matrix="unnormalized", affinity="rbf", gamma=gamma, graph="full", random_state=seed
        ).fit(X)
        W, h = rbf_kernel(new, X, gamma=gamma), model.response_
        d = W.sum(axis=1)
        lift = 1e-6 * model.affinity_matrix_.sum(axis=1).mean()
        scores = model.decision_function(new)
        eta, omega = model._model.rule.eta, model._model.rule.omega
        assert abs(omega) > 0.1
        residual = (model.reg_ * (d + lift) - eta) * scores - model.reg_ * W @ h
        np.testing.assert_allclose(residual, np.sign(scores) + omega, atol=1e-9)


# More than two clusters


@pytest.mark.parametrize("matrix", ["normalized", "unnormalized", "dissimilarity"])
@pytest.mark.parametrize("multiway", ["orthogonal", "bisection"])
def test_three_blobs_are_three_clusters(multiway, matrix):
    for seed in range(3):
        X, y = three_blobs(seed=seed)
        model = MaximumVolumeClustering(
            3, multiway=multiway, matrix=matrix, random_state=seed
        ).fit(X)
        np.testing.assert_array_equal(model.labels_, y)  # the largest blob is number 0


@pytest.mark.parametrize("matrix", [*MATRICES])
def test_orthogonal_responses(matrix):
    """H'H = I, and the objective is that of H; the history never rises."""
    for X, n_clusters in ((three_blobs()[0], 3), (moons(100, noise=0.2)[0], 4)):
        model = MaximumVolumeClustering(n_clusters, matrix=matrix, random_state=0).fit(X)
        H = model.response_
        np.testing.assert_allclose(H.T @ H, np.eye(n_clusters), atol=1e-10)
        Q = form_of(model.affinity_matrix_, matrix, 0.0).Q.toarray()
        expected = model.reg_ * np.trace(H.T @ Q @ H) - 2 * H.max(axis=1).sum()
        assert model.objective_ == pytest.approx(expected, rel=1e-9)
        assert (np.diff(model.history_) <= 0).all()
        np.testing.assert_array_equal(H.argmax(axis=1), model.labels_)


@pytest.mark.parametrize("matrix", ["normalized", "unnormalized"])
def test_scores_of_a_tree_are_the_least_confident_responses(matrix):
    """Finite, positive for the own cluster alone, and of the size of some split's response."""
    X, _ = moons(120, noise=0.1)
    model = MaximumVolumeClustering(5, multiway="bisection", matrix=matrix, random_state=0).fit(X)
    assert np.isfinite(model.response_).all()
    assert ((model.response_ > 0).sum(axis=1) == 1).all()
    np.testing.assert_array_equal(model.response_.argmax(axis=1), model.labels_)
    new, _ = moons(60, noise=0.2, seed=1)
    scores = model.decision_function(new)
    assert np.isfinite(scores).all()
    assert ((scores > 0).sum(axis=1) == 1).all()
    first = model._model.rule.splits[0].model
    assert model.reg_ == first.reg
    # the first split is that of two clusters
    two = MaximumVolumeClustering(2, matrix=matrix, random_state=0).fit(X)
    np.testing.assert_allclose(np.abs(two.response_), np.abs(first.h), atol=1e-12)


def test_more_clusters_refine_fewer_by_bisection():
    X, _ = moons(120, noise=0.1)
    labels = [
        MaximumVolumeClustering(k, multiway="bisection", random_state=0).fit_predict(X)
        for k in range(2, 6)
    ]
    for coarse, fine in itertools.pairwise(labels):
        assert all(len(set(coarse[fine == c])) == 1 for c in range(fine.max() + 1))


def test_clusters_that_cannot_be_split_are_not_silent():
    """Samples that are similar to none but themselves are no two clusters."""
    W = np.diag(np.arange(1.0, 7.0))
    W[0, 1] = W[1, 0] = 1.0
    model = MaximumVolumeClustering(
        5, affinity="precomputed", multiway="bisection", random_state=0
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(W)
    assert Status.DEGENERATE.value in [str(warning.message) for warning in caught]
    np.testing.assert_array_equal(model.predict(W[:2]), model.labels_[:2])


def test_a_run_that_breaks_at_once_keeps_its_start():
    X, _ = moons(80)
    model = MaximumVolumeClustering(solver="sqp", reg=1e6, n_combinations=1, random_state=0)
    model, words = fit_quietly(model, X)
    assert words == Status.BROKEN_OFF.value
    np.testing.assert_allclose(np.abs(model.response_), 80**-0.5)


# Invariance and determinism


@pytest.mark.parametrize(
    "params",
    [{}, {"solver": "sqp"}, {"n_clusters": 3}, {"n_clusters": 3, "multiway": "bisection"}],
)
def test_the_order_of_samples_does_not_matter(params):
    X, _ = three_blobs() if "n_clusters" in params else moons(120)
    plain = MaximumVolumeClustering(random_state=0, **params).fit(X)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(X))
        mixed = MaximumVolumeClustering(random_state=0, **params).fit(X[order])
        assert same_partition(mixed.labels_, plain.labels_[order])
        assert mixed.objective_ == pytest.approx(plain.objective_, rel=1e-8)


@pytest.mark.parametrize("graph", GRAPHS)
def test_local_similarities_have_no_unit(graph):
    X, _ = moons(120, noise=0.15)
    plain = MaximumVolumeClustering(graph=graph, random_state=0).fit(X)
    for scale in (2.0**-300, 1e-5, 1024.0, 1e7, 2.0**300):
        scaled = MaximumVolumeClustering(graph=graph, random_state=0).fit(X * scale)
        np.testing.assert_array_equal(scaled.labels_, plain.labels_)
        np.testing.assert_allclose(scaled.response_, plain.response_, atol=1e-7)


@pytest.mark.parametrize(
    "params",
    [{}, {"solver": "sqp"}, {"n_clusters": 4}, {"n_clusters": 4, "multiway": "bisection"}],
)
def test_the_same_seed_gives_the_same_labels(params):
    X = np.random.default_rng(0).normal(size=(150, 3))
    model = MaximumVolumeClustering(random_state=5, **params)
    first, _ = fit_quietly(clone(model), X)
    second, _ = fit_quietly(clone(model), X)
    np.testing.assert_array_equal(first.response_, second.response_)
    np.testing.assert_array_equal(first.labels_, second.labels_)
    again, _ = fit_quietly(first, X)
    np.testing.assert_array_equal(again.labels_, second.labels_)


def test_the_automatic_weight():
    """rho sqrt(n) over the distance from the first to the ninth nontrivial eigenvalue."""
    X, _ = moons(100)
    for matrix in ("normalized", "unnormalized"):
        model = MaximumVolumeClustering(matrix=matrix, random_state=0).fit(X)
        Q = form_of(model.affinity_matrix_, matrix, 0.0).Q.toarray()
        basis = null_space(np.ones((1, 100)))
        values = np.linalg.eigvalsh(basis.T @ Q @ basis)
        assert model.reg_ == pytest.approx(RHO * 10 / (values[8] - values[0]), rel=1e-9)
        other = clone(model).set_params(reg=("auto", 0.25)).fit(X)
        assert other.reg_ == pytest.approx(model.reg_ * 0.25 / RHO)
        number = clone(model).set_params(reg=model.reg_).fit(X)
        np.testing.assert_allclose(number.response_, model.response_, atol=1e-12)


@pytest.mark.parametrize(
    "params",
    [
        {"n_clusters": 3, "max_iter": 2, "n_combinations": 5},
        {"solver": "sqp", "max_iter": 2, "n_combinations": 5},
        {"max_iter": 1},
        {"n_clusters": 3, "multiway": "bisection", "max_iter": 1},
    ],
)
def test_fewer_iterations_than_starts(params):
    """Starts and iterations are counted apart; too few of the latter are not silent."""
    X = np.random.default_rng(0).normal(size=(80, 2))
    model, words = fit_quietly(MaximumVolumeClustering(random_state=0, **params), X)
    assert words in (None, Status.MAX_ITER.value)
    assert len(set(model.labels_)) == model.n_clusters


# Stability and error bounds


def test_stability_is_that_of_matrix_and_responses():
    for X in (moons(40)[0], np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])):
        model = MaximumVolumeClustering(graph="full", random_state=0).fit(X)
        Q = form_of(model.affinity_matrix_, "normalized", 1.0).Q
        found, expected = model.stability(), finite_sample_stability(Q, model.response_)
        assert str(found) == str(expected)
    assert found.twin is not None  # a square has two ways to be cut
    assert "not unique" in str(found)


def test_the_error_bound_is_that_of_theorem_19():
    X, y = moons(200)
    known = np.random.default_rng(0).choice(200, 100, replace=False)
    model = MaximumVolumeClustering(random_state=0).fit(X)
    Q = form_of(model.affinity_matrix_, "normalized", 0.0).Q
    expected = clustering_error_bound(
        model.response_,
        y[known],
        known,
        Q=Q,
        reg=model.reg_,
        eta=model._model.rule.eta,
        margin=0.05,
    )
    found = model.error_bound(y[known], known, margin=0.05)
    assert found.total == pytest.approx(expected.total, rel=1e-9)
    assert found.complexity < model.error_bound(y[known], known, margin=0.01).complexity
    # the labels of the known samples only matter up to their names
    assert model.error_bound(1 - y[known], known, margin=0.05).total == found.total
    assert model.error_bound(y[known], known, delta=0.01, margin=0.05).total > found.total


@pytest.mark.parametrize("reg", [1.0, 1e2, 1e4, 1e8])
@pytest.mark.parametrize("bound", [0.0, 1.0, None])
def test_error_bounds_hold_for_any_weight(reg, bound):
    """A multiplier beyond the first eigenvalue leaves the part that all partitions share."""
    X, y = moons(80)
    known = np.arange(0, 80, 2)
    model, _ = fit_quietly(
        MaximumVolumeClustering(reg=reg, response_bound=bound, random_state=0), X
    )
    found = model.error_bound(y[known], known, margin=0.1)
    wrong = min((model.labels_ != y).sum(), (model.labels_ == y).sum())
    most = np.sqrt(2 * 40 / 40) * np.sqrt(80) / 0.1
    assert wrong <= found.total
    assert found.complexity <= most * (1 + 1e-9)


@pytest.mark.parametrize("n_clusters", [1, 3])
def test_stability_and_bounds_are_for_two_clusters(n_clusters):
    X, y = moons(40)
    model = MaximumVolumeClustering(n_clusters, random_state=0).fit(X)
    words = f"is defined for n_clusters=2 only; this estimator has {n_clusters}"
    with pytest.raises(ValueError, match=words):
        model.stability()
    with pytest.raises(ValueError, match=words):
        model.error_bound(y[:20], np.arange(20))
