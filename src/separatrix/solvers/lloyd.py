"""k-means: the updates that three methods run, each in its own features."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh

from separatrix._sklearn import one_blas_thread
from separatrix.data.moments import Moments, Partition, finite_moments, total_moments
from separatrix.data.rows import SAMPLE_SIZE, features_of, sample_rows
from separatrix.models.boundaries import Boundaries
from separatrix.models.starts import LINEAR, SampledProblem, drawn_rows, kmeans_start
from separatrix.result import SolverResult, Status
from separatrix.similarity.kernels import constant_to_kernel

# Variances below this share of the largest count as zero.
ROUNDING = 1e-12
# Beyond this many features their covariance matrix is no longer cheap, and so many combinations
# stand for them.
WIDE = 2_048
N_COMBINATIONS = 300


@dataclass(frozen=True, kw_only=True)
class KMeansProblem(SampledProblem):
    """Samples to be clustered around means.

    Attributes
    ----------
    shift : ndarray of shape (n_features,)
        Point that means are relative to.
    total : Moments
        Moments of all samples about `shift`, of the second ones the diagonal.
    """

    shift: np.ndarray
    total: Moments

    @classmethod
    def of(cls, X, sample_weight, rng, **fields):
        """Draw rows and sum the moments of `X`, in one pass over it."""
        rows = drawn_rows(X, sample_weight, rng)
        shift, total = finite_moments(X, sample_weight, **rows, diagonal=True)
        return cls(X=X, sample_weight=sample_weight, shift=shift, total=total, **rows, **fields)

    def sampled(self, rng):
        """The problem of the sampled rows alone."""
        total = total_moments(self.rows, self.row_weight, shift=self.shift, diagonal=True)
        return replace(self, X=self.rows, sample_weight=self.row_weight, total=total, links=None)

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

    def coordinates(self, centers):
        """The same in the coordinates in which distances are measured."""
        return centers

    def from_coordinates(self, rule):
        """Linear scores of the features from those of the coordinates."""
        return rule

    def nearest(self, centers):
        """Rule that gives each sample the cluster of the nearest of `centers`."""
        rule = self.from_coordinates(Boundaries.nearest(self.coordinates(centers)))
        return rule.shifted(self.shift + self.total.mean)

    def means(self, partition):
        """Rule that gives each sample the cluster of the nearest mean."""
        return self.nearest(self.centers(partition))

    def scatter_between(self, partition):
        """Weighted sum of the squared distances of means from the mean of all samples."""
        squares = np.square(self.coordinates(self.centers(partition))).sum(axis=1)
        return float(partition.weights @ squares)

    def objective(self, partition):
        """Sum of the squared distances of samples from the means of their clusters."""
        scatter = self.total.weight * self.total.variance.sum()
        return max(0.0, float(scatter - self.scatter_between(partition)))


def update_means(problem, partition):
    """Means of the labels, then labels of the means; return the weight that moved, too."""
    means = problem.means(partition)
    return partition, means.pairwise, partition.assign(problem.rule(means))


class Momentum:
    """The same with means that go on in the direction of their last change, by more each time.

    Where clusters overlap, plain updates take many small steps the same way. As in Nesterov's
    method with restarts, momentum begins anew where it loses scatter between clusters, and the
    plain update takes its place. So the objective never gets worse, and the last update, which
    shows that labels hardly change, is a plain one.
    """

    def __init__(self, tol):
        self._tol = tol
        self._last: Any = None
        self._n_steps = 0

    def __call__(self, problem, partition):
        """Means of the labels and beyond, then labels; return the weight that moved, too."""
        centers, scatter = problem.centers(partition), problem.scatter_between(partition)
        ahead = centers
        if self._n_steps:
            share = self._n_steps / (self._n_steps + 3)
            ahead = centers + share * (centers - self._last)
        self._last, self._n_steps = centers, self._n_steps + 1
        means = problem.nearest(ahead)
        moved = partition.assign(means)
        lost = partition.empty.any() or problem.scatter_between(partition) < scatter
        if self._n_steps > 1 and (lost or moved <= self._tol * problem.total.weight):
            self._n_steps = 0
            means = problem.nearest(centers) if lost else problem.means(partition)
            again = partition.assign(means)
            moved = moved + again if lost else again
        return partition, means.pairwise, moved


def solve_lloyd(problem, start, *, n_clusters, max_iter, tol, progress, update=None):
    r"""Alternate between the means of a labelling and the labelling by the nearest mean.

    .. math:: \min_{y, m} \; \sum_i s_i \|\phi(x_i) - m_{y_i}\|^2

    Both steps lower the objective; with links the second finds the best labels that keep them. An
    empty cluster has no mean, so the updates end there. Updates of many samples, which a solution
    for some of them is the start of, gain momentum.

    Parameters
    ----------
    problem : KMeansProblem
        The data, in features :math:`\phi`.
    start : Boundaries, Partition or array of shape (n_samples,)
        Starting labels, or the rule that makes them. A partition is changed.
    n_clusters : int
        Number of clusters.
    max_iter : int
        Most updates.
    tol : float
        Share of the samples that may still change clusters at the end.
    progress : Progress
        Where the loop counter comes from.
    update : callable, default=None
        Both steps: from a problem and a partition of it to a better partition, its boundaries,
        and the weight of the samples that changed clusters. None is `update_means` or, for many
        samples without links, `Momentum`.

    Returns
    -------
    result : SolverResult
        With a `Partition` as its labelling.
    """
    if update is None:
        gains = problem.is_sampled and problem.links is None
        update = Momentum(tol) if gains else update_means
    is_ready = isinstance(start, Partition)
    partition = start if is_ready else problem.partition(n_clusters)
    if not is_ready:
        partition.assign(problem.rule(start))
    is_lost = partition.empty.any()  # links may leave a cluster of the start no samples
    boundaries = problem.means(partition).pairwise if is_lost or is_ready else start
    iterations = progress.iterations(0 if is_lost else max_iter)
    for _ in iterations:
        partition, boundaries, moved = update(problem, partition)
        iterations.record(problem.objective(partition), boundaries)
        if partition.empty.any():
            break
        if moved <= tol * problem.total.weight:
            iterations.status = Status.CONVERGED
            break
    return SolverResult(
        partition,
        boundaries,
        objective=problem.objective(partition),
        history=iterations.history,
        status=Status.DEGENERATE if partition.empty.any() else iterations.status,
        keeps_labels=problem.links is not None,
    )


# --- k-means in other coordinates ---------------------------------------------------------------


@one_blas_thread
def whitening_of(covariance, reg):
    r"""Map A with :math:`A A^\top = (\Sigma + \lambda I)^{-1}`, on the directions that vary.

    :math:`\lambda` is `reg` times the variance along principal directions, averaged over the
    variance.
    """
    variances, directions = eigh(covariance)
    active = variances > ROUNDING * max(variances[-1], 0.0)
    variances, directions = variances[active], directions[:, active]
    typical = variances @ (variances / variances.sum()) if active.any() else 0.0
    return directions / np.sqrt(variances + reg * typical)


@dataclass(frozen=True, kw_only=True)
class WhitenedProblem(KMeansProblem):
    r"""Samples whose distances are measured in other coordinates :math:`A^\top x`.

    With :math:`T = \Sigma + \lambda I`, :math:`A A^\top = T^{-1}` and the covariance B between
    clusters, k-means in them maximises :math:`\mathrm{tr}(T^{-1} B)`, which is the kernel k-means
    of [1]_ with :math:`X (X^\top X + n \lambda I)^{-1} X^\top = I - (I + X X^\top /
    n\lambda)^{-1}`. For given labels it is the largest :math:`\mathrm{tr}((W^\top T W)^{-1}
    W^\top B W)` over all subspaces W.

    Attributes
    ----------
    whitening : ndarray of shape (n_features, n_coordinates)
        The map A.
    """

    whitening: np.ndarray

    @classmethod
    def whitened(cls, X, sample_weight, rng, *, reg, n_components=N_COMBINATIONS, **fields):
        """Sum the moments of samples, and find their coordinates."""
        problem = cls.of(X, sample_weight, rng, whitening=None, **fields)
        whitening = problem.whitening_map(reg, n_components, rng)
        if whitening.shape[1] == 0:
            raise constant_to_kernel()
        return replace(problem, whitening=whitening)

    def whitening_map(self, reg, n_components, rng):
        """Map of the features to coordinates that vary equally."""
        X, weights, shift = self.X, self.sample_weight, self.shift
        if self.feature_map is not None or X.shape[1] <= WIDE:
            return whitening_of(total_moments(X, weights, shift=shift).covariance, reg)
        rows, _ = sample_rows(self.rows, self.row_weight, size=SAMPLE_SIZE, rng=rng)
        centered = rows if sp.issparse(rows) else rows - shift
        basis = LINEAR.low_rank_map(centered, max_rank=n_components).checked()
        total = total_moments(features_of(X, basis), weights, shift=basis(shift[None])[0])
        return basis.to_normals(whitening_of(total.covariance, reg))

    def kmeans_start(self, n_clusters, *, rng, n_init):
        """Rule of k-means: the first start uses the features as they are."""
        if rng is None:
            return super().kmeans_start(n_clusters, rng=None, n_init=n_init)
        rows = np.asarray(self.rows @ self.whitening)
        found = kmeans_start(rows, self.row_weight, n_clusters, rng=rng, n_init=n_init)
        return self.from_coordinates(found)

    def from_coordinates(self, rule):
        """Linear scores of the features from those of the coordinates."""
        return replace(rule, coef=rule.coef @ self.whitening.T)

    def coordinates(self, centers):
        """Centers in the coordinates."""
        return centers @ self.whitening

    def objective(self, partition):
        """Share of the scatter that lies between clusters, summed over coordinates."""
        return self.scatter_between(partition) / self.total.weight
