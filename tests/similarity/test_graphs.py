"""Similarity graphs against plain loops, Laplacians against their formulas."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix.similarity import graphs
from separatrix.similarity.forest import ApproximateSearch
from separatrix.similarity.graphs import (
    check_similarity,
    components,
    degrees,
    laplacian,
    similarity_graph,
)

AFFINITIES = ["rbf", "cosine", "local"]
GRAPHS = ["full", "union", "mutual"]
KINDS = ["unnormalized", "symmetric", "random-walk"]
FORMATS = [np.asarray, sp.csr_array, sp.csr_matrix]


def samples(n_samples=30, n_features=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n_samples, n_features))


def dense(W):
    return W.toarray() if sp.issparse(W) else W


def built(X, affinity="rbf", graph="full", n_neighbors=4, gamma=0.3, **options):
    return similarity_graph(
        X, affinity=affinity, graph=graph, n_neighbors=n_neighbors, gamma=gamma, **options
    )


def plain_distances(A, B, affinity):
    """Distances in which neighbours are near."""
    if affinity == "cosine":
        A, B = (Z / np.linalg.norm(Z, axis=1, keepdims=True) for Z in (A, B))
    return np.array([[np.linalg.norm(a - b) for b in B] for a in A])


def plain_similarities(A, B, affinity, gamma, sigma_a=None, sigma_b=None):
    values = np.zeros((len(A), len(B)))
    for i, a in enumerate(A):
        for j, b in enumerate(B):
            square = np.sum((a - b) ** 2)
            if affinity == "rbf":
                values[i, j] = np.exp(-gamma * square)
            elif affinity == "cosine":
                values[i, j] = max(0.0, a @ b / np.linalg.norm(a) / np.linalg.norm(b))
            else:
                values[i, j] = np.exp(-square / (2 * sigma_a[i] * sigma_b[j]))
    return values


def plain_graph(X, affinity, graph, n_neighbors, gamma):
    """W of distinct, nonzero samples, and their local scales."""
    apart = plain_distances(X, X, affinity)
    np.fill_diagonal(apart, np.inf)
    nearest = np.argsort(apart, axis=1)[:, :n_neighbors]
    sigma = np.sort(apart, axis=1)[:, n_neighbors - 1]
    W = plain_similarities(X, X, affinity, gamma, sigma, sigma)
    if graph == "full":
        return W, sigma
    chosen = np.zeros(W.shape, dtype=bool)
    for i, others in enumerate(nearest):
        chosen[i, others] = True
    return W * (chosen | chosen.T if graph == "union" else chosen & chosen.T), sigma


@pytest.mark.parametrize("affinity", AFFINITIES)
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("n_features", [4, 20])  # neighbours by a tree and by brute force
def test_similarities_and_those_of_new_samples_by_plain_loops(affinity, graph, form, n_features):
    X, new = samples(30, n_features), samples(7, n_features, seed=1)
    found = built(form(X), affinity, graph)
    W, sigma = plain_graph(X, affinity, graph, 4, 0.3)
    np.testing.assert_allclose(dense(found.W), W, atol=1e-13)
    apart = plain_distances(new, X, affinity)
    sigma_new = np.sort(apart, axis=1)[:, 3]
    expected = plain_similarities(new, X, affinity, 0.3, sigma_new, sigma)
    if graph != "full":
        expected *= apart <= sigma_new[:, None]
    for other in FORMATS:
        np.testing.assert_allclose(dense(found.to_new(other(new))), expected, atol=1e-13)


@pytest.mark.parametrize("affinity", AFFINITIES)
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("form", FORMATS)
def test_form_of_the_matrix(affinity, graph, form):
    found = built(form(samples(50)), affinity, graph)
    W = found.W
    assert W.dtype == np.float64
    np.testing.assert_array_equal(dense(W), dense(W).T)
    assert dense(W).min() >= 0
    if graph == "full":
        assert isinstance(W, np.ndarray)
        np.testing.assert_array_equal(np.diag(W), 1)
        return
    new = found.to_new(form(samples(5, seed=1)))
    for matrix in (W, new):
        assert matrix.format == "csr"
        assert matrix.has_canonical_format
        assert matrix.indices.dtype == np.int32
        assert matrix.data.min() > 0
    assert not W.diagonal().any()


@pytest.mark.parametrize("affinity", AFFINITIES)
@pytest.mark.parametrize("form", FORMATS)
def test_training_samples_as_new_ones_of_a_full_graph(affinity, form):
    X = samples(40)
    X[5] = X[6]
    X[10:17] = X[10]
    X[20] = 0
    found = built(form(X), affinity)
    np.testing.assert_allclose(found.to_new(form(X)), found.W, atol=1e-14)


def test_union_and_mutual():
    X = np.array([[0.0], [1.0], [3.0], [7.0]])
    union, mutual = (built(X, graph=g, n_neighbors=1, gamma=0.01).W for g in ("union", "mutual"))
    assert sorted(zip(*sp.triu(union).nonzero(), strict=True)) == [(0, 1), (1, 2), (2, 3)]
    assert sorted(zip(*sp.triu(mutual).nonzero(), strict=True)) == [(0, 1)]


@pytest.mark.parametrize("affinity", AFFINITIES)
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("neighbors", ["exact", "approximate"])
def test_single_precision(affinity, graph, neighbors):
    X = samples().astype(np.float32)
    single, double = (built(Z, affinity, graph, neighbors=neighbors) for Z in (X, X.astype(float)))
    np.testing.assert_array_equal(dense(single.W), dense(double.W))
    np.testing.assert_array_equal(single.match(X.astype(float)), np.arange(30))


@pytest.mark.parametrize("affinity", AFFINITIES)
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("n_samples", [1, 2, 3, 5])
def test_fewer_samples_than_neighbors(affinity, graph, n_samples):
    X = np.abs(samples(n_samples))
    found = built(X, affinity, graph, n_neighbors=10)
    all_pairs = built(X, affinity, "full", n_neighbors=10).W.copy()
    if graph != "full":
        np.fill_diagonal(all_pairs, 0)
    np.testing.assert_allclose(dense(found.W), all_pairs)
    assert found.to_new(X[:1]).shape == (1, n_samples)


def plain_scale(X, i, n_neighbors):
    apart = np.sort(np.delete(np.linalg.norm(X - X[i], axis=1), i))
    return apart[n_neighbors - 1] or apart[apart > 0][0]


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("n_features", [3, 20])
def test_local_scales_of_copies(graph, form, n_features):
    X = samples(30, n_features)
    X[3:9] = X[3]  # with six copies, three neighbours are at distance zero
    X[20] = X[21]
    sigma = np.array([plain_scale(X, i, 3) for i in range(30)])
    assert sigma.min() > 0
    expected = plain_similarities(X, X, "local", None, sigma, sigma)
    W = dense(built(form(X), "local", graph, n_neighbors=3).W)
    kept = W > 0
    np.testing.assert_allclose(W[kept], expected[kept], rtol=1e-10)
    assert W[20, 21] == 1
    copies = W[3:9, 3:9]
    if graph == "full":
        assert kept.all()
        np.testing.assert_array_equal(copies, 1)
    assert set(np.unique(copies)) <= {0, 1}
    assert not kept[3:9].all(axis=1).all() or graph == "full"


@pytest.mark.parametrize("affinity", AFFINITIES)
@pytest.mark.parametrize("neighbors", ["exact", "approximate"])
def test_copies_are_neighbors_but_a_sample_is_not_its_own(affinity, neighbors):
    X = np.repeat(np.abs(samples(4)), 5, axis=0)
    W = dense(built(X, affinity, "union", n_neighbors=4, neighbors=neighbors).W)
    expected = np.kron(np.eye(4), np.ones((5, 5))) - np.eye(20)
    np.testing.assert_allclose(W, expected, rtol=1e-12)


@pytest.mark.parametrize("affinity", AFFINITIES)
@pytest.mark.parametrize("graph", GRAPHS)
def test_equal_samples(affinity, graph):
    W = dense(built(np.ones((6, 2)), affinity, graph, n_neighbors=5).W)
    np.testing.assert_allclose(W, 1 - (graph != "full") * np.eye(6))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("graph", GRAPHS)
def test_zero_samples_have_no_cosine(form, graph):
    X = samples(30, 6)
    X[10:14] = 0
    inside = np.delete(np.arange(30), range(10, 14))
    found = built(form(X), "cosine", graph)
    W = dense(found.W)
    assert not W[10:14].any()
    # and they take no neighbour's place
    np.testing.assert_allclose(
        W[np.ix_(inside, inside)], dense(built(X[inside], "cosine", graph).W)
    )
    new = dense(found.to_new(form(np.vstack([X[10:11], samples(1, 6, seed=2)]))))
    assert not new[0].any()
    assert not new[1, 10:14].any()
    assert new[1].any()


@pytest.mark.parametrize("graph", GRAPHS)
def test_only_zero_samples(graph):
    found = built(np.zeros((5, 2)), "cosine", graph)
    assert not dense(found.W).any()
    assert not dense(found.to_new(np.ones((3, 2)))).any()


@pytest.mark.parametrize("graph", GRAPHS)
def test_negative_cosines_are_zero(graph):
    X = np.array([[1.0, 0.0], [-1.0, 0.1], [-1.0, -0.1]])
    W = dense(built(X, "cosine", graph, n_neighbors=2).W)
    assert W[0, 1] == W[0, 2] == 0
    np.testing.assert_allclose(W[1, 2], 0.99 / 1.01)


@pytest.mark.parametrize("affinity", AFFINITIES)
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("scale", [2.0**-800, 2.0**800])
def test_units_do_not_matter(affinity, graph, scale):
    X = samples()
    W = built(X, affinity, graph, gamma=0.25).W
    gamma = None if affinity != "rbf" else 0.25
    if affinity == "rbf":  # the square of the unit is no number
        scale, gamma = np.sqrt(scale), 0.25 / scale
    scaled = built(X * scale, affinity, graph, gamma=gamma)
    np.testing.assert_array_equal(dense(scaled.W), dense(W))


@pytest.mark.parametrize("affinity", ["rbf", "local"])
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("n_features", [3, 20])
def test_far_from_the_origin(affinity, graph, n_features):
    X = np.round(samples(30, n_features), 3)
    far = (X + 2.0**30) - 2.0**30
    np.testing.assert_allclose(
        dense(built(far + 2.0**30, affinity, graph).W),
        dense(built(far, affinity, graph).W),
        rtol=1e-9,
    )


def test_far_samples_are_not_connected():
    X = np.array([[0.0], [1.0], [1e6], [1e6 + 1]])
    W = built(X, graph="union", n_neighbors=2, gamma=1.0).W
    assert W.nnz == 4
    assert components(W)[0] == 2


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("affinity", AFFINITIES)
def test_match(form, graph, affinity):
    X = samples()
    X[4] = X[2]
    X[7] = 0
    X[8, 1] = 0
    found = built(form(X), affinity, graph)
    expected = np.where(np.arange(30) == 4, 2, np.arange(30))
    negative_zeros = np.where(X == 0, -0.0, X)
    for other in FORMATS:
        np.testing.assert_array_equal(found.match(other(X)), expected)
        np.testing.assert_array_equal(found.match(other(negative_zeros)), expected)
        np.testing.assert_array_equal(found.match(other(np.nextafter(X, np.inf))), -1)
        np.testing.assert_array_equal(found.match(other(X[:, ::-1] + 0.0))[:7], -1)
    stored_zero = sp.csr_array((negative_zeros[8], ([0] * 4, range(4))), (1, 4))
    assert stored_zero.nnz == 4
    np.testing.assert_array_equal(found.match(stored_zero), [8])
    assert found.match(X[:0]).shape == (0,)


def test_a_graph_does_not_see_later_changes_of_the_samples():
    X = samples()
    found = built(X, "local", "union")
    before, new = X.copy(), samples(5, seed=1)
    expected = found.to_new(new).toarray()
    X[:] = 0
    np.testing.assert_array_equal(found.to_new(new).toarray(), expected)
    np.testing.assert_array_equal(found.match(before), np.arange(30))


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("affinity", AFFINITIES)
@pytest.mark.parametrize("neighbors", ["exact", "approximate"])
def test_pickle(graph, affinity, neighbors):
    found = built(samples(), affinity, graph, neighbors=neighbors)
    copy, new = pickle.loads(pickle.dumps(found)), samples(5, seed=1)
    np.testing.assert_array_equal(dense(copy.W), dense(found.W))
    np.testing.assert_array_equal(dense(copy.to_new(new)), dense(found.to_new(new)))


@settings(max_examples=20, deadline=None)
@given(
    shape=st.tuples(st.integers(1, 12), st.integers(1, 20)),
    n_neighbors=st.integers(1, 15),
    affinity=st.sampled_from(AFFINITIES),
    graph=st.sampled_from(GRAPHS),
    single=st.booleans(),
    sparse=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_any_shape(shape, n_neighbors, affinity, graph, single, sparse, seed):
    # small integers: many copies and ties
    X = np.random.default_rng(seed).integers(0, 3, size=shape).astype("f4" if single else "f8")
    X = sp.csr_array(X) if sparse else X
    found = built(X, affinity, graph, n_neighbors=n_neighbors)
    W = dense(found.W)
    assert W.shape == (shape[0], shape[0])
    assert ((W >= 0) & (W <= 1)).all()
    np.testing.assert_array_equal(W, W.T)
    full = built(X, affinity, "full", n_neighbors=n_neighbors)
    np.testing.assert_allclose(W[W > 0], full.W[W > 0])
    np.testing.assert_allclose(full.to_new(X), full.W, atol=1e-14)
    new = dense(found.to_new(X))
    np.testing.assert_allclose(new[new > 0], full.W[new > 0])


class TestApproximateNeighbors:
    @pytest.mark.parametrize("graph", GRAPHS)
    @pytest.mark.parametrize("affinity", AFFINITIES)
    def test_few_samples_are_all_compared(self, graph, affinity):
        X, new = samples(30, 6), samples(10, 6, seed=1)
        exact, found = (built(X, affinity, graph, neighbors=n) for n in ("exact", "approximate"))
        np.testing.assert_allclose(dense(found.W), dense(exact.W), rtol=1e-12)
        np.testing.assert_allclose(dense(found.to_new(new)), dense(exact.to_new(new)), rtol=1e-12)

    def test_the_order_of_the_rows_does_not_matter(self):
        X = samples(1500, 8)
        order = np.random.default_rng(0).permutation(1500)
        W, shuffled = (
            built(Z, "local", "union", neighbors="approximate").W for Z in (X, X[order])
        )
        np.testing.assert_allclose(shuffled.toarray(), W[order][:, order].toarray(), rtol=1e-12)

    @pytest.mark.parametrize(
        ("n_samples", "n_features", "form", "approximate"),
        [
            (50, 7, np.asarray, False),
            (51, 6, np.asarray, False),
            (51, 7, np.asarray, True),
            (51, 7, sp.csr_array, False),
        ],
    )
    def test_auto(self, monkeypatch, n_samples, n_features, form, approximate):
        monkeypatch.setattr(graphs, "MANY_SAMPLES", 50)
        found = built(form(samples(n_samples, n_features)), "local", "union")
        assert isinstance(found.search, ApproximateSearch) is approximate

    def test_sparse_samples_are_refused(self):
        with pytest.raises(TypeError, match=r"neighbors='approximate' needs a dense X.*'exact'"):
            built(sp.csr_array(samples()), graph="union", neighbors="approximate")


@pytest.mark.parametrize("neighbors", ["exact", "approximate"])
def test_a_search_serves_several_graphs(neighbors):
    X = samples(60, 5)
    wide = built(X, "local", "union", n_neighbors=9, neighbors=neighbors)
    for n_neighbors in (9, 4):
        alone, shared = (
            built(X, "local", "union", n_neighbors=n_neighbors, neighbors=neighbors, search=search)
            for search in (None, wide.search)
        )
        assert shared.search is wide.search
        np.testing.assert_array_equal(shared.W.toarray(), alone.W.toarray())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"affinity": "linear"}, "affinity='linear' must be one of"),
        ({"graph": "tree"}, "graph='tree' must be one of"),
        ({"neighbors": "some"}, "neighbors='some' must be one of"),
        ({"n_neighbors": 0}, "n_neighbors=0 must be at least 1"),
        ({"gamma": None}, "needs a positive number gamma, got gamma=None"),
        ({"gamma": -1.0}, "needs a positive number gamma, got gamma=-1.0"),
    ],
)
def test_wrong_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        built(samples(), **options)


def test_dense_graph_that_does_not_fit():
    with pytest.raises(ValueError, match='GB; use graph="union"'):
        built(np.zeros((2_000_000, 1)))


class TestLaplacian:
    @staticmethod
    def graph_of_three_components():
        W = np.zeros((9, 9))
        W[:4, :4] = samples(4, 4) ** 2 + 0.1
        W[4:8, 4:8] = samples(4, 4, seed=1) ** 2 + 0.1  # and the last node is alone
        return W + W.T

    @pytest.mark.parametrize("form", FORMATS)
    def test_formulas(self, form):
        W = self.graph_of_three_components()[:8, :8]  # the diagonal counts in the degrees
        D = np.diag(W.sum(axis=1))
        expected = {
            "unnormalized": D - W,
            "symmetric": np.eye(8) - np.sqrt(np.linalg.inv(D)) @ W @ np.sqrt(np.linalg.inv(D)),
            "random-walk": np.eye(8) - np.linalg.inv(D) @ W,
        }
        np.testing.assert_allclose(degrees(form(W)), np.diag(D))
        for kind in KINDS:
            L = laplacian(form(W), kind)
            assert sp.issparse(L) == (form is not np.asarray)
            np.testing.assert_allclose(dense(L), expected[kind], atol=1e-15)

    @pytest.mark.parametrize("form", FORMATS)
    @pytest.mark.parametrize("kind", KINDS)
    def test_zero_eigenvalues_are_as_many_as_components(self, form, kind):
        W = self.graph_of_three_components()
        L = dense(laplacian(form(W), kind))
        eigenvalues = np.sort(np.linalg.eigvals(L).real)
        assert (np.abs(eigenvalues) < 1e-10).sum() == components(form(W))[0] == 3
        assert eigenvalues.min() > -1e-10
        assert not L[8].any()
        indicators = np.kron(np.eye(3), np.ones((4, 1)))[:9]
        vectors = indicators
        if kind == "symmetric":
            vectors = np.sqrt(W.sum(axis=1, keepdims=True)) * indicators
            vectors[8, 2] = 1
        np.testing.assert_allclose(L @ vectors, 0, atol=1e-14)

    @pytest.mark.parametrize("form", FORMATS)
    @pytest.mark.parametrize("kind", ["unnormalized", "symmetric"])
    def test_symmetric_to_the_last_bit(self, form, kind):
        L = dense(laplacian(form(self.graph_of_three_components()), kind))
        np.testing.assert_array_equal(L, L.T)

    def test_quadratic_form_is_the_sum_over_edges(self):
        W, f = self.graph_of_three_components(), samples(9, 1)[:, 0]
        edges = 0.5 * (W * (f[:, None] - f) ** 2).sum()
        np.testing.assert_allclose(f @ laplacian(W, "unnormalized") @ f, edges)

    def test_unknown_kind(self):
        with pytest.raises(ValueError, match="kind='normalized' must be one of"):
            laplacian(np.eye(2), "normalized")


@pytest.mark.parametrize("form", FORMATS)
def test_components(form):
    W = np.kron(np.eye(3), np.ones((2, 2)))
    n_components, labels = components(form(W))
    assert n_components == 3
    np.testing.assert_array_equal(labels, [0, 0, 1, 1, 2, 2])
    assert components(form(np.ones((4, 4))))[0] == 1
    stored_zero = sp.csr_array(np.ones((2, 2)))
    stored_zero.data[1:3] = 0
    assert components(stored_zero)[0] == 2


class TestCheckSimilarity:
    @pytest.mark.parametrize("form", FORMATS)
    def test_rounding_errors_of_symmetry_go(self, form):
        W = np.abs(samples(6, 6)).astype(np.float32)
        W = W + W.T
        W[2, 3] = W[3, 2] = 0
        given = form(W * (1 + 1e-7 * samples(6, 6, seed=1)))
        before = given.copy()
        checked = check_similarity(given)
        assert checked.dtype == np.float64
        np.testing.assert_array_equal(dense(checked), dense(checked).T)
        np.testing.assert_allclose(dense(checked), W, rtol=1e-6)
        np.testing.assert_array_equal(dense(given), dense(before))

    def test_sparse_form(self):
        W = sp.coo_array(([1.0, 2.0, 2.0, 0.0], ([0, 1, 0, 1], [0, 0, 1, 1])), (2, 2))
        checked = check_similarity(W)
        assert checked.format == "csr"
        assert checked.has_sorted_indices
        assert checked.nnz == 3

    def test_lists_and_integers(self):
        assert check_similarity([[0, 1], [1, 0]]).dtype == np.float64

    @pytest.mark.parametrize("form", FORMATS)
    @pytest.mark.parametrize(
        ("W", "message"),
        [
            (np.ones((2, 3)), r"square matrix.*got shape \(2, 3\)"),
            (np.array([[0, np.nan], [np.nan, 0]]), "finite similarities"),
            (np.array([[0, np.inf], [np.inf, 0]]), "finite similarities"),
            (np.array([[0, -0.5], [-0.5, 0]]), "nonnegative.*-0.5.*clip"),
            (np.array([[0, 1.0], [2.0, 0]]), r"symmetric.*by 1 where.*is 2; use \(X"),
        ],
    )
    def test_refused(self, form, W, message):
        with pytest.raises(ValueError, match="affinity='precomputed'.*" + message):
            check_similarity(form(W))


@pytest.mark.parametrize("graph", ["full", "union"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_contracted_graph_has_the_sums_over_its_samples(graph, weighted):
    """Against a loop over pairs of samples; equal samples of two groups are two nodes."""
    X = samples(12)[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 3, 3, 0]]
    groups = np.full(len(X), -1)
    groups[[0, 5, 12]], groups[[3, 7]], groups[[14]] = 4, 9, 2
    weight = np.arange(1.0, len(X) + 1) if weighted else np.ones(len(X))
    choices = {"affinity": "local", "graph": graph, "n_neighbors": 3}
    whole = graphs.distinct_graph(X, weight if weighted else None, **choices)
    plain = dense(similarity_graph(X[:12], **choices).W)
    plain[np.diag_indices(12)] = 1.0  # of equal samples
    found = graphs.ContractedGraph.of(whole, groups, weight if weighted else None)
    row = np.array([*range(12), 3, 3, 0])
    expected = np.zeros((len(found.counts), len(found.counts)))
    for i in range(len(X)):
        for j in range(len(X)):
            pairs = weight[i] * weight[j]
            if i == j and graph == "union":  # no sample is similar to itself, but copies are
                pairs -= weight[i]
            expected[found.place[i], found.place[j]] += pairs * plain[row[i], row[j]]
    np.testing.assert_allclose(dense(found.W), expected, rtol=1e-12)
    np.testing.assert_array_equal(found.counts, np.bincount(found.place, weight))
    together = found.place[:, None] == found.place
    same_group = (groups[:, None] == groups) & (groups >= 0)
    alone = (groups < 0)[:, None] & (groups < 0) & (row[:, None] == row)
    np.testing.assert_array_equal(together, same_group | alone)
    new = samples(5, seed=3)
    sums = np.zeros((5, len(found.counts)))
    per_row = dense(whole.to_new(new)) / np.bincount(row, weight)
    for i in range(len(X)):
        sums[:, found.place[i]] += weight[i] * per_row[:, row[i]]
    np.testing.assert_allclose(dense(found.to_new(new)), sums, rtol=1e-12)
    np.testing.assert_array_equal(found.match(X[:12]), found.place[:12])
