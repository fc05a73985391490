"""Labels within bounds of the sizes of clusters, at the least loss of score."""

from typing import NamedTuple

import numpy as np

from separatrix._numba import njit
from separatrix.labels.sizes import ROUNDING
from separatrix.labels.transport import potentials_of, shortest_ways

__all__ = ["Transport", "bounded_labels", "bounded_transport"]

# Number of samples from which the first prices are found, and the factor by which it then grows.
FIRST_SAMPLES, GROWTH = 1_000, 8
# Samples between clusters that may move at first; where that is not enough, twice as many do.
FIRST_MOVABLE = 10_000


class Transport(NamedTuple):
    """Labels, and the prices of clusters: each sample is where its score and price are largest."""

    labels: np.ndarray
    prices: np.ndarray


def bounded_labels(scores, least, most):
    """The labels of `bounded_transport`."""
    return bounded_transport(scores, least, most).labels


def bounded_transport(scores, least, most):
    r"""Labels of the largest total score among those whose clusters have sizes within bounds.

    .. math:: \max_y \sum_i f_{i y_i} \quad \text{subject to} \quad
              \text{least}_c \le |\{i: y_i = c\}| \le \text{most}_c

    This is a flow of samples to clusters, and from these to a hub. At the optimum clusters have
    prices b such that each sample is where :math:`f_{ic} + b_c` is largest; a cluster of positive
    price has its least size, one of negative price its most. Prices are first found for some
    samples, drawn at random. With these prices, few of eight times as many samples are in the
    wrong cluster; they move along the shortest paths from clusters that are too large to those
    that are too small, and so on to all samples. Only samples between clusters may move, but paths
    take account of what any other would lose: if others have to move, there is another round. So
    the labels are optimal.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_clusters)
        Finite scores f.
    least, most : ndarray of shape (n_clusters,)
        Bounds, whole numbers that some sizes meet.

    Returns
    -------
    transport : Transport
        Equal samples may be in different clusters; they are where their scores and prices tie.
    """
    n_samples, n_clusters = scores.shape
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    labels = scores.argmax(axis=1).astype(np.int32)
    sizes = np.bincount(labels, minlength=n_clusters)
    if n_clusters == 1 or ((least <= sizes) & (sizes <= most)).all():
        return Transport(labels, np.zeros(n_clusters))
    order = np.random.RandomState(0).permutation(n_samples)  # the same each time
    prices = prices_of_growing_parts(scores, least, most, order)
    n_movable, settled = FIRST_MOVABLE, False
    while not settled:
        if n_movable >= 2 * max(n_samples, FIRST_MOVABLE):
            raise ValueError(f"no sizes of {n_samples} samples are within {least} and {most}.")
        labels, prices, settled = _transported(scores, least, most, prices, n_movable)
        n_movable *= 2
    return Transport(labels, prices)


def prices_of_growing_parts(scores, least, most, order=None):
    """Prices by the first thousand samples, then by more: each part begins with those before.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_clusters)
        Scores in double precision.
    least, most : ndarray of shape (n_clusters,)
        Bounds of the sizes of all samples.
    order : ndarray of int of shape (n_samples,), default=None
        A random order, unless the samples are in one.

    Returns
    -------
    prices : ndarray of shape (n_clusters,)
        Of the largest part that is not all of the samples.
    """
    n_samples, n_clusters = scores.shape
    prices, n_some = np.zeros(n_clusters), FIRST_SAMPLES
    while n_some < n_samples:
        ratio = n_some / n_samples
        bounds = np.floor(ratio * least), np.ceil(ratio * most)
        some = scores[:n_some] if order is None else scores[order[:n_some]]
        _, prices, _ = _transported(some, *bounds, prices, FIRST_MOVABLE)
        n_some *= GROWTH
    return prices


def _transported(scores, least, most, prices, n_movable):
    """Labels and prices after a round in which some samples may move; whether that was enough."""
    labels, leads = _best_and_leads(scores, prices)
    movable = np.arange(len(labels))
    if n_movable < len(labels):
        movable = np.argpartition(leads, n_movable)[:n_movable]
    fixed = np.ones(len(labels), dtype=np.bool_)
    fixed[movable] = False
    ceilings = _least_losses(scores, labels, fixed)
    sizes = np.bincount(labels, minlength=len(prices)).astype(np.float64)
    # complementary slackness: the sign of a price shows which bound is met
    kept = np.where(prices > 0, least, np.where(prices < 0, most, np.clip(sizes, least, most)))
    moved = labels[movable]
    settled, prices = _moved(
        scores[movable],
        moved,
        sizes,
        kept.astype(np.float64),
        least.astype(np.float64),
        most.astype(np.float64),
        ceilings,
    )
    labels[movable] = moved
    return labels, prices, settled


@njit
def _best_and_leads(
    scores,  # IN
    prices,  # IN
):
    """Best cluster of each sample by scores and prices, and its lead over the next."""
    n_samples, n_clusters = scores.shape
    labels, leads = np.zeros(n_samples, dtype=np.int32), np.empty(n_samples)
    for i in range(n_samples):
        best, second = -np.inf, -np.inf
        for c in range(n_clusters):
            value = scores[i, c] + prices[c]
            if value > best:
                best, second = value, best
                labels[i] = c
            elif value > second:
                second = value
        leads[i] = best - second
    return labels, leads


