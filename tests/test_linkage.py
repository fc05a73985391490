"""Linkage and its links, against scipy and the definitions."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from separatrix.selection.linkage import GiniLinkage, gini_index, shortest_links


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


@pytest.mark.parametrize("n_clusters", [1, 2, 5, 40])
def test_without_a_limit_it_is_single_linkage(n_clusters):
    X = np.random.default_rng(1).normal(size=(40, 2))
    found = GiniLinkage(n_clusters, unevenness=1.0).fit_predict(X)
    expected = fcluster(linkage(X, "single"), n_clusters, criterion="maxclust")
    assert adjusted_rand_score(expected, found) == 1
    assert len(np.unique(found)) == n_clusters


def test_the_smallest_cluster_is_joined_while_sizes_are_uneven():
    """Two clouds and far samples, of which single linkage makes clusters of their own."""
    X, y = make_blobs([60, 60], centers=[[0, 0], [7, 0]], random_state=0)
    far = np.array([[0.0, 20.0], [7.0, -30.0]])
    single = GiniLinkage(2, unevenness=1.0).fit_predict(np.vstack([X, far]))
    assert np.bincount(single).min() == 1
    guarded = GiniLinkage(2).fit_predict(np.vstack([X, far]))
    assert adjusted_rand_score(y, guarded[:120]) == 1
