"""Maximum margin clustering by cutting planes: a few dozen passes over sparse data of any size."""

from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import Any

import numpy as np

from separatrix._sklearn import Interval, like, namespace_of, to_numpy
from separatrix.data.moments import Units, finite_moments
from separatrix.data.rows import join_rows, map_chunks
from separatrix.estimators.base import BoundaryClustering, best_of_starts
from separatrix.estimators.parameters import (
    INIT,
    KERNEL,
    N_CLUSTERS,
    N_COMPONENTS,
    OUTLIERS,
    RESTARTS,
    SCALED_C,
    SIZE_BOUNDS,
    WARM_START,
)
from separatrix.labels.numbering import order_within
from separatrix.models.boundaries import Boundaries, one_vs_rest_code
from separatrix.models.starts import (
    SampledProblem,
    drawn_rows,
    labels_of_start,
    solve_from_start,
)
from separatrix.result import Labelling, SolverResult, Status, renumbered
from separatrix.similarity.kernels import Kernel, constant_to_kernel
from separatrix.solvers.plane_pairs import solve_plane_pairs
from separatrix.solvers.planes import minimize_over_planes

__all__ = [
    "CuttingPlaneMarginClustering",
    "PlaneProblem",
    "cutting_planes",
    "machine_at",
    "solve_cutting_plane",
]

# C="scale" in units of clusters over variance. Below it, clusters are lost on some data sets.
SCALE = 100.0
# Largest C relative to the variance; the products of planes are that large.
LARGEST = 1e10
# After this many planes in a row that do not raise the lower bound, the rest is rounding.
PATIENCE = 20
TINY = 1e-300
# Weight of samples without any in a transport, in units of the least.
ABSENT = 1e-6


# --- the estimator ------------------------------------------------------------------------------


