"""Similarity graphs of samples, found or given, and their Laplacians."""

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.metrics.pairwise import pairwise_distances_argmin
from sklearn.preprocessing import normalize

from separatrix.data.distinct import DistinctRows, KnownRows, row_hashes
from separatrix.data.ordering import canonical_order
from separatrix.data.rows import check_fits_memory
from separatrix.result import numbered
from separatrix.similarity.forest import ApproximateSearch
from separatrix.similarity.kernels import check_symmetric
from separatrix.similarity.neighbors import (
    ExactSearch,
    distance_blocks,
    last_distances,
    nearest_pairs,
    others_in,
    pair_distances,
    pair_products,
    squared_norms,
)

AFFINITIES = ("rbf", "cosine", "local")
GRAPHS = ("full", "union", "mutual")
SEARCHES = ("auto", "exact", "approximate")
# With neighbors="auto", more samples of more features than these are searched approximately.
MANY_SAMPLES, MANY_FEATURES = 10_000, 6


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
        Symmetric, nonnegative similarities of the training samples. Where equal samples are one
        node, sums over them.
    similarity : Similarity
        Their formula.
    graph : {"full", "union", "mutual"}
        Which pairs have one.
    n_neighbors : int
        Number of neighbours of new samples.
    rows : ndarray or CSR of shape (n_samples, n_features)
        Training samples in the units of the formula.
    members : ndarray of int
        Samples that may be neighbours, in the order in which they are searched: for "cosine",
        those that are not zero.
    search : object or None
        Finds neighbours among the members; None if none are needed.
    sigma : ndarray of shape (n_samples,) or None
        Local scales, in the units of the formula; None if the affinity is not "local".
    known : KnownRows
        The training samples as they were given.
    counts : ndarray of shape (n_nodes,) or None
        Numbers, or weights, of equal samples, if these are one node; all that is said of samples
        above is then said of one of each. None if every sample is a node.
    place : ndarray of int of shape (n_samples,) or None
        The node of each training sample.
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
    counts: Any = None
    place: Any = None
    has_samples = True
    is_matrix = False

    @property
    def gamma(self):
        """Coefficient of the Gaussian similarity; nan for others."""
        gamma = self.similarity.gamma
        return np.nan if gamma is None else float(gamma)

    @property
    def n_isolated(self):
        """Number of samples that are not similar to any other."""
        return n_isolated(self.W, self.counts)

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

    def neighbors_of(self, X):
        """Training samples nearest to new samples, nearest first; None if the graph needs none."""
        return None if self.search is None else self._neighbors_of(self._rows_of(X))

    def to_new(self, X, neighbors=None):
        """Similarities of new samples to the training samples.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_new, n_features)
            New samples.
        neighbors : ndarray of int of shape (n_new, n_found), default=None
            The training samples nearest to them, at least as many as the graph needs; searched if
            they are not given.

        Returns
        -------
        similarities : ndarray or CSR of shape (n_new, n_samples)
            Dense, to all training samples, if the graph is full. Otherwise to the `n_neighbors`
            nearest ones, for "union" and "mutual" alike; a training sample is its own nearest.
            The local scale of a sample equal to a training sample is the latter's, that of any
            other is the distance to the last of its neighbours. Sums where equal training samples
            are one node.
        """
        similarities = self._to_distinct(X, neighbors)
        if self.counts is None:
            return similarities
        if sp.issparse(similarities):
            return (similarities @ sp.diags_array(self.counts.astype(np.float64))).tocsr()
        return similarities * self.counts

    def _rows_of(self, X):
        """New samples in the units of the formula, as dense or sparse as the others."""
        if sp.issparse(X) != sp.issparse(self.rows):
            X = X.toarray() if sp.issparse(X) else sp.csr_array(X)
        return self.similarity.rows(X)

    def _to_distinct(self, X, neighbors=None):
        rows = self._rows_of(X)
        if neighbors is not None:
            neighbors = neighbors[:, : self.n_neighbors]
        elif self.search is not None:
            neighbors = self._neighbors_of(rows)
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
        """Training samples nearest to new rows."""
        return self.members[self.search.nearest(rows, min(self.n_neighbors, len(self.members)))]

    def _scales_of(self, X, rows, neighbors):
        """Local scales of new samples."""
        sigma = last_distances(rows, neighbors, self.rows)
        matched = self.match(X)
        sigma[matched >= 0] = self.sigma[matched[matched >= 0]]
        sigma[sigma == 0] = self.sigma.min()
        return sigma


