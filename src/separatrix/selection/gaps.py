"""Gaps between clusters, and degenerate clusterings."""

import numpy as np

__all__ = ["chance_gap", "gap_between", "is_degenerate", "lie_apart"]

# Of an even share, below which a cluster is too small for its clustering to count.
SMALLEST_SHARE = 0.05
# Of an even share, below which a cluster is too small to lie apart.
LEAST_APART = 0.2
# Width of gaps by chance: see `chance_gap`.
LINE_GAP = 14


def gap_between(labels, tree):
    """Shortest link between clusters, over the longest link within the tighter of the two.

    Above one no chain of steps as long as those within a cluster leads out of it: the clusters
    lie apart, whatever their shapes. Zero if a cluster falls into pieces that only samples of
    others connect, if a cluster is too small for its longest link to mean anything, and for one
    cluster.

    Parameters
    ----------
    labels : ndarray of int of shape (n_samples,)
        Labels from 0.
    tree : SpanningTree
        The shortest links that connect all samples.
    """
    of_ends = labels[tree.ends]
    between = of_ends[:, 0] != of_ends[:, 1]
    sizes = np.unique(labels, return_counts=True)[1]
    n_clusters, even = len(sizes), len(labels) / len(sizes)
    if n_clusters == 1 or between.sum() >= n_clusters or sizes.min() < LEAST_APART * even:
        return 0.0
    longest = np.zeros(labels.max() + 1)
    np.maximum.at(longest, of_ends[~between, 0], tree.lengths[~between])
    within = longest[of_ends[between]].min(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):  # samples of a cluster may be equal
        return float(np.nan_to_num(tree.lengths[between] / within, posinf=np.inf).min())


def chance_gap(n_samples, n_clusters):
    r"""Gap that few in a hundred sets of samples without clusters exceed, if these form a line.

    There links have an exponential tail, so that the longest of m is longer than the next by a
    :math:`1 / \log m`-th part; in the plane and beyond gaps between even parts are narrower.
    """
    share = n_samples / n_clusters
    return 1 + LINE_GAP / (n_clusters * np.log(share / 2)) if share > 2 else np.inf


def lie_apart(gap, usable=True):
    """Whether the clusters of usable clusterings lie apart."""
    return usable & (gap > 1)


def is_degenerate(labels, n_clusters):
    """Whether a clustering lacks clusters, or has one of next to no samples."""
    sizes = np.bincount(labels, minlength=n_clusters)
    return bool(sizes.min() < max(1.0, SMALLEST_SHARE * len(labels) / n_clusters))
