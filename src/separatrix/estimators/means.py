"""From samples to the features that means are taken in."""

import warnings
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from separatrix._sklearn import Interval, StrOptions
from separatrix.data.chunks import features_of, is_dask
from separatrix.data.memory import physical_memory
from separatrix.data.moments import total_moments
from separatrix.data.sampling import SAMPLE_SIZE, sample_rows
from separatrix.estimators.base import BaseDiscriminativeClustering
from separatrix.estimators.kernel_features import KERNEL_CONSTRAINTS, KernelFeaturesMixin
from separatrix.models.starts import kmeans_start, random_start
from separatrix.result import Progress, Status
from separatrix.solvers.whitened_means import WhitenedProblem, whitening_of

__all__ = ["KernelMeansMixin", "WhitenedMeansMixin"]

# Kernels that are one between a sample and itself.
UNIT_DIAGONAL = ("rbf", "laplacian", "cosine")
# Share of a kernel that its features should hold.
LEAST_HELD = 0.5


class KernelMeansMixin(KernelFeaturesMixin):
    """From validated samples to the features that means are taken in."""

    init: Any
    _check_init_labels: Any
    _parameter_constraints: dict = {
        **BaseDiscriminativeClustering._parameter_constraints,
        **KERNEL_CONSTRAINTS,
        "init": [StrOptions({"k-means", "random"}), "array-like"],
    }

    def _features(self, X, sample_weight, rng):
        """Features of the kernel; X itself for the linear one."""
        self._check_precomputed(X)
        if not isinstance(self.init, str):
            self._check_init_labels(X, sample_weight)
        self._feature_map = None
        if self.kernel == "linear":
            return X
        if not is_dask(X):
            check_features_fit(X.shape[0], min(self.n_components, X.shape[0]))
        self._feature_map = self._fit_feature_map(
            X, sample_weight, rng, max_rank=self.n_components
        )
        features = features_of(X, self._feature_map)
        if self.kernel in UNIT_DIAGONAL and not is_dask(X):
            warn_of_lost_kernel(features, self.n_components)
        return features


def warn_of_lost_kernel(features, n_components):
    """Warn if most samples lie next to the origin: few features hold little of a narrow kernel."""
    held = float(np.mean(np.einsum("ij,ij->i", features, features)))
    if held < LEAST_HELD:
        warnings.warn(
            f"n_components={n_components} features hold {held:.0%} of the kernel, so samples far "
            "from all others fall into one cluster; use a smaller gamma or more n_components.",
            ConvergenceWarning,
            stacklevel=7,
        )


def check_features_fit(n_samples, n_components):
    """Refuse features that memory cannot hold."""
    needed = 2 * 8 * n_samples * n_components
    if needed > physical_memory():
        raise ValueError(
            f"n_components={n_components} features of n_samples={n_samples} samples need "
            f"{needed / 1e9:.3g} GB, more than this machine has; use fewer n_components, or "
            "pass X as a dask array."
        )


# Beyond this many features their covariance matrix is no longer cheap.
WIDE = 2_048


# --- the estimator ------------------------------------------------------------------------------


class WhitenedMeansMixin(KernelMeansMixin):
    """From samples to coordinates in which their covariance is next to the identity matrix."""

    n_clusters: int
    reg: float
    max_iter: int
    tol: float
    _init_labels: Any
    _solve: Any
    _parameter_constraints: dict = {
        **KernelMeansMixin._parameter_constraints,
        "reg": [Interval(Real, 0, None, closed="left")],
    }

    def _prepare(self, X, sample_weight, progress, rng):
        X = self._features(X, sample_weight, rng)
        problem = WhitenedProblem.of(X, sample_weight, rng, whitening=None)
        return replace(problem, whitening=self._whitening(problem, rng))

    def _whitening(self, problem, rng):
        """Map of the features to coordinates that vary alike."""
        X, weights, shift = problem.X, problem.sample_weight, problem.shift
        if self._feature_map is not None or X.shape[1] <= WIDE:
            return whitening_of(total_moments(X, weights, shift=shift).covariance, self.reg)
        rows, _ = sample_rows(problem.rows, problem.row_weight, size=SAMPLE_SIZE, rng=rng)
        centered = rows if sp.issparse(rows) else rows - shift
        basis = self._kernel_map(centered, {}, max_rank=self.n_components)
        total = total_moments(features_of(X, basis), weights, shift=basis(shift[None])[0])
        return basis.to_normals(whitening_of(total.covariance, self.reg))

    def _start(self, problem, restart, rng):
        """Labels, or the rule that makes them, for start number `restart`."""
        if not isinstance(self.init, str):
            return self._init_labels(problem)
        if self.init == "random":
            return random_start(problem.rows, self.n_clusters, rng)
        if not restart:
            return kmeans_start(problem.rows, problem.row_weight, self.n_clusters)
        rows = np.asarray(problem.rows @ problem.whitening)
        return problem.from_coordinates(
            kmeans_start(rows, problem.row_weight, self.n_clusters, rng=rng)
        )

    def _fit_once(self, problem, restart, progress, rng):
        solve = partial(
            self._solve, n_clusters=self.n_clusters, max_iter=self.max_iter, tol=self.tol
        )
        start = self._start(problem, restart, rng)
        if isinstance(self.init, str) and problem.is_sampled:
            # updates on the sample cost next to nothing and leave few for all the data
            rough = solve(problem.sampled(), start, progress=Progress())
            if rough.status is not Status.DEGENERATE:
                start = rough.model
        return solve(problem, start, progress=progress)
