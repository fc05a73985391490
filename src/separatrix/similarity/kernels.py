"""Kernels: their widths, their matrices, and low-rank features that linear methods work on."""

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from sklearn import config_context
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import euclidean_distances, pairwise_kernels
from sklearn.utils.extmath import row_norms

from separatrix._sklearn import (
    is_lazy,
    is_numpy,
    like,
    namespace_of,
    one_blas_thread,
    to_numpy,
    widest_float,
)
from separatrix.data.distinct import DistinctRows
from separatrix.data.rows import check_fits_memory, dense_blocks, features_of, sample_rows

# Number of rows from whose distances a typical one is found.
DISTANCE_ROWS = 2_000
# The rows that span the features of a kernel are chosen from this many, or from this many times
# the number of features.
LANDMARK_ROWS = 3_000
LANDMARK_ROWS_PER_FEATURE = 10
# Up to this many clusters the width of a kernel is that of all samples.
FEW_CLUSTERS = 10
# Values whose squares single precision still holds.
LARGEST_SINGLE = 1e18
# Negative eigenvalues, as a share of the largest diagonal entry, that rounding may explain.
INDEFINITE = 1e-6
# Share of the summed squares of samples up to which their distances from the mean are rounding.
CONSTANT = 1e-12
# Traits of the kernels that have a name.
HAVE_GAMMA = {"rbf", "poly", "sigmoid", "laplacian", "chi2"}
HAVE_UNIT_DIAGONAL = {"rbf", "laplacian", "cosine"}
ON_DEVICES = {"linear", "rbf", "poly", "cosine"}  # whose values are array algebra
ARE_POSITIVE = {"linear", "rbf", "laplacian", "cosine", "chi2"}


