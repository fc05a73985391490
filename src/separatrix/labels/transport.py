"""Optimal transport of samples to clusters of given sizes, by compiled loops.

Loops are written out where NumPy has one call: numba compiles some of these slowly, above all
assignments to slices, which may fail with a text.
"""

import numpy as np

from separatrix._numba import Gradual, njit
from separatrix.labels.sizes import ROUNDING


@njit
def _transported(
    scores,  # IN
    weight,  # IN
    least,  # IN
    most,  # IN
    ceiling,
):
    """Offsets of the optimal transport: its multipliers.

    They are distances of clusters by the costs of arcs; those from and to all clusters are
    averaged, so that they lie between the samples on either side.
    """
    _, sizes, cost, slack = _moved_weight(scores, weight, least, most, ceiling)
    n_clusters = len(sizes)
    can_take, can_give = np.zeros(n_clusters, np.bool_), np.zeros(n_clusters, np.bool_)
    for c in range(n_clusters):
        can_take[c] = sizes[c] < most[c] - slack
        can_give[c] = sizes[c] > least[c] + slack
    return potentials_of(cost, can_take, can_give)


@njit
def _assigned(
    scores,  # IN
    least,  # IN
    most,  # IN
):
    """Labels of the optimal transport of whole samples, for whole bounds that can be met."""
    n_samples, n_clusters = scores.shape
    held = _moved_weight(scores, np.ones(n_samples), least, most, np.inf)[0]
    labels = np.empty(n_samples, dtype=np.int64)
    for c in range(n_clusters):
        for i in range(n_samples):
            if held[c, i] > 0:
                labels[i] = c
    return labels


@njit
def _moved_weight(
    scores,  # IN
    weight,  # IN
    least,  # IN
    most,  # IN
    ceiling,
):
    """The optimal transport, by successive shortest paths between clusters.

    From where each sample goes to its largest score, weight moves along the cheapest paths from
    clusters that are too large, and to those that are too small. An arc from c to d costs what the
    score of the sample in c that loses least falls by. No arc costs more than the ceiling, the
    least that other samples would lose, which are not to move. Prices of the clusters keep all
    costs from being negative, in spite of rounding.

    Returns
    -------
    held : ndarray of shape (n_clusters, n_samples)
        Weight of each sample in each cluster.
    sizes : ndarray of shape (n_clusters,)
        Weight of each cluster.
    cost : ndarray of shape (n_clusters, n_clusters)
        Costs of the arcs that are left.
    slack : float
        What sums of weights differ by because of rounding.
    """
    n_samples, n_clusters = scores.shape
    held = np.zeros((n_clusters, n_samples))
    sizes = np.zeros(n_clusters)
    for i in range(n_samples):
        best = 0
        for c in range(1, n_clusters):
            if scores[i, c] > scores[i, best]:
                best = c
        held[best, i] = weight[i]
        sizes[best] += weight[i]
    slack = 0.0
    for c in range(n_clusters):
        slack += sizes[c]
    slack *= ROUNDING
    cost = np.empty((n_clusters, n_clusters))
    mover = np.zeros((n_clusters, n_clusters), dtype=np.int64)
    stale = np.zeros(n_clusters, dtype=np.bool_)
    for c in range(n_clusters):
        stale[c] = True
    prices, first = np.zeros(n_clusters), np.empty(n_clusters)
    for _ in range(n_clusters * n_samples + 1):
        _refresh(scores, held, stale, ceiling, cost, mover)
        # sources at distance zero: a cluster that is too large, or all that can give
        over = under = 0
        for c in range(1, n_clusters):
            if sizes[c] - most[c] > sizes[over] - most[over]:
                over = c
            if least[c] - sizes[c] > least[under] - sizes[under]:
                under = c
        is_over = sizes[over] > most[over] + slack
        if is_over:
            for c in range(n_clusters):
                first[c] = 0.0 if c == over else np.inf
        elif sizes[under] < least[under] - slack:
            for c in range(n_clusters):
                first[c] = 0.0 if sizes[c] > least[c] + slack else np.inf
        else:
            break
        distance, before = _priced_ways(cost, prices, first)
        target = under
        if is_over:
            target = -1
            for c in range(n_clusters):
                if sizes[c] < most[c] - slack and (target < 0 or distance[c] < distance[target]):
                    target = c
        if target < 0 or not distance[target] < np.inf:
            break
        beyond = distance[target] - prices[target]
        for c in range(n_clusters):
            prices[c] += min(distance[c] - prices[c], beyond)
        # back along the path, which ends at a source, to see how much may move
        amount = (most if is_over else least)[target] - sizes[target]
        source = target
        for _ in range(n_clusters):
            ahead = source
            source = before[ahead]
            if source < 0 or mover[source, ahead] < 0:
                source = ahead
                break
            amount = min(amount, held[source, mover[source, ahead]])
        amount = min(amount, sizes[source] - (most if is_over else least)[source])
        if source == target or amount <= 0:
            break
        while target != source:
            ahead, target = target, before[target]
            i = mover[target, ahead]
            left = held[target, i] - amount
            held[target, i] = left if left > slack else 0.0
            held[ahead, i] += amount
            sizes[target] -= amount
            sizes[ahead] += amount
            stale[target] = stale[ahead] = True
    return held, sizes, cost, slack


