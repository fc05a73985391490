"""Must-link and cannot-link constraints, and label updates that keep them.

Samples bound to each other form components, and labels are chosen for components instead of
samples, so that no link is ever violated. With two clusters a cannot-link binds as tightly as a
must-link: a component is a set of samples with signs relative to its first one, and has two
labellings. With more clusters a component is a set of must-linked samples, and cannot-links are
the edges of a graph of components, neighbours in which get different labels.

Known labels bind samples in the same way, and fix the number of their cluster besides: a component
that holds a sample of a known label has that label.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from separatrix._sklearn import check_sample_weight, is_lazy, to_numpy
from separatrix.data.gate import on_host
from separatrix.labels.sizes import ROUNDING, balanced_offsets
from separatrix.result import Labelling, renumbered

# Number of samples of a contradiction or a refused group that an error names.
MAX_NAMED = 20
# Elementary steps of a search for a group: for any labels, and for the best ones.
COLORING_BUDGET = 1_000_000_000
GROUP_BUDGET = 2_000_000
# Entries of the table that finds balanced signs exactly.
TABLE_BUDGET = 20_000_000
# Share of all weight that samples of known labels get in a machine's loss, and the most that the
# weight of one is multiplied by; by one where they teach gently.
TAUGHT_SHARE = 0.5
MOST_TAUGHT, GENTLY = 10.0, 1.0


@dataclass(frozen=True, eq=False)
class Links:
    """Constraints on the labels of samples, and the components that they form.

    Attributes
    ----------
    n_samples, n_clusters : int
        Sizes of the problem.
    pairs, apart : ndarray of shape (n_pairs, 2) and ndarray of bool of shape (n_pairs,)
        Linked samples, each pair once and in order, and whether their labels have to differ.
    component, representatives : ndarray of shape (n_samples,) and (n_components,)
        Component of each sample, numbered by first appearance, and first sample of each.
    sign : ndarray of int8 of shape (n_samples,)
        With two clusters, -1 for samples apart from the first of their component; otherwise 1.
    known : ndarray of shape (n_components,)
        Known label of each component, for two clusters that of its first sample; -1 if unknown.
    conflicts, coloring : ndarray of shape (n_conflicts, 2) and (n_components,)
        Components that have to differ, unless there are two clusters, and labels that do.
    most_taught : float, default=10.0
        Largest factor of the weights of samples of known labels in the loss of a machine.
    """

    n_samples: int
    n_clusters: int
    pairs: np.ndarray
    apart: np.ndarray
    component: np.ndarray
    sign: np.ndarray
    representatives: np.ndarray
    known: np.ndarray
    conflicts: np.ndarray
    coloring: np.ndarray
    most_taught: float = MOST_TAUGHT

    @classmethod
    def of(cls, n_samples, n_clusters, *, must_link=None, cannot_link=None, known_labels=None):
        """Check links, refuse contradictions by a chain that shows one, and find components.

        Parameters
        ----------
        n_samples, n_clusters : int
            Sizes of the problem.
        must_link, cannot_link : array-like of int, default=None
            Samples that belong together, and samples to keep apart: index pairs of shape
            (n_pairs, 2), or one id per sample, all samples of equal ids linked, -1 for none.
        known_labels : array-like of int of shape (n_samples,), default=None
            Labels from 0 to `n_clusters` - 1, -1 where unknown. They link samples to each other
            and are the numbers of their clusters.
        """
        given = _given(n_samples, n_clusters, must_link, cannot_link, known_labels)
        pairs, apart = _pairs_of(np.concatenate([keys for _, keys in given]), n_samples)
        # node i is sample i; with two clusters, node n_samples + i is the cluster it is not in
        binds = ~apart | (n_clusters == 2)
        (one, other), flipped = pairs[binds].T, apart[binds]
        rows = np.append(one, one + n_samples)
        columns = np.append(other + n_samples * flipped, other + n_samples * ~flipped)
        graph = csr_array((np.ones(len(rows)), (rows, columns)), (2 * n_samples, 2 * n_samples))
        side, other_side = connected_components(graph, directed=False)[1].reshape(2, -1)
        wrong = np.flatnonzero(apart & (side[pairs[:, 0]] == side[pairs[:, 1]]))
        if len(wrong):
            raise ValueError(_contradiction(graph, pairs[wrong[0]], n_samples, n_clusters, given))
        component, first = _numbered(np.minimum(side, other_side))
        sign = np.where(side == side[first][component], 1, -1).astype(np.int8)
        edges = component[pairs[apart & (n_clusters != 2)]]
        conflicts, _ = _pairs_of(_keys(edges, len(first), True), len(first))
        known = _known_components(known_labels, component, sign, len(first))
        coloring = np.maximum(known, 0)
        parts = (component, sign, first, known, conflicts, coloring)
        links = cls(n_samples, n_clusters, pairs, apart, *parts)
        links.coloring[links._graph[0]] = _coloring(links)
        return links

    @property
    def n_components(self):
        """Number of components, samples without links included."""
        return len(self.representatives)

    @property
    def is_empty(self):
        """Whether nothing is linked, and no label known."""
        return len(self.pairs) == 0 and not self.teaches

    @property
    def teaches(self):
        """Whether some labels are known."""
        return bool((self.known >= 0).any())

    @cached_property
    def known_labels(self):
        """Labels of samples that follow from known labels and links; -1 for the others."""
        own = self.known[self.component]
        if self.n_clusters == 2:
            own = np.where((self.sign < 0) & (own >= 0), 1 - own, own)
        return own

    @property
    def teaches_all(self):
        """Whether labels of every cluster are known."""
        return len(np.unique(self.known_labels[self.known_labels >= 0])) == self.n_clusters

    @cached_property
    def groups(self):
        """Number of the group that shares each sample's label; -1 for samples without links."""
        bound = (np.bincount(self.component) > 1) | (self.known >= 0)
        bound[self.conflicts.ravel()] = True
        return np.where(bound[self.component], 2 * self.component + (self.sign < 0), -1)

    def known_shares(self, sample_weight=None):
        """Shares of the clusters among the known labels; even ones unless all clusters are known.

        Few labels say little about the shares, so these are shrunk towards even shares as far as
        chance explains the difference, by the factor of James and Stein for twice the variance.
        """
        labels, k = self.known_labels, self.n_clusters
        even = np.full(k, 1 / k)
        if not self.teaches_all:
            return even
        weight = np.ones(len(labels)) if sample_weight is None else to_numpy(sample_weight)
        known = np.bincount(labels[labels >= 0], weight[labels >= 0], k)
        shares = known / known.sum()
        variance, away = 2 * (shares * (1 - shares)).sum() / known.sum(), shares - even
        factor = 1 - variance / np.square(away).sum() if away.any() else 0.0
        return even + max(0.0, factor) * away

    def teaching(self, most_taught):
        """The same links with another largest factor of the weights of known labels."""
        return self if most_taught == self.most_taught else replace(self, most_taught=most_taught)

    def taught(self, sample_weight):
        """Weights of samples in the loss of a machine, in which those of known labels count more.

        Together they get the share `TAUGHT_SHARE`, unless each would weigh more than
        `most_taught` times as much as before.
        """
        known = self.known_labels >= 0
        weight = np.ones(len(known)) if sample_weight is None else to_numpy(sample_weight)
        of_known, of_all = weight[known].sum(), weight.sum()
        if of_known == 0:
            return sample_weight
        even = TAUGHT_SHARE / (1 - TAUGHT_SHARE) * (of_all - of_known) / of_known
        return np.where(known, np.clip(even, 1, self.most_taught) * weight, weight)

    @property
    def arguments(self):
        """The links as arguments of `of`, and of what takes links in `fit`."""
        return {
            "must_link": self.pairs[~self.apart],
            "cannot_link": self.pairs[self.apart],
            "known_labels": self.known_labels,
        }

    def nearest(self, labels):
        """The labels that keep all links and differ least from given ones."""
        found = linked_labels(np.eye(self.n_clusters)[labels], self).labels
        return renumbered(found, self.order(Labelling(found, self.n_clusters)))

    def columns(self, scores, weight):
        """Columns of scores that fit the known labels best, in the order of these."""
        known = np.flatnonzero(self.known_labels >= 0)
        totals = np.zeros((self.n_clusters, self.n_clusters))
        np.add.at(totals, self.known_labels[known], weight[known, None] * scores[known])
        return linear_sum_assignment(totals, maximize=True)[1]

    def order(self, labelling):
        """Clusters by number: those of known labels, then the others, the largest first."""
        labels, known = to_numpy(labelling.labels), self.known_labels
        order = np.full(self.n_clusters, -1)
        numbers, rows = np.unique(known, return_index=True)
        named = numbers >= 0
        order[numbers[named]] = labels[rows[named]]
        order[order < 0] = [c for c in labelling.order if c not in order]
        return order

    @cached_property
    def _graph(self):
        """Components in conflict, group after group; where groups start; compressed rows."""
        nodes = np.unique(self.conflicts)
        one, other = np.searchsorted(nodes, self.conflicts).T
        entries = (np.ones(2 * len(one)), (np.append(one, other), np.append(other, one)))
        graph = csr_array(entries, (len(nodes), len(nodes)))
        group = connected_components(graph)[1] if len(nodes) else nodes
        order = np.argsort(group, kind="stable")
        graph = graph[order][:, order].sorted_indices() if len(nodes) else graph
        starts = np.append(0, np.cumsum(np.bincount(group)))
        return nodes[order], starts, graph.indptr, graph.indices

    def violations(self, labels):
        """Count the `pairs` that labels violate."""
        labels = _checked(labels, (self.n_samples,), "labels")
        agree = labels[self.pairs[:, 0]] == labels[self.pairs[:, 1]]
        return int(np.count_nonzero(agree == self.apart))

    def restricted(self, rows):
        """Links among some of the samples, given by their indices in the new order or by a mask.

        Samples linked through others stay linked when those are left out, and a repeated sample
        is linked to its copies.
        """
        rows = np.asarray(rows)
        if rows.dtype == bool and rows.shape == (self.n_samples,):
            rows = np.flatnonzero(rows)
        if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
            raise ValueError(
                f"rows has shape {rows.shape} and dtype {rows.dtype}: pass indices, or one bool "
                f"for each of {self.n_samples} samples."
            )
        component, sign = self.component[rows.astype(np.intp)], self.sign[rows.astype(np.intp)]
        first = np.full(self.n_components, -1)
        first[component[::-1]] = np.arange(len(rows))[::-1]
        star = np.column_stack([first[component], np.arange(len(rows))])
        apart = sign != sign[star[:, 0]]
        conflicts = first[self.conflicts]
        cannot = np.concatenate([star[apart], conflicts[(conflicts >= 0).all(axis=1)]])
        return Links.of(
            len(rows),
            self.n_clusters,
            must_link=star[~apart],
            cannot_link=cannot,
            known_labels=self.known_labels[rows],
        ).teaching(self.most_taught)

    def totals(self, values):
        """Sum values, one or a row per sample, over components; with two clusters, times signs."""
        values = np.asarray(values, dtype=np.float64)
        if self.n_components == self.n_samples:
            return values
        if values.ndim == 2:
            return np.column_stack([self.totals(column) for column in values.T])
        return np.bincount(self.component, self.sign * values, self.n_components)

    def spread(self, component_values):
        """Labels of samples from those of components, which are signs for two clusters."""
        return np.asarray(component_values)[self.component] * self.sign


