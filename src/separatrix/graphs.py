"""Similarity graphs of samples and their Laplacians, for spectral kinds of clustering.

The similarities are those of section 8.1 of [1]_, the Laplacians those of its section 7.2.

References
----------
.. [1] Niu, G., Dai, B., Shang, L., & Sugiyama, M. (2013). Maximum volume clustering: a new
   discriminative clustering approach. Journal of Machine Learning Research, 14, 2641-2687.
.. [2] Zelnik-Manor, L., & Perona, P. (2004). Self-tuning spectral clustering. Advances in Neural
   Information Processing Systems, 17.
.. [3] von Luxburg, U. (2007). A tutorial on spectral clustering. Statistics and Computing, 17(4),
   395-416.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn import config_context
from sklearn.metrics.pairwise import euclidean_distances, pairwise_distances_argmin
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize

from separatrix._numba import njit, prange
from separatrix.chunks import CHUNK_SIZE
from separatrix.kernels import check_fits_memory, check_symmetric

__all__ = [
    "SimilarityGraph",
    "check_similarity",
    "components",
    "degrees",
    "laplacian",
    "similarity_graph",
]

AFFINITIES = ("rbf", "cosine", "local")
GRAPHS = ("full", "union", "mutual")
SEARCHES = ("exact", "approximate")
LAPLACIANS = ("unnormalized", "symmetric", "random-walk")

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


def mixed(bits):
    """Scramble unsigned integers so that every bit depends on all (the finisher of SplitMix64)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def row_hashes(X):
    """Hash of each row's values: equal for equal rows, dense or sparse, of any float dtype."""
    keys = mixed(np.arange(1, X.shape[1] + 1, dtype=np.uint64))

    def hashed(values, keys):
        bits = (values.astype(np.float64, order="C") + 0.0).view(np.uint64)  # no negative zeros
        return np.where(bits == 0, bits, mixed(mixed(bits) ^ keys))

    hashes = np.zeros(X.shape[0], dtype=np.uint64)
    if sp.issparse(X):
        X = sp.csr_array(X, copy=True)
        X.sum_duplicates()
        entries = sp.csr_array((hashed(X.data, keys[X.indices]), X.indices, X.indptr), X.shape)
        # sums of integers wrap around; a product would go through floats
        return np.asarray(entries.sum(axis=1, dtype=np.uint64)).ravel()
    for rows in row_blocks(X.shape[0], X.shape[1]):
        hashes[rows] = hashed(X[rows], keys).sum(axis=1, dtype=np.uint64)
    return hashes


@dataclass(frozen=True, eq=False)
class KnownRows:
    """Samples that are found again by the hashes of their values."""

    hashes: np.ndarray  # in increasing order
    order: np.ndarray  # the samples that they belong to

    @classmethod
    def of(cls, X):
        """The rows of `X`."""
        hashes = row_hashes(X)
        order = np.argsort(hashes, kind="stable")
        return cls(hashes[order], order)

    @property
    def are_equal(self):
        """Whether all are the same."""
        return bool(self.hashes[0] == self.hashes[-1])

    def match(self, X):
        """For each row of `X`, the first known row that equals it, value by value; -1 for none."""
        hashes = row_hashes(X)  # of 64 bits: a million by a million rows collide once in 10^7
        places = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        return np.where(self.hashes[places] == hashes, self.order[places], -1)


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

    def __init__(self, rows):
        faiss = import_faiss()
        n_rows, n_features = rows.shape
        self._origin = rows.mean(axis=0)
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
        return np.ascontiguousarray(rows - self._origin, dtype=np.float32)

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


@njit(parallel=True)
def try_neighbors_of_neighbors(rows, links, neighbors, squares):  # IN, IN, INOUT, INOUT
    """Improve the neighbours of each row by those that its links lead to in one or two steps.

    The links are not changed meanwhile, so that the order of the rows does not matter.
    """
    for row in prange(len(rows)):
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


