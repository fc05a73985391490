"""Progress and an early end by scikit-learn's callbacks, on every clusterer."""

import collections
import warnings

import numpy as np
import pytest
from joblib import parallel_config

from separatrix import AutoClustering
from separatrix.validity import structure
from support import Recorder

from .cases import CLUSTERERS, each, fitted, groups, taking

every = each(CLUSTERERS)


def cloud():
    """Samples without groups, on which most methods need several steps."""
    return np.random.default_rng(2).normal(size=(40, 2))


def slow(estimator):
    """A clusterer that starts anywhere and takes all the steps there are."""
    params = {"init": "random", "tol": 0.0, "n_init": 3}
    taken = {name: value for name, value in params.items() if estimator in taking(name)}
    return estimator(3, random_state=0, **taken)


def recorded(estimator, X, **options):
    recorder = Recorder(**options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = slow(estimator).set_callbacks(recorder).fit(X)
    return model, recorder


def siblings(recorder):
    """Number of tasks of each name, by their parent."""
    return collections.Counter((path[:-1], path[-1][0]) for path, _ in recorder.ended)


@every
def test_callbacks_see_every_task_and_change_nothing(estimator):
    recorder = Recorder()
    model = estimator(3, random_state=0).set_callbacks(recorder).fit(groups()[0])
    assert recorder.life == ["setup", "teardown"]
    assert sorted(recorder.begun) == sorted(path for path, _ in recorder.ended)
    assert recorder.begun[0] == recorder.ended[-1][0] == (("fit", 0),)
    assert len(recorder.begun) > 1
    np.testing.assert_array_equal(model.labels_, fitted(estimator).labels_)


@every
def test_a_callback_ends_a_fit_before_its_time(estimator):
    """After the first of the tasks that follow each other, and what was found predicts."""
    X = cloud()
    _, whole = recorded(estimator, X)
    (_, name), most = siblings(whole).most_common(1)[0]
    assert most > 1
    model, cut = recorded(estimator, X, stop_at=[(name, 0)])
    assert {count for (_, of), count in siblings(cut).items() if of == name} == {1}
    assert len(cut.ended) < len(whole.ended)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert set(model.labels_) <= {0, 1, 2}


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_candidates_that_did_not_run_have_no_vote(n_jobs):
    X, y = groups()
    recorder = Recorder(stop_at=[("candidate", 3)])
    model = AutoClustering(3, n_jobs=n_jobs, random_state=0).set_callbacks(recorder)
    with parallel_config("threading"):
        model.fit(X)
    found = model.candidates_
    not_run = np.array(["callback" in note for note in found.notes])
    assert (~not_run).sum() == len(recorder.of("candidate")) == 4
    assert not found.votes[not_run].any()
    np.testing.assert_array_equal(model.labels_, y)


def test_a_callback_ends_the_choice_of_a_number(monkeypatch):
    monkeypatch.setattr(structure, "N_DRAWS", (16, 16))  # which find that there are clusters
    recorder = Recorder(stop_at=[("number", 1)])
    model = AutoClustering(random_state=0).set_callbacks(recorder).fit(groups()[0])
    assert list(model.selection_curve_) == [2, 3]
    assert len(recorder.of("number")) == 2
