"""Gaps between clusters against distances, and how wide they are by chance."""

import numpy as np
import pytest
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist, pdist, squareform

from separatrix.selection.gaps import chance_gap, gap_between, is_degenerate, lie_apart
from separatrix.similarity.spanning_trees import joined_labels, spanning_tree


@pytest.mark.parametrize("distance", [0.5, 3.0, 8.0])
def test_gap_is_the_distance_of_clusters_in_their_own_steps(distance):
    """Two clusters: their least distance over the longest step of the tighter one's own tree."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) * np.repeat([[1.0], [0.3]], 30, axis=0)
    X[30:, 0] += distance
    y = np.repeat([0, 1], 30)
    between = cdist(X[:30], X[30:]).min()
    longest = min(
        minimum_spanning_tree(squareform(pdist(part))).max() for part in (X[:30], X[30:])
    )
    tree = spanning_tree(X)
    apart = (y[tree.ends[:, 0]] != y[tree.ends[:, 1]]).sum() == 1
    found = gap_between(y, tree)
    assert found == pytest.approx(between / longest if apart else 0.0)
    assert (found > 1) == (distance > 1)


def test_gap_of_special_clusterings():
    tree = spanning_tree(np.array([[0.0], [0.0], [1.0], [1.0], [5.0], [5.0]]))
    assert gap_between(np.zeros(6, int), tree) == 0
    assert gap_between(np.array([0, 0, 1, 1, 2, 2]), tree) == np.inf
    assert gap_between(np.array([0, 0, 0, 0, 1, 1]), tree) == np.inf
    assert gap_between(np.array([0, 0, 1, 1, 0, 0]), tree) == 0  # 0 is in two pieces
    assert gap_between(np.array([0, 1, 0, 0, 1, 1]), tree) == 0  # copies in different clusters
    many = np.vstack([np.arange(30.0)[:, None], [[90.0], [90.1]]])
    few = np.repeat([0, 1], [30, 2])  # a pair is no cluster beside thirty
    assert gap_between(few, spanning_tree(many)) == 0
    assert gap_between(np.repeat([0, 1], [16, 16]), spanning_tree(many)) == 1


def test_gap_of_equal_samples_is_none():
    assert gap_between(np.repeat([0, 1], 4), spanning_tree(np.zeros((8, 2)))) == 0


@pytest.mark.parametrize(("n_samples", "n_clusters"), [(20, 2), (50, 3), (100, 2), (300, 6)])
def test_chance_makes_gaps(n_samples, n_clusters):
    """Along a line the cuts at the longest links have a gap above one, but seldom this wide."""
    rng = np.random.default_rng(0)
    gaps = []
    for X in rng.random((100, n_samples, 1)):
        tree = spanning_tree(X)
        gaps.append(gap_between(joined_labels(tree, n_clusters, unevenness=0.3), tree))
    assert np.mean(np.greater(gaps, 1)) > 0.2
    assert np.mean(gaps > chance_gap(n_samples, n_clusters)) < 0.1


def test_chance_gap_of_tiny_clusters_is_beyond_all_gaps():
    assert chance_gap(6, 3) == np.inf
    assert 1 < chance_gap(10_000, 2) < chance_gap(100, 2) < np.inf


def test_clusters_lie_apart_if_they_are_usable_and_have_a_gap():
    gaps, usable = np.array([0.0, 1.0, 1.5, np.inf, 2.0]), np.array([1, 1, 1, 1, 0], dtype=bool)
    np.testing.assert_array_equal(lie_apart(gaps, usable), [False, False, True, True, False])
    assert lie_apart(1.5)


def test_degenerate_clusterings():
    assert is_degenerate(np.zeros(10, int), 2)
    assert is_degenerate(np.array([0] * 99 + [1]), 2)  # less than a twentieth of 50
    assert not is_degenerate(np.array([0] * 97 + [1] * 3), 2)
