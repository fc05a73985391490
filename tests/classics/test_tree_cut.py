"""Tree cut clustering: its parts against the tree, its predictions against all distances."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

from separatrix.classics import tree_cut
from separatrix.classics.tree_cut import TreeCutClustering
from separatrix.similarity.spanning_trees import cut_labels, joined_labels, spanning_tree
from support import Recorder, fit_quietly, groups, same_partition

both_rules = pytest.mark.parametrize("rule", ["cut", "join"])


def radii_of(X, n_neighbors):
    return np.sort(cdist(X, X), axis=1)[:, n_neighbors]


def lengths_of(X, n_neighbors):
    radii = radii_of(X, n_neighbors)
    return np.maximum(cdist(X, X), np.maximum(radii[:, None], radii))


# Clusters


@pytest.mark.parametrize("n_clusters", [2, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_clusters_are_parts_of_the_tree(n_clusters, seed):
    X = groups(seed, n=90, n_groups=3)
    tree = spanning_tree(X, radii_of(X, 4))
    cut = TreeCutClustering(n_clusters, n_neighbors=4, smallest_share=0.3).fit(X)
    smallest = 0.3 * 90 / n_clusters
    assert same_partition(cut.labels_, cut_labels(tree, n_clusters, smallest=smallest))
    join = TreeCutClustering(n_clusters, rule="join", n_neighbors=4, unevenness=0.2).fit(X)
    assert same_partition(join.labels_, joined_labels(tree, n_clusters, unevenness=0.2))


@both_rules
def test_lengths_within_and_between_clusters(rule):
    X = groups(0, n=80, n_groups=4)
    lengths = lengths_of(X, 5)
    model = TreeCutClustering(4, rule=rule).fit(X)
    assert model.cut_links_.shape == (3, 2)
    np.testing.assert_allclose(lengths[tuple(model.cut_links_.T)], model.cut_lengths_, rtol=1e-12)
    assert (np.diff(model.cut_lengths_) <= 0).all()
    assert (np.diff(model.labels_[model.cut_links_], axis=1) != 0).all()
    total = minimum_spanning_tree(lengths).sum()
    np.testing.assert_allclose(model.history_, total - np.cumsum(model.cut_lengths_), rtol=1e-12)
    assert model.objective_ == model.history_[-1]
    # each cluster has a spanning tree of its own, and that is the shortest
    within = [lengths[np.ix_(c, c)] for c in model.labels_ == np.arange(4)[:, None]]
    forest = sum(minimum_spanning_tree(block).sum() for block in within)
    assert model.objective_ == pytest.approx(forest, rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_single_linkage_is_the_limit(seed):
    X = groups(seed, n=50, n_groups=3)
    expected = fcluster(linkage(X, "single"), 4, "maxclust")
    for parameters in ({"smallest_share": 0}, {"rule": "join", "unevenness": 1}):
        model = TreeCutClustering(4, n_neighbors=1, **parameters).fit(X)
        assert same_partition(model.labels_, expected)


@both_rules
def test_outliers_are_no_clusters(rule):
    X, y = make_moons(300, noise=0.05, random_state=0)
    X = np.vstack([X, [[10.0, 0], [0, -10], [-8, 9]]])
    labels = TreeCutClustering(2, rule=rule).fit(X).labels_
    assert same_partition(labels[:300], y)
    single = TreeCutClustering(2, n_neighbors=1, smallest_share=0).fit(X).labels_
    assert np.bincount(single).min() == 1  # what the tree alone would do


def test_the_least_size_is_halved_until_there_are_enough_clusters():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(55, 2)), rng.normal(size=(45, 2)) + 30])
    model = TreeCutClustering(2, smallest_share=1.0).fit(X)  # as if both parts had 50
    np.testing.assert_array_equal(model.labels_, np.repeat([0, 1], [55, 45]))


@both_rules
@pytest.mark.parametrize("scale", [1.0, 1e-100, 1e100, 1e200, 3.7])
def test_place_unit_and_order_do_not_matter(rule, scale):
    X = groups(1, n=90, n_groups=3)
    order = np.random.default_rng(0).permutation(90)
    model = TreeCutClustering(3, rule=rule).fit(X)
    other = TreeCutClustering(3, rule=rule).fit(scale * (X[order] + 5.0))
    np.testing.assert_array_equal(other.labels_, model.labels_[order])
    assert other.objective_ == pytest.approx(scale * model.objective_, rel=1e-9)
    np.testing.assert_array_equal(other.predict(scale * (X + 5.0)), model.labels_)


@both_rules
def test_order_of_tied_samples_does_not_matter(rule):
    X = np.random.default_rng(0).integers(0, 5, size=(60, 2)).astype(float)
    order = np.random.default_rng(1).permutation(60)
    parts = [TreeCutClustering(3, rule=rule).fit(rows).labels_ for rows in (X, X[order])]
    assert same_partition(parts[0][order], parts[1])


@both_rules
@settings(max_examples=20, deadline=None, derandomize=True)
@given(
    X=arrays(
        np.float64,
        st.tuples(st.integers(4, 16), st.integers(1, 3)),
        elements=st.integers(-2, 2).map(float),
    ),
    n_clusters=st.integers(1, 4),
    n_neighbors=st.integers(1, 6),
)
def test_equal_samples_stay_together(rule, X, n_clusters, n_neighbors):
    model = TreeCutClustering(n_clusters, rule=rule, n_neighbors=n_neighbors)
    model, told = fit_quietly(model, X)
    distinct, place = np.unique(X, axis=0, return_inverse=True)
    for one in range(len(distinct)):
        assert len(np.unique(model.labels_[place == one])) == 1
    n_found = len(np.unique(model.labels_))
    assert n_found == min(n_clusters, len(distinct))
    assert (told is not None) == (n_found < n_clusters)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_copies_count_as_samples():
    """Three samples are too few for a cluster, but not if there are twenty of each."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(50, 2)), rng.normal(size=(50, 2)) + [9, 0]])
    X = np.vstack([X, [[40.0, 0], [40, 1], [40, 2]]])
    few = TreeCutClustering(2, smallest_share=0.5).fit(X)
    assert few.labels_[0] != few.labels_[99]
    many = TreeCutClustering(2, smallest_share=0.5).fit(np.vstack([X, *[X[100:]] * 19]))
    assert many.labels_[0] == many.labels_[99] != many.labels_[100]


