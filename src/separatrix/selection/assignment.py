"""Clusters of all samples, by a boundary between those that candidates saw."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.isotonic import IsotonicRegression

from separatrix.data.rows import answers, in_doubles
from separatrix.models.extensions import Extension
from separatrix.result import Labelling, renumbered

__all__ = ["Assignment", "LazyAssignment", "columns_of_rows", "labels_of_rows"]


# --- what a boundary says of rows ---------------------------------------------------------------


def _of_doubles(rows, *, function):
    return function(in_doubles(rows))


def columns_of_rows(function, X, n_clusters):
    """What a function of a boundary makes of all samples, lazily for a dask array."""
    of_rows = partial(_of_doubles, function=function)
    return answers(of_rows, X, n_columns=n_clusters)


def labels_of_rows(boundary, X):
    """Clusters of all samples by a boundary, lazily for a dask array."""
    return answers(partial(_of_doubles, function=boundary.labels), X, dtype=np.int32)


# --- all samples --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Assignment:
    """Samples in memory, and the clusters that a boundary gives them."""

    boundary: Extension
    X: np.ndarray
    labels: np.ndarray
    probabilities: np.ndarray

    @classmethod
    def of(cls, boundary, X):
        """What a boundary makes of the samples."""
        probabilities = boundary.probabilities(X)
        return cls(boundary, X, probabilities.argmax(axis=1).astype(np.int32), probabilities)

    def renumbered(self, order):
        """The same clusters, number i being what was number `order[i]`."""
        return Assignment(
            self.boundary.renumbered(order),
            self.X,
            renumbered(self.labels, order),
            self.probabilities[:, order],
        )

    def lacks_clusters(self, weight):
        """Whether a cluster has no sample."""
        return len(np.unique(self.labels)) < self.probabilities.shape[1]

    def in_memory(self, seen, election):
        """Samples that are in memory, and their clusters."""
        return self.X, self.labels

    def confidence(self, seen, election, labels):
        """Vote share of each sample's cluster, which final labels name.

        Samples that the candidates did not see get the share of those that the boundary assigns
        with the same confidence.
        """
        voted = election.shares[np.arange(len(seen.indices)), labels[seen.indices]]
        if len(voted) == len(labels):
            return voted
        sureness = self.probabilities.max(axis=1)
        confidence = rising_shares(sureness[seen.indices], voted).predict(sureness)
        confidence[seen.indices] = voted
        return confidence


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
        rows = in_doubles(rows)
        confidence = self.rising.predict(self.boundary.probabilities(rows).max(axis=1))
        places = self.boundary.known.match(rows)
        return np.where(places >= 0, self.shares[places], confidence)
