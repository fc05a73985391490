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
from separatrix.similarity.neighbors import pair_distances

__all__ = [
    "SpanningTree",
    "core_radii",
    "cut_labels",
    "joined_labels",
    "neighbor_tree",
    "spanning_tree",
]


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
    nearest, squares = _prim(columns, cores**2, np.arange(1, len(X)), *lengths)
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
    a time, so that memory stays linear. Samples that are not reached yet stand side by side,
    features in rows, where the compiler takes several at once; `length` and `square` are those of
    their shortest links, infinite at first.
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


# --- a tree of neighbours -----------------------------------------------------------------------


def neighbor_tree(X, cores, neighbors, search_in):
    """Spanning tree that is minimal among links of neighbours; almost the minimum of all.

    Parts that no neighbours connect are linked by their nearest samples. A link of samples that
    are no neighbours is missed where these are connected some other way, by a longer link.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Distinct samples.
    cores : ndarray of shape (n_samples,)
        Core radii, as for `spanning_tree`.
    neighbors : ndarray of int of shape (n_samples, n_neighbors)
        Neighbours of each sample, at least those within its radius; -1 for none.
    search_in : callable
        ``search_in(rows)`` searches for neighbours among rows.

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
        ends = np.sort(_nearest_strangers(X, part, n_parts, search_in), axis=1)
        i, j = np.unique(np.vstack([np.column_stack([i, j]), ends]), axis=0).T


def _nearest_strangers(X, part, n_parts, search_in):
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
                # where none is found, -1 is a stranger, too, if not the nearest
                found = there[search_in(X[there]).nearest(X[here], 1)[:, 0]]
                away = pair_distances(X, here, X, found)
                nearer = away < distance[here]
                nearest[here[nearer]] = found[nearer]
                distance[here[nearer]] = away[nearer]
    order = np.lexsort((distance, part))
    order = order[asking[order]]
    first = order[np.unique(part[order], return_index=True)[1]]
    return np.column_stack([first, nearest[first]])


# --- clusters along a tree ----------------------------------------------------------------------


def cut_labels(tree, n_clusters, *, smallest, sizes=None):
    """Clusters that are left when the longest links between large enough parts are cut.

    Links are looked at from the longest to the shortest, and one is cut if both parts that it
    connects have at least `smallest` samples, leaves not counted: so an outlier is no cluster.
    Where this gives too few clusters, `smallest` is halved, and in the end leaves count.

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

    Returns
    -------
    labels : ndarray of int32 of shape (n_samples,)
    """
    ends, n_samples = tree.ends, tree.n_samples
    sizes = np.ones(n_samples) if sizes is None else sizes.astype(np.float64)
    n_clusters = min(n_clusters, n_samples)
    inner = sizes - (np.bincount(ends.ravel(), minlength=n_samples) <= 1)
    parents, order = _rooted(ends, n_samples)
    cut = np.zeros(n_samples, dtype=np.bool_)
    while smallest > 0.5 and _cut(ends, parents, order, inner, cut, n_clusters, smallest) > 0:
        smallest /= 2
    _cut(ends, parents, order, sizes, cut, n_clusters, 0.5)
    return _parts(parents, order, cut, sizes)[0]


def _rooted(ends, n_samples):
    """Parent of each sample, with sample 0 as the root, and samples from the root outwards."""
    degree = np.bincount(ends.ravel(), minlength=n_samples)
    first = np.append(0, np.cumsum(degree))
    by_sample = np.argsort(ends.ravel(), kind="stable")
    neighbors = ends[:, ::-1].ravel()[by_sample]
    links = sp.csr_array((np.ones(len(neighbors)), neighbors, first), shape=(n_samples, n_samples))
    order, parents = breadth_first_order(links, 0)
    return np.maximum(parents, -1).astype(np.int64), order.astype(np.int64)


@njit
def _parts(parents, order, cut, weights):  # IN, IN, IN, IN
    """Part of each sample when the links above the samples in `cut` are cut.

    Also the weight of each sample with all that hangs on it, and that of each part.
    """
    labels = np.zeros(len(parents), dtype=np.int32)
    below = weights.copy()
    n_parts = 1
    for sample in order[1:]:
        if cut[sample]:
            labels[sample] = n_parts
            n_parts += 1
        else:
            labels[sample] = labels[parents[sample]]
    totals = np.zeros(n_parts)
    for sample in order[::-1]:
        totals[labels[sample]] += weights[sample]
        if sample != order[0] and not cut[sample]:
            below[parents[sample]] += below[sample]
    return labels, below, totals


@njit
def _cut(ends, parents, order, weights, cut, n_clusters, smallest):  # IN*4, INOUT, IN, IN
    """Cut links above samples, marked in `cut`, the longest first; number of clusters missing."""
    labels, below, totals = _parts(parents, order, cut, weights)
    for link in range(len(ends) - 1, -1, -1):
        if len(totals) >= n_clusters:
            break
        i, j = ends[link]
        child = i if parents[i] == j else j
        if cut[child] or min(below[child], totals[labels[child]] - below[child]) < smallest:
            continue
        cut[child] = True
        labels, below, totals = _parts(parents, order, cut, weights)
    return n_clusters - len(totals)


def joined_labels(tree, n_clusters, *, unevenness, sizes=None):
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

    Returns
    -------
    labels : ndarray of int32 of shape (n_samples,)
    """
    sizes = np.ones(tree.n_samples, dtype=np.int64) if sizes is None else sizes.astype(np.int64)
    n_links, total = len(tree.ends), int(sizes.sum())
    # links not taken, in a chain; place n_links is before the first and behind the last
    following = np.append(np.arange(1, n_links + 1), 0)
    previous = np.append(n_links, np.arange(n_links))
    count = np.bincount(sizes, minlength=total + 1)
    larger = np.full(total + 1, total + 1)
    occurring = np.flatnonzero(count[1:]) + 1
    larger[np.append(0, occurring[:-1])] = occurring
    joined = np.arange(tree.n_samples)
    chain = (following, previous)
    labels = _join(tree.ends, joined, sizes, count, larger, chain, n_clusters, float(unevenness))
    return np.unique(labels, return_inverse=True)[1].astype(np.int32)


