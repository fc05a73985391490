"""Maximin separation probability clustering: the labelling a minimax machine separates best."""

from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh
from scipy.sparse.linalg import LinearOperator, cg, eigsh
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import assert_all_finite, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from separatrix._sklearn import Interval, StrOptions, fit_context, like, namespace_of, to_numpy
from separatrix.balance import lower_bound_cut
from separatrix.base import (
    BaseDiscriminativeClustering,
    BoundaryPredictorMixin,
    number_clusters,
)
from separatrix.chunks import is_dask, map_chunks
from separatrix.criteria.minimax import (
    Direction,
    ImplicitCovariances,
    minimax_direction,
    minimax_direction_by_passes,
)
from separatrix.kernels import fit_kernel_map, scale_gamma
from separatrix.moments import Units, total_moments
from separatrix.multiway import Boundaries, one_vs_rest_code, pairwise_code
from separatrix.partition import Partition
from separatrix.result import SolverResult, Status
from separatrix.starts import SAMPLE_SIZE, kmeans_start, random_start, sample_rows

__all__ = ["MaximinSeparationClustering", "MinimaxProbabilityMachine", "separation_probability"]

# Beyond this many features a covariance matrix costs more than the passes that avoid it.
WIDE = 2048


def separation_probability(kappa):
    """Minimum separation probability p = kappa^2 / (1 + kappa^2)."""
    kappa = max(kappa, 0.0)
    return kappa**2 / (1 + kappa**2) if np.isfinite(kappa) else 1.0


@dataclass(frozen=True)
class Problem:
    """Data, their overall moments and the units that the criterion measures in.

    Attributes
    ----------
    X : {array, sparse matrix, dask array} of shape (n_samples, n_features)
        Features, after the kernel map if there is one.
    sample_weight : array of shape (n_samples,) or None
        Nonnegative weights.
    shift : ndarray of shape (n_features,)
        Point that moments are taken about.
    total : Moments
        Moments of all rows about `shift`; of wide data without the second ones.
    units : Units
        Units in which the paper's Lambda is the identity matrix.
    reg : float
        The paper's lambda.
    rows, row_weight : ndarray or sparse matrix, and ndarray or None
        Rows that starts are found on.
    """

    X: Any
    sample_weight: Any
    shift: np.ndarray
    total: Any
    units: Units
    reg: float
    rows: Any
    row_weight: Any
    isotropic: bool

    @classmethod
    def of(cls, X, sample_weight, *, reg, isotropic, rng):
        """Take the sample and the total moments of `X`, in one pass over it.

        `isotropic` asks for one unit for all features, since the axes of kernel features have no
        meaning of their own.
        """
        rows, row_weight = sample_rows(X, sample_weight, size=SAMPLE_SIZE, rng=rng)
        n_features = X.shape[1]
        if sp.issparse(rows):  # a sparse matrix cannot be shifted
            shift = np.zeros(n_features)
        else:
            shift = np.average(rows, axis=0, weights=row_weight).astype(np.float64)
        wide = n_features > WIDE
        total = total_moments(X, sample_weight, shift=shift, diagonal=wide)
        units = Units.from_total(total, shift)
        if isotropic:
            units = units.isotropic(total)
        if wide:
            total = replace(total, second=None)
        return cls(X, sample_weight, shift, total, units, reg, rows, row_weight, isotropic)

    def restricted(self, weights, rng):
        """The problem of the samples of positive weight alone; None if they are all equal."""
        try:
            return Problem.of(
                self.X, self.beside_rows(weights), reg=self.reg, isotropic=self.isotropic, rng=rng
            )
        except ValueError:  # constant data; anything else was refused for the whole
            return None

    def beside_rows(self, values):
        """Move a NumPy array with one entry per sample to where the rows of the data live."""
        return values if is_dask(self.X) else like(values, self.X)

    @property
    def wide(self):
        """Whether covariance matrices are avoided."""
        return self.total.second is None

    def partition(self, n_clusters):
        """An empty partition of the rows."""
        return Partition(
            self.X,
            self.sample_weight,
            n_clusters=n_clusters,
            total=self.total,
            shift=self.shift,
            with_second=not self.wide,
        )

    def mean(self, moments):
        """Mean in units."""
        return (moments.mean + self.shift - self.units.mean) / self.units.scale

    def covariance(self, moments):
        """Covariance with the ridge, in units, of the features that vary."""
        active = self.units.active
        scale = self.units.scale[active]
        covariance = moments.covariance[np.ix_(active, active)] / np.outer(scale, scale)
        covariance[np.diag_indices_from(covariance)] += self.reg
        return covariance

    def implicit(self, partition, side_of_cluster):
        """The same covariances as products only."""
        plus, minus = (
            partition.moments(np.flatnonzero(side_of_cluster == sign)) for sign in (1, -1)
        )
        xp, _ = namespace_of(partition.labels)
        table = self.beside_rows(side_of_cluster)
        side = xp.take(table, xp.astype(partition.labels, xp.int64))
        return ImplicitCovariances(
            self.X,
            self.sample_weight,
            side,
            self.units,
            np.array([plus.weight, minus.weight]),
            np.array([self.mean(plus), self.mean(minus)]),
        )

    def boundary(self, w, origin):
        """Normal and offset, for raw features, of the hyperplane w'x = origin in units."""
        coef = w / self.units.scale
        return coef, -float(coef @ self.units.mean) - origin