@both_rules
def test_few_samples(rule):
    X = np.array([[0.0], [1.0], [10.0], [12.0]])
    np.testing.assert_array_equal(TreeCutClustering(2, rule=rule).fit(X).labels_, [0, 0, 1, 1])
    assert len(np.unique(TreeCutClustering(4, rule=rule).fit(X).labels_)) == 4
    one = TreeCutClustering(1, rule=rule).fit(X)
    np.testing.assert_array_equal(one.decision_function(X), np.zeros(4))
    assert one.cut_links_.shape == (0, 2)
    with pytest.raises(ValueError, match="n_clusters=5"):
        TreeCutClustering(5, rule=rule).fit(X)


@both_rules
def test_missing_clusters_are_told(rule):
    for X in (np.ones((8, 3)), np.repeat([[0.0, 0.0], [1.0, 2.0]], [6, 4], axis=0)):
        with pytest.warns(ConvergenceWarning, match="Fewer clusters"):
            model = TreeCutClustering(3, rule=rule).fit(X)
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        assert len(np.unique(model.labels_)) == len(np.unique(X, axis=0))


# Many samples


@pytest.mark.parametrize("n_neighbors", [1, 5, 12])
@pytest.mark.parametrize("n_groups", [1, 4])
@pytest.mark.parametrize("d", [2, 6])
def test_many_samples_are_linked_to_neighbors(n_neighbors, n_groups, d, monkeypatch):
    X = groups(0, n=400, d=d, n_groups=n_groups, apart=20.0)
    exact = TreeCutClustering(4, n_neighbors=n_neighbors).fit(X)
    monkeypatch.setattr(tree_cut, "MAX_SAMPLES", 100)
    monkeypatch.setattr(tree_cut, "spanning_tree", None)  # not called
    model = TreeCutClustering(4, n_neighbors=n_neighbors).fit(X)
    # in more than four dimensions neighbours may be missed
    assert model.objective_ == pytest.approx(exact.objective_, rel=1e-12 if d == 2 else 1e-3)
    np.testing.assert_array_equal(model.labels_, exact.labels_)
    order = np.random.default_rng(0).permutation(len(X))
    again = TreeCutClustering(4, n_neighbors=n_neighbors).fit(X[order])
    assert same_partition(again.labels_, model.labels_[order])


