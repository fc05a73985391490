"""Problems of samples of any number, and the labellings that solvers start from.

A start is a rule, such as `Boundaries`, found on a sample of the rows and then applied to all of
them in the first pass. The first start is deterministic and a function of the weighted data alone,
so that a weight of two equals a repeated row; further restarts draw on the random state.
"""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.optimize import linear_sum_assignment
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_chunked
from sklearn.metrics.cluster import contingency_matrix
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import KNeighborsClassifier

from separatrix._sklearn import is_dask, like, one_blas_thread, one_thread, to_numpy
from separatrix.data.distinct import DistinctRows
from separatrix.data.gate import naming
from separatrix.data.ordering import canonical_order
from separatrix.data.rows import beside, map_rows, rows_beside, sample_rows, sample_size
from separatrix.labels.links import linked_labels
from separatrix.models.boundaries import Boundaries
from separatrix.result import Progress, Status
from separatrix.similarity.kernels import Kernel, distance_gamma, with_short_indices

LINEAR = Kernel()
# Rows up to which threads of k-means only wait for each other.
ONE_THREAD_ROWS = 1_000
# Of more clusters than this k-means often halves some and joins others. At first this share of the
# centres move, and the loss has to fall by this share.
MANY_CLUSTERS, MOVED_SHARE, LEAST_FALL = 20, 0.1, 1e-4
# Rows whose graph of similarities is cut.
SPECTRAL_ROWS = 2_000
# Number of rows with known labels that a machine learns from, values of C for it, and the folds of
# the cross-validation that chooses one.
KNOWN_ROWS = 5_000
KNOWN_C = (10.0, 1.0)
KNOWN_FOLDS = 5


@dataclass(frozen=True, kw_only=True)
class SampledProblem:
    """Samples in the features of the boundaries, and some rows to find starts on.

    Attributes
    ----------
    X : {array, sparse matrix, dask array} of shape (n_samples, n_features)
        Features, after the kernel map if there is one.
    sample_weight : array of shape (n_samples,) or None
        Nonnegative weights, in the namespace of `X`.
    rows, row_weight : ndarray or sparse matrix, and ndarray or None
        Rows that starts are found on, and their weights.
    kernel : Kernel
        The kernel, with a number as `gamma`.
    feature_map : KernelMap or None
        What turned samples into the features.
    links : Links or None
        Links between the samples.
    """

    X: Any
    sample_weight: Any
    rows: Any
    row_weight: Any
    kernel: Kernel = LINEAR
    feature_map: Any = None
    links: Any = None

    @property
    def is_sampled(self):
        """Whether `rows` are a sample and not all rows of positive weight."""
        return self.start_space.shape[0] > sample_size(self.start_space.shape[0])

    @property
    def start_space(self):
        """The samples in the features that starts use."""
        return self.X

    def labels_of(self, boundaries):
        """Clusters of all samples, lazily for a dask array."""
        if is_dask(self.X):
            return boundaries.labels_of_rows(self.X)
        return map_rows(boundaries.labels, self.X, width=boundaries.width)

    def completed(self, boundaries):
        """Boundaries for samples as users pass them."""
        return replace(boundaries, feature_map=self.feature_map)

    def rule(self, start):
        """Rule that labels the samples, or the labels nearest to it that keep the links."""
        if self.links is None:
            return start
        if not isinstance(start, Boundaries):
            return self.numbered(start)
        scores = map_rows(start.scores, self.X, width=start.width)
        weight = to_numpy(self.sample_weight)
        labels = linked_labels(scores, self.links, sample_weight=weight).labels
        return beside(labels.astype(np.int32), self.X)

    def numbered(self, start):
        """A start, or the labels nearest to it that keep the links and have known numbers."""
        if self.links is None:
            return start
        labels = to_numpy(labels_of_start(start, self, self.links.n_clusters))
        return beside(self.links.nearest(labels).astype(np.int32), self.X)

    def known_start(self, n_clusters):
        """Rule learned from known labels, if it predicts held-back ones better than k-means.

        None if it does not, if no label can be held back, or if all labels of a cluster are
        unknown.
        """
        if self.links is None:
            return None
        known_labels = self.links.known_labels
        taught = known_start(self.start_space, known_labels, self.sample_weight, n_clusters)
        if taught is None:
            return None
        usual = self.kmeans_start(n_clusters, rng=None, n_init=1)
        labels = to_numpy(usual.labels(rows_beside(self.start_space, taught.tested)))
        told = contingency_matrix(known_labels[taught.tested], labels)
        return taught.rule if taught.n_right > told[linear_sum_assignment(-told)].sum() else None

    def kmeans_start(self, n_clusters, *, rng, n_init):
        """Rule of k-means on the rows; deterministic if `rng` is None."""
        return kmeans_start(self.rows, self.row_weight, n_clusters, rng=rng, n_init=n_init)


