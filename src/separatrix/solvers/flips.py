"""Labels improved by moving one sample at a time."""

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky
from scipy.linalg.lapack import dpotri
from sklearn.metrics import adjusted_rand_score

from separatrix._numba import njit
from separatrix._sklearn import one_blas_thread
from separatrix.labels.links import Links, linked_labels
from separatrix.labels.sizes import balanced_offsets
from separatrix.result import Labelling, renumbered


def ridge_weights(Z, *, targets, reg, weight=None):
    """Weights of features in ridge regressions on targets, whose squared errors have weights."""
    weighted = Z if weight is None else weight[:, None] * Z
    A = weighted.T @ Z
    A[np.diag_indices_from(A)] += reg
    return cho_solve(cho_factor(A), weighted.T @ targets)


@one_blas_thread
def hat_matrix(K, reg, weight=None):
    r"""Matrix of ridge regression without intercept that turns targets into fitted values.

    R = K (K + reg I)^-1, (12) of the paper, here by a Cholesky factor instead of the paper's
    eigendecomposition. With weights W of the squared errors it is

    .. math:: R = W^{1/2} \tilde K (\tilde K + \lambda I)^{-1} W^{1/2}, \qquad
              \tilde K = W^{1/2} K W^{1/2},

    which turns targets into weights times fitted values. Where a weight is a number of equal
    samples, this is the sum of the matrix over all of them.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        Kernel matrix.
    reg : float
        Weight of norms.
    weight : ndarray of shape (n_samples,), default=None
        Positive weights.

    Returns
    -------
    R : ndarray of shape (n_samples, n_samples)
        Symmetric.
    """
    if weight is not None:
        roots = np.sqrt(weight)
        return roots[:, None] * hat_matrix(roots[:, None] * K * roots, reg) * roots
    largest = np.abs(np.diag(K)).max()
    factor = factor_of(K, reg)
    too_small = ValueError(
        f"reg={reg:.3g} is too small beside kernel values of up to {largest:.3g}: the classifiers "
        "fit any labels up to rounding errors. Increase reg, or scale X down."
    )
    if factor is None:
        raise too_small
    inverse, _ = dpotri(factor, lower=1, overwrite_c=1)
    R = inverse.T  # in rows, with its upper half
    _complement(R, reg)
    if np.diag(R).max() >= 1:
        raise too_small
    return R


def _complement(A, reg):
    """I - reg A, both halves, in place, from the upper half of a symmetric A."""
    for i in range(len(A)):  # by rows, without another matrix
        A[i, i:] *= -reg
        A[i + 1 :, i] = A[i, i + 1 :]
    A[np.diag_indices_from(A)] += 1.0


