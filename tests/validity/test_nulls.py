"""Tables without clusters: what they keep, and that columns have one mode."""

import numpy as np
import pytest
from scipy.stats import kstest, spearmanr

from separatrix.validity import nulls
from separatrix.validity.nulls import (
    KINDS,
    Elliptical,
    NullTables,
    OneHot,
    Unimodal,
    normal_scores,
    one_hot_categories,
    upper_corners,
    without_levels,
)

RNG = np.random.RandomState


def values_of(kind, rng, n=600):
    return {
        "normal": lambda: rng.normal(size=n),
        "skewed": lambda: rng.exponential(size=n),
        "bimodal": lambda: np.concatenate([rng.normal(size=n // 2), rng.normal(8, 1, n // 2)]),
        "equal values": lambda: np.maximum(rng.normal(size=n), 0),
    }[kind]()


@pytest.mark.parametrize("kind", ["normal", "skewed", "bimodal", "equal values"])
def test_a_column_gets_one_mode(kind):
    found = Unimodal.of(values_of(kind, RNG(0)))
    density = np.diff(found.shares) / np.diff(found.edges)
    turns = np.sign(np.diff(density / density.max()).round(9))
    turns = turns[turns != 0]
    assert (np.diff(turns) <= 0).all()  # it rises, then falls
    assert found.shares[0] == 0
    assert found.shares[-1] == pytest.approx(1)


def test_a_constant_column_stays_one():
    found = Unimodal.of(np.full(30, 2.5))
    np.testing.assert_array_equal(found.quantiles(np.linspace(0, 1, 7)), 2.5)


@pytest.mark.parametrize("kind", ["normal", "skewed"])
def test_a_distribution_of_one_mode_is_kept(kind):
    values = values_of(kind, RNG(1), n=20_000)
    shares = np.linspace(0.05, 0.95, 19)
    found = Unimodal.of(values).quantiles(shares)
    np.testing.assert_allclose(found, np.quantile(values, shares), atol=0.1)


def test_a_long_tail_stays_a_tail():
    values = RNG(3).lognormal(sigma=1.5, size=1_000)
    shares = np.array([0.98, 0.985, 0.99, 0.995])
    found = Unimodal.of(values).quantiles(shares)
    np.testing.assert_allclose(found, np.quantile(values, shares), rtol=0.2)


def test_the_valley_between_two_modes_is_filled():
    values = values_of("bimodal", RNG(2))
    inside = (values > 3.5) & (values < 4.5)
    drawn = Unimodal.of(values).quantiles(RNG(0).random_sample(4_000))
    assert inside.mean() < 0.01
    assert ((drawn > 3.5) & (drawn < 4.5)).mean() > 0.02


@pytest.mark.parametrize("kind", KINDS)
def test_tables_keep_size_spread_and_correlations(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2_000, 4)) @ rng.normal(size=(4, 4))
    tables = NullTables.of(X, RNG(0))
    drawn = tables.in_units(tables.draw(kind, RNG(1)))
    assert drawn.shape == X.shape
    np.testing.assert_allclose(drawn.std(axis=0), X.std(axis=0), rtol=0.1)
    np.testing.assert_allclose(spearmanr(drawn)[0], spearmanr(X)[0], atol=0.1)


def test_levels_are_spread_out_in_their_order():
    X = RNG(0).randint(4, size=(200, 3)).astype(float)
    X[:, 2] = RNG(1).normal(size=200)
    smooth = without_levels(X, RNG(2))
    np.testing.assert_array_equal(smooth[:, 2], X[:, 2])
    for before, after in zip(X[:, :2].T, smooth[:, :2].T, strict=True):
        assert len(np.unique(after)) == 200
        for level in range(3):
            assert after[before == level].max() < after[before == level + 1].min()
        assert after.std() == pytest.approx(before.std(), rel=0.05)


def test_levels_are_spread_anew_and_other_columns_stay():
    X = np.column_stack([np.random.RandomState(0).normal(size=60), np.arange(60) % 2])
    tables = NullTables.of(X, np.random.RandomState(0))
    one, other = (tables.spread(X, np.random.RandomState(seed)) for seed in (1, 2))
    np.testing.assert_allclose(one[:, 0], tables.samples[:, 0])
    assert not np.allclose(one[:, 1], other[:, 1])
    for levels in (one[:, 1], other[:, 1]):
        assert levels[::2].max() < levels[1::2].min()


def test_normal_scores_are_quantiles_whatever_the_ties():
    scores = normal_scores(np.array([[2.0], [1.0], [1.0], [3.0]]), RNG(0))[:, 0]
    assert np.sort(scores) == pytest.approx(-np.sort(scores)[::-1])
    assert scores[3] > scores[0] > max(scores[1], scores[2])


def test_one_hot_columns_are_found_and_stay_exclusive():
    rng = np.random.default_rng(0)
    first, second = np.eye(4)[rng.integers(4, size=2_000)], np.eye(3)[rng.integers(3, size=2_000)]
    number, flag = rng.normal(size=(2_000, 1)), rng.integers(2, size=(2_000, 1))
    X = np.hstack([first, second, number, flag, second[:, :2]])
    found = one_hot_categories(X)
    assert [(one.columns.start, one.columns.stop) for one in found[:2]] == [(0, 4), (4, 7)]
    assert [one.complete for one in found[:2]] == [True, True]
    ours = slice(0, 4)
    drawn = found[0].scores(np.random.RandomState(1).standard_normal(X.shape), RNG(2))
    expected = np.corrcoef(normal_scores(X[:, ours], RNG(3)), rowvar=False)
    np.testing.assert_allclose(np.corrcoef(drawn, rowvar=False), expected, atol=0.06)


@pytest.mark.parametrize("complete", [True, False])
def test_a_category_keeps_its_shares(complete):
    """Drawn with thresholds of each column by itself, rare levels would be rarer still."""
    shares = np.array([0.6, 0.25, 0.1, 0.05])
    category = OneHot(slice(0, 4), shares if complete else shares / 2, complete)
    seen = []
    original = nulls.normal_scores
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nulls, "normal_scores", lambda X, rng: seen.append(X) or original(X, rng))
        category.scores(RNG(0).standard_normal((4_000, 4)), RNG(1))
    ones = seen[0]
    assert ones.sum(axis=1).max() == 1
    assert (ones.sum(axis=1) == 1).all() == complete
    np.testing.assert_allclose(ones.mean(axis=0), category.shares, atol=0.01)


def test_columns_that_exclude_each_other_need_not_be_complete():
    level = np.arange(60) % 3
    X = np.eye(3)[level][:, :2]
    (found,) = one_hot_categories(X)
    assert not found.complete
    nowhere = np.full((60, 2), -9.0)  # far below the thresholds of both
    ranks = np.argsort(found.scores(nowhere, RNG(0)), axis=0)
    assert sorted(ranks[:, 0]) == list(range(60))


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
@pytest.mark.parametrize("n_features", [3, 60])
def test_tables_come_back_in_the_units_of_the_samples(scale, n_features):
    X = scale * (5 + np.random.default_rng(0).normal(size=(50, n_features)))
    tables = NullTables.of(X, RNG(0))
    np.testing.assert_allclose(tables.in_units(tables.samples), X, atol=1e-9 * scale)


def in_a_ball(n, d, rng):
    X = rng.standard_normal((n, d))
    return X * (rng.random_sample((n, 1)) ** (1 / d) / np.linalg.norm(X, axis=1, keepdims=True))


@pytest.mark.parametrize("seed", range(5))
def test_the_concave_bound_is_the_least(seed):
    x = np.append(0.0, np.sort(RNG(seed).random_sample(30)))
    y = np.linspace(0, 1, 31)
    corners = upper_corners(x, y)
    highest = y.copy()  # of all chords over each place
    for i in range(31):
        for j in range(i + 1, 31):
            chord = np.interp(x, x[[i, j]], y[[i, j]], left=0, right=0)
            highest = np.maximum(highest, chord)
    np.testing.assert_allclose(np.interp(x, x[corners], y[corners]), highest)


def test_a_ball_stays_one():
    X = in_a_ball(4000, 3, RNG(0)) * [3, 1, 1]
    X = X - X.mean(axis=0)
    drawn = Elliptical.of(X).draw(4000, RNG(1)) / [3, 1, 1]
    volumes = np.linalg.norm(drawn, axis=1) ** 3
    assert kstest(volumes, "uniform").statistic < 0.03
    np.testing.assert_allclose(drawn.std(axis=0), 5**-0.5, rtol=0.05)


def test_two_groups_become_one_and_flat_directions_stay_flat():
    X = np.zeros((600, 3))
    X[:, :2] = RNG(0).standard_normal((600, 2)) + 9 * (np.arange(600)[:, None] % 2)
    found = Elliptical.of(X - X.mean(axis=0))
    assert (np.diff(np.diff(found.shares) / np.diff(found.volumes)) <= 0).all()
    drawn = found.draw(600, RNG(1))
    assert not drawn[:, 2].any()
    along = drawn @ [1, 1, 0] / np.sqrt(2)
    middle, half = np.mean(np.abs(along) < 2), np.mean(np.abs(along - 6) < 2)
    assert middle > half  # where there was nothing
