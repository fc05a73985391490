"""Clusters of new samples by the nearest training sample."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix._sklearn import is_numpy, to_numpy
from separatrix.data.distinct import KnownRows
from separatrix.data.rows import exactly_beside
from separatrix.result import decoded, renumbered
from separatrix.similarity.neighbors import distance_blocks


def exponent_of(X):
    """Power of two that samples are divided by, so that no square overflows."""
    values = X.data if sp.issparse(X) else X
    return int(np.frexp(np.abs(values).max(initial=0.0))[1])


def in_units(X, exponent):
    """Samples divided by two to a power."""
    if not sp.issparse(X):
        return np.ldexp(X, -exponent)
    scaled = sp.csr_array(X, copy=True)
    scaled.data = np.ldexp(scaled.data, -exponent)
    return scaled


@dataclass(frozen=True, eq=False)
class NearestSample:
    """Clusters of new samples by the nearest training sample.

    Attributes
    ----------
    n_clusters : int
        Number of clusters.
    rows : ndarray of shape (n_rows, n_features)
        Distinct training samples, divided by two to the power `exponent`.
    radii : ndarray of shape (n_rows,)
        Least distance at which each of them counts as near, in the same units.
    clusters : ndarray of int of shape (n_rows,)
        Their clusters.
    exponent : int
        The units.
    known : KnownRows
        The same rows as they were given.
    """

    n_clusters: int
    rows: Any = None
    radii: Any = None
    clusters: Any = None
    exponent: int = 0
    known: Any = None

    @classmethod
    def of_distinct(cls, rows):
        """The model in which each of some distinct rows is a cluster."""
        exponent, n_rows = exponent_of(rows), len(rows)
        scaled = in_units(np.asarray(rows, dtype=np.float64), exponent)
        clusters = np.arange(n_rows, dtype=np.int32)
        return cls(n_rows, scaled, np.zeros(n_rows), clusters, exponent, KnownRows.of(rows))

    def scores(self, X):
        """Minus the distance of each cluster; for two clusters the difference."""
        if not is_numpy(X):  # there are few distinct rows
            return exactly_beside(self.scores(to_numpy(X)), X)
        n_new = X.shape[0]
        if self.n_clusters == 1:
            return np.zeros(n_new)
        distances = np.full((n_new, self.n_clusters), np.inf)
        order = np.argsort(self.clusters, kind="stable")
        present, starts = np.unique(self.clusters[order], return_index=True)
        rows = self.rows[order]
        rows = sp.csr_array(rows) if sp.issparse(X) else rows
        for new, found in distance_blocks(in_units(X, self.exponent), rows):
            found = np.maximum(found, self.radii[order])
            distances[new, present] = np.minimum.reduceat(found, starts, axis=1)
        same = self.known.match(X)
        equal = np.flatnonzero(same >= 0)
        distances[equal, self.clusters[same[equal]]] = 0.0
        scores = -np.ldexp(distances, self.exponent)
        return scores[:, 1] - scores[:, 0] if self.n_clusters == 2 else scores

    def labels(self, X):
        """Clusters of samples."""
        return decoded(self.scores(X))

    def predict_proba(self, X):
        """Probabilities of clusters: one for that of the nearest sample."""
        return exactly_beside(np.eye(self.n_clusters)[to_numpy(self.labels(X))], X)

    def forgetting(self, X):
        """The model of the other samples, or all of it if there are none."""
        places = self.known.match(X)
        kept = np.setdiff1d(np.arange(len(self.clusters)), places[places >= 0])
        if len(kept) == 0:
            return self
        return replace(
            self,
            rows=self.rows[kept],
            radii=self.radii[kept],
            clusters=self.clusters[kept],
            known=self.known.subset(kept),
        )

    def renumbered(self, order):
        """The model whose cluster i was cluster `order[i]`."""
        return replace(self, clusters=renumbered(self.clusters, order))
