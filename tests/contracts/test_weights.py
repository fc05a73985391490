"""Weights of samples, as test_k_means.py asks for them."""

import numpy as np
import pytest

from .cases import each, fitting_with, groups, taking

# AutoClustering passes weights on to the candidates that take them, and extends what they elect
weighted = each([one for one in fitting_with("sample_weight") if one.__name__ != "AutoClustering"])


def unseparated():
    """Samples without groups, where every weight has a say."""
    return np.random.default_rng(3).normal(size=(24, 2)) * [3.0, 1.0]


def start(n_samples, n_clusters=2):
    return np.arange(n_samples) // 3 % n_clusters


def started(estimator, labels, n_clusters=2):
    """A clusterer that starts from labels, if it takes a start."""
    init = {"init": labels} if estimator in taking("init") else {}
    return estimator(n_clusters, random_state=0, **init)


@weighted
def test_unit_weights_equal_no_weights(estimator):
    X = unseparated()
    plain = estimator(random_state=0).fit(X)
    for weight in ([1] * len(X), 1.0):
        model = estimator(random_state=0).fit(X, sample_weight=weight)
        np.testing.assert_array_equal(model.labels_, plain.labels_)
        scores, expected = model.decision_function(X), plain.decision_function(X)
        np.testing.assert_allclose(scores, expected, rtol=1e-6, atol=1e-8)


@weighted
def test_scaled_weights_give_the_same_groups(estimator):
    """The sum of the losses grows with the weights, so models differ, but not where groups lie."""
    X, y = groups()
    for scale in (1 / 16, 16.0):
        model = estimator(3, random_state=0).fit(X, sample_weight=np.full(len(X), scale))
        np.testing.assert_array_equal(model.labels_, y)


@weighted
@pytest.mark.parametrize("k", [2, 3])
def test_a_whole_weight_is_a_repeated_sample(estimator, k):
    X = unseparated()
    first = start(len(X), k)
    weight = 1 + np.arange(len(X)) % 3
    repeated = np.repeat(np.arange(len(X)), weight)
    one = started(estimator, first, k).fit(X, sample_weight=weight)
    other = started(estimator, first[repeated], k).fit(X[repeated])
    np.testing.assert_array_equal(one.labels_[repeated], other.labels_)
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-4)


@weighted
def test_a_weight_of_zero_is_an_absent_sample(estimator):
    """Even far away; and it has a label nevertheless, the one that `predict` gives."""
    X = unseparated()
    far = np.vstack([X, [[300.0, 200.0], [-400.0, 100.0]]])
    weight = np.r_[np.ones(len(X)), 0, 0]
    first = start(len(X))
    one = started(estimator, np.r_[first, 0, 1]).fit(far, sample_weight=weight)
    other = started(estimator, first).fit(X)
    np.testing.assert_array_equal(one.labels_[:-2], other.labels_)
    np.testing.assert_array_equal(one.labels_, one.predict(far))
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-4)


@weighted
def test_the_cluster_of_the_largest_weight_is_the_first(estimator):
    X, y = groups((11, 10))
    weight = np.where(y == 1, 1.2, 1.0)
    model = estimator(2, random_state=0).fit(X, sample_weight=weight)
    np.testing.assert_array_equal(model.labels_, 1 - y)


@weighted
@pytest.mark.parametrize(
    ("weight", "word"),
    [
        (np.ones(29), "sample_weight"),
        (np.r_[-1.0, np.ones(29)], "sample_weight has minimum -1"),
        (np.zeros(30), "sample_weight is zero for all"),
        (np.r_[np.nan, np.ones(29)], "sample_weight has 1 of 30 entries NaN"),
        (np.ones((30, 2)), "sample_weight has shape"),
        (
            np.r_[1.0, 1.0, np.zeros(28)],
            r"n_samples=2 with positive sample_weight .* n_clusters=3",
        ),
    ],
    ids=["short", "negative", "zero", "nan", "wide", "few"],
)
def test_bad_weights_are_refused(estimator, weight, word):
    X, _ = groups()
    with pytest.raises(ValueError, match=word):
        estimator(3).fit(X, sample_weight=weight)
