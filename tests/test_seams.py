"""The seams: arrays of other libraries, chunks of rows, dask arrays and callbacks."""

import collections
import io
import threading

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.callback import FitCallback
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import separatrix.data.chunks
import separatrix.data.moments
import separatrix.data.sampling
import separatrix.estimators.kernel_features
import separatrix.models.partition
from separatrix import MaximinSeparationClustering, MinimaxProbabilityMachine
from separatrix.models.starts import kmeans_start
from separatrix.solvers import minimax_sides as minimax

SOLVERS = ["mpm", "gep", "eig"]


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    centers = rng.normal(scale=4.0, size=(4, 3))
    return centers[np.arange(90) * 7 % 4] + rng.normal(size=(90, 3)) @ rng.normal(size=(3, 3))


@pytest.fixture(scope="module")
def weight():
    return np.random.default_rng(1).integers(0, 4, size=90).astype(float)


@pytest.fixture
def seen(monkeypatch):
    """What each chunk function was given: a list of (name, rows) as the fit calls them."""
    calls = []
    for name in ("_move_chunk", "moments_of_chunk"):
        homes = [
            module
            for module in (separatrix.models.partition, separatrix.data.moments)
            if hasattr(module, name)
        ]
        original = getattr(homes[0], name)

        def recording(rows, *args, _name=name, _original=original, **kwargs):
            calls.append((_name, rows))
            return _original(rows, *args, **kwargs)

        for home in homes:
            monkeypatch.setattr(home, name, recording)
    return calls


@pytest.fixture
def small_samples(monkeypatch):
    """Starts are found on forty rows."""
    for module in (separatrix.data.sampling, separatrix.estimators.kernel_features):
        monkeypatch.setattr(module, "SAMPLE_SIZE", 40)


# Arrays of other libraries


def strict():
    return pytest.importorskip("array_api_strict").asarray


def strict_on_a_device():
    """An array whose device, like a GPU, refuses to be read by NumPy."""
    xp = pytest.importorskip("array_api_strict")
    return lambda a: xp.asarray(a, device=xp.Device("device1"))


def torch():
    return pytest.importorskip("torch").asarray


def as_numpy(array):
    if hasattr(array, "to_device") and not isinstance(array, np.ndarray):
        import array_api_strict as xp

        array = array.to_device(xp.Device("CPU_DEVICE"))
    return np.asarray(array)


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


# Chunks of rows


@pytest.mark.parametrize("n_clusters", [2, 4])
@pytest.mark.parametrize("solver", SOLVERS)
def test_chunks_of_rows_equal_the_whole(solver, n_clusters, X, weight, seen, monkeypatch):
    expected = MaximinSeparationClustering(n_clusters, solver=solver)
    expected.fit(X, sample_weight=weight)
    seen.clear()
    with monkeypatch.context() as patch:
        patch.setattr(separatrix.data.chunks, "CHUNK_SIZE", 25)
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


# Dask arrays

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
        (lambda X: np.where(X > 5.0, np.inf, X), "X contains NaN, infinity"),
        (lambda X: X[:, 0], r"Expected 2D array, got 1D dask array of shape \(90,\)"),
        (lambda X: X.astype(str), "X must be numeric, got a dask array of dtype <U"),
        (lambda X: X[:1], "n_samples=1 should be >= n_clusters=2"),
        (np.ones_like, "X is constant"),
    ],
)
def test_bad_dask_arrays_are_named(spoil, message, da, X):
    lazy = da.from_array(spoil(X), chunks=25)
    # an infinite value is noticed by its moments, where NumPy has its own word on inf - inf
    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match=message):
        MaximinSeparationClustering().fit(lazy)


