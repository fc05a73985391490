"""Regularised least-squares clustering: the labelling that least-squares classifiers fit best."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice, repeat

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from separatrix._numba import map_in_threads
from separatrix._sklearn import StrOptions, one_blas_thread, openmp_threads
from separatrix._typing import Array
from separatrix.estimators.base import BoundaryClustering, fit_with_weights_and_links
from separatrix.estimators.parameters import (
    GAMMA,
    KERNEL,
    N_CLUSTERS,
    OUTLIERS,
    POSITIVE,
    RESTARTS,
    SAMPLED_SEARCH,
    SIZE_BOUNDS,
    WARM_START,
)
from separatrix.estimators.sampled_search import REMEDY, SearchProblem, search_fields
from separatrix.labels.sizes import Sizes
from separatrix.models.starts import kmeans_start
from separatrix.result import SolverResult, Status
from separatrix.similarity.kernels import Kernel
from separatrix.solvers.flips import (
    Flips,
    descend_by_flips,
    hat_matrix,
    random_labels,
    ridge_weights,
    stability_times_gap,
    targets_of,
)

__all__ = ["RegularizedLeastSquaresClustering", "solve_least_squares"]

# More clusters than this start from k-means, the best of so many runs.
FEW_CLUSTERS = 20
KMEANS_RUNS = 10
# What reg="auto" and gamma="auto" choose from, and on how many samples and starts.
AUTO_WIDTHS = (0.25, 0.4, 0.6, 0.85, 1.2, 1.8)  # in mean distances
AUTO_REGS = (2.0**-6, 0.125, 0.5, 2.0)
AUTO_SAMPLES = 1_000
AUTO_STARTS = 5
# Share of a sample's fitted label that may come from that label alone.
MOST_OWN = 0.9
# Of clusters of free size so many may end at their least size: more of them have lost samples to
# a cluster that won for its size alone.
MOST_AT_FLOOR = 2


# --- the estimator ------------------------------------------------------------------------------


class RegularizedLeastSquaresClustering(BoundaryClustering):
    r"""Clusters that least-squares classifiers, one for each, tell apart with the least error.

    For every labelling the classifiers and their error are known in closed form, and so is the
    change of the error when one sample changes its cluster [1]_. The search moves one sample at a
    time. To escape poor local minima it shakes the labels: clusters take turns to claim samples
    from the others, those first whose move costs least, many in early rounds and fewer in later
    ones.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
    solver : {"shaking", "steepest", "stochastic", "printed"}, default="shaking"
        Algorithm that looks for the solution. "shaking" is Algorithm 3 of the paper, followed by
        single moves until none improves; "printed" is Algorithm 3 alone; "steepest" is 2, which
        moves the sample that improves most; "stochastic" is 1, which goes through the samples and
        moves each to where it fits best.
    reg : float or "auto", default=1.0
        Weight of the regularisation. It weighs the norms of the classifiers, the paper's lambda.
        "auto" chooses without labels.
    kernel : str or callable, default="rbf"
        "linear", "rbf", "poly", "sigmoid", "laplacian", "cosine", "chi2", "precomputed" or a
        function of two samples.
    gamma : float, {"auto", "scale", "mean", "median"} or tuple, default=("mean", 0.7)
        Kernel coefficient: a number, or 1 / width**2 by a rule. "mean" takes the mean distance of
        two samples as the width, "median" the median distance, ("mean", 0.5) half of the mean
        distance; "scale" is 1 / (n_features * X.var()). For more than 10 clusters such a distance
        shrinks in proportion to the clusters of k-means. "auto" chooses a multiple of the mean
        distance without labels.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and the sigmoid kernel.
    shares : {"free", "equal"} or array-like of shape (n_clusters,), default="free"
        Sizes of the clusters as shares of all samples. "equal" and given shares are kept to within
        one sample. "free" shakes with equal shares and then moves samples until no move improves
        the objective, but leaves each cluster at least half of an even share.
    min_size : int, float or array-like of shape (n_clusters,), default=None
        Smallest number of samples in each cluster. A whole number, or a share of the samples if it
        is below 1, for all clusters or one for each, in any order. Use it instead of `shares`. The
        search keeps the bounds, and so does `predict` for the samples of the fit, unless `labels_`
        must separate samples for it that are equal, or nearly so.
    max_size : int, float or array-like of shape (n_clusters,), default=None
        Largest number of samples in each cluster, given like `min_size`.
    max_samples : int, default=2000
        Largest number of samples that the search uses. From more, it draws a random sample of this
        size, and the result labels the others.
    n_components : int, default=300
        Largest number of features that approximate a kernel whose whole matrix is not used.
    n_init : int, default=20
        Number of starts; the one with the best objective is kept.
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
    coef_ : array of shape (n_boundaries, n_features)
        Normals of the boundaries, for the linear kernel. One for two clusters, otherwise one for
        each cluster.
    intercept_ : array of shape (n_boundaries,)
        Offsets of the boundaries.
    boundary_sides_ : ndarray of shape (n_boundaries, n_clusters)
        Side of each boundary that each cluster lies on: 1 or -1, and 0 where it does not matter.
    sample_indices_ : ndarray of shape (n_seen,)
        Indices of the samples that the search used.
    leave_one_out_scores_ : ndarray of shape (n_seen,) or (n_seen, n_clusters)
        Score of each sample that the search used, by classifiers that leave it out, in closed
        form. Residuals are the targets, 1 for the own cluster and -1 for others, minus these
        scores. For two clusters, the score of cluster 1.
    objective_ : float
        Sum of squared errors and weighted norms over the classifiers: smaller is better. It is nan
        for one cluster, or for fewer distinct samples than clusters.
    objectives_ : ndarray of shape (n_starts,)
        Objective of each start.
    history_ : list of float
        Objective at each iteration. An iteration is a start; the objective is the lowest so far.
    gamma_ : float
        Kernel coefficient that was used; nan for kernels without one, or if none was used.
    reg_ : float
        Weight of the regularisation that was used; nan if none was.
    n_moves_ : int
        Number of moves from the best start.
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
    MaximumMarginClustering : The same with the losses of support vector machines.

    Notes
    -----
    The objective does not compare clusters of different sizes well: without any bound one cluster
    could win all samples. If more than two clusters end at their smallest size with
    `shares="free"`, samples are moved by the part of the objective that does not depend on sizes.

    "auto" ranks pairs of width and `reg` by stability, the mean agreement of the results of five
    starts, times the gap, the mean lead of a sample's own cluster over the next in
    `leave_one_out_scores_`, on at most 1,000 samples. With "auto", the start with the largest mean
    lead is kept, where leads above one count as one.

    The defaults depart from the paper, which chooses lambda and sigma by the true classes and ends
    with Algorithm 3. Here samples move on after it until no move lowers the objective, and the
    best of `n_init` starts is kept. With `solver="printed"` Algorithm 3 ends the search, as in the
    paper, and `labels_` are what the classifiers of its labels predict.

    For more than 20 clusters, and more samples than the search uses, the classifiers of all
    samples are fitted to up to 100 samples per cluster, or 10,000 altogether.

    For the linear kernel samples are centred. Shaking two clusters takes one start, whatever
    `n_init`: in the first round one cluster claims all samples, so the start has no effect. More
    than 20 clusters, which random starts do not find, take one start too: the best of ten runs of
    k-means. Since the objective compares sizes badly, it would empty many of so many clusters. So
    they keep the sizes of that start, and samples only change places; with `shares` or bounds on
    sizes they move as with `solver="steepest"`. Of more samples than the search uses, k-means
    labels those that the classifiers are fitted to.

    References
    ----------
    .. [1] T. Pahikkala, A. Airola, F. Gieseke, O. Kramer, "Unsupervised multi-class regularized
       least-squares classification", ICDM 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import RegularizedLeastSquaresClustering
    >>> X = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> model = RegularizedLeastSquaresClustering(n_clusters=2).fit(X)
    >>> model.labels_
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    >>> model.predict([[0, 0], [12, 3]])
    array([0, 1], dtype=int32)
    """

    sample_indices_: Array
    leave_one_out_scores_: Array
    objectives_: Array
    gamma_: float
    reg_: float
    n_moves_: int

    _weighs_known = True
    _parameter_constraints: dict = {
        **N_CLUSTERS,
        **KERNEL,
        **SAMPLED_SEARCH,
        "solver": [StrOptions({"shaking", "steepest", "stochastic", "printed"})],
        "reg": [StrOptions({"auto"}), *POSITIVE],
        "gamma": [StrOptions({"auto"}), *GAMMA],
        "shares": [StrOptions({"free", "equal"}), "array-like"],
        **SIZE_BOUNDS,
        "n_init": RESTARTS["n_init"],
        **OUTLIERS,
        **WARM_START,
    }

    def __init__(
        self,
        n_clusters=2,
        *,
        solver="shaking",
        reg=1.0,
        kernel="rbf",
        gamma=("mean", 0.7),
        degree=3,
        coef0=1,
        shares="free",
        min_size=None,
        max_size=None,
        max_samples=2000,
        n_components=300,
        n_init=20,
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
        self.shares = shares
        self.min_size = min_size
        self.max_size = max_size
        self.max_samples = max_samples
        self.n_components = n_components
        self.n_init = n_init
        self.outliers = outliers
        self.warm_start = warm_start
        self.random_state = random_state

    fit = fit_with_weights_and_links

    @property
    def _takes_start(self):
        return True

    @property
    def _bounds_sizes(self):
        return False  # the search keeps them

    def _check_sizes(self, n_samples, links):
        # the search checks them, but there is no search for one cluster or few distinct samples
        Sizes.of(n_samples, self.n_clusters, self.shares, self.min_size, self.max_size)

    def _breaks_sizes(self, labels, sample_weight, links):
        """Boundaries do not separate equal samples, and may miss bounds that labels can keep."""
        if not self._has_bounds or sample_weight is not None or links is not None:
            return False
        return not self._has_sizes(labels)

    def _problem(self, X, sample_weight, links, progress, rng):
        kernel = Kernel.of(self)
        kernel.check_samples(X)
        bounds = (self.shares, self.min_size, self.max_size)
        sizes = Sizes.of(X.shape[0], self.n_clusters, *bounds, sample_weight=sample_weight)
        if links is not None and isinstance(self.shares, str) and self.shares == "free":
            sizes = sizes.around(links.known_shares(sample_weight))
        fields = search_fields(self, X, sample_weight, links, rng)
        rows, weight = fields["rows"], fields["row_weight"]
        if self._chooses_gamma:
            kernel = replace(kernel, gamma=("mean", 1.0))
        kernel = kernel.resolved(rows, weight)
        reg = self.reg
        if self._is_automatic:
            reg, kernel = self._chosen(rows, weight, kernel, sizes, progress, rng)
        is_free = isinstance(self.shares, str) and self.shares == "free" and not self._has_bounds
        problem = LeastSquaresProblem(
            **fields,
            kernel=kernel,
            R=np.empty((0, 0)),
            reg=float(reg),
            sizes=sizes,
            is_free=is_free,
        )
        weight = problem.loss_weight
        R = hat_matrix(kernel.matrix(rows, weight, remedy=REMEDY), float(reg), weight)
        # the classifiers treat equal samples as one, of which each has its share
        counts = np.ones(len(R)) if weight is None else weight
        own = float(np.sum(np.diag(R) / counts) / np.sum(counts))
        if own > MOST_OWN:
            warnings.warn(
                f"reg={reg:g} is so small that the classifiers reproduce {own:.0%} of each "
                "sample's label, whatever it is, so the clusters are nearly arbitrary; use a "
                f"larger reg, such as {max(1.0, 100 * reg):g}, or a wider kernel.",
                ConvergenceWarning,
                stacklevel=6,
            )
        return replace(problem, R=R)

    @property
    def _asks_for_gamma(self):
        return isinstance(self.gamma, str) and self.gamma == "auto"

    @property
    def _chooses_gamma(self):
        return self._asks_for_gamma and Kernel.of(self).has_gamma

    @property
    def _is_automatic(self):
        """Whether a parameter is chosen by how clear clusters are when samples are left out."""
        return self.reg == "auto" or self._chooses_gamma

    def _chosen(self, rows, weight, kernel, sizes, progress, rng):
        """The weight of norms and the kernel of the largest stability times leave-one-out gap."""
        kernels = [kernel]
        if self._chooses_gamma:
            kernels = [replace(kernel, gamma=kernel.gamma / width**2) for width in AUTO_WIDTHS]
        regs = AUTO_REGS if self.reg == "auto" else (float(self.reg),)
        n_rows = min(rows.shape[0], AUTO_SAMPLES)
        drawn = np.sort(rng.permutation(rows.shape[0])[:n_rows])
        some = rows[drawn][:, drawn] if kernel.is_precomputed else rows[drawn]
        weight = weight if weight is None else weight[drawn]
        sizes = sizes.scaled(n_rows if weight is None else weight.sum())
        starts = [random_labels(sizes, rng, weight=weight) for _ in range(AUTO_STARTS)]
        task = progress.subtask("choice", len(kernels) * len(regs))
        best = (-np.inf, float(regs[0]), kernels[0])
        for one in kernels:
            K = one.matrix(some, weight, remedy=REMEDY)
            for reg in regs:
                step = task.subtask("candidate", 0)
                R = hat_matrix(K, reg, weight)
                score = stability_times_gap(R, starts, sizes, self.solver, weight)
                if score > best[0]:
                    best = (score, reg, one)
                step.close()
        task.close()
        return best[1:]

    def _n_tasks(self):
        return self._n_starts + int(self._is_automatic)

    @property
    def _n_starts(self):
        """One for two clusters by shaking: in its first round one of them claims all samples.

        One for many clusters, too, where it is k-means.
        """
        if starts_at_means(self.n_clusters, Kernel.of(self), self.solver):
            return 1
        shakes = self.solver in ("shaking", "printed")
        return 1 if self.n_clusters == 2 and shakes else self.n_init

    def _solve(self, problem, progress, rng):
        start = None
        if self._start is not None:
            start = problem.rows_of(np.asarray(self._start)[problem.order])
        return solve_least_squares(
            problem,
            n_starts=self._n_starts if start is None else 1,
            solver=self.solver,
            # also where the kernel has no coefficient to choose
            by_advantage=self.reg == "auto" or self._asks_for_gamma,
            progress=progress,
            rng=rng,
            start=start,
        )

    def _attributes(self, problem, result, order):
        best, objectives = result.details
        scores = problem.as_given_of(best.leave_one_out(problem.R))[:, order]
        return {
            "reg_": problem.reg,
            "n_moves_": best.n_moves,
            "objectives_": objectives,
            "sample_indices_": problem.given_indices,
            "leave_one_out_scores_": scores[:, 1] if self.n_clusters == 2 else scores,
        }

    def _attributes_without_solution(self):
        return {"reg_": np.nan, "n_moves_": 0, "objectives_": np.array([])}


# --- the driver ---------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class LeastSquaresProblem(SearchProblem):
    """Samples with the ridge regression on those that are searched.

    Attributes
    ----------
    R : ndarray of shape (n_rows, n_rows)
        Its hat matrix.
    reg : float
        Weight of norms.
    sizes : Sizes
        Sizes of the clusters of all samples.
    is_free : bool
        Whether no one asked for any sizes.
    """

    R: np.ndarray
    reg: float
    sizes: Sizes
    is_free: bool = False

    def kmeans_rule(self, n_clusters, rng):
        """The best of some runs of k-means, on more samples than are searched, which are few."""
        rows, weight = self.rows, self.row_weight
        if self.is_sampled:
            rows, weight = self.settling_samples(n_clusters)
        return kmeans_start(rows, weight, n_clusters, rng=rng, n_init=KMEANS_RUNS)

    def labels_by(self, rule):
        """Labels of the searched samples by a rule that keep the links."""
        labels, links = rule.labels(self.rows), self.searched_links
        return labels if links is None else links.nearest(labels)

    @cached_property
    def R_without_sizes(self):
        """The hat matrix less what it holds of the sizes of clusters alone.

        Sums over pairs in the same cluster lose their mean times the squared size of the cluster.
        """
        weight = self.loss_weight
        if weight is None:
            return self.R - self.R.mean()
        return self.R - self.R.sum() / weight.sum() ** 2 * np.outer(weight, weight)

    def multipliers(self, targets):
        """(K + reg I)^-1 targets, from the hat matrix I - reg (K + reg I)^-1."""
        weight = self.loss_weight
        weighted = targets if weight is None else weight[:, None] * targets
        return (weighted - self.R @ targets) / self.reg


def solve_least_squares(problem, *, n_starts, solver, by_advantage, progress, rng, start=None):
    r"""Labels that least-squares classifiers, one for each cluster, fit best.

    .. math:: \min_c \sum_h \min_{f} \; \sum_i (p_h(c)_i - f(x_i))^2 + \lambda \|f\|^2,
              \qquad p_h(c)_i = \pm 1

    is (9) of the paper. Each start is improved by `descend_by_flips`; only the best is extended to
    all samples, where not all were searched, and cut so that sizes are kept.

    The constant function is fitted nearly without error, so that the sum prefers clusters of
    uneven sizes, and all the more the worse the classifiers tell samples apart: of many clusters
    that overlap in many dimensions one would take all samples but the least that the others keep.
    Where a start ends like that, though sizes are free, it and all later ones move samples by the
    hat matrix without its mean.

    Parameters
    ----------
    problem : LeastSquaresProblem
        The data.
    n_starts : int
        Number of starts.
    solver : {"shaking", "steepest", "stochastic", "printed"}
        Algorithm 3, 2 or 1 of the paper, or 3 without the moves that follow it here.
    by_advantage : bool
        Keep the start whose samples belong most clearly to their clusters when left out, instead
        of the one of the lowest objective.
    progress : Progress
        Where the loop counter comes from; a pass is a start.
    rng : RandomState
        Draws starts, at random for up to 20 clusters, by k-means for more.
    start : ndarray of int of shape (n_rows,), default=None
        Labels of the searched rows that the only start is from.

    Returns
    -------
    result : SolverResult
        Its details are the best search and the objectives of all.
    """
    weight, counted, links = problem.loss_weight, problem.row_weight, problem.searched_links
    sizes = problem.sizes.scaled(len(problem.R) if counted is None else counted.sum())
    n_clusters = len(sizes.targets)
    # 1) labels of the searched samples
    iterations, rule = progress.iterations(n_starts), None
    if start is not None:
        start = start if links is None else links.nearest(start)
    elif starts_at_means(n_clusters, problem.kernel, solver):
        means = problem.kmeans_rule(n_clusters, rng)
        start = problem.labels_by(means)
        if problem.is_free:  # objectives of other sizes are not compared
            counts = np.bincount(start, counted, n_clusters).astype(np.float64)
            rule, sizes = means, Sizes(counts, counts, counts)
    starts: Iterator[Array] = repeat(start)
    if start is None:
        starts = (random_labels(sizes, rng, links, counted) for _ in range(n_starts))
    elif solver == "shaking":  # it would undo a start
        solver = "steepest"
    runs = _searched(problem, islice(starts, n_starts), sizes, solver)
    found: list[Flips] = []
    for _ in iterations:
        found.append(next(runs))
        iterations.record(min(run.objective for run in found))
    best = min(found, key=lambda run: run.objective)
    if by_advantage:
        best = max(found, key=lambda run: run.advantage(problem.R, most=1.0))
    # 2) classifiers of all samples, with offsets that keep the sizes of clusters
    least, most = problem.sizes.least, problem.sizes.most
    if problem.settles(n_clusters):
        machines = problem.settled(  # more than one update would let few clusters grow
            best.labels,
            rule=rule,
            n_clusters=n_clusters,
            reg=problem.reg,
            least=least,
            most=most,
            max_updates=1,
        )
    else:
        targets = targets_of(best.labels, n_clusters)
        targets = targets[:, 1:] if n_clusters == 2 else targets
        machines = problem.classifiers(
            problem.multipliers(targets),
            partial(ridge_weights, targets=targets, reg=problem.reg, weight=weight),
        )
    boundaries, labelling = problem.sized(machines, least, most)
    status = Status.CONVERGED
    if labelling.empty.any():
        status = Status.DEGENERATE
    elif iterations.status is Status.STOPPED:
        status = Status.STOPPED
    elif not problem.sizes.met_by(problem.sizes_of(labelling)):
        status = Status.SIZES_UNMET
    return SolverResult(
        replace(labelling, labels=problem.as_given(labelling.labels)),
        boundaries,
        objective=best.objective,
        history=iterations.history,
        status=status,
        details=(best, np.array([run.objective for run in found])),
        keeps_labels=problem.keeps_labels,
    )


_search_together = one_blas_thread(map_in_threads)


def _searched(problem, starts, sizes, solver):
    """Searches from each start in turn, of which some run at the same time in threads."""
    counted = problem.row_weight
    choices = {
        "sizes": sizes,
        "solver": solver,
        "links": problem.searched_links,
        "weight": problem.loss_weight,
        "counted": counted,
    }
    R, can_change = problem.R, bool((sizes.least < sizes.most).any())
    may_collapse = problem.is_free and can_change and solver != "printed"
    some: list[Array] = []
    while some := some or list(islice(starts, openmp_threads())):
        for run in _search_together(partial(descend_by_flips, R, **choices), some, len(some)):
            if may_collapse and _n_at_floor(run, sizes, counted) > MOST_AT_FLOOR:
                # this start again, and all later ones
                R, may_collapse = problem.R_without_sizes, False
                break
            some = some[1:]
            yield run if R is problem.R else run.measured_by(problem.R)


def starts_at_means(n_clusters, kernel, solver):
    """Whether the only start is k-means: many clusters are not found from random labels."""
    return n_clusters > FEW_CLUSTERS and not kernel.is_precomputed and solver != "printed"


def _n_at_floor(run, sizes, counted):
    """Number of clusters that have no more samples than they must have."""
    counts = np.bincount(run.labels, counted, len(sizes.targets))
    return np.count_nonzero(counts <= sizes.least * (1 + 1e-9))