# --- the kernel ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kernel:
    """A kernel with its parameters.

    Attributes
    ----------
    name : str or callable
        A name of scikit-learn's `pairwise_kernels`, "precomputed", or a function of two samples.
    gamma : float, str or tuple
        Kernel coefficient, or the rule for it until `resolved`.
    degree, coef0 : float
        Degree of the polynomial kernel, constant of the polynomial and the sigmoid kernel.
    n_clusters : int
        Clusters that samples are in, which narrow a width by distances where they are many.
    """

    name: Any = "linear"
    gamma: Any = "scale"
    degree: float = 3
    coef0: float = 1
    n_clusters: int = 1

    @classmethod
    def of(cls, estimator):
        """The kernel that the parameters of an estimator ask for: linear if it has none."""
        params = estimator.get_params(deep=False)
        if "kernel" not in params:
            return cls()
        return cls(
            params["kernel"],
            params["gamma"],
            params["degree"],
            params["coef0"],
            params.get("n_clusters", 1),
        )

    @property
    def is_linear(self):
        """Whether boundaries have normals in the space of the samples."""
        return isinstance(self.name, str) and self.name == "linear"

    @property
    def is_precomputed(self):
        """Whether X holds kernel values."""
        return isinstance(self.name, str) and self.name == "precomputed"

    @property
    def is_rbf(self):
        """Whether this is the Gaussian kernel."""
        return isinstance(self.name, str) and self.name == "rbf"

    @property
    def is_chi2(self):
        """Whether this is the kernel of histograms, whose values C code computes."""
        return isinstance(self.name, str) and self.name == "chi2"

    @property
    def has_gamma(self):
        """Whether the kernel has a coefficient."""
        return isinstance(self.name, str) and self.name in HAVE_GAMMA

    @property
    def has_unit_diagonal(self):
        """Whether every sample has the kernel value one with itself."""
        return isinstance(self.name, str) and self.name in HAVE_UNIT_DIAGONAL

    @property
    def is_positive(self):
        """Whether the matrix is certain to have no negative eigenvalues."""
        if callable(self.name):
            return False
        if self.name == "poly":
            return self.coef0 >= 0 and self.degree % 1 == 0
        return self.name in ARE_POSITIVE

    @property
    def params(self):
        """Parameters by the names of scikit-learn."""
        if not self.has_gamma:
            return {}
        return {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}

    @property
    def coefficient(self):
        """The coefficient as a number; nan for kernels without one."""
        return float(self.gamma) if self.has_gamma else np.nan

    def resolved(self, rows, weights=None):
        """The kernel with a number as `gamma`, by its rule for these rows."""
        if not self.has_gamma:
            return self
        gamma = resolved_gamma(self.gamma, rows, weights, n_clusters=self.n_clusters)
        return replace(self, gamma=float(gamma))

    def describe(self, tags):
        """Tell scikit-learn what kind of X the kernel takes."""
        tags.input_tags.pairwise = self.is_precomputed
        tags.input_tags.sparse = not (self.is_precomputed or self.is_chi2)
        tags.array_api_support = isinstance(self.name, str) and self.name in ON_DEVICES
        return tags

    def check_samples(self, X):
        """Refuse X if it should be a kernel matrix and is not, before any work on it."""
        if not self.is_precomputed:
            return
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                "kernel='precomputed' needs X to be the square matrix of kernel values between "
                f"the samples, got shape {X.shape}; pass kernel='linear' for a feature matrix."
            )
        if sp.issparse(X) or is_lazy(X):
            raise TypeError("kernel='precomputed' needs a dense array; convert X first.")
        check_symmetric(to_numpy(X), parameter="kernel")

    def values(self, X, Y):
        """Kernel of the rows of `X` and of `Y`, in their array namespace."""
        if self.is_chi2:
            if sp.issparse(X) or sp.issparse(Y):
                raise TypeError("kernel='chi2' needs dense samples, got a sparse X; use toarray.")
            X, Y = writeable(X), writeable(Y)
        with np.errstate(over="ignore", invalid="ignore"):  # the next lines raise an error
            if self.is_rbf:
                values = gaussian(X, Y, self.gamma)
            else:
                values = pairwise_kernels(
                    X, Y, metric=self.name, filter_params=True, **self.params
                )
            xp, _ = namespace_of(values)
            is_finite = bool(xp.isfinite(xp.sum(values)))
        if not is_finite:
            raise ValueError(
                f"kernel={self.name!r} has values that are not finite for samples of X; check the "
                "kernel's parameters, or scale X down."
            )
        return values

    def matrix(self, rows, weights=None, *, remedy):
        """Kernel matrix of NumPy or sparse rows, which must fit into memory and be a kernel's.

        For the linear kernel rows are centred, by their weights, since boundaries without offset
        pass through the origin. `remedy` says what to do where memory is short.
        """
        check_fits_memory(rows.shape[0], remedy=remedy)
        if self.is_precomputed:
            K = rows
        elif self.is_linear:
            K = centred_kernel(rows, weights)
        else:
            origin = self.origin_of(rows)
            rows = rows - origin if np.ndim(origin) else rows
            K = self.values(rows, rows)
        K = np.array(K, dtype=np.float64)
        self.check_positive(K, rows)
        return K

    def check_positive(self, K, rows):
        """Refuse a matrix of the kernel of `rows` with clearly negative eigenvalues."""
        if self.is_positive:
            return
        if callable(self.name):
            self._check_symmetric(rows[:32])
        largest = np.abs(np.diag(K)).max()
        if not _is_definite(K, INDEFINITE * max(largest, np.finfo(np.float64).tiny)):
            raise indefinite_kernel(-INDEFINITE * largest, largest)

    def _check_symmetric(self, rows):
        """Refuse a callable that is not a kernel, judged by a few samples."""
        K = self.values(rows, rows.copy())  # of one and the same array only half is computed
        difference, scale = np.abs(K - K.T).max(), np.abs(K).max()
        if difference > INDEFINITE * scale:
            raise ValueError(
                f"kernel={self.name!r} is not symmetric: its values change by {difference:.3g} "
                f"when two samples change places, where the largest is {scale:.3g}. Use a valid "
                "kernel."
            )

    def origin_of(self, rows):
        """Point to subtract from samples: far from the origin, distances would lose their digits.

        Zero for kernels of other things than distances, and for sparse samples, which have to
        stay sparse.
        """
        return rows.mean(axis=0) if self.is_rbf and not sp.issparse(rows) else 0.0

    def at(self, rows):
        """The map to kernel values at all `rows`, to columns of the matrix if precomputed."""
        if self.is_precomputed:
            return KernelMap(self, np.arange(rows.shape[0]))
        origin = self.origin_of(rows)
        return KernelMap(self, rows - origin if np.ndim(origin) else rows, origin=origin)

    def low_rank_map(self, rows, *, max_rank, tol=1e-6, complete=False):
        """Map to features whose inner products are the kernel, by pivoted Cholesky decomposition.

        Parameters
        ----------
        rows : ndarray or sparse matrix of shape (n_rows, n_features)
            Rows to choose landmarks from; all columns of it if the kernel is precomputed.
        max_rank : int
            Most features.
        tol : float, default=1e-6
            Largest relative error of the diagonal that is left.
        complete : bool, default=False
            Return None if `max_rank` features are not enough for `tol`, found out early.

        Returns
        -------
        kernel_map : KernelMap or None
        """
        origin, limits = 0.0, {"max_rank": max_rank, "tol": tol, "complete": complete}
        if self.is_precomputed:
            found = pivoted_cholesky(np.diag(rows), lambda i: rows[:, i], **limits)
        else:
            origin = self.origin_of(rows)
            rows = rows - origin if np.ndim(origin) else rows
            # the samples were validated before: once is enough
            with config_context(assume_finite=True, skip_parameter_validation=True):
                found = pivoted_cholesky(self._diagonal(rows), self._column_of(rows), **limits)
        if found is None:
            return None
        L, pivots = found
        projection = solve_triangular(L[pivots], np.eye(len(pivots)), lower=True).T
        return KernelMap(self, pivots if self.is_precomputed else rows[pivots], projection, origin)

    def _diagonal(self, rows):
        if self.has_unit_diagonal and self.name != "cosine":  # which is zero for a zero row
            return np.ones(rows.shape[0])
        blocks = (rows[i : i + 64] for i in range(0, rows.shape[0], 64))
        return np.concatenate([np.diag(to_numpy(self.values(block, block))) for block in blocks])

    def _column_of(self, rows):
        """The function that makes column i of the kernel matrix of the rows."""
        if self.is_rbf and isinstance(rows, np.ndarray):  # what columns share is computed once
            rows = rows.astype(np.float64, copy=False)
            norms = row_norms(rows, squared=True)
            return lambda i: gaussian_of_norms(rows, norms, i, self.gamma)
        return lambda i: to_numpy(self.values(rows, rows[[i]]))[:, 0]

    def features(self, X, sample_weight, *, n_components, rng):
        """Features of all samples, with the kernel resolved and the map that makes them.

        X itself, and no map, for the linear kernel. Otherwise at most `n_components` features,
        spanned by some of 3,000 samples, or of ten times as many as features.

        Returns
        -------
        features : {array, sparse matrix, dask array}
            Lazy for a dask array.
        kernel : Kernel
            The kernel with a number as `gamma`.
        feature_map : KernelMap or None
            The map of samples to the features.
        """
        self.check_samples(X)
        if self.is_linear:
            return X, self, None
        if self.is_precomputed:
            kernel, rows = self, to_numpy(X)
        else:
            size = max(LANDMARK_ROWS, LANDMARK_ROWS_PER_FEATURE * n_components)
            rows, weights = sample_rows(X, sample_weight, size=size, rng=rng)
            kernel = self.resolved(rows, weights)
        feature_map = kernel.low_rank_map(rows, max_rank=n_components).checked()
        return features_of(X, feature_map), kernel, feature_map


