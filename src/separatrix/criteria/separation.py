"""Maximin separation probability clustering: the labelling a minimax machine separates best."""

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg

from separatrix._sklearn import StrOptions, like, one_blas_thread, to_numpy
from separatrix._typing import Array
from separatrix.data.rows import join_rows, map_chunks
from separatrix.estimators.base import (
    BoundaryClustering,
    best_of_starts,
    fit_with_weights_and_links,
)
from separatrix.estimators.parameters import (
    KERNEL,
    N_CLUSTERS,
    N_COMPONENTS,
    NONNEGATIVE,
    OUTLIERS,
    RESTARTS,
    SIZE_BOUNDS,
    WARM_START,
)
from separatrix.labels.sizes import lower_bound_cut
from separatrix.models.boundaries import Boundaries, one_vs_rest_code, pairwise_code
from separatrix.models.starts import solve_from_start, taught_weight
from separatrix.result import SolverResult, Status
from separatrix.solvers.bisection import bisect
from separatrix.solvers.minimax import (
    Sides,
    Step,
    eigenvector_boundary,
    minimax_between,
    minimax_steps,
    moment_problem,
    pairwise_kappa,
    separation_probability,
)

__all__ = ["MaximinSeparationClustering", "solve_eigenvector", "solve_separation"]

# Solvers that take the labels from one eigenvector.
EIGENVECTOR_SOLVERS = ("eig", "eig-paper")


