"""Information maximisation: clusters that a softmax classifier assigns with confidence."""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import log_softmax

from separatrix._sklearn import StrOptions, one_blas_thread, to_numpy
from separatrix._typing import Array, Samples
from separatrix.data.moments import Units, total_moments
from separatrix.data.rows import rows_at, sample_rows
from separatrix.estimators.means import MeansClustering, features_for_means
from separatrix.estimators.memberships import as_calibrated, columns_made
from separatrix.estimators.parameters import (
    KERNEL,
    N_COMPONENTS,
    NONNEGATIVE,
    OUTLIERS,
    SIZE_BOUNDS,
    WARM_START,
)
from separatrix.models.boundaries import Boundaries
from separatrix.models.scores import probabilities_of
from separatrix.result import Labelling, SolverResult, Status
from separatrix.solvers.information_maximization import CentredRows, objective_of
from separatrix.solvers.lloyd import KMeansProblem

__all__ = ["InformationMaximizationClustering", "solve_information_maximization"]

# Steps of L-BFGS in an update.
STEPS = 20
# By how much the score of the own cluster leads at the start: the best of these is taken.
FIRST_LEADS = 2.0 ** np.arange(-1, 9)
TINY = np.finfo(np.float64).tiny
# The weight of norms for up to this many clusters, and what it may cost more clusters, as a share
# of the largest information.
USUAL_REG, FEW_CLUSTERS = 0.02, 10
LARGEST_LOSS = 0.1
# For more clusters than this the objective uses this many rows, or this many for each cluster.
# Updates end when one improves it by no more than this share, since some of many labels always
# change.
MANY_CLUSTERS, MANY_ROWS, ROWS_PER_CLUSTER = 20, 2_000, 50
LEAST_GAIN = 1e-3


# --- the estimator ------------------------------------------------------------------------------