def joined_pairs(neighbors, graph):
    """The pairs i < j that are neighbours either way ("union") or both ways ("mutual").

    Parameters
    ----------
    neighbors : ndarray of int, shape (n_samples, n_neighbors)
        Neighbours of each sample, -1 for none.
    graph : {"union", "mutual"}
        Which pairs to return.

    Returns
    -------
    i, j : ndarray of int
    """
    i, j = nearest_pairs(neighbors)
    shape = (len(neighbors), len(neighbors))
    chosen = sp.csr_array((np.ones(len(i), dtype=bool), (i, j)), shape)
    back = chosen.T.tocsr()
    joined = chosen.maximum(back) if graph == "union" else chosen.multiply(back)
    upper = sp.triu(joined, 1).tocoo()
    return upper.row, upper.col


def symmetric_from_pairs(i, j, values, n_samples):
    """Symmetric CSR with `values` at the pairs (i, j), each given once; zeros are left out."""
    half = sp.csr_array((values, (i, j)), (n_samples, n_samples))
    half.eliminate_zeros()
    W = (half + half.T.tocsr()).tocsr()
    W.sort_indices()
    return W


@dataclass(frozen=True)
class Similarity:
    """Formula of the similarity of two samples.

    Attributes
    ----------
    affinity : {"rbf", "cosine", "local"}
        Its name.
    gamma : float or None
        Coefficient of "rbf".
    exponent : int
        The samples are divided by two to this power, so that no square overflows.
    """

    affinity: str
    gamma: Any
    exponent: int

    @classmethod
    def fitting(cls, X, affinity, gamma):
        """The formula in units that suit the samples `X`."""
        values = X.data if sp.issparse(X) else X
        largest = max(values.max(initial=0.0), -values.min(initial=0.0))
        return cls(affinity, gamma, int(np.frexp(largest)[1]))

    def rows(self, X):
        """Samples in the formula's units, as float64; of length one or zero for "cosine"."""
        if sp.issparse(X):
            rows = sp.csr_array(X, dtype=np.float64, copy=True)
            rows.sum_duplicates()
            rows.data = np.ldexp(rows.data, -self.exponent)
        else:
            rows = np.ldexp(np.asarray(X, dtype=np.float64), -self.exponent)
        return normalize(rows, copy=False) if self.affinity == "cosine" else rows

    def of_distances(self, distances, sigma_a, sigma_b):
        """Gaussian similarities of distances, with the local scales of both samples."""
        with np.errstate(over="ignore", under="ignore"):  # far means zero
            if self.affinity == "rbf":
                return np.exp(-((np.ldexp(np.sqrt(self.gamma), self.exponent) * distances) ** 2))
            return np.exp(-0.5 * ((distances / sigma_a) * (distances / sigma_b)))

    def of_pairs(self, A, i, sigma_a, B, j, sigma_b):
        """Similarities of rows `i` of `A` and `j` of `B`; the scales are None but if local."""
        if self.affinity == "cosine":
            return np.clip(pair_products(A, i, B, j), 0.0, 1.0)
        local = self.affinity == "local"
        return self.of_distances(
            pair_distances(A, i, B, j),
            sigma_a[i] if local else None,
            sigma_b[j] if local else None,
        )

    def of_all(self, A, sigma_a, B, sigma_b):
        """Similarities of all rows of `A` and of `B`; the scales are None but if local."""
        if self.affinity == "cosine":
            products = A @ B.T
            values = products.toarray() if sp.issparse(products) else products
            return np.clip(values, 0.0, 1.0, out=values)
        values = np.empty((A.shape[0], B.shape[0]))
        local = self.affinity == "local"
        for rows, distances in distance_blocks(A, B):
            values[rows] = self.of_distances(
                distances, sigma_a[rows, None] if local else None, sigma_b if local else None
            )
        return values


def last_distances(A, neighbors, B):
    """Distance of each row of `A` to the farthest of its neighbours in `B`; zero if none."""
    i, j = nearest_pairs(neighbors)
    distances = np.zeros(A.shape[0])
    np.maximum.at(distances, i, pair_distances(A, i, B, j))
    return distances