# --- the step: a direction between two unions of clusters -----------------------------------


def _minimax(problem, partition, side, start=None):
    """Direction of largest kappa between the two sides, by the minimax probability machine."""
    if problem.wide:
        covariances = problem.implicit(partition, side)
        return minimax_direction_by_passes(covariances, problem.reg, start=start)
    plus, minus = (partition.moments(np.flatnonzero(side == sign)) for sign in (1, -1))
    active = problem.units.active
    difference = (problem.mean(plus) - problem.mean(minus))[active]
    try:
        found = minimax_direction(problem.covariance(plus), problem.covariance(minus), difference)
    except LinAlgError:
        raise ValueError(
            f"reg={problem.reg:g} leaves the covariances of two clusters of weights "
            f"{plus.weight:g} and {minus.weight:g} singular in {len(difference)} features, where "
            "the separation has no maximum; use a larger reg, such as 0.1, or fewer features."
        ) from None
    coef = np.zeros(len(active))
    coef[active] = found.coef
    return replace(found, coef=coef)


def _minimax_boundary(problem, partition, side, start):
    """Minimax machine between the two sides: direction and optimal offset."""
    direction = _minimax(problem, partition, side, start)
    mean = problem.mean(partition.moments(np.flatnonzero(side == 1)))
    # the hyperplane lies kappa standard deviations from the mean of either side
    origin = direction.coef @ mean - direction.kappa * direction.sigma[0]
    return direction, problem.boundary(direction.coef, origin), direction.kappa


def _project_chunk(X, *, coef):
    return to_numpy(X @ (coef if sp.issparse(X) else like(coef, X)))


def _lower_bound_boundary(problem, partition, side, start):
    """Maximise the lower bound (4) over the direction, by (5), and then over the cut."""
    plus, minus = (partition.moments(np.flatnonzero(side == sign)) for sign in (1, -1))
    difference = problem.mean(plus) - problem.mean(minus)
    if problem.wide:
        union = problem.implicit(partition, np.abs(side))

        def product(v):
            return union.products(v.ravel())[1][0] + problem.reg * v.ravel()

        n_features = len(difference)
        operator = LinearOperator((n_features, n_features), matvec=product, dtype=np.float64)
        w, _ = cg(operator, difference, x0=start, rtol=1e-8, maxiter=500)
        spread = float(w @ product(w))
    else:
        active = problem.units.active
        T = problem.covariance(plus + minus)
        w = np.zeros(len(active))
        w[active] = cho_solve(cho_factor(T, lower=True), difference[active])
        spread = float(w[active] @ T @ w[active])
    w, spread = w / np.sqrt(spread), 1.0
    coef, offset = problem.boundary(w, 0.0)
    projections = np.concatenate(list(map_chunks(_project_chunk, problem.X, coef=coef))) + offset
    inside = side[to_numpy(partition.labels)] != 0
    weights = to_numpy(problem.sample_weight)
    threshold, bound = lower_bound_cut(
        projections[inside], None if weights is None else weights[inside], spread
    )
    if np.isnan(threshold):
        threshold = 0.5 * float(w @ (problem.mean(plus) + problem.mean(minus)))
    # unit spread of the two sides together; halves would be a guess where none is computed
    direction = Direction(w, float(np.sqrt(bound)), (0.5, 0.5))
    return direction, (coef, offset - threshold), direction.kappa


