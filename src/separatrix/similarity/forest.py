"""Most of the nearest rows, found fast: random trees, then neighbours of neighbours."""

from functools import partial

import numpy as np

from separatrix._numba import in_threads, njit
from separatrix._sklearn import one_blas_thread, openmp_threads
from separatrix.similarity.neighbors import squared_distance

# Neighbours that are kept during a search, if fewer are asked for: they lead to others.
LEAST_KEPT = 15


class ApproximateSearch:
    """Nearest rows, most of them but not all, in single precision.

    Trees divide the rows repeatedly at medians along random directions, and the rows of a part are
    compared with each other by products of matrices. Then neighbours of the same row are compared
    with each other, as in [1]_, until few of them change. The same rows give the same answer, on
    any number of threads.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        Rows among which neighbours are searched.
    n_jobs : int or None
        Threads; None for as many as OpenMP has.
    least_kept : int
        Neighbours that are kept during the search, if fewer are asked for: they lead to others.

    References
    ----------
    .. [1] W. Dong, M. Charikar, K. Li, "Efficient k-nearest neighbor graph construction for
       generic similarity measures", WWW 2011.
    """

    N_TREES = 8
    # The search ends after this many rounds, or when a round changes less than this share.
    MAX_ROUNDS, SETTLED = 12, 0.02
    # Number of rows from which the search for those nearest to a new row continues.
    N_OPEN = 30
    # Beyond this, in units of the known rows, all new ones are equally far.
    FARTHEST = 1e15

    def __init__(self, rows, n_jobs=None, least_kept=LEAST_KEPT):
        self._n_jobs, self._least_kept = n_jobs, least_kept
        self._origin = rows.mean(axis=0)
        # a power of two, so that only numbers beyond single precision change
        largest = float(np.abs(rows - self._origin).max())
        self._unit = 2.0 ** np.frexp(largest)[1] if largest > 0 else 1.0
        self._rows = self._single(rows)
        self._table = None

    def __getstate__(self):
        # compiled code does not check the indices in a table, and a file may hold any
        return {**vars(self), "_table": None}

    def _single(self, rows):
        placed = np.clip((rows - self._origin) / self._unit, -self.FARTHEST, self.FARTHEST)
        return np.ascontiguousarray(placed, dtype=np.float32)

    def others(self, n_neighbors):
        """Indices of the nearest other rows of each row, nearest first.

        Returns
        -------
        neighbors : ndarray of int, shape (n_rows, n_neighbors)
        """
        table = self._table_for(n_neighbors)
        found = np.empty((len(self._rows), n_neighbors), dtype=np.int32)
        found[table.rows_at] = table.rows_at[table.neighbors[:, :n_neighbors]]
        return found

    def nearest(self, rows, n_neighbors):
        """Indices of the rows nearest to new `rows`, nearest first."""
        table, rows = self._table_for(n_neighbors), self._single(rows)
        found = np.empty((len(rows), n_neighbors), dtype=np.int32)
        leaves = table.forest.leaves_of(rows)
        n_open = min(max(n_neighbors, self.N_OPEN), len(self._rows))
        search = partial(
            _search_for_rows,
            rows,
            leaves,
            table.forest.orders,
            table.forest.depth,
            table.rows,
            table.neighbors,
            n_open,
            found,
        )
        in_threads(search, len(rows), self._n_threads)
        return table.rows_at[found]

    @property
    def _n_threads(self):
        return openmp_threads(self._n_jobs)

    def _table_for(self, n_neighbors):
        """Neighbours of all rows, at least as many as asked for."""
        n_kept = min(max(n_neighbors, self._least_kept), len(self._rows) - 1)
        if self._table is None or self._table.neighbors.shape[1] < n_kept:
            self._table = self._searched(n_kept)
        return self._table

    def _searched(self, n_kept):
        # 1) those in the same part of a tree
        forest = Forest.of(self._rows, n_kept + 1, self.N_TREES)
        table = NeighborTable.in_parts(self._rows, forest, n_kept, self._n_threads)
        # 2) neighbours of neighbours
        for _ in range(self.MAX_ROUNDS):
            if table.try_neighbors_of_neighbors(self._n_threads) <= self.SETTLED:
                break
        return table


