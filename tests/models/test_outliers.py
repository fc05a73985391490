"""How far samples lie from those of clusters, and from where on they belong to none."""

import numpy as np
import pytest
from scipy.stats import chi2

from separatrix.models import outliers
from separatrix.models.outliers import (
    OutlierRule,
    intrinsic_dimension,
    limit_of_share,
    limit_of_tail,
)


def ruled(X, labels=None, share=0.0, weight=None, n_clusters=1, **options):
    labels = np.zeros(len(X), dtype=int) if labels is None else labels
    weight = np.ones(len(X)) if weight is None else weight
    return OutlierRule.of(X, weight, labels, n_clusters, share, **options)


def plain_scores(X, labels, k):
    """The definition, from all distances."""
    members = np.flatnonzero(labels >= 0)
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    radii = np.sort(distances[:, members], axis=1)[:, k - 1]
    np.fill_diagonal(distances, 0.0)
    clusters = labels[members[distances[:, members].argmin(axis=1)]]
    scales = [np.sort(radii[labels == c])[(np.sum(labels == c) - 1) // 2] for c in range(2)]
    return radii / np.array(scales)[clusters]


def test_scores_are_radii_over_those_usual_in_the_nearest_cluster():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(50, 3)), 4 * rng.normal(size=(40, 3)) + 20])
    labels = np.repeat([0, 1], [50, 40])
    labels[rng.permutation(90)[:10]] = -1
    rule, scores = ruled(X, labels, n_clusters=2)
    assert rule.n_neighbors == 10
    np.testing.assert_allclose(scores, plain_scores(X, labels, 10), rtol=1e-7)
    np.testing.assert_array_equal(rule.scores(X), scores)
    np.testing.assert_array_equal(rule.scores(X[7:9]), scores[7:9])


