"""Offsets of scores that bring the sizes of clusters between bounds."""

import numpy as np

from separatrix._sklearn import like, namespace_of, to_numpy
from separatrix.labels.bounded import prices_of_growing_parts
from separatrix.labels.sizes import ROUNDING, OrderedScores, shifted_scores, winners, won_weights
from separatrix.labels.transport import transported
from separatrix.result import Labelling

# Samples that are transported at a time, and how often where there are more.
FLOW_SAMPLES = 20_000
FLOW_ROUNDS = 5
# Where more than these have to move, every so many of the samples between clusters stands for
# those next to it: the time of a transport is that of its moves. This share of them is left, so
# that the last moves, one sample each, end at the bounds.
MOST_MOVES, LEFT = 500, 0.1
# From more samples, this many are drawn for the first offsets.
DRAWN = 70_000
# Most rounds over all clusters that improve them. For few samples, as many as have so many updates
# in all, between the least and the most; for more samples, the least.
UPDATES = 1000
SWEEPS = 50
FEW_SWEEPS = 5


def first_offsets(scores, weight, least, most):
    """Offsets of an optimal transport; from many samples, only some are transported.

    These are first some drawn at random, and then those that the offsets found leave undecided.
    A sample of weight two is transported as two samples would be, and may end in two clusters.
    Scores and weights may be in any array namespace; what is transported is copied to the host.
    """
    xp, _ = namespace_of(scores)
    (present,) = xp.nonzero(weight > 0)
    if present.shape[0] < weight.shape[0]:
        scores, weight = xp.take(scores, present, axis=0), xp.take(weight, present)
    n_samples, n_clusters = scores.shape
    offsets, total = np.zeros(n_clusters), float(xp.sum(weight))
    slack = ROUNDING * total
    if bool(xp.all(weight == xp.round(weight))):  # whole samples cannot meet half of a bound
        inner = np.ceil(least - 1e-9), np.floor(most + 1e-9)
        if _feasible(*inner, total, slack):
            least, most = inner
    if not _feasible(least, most, total, slack):
        return offsets
    if n_samples <= FLOW_SAMPLES:
        return transported(_doubles(scores), _doubles(weight), least, most, np.inf)
    # samples drawn by their weights weigh the same
    draws = np.random.RandomState(0).uniform(0, total, DRAWN)  # the same each time
    sums = xp.cumulative_sum(weight)
    drawn = xp.clip(xp.searchsorted(sums, like(draws, sums), side="right"), max=n_samples - 1)
    some, ratio = _doubles(xp.take(scores, drawn, axis=0)), DRAWN / total
    offsets = prices_of_growing_parts(some, ratio * least, ratio * most)
    for _ in range(FLOW_ROUNDS):
        shifted = shifted_scores(scores, offsets)
        labels, leads = winners(shifted)
        sizes = Labelling(labels, n_clusters, weight).weights
        excess = np.maximum(np.maximum(sizes - most, least - sizes), 0.0)
        if (excess <= slack).all():
            break
        n_moves = excess.sum() * n_samples / total
        step = max(1, min(int(n_moves / MOST_MOVES), n_samples // FLOW_SAMPLES))
        undecided = xp.argsort(leads)[: step * FLOW_SAMPLES : step]
        some, share = xp.take(shifted, undecided, axis=0), step * xp.take(weight, undecided)
        decided = sizes - Labelling(xp.take(labels, undecided), n_clusters, share).weights
        least_lead = float(xp.max(xp.take(leads, undecided)))
        left = LEFT * excess if step > 1 else 0.0
        bounds = least - decided - left, most - decided + left
        offsets += transported(_doubles(some), _doubles(share), *bounds, least_lead)
    return offsets


def _doubles(values):
    """Numbers of any namespace as the compiled loops take them."""
    return np.ascontiguousarray(to_numpy(values), dtype=np.float64)


def _feasible(least, most, total, slack):
    """Whether sizes within the bounds can make up the total."""
    within = least.sum() <= total + slack and total - slack <= most.sum()
    return within and bool((least <= most).all())


def swept_offsets(scores, weight, least, most, offsets):
    """Offsets improved one at a time until none changes; the best ones found.

    Scores, and weights where there are any, may be in any array namespace.
    """
    n_samples, n_clusters = scores.shape
    n_sweeps = FEW_SWEEPS
    if n_samples <= FLOW_SAMPLES:
        n_sweeps = min(SWEEPS, max(FEW_SWEEPS, UPDATES // n_clusters))
    best, best_excess = offsets.copy(), np.inf
    stale = True
    for sweep in range(n_sweeps + 1):
        moved = False
        for cluster in range(n_clusters):
            # 1) sizes of the clusters by the offsets so far
            if stale:
                shifted = shifted_scores(scores, offsets)
                sizes = won_weights(shifted, weight)
                excess, stale = np.maximum(sizes - most, least - sizes), False
                if excess.max() < best_excess or excess.max() <= 0:
                    best_excess, best = excess.max(), offsets.copy()
            if sweep == n_sweeps or (sweep == 0 and cluster == 0 and best_excess <= 0):
                return best
            # 2) the offset of one of them that its bounds ask for
            if offsets[cluster] == 0 and excess[cluster] <= 0:
                continue
            needed = best_of_others(shifted, cluster) - scores[:, cluster]
            offset = _nearest_offset(needed, weight, least[cluster], most[cluster])
            if offset != offsets[cluster]:
                offsets[cluster] = offset
                moved = stale = True
        if not moved:
            return best
    return best


def best_of_others(shifted, cluster):
    """Largest score of each sample in any cluster but one."""
    xp, _ = namespace_of(shifted)
    parts = [shifted[:, :cluster], shifted[:, cluster + 1 :]]
    parts = [xp.max(part, axis=1) for part in parts if part.shape[1]]
    return parts[0] if len(parts) == 1 else xp.maximum(*parts)


def _nearest_offset(needed, weight, least, most):
    """Offset nearest to zero that brings the weight of the samples it captures into bounds.

    If none does, the offset whose weight is nearest to the bounds, but never with none or all of
    the samples.
    """
    xp, _ = namespace_of(needed)
    ordered = OrderedScores.of(needed, weight)
    f, below = ordered.f, ordered.weight
    n_below = int(xp.count_nonzero(f < 0))
    size = float(below[n_below - 1]) if n_below else 0.0
    if least <= size <= most:
        return 0.0
    apart = ROUNDING * max(abs(float(f[0])), abs(float(f[-1])))
    (cuts,) = xp.nonzero(f[1:] - f[:-1] > apart)  # between two that differ
    if cuts.shape[0] == 0:
        return 0.0
    totals = xp.take(below, cuts)
    distance = xp.clip(xp.maximum(totals - float(most), float(least) - totals), min=0.0)
    # of the nearest, the first lets the cluster grow least, and the last lets it shrink least
    (nearest,) = xp.nonzero(distance == xp.min(distance))
    cut = int(cuts[int(nearest[-1 if size > most else 0])])
    return 0.5 * (float(f[cut]) + float(f[cut + 1]))
