"""Maximum volume clustering of arrays of other libraries: solved on their device, or the host."""

import pickle

import numpy as np
import pytest
from sklearn import config_context

from graph_support import moons, three_blobs
from separatrix import MaximumVolumeClustering
from separatrix.similarity import quadratic_forms
from separatrix.similarity.device_graphs import DeviceGraph


@pytest.fixture(params=["array_api_strict", "torch"])
def xp(request):
    library = pytest.importorskip(request.param)
    with config_context(array_api_dispatch=True):
        yield library


@pytest.fixture
def large(monkeypatch):
    """Graphs count as large: they are made on the device, and solved by multigrid on the host."""
    monkeypatch.setattr(quadratic_forms, "DENSE_SAMPLES", 10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("matrix", ["normalized", "unnormalized"])
@pytest.mark.parametrize("n_clusters", [2, 3])
def test_devices_give_the_labels_of_the_host(xp, large, n_clusters, matrix, dtype):
    X = (moons(300)[0] if n_clusters == 2 else three_blobs(100)[0]).astype(dtype)
    new = X[:40] + dtype(0.01)
    local = MaximumVolumeClustering(n_clusters, matrix=matrix).fit(X)
    rows = xp.asarray(X)
    model = MaximumVolumeClustering(n_clusters, matrix=matrix).fit(rows)
    assert isinstance(model._model.graph, DeviceGraph)
    for values in (model.labels_, model.response_, model.predict(rows)):
        assert type(values) is type(rows)
    np.testing.assert_array_equal(np.asarray(model.labels_), local.labels_)
    np.testing.assert_array_equal(np.asarray(model.predict(rows)), local.labels_)
    np.testing.assert_array_equal(np.asarray(model.predict(xp.asarray(new))), local.predict(new))
    assert model.objective_ == pytest.approx(local.objective_, rel=1e-3)
    assert model.reg_ == pytest.approx(local.reg_, rel=1e-2)
    expected = local.predict_proba(new)
    found = np.asarray(model.predict_proba(xp.asarray(new)))
    np.testing.assert_allclose(found, expected, atol=0.05)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(np.asarray(again.predict(rows)), local.labels_)


@pytest.mark.parametrize("dtypes", [(np.float32, np.float64), (np.float64, np.float32)])
def test_new_samples_of_another_precision(xp, large, dtypes):
    X = moons(300)[0]
    of_fit, new = (xp.asarray(X.astype(dtype)) for dtype in dtypes)
    model = MaximumVolumeClustering().fit(of_fit)
    np.testing.assert_array_equal(np.asarray(model.predict(new)), np.asarray(model.labels_))


OTHERS = {
    "few samples": ({}, {}),
    "links": ({}, {"must_link": [[0, 1]]}),
    "weights": ({}, {"sample_weight": np.r_[0.0, np.full(59, 2.0)]}),
    "sqp": ({"solver": "sqp"}, {}),
    "bisection": ({"n_clusters": 3, "multiway": "bisection"}, {}),
    "full graph": ({"graph": "full"}, {}),
    "rbf": ({"affinity": "rbf"}, {}),
    "approximate": ({"neighbors": "approximate"}, {}),
    "sizes": ({"min_size": 25}, {}),
    "outliers": ({"outliers": 0.1}, {}),
    "one cluster": ({"n_clusters": 1}, {}),
}


@pytest.mark.parametrize("case", OTHERS)
def test_all_else_is_solved_on_the_host(xp, case):
    params, of_fit = OTHERS[case]
    X = moons(60)[0]
    local = MaximumVolumeClustering(**params).fit(X, **of_fit)
    rows = xp.asarray(X)
    model = MaximumVolumeClustering(**params).fit(rows, **of_fit)
    assert not isinstance(getattr(model._model, "graph", None), DeviceGraph)
    assert type(model.labels_) is type(model.response_) is type(rows)
    np.testing.assert_array_equal(np.asarray(model.labels_), local.labels_)
    np.testing.assert_array_equal(np.asarray(model.predict(rows)), local.predict(X))
    np.testing.assert_allclose(np.asarray(model.response_), local.response_)
    scores = np.asarray(model.decision_function(rows[:5, :]))
    np.testing.assert_allclose(scores, local.decision_function(X[:5]))


def test_equal_samples_are_one_node_on_the_host(xp, large):
    X = np.repeat(moons(60)[0], 2, axis=0)
    local = MaximumVolumeClustering().fit(X)
    model = MaximumVolumeClustering().fit(xp.asarray(X))
    assert not isinstance(model._model.graph, DeviceGraph)
    np.testing.assert_array_equal(np.asarray(model.labels_), local.labels_)


def test_precomputed_similarities(xp):
    W = np.exp(-np.square(moons(60)[0][:, None] - moons(60)[0]).sum(axis=2))
    local = MaximumVolumeClustering(affinity="precomputed").fit(W)
    model = MaximumVolumeClustering(affinity="precomputed").fit(xp.asarray(W))
    np.testing.assert_array_equal(np.asarray(model.labels_), local.labels_)


def test_arrays_of_two_libraries_are_refused(xp, large):
    X = moons(60)[0]
    model = MaximumVolumeClustering().fit(xp.asarray(X))
    with pytest.raises(ValueError, match="same namespace"):
        model.predict(X)


def test_similarities_are_a_matrix_of_the_library(large):
    torch = pytest.importorskip("torch")
    X = moons(60)[0]
    with config_context(array_api_dispatch=True):
        model = MaximumVolumeClustering().fit(torch.asarray(X))
    found = model.affinity_matrix_.to_dense().numpy()
    expected = MaximumVolumeClustering().fit(X).affinity_matrix_.toarray()
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_stability_and_bounds_are_told(xp, large):
    X, y = moons(60)
    local = MaximumVolumeClustering().fit(X)
    model = MaximumVolumeClustering().fit(xp.asarray(X))
    assert str(model.stability()) == str(local.stability())
    known = np.arange(0, 60, 3)
    found = model.error_bound(y[known], known, margin=60**-0.5)
    expected = local.error_bound(y[known], known, margin=60**-0.5)
    assert found.total == pytest.approx(expected.total, rel=0.1)
