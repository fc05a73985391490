"""Passes over the rows: arrays of other libraries, chunks, and samples of the rows."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context

from device_support import as_numpy, strict, strict_on_a_device, torch
from separatrix import MaximinSeparationClustering, MinimaxProbabilityMachine
from separatrix.data.rows import with_values_at
from separatrix.models.starts import kmeans_start
from separatrix.solvers import minimax

SOLVERS = ["mpm", "gep", "eig"]


# Arrays of other libraries


LIBRARIES = [strict, strict_on_a_device, torch]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_clusters", [2, 4])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_other_arrays_get_the_same_labels(library, solver, n_clusters, weighted, X, weight, seen):
    convert = library()
    weight = weight if weighted else None
    model = MaximinSeparationClustering(n_clusters, solver=solver, random_state=0)
    expected = MaximinSeparationClustering(n_clusters, solver=solver, random_state=0)
    expected.fit(X, sample_weight=weight)
    assert {type(rows) for _, rows in seen} == {np.ndarray}
    seen.clear()
    rows = convert(X)
    with config_context(array_api_dispatch=True):
        model.fit(rows, sample_weight=None if weight is None else convert(weight))
        outputs = [
            model.labels_,
            model.predict(rows),
            model.decision_function(rows),
            model.coef_,
            model.intercept_,
            model.pairwise_separation_,
        ]
    # the passes over the data ran on the arrays that were given
    assert {name for name, _ in seen} == {"_move_chunk", "moments_of_chunk"}
    assert {type(chunk) for _, chunk in seen} == {type(rows)}
    for output in outputs:
        assert type(output) is type(rows)
        assert output.device == rows.device
    labels, predicted, scores, coef, intercept, separation = (as_numpy(o) for o in outputs)
    np.testing.assert_array_equal(labels, expected.labels_)
    np.testing.assert_array_equal(predicted, expected.labels_)
    np.testing.assert_allclose(scores, expected.decision_function(X), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(coef, expected.coef_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(intercept, expected.intercept_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(separation, expected.pairwise_separation_, rtol=1e-8)
    assert model.history_ == pytest.approx(expected.history_, rel=1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("library", [torch])
def test_other_arrays_of_wide_data(library, solver, X, monkeypatch):
    convert = library()
    monkeypatch.setattr(minimax, "WIDE", 2)
    expected = MaximinSeparationClustering(3, solver=solver).fit(X).labels_
    with config_context(array_api_dispatch=True):
        model = MaximinSeparationClustering(3, solver=solver).fit(convert(X))
    assert type(model.labels_) is type(convert(X))
    np.testing.assert_array_equal(as_numpy(model.labels_), expected)


@pytest.mark.parametrize("library", [strict, torch])
def test_other_arrays_keep_single_precision(library, X):
    convert = library()
    rows = convert(X.astype(np.float32))
    with config_context(array_api_dispatch=True):
        model = MaximinSeparationClustering(3).fit(rows)
        scores = model.decision_function(rows)
    assert scores.dtype == model.coef_.dtype == rows.dtype
    expected = MaximinSeparationClustering(3).fit(X.astype(np.float32))
    np.testing.assert_array_equal(as_numpy(model.labels_), expected.labels_)


@pytest.mark.parametrize("library", LIBRARIES)
def test_classifier_takes_other_arrays(library, X, weight):
    convert = library()
    y = MaximinSeparationClustering(3).fit(X).labels_
    expected = MinimaxProbabilityMachine().fit(X, y, sample_weight=weight)
    rows = convert(X)
    with config_context(array_api_dispatch=True):
        model = MinimaxProbabilityMachine().fit(rows, convert(y), sample_weight=convert(weight))
        predicted = model.predict(rows)
    assert type(predicted) is type(rows)
    np.testing.assert_array_equal(as_numpy(predicted), expected.predict(X))
    assert model.separation_probability_ == pytest.approx(expected.separation_probability_)


@pytest.mark.parametrize("library", [strict, torch])
def test_a_model_refuses_arrays_of_another_library(library, X):
    convert = library()
    with config_context(array_api_dispatch=True):
        model = MaximinSeparationClustering().fit(convert(X))
        with pytest.raises(ValueError, match="must use the same namespace"):
            model.predict(X)


def test_strict_arrays_of_wide_data():
    xp = pytest.importorskip("array_api_strict")
    with config_context(array_api_dispatch=True):
        MaximinSeparationClustering().fit(
            xp.asarray(np.random.default_rng(0).normal(size=(20, 2100)))
        )


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("places", [[3], [0, 1, 7], range(8)])
def test_some_values_are_replaced(library, places):
    convert, values = library(), np.linspace(0, 1, 8)
    others = 10.0 + np.arange(len(places))
    expected = values.copy()
    expected[np.array(places)] = others
    with config_context(array_api_dispatch=True):
        given = convert(values)
        found = with_values_at(given, np.array(places), others)
    assert found.device == given.device
    np.testing.assert_array_equal(as_numpy(found), expected)
    np.testing.assert_array_equal(with_values_at(values, np.array(places), others), expected)


# Chunks of rows


@pytest.mark.parametrize("n_clusters", [2, 4])
@pytest.mark.parametrize("solver", SOLVERS)
def test_chunks_of_rows_equal_the_whole(solver, n_clusters, X, weight, seen, monkeypatch):
    expected = MaximinSeparationClustering(n_clusters, solver=solver)
    expected.fit(X, sample_weight=weight)
    seen.clear()
    with monkeypatch.context() as patch:
        patch.setattr("separatrix.data.rows.CHUNK_SIZE", 25)
        model = MaximinSeparationClustering(n_clusters, solver=solver)
        model.fit(X, sample_weight=weight)
        scores = model.decision_function(X)
        np.testing.assert_array_equal(model.predict(X), model.labels_)
    sizes = {len(rows) for name, rows in seen if name == "_move_chunk"}
    assert max(sizes) <= 25
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_allclose(scores, expected.decision_function(X), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("init", ["k-means", "scale-invariant", "random"])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.usefixtures("small_samples")
def test_starts_on_a_sample_of_the_rows(solver, init, X, weight, seen):
    """Labels of all rows, from a start improved on some: still a fixed point, one per seed."""
    runs = [
        MaximinSeparationClustering(2, solver=solver, init=init, random_state=seed).fit(
            X, sample_weight=weight
        )
        for seed in (0, 0)
    ]
    np.testing.assert_array_equal(runs[0].labels_, runs[1].labels_)
    np.testing.assert_array_equal(runs[0].predict(X), runs[0].labels_)
    passes = {len(rows) for name, rows in seen if name == "_move_chunk"}
    assert passes == ({90} if solver == "eig" else {40, 90})
    if solver != "eig":
        again = MaximinSeparationClustering(2, solver=solver, init=runs[0].labels_, max_iter=1)
        again.fit(X, sample_weight=weight)
        np.testing.assert_array_equal(again.labels_, runs[0].labels_)


def test_sparse_rows_with_wide_indices_start_like_others():
    X = sparse.random_array((60, 5), density=0.4, rng=np.random.default_rng(0), format="csr")
    wide = X.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for rows in (X, wide):
        found = kmeans_start(rows, None, 3)
        np.testing.assert_array_equal(found.labels(rows), kmeans_start(X, None, 3).labels(X))
