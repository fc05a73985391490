"""Where to cut one score for two clusters of given sizes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._sklearn import namespace_of, widest_float

__all__ = ["Cut", "balanced_threshold", "lower_bound_cut"]

# A band is met up to this rounding of sums of weights.
ROUNDING = 1e-12


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
class _Sorted:
    """Scores in order, with prefix sums of their weights and of their weighted values."""

    f: Any
    weight: Any
    first: Any
    squares: float

    @classmethod
    def of(cls, scores, sample_weight):
        """Sort; samples without weight are left out, as they have no say in where a cut lies."""
        xp, device = namespace_of(scores)
        wide = widest_float(scores)
        if sample_weight is None:
            f = xp.astype(xp.sort(scores, stable=False), wide)
            count = xp.arange(1, f.shape[0] + 1, dtype=wide, device=device)
            return cls(f, count, xp.cumulative_sum(f), float(f @ f))
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
    """
    xp, _ = namespace_of(f)
    if low >= high:
        return xp.nonzero(f[:0] > 0)[0]
    largest = max(abs(float(f[0])), abs(float(f[-1])))
    (behind,) = xp.nonzero(f[low + 1 : high + 1] - f[low:high] > 32 * eps * largest)
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

    Equal scores are never parted, since equal samples belong together. So it may be that no cut
    meets the balance; then one of those nearest to it is taken, and `within` is False.

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
    ordered = _Sorted.of(scores, sample_weight)
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
    if sample_weight is not None:  # samples without weight have no say in where the cut lies
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
    # only between distinct values can a threshold tell the sides apart, and samples of next to no
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
