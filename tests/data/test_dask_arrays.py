"""Dask arrays: the same answers as in memory, block by block, and lazy predictions."""

import collections
import pickle
import threading

import numpy as np
import pytest

from separatrix import (
    CuttingPlaneMarginClustering,
    KernelKMeans,
    LDAKMeans,
    MaximinSeparationClustering,
    MaximumMarginClustering,
    MinimaxProbabilityMachine,
    RegularizedLeastSquaresClustering,
)
from separatrix.data import moments
from separatrix.solvers import minimax

SOLVERS = ["mpm", "gep", "eig"]
CHUNKS = {"one": 90, "two": 45, "uneven": (40, 1, 30, 19)}


@pytest.fixture
def da():
    return pytest.importorskip("dask.array")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("solver", SOLVERS)
def test_dask_equals_local(solver, n_clusters, chunks, weighted, da, X, weight, seen):
    weight = weight if weighted else None
    expected = MaximinSeparationClustering(n_clusters, solver=solver)
    expected.fit(X, sample_weight=weight)
    seen.clear()
    lazy = da.from_array(X, chunks=(CHUNKS[chunks], 3))
    model = MaximinSeparationClustering(n_clusters, solver=solver)
    model.fit(lazy, sample_weight=weight)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-7, atol=1e-9)
    assert model.n_iter_ == expected.n_iter_
    # each pass went over each block
    moved = collections.Counter(
        rows.shape[0] for name, rows in seen if name == "_move_chunk" and rows.shape[0] > 0
    )
    blocks = collections.Counter(lazy.chunks[0])
    n_passes = moved[lazy.chunks[0][0]] // blocks[lazy.chunks[0][0]]
    assert n_passes > 0
    assert moved == collections.Counter({size: n_passes * n for size, n in blocks.items()})


@pytest.mark.parametrize(
    "estimator",
    [
        MaximinSeparationClustering(3),
        MaximinSeparationClustering(1),
        MaximumMarginClustering(2, kernel="linear"),
        KernelKMeans(3, n_components=10),
        LDAKMeans(3),
        CuttingPlaneMarginClustering(2),
        RegularizedLeastSquaresClustering(3),
        RegularizedLeastSquaresClustering(3, max_samples=40),
    ],
    ids=repr,
)
def test_labels_of_a_dask_array_are_one(estimator, da, X):
    lazy = da.from_array(X, chunks=((40, 1, 30, 19), 3))
    labels = estimator.fit_predict(lazy)
    assert isinstance(labels, da.Array)
    assert labels.chunks[0] == lazy.chunks[0]
    assert labels.dtype == np.int32
    if getattr(estimator, "max_samples", len(X)) >= len(X):
        np.testing.assert_array_equal(labels.compute(), estimator.fit_predict(X))


def test_passes_bring_no_labels_to_the_client(da, X, monkeypatch):
    brought = []

    def watched(parts):
        parts = list(parts)
        brought.extend(parts)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    monkeypatch.setattr(moments, "join_rows", watched)
    MaximinSeparationClustering(3).fit(da.from_array(X, chunks=(30, 3)))
    assert not brought
    MaximinSeparationClustering(3).fit(X)
    assert brought


@pytest.mark.parametrize("n_clusters", [1, 2, 3])
def test_dask_predictions_are_lazy(n_clusters, da, X):
    computed = []
    lock = threading.Lock()

    def watched(block):
        with lock:
            computed.append(block.shape[0])
        return block

    model = MaximinSeparationClustering(n_clusters).fit(X)
    lazy = da.from_array(X, chunks=((40, 1, 30, 19), 3)).map_blocks(
        watched, dtype=X.dtype, meta=np.empty((0, 0))
    )
    labels, scores = model.predict(lazy), model.decision_function(lazy)
    assert sum(computed) == 0
    assert isinstance(labels, da.Array)
    assert isinstance(scores, da.Array)
    assert labels.shape == (90,)
    assert scores.shape == model.decision_function(X).shape
    assert labels.chunks[0] == scores.chunks[0] == lazy.chunks[0]
    assert labels.dtype == model.labels_.dtype
    np.testing.assert_array_equal(labels.compute(), model.labels_)
    assert sum(computed) == 90
    np.testing.assert_allclose(scores.compute(), model.decision_function(X), rtol=1e-12)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.usefixtures("small_samples")
