"""Spanning trees against dense matrices, and clusters along them against plain loops."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial.distance import cdist

from separatrix.similarity import spanning_trees
from separatrix.similarity.neighbors import ExactSearch
from separatrix.similarity.spanning_trees import (
    SpanningTree,
    contracted_tree,
    core_radii,
    cut_labels,
    joined_labels,
    neighbor_tree,
    parting_links,
    spanning_tree,
)
from support import same_partition


def samples(seed, n=60, n_features=2, n_groups=3):
    rng = np.random.default_rng(seed)
    centers = 6 * rng.normal(size=(n_groups, n_features))
    return rng.normal(size=(n, n_features)) + centers[np.arange(n) % n_groups]


def radii_of(X, n_neighbors):
    return np.sort(cdist(X, X), axis=1)[:, n_neighbors]


def reachability(X, cores):
    return np.maximum(cdist(X, X), np.maximum(cores[:, None], cores))


def exact_search(rows):
    return ExactSearch(rows, None)


def pairs_of(tree):
    return {tuple(sorted(pair)) for pair in tree.ends.tolist()}


def random_tree(rng, n):
    """A tree of any shape: each sample hangs on an earlier one."""
    ends = np.column_stack([[rng.integers(i) for i in range(1, n)], np.arange(1, n)])
    return SpanningTree(ends[rng.permutation(n - 1)], np.sort(rng.uniform(size=n - 1)))


def components(tree, cut):
    """Labels of what is left of a tree without the links `cut`."""
    matrix = np.zeros((tree.n_samples, tree.n_samples))
    for link in set(range(tree.n_samples - 1)) - set(cut):
        matrix[tuple(tree.ends[link])] = 1
    return connected_components(matrix, directed=False)[1]


# The tree


@pytest.mark.parametrize("n_features", [1, 2, 7])
@pytest.mark.parametrize("n_neighbors", [None, 1, 4, 10])
@pytest.mark.parametrize("seed", range(3))
def test_length_is_that_of_the_dense_matrix(n_features, n_neighbors, seed):
    X = samples(seed, n_features=n_features)
    cores = None if n_neighbors is None else radii_of(X, n_neighbors)
    lengths = reachability(X, np.zeros(len(X)) if cores is None else cores)
    tree = spanning_tree(X, cores)
    assert tree.lengths.sum() == pytest.approx(minimum_spanning_tree(lengths).sum(), rel=1e-12)
    np.testing.assert_allclose(lengths[tuple(tree.ends.T)], tree.lengths, rtol=1e-12)
    assert (np.diff(tree.lengths) >= 0).all()
    assert components(tree, []).max() == 0


@pytest.mark.parametrize("seed", range(5))
def test_of_equally_long_links_the_nearest_samples_are_linked(seed):
    """Kruskal by hand, with the distance as the second key."""
    X = samples(seed, n=40)
    cores = radii_of(X, 5)
    distances, lengths = cdist(X, X), reachability(X, cores)
    i, j = np.triu_indices(len(X), 1)
    part, expected = np.arange(len(X)), set()
    # core radii are distances, computed in another order of sums: equal up to rounding
    order = np.lexsort((distances[i, j], np.round(lengths[i, j], 10)))
    for a, b in zip(i[order], j[order], strict=True):
        if part[a] != part[b]:
            part[part == part[b]] = part[a]
            expected.add((a, b))
    assert pairs_of(spanning_tree(X, cores)) == expected


def test_one_sample_has_no_links():
    tree = spanning_tree(np.ones((1, 2)))
    assert tree.n_samples == 1
    np.testing.assert_array_equal(cut_labels(tree, 2, smallest=1.0), [0])
    np.testing.assert_array_equal(joined_labels(tree, 2, unevenness=0.3), [0])


@pytest.mark.parametrize("n_neighbors", [2, 4, 9, 50])
def test_radii_count_copies(n_neighbors):
    rng = np.random.default_rng(0)
    X, sizes = rng.normal(size=(12, 2)), rng.integers(1, 5, 12)
    repeated = np.repeat(X, sizes, axis=0)
    most = min(n_neighbors, len(repeated) - 1)
    expected = np.sort(cdist(X, repeated), axis=1)[:, most]
    neighbors = np.argsort(cdist(X, X), axis=1)[:, 1 : n_neighbors + 1]
    np.testing.assert_allclose(core_radii(X, neighbors, sizes, n_neighbors), expected, rtol=1e-12)


def test_radii_go_by_what_was_found():
    X = np.array([[0.0], [1.0], [3.0]])
    neighbors = np.array([[1, 2], [0, -1], [-1, -1]])
    np.testing.assert_array_equal(core_radii(X, neighbors, np.ones(3, dtype=int), 2), [3, 1, 0])


# The tree of neighbours


@pytest.mark.parametrize("n_neighbors", [3, 10, 59])
@pytest.mark.parametrize("seed", range(3))
def test_tree_of_neighbors(n_neighbors, seed):
    """It spans, its lengths are right, and with all neighbours it is the exact one."""
    X = samples(seed, n_groups=6)
    cores = radii_of(X, 3)
    neighbors = exact_search(X).others(n_neighbors)
    tree, exact = neighbor_tree(X, cores, neighbors), spanning_tree(X, cores)
    lengths = reachability(X, cores)
    assert components(tree, []).max() == 0
    np.testing.assert_allclose(lengths[tuple(tree.ends.T)], tree.lengths, rtol=1e-12)
    assert tree.lengths.sum() >= exact.lengths.sum() * (1 - 1e-12)
    if n_neighbors == 59:
        assert pairs_of(tree) == pairs_of(exact)


@pytest.mark.parametrize("n_groups", [2, 3, 5, 17])
def test_parts_are_linked_by_their_nearest_samples(n_groups):
    """No neighbours connect the groups, and all within a group are neighbours."""
    rng = np.random.default_rng(n_groups)
    centers = 100 * rng.permutation(np.arange(n_groups))[:, None] * [1.0, 0.3]
    X = (centers[:, None] + rng.normal(size=(n_groups, 8, 2))).reshape(-1, 2)
    cores = radii_of(X, 2)
    tree = neighbor_tree(X, cores, exact_search(X).others(7))
    assert pairs_of(tree) == pairs_of(spanning_tree(X, cores))


@pytest.mark.parametrize("n_compared", [40, 400])
def test_parts_may_be_linked_by_near_samples(n_compared, monkeypatch):
    """In many dimensions, from few samples of each part on by neighbours."""
    monkeypatch.setattr(spanning_trees, "MOST_COMPARED", n_compared)
    rng = np.random.default_rng(0)
    X = (20 * rng.normal(size=(5, 1, 8)) + rng.normal(size=(5, 40, 8))).reshape(-1, 8)
    cores = radii_of(X, 2)
    neighbors = exact_search(X).others(9)
    tree, exact = neighbor_tree(X, cores, neighbors, nearest=False), spanning_tree(X, cores)
    assert components(tree, []).max() == 0
    np.testing.assert_allclose(reachability(X, cores)[tuple(tree.ends.T)], tree.lengths)
    assert np.all(tree.lengths[-4:] <= 1.05 * exact.lengths[-4:])
    if n_compared == 400:  # all samples: the nearest are found
        assert pairs_of(tree) == pairs_of(exact)


def test_near_samples_go_on_to_nearer_ones(monkeypatch):
    """Along two rows of samples, from their far ends to where they nearly meet."""
    monkeypatch.setattr(spanning_trees, "MOST_COMPARED", 2)
    one = np.column_stack([np.arange(30.0), np.zeros(30)])
    other = np.column_stack([np.arange(30.0), 20 - 0.5 * np.arange(30)])
    X = np.vstack([one, other])
    neighbors = np.vstack([exact_search(X[:30]).others(4), 30 + exact_search(X[30:]).others(4)])
    tree = neighbor_tree(X, np.zeros(60), neighbors, nearest=False)
    assert sorted(tree.ends[-1]) == [29, 59]
    assert tree.lengths[-1] == 5.5


# Few samples: functions that are not compiled


@pytest.mark.parametrize("n_samples", [2, 3, 50])
@pytest.mark.parametrize("ties", [False, True])
def test_few_samples_have_the_trees_and_clusters_of_compiled_functions(
    n_samples, ties, monkeypatch
):
    X = samples(0, n=n_samples)
    X = X.round() if ties else X
    cores = np.random.default_rng(1).uniform(0, 1, n_samples)
    sizes = np.random.default_rng(2).integers(1, 4, n_samples)

    def found():
        tree = spanning_tree(X, cores)
        joined = [joined_labels(tree, 3, unevenness=u, sizes=sizes) for u in (0.1, 0.3, 1.0)]
        return tree.ends, tree.lengths, cut_labels(tree, 3, smallest=4.0, sizes=sizes), *joined

    expected = found()
    monkeypatch.setattr(spanning_trees, "FEW_SAMPLES", 0)
    for one, other in zip(expected, found(), strict=True):
        np.testing.assert_array_equal(one, other)


# Cuts


def cut_by_hand(tree, n_clusters, smallest, sizes):
    """The rule by the letter: parts are found anew for each link that may be cut."""
    degree = np.bincount(tree.ends.ravel(), minlength=tree.n_samples)
    inner, cut = sizes - (degree <= 1), []
    while True:
        counted = inner if smallest > 0.5 else sizes
        for link in reversed(range(tree.n_samples - 1)):
            if len(cut) + 1 < n_clusters and link not in cut:
                labels = components(tree, [*cut, link])
                parts = [counted[labels == labels[end]].sum() for end in tree.ends[link]]
                if min(parts) >= max(smallest, 0.5):
                    cut.append(link)
        if len(cut) + 1 >= min(n_clusters, tree.n_samples):
            return components(tree, cut)
        smallest /= 2


@pytest.mark.parametrize("n_clusters", [2, 3, 5, 12])
@pytest.mark.parametrize("smallest", [0.0, 1.0, 2.5, 8.0])
@pytest.mark.parametrize("seed", range(4))
def test_cuts_by_the_letter(n_clusters, smallest, seed):
    rng = np.random.default_rng(seed)
    tree, sizes = random_tree(rng, 14), rng.integers(1, 4, 14)
    for given in (None, sizes):
        labels = cut_labels(tree, n_clusters, smallest=smallest, sizes=given)
        counts = np.ones(14, dtype=int) if given is None else given
        assert same_partition(labels, cut_by_hand(tree, n_clusters, smallest, counts))


def test_more_clusters_than_samples_are_one_for_each():
    tree = spanning_tree(samples(0, n=5))
    assert len(np.unique(cut_labels(tree, 9, smallest=2.0))) == 5


# Joins


def join_by_hand(tree, n_clusters, unevenness, sizes):
    """The rule of Genie with lists of sets."""
    clusters = [{sample} for sample in range(tree.n_samples)]
    links = tree.ends.tolist()
    while len(clusters) > n_clusters:
        counts = np.array([sizes[list(cluster)].sum() for cluster in clusters])
        gini = np.abs(counts[:, None] - counts).sum() / 2 / ((len(counts) - 1) * counts.sum())

        def home(sample, clusters=clusters):
            return next(c for c, cluster in enumerate(clusters) if sample in cluster)

        place = 0
        if gini > unevenness:
            ends = [[home(i), home(j)] for i, j in links]
            place = next(p for p, e in enumerate(ends) if counts[e].min() == counts.min())
        i, j = links.pop(place)
        joined = clusters[home(i)] | clusters[home(j)]
        clusters = [c for c in clusters if not c & joined] + [joined]
    labels = np.empty(tree.n_samples, dtype=int)
    for number, cluster in enumerate(clusters):
        labels[list(cluster)] = number
    return labels


@pytest.mark.parametrize("unevenness", [0.0, 0.1, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("n_clusters", [1, 2, 4, 20])
@pytest.mark.parametrize("seed", range(4))
def test_joins_by_the_letter(unevenness, n_clusters, seed):
    rng = np.random.default_rng(seed)
    tree, sizes = random_tree(rng, 40), rng.integers(1, 6, 40)
    for given in (None, sizes):
        labels = joined_labels(tree, n_clusters, unevenness=unevenness, sizes=given)
        counts = np.ones(40, dtype=int) if given is None else given
        # the Gini index may equal its bound up to rounding, where one side would join otherwise
        others = [
            join_by_hand(tree, n_clusters, unevenness + shift, counts) for shift in (0, 1e-12)
        ]
        assert any(same_partition(labels, other) for other in others)
        assert len(np.unique(labels)) == n_clusters


@pytest.mark.parametrize("seed", range(3))
def test_without_conditions_it_is_single_linkage(seed):
    X = samples(seed)
    tree = spanning_tree(X)
    expected = fcluster(linkage(X, "single"), 4, "maxclust")
    assert same_partition(joined_labels(tree, 4, unevenness=1.0), expected)
    assert same_partition(cut_labels(tree, 4, smallest=0.0), expected)


# --- links --------------------------------------------------------------------------------------


def plain_tree(X):
    return spanning_tree(X, np.zeros(len(X)))


@pytest.mark.parametrize("seed", range(5))
def test_a_contracted_tree_is_the_least_one_between_groups(seed):
    """Compared with the tree of the shortest distances between groups."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(14, 2))
    groups = rng.integers(-1, 4, size=14)
    tree, nodes, kept = contracted_tree(plain_tree(X), groups)
    together = (groups[:, None] == groups) & (groups >= 0)[:, None]
    np.testing.assert_array_equal(nodes[:, None] == nodes, together | np.eye(14, dtype=bool))
    n_nodes, distances = nodes.max() + 1, np.linalg.norm(X[:, None] - X[None], axis=2)
    between = np.array(
        [
            [distances[nodes == a][:, nodes == b].min() for b in range(n_nodes)]
            for a in range(n_nodes)
        ]
    )
    expected = minimum_spanning_tree(between).sum()
    assert tree.n_samples == n_nodes
    assert tree.lengths.sum() == pytest.approx(expected)
    np.testing.assert_array_equal(tree.lengths, plain_tree(X).lengths[kept])