@njit
def _root(joined, sample):  # INOUT, IN
    while joined[sample] != sample:
        joined[sample] = joined[joined[sample]]
        sample = joined[sample]
    return sample


@njit
def _gini(count, larger, n_clusters, total):  # IN, INOUT, IN, IN
    """Gini index of the sizes of clusters, from the number of clusters of each size.

    `larger` leads from each size that occurs to the next one, from zero on; sizes that have
    ceased to occur are taken out on the way. There are few: their sum is at most the total.
    """
    gini, before, size = 0.0, 0, 0
    while larger[size] <= total:
        following = larger[size]
        if count[following] == 0:
            larger[size] = larger[following]
            continue
        size = following
        # places before, before + 1, ... in the order of sizes, centred
        gini += size * count[size] * (2.0 * before + count[size] - n_clusters)
        before += count[size]
    return gini / (max(1.0, n_clusters - 1.0) * total)


@njit
def _join(ends, joined, size, count, larger, chain, n_clusters, unevenness):  # IN, INOUT*5, IN*2
    """Cluster of each sample, named by one of its samples.

    What it starts from is made by NumPy, which need not be compiled.
    """
    n_samples, n_links, total = len(joined), len(ends), len(count) - 1
    following, previous = chain
    smallest, at = 0, 0  # no link before `at` is one of a smallest cluster
    for n_left in range(n_samples, n_clusters, -1):
        # 1) the shortest link, or the shortest of a smallest cluster
        gini = _gini(count, larger, n_left, total)
        if larger[0] != smallest:
            smallest, at = larger[0], following[n_links]
        link = following[n_links]
        if gini > unevenness:
            while (
                size[_root(joined, ends[at, 0])] != smallest
                and size[_root(joined, ends[at, 1])] != smallest
            ):
                at = following[at]
            link = at
        if link == at:
            at = following[at]
        following[previous[link]] = following[link]
        previous[following[link]] = previous[link]
        # 2) join its ends
        i, j = _root(joined, ends[link, 0]), _root(joined, ends[link, 1])
        count[size[i]] -= 1
        count[size[j]] -= 1
        joined[j] = i
        size[i] += size[j]
        count[size[i]] += 1
        last = 0
        while larger[last] < size[i]:
            last = larger[last]
        if larger[last] > size[i]:
            larger[size[i]] = larger[last]
            larger[last] = size[i]
    labels = np.empty(n_samples, dtype=np.int64)
    for sample in range(n_samples):
        labels[sample] = _root(joined, sample)
    return labels