_STEPS = {"mpm": _minimax_boundary, "gep": _lower_bound_boundary}


# --- the driver -------------------------------------------------------------------------------


def solve_separation(problem, start, *, solver, code, max_iter, progress):
    r"""Alternate between the boundaries of a labelling and the labelling of the boundaries.

    .. math:: \max_{y, w} \; \kappa = \frac{|w^\top(\mu_1 - \mu_2)|}
              {\sum_k \sqrt{w^\top (\Sigma_k + \lambda\Lambda) w}}

    Eq. (3) of the paper, by its Approach 1 (`solver="mpm"`) or by Approach 2, the lower bound
    (4) (`solver="gep"`). For more than two clusters each row of `code` is one such problem, and
    samples go to the cluster with the largest smallest margin.

    The paper stops "until converge". Approach 1 is not monotone and can return to a labelling it
    has left; that is noticed by an objective and cluster weights seen before.

    Parameters
    ----------
    problem : Problem
        The data.
    start : Boundaries or array of shape (n_samples,)
        Starting labels, or the rule that makes them.
    solver : {"mpm", "gep"}
        Step.
    code : ndarray of shape (n_boundaries, n_clusters)
        Clusters on either side of each boundary.
    max_iter : int
        Most passes over the data.
    progress : Progress
        Where the loop counter comes from.

    Returns
    -------
    result : SolverResult
        With the partition as ``extras["partition"]``.
    """
    step = _STEPS[solver]
    partition = problem.partition(code.shape[1])
    # 0) label all rows by the start
    partition.assign(start)
    iterations = progress.iterations(max_iter)
    seen = set()
    directions = [None] * len(code)
    boundaries = None
    for _ in iterations:
        # 1) stop where a cluster ran empty: it has no moments, and no boundary
        if (partition.weights <= 1e-12 * problem.total.weight).any():
            iterations.status = Status.DEGENERATE
            boundaries = start if boundaries is None else boundaries
            break
        # 2) boundaries of the labels
        steps = [
            step(problem, partition, side, None if last is None else last.coef)
            for side, last in zip(code, directions, strict=True)
        ]
        directions = [direction for direction, _, _ in steps]
        boundaries = Boundaries(
            np.array([coef for _, (coef, _), _ in steps]),
            np.array([offset for _, (_, offset), _ in steps]),
            code,
        )
        objective = float(np.mean([value for _, _, value in steps]))
        iterations.record(objective, boundaries)
        # 3) labels of the boundaries
        if partition.assign(boundaries) == 0:
            iterations.status = Status.CONVERGED
            break
        fingerprint = (f"{objective:.10e}", tuple(np.round(partition.weights, 9)))
        if fingerprint in seen:
            iterations.status = Status.CYCLED
            break
        seen.add(fingerprint)
    if (partition.weights <= 1e-12 * problem.total.weight).any():
        iterations.status = Status.DEGENERATE
    return SolverResult(
        partition.labels,
        boundaries,
        iterations.history[-1] if iterations.history else 0.0,
        iterations.history,
        max(1, iterations.n_iter),
        iterations.status,
        {"partition": partition},
    )


