"""Bounds on the sizes of single clusters: of samples of the data, and kept by offsets."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from separatrix.labels.sizes import Sizes, balanced_offsets

# Bounds of a sample


@pytest.mark.parametrize("n_clusters", [2, 3, 6, 7, 11])
def test_bounds_of_all_samples_are_not_loosened(n_clusters):
    for n in range(n_clusters, 60):
        for shares, low, high in (("equal", None, None), ("free", 0, n), ("free", None, None)):
            sizes = Sizes.of(n, n_clusters, shares, low, high)
            scaled = sizes.scaled(n)
            np.testing.assert_array_equal(scaled.least, sizes.least)
            np.testing.assert_array_equal(scaled.most, sizes.most)


def test_bounds_of_few_samples_can_be_met():
    """Though no cluster is to be empty: with bounds of six in one cluster, four do not suffice."""
    sizes = Sizes.in_balance(10, 4, 0.9, [6, 1, 1, 2], None)
    np.testing.assert_array_equal(sizes.scaled(4).least, [2, 0, 0, 0])
    rng = np.random.default_rng(0)
    for _ in range(300):
        k = int(rng.integers(2, 6))
        n = int(rng.integers(k, 40))
        counts = rng.multinomial(n, rng.dirichlet(np.ones(k)))
        sizes = Sizes.in_balance(n, k, 0.9, counts, np.maximum(counts, 1))
        for part in range(1, n + 1):
            scaled = sizes.scaled(part)
            assert (scaled.least <= scaled.most).all()
            assert scaled.least.sum() <= part <= scaled.most.sum()


def test_bounds_of_a_sample_are_in_proportion():
    scaled = Sizes.of(1000, 3, [0.5, 0.3, 0.2], None, None).scaled(100)
    np.testing.assert_array_equal(scaled.least, [50, 30, 20])
    np.testing.assert_array_equal(scaled.most, [50, 30, 20])
    scaled = Sizes.of(1000, 2, "free", 301, 699).scaled(100)
    np.testing.assert_array_equal(scaled.least, [30, 30])
    np.testing.assert_array_equal(scaled.most, [70, 70])


# Bounds within which clusters are in balance


def bands_by_trying(n, k, balance, least, most):
    """The band of the balance in the bounds, one sample wider at a time until sizes add up."""
    low, high = np.floor((1 - balance) * n / k), np.ceil((1 + balance) * n / k)
    if k == 2:  # pairs of sizes that differ by the balance at most, or by the one odd sample
        pairs = [a for a in range(n + 1) if abs(n - 2 * a) <= max(balance * n, n % 2) + 1e-9]
        low, high = min(pairs), max(pairs)
    for wider in range(n + 1):
        band = np.clip([[low - wider] * k, [high + wider] * k], [least] * 2, [most] * 2)
        if band[0].sum() <= n <= band[1].sum():
            return band
    raise AssertionError


def test_balance_within_bounds_is_widened_no_further_than_needed():
    rng = np.random.default_rng(0)
    n_widened = 0
    for _ in range(400):
        k = int(rng.integers(2, 6))
        n = int(rng.integers(k, 60))
        sizes = rng.multinomial(n, rng.dirichlet(np.ones(k)))
        least = np.maximum(sizes - rng.integers(0, 5, k), 0)
        most = np.maximum(sizes + rng.integers(0, 5, k), 1)
        balance = float(rng.choice([0.0, 0.1, 0.25, 0.5, 0.95]))
        found = Sizes.in_balance(n, k, balance, least, most)
        expected = bands_by_trying(n, k, balance, least, most)
        np.testing.assert_array_equal(found.bounds, expected)
        free = bands_by_trying(n, k, balance, np.zeros(k), np.full(k, n))
        n_widened += bool((expected[0] < free[0]).any() or (expected[1] > free[1]).any())
    assert n_widened > 100


# Offsets with a bound for each cluster


def test_offsets_with_bounds_for_each_cluster_solve_the_transport_problem(record_property):
    """Labels by offsets are optimal for their sizes, by duality; nearly always they are found."""
    n_cases, met = 100, 0
    for seed in range(n_cases):
        rng = np.random.default_rng(seed)
        k = int(rng.integers(2, 5))
        n = int(rng.integers(k, 30))
        scores = rng.normal(size=(n, k))
        sizes = rng.multinomial(n - k, rng.dirichlet(np.ones(k))) + 1
        found = balanced_offsets(scores, min_size=sizes, max_size=sizes)
        labels = (scores + found.offsets).argmax(axis=1)
        assert found.within == (np.bincount(labels, minlength=k) == sizes).all()
        met += found.within
        if found.within:
            places = np.repeat(np.arange(k), sizes)
            rows, columns = linear_sum_assignment(scores[:, places], maximize=True)
            best = scores[rows, places[columns]].sum()
            assert scores[np.arange(n), labels].sum() == pytest.approx(best)
    record_property("share_of_sizes_met", float(met / n_cases))
    print(f"sizes met in {met} of {n_cases} cases")
    assert met >= 0.95 * n_cases


def test_offsets_with_loose_bounds_for_each_cluster():
    for seed in range(50):
        rng = np.random.default_rng(seed)
        scores = rng.normal(size=(40, 3))
        low = np.array([0, 12, 3])
        high = np.array([8, 40, 20])
        found = balanced_offsets(scores, min_size=low, max_size=high)
        counts = np.bincount((scores + found.offsets).argmax(axis=1), minlength=3)
        assert found.within
        assert (low <= counts).all()
        assert (counts <= high).all()
        # a cluster strictly inside its bounds needs no offset
        inside = (low < counts) & (counts < high)
        np.testing.assert_array_equal(found.offsets[inside], 0.0)
        alike = balanced_offsets(scores, min_size=np.full(3, 9), max_size=np.full(3, 15))
        same = balanced_offsets(scores, min_size=9, max_size=15)
        np.testing.assert_array_equal(alike.offsets, same.offsets)
        assert alike.within == same.within