def taught_weight(links, sample_weight, X):
    """Weights of samples in the loss of a machine, where some labels may be known."""
    if links is None or not links.teaches:
        return sample_weight
    return beside(links.taught(sample_weight), X)


def drawn_rows(X, sample_weight, rng):
    """Rows to find starts on, and their weights, as fields of a problem."""
    size = sample_size(X.shape[0])
    rows, row_weight = sample_rows(X, sample_weight, size=size, rng=rng)
    return {"rows": rows, "row_weight": row_weight}


# --- by name ------------------------------------------------------------------------------------


def check_init(init, X, sample_weight, n_clusters):
    """Refuse a start by labels, the parameter `init`, that does not fit the samples."""
    if isinstance(init, str):
        return
    with naming("init"):
        labels = np.asarray(init)
    if labels.shape != (X.shape[0],):
        raise ValueError(
            f"init has shape {labels.shape} but X has {X.shape[0]} samples; pass one label "
            "per sample."
        )
    allowed = np.arange(n_clusters)
    weights = to_numpy(sample_weight)
    if labels.dtype.kind == "i" and labels.min() >= 0 and labels.max() < n_clusters:
        sizes = np.bincount(labels, weights, n_clusters)  # the usual case, in one pass
        if sizes.min() > 1e-12 * sizes.sum():
            return
    weights = np.ones(len(labels)) if weights is None else weights
    shares = [weights[labels == label].sum() / weights.sum() for label in allowed]
    if not np.isin(labels, allowed).all() or min(shares) <= 1e-12:
        # objects may be of kinds that cannot be sorted
        got = labels if labels.dtype.kind == "O" else np.unique(labels)
        raise ValueError(
            f"init must use each label from 0 to n_clusters-1={n_clusters - 1}, and no "
            f"other, on samples of positive weight; got {got[:10]}."
        )


def start_of(init, problem, n_clusters, *, restart, rng, n_init=1):
    """Start number `restart` of those that the parameter `init` names.

    Parameters
    ----------
    init : str or array-like of shape (n_samples,)
        "k-means", "random", "spectral", "scale-invariant" or labels from 0.
    problem : SampledProblem
        The data.
    n_clusters : int
        Number of clusters.
    restart : int
        Number of the start; the first one by k-means is deterministic.
    rng : RandomState
        What the others draw on.
    n_init : int, default=1
        How many runs from k-means++ the best is taken of, for further starts by k-means.

    Returns
    -------
    start : array of shape (n_samples,) or object
        Labels, or the rule whose `labels(X)` makes them of the rows of `start_space`.
    """
    seeds = rng if restart else None
    if not isinstance(init, str):  # in a byte each if that will do
        labels = np.asarray(init).astype(np.int8 if n_clusters < 128 else np.int32)
        return beside(labels, problem.X)
    if init == "random":
        return random_start(problem.rows, n_clusters, rng)
    if init == "spectral":
        return spectral_start(problem.rows, problem.row_weight, n_clusters, rng)
    if init == "scale-invariant":
        return problem.scale_invariant_start(n_clusters, rng=seeds)
    return problem.kmeans_start(n_clusters, rng=seeds, n_init=n_init)


