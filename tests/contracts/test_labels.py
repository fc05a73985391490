"""Labels and predictions, as test_k_means.py and test_gaussian_mixture.py ask for them."""

import inspect
import pickle

import numpy as np
import pytest

from separatrix import AutoClustering, HardMaximumVolumeClustering

from .cases import CENTERS, CLUSTERERS, each, fitted, groups

every_clusterer = each(CLUSTERERS)
with_probabilities = each([one for one in CLUSTERERS if hasattr(one, "predict_proba")])


@every_clusterer
@pytest.mark.parametrize("sizes", [(11, 10), (11, 10, 9)], ids=["two", "three"])
def test_groups_far_apart_are_the_clusters(estimator, sizes):
    """Numbered from 0 without a gap, the largest first; and predictions are the labels."""
    X, y = groups(sizes)
    model = estimator(len(sizes), random_state=0)
    labels = model.fit_predict(X)
    np.testing.assert_array_equal(labels, y)
    np.testing.assert_array_equal(model.labels_, y)
    assert labels.dtype == np.int32
    predicted = model.predict(X)
    np.testing.assert_array_equal(predicted, y)
    assert predicted.dtype == labels.dtype
    assert predicted.shape == (len(X),)


@every_clusterer
def test_new_samples_belong_to_the_group_they_lie_in(estimator):
    model = fitted(estimator)
    np.testing.assert_array_equal(model.predict(CENTERS), [0, 1, 2])
    for group, center in enumerate(CENTERS):
        assert model.predict(center[None]) == [group]


@every_clusterer
def test_scores_are_largest_in_the_own_cluster(estimator):
    X, y = groups()
    scores = fitted(estimator).decision_function(X)
    assert scores.shape == (len(X), 3)
    np.testing.assert_array_equal(scores.argmax(axis=1), y)
    X, y = groups((11, 10))
    scores = estimator(2, random_state=0).fit(X).decision_function(X)
    np.testing.assert_array_equal(scores > 0, y)


@with_probabilities
def test_probabilities_are_those_of_the_labels(estimator):
    X, y = groups()
    shares = fitted(estimator).predict_proba(X)
    assert shares.shape == (len(X), 3)
    assert (shares >= 0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_array_equal(shares.argmax(axis=1), y)


@every_clusterer
def test_a_seed_gives_the_same_model(estimator):
    """Refits and generators of the same seed agree; NumPy's own generator has no say."""
    X = np.random.default_rng(0).normal(size=(24, 2))
    model = estimator(2, random_state=0).fit(X)
    labels, scores = model.labels_, model.decision_function(X)
    for again in (model, estimator(2, random_state=np.random.RandomState(0)), estimator(2)):
        np.random.rand()  # noqa: NPY002
        again.fit(X)
        np.testing.assert_array_equal(again.labels_, labels)
        np.testing.assert_array_equal(again.decision_function(X), scores)


@every_clusterer
def test_arguments_are_left_as_they_are(estimator):
    X, y = groups()
    arguments = {"X": X, "sample_weight": np.ones(len(X)), "known_labels": y.copy()}
    taken = set(inspect.signature(estimator.fit).parameters)
    if estimator is HardMaximumVolumeClustering:  # which takes links of two clusters alone
        taken.remove("known_labels")
    arguments = {name: value for name, value in arguments.items() if name in taken}
    before = {name: value.copy() for name, value in arguments.items()}
    for value in arguments.values():
        value.setflags(write=False)
    model = estimator(3, random_state=0)
    parameters = model.get_params()
    model.fit(**arguments)
    model.predict(X)
    assert model.get_params() == parameters
    for name, value in arguments.items():
        np.testing.assert_array_equal(value, before[name])


@every_clusterer
def test_predictions_do_not_change_the_model(estimator):
    X, _ = groups()
    model = fitted(estimator)
    labels, scores = model.labels_.copy(), model.decision_function(X).copy()
    model.predict(X[::-1] + 100)
    model.decision_function(X[:3])
    np.testing.assert_array_equal(model.labels_, labels)
    np.testing.assert_array_equal(model.decision_function(X), scores)


@every_clusterer
def test_predictions_do_not_depend_on_the_other_samples(estimator):
    X, y = groups()
    model = fitted(estimator)
    np.testing.assert_array_equal(model.predict(X[:7]), y[:7])
    np.testing.assert_array_equal(model.predict(X[y == 2]), y[y == 2])


@every_clusterer
def test_a_pickled_model_predicts_the_same(estimator):
    X, _ = groups()
    model = fitted(estimator)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.labels_, model.labels_)
    np.testing.assert_array_equal(copy.decision_function(X + 2), model.decision_function(X + 2))


@each([one for one in CLUSTERERS if one is not AutoClustering])  # a consensus has no objective
def test_iterations_are_counted_and_objectives_finite(estimator):
    model = fitted(estimator)
    assert model.n_iter_ == len(model.history_) >= 1
    assert np.isfinite(model.objective_)
    assert np.isfinite(model.history_).all()
