"""Clustering by a semidefinite program over a kernel matrix."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from separatrix._sklearn import StrOptions, one_blas_thread, refuse_dask, to_numpy
from separatrix.data.distinct import DistinctRows
from separatrix.data.gate import check_samples
from separatrix.data.places import order_of_places
from separatrix.data.rows import map_rows
from separatrix.estimators.base import BoundaryClustering, fit_without_weights
from separatrix.estimators.parameters import (
    CERTIFIED,
    KERNEL,
    N_CLUSTERS,
    POSITIVE,
    ROUNDINGS,
    SIZE_BOUNDS,
)
from separatrix.labels.splits import bounds_of_splits
from separatrix.models.boundaries import Boundaries, pairwise_code
from separatrix.result import Labelling, SolverResult, Status
from separatrix.similarity.kernels import (
    Kernel,
    centred_kernel,
    constant_to_kernel,
    differ_in_kernel,
    double_centred,
    mean_of,
    normals_of,
    scatter_in_kernel,
)
from separatrix.similarity.quadratic_forms import ONE_THREAD_ROWS
from separatrix.solvers.bisection import bisect
from separatrix.solvers.label_programs import best_labelling, check_size, status_of


class SemidefiniteClustering(BoundaryClustering):
    """From samples to clusters by a program over a kernel matrix: what the estimators share."""

    gap_: float
    gamma_: float

    C: float
    n_roundings: int
    max_steps: int
    gap_tol: float
    _parameter_constraints: dict = {
        **N_CLUSTERS,
        **KERNEL,
        **CERTIFIED,
        "C": POSITIVE,
        "multiway": [StrOptions({"auto", "bisection"})],
        **ROUNDINGS,
        **SIZE_BOUNDS,
    }
    _keeps_sizes = True

    fit = fit_without_weights  # type: ignore[assignment]

    @property
    def _has_triangles(self):
        """Whether triangle constraints are asked for."""
        return False

    @property
    @abstractmethod
    def _price(self):
        """Largest multiplier of a sample in the program."""

    def _folded(self, X, sample_weight):
        """Samples of the program where each stands for copies; None where each is its own."""
        return None

    @abstractmethod
    def _machine_kernel(self, K, weight):
        """The matrix that the program, and the machine of labels, run on."""

    @abstractmethod
    def _relax(self, K, G, weight, progress, bounds):
        """Solve the program for that matrix, with SplitBounds of the clusters or None."""

    @abstractmethod
    def _signs(self, scores):
        """Labels, -1 or 1, by scores of about that size."""

    @abstractmethod
    def _rule(self, K, response, weight):
        """Multipliers of the kernel and offset of the machine, and whether it is in balance."""

    def _validate_X(self, X, *, reset):
        refuse_dask(self, X, instead="MaximumMarginClustering")
        return check_samples(self, X, reset=reset)

    def _problem(self, X, sample_weight, links, progress, rng):
        kernel = Kernel.of(self)
        kernel.check_samples(X)
        X = to_numpy(X)
        folded = self._folded(X, to_numpy(sample_weight))
        n_samples = X.shape[0] if folded is None else len(folded.weight)
        check_size(n_samples, triangles=self._has_triangles)
        return KernelProblem.of(X, kernel, folded)

    def _n_tasks(self):
        return None if self.n_clusters > 2 or self._has_triangles else self.max_steps

    def _solve(self, problem, progress, rng):
        bounds = bounds_of_splits(self, problem.rows.shape[0], problem.weight_of(slice(None)))

        def split(part, task):
            small = len(part.members) <= ONE_THREAD_ROWS
            return (one_blas_thread(self._solve_two) if small else self._solve_two)(
                part, task, rng, bounds(part.weight_of(part.members))
            )

        if self.n_clusters == 2:
            return split(problem, progress)
        return bisect(problem, split, self.n_clusters, progress=progress, rng=rng)

    def _solve_two(self, problem, progress, rng, bounds):
        """Two clusters of the members of a problem; the details are the certified gap."""
        # 1) relaxed labels
        K, weight = problem.member_kernel, problem.member_weight
        G = self._machine_kernel(K, weight)
        relaxation = self._relax(K, G, weight, progress, bounds)
        # 2) the best labels near them, and the boundary of their machine
        is_bounded = bounds is not None
        response = best_labelling(
            relaxation.M,
            G,
            C=self._price,
            signs_of=partial(bounds.signs, weight=weight) if is_bounded else self._signs,
            n_draws=self.n_roundings,
            rng=rng,
            weight=weight,
        )
        multipliers, intercept, within = self._rule(K, response, weight)
        if is_bounded:
            turn, shift = bounds.shift(K @ multipliers + intercept, weight)
            multipliers, intercept = turn * multipliers, turn * intercept + shift
        boundaries = problem.boundary(multipliers, intercept)
        # 3) labels by the boundary
        labelling = problem.labelling(boundaries, 2)
        status = status_of(relaxation, self.gap_tol)
        if len(np.unique(labelling.labels[problem.members])) < 2:
            status = Status.DEGENERATE
        elif not (within or is_bounded):
            status = Status.UNBALANCED
        return SolverResult(
            labelling,
            boundaries,
            objective=relaxation.objective,
            history=relaxation.history,
            status=status,
            details=[relaxation.gap],
        )

    def _attributes(self, problem, result, order):
        return {"gap_": float(max(result.details, default=0.0))}

    def _attributes_without_solution(self):
        return {"gap_": 0.0}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.array_api_support = False
        return tags


class FoldedRows(NamedTuple):
    """Distinct rows of positive weight, each of which stands for its copies."""

    rows: np.ndarray  # the first of each
    weight: np.ndarray  # the sum over its copies

    @classmethod
    def of(cls, X, sample_weight):
        """The rows of `X`."""
        if sample_weight is None:
            sample_weight = np.ones(X.shape[0])
        present = np.flatnonzero(sample_weight)
        distinct = DistinctRows.of(X[present])
        weight = np.bincount(distinct.place, sample_weight[present].astype(np.float64))
        return cls(present[distinct.first], weight)


@dataclass(frozen=True)
class KernelProblem:
    """A kernel matrix and the samples of it that are to be split.

    Here samples are ordered by their places, so that neither rounding nor random draws depend on
    the order of the rows.

    Attributes
    ----------
    K : ndarray of shape (n_samples, n_samples)
        Kernel values between all samples. For a linear kernel these are centred, the members of
        a split as well.
    X : {ndarray, sparse matrix}
        Features that boundaries live in: the kernel values, or the samples of a linear kernel.
    kernel : Kernel
        The kernel, with a number as `gamma`.
    feature_map : KernelMap or None
        What turned samples into these features.
    members : ndarray of shape (n_members,)
        Indices of the samples to be split.
    rows : {ndarray, sparse matrix}
        The rows as they came.
    order : ndarray of shape (n_samples,)
        Which of these the samples are.
    sample_weight : ndarray of shape (n_samples,) or None
        Weights of the samples, each of which then stands for its copies among the rows. None if
        each row is a sample.
    """

    K: np.ndarray
    X: Any
    kernel: Kernel
    feature_map: Any
    members: np.ndarray
    rows: Any
    order: np.ndarray
    sample_weight: Any = None

    @classmethod
    def of(cls, X, kernel, folded=None):
        """Take the kernel of samples; refuse what no program can split."""
        order, weight = np.arange(X.shape[0]), None
        if folded is not None:
            order, weight = folded
        pairs = kernel.is_precomputed
        rows = X[order][:, order] if pairs else X[order]
        place = order_of_places(rows, weight, pairs=pairs)
        rows, order = rows[place], order[place]
        weight = None if weight is None else weight[place]
        kernel = kernel.resolved(rows, weight)
        feature_map = None if kernel.is_linear else kernel.at(rows)
        if feature_map is not None and pairs:  # in the original order
            features, feature_map = rows[:, place], replace(feature_map, landmarks=order)
        else:
            features = rows if feature_map is None else feature_map(rows)
        K = centred_kernel(rows, weight) if kernel.is_linear else features
        K = np.asarray(K, dtype=np.float64)
        kernel.check_positive(K, rows)
        members = np.arange(len(order))
        K = 0.5 * (K + K.T)
        problem = cls(K, features, kernel, feature_map, members, X, order, weight)
        if not problem.varies:
            raise constant_to_kernel()
        return problem

    def completed(self, boundaries):
        """Boundaries for samples as users pass them."""
        return replace(boundaries, feature_map=self.feature_map)

    def labels_of(self, boundaries):
        """Clusters of all samples, in the original order."""
        if self.sample_weight is None:
            return self.ordered_labels(boundaries)[np.argsort(self.order)]
        model = self.completed(boundaries)
        return map_rows(model.labels, self.rows, width=max(self.rows.shape[1], model.width))

    def ordered_labels(self, boundaries):
        """Clusters of all samples, in the order of their places."""
        return map_rows(boundaries.labels, self.X, width=boundaries.width)

    def labelling(self, boundaries, n_clusters):
        """The same, with the weights of the clusters."""
        return Labelling(self.ordered_labels(boundaries), n_clusters, self.sample_weight)

    def weight_of(self, members):
        """Weight of some of the samples in the program."""
        if self.sample_weight is None:
            return float(len(self.order[members]))
        return float(self.sample_weight[members].sum())

    @property
    def member_weight(self):
        """Weights of the members; None if each row is a sample."""
        return None if self.sample_weight is None else self.sample_weight[self.members]

    @cached_property
    def member_kernel(self):
        """Kernel values between the members."""
        K = self.K[np.ix_(self.members, self.members)]
        return double_centred(K, self.member_weight) if self.kernel.is_linear else K

    def restricted(self, weights, rng):
        """The problem of the samples of positive weight alone."""
        return replace(self, members=np.flatnonzero(weights))

    @property
    def varies(self):
        """Whether there is anything to split."""
        return differ_in_kernel(self.member_kernel, self.member_weight)

    def scatter(self, whole):
        """Summed squared distances of the members from their mean, in the kernel's space."""
        return scatter_in_kernel(self.member_kernel, self.member_weight)

    def boundary(self, multipliers, intercept):
        """Boundary where a sum of multiplied kernel values at the members, and an offset, is 0."""
        if self.kernel.is_linear:
            rows, weight = self.X[self.members], self.member_weight
            coef = normals_of(rows, multipliers[:, None], weight)[0]
            intercept = intercept - coef @ mean_of(rows, weight)
        else:
            coef = np.zeros(len(self.K))
            coef[self.members] = multipliers
        return Boundaries(coef[None], np.array([intercept]), pairwise_code(2))

    def joined(self, splits, n_clusters):
        """Boundaries of repeated splits, and the labelling that they make."""
        boundaries = Boundaries.of_splits(splits, n_clusters, self.X.shape[1])
        return boundaries, self.labelling(boundaries, n_clusters)
