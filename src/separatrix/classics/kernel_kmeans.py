"""Kernel k-means: clusters around means in the feature space of a kernel."""

from separatrix.estimators.means import MeansClustering, features_for_means
from separatrix.estimators.parameters import (
    KERNEL,
    N_COMPONENTS,
    OUTLIERS,
    SIZE_BOUNDS,
    WARM_START,
)
from separatrix.solvers.lloyd import KMeansProblem

__all__ = ["KernelKMeans"]


class KernelKMeans(MeansClustering):
    """Clusters around means in the feature space of a kernel.

    k-means with the distances of a kernel [1]_. The kernel is turned into features whose inner
    products approximate it, and k-means runs on these features. The result is exact where
    `n_components` features reproduce the kernel.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
    kernel : str or callable, default="rbf"
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
        Normals of the boundaries, for the linear kernel. There is one for each pair of means.
    intercept_ : array of shape (n_boundaries,)
        Offsets of the boundaries.
    boundary_sides_ : ndarray of shape (n_boundaries, n_clusters)
        Side of each boundary that each cluster lies on: 1 or -1, and 0 where it does not matter.
    objective_ : float
        Sum of the squared distances of samples from the means of their clusters, in the features:
        smaller is better. It is nan for one cluster, or for fewer distinct samples than clusters.
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
    DiscriminativeKMeans : Measures distances in directions that tell the clusters apart.
    RegularizedLeastSquaresClustering : Clusters that classifiers with a kernel tell apart.

    Notes
    -----
    With the linear kernel it is ordinary k-means. The features of other kernels are columns of an
    incomplete Cholesky decomposition with pivoting, computed from at most 3,000 samples, or ten
    times `n_components` if that is more.

    For more than 20,000 samples the start is found, and improved, on a random sample of them. The
    first start by k-means splits clusters along principal directions and is deterministic; further
    ones are k-means++ runs.

    References
    ----------
    .. [1] M. Girolami, "Mercer kernel-based clustering in feature space", IEEE Transactions on
       Neural Networks 13(3), 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import KernelKMeans
    >>> X = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> model = KernelKMeans(n_clusters=2).fit(X)
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
        **SIZE_BOUNDS,
        **OUTLIERS,
        **WARM_START,
    }

    def __init__(
        self,
        n_clusters=2,
        *,
        kernel="rbf",
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
        return KMeansProblem.of(sample_weight=sample_weight, rng=rng, **features)
