"""AutoClustering of arrays on devices: the answers of the host, in the library and on the device.

Candidates see a sample on the host. All rows are labelled where they are.
"""

import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.datasets import make_blobs, make_moons
from sklearn.isotonic import IsotonicRegression

from device_support import as_numpy, strict_on_a_device, torch
from separatrix import AutoClustering, _sklearn
from separatrix.data import rows as rows_of_data
from separatrix.data.frames import Frame
from separatrix.models import extensions
from separatrix.models.extensions import RULES, Extension
from separatrix.selection import auto
from separatrix.selection.assignment import interpolated

pytestmark = pytest.mark.usefixtures("few_tables")

OF_SAMPLES = ("labels_", "confidence_", "sample_indices_", "best_candidate_labels_")
METHODS = ("predict", "decision_function", "predict_proba", "transform")


@pytest.fixture(params=[strict_on_a_device, torch])
def convert(request):
    """A function that puts NumPy arrays elsewhere."""
    convert = request.param()
    with config_context(array_api_dispatch=True):
        yield convert


@pytest.fixture(scope="module")
def samples():
    return make_blobs([500, 300, 200], n_features=3, cluster_std=1.5, random_state=0)[0]


def assert_same(found, expected, device, what):
    """Values on a device that are those of the host, of the same dtype."""
    assert type(found) is not np.ndarray, what
    assert found.device == device, what
    found = as_numpy(found)
    assert found.dtype == expected.dtype, what
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9, err_msg=what)


def assert_same_fit(X, convert, *, of_fit=None, **params):
    """Fits to the host's and the device's samples that agree in all they say; both of them."""
    local = AutoClustering(**params).fit(X, **(of_fit or {}))
    there = convert(X)
    model = AutoClustering(**params).fit(there, **(of_fit or {}))
    for name in OF_SAMPLES:
        assert_same(getattr(model, name), getattr(local, name), there.device, name)
    new = X[::3] + X.dtype.type(0.1)
    for name in METHODS:
        expected = getattr(local, name)(new)
        assert_same(getattr(model, name)(convert(new)), expected, there.device, name)
    assert_same(model.predict(there), local.predict(X), there.device, "predict")
    assert model.score(there) == pytest.approx(local.score(X))
    for name in ("n_clusters_", "agreement_words_", "best_candidate_", "spacing_"):
        assert getattr(model, name) == getattr(local, name)
    return model, local


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("max_samples", [None, 200])
def test_the_answers_are_those_of_the_host(samples, convert, max_samples, dtype):
    X = samples.astype(dtype)
    model, _ = assert_same_fit(X, convert, n_clusters=3, max_samples=max_samples)
    assert len(as_numpy(model.sample_indices_)) == (max_samples or len(X))


def moons():
    return make_moons(600, noise=0.05, random_state=0)[0]


def wide():
    """More features than the candidates see as they are."""
    return 3 * np.eye(3, 60)[np.arange(400) % 3] + np.random.default_rng(0).normal(size=(400, 60))


@pytest.mark.parametrize(
    ("case", "params"),
    [
        (moons, {"n_clusters": 2, "max_samples": 200}),
        (moons, {"n_clusters": None, "max_samples": 200}),
        (moons, {"n_clusters": 1, "max_samples": 200}),
        (wide, {"n_clusters": 3, "max_samples": 150}),
        (lambda: np.round(moons(), 1), {"n_clusters": 2, "max_samples": 200}),
        (lambda: 1e200 * moons(), {"n_clusters": 2, "max_samples": 200}),
        (moons, {"n_clusters": 2, "max_samples": 150, "tier": "thorough"}),
    ],
    ids=["two", "any number", "one", "wide", "repeated", "huge", "thorough"],
)
def test_any_samples(convert, case, params):
    assert_same_fit(case(), convert, **params)


def known_labels(n):
    return np.r_[[0, 0, 1, 1, 2, 2], np.full(n - 6, -1)]