def labels_of_start(start, problem, n_clusters):
    """Labels of all samples, from a start."""
    if not hasattr(start, "labels"):
        return start
    return map_rows(start.labels, problem.start_space, width=n_clusters)


def solve_from_start(
    problem, solve, init, n_clusters, *, restart, progress, rng, n_init=1, resume=None
):
    """Solve from a start; with many rows, from a solution for a sample of them.

    Iterations on the sample cost hardly anything and leave few for all the data. Known labels
    replace the first start by k-means.

    Parameters
    ----------
    problem : SampledProblem
        The data; its `sampled(rng)` is the problem of the sampled rows alone.
    solve : callable
        ``solve(problem, start, progress)`` returns a SolverResult.
    init : str, array-like of shape (n_samples,) or object
        The start, as for `start_of`, or the rule that makes it. Labels of all samples are taken
        as they are.
    n_clusters, restart, rng, n_init
        As for `start_of`.
    progress : Progress
        Of the solution for all the data.
    resume : callable, default=None
        ``resume(rough)`` is the start that comes of the result on the sample; None takes its
        model.

    Returns
    -------
    result : SolverResult
    """

    taught = problem.known_start(n_clusters) if _is_kmeans(init) and restart == 0 else None
    init = init if taught is None else taught

    def find(part):
        if hasattr(init, "labels"):
            return init
        return start_of(init, part, n_clusters, restart=restart, rng=rng, n_init=n_init)

    if (isinstance(init, str) or hasattr(init, "labels")) and problem.is_sampled:
        part = problem.sampled(rng)
        rough = solve(part, find(part), Progress())
        if rough.status is not Status.DEGENERATE:
            return solve(problem, rough.model if resume is None else resume(rough), progress)
    return solve(problem, find(problem), progress)


def _is_kmeans(init):
    return isinstance(init, str) and init == "k-means"


# --- the starts ---------------------------------------------------------------------------------


def _principal_direction(X, weights, mean):
    """Leading principal direction of weighted rows about their mean; None if all are equal."""
    squares = np.asarray((X.multiply(X) if sp.issparse(X) else X * X).sum(axis=1)).ravel()
    farthest = int(np.argmax(squares - 2 * (X @ mean)))
    row = X[[farthest]].toarray()[0] if sp.issparse(X) else X[farthest]
    start = np.asarray(row, dtype=np.float64) - mean
    if not np.any(np.abs(start) > 1e-12 * np.abs(mean)):
        return None
    n_features = X.shape[1]
    if n_features == 1:
        return np.ones(1)

    def product(v):
        v = v.ravel()
        scores = weights * (X @ v - mean @ v)
        return np.asarray(X.T @ scores).ravel() - scores.sum() * mean

    operator = LinearOperator((n_features, n_features), matvec=product, dtype=np.float64)
    _, vectors = eigsh(operator, k=1, v0=start / np.linalg.norm(start), tol=1e-6, rng=0)
    return vectors[:, 0]


class _Group:
    """Rows of positive weight that are still together, with their mean and scatter."""

    def __init__(self, X, weights):
        self._rows, self._weights = X, weights
        total = weights.sum()
        squares = np.asarray((X.multiply(X) if sp.issparse(X) else X * X).sum(axis=1)).ravel()
        self.center = np.asarray(weights @ X).ravel() / total
        self.scatter = weights @ squares - total * (self.center @ self.center)

    def halves(self):
        """Rows on both sides of the mean along the principal direction; None if all are equal."""
        direction = _principal_direction(self._rows, self._weights, self.center)
        if direction is None:
            return None
        places = np.asarray(self._rows @ direction).ravel()
        upper = places > self.center @ direction
        if upper.all() or not upper.any():  # the mean is next to one end: halfway to the other
            upper = places > 0.5 * places.min() + 0.5 * places.max()
        if not upper.any():
            return None
        sides = (np.flatnonzero(side) for side in (~upper, upper))
        return tuple(_Group(self._rows[side], self._weights[side]) for side in sides)


