"""The approximate search on devices beside that of the host."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn import config_context

from separatrix._sklearn import namespace_of
from separatrix.data.ordering import canonical_order
from separatrix.similarity import device_forest
from separatrix.similarity.device_forest import (
    DeviceTable,
    approximate_others,
    first_of_each,
    nearest_distinct,
    orders_of_trees,
    without_repeats,
)
from separatrix.similarity.forest import ApproximateSearch, Forest, NeighborTable, _with_reverse


@pytest.fixture(params=["array_api_strict", "torch"])
def xp(request):
    library = pytest.importorskip(request.param)
    with config_context(array_api_dispatch=True):
        yield library


def rows_of(n_rows, n_features=8, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, n_features)).astype(np.float32)


def host_neighbors(X, n_neighbors):
    """Those of `ApproximateSearch`, which the graphs give rows in an order of their values."""
    order = canonical_order(X)
    found = ApproximateSearch(X[order]).others(n_neighbors)
    neighbors = np.empty_like(found)
    neighbors[order] = order[found]
    return neighbors


@pytest.mark.parametrize("n_rows", [40, 700, 3000])
def test_trees_are_those_of_the_host(xp, n_rows):
    rows = rows_of(n_rows)
    orders = orders_of_trees(xp.asarray(rows), 16)
    forest = Forest.of(rows, 16, ApproximateSearch.N_TREES)
    np.testing.assert_array_equal(np.asarray(orders[0]), forest.orders[0])
    n_parts = len(set(forest.leaves_of(rows)[:, 0]))
    assert n_parts == 2**forest.depth
    for order, expected in zip(orders[1:], forest.orders[1:], strict=True):
        assert sorted(np.asarray(order).tolist()) == list(range(n_rows))
        level = min(forest.depth, max(0, int(np.log2(n_rows / NeighborTable.PART_ROWS))))
        ends = np.arange(2**level + 1) * n_rows >> level
        for low, high in pairwise(ends):
            assert set(np.asarray(order)[low:high].tolist()) == set(expected[low:high].tolist())


@pytest.mark.parametrize(("n_rows", "n_neighbors"), [(2, 1), (30, 5), (700, 10), (6000, 10)])
def test_neighbours_are_those_of_the_host(xp, monkeypatch, n_rows, n_neighbors):
    """In steps of several slices too, and far from the origin."""
    monkeypatch.setattr(device_forest, "LARGEST_ON_CPU", 2**18)
    X = rows_of(n_rows) + np.float32(3)
    neighbors, distances = map(np.asarray, approximate_others(xp.asarray(X), n_neighbors))
    expected = host_neighbors(X, n_neighbors)
    same = [
        len(set(a) & set(b)) for a, b in zip(neighbors.tolist(), expected.tolist(), strict=True)
    ]
    assert np.mean(same) >= 0.999 * n_neighbors
    wide = X.astype(np.float64)
    np.testing.assert_allclose(
        distances, np.linalg.norm(wide[:, None] - wide[neighbors], axis=2), rtol=1e-12
    )
    assert (np.diff(distances, axis=1) >= 0).all()
    assert all(len({*row, i}) == n_neighbors + 1 for i, row in enumerate(neighbors.tolist()))


def test_links_are_those_of_the_host(xp):
    rows = rows_of(900)
    table = NeighborTable.in_parts(rows, Forest.of(rows, 16, 2), 15, 1)
    table.is_old[:] = np.random.default_rng(1).random(table.is_old.shape) < 0.5
    there = DeviceTable(*map(xp.asarray, (rows, table.neighbors, table.squares, table.is_old)))
    links, old = map(np.asarray, there._with_reverse())
    expected_links, expected_old = _with_reverse(table.neighbors, table.is_old)
    np.testing.assert_array_equal(links, expected_links)
    np.testing.assert_array_equal(old, expected_old)


def test_steps_on_whole_arrays(xp):
    space, _ = namespace_of(xp.asarray([1]))
    assert np.asarray(without_repeats(xp.asarray([5, 3, 5, 1, 3]))).tolist() == [1, 3, 5]
    assert np.asarray(without_repeats(xp.asarray([], dtype=xp.int64))).tolist() == []
    found = first_of_each(xp.asarray([7, 8, 9]), xp.asarray([0, 0, 2, 3]), 2, -1)
    assert np.asarray(found).tolist() == [[-1, -1], [7, 8], [9, -1]]
    neighbors = xp.asarray([[4, 2, 4, 9]])
    squares = xp.asarray([[3.0, 2.0, 3.0, space.inf]])
    nearest, nearest_squares = nearest_distinct(neighbors, squares, 2)
    assert np.asarray(nearest).tolist() == [[2, 4]]
    assert np.asarray(nearest_squares).tolist() == [[2.0, 3.0]]
