"""Samples of no cluster: those far from all others, relative to distances within clusters."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.stats import chi2, norm

from separatrix.data.distinct import row_hashes
from separatrix.models.nearest_samples import exponent_of, in_units
from separatrix.similarity.neighbors import ExactSearch, pair_distances, row_blocks

__all__ = ["OutlierRule", "intrinsic_dimension", "limit_of_share", "limit_of_tail"]

# Number of neighbours that define how far a sample is from others; for small data, a quarter of an
# even share of a cluster if that is less. So clumps of up to ten samples may be outliers.
MOST_NEIGHBORS, SHARE_OF_CLUSTER = 10, 4
# Samples among which neighbours are searched; from more, this many distinct ones are drawn.
MOST_COMPARED = 20_000
# Share of a Gaussian cluster that lies beyond the limit of "auto", up to chance. Where many
# samples do, more than so many standard deviations by chance, this share of them may.
TAIL, MOST_WRONG, DEVIATIONS = 0.005, 0.2, 4
# Share of the samples that certainly belong to clusters, as outliers are fewer than half.
SURE = 0.5
# Ties of the distance to the last neighbour are broken by the mean distance to all of them.
TIE = 1e-9


@dataclass(frozen=True, eq=False)
class OutlierRule:
    r"""How far samples are from those of clusters, and the limit beyond which they belong to none.

    The score of a sample :math:`x` is the radius :math:`r(x)` within which the k nearest other
    samples of clusters lie, over the scale of the cluster that the nearest of them is in: the
    median radius of its own samples. So sparse clusters may have wide gaps.

    .. math:: s(x) = r(x) \Big/ \operatorname{median}_{y_i = y(x)} r(x_i)

    It is a function of the sample alone, the same for a sample of the fit and a new one: a sample
    that equals one of the fit is treated as that one, and is not its own neighbour.

    Attributes
    ----------
    rows : {ndarray, sparse matrix} of shape (n_rows, n_features)
        Distinct samples of clusters, divided by two to the power `exponent`.
    weights : ndarray of shape (n_rows,)
        Their weights in units of the mean, so that a weight of two is a repeated sample.
    clusters : ndarray of int of shape (n_rows,)
        Their clusters.
    scales : ndarray of shape (n_clusters,)
        Scale of each cluster, in the units of `rows`.
    n_neighbors : int
        Number of neighbours k.
    exponent : int
        The units.
    limit : float
        Largest score of a sample that is no outlier.
    """

    rows: Any
    weights: np.ndarray
    clusters: np.ndarray
    scales: np.ndarray
    n_neighbors: int
    exponent: int
    limit: float

    @classmethod
    def of(cls, X, weight, labels, n_clusters, outliers, movable=None, sure=SURE, hashes=None):
        """The rule by samples and the labels found so far.

        Parameters
        ----------
        X : {ndarray, sparse matrix} of shape (n_samples, n_features)
            Samples, in memory.
        weight : ndarray of shape (n_samples,)
            Their weights; those of weight zero count for nothing.
        labels : ndarray of int of shape (n_samples,)
            Their clusters; -1 for outliers so far.
        n_clusters : int
            Number of clusters asked for.
        outliers : float or "auto"
            Largest share of the weight that may be outliers; "auto" for what lies beyond the tail
            of a Gaussian cluster.
        movable : ndarray of bool of shape (n_samples,), default=None
            Samples that may be outliers; None if all may.
        sure : float, default=0.5
            For "auto", share of the samples whose scores are those of clusters for sure. One
            where these are not known yet, since a sparse cluster looks like noise there.
        hashes : ndarray of shape (n_samples,), default=None
            Hashes of the samples, if these are known already.

        Returns
        -------
        rule : OutlierRule
        scores : ndarray of shape (n_samples,)
            The scores of the samples.
        """
        # in the order of hashes, so that neither their order nor repetition matters
        members = np.flatnonzero((labels >= 0) & (weight > 0))
        hashes = row_hashes(X) if hashes is None else hashes
        distinct, first, place = np.unique(hashes[members], return_index=True, return_inverse=True)
        weights = np.bincount(place, weight[members])[:MOST_COMPARED]
        chosen, exponent = members[first[:MOST_COMPARED]], exponent_of(X)
        rows = in_units(X[chosen].astype(np.float64), exponent)
        weights = weights / weights.mean()
        n_neighbors = len(distinct) // (SHARE_OF_CLUSTER * n_clusters)
        n_neighbors = max(1, min(MOST_NEIGHBORS, n_neighbors))
        n_labels = int(labels.max()) + 1
        scales = np.ones(n_labels)
        rule = cls(rows, weights, labels[chosen], scales, n_neighbors, exponent, np.inf)
        radii, nearest, distances = rule.radii(X)
        clusters = rule.clusters[nearest]
        for cluster in np.unique(clusters[members]):
            here = members[clusters[members] == cluster]
            scales[cluster] = quantile(radii[here], 0.5, weight[here])
        scores = rule._relative(radii, clusters)
        movable = (weight > 0) if movable is None else movable & (weight > 0)
        if isinstance(outliers, str):
            dimension = intrinsic_dimension(distances[members], weight[members])
            dimension = min(dimension, X.shape[1])
            present = weight > 0
            known = (dimension, n_neighbors, len(np.unique(hashes[present])))
            limit = limit_of_tail(scores[present], weight[present], *known, sure=sure)
        else:
            limit = limit_of_share(scores[movable], weight[movable], outliers * weight.sum())
        return replace(rule, limit=limit), scores

    def scores(self, X):
        """Distances of samples from those of clusters, in the units of these."""
        radii, nearest, _ = self.radii(X)
        return self._relative(radii, self.clusters[nearest])

    def are_outliers(self, X):
        """Which samples belong to no cluster."""
        return self.scores(X) > self.limit

    def radii(self, X):
        """Radii that hold the neighbours of samples.

        Returns
        -------
        radii : ndarray of shape (n_samples,)
            In the units of `rows`.
        nearest : ndarray of int of shape (n_samples,)
            Nearest of `rows`.
        distances : ndarray of shape (n_samples, n_neighbors)
            Distances of the nearest others, in increasing order.
        """
        n_samples, k = X.shape[0], self.n_neighbors
        radii, nearest = np.empty(n_samples), np.empty(n_samples, dtype=np.intp)
        distances = np.empty((n_samples, k))
        for block in row_blocks(n_samples, X.shape[1] + 4 * k):
            found = self._of_block(in_units(X[block].astype(np.float64), self.exponent))
            radii[block], nearest[block], distances[block] = found
        return radii, nearest, distances

    def _of_block(self, rows):
        if sp.issparse(rows) != sp.issparse(self.rows):
            rows = rows.toarray() if sp.issparse(rows) else sp.csr_array(rows)
        n_rows, n_found = rows.shape[0], min(self.n_neighbors + 1, len(self.weights))
        neighbors = self._search.nearest(rows, n_found)
        i = np.repeat(np.arange(n_rows), n_found)
        found = pair_distances(rows, i, self.rows, neighbors.ravel()).reshape(n_rows, n_found)
        order = np.argsort(found, axis=1, kind="stable")
        found, neighbors = (np.take_along_axis(a, order, axis=1) for a in (found, neighbors))
        # 1) a sample that is one of the rows is not among the others, but its copies are
        counts = self.weights[neighbors]
        is_known = found[:, 0] == 0
        counts[is_known, 0] = np.maximum(counts[is_known, 0] - 1, 0)
        # 2) the radius that holds the others
        reached = counts.cumsum(axis=1) >= self.n_neighbors - 1e-9
        last = np.where(reached.any(axis=1), reached.argmax(axis=1), n_found - 1)
        radii = found[np.arange(n_rows), last] + TIE * found.mean(axis=1)
        # 3) the nearest others, to estimate the dimension
        others = np.where(is_known[:, None], np.roll(found, -1, axis=1), found)
        return radii, neighbors[:, 0], others[:, : self.n_neighbors]

    @cached_property
    def _search(self):
        return ExactSearch(self.rows, n_jobs=None)

    def _relative(self, radii, clusters):
        """Radii over the scales of clusters; where all samples are equal, others are far away."""
        scales = self.scales[clusters]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(radii > 0, radii / scales, 0.0)

    def __getstate__(self):
        """What is saved: the search is made again."""
        return {name: value for name, value in vars(self).items() if name != "_search"}


# --- limits -------------------------------------------------------------------------------------


def limit_of_share(scores, weight, most):
    """Limit above which the largest scores lie whose samples weigh no more than `most`.

    Samples of equal scores are on the same side. The limit lies between two scores, as far from
    either, so that rounding moves no sample across it.
    """
    order = np.argsort(-scores, kind="stable")
    values, weighs = scores[order], np.cumsum(weight[order])
    count = int(np.searchsorted(weighs, most * (1 + 1e-12), side="right"))
    while 0 < count < len(values) and values[count - 1] == values[count]:
        count -= 1
    if count in (0, len(values)):
        return np.inf
    above, below = values[count - 1], values[count]
    if np.isinf(above):
        return float(below)
    between = np.sqrt(above) * np.sqrt(below)
    return float(between if below <= between < above else below)


def limit_of_tail(scores, weight, dimension, n_neighbors, n_distinct, *, sure=SURE):
    r"""Limit beyond which next to nothing of a Gaussian cluster would lie.

    The radius of k neighbours estimates the density :math:`p` of samples in :math:`m` dimensions,
    :math:`\log r = -\frac1m \log p + const`, and :math:`-2 \log p` has the distribution
    :math:`\chi^2_m` in a Gaussian cluster. So the quartiles of its scores determine any quantile.
    Evenly distributed samples have the smallest spread, that of the error :math:`1 / (m \sqrt k)`
    of the estimate.

    Many outliers would raise the quartiles and so hide themselves. Therefore the quartiles are
    first those of the lower half of the scores, which gives too low a limit, then those of all
    scores below that limit, and so on, until none is added. Half a per cent of a Gaussian lies
    beyond the limit, or a fifth of the share of the samples that do, minus what chance explains,
    if that is more: among many outliers a few mistakes matter little.

    Parameters
    ----------
    scores, weight : ndarray of shape (n_samples,)
        Scores of samples and their weights.
    dimension : float
        Number of dimensions m that the samples fill.
    n_neighbors : int
        Number of neighbours k.
    n_distinct : int
        Number of distinct samples.
    sure : float, default=0.5
        Share of the samples that the first quartiles are of.

    Returns
    -------
    limit : float
    """
    positive = scores > 0
    if not positive.any():
        return np.inf
    order = np.argsort(scores[positive], kind="stable")
    logs, weighs = np.log(scores[positive][order]), np.cumsum(weight[positive][order])
    total = float(weighs[-1])
    error = norm.ppf(0.75) / (dimension * np.sqrt(n_neighbors))
    lower, middle, upper = chi2.ppf([0.25, 0.5, 0.75], dimension)
    least = error / (upper - middle)
    inside = sure * total
    while True:
        first, third = logs[np.searchsorted(weighs, np.array([0.25, 0.75]) * inside * (1 - 1e-12))]
        if np.isinf(third):  # of clusters of equal samples, which have no typical distance
            return np.inf
        beyond = 1 - inside / total
        tail = max(TAIL, MOST_WRONG * (beyond - DEVIATIONS * np.sqrt(beyond / n_distinct)))
        scale = max((third - first) / (upper - lower), least)
        limit = third + scale * (chi2.isf(tail, dimension) - upper)
        count = int(np.searchsorted(logs, limit, side="right"))
        if count == 0 or weighs[count - 1] <= inside:
            return float(np.exp(limit))
        inside = float(weighs[count - 1])


def intrinsic_dimension(distances, weight):
    """Dimension in which samples lie, by the distances of their neighbours; at least one.

    E. Levina, P. Bickel, "Maximum likelihood estimation of intrinsic dimension", NIPS 2004, with
    the inverse of the mean over samples, as D. MacKay and Z. Ghahramani proposed.
    """
    if distances.shape[1] < 2:
        return np.inf
    far = distances[:, -1] > 0
    near = np.where(distances[far, :-1] > 0, distances[far, :-1], np.nan)
    with np.errstate(invalid="ignore"):
        logs = np.log(distances[far, -1:] / near)
    known = np.isfinite(logs)
    weights = known * weight[far][:, None]
    total = float((np.where(known, logs, 0.0) * weights).sum())
    return max(1.0, float(weights.sum()) / total) if total > 0 else np.inf


def quantile(values, share, weight):
    """Least value that a share of the weight does not exceed, the same for repeated values."""
    return float(np.quantile(values, share, weights=weight, method="inverted_cdf"))
