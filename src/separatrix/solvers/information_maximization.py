r"""Information between soft clusters and samples, and its generalisations.

Samples have weights :math:`s_i` that add up to one, and probabilities :math:`p_{ik}` of clusters,
so that cluster k has the share :math:`\pi_k = \sum_i s_i p_{ik}` and the distribution
:math:`s_i p_{ik} / \pi_k` on the samples. An objective is a function of the logarithms of the
probabilities and the weights; it returns its value and the gradient in the scores whose softmax
the probabilities are.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import euclidean_distances, pairwise_distances_argmin

__all__ = [
    "CentredRows",
    "Comparison",
    "Distances",
    "Information",
    "euclidean_norms",
    "objective_of",
]

# Most points that Wasserstein distances are measured on.
TRANSPORT_POINTS = 300
TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True)
class CentredRows:
    """Rows less a point, which sparse rows are not made dense for."""

    rows: Any
    mean: np.ndarray

    @classmethod
    def at_origin(cls, rows):
        """Rows less nothing."""
        return cls(rows, np.zeros(rows.shape[1]))

    def times(self, weights):
        """Product of the rows with a matrix of one row per feature."""
        return self.rows @ weights - self.mean @ weights

    def sums(self, weights):
        """Sums of the rows with each column of `weights`: one row per feature."""
        return self.rows.T @ weights - np.outer(self.mean, weights.sum(axis=0))


# --- information --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Information:
    r"""Mutual information of samples and clusters, or its symmetric form.

    .. math:: \sum_k \pi_k \, \mathrm{KL}(p(x|k), p(x))
              = H(\pi) - \sum_i s_i H(p_i) \quad \text{or} \quad
              \sum_{kl} \pi_k \pi_l \, \mathrm{KL}(p(x|k), p(x|l))

    Attributes
    ----------
    pairwise : bool
        Whether it is the second.
    """

    pairwise: bool

    def __call__(self, log_p, weights):
        """Value, and gradient in the scores."""
        p = np.exp(log_p)
        shares = weights @ p
        gain = log_p - np.log(np.maximum(shares, TINY))
        value = weights @ (p * gain).sum(axis=1)
        push = 0.0
        if self.pairwise:
            mean = weights @ gain
            value -= shares @ mean
            gain, push = gain - mean, p - shares
        pull = p * (gain - (p * gain).sum(axis=1, keepdims=True))
        return value, weights[:, None] * (pull + push)


# --- distances between clusters -----------------------------------------------------------------


@dataclass(frozen=True)
class Comparison:
    r"""Which distributions are compared: those of two groups of clusters each.

    For a group A the samples have the masses :math:`s_i \sum_{k \in A} p_{ik}`, and the share
    :math:`\pi_A` of all. A distance D that is homogeneous, as norms are, of two distributions
    times :math:`\pi_A \pi_B` is that of their masses after these were brought to one sum,

    .. math:: \pi_A \pi_B \, D(p(x|A), p(x|B)) = D(\pi_B \, s p_A, \; \pi_A \, s p_B).

    Attributes
    ----------
    first, second : ndarray of shape (n_clusters, n_pairs)
        One for the clusters of either group, and zero elsewhere.
    count : int
        How often each pair is counted.
    """

    first: np.ndarray
    second: np.ndarray
    count: int

    @classmethod
    def of(cls, name, n_clusters):
        """Each cluster with all samples, or all pairs of clusters in both orders."""
        if name == "one-vs-all":
            return cls(np.eye(n_clusters), np.ones((n_clusters, n_clusters)), 1)
        low, high = zip(*combinations(range(n_clusters), 2), strict=True)
        return cls(np.eye(n_clusters)[:, low], np.eye(n_clusters)[:, high], 2)

    @property
    def n_pairs(self):
        """Number of comparisons."""
        return self.first.shape[1]

    def contrasts(self, shares):
        """Weights of the clusters' masses whose sums are the differences, a column per pair."""
        return self.first * (shares @ self.second) - self.second * (shares @ self.first)

    def gradient(self, slopes):
        """Gradient in the shares, from that in the contrasts."""
        first, second = (self.first * slopes).sum(axis=0), (self.second * slopes).sum(axis=0)
        return self.second @ first - self.first @ second


@dataclass(frozen=True)
class Distances:
    r"""Mean distance between distributions of clusters, the generalised mutual information.

    .. math:: \sum_k \pi_k \, D(p(x|k), p(x)) \quad \text{or} \quad
              \sum_{kl} \pi_k \pi_l \, D(p(x|k), p(x|l))

    for :math:`D(p, q) = \|E^\top (p - q)\|` with some norm.

    Attributes
    ----------
    embedding : CentredRows
        The map E, a row per sample.
    norm : callable
        Norms of columns, and their gradients.
    comparison : Comparison
        What is compared.
    """

    embedding: CentredRows
    norm: Any
    comparison: Comparison

    def __call__(self, log_p, weights):
        """Value, and gradient in the scores."""
        p = np.exp(log_p)
        masses = weights[:, None] * p
        contrasts = self.comparison.contrasts(masses.sum(axis=0))
        places = self.embedding.sums(masses)
        norms, slopes = self.norm(places @ contrasts)
        gain = self.embedding.times(slopes @ contrasts.T)
        gain += self.comparison.gradient(places.T @ slopes)
        gain -= (p * gain).sum(axis=1, keepdims=True)
        return self.comparison.count * norms.sum(), self.comparison.count * masses * gain


def euclidean_norms(columns):
    """Lengths of columns, and their gradients."""
    lengths = np.sqrt(np.square(columns).sum(axis=0))
    return lengths, columns / np.maximum(lengths, TINY)


# --- by name ------------------------------------------------------------------------------------


def objective_of(name, comparison, rows, weights, *, n_clusters):
    """The objective that the parameters `objective` and `comparison` name.

    Parameters
    ----------
    name : {"information", "mmd", "wasserstein"}
        Kullback-Leibler divergence, distance of the means of the rows, or Wasserstein distance
        with the Euclidean distances of the rows as costs. Of more than 300 rows so many are
        drawn, and each counts as the nearest of these.
    comparison : {"one-vs-all", "one-vs-one"}
        What is compared.
    rows : CentredRows
        Features of the samples.
    weights : ndarray of shape (n_rows,)
        Their weights, which add up to one.
    n_clusters : int
        Number of clusters.

    Returns
    -------
    objective : Information or Distances
    """
    if name == "information":
        return Information(pairwise=comparison == "one-vs-one")
    compared = Comparison.of(comparison, n_clusters)
    if name == "mmd":
        return Distances(rows, euclidean_norms, compared)
    # it loads numba, which the other objectives do not need
    from separatrix.solvers.transshipment import Transshipment

    points, places = transport_points(rows.rows, weights)
    transshipment = Transshipment(euclidean_distances(points), compared.n_pairs)
    return Distances(CentredRows.at_origin(places), transshipment, compared)


def transport_points(rows, weights):
    """At most 300 of the rows, and the matrix that moves each row to the nearest of them."""
    n_rows = rows.shape[0]
    if n_rows <= TRANSPORT_POINTS:
        return rows, sp.eye_array(n_rows, format="csr")
    # an objective must not depend on chance: the same rows are drawn each time
    rng = np.random.RandomState(0)
    drawn = np.sort(rng.choice(n_rows, TRANSPORT_POINTS, replace=False, p=weights))
    nearest = pairwise_distances_argmin(rows, rows[drawn])
    ones = np.ones(n_rows)
    places = sp.csr_array((ones, (np.arange(n_rows), nearest)), (n_rows, TRANSPORT_POINTS))
    return rows[drawn], places
