"""Inner loops of linked labels against brute force."""

import itertools

import numpy as np
import pytest

from separatrix.labels.link_search import filled, move_into_bounds, search, subset_sums


def conflict_graph(rng, n_nodes, share):
    """Neighbours as compressed rows, and all pairs in conflict."""
    joined = np.triu(rng.random((n_nodes, n_nodes)) < share, 1)
    joined |= joined.T
    indptr = np.append(0, np.cumsum(joined.sum(axis=1)))
    return indptr.astype(np.int32), np.nonzero(joined)[1].astype(np.int32), np.argwhere(joined)


def best_by_definition(scores, pairs):
    """Largest summed score of labels without conflicts; None if there are none."""
    n, k = scores.shape
    every = np.array(list(itertools.product(range(k), repeat=n)))
    for one, other in pairs:
        every = every[every[:, one] != every[:, other]]
    return scores[np.arange(n), every].sum(axis=1).max() if len(every) else None


def searched(scores, graph, limit=10**9, any_will_do=False):
    labels = np.full(len(scores), -9)
    starts, groups = np.array([0, len(scores)]), np.arange(1)
    found, complete = search(
        scores,
        np.zeros(len(scores)),
        starts,
        *graph,
        groups,
        np.array([limit]),
        any_will_do,
        labels,
    )
    return bool(found[0]), bool(complete[0]), labels


@pytest.mark.parametrize("any_will_do", [False, True])
def test_a_search_finds_the_best_labels_or_that_there_are_none(any_will_do):
    n_found = 0
    for seed in range(80):
        rng = np.random.default_rng(seed)
        *graph, pairs = conflict_graph(rng, 6, rng.choice([0.2, 0.5, 0.8]))
        scores = rng.normal(size=(6, 3)) * (not any_will_do)
        best = best_by_definition(scores, pairs)
        found, complete, labels = searched(scores, graph, any_will_do=any_will_do)
        assert complete
        assert found == (best is not None)
        n_found += found
        if found:
            assert (labels[pairs[:, 0]] != labels[pairs[:, 1]]).all()
            assert scores[np.arange(6), labels].sum() == pytest.approx(best)
        else:
            np.testing.assert_array_equal(labels, -9)
    assert 20 < n_found < 80


def test_groups_are_searched_each_for_itself():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(4, 3))
    indptr, indices = np.array([0, 1, 2, 3, 4], np.int32), np.array([1, 0, 3, 2], np.int32)
    labels = np.full(4, -9)
    found, complete = search(
        scores, np.zeros(4), np.array([0, 2, 4]), indptr, indices, np.array([1]), np.array([99]),
        False, labels,
    )  # fmt: skip
    assert found.tolist() == complete.tolist() == [True]
    np.testing.assert_array_equal(labels[:2], -9)
    assert scores[[2, 3], labels[2:]].sum() == pytest.approx(
        best_by_definition(scores[2:], [(0, 1)])
    )


def test_a_search_that_takes_too_long_says_so_and_marks_dead_ends():
    *graph, _ = conflict_graph(np.random.default_rng(0), 4, 1.1)  # all in conflict
    found, complete, _ = searched(np.zeros((4, 3)), graph, limit=2, any_will_do=True)
    assert (found, complete) == (False, False)
    found, complete, _ = searched(np.zeros((4, 3)), graph, any_will_do=True)
    assert (found, complete) == (False, True)
    priority = np.zeros(4)
    search(
        np.zeros((4, 3)), priority, np.array([0, 4]), *graph, np.arange(1), np.array([999]), True,
        np.zeros(4, dtype=np.int64),
    )  # fmt: skip
    assert priority.sum() == 1  # one dead end, as unused labels are the same


def test_a_search_has_as_many_visits_as_its_limit():
    graph = np.zeros(2, np.int32), np.zeros(0, np.int32)
    # the first label of a single node takes two visits: one to give it, and one to see the end
    assert searched(np.zeros((1, 2)), graph, limit=2, any_will_do=True)[:2] == (True, True)
    assert searched(np.zeros((1, 2)), graph, limit=1, any_will_do=True)[:2] == (True, False)
    # to know that the other label is no better takes another one
    assert searched(np.array([[1.0, 0.0]]), graph, limit=3)[:2] == (True, True)
    assert searched(np.array([[1.0, 0.0]]), graph, limit=2)[:2] == (True, False)


def test_sums_of_subsets_are_the_best_of_all_subsets():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        net, gain = rng.integers(2, 6, size=5), rng.normal(size=5)
        best, taken = subset_sums(gain, net)
        expected = np.full(net.sum() + 1, -np.inf)
        for chosen in itertools.product([False, True], repeat=5):
            total = net[list(chosen)].sum()
            expected[total] = max(expected[total], gain[list(chosen)].sum())
        np.testing.assert_allclose(best, expected, atol=1e-12)
        for total in np.flatnonzero(np.isfinite(best)):  # back through the table
            left, sum_of_gains = total, 0.0
            for row in range(5)[::-1]:
                sum_of_gains += gain[row] * taken[row, left]
                left -= net[row] * taken[row, left]
            assert left == 0
            assert sum_of_gains == pytest.approx(best[total])


def test_signs_are_filled_in_order_while_there_is_gain_or_need():
    gain, net = np.array([3.0, 2.0, 1.0, -1.0, 5.0]), np.array([1.0, 1.0, 1.0, 1.0, 0.0])
    order = np.arange(4)
    assert filled(gain, net, order, -4.0, 4.0).tolist() == [1, 1, 1, -1, 1]
    assert filled(gain, net, order, -4.0, 0.5).tolist() == [1, 1, -1, -1, 1]
    assert filled(gain, net, order, 3.0, 4.0).tolist() == [1, 1, 1, 1, 1]
    assert filled(-gain, net, order, -1.0, 4.0).tolist() == [1, 1, -1, 1, -1]


def test_free_components_move_into_bounds_at_the_least_loss():
    mean = np.array([[5.0, 0.0, 4.0], [5.0, 1.0, 0.0], [5.0, 3.0, 0.0], [5.0, 4.5, 0.0]])
    labels = np.zeros(4, dtype=np.int64)
    free = np.array([0, 1, 2])
    least, most = np.array([0.0, 1.0, 0.0]), np.array([2.0, 4.0, 4.0])
    assert move_into_bounds(mean, np.ones(4), least, most, free, labels)
    # the last, which would lose least, is not free
    assert labels.tolist() == [2, 0, 1, 0]
    fixed = np.zeros(4, dtype=np.int64)
    assert not move_into_bounds(mean, np.ones(4), least, most, free[:0], fixed)
    assert fixed.tolist() == [0, 0, 0, 0]
    inside = np.array([0, 1, 2, 0])
    assert move_into_bounds(mean, np.ones(4), least, most, free, inside)
    assert inside.tolist() == [0, 1, 2, 0]


def test_moves_bring_sizes_nearer_only():
    mean = np.zeros((3, 2))
    labels = np.zeros(3, dtype=np.int64)
    mass, least, most = np.array([4.0, 2.0, 1.0]), np.array([0.0, 3.0]), np.array([7.0, 7.0])
    assert move_into_bounds(mean, mass, least, most, np.arange(3), labels)
    sizes = np.bincount(labels, mass, 2)
    assert (sizes >= least).all()
    heavy = np.zeros(1, dtype=np.int64)  # would be as far off on the other side
    bounds = np.array([1.0, 1.0]), np.array([2.0, 2.0])
    assert not move_into_bounds(mean[:1], np.full(1, 3.0), *bounds, np.arange(1), heavy)
    assert heavy.tolist() == [0]