class MaximinSeparationClustering(BoundaryClustering):
    """Clusters that a linear boundary separates with the highest guaranteed probability.

    Each candidate clustering is judged by the minimum separation probability: the share of each
    cluster that is certain to lie on its side of the best hyperplane, whatever the distribution
    of the cluster, given its mean and covariance [1]_. The method looks for the clustering that
    maximises it. The criterion does not depend on the units of the features.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
    solver : {"mpm", "gep", "eig", "eig-paper"}, default="mpm"
        Algorithm that looks for the solution. "mpm" maximises the criterion itself, "gep" a lower
        bound that favours clusters of equal size, "eig" a relaxation without iteration or start:
        the sign of the first principal component of the standardised features. "eig-paper" reads
        the labels off the same eigenvector as the paper does, by the sign of XX'q, which depends
        on the units of the features.
    reg : float, default=0.3
        Weight of the regularisation. The paper's lambda: the share of the total variances that is
        added to the covariances of each cluster. Larger values rely less on correlations. We know
        of no rule that chooses it better than this default without labels.
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
    multiway : {"auto", "pairwise", "one-vs-rest", "bisection"}, default="auto"
        How more than two clusters are separated. By one boundary for each pair ("pairwise"), one
        around each cluster ("one-vs-rest"), or repeated splits in two of the most scattered
        cluster ("bisection"). "auto" is pairwise, except for the "eig" solvers, which can only
        bisect.
    init : {"k-means", "scale-invariant", "random"} or array-like of shape (n_samples,), \
            default="k-means"
        Where the labels start. "k-means" on the features; "scale-invariant", which does not depend
        on the units of features (the leading eigenvector of the correlation matrix, for more than
        two clusters k-means on standardised features); "random" for the nearest of random samples;
        or labels from 0. Ignored by the "eig" solvers.
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
        data, except where links bind.
    separation_probability_ : float
        Minimum separation probability of the labelling, of its worst pair of clusters. It is nan
        if there is no pair, or for fewer distinct samples than clusters.
    pairwise_separation_ : array of shape (n_clusters, n_clusters)
        The same for each pair; nan on the diagonal, and where a cluster has no samples.
    coef_ : array of shape (n_boundaries, n_features)
        Normals of the boundaries, for the linear kernel.
    intercept_ : array of shape (n_boundaries,)
        Offsets of the boundaries.
    boundary_sides_ : ndarray of shape (n_boundaries, n_clusters)
        Side of each boundary that each cluster lies on: 1 or -1, and 0 where it does not matter.
    objective_ : float
        Kappa, the distance between means over the sum of standard deviations, averaged over the
        boundaries; for `solver="gep"` its lower bound. It is nan for one cluster, or for fewer
        distinct samples than clusters.
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
    MinimaxProbabilityMachine : The classifier for known labels.
    separatrix.metrics.separation_probability_score : The criterion for any labelling.

    Notes
    -----
    The defaults depart from the paper, which chooses lambda by the true classes and returns the
    last labels. Here `reg` is fixed, and the best labels met are returned. The eigenvector of its
    third approach is read off in two ways, by "eig" and "eig-paper".

    An iteration costs one product of X with a vector and the moments of the samples that change
    clusters. The minimax machine is solved from one Cholesky factor. Data with more than 2,048
    features, sparse or not, are never turned into a covariance matrix.

    Kernels other than the linear one use at most `n_components` features and have no `coef_`; with
    them the criterion depends on the scale of the features.

    For more than 20,000 samples the start is found, and improved, on a random sample of them. The
    first start by k-means is deterministic; further ones are k-means++ runs.

    Scores of `decision_function` are such that the standard deviations of two neighbouring
    clusters across their boundary add up to one.

    References
    ----------
    .. [1] G. Huang, J. Zhang, S. Song, Z. Chen, "Maximin separation probability clustering",
       AAAI 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import MaximinSeparationClustering
    >>> X = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0], [11, 2]])
    >>> model = MaximinSeparationClustering(n_clusters=2).fit(X)
    >>> model.labels_
    array([1, 1, 1, 0, 0, 0, 0], dtype=int32)
    >>> model.predict([[0, 0], [12, 3]])
    array([1, 0], dtype=int32)
    """

    separation_probability_: float
    pairwise_separation_: Array
    gamma_: float

    _parameter_constraints: dict = {
        **N_CLUSTERS,
        **KERNEL,
        **N_COMPONENTS,
        **RESTARTS,
        "solver": [StrOptions({"mpm", "gep", *EIGENVECTOR_SOLVERS})],
        "reg": NONNEGATIVE,
        "multiway": [StrOptions({"auto", "pairwise", "one-vs-rest", "bisection"})],
        "init": [StrOptions({"k-means", "scale-invariant", "random"}), "array-like"],
        **SIZE_BOUNDS,
        **OUTLIERS,
        **WARM_START,
    }
    _weighs_known = True

    def __init__(
        self,
        n_clusters=2,
        *,
        solver="mpm",
        reg=0.3,
        kernel="linear",
        gamma="scale",
        degree=3,
        coef0=1,
        n_components=300,
        multiway="auto",
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
        self.solver = solver
        self.reg = reg
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.multiway = multiway
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.min_size = min_size
        self.max_size = max_size
        self.outliers = outliers
        self.warm_start = warm_start
        self.random_state = random_state

    fit = fit_with_weights_and_links
    _maximizes = True

    def _problem(self, X, sample_weight, links, progress, rng):
        multiway = self._resolved_multiway()
        if links is not None and multiway == "bisection" and self.n_clusters > 2:
            raise ValueError(
                "links need multiway='pairwise' or 'one-vs-rest', with solver='mpm' or 'gep': a "
                f"bisection of n_clusters={self.n_clusters} clusters does not keep them."
            )
        takes_labels = not isinstance(self.init, str) and not self._is_relaxed
        if takes_labels and multiway == "bisection" and self.n_clusters > 2:
            raise ValueError(
                "init as labels needs multiway='pairwise' or 'one-vs-rest': a bisection of "
                f"n_clusters={self.n_clusters} clusters finds its own starts."
            )
        weight = taught_weight(links, sample_weight, X)
        return moment_problem(self, X, weight, rng, links=links)

    @property
    def _is_relaxed(self):
        return self.solver in EIGENVECTOR_SOLVERS

    def _resolved_multiway(self):
        if self.multiway == "auto":
            return "bisection" if self._is_relaxed else "pairwise"
        if self._is_relaxed and self.n_clusters > 2 and self.multiway != "bisection":
            raise ValueError(
                f"multiway={self.multiway!r} does not work with solver={self.solver!r}, which "
                f"improves no labels; use multiway='bisection' for n_clusters={self.n_clusters}."
            )
        return self.multiway

    def _n_tasks(self):
        return self.n_init

    def _solve(self, problem, progress, rng):
        bisects = self.n_clusters > 2 and self._resolved_multiway() == "bisection"
        return best_of_starts(
            lambda restart, task: self._solve_once(problem, restart, task, rng),
            self.n_init,
            progress=progress,
            max_subtasks=None if bisects else self.max_iter,
            largest=self._maximizes,
        )

    def _solve_once(self, problem, restart, progress, rng):
        if self.n_clusters == 2:
            return self._solve_two(problem, restart, progress, rng)
        multiway = self._resolved_multiway()
        if multiway == "bisection":
            return bisect(
                problem,
                lambda part, task: self._solve_two(part, restart, task, rng),
                self.n_clusters,
                progress=progress,
                rng=rng,
            )
        make_code = pairwise_code if multiway == "pairwise" else one_vs_rest_code
        return self._alternate(problem, make_code(self.n_clusters), restart, progress, rng)

    def _solve_two(self, problem, restart, progress, rng):
        if self._is_relaxed:
            raw = self.solver == "eig-paper"
            return solve_eigenvector(problem, raw=raw, progress=progress)
        return self._alternate(problem, pairwise_code(2), restart, progress, rng)

    def _alternate(self, problem, code, restart, progress, rng):
        def solve(part, start, progress):
            return solve_separation(
                part,
                start,
                solver=self.solver,
                code=code,
                max_iter=self.max_iter,
                tol=self.tol,
                progress=progress,
            )

        return solve_from_start(
            problem,
            solve,
            self.init,
            code.shape[1],
            restart=restart,
            progress=progress,
            rng=rng,
        )

    def _attributes(self, problem, result, order):
        kappa = pairwise_kappa(problem, result.labelling)
        separation = separation_probability(kappa)[np.ix_(order, order)]
        pairs = separation[np.isfinite(separation)]
        return {
            "pairwise_separation_": separation,
            "separation_probability_": float(pairs.min()) if pairs.size else np.nan,
        }

    def _attributes_without_solution(self):
        return {
            "pairwise_separation_": np.full((self.n_clusters, self.n_clusters), np.nan),
            "separation_probability_": np.nan,
        }


# --- the drivers --------------------------------------------------------------------------------


def solve_separation(problem, start, *, solver, code, max_iter, tol, progress):
    r"""Alternate between the boundaries of a labelling and the labelling of the boundaries.

    .. math:: \max_{y, w} \; \kappa = \frac{|w^\top(\mu_1 - \mu_2)|}
              {\sum_k \sqrt{w^\top (\Sigma_k + \lambda\Lambda) w}}

    Eq. (3) of the paper, by its Approach 1 (`solver="mpm"`) or by Approach 2, the lower bound
    (4) (`solver="gep"`). For more than two clusters each row of `code` is one such problem
    between the samples of two sides, and samples go to the cluster with the largest smallest
    margin.

    The paper stops "until converge". Approach 1 is not monotone. It can return to an earlier
    labelling, which is detected by an objective seen before with the same cluster weights, and it
    can end below an earlier labelling. The best one found is returned.

    Parameters
    ----------
    problem : MomentProblem
        The data.
    start : Boundaries or array of shape (n_samples,)
        Starting labels, or the rule that makes them.
    solver : {"mpm", "gep"}
        Step.
    code : ndarray of shape (n_boundaries, n_clusters)
        Clusters on either side of each boundary.
    max_iter : int
        Most passes over the data.
    tol : float
        Share of the samples that may still change clusters at the end.
    progress : Progress
        Where the loop counter comes from.

    Returns
    -------
    result : SolverResult
        With a `Partition` as its labelling.
    """
    fit_boundaries = {"mpm": minimax_steps, "gep": lower_bound_steps}[solver]
    # 0) label all rows by the start
    partition = problem.partition(code.shape[1])
    # where links bind, margins between pairs of clusters decide where linked samples go
    partition.assign(problem.rule(start.pairwise if isinstance(start, Boundaries) else start))
    best = Best.of_start(start, code)
    boundaries = best.boundaries
    normals = [None] * len(code)

    def fitted():
        """Boundaries of the labels, and the objective."""
        steps = fit_boundaries(problem, partition, code, normals)
        return Boundaries.of_steps(steps, code), float(np.mean([step.value for step in steps]))

    seen: dict[tuple, int] = {}
    best_of_cycle = np.inf
    iterations = progress.iterations(0 if partition.empty.any() else max_iter)
    for iteration in iterations:
        # 1) boundaries of the labels
        before = boundaries
        boundaries, objective = fitted()
        normals = list(boundaries.coef)
        # Approach 1 gives the objective of the labels it was given, Approach 2 that of its cut
        best.offer(before if solver == "mpm" else boundaries, objective)
        # 2) labels of the boundaries
        moved = partition.assign(problem.rule(boundaries))
        iterations.record(objective, boundaries)
        # 3) stop at an empty cluster, which has no boundary, at a fixed point, or in a cycle,
        # there with the best boundaries of one round
        if partition.empty.any():
            break
        if moved <= tol * problem.total.weight:
            iterations.status = Status.CONVERGED
            best.offer(boundaries, objective)
            break
        if objective >= best_of_cycle:
            iterations.status = Status.CYCLED
            break
        fingerprint = (f"{objective:.10e}", tuple(np.round(partition.weights, 9)))
        if fingerprint in seen and np.isinf(best_of_cycle):
            best_of_cycle = max(iterations.history[seen[fingerprint] :]) * (1 - 1e-9)
        seen[fingerprint] = iteration
    status = Status.DEGENERATE if partition.empty.any() else iterations.status
    if solver == "mpm" and status is not Status.CONVERGED and iterations.history:
        # the objective of the last labels is not known yet; labels that lack a cluster are a last
        # resort
        last = -np.inf if status is Status.DEGENERATE else fitted()[1]
        best.offer(boundaries, last)
    objective = best.objective
    if np.isinf(objective):  # none: the start, or the labels after it, lack a cluster
        objective = iterations.history[-1] if iterations.history else 0.0
    if best.boundaries is not boundaries:
        partition.assign(problem.rule(best.boundaries))
        boundaries = best.boundaries
        lost = status is Status.DEGENERATE and not partition.empty.any()
        status = Status.STALLED if lost or status is Status.CONVERGED else status
    return SolverResult(
        partition,
        boundaries,
        objective=objective,
        history=iterations.history,
        status=status,
        keeps_labels=problem.links is not None,
    )


class Best:
    """The boundaries whose labels have the largest objective so far."""

    def __init__(self, boundaries):
        self.boundaries = boundaries
        self.objective = -np.inf

    @classmethod
    def of_start(cls, start, code):
        """None so far, except the start if it is a rule of the same kind."""
        rules = [start, start.pairwise] if isinstance(start, Boundaries) else []
        return cls(next((rule for rule in rules if np.array_equal(rule.code, code)), None))

    def offer(self, boundaries, objective):
        """Take boundaries that are as good as any before, up to rounding."""
        if boundaries is not None and not objective < self.objective * (1 - 1e-9):
            self.boundaries, self.objective = boundaries, objective


def solve_eigenvector(problem, *, progress, raw=False):
    """Approach 3 of the paper: one eigenvector, no start and no iteration.

    `raw` reads the labels off it by the paper's own rule.
    """
    partition = problem.partition(2)
    iterations = progress.iterations(1)
    for _ in iterations:
        boundaries = eigenvector_boundary(problem, raw=raw)
        partition.assign(problem.rule(boundaries))
        empty, kappa = partition.empty.any(), 0.0
        if not empty:
            kappa = minimax_between(Sides.of(problem, partition, boundaries.code[0])).kappa
        iterations.record(kappa, boundaries)
    return SolverResult(
        partition,
        boundaries,
        objective=kappa,
        history=iterations.history,
        status=Status.DEGENERATE if empty else Status.CONVERGED,
        keeps_labels=problem.links is not None,
    )


# --- the steps; `minimax_steps` is Approach 1 ----------------------------------------------------


@one_blas_thread
def _solve(matrix, vector):
    return cho_solve(cho_factor(matrix), vector)


def _project_chunk(X, *, coef):
    return to_numpy(X @ (coef if sp.issparse(X) else like(coef, X)))


def lower_bound_steps(problem, partition, code, starts):
    """Approach 2 between the two sides of each row of a code."""
    return [
        lower_bound_step(Sides.of(problem, partition, side), start)
        for side, start in zip(code, starts, strict=True)
    ]


def lower_bound_step(sides, start=None):
    """Approach 2: maximise the lower bound (4) over the direction, by (5), and then over the cut.

    The generalised eigenvalue problem (5) has a matrix of rank one on its left, so its leading
    eigenvector is the solution of a linear system.
    """
    problem, difference = sides.problem, sides.difference
    if not sides.units.active.any():  # samples of both sides are all equal
        return Step(np.zeros(len(difference)), 0.0, 0.0)
    if not difference.any():  # equal means: any direction is as good, as for the minimax machine
        difference = sides.units.active.astype(np.float64)
    if problem.total.diagonal:
        union = sides.implicit(merged=True)

        def product(v):
            return union.products(v.ravel())[0] + problem.reg * v.ravel()

        operator = LinearOperator((len(difference),) * 2, matvec=product, dtype=np.float64)
        start = None if start is None else sides.in_units(start)
        w, _ = cg(operator, difference, x0=start, rtol=1e-8, maxiter=500)
        spread = float(w @ product(w))
    else:
        active = sides.units.active
        total = sides.covariance(sides.plus + sides.minus)
        w = np.zeros(len(active))
        try:
            w[active] = _solve(total, difference[active])
        except LinAlgError:
            raise sides.singular() from None
        spread = float(w[active] @ total @ w[active])
    coef, offset = sides.hyperplane(w / np.sqrt(spread), 0.0)
    projections = join_rows(map_chunks(_project_chunk, problem.X, coef=coef, width=1)) + offset
    involved = sides.side[to_numpy(sides.partition.labels)] != 0
    weights = to_numpy(problem.sample_weight)
    cut, bound = lower_bound_cut(
        projections[involved], None if weights is None else weights[involved], 1.0
    )
    # equal projections can only be cut at their mean
    return Step(coef, offset - (0.0 if np.isnan(cut) else cut), float(np.sqrt(bound)))
