r"""Ridge regression with an intercept, repeated on the same samples.

For targets v, weights s and a strength C

.. math:: \min_{w, b} \; \tfrac12 \|w\|^2 + \tfrac C2 \sum_i s_i (w^\top x_i + b - v_i)^2.

A criterion solves this for many targets, so what depends on the samples alone is done once: an
eigendecomposition of the scatter matrix where samples have few features (`FeatureRidge`), or a
Cholesky factor of the kernel matrix for each C (`KernelRidge`).
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cholesky, eigh
from scipy.linalg.blas import dsymm, dsymv, dtrsm, dtrsv
from scipy.linalg.lapack import dpotri

from separatrix._sklearn import like, namespace_of, one_blas_thread, to_numpy
from separatrix.data.distinct import row_hashes
from separatrix.data.moments import total_moments
from separatrix.data.rows import beside, features_of, join_rows, map_chunks
from separatrix.models.boundaries import Boundaries
from separatrix.models.starts import (
    LINEAR,
    SampledProblem,
    distinct_sample,
    drawn_rows,
    taught_weight,
)
from separatrix.result import Labelling
from separatrix.similarity.kernels import constant_to_kernel, indefinite_kernel

SOLVES_BEFORE_INVERSE = 20
# Columns that are solved for one after the other in less time than together.
FEW_COLUMNS = 10
# Numbers up to which a matrix is small.
SMALL = 2**20


@dataclass(frozen=True)
class RidgeModel:
    """A fitted function of the samples.

    Attributes
    ----------
    coef : ndarray of shape (n_features,) or (n_samples,)
        Weights of the features, or of the kernel at each sample.
    intercept : float
        Offset.
    norm : float
        Squared norm of w.
    """

    coef: np.ndarray
    intercept: float
    norm: float


@one_blas_thread
def _eigh(matrix):
    return eigh(matrix)


def _sums_of_chunk(X, targets, weight):
    """Sums of targets times samples, and of targets."""
    xp, _ = namespace_of(targets)
    if weight is not None:
        targets = targets * (weight if targets.ndim == 1 else weight[:, None])
    return to_numpy(X.T @ targets), to_numpy(xp.sum(targets, axis=0))


def _fitted_chunk(X, *, coef, intercept):
    values = X @ (coef if sp.issparse(X) else like(coef, X))
    return values + (intercept if np.ndim(intercept) == 0 else like(intercept, values))


class FeatureRidge:
    """Ridge regression on features; every strength comes from one eigendecomposition.

    Parameters
    ----------
    X : {array, sparse matrix, dask array} of shape (n_samples, n_features)
        The features.
    sample_weight : array of shape (n_samples,) or None
        Nonnegative weights, in the namespace of `X`.
    shift : ndarray of shape (n_features,)
        A point inside the data, zero for a sparse `X`.
    to_coef : callable, default=None
        Maps weights of the features to weights of those that boundaries live in; None if these
        are the same.

    Attributes
    ----------
    mean : ndarray of shape (n_features,)
        Mean of the samples.
    scatter_matrix : ndarray of shape (n_features, n_features)
        Weighted sum of outer products of the samples less their mean.
    weight : float
        Total weight.
    """

    def __init__(self, X, sample_weight, *, shift, to_coef=None):
        self.X = X
        self.sample_weight = sample_weight
        self.dtype = X.dtype
        self._to_coef = to_coef
        total = total_moments(X, sample_weight, shift=shift)
        self.weight = total.weight
        self.mean = total.mean + shift
        self.scatter_matrix = total.weight * total.covariance
        self._eigenvalues, self._eigenvectors = _eigh(self.scatter_matrix)
        # rounding errors along a direction without spread do not count as spread
        rounding = 100 * np.finfo(np.float64).eps
        error = np.sum(rounding * total.mean**2 + (rounding * self.mean) ** 2)
        self._eigenvalues[self._eigenvalues <= total.weight * error] = 0.0

    @property
    def scatter(self):
        """Summed squared distances of the samples from their mean."""
        return float(self._eigenvalues.sum())

    def constant(self, value):
        """The model that has one value at all samples."""
        return RidgeModel(np.zeros(len(self.mean)), value, 0.0)

    def solve(self, targets, C):
        """The model of least regularised squares at strength `C`."""
        (model,) = self._solved(targets, C)
        return model

    def _solved(self, targets, C):
        """The models of the targets, one for each column if there are several."""
        parts = map_chunks(_sums_of_chunk, self.X, targets, self.sample_weight, width=1)
        sums, totals = zip(*parts, strict=True)
        total = np.asarray(sum(totals), dtype=np.float64).reshape(-1)
        first = np.asarray(sum(sums), dtype=np.float64).reshape(len(self.mean), -1)
        active = self._eigenvalues > 0
        rotated = self._eigenvectors.T @ (first - np.outer(self.mean, total))
        rotated[active] /= (self._eigenvalues[active] + 1 / C)[:, None]
        rotated[~active] = 0.0
        coefs = np.ascontiguousarray((self._eigenvectors @ rotated).T)
        intercepts = total / self.weight - coefs @ self.mean
        return [
            RidgeModel(coef, float(intercept), float(coef @ coef))
            for coef, intercept in zip(coefs, intercepts, strict=True)
        ]

    def fitted(self, model):
        """Values of the model at all samples."""
        return join_rows(
            map_chunks(_fitted_chunk, self.X, coef=model.coef, intercept=model.intercept, width=1)
        )

    def fit(self, targets, C):
        """The model of least regularised squares at strength `C`, and its fitted values."""
        model = self.solve(targets, C)
        return model, self.fitted(model)

    def fit_columns(self, targets, C):
        """The same for each column of the targets, in two passes for all of them."""
        models = self._solved(targets, C)
        parts = map_chunks(
            _fitted_chunk,
            self.X,
            coef=np.array([model.coef for model in models]).T,
            intercept=np.array([model.intercept for model in models]),
            width=len(models),
        )
        return models, join_rows(parts)

    def boundary(self, model):
        """Normal and offset of the model in the features of the boundaries."""
        coef = model.coef if self._to_coef is None else self._to_coef(model.coef)
        return coef, model.intercept


class KernelRidge:
    """Ridge regression in the span of a kernel, on all of its matrix.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        Kernel matrix of the samples.
    sample_weight : ndarray of shape (n_samples,) or None
        Positive weights.
    to_coef : callable
        Maps multipliers of the samples to weights of the features that boundaries live in.
    keys : ndarray of shape (n_samples,), default=None
        Equal for equal samples, which have one value: rounding would part them otherwise.

    Attributes
    ----------
    weight : float
        Total weight.
    """

    def __init__(self, K, sample_weight, *, to_coef, keys=None):
        self.K = K
        self._first_equal = None
        if keys is not None:
            _, first, place = np.unique(keys, return_index=True, return_inverse=True)
            self._first_equal = first[place] if len(first) < len(place) else None
        self.sample_weight = sample_weight
        self.dtype = K.dtype
        self.weight = float(K.shape[0] if sample_weight is None else sample_weight.sum())
        self._to_coef = to_coef
        self._strength = None

    @cached_property
    def scatter(self):
        """Summed squared distances of the samples from their mean, in the kernel's space."""
        weight = np.ones(len(self.K)) if self.sample_weight is None else self.sample_weight
        squares = weight @ np.diag(self.K)
        spread = squares - weight @ self.K @ weight / self.weight
        return float(spread) if spread > 1e-12 * abs(squares) else 0.0

    def constant(self, value):
        """The model that has one value at all samples."""
        return RidgeModel(np.zeros(len(self.K)), value, 0.0)

    def _factor(self, C):
        """Factor K + I / (sC), unless that is the current factor."""
        if self._strength == C:
            return
        weight = 1.0 if self.sample_weight is None else self.sample_weight
        H = self.K.copy(order="F")
        # less than rounding would leave the matrix of equal samples singular
        rounding = 10 * len(H) * np.finfo(np.float64).eps * np.abs(np.diag(H)).max()
        self._lift = np.maximum(np.broadcast_to(1 / (C * weight), len(H)), rounding)
        H[np.diag_indices_from(H)] += self._lift
        try:
            self._cholesky = cholesky(H, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            raise indefinite_kernel(-np.max(self._lift), np.diag(self.K).max()) from None
        self._strength, self._inverse, self._n_solved = C, None, 0
        self._eta = self._solved(np.ones(len(H)))

    def _solved(self, right):
        """Solution of the factored system.

        The inverse costs as much as some forty solutions by the factor and makes each later one
        four times cheaper, because it streams through memory.
        """
        if right.ndim == 2 and right.shape[1] == 1:
            return self._solved(right[:, 0])[:, None]
        if right.ndim == 2 and right.shape[1] <= FEW_COLUMNS:
            return np.stack([self._solved(column) for column in right.T], axis=1)
        if right.ndim == 2:
            if self._inverse is not None:
                return dsymm(1.0, self._inverse, right, lower=1)
            half = dtrsm(1.0, self._cholesky, right, lower=1)
            return dtrsm(1.0, self._cholesky, half, lower=1, trans_a=1)
        self._n_solved += 1
        if self._n_solved > SOLVES_BEFORE_INVERSE and self._inverse is None:
            self._inverse, _ = dpotri(self._cholesky, lower=1, overwrite_c=1)
            self._cholesky = None
        if self._inverse is not None:
            return dsymv(1.0, self._inverse, right, lower=1)
        return dtrsv(self._cholesky, dtrsv(self._cholesky, right, lower=1), lower=1, trans=1)

    def fit(self, targets, C):
        """The model of least regularised squares at strength `C`, and its fitted values."""
        (model,), fitted = self.fit_columns(targets[:, None], C)
        return model, fitted[:, 0]

    def fit_columns(self, targets, C):
        """The same for each column of the targets."""
        alphas, intercepts, fitted = self.coefficients_of(targets, C)
        return self.models_of(alphas, intercepts, fitted), fitted

    def coefficients_of(self, targets, C):
        """Coefficients and intercepts of these models, in columns, and their fitted values."""
        self._factor(C)
        nu = self._solved(targets)
        intercepts = nu.sum(axis=0) / self._eta.sum()
        alphas = nu - np.outer(self._eta, intercepts)
        fitted = targets - alphas * self._lift[:, None]
        if self._first_equal is not None:
            fitted = fitted[self._first_equal]
        return alphas, intercepts, fitted

    @staticmethod
    def models_of(alphas, intercepts, fitted):
        """Models of columns that were solved for."""
        norms = (alphas * (fitted - intercepts)).sum(axis=0)
        return [
            RidgeModel(alpha, float(intercept), float(norm))
            for alpha, intercept, norm in zip(alphas.T, intercepts, norms, strict=True)
        ]

    def boundary(self, model):
        """Normal and offset of the model in the features of the boundaries."""
        return self._to_coef(model.coef), model.intercept


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
    keys : ndarray of shape (n_samples,) or None
        Equal for equal samples.
    """

    K: np.ndarray
    X: Any
    keys: np.ndarray | None = None

    @classmethod
    def of(cls, rows, kernel):
        """The basis of all rows, the features of the boundaries, and their map."""
        keys = row_hashes(rows)
        if kernel.is_linear:
            K = kernel.values(rows, rows)
            return cls(K.astype(np.float64, copy=False), rows, keys), rows, None
        feature_map = kernel.at(rows)
        K = rows if kernel.is_precomputed else feature_map(rows)
        basis = cls(K.astype(np.float64, copy=False), None, keys)
        return basis, basis.K, feature_map

    def ridge(self, sample_weight):
        """Ridge regression in the span of the kernel at the samples of positive weight."""
        rows = self.rows(sample_weight)
        if rows is None:
            return KernelRidge(self.K, sample_weight, to_coef=self._to_coef, keys=self.keys)

        def to_coef(alpha):
            everywhere = np.zeros(len(self.K))
            everywhere[rows] = alpha
            return self._to_coef(everywhere)

        keys = None if self.keys is None else self.keys[rows]
        K = self.K[np.ix_(rows, rows)]
        return KernelRidge(K, sample_weight[rows], to_coef=to_coef, keys=keys)

    def rows(self, sample_weight):
        """Rows that take part; None if all do."""
        if sample_weight is None or (sample_weight > 0).all():
            return None
        return np.flatnonzero(sample_weight)

    def _to_coef(self, alpha):
        return alpha if self.X is None else self.X.T @ alpha


# --- the problem --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class MarginProblem(SampledProblem):
    """Samples in the form that the machines of maximum margin clustering use.

    Attributes
    ----------
    samples : {array, sparse matrix, dask array}
        The samples, which starts are found on.
    basis : FeatureBasis or KernelBasis
        What ridge regression runs on.
    ridge : FeatureRidge or KernelRidge
        Ridge regression with the weights of this problem, in which known labels count more.
    """

    samples: Any
    basis: Any
    ridge: Any

    @classmethod
    def of(cls, *, sample_weight, basis, links=None, **fields):
        """Factor what the basis holds."""
        ridge = basis.ridge(taught_weight(links, sample_weight, fields["X"]))
        return cls(sample_weight=sample_weight, basis=basis, links=links, ridge=ridge, **fields)

    @property
    def taught_weight(self):
        """Weights of samples in the losses."""
        return taught_weight(self.links, self.sample_weight, self.X)

    @property
    def present(self):
        """Indices of the samples that the ridge regression runs on; None if all."""
        return self.basis.rows(self.sample_weight)

    def check_varies(self):
        """Return self, but refuse constant data."""
        if not self.varies:
            raise constant_to_kernel()
        return self

    def restricted(self, weights, rng):
        """The problem of the samples of positive weight alone."""
        weights = beside(weights, self.X)
        ridge, rows = self.basis.ridge(weights), drawn_rows(self.samples, weights, rng)
        return replace(self, sample_weight=weights, ridge=ridge, **rows)

    @property
    def start_space(self):
        """The samples in the features that starts use."""
        return self.samples

    @property
    def varies(self):
        """Whether there is anything to split."""
        return self.ridge.scatter > 0

    def scatter(self, whole):
        """Summed squared distances of the samples from their mean."""
        return self.ridge.scatter

    @property
    def is_small(self):
        """Whether products with the matrix of the ridge regression take microseconds."""
        basis = self.basis
        numbers = basis.Z if isinstance(basis, FeatureBasis) else basis.K
        return isinstance(numbers, np.ndarray) and numbers.size <= SMALL

    @property
    def is_sampled(self):
        """Whether the problem can and should be solved on a sample of the rows first."""
        return isinstance(self.basis, FeatureBasis) and super().is_sampled

    def sampled(self, rng):
        """The problem of the sampled rows alone, which weigh as much as all."""
        share = self.ridge.weight / self.rows.shape[0]
        weights = np.full(self.rows.shape[0], share)
        basis = FeatureBasis.of(
            self.rows, self.rows, None, self.basis.feature_map, self.basis.to_coef
        )
        return MarginProblem.of(
            samples=self.rows,
            X=basis.Z,
            sample_weight=weights,
            basis=basis,
            **drawn_rows(self.rows, weights, rng),
        )

    def screened(self, size, rng):
        """The problem of at most `size` distinct rows, which weigh as much as all.

        Coordinates represent the samples of a precomputed kernel.
        """
        rows, weights = distinct_sample(self.rows, self.row_weight, size=size, rng=rng)
        weights = weights * (self.ridge.weight / weights.sum())
        kernel = LINEAR if self.kernel.is_precomputed else self.kernel
        if kernel.is_linear and rows.shape[1] <= rows.shape[0]:
            basis, X, feature_map = FeatureBasis.of(rows, rows, weights), rows, None
        else:
            basis, X, feature_map = KernelBasis.of(rows, kernel)
        return MarginProblem.of(
            samples=rows,
            X=X,
            sample_weight=weights,
            rows=rows,
            row_weight=weights,
            basis=basis,
            kernel=kernel,
            feature_map=feature_map,
        )

    def labelling(self, boundaries):
        """Labels that boundaries give to the samples."""
        return Labelling(self.labels_of(boundaries), boundaries.n_clusters, self.sample_weight)

    def joined(self, splits, n_clusters):
        """Boundaries of repeated splits, and the labelling that they make."""
        boundaries = Boundaries.of_splits(splits, n_clusters, self.X.shape[1])
        return boundaries, self.labelling(boundaries)
