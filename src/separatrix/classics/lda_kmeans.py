"""LDA-k-means: linear discriminant analysis and k-means in turns."""

from dataclasses import replace

import numpy as np
from scipy.linalg import svd

from separatrix._sklearn import to_numpy
from separatrix._typing import Array
from separatrix.estimators.means import MeansClustering
from separatrix.estimators.parameters import NONNEGATIVE, OUTLIERS, SIZE_BOUNDS, WARM_START
from separatrix.result import Progress
from separatrix.solvers.lloyd import WhitenedProblem, solve_lloyd

__all__ = ["LDAKMeans", "solve_lda_kmeans"]


# --- the estimator ------------------------------------------------------------------------------


class LDAKMeans(MeansClustering):
    """Clusters in the subspace that separates them best.

    Adaptive dimension reduction [1]_: linear discriminant analysis finds the subspace for the
    labels, k-means in the subspace finds the labels, and the two alternate.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters. The subspace has one dimension less.
    reg : float, default=1.0
        Weight of the regularisation. Variance that is added to all directions, in units of a
        typical variance. A large value makes the method ordinary k-means, zero makes the objective
        independent of the units of the features, though not the start by k-means.
    init : {"k-means", "random"} or array-like of shape (n_samples,), default="k-means"
        Where the labels start. "k-means" on the features, "random" for the nearest of random
        samples, or labels from 0.
    n_init : int, default=1
        Number of starts; the one with the best objective is kept.
    max_iter : int, default=100
        Largest number of updates of the labels from one start.
    tol : float, default=1e-4
        Stop when an update changes the clusters of at most this share of the samples; zero asks
        for an exact fixed point.
    min_size : int, float or array-like of shape (n_clusters,), default=None
        Smallest number of samples in each cluster. A whole number, or a share of the samples if it
        is below 1, for all clusters or one for each; None sets no bound. `labels_` and `assign`
        keep the bounds exactly; `predict` need not.
    max_size : int, float or array-like of shape (n_clusters,), default=None
        Largest number of samples in each cluster, given like `min_size`.
    outliers : float, {"auto"} or None, default=None
        Largest share of the samples, below 0.5, that belong to no cluster: `labels_` and `predict`
        give them -1. They are the samples farthest from those of clusters, relative to the usual
        distances within the nearest cluster. "auto" takes the samples beyond the tail of a
        Gaussian cluster, mostly less than 1 % where there are no outliers. None leaves no sample
        out.
    warm_start : bool, default=False
        Whether another fit keeps the numbers of the clusters, so that they agree best with what
        the earlier fit predicts for the new samples. An estimator with `init` also starts from
        these predictions.
    random_state : int, RandomState instance or None, default=None
        Seed for drawing samples and starts. None means seed 0, so the same data give the same
        result each time.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        Cluster of each sample, the largest cluster first. The same as `predict` of the training
        data.
    components_ : array of shape (n_components, n_features)
        Discriminant directions of the clusters, the one that separates them best first; the
        samples' variance along each, with `reg` added, is one. ``X @ components_.T`` shows the
        clusters in their subspace.
    coef_ : array of shape (n_boundaries, n_features)
        Normals of the boundaries, for the linear kernel. There is one for each pair of clusters.
    intercept_ : array of shape (n_boundaries,)
        Offsets of the boundaries.
    boundary_sides_ : ndarray of shape (n_boundaries, n_clusters)
        Side of each boundary that each cluster lies on: 1 or -1, and 0 where it does not matter.
    objective_ : float
        Scatter between clusters over total scatter, summed over the discriminant directions: at
        most n_clusters - 1, and larger is better. It is nan for one cluster, or for fewer distinct
        samples than clusters.
    history_ : list of float
        Objective at each iteration.
    n_iter_ : int
        Iterations, the length of `history_`.
    outlier_scores_ : array of shape (n_samples,)
        Distance of each sample from those of clusters, in units of the usual distance within the
        nearest cluster; infinite where all samples of that cluster are equal. Only if `outliers`
        is not None.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where X has them.

    See Also
    --------
    DiscriminativeKMeans : The same objective, without a subspace, and with kernels.
    MaximinSeparationClustering : Lets each cluster have a covariance of its own.

    Notes
    -----
    This method and `DiscriminativeKMeans` stop at the same labellings, because the nearest of
    several means depends only on the subspace that they span. They differ in the path to them.
    More than 2,048 features are reduced to 300 combinations of them first.

    An update is one round of discriminant analysis and k-means. For more than 20,000 samples the
    start is found, and improved, on a random sample of them. The first start by k-means is
    deterministic and uses the features as they are; further ones are k-means++ runs in coordinates
    in which all directions vary equally, except those that vary little.

    References
    ----------
    .. [1] C. Ding, T. Li, "Adaptive dimension reduction using discriminant analysis and k-means
       clustering", ICML 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import LDAKMeans
    >>> X = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> model = LDAKMeans(n_clusters=2).fit(X)
    >>> model.labels_
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    >>> model.predict([[0, 0], [12, 3]])
    array([0, 1], dtype=int32)
    """

    components_: Array

    _parameter_constraints: dict = {
        **MeansClustering._parameter_constraints,
        "reg": NONNEGATIVE,
        **SIZE_BOUNDS,
        **OUTLIERS,
        **WARM_START,
    }
    _maximizes = True

    def __init__(
        self,
        n_clusters=2,
        *,
        reg=1.0,
        init="k-means",
        n_init=1,
        max_iter=100,
        tol=1e-4,
        min_size=None,
        max_size=None,
        outliers=None,
        warm_start=False,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.reg = reg
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.min_size = min_size
        self.max_size = max_size
        self.outliers = outliers
        self.warm_start = warm_start
        self.random_state = random_state

    def _means_problem(self, X, sample_weight, rng):
        return WhitenedProblem.whitened(X, sample_weight, rng, reg=self.reg)

    def _update(self, problem, start, progress):
        return solve_lda_kmeans(problem, start, progress=progress, **self._limits)

    def _attributes(self, problem, result, order):
        return {"components_": discriminants(problem, result.labelling).T}

    def _attributes_without_solution(self):
        return {"components_": np.zeros((0, self.n_features_in_))}


# --- the driver and its steps -------------------------------------------------------------------


def solve_lda_kmeans(problem, start, *, n_clusters, max_iter, tol, progress):
    r"""Alternate between the subspace of a labelling and the labelling of the subspace.

    .. math:: \max_{y, W} \; \mathrm{tr}\left((W^\top T W)^{-1} W^\top B(y) W\right), \qquad
              T = \Sigma + \lambda I

    with the covariance :math:`\Sigma` of all samples and B between clusters. The paper has the
    covariance within clusters, :math:`\Sigma - B`, in the place of :math:`\Sigma`; the best
    subspace for given labels is the same. But coordinates in which T is the identity do not depend
    on the labels, so that in them k-means raises the same objective as the discriminants do. With
    the paper's objective this is guaranteed only for two clusters, where the two objectives are
    monotone functions of each other.

    From many samples a solution for some of them is the start. Then k-means in a subspace ends as
    soon as it moves no more samples than the turn before: the next subspace would move them again.

    Parameters
    ----------
    problem : WhitenedProblem
        The data.
    start : Boundaries or array of shape (n_samples,)
        Starting labels, or the rule that makes them.
    n_clusters : int
        Number of clusters.
    max_iter : int
        Most turns, and most updates of k-means in each.
    tol : float
        Share of the samples that may still change clusters at the end.
    progress : Progress
        Where the loop counter comes from.

    Returns
    -------
    result : SolverResult
        With a `Partition` as its labelling.
    """
    limits = {"n_clusters": n_clusters, "max_iter": max_iter}
    last_share = 1.0 if problem.is_sampled else 0.0  # of the samples that a turn moved

    def turn(problem, partition):
        """Subspace of the labels, then labels in the subspace."""
        nonlocal last_share
        before = partition.labels
        found = solve_lloyd(
            replace(problem, whitening=discriminants(problem, partition)),
            partition,
            tol=max(tol, last_share),
            progress=Progress(),
            **limits,
        )
        moved = weight_that_differs(found.labels, before, problem.sample_weight)
        if problem.is_sampled:
            last_share = moved / problem.total.weight
        return found.labelling, found.model, moved

    return solve_lloyd(problem, start, tol=tol, progress=progress, update=turn, **limits)


def discriminants(problem, partition):
    """Directions W of the features that separate the clusters best, with W'TW = I.

    In coordinates in which T is the identity they span the means of the clusters.
    """
    means = problem.coordinates(problem.centers(partition))
    weighted = np.sqrt(np.maximum(partition.weights, 0.0))[:, None] * means
    _, _, directions = svd(weighted, full_matrices=False)
    return problem.whitening @ directions[: partition.n_clusters - 1].T


def weight_that_differs(labels, others, sample_weight):
    """Weight of the samples that two labellings put into different clusters."""
    differs = to_numpy(labels) != to_numpy(others)
    return float(
        differs.sum() if sample_weight is None else to_numpy(sample_weight)[differs].sum()
    )
