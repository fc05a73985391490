"""Distances of samples, and their nearest neighbours."""

import numpy as np
import scipy.sparse as sp
from sklearn import config_context
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import NearestNeighbors

from separatrix._numba import njit
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
    if sp.issparse(A):
        return np.sqrt(map_pairs(lambda a, b: squared_norms(a - b), A, i, B, j))
    return _dense_pair_distances(A, i, B, j)


@njit(fastmath={"reassoc"}, nogil=True)
def squared_distance(a, b):  # IN, IN
    """Squared distance of two rows; the order of the sum is left to the compiler, for speed."""
    square = a.dtype.type(0)
    for c in range(len(a)):
        square += (a[c] - b[c]) * (a[c] - b[c])
    return square


@njit
def _dense_pair_distances(A, i, B, j):  # IN, IN, IN, IN
    distances = np.empty(len(i))
    for pair in range(len(i)):
        distances[pair] = np.sqrt(squared_distance(A[i[pair]], B[j[pair]]))
    return distances


def pair_products(A, i, B, j):
    """Inner products of rows `i` of `A` and rows `j` of `B`."""

    def products(a, b):
        if sp.issparse(a):
            return np.asarray(a.multiply(b).sum(axis=1)).ravel()
        return np.einsum("ij,ij->i", a, b)

    return map_pairs(products, A, i, B, j)


def distance_blocks(A, B):
    """Distances of all rows of `A` to all rows of `B`, some rows of `A` at a time.

    Inner products give them fast, but for near rows they are lost in rounding errors; these are
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
        self._others = None

    def __getstate__(self):
        return {**vars(self), "_others": None}  # of use in a fit alone

    def _centered(self, rows):
        return rows if self._origin is None else rows - self._origin

    def others(self, n_neighbors):
        """Indices of the nearest other rows of each row, nearest first.

        Returns
        -------
        neighbors : ndarray of int, shape (n_rows, n_neighbors)
        """
        if self._others is None or self._others.shape[1] < n_neighbors:
            found = self._search.kneighbors(n_neighbors=n_neighbors, return_distance=False)
            self._others = found.astype(np.int32)
        return self._others[:, :n_neighbors]

    def nearest(self, rows, n_neighbors):
        """Indices of the rows nearest to new `rows`, nearest first."""
        return self._search.kneighbors(
            self._centered(rows), n_neighbors=n_neighbors, return_distance=False
        )


def nearest_pairs(neighbors):
    """Pairs (row, neighbour) of a table of neighbours, in which -1 is none."""
    small = np.int32 if max(len(neighbors), neighbors.max(initial=0)) < 2**31 else np.int64
    i = np.repeat(np.arange(len(neighbors), dtype=small), neighbors.shape[1])
    j = neighbors.ravel().astype(small, copy=False)
    return i[j >= 0], j[j >= 0]


def last_distances(A, neighbors, B):
    """Distance of each row of `A` to the farthest of its neighbours in `B`; zero if none."""
    distances = np.zeros(A.shape[0])
    if neighbors.shape[1] > 0:  # they come nearest first
        (found,) = np.nonzero(neighbors[:, -1] >= 0)
        distances[found] = pair_distances(A, found, B, neighbors[found, -1])
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
        table[members] = members[search.others(n_neighbors)]
    return table
