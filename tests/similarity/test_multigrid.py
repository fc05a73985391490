"""Graph Laplacians by multigrid against dense linear algebra, kernels against plain twins."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import solve_triangular
from scipy.sparse.csgraph import breadth_first_order
from scipy.spatial import cKDTree

from separatrix.similarity import multigrid
from separatrix.similarity.multigrid import GraphHierarchy


def neighbour_graph(n_nodes, n_features=2, n_neighbors=10, seed=0):
    X = np.random.default_rng(seed).standard_normal((n_nodes, n_features))
    X[: n_nodes // 2, 0] += 4
    distances, neighbours = cKDTree(X).query(X, n_neighbors + 1)
    rows, columns = np.repeat(np.arange(n_nodes), n_neighbors), neighbours[:, 1:].ravel()
    scales = distances[rows, -1] * distances[columns, -1]
    weights = np.exp(-(distances[:, 1:].ravel() ** 2) / scales / 2)
    W = sp.csr_array((weights, (rows, columns)), shape=(n_nodes, n_nodes))
    return W.maximum(W.T).tocsr()


def path(n_nodes, weights=None):
    weights = np.ones(n_nodes - 1) if weights is None else weights
    return sp.diags_array([weights, weights], offsets=[1, -1]).tocsr()


def star(n_nodes):
    leaves = np.arange(1, n_nodes)
    W = sp.coo_array((np.ones(n_nodes - 1), (0 * leaves, leaves)), shape=(n_nodes, n_nodes))
    return (W + W.T).tocsr()


def grid(n_rows, n_columns):
    return sp.csr_array(sp.kronsum(path(n_rows), path(n_columns)))


def grid_of_all_scales(n_rows, n_columns, seed=0):
    W = sp.triu(grid(n_rows, n_columns)).tocsr()
    W.data = 10.0 ** np.random.default_rng(seed).uniform(-12, 0, W.nnz)
    return (W + W.T).tocsr()


def with_hub(W):
    W = W.tolil()
    W[5, :] = W[:, 5] = 0.5
    W[5, 5] = 0
    return W.tocsr()


def tree(n_nodes, seed=0):
    rng = np.random.default_rng(seed)
    parents = [rng.integers(0, node) for node in range(1, n_nodes)]
    weights = rng.uniform(0.1, 1, n_nodes - 1)
    W = sp.coo_array((weights, (np.arange(1, n_nodes), parents)), shape=(n_nodes, n_nodes))
    return (W + W.T).tocsr()


GRAPHS = {
    "pair": path(2),
    "short path": path(3),
    "path": path(250),
    "small star": star(4),
    "star": star(250),
    "grid": grid(15, 17),
    "strip": grid(80, 4),
    "all scales": grid_of_all_scales(15, 17),
    "tree": tree(300),
    "few neighbours": neighbour_graph(300),
    "many features": neighbour_graph(300, n_features=20),
    "hub": with_hub(neighbour_graph(300)),
    "complete": sp.csr_array(np.ones((100, 100)) - np.eye(100)),
}


@pytest.fixture(autouse=True)
def small_coarsest(monkeypatch):
    """Several levels already for graphs that dense oracles can handle quickly."""
    monkeypatch.setattr(multigrid, "MAX_COARSEST", 30)


def dense_laplacian(W, normalized):
    """The Laplacian and its trivial eigenvector."""
    degrees = W.sum(axis=1)
    trivial = np.sqrt(degrees) if normalized else np.ones(len(degrees))
    L = (np.diag(degrees) - W.toarray()) / np.outer(trivial, trivial)
    return L, trivial / np.linalg.norm(trivial)


@pytest.fixture(params=GRAPHS.values(), ids=GRAPHS.keys())
def W(request):
    return request.param


@pytest.fixture(params=[True, False], ids=["normalized", "plain"])
def normalized(request):
    return request.param


def n_steps_at_top(monkeypatch):
    """A list that grows by one with each multigrid cycle of a finest graph."""
    steps, apply = [], multigrid._Cycle.apply

    def counted(cycle, right, depth=0):
        steps.extend([1] * (depth == 0))
        return apply(cycle, right, depth)

    monkeypatch.setattr(multigrid._Cycle, "apply", counted)
    return steps


class TestKernels:
    W = grid_of_all_scales(12, 13)
    rows = (W.indptr.astype(np.int64), W.indices, W.data)

    @pytest.fixture
    def problem(self):
        rng = np.random.default_rng(0)
        n_nodes, n_aggregates = self.W.shape[0], 20
        aggregates = rng.permutation(np.arange(n_nodes, dtype=np.int32) % n_aggregates)
        diagonal = self.W.sum(axis=1) + rng.uniform(0.01, 1, n_nodes)
        A = np.diag(diagonal) - self.W.toarray()
        P = np.eye(n_aggregates)[aggregates]
        return A, P, diagonal, aggregates, rng

    def test_breadth_first(self):
        n_nodes = self.W.shape[0]
        order = np.empty(n_nodes, dtype=np.int32)
        multigrid._visit_breadth_first(
            *self.rows[:2], np.int32(17), order, np.zeros(n_nodes, dtype=np.bool_)
        )
        twin = breadth_first_order(self.W, 17, directed=False, return_predecessors=False)
        np.testing.assert_array_equal(order, twin)

    @pytest.mark.parametrize("most", [0, multigrid.MAX_COARSEST])
    def test_permute(self, most, monkeypatch):
        monkeypatch.setattr(multigrid, "MAX_COARSEST", most)
        W = sp.csr_array(self.W + sp.eye_array(self.W.shape[0]))
        (indptr, indices, weights), order = multigrid._ordered(W)
        assert (order == np.arange(len(order))).all() == (most > 0)
        twin = self.W[order][:, order]
        twin.sort_indices()
        np.testing.assert_array_equal(indptr, twin.indptr)
        np.testing.assert_array_equal(indices, twin.indices)
        np.testing.assert_array_equal(weights, twin.data)

    @pytest.mark.parametrize("name", ["all scales", "hub", "star", "path", "few neighbours"])
    def test_aggregate(self, name):
        (indptr, indices, weights), _ = multigrid._ordered(GRAPHS[name])
        W = sp.csr_array((weights, indices, indptr)).toarray()
        found = np.empty(len(W), dtype=np.int32)
        n_aggregates = multigrid._aggregate(indptr, indices, weights, 0.25, found)
        strongest = W.max(axis=1)
        strong = (W > 0) & (0.25 * np.maximum.outer(strongest, strongest) <= W)
        twin = np.full(len(W), -1)
        for i in range(len(W)):
            group = np.append(np.flatnonzero(strong[i]), i)
            if len(group) > 1 and np.all(twin[group] < 0):
                twin[group] = twin.max() + 1
        for i in np.flatnonzero(twin < 0):
            nearest = W[i].argmax()
            if twin[i] < 0 and twin[nearest] < 0:
                twin[nearest] = twin.max() + 1
            if twin[i] < 0:
                twin[i] = twin[nearest]
        np.testing.assert_array_equal(found, twin)
        assert n_aggregates == twin.max() + 1
        assert np.bincount(found).min() >= 2

    def test_merge(self, problem):
        _, P, _, aggregates, _ = problem
        indptr, indices, weights = multigrid._merged(self.rows, aggregates, P.shape[1])
        found = sp.csr_array((weights, indices, indptr), shape=(P.shape[1], P.shape[1]))
        twin = P.T @ self.W @ P
        np.fill_diagonal(twin, 0)
        assert found.has_sorted_indices
        np.testing.assert_allclose(found.toarray(), twin, rtol=1e-12)
        assert found.nnz == np.count_nonzero(twin)

    def test_multiply(self, problem):
        A, _, diagonal, _, rng = problem
        z, image = rng.standard_normal(len(A)), np.empty(len(A))
        multigrid._multiply(*self.rows, diagonal, z, image)
        np.testing.assert_allclose(image, A @ z, atol=1e-13)

    def test_sweep_down(self, problem):
        A, P, diagonal, aggregates, rng = problem
        right = rng.standard_normal(len(A))
        z, coarse_right = np.empty(len(A)), np.zeros(P.shape[1])
        multigrid._sweep_down(self.rows, diagonal, right, aggregates, z, coarse_right)
        twin = solve_triangular(np.tril(A), right, lower=True)
        np.testing.assert_allclose(z, twin, atol=1e-12)
        np.testing.assert_allclose(coarse_right, P.T @ (right - A @ twin), atol=1e-12)

    def test_sweep_up(self, problem):
        A, P, diagonal, aggregates, rng = problem
        right, z, coarse = (rng.standard_normal(n) for n in (*A.shape, P.shape[1]))
        twin = z + P @ coarse
        twin += solve_triangular(np.triu(A), right - A @ twin)
        image = np.empty(len(A))
        multigrid._sweep_up(self.rows, diagonal, right, aggregates, coarse, z, image)
        np.testing.assert_allclose(z, twin, atol=1e-12)
        np.testing.assert_allclose(image, A @ twin, atol=1e-12)


def test_ritz_pairs_survive_dependent_vectors():
    rng = np.random.default_rng(0)
    A, masses = np.diag(np.arange(1.0, 31.0)), rng.uniform(1, 2, 30)
    vectors = rng.standard_normal((4, 30))
    vectors = np.concatenate([vectors, vectors[:2], np.zeros((1, 30))])
    values, turn = multigrid._ritz(vectors, vectors @ A, masses, 3)
    found = turn @ vectors
    np.testing.assert_allclose((found * masses) @ found.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(found @ A @ found.T, np.diag(values), atol=1e-12)
    independent, _ = multigrid._ritz(vectors[:4], vectors[:4] @ A, masses, 3)
    np.testing.assert_allclose(values, independent)


@pytest.mark.parametrize("shift", [0.0, 0.01])
def test_cycle_knows_its_image_and_is_definite(W, normalized, shift):
    hierarchy = GraphHierarchy(W, normalized=normalized)
    graph = hierarchy._graphs[0]
    cycle = multigrid._Cycle(hierarchy._graphs, hierarchy._spectrum, shift)
    right = np.random.default_rng(0).standard_normal(hierarchy.n_nodes)
    right -= right.sum() / graph.mass * graph.masses
    z, image = cycle.apply(right)
    assert abs(graph.masses @ z) <= 1e-10 * (graph.masses @ np.abs(z))
    assert right @ z > 0
    twin = (graph.dense() + shift * np.diag(graph.masses)) @ z
    np.testing.assert_allclose(image, twin, atol=1e-11 * np.abs(z).max())


def test_product(W, normalized):
    L, _ = dense_laplacian(W, normalized)
    x = np.random.default_rng(0).standard_normal(len(L))
    hierarchy = GraphHierarchy(W, normalized=normalized)
    np.testing.assert_allclose(hierarchy.matvec(x), L @ x, atol=1e-12 * np.abs(L).max())
    np.testing.assert_allclose(hierarchy.degrees, W.sum(axis=1))
    assert hierarchy.n_nodes == len(L)


@pytest.mark.parametrize("n_pairs", [1, 4])
def test_eigenpairs(W, normalized, n_pairs):
    L, trivial = dense_laplacian(W, normalized)
    expected = np.linalg.eigvalsh(L)[1 : n_pairs + 1]
    values, vectors = GraphHierarchy(W, normalized=normalized).eigenpairs(n_pairs, tol=1e-3)
    n_pairs = min(n_pairs, len(L) - 1)
    assert values.shape == (n_pairs,)
    assert vectors.shape == (len(L), n_pairs)
    rounding = 1e-14 * np.abs(L).max()
    np.testing.assert_allclose(values, expected, rtol=1e-4, atol=rounding)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(n_pairs), atol=1e-10)
    np.testing.assert_allclose(trivial @ vectors, 0, atol=1e-12)
    # energies of the vectors, off the diagonal too
    np.testing.assert_allclose(
        vectors.T @ L @ vectors, np.diag(values), atol=1e-10 * values[-1] + rounding
    )


def test_eigenvector_converges_with_the_tolerance(normalized):
    W = neighbour_graph(600)
    L, _ = dense_laplacian(W, normalized)
    expected = np.linalg.eigh(L)[1][:, 1]
    hierarchy = GraphHierarchy(W, normalized=normalized)
    for tol in (1e-1, 1e-2, 1e-3, 1e-5):
        _, vectors = hierarchy.eigenpairs(tol=tol)
        assert 1 - abs(expected @ vectors[:, 0]) <= tol**2


def test_more_pairs_than_coarse_graphs_have():
    W = neighbour_graph(300)
    L, _ = dense_laplacian(W, True)
    hierarchy = GraphHierarchy(W)
    assert hierarchy._graphs[-1].n_nodes < 25
    values, _ = hierarchy.eigenpairs(25)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(L)[1:26], rtol=1e-2)


def test_many_pairs_converge_without_waiting_for_the_last(monkeypatch):
    """The last eigenvalues are close to those after them, which slows down the last vectors."""
    W = neighbour_graph(2000)
    L, _ = dense_laplacian(W, True)
    steps = n_steps_at_top(monkeypatch)
    values, vectors = GraphHierarchy(W).eigenpairs(60, tol=1e-3)
    assert values.shape == (60,)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(L)[1:61], rtol=1e-4)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(60), atol=1e-10)
    assert len(steps) <= 15 * 60


def test_all_pairs():
    L, _ = dense_laplacian(W := neighbour_graph(200), True)
    values, vectors = GraphHierarchy(W).eigenpairs(1000)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(L)[1:], rtol=1e-10)
    np.testing.assert_allclose(vectors.T @ L @ vectors, np.diag(values), atol=1e-12)


@pytest.mark.parametrize("multiple", [3, 30])
def test_solution(W, normalized, multiple):
    L, trivial = dense_laplacian(W, normalized)
    shift = multiple * max(np.linalg.eigvalsh(L)[1], 1e-9)
    hierarchy = GraphHierarchy(W, normalized=normalized)
    for rhs in (np.sign(np.random.default_rng(0).standard_normal(len(L))), np.ones(len(L))):
        x = hierarchy.solve(rhs, shift, tol=1e-6)
        residual = rhs - L @ x - shift * x
        assert np.linalg.norm(residual) <= 1.1e-6 * np.linalg.norm(rhs)
        expected = np.linalg.solve(L + shift * np.eye(len(L)), rhs)
        error = np.linalg.norm(x - expected)
        assert error <= 2e-6 * np.linalg.norm(rhs) / shift
        exact = trivial @ rhs / shift
        assert abs(trivial @ x - exact) <= 1e-12 * np.linalg.norm(rhs) / shift


def test_trivial_part_takes_no_steps(normalized, monkeypatch):
    W = neighbour_graph(400)
    _, trivial = dense_laplacian(W, normalized)
    steps = n_steps_at_top(monkeypatch)
    x = GraphHierarchy(W, normalized=normalized).solve(trivial, 1e-8, tol=1e-12)
    np.testing.assert_allclose(x, 1e8 * trivial, rtol=1e-12)
    assert not steps


def test_start_saves_steps_and_stays_unchanged(normalized, monkeypatch):
    W = neighbour_graph(400)
    rhs = np.sign(np.random.default_rng(0).standard_normal(400))
    hierarchy = GraphHierarchy(W, normalized=normalized)
    solution = hierarchy.solve(rhs, 1e-2, tol=1e-8)
    start = solution.copy()
    steps = n_steps_at_top(monkeypatch)
    again = hierarchy.solve(rhs, 1e-2, start=start, tol=1e-6)
    assert not steps
    np.testing.assert_array_equal(start, solution)
    np.testing.assert_allclose(again, solution, rtol=1e-12, atol=1e-12)


def test_zero_right_side():
    hierarchy = GraphHierarchy(neighbour_graph(400))
    np.testing.assert_array_equal(hierarchy.solve(np.zeros(400), 0.1), 0)


@pytest.mark.parametrize("n_nodes", [1000, 8000])
def test_steps_do_not_grow_with_the_graph(n_nodes, monkeypatch):
    steps = n_steps_at_top(monkeypatch)
    hierarchy = GraphHierarchy(neighbour_graph(n_nodes))
    values, vectors = hierarchy.eigenpairs()
    assert len(steps) <= 10 * len(hierarchy._graphs)
    steps.clear()
    hierarchy.solve(np.sign(vectors[:, 0]), 10 * values[0])
    assert 0 < len(steps) <= 20


def test_accuracy_out_of_reach_ends(monkeypatch):
    steps = n_steps_at_top(monkeypatch)
    W = neighbour_graph(400)
    L, _ = dense_laplacian(W, True)
    hierarchy = GraphHierarchy(W)
    values, _ = hierarchy.eigenpairs(2, tol=0.0, max_iter=30)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(L)[1:3], rtol=1e-10)
    steps.clear()
    rhs = np.sign(np.random.default_rng(0).standard_normal(400))
    x = hierarchy.solve(rhs, 1e-6, tol=0.0)
    assert len(steps) < 200
    assert np.linalg.norm(rhs - L @ x - 1e-6 * x) <= 1e-8 * np.linalg.norm(rhs)


def test_steps_are_capped(monkeypatch):
    steps = n_steps_at_top(monkeypatch)
    hierarchy = GraphHierarchy(neighbour_graph(400))
    x = hierarchy.solve(np.arange(400.0), 1e-3, tol=0.0, max_iter=3)
    assert len(steps) == 3
    assert np.all(np.isfinite(x))


def test_a_large_star_is_no_trouble(normalized):
    """Sorting the neighbours of a hub, or a group that has them all, would be."""
    hierarchy = GraphHierarchy(star(100_000), normalized=normalized)
    values, _ = hierarchy.eigenpairs(2)
    np.testing.assert_allclose(values, 1.0, rtol=1e-6)


def test_order_of_nodes_does_not_matter(normalized):
    W = neighbour_graph(500)
    order = np.random.default_rng(1).permutation(500)
    rhs = np.sign(np.random.default_rng(0).standard_normal(500))
    first, second = (
        GraphHierarchy(graph, normalized=normalized) for graph in (W, W[order][:, order])
    )
    x, y = (
        hierarchy.solve(side, 1e-2, tol=1e-10)
        for hierarchy, side in ((first, rhs), (second, rhs[order]))
    )
    np.testing.assert_allclose(x[order], y, atol=1e-7)
    (_, u), (_, v) = first.eigenpairs(tol=1e-6), second.eigenpairs(tol=1e-6)
    assert abs(u[order, 0] @ v[:, 0]) == pytest.approx(1)


def test_same_input_same_output():
    W = neighbour_graph(500)
    kept = W.copy()
    rhs = np.sign(np.random.default_rng(0).standard_normal(500))
    first, second = GraphHierarchy(W), GraphHierarchy(W)
    for x, y in zip(first.eigenpairs(3), second.eigenpairs(3), strict=True):
        np.testing.assert_array_equal(x, y)
    x = first.solve(rhs, 1e-3)
    np.testing.assert_array_equal(x, second.solve(rhs, 1e-3))
    np.testing.assert_array_equal(x, first.solve(rhs, 1e-3))
    assert (kept != W).nnz == 0


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_types_of_the_graph(dtype):
    W = grid(25, 30)
    other = sp.csr_matrix(W.astype(dtype))
    other.indices, other.indptr = other.indices.astype(np.int64), other.indptr.astype(np.int64)
    np.testing.assert_array_equal(
        GraphHierarchy(other).solve(np.arange(750.0), 0.01),
        GraphHierarchy(W).solve(np.arange(750.0), 0.01),
    )
