"""The numbers of clusters: largest first, or matched to other labels."""

import numpy as np
from scipy.optimize import linear_sum_assignment

from separatrix._sklearn import like, namespace_of, to_numpy

__all__ = ["aligned", "numbered", "order_of_clusters", "renumbered"]


def order_of_clusters(labels, weights):
    """Order of clusters by weight, largest first, ties by first appearance in `labels`."""
    appearance = np.zeros(len(weights), dtype=np.intp)
    _, group, size = np.unique(weights, return_inverse=True, return_counts=True)
    for cluster in np.flatnonzero(size[group] > 1):  # a pass over all labels only if it matters
        appearance[cluster] = np.argmax(to_numpy(labels) == cluster)
    return np.lexsort((appearance, -np.asarray(weights)))


def renumbered(labels, order):
    """Labels in the numbering in which cluster i is what they call `order[i]`."""
    xp, _ = namespace_of(labels)
    return xp.take(like(np.argsort(order).astype(np.int32), labels), xp.astype(labels, xp.int32))


def aligned(labels, shares):
    """Labels with the clusters numbered so that they agree best with shares of each cluster."""
    n_clusters = shares.shape[1]
    together = np.array([shares[labels == cluster].sum(axis=0) for cluster in range(n_clusters)])
    return linear_sum_assignment(-together)[1][labels]


def numbered(labels):
    """Labels numbered by first appearance: the same for all that differ in numbering."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]