@njit
def _least_losses(
    scores,  # IN
    labels,  # IN
    chosen,  # IN
):
    """Smallest loss of score when a chosen sample moves from one cluster to another."""
    n_samples, n_clusters = scores.shape
    losses = np.full((n_clusters, n_clusters), np.inf)
    for i in range(n_samples):
        if chosen[i]:
            c = labels[i]
            for d in range(n_clusters):
                if d != c:
                    losses[c, d] = min(losses[c, d], scores[i, c] - scores[i, d])
    return losses


@njit
def _moved(
    scores,  # IN
    labels,  # INOUT
    sizes,  # INOUT
    kept,  # INOUT
    least,  # IN
    most,  # IN
    ceilings,  # IN
):
    """Move samples until each cluster is within its bounds, by successive shortest paths.

    The samples that a cluster keeps within its bounds flow on to the hub, which takes all; the
    rest is its excess. Samples with the same loss move together. Returns whether all is settled,
    or a path used a sample that may not move; and the prices.
    """
    n_clusters = len(sizes)
    hub, total = n_clusters, sizes.sum()
    tie = ROUNDING * np.abs(scores).max() if scores.size else 0.0
    cost = ceilings.copy()
    mover = np.full((n_clusters, n_clusters), -1)
    stale = np.ones((n_clusters, n_clusters), dtype=np.bool_)
    ways = np.full((hub + 1, hub + 1), np.inf)
    excess, first = np.empty(hub + 1), np.empty(hub + 1)
    settled = False
    while True:
        _refresh(scores, labels, ceilings, tie, stale, cost, mover)
        excess[:hub] = sizes - kept
        excess[hub] = kept.sum() - total
        source = int(np.argmax(excess))
        if excess[source] < 0.5:  # all are whole numbers
            settled = True
            break
        # 1) the shortest path from a node with an excess to one with a lack
        ways[:hub, :hub] = cost
        for c in range(n_clusters):
            ways[c, hub] = 0.0 if kept[c] < most[c] else np.inf
            ways[hub, c] = 0.0 if kept[c] > least[c] else np.inf
        first[:] = np.inf
        first[source] = 0.0
        distance, before = shortest_ways(ways, first, tie)
        target = -1
        for node in range(hub + 1):
            if excess[node] < 0 and (target < 0 or distance[node] < distance[target]):
                target = node
        if target < 0 or not np.isfinite(distance[target]):
            break
        # 2) how many may move along it
        amount, node = min(excess[source], -excess[target]), target
        while node != source:
            ahead, node = node, before[node]
            if ahead == hub:
                amount = min(amount, most[node] - kept[node])
            elif node == hub:
                amount = min(amount, kept[ahead] - least[ahead])
            else:
                amount = min(amount, _n_tied(scores, labels, node, ahead, cost, tie, amount))
        if amount < 0.5:
            break
        # 3) move them
        node = target
        while node != source:
            ahead, node = node, before[node]
            if ahead == hub:
                kept[node] += amount
            elif node == hub:
                kept[ahead] -= amount
            else:
                _move_tied(scores, labels, node, ahead, amount, tie, stale, cost, mover)
                sizes[node] -= amount
                sizes[ahead] += amount
    return settled, potentials_of(cost, kept < most, kept > least)


@njit
def _refresh(
    scores,  # IN
    labels,  # IN
    ceilings,  # IN
    tie,
    stale,  # INOUT
    cost,  # INOUT
    mover,  # INOUT
):
    """Update outdated costs of moves between clusters, and the samples to move; -1: none."""
    n_samples, n_clusters = scores.shape
    for c in range(n_clusters):
        others = np.flatnonzero(stale[c])
        if len(others) == 0:
            continue
        for d in others:
            cost[c, d] = ceilings[c, d]
            mover[c, d] = -1
        for i in range(n_samples):
            if labels[i] == c:
                for d in others:
                    if d == c:
                        continue
                    loss = scores[i, c] - scores[i, d]
                    if loss < cost[c, d] or (mover[c, d] < 0 and loss <= cost[c, d] + tie):
                        cost[c, d] = loss
                        mover[c, d] = i
        stale[c] = False


@njit
def _n_tied(
    scores,  # IN
    labels,  # IN
    c,
    d,
    cost,  # IN
    tie,
    enough,
):
    """Number of samples in a cluster that lose the least in another; no more than is enough."""
    found = 0
    for i in range(len(labels)):
        if labels[i] == c and scores[i, c] - scores[i, d] <= cost[c, d] + tie:
            found += 1
            if found >= enough:
                break
    return found


@njit
def _move_tied(
    scores,  # IN
    labels,  # INOUT
    c,
    d,
    amount,
    tie,
    stale,  # INOUT
    cost,  # INOUT
    mover,  # INOUT
):
    """Move this many of the samples in a cluster that lose least in another."""
    left = amount
    for i in range(len(labels)):
        if left < 0.5:
            break
        if labels[i] == c and scores[i, c] - scores[i, d] <= cost[c, d] + tie:
            labels[i] = d
            left -= 1
            for e in range(len(cost)):
                if mover[c, e] == i:
                    stale[c, e] = True
                if e != d and scores[i, d] - scores[i, e] < cost[d, e]:
                    cost[d, e] = scores[i, d] - scores[i, e]
                    mover[d, e] = i
