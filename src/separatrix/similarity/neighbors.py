"""Nearest neighbours of samples, exact or approximate."""

from functools import partial

import numpy as np
import scipy.sparse as sp
from sklearn import config_context
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import NearestNeighbors

from separatrix._numba import in_threads, njit
from separatrix.data.rows import CHUNK_SIZE

# Squared distances below this part of the squared norms have lost six digits to cancellation.
CANCELLED = 1e-6


def row_blocks(n_rows, width):
    """Slices of consecutive rows, of as many rows of `width` numbers as a chunk holds."""
    step = max(1, CHUNK_SIZE // max(1, width))
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


def squared_norms(rows):
    """Squared Euclidean norms of the rows of a dense or sparse matrix."""
    if sp.issparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", rows, rows)


def map_pairs(function, A, i, B, j):
    """Numbers ``function(A[i], B[j])`` of pairs of rows, a chunk of pairs at a time."""
    values = np.empty(len(i))
    for pairs in row_blocks(len(i), A.shape[1] if not sp.issparse(A) else 64):
        values[pairs] = function(A[i[pairs]], B[j[pairs]])
    return values


def pair_distances(A, i, B, j):
    """Distances of rows `i` of `A` to rows `j` of `B`, from their differences.

    Unlike distances from inner products, these are zero for equal rows, and only for them.
    """
    return np.sqrt(map_pairs(lambda a, b: squared_norms(a - b), A, i, B, j))


def pair_products(A, i, B, j):
    """Inner products of rows `i` of `A` and rows `j` of `B`."""

    def products(a, b):
        if sp.issparse(a):
            return np.asarray(a.multiply(b).sum(axis=1)).ravel()
        return np.einsum("ij,ij->i", a, b)

    return map_pairs(products, A, i, B, j)


def distance_blocks(A, B):
    """Distances of all rows of `A` to all rows of `B`, some rows of `A` at a time.

    Inner products give them fast, but those of near rows drown in rounding errors; these are
    computed again from the differences.

    Yields
    ------
    rows : slice
        Rows of `A`.
    distances : ndarray of shape (n_rows, n_B)
    """
    origin = None if sp.issparse(B) else B.mean(axis=0)
    centered = B if origin is None else B - origin
    norms = squared_norms(centered)
    for rows in row_blocks(A.shape[0], B.shape[0]):
        block = A[rows] if origin is None else A[rows] - origin
        with config_context(assume_finite=True):
            distances = euclidean_distances(block, centered, squared=True)
        i, j = np.nonzero(distances <= CANCELLED * (squared_norms(block)[:, None] + norms))
        np.sqrt(distances, out=distances)
        distances[i, j] = pair_distances(A, i + rows.start, B, j)
        yield rows, distances


# Features up to which a tree finds neighbours faster than all distances do.
FEW_FEATURES = 6


def nearest_search(rows, n_neighbors):
    """Search among rows; scikit-learn would take a tree in up to 15 dimensions."""
    algorithm = "kd_tree" if rows.shape[1] <= FEW_FEATURES else "brute"
    return NearestNeighbors(n_neighbors=n_neighbors, algorithm=algorithm).fit(rows)


class ExactSearch:
    """Nearest rows by scikit-learn: a tree in few dimensions, all distances in many.

    Parameters
    ----------
    rows : ndarray or CSR of shape (n_rows, n_features)
        Rows among which neighbours are searched.
    n_jobs : int or None
        Threads that search a tree; brute force takes those of OpenMP.
    """

    def __init__(self, rows, n_jobs):
        # far from the origin, brute force would lose the digits of distances
        self._origin = None if sp.issparse(rows) else rows.mean(axis=0)
        self._search = NearestNeighbors(n_jobs=n_jobs).fit(self._centered(rows))

    def _centered(self, rows):
        return rows if self._origin is None else rows - self._origin

    def others(self, n_neighbors):
        """Indices of the nearest other rows of each row, nearest first.

        Returns
        -------
        neighbors : ndarray of int, shape (n_rows, n_neighbors)
        """
        return self._search.kneighbors(n_neighbors=n_neighbors, return_distance=False)

    def nearest(self, rows, n_neighbors):
        """Indices of the rows nearest to new `rows`, nearest first."""
        return self._search.kneighbors(
            self._centered(rows), n_neighbors=n_neighbors, return_distance=False
        )


class ApproximateSearch:
    """Nearest rows by faiss, in single precision: most of them, but not all.

    The rows are sorted into cells around centres, and only the cells nearest to a row are
    searched. Among the training rows, neighbours of neighbours are tried after that. All of it
    is deterministic.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        Rows among which neighbours are searched.
    """

    CELL_ROWS = 500
    # Cells that are searched, for the training rows and for new ones.
    N_PROBES, N_PROBES_NEW = 12, 32
    N_ROUNDS = 2
    # Beyond this, in units of the known rows, all new ones are equally far.
    FARTHEST = 1e15

    def __init__(self, rows):
        faiss = import_faiss()
        n_rows, n_features = rows.shape
        self._origin = rows.mean(axis=0)
        # a power of two, so that only numbers beyond single precision change
        largest = float(np.abs(rows - self._origin).max())
        self._unit = 2.0 ** np.frexp(largest)[1] if largest > 0 else 1.0
        self._rows = self._single(rows)
        # beyond a million rows, larger cells, or finding the nearest centre would take longest
        n_cells = int(min(n_rows // self.CELL_ROWS + 1, 2 * np.sqrt(n_rows)))
        centers = faiss.IndexFlatL2(n_features)
        self._index = faiss.IndexIVFFlat(centers, n_features, n_cells)
        self._index.cp.niter = 10
        self._index.cp.min_points_per_centroid = 1
        self._index.cp.max_points_per_centroid = 64
        self._index.train(self._rows)
        self._index.add(self._rows)

    def _single(self, rows):
        placed = np.clip((rows - self._origin) / self._unit, -self.FARTHEST, self.FARTHEST)
        return np.ascontiguousarray(placed, dtype=np.float32)

    def _in_cells(self, rows, n_neighbors, n_probes):
        """Squared distances and indices of the nearest rows in the nearest cells."""
        self._index.nprobe = n_probes
        return self._index.search(rows, n_neighbors)

    def others(self, n_neighbors):
        """Indices of the nearest other rows of each row, nearest first; -1 where none was found.

        Returns
        -------
        neighbors : ndarray of int, shape (n_rows, n_neighbors)
        """
        squares, found = self._in_cells(self._rows, n_neighbors + 1, self.N_PROBES)
        kept = other_than_self(found)
        squares = squares[kept].reshape(len(found), n_neighbors)
        found = found[kept].reshape(len(found), n_neighbors).astype(np.int32)
        for _ in range(self.N_ROUNDS if self._index.nlist > self.N_PROBES else 0):
            try_neighbors_of_neighbors(self._rows, with_reverse(found), found, squares)
        return found

    def nearest(self, rows, n_neighbors):
        """Indices of the rows nearest to new `rows`, nearest first; -1 where none was found."""
        return self._in_cells(self._single(rows), n_neighbors, self.N_PROBES_NEW)[1]


def import_faiss():
    """The faiss module, or an error that says how to get it."""
    try:
        import faiss
    except ImportError as error:
        raise ImportError(
            "neighbors='approximate' needs faiss, which is not installed: "
            "pip install separatrix[faiss], or use neighbors='exact'."
        ) from error
    return faiss


def other_than_self(neighbors):
    """Mask of the neighbours but a row's own index, or but the last where that is not there.

    A row with many copies may not be among its own nearest, and each copy is a neighbour.
    """
    own = neighbors == np.arange(len(neighbors))[:, None]
    own[~own.any(axis=1), -1] = True
    return ~own


@njit
def with_reverse(neighbors):  # IN
    """Neighbours of each row, then up to as many rows that it is a neighbour of; -1 for none."""
    n_rows, n_neighbors = neighbors.shape
    links = np.full((n_rows, 2 * n_neighbors), -1, dtype=np.int32)
    links[:, :n_neighbors] = neighbors
    n_links = np.full(n_rows, n_neighbors)
    for place in range(n_neighbors):  # the nearest come first, wherever there is room for some
        for row in range(n_rows):
            neighbor = neighbors[row, place]
            if neighbor >= 0 and n_links[neighbor] < 2 * n_neighbors:
                links[neighbor, n_links[neighbor]] = row
                n_links[neighbor] += 1
    return links


@njit
def squared_distance(a, b):  # IN, IN
    """Squared distance of two rows; four sums at a time, as fast arithmetic is off."""
    part_0 = part_1 = part_2 = part_3 = np.float32(0)
    n_quads = len(a) // 4
    for quad in range(n_quads):
        c = 4 * quad
        part_0 += (a[c] - b[c]) ** 2
        part_1 += (a[c + 1] - b[c + 1]) ** 2
        part_2 += (a[c + 2] - b[c + 2]) ** 2
        part_3 += (a[c + 3] - b[c + 3]) ** 2
    for c in range(4 * n_quads, len(a)):
        part_0 += (a[c] - b[c]) ** 2
    return (part_0 + part_1) + (part_2 + part_3)


@njit
def insert_neighbor(neighbors, squares, candidate, square):  # INOUT, INOUT, IN, IN
    """Put a candidate in its place among the neighbours of a row; the farthest one drops out."""
    place = len(neighbors) - 1
    while place > 0 and squares[place - 1] > square:
        neighbors[place] = neighbors[place - 1]
        squares[place] = squares[place - 1]
        place -= 1
    neighbors[place] = candidate
    squares[place] = square


def try_neighbors_of_neighbors(rows, links, neighbors, squares):
    """Improve the neighbours of each row by those that its links lead to in one or two steps.

    The links are not changed meanwhile, so that the order of the rows does not matter.
    """
    in_threads(
        partial(_try_for_rows, rows, links, neighbors, squares),
        len(rows),
        import_faiss().omp_get_max_threads(),
    )


@njit(nogil=True)
def _try_for_rows(rows, links, neighbors, squares, start, stop):  # IN, IN, INOUT, INOUT, IN, IN
    """The same for some rows."""
    for row in range(start, stop):
        for link in links[row]:
            if link < 0:
                continue
            for step in range(-1, links.shape[1]):
                candidate = link if step < 0 else links[link, step]
                if candidate < 0 or candidate == row:
                    continue
                known = False
                for neighbor in neighbors[row]:
                    known |= neighbor == candidate
                if known:
                    continue
                square = squared_distance(rows[row], rows[candidate])
                if square < squares[row, -1]:
                    insert_neighbor(neighbors[row], squares[row], candidate, square)


def nearest_pairs(neighbors):
    """Pairs (row, neighbour) of a table of neighbours, less those that were not found."""
    small = np.int32 if max(len(neighbors), neighbors.max(initial=0)) < 2**31 else np.int64
    i = np.repeat(np.arange(len(neighbors), dtype=small), neighbors.shape[1])
    j = neighbors.ravel().astype(small, copy=False)
    return i[j >= 0], j[j >= 0]


def last_distances(A, neighbors, B):
    """Distance of each row of `A` to the farthest of its neighbours in `B`; zero if none."""
    i, j = nearest_pairs(neighbors)
    distances = np.zeros(A.shape[0])
    np.maximum.at(distances, i, pair_distances(A, i, B, j))
    return distances


def others_in(search, members, n_samples, n_neighbors):
    """Table of the nearest other samples of each sample; -1 where there is none.

    Parameters
    ----------
    search : object
        Search among the members.
    members : ndarray of int
        Samples that have neighbours.
    n_samples : int
        Number of samples.
    n_neighbors : int
        Number of neighbours, if there are as many.

    Returns
    -------
    neighbors : ndarray of int, shape (n_samples, n_found)
    """
    n_neighbors = min(n_neighbors, len(members) - 1)
    table = np.full((n_samples, n_neighbors), -1)
    if n_neighbors > 0:
        found = search.others(n_neighbors)
        table[members] = np.where(found >= 0, members[found], -1)
    return table
