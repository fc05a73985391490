"""The skeleton of every fit: what it leaves behind, whom it warns, and its callbacks."""

import collections
import io
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.callback import FitCallback
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import separatrix
from separatrix import (
    ApproximateVolumeRegularization,
    AutoClustering,
    CuttingPlaneMarginClustering,
    GeneralizedMarginClustering,
    HardMaximumVolumeClustering,
    KernelKMeans,
    MaximinSeparationClustering,
    MaximumMarginClustering,
    MaximumVolumeClustering,
    MinimaxProbabilityMachine,
    OptimalMarginDistributionMachine,
    RegularizedLeastSquaresClustering,
    SemidefiniteMarginClustering,
    SquaredLossMutualInformationClustering,
)
from support import Recorder, groups

pytestmark = pytest.mark.usefixtures("few_tables")

SOLVERS = ["mpm", "gep", "eig"]


@pytest.fixture(scope="module")
def X():
    return groups(0, n=90, d=3, n_groups=4, apart=4.0)


# A second fit

REFITS = [
    (MaximinSeparationClustering(), {"kernel": "rbf"}, {"coef_"}),
    (MaximinSeparationClustering(3), {"n_clusters": 1}, set()),
    (MaximumMarginClustering(kernel="linear"), {"kernel": "rbf"}, {"coef_"}),
    (SemidefiniteMarginClustering(kernel="linear", max_steps=5), {"kernel": "rbf"}, {"coef_"}),
    (KernelKMeans(kernel="linear"), {"kernel": "rbf"}, {"coef_"}),
    (CuttingPlaneMarginClustering(), {"n_clusters": 1}, set()),
    (RegularizedLeastSquaresClustering(kernel="linear"), {"kernel": "rbf"}, {"coef_"}),
    (MaximumVolumeClustering(), {"n_clusters": 1}, {"affinity_matrix_"}),
    (SquaredLossMutualInformationClustering(), {"n_clusters": 1}, set()),
    (AutoClustering(max_clusters=3), {"n_clusters": 2}, set()),
    (MinimaxProbabilityMachine(), {"kernel": "rbf"}, {"coef_"}),
    (OptimalMarginDistributionMachine(), {"kernel": "rbf"}, {"coef_"}),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("model", "change", "gone"),
    REFITS,
    ids=[f"{type(model).__name__}-{next(iter(change))}" for model, change, _ in REFITS],
)
def test_a_second_fit_leaves_nothing_of_the_first(model, change, gone, X):
    y = np.arange(90) % 4
    model = clone(model).fit(X, y)
    assert gone <= set(vars(model))
    model.set_params(**change).fit(X, y)
    fresh = clone(model).fit(X, y)
    assert set(vars(model)) == set(vars(fresh))
    assert not gone & set(vars(model))
    np.testing.assert_array_equal(model.predict(X), fresh.predict(X))


# Warnings

FAR = np.append(groups(0, n=40, d=3), [[1e3, 1e3, 1e3]], axis=0)  # the last is like no other

WARNING = [
    (MaximinSeparationClustering(init=np.arange(41) % 2, max_iter=1), "increase max_iter"),
    (MaximinSeparationClustering(3, multiway="bisection", init="random", max_iter=1), "max_iter"),
    (MaximumMarginClustering(init=np.arange(41) % 2, max_iter=1, C_path=1), "max_iter"),
    (SemidefiniteMarginClustering(max_steps=2), "increase max_steps"),
    (MaximumVolumeClustering(affinity="rbf", gamma=1.0), "not similar to any other"),
    (ApproximateVolumeRegularization(affinity="rbf", gamma=1.0), "not similar to any other"),
    (KernelKMeans(gamma=10.0, n_components=2), "more n_components"),
    (OptimalMarginDistributionMachine(C=100.0, max_steps=1), "Increase max_steps=1"),
]


@pytest.mark.parametrize(
    ("model", "message"), WARNING, ids=[f"{type(model).__name__}" for model, _ in WARNING]
)
def test_warnings_point_to_the_line_that_fits(model, message):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(FAR, np.arange(41) % 2)
    told = [warning for warning in caught if message in str(warning.message)]
    assert len(told) == 1
    assert told[0].filename == __file__
    assert "model.fit(" in Path(__file__).read_text().splitlines()[told[0].lineno - 1]


# Callbacks


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
        SemidefiniteMarginClustering,
        GeneralizedMarginClustering,
        HardMaximumVolumeClustering,
    ],
)
def test_callback_stops_a_program_in_silence(estimator, X):
    """Far from the optimum, which `gap_` says and no warning needs to."""
    recorder = Recorder(stop_at=[("iteration", 1)])
    model = estimator().set_callbacks(recorder).fit(X)
    paths = [path for path, _ in recorder.of("iteration")]
    assert paths == [(("fit", 0), ("iteration", step)) for step in range(2)]  # nothing restarts
    assert model.n_iter_ == 2
    assert model.gap_ > model.gap_tol


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
        model.fit(np.r_[np.ones((10, 2)), np.nextafter([[1.0, 1.0]], 2)])
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


def test_errors_of_a_callback_are_not_lost(X):
    class Broken(Recorder):
        def on_fit_task_end(self, estimator, context):
            if context.task_name == "iteration":
                raise RuntimeError("broken callback")

    labels = MaximinSeparationClustering().fit(X).labels_
    model = MaximinSeparationClustering(init=labels).set_callbacks(Broken())
    with pytest.raises(RuntimeError, match="broken callback"):
        model.fit(X)  # converges at once, by `break`


def test_callback_stops_the_splits(X):
    recorder = Recorder(stop_at=[("split", 0)])
    MaximinSeparationClustering(5, multiway="bisection").set_callbacks(recorder).fit(X)
    assert len(recorder.of("split")) == 1


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_callbacks_predict_on_other_arrays(library, X):
    xp = pytest.importorskip(library)
    recorder = Recorder()
    with config_context(array_api_dispatch=True):
        rows = xp.asarray(X)
        MaximinSeparationClustering().set_callbacks(recorder).fit(rows)
    assert recorder.of("iteration")
    assert all(type(labels) is type(rows) for _, labels in recorder.of("iteration"))


@pytest.mark.parametrize("estimator", [separatrix.KernelKMeans, separatrix.AutoClustering])
def test_models_of_earlier_versions_have_the_defaults_of_newer_parameters(estimator):
    state = estimator(3).__getstate__()
    del state["outliers"]
    model = estimator.__new__(estimator)
    model.__setstate__(state)
    assert model.get_params() == estimator(3).get_params()
