"""Offsets of optimal transport, and the steps that find them, against plain definitions."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import floyd_warshall
from sklearn import config_context

from separatrix._numba import Gradual, interpreted
from separatrix.labels import offsets as offsets_of_scores
from separatrix.labels import transport
from separatrix.labels.offsets import first_offsets, swept_offsets
from separatrix.labels.sizes import balanced_offsets


def sizes_by(scores, weight, offsets):
    return np.bincount((scores + offsets).argmax(axis=1), weight, scores.shape[1])


def exact_case(seed):
    """Scores, and sizes that clusters are to have exactly."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 6))
    n = int(rng.integers(2 * k, 40))
    scores = rng.normal(size=(n, k)) + rng.normal(size=k)
    return scores, rng.multinomial(n - k, rng.dirichlet(np.ones(k))) + 1.0


def test_first_offsets_are_prices_of_the_best_assignment():
    for seed in range(80):
        scores, sizes = exact_case(seed)
        offsets = first_offsets(scores, np.ones(len(scores)), sizes, sizes)
        np.testing.assert_array_equal(sizes_by(scores, None, offsets), sizes)
        labels = (scores + offsets).argmax(axis=1)
        found = scores[np.arange(len(scores)), labels].sum()
        assert found == pytest.approx(best_sum(scores, sizes))


def best_sum(scores, sizes):
    """Largest sum of scores where clusters have these sizes."""
    places = np.repeat(np.arange(len(sizes)), np.asarray(sizes, dtype=int))
    rows, columns = linear_sum_assignment(scores[:, places], maximize=True)
    return scores[rows, places[columns]].sum()


def test_whole_samples_are_assigned_at_the_least_loss():
    for seed in range(80):
        scores, sizes = exact_case(seed)
        labels = transport.assigned(scores, sizes, sizes)
        np.testing.assert_array_equal(np.bincount(labels, minlength=len(sizes)), sizes)
        found = scores[np.arange(len(scores)), labels].sum()
        assert found == pytest.approx(best_sum(scores, sizes))


@pytest.mark.parametrize("seed", [23, 63, 116, 131, 144, 223])
def test_scores_that_hardly_differ_do_not_end_the_transport_early(seed):
    """As those of samples far from most clusters: paths are shorter by next to rounding."""
    rng = np.random.default_rng(seed)
    scores = np.where(rng.random((100, 20)) < 0.1, rng.random((100, 20)), 0.0)
    scores += 1e-12 * rng.random((100, 20))
    sizes = np.full(20, 5.0)
    labels = transport.assigned(scores, sizes, sizes)
    np.testing.assert_array_equal(np.bincount(labels, minlength=20), sizes)
    found = scores[np.arange(100), labels].sum()
    assert found == pytest.approx(best_sum(scores, sizes), rel=1e-12)


def test_first_offsets_of_two_clusters_lie_midway():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        lead = np.sort(rng.normal(size=15))
        for size in (3, 9, 14):  # of the second cluster
            offsets = first_offsets(
                np.column_stack([np.zeros(15), lead]),
                np.ones(15),
                *2 * [np.array([15 - size, size])],
            )
            middle = (lead[15 - size - 1] + lead[15 - size]) / 2
            assert offsets[0] - offsets[1] == pytest.approx(middle)


def test_a_cluster_inside_its_bounds_has_no_offset():
    for seed in range(60):
        rng = np.random.default_rng(seed)
        scores = rng.normal(size=(30, 4)) + rng.normal(size=4)
        least, most = np.array([0.0, 9.0, 2.0, 5.0]), np.array([6.0, 30.0, 12.0, 30.0])
        offsets = first_offsets(scores, np.ones(30), least, most)
        sizes = sizes_by(scores, None, offsets)
        assert ((least <= sizes) & (sizes <= most)).all()
        assert (offsets[sizes > least] <= 1e-12).all()
        assert (offsets[sizes < most] >= -1e-12).all()


def test_what_has_no_weight_has_no_say_and_half_a_sample_is_none():
    scores, sizes = exact_case(3)
    n, k = scores.shape
    weight = np.ones(n)
    more = np.vstack([scores, np.random.default_rng(0).normal(size=(5, k))])
    expected = first_offsets(scores, weight, sizes, sizes)
    found = first_offsets(more, np.append(weight, np.zeros(5)), sizes, sizes)
    np.testing.assert_array_equal(found, expected)
    found = first_offsets(scores, weight, sizes - 0.5, sizes + 0.5)
    np.testing.assert_array_equal(found, expected)