class InformationMaximizationClustering(MeansClustering):
    r"""Clusters that a softmax classifier assigns with confidence, and that lie far apart.

    The classifier gives each sample a probability of each cluster. It is trained without labels,
    to maximise the mutual information of samples and clusters minus a penalty on its weights. This
    information is large if the classifier is confident about every sample and the clusters have
    similar sizes [1]_. It is a mean divergence between clusters; related objectives use distances
    between the samples of clusters instead [2]_.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
    objective : {"information", "mmd", "wasserstein"}, default="information"
        Measure of how different the distributions of clusters are. "information" is the
        Kullback-Leibler divergence, "mmd" the distance of means in the space of the kernel (the
        maximum mean discrepancy), "wasserstein" the mean distance in that space that samples move
        when one distribution is turned into the other.
    comparison : {"one-vs-all", "one-vs-one"}, default="one-vs-all"
        What is compared: each cluster with all samples, or with each other cluster.
        "one-vs-all" with "information" is regularised information maximisation.
    reg : float or "auto", default="auto"
        Weight of the regularisation. It weighs the squared norm of the classifier's weights, in
        units of the variance of a feature. Larger values give softer probabilities, and beyond
        some value fewer clusters. "auto" is 0.02. For more than 10 clusters, which need larger
        weights, it is smaller if it would cost the classifier of the starting clusters more than a
        tenth of the largest possible information.
    kernel : str or callable, default="linear"
        "linear", "rbf", "poly", "sigmoid", "laplacian", "cosine", "chi2", "precomputed" or a
        function of two samples.
    gamma : float, {"scale", "mean", "median"} or tuple, default="scale"
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
    coef_ : array of shape (n_boundaries, n_features)
        Normals of the boundaries, for the linear kernel. One for two clusters, otherwise one for
        each cluster.
    intercept_ : array of shape (n_boundaries,)
        Offsets of the boundaries.
    boundary_sides_ : ndarray of shape (n_boundaries, n_clusters)
        Side of each boundary that each cluster lies on: 1 or -1, and 0 where it does not matter.
    objective_ : float
        Mean divergence or distance less the penalty: larger is better. Information is in nats,
        distances are in standard deviations of a feature. It is nan for one cluster, or for fewer
        distinct samples than clusters.
    history_ : list of float
        Objective at each iteration. It never falls.
    gamma_ : float
        Kernel coefficient that was used; nan for kernels without one, or if none was used.
    reg_ : float
        Weight of the regularisation that was used; nan if none was.
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
    SquaredLossMutualInformationClustering : Another information, in closed form.
    MaximumMarginClustering : Clusters that support vector machines tell apart.

    Notes
    -----
    An update is twenty steps of L-BFGS. The start is the classifier whose weights point to the
    means of the starting clusters, with the confidence that is best for the objective.

    Kernels other than the linear one use at most `n_components` features, in whose space all
    distances and norms are measured. The variance of a feature is an average in which each feature
    counts by its own variance, so that constant features do not count; for other kernels it is an
    average over principal directions.

    Wasserstein distances are exact for up to 300 samples. From more, 300 are drawn, and each
    sample takes the place of the nearest of these. The objective itself is computed on at most
    20,000 samples, or a fiftieth of all up to 400,000, drawn at random; for more than 20
    clusters on 2,000, or on 20 for each cluster, until an update improves it by less than a
    thousandth.

    For two clusters both comparisons are the same, except for "information": there "one-vs-one"
    grows with the largest score of any sample and needs a larger `reg`.

    References
    ----------
    .. [1] A. Krause, P. Perona, R. Gomes, "Discriminative clustering by regularized information
       maximization", NIPS 2010.
    .. [2] L. Ohl, P.-A. Mattei, C. Bouveyron, W. Harchaoui, M. Leclercq, A. Droit, F. Precioso,
       "Generalised mutual information for discriminative clustering", NeurIPS 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import InformationMaximizationClustering
    >>> X = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0], [11, 2]])
    >>> model = InformationMaximizationClustering(n_clusters=2).fit(X)
    >>> model.labels_
    array([1, 1, 1, 0, 0, 0, 0], dtype=int32)
    >>> model.predict([[0, 0], [12, 3]])
    array([1, 0], dtype=int32)
    >>> model.predict_proba([[5, 1]]).round(2)
    array([[0.4, 0.6]])
    """

    gamma_: float
    reg_: float

    _starts_with_fewer = True

    _parameter_constraints: dict = {
        **MeansClustering._parameter_constraints,
        **KERNEL,
        **N_COMPONENTS,
        "objective": [StrOptions({"information", "mmd", "wasserstein"})],
        "comparison": [StrOptions({"one-vs-all", "one-vs-one"})],
        "reg": [StrOptions({"auto"}), *NONNEGATIVE],
        **SIZE_BOUNDS,
        **OUTLIERS,
        **WARM_START,
    }
    _maximizes = True

    def __init__(
        self,
        n_clusters=2,
        *,
        objective="information",
        comparison="one-vs-all",
        reg="auto",
        kernel="linear",
        gamma="scale",
        degree=3,
        coef0=1,
        n_components=300,
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
        self.objective = objective
        self.comparison = comparison
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

    def predict_proba(self, X: Samples) -> Array:
        """Probability of each cluster: the softmax of the scores.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
            Samples; their kernel with the training samples where that is precomputed.

        Returns
        -------
        probabilities : array of shape (n_samples, n_clusters)
            Rows add up to one. Lazy for a dask array.
        """
        X = self._validate_new(X, "predict_proba")
        scores, n_clusters = self._model.scores_of_rows(X), self._model.n_clusters
        return as_calibrated(self, columns_made(probabilities_of, scores, n_clusters))

    def _means_problem(self, X, sample_weight, rng):
        features = features_for_means(self, X, sample_weight, rng)
        return InformationProblem.of(sample_weight=sample_weight, rng=rng, **features)

    def _update(self, problem, start, progress):
        return solve_information_maximization(
            problem,
            start,
            objective=self.objective,
            comparison=self.comparison,
            reg=self.reg,
            progress=progress,
            **self._limits,
        )

    def _attributes(self, problem, result, order):
        return {"reg_": result.details}

    def _attributes_without_solution(self):
        return {"reg_": np.nan}


# --- the driver ---------------------------------------------------------------------------------


class InformationProblem(KMeansProblem):
    """Samples, of which the objective uses only the drawn rows."""

    @property
    def is_sampled(self):
        """There is no first solution on the drawn rows: the problem is always solved on them."""
        return False


@one_blas_thread
def solve_information_maximization(
    problem, start, *, objective, comparison, reg, n_clusters, max_iter, tol, progress
):
    r"""Train a softmax classifier so that its clusters are most informative of samples.

    .. math:: \max_{W, b} \; \sum_k \pi_k D(p(x|k), p(x)) - \lambda \|W\|^2,
              \qquad p_i = \operatorname{softmax}(W x_i + b)

    with the mean :math:`\pi` of the probabilities :math:`p_i` of clusters. If D is the
    Kullback-Leibler divergence, this is the objective of [1]_, the entropy of the mean less the
    mean of the entropies; other distances, and pairs of clusters in the place of one cluster and
    all samples, are from [2]_. Samples are measured in standard deviations of a feature, so that
    :math:`\lambda` has no unit.

    The objective is not concave, and zero at W = 0. Hence the start: with the means :math:`m_k` of
    the starting clusters about the mean of all samples, the scores are :math:`t (m_k^\top x -
    \|m_k\|^2 / 2)` with the best t of some. From there every step of L-BFGS goes up, so that no
    start above zero collapses.

    Parameters
    ----------
    problem : InformationProblem
        The data.
    start : Boundaries or array of shape (n_samples,)
        Starting labels, or the rule that makes them.
    objective, comparison : str
        What is maximised, as for `objective_of`.
    reg : float or "auto"
        Weight :math:`\lambda` of the squared norm.
    n_clusters : int
        Number of clusters.
    max_iter : int
        Most updates, of twenty steps each.
    tol : float
        Share of the samples that may still change clusters at the end.
    progress : Progress
        Where the loop counter comes from.

    Returns
    -------
    result : SolverResult
        With the weight of the squared norm as its details.

    References
    ----------
    .. [1] A. Krause, P. Perona, R. Gomes, "Discriminative clustering by regularized information
       maximization", NIPS 2010.
    .. [2] L. Ohl, P.-A. Mattei, C. Bouveyron, W. Harchaoui, M. Leclercq, A. Droit, F. Precioso,
       "Generalised mutual information for discriminative clustering", NeurIPS 2022.
    """
    units = units_of(problem)
    drawn, drawn_weight = seen_rows(problem, n_clusters)
    rows, weights = in_units(drawn, drawn_weight, units)
    if isinstance(reg, str):
        reg = automatic_reg(problem, start, units, n_clusters)
    criterion = objective_of(objective, comparison, rows, weights, n_clusters=n_clusters)
    known = KnownClusters.of(problem, units)

    def loss(theta):
        coef, offset = np.hsplit(theta.reshape(n_clusters, -1), [-1])
        value, pull = criterion(log_softmax(rows.times(coef.T) + offset.T, axis=1), weights)
        gradient = np.column_stack([rows.sums(pull).T - 2 * reg * coef, pull.sum(axis=0)])
        if known is not None:
            likelihood, steepest = known.likelihood(coef, offset)
            value, gradient = value + likelihood, gradient + steepest
        return reg * np.square(coef).sum() - value, -gradient.ravel()

    # 0) the classifier of the starting clusters, with the best confidence
    theta = min(first_classifiers(problem, start, units, n_clusters), key=lambda one: loss(one)[0])
    labels, best = None, np.inf
    iterations = progress.iterations(max_iter)
    for _ in iterations:
        # 1) better weights, 2) their boundaries and labels, 3) stop where no step goes up, or
        # when few labels change
        found = minimize(loss, theta, jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
        gain = best - found.fun
        if found.fun < best:
            theta, best = found.x, found.fun
        rule = boundaries_of(theta, units, n_clusters)
        iterations.record(float(-best), rule)
        before, labels = labels, rule.labels(drawn)
        if found.success or (before is not None and weights @ (labels != before) <= tol):
            iterations.status = Status.CONVERGED
            break
        if n_clusters > MANY_CLUSTERS and gain <= LEAST_GAIN * abs(best):
            iterations.status = Status.STALLED
            break
    labels = problem.labels_of(rule) if problem.links is None else problem.rule(rule)
    labelling = Labelling(labels, n_clusters, problem.sample_weight)
    status = Status.DEGENERATE if labelling.empty.any() else iterations.status
    return SolverResult(
        labelling,
        rule,
        iterations.history[-1],
        iterations.history,
        status,
        details=float(reg),
        keeps_labels=problem.links is not None,
    )


@dataclass(frozen=True)
class KnownClusters:
    """Samples with known labels, whose likelihood is added to the objective.

    Attributes
    ----------
    rows : CentredRows
        The samples, in units.
    targets : ndarray of shape (n_known, n_clusters)
        Weights of the samples in their clusters, which add up to one.
    """

    rows: CentredRows
    targets: np.ndarray

    @classmethod
    def of(cls, problem, units):
        """Those of a problem; None if it knows no labels."""
        if problem.links is None or not problem.links.teaches:
            return None
        labels = problem.links.known_labels
        known = np.flatnonzero(labels >= 0)
        weight = to_numpy(problem.sample_weight)[known]
        targets = np.eye(problem.links.n_clusters)[labels[known]] * weight[:, None]
        rows, _ = in_units(rows_at(problem.X, known), None, units)
        return cls(rows, targets / weight.sum())

    def likelihood(self, coef, offset):
        """Mean logarithm of the probabilities of the known labels, and its derivatives."""
        logs = log_softmax(self.rows.times(coef.T) + offset.T, axis=1)
        pull = self.targets - np.exp(logs) * self.targets.sum(axis=1, keepdims=True)
        slopes = np.column_stack([self.rows.sums(pull).T, pull.sum(axis=0)])
        return float(np.sum(self.targets * logs)), slopes


def units_of(problem):
    """The mean of all samples, and one standard deviation for all features.

    Variances are averaged with themselves as weights, so that constant features do not count.
    Features of a kernel are only one basis of its space, so there the variances of principal
    directions are averaged.
    """
    units = Units.of(problem.total, problem.shift)
    spread = np.square(np.where(units.active, units.scale, 0.0))
    total = spread.sum()
    if problem.feature_map is not None:
        rows = problem.rows.astype(np.float64, copy=False)
        spread = total_moments(rows, problem.row_weight, shift=problem.shift).covariance
    typical = np.sqrt((spread * (spread / total)).sum()) if total > 0 else np.inf
    return replace(units, scale=np.full_like(units.scale, typical))


def seen_rows(problem, n_clusters):
    """Rows that the objective is computed on, and their weights: fewer for many clusters."""
    if n_clusters <= MANY_CLUSTERS:
        return problem.rows, problem.row_weight
    size = max(MANY_ROWS, ROWS_PER_CLUSTER * n_clusters)
    drawing = np.random.RandomState(0)  # the same each time
    return sample_rows(problem.rows, problem.row_weight, size=size, rng=drawing)


def automatic_reg(problem, start, units, n_clusters):
    """Weight of the norm that does not prevent the starting clusters from being separated.

    If they were Gaussian with one variance, their classifier would have the weights mean over
    variance. For many clusters these are large.
    """
    if n_clusters <= FEW_CLUSTERS:
        return USUAL_REG
    partition = problem.partition(n_clusters)
    partition.assign(problem.numbered(start))
    means = problem.centers(partition) / units.scale
    total = np.square(np.where(units.active, np.sqrt(problem.total.variance) / units.scale, 0.0))
    shares = partition.weights / partition.weights.sum()
    within = total.sum() - shares @ np.square(means).sum(axis=1)
    # clusters of equal samples vary by rounding alone
    least = np.finfo(np.float64).eps * total.sum()
    variance = max(within, least) / max(1, np.count_nonzero(units.active))
    squares = max(np.square(means).sum(), TINY)
    return min(USUAL_REG, max(LARGEST_LOSS * np.log(n_clusters) * variance**2 / squares, TINY))


def in_units(rows, weights, units):
    """Rows about their origin and in units, and their weights, which add up to one."""
    rows = units.standardize(rows.astype(np.float64, copy=False))
    weights = np.ones(rows.shape[0]) if weights is None else weights
    mean = units.mean / units.scale if sp.issparse(rows) else np.zeros(rows.shape[1])
    return CentredRows(rows, mean), weights / weights.sum()


def first_classifiers(problem, start, units, n_clusters):
    """Scores that are largest for the nearest mean of the starting clusters, by how large."""
    partition = problem.partition(n_clusters)
    partition.assign(problem.numbered(start))
    means = problem.centers(partition) / units.scale
    squares = np.square(means).sum(axis=1)
    lead = partition.weights @ squares / partition.weights.sum()
    theta = np.column_stack([means, -0.5 * squares]).ravel() / max(lead, TINY)
    return (size * theta for size in FIRST_LEADS)


def boundaries_of(theta, units, n_clusters):
    """Boundaries of a classifier of samples in units."""
    scores = theta.reshape(n_clusters, -1)
    scores = np.diff(scores, axis=0) if n_clusters == 2 else scores - scores.mean(axis=0)
    return units.destandardize(Boundaries.one_vs_rest(scores[:, :-1], scores[:, -1]))
