"""Neighbours, graphs, trees and spectra of samples against dense matrices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist
from scipy.stats import norm

from separatrix.similarity import geometry as module
from separatrix.similarity.geometry import N_CORE, N_LINKED, N_SEARCHED, N_SHARED, RIDGE, Geometry
from separatrix.similarity.graphs import joined_components, similarity_graph
from support import correlated_groups, groups


def far_groups(n=90, n_groups=3):
    """Groups so far from each other that no graph of neighbours connects them."""
    X = groups(1, n=n, n_groups=n_groups, apart=60.0)
    distances = cdist(X, X)
    member = np.unique((distances < 20).argmax(axis=1), return_inverse=True)[1]
    assert len(np.unique(member)) == n_groups
    assert np.bincount(member).min() > N_SHARED
    return X - X.mean(axis=0), member


def dense_embedding(W, n_vectors):
    """First eigenvectors of the normalised Laplacian of a connected graph, rows of length one."""
    W = W.toarray()
    roots = np.sqrt(W.sum(axis=1))
    vectors = np.linalg.eigh(np.eye(len(W)) - W / np.outer(roots, roots))[1][:, :n_vectors]
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def assert_same_places(a, b, atol):
    """Embeddings are equal but for a rotation."""
    np.testing.assert_allclose(a @ a.T, b @ b.T, atol=atol)


# --- neighbours and graphs ----------------------------------------------------------------------


@pytest.mark.parametrize("n_features", [3, 9])  # by a tree, and by all distances
def test_neighbors_are_the_nearest_others(n_features):
    X = groups(d=n_features)
    found = Geometry(X)
    distances = cdist(X, X)
    np.fill_diagonal(distances, np.inf)
    order = np.argsort(distances, axis=1)[:, :N_SEARCHED]
    np.testing.assert_array_equal(found.neighbors, order)
    expected = np.take_along_axis(distances, order, axis=1)
    np.testing.assert_allclose(found.distances, expected, atol=1e-7)


def test_graph_is_that_of_local_scales():
    X = groups(n=80)
    expected = similarity_graph(X, affinity="local", graph="union", n_neighbors=N_LINKED).W
    np.testing.assert_allclose(Geometry(X).graph.toarray(), expected.toarray(), atol=1e-9)


def test_shared_graph_counts_common_neighbors():
    X = groups(n=80)
    order = np.argsort(cdist(X, X), axis=1)[:, : N_SHARED + 1]  # each sample is its own nearest
    near = [set(row) for row in order.tolist()]
    expected = np.zeros((80, 80))
    for i in range(80):
        for j in near[i] - {i}:
            share = len(near[i] & near[j]) / len(near[i] | near[j])
            expected[i, j] = expected[j, i] = share
    np.testing.assert_allclose(Geometry(X).shared_graph.toarray(), expected, atol=1e-12)


def test_copies_are_as_near_as_can_be():
    """Ten copies leave no reach; the graph takes the least distance there is instead."""
    X = np.repeat(np.array([[0.0, 0.0], [1.0, 0.0], [9.0, 9.0]]), 12, axis=0)
    W = Geometry(X).graph
    which = np.repeat(np.arange(3), 12)
    i, j = W.nonzero()
    assert np.all(which[i] == which[j])
    np.testing.assert_array_equal(W.data, 1.0)


# --- trees --------------------------------------------------------------------------------------


def test_trees_are_minimal():
    X = groups(n=70)
    distances = cdist(X, X)
    radii = np.sort(distances, axis=1)[:, N_CORE]
    reachable = np.maximum(distances, np.maximum(radii[:, None], radii))
    found = Geometry(X)
    for tree, lengths in ((found.tree, distances), (found.core_tree, reachable)):
        expected = np.sort(minimum_spanning_tree(lengths).data)
        np.testing.assert_allclose(tree.lengths, expected, rtol=1e-9)


def test_embedding_tree_is_that_of_the_embedding():
    found = Geometry(groups(n=70))
    places = found.embedding(3, "shared_graph")
    expected = np.sort(minimum_spanning_tree(cdist(places, places)).data)
    np.testing.assert_allclose(found.embedding_tree(3).lengths, expected, rtol=1e-9)


# --- other features -----------------------------------------------------------------------------


def test_whitened_features_are_uncorrelated():
    """Each variance v becomes v / (v + ridge), so that features of little variance stay small."""
    X = correlated_groups(0, n=80)
    values = np.linalg.eigvalsh(np.cov(X.T, ddof=0))
    covariance = np.cov(Geometry(X).whitened.X.T, ddof=0)
    expected = values / (values + RIDGE * values.mean())
    np.testing.assert_allclose(covariance, np.diag(expected), atol=1e-9)


def test_whitened_distances_forget_a_turn_and_almost_a_stretch():
    X = correlated_groups(0, n=80)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    whitened = [Geometry(rows).whitened.X for rows in (X, X @ turn, X @ np.diag([3, 1, 1, 1]))]
    same, turned, stretched = (cdist(rows, rows) for rows in whitened)
    np.testing.assert_allclose(turned, same, atol=1e-9)
    plain = cdist(X, X) / X.std()
    changed = cdist(X @ np.diag([3, 1, 1, 1]), X @ np.diag([3, 1, 1, 1])) / X.std()
    assert np.abs(stretched - same).max() < 0.2 * np.abs(changed - plain).max()


def test_normal_scores_are_quantiles_of_ranks():
    X = np.random.default_rng(0).integers(0, 6, size=(40, 2)).astype(float)
    expected = np.empty_like(X)
    for column, scores in zip(X.T, expected.T, strict=True):
        for i, value in enumerate(column):
            below, equal = (column < value).sum(), (column == value).sum()
            scores[i] = norm.ppf((below + equal / 2) / len(column))
    np.testing.assert_allclose(Geometry(X).normal_scores, expected, atol=1e-12)
    curved = Geometry(np.exp(X)).normal_scores  # units do not matter
    np.testing.assert_array_equal(curved, Geometry(X).normal_scores)


# --- embeddings ---------------------------------------------------------------------------------


@pytest.mark.parametrize("graph", ["graph", "shared_graph"])
@pytest.mark.parametrize(("n", "atol"), [(90, 1e-6), (700, 0.05)])  # dense, and by refinement
def test_embedding_is_that_of_the_dense_laplacian(graph, n, atol):
    X = groups(3, n=n, n_groups=4)
    found = Geometry(X)
    W = joined_components(getattr(found, graph))
    places = found.embedding(4, graph)
    np.testing.assert_allclose(np.linalg.norm(places, axis=1), 1)
    assert_same_places(places, dense_embedding(W, 4), atol)


def test_embedding_of_parts_puts_each_in_one_place():
    """As many vectors as there are parts: equal within a part, orthogonal between parts."""
    X, member = far_groups()
    for graph in ("graph", "shared_graph"):
        places = Geometry(X).embedding(3, graph)
        same = (member[:, None] == member).astype(float)
        np.testing.assert_allclose(places @ places.T, same, atol=1e-3)


@pytest.mark.parametrize("n", [90, 700])
def test_vectors_found_before_are_used_again(n):
    X = groups(3, n=n, n_groups=4)
    after, alone = Geometry(X), Geometry(X)
    after.embedding(6, "graph")
    for n_vectors in (1, 2, 4):
        a, b = after.embedding(n_vectors, "graph"), alone.embedding(n_vectors, "graph")
        assert a.shape == b.shape == (n, n_vectors)
        assert_same_places(a, b, 1e-6 if n == 90 else 0.05)


def test_prepared_geometry_computes_no_more_spectra_and_trees(monkeypatch):
    found = Geometry(groups(n=60))
    found.prepare(4)

    def refuse(*args, **kwargs):
        raise AssertionError("computed again")

    for name in ("GraphHierarchy", "spanning_tree", "nearest_search", "rankdata"):
        monkeypatch.setattr(module, name, refuse)
    assert found.embedding(4, "graph").shape == (60, 4)
    assert found.whitened.embedding(2, "shared_graph").shape == (60, 2)
    assert found.embedding_tree(4).n_samples == found.core_tree.n_samples == 60
    with pytest.raises(AssertionError, match="computed again"):
        found.embedding(5, "graph")


# --- few samples, equal samples -----------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(
    n=st.integers(2, 14),
    n_features=st.integers(1, 3),
    n_values=st.integers(1, 4),
    seed=st.integers(0, 1_000),
)
def test_few_and_equal_samples_have_a_geometry(n, n_features, n_values, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, n_values, size=(n, n_features)).astype(float)
    found = Geometry(X - X.mean(axis=0))
    found.prepare(3)
    for geometry in (found, found.whitened):
        for W in (geometry.graph, geometry.shared_graph):
            assert (W != W.T).nnz == 0
            assert np.all((W.data > 0) & (W.data <= 1))
        assert not geometry.graph.diagonal().any()
        for n_vectors in (1, 2, 5):
            for graph in ("graph", "shared_graph"):
                places = geometry.embedding(n_vectors, graph)
                assert places.shape == (n, min(n_vectors, n))
                assert np.isfinite(places).all()
        for tree in (geometry.tree, geometry.core_tree):
            assert tree.n_samples == n
            assert np.isfinite(tree.lengths).all()
    assert np.isfinite(found.normal_scores).all()
    assert found.tree.lengths.any() == (len(np.unique(X, axis=0)) > 1)
