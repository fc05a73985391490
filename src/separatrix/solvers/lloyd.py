"""k-means: the updates that three of the methods here run in features of their own."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix._sklearn import like, namespace_of
from separatrix.data.moments import Moments, total_moments
from separatrix.data.sampling import sample_rows, sample_size
from separatrix.models.boundaries import Boundaries, one_vs_rest_code, pairwise_code
from separatrix.models.partition import Partition
from separatrix.result import SolverResult, Status

__all__ = ["KMeansProblem", "Means", "solve_lloyd"]


@dataclass(frozen=True)
class Means:
    """Rule that gives each sample the nearest mean, the largest of one linear score for each.

    It says the same as the boundaries between all pairs of means, for less work.
    """

    coef: np.ndarray
    intercept: np.ndarray

    @classmethod
    def of(cls, centers):
        """The rule of the nearest of `centers`."""
        return cls(centers, -0.5 * np.square(centers).sum(axis=1))

    def shifted(self, origin):
        """The rule for samples from the rule for samples less `origin`."""
        return replace(self, intercept=self.intercept - self.coef @ origin)

    @property
    def code(self):
        """Clusters on either side of each score."""
        return one_vs_rest_code(len(self.coef))

    @property
    def boundaries(self):
        """Boundaries between all pairs of means."""
        code = pairwise_code(len(self.coef))
        return Boundaries(code @ self.coef, code @ self.intercept, code)

    def labels(self, X):
        """Nearest means of the rows of `X`."""
        xp, _ = namespace_of(X)
        labels = xp.argmax(X @ like(self.coef.T, X) + like(self.intercept, X), axis=1)
        return xp.astype(labels, xp.int8 if len(self.coef) < 128 else xp.int32)


@dataclass(frozen=True)
class KMeansProblem:
    """Samples to be clustered around means.

    Attributes
    ----------
    X : {array, sparse matrix, dask array} of shape (n_samples, n_features)
        Features.
    sample_weight : array of shape (n_samples,) or None
        Nonnegative weights.
    shift : ndarray of shape (n_features,)
        Point that means are relative to.
    total : Moments
        Moments of all samples about `shift`, of the second ones the diagonal.
    rows, row_weight : ndarray or sparse matrix, and ndarray or None
        Rows that starts are found on, and their weights.
    """

    X: Any
    sample_weight: Any
    shift: np.ndarray
    total: Moments
    rows: Any
    row_weight: Any

    @classmethod
    def of(cls, X, sample_weight, rng, **fields):
        """Draw rows and sum the moments of `X`, in one pass over it."""
        size = sample_size(X.shape[0])
        rows, row_weight = sample_rows(X, sample_weight, size=size, rng=rng)
        shift = np.zeros(X.shape[1])
        if not sp.issparse(rows):  # a sparse matrix cannot be shifted
            shift = np.average(rows, axis=0, weights=row_weight).astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):  # the next lines tell in words
            total = total_moments(X, sample_weight, shift=shift, diagonal=True)
        if not np.isfinite(total.second).all():
            raise ValueError(
                "X contains NaN, infinity or values too large for their squares to be summed "
                "in double precision; clean X or divide it by a large number."
            )
        return cls(X, sample_weight, shift, total, rows, row_weight, **fields)

    @property
    def is_sampled(self):
        """Whether `rows` are a sample and not all rows of positive weight."""
        return self.X.shape[0] > sample_size(self.X.shape[0])

    def sampled(self):
        """The problem of the sampled rows alone."""
        total = total_moments(self.rows, self.row_weight, shift=self.shift, diagonal=True)
        return replace(self, X=self.rows, sample_weight=self.row_weight, total=total)

    def partition(self, n_clusters):
        """A partition of the samples that is yet to be assigned."""
        return Partition(
            self.X, self.sample_weight, n_clusters=n_clusters, total=self.total, shift=self.shift
        )

    def centers(self, partition):
        """Mean of each cluster less the mean of all samples; of an empty one, zero."""
        means = [
            self.total.mean if empty else partition.moments([cluster]).mean
            for cluster, empty in enumerate(partition.empty)
        ]
        return np.array(means) - self.total.mean

    def means(self, partition):
        """Rule that gives each sample the cluster of the nearest mean."""
        return Means.of(self.centers(partition)).shifted(self.shift + self.total.mean)

    def objective(self, partition):
        """Summed squared distances of samples from the means of their clusters."""
        scatter = self.total.weight * self.total.variance.sum()
        between = partition.weights @ np.square(self.centers(partition)).sum(axis=1)
        return max(0.0, float(scatter - between))


def update_means(problem, partition):
    """Means of the labels, then labels of the means; return the weight that moved, too."""
    means = problem.means(partition)
    return partition, means.boundaries, partition.assign(means)


def solve_lloyd(problem, start, *, n_clusters, max_iter, tol, progress, update=update_means):
    r"""Alternate between the means of a labelling and the labelling by the nearest mean.

    .. math:: \min_{y, m} \; \sum_i s_i \|\phi(x_i) - m_{y_i}\|^2

    Both steps lower the objective. An empty cluster has no mean, so the updates end there.

    Parameters
    ----------
    problem : KMeansProblem
        The data, in features :math:`\phi`.
    start : Boundaries or array of shape (n_samples,)
        Starting labels, or the rule that makes them.
    n_clusters : int
        Number of clusters.
    max_iter : int
        Most updates.
    tol : float
        Share of the samples that may still change clusters at the end.
    progress : Progress
        Where the loop counter comes from.
    update : callable, default=update_means
        Both steps: from a problem and a partition of it to a better partition, its boundaries,
        and the weight of the samples that changed clusters.

    Returns
    -------
    result : SolverResult
        With its `Partition`.
    """
    partition = problem.partition(n_clusters)
    partition.assign(start)
    boundaries = start
    iterations = progress.iterations(0 if partition.empty.any() else max_iter)
    for _ in iterations:
        partition, boundaries, moved = update(problem, partition)
        iterations.record(problem.objective(partition), boundaries)
        if partition.empty.any():
            break
        if moved <= tol * problem.total.weight:
            iterations.status = Status.CONVERGED
            break
    return SolverResult(
        partition.labels,
        boundaries,
        objective=problem.objective(partition),
        history=iterations.history,
        n_iter=max(1, iterations.n_iter),
        status=Status.DEGENERATE if partition.empty.any() else iterations.status,
        partition=partition,
    )
