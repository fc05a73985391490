"""Clusters of given sizes: where to cut one score, and how to shift several."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix._sklearn import is_numpy, like, namespace_of, to_numpy, widest_float
from separatrix.data.gate import check_numbers
from separatrix.result import Labelling

# Of an even share, which a cluster of free size keeps at least.
FLOOR = 0.5


# --- the problem --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sizes:
    """How many samples clusters aim at, and how many they may have.

    Attributes
    ----------
    targets : ndarray of shape (n_clusters,)
        Sizes that shaking aims at.
    least, most : ndarray of shape (n_clusters,)
        Bounds.
    """

    targets: np.ndarray
    least: np.ndarray
    most: np.ndarray

    @classmethod
    def of(cls, n_samples, n_clusters, shares, min_size, max_size, sample_weight=None):
        """Sizes by the parameters of the estimator, which are checked.

        With weights of samples sizes are sums of these.
        """
        bounded = min_size is not None or max_size is not None
        unit = 1.0
        if sample_weight is not None:
            weight = to_numpy(sample_weight)
            n_samples, unit = float(weight.sum()), unit_of(weight)
        even = np.full(n_clusters, n_samples / n_clusters)
        if not (isinstance(shares, str) and shares == "free"):
            if bounded:
                raise ValueError(
                    f"min_size={min_size} and max_size={max_size} need shares='free', got "
                    f"shares={shares!r}; pass one or the other."
                )
            if isinstance(shares, str):
                low, high = np.floor(even / unit + 1e-9), np.ceil(even / unit - 1e-9)
                return cls(even, unit * low, unit * high)
            sizes = unit * rounded(n_samples / unit * given_shares(shares, n_clusters))
            return cls(sizes, sizes, sizes)
        if not bounded:
            floor = unit * np.maximum(1, np.floor(FLOOR * even / unit))
            return cls(even, floor, np.full(n_clusters, float(n_samples)))
        least, most = size_bounds(n_samples, n_clusters, min_size, max_size)
        return cls(even, least.astype(np.float64), most.astype(np.float64))

    @classmethod
    def in_balance(cls, n_samples, n_clusters, balance, min_size, max_size):
        """Bounds of counted samples, within which clusters are in balance as far as possible.

        The band of the balance is that of (1 - balance) / k to (1 + balance) / k of the samples,
        up to one sample. A cluster whose bounds lie beside it is as near to it as they allow. The
        band is widened by the fewest samples with which sizes add up to all samples.
        """
        least, most = size_bounds(n_samples, n_clusters, min_size, max_size)
        even = n_samples / n_clusters
        low, high = np.floor((1 - balance) * even + 1e-9), np.ceil((1 + balance) * even - 1e-9)
        if n_clusters == 2:  # the difference of both is bounded
            high = np.floor((1 + balance) * even + 1e-9)
            high = max(high, n_samples - high)
            low = n_samples - high

        def band(wider):
            return np.clip(low - wider, least, most), np.clip(high + wider, least, most)

        def is_too_narrow(wider):
            lowest, highest = band(wider)
            return lowest.sum() > n_samples or highest.sum() < n_samples

        narrow, wide = -1, n_samples  # the widest band holds the bounds, which sizes meet
        while wide - narrow > 1:
            middle = (narrow + wide) // 2
            narrow, wide = (middle, wide) if is_too_narrow(middle) else (narrow, middle)
        targets = np.full(n_clusters, even)
        return cls(targets, *(bound.astype(np.float64) for bound in band(wide)))

    @property
    def bounds(self):
        """Least and most samples of each cluster."""
        return self.least, self.most

    def around(self, shares):
        """The same that aim at other shares of all samples, as near as bounds allow."""
        targets = np.clip(shares * self.targets.sum(), self.least, self.most)
        return replace(self, targets=targets * (self.targets.sum() / targets.sum()))

    def scaled(self, n_samples):
        """The same for a sample of the samples."""
        n_all = self.targets.sum()
        if abs(n_samples - n_all) <= ROUNDING * n_all:
            return self
        ratio = n_samples / n_all
        least = np.floor(ratio * self.least + 1e-9)
        most = np.ceil(ratio * self.most - 1e-9)
        filled = np.minimum(np.maximum(least, 1), most)
        if filled.sum() <= n_samples:  # no cluster is empty where there are enough samples
            least = filled
        return Sizes(ratio * self.targets, least, most)

    def met_by(self, sizes):
        """Whether sizes are within the bounds."""
        return bool(((self.least <= sizes) & (sizes <= self.most)).all())


def unit_of(weight):
    """What weights are multiples of where they are whole, and the least of them otherwise."""
    return 1.0 if (weight == np.rint(weight)).all() else float(weight[weight > 0].min())


def given_shares(shares, n_clusters):
    """Shares of clusters as an array, or an error."""
    shares = check_numbers(shares, "shares")
    if shares.shape != (n_clusters,):
        raise ValueError(
            f"shares has shape {shares.shape} but n_clusters={n_clusters}; pass one share per "
            "cluster."
        )
    if not (shares > 0).all() or abs(shares.sum() - 1) > 1e-6:
        raise ValueError(
            f"shares must be positive and sum to 1, got {shares} with sum {shares.sum():.6g}; "
            "divide them by their sum."
        )
    return shares / shares.sum()


def rounded(sizes):
    """Whole sizes of the same sum, by the largest remainders."""
    whole = np.floor(sizes + 1e-9)
    n_short = round(sizes.sum() - whole.sum())
    whole[np.argsort(whole - sizes, kind="stable")[:n_short]] += 1
    return whole


def check_halves(balance, n_samples):
    """Refuse a balance of two clusters that no whole number of samples meets."""
    if n_samples % 2 and balance * n_samples < 1:
        raise ValueError(
            f"balance={balance:g} is infeasible: n_samples={n_samples} is odd, so two "
            f"clusters differ by at least 1 sample and not by {balance * n_samples:.3g}; "
            f"use balance={np.ceil(1e4 / n_samples) / 1e4:g} or more."
        )


# --- bounds of counted samples ------------------------------------------------------------------


def size_bounds(n_samples, n_clusters, min_size, max_size):
    """Least and most samples of each cluster, whole numbers that some sizes meet, or an error.

    A bound is for all clusters or one for each. Below one it is a share of the samples; None is
    no bound.
    """
    least = _counts("min_size", min_size, n_samples, n_clusters)
    most = _counts("max_size", max_size, n_samples, n_clusters)
    for cluster in np.flatnonzero(least > most)[:1]:
        raise ValueError(
            f"min_size={min_size} must not exceed max_size={max_size}: of {n_samples} samples a "
            f"cluster would need {least[cluster]} and have room for {most[cluster]}."
        )
    if least.sum() > n_samples:
        raise ValueError(
            f"min_size={min_size} is infeasible: n_clusters={n_clusters} needs "
            f"{_summed(least)} samples, got {n_samples}."
        )
    if most.sum() < n_samples:
        raise ValueError(
            f"max_size={max_size} is infeasible: n_clusters={n_clusters} has room for "
            f"{_summed(most)} samples, got {n_samples}."
        )
    return least, most


def _counts(name, bound, n_samples, n_clusters):
    """A bound as one whole number of samples for each cluster."""
    if bound is None:
        return np.full(n_clusters, 0 if name == "min_size" else n_samples)
    values = check_numbers(bound, name)
    if values.shape not in ((), (n_clusters,)):
        raise ValueError(
            f"{name} has shape {values.shape} but n_clusters={n_clusters}; pass one number, or "
            "one for each cluster."
        )
    is_share = values < 1
    if not ((values >= 0) & (is_share | (values == np.round(values)))).all():
        raise ValueError(
            f"{name}={bound} must be whole numbers of samples, or shares of them below 1."
        )
    # shares of whole samples: 0.3 of 10 are 3, whatever the last digit of the product is
    shares = n_samples * np.where(is_share, values, 0.0)
    whole = np.ceil(shares - 1e-9) if name == "min_size" else np.floor(shares + 1e-9)
    counts = np.where(is_share, whole, np.minimum(values, n_samples + 1.0))
    return np.broadcast_to(counts.astype(np.int64), n_clusters)


def _summed(counts):
    """A sum with its terms: 3 * 20 = 60, or 10 + 20 + 30 = 60."""
    if (counts == counts[0]).all():
        return f"{len(counts)} * {counts[0]} = {counts.sum()}"
    return f"{' + '.join(map(str, counts))} = {counts.sum()}"


# --- cuts and offsets ---------------------------------------------------------------------------

# A band is met up to this rounding of sums of weights.
ROUNDING = 1e-12
# A gap between scores of different samples exceeds the rounding of equal ones by this factor,
# unless there are very many samples.
DENSE = 100
# Share of the largest score: far more than rounding differences of equal samples, and still tiny.
NUDGE = 1e-10


@dataclass(frozen=True)
class Cut:
    """A threshold on scores.

    Attributes
    ----------
    threshold : float
        Scores above it are positive; nan if all scores are equal.
    loss : float
        Summed loss of the labels that it gives.
    within : bool
        Whether the sides have the sizes asked for.
    """

    threshold: float
    loss: float
    within: bool


@dataclass(frozen=True)
class OrderedScores:
    """Scores in order, with prefix sums of their weights and of their weighted values."""

    f: Any
    weight: Any
    first: Any
    squares: float

    @classmethod
    def of(cls, scores, sample_weight, *, with_absent=False):
        """Sort; samples without weight are left out where they do not affect where a cut lies."""
        xp, device = namespace_of(scores)
        wide = widest_float(scores)
        if sample_weight is None:
            f = xp.astype(xp.sort(scores, stable=False), wide)
            count = xp.arange(1, f.shape[0] + 1, dtype=wide, device=device)
            return cls(f, count, xp.cumulative_sum(f), float(f @ f))
        if not with_absent:
            present = sample_weight > 0
            scores, sample_weight = scores[present], sample_weight[present]
        order = xp.argsort(scores, stable=False)
        f = xp.astype(xp.take(scores, order), wide)
        weight = xp.astype(xp.take(sample_weight, order), wide)
        moments = weight * f
        return cls(f, xp.cumulative_sum(weight), xp.cumulative_sum(moments), float(moments @ f))

    def upto(self, count):
        """Weight, and weighted sum, of the first `count` scores."""
        xp, _ = namespace_of(self.f)
        some = count > 0
        index = xp.where(some, count - 1, 0)
        zero = xp.zeros_like(self.f[:1])
        return tuple(xp.where(some, xp.take(a, index), zero) for a in (self.weight, self.first))


def _cuts(f, eps, low, high):
    """How many of the sorted scores lie below each cut, for cuts behind scores low to high - 1.

    A cut needs neighbours that differ by more than what rounding can make of equal samples.
    Millions of scores may lie closer than that all the way; then any that differ will do.
    """
    xp, _ = namespace_of(f)
    if low >= high:
        return xp.nonzero(f[:0] > 0)[0]
    rounding = 32 * eps * max(abs(float(f[0])), abs(float(f[-1])))
    steps = f[low + 1 : high + 1] - f[low:high]
    (behind,) = xp.nonzero(steps > rounding)
    if behind.shape[0] == 0 and float(f[high] - f[low]) > DENSE * rounding:
        (behind,) = xp.nonzero(steps > 0)
    return behind + (low + 1)


def balanced_threshold(scores, sample_weight=None, *, loss, balance):
    r"""Threshold of least loss among those that keep two clusters in balance.

    .. math:: \min_{y, t} \sum_i s_i\, L(f_i - t, y_i) \quad \text{subject to} \quad
              \Big|\sum_i s_i y_i\Big| \le \text{balance} \sum_i s_i,\; y_i \in \{-1, 1\}

    Problems (8) and (9) of Zhang, Tsang and Kwok (2009), for the hinge loss max(0, 1 - yf), the
    Laplacian loss abs(f - y) and the square loss (f - y)^2. For a fixed t the best labels are the
    signs of f - t (Propositions 1 and 2), so the candidates are, as in the paper, the midpoints
    of neighbouring scores. Prefix sums give the loss of all of them in O(n log n), where the
    paper spends O(n) on each.

    Equal scores are never separated, since equal samples belong together. So possibly no cut meets
    the balance; then one of those nearest to it is taken, and `within` is False.

    Parameters
    ----------
    scores : array of shape (n_samples,)
        Scores f, in any array namespace.
    sample_weight : array of shape (n_samples,), default=None
        Nonnegative weights s.
    loss : {"laplacian", "square", "hinge"}
        Loss L.
    balance : float
        Largest difference between the weights of the two clusters, as a share of their sum.

    Returns
    -------
    cut : Cut
    """
    xp, _ = namespace_of(scores)
    ordered = OrderedScores.of(scores, sample_weight)
    f, weight = ordered.f, ordered.weight
    total = float(weight[-1])
    # 1) cuts within the band, behind the `k`-th score, counted from 1, where the next one differs
    slack = ROUNDING * total
    low = xp.count_nonzero(weight[:-1] < 0.5 * (1 - balance) * total - slack)
    high = xp.count_nonzero(weight[:-1] <= 0.5 * (1 + balance) * total + slack)
    eps = float(xp.finfo(scores.dtype).eps)
    k = _cuts(f, eps, int(low), int(high))
    # 2) if there is none, the cuts nearest to the band
    within = k.shape[0] > 0
    if not within:
        k = _cuts(f, eps, 0, f.shape[0] - 1)
        if k.shape[0] == 0:
            return Cut(np.nan, 0.0, within=False)
        imbalance = xp.abs(2 * xp.take(weight, k - 1) - total)
        k = k[imbalance <= float(xp.min(imbalance)) + slack]
    # 3) the best of them
    t = 0.5 * (xp.take(f, k - 1) + xp.take(f, k))
    losses = _losses_of_cuts(ordered, k, t, loss)
    best = int(xp.argmin(losses))
    return Cut(float(t[best]), float(losses[best]), within)


def bounded_threshold(scores, sample_weight=None, *, loss, least, most, of_weights=False):
    """Threshold of least loss among those that give two clusters so many samples.

    As `balanced_threshold`, but with bounds of counted samples, among them those without weight.
    Where equal scores leave no threshold, it is the score that these samples have.

    Parameters
    ----------
    scores : array of shape (n_samples,)
        Scores f, in any array namespace.
    sample_weight : array of shape (n_samples,), default=None
        Nonnegative weights of the losses.
    loss : {"laplacian", "square", "hinge"}
        The loss.
    least, most : ndarray of shape (2,)
        Bounds of the numbers of samples below and above it, that some sizes meet.
    of_weights : bool, default=False
        Whether the bounds are of summed weights.

    Returns
    -------
    cut : Cut
    """
    xp, device = namespace_of(scores)
    ordered = OrderedScores.of(scores, sample_weight, with_absent=True)
    f, counted, n_samples = ordered.f, ordered.weight, scores.shape[0]
    if not of_weights:
        counted = xp.arange(1, n_samples + 1, dtype=counted.dtype, device=device)
    total = float(counted[-1])
    slack = ROUNDING * total
    fewest, largest = max(least[0], total - most[1]), min(most[0], total - least[1])
    # so many lie below the first cut and the last
    low = max(int(xp.count_nonzero(counted < fewest - slack)) + 1, 1)
    high = min(int(xp.count_nonzero(counted <= largest + slack)), n_samples - 1)
    k = _cuts(f, float(xp.finfo(scores.dtype).eps), low - 1, high)
    if k.shape[0] == 0:
        between = max(min(max(low, high), n_samples - 1), 1)
        return Cut(0.5 * (float(f[between - 1]) + float(f[between])), np.inf, within=False)
    t = 0.5 * (xp.take(f, k - 1) + xp.take(f, k))
    losses = _losses_of_cuts(ordered, k, t, loss)
    best = int(xp.argmin(losses))
    return Cut(float(t[best]), float(losses[best]), within=True)


def _losses_of_cuts(ordered, k, t, loss):
    """Summed loss of the labels sign(f - t), for sorted t that lie behind the k-th score each."""
    xp, _ = namespace_of(t)
    total, total_first = ordered.weight[-1], ordered.first[-1]
    weight_k, first_k = ordered.upto(k)
    if loss == "square":
        below = weight_k * (1 - t) ** 2 + 2 * (1 - t) * first_k
        above = (total - weight_k) * (1 + t) ** 2 - 2 * (1 + t) * (total_first - first_k)
        return ordered.squares + below + above
    # scores from t - 1 to t + 1 are less than one from the threshold
    weight_a, first_a = ordered.upto(xp.searchsorted(ordered.f, t - 1))
    weight_c, first_c = ordered.upto(xp.searchsorted(ordered.f, t + 1))
    inside = (first_k - first_a) - (t - 1) * (weight_k - weight_a)
    inside = inside + (t + 1) * (weight_c - weight_k) - (first_c - first_k)
    if loss == "hinge":
        return inside
    outside = (t - 1) * weight_a - first_a
    outside = outside + (total_first - first_c) - (t + 1) * (total - weight_c)
    return inside + outside


def lower_bound_cut(projections, sample_weight, spread):
    r"""Cut of projected samples that maximises the lower bound of the separation.

    For a cut with shares :math:`r_1, r_2` and means :math:`m` apart the bound, eq. (4) of the
    paper by Huang et al. (2015), is

    .. math:: \kappa^2 \ge \frac{m^2}{2 t / (r_1 \wedge r_2) - 2 (r_1 \vee r_2) m^2},

    with t the regularised variance of all projections. All cuts between distinct values are
    tried in O(n log n).

    Parameters
    ----------
    projections : ndarray of shape (n_samples,)
        Values of the samples along the direction.
    sample_weight : ndarray of shape (n_samples,) or None
        Nonnegative weights.
    spread : float
        Regularised variance t along the direction.

    Returns
    -------
    threshold : float
        Cut, midway between the neighbouring values; nan if all values are equal.
    bound : float
        Lower bound of kappa squared at the cut.
    """
    if sample_weight is not None:  # samples without weight do not affect where the cut lies
        projections, sample_weight = (
            projections[sample_weight > 0],
            sample_weight[sample_weight > 0],
        )
    order = np.argsort(projections, kind="stable")
    values = projections[order]
    if sample_weight is None:
        below = np.arange(1.0, len(values))
        total = float(len(values))
        sums = np.cumsum(values, dtype=np.float64)
    else:
        weights = sample_weight[order]
        below = np.cumsum(weights)[:-1]
        total = float(weights.sum())
        sums = np.cumsum(weights * values, dtype=np.float64)
    above = total - below
    # a threshold can separate the sides only between distinct values, and samples of next to no
    # weight at either end make no cluster
    tiny = 1e-12 * total
    allowed = (values[1:] > values[:-1]) & (below > tiny) & (above > tiny)
    if not allowed.any():
        return np.nan, 0.0
    cuts = np.flatnonzero(allowed)
    below, above, sums_below = below[cuts], above[cuts], sums[cuts]
    gap = (sums[-1] - sums_below) / above - sums_below / below
    smaller = np.minimum(below, above) / total
    bounds = gap**2 / (2 * spread / smaller - 2 * (1 - smaller) * gap**2)
    best = int(np.argmax(bounds))
    threshold = 0.5 * (values[cuts[best]] + values[cuts[best] + 1])
    return float(threshold), float(bounds[best])


@dataclass(frozen=True)
class Offsets:
    """What to add to the scores of each cluster.

    Attributes
    ----------
    offsets : ndarray of shape (n_clusters,)
        A sample goes to the cluster of its largest score plus offset.
    within : bool
        Whether the clusters then have the sizes asked for.
    """

    offsets: np.ndarray
    within: bool


def balanced_offsets(scores, sample_weight=None, *, min_size, max_size):
    r"""Offsets that bring the sizes of clusters between bounds at the least loss of score.

    .. math:: \max_y \sum_i s_i f_{i y_i} \quad \text{subject to} \quad
              \text{min size} \le \sum_{i: y_i = c} s_i \le \text{max size}

    is a transport problem. Its multipliers are the offsets b of the rule
    :math:`y_i = \arg\max_c f_{ic} + b_c`, which new samples obey too: zero for a cluster within
    its bounds, otherwise such that its size lies at the bound. They minimise a convex function,
    here one coordinate at a time and exactly, until no offset moves. That need not be the minimum
    where the function has kinks, as it does for few samples. So the first offsets are those of an
    optimal transport, of all samples or of some thousands of them.

    Parameters
    ----------
    scores : array of shape (n_samples, n_clusters)
        Scores f, in any array namespace.
    sample_weight : array of shape (n_samples,), default=None
        Nonnegative weights s.
    min_size, max_size : float or ndarray of shape (n_clusters,)
        Bounds of the summed weights of each cluster.

    Returns
    -------
    result : Offsets
    """
    xp, device = namespace_of(scores)
    n_samples, n_clusters = scores.shape
    weight = sample_weight
    if weight is None:
        weight = xp.ones(n_samples, dtype=widest_float(scores), device=device)
    elif is_numpy(weight):
        weight = xp.asarray(weight, device=device)
    least = np.broadcast_to(min_size, n_clusters).astype(np.float64)
    most = np.broadcast_to(max_size, n_clusters).astype(np.float64)
    slack = ROUNDING * float(xp.sum(weight))
    bounds = (least - slack, most + slack)
    offsets, excess = np.zeros(n_clusters), _excess(scores, weight, bounds)
    if excess > 0:
        from separatrix.labels.offsets import first_offsets, swept_offsets

        first = without_ties(scores, first_offsets(scores, weight, least, most))
        weight = None if sample_weight is None else weight
        found = swept_offsets(scores, weight, *bounds, first)
        left = _excess(scores + like(found, scores), weight, bounds)
        if left < excess:
            offsets, excess = found, left
    return Offsets(offsets, excess <= 0)


def without_ties(scores, offsets):
    """Offsets, moved by next to nothing if samples lie between clusters.

    A transport may split samples, and then rounding would send equal ones to different clusters.
    """
    xp, _ = namespace_of(scores)
    n_clusters, nudge = len(offsets), NUDGE * float(xp.max(xp.abs(scores)))
    _, leads = winners(shifted_scores(scores, offsets))
    tied = float(xp.min(leads)) < n_clusters * nudge
    return offsets - nudge * np.arange(n_clusters) if tied else offsets


def shifted_scores(scores, offsets):
    """Scores plus the offset of each cluster, in the widest precision of where they are."""
    xp, device = namespace_of(scores)
    wide = widest_float(scores)
    return xp.astype(scores, wide) + xp.asarray(offsets, dtype=wide, device=device)


def winners(scores):
    """Cluster of the largest score of each sample, and its lead over the next."""
    xp, device = namespace_of(scores)
    winner = xp.argmax(scores, axis=1)
    own = xp.arange(scores.shape[1], device=device) == winner[:, None]
    others = xp.max(xp.where(own, -np.inf, scores), axis=1)
    return winner, xp.max(scores, axis=1) - others


def won_weights(scores, weight):
    """Total weight of the samples whose largest score each cluster has."""
    xp, _ = namespace_of(scores)
    return Labelling(xp.argmax(scores, axis=1), scores.shape[1], weight).weights


def _excess(shifted, weight, bounds):
    """By how much the size of a cluster exceeds its bounds at most; not positive inside."""
    sizes = won_weights(shifted, weight)
    return float(np.maximum(sizes - bounds[1], bounds[0] - sizes).max())
