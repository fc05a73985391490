"""Most of the nearest rows on the device of an array: random trees, then neighbours of neighbours.

The steps are those of `forest`, with the same draws, as operations on whole arrays: both find the
same neighbours, but for rounding.
"""

from dataclasses import dataclass, replace
from typing import Any

from separatrix._sklearn import like, namespace_of, widest_float
from separatrix.data.ordering import canonical_order
from separatrix.similarity.device_search import (
    along_rows,
    is_on_cpu,
    smallest_of_few,
    squared_distances,
)
from separatrix.similarity.forest import (
    LEAST_KEPT,
    ApproximateSearch,
    NeighborTable,
    depth_of,
    drawn_ends,
)

# Numbers of the largest array of a step: a GPU wants few large steps, a processor its cache.
LARGEST, LARGEST_ON_CPU = 2**28, 2**20
# Relative error of squared norms and inner products.
ROUNDING = 1e-5
# Candidates of a part beyond those asked for: rounding may put some of the nearest behind.
SPARE = 4


def approximate_others(rows, n_neighbors):
    """Most of the nearest other rows of each row, nearest first, and their distances.

    They are those that `ApproximateSearch` finds, which sees rows in an order of their values.

    Returns
    -------
    neighbors : array of int, shape (n_rows, n_neighbors)
    distances : array of shape (n_rows, n_neighbors)
        In the widest precision of the device.
    """
    xp, _ = namespace_of(rows)
    order = like(canonical_order(rows), rows)
    wide = xp.astype(rows, widest_float(rows))
    single = xp.astype(wide - xp.mean(wide, axis=0), xp.float32)
    neighbors = searched(xp.take(single, order, axis=0), n_neighbors)
    neighbors = renamed(neighbors, order, xp.argsort(order))
    squares = squares_of(rows, neighbors)
    nearest = xp.argsort(squares, axis=1, stable=True)
    return along_rows(xp, neighbors, nearest), xp.sqrt(along_rows(xp, squares, nearest))


def searched(rows, n_neighbors):
    """Most of the nearest other rows of each row, of shape (n_rows, n_neighbors)."""
    xp, _ = namespace_of(rows)
    n_kept = min(max(n_neighbors, LEAST_KEPT), rows.shape[0] - 1)
    # 1) those in the same part of a tree; rows come in the order of the first tree
    orders = orders_of_trees(rows, n_kept + 1)
    places = xp.argsort(orders[0])
    table = DeviceTable.in_parts(
        xp.take(rows, orders[0], axis=0), [xp.take(places, order) for order in orders], n_kept
    )
    # 2) neighbours of neighbours
    for _ in range(ApproximateSearch.MAX_ROUNDS):
        table = table.with_neighbors_of_neighbors()
        if table.share_of_new <= ApproximateSearch.SETTLED:
            break
    return renamed(table.neighbors[:, :n_neighbors], orders[0], places)


def renamed(neighbors, names, places):
    """A table of places as one of names, with the row of each name at its own place."""
    xp, _ = namespace_of(neighbors)
    flat = xp.reshape(xp.take(neighbors, places, axis=0), (-1,))
    return xp.reshape(xp.take(names, flat), neighbors.shape)


# --- trees --------------------------------------------------------------------------------------


def orders_of_trees(rows, least_rows):
    """The rows in the order of the parts of each tree; for the first in that of its leaves."""
    xp, _ = namespace_of(rows)
    n_rows = rows.shape[0]
    depth = depth_of(n_rows, least_rows)
    level = min(depth, depth_of(n_rows, NeighborTable.PART_ROWS))
    ends = drawn_ends(n_rows, ApproximateSearch.N_TREES, depth)
    orders = []
    for tree in range(ApproximateSearch.N_TREES):
        first, second = (like(one[tree, : level if tree > 0 else depth], rows) for one in ends)
        directions = xp.take(rows, first, axis=0) - xp.take(rows, second, axis=0)
        orders.append(order_of_tree(directions @ rows.T))
    return orders