@pytest.mark.parametrize("seed", range(5))
def test_cuts_between_colors_leave_the_least_length(seed):
    """Compared with all sets of as many cuts."""
    rng = np.random.default_rng(seed)
    tree = plain_tree(rng.normal(size=(10, 2)))
    colors = np.full(10, -1)
    colors[rng.permutation(10)[:3]] = [0, 1, 2]
    parting = parting_links(tree, np.empty((0, 2), dtype=int), colors)

    def parts(cut):
        within = np.delete(tree.ends, cut, axis=0).T
        graph = sp.csr_array((np.ones(within.shape[1]), within), (10, 10))
        return connected_components(graph, directed=False)[1][colors >= 0]

    allowed = [cut for cut in map(list, combinations(range(9), 2)) if len(set(parts(cut))) == 3]
    longest = max(allowed, key=lambda cut: tree.lengths[cut].sum())
    np.testing.assert_array_equal(np.flatnonzero(parting), longest)


@pytest.mark.parametrize("rule", [cut_labels, joined_labels])
def test_a_pair_is_parted_by_the_longest_link_between(rule):
    X = np.array([0.0, 1, 2, 3.5, 4.5, 5.5, 9, 10, 11])[:, None]
    tree = plain_tree(X)
    parting = parting_links(tree, np.array([[1, 4]]), np.full(9, -1))
    np.testing.assert_array_equal(np.sort(tree.ends[parting][0]), [2, 3])
    option = {"smallest": 2.0} if rule is cut_labels else {"unevenness": 1.0}
    labels = rule(tree, 3, parting=parting, **option)
    assert len(np.unique(labels)) == 3
    for group in (slice(0, 3), slice(3, 6), slice(6, 9)):
        assert len(np.unique(labels[group])) == 1


def test_a_sample_that_links_part_from_all_others_joins_no_cluster():
    # it stays the smallest cluster, and has no link that could be taken
    X = np.array([0.0, 1, 2.1, 3.3, 4.6, 6.0, 20])[:, None]
    tree = plain_tree(X)
    parting = parting_links(tree, np.array([[5, 6]]), np.full(7, -1))
    sizes = np.array([2, 2, 2, 2, 2, 2, 1])
    labels = joined_labels(tree, 2, unevenness=0.0, sizes=sizes, parting=parting)
    np.testing.assert_array_equal(labels == labels[6], np.arange(7) == 6)