def test_whole_weights_are_repetitions():
    for seed in range(20):
        scores, _ = exact_case(seed)
        n, k = scores.shape
        weight = np.random.default_rng(seed).integers(1, 4, n)
        size = np.full(k, weight.sum() / k)
        bounds = np.floor(size - 1), np.ceil(size + 1)
        repeated = first_offsets(np.repeat(scores, weight, axis=0), np.ones(weight.sum()), *bounds)
        found = first_offsets(scores, weight.astype(float), *bounds)
        np.testing.assert_allclose(found, repeated, atol=1e-12)


@pytest.mark.parametrize(("least", "most"), [(4.0, 10.0), (0.0, 2.0)])
def test_bounds_that_nothing_meets_leave_scores_alone(least, most):
    scores = np.random.default_rng(0).normal(size=(9, 3)) + [3, 0, 0]
    least, most = np.full(3, least), np.full(3, most)
    np.testing.assert_array_equal(first_offsets(scores, np.ones(9), least, most), 0.0)


def many_case(weighted):
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((4_000, 4)) + [1.5, 0.0, -1.0, 0.0]
    weight = rng.integers(0, 3, 4_000).astype(float) if weighted else np.ones(4_000)
    return scores, weight, np.full(4, weight.sum() / 4)


@pytest.mark.parametrize("weighted", [False, True])
def test_samples_drawn_speak_for_all(weighted, monkeypatch):
    monkeypatch.setattr(offsets_of_scores, "FLOW_SAMPLES", 1_000)
    monkeypatch.setattr(offsets_of_scores, "FLOW_ROUNDS", 0)
    monkeypatch.setattr(offsets_of_scores, "DRAWN", 1_001)
    scores, weight, sizes = many_case(weighted)
    offsets = first_offsets(scores, weight, np.floor(sizes), np.ceil(sizes))
    np.testing.assert_allclose(sizes_by(scores, weight, offsets), sizes, rtol=0.2)


