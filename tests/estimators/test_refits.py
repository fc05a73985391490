"""Fits that go on from an earlier one."""

import warnings

import numpy as np
import pytest
from sklearn.base import ClusterMixin
from sklearn.datasets import make_blobs

import separatrix
from separatrix import KernelKMeans, MaximinSeparationClustering
from separatrix.labels.numbering import agreeing_order
from separatrix.result import renumbered

pytestmark = pytest.mark.usefixtures("few_tables")

CLUSTERERS = [
    one
    for one in (getattr(separatrix, name) for name in separatrix._REGISTRY)
    if isinstance(one, type) and issubclass(one, ClusterMixin)
]
CENTERS = np.array([[0.0, 0.0], [10.0, 0.0], [5.0, 9.0]])


def groups(sizes, seed=0):
    return make_blobs(sizes, centers=CENTERS, cluster_std=0.8, random_state=seed)[0]


@pytest.mark.parametrize("estimator", CLUSTERERS, ids=lambda one: one.__name__)
def test_a_refit_keeps_the_numbers_of_the_clusters(estimator):
    """The groups have other sizes, so that the largest first would number them otherwise."""
    model = estimator(3, warm_start=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(groups((12, 10, 8)))
        X = groups((8, 11, 13), seed=1)
        earlier = model.predict(X)
        labels = model.fit(X).labels_
        np.testing.assert_array_equal(model.predict(X), labels)
        cold = estimator(3, random_state=0).fit(X).labels_
    shared = np.mean(earlier == labels)
    assert shared > 0.6
    # of all numberings the best, and of the same clusters where there is no start
    orders = [np.array(order) for order in ((0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))]
    assert shared >= max(np.mean(earlier == renumbered(labels, order)) for order in orders)
    if shared == 1.0:
        assert (np.bincount(cold) == sorted(np.bincount(labels), reverse=True)).all()
        assert np.mean(earlier == cold) < 0.6


def test_a_refit_starts_where_the_earlier_fit_ended():
    """From a poor start updates end in a local optimum, where a refit of one update stays."""
    X = np.concatenate([groups((40, 40, 40)), groups((40, 40, 40), 1) + [40.0, 0.0]])
    poor = np.r_[np.zeros(120, int), np.arange(120) % 2 + 1]
    poor[:5] = 1
    model = KernelKMeans(3, kernel="linear", init=poor, warm_start=True).fit(X)
    assert model.objective_ > 1.01 * KernelKMeans(3, kernel="linear").fit(X).objective_
    labels = model.labels_
    model.set_params(init="k-means").fit(X)
    np.testing.assert_array_equal(model.labels_, labels)
    assert model.init == "k-means"


def test_the_first_fit_and_a_cold_one_number_the_largest_first():
    X = groups((8, 11, 13))
    for model in (KernelKMeans(3, warm_start=True), KernelKMeans(3).fit(groups((12, 10, 8)))):
        assert np.bincount(model.fit(X).labels_).tolist() == [13, 11, 8]


def test_more_clusters_than_before_take_the_next_numbers():
    X = groups((12, 10, 8))
    model = KernelKMeans(2, warm_start=True).fit(X)
    earlier = model.predict(X)
    labels = model.set_params(n_clusters=3).fit(X).labels_
    assert np.mean(labels == earlier) > 0.6
    assert set(labels) == {0, 1, 2}


def test_other_columns_than_before_are_refused():
    model = MaximinSeparationClustering(3, warm_start=True).fit(groups((12, 10, 8)))
    with pytest.raises(ValueError, match=r"fit of 2 columns, but X has 1; .* warm_start=False"):
        model.fit(groups((12, 10, 8))[:, :1])
    assert model.n_features_in_ == 2


def test_the_order_that_agrees_best_is_that_of_all_permutations():
    from itertools import permutations

    rng = np.random.default_rng(0)
    for _ in range(50):
        k = int(rng.integers(2, 5))
        labels, earlier = rng.integers(0, k, 12), rng.integers(0, k + 1, 12)
        order = agreeing_order(earlier, labels, k)
        assert sorted(order) == list(range(k))
        found = np.sum(renumbered(labels, order) == earlier)
        every = [
            np.sum(renumbered(labels, np.array(p)) == earlier) for p in permutations(range(k))
        ]
        assert found == max(every)
