"""Scores of clusterings that need no labels."""

import numpy as np
from scipy.linalg import cholesky
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors

from separatrix.similarity.graphs import similarity_graph

__all__ = [
    "SCORES",
    "chained_labels",
    "chance_gap",
    "gap_between",
    "gini_index",
    "is_degenerate",
    "lie_apart",
    "links_of",
    "ridge_of",
    "scores_of",
    "shortest_links",
]

# Largest Gini index of sizes that are even enough, by the authors of Genie.
UNEVENNESS = 0.3
# Scores that need the samples, and all of them.
SAMPLE_SCORES = ("neighbors", "modularity", "cut", "likelihood", "gap")
SCORES = (*SAMPLE_SCORES, "support")
# Samples beyond which the gap, which looks at all pairs, is not measured.
MAX_LINKED = 5_000
N_NEIGHBORS = 10
# Of the mean variance of the features, added to those of each cluster.
RIDGE = 0.01
# Of an even share, below which a cluster is too small for its clustering to count.
SMALLEST_SHARE = 0.05
# Of an even share, below which a cluster is too small to lie apart.
LEAST_APART = 0.2
# How wide gaps are by chance: see `chance_gap`.
LINE_GAP = 14


# --- scores without labels ----------------------------------------------------------------------


def scores_of(X, labellings, rng):
    """Scores of clusterings of the same samples; larger is better.

    They tell which of several clusterings of the same samples fits better, in different senses.
    They do not tell how good it is.

    Returns
    -------
    scores : dict of str to ndarray of shape (n_clusterings,)
        Those of `SAMPLE_SCORES`; the gap is nan for many samples.
    """
    neighbors = neighbors_in_other_half(X, rng)
    linked = min(N_NEIGHBORS, len(X) - 1)
    W = similarity_graph(X, affinity="local", graph="union", n_neighbors=linked).W
    links = links_of(X)
    rows = []
    for labels in labellings:
        members = np.eye(labels.max() + 1)[labels]
        rows.append(
            (
                confirmed_share(members[neighbors].sum(axis=1), labels),
                *graph_scores(W, members),
                classification_likelihood(X, labels),
                gap_between(labels, links),
            )
        )
    return dict(zip(SAMPLE_SCORES, np.array(rows).T, strict=True))


def neighbors_in_other_half(X, rng):
    """For each sample the nearest of the half of the samples that it is not in."""
    halves = np.array_split(rng.permutation(len(X)), 2)
    n_neighbors = min(N_NEIGHBORS, len(halves[1]))
    neighbors = np.empty((len(X), n_neighbors), dtype=np.intp)
    for own, other in (halves, halves[::-1]):
        search = NearestNeighbors(n_neighbors=n_neighbors).fit(X[other])
        neighbors[own] = other[search.kneighbors(X[own], return_distance=False)]
    return neighbors


def confirmed_share(votes, labels):
    """Share of samples whose label gets most votes; of equal votes each label has its part."""
    most = votes == votes.max(axis=1, keepdims=True)
    return np.mean(most[np.arange(len(labels)), labels] / most.sum(axis=1))


def graph_scores(W, members):
    r"""Modularity and negative normalised cut of a graph.

    .. math:: \sum_c \frac{w_{cc}}{w} - \Big(\frac{d_c}{w}\Big)^2, \qquad
              -\sum_c \frac{d_c - w_{cc}}{d_c}

    with the similarities within cluster c in :math:`w_{cc}` and all that its samples have in
    :math:`d_c`.
    """
    within = np.einsum("ic,ic->c", members, W @ members)
    degrees = members.T @ np.asarray(W.sum(axis=1)).ravel()
    degrees = np.maximum(degrees, np.finfo(float).tiny)
    total = degrees.sum()
    return np.sum(within / total - (degrees / total) ** 2), np.sum(within / degrees - 1)


def ridge_of(X):
    """Variance that is added to those of each cluster: a share of a typical one, never zero."""
    return RIDGE * float(X.var(axis=0).mean()) + np.finfo(float).tiny


def classification_likelihood(X, labels):
    r"""Mean log density of the samples, each in the Gaussian of its own cluster.

    .. math:: \frac1n \sum_i \log \pi_{c(i)} \mathcal N(x_i; \mu_{c(i)}, \Sigma_{c(i)})
    """
    n_samples, n_features = X.shape
    ridge = ridge_of(X)
    total = -0.5 * n_samples * n_features * np.log(2 * np.pi)
    for cluster in np.unique(labels):
        rows = X[labels == cluster]
        size, centered = len(rows), rows - rows.mean(axis=0)
        root = cholesky(centered.T @ centered / size + ridge * np.eye(n_features), lower=True)
        squares = np.sum(np.linalg.solve(root, centered.T) ** 2)
        log_det = 2 * np.log(np.diagonal(root)).sum()
        total += size * (np.log(size / n_samples) - 0.5 * log_det) - 0.5 * squares
    return total / n_samples


def links_of(X):
    """Ends and lengths of the shortest links that connect samples; None for too many samples."""
    return shortest_links(X) if len(X) <= MAX_LINKED else None


def gap_between(labels, links):
    """Shortest link between clusters, over the longest link within the tighter of the two.

    Above one no chain of steps as long as those within a cluster leads out of it: the clusters
    lie apart, whatever their shapes. Zero where a cluster falls into pieces that only samples of
    others connect, where one is so small that its longest link tells nothing, and for one
    cluster; nan for too many samples.
    """
    if links is None:
        return np.nan
    ends, lengths = links
    of_ends = labels[ends]
    between = of_ends[:, 0] != of_ends[:, 1]
    sizes = np.unique(labels, return_counts=True)[1]
    n_clusters, even = len(sizes), len(labels) / len(sizes)
    if n_clusters == 1 or between.sum() >= n_clusters or sizes.min() < LEAST_APART * even:
        return 0.0
    longest = np.zeros(labels.max() + 1)
    np.maximum.at(longest, of_ends[~between, 0], lengths[~between])
    within = longest[of_ends[between]].min(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):  # samples of a cluster may be equal
        return float(np.nan_to_num(lengths[between] / within, posinf=np.inf).min())


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


# --- chains of nearest samples ------------------------------------------------------------------


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
