"""Equal samples are in one cluster, and training samples are predicted as they are labelled."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel

import separatrix
from separatrix.models.graph_responses import signs_of
from separatrix.similarity.graphs import GivenGraph, distinct_graph, similarity_graph
from separatrix.similarity.quadratic_forms import MATRICES, Spectrum, form_of
from separatrix.solvers.responses import DenseResponder, GraphResponder

pytestmark = pytest.mark.usefixtures("few_tables")

CLUSTERERS = [
    getattr(separatrix, name)
    for name, public in separatrix._REGISTRY.items()
    if public.short_name is not None and name != "AutoClustering"
]
# Main parameters under which ties and graphs differ.
GRAPHS = [
    {"affinity": affinity, "graph": graph, "n_neighbors": n_neighbors}
    for affinity, graph, n_neighbors in (
        ("local", "union", 10),
        ("local", "mutual", 3),
        ("rbf", "full", 10),
        ("cosine", "union", 1),
    )
]
OPTIONS = {
    "MaximumVolumeClustering": [
        *GRAPHS,
        *({"matrix": matrix} for matrix in MATRICES),
        {"multiway": "bisection"},
        {"solver": "sqp"},
        {"response_bound": 1.0},
    ],
    "HardMaximumVolumeClustering": GRAPHS,
    "SquaredLossMutualInformationClustering": [
        {"affinity": "local", "n_neighbors": 3},
        {"affinity": "rbf", "normalize": False},
    ],
    "RegularizedLeastSquaresClustering": [{"shares": "equal"}, {"reg": "auto"}],
    "MaximumMarginClustering": [{"loss": "hinge", "kernel": "linear"}, {"loss": "square"}],
}
SLOW = {"OptimalMarginDistributionClustering", "LabelGenerationMarginClustering"}
CASES = [
    (clusterer, params)
    for clusterer in CLUSTERERS
    for params in ({}, *OPTIONS.get(clusterer.__name__, []))
]


def with_copies(seed):
    """Rows drawn with replacement from a few distinct ones, and a number of clusters."""
    rng = np.random.default_rng(seed)
    n_distinct, n_features = rng.integers(5, 25), rng.integers(1, 5)
    distinct = rng.normal(size=(n_distinct, n_features))
    if seed % 2:  # ties
        distinct = np.round(distinct)
    return distinct[rng.integers(n_distinct, size=rng.integers(10, 30))], int(rng.integers(2, 5))


def check(model, X):
    _, place = np.unique(X, axis=0, return_inverse=True)
    first = np.unique(place.ravel(), return_index=True)[1]
    np.testing.assert_array_equal(model.labels_, model.labels_[first][place.ravel()])
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("clusterer", "params"), CASES, ids=lambda value: str(value)[-60:])
def test_equal_samples_are_in_one_cluster(clusterer, params):
    for seed in range(2 if clusterer.__name__ in SLOW else 3):
        X, n_clusters = with_copies(seed)
        check(clusterer(n_clusters, random_state=0, **params).fit(X), X)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("clusterer", CLUSTERERS, ids=lambda c: c.__name__)
def test_equal_rows_of_a_matrix_are_in_one_cluster(clusterer):
    parameter = next((p for p in ("kernel", "affinity") if p in clusterer().get_params()), None)
    if parameter is None:
        pytest.skip("takes no matrix")
    for seed in (0, 1):
        X, n_clusters = with_copies(seed)
        K = rbf_kernel(X, gamma=0.3)
        model = clusterer(n_clusters, random_state=0, **{parameter: "precomputed"})
        check(model.fit(K), K)


# Nodes of several samples


@pytest.mark.parametrize("graph", ["union", "mutual", "full"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_similarities_of_nodes_are_sums(graph, form):
    rng = np.random.default_rng(0)
    distinct = rng.normal(size=(12, 3))
    place = np.r_[np.arange(12), rng.integers(12, size=10)]
    choices = {"affinity": "local", "graph": graph, "n_neighbors": 4}
    found = distinct_graph(form(distinct[place]), **choices)
    plain = similarity_graph(form(distinct), **choices)
    dense = found.W.toarray() if sp.issparse(found.W) else found.W
    W = plain.W.toarray() if sp.issparse(plain.W) else plain.W.copy()
    np.fill_diagonal(W, 1.0)  # copies are as similar as a sample is to itself
    expected = np.zeros((12, 12))
    np.add.at(expected, (place[:, None], place), W[place][:, place])
    if graph != "full":
        expected -= np.diag(np.bincount(place))
    np.testing.assert_allclose(dense, expected, rtol=1e-12)
    np.testing.assert_array_equal(found.match(form(distinct)), np.arange(12))
    new = form(rng.normal(size=(5, 3)))
    similarities, single = found.to_new(new), plain.to_new(new)
    if sp.issparse(single):
        similarities, single = similarities.toarray(), single.toarray()
    np.testing.assert_allclose(similarities, single * np.bincount(place), rtol=1e-12)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("matrix", MATRICES)
def test_responses_of_nodes_are_those_of_all_samples(matrix):
    """The objective, the length and the sum are those of the graph with a node per sample."""
    for seed in range(4):
        X, _ = with_copies(seed)
        for bound in (0.0, 0.5, None):
            model = separatrix.MaximumVolumeClustering(
                matrix=matrix, graph="full", response_bound=bound, random_state=0
            ).fit(X)
            rule, h = model._model.rule, model.response_
            Q = rule.form.expanded(model._model.graph.place).Q
            assert h @ h == pytest.approx(1.0)
            if bound is not None:
                assert abs(h.sum()) <= bound + 1e-9
            expected = model.reg_ * (h @ Q @ h) - 2 * np.abs(h).sum()
            assert model.objective_ == pytest.approx(expected)
            # and they are the best responses to their signs
            residual = model.reg_ * (Q @ h) - rule.eta * h - signs_of(h) - rule.omega
            assert np.abs(residual).max() <= 1e-6 * max(1.0, model.reg_ * np.abs(Q).max())


def test_given_similarities_of_copies_equal_those_that_are_found():
    for seed in range(4):
        X, n_clusters = with_copies(seed)
        found = separatrix.MaximumVolumeClustering(n_clusters, graph="full", random_state=0).fit(X)
        place = found._model.graph.place
        W = similarity_graph(
            X[np.unique(place, return_index=True)[1]],
            affinity="local",
            graph="full",
            n_neighbors=10,
        ).W[place][:, place]
        given = separatrix.MaximumVolumeClustering(
            n_clusters, affinity="precomputed", random_state=0
        ).fit(W)
        np.testing.assert_array_equal(given.labels_, found.labels_)
        assert given.objective_ == pytest.approx(found.objective_)
        np.testing.assert_allclose(given.decision_function(W), given.response_)


@pytest.mark.parametrize("matrix", ["normalized", "unnormalized"])
def test_multigrid_knows_nodes_of_several_samples(matrix):
    rng = np.random.default_rng(0)
    distinct = rng.normal(size=(700, 2)) + 3 * (np.arange(700) % 2)[:, None]
    X = distinct[np.r_[np.arange(700), rng.integers(700, size=700)]]
    graph = distinct_graph(X, affinity="local", graph="union", n_neighbors=8)
    form = form_of(graph.W, matrix, graph.own, graph.counts)
    dense, coarse = DenseResponder(form, 0.0), GraphResponder(form, 0.0)
    signs = signs_of(dense.low.vectors[:, :1])
    reg = 2 * form.n_samples**0.5 / dense.scale
    best = dense.objective(dense.respond(signs, reg).h, reg)[0]
    found = coarse.respond(signs, reg)
    assert abs(form.roots @ found.h[:, 0]) <= 1e-2
    assert coarse.objective(found.h, reg)[0] == pytest.approx(best, rel=1e-2)


def test_the_spectrum_leaves_out_sums_of_samples():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(8, 8))
    roots = np.sqrt(rng.integers(1, 5, size=8))
    found = Spectrum.balanced(A + A.T, roots)
    np.testing.assert_allclose(roots @ found.vectors, 0.0, atol=1e-10)
    basis = np.linalg.svd(roots[None])[2][1:]
    np.testing.assert_allclose(found.values, np.linalg.eigvalsh(basis @ (A + A.T) @ basis.T))


def test_the_error_bound_is_that_of_all_samples():
    X = np.repeat(np.random.default_rng(0).normal(size=(20, 2)), 2, axis=0)
    model = separatrix.MaximumVolumeClustering(random_state=0).fit(X)
    known = np.arange(0, 40, 3)
    bound = model.error_bound(model.labels_[known], known)
    assert bound.n_samples == 40
    assert np.isfinite(bound.complexity)
    assert model.stability().isolated.size == 0


def test_copies_with_other_labels_have_one_class():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(15, 2)), 2, axis=0)
    y = (X[:, 0] > 0).astype(int)
    y[0] = 1 - y[0]
    model = separatrix.ApproximateVolumeRegularization().fit(X, y)
    np.testing.assert_array_equal(model.transduction_[::2], model.transduction_[1::2])
    np.testing.assert_array_equal(model.predict(X), model.transduction_)


def test_equal_rows_of_given_similarities_are_one_node():
    W = np.array([[0, 0, 1.0], [0, 0, 1.0], [1.0, 1.0, 0]])  # two leaves of one hub
    for form in (np.asarray, sp.csr_array):
        graph = GivenGraph.of_similarities(form(W))
        merged = graph.W.toarray() if sp.issparse(graph.W) else graph.W
        np.testing.assert_array_equal(merged, [[0, 2], [2, 0]])
        np.testing.assert_array_equal(graph.place, [0, 0, 1])
        new = graph.to_new(form(np.array([[1.0, 2, 3]])))
        np.testing.assert_array_equal(new.toarray() if sp.issparse(new) else new, [[3, 3]])