def _known_components(known_labels, component, sign, n_components):
    """Known label of each component, or rather of its first sample; -1 if unknown."""
    known = np.full(n_components, -1)
    if known_labels is not None:
        labels = np.asarray(known_labels)
        rows = np.flatnonzero(labels >= 0)
        known[component[rows]] = np.where(sign[rows] < 0, 1 - labels[rows], labels[rows])
    return known


def _keys(pairs, n_samples, apart):
    """One number for each pair and its kind."""
    return (pairs.min(axis=1) * n_samples + pairs.max(axis=1)) * 2 + apart


def _pairs_of(keys, n_samples):
    """Pairs that numbers stand for, each once and in order, and whether they are apart."""
    keys = np.unique(keys)
    return np.column_stack(np.divmod(keys // 2, max(n_samples, 1))), keys % 2 == 1


def _numbered(ids):
    """Ids numbered by first appearance, and where each appears first."""
    _, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return np.argsort(order)[inverse], first[order]


def _given(n_samples, n_clusters, must_link, cannot_link, known_labels):
    """Name of the parameter, and pairs as numbers, of all that was given."""
    must = _parsed(must_link, n_samples, "must_link")
    cannot = _parsed(cannot_link, n_samples, "cannot_link")
    known = _parsed(known_labels, n_samples, "known_labels")
    if known.max(initial=-1) >= n_clusters:
        raise ValueError(
            f"known_labels has label {known.max()} for sample {known.argmax()}: pass labels from "
            f"0 to {n_clusters - 1} for n_clusters={n_clusters}, or -1 for unknown."
        )
    anchors = np.where(np.isin(np.arange(len(known)), _numbered(known)[1]) & (known >= 0), 0, -1)
    must = must if must.ndim == 2 else _stars(must)
    cannot = cannot if cannot.ndim == 2 else _cliques(cannot, n_clusters)
    return [
        ("must_link", _keys(must, n_samples, False)),
        ("cannot_link", _keys(cannot, n_samples, True)),
        ("known_labels", _keys(_stars(known), n_samples, False)),
        ("known_labels", _keys(_cliques(anchors, n_clusters), n_samples, True)),
    ]


def _parsed(given, n_samples, name):
    """Pairs of different samples, or ids of all samples; no ids if nothing was given."""
    remedy = "one integer per sample, -1 for none"
    if name != "known_labels":
        remedy += f", or index pairs of shape (n_pairs, 2) from 0 to {n_samples - 1}"
    problem = None
    try:
        values = np.asarray([] if given is None else given)
    except ValueError:
        raise ValueError(f"{name} has rows of different lengths: pass {remedy}.") from None
    if values.size == 0:
        return np.empty(0, dtype=np.int64)
    is_pairs = name != "known_labels" and values.ndim == 2 and values.shape[1] == 2
    if values.dtype.kind not in "iu":
        problem = f"has dtype {values.dtype}"
    elif not is_pairs and values.shape != (n_samples,):
        problem = f"has shape {values.shape} but there are {n_samples} samples"
    else:
        wrong = (values < 0) | (values >= n_samples) if is_pairs else values < -1
        if wrong.any():
            row = np.argwhere(wrong)[0, 0]
            problem = f"has {values[wrong][0]} in row {row} but there are {n_samples} samples"
        elif is_pairs:
            same = values[:, 0] == values[:, 1]
            if name == "cannot_link" and same.any():
                problem = f"keeps a sample apart from itself in row {same.argmax()}"
            values = values[~same]
    if problem:
        raise ValueError(f"{name} {problem}: pass {remedy}.")
    return values.astype(np.int64)


def _stars(ids):
    """Pairs of each sample with the first of its id."""
    rows = np.flatnonzero(ids >= 0)
    number, first = _numbered(ids[rows])
    pairs = np.column_stack([rows[first[number]], rows])
    return pairs[pairs[:, 0] != pairs[:, 1]]


def _cliques(ids, n_clusters):
    """All pairs of samples of equal ids."""
    rows = np.flatnonzero(ids >= 0)
    rows = rows[np.argsort(ids[rows], kind="stable")]
    values, counts = np.unique(ids[rows], return_counts=True)
    if counts.max(initial=0) > n_clusters:
        samples = np.flatnonzero(ids == values[counts.argmax()])
        raise ValueError(
            f"cannot_link has id {values[counts.argmax()]} for samples {_named(samples)}, more "
            f"than n_clusters={n_clusters} can keep apart: give it to fewer, or pass pairs."
        )
    pairs = [np.empty((0, 2), dtype=np.intp)]
    for step in range(1, counts.max(initial=1)):  # each sample with the one `step` further on
        neighbours = np.column_stack([rows[:-step], rows[step:]])
        pairs.append(neighbours[ids[rows[:-step]] == ids[rows[step:]]])
    return np.concatenate(pairs)


def _named(samples):
    """Samples as text, the first few if they are many."""
    rest = len(samples) - MAX_NAMED
    text = ", ".join(str(sample) for sample in samples[:MAX_NAMED])
    return f"{text} and {rest} more" if rest > 0 else text


def _contradiction(graph, pair, n_samples, n_clusters, given):
    """Message that names a chain which binds the samples of a cannot-link to each other."""
    start, end = pair
    _, before = breadth_first_order(graph, start, directed=False)
    way = [start + n_samples, end]
    while way[-1] != start:
        way.append(before[way[-1]])
    # 1) the first sample that is met twice, once on each side, closes a cycle
    seen: dict[int, int] = {}
    for place, node in enumerate(way[::-1]):
        begin = seen.setdefault(int(node) % n_samples, place)
        if begin < place:
            break
    way = way[::-1][begin : place + 1]
    samples = [int(node) % n_samples for node in way]
    apart = [(one < n_samples) != (other < n_samples) for one, other in pairwise(way)]
    # 2) who gave these links
    keys = _keys(np.array(list(pairwise(samples))), n_samples, np.array(apart))
    names = list(dict.fromkeys(name for name, own in given if np.isin(own, keys).any()))
    what = f"{' and '.join(names)} contradict {'each other' if len(names) > 1 else 'themselves'}"
    # 3) the cycle as a chain that a cannot-link closes
    last = np.flatnonzero(apart)[-1] + 1
    samples, apart = samples[last:-1] + samples[:last], apart[last:] + apart[:last]
    steps = [f"{'!=' if a else '='} {s}" for a, s in zip(apart[:-1], samples[1:], strict=True)]
    if len(steps) > 2 * MAX_NAMED:
        steps[MAX_NAMED:-MAX_NAMED] = [f"... {len(steps) - 2 * MAX_NAMED} more ..."]
    return (
        f"{what} with n_clusters={n_clusters}: {samples[0]} {' '.join(steps)} but {samples[0]} != "
        f"{samples[-1]}. Remove one of these links."
    )


def _checked(values, shape, name):
    """Array of finite numbers of that shape, or an error."""
    values = np.asarray(to_numpy(values), dtype=np.float64)
    if values.shape != shape:
        raise ValueError(f"{name} has shape {values.shape}: pass shape {shape}.")
    if not np.isfinite(values).all():
        raise ValueError(f"{name} has values that are not finite: replace them.")
    return values


def _coloring(links):
    """Labels without conflicts for the nodes of the graph of conflicts, or an error.

    A search that takes long begins again, with the nodes first that it failed at before.
    """
    from separatrix.labels.link_search import search

    nodes, *graph = links._graph
    blank, labels = np.zeros((len(nodes), links.n_clusters)), np.zeros(len(nodes), dtype=np.intp)
    priority, sizes = np.diff(graph[1]).astype(np.float64), np.diff(graph[0])
    groups, limits = np.arange(len(sizes)), 8 * sizes
    while len(groups):
        found, complete = search(blank, priority, *graph, groups, limits, True, labels)
        hopeless = ~found & (complete | (limits * sizes[groups] > COLORING_BUDGET))
        if hopeless.any():
            worst = hopeless.argmax()
            raise ValueError(_no_coloring(links, groups[worst], complete[worst]))
        groups, limits = groups[~found], 4 * limits[~found]
    return _with_known(labels, links.known[nodes], graph[0], links.n_clusters)


def _with_known(labels, known, starts, n_clusters):
    """Labels of groups renumbered so that known labels are kept: each pair of these differs."""
    for first, last in pairwise(starts):
        own, given = labels[first:last], known[first:last]
        numbers = np.full(n_clusters, -1)
        numbers[own[given >= 0]] = given[given >= 0]
        numbers[numbers < 0] = np.setdiff1d(np.arange(n_clusters), numbers)
        labels[first:last] = numbers[own]
    return labels


def _no_coloring(links, group, certain):
    """Message that names samples that do not fit into the clusters, a clique if one is seen."""
    nodes, starts, indptr, indices = links._graph
    members = range(*starts[group : group + 2])
    near = {node: set(indices[indptr[node] : indptr[node + 1]]) for node in members}
    what, named = f"{'leaves' if certain else 'may leave'} no labelling for", list(members)
    for node in sorted(members, key=lambda node: -len(near[node]))[:200]:
        clique, left = [node], near[node]
        while left:
            shared = {other: len(left & near[other]) for other in sorted(left)}
            clique.append(max(shared, key=shared.__getitem__))
            left = left & near[clique[-1]]
        if len(clique) > links.n_clusters:
            what, named = f"needs {len(clique)} clusters to keep apart", clique
            break
    return (
        f"cannot_link {what} samples {_named(np.sort(links.representatives[nodes[named]]))}, or "
        f"samples must-linked to them, with n_clusters={links.n_clusters}. Remove some of their "
        "links, or raise n_clusters."
    )


class SignedLabels(NamedTuple):
    """Labels `y` of two clusters, 1 and -1, and whether they are `within` the balance."""

    y: np.ndarray
    within: bool


def linked_signs(gains, links, *, balance, sample_weight=None):
    r"""Labels of two clusters of the largest gain that keep links and balance.

    .. math:: \max_y \sum_i y_i g_i \quad \text{subject to} \quad
              \Big|\sum_i s_i y_i\Big| \le \text{balance} \sum_i s_i,\; y_i \in \{-1, 1\}

    and to the links. A component has one sign s, a gain g and a net size d. Without weights the
    optimum is exact: those of net size one are sorted by gain, and a table over all sums of the
    others is combined with their prefix sums. If the table would be too large, or with weights
    that are not whole, signs of g - t d are taken, and what the threshold t leaves of the band is
    filled in the order of g / d. Gains of zero are negative unless the balance needs them.

    Parameters
    ----------
    gains : array of shape (n_samples,)
        Gains g of the positive label, already weighted.
    links : Links
        Links of two clusters.
    balance : float
        Largest difference between the weights of the clusters, as a share of their sum.
    sample_weight : array of shape (n_samples,), default=None
        Nonnegative weights s.

    Returns
    -------
    result : SignedLabels
        If no labels meet the balance, those nearest to it, and `within` is False.
    """
    gains = _checked(gains, (links.n_samples,), "gains")
    weight = check_sample_weight(sample_weight, gains, dtype=float, ensure_non_negative=True)
    if links.n_clusters != 2 or not balance >= 0:
        given = f"balance={balance} and n_clusters={links.n_clusters}"
        raise ValueError(f"{given}: pass a balance of 0 or more, and links of 2 clusters.")
    band = min(balance, 1) * weight.sum()
    signs, within = _best_signs(links.totals(gains), links, weight, -band, band)
    return SignedLabels(links.spread(signs), within)


def _best_signs(gain, links, weight, low, high):
    """Signs s of the largest s @ gain with low <= s @ net <= high, or nearest to that.

    Those of known labels are what these say.
    """
    signs, net, free = 2 * links.known - 1, links.totals(weight), links.known < 0
    settled = signs[~free] @ net[~free]
    signs[free], within = _free_signs(gain[free], net[free], weight, low - settled, high - settled)
    return signs, within


def _free_signs(gain, net, weight, low, high):
    """The same where no sign is known."""
    from separatrix.labels.link_search import filled

    slack, unit = ROUNDING * weight.sum(), weight[weight > 0].min(initial=np.inf)
    unit = 1.0 if (weight == np.rint(weight)).all() else unit  # the nets are multiples of it
    low, high, net = (low - slack) / unit, (high + slack) / unit, net / unit
    turn = np.where(net < 0, -1, 1)
    gain, net = turn * gain, np.abs(net)
    net[net <= slack / unit] = 0.0

    def rank(signs):
        """Worse first: further from the band, then less gain."""
        total = signs @ net
        return -max(low - total, total - high, 0.0), signs @ gain

    signs = [np.where(gain > 0, 1, -1), np.where(gain < 0, -1, 1)]
    if max(map(rank, signs))[0] < 0:
        whole, others = np.rint(net), np.flatnonzero(net > 1.5)
        table = len(others) * (whole[others].sum() + 1)
        if np.abs(net - whole).max(initial=0) < 1e-9 and table <= TABLE_BUDGET:
            signs = [_exact_signs(gain, whole.astype(np.int64), others, low, high)]
        else:
            order = np.flatnonzero(net)
            order = order[np.argsort(-gain[order] / net[order], kind="stable")]
            below = filled(gain, net, order, low, high)
            above = filled(-gain, net, order[::-1], -high, -low)
            signs = [below, -above]
    best = max(signs, key=rank)
    return turn * best, bool(rank(best)[0] == 0)


def _exact_signs(gain, net, others, low, high):
    """Best signs for whole nets: a table for those larger than one, a sort for those of one."""
    from separatrix.labels.link_search import subset_sums

    units = np.flatnonzero(net == 1)
    units = units[np.argsort(-gain[units], kind="stable")]
    prefix = np.append(0.0, np.cumsum(gain[units]))
    best, taken = subset_sums(gain[others], net[others])
    # totals of the others, and counts of positive units: gains are concave in the count, so that
    # its best is at a bound or where gains change sign
    rest = 2 * np.arange(len(best)) - len(best) + 1 - len(units)
    counts = np.empty((4, len(best)), dtype=np.int64)
    counts[0], counts[1] = np.sum(gain[units] > 0), np.sum(gain[units] >= 0)
    counts[2], counts[3] = np.ceil((low - rest) / 2), np.floor((high - rest) / 2)
    counts = np.clip(counts, 0, len(units))
    total = rest + 2 * counts
    gap = np.maximum(np.maximum(low - total, total - high), 0.0)
    gap[:, best == -np.inf] = np.inf
    value = np.where(gap <= gap.min(), best + prefix[counts], -np.inf)
    case, position = np.unravel_index(value.argmax(), value.shape)
    signs = np.where(gain > 0, 1, -1)
    signs[units] = np.where(np.arange(len(units)) < counts[case, position], 1, -1)
    for row in range(len(others))[::-1]:
        signs[others[row]] = 1 if taken[row, position] else -1
        position -= net[others[row]] * taken[row, position]
    return signs


class LinkedLabels(NamedTuple):
    """Labels, offsets of the scores, and whether sizes are `within` their bounds."""

    labels: np.ndarray
    offsets: np.ndarray
    within: bool


def linked_labels(scores, links, *, min_size=0, max_size=np.inf, sample_weight=None):
    r"""Labels of the largest score that keep links, and sizes of clusters where possible.

    .. math:: \max_y \sum_i s_i f_{i y_i} \quad \text{subject to} \quad
              \text{min size} \le \sum_{i: y_i = c} s_i \le \text{max size}

    and to the links. Clusters may be numbered in any way: known labels are those of the clusters
    that they fit best, by `Links.columns`. Two clusters are a case of signs. With more,
    `balanced_offsets` of all components shift the scores; those in conflict are labelled by branch
    and bound; offsets of the free ones fill what is left of the sizes; and free ones are moved,
    those that lose least first, where equal or few components leave sizes out of bounds.

    Parameters
    ----------
    scores : array of shape (n_samples, n_clusters) or (n_samples,)
        Scores f. One column for two clusters is what speaks for the second.
    links : Links
        Links to keep.
    min_size, max_size : float or array of shape (n_clusters,)
        Bounds of the summed weights of each cluster, by the numbers that known labels give it.
    sample_weight : array of shape (n_samples,), default=None
        Nonnegative weights s.

    Returns
    -------
    result : LinkedLabels
        Samples without links go to the cluster of their largest score plus offset, but for the
        few that are moved.
    """
    k, scores = links.n_clusters, to_numpy(scores)
    if k == 2 and scores.ndim == 1:
        scores = np.column_stack([-scores, scores])
    scores = _checked(scores, (links.n_samples, k), "scores")
    weight = np.ones(links.n_samples)
    if sample_weight is not None:
        weight = check_sample_weight(sample_weight, scores, dtype=float, ensure_non_negative=True)
    bounds = (size if np.isscalar(size) else to_numpy(size) for size in (min_size, max_size))
    least, most = (np.broadcast_to(size, k).astype(float) for size in bounds)
    if not (least <= most).all():
        raise ValueError(f"min_size={min_size} is above max_size={max_size}: pass a smaller one.")
    columns = links.columns(scores, weight) if links.teaches else np.arange(k)
    found = _numbered_labels(scores[:, columns], links, weight, least, most)
    return LinkedLabels(columns[found.labels], found.offsets[np.argsort(columns)], found.within)


def _numbered_labels(scores, links, weight, least, most):
    """The same where clusters are numbered as known labels are."""
    from separatrix.labels.link_search import move_into_bounds

    k = links.n_clusters
    mass = np.bincount(links.component, weight)
    share = np.where(mass[links.component] > 0, weight, 1.0)  # all samples have scores
    totals = links.totals(share[:, None] * scores)
    if k == 2:
        return _two_clusters(links, totals, weight, least, most)
    mean = totals / links.totals(share)[:, None]
    nodes, *graph = links._graph
    is_settled = links.known >= 0
    is_settled[nodes] = True
    settled, free = np.flatnonzero(is_settled), np.flatnonzero(~is_settled)
    labels, offsets = links.coloring.copy(), np.zeros(k)
    if k > 1:
        offsets = balanced_offsets(mean, mass, min_size=least, max_size=most).offsets
    if len(nodes):
        # 1) components in conflict; the coloring is kept if the search finds nothing
        shifted = mass[nodes, None] * (mean + offsets)[nodes]
        labels[nodes] = _without_conflicts(shifted, links.known[nodes], graph, labels[nodes])
    if len(settled):
        # 2) free components fill the rest of the sizes
        taken = np.bincount(labels[settled], mass[settled], k)
        low, high = (np.maximum(s - taken, 0) for s in (least, most))
        if len(free):
            offsets = balanced_offsets(mean[free], mass[free], min_size=low, max_size=high).offsets
    labels[free] = np.argmax(mean[free] + offsets, axis=1)
    bounds = least - ROUNDING * mass.sum(), most + ROUNDING * mass.sum()
    within = move_into_bounds(mean, mass, *bounds, free, labels)
    return LinkedLabels(links.spread(labels), offsets, within)


def _without_conflicts(scores, known, graph, coloring):
    """Labels of the largest summed score without conflicts, which known labels take part in.

    They are those of the coloring where the search ends before it finds any.
    """
    from separatrix.labels.link_search import search

    # a label other than the known one costs more than all scores together
    cost = 2 * np.abs(scores).sum() + 1.0
    scores = scores - cost * (
        (known[:, None] >= 0) & (known[:, None] != np.arange(scores.shape[1]))
    )
    ranked, sizes = np.sort(scores, axis=1), np.diff(graph[0])
    regret = (ranked[:, -1] - ranked[:, -2]) / (np.ptp(ranked) or 1.0)
    limits = np.maximum(GROUP_BUDGET // sizes, 2 * sizes)
    labels = coloring.copy()
    search(scores, regret, *graph, np.arange(len(sizes)), limits, False, labels)
    return labels if (labels == known)[known >= 0].all() else coloring


def _two_clusters(links, totals, weight, least, most):
    """Labels of two clusters by the signs of components, offsets by what agrees with them."""
    gain, net, total = (totals[:, 1] - totals[:, 0]) / 2, links.totals(weight), weight.sum()
    low, high = max(least[1], total - most[0]), min(most[1], total - least[0])
    signs, within = _best_signs(gain, links, weight, 2 * low - total, 2 * high - total)
    # the threshold of gain / net that agrees best with the signs, zero if that does
    active = net != 0
    ratio = gain[active] / net[active]
    order = np.argsort(ratio)
    ratio = np.concatenate([[-np.inf], ratio[order], [np.inf]])
    cut = np.append(0.0, np.cumsum((signs * net)[active][order])).argmin()
    below, above = ratio[cut : cut + 2]
    threshold = 0.0 if below <= 0 < above else np.clip((below + above) / 2, *ratio[[1, -2]])
    labels = (links.spread(signs) + 1) // 2
    return LinkedLabels(labels, np.array([threshold, -threshold]), within)


def links_of(X, n_clusters, must_link, cannot_link, known_labels):
    """Links between samples as users give them; None if there are none."""
    if is_lazy(X):
        raise TypeError(
            "must_link, cannot_link and known_labels need samples in memory, got a dask "
            "array or blocks that are read; load X, or fit a sample of it."
        )
    links = Links.of(
        X.shape[0],
        n_clusters,
        must_link=on_host(must_link),
        cannot_link=on_host(cannot_link),
        known_labels=on_host(known_labels),
    )
    return None if links.is_empty else links
