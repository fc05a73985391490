"""Neighbours, graphs and spectra of arrays on devices, beside those of the host."""

import numpy as np
import pytest
from scipy.linalg import eigh
from sklearn import config_context

from separatrix._sklearn import namespace_of
from separatrix.data.ordering import are_distinct
from separatrix.similarity import device_search
from separatrix.similarity.device_graphs import DeviceGraph
from separatrix.similarity.device_search import BlockedSearch, smallest, tiled
from separatrix.similarity.device_spectra import DeviceLaplacian
from separatrix.similarity.graphs import similarity_graph
from separatrix.similarity.quadratic_forms import form_of


@pytest.fixture(params=["array_api_strict", "torch"])
def xp(request):
    library = pytest.importorskip(request.param)
    with config_context(array_api_dispatch=True):
        yield library


def rows_of(n_rows, n_features=3, dtype=np.float64, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, n_features)).astype(dtype)


def brute(A, B):
    return np.linalg.norm(A[:, None].astype(np.float64) - B.astype(np.float64), axis=2)


@pytest.mark.parametrize("width", [5, 60, 700])
def test_the_smallest_values_are_found_through_tiles_of_tiles(xp, monkeypatch, width):
    monkeypatch.setattr(device_search, "NARROW", 8)
    monkeypatch.setattr(device_search, "TILE", 4)
    padded = tiled(width)
    values = np.full((30, padded), np.inf)
    values[:, :width] = np.random.default_rng(0).integers(0, 50, (30, width))  # with ties
    values_there = xp.asarray(values)
    found = np.asarray(smallest(namespace_of(values_there)[0], values_there, 5))
    taken = np.sort(np.take_along_axis(values, found, axis=1), axis=1)
    np.testing.assert_array_equal(taken, np.sort(values, axis=1)[:, :5])
    assert all(len(set(row)) == 5 for row in found.tolist())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbours_are_those_of_all_distances(xp, monkeypatch, dtype):
    """Far from the origin, too, in blocks of a few rows."""
    monkeypatch.setattr(device_search, "BLOCK_ON_CPU", 2_000)
    rows, new = rows_of(300, dtype=dtype) + dtype(50), rows_of(40, dtype=dtype, seed=1) + dtype(50)
    search = BlockedSearch(xp.asarray(rows))
    neighbors, distances = map(np.asarray, search.others(6))
    expected = brute(rows, rows)
    np.fill_diagonal(expected, np.inf)
    np.testing.assert_array_equal(neighbors, np.argsort(expected, axis=1)[:, :6])
    np.testing.assert_allclose(distances, np.sort(expected, axis=1)[:, :6], rtol=1e-12)
    neighbors, distances = map(np.asarray, search.nearest(xp.asarray(new), 4))
    np.testing.assert_array_equal(neighbors, np.argsort(brute(new, rows), axis=1)[:, :4])


def test_fewer_rows_than_neighbours(xp):
    search = BlockedSearch(xp.asarray(rows_of(3)))
    neighbors, distances = search.nearest(search.rows, 3)
    assert neighbors.shape == distances.shape == (3, 3)
    assert (np.sort(np.asarray(neighbors), axis=1) == [0, 1, 2]).all()


@pytest.mark.parametrize("unit", [1.0, 1e200, 1e-200])
def test_the_graph_is_that_of_the_host(xp, unit):
    X = unit * rows_of(200)
    graph = DeviceGraph.of(xp.asarray(X), 7)
    host = similarity_graph(X, affinity="local", graph="union", n_neighbors=7)
    W = graph.W.to_scipy()
    np.testing.assert_array_equal(W.indptr, host.W.indptr)
    np.testing.assert_array_equal(W.indices, host.W.indices)
    np.testing.assert_allclose(W.data, host.W.data, rtol=1e-10)
    np.testing.assert_allclose(np.asarray(graph.W.sums), host.W.sum(axis=1), rtol=1e-12)
    assert graph.n_isolated == 0
    x = rows_of(200, 2, seed=1)
    np.testing.assert_allclose(np.asarray(graph.W @ xp.asarray(x)), host.W @ x, atol=1e-12)


