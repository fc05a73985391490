"""Samples about their mean, in units of their spread."""

from dataclasses import dataclass

import numpy as np
from sklearn.decomposition import PCA

__all__ = ["Frame"]

# More features than this are replaced by as many principal components.
MAX_FEATURES = 50


@dataclass(frozen=True)
class Frame:
    """Samples about their mean, in units of their spread, on the first principal components.

    Place and unit do not matter to candidates, except for rounding; many features cost them time.
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
            pca = PCA(n_components, svd_solver="full")
            with np.errstate(divide="ignore", invalid="ignore"):  # samples may all be equal
                axes = pca.fit((X - mean) / scale).components_.T
        return cls(mean, axes, scale)

    def __call__(self, X):
        """Samples in this frame."""
        placed = (X - self.mean) / self.scale
        return placed if self.axes is None else placed @ self.axes

    def inverse(self, placed):
        """Samples at these places, as far as the components determine them."""
        spread = placed if self.axes is None else placed @ self.axes.T
        return spread * self.scale + self.mean
