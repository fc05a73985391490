"""How to shift several scores for clusters of given sizes."""

from dataclasses import dataclass

import numpy as np

from separatrix._sklearn import to_numpy
from separatrix.labels.thresholds import ROUNDING

__all__ = ["Offsets", "balanced_offsets"]


@dataclass(frozen=True)
class Offsets:
    """What to add to the scores of each cluster.

    Attributes
    ----------
    offsets : ndarray of shape (n_clusters,)
        A sample goes to the cluster of its largest score plus offset.
    within : bool
        Whether the clusters then have the sizes asked for.
    """

    offsets: np.ndarray
    within: bool


def balanced_offsets(scores, sample_weight=None, *, min_size, max_size):
    r"""Offsets that bring the sizes of clusters between bounds at the least loss of score.

    .. math:: \max_y \sum_i s_i f_{i y_i} \quad \text{subject to} \quad
              \text{min size} \le \sum_{i: y_i = c} s_i \le \text{max size}

    is a transport problem. Its multipliers are the offsets b of the rule
    :math:`y_i = \arg\max_c f_{ic} + b_c`, which new samples obey too: zero for a cluster within
    its bounds, otherwise such that its size lies at the bound. They minimise a convex function,
    here one coordinate at a time and exactly, until no offset moves. That need not be the minimum
    where the function has kinks, as it does for few samples. So the first offsets are those of an
    optimal transport, of all samples or of some thousands of them.

    Parameters
    ----------
    scores : array of shape (n_samples, n_clusters)
        Scores f, in any array namespace.
    sample_weight : array of shape (n_samples,), default=None
        Nonnegative weights s.
    min_size, max_size : float or ndarray of shape (n_clusters,)
        Bounds of the summed weights of each cluster.

    Returns
    -------
    result : Offsets
    """
    scores = to_numpy(scores)
    n_samples, n_clusters = scores.shape
    weight = np.ones(n_samples) if sample_weight is None else to_numpy(sample_weight)
    least = np.broadcast_to(min_size, n_clusters).astype(np.float64)
    most = np.broadcast_to(max_size, n_clusters).astype(np.float64)
    slack = ROUNDING * float(weight.sum())
    bounds = (least - slack, most + slack)
    offsets, excess = np.zeros(n_clusters), _excess(scores, weight, bounds)
    if excess > 0:
        from separatrix.labels.transport import first_offsets, swept_offsets

        first = first_offsets(scores, weight, least, most)
        found = swept_offsets(scores, weight, *bounds, first)
        left = _excess(scores + found.astype(scores.dtype), weight, bounds)
        if left < excess:
            offsets, excess = found, left
    return Offsets(offsets, excess <= 0)


def _excess(shifted, weight, bounds):
    """By how much the size of a cluster exceeds its bounds at most; not positive inside."""
    sizes = np.bincount(shifted.argmax(axis=1), weight, shifted.shape[1])
    return float(np.maximum(sizes - bounds[1], bounds[0] - sizes).max())