def _leading_direction(problem):
    """Leading principal direction, in units: the first eigenvector of the correlation matrix."""
    if not problem.wide:
        correlation = problem.covariance(problem.total)
        last = len(correlation) - 1
        w = np.zeros(len(problem.units.active))
        w[problem.units.active] = eigh(correlation, subset_by_index=[last, last])[1][:, 0]
        return w
    n_samples, n_features = problem.X.shape
    everyone = problem.beside_rows(np.ones(n_samples, dtype=np.int8))
    mean = problem.mean(problem.total)
    implicit = ImplicitCovariances(
        problem.X,
        problem.sample_weight,
        everyone,
        problem.units,
        np.array([problem.total.weight, 0.0]),
        np.array([mean, mean]),
    )
    operator = LinearOperator(
        (n_features, n_features), matvec=lambda v: implicit.products(v.ravel())[1][0]
    )
    start = problem.units.active / np.sqrt(problem.units.active.sum())
    return eigsh(operator, k=1, v0=start, tol=1e-6)[1][:, 0]


def eigenvector_boundary(problem):
    r"""Boundary of Approach 3: across the leading eigenvector, through the mean.

    Theorem 3 relaxes the labels to the leading eigenvector of
    :math:`X(X^\top X + \lambda\Lambda)^{-1}X^\top`. In units where :math:`\Lambda = I` that matrix
    has the left singular vectors of X whatever lambda is, so the relaxed labels are the first
    principal component of the correlation matrix. The paper then takes the sign of
    :math:`XX^\top q`, which depends on the scale of the features; the sign of :math:`Xv` with the
    eigenvector v, on standardised X, does not.
    """
    coef, offset = problem.boundary(_leading_direction(problem), 0.0)
    return Boundaries(coef[None], np.array([offset]), pairwise_code(2))


def solve_eigenvector(problem, *, progress):
    """Approach 3 of the paper, `solver="eig"`: one eigenvector, no iteration."""
    partition = problem.partition(2)
    iterations = progress.iterations(1)
    for _ in iterations:
        boundaries = eigenvector_boundary(problem)
        partition.assign(boundaries)
        kappa = _minimax(problem, partition, boundaries.code[0]).kappa
        iterations.record(kappa, boundaries)
    return SolverResult(
        partition.labels,
        boundaries,
        kappa,
        iterations.history,
        1,
        Status.CONVERGED,
        {"partition": partition},
    )


def solve_bisection(problem, solve_two, n_clusters, *, progress, rng):
    """Split in two, again and again, the cluster with the largest scatter.

    Parameters
    ----------
    problem : Problem
        The data.
    solve_two : callable
        ``solve_two(problem, progress)`` solves for two clusters.
    n_clusters : int
        Number of clusters.
    progress : Progress
        Each split is a task of it.
    rng : RandomState
        Draws the rows that splits start from.

    Returns
    -------
    result : SolverResult
        With the partition as ``extras["partition"]``.
    """
    weights = to_numpy(problem.sample_weight)
    weights = np.ones(problem.X.shape[0]) if weights is None else weights
    labels = np.zeros(problem.X.shape[0], dtype=np.int32)
    code = np.zeros((0, 1), np.int8)
    splits = []
    leaves = {0: problem}
    while code.shape[1] < n_clusters and leaves:
        leaf = max(leaves, key=lambda cluster: _scatter(leaves[cluster], problem.units))
        task = progress.subtask("split", None)
        split = solve_two(leaves.pop(leaf), task)
        task.close(split.boundaries)
        if split.status is Status.DEGENERATE:
            continue
        splits.append(split)
        new = code.shape[1]
        labels[(labels == leaf) & (to_numpy(split.labels) == 1)] = new
        # whatever tells the leaf from the others tells its new half from them too
        code = np.vstack([np.hstack([code, code[:, [leaf]]]), np.zeros((1, new + 1), np.int8)])
        code[-1, [leaf, new]] = -1, 1
        for child in (leaf, new):
            part = problem.restricted(weights * (labels == child), rng)
            if part is not None:
                leaves[child] = part
    partition = problem.partition(n_clusters)
    unsplit = np.zeros((len(code), n_clusters - code.shape[1]), np.int8)
    boundaries = Boundaries(
        np.concatenate([split.boundaries.coef for split in splits]),
        np.concatenate([split.boundaries.intercept for split in splits]),
        np.hstack([code, unsplit]),
    )
    partition.assign(boundaries)
    rough = [split.status for split in splits if split.status is not Status.CONVERGED]
    status = Status.DEGENERATE if unsplit.size else (rough or [Status.CONVERGED])[0]
    return SolverResult(
        partition.labels,
        boundaries,
        float(np.mean([split.objective for split in splits])),
        [value for split in splits for value in split.history],
        sum(split.n_iter for split in splits),
        status,
        {"partition": partition},
    )


