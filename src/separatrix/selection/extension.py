"""From the samples that candidates saw to all others."""

from dataclasses import dataclass

import numpy as np
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors

__all__ = ["Frame", "NeighborVote"]
# Principal components that stand for more features than this.
MAX_FEATURES = 50
# Neighbours that label a new sample.
N_VOTERS = 5


# --- the vote of neighbours ---------------------------------------------------------------------


@dataclass(frozen=True)
class NeighborVote:
    """Labels and vote shares of new samples, from the nearest samples that have them.

    Neighbours weigh by their inverse squared distance, so that a sample that has a label keeps
    it, unless there are equal ones with another.
    """

    search: NearestNeighbors
    labels: np.ndarray
    shares: np.ndarray

    @classmethod
    def of(cls, X, labels, shares):
        """Let samples vote."""
        n_neighbors = min(N_VOTERS, len(X))
        return cls(NearestNeighbors(n_neighbors=n_neighbors).fit(X), labels, shares)

    def __call__(self, X, *others):
        """Labels and confidence of samples, and their labels by other labels of the voters."""
        distances, voters = self.search.kneighbors(X)
        # what the distance of a sample to itself may be after rounding
        nearest = np.sqrt(np.finfo(float).eps) * (1 + np.abs(X).max(axis=1, keepdims=True))
        weights = 1 / np.maximum(distances, nearest) ** 2
        weights /= weights.sum(axis=1, keepdims=True)

        def elected(labels):
            votes = np.zeros((len(X), self.shares.shape[1]))
            for voter, weight in zip(voters.T, weights.T, strict=True):
                votes[np.arange(len(X)), labels[voter]] += weight
            return votes.argmax(axis=1).astype(np.int32)

        labels = elected(self.labels)
        confidence = np.einsum("ij,ij->i", weights, self.shares[voters, labels[:, None]])
        return labels, np.minimum(confidence, 1.0), *map(elected, others)


@dataclass(frozen=True)
class Frame:
    """Samples about their mean, in units of their spread, on the first principal components.

    Place and unit matter to no candidate, only to rounding; many features matter to their time.
    """

    mean: np.ndarray
    axes: np.ndarray | None
    scale: float

    @classmethod
    def of(cls, X):
        """Frame of samples."""
        mean, axes = X.mean(axis=0), None
        spread = float(np.abs(X - mean).max()) or 1.0  # its square might be too large
        scale = spread * float(np.sqrt(np.mean(((X - mean) / spread) ** 2))) or 1.0
        if X.shape[1] > MAX_FEATURES:
            n_components = min(MAX_FEATURES, len(X))
            pca = PCA(n_components, svd_solver="full").fit((X - mean) / scale)
            axes = pca.components_.T
        return cls(mean, axes, scale)

    def __call__(self, X):
        """Samples in this frame."""
        placed = (X - self.mean) / self.scale
        return placed if self.axes is None else placed @ self.axes