def test_a_weight_is_a_repeated_sample():
    rng = np.random.default_rng(1)
    X, weight = rng.normal(size=(60, 2)), rng.integers(1, 4, size=60)
    repeated = np.repeat(np.arange(60), weight)
    for share in (0.2, "auto"):
        one, scores = ruled(X, share=share, weight=weight.astype(float))
        other, expected = ruled(X[repeated], share=share)
        np.testing.assert_allclose(scores[repeated], expected, rtol=1e-12)
        assert one.limit == pytest.approx(other.limit, rel=1e-12)
        scaled, _ = ruled(X, share=share, weight=16.0 * weight)
        assert scaled.limit == pytest.approx(one.limit, rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_limit_leaves_out_the_largest_scores_that_the_share_allows(seed):
    """Compared with all limits that there may be; equal scores are on one side."""
    rng = np.random.default_rng(seed)
    scores, weight = rng.integers(0, 6, size=15) / 2.0, rng.integers(1, 4, size=15).astype(float)
    for most in (0.0, 1.0, 4.5, 12.0):
        allowed = [
            weight[scores > limit].sum()
            for limit in np.unique(scores)
            if weight[scores > limit].sum() <= most
        ]
        found = weight[scores > limit_of_share(scores, weight, most)].sum()
        assert found == max(allowed)


def test_a_limit_lies_between_two_scores_however_close():
    scores = np.array([1.0, np.nextafter(1.0, 2.0), 0.5])
    limit = limit_of_share(scores, np.ones(3), 1.0)
    assert scores[0] <= limit < scores[1]
    assert limit_of_share(np.array([np.inf, 2.0, 0.0]), np.ones(3), 1.0) == 2.0


@pytest.mark.parametrize("dimension", [1, 2, 5, 20])
def test_gaussian_clusters_lose_less_than_one_per_cent(dimension):
    rng = np.random.default_rng(dimension)
    lost = []
    for _ in range(10):
        rule, scores = ruled(rng.normal(size=(400, dimension)), share="auto")
        lost.append(np.mean(scores > rule.limit))
    assert np.mean(lost) < 0.01


@pytest.mark.parametrize("dimension", [2, 5])
def test_many_outliers_do_not_hide_each_other(dimension):
    """A quarter of noise raises the quartiles of all scores, but not the limit."""
    rng = np.random.default_rng(dimension)
    X = rng.normal(size=(900, dimension))
    noise = rng.uniform(-12, 12, size=(300, dimension))
    inside = (np.abs(noise) < 3.5).all(axis=1)  # which no rule can tell from samples
    rule, scores = ruled(np.vstack([X, noise]), share="auto")
    assert np.mean(scores[900:][~inside] > rule.limit) > 0.8
    assert np.mean(scores[:900] > rule.limit) < 0.05
    careful, scores = ruled(np.vstack([X, noise]), share="auto", sure=1.0)
    assert (scores <= careful.limit).all()


def test_the_search_for_a_limit_ends_at_a_fixed_point():
    """The quartiles of what lies below the limit give it again."""
    rng = np.random.default_rng(0)
    scores = np.exp(np.append(rng.chisquare(3, size=700) / 6, rng.uniform(3, 4, size=200)))
    limit = limit_of_tail(scores, np.ones(900), 3, 10, 900)
    order = rng.permutation(900)
    assert limit_of_tail(scores[order], np.ones(900), 3, 10, 900) == limit
    inside = np.log(np.sort(scores[scores <= limit]))
    first, third = inside[[len(inside) // 4, 3 * len(inside) // 4]]
    assert (scores[700:] > limit).all()
    scale = (third - first) / np.diff(chi2.ppf([0.25, 0.75], 3))[0]
    beyond = 1 - len(inside) / 900
    tail = 0.2 * (beyond - 4 * np.sqrt(beyond / 900))
    expected = third + scale * (chi2.isf(tail, 3) - chi2.ppf(0.75, 3))
    assert np.log(limit) == pytest.approx(expected, abs=0.02)


def test_the_tail_of_many_dimensions_is_that_of_those_that_vary():
    """Samples along a line are told from others as if they had one feature."""
    rng = np.random.default_rng(0)
    line = rng.normal(size=(400, 1)) @ rng.normal(size=(1, 10))
    lost = [np.mean(scores > rule.limit) for rule, scores in [ruled(line, share="auto")]]
    assert lost[0] < 0.02
    far, scores = ruled(np.vstack([line, line[:3] + 5.0]), share="auto")
    assert (scores[-3:] > far.limit).all()


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_the_dimension_of_a_cube_is_found(dimension):
    rng = np.random.default_rng(0)
    X = np.zeros((2000, 5))
    X[:, :dimension] = rng.uniform(size=(2000, dimension))
    rule, _ = ruled(X)
    _, _, distances = rule.radii(X)
    assert intrinsic_dimension(distances, np.ones(2000)) == pytest.approx(dimension, rel=0.06)


def test_a_grid_has_no_outliers():
    """All gaps are the same, so that their spread is that of chance."""
    grid = np.stack(np.meshgrid(np.arange(20.0), np.arange(20.0)), axis=-1).reshape(-1, 2)
    rule, scores = ruled(grid, share="auto")
    assert (scores <= rule.limit).all()


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_units_do_not_matter_where_squares_overflow(scale):
    X = np.random.default_rng(0).normal(size=(50, 2))
    X[0] = 40.0
    rule, scores = ruled(scale * X, share=0.02)
    np.testing.assert_allclose(scores, ruled(X, share=0.02)[1], rtol=1e-7)
    np.testing.assert_array_equal(np.flatnonzero(scores > rule.limit), [0])


def test_some_samples_stand_for_many(monkeypatch):
    monkeypatch.setattr(outliers, "MOST_COMPARED", 100)
    X = np.random.default_rng(0).normal(size=(1000, 2))
    X[:3] = [[30.0, 0.0], [0.0, 30.0], [-30.0, 0.0]]
    rule, scores = ruled(X, share=0.003)
    assert len(rule.rows) == 100
    np.testing.assert_array_equal(np.flatnonzero(scores > rule.limit), [0, 1, 2])
    order = np.random.default_rng(1).permutation(1000)
    np.testing.assert_array_equal(ruled(X[order], share=0.003)[1], scores[order])


def test_samples_that_may_not_move_take_no_room():
    X = np.random.default_rng(0).normal(size=(50, 2))
    X[:2] = [[50.0, 0.0], [0.0, 40.0]]
    movable = np.arange(50) > 0
    rule, scores = ruled(X, share=0.02, movable=movable)
    np.testing.assert_array_equal(np.flatnonzero((scores > rule.limit) & movable), [1])


def test_equal_samples_are_no_outliers_and_others_are():
    X = np.vstack([np.zeros((30, 2)), [[1.0, 1.0]]])
    rule, scores = ruled(X, share=0.1)
    assert (scores[:30] <= rule.limit).all()
    rule, scores = ruled(np.zeros((9, 2)), share="auto")
    assert (scores <= rule.limit).all()
    assert limit_of_tail(np.zeros(4), np.ones(4), 2, 1, 4) == np.inf
