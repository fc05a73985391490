"""Inner loops of label updates that keep links."""

import numpy as np

from separatrix._numba import Gradual, njit


@njit
def search(scores, priority, starts, indptr, indices, groups, limits, any_will_do, labels):
    """Branch and bound for labels of the largest summed score without conflicts, by groups.

    The next node is the one with the fewest labels left (DSATUR), then of the highest priority,
    which grows with each dead end. The bound gives each node the best label left. If any valid
    labels are enough, the first ones end the search, and only the first unused label is tried.

    Writes `priority` and `labels`. Returns for each group whether there are labels, and whether
    the search was complete.
    """
    n_nodes, n_labels = scores.shape
    found, complete = np.zeros(len(groups), np.bool_), np.ones(len(groups), np.bool_)
    order, blocked = np.empty(scores.shape, np.int64), np.zeros(scores.shape, np.int64)
    current, used, value = (
        np.full(n_nodes, -1),
        np.zeros(n_nodes + 1, np.int64),
        np.zeros(n_nodes + 1),
    )
    chosen, tried = np.zeros(n_nodes + 1, np.int64), np.zeros(n_nodes + 1, np.int64)
    slack = 1e-12 * np.abs(scores).max()
    for i in range(n_nodes):
        order[i] = np.argsort(-scores[i], kind="mergesort")
    for g in range(len(groups)):
        first, last = starts[groups[g]], starts[groups[g] + 1]
        best, depth, visits, forward = -np.inf, 0, 0, True
        while depth >= 0:
            if forward:  # choose a node
                visits += 1
                bound, node, fewest = value[depth], -1, n_labels + 1
                for i in range(first, last):
                    if current[i] < 0:
                        n_left, top = 0, -np.inf
                        for label in range(n_labels):
                            if blocked[i, label] == 0:
                                n_left, top = n_left + 1, max(top, scores[i, label])
                        bound += top
                        if n_left < fewest or (n_left == fewest and priority[i] > priority[node]):
                            node, fewest = i, n_left
                if node < 0 and bound > best:
                    found[g], best = True, bound
                    labels[first:last] = current[first:last]
                elif fewest == 0:
                    priority[node] += 1
                chosen[depth], tried[depth] = node, -1
                complete[g] = complete[g] and visits <= limits[g]
                forward = node >= 0 and bound > best + slack and complete[g]
            else:  # take a label back
                node = chosen[depth]
                for other in indices[indptr[node] : indptr[node + 1]]:
                    blocked[other, current[node]] -= 1
                current[node] = -1
                forward = complete[g] and not (any_will_do and found[g])
            if forward:  # give the next label that is left
                label = n_labels
                while label == n_labels and tried[depth] < n_labels - 1:
                    tried[depth] += 1
                    label = order[node, tried[depth]]
                    if blocked[node, label] > 0 or (any_will_do and label > used[depth]):
                        label = n_labels
                forward = label < n_labels
            if forward:
                current[node] = label
                for other in indices[indptr[node] : indptr[node + 1]]:
                    blocked[other, label] += 1
                value[depth + 1] = value[depth] + scores[node, label]
                used[depth + 1] = max(used[depth], label + 1)
            depth += 1 if forward else -1
    return found, complete


@njit
def subset_sums(gain, net):  # IN, IN
    """Largest gain of a subset for each sum of its nets, and whether it takes each item."""
    best = np.full(net.sum() + 1, -np.inf)
    taken = np.zeros((len(net), len(best)), np.bool_)
    best[0], reached = 0.0, 0
    for i in range(len(net)):
        reached += net[i]
        for total in range(reached, net[i] - 1, -1):
            if best[total - net[i]] + gain[i] > best[total]:
                best[total], taken[i, total] = best[total - net[i]] + gain[i], True
    return best, taken


@njit
def filled(gain, net, order, low, high):  # IN, IN, IN
    """Make signs positive in order, as long as there is gain or need, and room."""
    # loops, since np.where alone would make compilation take four times as long
    signs, total = np.empty(len(gain), dtype=np.int64), 0.0
    for i in range(len(gain)):
        signs[i] = 1 if gain[i] > 0 else -1
    for i in order:
        signs[i] = -1
        total -= net[i]
    for i in order:
        if (gain[i] > 0 or total < low) and total + 2 * net[i] <= high:
            signs[i] = 1
            total += 2 * net[i]
    return signs


@njit
def _move_in_order(order, mass, least, most, free, labels, sizes):  # labels, sizes INOUT
    """Try moves, components by clusters, and make those that bring sizes nearer to bounds."""
    n_clusters, moved = len(sizes), False
    for move in order:
        i, target, change = free[move // n_clusters], move % n_clusters, 0.0
        source = labels[i]
        for c, size in ((source, sizes[source] - mass[i]), (target, sizes[target] + mass[i])):
            change += max(least[c] - size, size - most[c], 0.0)
            change -= max(least[c] - sizes[c], sizes[c] - most[c], 0.0)
        if source != target and change < -1e-9 * mass[i]:
            sizes[source] -= mass[i]
            sizes[target] += mass[i]
            labels[i], moved = target, True
    return moved


# Moves that are tried before it is worth the time to compile what does it.
INTERPRETED = 500_000
move_in_order = Gradual(_move_in_order, INTERPRETED)


def move_into_bounds(mean, mass, least, most, free, labels):  # IN, IN, IN, IN, IN, INOUT
    """Move free components, those that lose least first, if sizes come nearer to their bounds."""
    sizes, moved = np.bincount(labels, mass, mean.shape[1]), True
    while moved and ((sizes < least) | (sizes > most)).any():
        loss = mean[free, labels[free]][:, None] - mean[free]
        order = np.argsort(loss.ravel(), kind="stable")
        moved = move_in_order(order, mass, least, most, free, labels, sizes)
    return not ((sizes < least) | (sizes > most)).any()
