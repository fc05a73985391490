"""Scores without labels, gaps and links, against their definitions."""

import numpy as np
import pytest
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist, pdist, squareform
from scipy.stats import multivariate_normal
from sklearn.datasets import make_blobs
from sklearn.neighbors import KNeighborsClassifier

from separatrix.selection import validity
from separatrix.selection.validity import chained_labels, gini_index, shortest_links
from separatrix.similarity.graphs import similarity_graph


def test_scores_are_what_they_are_called():
    X, y = make_blobs(60, centers=3, cluster_std=3.0, random_state=1)
    found = validity.scores_of(X, [y], np.random.RandomState(0))
    neighbors, modularity, cut, likelihood, _ = (found[name][0] for name in found)
    halves = np.array_split(np.random.RandomState(0).permutation(60), 2)
    agree = [
        KNeighborsClassifier(10).fit(X[b], y[b]).predict(X[a]) == y[a]
        for a, b in (halves, halves[::-1])
    ]
    assert neighbors == pytest.approx(np.mean(np.concatenate(agree)))
    W = similarity_graph(X, affinity="local", graph="union", n_neighbors=10).W.toarray()
    degrees, together = W.sum(axis=1), y[:, None] == y
    expected = W - np.outer(degrees, degrees) / W.sum()
    assert modularity == pytest.approx((expected * together).sum() / W.sum())
    lost = [W[y == c][:, y != c].sum() / W[y == c].sum() for c in range(3)]
    assert cut == pytest.approx(-sum(lost))
    ridge = validity.RIDGE * X.var(axis=0).mean() * np.eye(2)
    density = [
        multivariate_normal(X[y == c].mean(axis=0), np.cov(X[y == c].T, ddof=0) + ridge).logpdf(
            X[y == c]
        )
        + np.log(np.mean(y == c))
        for c in range(3)
    ]
    assert likelihood == pytest.approx(np.mean(np.concatenate(density)))


def test_scores_do_not_depend_on_the_numbering():
    X, y = make_blobs(60, centers=3, cluster_std=3.0, random_state=1)
    numbered = [y, np.array([2, 0, 1])[y]]
    scores = validity.scores_of(X, numbered, np.random.RandomState(0))
    for name, (a, b) in scores.items():
        assert a == pytest.approx(b, abs=1e-9), name


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
    found = validity.gap_between(y, validity.links_of(X))
    ends, _ = validity.links_of(X)
    apart = (y[ends[:, 0]] != y[ends[:, 1]]).sum() == 1
    assert found == pytest.approx(between / longest if apart else 0.0)
    assert (found > 1) == (distance > 1)


def test_gap_of_special_clusterings():
    X = np.array([[0.0], [0.0], [1.0], [1.0], [5.0], [5.0]])
    links = validity.links_of(X)
    assert validity.gap_between(np.zeros(6, int), links) == 0
    assert validity.gap_between(np.array([0, 0, 1, 1, 2, 2]), links) == np.inf
    assert validity.gap_between(np.array([0, 0, 0, 0, 1, 1]), links) == np.inf
    assert validity.gap_between(np.array([0, 0, 1, 1, 0, 0]), links) == 0  # 0 is in two pieces
    assert np.isnan(validity.gap_between(np.zeros(6, int), None))
    many = np.vstack([np.arange(30.0)[:, None], [[90.0], [90.1]]])
    few = np.repeat([0, 1], [30, 2])  # a pair is no cluster beside thirty
    assert validity.gap_between(few, validity.links_of(many)) == 0


@pytest.mark.parametrize(("n_samples", "n_clusters"), [(20, 2), (50, 3), (100, 2), (300, 6)])
def test_chance_makes_gaps(n_samples, n_clusters):
    """Along a line the cuts at the longest links have a gap above one, but seldom this wide."""
    rng = np.random.default_rng(0)
    gaps = []
    for X in rng.random((100, n_samples, 1)):
        links = validity.links_of(X)
        gaps.append(validity.gap_between(chained_labels(links[0], n_clusters), links))
    assert np.mean(np.greater(gaps, 1)) > 0.2
    assert np.mean(gaps > validity.chance_gap(n_samples, n_clusters)) < 0.1


def test_degenerate_clusterings():
    assert validity.is_degenerate(np.zeros(10, int), 2)
    assert validity.is_degenerate(np.array([0] * 99 + [1]), 2)  # less than a twentieth of 50
    assert not validity.is_degenerate(np.array([0] * 97 + [1] * 3), 2)


def test_links_are_a_shortest_tree():
    X = np.random.default_rng(0).normal(size=(80, 3))
    ends, lengths = shortest_links(X)
    expected = minimum_spanning_tree(squareform(pdist(X))).tocoo()
    assert {frozenset(pair) for pair in ends.tolist()} == {
        frozenset(pair) for pair in zip(expected.row.tolist(), expected.col.tolist(), strict=True)
    }
    np.testing.assert_allclose(lengths, np.sort(expected.data))


def test_equal_samples_are_linked_without_length():
    ends, lengths = shortest_links(np.repeat([[0.0], [1.0]], 3, axis=0))
    np.testing.assert_array_equal(lengths, [0, 0, 0, 0, 1])
    assert len(np.unique(ends)) == 6


def test_gini_index_is_the_mean_difference():
    sizes = np.random.default_rng(0).integers(1, 30, size=9)
    differences = np.abs(sizes[:, None] - sizes).sum() / 2
    assert gini_index(sizes) == pytest.approx(differences / (8 * sizes.sum()))
    assert gini_index(np.array([4, 4, 4])) == 0
    assert gini_index(np.array([7])) == 0