def test_bad_input_beside_dask_arrays_is_named(da, X):
    lazy = da.from_array(X, chunks=(25, 3))
    with pytest.raises(ValueError, match=r"sample_weight.shape == \(3,\), expected \(90,\)"):
        MaximinSeparationClustering().fit(lazy, sample_weight=np.ones(3))
    with pytest.raises(TypeError, match="kernel='precomputed' needs a dense array"):
        MaximinSeparationClustering(kernel="precomputed").fit(lazy @ lazy.T)
    model = MaximinSeparationClustering().fit(lazy)
    with pytest.raises(ValueError, match=r"X has 2 features.* expecting 3 features"):
        model.predict(lazy[:, :2])


# Callbacks


class Recorder:
    """A callback that notes every task and may ask to stop at one."""

    max_propagation_depth = None

    def __init__(self, stop_at=()):
        self.begun, self.ended, self.life = [], [], []
        self.stop_at = stop_at

    def setup(self, estimator, context):
        self.life.append("setup")

    def teardown(self, estimator, context):
        self.life.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.begun.append(self._path(context))

    def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
        labels = fitted_estimator.predict(X) if hasattr(fitted_estimator, "predict") else None
        self.ended.append((self._path(context), labels))
        return (context.task_name, context.task_id) in self.stop_at

    @staticmethod
    def _path(context):
        path = []
        while context is not None:
            path.append((context.task_name, context.task_id))
            context = context.parent
        return tuple(path[::-1])

    def of(self, name):
        """Paths and labels of the ended tasks of one name."""
        return [(path, labels) for path, labels in self.ended if path[-1][0] == name]


@pytest.fixture(scope="module")
def slow():
    """Data and a start from which it takes more than three updates to the fixed point."""
    rng = np.random.default_rng(8)
    rows = np.vstack([rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + [2.5, 0]])
    return rows, np.arange(120) % 2


@pytest.mark.parametrize("solver", ["mpm", "gep"])
def test_callbacks_see_restarts_and_iterations(solver, X):
    recorder = Recorder()
    assert isinstance(recorder, FitCallback)
    model = MaximinSeparationClustering(
        3, solver=solver, init="random", n_init=4, random_state=0
    ).set_callbacks(recorder)
    model.fit(X)
    assert recorder.life == ["setup", "teardown"]
    assert sorted(recorder.begun) == sorted(path for path, _ in recorder.ended)
    assert recorder.begun[0] == recorder.ended[-1][0] == (("fit", 0),)
    restarts = recorder.of("restart")
    assert [path for path, _ in restarts] == [(("fit", 0), ("restart", i)) for i in range(4)]
    per_restart = collections.Counter(path[1][1] for path, _ in recorder.of("iteration"))
    assert sorted(per_restart) == [0, 1, 2, 3]
    found = [i for i, (_, labels) in enumerate(restarts) if np.array_equal(labels, model.labels_)]
    assert model.n_iter_ in [per_restart[i] for i in found]
    assert len(model.history_) == model.n_iter_
    for i, n in per_restart.items():
        names = [path[2] for path, _ in recorder.of("iteration") if path[1][1] == i]
        assert names == [("iteration", j) for j in range(n)]


def test_callbacks_get_an_estimator_that_predicts(slow):
    """After each update it predicts what a fit of so many updates would have found."""
    X, start = slow
    recorder = Recorder()
    model = MaximinSeparationClustering(init=start).set_callbacks(recorder).fit(X)
    iterations = recorder.of("iteration")
    assert len(iterations) == model.n_iter_ > 3
    for n, (_, labels) in enumerate(iterations[:-1], start=1):
        short = MaximinSeparationClustering(init=start, max_iter=n)
        with pytest.warns(ConvergenceWarning, match="increase max_iter"):
            short.fit(X)
        agrees = np.mean(labels == short.labels_)
        assert agrees in (0.0, 1.0)  # clusters are numbered at the end
    np.testing.assert_array_equal(recorder.of("restart")[0][1], model.labels_)