@dataclass(frozen=True)
class KernelMap:
    """Map of samples to features whose inner products are the kernel, up to its rank.

    Attributes
    ----------
    kernel : Kernel
        The kernel.
    landmarks : array of shape (rank, n_features), or of (rank,) indices if precomputed
        Samples that span the features, less the origin.
    projection : ndarray of shape (rank, rank) or None
        Features are kernel values at the landmarks times this, or the kernel values themselves.
    origin : float or ndarray of shape (n_features,)
        What is subtracted from samples.
    """

    kernel: Kernel
    landmarks: Any
    projection: np.ndarray | None = None
    origin: Any = 0.0

    @property
    def rank(self):
        """Number of features."""
        return self.landmarks.shape[0]

    def checked(self):
        """Return self, but refuse a kernel that is zero for all samples."""
        if self.rank == 0:
            raise ValueError(
                f"kernel={self.kernel.name!r} is zero for all samples of X, so nothing tells them "
                "apart; check X or use another kernel."
            )
        return self

    def values(self, X):
        """Kernel of the rows of `X` and the landmarks, in the array namespace of `X`."""
        if self.kernel.is_precomputed:
            return X[:, self.landmarks]
        if sp.issparse(X) and not sp.issparse(self.landmarks) and not self.kernel.is_chi2:
            # as dense as the samples of the fit were, so that both have the same values
            return np.concatenate([self.values(block) for block in dense_blocks(X)])
        if isinstance(X, np.ndarray) and X.dtype == np.float32 and self._is_large:
            X = X.astype(np.float64)
        if np.ndim(self.origin):
            X = X - like(self.origin, X)
        landmarks = self.landmarks
        landmarks = landmarks if sp.issparse(landmarks) else like(landmarks, X)
        return self.kernel.values(X, landmarks)

    @property
    def _is_large(self):
        """Whether squares of the landmarks' values are too large for single precision."""
        largest = abs(self.landmarks).max() if self.landmarks.shape[0] else 0.0
        return max(float(largest), float(np.max(np.abs(self.origin)))) > LARGEST_SINGLE

    def to_normals(self, coef):
        """Weights of the samples' own features from weights of a linear kernel's features."""
        return self.landmarks.T @ (self.projection @ coef)

    def __call__(self, X):
        """Features of the rows of `X`, in its array namespace."""
        values = self.values(X)
        if self.projection is None:
            return values
        return values @ like(self.projection, values)