def local_scales(rows, search, neighbors):
    """Distance of each row to the last of its `neighbors` in the training samples.

    It is zero for a row with that many copies; then it is the distance to the nearest row that
    is not a copy, or one if all rows are equal.
    """
    sigma = last_distances(rows, neighbors, rows)
    lone = sigma == 0
    if not lone.any():
        return sigma
    _, first, copies_of = np.unique(row_hashes(rows), return_index=True, return_inverse=True)
    if len(first) > 1:
        distinct = rows[first]
        nearest = last_distances(distinct, search(distinct).others(1), distinct)
        sigma[lone] = nearest[copies_of[lone]]
    sigma[sigma == 0] = sigma[sigma > 0].min() if sigma.any() else 1.0
    return sigma


@dataclass(frozen=True, eq=False)
class SimilarityGraph:
    """Similarities of the training samples, and the rule that gives those of new samples.

    Attributes
    ----------
    W : ndarray or CSR of shape (n_samples, n_samples)
        Symmetric, nonnegative similarities of the training samples.
    similarity : Similarity
        Their formula.
    graph : {"full", "union", "mutual"}
        Which pairs have one.
    n_neighbors : int
        Number of neighbours of new samples.
    rows : ndarray or CSR of shape (n_samples, n_features)
        Training samples in the units of the formula.
    members : ndarray of int
        Samples that may be neighbours: for "cosine", those that are not zero.
    search : object or None
        Finds neighbours among the members; None if none are needed.
    sigma : ndarray of shape (n_samples,) or None
        Local scales, in the units of the formula; None if the affinity is not "local".
    known : KnownRows
        The training samples as they were given.
    """

    W: Any
    similarity: Similarity
    graph: str
    n_neighbors: int
    rows: Any
    members: np.ndarray
    search: Any
    sigma: Any
    known: KnownRows
    has_samples = True

    @property
    def own(self):
        """Similarity of a new sample to itself: one in a full graph, none in a sparse one."""
        return 1.0 if self.graph == "full" else 0.0

    def nearest(self, X):
        """Indices of the training samples nearest to new samples."""
        return pairwise_distances_argmin(self.similarity.rows(X), self.rows)

    def match(self, X):
        """For each row of `X`, the first training sample that equals it; -1 if none does."""
        return self.known.match(X)

    def to_new(self, X):
        """Similarities of new samples to the training samples.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_new, n_features)
            New samples.

        Returns
        -------
        similarities : ndarray or CSR of shape (n_new, n_samples)
            Dense, to all training samples, if the graph is full. Otherwise to the `n_neighbors`
            nearest ones, for "union" and "mutual" alike; a training sample is its own nearest.
            The local scale of a sample equal to a training sample is the latter's, that of any
            other is the distance to the last of its neighbours.
        """
        if sp.issparse(X) != sp.issparse(self.rows):
            X = X.toarray() if sp.issparse(X) else sp.csr_array(X)
        rows = self.similarity.rows(X)
        neighbors = None if self.search is None else self._neighbors_of(rows)
        sigma = None if self.sigma is None else self._scales_of(X, rows, neighbors)
        if self.graph == "full":
            return self.similarity.of_all(rows, sigma, self.rows, self.sigma)
        shape = (rows.shape[0], self.rows.shape[0])
        if neighbors is None:  # all training samples are zero
            return sp.csr_array(shape)
        i, j = nearest_pairs(neighbors)
        values = self.similarity.of_pairs(rows, i, sigma, self.rows, j, self.sigma)
        found = sp.csr_array((values, (i, j)), shape)
        found.eliminate_zeros()
        found.sort_indices()
        return found

    def _neighbors_of(self, rows):
        """Training samples nearest to new rows; -1 where none was found."""
        found = self.search.nearest(rows, min(self.n_neighbors, len(self.members)))
        return np.where(found >= 0, self.members[found], -1)

    def _scales_of(self, X, rows, neighbors):
        """Local scales of new samples."""
        sigma = last_distances(rows, neighbors, self.rows)
        matched = self.match(X)
        sigma[matched >= 0] = self.sigma[matched[matched >= 0]]
        sigma[sigma == 0] = self.sigma.min()
        return sigma