@njit
def _refresh(
    scores,  # IN
    held,  # IN
    stale,  # INOUT
    ceiling,
    cost,  # OUT
    mover,  # OUT
):
    """Costs of leaving the clusters that have changed, and the samples that would."""
    n_clusters, n_samples = held.shape
    for c in range(n_clusters):
        if not stale[c]:
            continue
        for d in range(n_clusters):
            cost[c, d] = ceiling
            mover[c, d] = -1
        stale[c] = False
        for i in range(n_samples):
            if held[c, i] > 0:
                for d in range(n_clusters):
                    if d != c and scores[i, c] - scores[i, d] < cost[c, d]:
                        cost[c, d] = scores[i, c] - scores[i, d]
                        mover[c, d] = i


@njit
def _priced_ways(
    cost,  # IN
    prices,  # IN
    first,  # IN
):
    """Distances by the method of Dijkstra, and the node before each on its path.

    No cost is less than the difference of the prices of both ends, but for rounding, which does
    not count. So no path has a cycle.
    """
    n_nodes = len(cost)
    # lengths of arcs and distances beyond the prices are not negative
    beyond, before = np.empty(n_nodes), np.empty(n_nodes, dtype=np.int64)
    is_done = np.zeros(n_nodes, dtype=np.bool_)
    top = -np.inf
    for c in range(n_nodes):
        if first[c] < np.inf:
            top = max(top, prices[c] - first[c])
    for c in range(n_nodes):
        beyond[c], before[c] = first[c] - prices[c] + top, -1
    for _ in range(n_nodes):
        c = -1
        for d in range(n_nodes):
            if not is_done[d] and (c < 0 or beyond[d] < beyond[c]):
                c = d
        is_done[c] = True
        for d in range(n_nodes):
            length = beyond[c] + max(cost[c, d] + prices[c] - prices[d], 0.0)
            if not is_done[d] and length < beyond[d]:
                beyond[d], before[d] = length, c
    for c in range(n_nodes):
        beyond[c] += prices[c] - top
    return beyond, before


@njit
def shortest_ways(
    cost,  # IN
    first,  # IN
    tie,
):
    """Distances by the method of Bellman and Ford, and the node before each on its path.

    Neither rounding nor costs that are wrong by up to `tie` must make a round trip look like a
    shorter path, or the path would never end.
    """
    n_nodes = len(cost)
    largest = 0.0
    for c in range(n_nodes):
        for d in range(n_nodes):
            if cost[c, d] < np.inf:
                largest = max(largest, abs(cost[c, d]))
    gain = max(ROUNDING * largest, n_nodes * tie)
    distance = first.copy()
    before = np.empty(n_nodes, dtype=np.int64)
    for c in range(n_nodes):
        before[c] = -1
    for _ in range(n_nodes - 1):
        changed = False
        for c in range(n_nodes):
            for d in range(n_nodes):
                shorter = distance[c] + cost[c, d]
                if shorter < distance[d] and not distance[d] - shorter <= gain:
                    distance[d] = shorter
                    before[d] = c
                    changed = True
        if not changed:
            break
    return distance, before


@njit
def potentials_of(
    cost,  # IN
    can_take,  # IN
    can_give,  # IN
):
    """Offsets b with b_d - b_c <= cost_cd, zero as a bound where a cluster can take or give."""
    n_clusters = len(cost)
    hub = n_clusters  # clusters with room can give and take at no cost
    arcs = np.empty((hub + 1, hub + 1))
    arcs[hub, hub] = np.inf
    taking = giving = False
    for c in range(n_clusters):
        for d in range(n_clusters):
            arcs[c, d] = cost[c, d]
        arcs[c, hub] = 0.0 if can_take[c] else np.inf
        arcs[hub, c] = 0.0 if can_give[c] else np.inf
        taking, giving = taking or can_take[c], giving or can_give[c]
    offsets, n_averaged = np.zeros(n_clusters), 0
    first = np.empty(hub + 1)
    for forward in (True, False):
        anchored = taking if forward else giving
        if not forward:
            _transpose(arcs)
        if not anchored and (taking or giving):
            continue
        for root in range(n_clusters):
            for c in range(hub + 1):
                first[c] = np.inf
            first[root] = 0.0
            distance, _ = shortest_ways(arcs, first, 0.0)
            total = 0.0
            for c in range(n_clusters):
                total += distance[c]
            if not total < np.inf:
                continue
            level = distance[hub] if anchored else total / n_clusters
            for c in range(n_clusters):
                offsets[c] += distance[c] - level if forward else level - distance[c]
            n_averaged += 1
    for c in range(n_clusters):
        offsets[c] /= max(n_averaged, 1)
    return offsets


@njit
def _transpose(
    matrix,  # INOUT
):
    """Turn a square matrix over."""
    for c in range(len(matrix)):
        for d in range(c):
            matrix[c, d], matrix[d, c] = matrix[d, c], matrix[c, d]


# Up to this many scores, compilation takes longer than the transport itself, whose time grows with
# their square: 20,000 at once take three times as long as compilation.
INTERPRETED, LARGEST_INTERPRETED = 150_000, 6_000
transported = Gradual(_transported, INTERPRETED, LARGEST_INTERPRETED)
assigned = Gradual(_assigned, INTERPRETED, LARGEST_INTERPRETED)