def _principal_split_centers(X, n_clusters, weights):
    """Centres by cutting the widest cluster through its mean, across its principal direction."""
    if not weights.all():
        (present,) = np.nonzero(weights)
        X, weights = X[present], weights[present]
    groups = [_Group(X, weights)]
    while len(groups) < n_clusters:
        widest = int(np.argmax([group.scatter for group in groups]))
        halves = groups[widest].halves()
        if halves is None:
            break
        groups[widest] = halves[0]
        groups.append(halves[1])
    return np.array([group.center for group in groups])


def kmeans_start(rows, weights, n_clusters, *, rng=None, n_init=1):
    """Boundaries between the centres of k-means.

    Parameters
    ----------
    rows : ndarray or sparse matrix of shape (n_rows, n_features)
        Rows to cluster.
    weights : ndarray of shape (n_rows,) or None
        Their weights.
    n_clusters : int
        Number of clusters.
    rng : RandomState, default=None
        None starts k-means from principal splits, which is deterministic and independent of the
        order of the rows; otherwise it starts from k-means++.
    n_init : int, default=1
        How many runs from k-means++ the best is taken of.

    Returns
    -------
    boundaries : Boundaries
    """
    origin = np.zeros(rows.shape[1])
    rows = rows.astype(np.float64, copy=False)
    if not sp.issparse(rows):  # far from the origin, squares would swallow the differences
        origin = np.average(rows, axis=0, weights=weights)
        rows = rows - origin
    else:
        rows = with_short_indices(rows)
    init = "k-means++"
    if rng is None:
        n_init = 1
        ones = np.ones(rows.shape[0]) if weights is None else weights
        init = _principal_split_centers(rows, n_clusters, ones)
        if len(init) < n_clusters:  # fewer distinct rows than clusters
            return Boundaries.nearest(_padded(init, n_clusters)).shifted(origin)
    kmeans = _kmeans(rows, weights, n_clusters, init, n_init=n_init, random_state=rng)
    if n_clusters > MANY_CLUSTERS:
        kmeans = _with_moved_centers(kmeans, rows, weights)
    return Boundaries.nearest(kmeans.cluster_centers_).shifted(origin)


def _kmeans(rows, weights, n_clusters, init, **choices):
    """A fitted k-means."""
    kmeans = KMeans(n_clusters, init=init, tol=0, **choices)
    with warnings.catch_warnings():  # equal rows or a long tail of moves: still a start
        warnings.simplefilter("ignore", ConvergenceWarning)
        fit = one_thread(kmeans.fit) if rows.shape[0] <= ONE_THREAD_ROWS else kmeans.fit
        return fit(rows, sample_weight=weights)


def _with_moved_centers(kmeans, rows, weights):
    """A k-means of a lower loss, some of whose centres moved from one place to another.

    Of many clusters some share a centre where others have two, which single steps never mend. So
    the centres whose loss would rise least without them leave, as many clusters of which halves
    would have a much lower loss are halved, and k-means goes on from there. Fewer centres move if
    that does not help, and none in the end.
    """
    n_clusters = kmeans.n_clusters
    weights = np.ones(rows.shape[0]) if weights is None else np.asarray(weights, dtype=np.float64)
    n_moved = int(MOVED_SHARE * n_clusters)
    while n_moved > 0:
        centers = _moved(kmeans.cluster_centers_, kmeans.labels_, rows, weights, n_moved)
        if centers is None:
            break
        moved = _kmeans(rows, weights, n_clusters, centers, n_init=1)
        if moved.inertia_ < (1 - LEAST_FALL) * kmeans.inertia_:
            kmeans = moved
        else:
            n_moved //= 2
    return kmeans