# New samples


@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("n_neighbors", [1, 5])
def test_new_samples_go_to_the_nearest(n_clusters, n_neighbors):
    X, new = groups(0, n=70, n_groups=3), groups(1, n=40, n_groups=3)
    model = TreeCutClustering(n_clusters, n_neighbors=n_neighbors).fit(X)
    radii = radii_of(X, 5) if n_neighbors == 5 else np.zeros(70)
    distances = np.maximum(cdist(new, X), radii)
    nearest = np.array([distances[:, model.labels_ == c].min(axis=1) for c in range(n_clusters)])
    expected = nearest[0] - nearest[1] if n_clusters == 2 else -nearest.T
    np.testing.assert_allclose(model.decision_function(new), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(model.predict(new), model.labels_[distances.argmin(axis=1)])


@both_rules
@pytest.mark.parametrize("n_clusters", [2, 4])
def test_known_samples_keep_their_clusters(rule, n_clusters):
    X = np.random.default_rng(0).uniform(size=(150, 3))  # no clusters: many samples are in doubt
    model = TreeCutClustering(n_clusters, rule=rule, n_neighbors=10).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    scores = model.decision_function(X)
    if n_clusters > 2:
        np.testing.assert_array_equal(scores.argmax(axis=1), model.labels_)
        np.testing.assert_array_equal(scores.max(axis=1), np.zeros(150))


# What it takes


def test_a_callback_may_stop_the_cuts():
    X = groups(0, n=90, n_groups=5, apart=20.0)
    recorder = Recorder(stop_at=[("iteration", 1)])
    model = TreeCutClustering(5).set_callbacks(recorder).fit(X)
    assert len(model.history_) == len(model.cut_lengths_) == 2
    assert len(np.unique(model.labels_)) == 3
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_what_it_cannot_take_is_named():
    X = groups(0)
    with pytest.raises(TypeError, match="Sparse data"):
        TreeCutClustering().fit(sp.csr_array(X))
    for parameters in ({"smallest_share": 1.1}, {"unevenness": -0.1}, {"n_neighbors": 0}):
        with pytest.raises(ValueError, match=next(iter(parameters))):
            TreeCutClustering(**parameters).fit(X)


def test_weights_beyond_all_counts_are_refused_by_the_rule_that_counts():
    X = np.arange(24.0).reshape(12, 2) ** 2
    weight = np.ones(12)
    weight[0] = 1e12
    with pytest.raises(ValueError, match="sample_weight sums to 1e\\+12"):
        TreeCutClustering(3, rule="join").fit(X, sample_weight=weight)


def many_blobs(sizes, seed=0):
    """Round clusters of these sizes in a square, some of which overlap."""
    rng = np.random.default_rng(seed)
    centers = rng.uniform(0, 6 * np.sqrt(len(sizes)), (len(sizes), 2))
    return np.repeat(centers, sizes, axis=0) + rng.standard_normal((sum(sizes), 2))


def test_parts_are_larger_for_many_clusters_of_even_sizes():
    even, uneven = [40] * 30, [30] * 15 + [130] * 15
    for sizes, share in ((even, 0.5), (uneven, 0.25)):
        X = many_blobs(sizes)
        model = TreeCutClustering(30).fit(X)
        assert model.smallest_share_ == share
        same = TreeCutClustering(30, smallest_share=share).fit(X)
        np.testing.assert_array_equal(model.labels_, same.labels_)
        small = np.bincount(TreeCutClustering(30, smallest_share=0.25).fit_predict(X)) < 0.5 * (
            len(X) / 30
        )
        assert (small.mean() > 0.3) == (share == 0.25)


def test_parts_are_a_quarter_of_an_even_share_for_few_clusters():
    X = many_blobs([40] * 20)
    assert TreeCutClustering(20).fit(X).smallest_share_ == 0.25
    assert np.isnan(TreeCutClustering(20, rule="join").fit(X).smallest_share_)
    assert np.isnan(TreeCutClustering(1).fit(X).smallest_share_)
