"""Trees against plain loops and scikit-learn, the features they read, and the file they are in."""

import importlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata
from sklearn.ensemble import HistGradientBoostingRegressor

from separatrix.similarity.geometry import Geometry
from separatrix.validity.features import Measures, labelling_features, sample_features
from separatrix.validity.learned import (
    MOST,
    LearnedValidity,
    among_features,
    learned_validity,
    matrix_of,
    support_features,
)
from separatrix.validity.trees import BoostedTrees
from support import groups

TRAINING = Path(__file__).parents[2] / "benchmarks" / "validity"


# --- trees --------------------------------------------------------------------------------------


def random_trees(rng, n_trees, n_features, n_nodes=9):
    """Trees that split some of their leaves at random until all nodes are used."""
    parts = {
        "feature": rng.integers(0, n_features, (n_trees, n_nodes)).astype(np.uint8),
        "threshold": rng.normal(size=(n_trees, n_nodes)).astype(np.float32),
        "left": np.zeros((n_trees, n_nodes), dtype=np.uint8),
        "right": np.zeros((n_trees, n_nodes), dtype=np.uint8),
        "value": rng.normal(size=(n_trees, n_nodes)).astype(np.float32),
    }
    for tree in range(n_trees):
        leaves = [0]
        for new in range(1, n_nodes - 1, 2):
            node = leaves.pop(rng.integers(len(leaves)))
            parts["left"][tree, node], parts["right"][tree, node] = new, new + 1
            leaves += [new, new + 1]
    return BoostedTrees(**parts, baseline=float(rng.normal()))


def plain_prediction(trees, row):
    total = float(trees.baseline)
    for tree in range(len(trees.feature)):
        node = 0
        while trees.left[tree, node]:
            low = row[trees.feature[tree, node]] <= trees.threshold[tree, node]
            node = int((trees.left if low else trees.right)[tree, node])
        total += float(trees.value[tree, node])
    return total


@settings(max_examples=25, deadline=None)
@given(n_trees=st.integers(1, 8), n_features=st.integers(1, 5), seed=st.integers(0, 1_000))
def test_trees_add_up_the_leaves_that_samples_fall_into(n_trees, n_features, seed):
    rng = np.random.default_rng(seed)
    trees = random_trees(rng, n_trees, n_features)
    X = rng.normal(size=(20, n_features)).astype(np.float32)
    X[0] = trees.threshold[0, 0]  # a sample at a threshold goes left
    expected = [plain_prediction(trees, row) for row in X]
    np.testing.assert_allclose(trees.predict(X), expected, atol=1e-12)


def test_a_tree_may_be_a_single_leaf():
    none = np.zeros((2, 3), dtype=np.uint8)
    value = np.array([[0.5, 9, 9], [0.25, 9, 9]], dtype=np.float32)
    trees = BoostedTrees(none, np.zeros((2, 3), np.float32), none, none, value, 1.0)
    np.testing.assert_array_equal(trees.predict(np.zeros((4, 1))), 1.75)


@pytest.fixture
def train(monkeypatch):
    """The script that grows the trees."""
    if not TRAINING.exists():
        pytest.skip("the benchmarks are not here")
    monkeypatch.syspath_prepend(str(TRAINING))
    return importlib.import_module("train")


def test_exported_trees_predict_as_scikit_learn_does(train):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 6)).astype(np.float32)
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=500)
    model = HistGradientBoostingRegressor(max_iter=40, random_state=0, **train.TREES).fit(X, y)
    trees = BoostedTrees(**train.as_arrays(model))
    assert trees.feature.shape == (40, 2 * train.TREES["max_leaf_nodes"] - 1)
    new = rng.normal(size=(300, 6)).astype(np.float32)
    for rows in (X, new):
        expected = model.predict(rows)
        assert np.ptp(expected) > 1
        np.testing.assert_allclose(trees.predict(rows), expected, atol=1e-5)


# --- what the trees read ------------------------------------------------------------------------


def test_matrix_has_the_columns_asked_for_within_their_range():
    told = [{"a": 1.0, "b": np.nan, "c": 3.0}, {"c": -1e9, "b": np.inf, "a": -0.5}]
    found = matrix_of(told, ("c", "a", "b"))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, [[3, 1, 0], [-MOST, -0.5, MOST]])


def random_agreement(rng, n):
    agreement = rng.random((n, n))
    agreement = (agreement + agreement.T) / 2
    np.fill_diagonal(agreement, 1)
    return agreement


def plain_support(agreement, families):
    rows = []
    for i, own in enumerate(families):
        means, nearest = [], []
        for other in sorted(set(families) - {own}):
            values = [agreement[i, j] for j, family in enumerate(families) if family == other]
            means.append(np.mean(values))
            nearest.append(max(values))
        nearest.sort()
        everyone = [agreement[i, j] for j in range(len(families)) if j != i]
        others = (
            [np.mean(means), np.mean(nearest), nearest[-1], np.mean(nearest[-3:])]
            if means
            else [0.0] * 4
        )
        rows.append([*others, np.mean(everyone) if everyone else 0.0])
    return rows


