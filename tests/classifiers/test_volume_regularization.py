"""Approximate volume regularization against its own equations, (25) and (26) of the paper."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons

from separatrix import ApproximateVolumeRegularization
from separatrix.similarity import quadratic_forms
from separatrix.similarity.quadratic_forms import form_of

UNKNOWN = -1


def few_labels(y, n_known, seed=0):
    """Labels of some samples of each class, the others unknown."""
    rng = np.random.default_rng(seed)
    few = np.full(len(y), UNKNOWN)
    for label in np.unique(y):
        members = rng.permutation(np.flatnonzero(y == label))[:n_known]
        few[members] = label
    return few


def small_problem(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((9, 2))
    y = np.array([0, 1, 1, -1, -1, -1, 0, -1, -1])
    return X, y


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("reg", "radius"), [(1.0, 1.0), (0.05, 2.0), (30.0, 0.3)])
def test_responses_solve_the_problem(seed, reg, radius):
    X, y = small_problem(seed)
    model = ApproximateVolumeRegularization(
        affinity="rbf", graph="full", reg=reg, radius=radius, unlabeled=UNKNOWN
    ).fit(X, y)
    h, m = model.response_, 4
    signs = np.where(y == UNKNOWN, 0, 2 * y - 1)
    Q = form_of(model._model.graph.W, "normalized", 1.0).Q
    # optimality
    eta = float(h @ (reg * Q @ h - signs / (2 * m)) / (h @ h))
    np.testing.assert_allclose(-signs / m + 2 * reg * Q @ h - 2 * eta * h, 0, atol=1e-10)
    assert np.linalg.norm(h) == pytest.approx(radius)
    # the secular equation (26), at a multiplier below the spectrum: the global minimum
    values, V = np.linalg.eigh(Q)
    assert eta <= reg * values[0] + 1e-12
    parts = (V.T @ signs) / (reg * values - eta)
    assert (parts @ parts) / (4 * m**2) == pytest.approx(radius**2)

    def objective(h):
        return -(signs @ h) / m + reg * np.sum(h * (Q @ h), axis=0)

    others = np.random.default_rng(seed).standard_normal((9, 20_000))
    others *= radius / np.linalg.norm(others, axis=0)
    assert objective(h) <= objective(others).min() + 1e-12


def test_only_the_product_of_weight_and_radius_matters():
    X, y = make_moons(120, noise=0.1, random_state=0)
    few = few_labels(y, 3)
    fits = [
        ApproximateVolumeRegularization(reg=reg, radius=radius, unlabeled=UNKNOWN).fit(X, few)
        for reg, radius in ((2.0, 1.0), (0.5, 4.0), (20.0, 0.1))
    ]
    for model, radius in zip(fits, (1.0, 4.0, 0.1), strict=True):
        np.testing.assert_allclose(model.response_ / radius, fits[0].response_, atol=1e-10)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_one_label_of_each_class_is_enough_for_clear_clusters(n_classes):
    X, y = make_blobs(200, centers=n_classes, cluster_std=0.3, random_state=1)
    few = few_labels(y, 1)
    model = ApproximateVolumeRegularization(unlabeled=UNKNOWN).fit(X, few)
    np.testing.assert_array_equal(model.transduction_, y)
    np.testing.assert_array_equal(model.predict(X), y)
    np.testing.assert_array_equal(model.decision_function(X), model.response_)
    new, y_new = make_blobs(100, centers=n_classes, cluster_std=0.3, random_state=1)
    np.testing.assert_array_equal(model.predict(new + 0.01), y_new)


def test_labels_may_be_words():
    X, y = make_moons(100, noise=0.05, random_state=0)
    words = np.array(["?", "left", "right"])[few_labels(y, 4) + 1]
    model = ApproximateVolumeRegularization(unlabeled="?").fit(X, words)
    assert list(model.classes_) == ["left", "right"]
    np.testing.assert_array_equal(model.transduction_, np.array(["left", "right"])[y])


@pytest.mark.parametrize("matrix", ["normalized", "unnormalized"])
def test_multigrid_gives_the_same_responses(monkeypatch, matrix):
    X, y = make_moons(400, noise=0.08, random_state=0)
    few = few_labels(y, 5)
    model = ApproximateVolumeRegularization(matrix=matrix, unlabeled=UNKNOWN)
    dense = model.fit(X, few).response_
    monkeypatch.setattr(quadratic_forms, "DENSE_SAMPLES", 3)
    sparse = model.fit(X, few).response_
    cosine = dense @ sparse / (np.linalg.norm(dense) * np.linalg.norm(sparse))
    assert cosine > 1 - 1e-4
    assert np.mean((dense > 0) != (sparse > 0)) < 0.01


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.full(20, UNKNOWN), "at least 2 classes, got 0"),
        (np.r_[np.zeros(5), np.full(15, UNKNOWN)], "at least 2 classes, got 1 class in 5"),
        (np.r_[0, 1], "y has 2 samples but X has 20"),
        (None, "requires y to be passed"),
    ],
)
def test_unusable_labels(y, message):
    X = np.random.default_rng(0).standard_normal((20, 2))
    with pytest.raises(ValueError, match=message):
        ApproximateVolumeRegularization(unlabeled=UNKNOWN).fit(X, y)


def test_isolated_samples_are_reported_where_fit_is_called():
    X, y = make_moons(40, noise=0.05, random_state=0)
    W = ApproximateVolumeRegularization().fit(X, y)._model.graph.W.toarray()
    W[3] = W[:, 3] = 0.0
    with pytest.warns(UserWarning, match="1 of 40 samples are not similar to any other") as caught:
        ApproximateVolumeRegularization(affinity="precomputed").fit(W, y)
    assert [warning.filename for warning in caught] == [__file__]
