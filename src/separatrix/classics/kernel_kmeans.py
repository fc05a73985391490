"""Kernel k-means: clusters around means in the feature space of a kernel."""

from separatrix.estimators.base import BaseDiscriminativeClustering
from separatrix.estimators.means import KernelMeansMixin
from separatrix.models.starts import kmeans_start, random_start
from separatrix.solvers.lloyd import KMeansProblem, solve_lloyd

__all__ = ["KernelKMeans"]


class KernelKMeans(KernelMeansMixin, BaseDiscriminativeClustering):
    """Clusters around means in the feature space of a kernel.

    k-means with the distances of a kernel [1]_. The kernel is turned into features whose inner
    products it is, so that k-means on them is kernel k-means, exactly so where `n_components`
    features are enough for the kernel.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
    kernel : str or callable, default="rbf"
        "linear", "rbf", "poly", "sigmoid", "laplacian", "cosine", "chi2", "precomputed" or a
        function of two samples. With "linear" it is ordinary k-means.
    gamma : float, {"scale", "mean", "median"} or tuple, default="mean"
        Kernel coefficient; "scale" is 1 / (n_features * X.var()), "mean" is 1 / sigma**2 with the
        mean distance of two samples as the width sigma, "median" with the median distance, and
        ("mean", 0.5) with half of the mean distance.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and the sigmoid kernel.
    n_components : int, default=300
        Most features that stand for the kernel: columns of an incomplete Cholesky decomposition
        with pivoting, of at most 20,000 samples.
    init : {"k-means", "random"} or array-like of shape (n_samples,), default="k-means"
        Start: k-means on the features of at most 20,000 samples, or the nearest of random samples,
        or labels from 0.
    n_init : int, default=1
        Number of starts, of which the best objective is kept. The first k-means start splits
        clusters along principal directions and is deterministic, further ones are k-means++ runs.
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
        Normals of the boundaries between pairs of means, for the linear kernel.
    intercept_ : array of shape (n_boundaries,)
        Offsets of the boundaries.
    objective_ : float
        Summed squared distances of samples from the means of their clusters, in the features:
        smaller is better.
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
    DiscriminativeKMeans : Measures distances in directions that tell the clusters apart.
    RegularizedLeastSquaresClustering : Clusters that classifiers with a kernel tell apart.

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

    _smaller_is_better = True

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
        self.random_state = random_state

    def _prepare(self, X, sample_weight, progress, rng):
        return KMeansProblem.of(self._features(X, sample_weight, rng), sample_weight, rng)

    def _start(self, problem, restart, rng):
        """Labels, or the rule that makes them, for start number `restart`."""
        if not isinstance(self.init, str):
            return self._init_labels(problem)
        if self.init == "random":
            return random_start(problem.rows, self.n_clusters, rng)
        seeds = rng if restart else None
        return kmeans_start(problem.rows, problem.row_weight, self.n_clusters, rng=seeds)

    def _fit_once(self, problem, restart, progress, rng):
        return solve_lloyd(
            problem,
            self._start(problem, restart, rng),
            n_clusters=self.n_clusters,
            max_iter=self.max_iter,
            tol=self.tol,
            progress=progress,
        )
