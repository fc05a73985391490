"""Bounds on sizes, as the tests of k-means-constrained ask for them."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from separatrix import (
    AutoClustering,
    CuttingPlaneMarginClustering,
    HardMaximumVolumeClustering,
    LabelGenerationMarginClustering,
    MaximinSeparationClustering,
    MaximumMarginClustering,
    OptimalMarginDistributionClustering,
    RegularizedLeastSquaresClustering,
    SemidefiniteMarginClustering,
)
from support import n_cases
from transport_support import best_total

from .cases import each, groups, taking

# A consensus takes seconds: one test of its own.
bounded = each([one for one in taking("max_size") if one is not AutoClustering])
balanced = each(taking("balance"))
# The others split in two again and again, and keep each split in balance up to one sample.
IN_SPLITS = (HardMaximumVolumeClustering, SemidefiniteMarginClustering)
in_splits = each(IN_SPLITS)
at_once = each([one for one in taking("balance") if one not in IN_SPLITS])
MOST = 0.1  # of all samples, by which two clusters in balance may differ here


def sizes_of(model):
    return np.bincount(model.labels_, minlength=model.n_clusters)


def cloud(n_samples=30, seed=0):
    """Samples without groups, so that any sizes are possible."""
    return np.random.default_rng(seed).normal(size=(n_samples, 2))


# --- bounds -------------------------------------------------------------------------------------


@bounded
@pytest.mark.filterwarnings("ignore:Fewer clusters were found")  # until the bounds fill them
@pytest.mark.filterwarnings("ignore:A labelling was still found")  # of a few that mixes lack
@pytest.mark.parametrize(
    ("n_clusters", "low", "high"),
    [
        (2, 15, 15),
        (2, 12, None),
        (2, None, 16),
        (3, 10, 10),
        (3, 8, 12),
        (3, 1, 11),
        (3, 9, None),
        (4, None, 8),
        (4, 7, 8),
        (5, 6, 6),
    ],
)
def test_sizes_are_within_their_bounds(estimator, n_clusters, low, high):
    """For groups of other sizes, and for samples without groups."""
    for X in (groups((20, 6, 4))[0], cloud()):
        params = {"min_size": low, "max_size": high, "random_state": 0}
        sizes = sizes_of(estimator(n_clusters, **params).fit(X))
        assert sizes.sum() == len(X)
        assert sizes.min() >= (low or 0)
        assert sizes.max() <= (high or len(X))


@bounded
def test_bounds_that_bind_nothing_change_nothing(estimator):
    X, y = groups()
    for low, high in ((0, 30), (1, None), (9, 11), (None, 11)):
        model = estimator(3, min_size=low, max_size=high, random_state=0).fit(X)
        np.testing.assert_array_equal(model.labels_, y)


@bounded
@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"min_size": 12, "max_size": 11}, "min_size=12 must not exceed max_size=11"),
        ({"min_size": 11}, r"min_size=11 is infeasible: .* needs 3 \* 11 = 33 samples, got 30"),
        ({"max_size": 9}, r"max_size=9 is infeasible: .* has room for 3 \* 9 = 27 .* got 30"),
        ({"min_size": -1}, "'min_size' parameter"),
        ({"max_size": 0}, "'max_size' parameter"),
        ({"min_size": 2.5}, "min_size=2.5 must be whole numbers of samples, or shares"),
        ({"max_size": [20, 20]}, r"max_size has shape \(2,\) but n_clusters=3"),
        ({"min_size": [20, 5, 6]}, r"needs 20 \+ 5 \+ 6 = 31 samples, got 30"),
        ({"min_size": 0.4}, r"min_size=0.4 is infeasible: .* needs 3 \* 12 = 36 samples"),
    ],
)
def test_bounds_that_no_sizes_meet_are_refused(estimator, params, words):
    with pytest.raises(ValueError, match=words):
        estimator(3, **params).fit(cloud())


@bounded
def test_one_cluster_has_all_samples_or_is_refused(estimator):
    with pytest.raises(ValueError, match=r"max_size=0.5 is infeasible: .* 1 \* 15 = 15 .* got 30"):
        estimator(1, max_size=0.5).fit(cloud())
    with pytest.raises(ValueError, match=r"min_size=2\.5 must be whole numbers"):
        estimator(3, min_size=2.5).fit(np.arange(30)[:, None] % 2)  # each is a cluster


def test_bounds_do_not_go_with_shares():
    with pytest.raises(ValueError, match="need shares='free'"):
        RegularizedLeastSquaresClustering(3, min_size=5, shares="equal").fit(cloud())


@pytest.mark.parametrize(
    ("shares", "sizes"),
    [
        ("equal", [10, 10, 10]),
        ([0.5, 0.3, 0.2], [15, 9, 6]),
        ([0.1, 0.2, 0.7], [21, 6, 3]),
        ([1 / 3, 1 / 3, 1 / 3], [10, 10, 10]),
    ],
)
def test_shares_are_kept_to_the_sample(shares, sizes):
    for X in (groups((20, 6, 4))[0], cloud()):
        model = RegularizedLeastSquaresClustering(3, shares=shares, random_state=0).fit(X)
        np.testing.assert_array_equal(sizes_of(model), sizes)


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ([0.5, 0.5], r"shares has shape \(2,\) but n_clusters=3"),
        ([0.5, 0.3, 0.3], "sum to 1, got .* 1.1"),
        ([0.6, 0.6, -0.2], "shares must be positive"),
        ("even", "'shares' parameter"),
    ],
)
def test_bad_shares_are_refused(shares, words):
    with pytest.raises(ValueError, match=words):
        RegularizedLeastSquaresClustering(3, shares=shares).fit(cloud())


@bounded
def test_predictions_are_free_of_bounds(estimator):
    """Bounds hold for the samples of a fit: what is predicted depends on each sample alone."""
    X, y = groups()
    model = estimator(3, min_size=9, max_size=11, random_state=0).fit(X)
    assert (model.predict(np.repeat(X[y == 2], 10, axis=0)) == 2).all()
    np.testing.assert_array_equal(model.predict(X[:1]), y[:1])


def test_bounds_that_the_search_keeps_shift_its_boundaries():
    X = groups((20, 6, 4))[0]
    model = RegularizedLeastSquaresClustering(3, min_size=8, max_size=12, random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


# By another rule, so that the scores are not the best total.
KEEPS_THEM_ITSELF = (CuttingPlaneMarginClustering, RegularizedLeastSquaresClustering)
# Equal samples that have to be separated may be those that `assign` does not take.
IN_EACH_UPDATE = (
    LabelGenerationMarginClustering,
    MaximumMarginClustering,
    OptimalMarginDistributionClustering,
)


@bounded
@given(data=st.data())
@settings(max_examples=n_cases(10), deadline=None)
def test_any_bounds_are_kept_and_cost_the_least_score(estimator, data):
    """Equal samples among them, shares and bounds for each cluster."""
    n_samples, n_clusters = data.draw(st.integers(6, 14)), data.draw(st.integers(1, 4))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(n_samples, 2)).round(data.draw(st.integers(0, 3)))
    sizes = rng.multinomial(n_samples, rng.dirichlet(np.ones(n_clusters)))
    low = np.maximum(sizes - rng.integers(0, 3, n_clusters), 0)
    high = np.maximum(sizes + rng.integers(0, 3, n_clusters), 1)
    bounds = {"min_size": low, "max_size": high}
    if data.draw(st.booleans()):
        bounds = {"min_size": low.min() / n_samples}
        low, high = np.full(n_clusters, low.min()), np.full(n_clusters, n_samples)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = estimator(n_clusters, random_state=0, **bounds).fit(X)
    counts = np.bincount(model.labels_, minlength=n_clusters)
    assert (low <= counts).all()
    assert (counts <= high).all()
    scores = model.transform(X)
    # there are fewer columns if few samples are distinct
    if scores.shape[1] == n_clusters and estimator not in KEEPS_THEM_ITSELF:
        total = scores[np.arange(n_samples), model.labels_].sum()
        # the integer program is solved to a tolerance, so these labels may be better
        assert total >= best_total(scores, low, high) - 1e-9
        assigned = model.assign(X, **bounds)
        if estimator in IN_EACH_UPDATE:
            assert scores[np.arange(n_samples), assigned].sum() == pytest.approx(total, abs=1e-9)
        else:
            np.testing.assert_array_equal(assigned, model.labels_)


def test_a_consensus_keeps_bounds():
    X = groups((20, 6, 4))[0]
    model = AutoClustering(3, min_size=8, max_size=[12, 0.4, 9], random_state=0).fit(X)
    sizes = sizes_of(model)
    assert sizes.min() >= 8
    assert (sizes <= [12, 12, 9]).all()
    with pytest.raises(ValueError, match="min_size=11 is infeasible"):
        AutoClustering(3, min_size=11).fit(X)


@pytest.mark.parametrize(
    "estimator",
    [
        LabelGenerationMarginClustering,
        MaximinSeparationClustering,
        MaximumMarginClustering,
        OptimalMarginDistributionClustering,
    ],
)
def test_bounds_do_not_go_with_links_that_they_might_break(estimator):
    X, y = groups()
    with pytest.raises(
        ValueError, match="min_size=9 and max_size=None cannot be combined with links"
    ):
        estimator(3, min_size=9).fit(X, known_labels=y)


@pytest.mark.filterwarnings("ignore:A labelling was still found")
@pytest.mark.parametrize("estimator", [CuttingPlaneMarginClustering, *IN_EACH_UPDATE])
def test_bounds_hold_for_samples_of_other_forms(estimator):
    from_array = pytest.importorskip("dask.array").from_array
    X = groups((20, 6, 4))[0]
    model = estimator(3, max_size=[14, 9, 8], random_state=0)
    expected = model.fit(X).labels_
    np.testing.assert_array_equal(model.fit(sparse.csr_array(X)).labels_, expected)
    lazy = model.fit(from_array(X, chunks=(11, 2))).labels_
    assert (np.bincount(lazy.compute()) <= [14, 9, 8]).all()


@pytest.mark.parametrize("estimator", IN_EACH_UPDATE)
@pytest.mark.parametrize("warm_start", [False, True])
def test_bounds_of_each_cluster_are_those_of_its_number(estimator, warm_start):
    """Whatever the numbers of an earlier fit, and though the largest cluster is not the first."""
    X = groups((6, 16, 8))[0]
    model = estimator(3, warm_start=warm_start, random_state=0).set_params(balance=0.8)
    model.fit(X).set_params(max_size=[8, 9, 18]).fit(X)
    assert (sizes_of(model) <= [8, 9, 18]).all()
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert len(np.unique(np.column_stack([model.labels_, groups((6, 16, 8))[1]]), axis=0)) == 3


# --- balance ------------------------------------------------------------------------------------


@balanced
@pytest.mark.parametrize("seed", range(2))
def test_two_clusters_are_in_balance(estimator, seed):
    """However uneven the groups are."""
    for X in (groups((12, 6), seed)[0], cloud(18, seed)):
        model = estimator(2, balance=MOST, random_state=0).fit(X)
        assert abs(np.diff(sizes_of(model))[0]) <= MOST * len(X) + 1e-9
        np.testing.assert_array_equal(model.predict(X), model.labels_)


@balanced
def test_balance_that_binds_nothing_changes_nothing(estimator):
    X, y = groups((16, 14))
    model = estimator(2, balance=MOST, random_state=0).fit(X)
    np.testing.assert_array_equal(model.labels_, y)


@balanced
def test_halves_are_exact(estimator):
    X = groups((12, 6))[0]
    model = estimator(2, balance=0.0, random_state=0).fit(X)
    np.testing.assert_array_equal(sizes_of(model), [9, 9])


@at_once
@pytest.mark.parametrize(("n_clusters", "balance"), [(3, 0.0), (3, 0.1), (4, 0.1)])
def test_several_clusters_are_in_balance(estimator, n_clusters, balance):
    """Up to one sample, as no share of 21 samples is a whole number."""
    sizes = sizes_of(estimator(n_clusters, balance=balance, random_state=0).fit(cloud(21)))
    even = 21 / n_clusters
    assert sizes.min() >= np.floor((1 - balance) * even)
    assert sizes.max() <= np.ceil((1 + balance) * even)


@at_once
def test_halves_of_an_odd_number_are_refused(estimator):
    with pytest.raises(ValueError, match=r"balance=0 is infeasible: n_samples=21 is odd.*0\.0477"):
        estimator(2, balance=0.0).fit(cloud(21))


@in_splits
def test_halves_of_an_odd_number_differ_by_one(estimator):
    model = estimator(2, balance=0.0, random_state=0).fit(cloud(21))
    np.testing.assert_array_equal(sizes_of(model), [11, 10])


@balanced
@pytest.mark.parametrize("balance", [-0.1, 1.5, "even"])
def test_bad_balance_is_refused(estimator, balance):
    with pytest.raises(ValueError, match="'balance' parameter"):
        estimator(2, balance=balance).fit(cloud())


@balanced
def test_predictions_are_free_of_balance(estimator):
    X, y = groups((16, 14))
    model = estimator(2, balance=MOST, random_state=0).fit(X)
    assert (model.predict(np.repeat(X[y == 1], 5, axis=0)) == 1).all()
