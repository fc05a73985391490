"""Discriminative k-means: clusters that a linear discriminant separates best."""

from separatrix.estimators.means import MeansClustering, features_for_means
from separatrix.estimators.parameters import (
    KERNEL,
    N_COMPONENTS,
    NONNEGATIVE,
    OUTLIERS,
    SIZE_BOUNDS,
    WARM_START,
)
from separatrix.solvers.lloyd import WhitenedProblem

__all__ = ["DiscriminativeKMeans"]


class DiscriminativeKMeans(MeansClustering):
    r"""Clusters that linear discriminant analysis separates best.

    Clusters and the subspace of linear discriminant analysis are sought together. For every
    labelling the best subspace is known in closed form, and what is left is kernel k-means with
    the matrix :math:`I - (I + X X^\top / \lambda)^{-1}` of centred samples [1]_: k-means in
    coordinates in which all directions vary equally, except those that vary little.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
    reg : float, default=1.0
        Weight of the regularisation. Variance that is added to all directions, in units of a
        typical variance. It sets the paper's lambda; a large value makes the method ordinary
        k-means, zero makes the objective independent of the units of the features, though not the
        start by k-means.
    kernel : str or callable, default="linear"
        "linear", "rbf", "poly", "sigmoid", "laplacian", "cosine", "chi2", "precomputed" or a
        function of two samples.
    gamma : float, {"scale", "mean", "median"} or tuple, default="mean"
        Kernel coefficient: a number, or 1 / width**2 by a rule. "mean" takes the mean distance of
        two samples as the width, "median" the median distance, ("mean", 0.5) half of the mean
        distance; "scale" is 1 / (n_features * X.var()). For more than 10 clusters such a distance
        shrinks in proportion to the clusters of k-means.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and the sigmoid kernel.
    n_components : int, default=300
        Largest number of features that approximate a kernel whose whole matrix is not used.
    init : {"k-means", "random"} or array-like of shape (n_samples,), default="k-means"
        Where the labels start. "k-means" on the features, "random" for the nearest of random
        samples, or labels from 0.
    n_init : int, default=1
        Number of starts; the one with the best objective is kept.
    max_iter : int, default=300
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
    gamma_ : float
        Kernel coefficient that was used; nan for kernels without one, or if none was used.
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
    LDAKMeans : The same objective, by turns of discriminant analysis and k-means.
    MaximinSeparationClustering : Lets each cluster have a covariance of its own.

    Notes
    -----
    With S the total scatter of n samples, lambda is `reg` times tr(S^2) / tr(S), a variance that
    depends neither on a rotation of the samples nor on further constant features, times n. No
    n-by-n matrix is formed.

    More than 2,048 features of X are reduced to `n_components` combinations of them. For more than
    20,000 samples the start is found, and improved, on a random sample of them. The first start by
    k-means is deterministic and uses the features as they are; further ones are k-means++ runs in
    the coordinates of the method.

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

    gamma_: float

    _parameter_constraints: dict = {
        **MeansClustering._parameter_constraints,
        **KERNEL,
        **N_COMPONENTS,
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
        kernel="linear",
        gamma="mean",
        degree=3,
        coef0=1,
        n_components=300,
        init="k-means",
        n_init=1,
        max_iter=300,
        tol=1e-4,
        min_size=None,
        max_size=None,
        outliers=None,
        warm_start=False,
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
        self.min_size = min_size
        self.max_size = max_size
        self.outliers = outliers
        self.warm_start = warm_start
        self.random_state = random_state

    def _means_problem(self, X, sample_weight, rng):
        features = features_for_means(self, X, sample_weight, rng)
        return WhitenedProblem.whitened(
            sample_weight=sample_weight,
            rng=rng,
            reg=self.reg,
            n_components=self.n_components,
            **features,
        )