@pytest.mark.parametrize("families", ["abacbdeea", "aaa", "ab", "a"])
def test_support_is_that_of_other_families(families):
    agreement = random_agreement(np.random.default_rng(0), len(families))
    found = support_features(agreement, [*families])
    np.testing.assert_allclose(found, plain_support(agreement, [*families]), rtol=1e-6)


def test_labellings_are_looked_at_among_each_other():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(6, 4)).astype(np.float32)
    rows[:, 2] = 0.5  # says nothing
    agreement, families = random_agreement(rng, 6), [*"aabbcd"]
    found = among_features(rows, [7.0, 8.0], agreement, families)
    support = support_features(agreement, families)
    deviations = (rows - rows.mean(axis=0)) / np.array(
        [*rows.std(axis=0)[:2], 1, rows[:, 3].std()]
    )
    parts = [
        rows,
        (rankdata(rows, axis=0) - 0.5) / 6,
        deviations,
        support,
        (rankdata(support, axis=0) - 0.5) / 6,
        np.tile([7.0, 8.0, agreement.mean()], (6, 1)),
    ]
    np.testing.assert_allclose(found, np.hstack(parts), atol=1e-5)
    np.testing.assert_allclose(found[:, 4 + 2], 0.5)
    np.testing.assert_array_equal(found[:, 8 + 2], 0)


def small_validity(rng):
    """Random trees for two features of labellings and one of the samples."""
    n_among = 3 * 2 + 2 * 5 + 1 + 1
    trees = random_trees(rng, 5, 3), random_trees(rng, 30, n_among)
    return LearnedValidity("0", ("a", "b"), ("n",), *trees)


def test_validity_of_each_does_not_depend_on_the_others():
    rng = np.random.default_rng(0)
    learned = small_validity(rng)
    told = [{"b": b, "a": a} for a, b in rng.normal(size=(7, 2))]
    sample = {"n": 0.3, "unused": 5.0}
    found = learned.of_each(told, sample)
    expected = learned.alone.predict([[one["a"], one["b"], 0.3] for one in told])
    np.testing.assert_array_equal(found, expected)
    assert np.ptp(found) > 0
    np.testing.assert_array_equal([learned.of_each([one], sample)[0] for one in told], found)


def test_validity_of_several_goes_along_with_their_order():
    rng = np.random.default_rng(0)
    learned = small_validity(rng)
    told = [{"a": a, "b": b} for a, b in rng.normal(size=(7, 2))]
    agreement, families = random_agreement(rng, 7), [*"aabbcda"]
    found = learned.of_several(told, {"n": 0.3}, agreement, families)
    rows = matrix_of(told, learned.names)
    expected = learned.among.predict(among_features(rows, [0.3], agreement, families))
    np.testing.assert_array_equal(found, expected)
    order = rng.permutation(7)
    reordered = learned.of_several(
        [told[i] for i in order],
        {"n": 0.3},
        agreement[np.ix_(order, order)],
        [families[i] for i in order],
    )
    assert np.ptp(found) > 0
    np.testing.assert_allclose(reordered, found[order], atol=1e-12)


# --- the file -----------------------------------------------------------------------------------


def test_file_knows_the_features_that_are_computed():
    X = groups(n=40)
    measures = Measures(Geometry(X - X.mean(axis=0)), np.random.RandomState(0))
    y = (np.arange(40) % 3).astype(np.int32)
    learned = learned_validity()
    assert sorted(learned.names) == sorted(labelling_features(measures, y))
    assert sorted(learned.sample_names) == sorted(sample_features(measures, 3))


def test_file_has_a_version_and_is_read_once():
    assert learned_validity().version.isdigit()
    assert learned_validity() is learned_validity()


@pytest.mark.parametrize("kind", ["alone", "among"])
def test_trees_of_the_file_are_trees(kind):
    """Every inner node has two children of its own, and asks for a feature that exists."""
    learned = learned_validity()
    n_own, n_sample = len(learned.names), len(learned.sample_names)
    n_features = n_own + n_sample if kind == "alone" else 3 * n_own + 2 * 5 + n_sample + 1
    trees = getattr(learned, kind)
    n_trees, n_nodes = trees.feature.shape
    assert n_trees > 0
    assert {part.shape for part in (trees.threshold, trees.left, trees.right, trees.value)} == {
        (n_trees, n_nodes)
    }
    assert trees.feature.max() < n_features
    assert np.isfinite(trees.threshold).all()
    assert np.isfinite(trees.value).all()
    assert np.isfinite(trees.baseline)
    for left, right in zip(trees.left.tolist(), trees.right.tolist(), strict=True):
        waiting, seen = [0], set()
        while waiting:
            node = waiting.pop()
            assert node not in seen
            seen.add(node)
            assert (left[node] > 0) == (right[node] > 0)
            if left[node]:
                waiting += [left[node], right[node]]
        assert max(seen) < n_nodes
