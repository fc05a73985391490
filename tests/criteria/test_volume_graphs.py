"""Maximum volume clustering of large graphs, by multigrid, and of graphs in several parts."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_circles

from graph_support import criterion, moons, parts, three_blobs
from separatrix import MaximumVolumeClustering
from separatrix.criteria import volume
from separatrix.similarity import quadratic_forms
from separatrix.similarity.quadratic_forms import form_of
from separatrix.solvers.responses import GraphResponder, responder_of
from support import same_partition

# The sparse path


@pytest.fixture
def no_dense(monkeypatch):
    """Sparse graphs of any size go to the multigrid solver."""
    monkeypatch.setattr(quadratic_forms, "DENSE_SAMPLES", 3)


def both_paths(monkeypatch, X, **params):
    """The same estimator fitted by eigendecompositions and by multigrid."""
    model = MaximumVolumeClustering(random_state=0, **params)
    dense = clone(model).fit(X)
    with monkeypatch.context() as patch:
        patch.setattr(quadratic_forms, "DENSE_SAMPLES", 3)
        form = form_of(dense.affinity_matrix_, model.matrix, 0.0)
        assert isinstance(responder_of(form, model._resolved_bound), GraphResponder)
        return dense, clone(model).fit(X)


SHAPES = {
    "moons": moons(300)[0],
    "circles": make_circles(300, noise=0.03, factor=0.4, random_state=0)[0],
    "two blobs": make_blobs([200, 100], centers=[[0, 0], [5, 0]], random_state=0)[0],
}


@pytest.mark.parametrize("matrix", ["normalized", "unnormalized"])
@pytest.mark.parametrize("shape", SHAPES)
def test_both_paths_find_the_same(monkeypatch, shape, matrix):
    dense, by_graph = both_paths(monkeypatch, SHAPES[shape], matrix=matrix)
    np.testing.assert_array_equal(dense.labels_, by_graph.labels_)
    assert by_graph.reg_ == pytest.approx(dense.reg_, rel=1e-3)
    assert by_graph.objective_ == pytest.approx(dense.objective_, rel=1e-3)
    assert (np.diff(by_graph.history_) <= 0).all()
    np.testing.assert_allclose(by_graph.response_, dense.response_, atol=0.1 * 300**-0.5)


@pytest.mark.parametrize("bound", [0.0, 0.5])
@pytest.mark.parametrize("matrix", ["normalized", "unnormalized"])
def test_multigrid_responses_keep_their_constraints(no_dense, matrix, bound):
    """And what is reported as the objective is that of the responses."""
    for X in (*SHAPES.values(), three_blobs(120)[0]):
        model = MaximumVolumeClustering(matrix=matrix, response_bound=bound, random_state=0)
        model.fit(X)
        h = model.response_
        assert np.linalg.norm(h) == pytest.approx(1, abs=1e-12)
        assert abs(h.sum()) <= bound + 1e-10
        Q = form_of(model.affinity_matrix_, matrix, 0.0).Q.toarray()
        assert model.objective_ == pytest.approx(criterion(Q, h, model.reg_), rel=1e-10)


@pytest.mark.parametrize("matrix", ["normalized", "unnormalized"])
def test_the_most_promising_start_is_as_good_as_the_best_of_several(monkeypatch, no_dense, matrix):
    X, _ = moons(2_000)
    model = MaximumVolumeClustering(matrix=matrix, random_state=0)
    best = clone(model).fit(X)
    monkeypatch.setattr(volume, "MANY_NODES", 300)
    promising = clone(model).fit(X)
    assert np.mean(promising.labels_ != best.labels_) < 0.01
    assert promising.objective_ == pytest.approx(best.objective_, rel=1e-3)
    assert promising.reg_ == best.reg_


@pytest.mark.parametrize("matrix", ["normalized", "unnormalized"])
def test_both_paths_agree_on_three_clusters(monkeypatch, matrix):
    X, y = three_blobs(150)
    for multiway in ("orthogonal", "bisection"):
        for model in both_paths(monkeypatch, X, matrix=matrix, n_clusters=3, multiway=multiway):
            np.testing.assert_array_equal(model.labels_, y)


def test_the_multigrid_path_is_deterministic(no_dense):
    X, _ = moons(300, noise=0.15)
    for params in ({}, {"n_clusters": 3}, {"n_clusters": 4, "multiway": "bisection"}):
        first, second = (
            MaximumVolumeClustering(**params, random_state=3).fit(X) for _ in range(2)
        )
        np.testing.assert_array_equal(first.response_, second.response_)
        np.testing.assert_array_equal(first.labels_, second.labels_)


def test_a_pickle_of_the_multigrid_path(no_dense):
    X, _ = moons(80)
    new, _ = moons(50, noise=0.2, seed=1)
    for n_clusters in (2, 3):
        model = MaximumVolumeClustering(n_clusters, random_state=0).fit(X)
        loaded = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(loaded.decision_function(new), model.decision_function(new))


def test_the_order_does_not_matter_on_the_multigrid_path(no_dense):
    X, _ = moons(200)
    plain = MaximumVolumeClustering(random_state=0).fit(X)
    order = np.random.default_rng(0).permutation(200)
    mixed = MaximumVolumeClustering(random_state=0).fit(X[order])
    assert same_partition(mixed.labels_, plain.labels_[order])
    assert mixed.objective_ == pytest.approx(plain.objective_, rel=1e-3)


# Graphs in several parts


@pytest.mark.parametrize("dense_samples", [3, 1500])
@pytest.mark.parametrize("matrix", ["normalized", "unnormalized"])
@pytest.mark.parametrize("sizes", [[20, 20], [30, 12]])
def test_two_parts_are_the_two_clusters(monkeypatch, sizes, matrix, dense_samples):
    monkeypatch.setattr(quadratic_forms, "DENSE_SAMPLES", dense_samples)
    W, groups = parts(sizes)
    for kind in (np.array, sparse.csr_array):
        model = MaximumVolumeClustering(affinity="precomputed", matrix=matrix, random_state=0)
        assert same_partition(model.fit_predict(kind(W)), groups)


@pytest.mark.parametrize("dense_samples", [3, 1500])
@pytest.mark.parametrize("multiway", ["orthogonal", "bisection"])
@pytest.mark.parametrize("matrix", ["normalized", "unnormalized"])
def test_several_parts_are_the_clusters(monkeypatch, matrix, multiway, dense_samples):
    monkeypatch.setattr(quadratic_forms, "DENSE_SAMPLES", dense_samples)
    for sizes in ([15, 12, 9], [20, 14, 10, 8, 6]):
        W, groups = parts(sizes)
        model = MaximumVolumeClustering(
            len(sizes), affinity="precomputed", matrix=matrix, multiway=multiway, random_state=0
        )
        assert same_partition(model.fit_predict(sparse.csr_array(W)), groups)
        np.testing.assert_array_equal(np.bincount(model.labels_), sizes)


@pytest.mark.parametrize("dense_samples", [3, 1500])
def test_two_clusters_of_several_parts_cut_none(monkeypatch, dense_samples):
    monkeypatch.setattr(quadratic_forms, "DENSE_SAMPLES", dense_samples)
    W, groups = parts([12, 12, 12, 12])
    model = MaximumVolumeClustering(affinity="precomputed", reg=1e4, random_state=0)
    labels = model.fit_predict(sparse.csr_array(W))
    assert all(len(set(labels[groups == group])) == 1 for group in range(4))
    np.testing.assert_array_equal(np.bincount(labels), [24, 24])


def test_isolated_samples_are_reported():
    W, groups = parts([15, 15])
    W[[3, 8]] = 0.0
    W[:, [3, 8]] = 0.0
    linked = np.setdiff1d(np.arange(30), [3, 8])
    for matrix in ("normalized", "unnormalized"):
        for kind in (np.array, sparse.csr_array):
            model = MaximumVolumeClustering(affinity="precomputed", matrix=matrix, random_state=0)
            with pytest.warns(UserWarning, match="2 of 30 samples are not similar to any other"):
                model.fit(kind(W))
            assert same_partition(model.labels_[linked], groups[linked])


def test_isolated_samples_are_reported_on_the_multigrid_path(no_dense):
    W, groups = parts([15, 15])
    W[3] = W[:, 3] = 0.0
    linked = np.setdiff1d(np.arange(30), [3])
    model = MaximumVolumeClustering(affinity="precomputed", random_state=0)
    with pytest.warns(UserWarning, match="1 of 30 samples are not similar to any other"):
        model.fit(sparse.csr_array(W))
    assert same_partition(model.labels_[linked], groups[linked])


def test_no_similarities_at_all_are_refused():
    words = "all similarities between samples are zero"
    with pytest.raises(ValueError, match=words):
        MaximumVolumeClustering(affinity="precomputed").fit(np.eye(6))
    with pytest.raises(ValueError, match=words):
        MaximumVolumeClustering(affinity="precomputed").fit(sparse.eye_array(6, format="csr"))
    with pytest.raises(ValueError, match=words):
        MaximumVolumeClustering(affinity="rbf", gamma=1e9, graph="full").fit(np.eye(6))
