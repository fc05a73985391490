"""The hyperplane that separates two sets of moments best."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cholesky, eigh, eigh_tridiagonal, solve_triangular
from scipy.optimize import brentq
from scipy.sparse.linalg import LinearOperator, eigsh

from separatrix._sklearn import like, namespace_of, one_blas_thread, to_numpy
from separatrix.data.moments import Moments, Partition, Units, finite_moments
from separatrix.data.rows import beside, map_chunks
from separatrix.models.boundaries import Boundaries, pairwise_code
from separatrix.models.starts import SampledProblem, drawn_rows, kmeans_start
from separatrix.similarity.kernels import Kernel

EPS = np.finfo(np.float64).eps


@dataclass(frozen=True)
class Direction:
    """A direction between two sets and how well it separates them.

    Attributes
    ----------
    coef : ndarray of shape (n_features,)
        Normal w, scaled so that the two standard deviations along it add up to one; kappa is
        then the distance between the means along w.
    kappa : float
        Separation: the distance of the means over the sum of the standard deviations.
    sigma : tuple of float
        Standard deviations of the positive and the negative set along `coef`.
    """

    coef: np.ndarray
    kappa: float
    sigma: tuple

    @classmethod
    def along(cls, coef, difference, variance_plus, variance_minus):
        """Direction `coef` scaled to unit spread."""
        # one set may be flat along the direction, and rounding may then make its variance negative
        deviations = np.sqrt(np.maximum([variance_plus, variance_minus], 0.0))
        spread = deviations.sum()
        if spread == 0:
            raise LinAlgError("both sets are flat along a direction")
        plus, minus = deviations / spread
        return cls(coef / spread, float(coef @ difference / spread), (float(plus), float(minus)))


def _best_share(ratios, masses):
    """Maximise sum_i masses_i / (ratios_i / theta + (1 - ratios_i) / (1 - theta)) over theta."""

    def slope(theta):
        mixed = masses / (ratios * (1 - theta) + (1 - ratios) * theta) ** 2
        return mixed @ ratios * (1 - theta) ** 2 - mixed @ (1 - ratios) * theta**2

    # The objective is concave. One set may have no spread along the best direction, which puts
    # theta at an end; kappa there is within 1e-12 of the limit.
    low, high = 1e-12, 1 - 1e-12
    if slope(low) <= 0:
        return low
    if slope(high) >= 0:
        return high
    return brentq(slope, low, high, xtol=1e-15, rtol=1e-14)


def _best_shares(ratios, masses):
    """The same for each row, by halving intervals."""
    low, high = np.full(len(ratios), 1e-12), np.full(len(ratios), 1 - 1e-12)
    for _ in range(60):
        theta = (0.5 * (low + high))[:, None]
        mixed = masses / (ratios * (1 - theta) + (1 - ratios) * theta) ** 2
        rises = (mixed * (ratios * (1 - theta) ** 2 - (1 - ratios) * theta**2)).sum(axis=1) > 0
        low, high = np.where(rises, theta[:, 0], low), np.where(rises, high, theta[:, 0])
    return 0.5 * (low + high)


@one_blas_thread
def minimax_direction(S_plus, S_minus, difference, *, tol=1e-12):
    r"""Direction of largest worst-case separation between two sets of given moments.

    .. math:: \kappa = \max_w \frac{w^\top \delta}
              {\sqrt{w^\top S_+ w} + \sqrt{w^\top S_- w}}

    This is eq. (2) of [1]_. Since :math:`(\sigma_+ + \sigma_-)^2 = \min_\theta
    \sigma_+^2/\theta + \sigma_-^2/(1-\theta)` over shares :math:`0 < \theta < 1`, it is a concave
    problem in one variable,

    .. math:: \kappa^2 = \max_\theta g(\theta), \qquad g(\theta) = \delta^\top
              \Big(\frac{S_+}{\theta} + \frac{S_-}{1-\theta}\Big)^{-1} \delta .

    With :math:`S_+ + S_- = LL^\top` and :math:`A = L^{-1} S_+ L^{-\top}` the matrix is a function
    of A alone, whose eigenvalues lie in [0, 1]; a few steps of Lanczos' method started from
    :math:`L^{-1}\delta` serve every theta at once. So the paper's second-order cone program costs
    one Cholesky factor. All eigenvalues of the middle matrix are at least 1, so the square of the
    residual bounds what is missing from :math:`\kappa^2`.

    Parameters
    ----------
    S_plus, S_minus : ndarray of shape (n_features, n_features)
        Regularised covariances of the two sets. Their sum must be positive definite.
    difference : ndarray of shape (n_features,)
        Mean of the positive set less mean of the negative set.
    tol : float, default=1e-12
        Bound on the relative error of kappa squared.

    Returns
    -------
    direction : Direction

    Raises
    ------
    scipy.linalg.LinAlgError
        If the sum of the covariances is singular, when kappa may be infinite.

    References
    ----------
    .. [1] G. Huang, J. Zhang, S. Song, Z. Chen, "Maximin separation probability clustering",
       AAAI 2015.
    """
    L = cholesky(S_plus + S_minus, lower=True, check_finite=False)
    pivots = np.diag(L)
    if (pivots.min() / pivots.max()) ** 2 < EPS * len(pivots):
        raise LinAlgError("the sum of the covariances is singular")

    def solve(b, *, transposed=False):
        return solve_triangular(L, b, lower=True, trans=int(transposed), check_finite=False)

    with np.errstate(over="ignore", invalid="ignore"):  # the next lines raise an error
        start = solve(difference)
        length = np.linalg.norm(start)
        largest = length**2
    if not np.isfinite(largest):
        raise LinAlgError("the sum of the covariances is singular")
    if length == 0:  # equal means: every direction is as good, and none separates
        w = solve(np.full_like(difference, 1.0), transposed=True)
        return Direction.along(w, difference, w @ S_plus @ w, w @ S_minus @ w)

    basis = np.empty((min(16, len(start)), len(start)))
    basis[0] = start / length
    diagonal: list[float] = []
    off_diagonal: list[float] = []
    for step in range(len(start)):
        v = basis[step]
        p = solve(S_plus @ solve(v, transposed=True))
        diagonal.append(float(v @ p))
        for _ in range(2):  # once is not enough to stay orthogonal to working precision
            p -= basis[: step + 1].T @ (basis[: step + 1] @ p)
        beta = np.linalg.norm(p)
        ratios, vectors = eigh_tridiagonal(diagonal, off_diagonal)
        ratios = np.clip(ratios, 0.0, 1.0)
        masses = (length * vectors[0]) ** 2
        theta = _best_share(ratios, masses)
        damping = theta * (1 - theta) / (ratios * (1 - theta) + (1 - ratios) * theta)
        z = vectors @ (length * vectors[0] * damping)
        residual = abs(1 / theta - 1 / (1 - theta)) * beta * abs(z[-1])
        if residual**2 <= tol * (masses @ damping) or beta <= 1e-14:
            break
        off_diagonal.append(float(beta))
        if step + 1 == len(start):
            break
        if step + 1 == len(basis):
            basis = np.concatenate([basis, np.empty_like(basis)])[: len(start)]
        basis[step + 1] = p / beta
    w = solve(basis[: step + 1].T @ z, transposed=True)
    return Direction.along(w, difference, w @ S_plus @ w, w @ S_minus @ w)


def _project_back_chunk(X, weight, side, *, coef, offset, means):
    """What one chunk adds to the products of the two covariances with a vector.

    With q = coef'x + offset - mean, per side the weighted sum of q x and of q.
    """
    xp, _ = namespace_of(X)
    scores = X @ (coef if sp.issparse(X) else like(coef, X)) + offset
    parts = []
    for sign, mean in zip((1, -1), means, strict=True):
        q = (scores - mean) * xp.astype(side == sign, scores.dtype)
        if weight is not None:
            q = q * xp.astype(weight, q.dtype)
        back = X.T @ q if sp.issparse(X) else to_numpy(q @ X)
        parts.append((back.astype(np.float64, copy=False), float(xp.sum(q))))
    return parts


@dataclass(frozen=True)
class ImplicitCovariances:
    """Covariances of two sides of the data that are only ever multiplied with vectors.

    Attributes
    ----------
    X : {array, sparse matrix, dask array} of shape (n_samples, n_features)
        The data.
    sample_weight : array of shape (n_samples,) or None
        Nonnegative weights.
    side : array of shape (n_samples,)
        1 for the positive set, -1 for the negative one, 0 for samples of neither.
    units : Units
        Units in which features are measured.
    weights : ndarray of shape (2,)
        Total weights of the positive and the negative set.
    means : ndarray of shape (2, n_features)
        Their means, in `units`.
    """

    X: Any
    sample_weight: Any
    side: Any
    units: Any
    weights: np.ndarray
    means: np.ndarray

    def products(self, w):
        """Products of both covariances with `w`, in one pass over the data."""
        raw = w / self.units.scale
        back, residuals = np.zeros((2, len(w))), np.zeros(2)
        chunks = map_chunks(
            _project_back_chunk,
            self.X,
            self.sample_weight,
            self.side,
            coef=raw,
            offset=-float(raw @ self.units.mean),
            means=tuple(float(mean) for mean in self.means @ w),
            width=1,
        )
        for parts in chunks:
            for i, (vector, residual) in enumerate(parts):
                back[i] += vector
                residuals[i] += residual
        centered = (back - residuals[:, None] * self.units.mean) / self.units.scale
        return centered / self.weights[:, None]


def minimax_direction_by_passes(covariances, reg, *, start=None, tol=1e-8, max_passes=300):
    r"""Same direction as `minimax_direction`, without forming a covariance matrix.

    The problem is solved in a subspace that grows by its own residual
    :math:`\delta - \kappa (S_+ w/\theta + S_- w/(1-\theta))`, at one pass over the data for each
    dimension. For a fixed theta this is the method of conjugate gradients. The matrix is at least
    :math:`4\lambda I`, so the squared residual over :math:`4\lambda` bounds what is missing from
    :math:`\kappa^2`.

    Parameters
    ----------
    covariances : ImplicitCovariances
        The two sets.
    reg : float
        Ridge added to both covariances, in their units; positive.
    start : ndarray of shape (n_features,), default=None
        Direction to start from.
    tol : float, default=1e-8
        Bound on the relative error of kappa squared.
    max_passes : int, default=300
        Most passes over the data.

    Returns
    -------
    direction : Direction
    """
    difference = covariances.means[0] - covariances.means[1]
    basis = np.empty((0, len(difference)))
    images = np.empty((2, 0, len(difference)))  # products of both covariances with the basis
    residual = next(v for v in (start, difference, covariances.units.active) if np.any(v))
    v = residual / np.linalg.norm(residual)
    while True:
        image = covariances.products(v) + reg * v
        basis = np.vstack([basis, v])
        images = np.concatenate([images, image[:, None]], axis=1)
        small = images @ basis.T
        S_plus, S_minus = (small + small.transpose(0, 2, 1)) / 2
        found = minimax_direction(S_plus, S_minus, basis @ difference, tol=1e-3 * tol)
        theta = np.clip(found.sigma[0], 1e-12, 1 - 1e-12)
        along = found.coef @ images[0] / theta + found.coef @ images[1] / (1 - theta)
        residual = difference - found.kappa * along
        gap = residual @ residual / (4 * reg)
        v = residual / (np.linalg.norm(residual) or 1.0)
        for _ in range(2):
            v = v - basis.T @ (basis @ v)
        length = np.linalg.norm(v)
        # if the residual adds nothing but rounding, the space contains the solution
        if gap <= tol * found.kappa**2 or length < 1e-10 or len(basis) >= max_passes:
            return replace(found, coef=found.coef @ basis)
        v = v / length


def separation_probability(kappa):
    """Minimum separation probability p = kappa^2 / (1 + kappa^2)."""
    # written so that an infinite kappa gives 1 and not nan
    with np.errstate(divide="ignore"):
        return 1.0 / (1.0 + 1.0 / np.square(np.maximum(kappa, 0.0)))


# Beyond this many features a covariance matrix costs more than the passes that avoid it.
WIDE = 2048


# Boundaries of at most so many features are solved together where there are so many of them, as
# many at a time as have so many numbers.
FEW_FEATURES, MANY_BOUNDARIES = 20, 10
STACKED_NUMBERS = 2**21


# A larger share of summed squares than this cannot be left by rounding alone.
RELEVANT = 1e3 * EPS


# --- samples and the two sets between which a hyperplane is sought ------------------------------


@dataclass(frozen=True, kw_only=True)
class MomentProblem(SampledProblem):
    """Data with their overall moments, shared by all boundaries that are fitted to them.

    Attributes
    ----------
    shift : ndarray of shape (n_features,)
        Point that moments are taken about.
    total : Moments
        Moments of all rows about `shift`; of wide data only the diagonal.
    units : Units
        Units in which the paper's Lambda is the identity matrix.
    reg : float
        The paper's lambda.
    isotropic : bool
        Whether all features have one unit, as kernel features must: their axes mean nothing.
    """

    shift: np.ndarray
    total: Moments
    units: Units
    reg: float
    isotropic: bool

    @classmethod
    def of(cls, X, sample_weight, *, reg, isotropic, rng, **fields):
        """Draw rows and sum the moments of `X`, in one pass over it."""
        rows = drawn_rows(X, sample_weight, rng)
        shift, total = finite_moments(X, sample_weight, **rows, diagonal=X.shape[1] > WIDE)
        return cls(
            X=X,
            sample_weight=sample_weight,
            shift=shift,
            total=total,
            units=Units.of(total, shift, isotropic=isotropic),
            reg=reg,
            isotropic=isotropic,
            **rows,
            **fields,
        )

    def check_varies(self):
        """Return self, but refuse constant data."""
        if not self.varies:
            raise ValueError(
                f"X is constant: none of its {self.X.shape[1]} features varies beyond rounding, "
                "so no boundary can separate clusters. Check that X holds the features, or scale "
                "it up if its values are smaller than 1e-150."
            )
        return self

    @property
    def varies(self):
        """Whether there is anything to separate."""
        return bool(self.units.active.any())

    def scatter(self, whole):
        """Summed squared distances of the samples from their mean, in the units of `whole`."""
        both = self.units.active & whole.units.active
        spread = self.units.scale[both] / whole.units.scale[both]
        return self.total.weight * float(np.sum(spread**2))

    def restricted(self, weights, rng):
        """The problem of the samples of positive weight alone."""
        return MomentProblem.of(
            self.X, beside(weights, self.X), reg=self.reg, isotropic=self.isotropic, rng=rng
        )

    def sampled(self, rng):
        """The problem of the sampled rows alone, on the device of the samples."""
        rows, weight = self.rows, self.row_weight
        if not sp.issparse(rows):
            rows = beside(rows, self.X)
            weight = None if weight is None else beside(weight, rows)
        return MomentProblem.of(rows, weight, reg=self.reg, isotropic=self.isotropic, rng=rng)

    def scale_invariant_start(self, n_clusters, *, rng):
        """Start that does not depend on the units of features; deterministic if `rng` is None."""
        if n_clusters == 2 and rng is None:
            return eigenvector_boundary(self)
        rows = self.units.standardize(self.rows)
        standard = kmeans_start(rows, self.row_weight, n_clusters, rng=rng)
        return self.units.destandardize(standard, centered=not sp.issparse(self.rows))

    def partition(self, n_clusters):
        """A partition of the rows that is yet to be assigned."""
        return Partition(
            self.X, self.sample_weight, n_clusters=n_clusters, total=self.total, shift=self.shift
        )

    def joined(self, splits, n_clusters):
        """Boundaries of repeated splits, and the partition that they make."""
        boundaries = Boundaries.of_splits(splits, n_clusters, self.X.shape[1])
        partition = self.partition(n_clusters)
        partition.assign(boundaries)
        return boundaries, partition


def moment_problem(estimator, X, sample_weight, rng, links=None):
    """Features and moments of samples, by the parameters of an estimator."""
    features, kernel, feature_map = Kernel.of(estimator).features(
        X, sample_weight, n_components=estimator.n_components, rng=rng
    )
    problem = MomentProblem.of(
        features,
        sample_weight,
        reg=estimator.reg,
        isotropic=feature_map is not None,
        rng=rng,
        kernel=kernel,
        feature_map=feature_map,
        links=links,
    )
    return problem.check_varies()


def units_of_union(problem, both):
    """Units of the samples of two sides, or of many pairs of sides at once."""
    total = problem.total
    units = Units.of(both, problem.shift, isotropic=problem.isotropic)
    # if a feature is constant on both sides, sums and differences of rows leave rounding errors
    # that grow with the summed squares; these are not variance
    squares = total.weight * (total.variance + total.mean**2)
    gone = np.asarray(both.weight)[..., None] * both.variance <= RELEVANT * squares
    return replace(units, scale=np.where(gone, np.inf, units.scale))


@dataclass(frozen=True)
class Sides:
    """Two unions of clusters, measured in the units of the samples of both.

    Attributes
    ----------
    problem : MomentProblem
        The data.
    partition : Partition
        The clusters.
    side : ndarray of shape (n_clusters,)
        1 for clusters of the positive side, -1 for the negative one, 0 for others.
    plus, minus : Moments
        Moments of the two sides.
    units : Units
        Units in which the total covariance of both sides is a correlation matrix.
    """

    problem: MomentProblem
    partition: Partition
    side: np.ndarray
    plus: Moments
    minus: Moments
    units: Units

    @classmethod
    def of(cls, problem, partition, side):
        """Sides that `side`, a row of a code, gives to the clusters of `partition`."""
        plus, minus = (partition.moments(np.flatnonzero(side == sign)) for sign in (1, -1))
        units = problem.units
        if not side.all():
            units = units_of_union(problem, plus + minus)
        return cls(problem, partition, side, plus, minus, units)

    def mean(self, moments):
        """Mean in units."""
        return (moments.mean + self.problem.shift - self.units.mean) / self.units.scale

    @property
    def difference(self):
        """Mean of the positive side less mean of the negative one, in units."""
        return self.mean(self.plus) - self.mean(self.minus)

    def covariance(self, moments):
        """Covariance with the ridge, in units, of the features that vary."""
        active, covariance = self.units.active, moments.covariance
        if not active.all():
            covariance = covariance[np.ix_(active, active)]
        scale = self.units.scale[active]
        covariance /= scale
        covariance /= scale[:, None]
        covariance[np.diag_indices_from(covariance)] += self.problem.reg
        return covariance

    def implicit(self, *, merged=False):
        """The covariances of both sides as products only; of their union if `merged`."""
        xp, _ = namespace_of(self.partition.labels)
        signs = np.abs(self.side) if merged else self.side
        row_side = xp.take(
            beside(signs, self.problem.X), xp.astype(self.partition.labels, xp.int64)
        )
        moments = (self.plus + self.minus,) * 2 if merged else (self.plus, self.minus)
        return ImplicitCovariances(
            self.problem.X,
            self.problem.sample_weight,
            row_side,
            self.units,
            np.array([part.weight for part in moments]),
            np.array([self.mean(part) for part in moments]),
        )

    def singular(self):
        """The error that the covariances of the two sides leave no maximum."""
        return ValueError(
            f"reg={self.problem.reg:g} leaves the covariances of two clusters of weights "
            f"{self.plus.weight:g} and {self.minus.weight:g} singular in "
            f"{self.units.active.sum()} features, where the separation has no maximum; use a "
            f"larger reg, such as {max(0.1, 10 * self.problem.reg):g}, or fewer features."
        )

    def in_units(self, coef):
        """Direction `coef` of raw features in units."""
        return coef * np.where(self.units.active, self.units.scale, 0.0)

    def hyperplane(self, w, origin):
        """Normal and offset, for raw features, of w'x = origin in units."""
        coef = w / self.units.scale
        return coef, -float(coef @ self.units.mean) - origin


