"""Spherical k-means: clusters of samples that point the same way."""

import numpy as np
from sklearn.preprocessing import normalize

from separatrix.estimators.base import BoundaryClustering, fit_without_weights
from separatrix.estimators.parameters import N_CLUSTERS, UPDATES
from separatrix.models.boundaries import Boundaries
from separatrix.models.starts import SampledProblem, drawn_rows, start_of
from separatrix.result import Labelling, SolverResult, Status


class SphericalKMeans(BoundaryClustering):
    """Clusters of samples that point the same way, whatever their lengths.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
    max_iter : int, default=100
        Largest number of updates of the labels from one start.
    tol : float, default=1e-4
        Stop when an update changes the clusters of at most this share of the samples; zero asks
        for an exact fixed point.
    random_state : int, RandomState instance or None, default=None
        Seed for drawing samples and starts. None means seed 0, so the same data give the same
        result each time.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        Cluster of each sample, the largest cluster first. The same as `predict` of the training
        data.
    coef_ : array of shape (n_boundaries, n_features)
        Normals of the boundaries, for the linear kernel. The direction of each cluster, or the
        difference of both.
    intercept_ : array of shape (n_boundaries,)
        Offsets of the boundaries.
    boundary_sides_ : ndarray of shape (n_boundaries, n_clusters)
        Side of each boundary that each cluster lies on: 1 or -1, and 0 where it does not matter.
    objective_ : float
        Mean cosine of samples and the directions of their clusters: larger is better.
    history_ : list of float
        Objective at each iteration. It never falls.
    n_iter_ : int
        Iterations, the length of `history_`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where X has them.
    """

    _parameter_constraints: dict = {**N_CLUSTERS, **UPDATES}
    fit = fit_without_weights

    def __init__(self, n_clusters=2, *, max_iter=100, tol=1e-4, random_state=None):
        self.n_clusters = n_clusters
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _problem(self, X, sample_weight, links, progress, rng):
        rows = normalize(drawn_rows(X, None, rng)["rows"])
        return SampledProblem(X=X, sample_weight=None, rows=rows, row_weight=None)

    def _solve(self, problem, progress, rng):
        start = start_of("k-means", problem, self.n_clusters, restart=0, rng=rng)
        return solve_spherical_kmeans(
            problem, start, max_iter=self.max_iter, tol=self.tol, progress=progress
        )


def solve_spherical_kmeans(problem, start, *, max_iter, tol, progress):
    r"""Alternate between the directions of clusters and the clusters of directions.

    .. math:: \max_{y, m} \; \frac1n \sum_i \frac{x_i^\top m_{y_i}}{\|x_i\|},
              \qquad \|m_k\| = 1

    I. S. Dhillon, D. S. Modha, "Concept decompositions for large sparse text data using
    clustering", Machine Learning 42, 2001. Neither step lowers the objective. `start` is the rule
    of the first labels, for samples of length one. Returns a SolverResult.
    """
    rows, n_clusters = problem.rows, start.n_clusters
    labels = start.labels(rows)
    iterations = progress.iterations(max_iter)
    for _ in iterations:
        # 1) directions of the sums of clusters, 2) the nearest of them, 3) stop if few change
        centers = normalize(np.asarray(rows.T @ np.eye(n_clusters)[labels]).T)
        cosines = rows @ centers.T
        coef = np.diff(centers, axis=0) if n_clusters == 2 else centers
        rule = Boundaries.one_vs_rest(coef, np.zeros(len(coef)))
        before, labels = labels, rule.labels(rows)
        iterations.record(float(cosines[np.arange(len(labels)), labels].mean()), rule)
        if np.mean(labels != before) <= tol:
            iterations.status = Status.CONVERGED
            break
    labelling = Labelling(problem.labels_of(rule), n_clusters)
    status = Status.DEGENERATE if labelling.empty.any() else iterations.status
    return SolverResult(labelling, rule, iterations.history[-1], iterations.history, status)