def writeable(array):
    """An array that may be written to: itself, or a copy."""
    return np.require(array, requirements="W") if isinstance(array, np.ndarray) else array


# --- its width ----------------------------------------------------------------------------------


def resolved_gamma(gamma, rows, weights, n_clusters=1):
    """The parameter `gamma`, a number or the rule for one, as a number.

    With many clusters, a width by distances shrinks in proportion to the clusters.
    """
    if isinstance(gamma, str):
        if gamma == "scale":
            return scale_gamma(rows, weights)
        gamma = (gamma, 1.0)
    if not isinstance(gamma, tuple):
        return gamma
    known = len(gamma) == 2 and gamma[0] in ("mean", "median")
    if not (known and isinstance(gamma[1], Real) and float(gamma[1]) > 0):
        raise ValueError(
            f"gamma={gamma!r} must name a distance and a positive multiple of it, such as "
            "('mean', 0.5) or ('median', 1.0)."
        )
    # the width of a kernel must not depend on chance: the same rows are drawn each time
    rows, weights = sample_rows(rows, weights, size=DISTANCE_ROWS, rng=np.random.RandomState(0))
    multiple = float(gamma[1]) * cluster_shrinkage(rows, weights, n_clusters)
    return distance_gamma(rows, weights, rule=gamma[0], multiple=multiple)