def similarity_graph(
    X, *, affinity, graph, n_neighbors, gamma=None, neighbors="auto", n_jobs=None, search=None
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
    neighbors : {"auto", "exact", "approximate"}, default="auto"
        How the neighbours of "union" and "mutual" are found: all of them by scikit-learn
        ("exact"), or most of them by `ApproximateSearch`, which takes no sparse samples. "auto" is
        approximate for more than 10,000 dense samples of more than 6 features.
    n_jobs : int, default=None
        Threads of the approximate search, and of the tree by which exact neighbours are found in
        up to 15 dimensions. Comparing all pairs takes the threads that OpenMP gives it.
    search : object, default=None
        The search of another graph of the same samples and affinity, which remembers what it
        found.

    Returns
    -------
    similarities : SimilarityGraph
    """
    _check_choices(X, affinity, graph, n_neighbors, gamma, neighbors)
    n_samples = X.shape[0]
    if graph == "full":
        check_fits_memory(n_samples, remedy='use graph="union", which is sparse')
        neighbors = "exact"
    is_approximate = searches_approximately(neighbors, X)
    search_in = partial(ApproximateSearch if is_approximate else ExactSearch, n_jobs=n_jobs)

    similarity = Similarity.fitting(X, affinity, gamma)
    rows = similarity.rows(X)
    members = canonical_order(X)  # which breaks ties of equal distances
    if affinity == "cosine":  # zero samples are similar to none, but not far from the unit sphere
        members = members[squared_norms(rows)[members] > 0]
    found = sigma = None
    if len(members) > 0 and (graph != "full" or affinity == "local"):
        search = search_in(rows[members]) if search is None else search
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


def searches_approximately(neighbors, X):
    """Whether neighbours of samples are searched approximately, by the parameter `neighbors`."""
    if neighbors == "auto":
        many = X.shape[0] > MANY_SAMPLES and X.shape[1] > MANY_FEATURES
        return many and not sp.issparse(X)
    return neighbors == "approximate"


def distinct_graph(X, sample_weight=None, **choices):
    """Graph of the similarities of samples, in which equal ones are one node of their weight.

    Neighbours are distinct samples, and equal samples have the same neighbours. Otherwise the
    neighbours of samples with many copies would all be copies, and equal samples could have
    different neighbours.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Samples.
    sample_weight : ndarray of shape (n_samples,), default=None
        Positive weights. A weight of two is two equal samples.
    **choices
        As for `similarity_graph`.

    Returns
    -------
    similarities : SimilarityGraph
        Its similarities are sums over equal samples. These are similar to each other, though no
        sample is to itself in a sparse graph.
    """
    distinct = DistinctRows.of(X)
    if distinct.are_all and sample_weight is None:
        return similarity_graph(X, **choices)
    found, counts = similarity_graph(X[distinct.first], **choices), distinct.counts
    if sample_weight is not None:
        counts = np.bincount(distinct.place, sample_weight)
    W = found.W
    if sp.issparse(W):
        copies = np.zeros(len(counts))
        copies[found.members] = np.maximum(counts * (counts - 1), 0)[found.members]
        scale = sp.diags_array(counts.astype(np.float64))
        W = (scale @ W @ scale + sp.diags_array(copies)).tocsr()
        W.eliminate_zeros()
        W.sort_indices()
    else:
        W = W * np.multiply.outer(counts, counts)
    return replace(found, W=W, counts=counts, place=distinct.place)


def ordered_graph(X, order, graph_of, *, precomputed):
    """Graph whose nodes come in a given order of the samples, not in that of the rows.

    Parameters
    ----------
    X : {ndarray, sparse matrix}
        Samples, or their similarities.
    order : ndarray of int of shape (n_samples,)
        Indices of the samples.
    graph_of : callable
        Makes the graph of samples.
    precomputed : bool
        Whether X holds similarities, which have a column for each sample, too.

    Returns
    -------
    graph : SimilarityGraph or GivenGraph
        Its `place` is the node of each row of `X`.
    """
    rows = X[order]
    graph = graph_of(rows[:, order] if precomputed else rows)
    nodes = np.arange(len(order)) if graph.place is None else graph.place
    place = np.empty_like(nodes)
    place[order] = nodes
    if not precomputed:
        return replace(graph, place=place)
    # new samples bring their columns in the order of the rows
    _, first = np.unique(nodes, return_index=True)
    return replace(graph, place=place, known=KnownRows.of(rows[first]))


def _check_choices(X, affinity, graph, n_neighbors, gamma, neighbors):
    """Refuse arguments that cannot work."""
    for name, value, choices in (
        ("affinity", affinity, AFFINITIES),
        ("graph", graph, GRAPHS),
        ("neighbors", neighbors, SEARCHES),
    ):
        if value not in choices:
            raise ValueError(f"{name}={value!r} must be one of {choices}.")
    if n_neighbors < 1:
        raise ValueError(f"n_neighbors={n_neighbors} must be at least 1.")
    if affinity == "rbf" and not (gamma is not None and 0 < gamma < np.inf):
        raise ValueError(f"affinity='rbf' needs a positive number gamma, got gamma={gamma!r}.")
    if neighbors == "approximate" and sp.issparse(X):
        raise TypeError(
            "neighbors='approximate' needs a dense X, got a sparse one; use neighbors='exact', "
            "or reduce X to a few dense features first."
        )


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


@dataclass(frozen=True, eq=False)
class GivenGraph:
    """Similarities, or the matrix Q, given by a user; has the methods of SimilarityGraph.

    Samples with equal rows are one node: nothing distinguishes them.
    """

    W: Any
    own: float
    known: KnownRows
    is_matrix: bool = False
    counts: Any = None
    place: Any = None
    has_samples = False
    search = None
    gamma = np.nan

    @classmethod
    def of_similarities(cls, X):
        """Graph of similarities, which are checked."""
        return cls._of(X, check_similarity(X))

    @classmethod
    def of_matrix(cls, X):
        """Any symmetric matrix."""
        check_symmetric(X, parameter="matrix")
        Q = (0.5 * X + 0.5 * X.T).tocsr() if sp.issparse(X) else (X + X.T) / 2
        return cls._of(X, Q, is_matrix=True)

    @classmethod
    def _of(cls, X, W, is_matrix=False):
        own, distinct = float(W.diagonal().mean()), DistinctRows.of(X)
        if distinct.are_all:
            return cls(W, own, KnownRows.of(X), is_matrix)
        W = summed_columns(summed_columns(W, distinct.place).T, distinct.place)
        known = KnownRows.of(X[distinct.first])
        W = W.tocsr() if sp.issparse(W) else W
        return cls(W, own, known, is_matrix, distinct.counts, distinct.place)

    @property
    def n_isolated(self):
        """Number of samples that are not similar to any other; zero for a matrix Q."""
        return 0 if self.is_matrix else n_isolated(self.W, self.counts)

    def match(self, X):
        """For each row of `X`, the node with the same row; -1 if there is none."""
        return self.known.match(X)

    def to_new(self, X):
        """The rows of new samples are given by the user too."""
        return X if self.place is None else summed_columns(X, self.place)


@dataclass(frozen=True, eq=False)
class ContractedGraph:
    """A graph some samples of which are one node because links bind them.

    Attributes
    ----------
    graph : SimilarityGraph or GivenGraph
        The graph before, whose nodes are the distinct samples.
    shares : CSR of shape (n_distinct, n_nodes)
        Weight of each distinct sample in each node, as a share of its whole weight.
    W : ndarray or CSR of shape (n_nodes, n_nodes)
        Similarities, sums over the samples of both nodes.
    counts : ndarray of shape (n_nodes,)
        Numbers, or weights, of the samples of each node.
    place : ndarray of int of shape (n_samples,)
        The node of each training sample.
    """

    graph: Any
    shares: Any
    W: Any
    counts: np.ndarray
    place: np.ndarray

    @classmethod
    def of(cls, graph, groups, sample_weight=None):
        """Contract the samples of each group, which is -1 for samples in none.

        Equal samples of different groups are different nodes, as similar as equal samples are.
        """
        weight = np.ones(len(groups)) if sample_weight is None else sample_weight
        distinct = np.arange(len(groups)) if graph.place is None else graph.place
        # in the order of the distinct samples, which need not be that of the rows
        order = np.argsort(distinct, kind="stable")
        place = np.empty(len(groups), dtype=np.intp)
        place[order] = numbered(np.where(groups >= 0, groups, -1 - distinct)[order])
        counts, whole = np.bincount(place, weight), np.bincount(distinct, weight)
        entries = (weight / whole[distinct], (distinct, place))
        shares = sp.csr_array(entries, (len(whole), len(counts)))
        if sp.issparse(graph.W) and graph.has_samples:
            # no sample is similar to itself there, but the samples of a node are similar to equal
            # ones
            alike = np.zeros(len(whole))
            alike[graph.members] = 1.0
            others = graph.W - sp.diags_array(graph.W.diagonal())
            parts = sp.csr_array((weight, (distinct, place)), shares.shape)
            own = parts.minimum(parts.multiply(parts)).T @ alike
            W = shares.T @ others @ shares + parts.T @ sp.diags_array(alike) @ parts
            W = (W - sp.diags_array(own)).tocsr()
            W.eliminate_zeros()
        else:
            W = shares.T @ graph.W @ shares
        return cls(graph, shares, W, counts, place)

    @property
    def _distinct(self):
        """The distinct sample that each one equals."""
        return np.arange(len(self.place)) if self.graph.place is None else self.graph.place

    @cached_property
    def _node(self):
        """Node of the first sample of each distinct one."""
        _, first = np.unique(self._distinct, return_index=True)
        return self.place[first]

    @property
    def first(self):
        """The first sample of each node."""
        return np.unique(self.place, return_index=True)[1]

    @property
    def rows(self):
        """A sample of each node, in the units of the formula."""
        return self.graph.rows[self._distinct[self.first]]

    @property
    def has_samples(self):
        """Whether there are samples, and not similarities alone."""
        return self.graph.has_samples

    @property
    def is_matrix(self):
        """Whether the user gave the matrix of the criterion itself."""
        return self.graph.is_matrix

    @property
    def own(self):
        """Similarity of a new sample to itself."""
        return self.graph.own

    @property
    def gamma(self):
        """Coefficient of the Gaussian similarity; nan for others."""
        return self.graph.gamma

    @property
    def n_isolated(self):
        """Number of samples that are not similar to any other."""
        return 0 if self.is_matrix else n_isolated(self.W, self.counts)

    def match(self, X):
        """For each row of `X`, the node of the first sample that equals it; -1 if none does."""
        found = self.graph.match(X)
        return np.where(found >= 0, self._node[found], -1)

    def nearest(self, X):
        """Nodes of the training samples nearest to new samples."""
        return self._node[self.graph.nearest(X)]

    def to_new(self, X):
        """Similarities of new samples to the nodes."""
        return self.graph.to_new(X) @ self.shares


def summed_columns(matrix, place):
    """Sums of the columns of a matrix that are in the same place."""
    n_columns = len(place)
    shape = (n_columns, int(place.max()) + 1)
    return matrix @ sp.csr_array((np.ones(n_columns), (np.arange(n_columns), place)), shape)


LAPLACIANS = ("unnormalized", "symmetric", "random-walk")


def n_isolated(W, counts=None):
    """Number of samples not similar to any other, not even to a copy; an error if all are so."""
    counts = np.ones(W.shape[0], dtype=np.int64) if counts is None else counts
    sums = np.asarray(W.sum(axis=1)).ravel() - np.where(counts <= 1, W.diagonal(), 0.0)
    isolated = int(counts[sums <= 0].sum())
    if isolated == counts.sum():
        raise ValueError(
            "all similarities between samples are zero, so nothing tells them apart; decrease "
            "gamma, increase n_neighbors or use another affinity."
        )
    return isolated


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
        raise ValueError(f"kind={kind!r} must be one of {LAPLACIANS}.")
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


# Weight of the links that join the components of a graph, as a share of its mean degree.
BRIDGE = 1e-6


def joined_components(W):
    """Graph whose components, if there are several, are joined to the largest by weak links."""
    n_components, labels = components(W)
    if n_components == 1:
        return W
    degree = np.asarray(W.sum(axis=1)).ravel()
    largest = np.bincount(labels).argmax()
    # the node of largest degree of each component, the last in order of degree
    hubs = np.empty(n_components, dtype=np.intp)
    order = np.argsort(degree, kind="stable")
    hubs[labels[order]] = order
    others = hubs[np.arange(n_components) != largest]
    center = np.full(len(others), hubs[largest])
    weights = np.full(len(others), BRIDGE * degree.mean())
    links = sp.coo_array((weights, (others, center)), W.shape)
    return (W + links + links.T).tocsr()
