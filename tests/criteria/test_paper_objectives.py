"""`objective_` against the papers' formulas, computed with NumPy from labels and responses."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons

from separatrix import (
    GeneralizedMarginClustering,
    HardMaximumVolumeClustering,
    MaximumVolumeClustering,
    SemidefiniteMarginClustering,
    SquaredLossMutualInformationClustering,
)

# Two groups far apart: there the relaxations are exact, and bound otherwise.
APART = make_blobs([12, 14], centers=[[0, 0], [30, 0]], cluster_std=0.3, random_state=0)[0]
MOONS = make_moons(40, noise=0.1, random_state=0)[0]
GAMMA = 0.5


def gaussian(X):
    return np.exp(-GAMMA * ((X[:, None] - X) ** 2).sum(axis=2))


def signs_of(labels):
    return 2.0 * labels - 1


def ascended(N, upper, project=lambda a: a, n_steps=20_000):
    """Largest 2 sum(a) - a'Na over 0 <= a <= upper, and what `project` asks, by gradients."""
    step = 1 / (2 * np.linalg.eigvalsh(N)[-1])
    a = np.zeros(len(N))
    for _ in range(n_steps):
        new = project(np.clip(a + step * (2 - 2 * N @ a), 0, upper))
        if np.abs(new - a).max() < 1e-13:
            break
        a = new
    return 2 * a.sum() - a @ N @ a


@pytest.mark.parametrize(
    ("matrix", "bound"),
    # without a bound, a Laplacian has one cluster
    [("normalized", 0.0), ("normalized", 0.2), ("unnormalized", 0.2), ("similarity", None)],
)
def test_soft_volume(matrix, bound):
    """(4): -2 |h|_1 + gamma h'Qh for |h|_2 = 1 and |1'h| <= b."""
    W, n = gaussian(MOONS), len(MOONS)
    degrees = W.sum(axis=1)
    Q = {
        "normalized": np.eye(n) - W / np.sqrt(np.outer(degrees, degrees)) + np.eye(n) / n,
        "unnormalized": np.diag(degrees) - W + 1e-6 * degrees.mean() * np.eye(n),
        "similarity": W + np.eye(n) / n,
    }[matrix]
    model = MaximumVolumeClustering(
        matrix=matrix, affinity="rbf", gamma=GAMMA, graph="full", response_bound=bound, reg=3.0
    ).fit(MOONS)
    h = model.response_
    assert np.linalg.norm(h) == pytest.approx(1)
    if bound is not None:
        assert abs(h.sum()) <= bound + 1e-9
    assert model.objective_ == pytest.approx(-2 * np.abs(h).sum() + 3.0 * h @ Q @ h)
    np.testing.assert_array_equal(model.labels_, h > 0)


def hard_volume_value(X, labels, reg):
    """(11) for labels, with eta no more than gamma times the least eigenvalue of Q."""
    Q = gaussian(X) + np.eye(len(X)) / len(X)
    lowest = np.linalg.eigvalsh(Q)[0]
    N = reg * (Q - lowest * np.eye(len(Q))) * np.outer(signs_of(labels), signs_of(labels))

    def shorter(a):
        return a / max(np.linalg.norm(a), 1.0)

    return ascended(N, 1.0, shorter) - reg * lowest


def margin_value(X, labels, C):
    """(22) for labels: twice the machine of a kernel, without an offset."""
    return ascended(gaussian(X) * np.outer(signs_of(labels), signs_of(labels)), C)


def generalized_value(X, labels, sum_penalty):
    """(23) for labels: the least w'Ww with values y_i w_i >= 1, by its dual.

    Its kernel is lifted by I/n, and the last row and column of W, the offset, are eliminated.
    """
    n = len(X)
    inverse = np.linalg.inv(gaussian(X) + np.eye(n) / n)
    ones = inverse.sum(axis=1)
    W = inverse - np.outer(ones, ones) / ones.sum() + sum_penalty
    return ascended(np.linalg.inv(W) * np.outer(signs_of(labels), signs_of(labels)), np.inf)


@pytest.mark.parametrize(
    ("model", "value"),
    [
        (
            HardMaximumVolumeClustering(affinity="rbf", gamma=GAMMA, graph="full", reg=0.05),
            lambda X, labels: hard_volume_value(X, labels, 0.05),
        ),
        (
            SemidefiniteMarginClustering(gamma=GAMMA, C=0.7),
            lambda X, labels: margin_value(X, labels, 0.7),
        ),
        (
            GeneralizedMarginClustering(gamma=GAMMA, C=1e3, sum_penalty=10.0),
            lambda X, labels: generalized_value(X, labels, 10.0),
        ),
    ],
    ids=["hard volume", "margin", "generalized margin"],
)
def test_relaxations(model, value):
    """The objective bounds that of the labels, and equals it where the relaxation is exact."""
    model.fit(APART)
    assert len(set(zip(model.labels_, APART[:, 0] > 15, strict=True))) == 2
    assert model.objective_ == pytest.approx(value(APART, model.labels_), rel=2e-3)
    model.fit(MOONS)
    assert model.objective_ * (1 - model.gap_) <= value(MOONS, model.labels_) * (1 + 1e-6)


@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("normalize", [True, False])
def test_mutual_information(n_clusters, normalize):
    """(16): c / (2n) sum_y a_y'K^2a_y - 1/2 for the weights that the probabilities have."""
    X = APART if n_clusters == 2 else np.concatenate([APART, APART + [0, 30]])
    K, roots = gaussian(X), np.ones(len(X))
    if normalize:
        roots = np.sqrt(K.sum(axis=1))
        K = K / np.outer(roots, roots)
    model = SquaredLossMutualInformationClustering(
        n_clusters, affinity="rbf", gamma=GAMMA, normalize=normalize
    ).fit(X)
    alpha = roots[:, None] * model._model.coef[model._model.graph.place]
    alpha /= np.linalg.norm(alpha, axis=0)
    np.testing.assert_allclose(alpha.T @ alpha, np.eye(n_clusters), atol=1e-8)
    information = n_clusters / (2 * len(X)) * np.trace(alpha.T @ K @ K @ alpha) - 0.5
    assert model.objective_ == pytest.approx(information)