def test_graphs_of_several_numbers_share_a_search(xp):
    X = xp.asarray(rows_of(200))
    graphs = list(DeviceGraph.several(X, [9, 4, 6]))
    assert len({id(graph.search) for graph in graphs}) == 1
    for number, graph in zip((9, 4, 6), graphs, strict=True):
        expected = DeviceGraph.of(X, number)
        assert graph.n_neighbors == number
        assert (graph.W.to_scipy() != expected.W.to_scipy()).nnz == 0
        np.testing.assert_array_equal(np.asarray(graph.sigma), np.asarray(expected.sigma))


def test_similarities_of_new_samples_are_those_of_the_host(xp):
    X, new = rows_of(200), rows_of(30, seed=1)
    graph = DeviceGraph.of(xp.asarray(X), 7)
    host = similarity_graph(X, affinity="local", graph="union", n_neighbors=7)
    nearest, is_known, similarities = graph.known_and_new(xp.asarray(np.vstack([new, X[:5]])))
    np.testing.assert_array_equal(np.asarray(is_known), [False] * 30 + [True] * 5)
    np.testing.assert_array_equal(np.asarray(nearest)[30:], np.arange(5))
    x, expected = rows_of(200, 2, seed=2), host.to_new(new)
    np.testing.assert_allclose(np.asarray(similarities @ xp.asarray(x))[:30], expected @ x)
    np.testing.assert_allclose(np.asarray(similarities.sums)[:30], expected.sum(axis=1))


@pytest.mark.parametrize("name", ["normalized", "unnormalized"])
def test_forms_are_those_of_the_host(xp, name):
    X, new = rows_of(200), rows_of(30, seed=1)
    graph = DeviceGraph.of(xp.asarray(X), 7)
    host = similarity_graph(X, affinity="local", graph="union", n_neighbors=7)
    form, expected = (form_of(one.W, name, 0.0) for one in (graph, host))
    assert form.lift == pytest.approx(expected.lift)
    assert form.mean_eigenvalue == pytest.approx(expected.mean_eigenvalue)
    h = rows_of(200, 1, seed=2)[:, 0]
    np.testing.assert_allclose(np.asarray(form.product(xp.asarray(h))), expected.Q @ h, atol=1e-12)
    np.testing.assert_allclose(form.Q.toarray(), expected.Q.toarray(), atol=1e-12)
    _, _, similarities = graph.known_and_new(xp.asarray(new))
    rows, diagonal = form.to_new(similarities)
    expected_rows, expected_diagonal = expected.to_new(host.to_new(new))
    np.testing.assert_allclose(np.asarray(rows @ xp.asarray(h)), expected_rows @ h, atol=1e-12)
    np.testing.assert_allclose(np.asarray(diagonal), expected_diagonal)


@pytest.mark.parametrize("name", ["normalized", "unnormalized"])
@pytest.mark.parametrize("n_parts", [1, 2, 15])
def test_eigenpairs_and_systems_are_those_of_dense_algebra(xp, name, n_parts):
    X = rows_of(300)
    X[:, 0] += 100 * (np.arange(300) % n_parts)  # a graph in so many parts
    form = form_of(DeviceGraph.of(xp.asarray(X), 7).W, name, 0.0)
    laplacian, L = DeviceLaplacian(form), form.Q.toarray() - form.lift * np.eye(300)
    expected = eigh(L, eigvals_only=True)
    values, vectors = laplacian.eigenpairs(6, tol=1e-4)
    vectors = np.asarray(vectors)
    np.testing.assert_allclose(values, expected[1:7], rtol=1e-6, atol=1e-9 * expected[-1])
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(6), atol=1e-9)
    np.testing.assert_allclose(L @ vectors, vectors * values, atol=1e-3 * max(expected[7], 1e-9))
    rhs = rows_of(300, 1, seed=1)[:, 0]
    for shift in (0.01, 1.0):
        for start in (None, xp.asarray(rhs)):
            x = np.asarray(laplacian.solve(xp.asarray(rhs), shift, start=start, tol=1e-10))
            np.testing.assert_allclose(L @ x + shift * x, rhs, atol=1e-8)
    np.testing.assert_allclose(np.asarray(laplacian.matvec(xp.asarray(rhs))), L @ rhs, atol=1e-12)


def test_equal_rows_are_noticed(xp):
    X = rows_of(50)
    assert are_distinct(xp.asarray(X))
    X[40] = X[3]
    assert not are_distinct(xp.asarray(X))
    # rows that share the combination by which they are ordered, yet differ
    assert are_distinct(xp.asarray(np.array([[1.0, 1e-300], [1.0, 0.0], [1.0, -1e-300]])))