def test_dask_starts_on_the_same_sample(solver, da, X):
    params = {"solver": solver, "n_init": 2, "random_state": 3}
    expected = MaximinSeparationClustering(3, **params).fit(X).labels_
    lazy = da.from_array(X, chunks=(25, 3))
    model = MaximinSeparationClustering(3, **params).fit(lazy)
    np.testing.assert_array_equal(model.labels_, expected)


def test_dask_arrays_of_other_forms(da, X, weight):
    expected = MaximinSeparationClustering(3).fit(X, sample_weight=weight).labels_
    lazy = da.from_array(X, chunks=(25, 3))
    unknown = lazy[lazy[:, 0] > -np.inf]
    assert np.isnan(unknown.shape[0])
    for rows in (lazy.rechunk((40, 2)), unknown):
        model = MaximinSeparationClustering(3)
        model.fit(rows, sample_weight=da.from_array(weight, chunks=7))
        np.testing.assert_array_equal(model.labels_, expected)
    whole = MaximinSeparationClustering(3).fit(np.round(X).astype(int)).labels_
    model = MaximinSeparationClustering(3).fit(lazy.round().astype(int))
    np.testing.assert_array_equal(model.labels_, whole)


@pytest.mark.parametrize("multiway", ["one-vs-rest", "bisection"])
def test_dask_with_other_codes_and_kernels(multiway, da, X):
    lazy = da.from_array(X, chunks=(25, 3))
    for params in ({"multiway": multiway}, {"multiway": multiway, "kernel": "rbf"}):
        expected = MaximinSeparationClustering(3, **params).fit(X)
        model = MaximinSeparationClustering(3, **params).fit(lazy)
        np.testing.assert_array_equal(model.labels_, expected.labels_)
        np.testing.assert_array_equal(model.predict(lazy).compute(), expected.labels_)


def test_dask_wide_data(da, X, monkeypatch):
    monkeypatch.setattr(minimax, "WIDE", 2)
    lazy = da.from_array(X, chunks=(25, 3))
    for solver in SOLVERS:
        expected = MaximinSeparationClustering(2, solver=solver).fit(X).labels_
        labels = MaximinSeparationClustering(2, solver=solver).fit(lazy).labels_
        np.testing.assert_array_equal(labels, expected)


def test_classifier_takes_dask(da, X):
    y = np.array(["a", "b", "c"])[MaximinSeparationClustering(3).fit(X).labels_]
    lazy = da.from_array(X, chunks=(25, 3))
    model = MinimaxProbabilityMachine().fit(lazy, da.from_array(y, chunks=10))
    predicted = model.predict(lazy)
    assert isinstance(predicted, da.Array)
    expected = MinimaxProbabilityMachine().fit(X, y).predict(X)
    np.testing.assert_array_equal(predicted.compute(), expected)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda X: np.where(X > 5.0, np.nan, X), "X contains NaN"),
        (lambda X: np.where(X > 5.0, np.inf, X), "X contains infinity"),
        (lambda X: X[:, 0], r"X has shape \(90,\), but needs a row per sample"),
        (lambda X: X.astype(str), "X must be numeric, but it holds text .* Encode text columns"),
        (lambda X: X[:1], "n_samples=1 should be >= n_clusters=2"),
        (lambda X: 1e200 * X, r"X has values up to .*e\+20\d, too large .* down to 1e\+140"),
        (lambda X: 1e-200 * X, r"X has no values above .*e-199, .* too small .* up to 1e-140"),
        (lambda X: X[:0], r"X has 0 sample\(s\)"),
        (lambda X: X[:, :0], r"X has 0 feature\(s\)"),
    ],
)
def test_bad_dask_arrays_are_named(spoil, message, da, X):
    lazy = da.from_array(spoil(X), chunks=25)
    with pytest.raises(ValueError, match=message):
        MaximinSeparationClustering().fit(lazy)


