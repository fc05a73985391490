"""Fewer distinct samples than clusters: each is a cluster, and a warning says so."""

import inspect
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

import separatrix
from separatrix.data.distinct import DistinctRows, KnownRows, few_distinct_rows

pytestmark = pytest.mark.usefixtures("few_tables")

CLUSTERERS = [
    getattr(separatrix, name)
    for name, public in separatrix._REGISTRY.items()
    if public.short_name is not None and name != "AutoClustering"
]
every_clusterer = pytest.mark.parametrize("clusterer", CLUSTERERS, ids=lambda c: c.__name__)
POINTS = np.array([[0.0, 0.0, 1.0], [1.0, 2.0, 0.0], [-3.0, 1.0, 4.0], [5.0, 5.0, 5.0]])


def fitted(model, X, **kwargs):
    """The model, which says once, of this file, how many samples are distinct."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, **kwargs)
    assert [warning.category for warning in caught] == [ConvergenceWarning]
    assert caught[0].filename == __file__
    words = str(caught[0].message)
    assert f"n_clusters={model.n_clusters}" in words
    n_distinct = len(np.unique(model.labels_))
    assert f"X has {n_distinct} distinct sample" in words
    return model


def check(model, X, expected):
    """Clusters are those expected, the largest first, and are predicted."""
    np.testing.assert_array_equal(model.labels_, expected)
    np.testing.assert_array_equal(model.predict(X), expected)
    scores = model.decision_function(X)
    n_distinct = expected.max() + 1
    assert scores.shape == ((len(expected), n_distinct) if n_distinct > 2 else (len(expected),))
    assert np.isfinite(scores).all()
    assert model.labels_.dtype == np.int32
    assert model.history_ == []
    if hasattr(model, "predict_proba"):
        probabilities = model.predict_proba(X)
        assert probabilities.shape == (len(expected), n_distinct)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
        own = probabilities[np.arange(len(expected)), expected]
        np.testing.assert_allclose(own, probabilities.max(axis=1))


@every_clusterer
@pytest.mark.parametrize("value", [0.0, -3.7, 1e8])
def test_constant_samples_are_one_cluster(clusterer, value):
    X = np.full((12, 3), value)
    for n_clusters in (2, 3):
        check(fitted(clusterer(n_clusters), X), X, np.zeros(12, dtype=int))


@every_clusterer
@pytest.mark.parametrize("n_distinct", [2, 3])
def test_each_distinct_sample_is_a_cluster(clusterer, n_distinct):
    place = np.array([0] * 7 + [1] * 4 + [2] * 2)[: 11 if n_distinct == 2 else 13]
    place = place[np.random.default_rng(0).permutation(len(place))]
    for unit in (1.0, 1e-30, 1e30):
        X = unit * POINTS[place]
        model = fitted(clusterer(4), X)
        check(model, X, place)
        # a new sample goes to the nearest
        np.testing.assert_array_equal(
            model.predict(1.01 * unit * POINTS[:n_distinct]), [0, 1, 2][:n_distinct]
        )


@every_clusterer
def test_sparse_and_precomputed(clusterer):
    place = np.repeat([0, 1], [5, 3])
    X = POINTS[place]
    model = clusterer(3)
    if model.__sklearn_tags__().input_tags.sparse:
        check(fitted(model, sp.csr_array(X)), sp.csr_array(X), place)
    for parameter in ("kernel", "affinity"):
        if parameter in model.get_params():
            K = rbf_kernel(X, gamma=0.1)
            check(fitted(clusterer(3, **{parameter: "precomputed"}), K), K, place)
            constant = np.ones((8, 8))
            model = fitted(clusterer(3, **{parameter: "precomputed"}), constant)
            check(model, constant, np.zeros(8, dtype=int))


@every_clusterer
def test_samples_without_weight_do_not_count(clusterer):
    if "sample_weight" not in inspect.signature(clusterer.fit).parameters:
        pytest.skip("takes no weights")
    X, weight = POINTS[[0, 1, 1, 2, 0]], np.array([1.0, 3, 0, 0, 1])
    model = fitted(clusterer(3), X, sample_weight=weight)
    np.testing.assert_array_equal(model.predict(X[[1, 0, 2, 4]]), [0, 1, 0, 1])
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@every_clusterer
def test_parameters_of_so_many_clusters_do_not_stand_in_the_way(clusterer):
    model = clusterer(3)
    given = {"init": np.arange(12) % 3, "shares": [0.2, 0.3, 0.5]}
    model.set_params(**{name: given[name] for name in given if name in model.get_params()})
    X = np.ones((12, 2))
    check(fitted(model, X), X, np.zeros(12, dtype=int))


@pytest.mark.parametrize("gamma", [1e-300, 1e100])
@every_clusterer
def test_widths_beyond_reason_do_not_matter(clusterer, gamma):
    if "gamma" not in clusterer().get_params():
        pytest.skip("has no kernel")
    params = {"affinity": "rbf"} if "affinity" in clusterer().get_params() else {"kernel": "rbf"}
    X = POINTS[[0, 0, 1]]
    check(fitted(clusterer(3, gamma=gamma, **params), X), X, np.array([0, 0, 1]))


# The rows themselves


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, np.asfortranarray])
def test_distinct_rows_are_those_of_numpy(form):
    rng = np.random.default_rng(0)
    for _ in range(20):
        X = rng.integers(-1, 2, size=(30, 2)).astype(float) * rng.choice([1.0, -0.0], size=(30, 1))
        found = DistinctRows.of(form(X))
        rows, place, counts = np.unique(X + 0.0, axis=0, return_inverse=True, return_counts=True)
        np.testing.assert_array_equal(X[found.first][found.place] + 0.0, rows[place.ravel()])
        assert (np.diff(found.first) > 0).all()
        assert sorted(found.counts) == sorted(counts)
        np.testing.assert_array_equal(np.bincount(found.place), found.counts)
        assert found.are_all == (len(rows) == 30)
        np.testing.assert_array_equal(
            KnownRows.of(form(X)).match(form(X)), found.first[found.place]
        )


def test_few_distinct_rows_are_found_wherever_they_are(monkeypatch):
    monkeypatch.setattr("separatrix.data.distinct.FIRST_ROWS", 5)
    monkeypatch.setattr("separatrix.data.rows.CHUNK_SIZE", 12)
    da = pytest.importorskip("dask.array")
    X = POINTS[np.r_[np.zeros(20, dtype=int), [1, 2, 2]]]
    for form in (np.asarray, sp.csr_array, lambda X: da.from_array(X, chunks=(4, 3))):
        np.testing.assert_array_equal(few_distinct_rows(form(X), None, 4), POINTS[[0, 2, 1]])
        assert few_distinct_rows(form(X), None, 3) is None
        weight = np.r_[np.ones(20), 0, 30, 30]
        np.testing.assert_array_equal(few_distinct_rows(form(X), weight, 3), POINTS[[2, 0]])
        assert few_distinct_rows(form(X), weight, 2) is None


def test_what_is_asked_of_two_clusters_is_refused_for_one_sample():
    model = fitted(separatrix.MaximumVolumeClustering(2), np.ones((8, 2)))
    for method, args in ((model.stability, ()), (model.error_bound, ([0, 1], [0, 1]))):
        with pytest.raises(ValueError, match="2 distinct samples"):
            method(*args)


def test_a_machine_of_distinct_samples():
    X = POINTS[[0, 0, 1, 1]]
    model = fitted(separatrix.MaximumMarginClustering(3), X)
    np.testing.assert_array_equal(model.sparse_model(X).predict(X), [0, 0, 1, 1])