@pytest.mark.parametrize("n_clusters", [1, 2, 3])
@pytest.mark.parametrize("solver", SOLVERS)
def test_callbacks_leave_the_fit_as_it_is(solver, n_clusters, X):
    expected = MaximinSeparationClustering(n_clusters, solver=solver).fit(X)
    model = MaximinSeparationClustering(n_clusters, solver=solver)
    model.set_callbacks(Recorder()).fit(X)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert model.n_iter_ == expected.n_iter_
    assert set(vars(model)) - set(vars(expected)) == {"_skl_callbacks"}


def test_callback_stops_the_fit(slow):
    """At the third update, in silence: warnings are errors here."""
    X, start = slow
    whole = MaximinSeparationClustering(init=start).fit(X)
    assert whole.n_iter_ > 3
    recorder = Recorder(stop_at=[("iteration", 2)])
    model = MaximinSeparationClustering(init=start).set_callbacks(recorder).fit(X)
    assert model.n_iter_ == 3
    assert model.history_ == whole.history_[:3]
    assert len(recorder.of("iteration")) == 3
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize(
    "estimator",
    [
        separatrix.SemidefiniteMarginClustering,
        separatrix.GeneralizedMarginClustering,
        separatrix.HardMaximumVolumeClustering,
    ],
)
def test_callback_stops_a_program_in_silence(estimator, X):
    """Far from the optimum, which `certified_gap_` says and no warning needs to."""
    recorder = Recorder(stop_at=[("iteration", 1)])
    model = estimator().set_callbacks(recorder).fit(X)
    assert len(recorder.of("iteration")) == model.n_iter_ == 2
    assert model.certified_gap_ > model.tol


def test_callback_stops_the_restarts(X):
    recorder = Recorder(stop_at=[("restart", 1)])
    model = MaximinSeparationClustering(init="random", n_init=6, random_state=0)
    model.set_callbacks(recorder).fit(X)
    assert len(recorder.of("restart")) == 2
    twice = MaximinSeparationClustering(init="random", n_init=2, random_state=0).fit(X)
    np.testing.assert_array_equal(model.labels_, twice.labels_)


def test_teardown_follows_a_failed_fit():
    recorder = Recorder()
    model = MaximinSeparationClustering().set_callbacks(recorder)
    with pytest.raises(ValueError, match="X is constant"):
        model.fit(np.ones((10, 2)))
    assert recorder.life == ["setup", "teardown"]


@pytest.mark.filterwarnings("ignore:The estimator StandardScaler does not support callbacks")
def test_callbacks_pass_through_a_pipeline(X):
    recorder = Recorder()
    model = make_pipeline(StandardScaler(), MaximinSeparationClustering(3))
    model.set_callbacks(recorder).fit(X)
    fitted = model[-1]
    iterations = recorder.of("iteration")
    assert len(iterations) == fitted.n_iter_
    assert all(path[0] == ("fit", 0) and path[-2][0] == "restart" for path, _ in iterations)
    assert recorder.life == ["setup", "teardown"]
    assert "_skl_callbacks" not in vars(fitted)
    expected = make_pipeline(StandardScaler(), MaximinSeparationClustering(3)).fit(X)
    np.testing.assert_array_equal(fitted.labels_, expected[-1].labels_)


@pytest.mark.parametrize("solver", SOLVERS)
def test_progress_bar(solver, X, monkeypatch):
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar

    screen = io.StringIO()
    monkeypatch.setattr("sys.stdout", screen)
    model = MaximinSeparationClustering(3, solver=solver, n_init=2, random_state=0)
    model.set_callbacks(ProgressBar()).fit(X)
    assert "MaximinSeparationClustering" in screen.getvalue()
    assert "restart" in screen.getvalue()


def test_sparse_rows_with_wide_indices_start_like_others():
    X = sparse.random_array((60, 5), density=0.4, rng=np.random.default_rng(0), format="csr")
    wide = X.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for rows in (X, wide):
        found = kmeans_start(rows, None, 3)
        np.testing.assert_array_equal(found.labels(rows), kmeans_start(X, None, 3).labels(X))