def _scatter(part, units):
    """Summed squared distances of the samples of `part` from their mean, in `units`."""
    both = part.units.active & units.active
    return part.total.weight * float(np.sum((part.units.scale[both] / units.scale[both]) ** 2))


def pairwise_kappa(problem, partition):
    """Separation kappa of each pair of clusters; nan for empty ones and on the diagonal."""
    kappa = np.full((partition.n_clusters, partition.n_clusters), np.nan)
    present = partition.weights > 1e-12 * problem.total.weight
    for side in pairwise_code(partition.n_clusters):
        pair = np.flatnonzero(side)
        if present[pair].all():
            found = _minimax(problem, partition, side).kappa
            kappa[pair[0], pair[1]] = kappa[pair[1], pair[0]] = found
    return kappa


# --- the estimators -----------------------------------------------------------------------------

_KERNEL_CONSTRAINTS = {
    "reg": [Interval(Real, 0, None, closed="left")],
    "kernel": [
        StrOptions(
            {"linear", "rbf", "poly", "sigmoid", "laplacian", "cosine", "chi2", "precomputed"}
        ),
        callable,
    ],
    "gamma": [StrOptions({"scale"}), Interval(Real, 0, None, closed="neither")],
    "degree": [Interval(Real, 1, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "n_components": [Interval(Integral, 1, None, closed="left")],
    "random_state": ["random_state"],
}


class _KernelFeaturesMixin:
    """From validated samples to the features and the problem of the criterion."""

    def _problem(self, X, sample_weight, rng):
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(
                "kernel='precomputed' needs X to be the square matrix of kernel values between "
                f"the samples, got shape {X.shape}; pass kernel='linear' for a feature matrix."
            )
        self._feature_map = None
        if self.kernel != "linear":
            self._feature_map = self._fit_feature_map(X, sample_weight, rng)
        isotropic = self._feature_map is not None
        return Problem.of(
            self._features(X), sample_weight, reg=self.reg, isotropic=isotropic, rng=rng
        )

    def _fit_feature_map(self, X, sample_weight, rng):
        if self.kernel == "precomputed":
            if sp.issparse(X) or is_dask(X):
                raise TypeError("kernel='precomputed' needs a dense array; convert X first.")
            X = to_numpy(X)
            scale = np.abs(X).max()
            if np.abs(X - X.T).max() > 1e-6 * scale:
                raise ValueError(
                    "kernel='precomputed' needs a symmetric matrix, but X differs from its "
                    f"transpose by {np.abs(X - X.T).max():.3g} where its largest value is "
                    f"{scale:.3g}."
                )
            rows, params = X, {}
        else:
            rows, _ = sample_rows(X, sample_weight, size=SAMPLE_SIZE, rng=rng)
            gamma = scale_gamma(rows) if self.gamma == "scale" else self.gamma
            params = {"gamma": gamma, "degree": self.degree, "coef0": self.coef0}
        if callable(self.kernel):
            params = {}
        return fit_kernel_map(rows, kernel=self.kernel, params=params, max_rank=self.n_components)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.array_api_support = self.kernel == "linear"
        return tags


class MaximinSeparationClustering(_KernelFeaturesMixin, BaseDiscriminativeClustering):
    """Clusters that a linear boundary separates with the highest guaranteed probability.

    Each candidate clustering is judged by the minimum separation probability: the share of each
    cluster that is certain to lie on its side of the best hyperplane, whatever the distribution
    of the cluster, given its mean and covariance [1]_. The method looks for the clustering that
    maximises it. The criterion does not depend on the units of the features.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
    solver : {"mpm", "gep", "eig"}, default="mpm"
        "mpm" maximises the criterion itself, "gep" a lower bound that favours clusters of equal
        size, "eig" a relaxation without iteration or start, the first principal component of the
        standardised features.
    reg : float, default=0.3
        Weight of the total variances that are added to the covariances of each cluster, the
        paper's lambda. Larger values trust correlations less. No rule that we know picks it
        without labels better than this default.
    kernel : str or callable, default="linear"
        "linear", "rbf", "poly", "sigmoid", "laplacian", "cosine", "chi2", "precomputed" or a
        function of two samples. Other kernels than the linear one work through at most
        `n_components` features and have no `coef_`; their criterion measures in one unit for all
        features, so it is no longer independent of feature scale.
    gamma : float or "scale", default="scale"
        Kernel coefficient; "scale" is 1 / (n_features * X.var()).
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and the sigmoid kernel.
    n_components : int, default=300
        Largest rank of a nonlinear kernel's features.
    multiway : {"auto", "pairwise", "one-vs-rest", "bisection"}, default="auto"
        Boundaries for more than two clusters: one for each pair, one around each cluster, or
        repeated splits in two. "auto" is pairwise, except for `solver="eig"`, which can only
        bisect.
    init : {"k-means", "scale-invariant", "random"} or array-like of shape (n_samples,), \
            default="k-means"
        Start: k-means on X, or a start that does not depend on the scale of the features (the
        leading eigenvector of the correlation matrix, for more than two clusters k-means on
        standardised features), or the nearest of random samples, or labels from 0. For more than
        20,000 samples it is found on a random sample of them. Ignored by `solver="eig"`.
    n_init : int, default=1
        Number of starts, of which the best objective is kept. The first k-means start is
        deterministic, further ones are k-means++ runs.
    max_iter : int, default=100
        Most updates of the labels from one start.
    random_state : int, RandomState instance or None, default=None
        Draws samples and restarts. The default of one start on up to 20,000 samples is
        deterministic.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        Cluster of each sample, the largest cluster first; `predict` of the training data.
    separation_probability_ : float
        Minimum separation probability of the labelling, of its worst pair of clusters.
    pairwise_separation_ : array of shape (n_clusters, n_clusters)
        The same for each pair; nan on the diagonal.
    coef_ : array of shape (n_boundaries, n_features)
        Normals of the boundaries, for the linear kernel.
    intercept_ : array of shape (n_boundaries,)
        Offsets of the boundaries.
    objective_ : float
        Kappa, the distance between means over the sum of standard deviations, averaged over the
        boundaries; for `solver="gep"` its lower bound.
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
    MinimaxProbabilityMachine : The classifier for known labels.
    separatrix.metrics.separation_probability_score : The criterion for any labelling.

    Notes
    -----
    An iteration costs one product of X with a vector and the moments of the samples that change
    clusters. The minimax machine is solved from one Cholesky factor. Data with more than 2,048
    features, sparse or not, are never turned into a covariance matrix.

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

    _parameter_constraints: dict = {
        **BaseDiscriminativeClustering._parameter_constraints,
        **_KERNEL_CONSTRAINTS,
        "solver": [StrOptions({"mpm", "gep", "eig"})],
        "multiway": [StrOptions({"auto", "pairwise", "one-vs-rest", "bisection"})],
        "init": [StrOptions({"k-means", "scale-invariant", "random"}), "array-like"],
    }

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
        self.random_state = random_state

    def _prepare(self, X, sample_weight, rng):
        multiway = self._resolved_multiway()
        if not isinstance(self.init, str):
            if multiway == "bisection" and self.n_clusters > 2:
                raise ValueError(
                    "init as labels needs multiway='pairwise' or 'one-vs-rest': a bisection of "
                    f"n_clusters={self.n_clusters} clusters finds its own starts."
                )
            self._check_init_labels(X, sample_weight)
        return self._problem(X, sample_weight, rng)

    def _resolved_multiway(self):
        if self.multiway == "auto":
            return "bisection" if self.solver == "eig" else "pairwise"
        if self.solver == "eig" and self.n_clusters > 2 and self.multiway != "bisection":
            raise ValueError(
                f"multiway={self.multiway!r} does not go with solver='eig', which has no labels "
                f"to improve; use multiway='bisection' for n_clusters={self.n_clusters}."
            )
        return self.multiway

    def _check_init_labels(self, X, sample_weight):
        labels = column_or_1d(np.asarray(self.init))
        if labels.shape[0] != X.shape[0]:
            raise ValueError(
                f"init has {labels.shape[0]} labels but X has {X.shape[0]} samples; pass one "
                "label per sample."
            )
        weights = to_numpy(sample_weight)
        present = labels if weights is None else labels[weights > 0]
        if not np.array_equal(np.unique(present), np.arange(self.n_clusters)):
            raise ValueError(
                f"init must use each label from 0 to n_clusters-1={self.n_clusters - 1} on a "
                f"sample of positive weight, got {np.unique(present)[:10]}."
            )

    def _start(self, problem, n_clusters, restart, rng):
        """Labels, or the rule that makes them, for start number `restart`."""
        if not isinstance(self.init, str):
            dtype = np.int8 if n_clusters < 128 else np.int32
            return problem.beside_rows(np.asarray(self.init).astype(dtype))
        rows, weights = problem.rows, problem.row_weight
        seeds = rng if restart else None
        if self.init == "random":
            return random_start(rows, n_clusters, rng)
        if self.init == "k-means":
            return kmeans_start(rows, weights, n_clusters, rng=seeds)
        if n_clusters == 2 and not restart:
            return eigenvector_boundary(problem)
        units = problem.units
        standard = kmeans_start(units.standardize(rows), weights, n_clusters, rng=seeds)
        return units.destandardize(standard, centered=not sp.issparse(rows))

    def _solve_two(self, problem, progress, restart, rng):
        if self.solver == "eig":
            return solve_eigenvector(problem, progress=progress)
        return self._alternate(problem, pairwise_code(2), progress, restart, rng)

    def _alternate(self, problem, code, progress, restart, rng):
        start = self._start(problem, code.shape[1], restart, rng)
        return solve_separation(
            problem,
            start,
            solver=self.solver,
            code=code,
            max_iter=self.max_iter,
            progress=progress,
        )

    def _fit_once(self, problem, restart, progress, rng):
        multiway = self._resolved_multiway()
        if self.n_clusters == 2:
            result = self._solve_two(problem, progress, restart, rng)
        elif multiway == "bisection":
            result = solve_bisection(
                problem,
                lambda part, task: self._solve_two(part, task, restart, rng),
                self.n_clusters,
                progress=progress,
                rng=rng,
            )
        else:
            make_code = pairwise_code if multiway == "pairwise" else one_vs_rest_code
            code = make_code(self.n_clusters)
            result = self._alternate(problem, code, progress, restart, rng)
        return self._numbered(problem, result)

    def _numbered(self, problem, result):
        """The result with clusters in order of size, and its separation probabilities."""
        partition = result.extras["partition"]
        order = number_clusters(result.labels, partition.weights)
        kappa = pairwise_kappa(problem, partition)[np.ix_(order, order)]
        separation = np.where(np.isnan(kappa), np.nan, kappa**2 / (1 + kappa**2))
        xp, _ = namespace_of(result.labels)
        rank = problem.beside_rows(np.argsort(order))
        return replace(
            result,
            labels=xp.take(rank, xp.astype(result.labels, xp.int64)),
            boundaries=result.boundaries.renumbered(order),
            extras={
                "pairwise_separation_": separation,
                "separation_probability_": float(np.nanmin(separation)),
            },
        )

    def _extras_of_one_cluster(self):
        return {"pairwise_separation_": np.full((1, 1), np.nan), "separation_probability_": np.nan}


class MinimaxProbabilityMachine(
    _KernelFeaturesMixin, BoundaryPredictorMixin, ClassifierMixin, BaseEstimator
):
    """Classifier with the best worst-case accuracy for given class means and covariances.

    Of all hyperplanes it takes the one for which the probability of a correct side, in the worst
    case over all distributions with the means and covariances of the classes, is largest [1]_.
    More than two classes are told apart by one hyperplane per pair.

    Parameters
    ----------
    reg : float, default=0.1
        Weight of the total variances that are added to the covariances of each class.
    kernel : str or callable, default="linear"
        "linear", "rbf", "poly", "sigmoid", "laplacian", "cosine", "chi2", "precomputed" or a
        function of two samples. Other kernels than the linear one work through at most
        `n_components` features and have no `coef_`.
    gamma : float or "scale", default="scale"
        Kernel coefficient; "scale" is 1 / (n_features * X.var()).
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and the sigmoid kernel.
    n_components : int, default=300
        Largest rank of a nonlinear kernel's features.
    random_state : int, RandomState instance or None, default=None
        Draws the samples that span the kernel features, if there are more than 20,000.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    separation_probability_ : float
        Guaranteed share of correct sides of the worst pair of classes, for distributions with
        the moments of the training data.
    pairwise_separation_ : array of shape (n_classes, n_classes)
        The same for each pair; nan on the diagonal.
    coef_ : array of shape (n_boundaries, n_features)
        Normals of the hyperplanes, for the linear kernel.
    intercept_ : array of shape (n_boundaries,)
        Offsets of the hyperplanes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X has them.

    See Also
    --------
    MaximinSeparationClustering : Finds the labels too.

    References
    ----------
    .. [1] G. R. G. Lanckriet, L. El Ghaoui, C. Bhattacharyya, M. I. Jordan, "A robust minimax
       approach to classification", Journal of Machine Learning Research 3, 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix import MinimaxProbabilityMachine
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MinimaxProbabilityMachine().fit(X, y)
    >>> model.score(X, y) > model.separation_probability_
    True
    """

    _parameter_constraints: dict = {**_KERNEL_CONSTRAINTS}

    def __init__(
        self,
        *,
        reg=0.1,
        kernel="linear",
        gamma="scale",
        degree=3,
        coef0=1,
        n_components=300,
        random_state=None,
    ):
        self.reg = reg
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the hyperplanes.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Nonnegative weights. A weight of two equals a repeated sample, zero an absent one.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X = self._validate_X(X, reset=True)
        codes = self._class_codes(X, y)
        sample_weight = self._validate_weights(X, sample_weight)
        n_classes = len(self.classes_)
        weights = to_numpy(sample_weight)
        present = np.bincount(codes, weights=weights, minlength=n_classes) > 0
        if n_classes < 2 or not present.all():
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes in y, each with "
                f"positive weight; got {int(present.sum())} class of {n_classes}."
            )
        problem = self._problem(X, sample_weight, check_random_state(self.random_state))
        code = pairwise_code(n_classes)
        partition = problem.partition(n_classes)
        partition.assign(problem.beside_rows(codes.astype(np.int32)))
        steps = [_minimax_boundary(problem, partition, side, None) for side in code]
        boundaries = Boundaries(
            np.array([coef for _, (coef, _), _ in steps]),
            np.array([offset for _, (_, offset), _ in steps]),
            code,
        )
        self._set_boundaries(boundaries, X)
        kappa = np.full((n_classes, n_classes), np.nan)
        for side, (_, _, value) in zip(code, steps, strict=True):
            low, high = np.flatnonzero(side)
            kappa[low, high] = kappa[high, low] = value
        separation = kappa**2 / (1 + kappa**2)
        self.pairwise_separation_ = separation if is_dask(X) else like(separation, X)
        self.separation_probability_ = float(np.nanmin(separation))
        return self

    def _class_codes(self, X, y):
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        if is_dask(y):
            y = y.compute()
        y = column_or_1d(to_numpy(y), warn=True)
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        if y.shape[0] != X.shape[0]:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {X.shape[0]}, "
                f"y has {y.shape[0]}."
            )
        self.classes_, codes = np.unique(y, return_inverse=True)
        return codes

    def predict(self, X):
        """Class of each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        y : array of shape (n_samples,)
            Classes. Lazy for a dask array.
        """
        codes = self._predict_codes(X)
        if is_dask(codes):
            return codes.map_blocks(self.classes_.take, dtype=self.classes_.dtype)
        if np.issubdtype(self.classes_.dtype, np.number):
            xp, _ = namespace_of(codes)
            return xp.take(like(self.classes_, codes), xp.astype(codes, xp.int64))
        return self.classes_[to_numpy(codes)]