def test_bad_input_beside_dask_arrays_is_named(da, X):
    lazy = da.from_array(X, chunks=(25, 3))
    with pytest.raises(ValueError, match="sample_weight has 3 samples but X has 90"):
        MaximinSeparationClustering().fit(lazy, sample_weight=np.ones(3))
    with pytest.raises(TypeError, match="kernel='precomputed' needs a dense array"):
        MaximinSeparationClustering(kernel="precomputed").fit(lazy @ lazy.T)
    model = MaximinSeparationClustering().fit(lazy)
    with pytest.raises(ValueError, match=r"X has 2 features.* expecting 3 features"):
        model.predict(lazy[:, :2])


def test_dask_predictions_name_nan(da, X):
    model = MaximinSeparationClustering().fit(X)
    with pytest.raises(ValueError, match="NaN"):
        model.predict(da.from_array(np.full((4, 3), np.nan), chunks=2)).compute()


class Held:
    """An array of xarray that holds a dask array."""

    def __init__(self, data):
        self.data, self.shape, self.dtype = data, data.shape, data.dtype

    def __dask_graph__(self):
        return self.data.__dask_graph__()


def test_arrays_that_hold_dask_arrays(da, X):
    expected = MaximinSeparationClustering(3).fit(X).labels_
    model = MaximinSeparationClustering(3).fit(Held(da.from_array(X, chunks=(25, 3))))
    np.testing.assert_array_equal(model.labels_, expected)


def test_columns_of_other_names_are_refused(da, X):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    lazy = dd.from_pandas(frame, npartitions=3)
    for fitted in (lazy, frame):
        model = MaximinSeparationClustering(3).fit(fitted)
        np.testing.assert_array_equal(np.asarray(model.predict(lazy)), model.labels_)
        for other in (lazy[["c", "b", "a"]], lazy.rename(columns={"a": "z"})):
            with pytest.raises(
                ValueError, match="X cannot be used: The feature names should match"
            ):
                model.predict(other)
        with pytest.warns(UserWarning, match="X does not have valid feature names"):
            model.predict(da.from_array(X, chunks=(25, 3)))
    assert not hasattr(model.fit(da.from_array(X, chunks=(25, 3))), "feature_names_in_")


def test_text_in_a_lazy_frame_is_named(da, X):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = dd.from_pandas(pd.DataFrame({"a": X[:, 0], "b": "word"}), npartitions=2)
    with pytest.raises(ValueError, match=r"X must be numeric, but its column 'b' holds text"):
        MaximinSeparationClustering(3).fit(frame)
    with pytest.raises(ValueError, match=r"X has shape \(90,\), but needs a row per sample"):
        MaximinSeparationClustering(3).fit(frame["a"])


def test_dask_predictions_name_values_out_of_range(da, X):
    model = MaximinSeparationClustering(3).fit(X)
    lazy = model.predict(da.from_array(1e200 * X, chunks=(25, 3)))
    with pytest.raises(ValueError, match=r"X has values up to .*, too large"):
        lazy.compute()


def test_a_saved_model_holds_labels_and_no_graph(da, X):
    model = MaximinSeparationClustering(3).fit(da.from_array(X, chunks=(30, 3)))
    loaded = pickle.loads(pickle.dumps(model))
    assert isinstance(loaded.labels_, np.ndarray)
    np.testing.assert_array_equal(loaded.labels_, model.labels_.compute())
    assert isinstance(model.labels_, da.Array)
