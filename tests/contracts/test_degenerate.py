"""Copies, one cluster, as many clusters as samples: test_k_means.py and test_hdbscan.py."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from .cases import CENTERS, CLUSTERERS, SIZES, each, groups

every_clusterer = each(CLUSTERERS)


@every_clusterer
def test_copies_of_few_points_are_the_clusters(estimator):
    """As many distinct points as clusters, each of them many times."""
    X = np.repeat(CENTERS, SIZES, axis=0)
    model = estimator(3, random_state=0).fit(X)
    np.testing.assert_array_equal(model.labels_, np.repeat([0, 1, 2], SIZES))
    np.testing.assert_array_equal(model.predict(CENTERS), [0, 1, 2])


@every_clusterer
def test_groups_of_copies_are_the_clusters(estimator):
    """Every sample of separated groups three times."""
    X, y = groups()
    model = estimator(3, random_state=0).fit(np.repeat(X, 3, axis=0))
    np.testing.assert_array_equal(model.labels_, np.repeat(y, 3))
    np.testing.assert_array_equal(model.predict(X), y)


@every_clusterer
def test_fewer_distinct_points_than_clusters_are_told(estimator):
    X = np.repeat(CENTERS[:2], [6, 4], axis=0)
    model = estimator(3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="[Ff]ewer clusters") as caught:
        model.fit(X)
    assert len(caught) == 1
    np.testing.assert_array_equal(model.labels_, np.repeat([0, 1], [6, 4]))
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@every_clusterer
def test_constant_samples_are_one_cluster(estimator):
    model = estimator(2, random_state=0)
    with pytest.warns(ConvergenceWarning, match="[Ff]ewer clusters") as caught:
        model.fit(np.full((8, 2), 3.0))
    assert len(caught) == 1
    assert not model.labels_.any()
    assert not model.predict(CENTERS).any()


@every_clusterer
def test_one_cluster_has_all_samples(estimator):
    X, _ = groups()
    model = estimator(1, random_state=0).fit(X)
    assert not model.labels_.any()
    assert model.labels_.shape == (len(X),)
    assert not model.predict(X + 1e3).any()


@every_clusterer
def test_as_many_clusters_as_samples(estimator):
    X = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 12.0], [15.0, 17.0]])
    model = estimator(4, random_state=0).fit(X)
    np.testing.assert_array_equal(model.labels_, [0, 1, 2, 3])
    np.testing.assert_array_equal(model.predict(X), [0, 1, 2, 3])


@every_clusterer
def test_more_clusters_than_samples_are_refused(estimator):
    with pytest.raises(ValueError, match=r"n_samples=3.* n_clusters=4"):
        estimator(4).fit(CENTERS)


@every_clusterer
@pytest.mark.parametrize("n_clusters", [0, -1, 2.5, "two"])
def test_bad_numbers_of_clusters_are_refused(estimator, n_clusters):
    with pytest.raises(ValueError, match="'n_clusters' parameter of"):
        estimator(n_clusters).fit(CENTERS)


@every_clusterer
def test_one_feature_and_samples_on_a_line(estimator):
    X, y = groups((11, 10))
    line = np.column_stack([X[:, 0], 2 * X[:, 0]])
    for samples in (X[:, :1], line):
        model = estimator(2, random_state=0).fit(samples)
        np.testing.assert_array_equal(model.labels_, y)


@every_clusterer
def test_constant_features_have_no_say(estimator):
    X, y = groups()
    X = np.column_stack([X, np.full(len(X), 7.0)])
    model = estimator(3, random_state=0).fit(X)
    np.testing.assert_array_equal(model.labels_, y)
    np.testing.assert_array_equal(model.predict(X), y)
