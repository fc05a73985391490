"""Graphs of landmarks, which all samples join, so that no more than these are in memory."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix._sklearn import to_numpy
from separatrix.data.distinct import DistinctRows
from separatrix.data.rows import in_doubles, sum_over_chunks
from separatrix.similarity.graphs import SimilarityGraph, degrees, n_isolated, similarity_graph
from separatrix.similarity.neighbors import ExactSearch

# A sample belongs to its nearest landmarks, half as many as a sample of a graph has neighbours:
# two landmarks are joined already if one of all samples between them belongs to both.
NEIGHBORS_PER_LANDMARK, LEAST_OF_SAMPLE = 2, 2


@dataclass(frozen=True, eq=False)
class LandmarkGraph:
    r"""Similarities of landmarks, by the samples that they have in common.

    A sample :math:`x_i` of weight :math:`w_i` divides itself among its nearest landmarks
    :math:`u_j`, in proportion to their similarities, in shares :math:`z_{ij}` of sum one. These
    are the edges of a graph that connects samples with landmarks alone. A walk of two steps on it
    leads from landmark to landmark, or from sample to sample:

    .. math:: W_{jk} = \sum_i w_i z_{ij} z_{ik}, \qquad
              A_{il} = w_i w_l \sum_j \frac{z_{ij} z_{lj}}{m_j}, \qquad m_j = \sum_i w_i z_{ij}

    The second one is the anchor graph of all samples [1]_, which is never made. Its degrees are
    the weights :math:`w_i`, and those of the landmarks are their masses :math:`m_j`, so that
    normalised both are products of one matrix, :math:`B^\top B` and :math:`B B^\top` for
    :math:`B_{ij} = \sqrt{w_i} z_{ij} / \sqrt{m_j}`. They have the same eigenvalues but for zeros,
    and eigenvectors v of the first are eigenvectors B v of the second [2]_: the responses of
    samples are the means of those of their landmarks, by their shares.

    Attributes
    ----------
    landmarks : SimilarityGraph
        The landmarks, as if they were samples; its own similarities are not kept.
    W : CSR of shape (n_landmarks, n_landmarks)
        The similarities above.

    References
    ----------
    .. [1] W. Liu, J. He, S.-F. Chang, "Large graph construction for scalable semi-supervised
       learning", ICML 2010.
    .. [2] X. Chen, D. Cai, "Large scale spectral clustering with landmark-based representation",
       AAAI 2011.
    """

    landmarks: SimilarityGraph
    W: Any
    place = None
    has_samples = True
    is_matrix = False
    own = 1.0  # similarities of landmarks to themselves are among the others

    @cached_property
    def counts(self):
        """Sums of the shares of samples in each landmark."""
        return degrees(self.W)

    @property
    def rows(self):
        """The landmarks in the units of the formula."""
        return self.landmarks.rows

    @property
    def gamma(self):
        """Coefficient of the Gaussian similarity; nan for others."""
        return self.landmarks.gamma

    @property
    def n_isolated(self):
        """Number of landmarks that have no sample in common with another."""
        return n_isolated(self.W - sp.diags_array(self.W.diagonal()))

    def of_samples(self, X, responses):
        """Means of the responses of the landmarks of samples."""
        return shares_of(to_numpy(X), self.landmarks) @ responses


def landmark_graphs(X, sample_weight, rows, numbers, **choices):
    """Graphs of landmarks for several numbers of neighbours, in one pass over all samples.

    Parameters
    ----------
    X : {ndarray, dask array, RowBlocks} of shape (n_samples, n_features)
        Samples.
    sample_weight : ndarray of shape (n_samples,) or None
        Their weights.
    rows : ndarray of shape (n_landmarks, n_features)
        The landmarks, which are distinct.
    numbers : list of int
        Numbers of neighbours that samples would have in a graph of their own.
    **choices
        Others as for `similarity_graph`.

    Returns
    -------
    graphs : dict of LandmarkGraph
        Those for each number.
    """
    among: list[SimilarityGraph] = []
    search = None
    for number in sorted(numbers, reverse=True):  # that search has found those of all others
        n_nearest = max(LEAST_OF_SAMPLE, -(-number // NEIGHBORS_PER_LANDMARK))
        graph = similarity_graph(
            rows, graph="union", n_neighbors=n_nearest, search=search, **choices
        )
        search = graph.search
        among.append(replace(graph, W=None))
    total = sum_over_chunks(pairs_of_chunk, X, sample_weight, landmarks=among)
    return {
        number: LandmarkGraph(landmarks, (W + W.T) / 2)  # whose sums may be rounded differently
        for number, landmarks, W in zip(
            sorted(numbers, reverse=True), among, total.matrices, strict=True
        )
    }


@dataclass(frozen=True, eq=False)
class PairSums:
    """Sums over pairs of landmarks, for several graphs, which add up over chunks.

    Attributes
    ----------
    parts : list of tuple
        Arrays of a square sparse matrix each.
    """

    parts: list[tuple]

    @classmethod
    def of(cls, matrices):
        """The sums in sparse matrices."""
        found = (matrix.tocsr() for matrix in matrices)
        return cls([(one.data, one.indices, one.indptr) for one in found])

    @property
    def matrices(self):
        """The sums as sparse matrices."""
        return [sp.csr_array(part, shape=(len(part[2]) - 1,) * 2) for part in self.parts]

    def __add__(self, other):
        pairs = zip(self.matrices, other.matrices, strict=True)
        return PairSums.of(one + another for one, another in pairs)


def pairs_of_chunk(X, weight, *, landmarks):
    """What a chunk of samples adds to the similarities of landmarks, in several graphs.

    The first of them has the most neighbours.
    """
    X = to_numpy(X)
    weight = np.ones(X.shape[0]) if weight is None else to_numpy(weight).astype(np.float64)
    neighbors, scale = landmarks[0].neighbors_of(X), sp.diags_array(weight)
    found = (shares_of(X, graph, neighbors) for graph in landmarks)
    return PairSums.of(shares.T @ (scale @ shares) for shares in found)


def shares_of(X, landmarks, neighbors=None):
    """Shares of samples in landmarks, in proportion to similarities; rows have the sum one.

    A sample that is not similar to any belongs to the nearest. Neighbours may be known, more of
    them than the graph has.
    """
    found = landmarks.to_new(X, neighbors)
    sums = degrees(found)
    alone = np.flatnonzero(sums == 0)
    if len(alone):
        sums[alone] = 1.0
        entries = (np.ones(len(alone)), (alone, landmarks.nearest(X[alone])))
        found = found + sp.csr_array(entries, found.shape)
    shares = (sp.diags_array(1 / sums) @ found).tocsr()
    shares.eliminate_zeros()  # times an infinite response they would be no numbers
    return shares


def centred_landmarks(rows, weight, start):
    """Landmarks in the middle of the samples around them: the means of those nearest to each.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        Samples.
    weight : ndarray of shape (n_rows,) or None
        Their weights.
    start : ndarray of int
        Some of the samples, those that landmarks start from.

    Returns
    -------
    landmarks : ndarray of shape (n_landmarks, n_features)
        They are distinct.
    """
    rows = in_doubles(rows)
    start = start[DistinctRows.of(rows[start]).first]
    nearest = ExactSearch(rows[start], n_jobs=None).nearest(rows, 1)[:, 0]
    weight = np.ones(len(rows)) if weight is None else weight
    shape = (len(start), len(rows))
    members = sp.csr_array((weight, (nearest, np.arange(len(rows)))), shape)
    # about a row of its own each: the means of equal rows are these rows themselves
    means = rows[start] + (members @ (rows - rows[start[nearest]])) / degrees(members)[:, None]
    return means[DistinctRows.of(means).first]