def order_of_tree(projections):
    """Rows in the order of the parts of a tree, from their projections at each of its levels."""
    xp, device = namespace_of(projections)
    n_levels, n_rows = projections.shape
    order = xp.arange(n_rows, device=device)
    part = xp.zeros(n_rows, dtype=order.dtype, device=device)
    for level in range(n_levels):
        # the halves of a part are the rows that come first and last in it
        order = xp.take(order, sorted_in_parts(xp.take(projections[level, :], order), part))
        ends = n_rows * xp.arange(1, 2 ** (level + 1) + 1, device=device) // 2 ** (level + 1)
        part = xp.searchsorted(ends, xp.arange(n_rows, device=device), side="right")
    return xp.take(order, sorted_in_parts(order, part))


def sorted_in_parts(values, part):
    """Order of values by the part that they are in, and within it by themselves."""
    xp, _ = namespace_of(values)
    order = xp.argsort(values, stable=True)
    return xp.take(order, xp.argsort(xp.take(part, order), stable=True))


# --- the table of neighbours --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DeviceTable:
    """Neighbours of rows; as `NeighborTable`.

    Attributes
    ----------
    rows : array of shape (n_rows, n_features)
        Rows in the order of the first tree.
    neighbors, squares : array of shape (n_rows, n_kept)
        Neighbours and their squared distances, nearest first.
    is_old : array of bool, shape (n_rows, n_kept)
        Whether neighbours were known before the last round.
    """

    rows: Any
    neighbors: Any
    squares: Any
    is_old: Any

    @classmethod
    def in_parts(cls, rows, orders, n_kept):
        """The nearest in the same part of some tree."""
        xp, device = namespace_of(rows)
        n_rows = rows.shape[0]
        neighbors = xp.full((n_rows, 0), -1, device=device)
        squares = xp.zeros((n_rows, 0), dtype=rows.dtype, device=device)
        for order in orders:
            found = nearest_in_parts(rows, order, min(n_kept + SPARE, n_rows - 1))
            neighbors = xp.concat([neighbors, found], axis=1)
            found_squares = xp.astype(squares_of(rows, found), rows.dtype)
            squares = xp.concat([squares, found_squares], axis=1)
            neighbors, squares = nearest_distinct(neighbors, squares, n_kept)
        return cls(rows, neighbors, squares, xp.zeros_like(neighbors, dtype=xp.bool))

    @property
    def share_of_new(self):
        """Share of neighbours that were not known before the last round."""
        xp, _ = namespace_of(self.rows)
        return 1 - float(xp.mean(xp.astype(self.is_old, self.rows.dtype)))

    def with_neighbors_of_neighbors(self):
        """The table after the links of each row have been compared with each other."""
        xp, device = namespace_of(self.rows)
        n_rows, n_kept = self.neighbors.shape
        links, old = self._with_reverse()
        last = self.squares[:, -1]
        keys = [
            near_links(self.rows, some, links[some, :], old[some, :], last)
            for some in slices(self.rows, links.shape[1] * max(links.shape[1], self.rows.shape[1]))
        ]
        keys = without_repeats(xp.concat(keys))
        row, found = keys // n_rows, keys % n_rows
        squares = self._squares_of_pairs(row, found)
        is_near = squares < xp.take(last, row)
        row, found, squares = row[is_near], found[is_near], squares[is_near]
        # the nearest of what was found for each row
        order = sorted_in_parts(squares, row)
        starts = xp.searchsorted(xp.take(row, order), xp.arange(n_rows + 1, device=device))
        found, squares = xp.take(found, order), xp.take(squares, order)
        neighbors, squares = nearest_distinct(
            xp.concat([self.neighbors, first_of_each(found, starts, n_kept, -1)], axis=1),
            xp.concat([self.squares, first_of_each(squares, starts, n_kept, xp.inf)], axis=1),
            n_kept,
        )
        return replace(
            self, neighbors=neighbors, squares=squares, is_old=are_among(neighbors, self.neighbors)
        )

    def _squares_of_pairs(self, i, j):
        """Squared distances of pairs of rows."""
        xp, _ = namespace_of(self.rows)
        parts = []
        for some in slices(i, self.rows.shape[1]):
            there, here = (xp.take(self.rows, places[some], axis=0) for places in (i, j))
            parts.append(xp.sum((there - here) ** 2, axis=1))
        return xp.concat(parts)

    def _with_reverse(self):
        """Neighbours of each row, then up to as many rows that it is a neighbour of; -1 for none.

        Returns
        -------
        links : array of int of shape (n_rows, 2 * n_kept)
        old : array of bool
            Whether they were known before the last round.
        """
        xp, device = namespace_of(self.rows)
        n_rows, n_kept = self.neighbors.shape
        # the nearest come first, wherever there is room for some
        to = xp.reshape(self.neighbors.T, (-1,))
        order = xp.argsort(to, stable=True)
        to, row, place = xp.take(to, order), order % n_rows, order // n_rows
        one_way = xp.concat(
            [
                ~are_among(row[some, None], xp.take(self.neighbors, to[some], axis=0))[:, 0]
                for some in slices(to, n_kept)
            ]
        )
        to, row, place = to[one_way], row[one_way], place[one_way]
        old = xp.take(xp.reshape(self.is_old, (-1,)), row * n_kept + place)
        starts = xp.searchsorted(to, xp.arange(n_rows + 1, device=device))
        return (
            xp.concat([self.neighbors, first_of_each(row, starts, n_kept, -1)], axis=1),
            xp.concat([self.is_old, first_of_each(old, starts, n_kept, False)], axis=1),
        )