class CuttingPlaneMarginClustering(BoundaryClustering):
    """Clusters whose own labels a support vector machine separates with the widest margin.

    The machine is fitted to labels, then gives each sample the label for which its loss is least;
    this concave-convex procedure lowers the objective at each update [1]_. Each fit is solved by
    cutting planes, averages over all samples that bound the loss from below. A few dozen are
    enough for any number of samples, so time is linear in the nonzero entries of X. More than two
    clusters share one multi-class machine [2]_, but if there are more than features and one more,
    each two neighbouring clusters have a machine of their own.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
    C : float or "scale", default="scale"
        Weight of the sum of the losses against half the squared norm, as in `sklearn.svm.SVC`.
        "scale" is 100 * n_clusters over the sum of the squared distances of the samples from their
        mean, so that the common unit of features does not matter. The papers' C is n_samples times
        this.
    score_balance : float, default=0.1
        Largest difference of the mean scores for two clusters, the papers' l / n. It replaces a
        bound on their difference in size, but does not guarantee one: a cluster can still lose all
        samples, especially at a small C, and the fit then warns.
    kernel : str or callable, default="linear"
        "linear", "rbf", "poly", "sigmoid", "laplacian", "cosine", "chi2", "precomputed" or a
        function of two samples.
    gamma : float, {"scale", "mean", "median"} or tuple, default=("mean", 2.0)
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
    violation_tol : float, default=0.01
        Largest violation of a constraint, in units of the mean loss.
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
        is below 1, for all clusters or one for each; None sets no bound. `labels_` keep the bounds
        exactly; `predict` need not. Each update takes the labels of least loss within the bounds,
        so that the machine is that of such clusters. `score_balance` still holds for the machine.
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
        data, except where bounds on sizes bind.
    coef_ : array of shape (n_boundaries, n_features)
        Normals of the boundaries, for the linear kernel. One for two clusters, otherwise one for
        each cluster, of which the largest score wins; or one for each two clusters, if there are
        more than features and one more, and no bounds on sizes.
    intercept_ : array of shape (n_boundaries,)
        Offsets of the boundaries.
    boundary_sides_ : ndarray of shape (n_boundaries, n_clusters)
        Side of each boundary that each cluster lies on: 1 or -1, and 0 where it does not matter.
    objective_ : float
        Half the squared norm of the normals plus C times the sum of the losses: smaller is better.
        The sum over all machines, if neighbouring clusters have their own.
        It is nan for one cluster, or for fewer distinct samples than clusters.
    history_ : list of float
        Objective at each iteration. It never rises.
    gap_ : float
        Proven bound on the distance from the optimum of the problem solved, as a share of its
        objective. That problem is the machine of the last labels.
    n_planes_ : int
        Number of cutting planes in the last fit of the machine.
    C_ : float
        Weight of the sum of the losses that was used; nan if none was.
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
    MaximumMarginClustering : Clusters of similar size, with labels that move more easily.

    Notes
    -----
    The defaults depart from the papers, which choose C and l by the true classes: here `C` follows
    the scale of the data. The machine of more than two clusters has biases, without which it would
    depend on where the origin lies.

    Its clusters are cones around the mean of all samples, because `score_balance` hardly leaves it
    any biases. More clusters than features, and one more, do not fit into cones. Then there is a
    machine of two clusters for each pair of neighbours among the starting clusters, with the mean
    of these in the place of that of all samples; other pairs are cut halfway between their means.
    New labels need not lower the sum of these objectives, and the loop ends where they do not.
    With bounds on sizes all clusters share one machine.

    The loop also ends when an update lowers the objective by no more than `tol` times its value.
    Kernels other than the linear one use at most `n_components` features and have no `coef_`.

    For more than 20,000 samples the start is found, and improved, on a random sample of them. The
    first start by k-means is deterministic; further ones are the best of ten k-means++ runs each.

    References
    ----------
    .. [1] B. Zhao, F. Wang, C. Zhang, "Efficient maximum margin clustering via cutting plane
       algorithm", SIAM International Conference on Data Mining, 2008; F. Wang, B. Zhao, C. Zhang,
       "Linear time maximum margin clustering", IEEE Transactions on Neural Networks 21(2), 2010.
    .. [2] B. Zhao, F. Wang, C. Zhang, "Efficient multiclass maximum margin clustering",
       International Conference on Machine Learning, 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import CuttingPlaneMarginClustering
    >>> X = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> model = CuttingPlaneMarginClustering(n_clusters=2).fit(X)
    >>> model.labels_
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    >>> model.predict([[0, 0], [12, 3]])
    array([0, 1], dtype=int32)
    """

    gap_: float
    n_planes_: int
    C_: float
    gamma_: float

    _keeps_sizes = True
    _parameter_constraints: dict = {
        **N_CLUSTERS,
        **KERNEL,
        **N_COMPONENTS,
        **RESTARTS,
        **INIT,
        **SCALED_C,
        "score_balance": [Interval(Real, 0, 1, closed="left")],
        "violation_tol": [Interval(Real, 0, 1, closed="neither")],
        **SIZE_BOUNDS,
        **OUTLIERS,
        **WARM_START,
    }

    def __init__(
        self,
        n_clusters=2,
        *,
        C="scale",
        score_balance=0.1,
        kernel="linear",
        gamma=("mean", 2.0),
        degree=3,
        coef0=1,
        n_components=300,
        violation_tol=0.01,
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
        self.C = C
        self.score_balance = score_balance
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.violation_tol = violation_tol
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.min_size = min_size
        self.max_size = max_size
        self.outliers = outliers
        self.warm_start = warm_start
        self.random_state = random_state

    def _problem(self, X, sample_weight, links, progress, rng):
        features, kernel, feature_map = Kernel.of(self).features(
            X, sample_weight, n_components=self.n_components, rng=rng
        )
        problem = PlaneProblem.of(
            features, sample_weight, rng, kernel=kernel, feature_map=feature_map
        )
        most = LARGEST / (problem.variance * problem.weight)
        if self._resolved_C(problem) > most:
            raise ValueError(
                f"C={self.C:g} is too large for double precision, as the variance of X is "
                f"{problem.variance:.3g}; use C='scale' or C <= {most:.3g}."
            )
        return problem

    def _resolved_C(self, problem):
        if self.C != "scale":
            return float(self.C)
        return SCALE * self.n_clusters / (problem.variance * problem.weight)

    def _n_tasks(self):
        return self.n_init

    def _solve(self, problem, progress, rng):
        # a sample of the data bears the same weight as all
        strength = self._resolved_C(problem) * problem.weight
        sizes = self._sizes_in_bounds(problem.X.shape[0])

        # one machine has no room for more clusters than features and one more
        has_room = self.n_clusters <= problem.X.shape[1] + 1
        solve_planes: Any = solve_plane_pairs
        if has_room or sizes is not None:
            solve_planes = partial(solve_cutting_plane, sizes=sizes)

        def solve(part, start, progress):
            return solve_planes(
                part,
                labels_of_start(start, part, self.n_clusters),
                n_clusters=self.n_clusters,
                strength=strength,
                score_balance=self.score_balance,
                violation_tol=self.violation_tol,
                max_iter=self.max_iter,
                tol=self.tol,
                progress=progress,
            )

        return best_of_starts(
            lambda restart, task: solve_from_start(
                problem,
                solve,
                self.init,
                self.n_clusters,
                restart=restart,
                progress=task,
                rng=rng,
                n_init=10,
            ),
            self.n_init,
            progress=progress,
            max_subtasks=self.max_iter,
        )

    def _attributes(self, problem, result, order):
        machine, C = result.details, self._resolved_C(problem)
        gap = machine.violation * C * problem.weight / max(machine.objective, TINY)
        return {"gap_": gap, "n_planes_": machine.n_planes, "C_": C}

    def _attributes_without_solution(self):
        return {"gap_": 0.0, "n_planes_": 0, "C_": np.nan}


@dataclass(frozen=True, kw_only=True)
class PlaneProblem(SampledProblem):
    """Samples with quantities that are computed once.

    `weight`, `mean` and `variance` are the sum of the weights, the mean of the samples and their
    mean squared distance from it.
    """

    weight: float
    mean: np.ndarray
    variance: float

    @classmethod
    def of(cls, X, sample_weight, rng, **fields):
        """Take the means; refuse constant data."""
        rows = drawn_rows(X, sample_weight, rng)
        shift, total = finite_moments(X, sample_weight, **rows, diagonal=True)
        if not Units.of(total, shift).active.any():
            raise constant_to_kernel()
        return cls(
            X=X,
            sample_weight=sample_weight,
            weight=total.weight,
            mean=total.mean + shift,
            variance=float(total.variance.sum()),
            **rows,
            **fields,
        )

    def sampled(self, rng):
        """The problem of the sampled rows alone."""
        return PlaneProblem.of(self.rows, None, rng)


# --- the driver ---------------------------------------------------------------------------------


def solve_cutting_plane(
    problem,
    labels,
    *,
    n_clusters,
    strength,
    score_balance,
    violation_tol,
    max_iter,
    tol,
    progress,
    sizes=None,
):
    r"""Alternate between the machine of a labelling and the labels that the machine gives.

    .. math:: \min_{w, b} \; \tfrac12 \|w\|^2 + C \sum_i \max(0, 1 - |f(x_i)|)
              \quad \text{subject to} \quad \Big|\sum_i f(x_i)\Big| \le l, \;
              f(x) = w^\top x + b,

    for two clusters, by Zhao, Wang and Zhang (2008) and Wang, Zhao and Zhang (2010). For more
    each cluster has a score :math:`f_p`, the norms add up, the loss is
    :math:`\max(0, 1 - f_z + \max_{r \ne z} f_r)` with z the cluster of the largest score, and
    :math:`|\sum_i f_p(x_i) - f_q(x_i)| \le l` for all pairs. The concave-convex procedure
    linearises the concave part of the loss, \|f\| or the largest score, which leaves the loss of
    an ordinary machine for the labels of the last one.

    Departures from the papers: the multi-class machine has biases, without which it depends on
    where the origin lies. Scores are taken about the mean of the samples, so that the balance is a
    box of the biases: :math:`|b| \le l/n` for two clusters, and for more
    :math:`|b_p| \le l/2n`, since only differences of the scores count; l is `score_balance`
    times n. With `sizes` the labels of a machine are those of least loss among the labels whose
    clusters have counts within these. For given scores that is a transport problem, and its
    optimum a largest sum of convex functions of the scores, so the updates lower the objective
    as before.

    Parameters are those of the estimator, with starting `labels` and, for C, the weight of the
    mean loss, `strength`: C times n, the papers' C. The result has the machine as its details.
    """
    # 0) no machine yet: all samples lie inside its margin
    code = one_vs_rest_code(n_clusters)
    bound = score_balance if n_clusters == 2 else score_balance / 2
    coef, biases = np.zeros((len(code), problem.X.shape[1])), np.zeros(len(code))
    if sizes is not None:
        sizes = sizes.scaled(problem.X.shape[0])
        labelling = Labelling(labels, n_clusters)
        order = order_within(labelling.order, labelling.weights, *sizes.bounds)
        labels = renumbered(labels, order)
    machine = machine_at(problem, coef, biases, strength, labels)
    weights = to_numpy(problem.sample_weight)

    def labelled(fitted):
        """A machine with its labels, and its loss for them."""
        own = None if sizes is None else labels_within(problem, fitted.coef, fitted.biases, sizes)
        return machine_at(problem, fitted.coef, fitted.biases, strength, own)

    limits = {"strength": strength, "bound": bound, "violation_tol": violation_tol}
    if sizes is not None:  # the start may be out of bounds, and so have less loss
        machine = labelled(cutting_planes(problem, machine, **limits))
    iterations = progress.iterations(max_iter)
    for _ in iterations:
        # 1) the machine of the labels
        fitted = cutting_planes(problem, machine, **limits)
        # 2) the labels of the machine, and its loss for them
        before, machine = machine, labelled(fitted)
        boundaries = Boundaries(machine.coef, machine.biases - machine.coef @ problem.mean, code)
        iterations.record(machine.objective, boundaries)
        # 3) stop at a fixed point, or when nothing is gained
        if np.average(to_numpy(machine.labels != before.labels), weights=weights) <= tol:
            iterations.status = Status.CONVERGED
            break
        if before.objective - machine.objective <= tol * machine.objective:
            iterations.status = Status.STALLED
            break
    labelling = Labelling(machine.labels, n_clusters, problem.sample_weight)
    return SolverResult(
        labelling,
        boundaries,
        objective=machine.objective,
        history=iterations.history,
        status=Status.DEGENERATE if labelling.empty.any() else iterations.status,
        details=fitted,
        keeps_labels=sizes is not None,
    )


def labels_within(problem, coef, biases, sizes):
    """Labels of least loss whose clusters have counts within bounds, by an exact transport.

    Samples without weight count, too; they have next to none, so that they follow the others.
    """
    from separatrix.labels.bounded import bounded_labels  # which loads numba

    parts = map_chunks(
        _scores_chunk,
        problem.X,
        coef=coef,
        intercept=biases - coef @ problem.mean,
        width=len(coef),
    )
    scores = join_rows(list(parts))
    losses = losses_of_labels(to_numpy(scores).astype(np.float64, copy=False))
    if problem.sample_weight is not None:
        weight = to_numpy(problem.sample_weight)
        weight = np.maximum(weight, ABSENT * weight[weight > 0].min())
        losses = weight[:, None] * losses
    labels = bounded_labels(-losses, *sizes.bounds)
    return like(labels.astype(np.int8 if len(sizes.least) < 128 else np.int32), scores)


def losses_of_labels(scores):
    """Loss of each sample, a row, with each label: of how far the score leads all others."""
    if scores.shape[1] == 1:
        return np.maximum(1 - np.hstack([-scores, scores]), 0.0)
    samples, own = np.arange(len(scores)), scores.argmax(axis=1)
    second, best = np.partition(scores, -2, axis=1)[:, -2:].T
    leads = scores - best[:, None]
    leads[samples, own] = best - second
    return np.maximum(1 - leads, 0.0)


# --- the machine of a labelling -----------------------------------------------------------------


@dataclass(frozen=True)
class Machine:
    """Scores about the mean of the samples, with the tangent plane of their mean loss for labels.

    At another machine the mean loss is at least `offset` less the products of `slopes` with its
    coef and of `counts` with its biases.
    """

    coef: np.ndarray
    biases: np.ndarray
    labels: Any
    objective: float
    slopes: np.ndarray
    counts: np.ndarray
    offset: float
    violation: float = np.inf
    n_planes: int = 0


def cutting_planes(problem, start, *, strength, bound, violation_tol):
    r"""Machine of the labels of `start`, from few of the constraints of its one-slack form.

    .. math:: \min_{w, b, \xi \ge 0} \; \tfrac12 \|w\|^2 + n C \xi \quad \text{subject to} \quad
              \xi \ge \frac1n \sum_i c_i \big(1 - y_i f(x_i)\big) \; \forall c \in \{0, 1\}^n,
              \quad |b| \le \text{bound}

    Each constraint is a plane below the mean loss. The most violated one, which is the tangent,
    joins the others until it is violated by at most `violation_tol`. The papers judge by the last
    machine; here the best machine so far counts, including `start`, so the objective cannot rise.
    """
    best = machine = start
    planes = [replace(start, slopes=0 * start.slopes, counts=0 * start.counts, offset=0.0)]
    gram, floor, n_idle = np.zeros((1, 1)), -np.inf, 0
    while best.objective - floor > violation_tol * strength and n_idle < PATIENCE:
        planes.append(machine)
        products = np.array([np.vdot(plane.slopes, machine.slopes) for plane in planes])
        gram = np.block([[gram, products[:-1, None]], [products]])
        counts = np.array([plane.counts for plane in planes])
        offsets = np.array([plane.offset for plane in planes])
        shares, biases, value = minimize_over_planes(
            strength * gram, bound * counts, offsets, tol=1e-3 * violation_tol
        )
        slopes = sum(share * plane.slopes for share, plane in zip(shares, planes, strict=True))
        machine = machine_at(problem, strength * slopes, bound * biases, strength, start.labels)
        best = min(best, machine, key=lambda machine: machine.objective)
        value = strength * value
        floor, n_idle = (value, 0) if value > floor else (floor, n_idle + 1)
    violation = max((best.objective - floor) / strength, 0.0)
    return replace(best, violation=violation, n_planes=len(planes) - 1)


def machine_at(problem, coef, biases, strength, labels=None):
    """Machine of given weights, its loss for the labels or for its own: one pass over the data."""
    parts = map_chunks(
        _plane_chunk,
        problem.X,
        labels,
        problem.sample_weight,
        coef=coef,
        intercept=biases - coef @ problem.mean,
        width=4 * len(coef),
    )
    own, *sums = zip(*parts, strict=True)
    labels = join_rows(own) if labels is None else labels
    slopes, counts, offset, loss = (sum(part) / problem.weight for part in sums)
    slopes = slopes - np.outer(counts, problem.mean)
    objective = 0.5 * float(np.vdot(coef, coef)) + strength * loss
    return Machine(coef, biases, labels, objective, slopes, counts, offset)


def _scores_chunk(X, *, coef, intercept):
    """Scores of one chunk."""
    return X @ like(coef.T, X) + like(intercept, X)


def _plane_chunk(X, labels, weight, *, coef, intercept):
    """Labels of one chunk, and slopes, counts, offset and loss summed over its rows."""
    scores = _scores_chunk(X, coef=coef, intercept=intercept)
    parts = map_chunks(_violations, scores, labels, weight, rereads=True)
    labels, pulls, offsets, losses = zip(*parts, strict=True)
    pulls = join_rows(pulls)
    slopes = to_numpy(X.T @ pulls).T.astype(np.float64)
    counts = to_numpy(namespace_of(X)[0].sum(pulls, axis=0)).astype(np.float64)
    return join_rows(labels), slopes, counts, sum(offsets), sum(losses)


def _violations(scores, labels, weight):
    """Labels, where the scores of samples inside the margin should move, their weight and loss."""
    xp, _ = namespace_of(scores)
    labels, pulls, losses = (_two_sided if scores.shape[1] == 1 else _multiclass)(scores, labels)
    inside = xp.astype(losses > 0, scores.dtype)
    if weight is not None:
        inside = inside * xp.astype(weight, scores.dtype)
    return labels, pulls * inside[:, None], float(xp.sum(inside)), float(xp.sum(inside * losses))


def _two_sided(scores, labels):
    """Labels, the side each sample should move to, and the shortfall of its score from one."""
    xp, _ = namespace_of(scores)
    labels = xp.astype(scores[:, 0] > 0, xp.int8) if labels is None else labels
    signs = 2 * xp.astype(labels, scores.dtype) - 1
    return labels, signs[:, None], 1 - signs * scores[:, 0]


def _multiclass(scores, labels):
    """The same for more scores: up for the own cluster, down for its strongest rival."""
    xp, device = namespace_of(scores)
    n_clusters = scores.shape[1]
    own = xp.argmax(scores, axis=1) if labels is None else xp.astype(labels, xp.int64)
    clusters = xp.arange(n_clusters, dtype=own.dtype, device=device)
    is_own = own[:, None] == clusters
    rivals = xp.where(is_own, -xp.inf, scores)
    rival = xp.argmax(rivals, axis=1)
    pulls = xp.astype(is_own, scores.dtype) - xp.astype(rival[:, None] == clusters, scores.dtype)
    lead = xp.take_along_axis(scores, own[:, None], axis=1)[:, 0] - xp.max(rivals, axis=1)
    return xp.astype(own, xp.int8 if n_clusters < 128 else xp.int32), pulls, 1 - lead
