"""Samples as the machines of maximum margin clustering see them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.data.chunks import beside, features_of
from separatrix.data.sampling import sample_rows, sample_size
from separatrix.labels.links import Links
from separatrix.models.partition import Labelling
from separatrix.solvers.ridge import FeatureRidge, KernelRidge

__all__ = ["FeatureBasis", "KernelBasis", "MarginProblem", "start_rows"]
# Numbers up to which a matrix is small.
SMALL = 2**20


# --- the problem --------------------------------------------------------------------------------


def start_rows(samples, sample_weight, rng):
    """Samples that starts are found on, and their weights."""
    return sample_rows(samples, sample_weight, size=sample_size(samples.shape[0]), rng=rng)


@dataclass(frozen=True)
class FeatureBasis:
    """Features of the samples that ridge regression runs on.

    Attributes
    ----------
    Z : {array, sparse matrix, dask array} of shape (n_samples, n_features)
        The features.
    shift : ndarray of shape (n_features,)
        A point inside them, zero if they are sparse.
    feature_map : callable or None
        Map of samples to the features; None if they are the features of the samples themselves.
    to_coef : callable or None
        Map of weights of the features to normals; None if they are the same.
    """

    Z: Any
    shift: np.ndarray
    feature_map: Any = None
    to_coef: Any = None

    @classmethod
    def of(cls, X, rows, row_weight, feature_map=None, to_coef=None):
        """Features of all samples `X`, of which `rows` are some."""
        Z = features_of(X, feature_map)
        some = slice(None, 1_000)  # enough for a point inside the features
        rows, row_weight = rows[some], None if row_weight is None else row_weight[some]
        rows = features_of(rows, feature_map)
        if sp.issparse(rows):  # a sparse matrix cannot be shifted
            return cls(Z, np.zeros(Z.shape[1]), feature_map, to_coef)
        shift = np.average(rows, axis=0, weights=row_weight).astype(np.float64)
        return cls(Z, shift, feature_map, to_coef)

    def ridge(self, sample_weight):
        """Ridge regression on the features."""
        return FeatureRidge(self.Z, sample_weight, shift=self.shift, to_coef=self.to_coef)

    def rows(self, sample_weight):
        """All rows take part, those without weight too, at no weight."""
        return None


@dataclass(frozen=True)
class KernelBasis:
    """Kernel matrix of the samples that ridge regression runs on.

    Attributes
    ----------
    K : ndarray of shape (n_samples, n_samples)
        The matrix.
    X : {ndarray, sparse matrix} of shape (n_samples, n_features) or None
        The samples of a linear kernel, whose normals are weights of features.
    """

    K: np.ndarray
    X: Any

    def ridge(self, sample_weight):
        """Ridge regression in the span of the kernel at the samples of positive weight."""
        rows = self.rows(sample_weight)
        if rows is None:
            return KernelRidge(self.K, sample_weight, to_coef=self._to_coef)

        def to_coef(alpha):
            everywhere = np.zeros(len(self.K))
            everywhere[rows] = alpha
            return self._to_coef(everywhere)

        return KernelRidge(self.K[np.ix_(rows, rows)], sample_weight[rows], to_coef=to_coef)

    def rows(self, sample_weight):
        """Rows that take part; None if all do."""
        if sample_weight is None or (sample_weight > 0).all():
            return None
        return np.flatnonzero(sample_weight)

    def _to_coef(self, alpha):
        return alpha if self.X is None else self.X.T @ alpha


@dataclass(frozen=True)
class MarginProblem:
    """Samples with all that is computed of them once.

    Attributes
    ----------
    samples : {array, sparse matrix, dask array}
        The samples, which starts are found on.
    X : {array, sparse matrix, dask array}
        The features that boundaries live in.
    sample_weight : array of shape (n_samples,) or None
        Nonnegative weights, in the namespace of `X`.
    basis : FeatureBasis or KernelBasis
        What ridge regression runs on.
    ridge : FeatureRidge or KernelRidge
        Ridge regression with the weights of this problem.
    rows, row_weight : ndarray or sparse matrix, ndarray or None
        Samples that starts are found on, and their weights.
    links : Links or None
        Links between the samples.
    """

    samples: Any
    X: Any
    sample_weight: Any
    basis: Any
    ridge: Any
    rows: Any
    row_weight: Any
    links: Links | None = None

    @classmethod
    def of(cls, samples, X, sample_weight, basis, rows, row_weight):
        """Factor what the basis holds."""
        ridge = basis.ridge(sample_weight)
        return cls(samples, X, sample_weight, basis, ridge, rows, row_weight)

    def check_varies(self):
        """Return self, but refuse constant data."""
        if not self.varies:
            raise ValueError(
                "X is constant to the kernel: its samples do not differ beyond rounding in the "
                "kernel's space, so no boundary can separate clusters. Check that X holds the "
                "features; if they differ little, scale them up or use a larger gamma."
            )
        return self

    def restricted(self, weights, rng):
        """The problem of the samples of positive weight alone."""
        weights = beside(weights, self.X)
        rows = start_rows(self.samples, weights, rng)
        return MarginProblem.of(self.samples, self.X, weights, self.basis, *rows)

    @property
    def varies(self):
        """Whether there is anything to split."""
        return self.ridge.scatter > 0

    def scatter(self, whole):
        """Summed squared distances of the samples from their mean."""
        return self.ridge.scatter

    @property
    def is_small(self):
        """Whether products with what ridge regression runs on are a matter of microseconds."""
        basis = self.basis
        numbers = basis.Z if isinstance(basis, FeatureBasis) else basis.K
        return isinstance(numbers, np.ndarray) and numbers.size <= SMALL

    @property
    def is_sampled(self):
        """Whether the problem can and should be solved on a sample of the rows first."""
        n_samples = self.samples.shape[0]
        return isinstance(self.basis, FeatureBasis) and n_samples > sample_size(n_samples)

    def sampled(self, rng):
        """The problem of the sampled rows alone, which weigh as much as all."""
        share = self.ridge.weight / self.rows.shape[0]
        weights = np.full(self.rows.shape[0], share)
        basis = FeatureBasis.of(
            self.rows, self.rows, None, self.basis.feature_map, self.basis.to_coef
        )
        rows = start_rows(self.rows, weights, rng)
        return MarginProblem.of(self.rows, basis.Z, weights, basis, *rows)

    def partition(self, n_clusters):
        """A labelling of the rows that is yet to be assigned."""
        return Labelling(self.X, self.sample_weight, n_clusters=n_clusters)
