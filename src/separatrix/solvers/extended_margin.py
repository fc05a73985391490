r"""Machines of all samples, from labels that were found on few of them.

Labels of few samples show where clusters are, but a machine fitted to them alone has more weights
than they determine. So it only labels all samples, and the next machine is fitted to those labels:
a ridge regression on kernel values k at some landmarks,

.. math:: \min_{w, b} \; \tfrac12 \|w\|^2 + \tfrac C2 \sum_i s_i (f(x_i) - y_i)^2, \qquad
          f(x) = w^\top P^\top k(x) + b,

with the map P of kernel values to features whose inner products are the kernel. It needs only sums
over all samples, so a pass computes the values of one chunk after another and keeps none.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import solve

from separatrix._sklearn import namespace_of, one_blas_thread, to_numpy
from separatrix.data.moments import Moments, moments_of_chunk
from separatrix.data.rows import features_of, map_chunks
from separatrix.models.boundaries import Boundaries
from separatrix.solvers.ridge import FeatureBasis, MarginProblem
from separatrix.solvers.svm import sign_columns

EPS = np.finfo(np.float64).eps


@dataclass(frozen=True, kw_only=True)
class ExtendedProblem:
    """All samples, and the problems of few and of some more of them.

    Attributes
    ----------
    X : {array, sparse matrix, dask array} of shape (n_samples, n_features)
        All samples.
    sample_weight : array of shape (n_samples,) or None
        Their weights.
    part : MarginProblem
        The problem of the few that labels are found on.
    settling : MarginProblem
        The problem of those that machines settle on, in features of the kernel at landmarks.
    """

    X: Any
    sample_weight: Any
    part: MarginProblem
    settling: MarginProblem

    @property
    def kernel(self):
        """The kernel, with a number as `gamma`."""
        return self.settling.kernel

    @property
    def projection(self):
        """The map P of kernel values to features."""
        return self.settling.feature_map.projection

    @property
    def landmarks(self):
        """The map of samples to kernel values."""
        return replace(self.settling.feature_map, projection=None)

    def completed(self, boundaries):
        """Boundaries for samples as users pass them."""
        if boundaries.feature_map is not None:
            return boundaries
        return self.part.completed(boundaries)

    def labels_of(self, boundaries):
        """Clusters of all samples, lazily for a dask array."""
        return boundaries.labels_of_rows(self.X)

    def first_labels(self, labels, code, C):
        """Labels of the samples that machines settle on, by the machine of those of the few."""
        few, feature_map = self.part, self.settling.feature_map
        basis = FeatureBasis.of(few.samples, few.rows, few.row_weight, feature_map)
        ridge = basis.ridge(few.sample_weight)
        models, _ = ridge.fit_columns(sign_columns(labels, code, ridge.dtype), C)
        coef, intercept = zip(*((model.coef, model.intercept) for model in models), strict=True)
        return self.settling.labels_of(Boundaries(np.array(coef), np.array(intercept), code))

    def machines_of_all(self, boundaries, C):
        """Machines of the labels that boundaries in the features give to all samples."""
        rule = replace(boundaries, coef=boundaries.coef @ self.projection.T)
        shift = features_of(self.part.samples, self.landmarks).mean(axis=0).astype(np.float64)
        parts = map_chunks(
            _sums_of_chunk,
            self.X,
            self.sample_weight,
            landmarks=self.landmarks,
            rule=rule,
            shift=shift,
            width=self.landmarks.rank,
        )
        sums = next(parts)
        for part in parts:
            sums = sums + part
        return sums.machines(shift, self.projection, boundaries.code, C)


@dataclass(frozen=True)
class Machines:
    """Functions of kernel values at landmarks, and the squared norms of their normals."""

    boundaries: Boundaries
    norms: np.ndarray


@dataclass(frozen=True)
class LabelSums:
    """Moments of kernel values, sums of them times the signs of labels, and sums of signs."""

    moments: Moments
    first: np.ndarray
    total: np.ndarray

    def __add__(self, other):
        return LabelSums(
            self.moments + other.moments, self.first + other.first, self.total + other.total
        )

    @one_blas_thread
    def machines(self, shift, projection, code, C):
        """Ridge regressions of the signs, one for each row of the code."""
        weight, covariance = self.moments.weight, self.moments.covariance
        mean = projection.T @ (self.moments.mean + shift)
        scatter = weight * (projection.T @ covariance @ projection)
        # the map of kernel values amplifies rounding errors of their sums
        amplified = np.linalg.norm(projection, 2) ** 2 * np.trace(covariance)
        scatter[np.diag_indices_from(scatter)] += max(1 / C, 100 * EPS * weight * amplified)
        right = projection.T @ self.first - np.outer(mean, self.total)
        coef = solve(scatter, right, assume_a="pos", check_finite=False)
        boundaries = Boundaries((projection @ coef).T, self.total / weight - mean @ coef, code)
        return Machines(boundaries, np.square(coef).sum(axis=0))


def _sums_of_chunk(X, weight, *, landmarks, rule, shift):
    """Sums over the rows of `X`, which a rule labels by their kernel values."""
    values = landmarks(X)
    xp, _ = namespace_of(values)
    labels = rule.labels(values)
    signs = sign_columns(labels, rule.code, values.dtype)
    signs = signs if weight is None else signs * xp.astype(weight, signs.dtype)[:, None]
    first, total = values.T @ signs, xp.sum(signs, axis=0)
    return LabelSums(
        moments_of_chunk(values, weight, shift=shift),
        *(to_numpy(part).astype(np.float64, copy=False) for part in (first, total)),
    )