@dataclass(frozen=True)
class Step:
    """A fitted boundary and the value of the criterion for the labels it was fitted to."""

    coef: np.ndarray
    offset: float
    value: float


def minimax_between(sides, start=None):
    """Direction of largest kappa between two sides, in their units."""
    if sides.problem.total.diagonal:
        if sides.problem.reg == 0:
            raise ValueError(
                f"reg=0 is for at most {WIDE} features, got {len(sides.units.scale)}; use a "
                "positive reg."
            )
        if start is not None:
            start = sides.in_units(start)
        return minimax_direction_by_passes(sides.implicit(), sides.problem.reg, start=start)
    active = sides.units.active
    if not active.any():  # samples of both sides are all equal, which links may require
        return Direction(np.zeros(len(active)), 0.0, (0.0, 0.0))
    difference = sides.difference[active]
    try:
        found = minimax_direction(
            sides.covariance(sides.plus), sides.covariance(sides.minus), difference
        )
    except LinAlgError:
        raise sides.singular() from None
    coef = np.zeros(len(active))
    coef[active] = found.coef
    return replace(found, coef=coef)


def minimax_step(sides, start=None):
    """Minimax machine between two sides: direction and optimal offset.

    The hyperplane lies kappa standard deviations from the mean of either side. `start` is a
    normal to begin with, which only wide data need.
    """
    direction = minimax_between(sides, start)
    origin = direction.coef @ sides.mean(sides.plus) - direction.kappa * direction.sigma[0]
    coef, offset = sides.hyperplane(direction.coef, origin)
    return Step(coef, offset, direction.kappa)


