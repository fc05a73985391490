"""Nearest rows on the device of an array: all inner products, some rows at a time."""

import numpy as np

from separatrix._sklearn import namespace_of, widest_float

# Numbers of a block of products: a GPU wants few large ones, a processor those of its cache.
BLOCK, BLOCK_ON_CPU = 2**29, 2**24
# The smallest of many numbers are searched among the smallest of tiles of so many, and so on
# until rows are as narrow as this.
TILE, NARROW = 32, 2**11
# Candidates beyond those asked for: rounding may put some of the nearest a little behind.
SPARE = 4


class BlockedSearch:
    """Exact nearest rows by blocks of inner products, on the device of the rows.

    With B the rows about their mean, ``|b|^2 - 2 a'b`` orders them by their distance from a. One
    product of matrices gives these numbers; distances of the few nearest are then computed from
    differences, in the widest precision of the device.

    Parameters
    ----------
    rows : array of shape (n_rows, n_features)
        Rows among which neighbours are searched.
    """

    def __init__(self, rows):
        xp, device = namespace_of(rows)
        self.rows = rows
        self._origin = xp.mean(rows, axis=0)
        centered = rows - self._origin
        norms = xp.sum(centered * centered, axis=1)
        table = xp.concat([-2.0 * centered, norms[:, None]], axis=1)
        n_rows, n_features = rows.shape
        options = {"dtype": rows.dtype, "device": device}
        n_padded = tiled(n_rows) - n_rows  # rows that are infinitely far
        far = [
            xp.zeros((n_padded, n_features), **options),
            xp.full((n_padded, 1), np.inf, **options),
        ]
        self._table = xp.concat([table, xp.concat(far, axis=1)], axis=0)
        block = BLOCK_ON_CPU if is_on_cpu(device) else BLOCK
        self._step = max(1, block // self._table.shape[0])

    def others(self, n_neighbors):
        """The nearest other rows of each row; as `nearest`."""
        return self._nearest(self.rows, n_neighbors, without_own=True)

    def nearest(self, rows, n_neighbors):
        """The rows nearest to some, nearest first, and their distances.

        Returns
        -------
        neighbors : array of int, shape (n, n_neighbors)
            Of rows as near, the first ones.
        distances : array of shape (n, n_neighbors)
        """
        return self._nearest(rows, n_neighbors, without_own=False)

    def _nearest(self, rows, n_neighbors, *, without_own):
        # asked for once, not for each of thousands of blocks
        xp, _ = namespace_of(rows)
        n_rows, step = rows.shape[0], self._step
        parts = [
            self._nearest_of_block(
                xp, rows[at : min(at + step, n_rows), :], at, n_neighbors, without_own
            )
            for at in range(0, n_rows, step)
        ]
        neighbors, distances = zip(*parts, strict=True)
        return xp.concat(neighbors, axis=0), xp.concat(distances, axis=0)

    def _nearest_of_block(self, xp, block, start, n_neighbors, without_own):
        device = block.device
        n_block, n_rows = block.shape[0], self.rows.shape[0]
        ones = xp.ones((n_block, 1), dtype=block.dtype, device=device)
        products = xp.concat([block - self._origin, ones], axis=1) @ self._table.T
        # in the order of the rows, which settles who is nearer of two as near
        found = xp.sort(smallest(xp, products, min(n_neighbors + SPARE + 1, n_rows)), axis=1)
        squares = squared_distances(block, self.rows, found)
        if without_own:
            own = xp.arange(start, start + n_block, device=device)[:, None]
            squares = xp.where(found == own, xp.full_like(squares, np.inf), squares)
        order = xp.argsort(squares, axis=1, stable=True)[:, :n_neighbors]
        return along_rows(xp, found, order), xp.sqrt(along_rows(xp, squares, order))


def is_on_cpu(device):
    """Whether a device of some library is the processor."""
    return "cpu" in str(device).lower()


def squared_distances(block, rows, places):
    """Squared distances of each row of a block to `rows` in some places, by differences.

    They are in the widest precision of the device.
    """
    xp, _ = namespace_of(block)
    wide = widest_float(block)
    near = xp.take(rows, xp.reshape(places, (-1,)), axis=0)
    near = xp.reshape(xp.astype(near, wide), (*places.shape, block.shape[1]))
    differences = near - xp.astype(block, wide)[:, None, :]
    return xp.sum(differences * differences, axis=2)


def tiled(width):
    """The least width of at least `width` that tiles of tiles divide."""
    whole = 1
    while width > NARROW * whole:
        whole *= TILE
    return -(-width // whole) * whole


def smallest(xp, values, count):
    """Places of the smallest values of each row, in no order; of a width that `tiled` gives.

    They are in the tiles of the smallest minima, so that nearly all values are looked at once.
    """
    n_rows, width = values.shape
    if width <= NARROW:
        return smallest_of_few(xp, values, count)
    n_tiles = width // TILE
    least = xp.min(xp.reshape(values, (n_rows, TILE, n_tiles)), axis=1)
    tiles = smallest(xp, least, min(count, n_tiles))
    members = n_tiles * xp.arange(TILE, device=values.device)
    candidates = xp.reshape(tiles[:, :, None] + members, (n_rows, -1))
    nearest = smallest_of_few(xp, along_rows(xp, values, candidates), count)
    return along_rows(xp, candidates, nearest)


def smallest_of_few(xp, values, count):
    """Places of the smallest values of each row of a narrow array."""
    if hasattr(xp, "topk"):  # PyTorch has it, the standard does not
        return xp.topk(values, count, dim=1, largest=False).indices
    return xp.argsort(values, axis=1)[:, :count]


def along_rows(xp, values, places):
    """Values in some places of each row."""
    rows = xp.arange(values.shape[0], dtype=places.dtype, device=values.device)
    first = values.shape[1] * rows
    flat = xp.reshape(places + first[:, None], (-1,))
    return xp.reshape(xp.take(xp.reshape(values, (-1,)), flat), places.shape)
