"""Mutual information clustering of arrays of other libraries: on their device, or the host."""

import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.datasets import make_blobs, make_moons

from device_support import as_numpy, strict_on_a_device, torch
from separatrix import SquaredLossMutualInformationClustering, _sklearn
from separatrix.classics import mutual_information
from separatrix.data.places import order_of_places
from separatrix.similarity.device_graphs import DeviceGraph


@pytest.fixture(params=[strict_on_a_device, torch])
def convert(request):
    """A function that puts NumPy arrays elsewhere."""
    convert = request.param()
    with config_context(array_api_dispatch=True):
        yield convert


@pytest.fixture
def large(monkeypatch):
    """Few samples count as many: graphs are made on the device."""
    monkeypatch.setattr(mutual_information, "DENSE_SAMPLES", 10)


def moons(n=300):
    return make_moons(n, noise=0.08, random_state=0)[0]


def apart():
    """Parts that no link connects."""
    return make_blobs(200, centers=[[0, 0], [0, 90], [90, 0], [90, 90]], random_state=0)[0]


def overlapping():
    return make_blobs(400, centers=4, n_features=5, cluster_std=4.0, random_state=0)[0]


CASES = {
    "two": (moons, {}),
    "one number of neighbours": (moons, {"n_neighbors": 7}),
    "as many parts as clusters": (apart, {"n_clusters": 4}),
    "fewer parts than clusters": (apart, {"n_clusters": 6}),
    "more parts than clusters": (apart, {"n_clusters": 2}),
    "three": (overlapping, {"n_clusters": 3}),
    "many": (overlapping, {"n_clusters": 12}),
    "more": (overlapping, {"n_clusters": 22}),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("case", CASES)
def test_devices_give_the_labels_of_the_host(convert, large, case, dtype):
    samples, params = CASES[case]
    X = samples().astype(dtype)
    new = X[:50] + dtype(0.01)
    local = SquaredLossMutualInformationClustering(**params).fit(X)
    there = convert(X)
    model = SquaredLossMutualInformationClustering(**params).fit(there)
    assert isinstance(model._model.graph, DeviceGraph)
    for values in (model.labels_, model.probabilities_, model.predict(there)):
        assert type(values) is type(there)
        assert values.device == there.device
    assert model.n_neighbors_ == local.n_neighbors_
    np.testing.assert_array_equal(as_numpy(model.labels_), local.labels_)
    np.testing.assert_array_equal(as_numpy(model.predict(there)), local.labels_)
    np.testing.assert_array_equal(as_numpy(model.predict(convert(new))), local.predict(new))
    np.testing.assert_allclose(as_numpy(model.probabilities_), local.probabilities_, atol=0.02)
    found = as_numpy(model.predict_proba(convert(new)))
    np.testing.assert_allclose(found, local.predict_proba(new), atol=0.02)
    np.testing.assert_allclose(model.mutual_information_, local.mutual_information_, rtol=1e-6)
    assert model.objective_ == pytest.approx(local.objective_, rel=1e-4)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(as_numpy(again.predict(there)), local.labels_)


@pytest.mark.parametrize("dtypes", [(np.float32, np.float64), (np.float64, np.float32)])
def test_new_samples_of_another_precision(convert, large, dtypes):
    of_fit, new = (convert(moons().astype(dtype)) for dtype in dtypes)
    model = SquaredLossMutualInformationClustering().fit(of_fit)
    np.testing.assert_array_equal(as_numpy(model.predict(new)), as_numpy(model.labels_))


OTHERS = {
    "few samples": ({}, {}),
    "links": ({}, {"must_link": [[0, 1]], "cannot_link": [[0, 2]]}),
    "known labels": ({}, {"known_labels": np.r_[0, 1, np.full(58, -1)]}),
    "weights": ({}, {"sample_weight": np.r_[0.0, np.full(59, 2.0)]}),
    "rbf": ({"affinity": "rbf"}, {}),
    "plain kernels": ({"normalize": False}, {}),
    "sizes": ({"min_size": 25}, {}),
    "outliers": ({"outliers": 0.1}, {}),
    "one cluster": ({"n_clusters": 1}, {}),
}


@pytest.mark.parametrize("case", OTHERS)
def test_all_else_is_solved_on_the_host(convert, case):
    params, of_fit = OTHERS[case]
    X = moons(60)
    local = SquaredLossMutualInformationClustering(**params).fit(X, **of_fit)
    there = convert(X)
    model = SquaredLossMutualInformationClustering(**params).fit(there, **of_fit)
    assert not isinstance(getattr(model._model, "graph", None), DeviceGraph)
    for values in (model.labels_, model.probabilities_, model.predict(there)):
        assert type(values) is type(there)
        assert values.device == there.device
    np.testing.assert_array_equal(as_numpy(model.labels_), local.labels_)
    np.testing.assert_array_equal(as_numpy(model.predict(there)), local.predict(X))
    np.testing.assert_allclose(as_numpy(model.probabilities_), local.probabilities_)
    found = as_numpy(model.predict_proba(there))
    np.testing.assert_allclose(found, local.predict_proba(X))


def test_equal_samples_are_one_node_on_the_host(convert, large):
    X = np.repeat(moons(60), 2, axis=0)
    local = SquaredLossMutualInformationClustering().fit(X)
    model = SquaredLossMutualInformationClustering().fit(convert(X))
    assert not isinstance(model._model.graph, DeviceGraph)
    np.testing.assert_array_equal(as_numpy(model.labels_), local.labels_)


def test_precomputed_similarities(convert):
    W = np.exp(-np.square(moons(60)[:, None] - moons(60)).sum(axis=2))
    local = SquaredLossMutualInformationClustering(affinity="precomputed").fit(W)
    model = SquaredLossMutualInformationClustering(affinity="precomputed").fit(convert(W))
    np.testing.assert_array_equal(as_numpy(model.labels_), local.labels_)
    np.testing.assert_array_equal(as_numpy(model.predict(convert(W))), local.labels_)


def test_arrays_of_two_libraries_are_refused(convert, large):
    X = moons(60)
    model = SquaredLossMutualInformationClustering().fit(convert(X))
    with pytest.raises(ValueError, match="same namespace"):
        model.predict(X)


def test_only_drawn_samples_come_to_the_host(large, monkeypatch):
    """Those that the information is estimated from; else at most one number for each sample."""
    convert, moved, read = torch(), [], _sklearn._convert_to_numpy
    monkeypatch.setattr(
        _sklearn, "_convert_to_numpy", lambda a, xp: moved.append(tuple(a.shape)) or read(a, xp)
    )
    X = moons(1200)
    with config_context(array_api_dispatch=True):
        SquaredLossMutualInformationClustering().fit(convert(X))
    assert max(shape[0] for shape in moved if len(shape) == 2) <= 1000
    assert max(np.prod(shape) for shape in moved) <= 2 * 1000


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_places_have_the_order_of_the_host(convert, dtype):
    X = np.concatenate([moons(100), moons(100)[:20], -moons(100)[:20]]).astype(dtype)
    found = order_of_places(convert(X))
    np.testing.assert_array_equal(found, order_of_places(X.astype(np.float64)))