@pytest.mark.parametrize(
    ("params", "of_fit"),
    [
        ({}, {"sample_weight": np.arange(1000) % 3.0}),
        ({}, {"known_labels": known_labels(1000)}),
        ({}, {"must_link": np.array([[0, 1], [5, 9]]), "cannot_link": np.array([[0, 2]])}),
        ({"max_size": 380}, {}),
        ({"outliers": 0.05}, {}),
        ({"outliers": 0.02}, {"known_labels": known_labels(1000)}),
    ],
    ids=["weights", "known labels", "links", "sizes", "outliers", "outliers and known labels"],
)
def test_what_is_asked_of_clusters(samples, convert, params, of_fit):
    params = {"n_clusters": 3, "max_samples": 300, **params}
    model, local = assert_same_fit(samples, convert, of_fit=of_fit, **params)
    if "outliers" in params:
        assert (as_numpy(model.labels_) == -1).any()
        device = model.labels_.device
        assert_same(model.outlier_scores_, local.outlier_scores_, device, "outlier_scores_")
    # all of it may be on the device too
    there = {name: convert(value) for name, value in of_fit.items()}
    again = AutoClustering(**params).fit(convert(samples), **there)
    np.testing.assert_array_equal(as_numpy(again.labels_), local.labels_)


def test_assigned_sizes(samples, convert):
    model, local = assert_same_fit(samples, convert, n_clusters=3, max_samples=200)
    found = model.assign(convert(samples), max_size=380)
    np.testing.assert_array_equal(as_numpy(found), local.assign(samples, max_size=380))


def test_refits_keep_numbers(samples, convert):
    labels = AutoClustering(3, max_samples=200).fit(samples).labels_
    # other sizes, by which the clusters would be numbered otherwise
    fewer = np.concatenate([np.flatnonzero(labels == 0)[:50], np.flatnonzero(labels > 0)])
    model = AutoClustering(3, max_samples=200, warm_start=True).fit(convert(samples))
    model.fit(convert(samples[fewer]))
    assert np.mean(as_numpy(model.labels_) == labels[fewer]) > 0.9


def test_copies_predict(samples, convert):
    model = AutoClustering(3, max_samples=200).fit(convert(samples))
    copy = pickle.loads(pickle.dumps(model))
    found = as_numpy(copy.predict(convert(samples)))
    np.testing.assert_array_equal(found, as_numpy(model.labels_))


def test_only_the_samples_seen_come_to_the_host(samples, monkeypatch):
    """Besides these, one number for each sample at most; PyTorch has what hashes need."""
    convert, moved, read = torch(), [], _sklearn._convert_to_numpy
    monkeypatch.setattr(auto, "REFITTED_ROWS", 50)
    monkeypatch.setattr(
        _sklearn, "_convert_to_numpy", lambda a, xp: moved.append(tuple(a.shape)) or read(a, xp)
    )
    with config_context(array_api_dispatch=True):
        there = convert(samples)
        model = AutoClustering(3, max_samples=100).fit(there)
        model.predict(there)
    assert max(shape[0] for shape in moved if len(shape) == 2) <= 150
    assert sum(len(shape) == 2 for shape in moved) == 1


def test_arrays_of_two_libraries_are_refused(samples, convert):
    model = AutoClustering(3, max_samples=100).fit(convert(samples))
    for method in METHODS:
        with pytest.raises(ValueError, match=rf"{method}\(\) must use the same namespace"):
            getattr(model, method)(samples)


# --- parts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_clusters", [1, 2, 5])
@pytest.mark.parametrize("rule", RULES)
def test_rules_on_devices(convert, rule, n_clusters, monkeypatch):
    """In chunks of some rows, of which some are known and keep their labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    labels = np.arange(60) % n_clusters
    order = rng.permutation(n_clusters)
    monkeypatch.setattr(extensions, "RULES", {rule: RULES[rule]})
    extension = Extension.of(Frame.of(X), X[:60], labels, n_clusters, np.random.RandomState(0))
    extension = extension.renumbered(order)
    assert extension.rule == rule
    monkeypatch.setattr(rows_of_data, "DEVICE_CHUNK_SIZE", 7 * extensions.N_LANDMARKS)
    there = convert(X)
    for name in ("labels", "scores", "probabilities"):
        expected = getattr(extension, name)(X)
        assert_same(getattr(extension, name)(there), expected, there.device, name)
    np.testing.assert_array_equal(order[as_numpy(extension.labels(there))[:60]], labels)


def test_confidence_rises_as_isotonic_regression_says(convert):
    rng = np.random.default_rng(0)
    x, values = rng.normal(size=40), np.concatenate([rng.normal(scale=2, size=100), [-9.0, 9.0]])
    y = x + rng.normal(size=40)
    for rising in (
        IsotonicRegression(out_of_bounds="clip").fit(x, y),
        IsotonicRegression(out_of_bounds="clip").fit(np.ones(5), y[:5]),
    ):
        given = convert(np.concatenate([values, x]))
        found = interpolated(rising, given)
        assert_same(found, rising.predict(as_numpy(given)), given.device, "confidence")
