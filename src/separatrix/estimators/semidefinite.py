"""Clustering by a semidefinite program over a kernel matrix."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh

from separatrix._sklearn import Interval, fit_context, one_blas_thread, to_numpy
from separatrix.data.chunks import is_dask
from separatrix.estimators.base import BaseDiscriminativeClustering
from separatrix.estimators.kernel_features import KERNEL_CONSTRAINTS, KernelFeaturesMixin
from separatrix.models.boundaries import Boundaries, pairwise_code
from separatrix.models.partition import Labelling
from separatrix.result import SolverResult, Status
from separatrix.similarity.kernels import (
    KernelMap,
    centred_kernel,
    double_centred,
    mean_of,
    normals_of,
)
from separatrix.similarity.spectra import ONE_THREAD_ROWS
from separatrix.solvers.bisection import bisect
from separatrix.solvers.label_programs import best_labelling, check_size, status_of

__all__ = ["SemidefiniteMixin"]


# --- the estimators -----------------------------------------------------------------------------


class SemidefiniteMixin(KernelFeaturesMixin):
    """From samples to clusters by a program over a kernel matrix: what the estimators share."""

    n_clusters: int
    C: float
    n_init: int
    max_iter: int
    tol: float
    _kernel_params_: dict

    _parameter_constraints: dict = {
        **BaseDiscriminativeClustering._parameter_constraints,
        **{name: KERNEL_CONSTRAINTS[name] for name in ("kernel", "gamma", "degree", "coef0")},
        "C": [Interval(Real, 0, None, closed="neither")],
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Find the clusters.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; or the matrix of kernel values between them, if that is precomputed.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit(self._validate_X(X, reset=True))  # type: ignore[attr-defined]

    def decision_function(self, X):
        """Signed values of the machines that part the clusters.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; their kernel with the training samples where that is precomputed.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_clusters)
            For two clusters one value, positive for cluster 1. Otherwise a column per cluster,
            the least of the values that tell it from others; the largest wins. All zero for one
            cluster.
        """
        return super().decision_function(X)

    def _validate_X(self, X, *, reset):
        if is_dask(X):
            raise TypeError(
                f"{type(self).__name__} needs all samples in memory, got a dask array; pass "
                "X.compute(), or use MaximumMarginClustering."
            )
        return super()._validate_X(X, reset=reset)

    def _prepare(self, X, sample_weight, progress, rng):
        self._check_precomputed(X)
        check_size(X.shape[0])
        X = to_numpy(X)
        self._kernel_params_ = self._kernel_params(X, None)
        self._feature_map, features = None, X
        linear = self.kernel == "linear"
        if linear:
            K = centred_kernel(X)
        else:
            self._feature_map = KernelMap.of(X, kernel=self.kernel, params=self._kernel_params_)
            K = features = self._feature_map(X)
        K = np.asarray(K, dtype=np.float64)
        problem = KernelProblem(0.5 * (K + K.T), features, linear, np.arange(len(K)), [])
        return problem.checked(self.kernel)

    def _n_restarts(self):
        return 1  # the program has one optimum

    def _subtasks_of_restart(self):
        return self.max_iter if self.n_clusters == 2 else None

    def _fit_once(self, problem, restart, progress, rng):
        def split(part, task):
            small = len(part.members) <= ONE_THREAD_ROWS
            return (one_blas_thread(self._split) if small else self._split)(part, task, rng)

        if self.n_clusters == 2:
            return split(problem, progress)
        return bisect(problem, split, self.n_clusters, progress=progress, rng=rng)

    def _split(self, problem, progress, rng):
        """Two clusters of the members of a problem."""
        # 1) relaxed labels
        K = problem.member_kernel
        G = self._machine_kernel(K)
        relaxation = self._relax(G, progress)
        problem.gaps.append(relaxation.gap)
        # 2) the best labels near them, and the boundary of their machine
        response = best_labelling(
            relaxation.M, G, C=self.C, signs_of=self._signs, n_draws=self.n_init, rng=rng
        )
        multipliers, intercept, within = self._rule(K, response)
        boundaries = problem.boundary(multipliers, intercept)
        # 3) labels by the boundary
        labelling = problem.partition(2)
        labelling.assign(boundaries)
        status = status_of(relaxation, self.tol)
        if len(np.unique(labelling.labels[problem.members])) < 2:
            status = Status.DEGENERATE
        elif not within:
            status = Status.UNBALANCED
        return SolverResult(
            labelling.labels,
            boundaries,
            objective=relaxation.objective,
            history=relaxation.history,
            n_iter=relaxation.n_iter,
            status=status,
            partition=labelling,
        )

    @abstractmethod
    def _machine_kernel(self, K):
        """The matrix that the program, and the machine of labels, run on."""

    @abstractmethod
    def _relax(self, G, progress):
        """Solve the program for that matrix."""

    @abstractmethod
    def _signs(self, scores):
        """Labels, -1 or 1, by scores of about that size."""

    @abstractmethod
    def _rule(self, K, response):
        """Multipliers of the kernel and offset of the machine, and whether it is in balance."""

    def _attributes(self, problem, partition, order):
        if problem is None:
            self._kernel_params_ = {}
        gaps = [] if problem is None else problem.gaps
        gamma = float(self._kernel_params_.get("gamma", np.nan))
        return {"gamma_": gamma, "certified_gap_": float(max(gaps, default=0.0))}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.array_api_support = False
        return tags


# --- the problem --------------------------------------------------------------------------------


@dataclass(frozen=True)
class KernelProblem:
    """A kernel matrix and the samples of it that are to be split.

    Attributes
    ----------
    K : ndarray of shape (n_samples, n_samples)
        Kernel values between all samples.
    X : {ndarray, sparse matrix}
        Features that boundaries live in: the kernel values, or the samples of a linear kernel.
    linear : bool
        Whether the kernel is linear. Then samples are centred, the members of a split as well.
    members : ndarray of shape (n_members,)
        Indices of the samples to be split.
    gaps : list of float
        Certified gaps of all splits so far.
    """

    K: np.ndarray
    X: Any
    linear: bool
    members: np.ndarray
    gaps: list
    sample_weight = None

    def checked(self, kernel):
        """Return self, but refuse what no program can split."""
        if not self.varies:
            raise ValueError(
                "X is constant to the kernel: its samples do not differ beyond rounding in the "
                "kernel's space, so no boundary can separate clusters. Check that X holds the "
                "features; if they differ little, scale them up or use a larger gamma."
            )
        lowest, largest = eigvalsh(self.K)[[0, -1]]
        if lowest < -1e-6 * largest:
            raise ValueError(
                f"kernel={kernel!r} is not positive semidefinite: its matrix has the eigenvalue "
                f"{lowest:.3g} where its largest is {largest:.3g}. Use a valid kernel, such as "
                "'rbf'."
            )
        return self

    @cached_property
    def member_kernel(self):
        """Kernel values between the members."""
        K = self.K[np.ix_(self.members, self.members)]
        return double_centred(K) if self.linear else K

    def restricted(self, weights, rng):
        """The problem of the samples of positive weight alone."""
        return replace(self, members=np.flatnonzero(weights))

    @property
    def varies(self):
        """Whether there is anything to split."""
        return self.scatter(self) > 1e-12 * np.trace(self.member_kernel)

    def scatter(self, whole):
        """Summed squared distances of the members from their mean, in the kernel's space."""
        K = self.member_kernel
        return float(np.trace(K) - K.sum() / len(K))

    def partition(self, n_clusters):
        """A labelling of all samples that is yet to be assigned."""
        return Labelling(self.X, None, n_clusters=n_clusters)

    def boundary(self, multipliers, intercept):
        """Boundary where a sum of multiplied kernel values at the members, and an offset, is 0."""
        if self.linear:
            rows = self.X[self.members]
            coef = normals_of(rows, multipliers[:, None])[0]
            intercept = intercept - coef @ mean_of(rows)
        else:
            coef = np.zeros(len(self.K))
            coef[self.members] = multipliers
        return Boundaries(coef[None], np.array([intercept]), pairwise_code(2))