def cluster_shrinkage(rows, weights, n_clusters):
    """Standard deviation within the clusters of k-means, as a share of that within 10 of them.

    One for up to 10 clusters: typical distances of samples are then distances of clusters, too.
    Neither the order of rows matters, nor whether repetition is given by rows or by weights.
    """
    if n_clusters <= FEW_CLUSTERS:
        return 1.0
    distinct = DistinctRows.of(rows)
    weights = np.bincount(distinct.place, weights, len(distinct.first))
    rows = rows[distinct.first]
    n_clusters = min(n_clusters, rows.shape[0] // 2)
    if n_clusters <= FEW_CLUSTERS:
        return 1.0
    centers = farthest_rows(rows, n_clusters)
    many, few = (scatter_around(rows, weights, centers[:k]) for k in (n_clusters, FEW_CLUSTERS))
    return float(np.sqrt(many / few)) if 0 < many < few else 1.0


def farthest_rows(rows, n_rows):
    """Rows, each as far as possible from those before it; the first from the mean of all."""
    rows = rows if sp.issparse(rows) else rows - rows.mean(axis=0)
    nearest = row_norms(rows, squared=True)
    chosen: list[int] = []
    for _ in range(n_rows):
        chosen.append(int(np.argmax(nearest)))
        distances = squared_distances(rows, rows[[chosen[-1]]])[:, 0]
        nearest = distances if len(chosen) == 1 else np.minimum(nearest, distances)
    return np.array(chosen)


def scatter_around(rows, weights, centers):
    """Squared distances of rows from the means of k-means that starts at some of them."""
    rows = with_short_indices(rows) if sp.issparse(rows) else rows
    start = rows[centers].toarray() if sp.issparse(rows) else rows[centers]
    found = KMeans(len(centers), init=start, n_init=1, random_state=0)
    return found.fit(rows, sample_weight=weights).inertia_


def with_short_indices(rows):
    """Sparse rows whose indices have the one width that k-means takes."""
    if rows.indices.dtype == np.int32:
        return rows
    places = (rows.indices.astype(np.int32), rows.indptr.astype(np.int32))
    return sp.csr_array((rows.data, *places), shape=rows.shape)


def scale_gamma(X, weights=None):
    """Kernel coefficient 1 / (n_features * variance of X), as scikit-learn's SVC has it."""
    if not sp.issparse(X):  # far from the origin, squares would lose the differences
        X = X - X.mean()
    squares = X.multiply(X) if sp.issparse(X) else X * X
    mean, square = (
        np.average(np.asarray(values.mean(axis=1)).ravel(), weights=weights)
        for values in (X, squares)
    )
    variance = square - mean**2
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


def distance_gamma(X, weights=None, *, rule="mean", multiple=1.0):
    """Kernel coefficient 1 / sigma**2, with a multiple of a typical distance as the width sigma.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        Samples; all their distances are computed.
    weights : ndarray of shape (n_samples,), default=None
        Their weights.
    rule : {"mean", "median"}, default="mean"
        Which distance of two samples is typical. A sample is no pair with itself.
    multiple : float, default=1.0
        Multiple of it.

    Returns
    -------
    gamma : float
    """
    rows = X if sp.issparse(X) else X - X.mean(axis=0)
    distances = np.sqrt(squared_distances(rows, rows))
    if weights is None and rule == "mean" and len(distances) > 1:
        typical = distances.sum() / (len(distances) * (len(distances) - 1))
        return _of_width(typical, rule, multiple)
    weights = np.ones(len(distances)) if weights is None else weights
    pairs = np.outer(weights, weights)
    # a sample of weight two is two equal samples, which make pairs at distance zero
    pairs[np.diag_indices_from(pairs)] = np.maximum(weights**2 - weights, 0.0)
    if not (pairs > 0).any():
        return 1.0
    if rule == "mean":
        typical = np.average(distances, weights=pairs)
    else:
        order = np.argsort(distances, axis=None)
        below = np.cumsum(pairs.ravel()[order])
        typical = distances.ravel()[order[np.searchsorted(below, 0.5 * below[-1])]]
    return _of_width(typical, rule, multiple)


def _of_width(typical, rule, multiple):
    """Kernel coefficient of a multiple of a typical distance; one where that is zero."""
    if typical == 0:
        return 1.0
    width = float(multiple) * float(typical)
    if not 1e-150 < width < 1e150:
        raise ValueError(
            f"gamma=({rule!r}, {multiple:g}) gives a width of {width:g}, whose square is out of "
            "range; use a multiple nearer to 1."
        )
    return 1.0 / width**2


# --- distances ----------------------------------------------------------------------------------


def squared_distances(X, Y):
    """Squared distances of rows; exactly zero for equal rows, whatever the rounding."""
    if not is_numpy(X):
        return _squared_distances_on_device(X, Y)
    squares = euclidean_distances(X, Y, squared=True)
    rounding = 10 * float(np.finfo(squares.dtype).eps)
    norms, others = (row_norms(rows, squared=True) for rows in (X, Y))
    # those that may be zero are few
    i, j = np.nonzero(squares <= rounding * (norms.max() + others.max()))
    lost = squares[i, j] <= rounding * (norms[i] + others[j])
    squares[i[lost], j[lost]] = 0.0
    return squares


def _squared_distances_on_device(X, Y):
    """The same in few large operations, where picking out the few that are zero takes longer."""
    xp, _ = namespace_of(X)
    wide, dtype = widest_float(X), X.dtype
    X, Y = xp.astype(X, wide), xp.astype(Y, wide)
    sums = xp.sum(X * X, axis=1)[:, None] + xp.sum(Y * Y, axis=1)[None, :]
    squares = sums - 2.0 * (X @ Y.T)
    lost = squares <= 10 * float(xp.finfo(dtype).eps) * sums
    return xp.astype(xp.where(lost, xp.zeros_like(squares), squares), dtype)


def gaussian(X, Y, gamma):
    """Gaussian kernel of rows, one for equal ones however narrow it is."""
    values = squared_distances(X, Y)
    with np.errstate(over="ignore"):  # the kernel at an infinite distance is zero
        values *= -float(gamma)
    xp, _ = namespace_of(values)
    return xp.exp(values)


def gaussian_of_norms(rows, norms, i, gamma):
    """Gaussian kernel of all rows, of known squared norms, with row i; one for equal rows."""
    sums = norms + norms[i]
    squares = sums - 2.0 * (rows @ rows[i])
    squares[squares <= 10 * np.finfo(np.float64).eps * sums] = 0.0
    with np.errstate(over="ignore"):  # the kernel at an infinite distance is zero
        squares *= -float(gamma)
    return np.exp(squares)


# --- its matrix ---------------------------------------------------------------------------------


def check_symmetric(X, *, parameter):
    """Refuse a matrix that is not symmetric, though `parameter` says that it is precomputed."""
    scale, difference = abs(X).max(), abs(X - X.T).max()
    if difference > 1e-6 * scale:
        raise ValueError(
            f"{parameter}='precomputed' needs a symmetric matrix, but X differs from its "
            f"transpose by {difference:.3g} where its largest value is {scale:.3g}; use "
            "(X + X.T) / 2."
        )


def constant_to_kernel():
    """The error that samples do not differ in the space of a kernel."""
    return ValueError(
        "X is constant to the kernel: its samples do not differ beyond rounding in the kernel's "
        "space, so no boundary can separate clusters. Check that X holds the features; if they "
        "differ little, scale them up or use a larger gamma; if they lie far from the origin, "
        "subtract their means. To kernel='cosine' samples of one direction are equal, so a single "
        "positive feature is constant: use another kernel."
    )


def scatter_in_kernel(K, weights=None):
    """Sum of the squared distances of samples from their mean, in the space of a kernel matrix."""
    weights = np.ones(len(K)) if weights is None else weights
    return float(weights @ np.diag(K) - weights @ K @ weights / weights.sum())


def differ_in_kernel(K, weights=None):
    """Whether samples differ beyond rounding in the space of a kernel matrix."""
    total = np.trace(K) if weights is None else weights @ np.diag(K)
    return scatter_in_kernel(K, weights) > CONSTANT * total


def indefinite_kernel(lowest, largest):
    """The error that a kernel has clearly negative eigenvalues."""
    return ValueError(
        "kernel is not positive semidefinite: its quadratic form falls to "
        f"{lowest:.3g} or less, where its largest diagonal entry is {largest:.3g}. Use a valid "
        "kernel, such as 'rbf'."
    )


@one_blas_thread
def _is_definite(K, lift):
    """Whether K plus a multiple of the identity matrix is positive definite."""
    H = K.copy().T  # symmetric, and in the order that LAPACK works in
    H[np.diag_indices(len(K))] += lift
    try:
        cholesky(H, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return False
    return True


def double_centred(K, weights=None):
    """Inner products of samples less their mean, from those of samples: rows that sum to zero."""
    means = np.average(K, axis=1, weights=weights)
    return K - means[:, None] - means + np.average(means, weights=weights)


def mean_of(rows, weights=None):
    """Mean of dense or sparse rows."""
    if weights is None:
        return np.asarray(rows.mean(axis=0), dtype=np.float64).ravel()
    return np.asarray(weights @ rows).ravel() / weights.sum()


def centred_kernel(rows, weights=None):
    """Inner products of rows less their mean, which sparse rows are not made dense for."""
    if not sp.issparse(rows):
        rows = rows - mean_of(rows, weights)
        return rows @ rows.T
    return double_centred((rows @ rows.T).toarray(), weights)


def normals_of(rows, multipliers, weights=None):
    """Weights of features from multipliers of the rows less their mean; one row each."""
    mean = mean_of(rows, weights)
    if sp.issparse(rows):
        return np.asarray(rows.T @ multipliers - np.outer(mean, multipliers.sum(axis=0))).T
    return ((rows - mean).T @ multipliers).T


def pivoted_cholesky(diagonal, column, *, max_rank, tol, complete=False):
    """Low-rank factor of a positive semidefinite matrix seen only through columns.

    Parameters
    ----------
    diagonal : ndarray of shape (n,)
        Diagonal of the matrix K.
    column : callable
        ``column(i)`` returns K[:, i].
    max_rank : int
        Most columns to take.
    tol : float
        Stop when the largest diagonal entry of K - LL' is at most `tol` times that of K.
    complete : bool, default=False
        Whether less than `tol` asks for is of no use. Then stop as soon as the error falls too
        slowly to reach it within `max_rank` columns; smooth kernels lose most of it early.

    Returns
    -------
    L : ndarray of shape (n, rank)
        K is LL' up to the tolerance; rows `pivots` of L are lower triangular.
    pivots : ndarray of shape (rank,)
        The columns taken. None instead of both if `complete` and `tol` is out of reach.

    Raises
    ------
    ValueError
        If a diagonal entry is clearly negative: the matrix is indefinite.
    """
    residual = np.array(diagonal, dtype=np.float64)
    scale = np.abs(residual).max()
    # products take the first columns, which should lie together
    L = np.zeros((len(residual), min(max_rank, len(residual))), order="F")
    pivots: list[int] = []
    for rank in range(L.shape[1]):
        if residual.min() < -INDEFINITE * scale:
            raise indefinite_kernel(residual.min(), scale)
        pivot = int(residual.argmax())
        if residual[pivot] <= tol * scale:
            return L[:, :rank], np.array(pivots, dtype=np.intp)
        if complete and residual[pivot] / scale > tol ** ((rank - 5) / L.shape[1]):
            return None
        L[:, rank] = (column(pivot) - L[:, :rank] @ L[pivot, :rank]) / np.sqrt(residual[pivot])
        residual -= L[:, rank] ** 2
        pivots.append(pivot)
    if complete and residual.max() > tol * scale:
        return None
    return L, np.array(pivots, dtype=np.intp)
