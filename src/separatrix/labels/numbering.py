"""Numbers of clusters that stay the same from one labelling to the next."""

import numpy as np
from scipy.optimize import linear_sum_assignment

from separatrix._typing import Array, ArrayLike
from separatrix.data.gate import check_labels, check_length
from separatrix.result import numbered

__all__ = ["agreeing_order", "align_labels", "order_within", "out_of_bounds"]

NO_CLUSTER = -1


def align_labels(reference: ArrayLike, labels: ArrayLike) -> Array:
    r"""Renumber clusters so that they agree best with earlier ones.

    .. math:: \max_{\pi} \sum_i [\pi(y_i) = r_i]

    where :math:`r` is the reference and :math:`\pi` gives the clusters of :math:`y` different
    numbers.

    Parameters
    ----------
    reference : array-like of int of shape (n_samples,)
        Numbers of clusters to keep, from 0; -1 for samples of no cluster. For a model that was
        fitted again to other samples, the predictions of the earlier model for these.
    labels : array-like of shape (n_samples,)
        Clusters of the same samples, under any names; -1 for samples of no cluster.

    Returns
    -------
    aligned : ndarray of int of shape (n_samples,)
        The same clusters with the numbers of the reference. A cluster that shares no sample with
        the cluster left for it is new. New clusters take the numbers after those of the
        reference, the largest first. The label -1 stays.

    Examples
    --------
    >>> from separatrix import align_labels
    >>> align_labels([0, 0, 1, 1, 2, 2], [5, 5, 3, 3, 3, 4])
    array([0, 0, 1, 1, 1, 2])
    >>> align_labels([0, 0, 0, 0, 1], ["b", "b", "b", "c", "a"])
    array([0, 0, 0, 2, 1])
    """
    reference = check_labels(reference, "reference")
    labels = check_labels(labels)
    check_length("reference", len(reference), "labels", len(labels))
    if reference.dtype.kind not in "iu" or reference.min() < NO_CLUSTER:
        least = np.unique(reference)[0].item()
        raise ValueError(
            f"reference has labels such as {least!r} of type {reference.dtype}: pass numbers of "
            "clusters from 0, and -1 for samples of no cluster."
        )
    aligned = np.full(len(labels), NO_CLUSTER)
    clustered = labels != NO_CLUSTER
    # by first appearance, so that the names of the clusters do not matter
    codes = numbered(labels[clustered])
    if len(codes):
        aligned[clustered] = _numbers(reference[clustered], codes, int(reference.max()) + 1)[codes]
    return aligned


def _numbers(reference, codes, first_new):
    """Number of each cluster: that of its match in the reference, or else one not used there."""
    sizes = np.bincount(codes)
    known = reference != NO_CLUSTER
    old, places = np.unique(reference[known], return_inverse=True)
    together = np.zeros((len(sizes), len(old)), dtype=np.intp)
    np.add.at(together, (codes[known], places), 1)
    clusters, matches = linear_sum_assignment(together, maximize=True)
    numbers = np.full(len(sizes), NO_CLUSTER)
    shared = together[clusters, matches] > 0
    numbers[clusters[shared]] = old[matches[shared]]
    new = np.flatnonzero(numbers == NO_CLUSTER)
    numbers[new[np.argsort(-sizes[new], kind="stable")]] = first_new + np.arange(len(new))
    return numbers


def agreeing_order(earlier, labels, n_clusters):
    """Order in which clusters agree best with earlier labels: cluster i is then `order[i]`.

    Clusters that share no sample with the number left for them take the free numbers, the largest
    first.
    """
    together = np.zeros((n_clusters, n_clusters), dtype=np.intp)
    known = earlier < n_clusters
    np.add.at(together, (labels[known], earlier[known]), 1)
    clusters, numbers = linear_sum_assignment(together, maximize=True)
    shared = together[clusters, numbers] > 0
    order = np.full(n_clusters, NO_CLUSTER)
    order[numbers[shared]] = clusters[shared]
    new = clusters[~shared]
    sizes = np.bincount(labels, minlength=n_clusters)
    order[order == NO_CLUSTER] = new[np.argsort(-sizes[new], kind="stable")]
    return order


def order_within(order, sizes, least, most):
    """An order in which clusters have sizes within bounds: the one given where they have.

    Parameters
    ----------
    order : ndarray of int of shape (n_clusters,)
        Cluster of each number.
    sizes : ndarray of shape (n_clusters,)
        Sizes of the clusters.
    least, most : ndarray of shape (n_clusters,)
        Bounds of the sizes by number.

    Returns
    -------
    order : ndarray of int of shape (n_clusters,)
        Where no order has them within, one that is out by the fewest samples.
    """
    out = out_of_bounds(sizes[order], least, most).T
    return order if not out.trace() else order[linear_sum_assignment(out)[1]]


def out_of_bounds(sizes, least, most):
    """By how many samples each cluster, a row, is out of the bounds of each number, a column."""
    sizes = sizes[:, None]
    return np.maximum(np.maximum(least - sizes, sizes - most), 0.0)
