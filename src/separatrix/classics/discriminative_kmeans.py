"""Discriminative k-means: clusters that a linear discriminant tells apart best."""

from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh

from separatrix._sklearn import Interval, one_blas_thread
from separatrix.base import BaseDiscriminativeClustering
from separatrix.chunks import features_of
from separatrix.classics.kernel_kmeans import KernelMeansMixin
from separatrix.classics.lloyd import KMeansProblem, Means, solve_lloyd
from separatrix.moments import total_moments
from separatrix.result import Progress, Status
from separatrix.starts import SAMPLE_SIZE, kmeans_start, random_start, sample_rows

__all__ = ["DiscriminativeKMeans", "WhitenedMeansMixin", "WhitenedProblem"]

# Beyond this many features their covariance matrix is no longer cheap.
WIDE = 2_048
# Share of the largest variance below which there is none.
ROUNDING = 1e-12


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


class DiscriminativeKMeans(WhitenedMeansMixin, BaseDiscriminativeClustering):
    r"""Clusters that linear discriminant analysis tells apart best.

    Clusters and the subspace of linear discriminant analysis are sought together. For every
    labelling the best subspace is known in closed form, and what is left is kernel k-means with
    the matrix :math:`I - (I + X X^\top / \lambda)^{-1}` of centred samples [1]_: k-means in
    coordinates in which all directions vary alike, but for those that vary little.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
    reg : float, default=1.0
        Variance that is added to all directions, in units of a typical one. It sets the paper's
        lambda; a large one makes the method ordinary k-means, zero makes the objective
        independent of the units of the features, though not the start by k-means.
    kernel : str or callable, default="linear"
        "linear", "rbf", "poly", "sigmoid", "laplacian", "cosine", "chi2", "precomputed" or a
        function of two samples.
    gamma : float, {"scale", "mean", "median"} or tuple, default="mean"
        Kernel coefficient; "scale" is 1 / (n_features * X.var()), "mean" is 1 / sigma**2 with the
        mean distance of two samples as the width sigma, "median" with the median distance, and
        ("mean", 0.5) with half of the mean distance.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and the sigmoid kernel.
    n_components : int, default=300
        Most features that stand for a nonlinear kernel, or for more than 2,048 features of X.
    init : {"k-means", "random"} or array-like of shape (n_samples,), default="k-means"
        Start: k-means on the features, or the nearest of random samples, or labels from 0.
    n_init : int, default=1
        Number of starts, of which the best objective is kept. The first k-means start is
        deterministic and looks at the features as they are; further ones are k-means++ runs in
        the coordinates of the method.
    max_iter : int, default=300
        Most updates of the labels from one start.
    tol : float, default=1e-4
        Stop when an update changes the clusters of at most this share of the samples; zero asks
        for an exact fixed point.
    random_state : int, RandomState instance or None, default=None
        Draws samples and restarts. The default of one start on up to 20,000 samples is
        deterministic.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        Cluster of each sample, the largest cluster first; `predict` of the training data.
    coef_ : array of shape (n_boundaries, n_features)
        Normals of the boundaries between pairs of clusters, for the linear kernel.
    intercept_ : array of shape (n_boundaries,)
        Offsets of the boundaries.
    objective_ : float
        Scatter between clusters over total scatter, summed over the discriminant directions: at
        most n_clusters - 1, and larger is better.
    history_ : list of float
        Objective at each iteration.
    n_iter_ : int
        Iterations of the best start.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X has them.

    See Also
    --------
    LDAKMeans : The same objective, by turns of discriminant analysis and k-means.
    MaximinSeparationClustering : Lets each cluster have a covariance of its own.

    Notes
    -----
    With S the total scatter of n samples, lambda is `reg` times tr(S^2) / tr(S), a variance that
    depends neither on a rotation of the samples nor on further constant features, times n. No
    matrix of n by n is made.

    References
    ----------
    .. [1] J. Ye, Z. Zhao, M. Wu, "Discriminative k-means for clustering", NIPS 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import DiscriminativeKMeans
    >>> X = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> model = DiscriminativeKMeans(n_clusters=2).fit(X)
    >>> model.labels_
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    >>> model.predict([[0, 0], [12, 3]])
    array([0, 1], dtype=int32)
    """

    _solve = staticmethod(solve_lloyd)

    def __init__(
        self,
        n_clusters=2,
        *,
        reg=1.0,
        kernel="linear",
        gamma="mean",
        degree=3,
        coef0=1,
        n_components=300,
        init="k-means",
        n_init=1,
        max_iter=300,
        tol=1e-4,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.reg = reg
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state


# --- k-means in other coordinates ----------------------------------------------------------------


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


@dataclass(frozen=True)
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

    def from_coordinates(self, rule):
        """Linear scores of the features from those of the coordinates."""
        return replace(rule, coef=rule.coef @ self.whitening.T)

    def coordinates(self, partition):
        """Mean of each cluster less the mean of all samples, in the coordinates."""
        return self.centers(partition) @ self.whitening

    def means(self, partition):
        """Rule that gives each sample the cluster of the nearest mean, in the coordinates."""
        means = self.from_coordinates(Means.of(self.coordinates(partition)))
        return means.shifted(self.shift + self.total.mean)

    def objective(self, partition):
        """Share of the scatter that lies between clusters, summed over coordinates."""
        squares = np.square(self.coordinates(partition)).sum(axis=1)
        return float(partition.weights @ squares / self.total.weight)
