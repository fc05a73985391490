"""Array libraries, dask and callbacks in awkward places."""

import numpy as np
import pytest
from sklearn import config_context

from separatrix import MaximinSeparationClustering

GOOD = np.random.default_rng(0).normal(size=(20, 3))


def test_strict_arrays_of_wide_data():
    xp = pytest.importorskip("array_api_strict")
    with config_context(array_api_dispatch=True):
        MaximinSeparationClustering().fit(
            xp.asarray(np.random.default_rng(0).normal(size=(20, 2100)))
        )


class Callback:
    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
        if fitted_estimator is not None:
            fitted_estimator.predict(X)


def test_callbacks_predict_on_other_arrays():
    torch = pytest.importorskip("torch")
    with config_context(array_api_dispatch=True):
        MaximinSeparationClustering().set_callbacks(Callback()).fit(torch.asarray(GOOD))


def test_errors_of_a_callback_are_not_lost():
    class Broken(Callback):
        def on_fit_task_end(self, estimator, context):
            if context.task_name == "iteration":
                raise RuntimeError("broken callback")

    labels = MaximinSeparationClustering().fit(GOOD).labels_
    model = MaximinSeparationClustering(init=labels).set_callbacks(Broken())
    with pytest.raises(RuntimeError, match="broken callback"):
        model.fit(GOOD)  # converges at once, by `break`


def test_callback_stops_the_splits():
    class Stop(Callback):
        n_splits = 0

        def on_fit_task_end(self, estimator, context):
            if context.task_name == "split":
                self.n_splits += 1
                return True

    stop = Stop()
    model = MaximinSeparationClustering(5, multiway="bisection").set_callbacks(stop)
    model.fit(np.random.default_rng(0).normal(size=(60, 3)))
    assert stop.n_splits == 1


def test_dask_predictions_name_nan():
    da = pytest.importorskip("dask.array")
    model = MaximinSeparationClustering().fit(GOOD)
    with pytest.raises(ValueError, match="NaN"):
        model.predict(da.from_array(np.full((4, 3), np.nan), chunks=2)).compute()