class Forest:
    """Trees that divide rows in two at medians of projections, down to leaves of a minimum size.

    All nodes of a level of a tree have one direction, the difference of two rows, so that one
    product of matrices gives all projections. Part p of 2^l at level l are the places from
    ``p * n >> l`` on in the order of the tree.

    Attributes
    ----------
    depth : int
        Number of levels.
    directions : ndarray of shape (n_trees, depth, n_features)
    medians : ndarray of shape (n_trees, 2^depth - 1)
        Medians at the nodes, level by level.
    orders : ndarray of int, shape (n_trees, n_rows)
        The rows in the order of the leaves, those of a leaf in their own.
    """

    def __init__(self, depth, directions, medians, orders):
        self.depth = depth
        self.directions = directions
        self.medians = medians
        self.orders = orders

    @classmethod
    def of(cls, rows, least_rows, n_trees):
        """Trees of rows, with at least some rows in each leaf."""
        n_rows, depth = len(rows), depth_of(len(rows), least_rows)
        ends = drawn_ends(n_rows, n_trees, depth)
        directions = rows[ends[0]] - rows[ends[1]]
        medians = np.empty((n_trees, 2**depth - 1), dtype=np.float32)
        orders = np.tile(np.arange(n_rows, dtype=np.int32), (n_trees, 1))
        for tree in range(n_trees):
            _part(directions[tree] @ rows.T, orders[tree], medians[tree])
        return cls(depth, directions, medians, orders)

    def leaves_of(self, rows):
        """Leaf of each tree that new rows fall into, of shape (n_rows, n_trees)."""
        leaves = np.zeros((len(rows), len(self.orders)), dtype=np.int64)
        for tree, directions in enumerate(self.directions):
            leaf = leaves[:, tree]
            for level, values in enumerate(directions @ rows.T):
                leaf[:] = 2 * leaf + (values >= self.medians[tree, 2**level - 1 + leaf])
        return leaves