def minimax_steps(problem, partition, code, starts=None):
    """Minimax machines between the two sides of each row of a code.

    Many that have few features are solved together: one call of LAPACK for all of them instead of
    a hundred for each.

    Parameters
    ----------
    problem : MomentProblem
        The data.
    partition : Partition
        The clusters.
    code : ndarray of shape (n_boundaries, n_clusters)
        Clusters on either side of each boundary.
    starts : sequence of ndarray or None, default=None
        Normals to begin with, as for `minimax_step`.

    Returns
    -------
    steps : list of Step
    """
    starts = [None] * len(code) if starts is None else starts
    found: list[Any] = [None] * len(code)
    n_features = problem.X.shape[1]
    if len(code) >= MANY_BOUNDARIES and n_features <= FEW_FEATURES and not problem.total.diagonal:
        size = max(1, STACKED_NUMBERS // n_features**2)
        blocks = [slice(i, i + size) for i in range(0, len(code), size)]
        found = [
            step for block in blocks for step in stacked_steps(problem, partition, code[block])
        ]
    return [
        minimax_step(Sides.of(problem, partition, side), start) if step is None else step
        for side, start, step in zip(code, starts, found, strict=True)
    ]


@np.errstate(over="ignore", divide="ignore", invalid="ignore")  # such rows are left out
@one_blas_thread
def stacked_steps(problem, partition, code):
    """Minimax machines of all rows of a code at once; None where it takes more than one factor.

    The same mathematics as in `minimax_direction`, with all eigenvalues of the middle matrix.
    """
    # 1) moments in units, without the features that do not vary
    plus, minus = partition.stacked(code)
    units, whole = units_of_union(problem, plus + minus), code.all(axis=1)[:, None]
    mean = np.where(whole, problem.units.mean, units.mean)
    scale = np.where(whole, problem.units.scale, units.scale)
    means = [(side.mean + problem.shift - mean) / scale for side in (plus, minus)]
    ridge = problem.reg * np.eye(problem.X.shape[1])
    S_plus, S_minus = (
        side.covariance / scale[:, :, None] / scale[:, None, :] + ridge for side in (plus, minus)
    )
    difference = means[0] - means[1]
    # 2) the factor of the sum, and the middle matrix in its eigenvectors
    try:
        L = np.linalg.cholesky(S_plus + S_minus)
    except LinAlgError:
        return [None] * len(code)
    pivots = np.diagonal(L, axis1=1, axis2=2)
    singular = (pivots.min(axis=1) / pivots.max(axis=1)) ** 2 < EPS * pivots.shape[1]
    first = np.linalg.solve(L, difference[:, :, None])[:, :, 0]
    middle = np.linalg.solve(L, np.linalg.solve(L, S_plus).transpose(0, 2, 1))
    ratios, vectors = np.linalg.eigh(middle)
    ratios = np.clip(ratios, 0.0, 1.0)
    along = np.einsum("nij,ni->nj", vectors, first)
    # 3) the share of the spread that the positive side has, and the direction
    theta = _best_shares(ratios, along**2)[:, None]
    damping = theta * (1 - theta) / (ratios * (1 - theta) + (1 - ratios) * theta)
    z = np.einsum("nij,nj->ni", vectors, along * damping)
    w = np.linalg.solve(L.transpose(0, 2, 1), z[:, :, None])[:, :, 0]
    deviations = [
        np.sqrt(np.maximum(np.einsum("ni,nij,nj->n", w, S, w), 0.0)) for S in (S_plus, S_minus)
    ]
    spread = deviations[0] + deviations[1]
    usual = ~singular & first.any(axis=1) & (spread > 0) & np.isfinite(spread)
    return [
        _step_along(
            w[i] / spread[i],
            difference[i],
            means[0][i],
            deviations[0][i] / spread[i],
            mean[i],
            scale[i],
        )
        if usual[i]
        else None
        for i in range(len(code))
    ]


def _step_along(w, difference, mean_plus, sigma_plus, mean, scale):
    """The boundary of a direction of unit spread, kappa deviations from the positive mean."""
    kappa = float(w @ difference)
    coef = w / scale
    origin = w @ mean_plus - kappa * sigma_plus
    return Step(coef, float(-(coef @ mean) - origin), kappa)


def pairwise_matrix(code, values):
    """Symmetric matrix of one value per pair of clusters; nan on the diagonal."""
    matrix = np.full((code.shape[1], code.shape[1]), np.nan)
    for side, value in zip(code, values, strict=True):
        low, high = np.flatnonzero(side)
        matrix[low, high] = matrix[high, low] = value
    return matrix


def pairwise_kappa(problem, partition):
    """Separation kappa of each pair of clusters; nan for empty ones and on the diagonal."""
    code = pairwise_code(partition.n_clusters)
    whole = ~(code[:, partition.empty] != 0).any(axis=1)
    values = np.full(len(code), np.nan)
    values[whole] = [step.value for step in minimax_steps(problem, partition, code[whole])]
    return pairwise_matrix(code, values)


@one_blas_thread
def _leading_eigenvector(matrix):
    last = len(matrix) - 1
    return eigh(matrix, subset_by_index=[last, last])[1][:, 0]


def eigenvector_boundary(problem, *, raw=False):
    r"""Boundary of Approach 3: across the leading eigenvector, through the mean.

    Theorem 3 relaxes the labels to the leading eigenvector of
    :math:`X(X^\top X + \lambda\Lambda)^{-1}X^\top`. In units where :math:`\Lambda = I` that matrix
    has the left singular vectors of X whatever lambda is, so the relaxed labels are the first
    principal component of the correlation matrix. The sign of :math:`Xv` with the eigenvector v,
    on standardised X, does not depend on the scale of the features. The paper's sign of
    :math:`XX^\top q`, which `raw` asks for, does: with :math:`q = X D^{-1} v` and the standard
    deviations D its normal is :math:`X^\top q = D (D^{-1} X^\top X D^{-1}) v`, a multiple of Dv
    where the other has :math:`D^{-1} v`.
    """
    partition = problem.partition(1)
    everyone = Sides(
        problem, partition, np.ones(1, dtype=np.int8), problem.total, problem.total, problem.units
    )
    n_features = problem.X.shape[1]
    active = problem.units.active
    if problem.total.diagonal:
        partition.assign(beside(np.zeros(problem.X.shape[0], dtype=np.int8), problem.X))
        covariance = everyone.implicit()
        operator = LinearOperator(
            (n_features, n_features), matvec=lambda v: covariance.products(v.ravel())[0]
        )
        w = eigsh(operator, k=1, v0=active / np.sqrt(active.sum()), tol=1e-4, rng=0)[1][:, 0]
    else:
        w = np.zeros(n_features)
        w[active] = _leading_eigenvector(everyone.covariance(problem.total))
    if raw:
        w[active] *= np.square(problem.units.scale[active])
    coef, offset = everyone.hyperplane(w, 0.0)
    return Boundaries(coef[None], np.array([offset]), pairwise_code(2))
