"""What several tests share: quiet fits, equal partitions, groups of samples, a callback."""

import inspect
import os
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score


def fit_quietly(model, X, **kwargs):
    """The fitted model, and the words of its ConvergenceWarning or None."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, **kwargs)
    assert {warning.category for warning in caught} <= {ConvergenceWarning}
    assert len(caught) <= 1
    return model, str(caught[0].message) if caught else None


def few_rounds(estimator):
    """Parameters that let an estimator look for few labellings, where it mixes many.

    The search takes most of its time, and ends with a ConvergenceWarning if more could be found.
    """
    return {"max_rounds": 2} if "max_rounds" in inspect.signature(estimator).parameters else {}


def same_partition(a, b):
    """Whether two labellings differ in the names of the clusters at most."""
    return adjusted_rand_score(a, b) == 1.0


def groups(seed=0, n=60, d=4, n_groups=2, spread=1.0, apart=3.0):
    """Round groups of samples around random centres."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(scale=apart, size=(n_groups, d))
    X = centers[np.arange(n) % n_groups] + spread * rng.normal(size=(n, d))
    return X[rng.permutation(n)]


def n_cases(few):
    """Random cases of a property: few in the tests, as many as it is told by `make properties`."""
    return int(os.environ.get("SEPARATRIX_CASES", few))


def correlated_groups(seed, n=60, d=4, n_groups=3):
    """Overlapping groups with correlated features of different units."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(scale=2.0, size=(n_groups, d))
    X = centers[np.arange(n) % n_groups] + rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) / 2
    return X[rng.permutation(n)]


class Recorder:
    """A callback that notes every task and may ask to stop at some, given as (name, id)."""

    max_propagation_depth = None

    def __init__(self, stop_at=()):
        self.begun, self.ended, self.life = [], [], []
        self.announced = {}
        self.stop_at = stop_at

    def setup(self, estimator, context):
        self.life.append("setup")

    def teardown(self, estimator, context):
        self.life.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.begun.append(self._path(context))
        self.announced[self._path(context)] = context.max_subtasks

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