class NeighborTable:
    """Neighbours of rows, which come in the order of a tree: neighbours lie near in memory.

    Attributes
    ----------
    rows_at : ndarray of int, shape (n_rows,)
        The row that is in each place; all indices below are places.
    rows : ndarray of shape (n_rows, n_features)
    forest : Forest
    neighbors, squares : ndarray of shape (n_rows, n_kept)
        Neighbours and their squared distances, nearest first.
    is_old : ndarray of bool, shape (n_rows, n_kept)
        Whether neighbours were known before the last round.
    """

    # Least rows of the parts of a tree in which all are compared with each other.
    PART_ROWS = 512
    # Pairs of links of all rows together that are compared before they are taken.
    MOST_PAIRS = 2_000_000

    def __init__(self, rows, forest, n_kept):
        self.rows_at = forest.orders[0]
        place = np.empty_like(self.rows_at)
        place[self.rows_at] = np.arange(len(rows), dtype=np.int32)
        self.rows = rows[self.rows_at]
        self.forest = Forest(forest.depth, forest.directions, forest.medians, place[forest.orders])
        shape = (len(rows), n_kept)
        self.neighbors = np.full(shape, -1, dtype=np.int32)
        self.squares = np.full(shape, np.inf, dtype=np.float32)
        self.is_old = np.zeros(shape, dtype=bool)

    @classmethod
    @one_blas_thread
    def in_parts(cls, rows, forest, n_kept, n_threads):
        """The nearest in the same part of some tree, at the level that has parts large enough."""
        table = cls(rows, forest, n_kept)
        level = min(forest.depth, depth_of(len(rows), cls.PART_ROWS))
        for order in table.forest.orders:
            compare = partial(
                _compare_in_parts, table.rows, order, level, table.neighbors, table.squares
            )
            in_threads(compare, 2**level, n_threads)
        return table

    def try_neighbors_of_neighbors(self, n_threads):
        """Improve the neighbours by theirs; return the share of new neighbours.

        The links do not change during a round, so that the order of the rows does not matter. Of
        some rows at a time the links are compared with each other, and then each row takes what is
        near enough. So no two threads write to one row.
        """
        n_rows, n_kept = self.neighbors.shape
        links, old_links = _with_reverse(self.neighbors, self.is_old)
        before = self.neighbors.copy()
        n_pairs = n_kept * (2 * n_kept - 1)  # of twice as many links
        step = min(max(1, self.MOST_PAIRS // max(n_pairs, 1)), n_rows)
        pairs = np.empty((step, n_pairs, 2), dtype=np.int32)
        squares = np.empty((step, n_pairs), dtype=np.float32)
        n_found = np.empty(step, dtype=np.int64)
        for start in range(0, n_rows, step):
            some = slice(start, start + step)
            known = self.rows, links[some], old_links[some], self.squares[:, -1]
            found = pairs, squares, n_found[: n_rows - start]
            in_threads(partial(_compare_links, *known, *found), len(found[-1]), n_threads)
            take = partial(_take_pairs, *found, self.neighbors, self.squares)
            in_threads(take, n_rows, n_threads)
        in_threads(partial(_mark_old, self.neighbors, before, self.is_old), n_rows, n_threads)
        return 1 - self.is_old.mean() if self.is_old.size else 0.0


def depth_of(n_rows, least_rows):
    """Levels of a tree whose leaves have at least some rows."""
    return max(0, int(np.log2(n_rows / least_rows)))


def drawn_ends(n_rows, n_trees, depth):
    """Rows whose differences are the directions of trees, as two arrays."""
    return np.random.RandomState(0).randint(n_rows, size=(2, n_trees, depth))


# Squared norms times this leave room for the rounding of inner products.
ROOM = np.float32(1 - 1e-5)
# Rows whose inner products with others are computed at once.
STRIP_ROWS = 64


# --- inner loops --------------------------------------------------------------------------------


@njit(nogil=True)
def is_among(value, values):  # IN, IN
    """Whether a value is one of some."""
    for one in values:  # noqa: SIM110 - numba compiles no generator
        if one == value:
            return True
    return False


@njit(nogil=True)
def insert(neighbors, squares, candidate, square):  # INOUT, INOUT, IN, IN
    """Put a candidate nearer than the last neighbour in its place, unless it is there already.

    Callers compare it with the last themselves, which is twice as fast as a call.
    """
    if is_among(candidate, neighbors):
        return
    place = len(neighbors) - 1
    while place > 0 and squares[place - 1] > square:
        neighbors[place] = neighbors[place - 1]
        squares[place] = squares[place - 1]
        place -= 1
    neighbors[place] = candidate
    squares[place] = square


@njit(nogil=True)
def halve(values, order, low, middle, high):  # IN, INOUT, IN, IN, IN
    """Order rows so that those up to the middle have no larger values than those from it on."""
    high -= 1
    while low < high:
        ends = values[order[low]], values[order[high]]
        pivot = min(max(values[order[(low + high) // 2]], min(ends)), max(ends))
        i, j = low, high
        while i <= j:
            while values[order[i]] < pivot:
                i += 1
            while values[order[j]] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@njit(nogil=True)
def _part(values, order, medians):  # IN, INOUT, OUT
    """Order rows by the leaves of a tree, from their projections at each of its levels."""
    n_rows = len(order)
    for level in range(len(values)):
        for part in range(2**level):
            low, high = part * n_rows >> level, (part + 1) * n_rows >> level
            middle = (2 * part + 1) * n_rows >> (level + 1)
            halve(values[level], order, low, middle, high)
            medians[2**level - 1 + part] = values[level, order[middle]]
    n_leaves = 2 ** len(values)
    for leaf in range(n_leaves):
        order[leaf * n_rows // n_leaves : (leaf + 1) * n_rows // n_leaves].sort()


@njit(nogil=True)
def _compare_in_parts(rows, order, level, neighbors, squares, start, stop):
    # IN, IN, IN, INOUT, INOUT, IN, IN
    """Compare all rows of each of some parts.

    Inner products are fast, but not exact for near rows. So they only tell which pairs are worth
    their distance.
    """
    n_rows = len(order)
    for part in range(start, stop):
        places = order[part * n_rows >> level : (part + 1) * n_rows >> level]
        block = _centered(rows, places)
        norms, last = np.empty(len(block), rows.dtype), np.empty(len(block), rows.dtype)
        for a in range(len(block)):
            norms[a] = ROOM * squared_distance(block[a], np.zeros_like(block[a]))
            last[a] = squares[places[a], -1]
        for first in range(0, len(block), STRIP_ROWS):
            strip = block[first : first + STRIP_ROWS]
            products = np.dot(strip, block[: first + len(strip)].T)
            for a in range(first, first + len(strip)):
                i = places[a]
                for b in range(a):
                    least = norms[a] + norms[b] - np.float32(2) * products[a - first, b]
                    if least < max(last[a], last[b]):
                        j = places[b]
                        square = squared_distance(rows[i], rows[j])
                        if square < last[a]:
                            insert(neighbors[i], squares[i], j, square)
                            last[a] = squares[i, -1]
                        if square < last[b]:
                            insert(neighbors[j], squares[j], i, square)
                            last[b] = squares[j, -1]


@njit(nogil=True)
def _centered(rows, places):  # IN, IN
    """Rows at some places less their mean."""
    block = np.empty((len(places), rows.shape[1]), dtype=rows.dtype)
    mean = np.zeros(rows.shape[1], dtype=rows.dtype)
    for a in range(len(places)):
        for c in range(rows.shape[1]):
            block[a, c] = rows[places[a], c]
            mean[c] += block[a, c] / np.float32(len(places))
    for a in range(len(places)):
        for c in range(rows.shape[1]):
            block[a, c] -= mean[c]
    return block


@njit
def _with_reverse(neighbors, is_old):  # IN, IN
    """Neighbours of each row, then up to as many rows that it is a neighbour of; -1 for none."""
    n_rows, n_kept = neighbors.shape
    links = np.full((n_rows, 2 * n_kept), -1, dtype=np.int32)
    links[:, :n_kept] = neighbors
    old_links = np.zeros((n_rows, 2 * n_kept), dtype=np.bool_)
    old_links[:, :n_kept] = is_old
    n_links = np.full(n_rows, n_kept)
    for place in range(n_kept):  # the nearest come first, wherever there is room for some
        for row in range(n_rows):
            neighbor = neighbors[row, place]
            if n_links[neighbor] < 2 * n_kept and not is_among(row, neighbors[neighbor]):
                links[neighbor, n_links[neighbor]] = row
                old_links[neighbor, n_links[neighbor]] = is_old[row, place]
                n_links[neighbor] += 1
    return links, old_links


@njit(nogil=True)
def _compare_links(rows, links, old_links, last, pairs, squares, n_found, start, stop):
    # IN, IN, IN, IN, OUT, OUT, OUT, IN, IN
    """Pairs of links of some rows that may be neighbours, unless both links are old.

    They are nearer than the last neighbour of either.
    """
    for row in range(start, stop):
        n_pairs = 0
        for a in range(links.shape[1]):
            i = links[row, a]
            if i < 0:
                break
            for b in range(a):
                if old_links[row, a] and old_links[row, b]:
                    continue
                j = links[row, b]
                square = squared_distance(rows[i], rows[j])
                if square < last[i] or square < last[j]:
                    pairs[row, n_pairs, 0], pairs[row, n_pairs, 1] = i, j
                    squares[row, n_pairs] = square
                    n_pairs += 1
        n_found[row] = n_pairs


@njit(nogil=True)
def _take_pairs(pairs, found_squares, n_found, neighbors, squares, start, stop):
    # IN, IN, IN, INOUT, INOUT, IN, IN
    """Insert the pairs that were found into the neighbours of some rows."""
    for row in range(len(n_found)):
        for place in range(n_found[row]):
            square = found_squares[row, place]
            i, j = pairs[row, place]
            if start <= i < stop and square < squares[i, -1]:
                insert(neighbors[i], squares[i], j, square)
            if start <= j < stop and square < squares[j, -1]:
                insert(neighbors[j], squares[j], i, square)


@njit(nogil=True)
def _mark_old(neighbors, before, is_old, start, stop):  # IN, IN, OUT, IN, IN
    """Whether neighbours of some rows were among those before."""
    for row in range(start, stop):
        for place in range(neighbors.shape[1]):
            is_old[row, place] = is_among(neighbors[row, place], before[row])


@njit(nogil=True)
def _search_for_rows(new, leaves, orders, depth, rows, table, n_open, found, start, stop):
    # IN, IN, IN, IN, IN, IN, IN, OUT, IN, IN
    """Rows nearest to some new ones: those of their leaves, then neighbours of the nearest."""
    n_rows, n_found = len(rows), found.shape[1]
    tried = np.full(n_rows, -1, dtype=np.int32)
    nearest, squares = np.empty(n_open, dtype=np.int32), np.empty(n_open, dtype=np.float32)
    followed = np.full(n_rows, -1, dtype=np.int32)
    for row in range(start, stop):
        nearest[:], squares[:] = -1, np.inf
        for tree in range(len(orders)):
            leaf = leaves[row, tree]
            for place in range(leaf * n_rows >> depth, (leaf + 1) * n_rows >> depth):
                candidate = orders[tree, place]
                if tried[candidate] != row:
                    tried[candidate] = row
                    square = squared_distance(new[row], rows[candidate])
                    if square < squares[-1]:
                        insert(nearest, squares, candidate, square)
        place = 0
        while place < n_open:
            known = nearest[place]
            if known < 0 or followed[known] == row:
                place += 1
                continue
            followed[known] = row
            place = 0  # a nearer one may come
            for candidate in table[known]:
                if tried[candidate] != row:
                    tried[candidate] = row
                    square = squared_distance(new[row], rows[candidate])
                    if square < squares[-1]:
                        insert(nearest, squares, candidate, square)
        found[row] = nearest[:n_found]