@pytest.mark.parametrize("draws_few", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_undecided_samples_settle_what_the_drawn_ones_left(weighted, draws_few, monkeypatch):
    """Where few samples were drawn, much is left, and every other undecided one stands for two."""
    monkeypatch.setattr(offsets_of_scores, "FLOW_SAMPLES", 300)
    scores, weight, sizes = many_case(weighted)
    if draws_few:
        monkeypatch.setattr(offsets_of_scores, "DRAWN", 1_001)
        monkeypatch.setattr(offsets_of_scores, "MOST_MOVES", 40)
    bounds = np.floor(sizes), np.ceil(sizes)
    found = first_offsets(scores, weight, *bounds)
    reached = sizes_by(scores, weight, found)
    # a sample of weight two may be parted
    assert (np.abs(reached - sizes) <= 2 * weighted + 0.5).all()
    present = weight > 0
    alone = first_offsets(scores[present], weight[present], *bounds)
    np.testing.assert_array_equal(alone, found)
    monkeypatch.undo()
    exact = first_offsets(scores, weight, *bounds)
    np.testing.assert_allclose(found - found[0], exact - exact[0], atol=0.02)


def test_shortest_ways_are_those_of_floyd_and_warshall():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        k = int(rng.integers(2, 7))
        potential = rng.normal(size=k)  # costs may be negative, but no cycle is
        cost = rng.exponential(size=(k, k)) + potential - potential[:, None]
        cost[rng.random((k, k)) < 0.3] = np.inf
        np.fill_diagonal(cost, np.inf)
        every = floyd_warshall(np.where(np.isinf(cost), 0, cost))
        first = np.where(np.arange(k) == 0, 0.0, np.inf)
        distance, before = transport.shortest_ways(cost, first, 0.0)
        np.testing.assert_allclose(distance, every[0], atol=1e-12)
        assert before[0] == -1
        for node in np.flatnonzero(np.isfinite(distance))[1:]:
            assert distance[node] == pytest.approx(
                distance[before[node]] + cost[before[node], node]
            )


def offset_by_definition(needed, weight, least, most):
    """Of all cuts between samples, those nearest to the bounds; of these the nearest to zero."""
    size = weight[needed < 0].sum()
    if least <= size <= most:
        return 0.0
    values = np.unique(needed[weight > 0])
    cuts = (values[1:] + values[:-1]) / 2
    totals = np.array([weight[needed < cut].sum() for cut in cuts])
    distance = np.maximum(np.maximum(totals - most, least - totals), 0)
    nearest = cuts[distance == distance.min()]
    return nearest.max() if size > most else nearest.min()


def test_an_offset_is_the_nearest_to_zero_of_the_best():
    n_moved = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        needed = rng.normal(size=12).round(1) + rng.choice([-1, 0, 1])
        weight = rng.integers(0, 3, 12).astype(float)
        weight[:2], needed[:2] = 1.0, (0.55, -0.55)
        least = float(rng.integers(0, 8))
        most = least + float(rng.integers(0, 3))
        found = offsets_of_scores._nearest_offset(needed, weight, least, most)
        assert found == pytest.approx(offset_by_definition(needed, weight, least, most))
        n_moved += found != 0
    assert 100 < n_moved < 300


def test_scores_of_another_namespace_have_the_same_offsets(monkeypatch):
    xp = pytest.importorskip("array_api_strict")
    scores, weight, sizes = many_case(weighted=True)
    for flow_samples in (300, 20_000):
        monkeypatch.setattr(offsets_of_scores, "FLOW_SAMPLES", flow_samples)
        for given in (None, weight):
            bounds = {"min_size": 0.9 * sizes, "max_size": 1.1 * sizes}
            if given is None:
                bounds = {"min_size": 900, "max_size": 1_100}
            expected = balanced_offsets(scores, given, **bounds)
            with config_context(array_api_dispatch=True):
                found = balanced_offsets(xp.asarray(scores), given, **bounds)
            np.testing.assert_allclose(found.offsets, expected.offsets, atol=1e-12)
            assert found.within
            assert expected.within


def excess_by(scores, offsets, least, most):
    sizes = sizes_by(scores, None, offsets)
    return np.maximum(sizes - most, least - sizes).max()


def test_sweeps_never_leave_the_bounds_further_and_mostly_meet_them():
    n_met = 0
    for seed in range(60):
        scores, sizes = exact_case(seed)
        given = np.random.default_rng(seed).normal(size=len(sizes))
        bounds = sizes - 1, sizes + 1
        found = swept_offsets(scores, np.ones(len(scores)), *bounds, given.copy())
        after = excess_by(scores, found, *bounds)
        assert after <= excess_by(scores, given, *bounds)
        n_met += after <= 0
    assert n_met >= 50


def test_sweeps_keep_offsets_that_meet_the_bounds():
    scores, sizes = exact_case(5)
    given = first_offsets(scores, np.ones(len(scores)), sizes, sizes)
    found = swept_offsets(scores, np.ones(len(scores)), sizes, sizes, given.copy())
    np.testing.assert_array_equal(found, given)


# Without compilation


@pytest.mark.parametrize("n_clusters", [2, 4])
def test_python_finds_what_compiled_code_does(n_clusters):
    """To the last digit, weights or not."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(40, n_clusters)) + np.linspace(0, 2, n_clusters)
    for weight in (np.ones(40), rng.uniform(0.5, 2, 40)):
        bounds = (np.full(n_clusters, f * weight.sum() / n_clusters) for f in (0.8, 1.2))
        args = (scores, weight, *bounds, np.inf)
        found = interpreted(transport._transported)(*args)
        np.testing.assert_array_equal(found, transport._transported(*args))
    bounds = np.full(n_clusters, 30.0 / n_clusters), np.full(n_clusters, 60.0 / n_clusters)
    found = interpreted(transport._assigned)(scores, *bounds)
    np.testing.assert_array_equal(found, transport._assigned(scores, *bounds))


def test_calls_are_compiled_once_their_work_is_worth_it(monkeypatch):
    calls = []

    def double(x):
        return 2 * x

    class Compiled:
        signatures: tuple = ()
        py_func = staticmethod(double)

        def __call__(self, x):
            calls.append(x.size)
            return double(x)

    gradual = Gradual(Compiled(), budget=10)
    for size in (6, 5, 4, 1):  # of which the second and the last are too much
        np.testing.assert_array_equal(gradual(np.ones(size)), np.full(size, 2.0))
    assert calls == [5, 1]
    bounded = Gradual(Compiled(), budget=10, largest=3)
    for size in (3, 4, 2):  # one call is too much for Python alone
        bounded(np.ones(size))
    assert calls == [5, 1, 4]
    calls.clear()
    ready = Gradual(Compiled(), budget=10)
    ready.compiled.signatures = ("of this process",)
    ready(np.ones(1))
    assert calls == [1]
