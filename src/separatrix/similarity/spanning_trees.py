"""The shortest links that connect all samples, and clusters along them."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import (
    breadth_first_order,
    connected_components,
    minimum_spanning_tree,
)

from separatrix._numba import njit
from separatrix.similarity.graphs import joined_pairs
from separatrix.similarity.neighbors import ExactSearch, pair_distances

__all__ = [
    "SpanningTree",
    "contracted_tree",
    "core_radii",
    "cut_labels",
    "joined_labels",
    "neighbor_tree",
    "parting_links",
    "spanning_tree",
]
# Up to this many samples, plain Python is faster than compilation.
FEW_SAMPLES = 400
# Samples of all parts together that are compared to find near ones of different parts.
MOST_COMPARED = 5_000


def _called(compiled, n_samples, *arrays):
    """What a compiled function returns; for few samples, the same function not compiled.

    Python is faster with lists than with the entries of arrays.
    """
    if n_samples > FEW_SAMPLES:
        return compiled(*arrays)
    return compiled.py_func(*(a.tolist() if isinstance(a, np.ndarray) else a for a in arrays))


@dataclass(frozen=True)
class SpanningTree:
    """Links that connect all samples in the least length in total, the shortest first.

    Attributes
    ----------
    ends : ndarray of int of shape (n_samples - 1, 2)
        Samples at the ends.
    lengths : ndarray of shape (n_samples - 1,)
        Lengths of the links.
    """

    ends: np.ndarray
    lengths: np.ndarray

    @property
    def n_samples(self):
        """Number of samples."""
        return len(self.ends) + 1


def core_radii(X, neighbors, sizes, n_neighbors):
    """Radius around each sample within which it has enough neighbours.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Distinct samples.
    neighbors : ndarray of int of shape (n_samples, n_found)
        The nearest other samples of each, nearest first; -1 where none was found.
    sizes : ndarray of int of shape (n_samples,)
        How often each sample occurs. A copy is a neighbour, too.
    n_neighbors : int
        How many neighbours are enough.

    Returns
    -------
    radii : ndarray of shape (n_samples,)
        The distance of the farthest found if they are not enough, zero if there are none.
    """
    found = neighbors >= 0
    i = np.repeat(np.arange(len(X)), neighbors.shape[1])
    distances = pair_distances(X, i, X, neighbors.ravel()).reshape(neighbors.shape)
    distances = np.maximum.accumulate(np.where(found, distances, 0.0), axis=1)
    distances = np.column_stack([np.zeros(len(X)), distances])  # its copies come first
    counts = np.column_stack([sizes - 1, np.where(found, sizes[neighbors], 0)])
    enough = counts.cumsum(axis=1) >= n_neighbors
    enough[:, -1] = True
    return distances[np.arange(len(X)), enough.argmax(axis=1)]


def spanning_tree(X, cores=None):
    r"""Minimum spanning tree of samples.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Samples.
    cores : ndarray of shape (n_samples,), default=None
        Radii within which samples have enough neighbours. With them a link is as long as

        .. math:: \max(\|x_i - x_j\|, r_i, r_j)

        the mutual reachability distance of HDBSCAN, so that single samples far from all others
        do not shorten the way between clusters. Many links are equally long then; of these, the
        tree has those between the nearest samples.

    Returns
    -------
    tree : SpanningTree
    """
    cores = np.zeros(len(X)) if cores is None else np.asarray(cores, dtype=np.float64)
    columns = np.ascontiguousarray(X.T, dtype=np.float64)
    lengths = np.full((2, len(X) - 1), np.inf)
    prim = _prim if len(X) > FEW_SAMPLES else _prim_of_few
    nearest, squares = prim(columns, cores**2, np.arange(1, len(X)), *lengths)
    i, j = nearest[1:], np.arange(1, len(X))
    return _sorted_tree(i, j, np.sqrt(squares[1:]), cores)


def _sorted_tree(i, j, distances, cores):
    """Tree of links between samples, from their distances and core radii."""
    lengths = _lengths(i, j, distances, cores)
    order = np.lexsort((distances, lengths))
    return SpanningTree(np.column_stack([i, j])[order].astype(np.int64), lengths[order])


def _lengths(i, j, distances, cores):
    return np.maximum(distances, np.maximum(cores[i], cores[j]))


@njit
def _prim(columns, floors, sample, length, square):  # IN, IN, INOUT*3
    """For each sample but the first, the one it is linked to and their squared distance.

    A link is at least as long as the larger floor of its ends, and of equally long ones the one
    of the lesser distance counts as shorter. Prim's algorithm with the distances of one sample at
    a time, so that memory stays linear. Samples that are not reached yet are stored contiguously,
    features in rows, so that the compiler can vectorise; `length` and `square` are those of their
    shortest links, infinite at first.
    """
    n_features, n_samples = columns.shape
    waiting = columns[:, 1:].copy()
    floor = floors[1:].copy()
    link = np.zeros(n_samples - 1, dtype=np.int64)
    away = np.empty(n_samples - 1)
    nearest = np.zeros(n_samples, dtype=np.int64)
    squares = np.zeros(n_samples)
    new, new_floor, place = 0, floors[0], columns[:, 0].copy()
    for left in range(n_samples - 1, 0, -1):
        # 1) what the newest sample brings nearer
        for j in range(left):
            away[j] = 0.0
        for f in range(n_features):
            value, row = place[f], waiting[f]
            for j in range(left):
                away[j] += (row[j] - value) ** 2
        best = 0
        for j in range(left):
            long = max(away[j], floor[j], new_floor)
            if long < length[j] or (long == length[j] and away[j] < square[j]):
                length[j], square[j], link[j] = long, away[j], new
            if length[j] < length[best] or (
                length[j] == length[best] and square[j] < square[best]
            ):
                best = j
        # 2) the nearest sample is reached; the last one takes its place
        new, new_floor = sample[best], floor[best]
        nearest[new], squares[new] = link[best], square[best]
        last = left - 1
        for f in range(n_features):
            place[f] = waiting[f, best]
            waiting[f, best] = waiting[f, last]
        sample[best], floor[best], link[best] = sample[last], floor[last], link[last]
        length[best], square[best] = length[last], square[last]
    return nearest, squares


def _prim_of_few(columns, floors, sample, length, square):
    """The same in NumPy, for all samples not reached yet at once."""
    n_samples = columns.shape[1]
    waiting, floor = columns[:, 1:].copy(), floors[1:].copy()
    link = np.zeros(n_samples - 1, dtype=np.int64)
    nearest, squares = np.zeros(n_samples, dtype=np.int64), np.zeros(n_samples)
    new, new_floor, place = 0, floors[0], columns[:, 0].copy()
    for left in range(n_samples - 1, 0, -1):
        # 1) what the newest sample brings nearer
        away = np.square(waiting[:, :left] - place[:, None]).sum(axis=0)
        long = np.maximum(np.maximum(away, floor[:left]), new_floor)
        before = length[:left]
        nearer = (long < before) | ((long == before) & (away < square[:left]))
        length[:left][nearer], square[:left][nearer] = long[nearer], away[nearer]
        link[:left][nearer] = new
        shortest = np.flatnonzero(before == before.min())
        best = shortest[square[shortest].argmin()]
        # 2) the nearest sample is reached; the last one takes its place
        new, new_floor, place = sample[best], floor[best], waiting[:, best].copy()
        nearest[new], squares[new] = link[best], square[best]
        for values in (waiting.T, sample, floor, link, length, square):
            values[best] = values[left - 1]
    return nearest, squares


# --- a tree of neighbours -----------------------------------------------------------------------


def neighbor_tree(X, cores, neighbors, *, nearest=True):
    """Spanning tree that is minimal among links of neighbours; almost the minimum of all.

    Parts that no neighbours connect are linked by their nearest samples, or by near ones. A link
    of samples that are not neighbours is missed if these are connected in another way, by a longer
    link.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Distinct samples.
    cores : ndarray of shape (n_samples,)
        Core radii, as for `spanning_tree`.
    neighbors : ndarray of int of shape (n_samples, n_neighbors)
        Neighbours of each sample, at least those within its radius; -1 for none.
    nearest : bool
        Whether samples that link parts are the nearest of all, or are found much faster where
        there are many features: the nearest of some, and on from neighbour to neighbour.

    Returns
    -------
    tree : SpanningTree
    """
    i, j = joined_pairs(neighbors, "union")
    while True:
        distances = pair_distances(X, i, X, j)
        order = np.lexsort((distances, _lengths(i, j, distances, cores)))
        ranks = np.empty(len(order))
        ranks[order] = np.arange(1, len(order) + 1)  # no ties and no zeros
        forest = minimum_spanning_tree(sp.csr_array((ranks, (i, j)), (len(X), len(X))))
        kept = order[forest.data.astype(np.int64) - 1]
        i, j, distances = i[kept], j[kept], distances[kept]
        n_parts, part = connected_components(forest, directed=False)
        if n_parts == 1:
            return _sorted_tree(i, j, distances, cores)
        if nearest:
            ends = _nearest_strangers(X, part, n_parts)
        else:
            ends = _near_strangers(X, part, n_parts, neighbors)
        ends = np.sort(ends, axis=1)
        i, j = np.unique(np.vstack([np.column_stack([i, j]), ends]), axis=0).T


def _nearest_strangers(X, part, n_parts):
    """For each part but the largest, the nearest pair of a sample of it and one of another part.

    Two parts differ in some bit of their numbers. So a sample's nearest stranger is the nearest
    of those found on the other side of each bit.
    """
    asking = part != np.bincount(part).argmax()
    nearest, distance = np.full(len(X), -1), np.full(len(X), np.inf)
    for bit in range(int(n_parts - 1).bit_length()):
        side = (part >> bit) & 1
        for one in (0, 1):
            here, there = np.flatnonzero((side == one) & asking), np.flatnonzero(side != one)
            if len(here) > 0:
                # if none is found, -1 also counts as a stranger, but not as the nearest
                found = there[ExactSearch(X[there], n_jobs=None).nearest(X[here], 1)[:, 0]]
                away = pair_distances(X, here, X, found)
                nearer = away < distance[here]
                nearest[here[nearer]] = found[nearer]
                distance[here[nearer]] = away[nearer]
    order = np.lexsort((distance, part))
    order = order[asking[order]]
    first = order[np.unique(part[order], return_index=True)[1]]
    return np.column_stack([first, nearest[first]])


def _near_strangers(X, part, n_parts, neighbors):
    """The same, but only near: the nearest among some samples of each part, moved nearer.

    A pair moves to neighbours of its samples while these are nearer to each other; neighbours are
    in the same part.
    """
    grouped = np.argsort(part, kind="stable")
    starts = np.searchsorted(part[grouped], np.arange(n_parts))
    place_in_part = np.arange(len(X)) - starts[part[grouped]]
    some = grouped[place_in_part < max(MOST_COMPARED // n_parts, 1)]
    ends = some[_nearest_strangers(X[some], part[some], n_parts)]
    distances = pair_distances(X, ends[:, 0], X, ends[:, 1])
    moving = np.arange(len(ends))
    while len(moving) > 0:
        before = distances[moving]
        for side in (0, 1):
            fixed = ends[moving, 1 - side]
            steps = neighbors[ends[moving, side]]
            steps = np.where(steps < 0, ends[moving, side, None], steps)
            away = pair_distances(X, np.repeat(fixed, steps.shape[1]), X, steps.ravel())
            away = away.reshape(steps.shape)
            best = away.argmin(axis=1)[:, None]
            shortest = np.take_along_axis(away, best, axis=1)[:, 0]
            nearer = shortest < distances[moving]
            ends[moving[nearer], side] = np.take_along_axis(steps, best, axis=1)[nearer, 0]
            distances[moving[nearer]] = shortest[nearer]
        moving = moving[distances[moving] < before]
    return ends


# --- clusters along a tree ----------------------------------------------------------------------


def contracted_tree(tree, groups):
    """The tree that is left when the samples of each group become one.

    The minimum tree of the contracted graph is part of the minimum tree of the graph: a link that
    is the longest of a cycle remains so after the contraction.

    Parameters
    ----------
    tree : SpanningTree
        The tree.
    groups : ndarray of int of shape (n_samples,)
        Group of each sample, -1 for those in none.

    Returns
    -------
    contracted : SpanningTree
        The tree of the nodes.
    nodes : ndarray of int of shape (n_samples,)
        Node of each sample.
    kept : ndarray of int of shape (n_nodes - 1,)
        Which of the links are left.
    """
    own = np.arange(tree.n_samples)
    nodes = np.unique(np.where(groups >= 0, groups, -1 - own), return_inverse=True)[1]
    n_nodes = int(nodes.max()) + 1
    low, high = np.sort(nodes[tree.ends], axis=1).T
    # of several links between two nodes the shortest; ranks, since a length may be zero
    links, ranks = np.unique(low * n_nodes + high, return_index=True)
    low, high = links // n_nodes, links % n_nodes
    apart = low != high
    graph = sp.csr_array((ranks[apart] + 1.0, (low[apart], high[apart])), (n_nodes, n_nodes))
    kept = np.sort(minimum_spanning_tree(graph).data.astype(np.intp)) - 1
    return SpanningTree(nodes[tree.ends[kept]], tree.lengths[kept]), nodes, kept


def parting_links(tree, conflicts, colors):
    """Links to cut so that no cluster has a conflict, with the least total length of the others.

    The shortest links are taken first, unless one would join samples in conflict, or of two
    colors. For colors of one sample each this is exact: sets of links that join no two of these
    are the forests of a graph, in which they are one sample.

    Parameters
    ----------
    tree : SpanningTree
        The tree.
    conflicts : ndarray of int of shape (n_conflicts, 2)
        Samples that must not be in one cluster.
    colors : ndarray of int of shape (n_samples,)
        Color of each sample, -1 for none.

    Returns
    -------
    parting : ndarray of bool of shape (n_samples - 1,)
    """
    parent = list(range(tree.n_samples))
    color = colors.tolist()
    enemies: dict[int, list[int]] = {}
    for one, other in conflicts.tolist():
        enemies.setdefault(one, []).append(other)
        enemies.setdefault(other, []).append(one)

    def root(node):
        while parent[node] != node:
            parent[node] = node = parent[parent[node]]
        return node

    parting = np.zeros(len(tree.ends), dtype=bool)
    for link, (one, other) in enumerate(tree.ends.tolist()):
        a, b = root(one), root(other)
        a, b = sorted((a, b), key=lambda part: len(enemies.get(part, ())))
        colored = min(color[a], color[b]) >= 0 and color[a] != color[b]
        if colored or any(root(enemy) == b for enemy in enemies.get(a, ())):
            parting[link] = True
            continue
        parent[a] = b
        color[b] = max(color[a], color[b])
        if a in enemies:
            enemies.setdefault(b, []).extend(enemies.pop(a))
    return parting


def cut_labels(tree, n_clusters, *, smallest, sizes=None, parting=None):
    """Clusters that are left when the longest links between large enough parts are cut.

    Links are considered from the longest to the shortest, and a link is cut if both parts that it
    connects have at least `smallest` samples, not counting leaves: so an outlier is not a cluster.
    If this gives too few clusters, `smallest` is halved, and finally leaves count.

    Parameters
    ----------
    tree : SpanningTree
        The tree.
    n_clusters : int
        Number of clusters; as many as the tree has samples if it has fewer.
    smallest : float
        Least number of samples on both sides of a cut.
    sizes : ndarray of int of shape (n_samples,), default=None
        How often each sample occurs. Of the copies at a leaf, one is not counted.
    parting : ndarray of bool of shape (n_samples - 1,), default=None
        Links that are cut before all others.

    Returns
    -------
    labels : ndarray of int32 of shape (n_samples,)
    """
    ends, n_samples = tree.ends, tree.n_samples
    sizes = np.ones(n_samples) if sizes is None else sizes.astype(np.float64)
    n_clusters = min(n_clusters, n_samples)
    inner = sizes - (np.bincount(ends.ravel(), minlength=n_samples) <= 1)
    rooted = _rooted(ends, n_samples)
    children = np.where(rooted[0][ends[:, 0]] == ends[:, 1], ends[:, 0], ends[:, 1])
    cut = np.zeros(n_samples, dtype=np.bool_)
    if parting is not None:
        cut[children[parting]] = True
    while smallest > 0.5 and _cut(children, rooted, inner, cut, n_clusters, smallest) > 0:
        smallest /= 2
    _cut(children, rooted, sizes, cut, n_clusters, 0.5)
    return _parts_of(rooted, cut, sizes)[0]


def _rooted(ends, n_samples):
    """Parent of each sample, with sample 0 as the root, and samples from the root outwards."""
    degree = np.bincount(ends.ravel(), minlength=n_samples)
    first = np.append(0, np.cumsum(degree))
    by_sample = np.argsort(ends.ravel(), kind="stable")
    neighbors = ends[:, ::-1].ravel()[by_sample]
    links = sp.csr_array((np.ones(len(neighbors)), neighbors, first), shape=(n_samples, n_samples))
    order, parents = breadth_first_order(links, 0)
    return np.maximum(parents, -1).astype(np.int64), order.astype(np.int64)


def _cut(children, rooted, weights, cut, n_clusters, smallest):
    """Cut links above samples, marked in `cut`, the longest first; number of clusters missing.

    `children` are the lower ends of the links, that of the longest last.
    """
    labels, below, totals = _parts_of(rooted, cut, weights)
    left = len(children)
    while len(totals) < n_clusters:
        above = children[:left]
        lighter = np.minimum(below[above], totals[labels[above]] - below[above])
        allowed = np.flatnonzero(~cut[above] & (lighter >= smallest))
        if len(allowed) == 0:
            break
        left = allowed[-1]
        cut[children[left]] = True
        labels, below, totals = _parts_of(rooted, cut, weights)
    return n_clusters - len(totals)


def _parts_of(rooted, cut, weights):
    """Part of each sample when the links above the samples in `cut` are cut.

    Also the weight of each sample with its subtree, and that of each part.
    """
    arrays = (*rooted, cut, np.zeros(len(cut), dtype=np.int32), weights.copy())
    labels, below = map(np.asarray, _called(_parts, len(cut), *arrays))
    return labels.astype(np.int32, copy=False), below, np.bincount(labels, weights)


@njit
def _parts(parents, order, cut, labels, below):  # IN, IN, IN, INOUT, INOUT
    n_parts = 1
    for at in range(1, len(order)):
        sample = order[at]
        if cut[sample]:
            labels[sample] = n_parts
            n_parts += 1
        else:
            labels[sample] = labels[parents[sample]]
    for at in range(len(order) - 1, 0, -1):
        sample = order[at]
        if not cut[sample]:
            below[parents[sample]] += below[sample]
    return labels, below


def joined_labels(tree, n_clusters, *, unevenness, sizes=None, parting=None):
    """Clusters of samples that are joined along a tree, the shortest link first.

    The rule of the Genie algorithm: while the Gini index of the sizes exceeds `unevenness`, the
    shortest link of a smallest cluster is taken instead. With `unevenness=1` it is single linkage.

    Parameters
    ----------
    tree : SpanningTree
        The tree.
    n_clusters : int
        Number of clusters; as many as the tree has samples if it has fewer.
    unevenness : float
        Largest Gini index.
    sizes : ndarray of int of shape (n_samples,), default=None
        How often each sample occurs.
    parting : ndarray of bool of shape (n_samples - 1,), default=None
        Links that join no clusters.

    Returns
    -------
    labels : ndarray of int32 of shape (n_samples,)
    """
    sizes = np.ones(tree.n_samples, dtype=np.int64) if sizes is None else sizes.astype(np.int64)
    ends = tree.ends if parting is None else tree.ends[~parting]
    n_links, total = len(ends), int(sizes.sum())
    # links not taken, in a chain; place n_links is before the first and behind the last
    following = np.append(np.arange(1, n_links + 1), 0)
    previous = np.append(n_links, np.arange(n_links))
    count = np.bincount(sizes, minlength=total + 1)
    larger = np.full(total + 1, total + 1)
    occurring = np.flatnonzero(count[1:]) + 1
    larger[np.append(0, occurring[:-1])] = occurring
    first, second = np.ascontiguousarray(ends.T)
    samples = np.arange(tree.n_samples)
    parts = samples.copy(), samples.copy(), samples.copy(), sizes, count, larger
    settings = n_clusters, float(unevenness)
    names = _called(_join, tree.n_samples, first, second, *parts, following, previous, *settings)
    return np.unique(names, return_inverse=True)[1].astype(np.int32)


@njit
def _join(
    first,  # IN
    second,  # IN
    part,  # INOUT
    after,  # INOUT
    name,  # INOUT
    size,  # INOUT
    count,  # INOUT
    larger,  # INOUT
    following,  # INOUT
    previous,  # INOUT
    n_clusters,
    unevenness,
):
    """Cluster of each sample, named by one of its samples.

    `after` leads from sample to sample round each cluster, and the smaller of two that are joined
    takes the number of the other in `part`. `count` is the number of clusters of each size, and
    `larger` leads from each size that occurs to the next one, from zero on; sizes that have ceased
    to occur are taken out on the way. There are few: their sum is at most the total.
    """
    n_samples, n_links, total = len(part), len(first), len(count) - 1
    smallest, at = 0, 0  # no link before `at` is one of a smallest cluster
    for n_left in range(n_samples, n_clusters, -1):
        # 1) Gini index of the sizes
        gini, before, here = 0.0, 0, 0
        while larger[here] <= total:
            there = larger[here]
            if count[there] == 0:
                larger[here] = larger[there]
                continue
            here = there
            # places before, before + 1, ... in the order of sizes, centred
            gini += here * count[here] * (2.0 * before + count[here] - n_left)
            before += count[here]
        gini /= max(1.0, n_left - 1.0) * total
        # 2) the shortest link, or the shortest of a smallest cluster
        if larger[0] != smallest:
            smallest, at = larger[0], following[n_links]
        link = following[n_links]
        if gini > unevenness:
            while (
                at != n_links
                and size[part[first[at]]] != smallest
                and size[part[second[at]]] != smallest
            ):
                at = following[at]
            if at != n_links:  # links that must not be taken may leave the smallest none
                link = at
        if link == at:
            at = following[at]
        following[previous[link]] = following[link]
        previous[following[link]] = previous[link]
        # 3) join its ends
        i, j = part[first[link]], part[second[link]]
        named = name[i]
        if size[i] < size[j]:
            i, j = j, i
        name[i] = named
        count[size[i]] -= 1
        count[size[j]] -= 1
        size[i] += size[j]
        count[size[i]] += 1
        sample = j
        while part[sample] == j:
            part[sample] = i
            sample = after[sample]
        after[i], after[j] = after[j], after[i]
        # 4) the size of the new cluster occurs
        last = 0
        while larger[last] < size[i]:
            last = larger[last]
        if larger[last] > size[i]:
            larger[size[i]] = larger[last]
            larger[last] = size[i]
    for sample in range(n_samples):
        after[sample] = name[part[sample]]
    return after
