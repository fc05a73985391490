"""Clusters of all samples, by a boundary between those that candidates saw."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.isotonic import IsotonicRegression

from separatrix._sklearn import like, namespace_of, to_numpy
from separatrix.data.rows import answers, exactly_beside, rows_beside, with_values_at
from separatrix.models.extensions import Extension
from separatrix.result import Labelling, decoded, renumbered

__all__ = ["Assignment", "LazyAssignment", "columns_of_rows", "labels_of_rows"]


# --- what a boundary says of rows ---------------------------------------------------------------


def columns_of_rows(function, X, n_clusters):
    """What a function of a boundary makes of all samples, lazily for a dask array."""
    return answers(function, X, n_columns=n_clusters)


def labels_of_rows(boundary, X):
    """Clusters of all samples by a boundary, lazily for a dask array."""
    return answers(boundary.labels, X, dtype=np.int32)


# --- all samples --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Assignment:
    """Samples in memory or on a device, and the clusters that a boundary gives them there."""

    boundary: Extension
    X: Any
    labels: Any
    probabilities: Any

    @classmethod
    def of(cls, boundary, X):
        """What a boundary makes of the samples."""
        probabilities = boundary.probabilities(X)
        return cls(boundary, X, decoded(probabilities), probabilities)

    def renumbered(self, order):
        """The same clusters, number i being what was number `order[i]`."""
        xp, _ = namespace_of(self.probabilities)
        return Assignment(
            self.boundary.renumbered(order),
            self.X,
            renumbered(self.labels, order),
            xp.take(self.probabilities, exactly_beside(order, self.X), axis=1),
        )

    def lacks_clusters(self, weight):
        """Whether a cluster has no sample."""
        return Labelling(self.labels, self.probabilities.shape[1]).empty.any()

    def in_memory(self, seen, election):
        """Samples that are in memory, or on a device, and their clusters."""
        return self.X, self.labels

    def confidence(self, seen, election, labels):
        """Vote share of each sample's cluster, which final labels name.

        Samples that the candidates did not see get the share of those that the boundary assigns
        with the same confidence.
        """
        own = to_numpy(rows_beside(labels, seen.indices))
        voted = election.shares[np.arange(len(own)), own]
        if len(voted) == self.X.shape[0]:
            return voted
        sureness = namespace_of(self.probabilities)[0].max(self.probabilities, axis=1)
        rising = rising_shares(to_numpy(rows_beside(sureness, seen.indices)), voted)
        return with_values_at(interpolated(rising, sureness), seen.indices, voted)


@dataclass(frozen=True)
class LazyAssignment:
    """The same for samples that are not in memory together."""

    boundary: Extension
    X: Any
    labels: Any

    @classmethod
    def of(cls, boundary, X):
        """What a boundary makes of the samples, when it is asked for."""
        return cls(boundary, X, labels_of_rows(boundary, X))

    def renumbered(self, order):
        """The same clusters, number i being what was number `order[i]`."""
        return LazyAssignment.of(self.boundary.renumbered(order), self.X)

    def lacks_clusters(self, weight):
        """Whether a cluster has no weight."""
        return Labelling(self.labels, len(self.boundary.order), weight).empty.any()

    def in_memory(self, seen, election):
        """Samples that are in memory, and their clusters."""
        return seen.rows, election.labels

    def confidence(self, seen, election, labels):
        """Vote share of each sample's cluster, when it is asked for."""
        return answers(ConfidenceOfRows.of(self.boundary, seen.rows, election), self.X)


# --- confidence ---------------------------------------------------------------------------------


def rising_shares(sureness, shares):
    """Vote shares as a rising function of how sure a boundary is."""
    rising = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    return rising.fit(sureness, shares)


def interpolated(rising, values):
    """Predictions of a rising function, which are linear between its thresholds."""
    if isinstance(values, np.ndarray):
        return rising.predict(values)
    xp, _ = namespace_of(values)
    x, y = (like(one, values) for one in (rising.X_thresholds_, rising.y_thresholds_))
    above = xp.searchsorted(x, values)
    low = xp.where(above > 0, above - 1, 0)
    high = xp.where(above < x.shape[0], above, x.shape[0] - 1)
    start, end = xp.take(x, low), xp.take(x, high)
    share = xp.where(end > start, (values - start) / xp.where(end > start, end - start, 1.0), 0.0)
    return xp.take(y, low) + share * (xp.take(y, high) - xp.take(y, low))


@dataclass(frozen=True)
class ConfidenceOfRows:
    """Vote shares of samples that are not in memory together, as a function of some of them."""

    boundary: Extension
    rising: IsotonicRegression
    shares: np.ndarray  # of the samples that the candidates saw

    @classmethod
    def of(cls, boundary, rows, election):
        """That of a boundary, from the votes for the clusters of the rows that were seen."""
        sureness = boundary.probabilities(rows).max(axis=1)
        shares = election.own_shares
        return cls(boundary, rising_shares(sureness, shares), shares)

    def __call__(self, rows):
        confidence = self.rising.predict(self.boundary.probabilities(rows).max(axis=1))
        places = self.boundary.known.match(rows)
        return np.where(places >= 0, self.shares[places], confidence)