def similarity_graph(
    X, *, affinity, graph, n_neighbors, gamma=None, neighbors="exact", n_jobs=None
):
    """Graph of the similarities of samples.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Samples.
    affinity : {"rbf", "cosine", "local"}
        Similarity of samples x and y:

        - "rbf": exp(-gamma |x - y|^2);
        - "cosine": <x, y> / (|x| |y|), zero if it is negative or one of them is zero. The
          nonnegative data of [1]_ have no negative ones;
        - "local": exp(-|x - y|^2 / (2 sigma_x sigma_y)) of [2]_, where sigma_x is the distance
          of x to the last of its `n_neighbors` nearest other samples. If these all equal x, it
          is the distance to the nearest sample that does not.
    graph : {"full", "union", "mutual"}
        Pairs that have a similarity: all of them, in a dense matrix whose diagonal is one (zero
        for the zero samples of "cosine"); or the pairs of which one is among the `n_neighbors`
        nearest other samples of the other; or those where this holds both ways. The latter two
        are sparse, without a diagonal. Neighbours are near in angle for "cosine".
    n_neighbors : int
        Number of neighbours; all other samples if there are fewer.
    gamma : float, default=None
        Coefficient of "rbf".
    neighbors : {"exact", "approximate"}, default="exact"
        How the neighbours of "union" and "mutual" are found: all of them by scikit-learn, or
        most of them by faiss, which takes many samples of many features and no sparse ones.
    n_jobs : int, default=None
        Threads that search a tree, which is how exact neighbours are found in up to 15
        dimensions. The other searches take the threads that OpenMP gives them.

    Returns
    -------
    similarities : SimilarityGraph
    """
    _check_choices(X, affinity, graph, n_neighbors, gamma, neighbors)
    n_samples = X.shape[0]
    if graph == "full":
        check_fits_memory(n_samples, remedy='use graph="union", which is sparse')
        neighbors = "exact"

    def search_in(rows):
        return ApproximateSearch(rows) if neighbors == "approximate" else ExactSearch(rows, n_jobs)

    similarity = Similarity.fitting(X, affinity, gamma)
    rows = similarity.rows(X)
    members = np.arange(n_samples)
    if affinity == "cosine":  # zero samples are similar to none, but not far from the unit sphere
        members = np.flatnonzero(squared_norms(rows) > 0)
    search = found = sigma = None
    if len(members) > 0 and (graph != "full" or affinity == "local"):
        search = search_in(rows if len(members) == n_samples else rows[members])
        found = others_in(search, members, n_samples, n_neighbors)
    if affinity == "local":
        sigma = local_scales(rows, search_in, found)
    if graph == "full":
        W = similarity.of_all(rows, sigma, rows, sigma)
        np.maximum(W, W.T, out=W)  # rounding may differ across the diagonal
        W[members, members] = 1.0
    elif found is None:
        W = sp.csr_array((n_samples, n_samples))
    else:
        i, j = joined_pairs(found, graph)
        values = similarity.of_pairs(rows, i, sigma, rows, j, sigma)
        W = symmetric_from_pairs(i, j, values, n_samples)
    return SimilarityGraph(
        W, similarity, graph, n_neighbors, rows, members, search, sigma, KnownRows.of(X)
    )


def _check_choices(X, affinity, graph, n_neighbors, gamma, neighbors):
    """Refuse arguments that cannot work."""
    for name, value, choices in (
        ("affinity", affinity, AFFINITIES),
        ("graph", graph, GRAPHS),
        ("neighbors", neighbors, SEARCHES),
    ):
        if value not in choices:
            raise ValueError(f"{name}={value!r} is none of {choices}.")
    if n_neighbors < 1:
        raise ValueError(f"n_neighbors={n_neighbors} must be at least 1.")
    if affinity == "rbf" and not (gamma is not None and 0 < gamma < np.inf):
        raise ValueError(f"affinity='rbf' needs a positive number gamma, got gamma={gamma!r}.")
    if neighbors == "approximate" and sp.issparse(X):
        raise TypeError(
            "neighbors='approximate' needs a dense X, got a sparse one; use neighbors='exact', "
            "or reduce X to a few dense features first."
        )


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