def _moved(centers, labels, rows, weights, n_moved):
    """Centres of which some leave and others are replaced by those of two halves.

    None if no cluster has halves.
    """
    n_clusters = len(centers)
    nearest, second = _two_least_distances(rows, centers)
    rise = np.bincount(labels, weights * (second - nearest), n_clusters)
    scatter = np.bincount(labels, weights * nearest, n_clusters)
    halves, gains = {}, np.zeros(n_clusters)
    for widest in np.argsort(-scatter, kind="stable")[: 2 * n_moved]:
        members = np.flatnonzero((labels == widest) & (weights > 0))
        group = _Group(rows[members], weights[members])
        halves[widest] = group.halves()
        if halves[widest] is not None:
            gains[widest] = group.scatter - sum(half.scatter for half in halves[widest])
    halved = [one for one in np.argsort(-gains, kind="stable")[:n_moved] if gains[one] > 0]
    rise[halved] = np.inf
    leaving = np.argsort(rise, kind="stable")[: len(halved)]
    stay = np.setdiff1d(np.arange(n_clusters), [*halved, *leaving])
    added = [half.center for one in halved for half in halves[one]]
    return np.vstack([centers[stay], *added]) if halved else None


def _two_least_distances(rows, centers):
    """Squared distances of rows to the nearest centre and to the second nearest."""

    def two_least(distances, start):
        return np.partition(distances, 1, axis=1)[:, :2]

    chunks = pairwise_distances_chunked(
        rows, centers, reduce_func=two_least, metric="euclidean", n_jobs=1
    )
    return np.square(np.concatenate(list(chunks))).T


def random_start(rows, n_clusters, rng):
    """Boundaries that give each sample the nearest of `n_clusters` rows drawn at random."""
    drawn = rng.permutation(rows.shape[0])[: 20 * n_clusters]
    candidates = rows[drawn].toarray() if sp.issparse(rows) else rows[drawn]
    _, first = np.unique(candidates, axis=0, return_index=True)  # equal rows make no boundary
    centers = candidates[np.sort(first)[:n_clusters]].astype(np.float64)
    return Boundaries.nearest(_padded(centers, n_clusters))


class _Classified:
    """Rule of a classifier of labels from 0."""

    def __init__(self, classifier):
        self._classifier = classifier
        self.width = len(classifier.classes_)  # values per row that a pass makes

    def labels(self, X):
        """Labels of the rows of `X`, in its namespace."""
        return like(self._classifier.predict(to_numpy(X)).astype(np.int32), X)


