"""Starts, limits of iterations and jobs, as test_k_means.py asks for them."""

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.exceptions import ConvergenceWarning

from separatrix import (
    DiscriminativeKMeans,
    InformationMaximizationClustering,
    LDAKMeans,
    MaximinSeparationClustering,
)

from .cases import each, fitted, groups, taking

by_start = each(taking("init"))
by_jobs = each(taking("n_jobs"))
LARGER_IS_BETTER = (
    DiscriminativeKMeans,
    InformationMaximizationClustering,
    LDAKMeans,
    MaximinSeparationClustering,
)


@by_start
@pytest.mark.parametrize(("init", "n_init"), [("k-means", 2), ("random", 8)])
def test_every_start_finds_groups_far_apart(estimator, init, n_init):
    X, y = groups()
    model = estimator(3, init=init, n_init=n_init, random_state=0).fit(X)
    np.testing.assert_array_equal(model.labels_, y)


@by_start
def test_more_starts_are_never_worse(estimator):
    """The first of several starts is the one of a single start."""
    X = np.random.default_rng(0).normal(size=(24, 2))
    one = estimator(2, init="random", random_state=0).fit(X)
    several = estimator(2, init="random", n_init=4, random_state=0).fit(X)
    sign = 1 if estimator in LARGER_IS_BETTER else -1
    assert sign * several.objective_ >= sign * one.objective_ - 1e-9 * abs(one.objective_)


@by_start
def test_labels_to_start_from_are_left_as_they_are(estimator):
    X, y = groups()
    start = (y + 1) % 3  # another numbering of the same groups
    start.setflags(write=False)
    model = estimator(3, init=start, random_state=0).fit(X)
    assert model.init is start
    np.testing.assert_array_equal(start, (y + 1) % 3)
    np.testing.assert_array_equal(model.labels_, y)


@by_start
def test_a_fit_goes_on_from_its_own_labels(estimator):
    X, _ = groups()
    model = fitted(estimator)
    again = estimator(3, init=model.labels_, random_state=0).fit(X)
    np.testing.assert_array_equal(again.labels_, model.labels_)


@by_start
@pytest.mark.parametrize(
    ("init", "words"),
    [
        (np.arange(29) % 3, r"init has shape \(29,\) but X has 30 samples"),
        (np.arange(30) % 2, "init must use each label from 0 to n_clusters-1=2"),
        (np.arange(30) % 4, "init must use each label from 0 to n_clusters-1=2"),
        ("k-mean", "'init' parameter"),
    ],
    ids=["short", "too few", "too many", "unknown"],
)
def test_bad_starts_are_refused(estimator, init, words):
    X, _ = groups()
    with pytest.raises(ValueError, match=words):
        estimator(3, init=init).fit(X)


@by_start
@pytest.mark.parametrize(
    ("name", "value"),
    [("max_iter", 0), ("max_iter", 1.5), ("tol", -1.0), ("n_init", 0), ("random_state", "seed")],
)
def test_bad_limits_are_refused(estimator, name, value):
    X, _ = groups()
    with pytest.raises(ValueError, match=f"'{name}' parameter of {estimator.__name__}"):
        estimator(3, **{name: value}).fit(X)


@each([one for one in taking("init") if one is not InformationMaximizationClustering])
def test_too_few_iterations_are_told(estimator):
    """Information maximisation is no case: one of its iterations is a whole minimisation."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = estimator(2, init=np.arange(60) % 2, max_iter=1, tol=0.0, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model.fit(X)
    assert model.n_iter_ == 1
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@by_jobs
def test_jobs_do_not_change_the_model(estimator):
    X, _ = groups()
    alone = fitted(estimator)
    with parallel_config(backend="threading"):
        together = estimator(3, n_jobs=2, random_state=0).fit(X)
    np.testing.assert_array_equal(together.labels_, alone.labels_)
    np.testing.assert_array_equal(together.decision_function(X), alone.decision_function(X))
