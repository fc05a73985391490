"""The approximate search against exact neighbours and plain loops."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from separatrix.similarity.forest import ApproximateSearch, Forest, NeighborTable, halve


def samples(n_rows=2000, n_features=8, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, n_features))


def exact(X, new=None, n_neighbors=8):
    search = NearestNeighbors(n_neighbors=n_neighbors, algorithm="brute").fit(X)
    return search.kneighbors(new, return_distance=False)


def recall(found, expected):
    pairs = zip(found.tolist(), expected.tolist(), strict=True)
    return np.mean([len(set(a) & set(b)) / len(b) for a, b in pairs])


def fresh_table(X, n_kept):
    rows = X.astype(np.float32)
    forest = Forest.of(rows, n_kept + 1, 2)
    return NeighborTable.in_parts(rows, forest, n_kept, 1)


@pytest.mark.parametrize("values", ["distinct", "tied", "equal"])
@pytest.mark.parametrize("n_rows", [1, 2, 3, 40, 101])
def test_halves_are_those_of_a_sort(values, n_rows):
    rng = np.random.default_rng(n_rows)
    drawn = {"distinct": rng.permutation(n_rows), "tied": rng.integers(3, size=n_rows)}
    drawn = drawn.get(values, np.zeros(n_rows)).astype(np.float32)
    for middle in range(n_rows):
        order = rng.permutation(n_rows).astype(np.int32)
        halve(drawn, order, 0, middle, n_rows)
        assert sorted(order) == list(range(n_rows))
        assert drawn[order[middle]] == np.sort(drawn)[middle]
        assert drawn[order[:middle]].max(initial=-1) <= drawn[order[middle:]].min()


@pytest.mark.parametrize("n_rows", [5, 16, 100, 1001])
def test_rows_fall_into_their_own_leaves(n_rows):
    rows = samples(n_rows).astype(np.float32)
    forest = Forest.of(rows, 6, 3)
    ends = np.arange(2**forest.depth + 1) * n_rows >> forest.depth
    assert np.diff(ends).min() >= min(6, n_rows)
    leaves = forest.leaves_of(rows)
    for tree, order in enumerate(forest.orders):
        assert sorted(order) == list(range(n_rows))
        np.testing.assert_array_equal(
            leaves[order, tree], np.repeat(np.arange(len(ends) - 1), np.diff(ends))
        )


@pytest.mark.parametrize("origin", [0.0, 100.0])
def test_neighbors_in_parts_equal_plain_numpy(origin, monkeypatch):
    """Also where products of rows have lost most digits of their distances."""
    monkeypatch.setattr(NeighborTable, "PART_ROWS", 70)
    table = fresh_table(samples(300) + origin, 7)
    rows, forest = table.rows.astype(np.float64), table.forest
    ends = np.arange(2**2 + 1) * 300 >> 2
    together = np.zeros((300, 300), dtype=bool)
    for order in forest.orders:
        for low, high in pairwise(ends):
            together[np.ix_(order[low:high], order[low:high])] = True
    np.fill_diagonal(together, False)
    squares = ((rows[:, None] - rows) ** 2).sum(axis=2)
    expected = np.argsort(np.where(together, squares, np.inf), axis=1)[:, :7]
    np.testing.assert_array_equal(table.neighbors, expected)
    np.testing.assert_allclose(
        table.squares, np.take_along_axis(squares, expected, axis=1), rtol=1e-5
    )


@pytest.mark.parametrize("most_pairs", [1, 500, 1_000_000])
def test_a_round_equals_plain_numpy(most_pairs, monkeypatch):
    """However many rows are compared before some are taken."""
    monkeypatch.setattr(NeighborTable, "PART_ROWS", 16)
    monkeypatch.setattr(NeighborTable, "MOST_PAIRS", most_pairs)
    table = fresh_table(samples(300), 5)
    before = table.neighbors.copy()
    rows = table.rows.astype(np.float64)
    squares = ((rows[:, None] - rows) ** 2).sum(axis=2)
    reached = [set(row) for row in before.tolist()]
    for row in range(300):
        into = np.argwhere(row == before.T)[:, 1]
        links = [*before[row], *[i for i in into if i not in before[row]][:5]]
        for link in links:
            reached[link] |= set(links) - {link}
    share = table.try_neighbors_of_neighbors(1)
    assert share > 0.05
    for row in range(300):
        found = np.array(sorted(reached[row]))
        best = found[np.argsort(squares[row, found])[:5]]
        np.testing.assert_array_equal(table.neighbors[row], best)
    np.testing.assert_array_equal(
        table.is_old, (table.neighbors[:, :, None] == before[:, None]).any(axis=2)
    )
    assert share == pytest.approx(1 - table.is_old.mean())


def test_most_neighbors_are_found_nearest_first():
    X = samples()
    found = ApproximateSearch(X).others(8)
    assert not (found == np.arange(len(X))[:, None]).any()
    assert all(len(set(row)) == 8 for row in found.tolist())
    distances = np.linalg.norm(X[:, None] - X[found], axis=2)
    assert (np.diff(distances, axis=1) >= -1e-6).all()
    assert recall(found, exact(X)) > recall(fresh_table_of_rows(X), exact(X))
    assert recall(found, exact(X)) > 0.98


def fresh_table_of_rows(X):
    """What trees alone find."""
    table = fresh_table(X - X.mean(axis=0), 15)
    found = np.empty((len(X), 8), dtype=int)
    found[table.rows_at] = table.rows_at[table.neighbors[:, :8]]
    return found


def test_most_neighbors_of_new_rows_are_found():
    X, new = samples(), samples(200, seed=1)
    assert recall(ApproximateSearch(X).nearest(new, 8), exact(X, new)) > 0.98


@pytest.mark.parametrize("n_rows", [2, 5, 16, 31])
@pytest.mark.parametrize("n_neighbors", [1, 4, 30])
def test_few_rows_are_all_compared(n_rows, n_neighbors):
    X, new = samples(n_rows), samples(9, seed=1)
    most = min(n_neighbors, n_rows - 1)
    search = ApproximateSearch(X)
    np.testing.assert_array_equal(search.others(most), exact(X, n_neighbors=most))
    most = min(n_neighbors, n_rows)
    np.testing.assert_array_equal(search.nearest(new, most), exact(X, new, most))


def test_more_neighbors_than_a_leaf_has():
    X = samples(400, 3)
    search = ApproximateSearch(X)
    search.others(3)
    assert recall(search.others(60), exact(X, n_neighbors=60)) > 0.98
    assert recall(search.nearest(X[:50] + 0.1, 60), exact(X, X[:50] + 0.1, 60)) > 0.98


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_any_number_of_threads(n_jobs):
    X, new = samples(), samples(50, seed=1)
    one, several = ApproximateSearch(X, 1), ApproximateSearch(X, n_jobs)
    np.testing.assert_array_equal(several.others(8), one.others(8))
    np.testing.assert_array_equal(several.nearest(new, 8), one.nearest(new, 8))


def test_a_copy_without_its_table_finds_the_same():
    X, new = samples(500), samples(50, seed=1)
    search = ApproximateSearch(X)
    search.others(8)
    copy = pickle.loads(pickle.dumps(search))
    assert copy._table is None
    np.testing.assert_array_equal(copy.nearest(new, 8), search.nearest(new, 8))


@pytest.mark.parametrize("move", [lambda X: X + 1e9, lambda X: 1e200 * X, lambda X: 1e-200 * X])
def test_any_place_and_unit(move):
    X = np.random.default_rng(0).integers(-100, 100, size=(300, 5)).astype(float)
    np.testing.assert_array_equal(
        ApproximateSearch(move(X)).others(3), ApproximateSearch(X).others(3)
    )


def test_new_rows_far_away():
    found = ApproximateSearch(samples(100)).nearest(np.full((1, 8), 1e300), 5)
    assert len(set(found[0].tolist())) == 5


def test_equal_rows():
    found = ApproximateSearch(np.ones((200, 3))).others(4)
    assert all(len(set(row)) == 4 for row in found.tolist())
    assert not (found == np.arange(200)[:, None]).any()