# --- steps on whole arrays ----------------------------------------------------------------------


def slices(array, width):
    """Slices of the rows of an array that need arrays of `width` numbers for each row."""
    n_rows, (_, device) = array.shape[0], namespace_of(array)
    step = max(1, (LARGEST_ON_CPU if is_on_cpu(device) else LARGEST) // max(1, width))
    return [slice(start, min(start + step, n_rows)) for start in range(0, max(1, n_rows), step)]


def squares_of(rows, neighbors):
    """Squared distances of rows to their neighbours."""
    xp, _ = namespace_of(rows)
    parts = [
        squared_distances(rows[some, :], rows, neighbors[some, :])
        for some in slices(rows, neighbors.shape[1] * rows.shape[1])
    ]
    return xp.concat(parts, axis=0)


def nearest_in_parts(rows, order, n_nearest):
    """Rows in the same part of a tree that are nearest to each row.

    Parts are those of `forest` of at least `PART_ROWS` rows. Inner products are fast, but not
    exact for near rows.
    """
    xp, device = namespace_of(rows)
    n_rows, n_features = rows.shape
    n_parts = 2 ** depth_of(n_rows, NeighborTable.PART_ROWS)
    ends = n_rows * xp.arange(n_parts + 1, device=device) // n_parts
    width = -(-n_rows // n_parts)
    places = xp.arange(width, device=device)
    found = []
    for some in slices(ends[:-1], width * max(width, n_features)):
        start, end = ends[:-1][some, None], ends[1:][some, None]
        inside = start + places < end
        members = xp.take(order, xp.reshape(xp.where(inside, start + places, end - 1), (-1,)))
        block = xp.reshape(xp.take(rows, members, axis=0), (-1, width, n_features))
        block = block - xp.mean(block, axis=1, keepdims=True)
        norms = xp.sum(block * block, axis=2)
        # squared distances less the norms of the rows they are from
        far = xp.where(inside, norms, xp.full_like(norms, xp.inf))[:, None, :]
        values = far - 2.0 * (block @ xp.permute_dims(block, (0, 2, 1)))
        own = places[:, None] == places
        values = xp.where(own, xp.full_like(values, xp.inf), values)
        nearest = smallest_of_few(xp, xp.reshape(values, (-1, width)), n_nearest)
        first = width * (xp.arange(nearest.shape[0], device=device) // width)
        nearest = xp.reshape(nearest + first[:, None], (-1,))
        nearest = xp.reshape(xp.take(members, nearest), (-1, n_nearest))
        found.append(xp.take(nearest, xp.nonzero(xp.reshape(inside, (-1,)))[0], axis=0))
    return xp.take(xp.concat(found, axis=0), xp.argsort(order), axis=0)


def near_links(rows, some, links, old, last):
    """Pairs of links of some rows that may be neighbours, unless both links are old.

    Returns
    -------
    keys : array of int
        ``i * n_rows + j`` where j is nearer to i than its last neighbour, up to rounding.
    """
    xp, device = namespace_of(rows)
    n_rows, n_links = rows.shape[0], links.shape[1]
    is_link = links >= 0
    places = xp.where(is_link, links, xp.zeros_like(links))
    flat = xp.reshape(places, (-1,))
    block = xp.reshape(xp.take(rows, flat, axis=0), (*links.shape, rows.shape[1]))
    block = block - rows[some, :][:, None, :]
    norms = xp.sum(block * block, axis=2)
    reach = xp.reshape(xp.take(last, flat), links.shape)
    # with room for the rounding of inner products
    norms = (1 - ROUNDING) * norms
    reach = xp.where(is_link, reach - norms, xp.full_like(norms, -xp.inf))
    squares = norms[:, None, :] - 2.0 * (block @ xp.permute_dims(block, (0, 2, 1)))
    is_near = (squares < reach[:, :, None]) & is_link[:, None, :]
    is_near = is_near & ~(old[:, :, None] & old[:, None, :])
    is_near = is_near & ~xp.eye(n_links, dtype=xp.bool, device=device)
    row, a, b = xp.nonzero(is_near)
    i, j = (xp.take(xp.reshape(places, (-1,)), row * n_links + link) for link in (a, b))
    return i * n_rows + j


def without_repeats(keys):
    """Distinct keys, ascending."""
    xp, device = namespace_of(keys)
    if keys.shape[0] == 0:
        return keys
    keys = xp.sort(keys)
    is_first = xp.concat([xp.ones(1, dtype=xp.bool, device=device), keys[1:] != keys[:-1]])
    return keys[is_first]


def first_of_each(values, starts, count, none):
    """The first values of each row of a ragged array, of shape (n_rows, count)."""
    xp, device = namespace_of(values)
    places = starts[:-1, None] + xp.arange(count, device=device)
    inside = places < starts[1:, None]
    if values.shape[0] == 0:
        return xp.full(places.shape, none, dtype=values.dtype, device=device)
    flat = xp.reshape(xp.where(inside, places, xp.zeros_like(places)), (-1,))
    found = xp.reshape(xp.take(values, flat), places.shape)
    return xp.where(inside, found, xp.full_like(found, none))


def nearest_distinct(neighbors, squares, count):
    """The nearest of the neighbours of each row, nearest first, each once."""
    xp, _ = namespace_of(squares)
    order = xp.argsort(neighbors, axis=1)
    neighbors, squares = (along_rows(xp, values, order) for values in (neighbors, squares))
    repeats = neighbors[:, 1:] == neighbors[:, :-1]
    later = xp.where(repeats, xp.full_like(squares[:, 1:], xp.inf), squares[:, 1:])
    squares = xp.concat([squares[:, :1], later], axis=1)
    order = xp.argsort(squares, axis=1, stable=True)[:, :count]
    return along_rows(xp, neighbors, order), along_rows(xp, squares, order)


def are_among(values, others):
    """Whether each value of a row is among others of the same row."""
    xp, _ = namespace_of(values)
    parts = [
        xp.any(values[some, :, None] == others[some, None, :], axis=2)
        for some in slices(values, values.shape[1] * others.shape[1])
    ]
    return xp.concat(parts, axis=0)