def factor_of(K, strength):
    """Lower Cholesky factor of K + strength I, or None if that is not positive definite."""
    H = K.copy().T  # symmetric, and in the order that LAPACK works in
    H[np.diag_indices(len(K))] += strength
    try:
        return cholesky(H, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None


# Gains up to this are rounding errors; entries of hat matrices are at most one.
ROUNDING = 1e-12
# Most moves per sample, and most passes over them: searches end long before.
MAX_MOVES = 100
MAX_SWEEPS = 1_000
# Rounds of shaking; each claims half as many samples as the one before.
N_SHAKES = 20


# --- the search ---------------------------------------------------------------------------------


def targets_of(labels, n_clusters):
    """Targets of the classifiers, (8) of the paper: 1 in the own cluster, -1 elsewhere."""
    return 2.0 * (labels[:, None] == np.arange(n_clusters)) - 1


def random_labels(sizes, rng, links=None, weight=None):
    """Random labels, as many of each as its target size, if links and weights allow."""
    if links is not None:
        scores = rng.standard_normal((links.n_samples, links.n_clusters))
        bounds = {"min_size": np.floor(sizes.targets), "max_size": np.ceil(sizes.targets)}
        labels = linked_labels(scores, links, sample_weight=weight, **bounds).labels
        return renumbered(labels, links.order(Labelling(labels, links.n_clusters)))
    ends = np.cumsum(sizes.targets)
    if weight is not None:
        order = rng.permutation(len(weight))
        middle = np.cumsum(weight[order]) - 0.5 * weight[order]
        return np.searchsorted(ends[:-1], middle, side="right")[np.argsort(order)]
    ends = np.round(ends).astype(np.intp)
    labels = np.searchsorted(ends, np.arange(ends[-1]), side="right")
    return rng.permutation(labels)


@dataclass(frozen=True)
class Flips:
    """Where a search ended.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,)
        Clusters.
    sums : ndarray of shape (n_clusters, n_samples)
        The hat matrix summed over the samples of each cluster.
    objective : float
        The criterion, (10) of the paper.
    n_moves : int
        Samples moved.
    weight : ndarray of shape (n_samples,) or None
        Weights of the squared errors.
    """

    labels: np.ndarray
    sums: np.ndarray
    objective: float
    n_moves: int
    weight: Any = None

    def leave_one_out(self, R):
        """Values of each sample by classifiers that leave it out."""
        weight = 1.0 if self.weight is None else self.weight
        targets = targets_of(self.labels, len(self.sums))
        fitted = (2 * self.sums - self.sums.sum(axis=0)) / weight
        return targets - (targets - fitted.T) / (1 - np.diag(R) / weight)[:, None]

    def measured_by(self, R):
        """The same labels with the sums and the objective of another hat matrix."""
        sums = sums_of(R, self.labels, len(self.sums))
        of_all = float(len(R) if self.weight is None else self.weight.sum())
        return replace(self, sums=sums, objective=criterion(sums, self.labels, of_all))

    def advantage(self, R, most=np.inf):
        """Mean lead of the own cluster over the next when samples are left out, each up to `most`.

        Leads beyond one, the distance of a target from zero, say little more.
        """
        scores = self.leave_one_out(R)
        rows = np.arange(len(scores))
        own = scores[rows, self.labels]
        scores[rows, self.labels] = -np.inf
        leads = np.minimum(own - scores.max(axis=1), most)
        return float(np.average(leads, weights=self.weight))


def descend_by_flips(
    R, labels, sizes, *, solver, links=None, weight=None, counted=None, n_shakes=N_SHAKES
):
    r"""Improve labels by moving one sample at a time.

    .. math:: Q(c) = \sum_h n - p_h(c)^\top R \, p_h(c), \qquad p_h(c)_i = \pm 1

    is (10) of the paper, with Lemma 1 corrected: it has 1 where n belongs. Written with cluster
    indicators :math:`e_h` it is :math:`kn + (4 - k) 1^\top R 1 - 4 \sum_h e_h^\top R e_h`. Moving
    sample j from cluster c to d lowers it by :math:`8 (T_{dj} - T_{cj} + R_{jj})` with :math:`T_h
    = R e_h`, so each of the candidates costs O(1), and a move two rows of R.

    Parameters
    ----------
    R : ndarray of shape (n_samples, n_samples)
        Hat matrix.
    labels : ndarray of shape (n_samples,)
        Where to start.
    sizes : Sizes
        What shaking aims at, and the bounds that later moves keep.
    solver : {"shaking", "steepest", "stochastic", "printed"}
        Algorithm 3, 2 or 1. Algorithm 3 need not end with the sizes it aims at, since clusters
        take turns; "printed" leaves it at that. Otherwise it is followed by the cheapest moves
        into the bounds, and by Algorithm 2 within them, so that no single move is left that would
        improve. Where bounds forbid moves, classifiers with offsets label the samples again as
        long as that improves: Q is concave in the indicators, so the best labels for its tangent
        are never worse.
    links : Links, default=None
        Links that `labels` keep. What is linked moves as a whole, and known labels stay if there
        are some of each cluster, whose numbers they then are.
    weight : ndarray of shape (n_samples,), default=None
        Weights of the squared errors, those of the hat matrix.
    counted : ndarray of shape (n_samples,), default=None
        How many samples each one counts as in the sizes of clusters.
    n_shakes : int, default=20
        Rounds of Algorithm 3 after the first.

    Returns
    -------
    found : Flips
    """
    n_clusters, of_all = len(sizes.targets), float(len(R) if weight is None else weight.sum())
    counted = np.ones(len(R)) if counted is None else counted
    nodes = Nodes.of(R, links, counted)
    slack = ROUNDING * counted.sum()
    bounds = sizes.least - slack, sizes.most + slack
    n_moves = 0
    labels = nodes.of_samples(labels)
    first = True
    while True:
        # 1. Moves of single nodes.
        sums = sums_of(nodes.R, labels, n_clusters)
        counts = sizes_of(nodes.to_samples(labels), counted, n_clusters)
        state = State(
            nodes.R, sums, labels, counts, nodes.size, nodes.indptr, nodes.indices, *bounds
        )
        if first and solver in ("shaking", "printed"):
            smallest = float(nodes.size[nodes.size > 0].min())
            n_moves += _shake(state, sizes.targets, n_shakes, smallest)
        if solver == "printed":
            found = nodes.to_samples(labels)
            sums = sums_of(R, found, n_clusters)
            break
        if first:
            n_moves += _settle(state)
        if solver == "stochastic":
            n_moves += _sweep(state, MAX_SWEEPS)
        else:
            n_moves += _descend(state, MAX_MOVES * len(labels))
        first = False
        # 2. Labels of all samples that are best for the tangent, where bounds or links forbid
        # moves.
        found = nodes.to_samples(labels)
        sums, counts = sums_of(R, found, n_clusters), sizes_of(found, counted, n_clusters)
        own = own_sum(sums, found)
        at_bound = (counts <= bounds[0] + 2 * slack) | (counts >= bounds[1] - 2 * slack)
        if links is None and not at_bound.any():
            break
        again = tangent_labels(sums, sizes, links, counted)
        if again is None:
            break
        if own_sum(sums_of(R, again, n_clusters), again) <= own + ROUNDING * of_all:
            break
        n_moves += np.count_nonzero(again != found)
        labels = nodes.of_samples(again)
    return Flips(found, sums, criterion(sums, found, of_all), int(n_moves), weight)


def criterion(sums, labels, weight):
    """(10) of the paper, for samples of that weight together."""
    n_clusters = len(sums)
    of_all = n_clusters * weight + (4 - n_clusters) * sums.sum()
    return float(of_all - 4 * own_sum(sums, labels))


def own_sum(sums, labels):
    """Sum of the hat matrix over pairs of samples in the same cluster."""
    return sums[labels, np.arange(len(labels))].sum()


def tangent_labels(sums, sizes, links, counted):
    """Labels within bounds that have the largest sums, or None if there are none."""
    scores, bounds = (sums / counted).T, {"min_size": sizes.least, "max_size": sizes.most}
    if links is not None:
        found = linked_labels(scores, links, sample_weight=counted, **bounds)
        if not found.within:
            return None
        labels = found.labels
        return renumbered(labels, links.order(Labelling(labels, links.n_clusters)))
    found = balanced_offsets(scores, counted, **bounds)
    return (scores + found.offsets).argmax(axis=1) if found.within else None


@dataclass(frozen=True)
class Nodes:
    """What moves as a whole: samples, or the components that links make of them.

    For two clusters the samples of a component may have either sign, so that one cluster gains
    what the other loses; signs are such that the cluster of its label gains.

    Attributes
    ----------
    R : ndarray of shape (n_nodes, n_nodes)
        The hat matrix summed over nodes.
    size : ndarray of shape (n_nodes,)
        Samples that a cluster gains with a node; infinite if it does not move.
    indptr, indices : ndarray
        Nodes that a node must be kept apart from, in compressed rows.
    links : Links or None
        What made the nodes.
    turn : ndarray of shape (n_nodes,)
        -1 where the sign of a component is not that of its first sample.
    """

    R: np.ndarray
    size: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    links: Links | None = None
    turn: Any = None

    @classmethod
    def of(cls, R, links, counted):
        """Nodes of all samples, each with its count."""
        if links is None:
            return cls(R, counted, np.zeros(len(R) + 1, np.int64), np.zeros(0, dtype=np.int64))
        size = links.totals(counted)
        turn = np.where(size < 0, -1, 1)
        summed = turn[:, None] * links.totals(links.totals(R).T) * turn
        pairs = np.concatenate([links.conflicts, links.conflicts[:, ::-1]])
        pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
        counts = np.bincount(pairs[:, 0], minlength=len(size))
        return cls(
            np.ascontiguousarray(summed),
            np.where(links.teaches_all & (links.known >= 0), np.inf, np.abs(size)),
            np.append(0, np.cumsum(counts)).astype(np.int64),
            np.ascontiguousarray(pairs[:, 1]).astype(np.int64),
            links,
            turn,
        )

    def of_samples(self, labels):
        """Labels of nodes from those of samples that keep the links."""
        if self.links is None:
            return labels.astype(np.int64)
        labels = labels[self.links.representatives].astype(np.int64)
        return np.where(self.turn < 0, 1 - labels, labels)

    def to_samples(self, labels):
        """Labels of samples from those of nodes."""
        if self.links is None:
            return labels
        if self.links.n_clusters > 2:
            return self.links.spread(labels)
        return (self.links.spread(self.turn * (2 * labels - 1)) + 1) // 2


def sums_of(R, labels, n_clusters):
    """The hat matrix summed over the samples of each cluster."""
    members = (labels == np.arange(n_clusters)[:, None]).astype(np.float64)
    return np.ascontiguousarray(members @ R)


def sizes_of(labels, counted, n_clusters):
    """Sizes of clusters of samples, each with its count."""
    return np.bincount(labels, counted, n_clusters)


class State(NamedTuple):
    """What moves change: arrays that compiled functions work on.

    Attributes
    ----------
    R : ndarray of shape (n_nodes, n_nodes)
        The hat matrix summed over nodes.
    sums : ndarray of shape (n_clusters, n_nodes)
        Its sums over the nodes of each cluster; moves change them.
    labels : ndarray of shape (n_nodes,)
        Clusters of nodes; moves change them.
    counts : ndarray of shape (n_clusters,)
        Samples of each cluster; moves change them.
    size : ndarray of shape (n_nodes,)
        Samples that a cluster gains with a node.
    indptr, indices : ndarray
        Nodes that a node must be kept apart from, in compressed rows.
    least, most : ndarray of shape (n_clusters,)
        Bounds on the sizes of clusters.
    """

    R: np.ndarray
    sums: np.ndarray
    labels: np.ndarray
    counts: np.ndarray
    size: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    least: np.ndarray
    most: np.ndarray


@njit
def _move(state, j, d):
    """Move node j to cluster d."""
    R, sums, c = state.R, state.sums, state.labels[j]
    for i in range(R.shape[0]):
        sums[c, i] -= R[j, i]
        sums[d, i] += R[j, i]
    state.counts[c] -= state.size[j]
    state.counts[d] += state.size[j]
    state.labels[j] = d


@njit
def _gain(state, j, d):
    """Half of the increase of the own sums when node j moves to cluster d."""
    return state.sums[d, j] - state.sums[state.labels[j], j] + state.R[j, j]


@njit
def _is_free(state, j, d):
    """Whether cluster d holds no node that node j must be kept apart from."""
    for entry in range(state.indptr[j], state.indptr[j + 1]):
        if state.labels[state.indices[entry]] == d:
            return False
    return True


@njit(nogil=True)
def _shake(state, targets, n_shakes, smallest):
    """Algorithm 3: clusters claim samples in turn, by (11) with a target for each cluster.

    `smallest` is the least positive size of a node.
    """
    n_moves = 0
    for shake in range(n_shakes + 1):
        for d in range(len(state.counts)):
            n_claimed = targets[d] / 2.0**shake + targets[d] - state.counts[d] + 1e-9
            while n_claimed >= smallest:
                best, chosen = -np.inf, -1
                for j in range(len(state.labels)):
                    if state.labels[j] != d and 0 < state.size[j] <= n_claimed:
                        gain = _gain(state, j, d)
                        if gain > best and _is_free(state, j, d):
                            best, chosen = gain, j
                if chosen < 0:
                    break
                _move(state, chosen, d)
                n_claimed -= state.size[chosen]
                n_moves += 1
    return n_moves


@njit
def _beyond(state, cluster, gained):
    """By how much the size of a cluster would be out of bounds after a gain of samples."""
    count = state.counts[cluster] + gained
    return max(state.least[cluster] - count, count - state.most[cluster], 0.0)


@njit
def _best_move(state, first, last, at_least, into_bounds):
    """Move, of one of the nodes from first to last, of the largest gain above `at_least`.

    It keeps sizes in bounds, or brings them nearer where `into_bounds`.

    Returns
    -------
    chosen, target : int
        Node and cluster; -1 if there is no such move.
    """
    best, chosen, target = at_least, -1, -1
    for j in range(first, last):
        c, size = state.labels[j], state.size[j]
        if not into_bounds and state.counts[c] - size < state.least[c]:
            continue
        for d in range(len(state.counts)):
            if d == c:
                continue
            if into_bounds:
                before = _beyond(state, c, 0) + _beyond(state, d, 0)
                if _beyond(state, c, -size) + _beyond(state, d, size) >= before:
                    continue
            elif state.counts[d] + size > state.most[d]:
                continue
            gain = _gain(state, j, d)
            if gain > best and _is_free(state, j, d):
                best, chosen, target = gain, j, d
    return chosen, target


@njit(nogil=True)
def _settle(state):
    """Move the nodes that cost least until all sizes are within their bounds."""
    n_moves = 0
    while True:
        chosen, target = _best_move(state, 0, len(state.labels), -np.inf, True)
        if chosen < 0:
            return n_moves
        _move(state, chosen, target)
        n_moves += 1


@njit(nogil=True)
def _descend(state, max_moves):
    """Algorithm 2 within bounds on sizes: the move that improves most, until there is none."""
    for n_moves in range(max_moves):
        chosen, target = _best_move(state, 0, len(state.labels), ROUNDING, False)
        if chosen < 0:
            return n_moves
        _move(state, chosen, target)
    return max_moves


@njit(nogil=True)
def _sweep(state, max_sweeps):
    """Algorithm 1 within bounds on sizes: each node in turn goes where it fits best."""
    n_moves = 0
    for _ in range(max_sweeps):
        moved = False
        for j in range(len(state.labels)):
            chosen, target = _best_move(state, j, j + 1, ROUNDING, False)
            if chosen >= 0:
                _move(state, j, target)
                moved = True
                n_moves += 1
        if not moved:
            break
    return n_moves


# --- choosing without labels --------------------------------------------------------------------


def stability_times_gap(R, starts, sizes, solver, weight=None):
    """How well starts agree, times how clearly samples belong to their clusters when left out."""
    weights = {"weight": weight, "counted": weight}
    found = [descend_by_flips(R, start, sizes, solver=solver, **weights) for start in starts]
    pairs = combinations([run.labels for run in found], 2)
    stability = np.mean([adjusted_rand_score(a, b) for a, b in pairs])
    best = min(found, key=lambda run: run.objective)
    return max(stability, 0.0) * max(best.advantage(R), 0.0)