def known_start(X, known_labels, sample_weight, n_clusters):
    """Support vector machine that learnt known labels.

    The width of its Gaussian kernel is the mean distance of two samples of known labels, and its C
    the one of two that predicts them best in cross-validation. The only known label of a cluster
    is never held back. From more than `KNOWN_ROWS` it uses about that many, equally spaced in each
    cluster.

    Parameters
    ----------
    X : {array, sparse matrix} of shape (n_samples, n_features)
        Samples in memory.
    known_labels : ndarray of shape (n_samples,)
        Their labels, -1 where unknown.
    sample_weight : array of shape (n_samples,) or None
        Nonnegative weights.
    n_clusters : int
        Number of clusters.

    Returns
    -------
    taught : Taught or None
        None unless there are known labels of each cluster, on samples of positive weight, and two
        of some cluster.
    """
    from sklearn.svm import SVC  # which few starts need

    weight = None if sample_weight is None else to_numpy(sample_weight)
    X = X if sp.issparse(X) else to_numpy(X)
    known = np.flatnonzero((known_labels >= 0) & (True if weight is None else weight > 0))
    step = max(1, -(-len(known) // KNOWN_ROWS))
    classes = [known[known_labels[known] == label][::step] for label in range(n_clusters)]
    counts = np.array([len(members) for members in classes])
    if counts.min() == 0 or counts.max() == 1:
        return None
    known = np.concatenate(classes)
    known = known[canonical_order(X[known])]
    rows, labels, learnt = X[known], known_labels[known], None if weight is None else weight[known]
    gamma, folds = distance_gamma(rows, learnt), min(KNOWN_FOLDS, *counts[counts > 1])
    machines = [SVC(C=C, gamma=gamma, tol=1e-6) for C in KNOWN_C]
    tested = np.flatnonzero(counts[labels] > 1)
    right = [told_right(machine, rows, labels, learnt, tested, folds) for machine in machines]
    best = machines[int(np.argmax(right))].fit(rows, labels, learnt)
    return Taught(_Classified(best), known[tested], max(right))


@dataclass(frozen=True)
class Taught:
    """A rule learned from known labels, those held back, and how many of these it predicted."""

    rule: Any
    tested: np.ndarray
    n_right: int


def told_right(classifier, rows, labels, weight, tested, n_folds):
    """Number of labels that a classifier predicts correctly when they are held back in turn."""
    from sklearn.model_selection import StratifiedKFold

    n_right = 0
    for _, fold in StratifiedKFold(n_folds).split(tested[:, None], labels[tested]):
        held = tested[fold]
        train = np.setdiff1d(np.arange(len(labels)), held)
        learnt = None if weight is None else weight[train]
        classifier.fit(rows[train], labels[train], learnt)
        n_right += int(np.count_nonzero(classifier.predict(rows[held]) == labels[held]))
    return n_right


class _NearestRow:
    """Rule that gives each sample the label of the nearest of some rows."""

    def __init__(self, rows, labels):
        self._neighbor = KNeighborsClassifier(1).fit(rows, labels)

    def labels(self, X):
        """Labels of the rows of `X`, in its namespace."""
        return like(self._neighbor.predict(to_numpy(X)).astype(np.int32), X)


def spectral_start(rows, weights, n_clusters, rng):
    """Rule of the normalised cut of the rows' graph of Gaussian similarities.

    Two clusters are the signs of the second eigenvector; more are read off several. The width of
    the similarities is the mean distance of two rows. Beyond 2,000 rows a sample of them is cut,
    and the other rows join their nearest neighbour.
    """
    rows, weights = sample_rows(rows, weights, size=SPECTRAL_ROWS, rng=rng)
    if rows.shape[0] <= n_clusters:  # a cluster each: there is nothing to cut
        return kmeans_start(rows, weights, n_clusters)
    similarities = rbf_kernel(rows, gamma=distance_gamma(rows, weights))
    if n_clusters == 2:
        return _NearestRow(rows, second_eigenvector(similarities, weights) > 0)
    cut = SpectralClustering(
        n_clusters, affinity="precomputed", assign_labels="cluster_qr", random_state=rng
    )
    return _NearestRow(rows, cut.fit_predict(similarities))


@one_blas_thread
def second_eigenvector(similarities, weights=None):
    """Eigenvector of the normalised similarities whose signs cut a graph in two.

    A node of weight two counts as two equal ones.
    """
    weights = np.ones(len(similarities)) if weights is None else weights
    roots = np.sqrt(weights / (similarities @ weights))
    second = len(similarities) - 2
    vectors = eigh(roots[:, None] * similarities * roots, subset_by_index=[second, second])[1]
    return vectors[:, 0]


def distinct_sample(rows, weights, *, size, rng):
    """Distinct rows in an order of their content, with the summed weights of equal ones.

    Of more than `size` so many are drawn. Neither the order nor the repetition of rows matters.
    """
    distinct = DistinctRows.of(rows)
    weights = np.bincount(distinct.place, weights, len(distinct.first))
    order = canonical_order(rows[distinct.first])
    if len(order) > size:
        order = order[np.sort(rng.permutation(len(order))[:size])]
    return rows[distinct.first[order]], weights[order]


def _padded(centers, n_clusters):
    """Centres with the missing ones repeated; the repeated ones stay empty."""
    return np.vstack([centers, np.repeat(centers[-1:], n_clusters - len(centers), axis=0)])
