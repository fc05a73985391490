"""Two clusters within bounds on their sizes, by scores that do not tell which of them is which."""

from dataclasses import dataclass

import numpy as np

from separatrix.labels.sizes import ROUNDING, bounded_threshold, size_bounds

__all__ = ["SplitBounds", "bounds_of_splits"]


@dataclass(frozen=True)
class SplitBounds:
    """Least and most weight of two clusters, and what scores say of clusters within them.

    Attributes
    ----------
    least, most : ndarray of shape (2,)
        Bounds of the weights, which some weights of the given total meet.
    total : float
        The weight of both clusters.
    """

    least: np.ndarray
    most: np.ndarray
    total: float

    @property
    def balance(self):
        """Largest difference of both weights, as a share of their total."""
        largest = np.minimum(self.most, self.total - self.least[::-1])
        return float(np.abs(2 * largest - self.total).max() / self.total)

    def met_by(self, signs, weight=None):
        """Whether the clusters of negative and of positive signs are within the bounds."""
        weight = np.ones(len(signs)) if weight is None else weight
        sizes = np.array([weight[signs <= 0].sum(), weight[signs > 0].sum()])
        slack = ROUNDING * self.total
        return bool(((self.least - slack <= sizes) & (sizes <= self.most + slack)).all())

    def cut(self, scores, weight=None, *, loss):
        """How to turn scores, 1 or -1, and the threshold of least loss within the bounds.

        The second cluster is where the turned scores exceed the threshold. Where equal scores
        leave no threshold within the bounds, it is the score that they have.
        """
        bounds = {"least": self.least, "most": self.most, "of_weights": True}
        cuts = {
            turn: bounded_threshold(turn * scores, weight, loss=loss, **bounds) for turn in (1, -1)
        }
        turn = min(cuts, key=lambda turn: (not cuts[turn].within, cuts[turn].loss))
        return turn, cuts[turn].threshold

    def signs(self, scores, weight=None):
        """Labels, -1 or 1, nearest to scores of the size of labels or to their opposites."""
        turn, threshold = self.cut(scores, weight, loss="square")
        return np.where(turn * scores > threshold, 1.0, -1.0)

    def shift(self, values, weight=None):
        """How to turn values, and what to add, so that their signs are within the bounds."""
        for turn in (1, -1):
            if self.met_by(turn * values, weight):
                return turn, 0.0
        turn, threshold = self.cut(values, weight, loss="hinge")
        return turn, -threshold


def bounds_of_splits(estimator, n_samples, total):
    """What bounds on the sizes of clusters say of splits in two.

    Of the halves of a split that are split again, they only say that none may have less than the
    smallest cluster.

    Parameters
    ----------
    estimator : BaseClustering
        The estimator that has the bounds.
    n_samples : int
        Number of all samples.
    total : float
        Their weight.

    Returns
    -------
    bounds : callable
        ``bounds(weight)`` are the SplitBounds of samples of this weight; None without bounds.
    """
    sizes, unit = estimator._sizes_in_bounds(n_samples), total / n_samples
    if sizes is None:
        return lambda weight: None
    if estimator.n_clusters == 2:
        return lambda weight: SplitBounds(unit * sizes.least, unit * sizes.most, weight)
    bounds = (n_samples, estimator.n_clusters, estimator.min_size, estimator.max_size)
    smallest = size_bounds(*bounds)[0].min()
    balance = getattr(estimator, "balance", 1.0)

    def of_part(weight):
        uneven = max(balance * weight, unit)  # odd numbers differ by one sample
        least = max((weight - uneven) / 2, min(unit * smallest, weight / 2), 0.0)
        return SplitBounds(np.full(2, least), np.full(2, weight - least), weight)

    return of_part