def check_similarity(W):
    """Check similarities that the user computed.

    Parameters
    ----------
    W : {array-like, sparse matrix} of shape (n_samples, n_samples)
        Similarities, symmetric but for rounding errors.

    Returns
    -------
    W : ndarray or CSR of shape (n_samples, n_samples)
        The same in float64, exactly symmetric; CSR with sorted indices and without zeros.

    Raises
    ------
    ValueError
        If they are not square, finite, nonnegative and symmetric.
    """
    sparse = sp.issparse(W)
    W = sp.csr_array(W, dtype=np.float64) if sparse else np.asarray(W, dtype=np.float64)
    if W.ndim != 2 or W.shape[0] != W.shape[1]:
        raise ValueError(
            "affinity='precomputed' needs X to be the square matrix of similarities between the "
            f"samples, got shape {W.shape}; use another affinity for a feature matrix."
        )
    values = W.data if sparse else W
    if not np.isfinite(values).all():
        raise ValueError(
            "affinity='precomputed' needs finite similarities, but X has NaN or infinite values; "
            "put zero where samples are not connected."
        )
    lowest = values.min(initial=0.0)
    if lowest < 0:
        raise ValueError(
            "affinity='precomputed' needs nonnegative similarities, but the least value of X is "
            f"{lowest:.3g}; clip or shift X, for instance X.clip(min=0)."
        )
    if W.shape[0]:
        check_symmetric(W, parameter="affinity")
    W = 0.5 * W + 0.5 * W.T
    if sparse:
        W = W.tocsr()
        W.eliminate_zeros()
        W.sort_indices()
    return W


def degrees(W):
    """Degrees of the nodes of a graph: the sums of the rows of `W`, diagonal included."""
    return np.asarray(W.sum(axis=1)).ravel()


def laplacian(W, kind):
    """Laplacian of a graph, with D the diagonal matrix of its degrees.

    Parameters
    ----------
    W : ndarray or CSR of shape (n_nodes, n_nodes)
        Symmetric, nonnegative similarities. The diagonal counts in the degrees.
    kind : {"unnormalized", "symmetric", "random-walk"}
        D - W, or I - D^(-1/2) W D^(-1/2), or I - D^(-1) W.

    Returns
    -------
    L : ndarray or CSR of shape (n_nodes, n_nodes)
        Its eigenvalue zero is as often repeated as the graph has components [3]_. So that a node
        without similarities counts as one, its row and column are zero.
    """
    if kind not in LAPLACIANS:
        raise ValueError(f"kind={kind!r} is none of {LAPLACIANS}.")
    degree = degrees(W)
    if kind == "unnormalized":
        return _diagonal_less(degree, W, np.ones_like(degree), np.ones_like(degree))
    linked = degree > 0
    inverse = np.zeros_like(degree)
    inverse[linked] = degree[linked] ** (-0.5 if kind == "symmetric" else -1.0)
    other = inverse if kind == "symmetric" else np.ones_like(degree)
    return _diagonal_less(linked.astype(np.float64), W, inverse, other)


def _diagonal_less(diagonal, W, left, right):
    """diag(diagonal) - diag(left) W diag(right), exactly symmetric if `left` is `right`."""
    if sp.issparse(W):
        W = sp.coo_array(W)
        entries = (left[W.row] * right[W.col]) * W.data
        scaled = sp.csr_array((entries, (W.row, W.col)), W.shape)
        L = (sp.diags_array(diagonal, format="csr") - scaled).tocsr()
        L.sort_indices()
        return L
    L = np.multiply.outer(left, right)
    L *= W
    np.subtract(0.0, L, out=L)
    L[np.diag_indices_from(L)] += diagonal
    return L


def components(W):
    """Connected components of a graph; similarities above zero connect.

    Parameters
    ----------
    W : ndarray or CSR of shape (n_nodes, n_nodes)
        Symmetric, nonnegative similarities.

    Returns
    -------
    n_components : int
        Number of components.
    labels : ndarray of int, shape (n_nodes,)
        Component of each node.
    """
    linked = W > 0
    if not sp.issparse(W) and linked.all():  # no need of a sparse matrix larger than W
        return 1, np.zeros(W.shape[0], dtype=np.int32)
    return connected_components(sp.csr_array(linked), directed=False)
