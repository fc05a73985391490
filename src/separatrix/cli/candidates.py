"""The candidates of AutoClustering, each by itself, under the names that `compare` shows."""

from dataclasses import replace

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.data.frames import Frame
from separatrix.data.gate import check_samples
from separatrix.models.extensions import Extension
from separatrix.result import Labelling, renumbered
from separatrix.selection.pool import default_candidates
from separatrix.similarity.geometry import Geometry

__all__ = ["CandidateClustering", "candidate_named", "candidates", "seeded"]

MAX_SAMPLES = 3_000  # as many as AutoClustering gives its candidates


def candidates():
    """Candidates by name."""
    return default_candidates("thorough")


def candidate_named(name):
    """The exact name of a candidate, or None; capitals and spaces do not matter."""
    plain = {one.lower().replace(" ", "-"): one for one in candidates()}
    return plain.get(name.lower().replace(" ", "-"))


def seeded(name, seed):
    """A candidate that finds the same clusters whatever else runs."""
    found = candidates()[name]

    def labels(geometry, n_clusters, rng, **given):
        return found.labels(geometry, n_clusters, np.random.RandomState(seed), **given)

    return replace(found, labels=labels)


class CandidateClustering(ClusterMixin, BaseEstimator):
    """One of the candidates of AutoClustering by itself.

    Samples beyond 3,000 get their labels by AutoClustering's rule for other samples.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
    candidate : str, default="k-means"
        Name of the candidate.
    random_state : int, default=0
        Seed of the candidate and of the samples that it uses.
    """

    def __init__(self, n_clusters=2, *, candidate="k-means", random_state=0):
        self.n_clusters = n_clusters
        self.candidate = candidate
        self.random_state = random_state

    def fit(self, X, y=None):
        """Run the candidate."""
        X = check_samples(self, X, reset=True, dtype=np.float64, sparse=False, scale_free=True)
        if len(X) < self.n_clusters:
            raise ValueError(
                f"n_samples={len(X)} should be >= n_clusters={self.n_clusters}; ask for fewer."
            )
        rng = np.random.RandomState(self.random_state)
        drawn = np.sort(rng.permutation(len(X))[:MAX_SAMPLES])
        frame = Frame.of(X[drawn])
        geometry = Geometry(frame(X[drawn]))
        geometry.prepare(self.n_clusters)
        one = seeded(self.candidate, self.random_state)
        labels = np.unique(one.labels(geometry, self.n_clusters, rng), return_inverse=True)[1]
        labels = renumbered(labels, Labelling(labels, self.n_clusters).order)
        self.boundary_ = Extension.of(frame, X[drawn], labels, self.n_clusters, rng)
        self.labels_ = self.boundary_.labels(X)
        return self

    def predict(self, X):
        """Cluster of each sample."""
        check_is_fitted(self)
        X = check_samples(self, X, reset=False, dtype=np.float64, sparse=False, scale_free=True)
        return self.boundary_.labels(X)
