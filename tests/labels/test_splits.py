"""Two clusters within bounds, by scores that may have either sign: against all labellings."""

from itertools import product

import numpy as np
import pytest

from separatrix import GeneralizedMarginClustering, SemidefiniteMarginClustering
from separatrix.labels.splits import SplitBounds, bounds_of_splits


def random_bounds(rng, n):
    """Bounds of two clusters that some sizes meet."""
    first = int(rng.integers(1, n))
    sizes = np.array([first, n - first])
    least = np.maximum(sizes - rng.integers(0, 3, 2), 0)
    return SplitBounds(least.astype(float), sizes + rng.integers(0, 3, 2).astype(float), n)


def test_signs_are_the_nearest_to_scores_or_to_their_opposites():
    """Among all labels by a threshold that are within the bounds, the square loss is least."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 12))
        scores, bounds = rng.normal(size=n), random_bounds(rng, n)
        found = bounds.signs(scores)
        assert bounds.met_by(found)
        losses = []
        for turned in (scores, -scores):
            order = np.sort(turned)
            for t in (order[1:] + order[:-1]) / 2:
                signs = np.where(turned > t, 1.0, -1.0)
                if bounds.met_by(signs):
                    losses.append((np.sum((turned - t - signs) ** 2), signs))
        least = min(loss for loss, _ in losses)
        assert any((found == signs).all() for loss, signs in losses if loss <= least + 1e-9)


def test_values_within_the_bounds_are_not_shifted():
    rng = np.random.default_rng(0)
    n_turned = n_shifted = 0
    for _ in range(100):
        n = int(rng.integers(3, 12))
        values, bounds = rng.normal(size=n) + 0.3, random_bounds(rng, n)
        turn, shift = bounds.shift(values)
        assert bounds.met_by(turn * values + shift)
        assert (shift == 0) == (bounds.met_by(values) or bounds.met_by(-values))
        n_turned += turn < 0
        n_shifted += shift != 0
    assert n_turned > 10
    assert n_shifted > 10


def test_weights_count_as_repeated_samples():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        weight = rng.integers(1, 4, size=7)
        scores, copies = rng.normal(size=7), np.repeat(np.arange(7), weight)
        total = float(weight.sum())
        least = np.floor(total * rng.dirichlet(np.ones(2)) / 2)
        bounds = SplitBounds(least, total - least[::-1], total)
        signs = bounds.signs(scores, weight.astype(float))[copies]
        expected = bounds.signs(scores[copies])
        turn = 1 if bounds.met_by(-signs) and signs[0] != expected[0] else 0  # either may be meant
        np.testing.assert_array_equal((-1) ** turn * signs, expected)


def test_the_balance_is_the_largest_difference_of_all_sizes_within():
    rng = np.random.default_rng(0)
    for _ in range(50):
        n = int(rng.integers(2, 12))
        bounds = random_bounds(rng, n)
        signs = (np.array(one) for one in product((-1, 1), repeat=n))
        differences = [abs(one.sum()) for one in signs if bounds.met_by(one)]
        assert bounds.balance == pytest.approx(max(differences) / n)


def test_halves_that_are_split_again_are_no_smaller_than_a_cluster():
    model = GeneralizedMarginClustering(4, min_size=[5, 3, 4, 6])
    found = bounds_of_splits(model, 40, 20.0)(12.0)  # each sample weighs a half
    np.testing.assert_array_equal(found.least, [1.5, 1.5])
    np.testing.assert_array_equal(found.most, [10.5, 10.5])
    found = bounds_of_splits(model, 40, 20.0)(2.0)  # both halves are
    np.testing.assert_array_equal(found.least, [1.0, 1.0])
    model = SemidefiniteMarginClustering(4, min_size=3, balance=0.1)
    np.testing.assert_array_equal(bounds_of_splits(model, 40, 40.0)(20.0).least, [9.0, 9.0])
    assert bounds_of_splits(SemidefiniteMarginClustering(4), 40, 40.0)(20.0) is None
