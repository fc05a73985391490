"""Responses in orthogonal columns: updates never rise, and are the best for their tangent."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from graph_support import random_similarities
from separatrix.result import Progress
from separatrix.similarity.graphs import similarity_graph
from separatrix.similarity.quadratic_forms import LowSpectrum, form_of
from separatrix.solvers import orthogonal_responses
from separatrix.solvers.orthogonal_responses import (
    _rotate,
    pivoted_start,
    promising,
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
            reached = [
                _rotate(low, low.form.roots, start, reg, max_iter, 0.0)[0]
                for max_iter in range(1, 12)
            ]
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
        _, updated, _ = _rotate(low, low.form.roots, A, reg, 1, 0.0)
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


def test_promising_starts_are_the_best_after_some_updates():
    """On so few nodes, the part on which they are tried is all of them."""
    low, rng = low_spectrum(1, n=60), np.random.RandomState(0)
    starts = [random_rotation(len(low.values), 4, rng) for _ in range(12)]
    runs = [
        _rotate(low, low.form.roots, A, 5.0, orthogonal_responses.SCREENING_UPDATES, 0.0)
        for A in starts
    ]
    best = sorted(runs, key=lambda run: run[0])[: orthogonal_responses.PROMISING_STARTS]
    found = promising(starts, low, 5.0, 0.0)
    for A, (_, expected, _) in zip(found, best, strict=True):
        np.testing.assert_allclose(A, expected, atol=1e-12)


def test_a_part_of_the_nodes_finds_as_good_responses(monkeypatch):
    """Of many clusters on a large graph, only promising starts go over all nodes."""
    X, _ = make_blobs(600, centers=12, cluster_std=0.4, random_state=3)
    graph = similarity_graph(X, affinity="local", graph="union", n_neighbors=10)
    low = LowSpectrum.of(form_of(graph.W, "normalized", graph.own), 32)

    def solved():
        options = {"reg": 50.0, "n_random": 8, "max_iter": 50, "tol": 0.0}
        rng = np.random.RandomState(0)
        return solve_orthogonal(low, 12, progress=Progress(), rng=rng, **options)

    thorough = solved()
    monkeypatch.setattr(orthogonal_responses, "MANY_PRODUCTS", 0)
    monkeypatch.setattr(orthogonal_responses, "SCREENING_NODES", 200)
    screened = solved()
    assert thorough.n_iter == 9
    assert screened.n_iter == 1 + orthogonal_responses.PROMISING_STARTS
    assert screened.objective <= thorough.objective + 0.01 * abs(thorough.objective)


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
