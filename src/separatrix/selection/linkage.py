"""Linkage by the shortest gaps that lets no cluster run away with all samples."""

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.metrics import pairwise_distances

__all__ = ["GiniLinkage", "chained_labels", "gini_index", "shortest_links"]

# Largest Gini index of sizes that are even enough, by the authors of Genie.
UNEVENNESS = 0.3


def shortest_links(X):
    """Ends and lengths of the links that connect all samples in the least length in total.

    Returns
    -------
    ends : ndarray of int of shape (n_samples - 1, 2)
        Samples at the ends, the shortest link first.
    lengths : ndarray of shape (n_samples - 1,)
        Their distances.
    """
    distances = pairwise_distances(X)
    n_samples = len(distances)
    # Prim's algorithm, with a row of distances at a time: scipy's looks at all of them sorted
    nearest, reach = np.zeros(n_samples, dtype=np.intp), distances[0].copy()
    reach[0] = np.inf
    ends, lengths = np.empty((n_samples - 1, 2), dtype=np.intp), np.empty(n_samples - 1)
    for link in range(n_samples - 1):
        new = int(np.argmin(reach))
        ends[link], lengths[link] = (nearest[new], new), reach[new]
        closer = distances[new] < reach
        closer &= np.isfinite(reach)  # those that are not have been reached
        nearest[closer], reach[closer] = new, distances[new, closer]
        reach[new] = np.inf
    order = np.argsort(lengths, kind="stable")
    return ends[order], lengths[order]


class GiniLinkage(ClusterMixin, BaseEstimator):
    """Single linkage, except that while sizes are uneven a smallest cluster is joined.

    The rule of the Genie algorithm [1]_: sizes are uneven where their Gini index exceeds
    `unevenness`. Single linkage finds clusters of any shape that lie apart, but it ends in one
    cluster and single samples where they do not; this one does so less.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
    unevenness : float, default=0.3
        Largest Gini index of the sizes at which the shortest link of all is taken.

    References
    ----------
    .. [1] M. Gagolewski, M. Bartoszuk, A. Cena, "Genie: a new, fast, and outlier-resistant
       hierarchical clustering algorithm", Information Sciences 363, 2016.
    """

    def __init__(self, n_clusters=2, *, unevenness=UNEVENNESS):
        self.n_clusters = n_clusters
        self.unevenness = unevenness

    def fit(self, X, y=None):
        """Join samples until the clusters are left."""
        ends, _ = shortest_links(X)
        self.labels_ = chained_labels(ends, self.n_clusters, self.unevenness)
        return self


def chained_labels(ends, n_clusters, unevenness=UNEVENNESS):
    """Labels of samples that are joined along their shortest links, the shortest first."""
    n_samples = len(ends) + 1
    cluster, size = np.arange(n_samples), np.ones(n_samples, dtype=np.int64)
    for _ in range(n_samples, n_clusters, -1):
        # 1) the shortest link, of a smallest cluster if sizes are uneven
        link, sizes = 0, size[size > 0]
        if gini_index(sizes) > unevenness:
            link = int(np.argmax((size[cluster[ends]] == sizes.min()).any(axis=1)))
        # 2) join its ends
        one, other = cluster[ends[link]]
        size[one] += size[other]
        size[other] = 0
        cluster[cluster == other] = one
        ends = np.delete(ends, link, axis=0)
    return np.unique(cluster, return_inverse=True)[1].astype(np.int32)


def gini_index(sizes):
    r"""How uneven sizes are, :math:`\sum_{i<j} |c_i - c_j| / ((m - 1) \sum_i c_i)`."""
    if len(sizes) < 2:
        return 0.0
    place = np.arange(1 - len(sizes), len(sizes), 2)
    return float(place @ np.sort(sizes)) / ((len(sizes) - 1) * float(sizes.sum()))
