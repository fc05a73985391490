"""What clusterers and scores of the same samples share: neighbours, graphs, trees, spectra."""

from functools import cached_property
from itertools import product

import numpy as np
import scipy.sparse as sp
from scipy.special import ndtri
from scipy.stats import rankdata
from sklearn.cluster import ward_tree

from separatrix.similarity.graphs import joined_components
from separatrix.similarity.multigrid import GraphHierarchy
from separatrix.similarity.neighbors import nearest_pairs, nearest_search
from separatrix.similarity.spanning_trees import spanning_tree

__all__ = ["N_LINKED", "Geometry"]

# Number of neighbours that are searched, that make a graph, and whose shared part makes another.
N_SEARCHED = 30
N_LINKED = 10
N_SHARED = 15
# Share of the largest reach up to which samples are copies of each other.
COPY = 1e-7
# Least similarity of neighbours: an outlier is still linked to its own.
LEAST_SIMILARITY = 1e-10
# The neighbour whose distance is the core radius of a sample.
N_CORE = 5
# Least number of vectors of an embedding, so that the order of the calls does not matter.
MIN_VECTORS = 3
# Of the mean variance, added to each before features are whitened.
RIDGE = 0.01


class Geometry:
    """Neighbours, graphs and trees of samples, each made when it is first needed.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Samples, about their mean.
    n_searched : int
        Number of neighbours. Those that make a graph are enough where no others are asked for.
    """

    def __init__(self, X, n_searched=N_SEARCHED):
        self.X = X
        self.n_searched = n_searched
        self._spectra: dict = {}
        self._trees: dict = {}
        self._merges: dict = {}

    def prepare(self, n_clusters):
        """Make everything that candidates and scores need, up to a number of clusters."""
        self.embedding(n_clusters, "graph")
        self.embedding_tree(n_clusters)
        self.whitened.embedding(n_clusters, "shared_graph")
        for geometry, name in product((self, self.whitened), ("tree", "core_tree")):
            getattr(geometry, name)
        for name in ("shared_graph", "normal_scores"):
            getattr(self, name)

    @property
    def n_samples(self):
        """Number of samples."""
        return len(self.X)

    @cached_property
    def _found(self):
        return nearest_search(self.X, min(self.n_searched, self.n_samples - 1)).kneighbors()

    @property
    def neighbors(self):
        """Nearest other samples of each, the nearest first."""
        return self._found[1]

    @property
    def distances(self):
        """Their distances."""
        return self._found[0]

    @cached_property
    def graph(self):
        """Similarities exp(-d^2 / (2 s_i s_j)) of near samples, s the reach of ten neighbours."""
        near, away = self.neighbors[:, :N_LINKED], self.distances[:, :N_LINKED]
        reach = away[:, -1].copy()
        # of a sample with many copies, the reach of the first other sample; in brute force search
        # rounding keeps copies from being at a distance of zero
        copies = reach <= COPY * max(float(reach.max()), COPY)
        farther = np.where(self.distances > reach.max() * COPY, self.distances, np.inf).min(axis=1)
        typical = np.median(reach[~copies]) if not copies.all() else 1.0
        reach[copies] = np.where(np.isfinite(farther), farther, typical)[copies]
        values = np.exp(-(away**2) / (2 * reach[:, None] * reach[near]))
        return _union(near, np.maximum(values, LEAST_SIMILARITY))

    @cached_property
    def shared_graph(self):
        """Share of the fifteen nearest samples, and themselves, that near samples have in common.

        Distances in many dimensions say little; common neighbours still show which samples belong
        together.
        """
        near = self.neighbors[:, :N_SHARED]
        n_samples, n_near = near.shape
        around = np.column_stack([np.arange(n_samples), near])
        starts = np.arange(0, around.size + 1, n_near + 1)
        own = sp.csr_array((np.ones(around.size), around.ravel(), starts), shape=(n_samples,) * 2)
        own.sort_indices()
        i, j = nearest_pairs(near)
        common = np.asarray(own[i].multiply(own[j]).sum(axis=1)).ravel()
        share = common / (2 * (n_near + 1) - common)
        return _union(near, share.reshape(n_samples, n_near))

    @cached_property
    def tree(self):
        """Minimum spanning tree."""
        return spanning_tree(self.X)

    @cached_property
    def core_tree(self):
        """Minimum spanning tree of the mutual reachability distances."""
        return spanning_tree(self.X, self.distances[:, :N_CORE][:, -1])

    @cached_property
    def whitened(self):
        """Geometry of these samples with uncorrelated features of about unit variance."""
        centered = self.X - self.X.mean(axis=0)
        values, axes = np.linalg.eigh(centered.T @ centered / self.n_samples)
        scales = np.sqrt(np.maximum(values, 0) + RIDGE * max(values.mean(), 1e-300))
        return Geometry(centered @ (axes / scales))

    @cached_property
    def normal_scores(self):
        """Samples with the ranks of each feature as quantiles of the normal distribution."""
        return ndtri((rankdata(self.X, axis=0) - 0.5) / self.n_samples)

    def merges(self, rows):
        """Merges of clusters by Ward's method, the same for each number of clusters.

        `rows` is "X" or "normal_scores".
        """
        if rows not in self._merges:
            self._merges[rows] = ward_tree(getattr(self, rows))[0]
        return self._merges[rows]

    def embedding(self, n_vectors, graph):
        """First eigenvectors of the normalised Laplacian of a graph, with rows of length one."""
        n_vectors = min(n_vectors, self.n_samples)
        vectors = self._spectra.get(graph)
        if vectors is None or vectors.shape[1] < n_vectors:
            hierarchy = GraphHierarchy(joined_components(getattr(self, graph)))
            trivial = np.sqrt(hierarchy.degrees)
            others = hierarchy.eigenpairs(max(n_vectors, MIN_VECTORS) - 1)[1]
            vectors = np.column_stack([trivial / np.linalg.norm(trivial), others])
            self._spectra[graph] = vectors
        vectors = vectors[:, :n_vectors]
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-300)

    def embedding_tree(self, n_clusters):
        """Minimum spanning tree of the embedding of the graph of shared neighbours."""
        n_vectors = max(n_clusters, MIN_VECTORS)
        if n_vectors not in self._trees:
            self._trees[n_vectors] = spanning_tree(self.embedding(n_vectors, "shared_graph"))
        return self._trees[n_vectors]


def _union(near, values):
    """Symmetric graph of the pairs of which one is near the other."""
    n_samples, n_near = near.shape
    starts = np.arange(0, near.size + 1, n_near)
    W = sp.csr_array((values.ravel(), near.ravel(), starts), shape=(n_samples, n_samples))
    return W.maximum(W.T).tocsr()
