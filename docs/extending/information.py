"""Information maximisation: labels that a linear softmax is sure of, even in size."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from separatrix.estimators.base import BoundaryClustering, fit_without_weights
from separatrix.estimators.parameters import N_CLUSTERS, POSITIVE, UPDATES
from separatrix.models.boundaries import Boundaries
from separatrix.models.starts import SampledProblem, drawn_rows, start_of
from separatrix.result import Labelling, SolverResult, Status


class InformationMaximizationClustering(BoundaryClustering):
    """Clusters that a linear softmax classifier is sure of, and that are even in size.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
    reg : float, default=0.02
        Weight of the regularisation. It weighs the squared norm, in units of the variance.
    max_iter : int, default=100
        Most updates of the labels from one start.
    tol : float, default=1e-4
        Stop when an update changes the clusters of at most this share of the samples; zero asks
        for an exact fixed point.
    random_state : int, RandomState instance or None, default=None
        Draws samples and starts. None is the seed 0, so that the same data give the same result
        each time.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        Cluster of each sample, the largest cluster first. `predict` of the training data.
    coef_ : array of shape (n_boundaries, n_features)
        Normals of the boundaries, for the linear kernel. One for two clusters, otherwise one for
        each cluster.
    intercept_ : array of shape (n_boundaries,)
        Offsets of the boundaries.
    boundary_sides_ : ndarray of shape (n_boundaries, n_clusters)
        Side of each boundary that each cluster lies on: 1 or -1, and 0 where it does not matter.
    objective_ : float
        Information less the weighted norm: larger is better.
    history_ : list of float
        Objective at each iteration. It never falls.
    n_iter_ : int
        Iterations, the length of `history_`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X has them.
    """

    _parameter_constraints: dict = {**N_CLUSTERS, **UPDATES, "reg": POSITIVE}
    fit = fit_without_weights

    def __init__(self, n_clusters=2, *, reg=0.02, max_iter=100, tol=1e-4, random_state=None):
        self.n_clusters = n_clusters
        self.reg = reg
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _problem(self, X, sample_weight, links, progress, rng):
        return SampledProblem(X=X, sample_weight=None, **drawn_rows(X, None, rng))

    def _solve(self, problem, progress, rng):
        start = start_of("k-means", problem, self.n_clusters, restart=0, rng=rng)
        return solve_information_maximization(
            problem,
            start,
            reg=self.reg,
            max_iter=self.max_iter,
            tol=self.tol,
            progress=progress,
        )


def solve_information_maximization(problem, start, *, reg, max_iter, tol, progress):
    r"""Maximise the information that samples have about their labels.

    .. math:: \max_{W, b} \; H(\bar p) - \frac1n \sum_i H(p_i) - \frac{\lambda v}{2} \|W\|^2,
              \qquad p_i = \operatorname{softmax}(W x_i + b)

    with the entropy H, the mean :math:`\bar p` of all probabilities and the mean variance v of
    the features: R. Gomes, A. Krause, P. Perona, "Discriminative clustering by regularized
    information maximization", NIPS 2010, with a linear model. An update is ten steps of L-BFGS;
    `start` is the rule of the first labels. Returns a SolverResult.
    """
    n_clusters = start.n_clusters
    rows = problem.rows.toarray() if hasattr(problem.rows, "toarray") else problem.rows
    mean, variance = rows.mean(axis=0), rows.var(axis=0).mean() or 1.0
    rows = np.column_stack([rows - mean, np.ones(len(rows))]).astype(np.float64)

    def loss(theta):
        weights = theta.reshape(n_clusters, -1)
        log_p = log_softmax(rows @ weights.T, axis=1)
        p, penalty = np.exp(log_p), reg * variance * weights * ([1.0] * len(mean) + [0.0])
        gain = log_p - np.log(p.mean(axis=0))
        pull = p * (gain - (p * gain).sum(axis=1, keepdims=True)) / len(rows)
        value = (p * gain).sum() / len(rows) - 0.5 * (penalty * weights).sum()
        return -value, (penalty - pull.T @ rows).ravel()

    # 0) weights that point to the means of the start
    labels = start.labels(problem.rows)
    centers = [rows[labels == c].mean(axis=0) for c in range(n_clusters) if (labels == c).any()]
    theta = np.resize(centers, (n_clusters, rows.shape[1])).ravel() / variance
    iterations = progress.iterations(max_iter)
    for _ in iterations:
        # 1) better weights, 2) their boundaries and labels, 3) stop when few labels change
        found = minimize(loss, theta, jac=True, method="L-BFGS-B", options={"maxiter": 10})
        theta, coef = found.x, found.x.reshape(n_clusters, -1)
        coef = np.diff(coef, axis=0) if n_clusters == 2 else coef
        rule = Boundaries.one_vs_rest(coef[:, :-1], coef[:, -1] - coef[:, :-1] @ mean)
        iterations.record(-found.fun, rule)
        before, labels = labels, rule.labels(problem.rows)
        if np.mean(labels != before) <= tol:
            iterations.status = Status.CONVERGED
            break
    labelling = Labelling(problem.labels_of(rule), n_clusters)
    status = Status.DEGENERATE if labelling.empty.any() else iterations.status
    return SolverResult(labelling, rule, iterations.history[-1], iterations.history, status)
