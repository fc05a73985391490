"""Responses in orthogonal columns: updates never rise, and are the best for their tangent."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from graph_support import random_similarities
from separatrix.result import Progress
from separatrix.similarity.graphs import similarity_graph
from separatrix.similarity.quadratic_forms import LowSpectrum, form_of
from separatrix.solvers.orthogonal_responses import (
    _rotate,
    pivoted_start,
    random_rotation,
    solve_orthogonal,
)
from support import same_partition


def low_spectrum(seed, name="normalized", n=40, n_vectors=12):
    W = random_similarities(np.random.default_rng(seed), n)
    return LowSpectrum.of(form_of(W, name, 0.0), n_vectors)


@pytest.mark.parametrize("name", ["normalized", "unnormalized", "similarity"])
def test_rotations_never_raise_the_objective(name):
    """From each start, whatever the number of updates."""
    n_improved = 0
    for seed in range(8):
        low = low_spectrum(seed, name)
        rng = np.random.RandomState(seed)
        for n_clusters in (3, 4):
            reg = 10 ** rng.uniform(-1, 1.5) / np.ptp(low.values)
            start = random_rotation(len(low.values), n_clusters, rng)
            reached = [_rotate(low, start, reg, max_iter, 0.0)[0] for max_iter in range(1, 12)]
            assert (np.diff(reached) <= 1e-12 * np.abs(reached[1:])).all()
            n_improved += reached[-1] < reached[0] - 1e-6
    assert n_improved > 8


def test_an_update_of_rotations_is_the_best_for_its_tangent():
    """No orthogonal A has tr A'M above the sum of the singular values of M."""
    for seed in range(10):
        low = low_spectrum(seed)
        rng = np.random.RandomState(seed)
        A, reg = (
            random_rotation(len(low.values), 3, rng),
            10 ** rng.uniform(-1, 1.5),
        )
        labels = (low.vectors @ A).argmax(axis=1)
        picked = low.vectors.T @ np.eye(3)[labels]
        # minus half the objective, but for its constant, is tr A'P + reg tr A'(l - L)A / 2
        M = picked + reg * (low.values[-1] - low.values)[:, None] * A
        _, updated, _ = _rotate(low, A, reg, 1, 0.0)
        np.testing.assert_allclose(updated.T @ updated, np.eye(3), atol=1e-12)
        best = np.linalg.svd(M, compute_uv=False).sum()
        assert (updated * M).sum() == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("start", [pivoted_start, None])
def test_starting_rotations_are_orthogonal(start):
    low = low_spectrum(0)
    rng = np.random.RandomState(0)
    for n_clusters in (2, 3, 5):
        if start is None:
            A = random_rotation(len(low.values), n_clusters, rng)
        else:
            A = start(low, n_clusters)
        np.testing.assert_allclose(A.T @ A, np.eye(n_clusters), atol=1e-12)


def test_two_rotated_clusters_are_those_of_two_responses():
    """The orthogonal form and the two-sided one see the same groups."""
    X, y = make_blobs([30, 20], centers=[[0, 0], [9, 0]], random_state=0)
    graph = similarity_graph(X, affinity="local", graph="union", n_neighbors=10)
    low = LowSpectrum.of(form_of(graph.W, "normalized", graph.own), 9)
    result = solve_orthogonal(
        low,
        2,
        reg=10.0,
        n_random=5,
        max_iter=50,
        tol=0.0,
        progress=Progress(),
        rng=np.random.RandomState(0),
    )
    assert same_partition(result.labels, y)
