r"""Labellings that a machine can be fitted to, and the saddle point over all of them.

Both label generation clustering [2]_ and optimal margin distribution clustering [1]_ replace the
choice of one labelling y among a set B by a convex problem, (7) of [1]_:

.. math:: \min_{\mu \in \Delta} \max_\alpha \sum_{y \in B} \mu_y G(\alpha, y)
          = \min_{\mu \in \Delta} \max_\alpha \; \ell(\alpha) - \sum_{y \in B} \mu_y\,
          \tfrac12 (y \odot \alpha)^\top K (y \odot \alpha)

where G is the dual objective of a machine and only its quadratic term depends on the labels. B has
far too many members to list. So it is grown: solve over the labellings so far, find the one that
the solution violates most, add it, and repeat.

Both papers have two clusters. Here there may be more: a labelling then has one vector of signs for
each cluster against the rest, each with multipliers of its own, and G is summed over them. Weights
belong to labellings as a whole, so everything that holds for two clusters holds for more, except
that the numbering of clusters now matters: labellings are aligned to the first.

References
----------
.. [1] T. Zhang, Z.-H. Zhou, "Optimal margin distribution clustering", AAAI 2018.
.. [2] Y.-F. Li, I. W. Tsang, J. T. Kwok, Z.-H. Zhou, "Tighter and convex maximum margin
   clustering", AISTATS 2009.
"""

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls
from scipy.sparse.linalg import eigsh
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from separatrix.labels.bounded import bounded_labels
from separatrix.labels.links import Links, linked_labels
from separatrix.labels.numbering import order_within, out_of_bounds
from separatrix.labels.offsets import FLOW_SAMPLES
from separatrix.labels.sizes import unit_of
from separatrix.labels.transport import assigned
from separatrix.result import Labelling, aligned, numbered
from separatrix.similarity.kernels import double_centred
from separatrix.solvers.margin_distribution import (
    FeatureSpace,
    KernelSpace,
    Losses,
    fit_in_space,
)

# Eigenvectors of each matrix whose signs are labellings to begin with.
SPECTRAL_STARTS = 5
# Clusterings by k-means that are labellings to begin with, in each of two spaces.
KMEANS_STARTS = 5
# Leading eigenvectors of the kernel that approximate it while starts are improved.
ROUGH_RANK = 50
# Most rounds of improving a labelling; few are needed.
MAX_ASCENTS = 100
# Starts of the search for violated labellings that are drawn, and most labellings a round adds.
RANDOM_STARTS = 5
# For more clusters there are fewer starts and ascents: each takes as many machines as clusters.
FEW_CLUSTERS = 20
FEW_ASCENTS = 5
NEW_LABELLINGS = 20
# Initial weight of new labellings; those with no more weight are not used as starts.
NEW_WEIGHT = 1e-2
NEGLIGIBLE = 1e-3
# Accuracy of machines, by their residual.
MACHINE_TOL = 1e-6
# Shortest step of the line search, and the required share of the predicted decrease.
SHORTEST_STEP = 1e-4
DESCENT = 1e-4


@dataclass(frozen=True)
class Machine:
    """The machine that labels are fitted with.

    Attributes
    ----------
    strength : float
        Weight of the mean loss, C times the number of samples: the paper's lambda.
    nu, theta : float
        Parameters of the margin distribution; both zero for the squared hinge loss.
    sample_weight : ndarray of shape (n_samples,) or None
        Weights of the losses.
    """

    strength: float
    nu: float = 0.0
    theta: float = 0.0
    sample_weight: Any = None

    def fit(self, space, y, start=None):
        """Machine of the signs y in a space."""
        losses = self.losses(y)
        return fit_in_space(space, losses, start=start, tol=MACHINE_TOL, max_iter=100)

    def fit_labels(self, space, labels, n_clusters, starts=None):
        """Machines of a labelling in a space."""
        signs = signs_of(labels, n_clusters)
        starts = [None] * len(signs) if starts is None else starts
        return [self.fit(space, y, start) for y, start in zip(signs, starts, strict=True)]

    def losses(self, y):
        """Losses of margins."""
        return Losses.of(
            y,
            strength=self.strength,
            nu=self.nu,
            theta=self.theta,
            sample_weight=self.sample_weight,
        )


@dataclass(frozen=True)
class Band:
    """The set B: labellings in balance that keep all links.

    Attributes
    ----------
    links : Links
        The links, which know the number of clusters.
    balance : float
        Largest difference of the sizes of two clusters as a share of all samples. More than two
        hold (1 - balance) / k to (1 + balance) / k of the samples each, up to one sample. Where
        labels of each cluster are known, it is the difference from their shares.
    counted : ndarray of shape (n_samples,) or None
        How many samples each one counts as.
    bounds : Sizes or None
        Counts of samples, whatever they count as, that clusters may have instead.
    """

    links: Links
    balance: float
    counted: Any = None
    bounds: Any = None

    @property
    def n_clusters(self):
        """Number of clusters."""
        return self.links.n_clusters

    @cached_property
    def sizes(self):
        """Least and most samples of each cluster."""
        if self.bounds is not None:
            return self.bounds.scaled(self.links.n_samples).bounds
        counted = np.ones(self.links.n_samples) if self.counted is None else self.counted
        unit, k = unit_of(counted), self.n_clusters
        even = counted.sum() / unit / k
        shares = k * self.links.known_shares(self.counted)
        least, most = (shares - self.balance) * even, (shares + self.balance) * even
        if k == 2:
            low, high = np.ceil(least - 1e-9), np.floor(most + 1e-9)
            low, high = np.minimum(low, high), np.maximum(low, high)
        else:
            low, high = np.floor(least + 1e-9), np.ceil(most - 1e-9)
        return unit * np.maximum(low, 1.0), unit * high

    def binding(self, ids):
        """The labellings of B that keep samples of equal ids together; B has no links of its own.

        Large groups may leave none; then `nearest` is as near to balance as they allow.
        """
        links = Links.of(self.links.n_samples, self.n_clusters, must_link=ids)
        return replace(self, links=links)

    def nearest(self, scores):
        """The labelling of B with the largest sum of scores."""
        return self.nearest_of_each(scores[None])[0]

    def nearest_of_each(self, scores):
        """The same for several, of shape (n_labellings, n_samples, n_machines)."""
        least, most = self.sizes
        n_samples, n_machines = scores.shape[1:]
        is_one_column = n_machines == 1
        if self.bounds is not None:
            if is_one_column:
                return counted_labels(scores[:, :, 0], least, most)
            return np.array([bounded_labels(one, least, most) for one in scores])
        if self.counted is None and self.links.is_empty:
            if is_one_column:
                return counted_labels(scores[:, :, 0], least, most)
            if n_samples <= FLOW_SAMPLES:
                given = np.ascontiguousarray(scores, dtype=np.float64)
                return np.array([assigned(one, least, most) for one in given])
        given = scores[:, :, 0] if is_one_column else scores
        found = [
            linked_labels(
                one, self.links, min_size=least, max_size=most, sample_weight=self.counted
            )
            for one in given
        ]
        return np.array([one.labels for one in found])

    def steepest_of_each(self, slopes):
        """The labellings of B that are best for slopes, those of samples, not of each."""
        is_of_each = self.counted is None or self.bounds is not None
        return self.nearest_of_each(slopes if is_of_each else slopes / self.counted[:, None])

    def numbered(self, scores):
        """Scores with the clusters numbered so that the largest of each sample are nearest to B.

        All numberings are as near unless clusters have bounds of their own.
        """
        if self.bounds is None:
            return scores
        is_one_column = scores.shape[1] == 1
        labels = scores[:, 0] > 0 if is_one_column else scores.argmax(axis=1)
        labelling = Labelling(labels.astype(np.intp), self.n_clusters)
        order = order_within(labelling.order, labelling.weights, *self.sizes)
        if is_one_column:
            return scores if order[0] == 0 else -scores
        return scores[:, order]


def counted_labels(scores, least, most):
    """Labels of two clusters without links by sorting, as `linked_labels` has them.

    The search asks for thousands of them, so that all are found at once.

    Parameters
    ----------
    scores : ndarray of shape (n_labellings, n_samples)
        What speaks for the second cluster.
    least, most : ndarray of shape (2,)
        Whole bounds of the numbers of samples in each cluster.

    Returns
    -------
    labels : ndarray of shape (n_labellings, n_samples)
    """
    n_samples = scores.shape[1]
    low, high = max(least[1], n_samples - most[0]), min(most[1], n_samples - least[0])
    positive, negative = scores > 0, scores < 0
    size, with_zeros = positive.sum(axis=1), n_samples - negative.sum(axis=1)
    fits, fits_with_zeros = ((low <= n) & (n <= high) for n in (size, with_zeros))
    labels = np.where((fits | ~fits_with_zeros)[:, None], positive, ~negative).astype(np.int64)
    for row in np.flatnonzero(~fits & ~fits_with_zeros):  # cut at a bound
        order = np.argsort(-scores[row], kind="stable")
        labels[row, order] = np.arange(n_samples) < np.clip(size[row], low, high)
    return labels


def signs_of(labels, n_clusters):
    """Signs of the machines of labellings: one machine for two clusters, otherwise one for each.

    Parameters
    ----------
    labels : ndarray of shape (..., n_samples)
        Labellings.
    n_clusters : int
        Number of clusters.

    Returns
    -------
    signs : ndarray of shape (n_machines, ..., n_samples)
    """
    clusters = [1] if n_clusters == 2 else range(n_clusters)
    return np.array([2.0 * (labels == cluster) - 1 for cluster in clusters])


def objective_of(machines):
    """Objective of a labelling, by its machines."""
    return float(sum(found.objective for found in machines))


class Candidates:
    """Different labellings, aligned to the first; those that differ in numbering count as one.

    Parameters
    ----------
    labellings : iterable of ndarray of shape (n_samples,)
        Labellings.
    n_clusters : int
        Number of clusters.
    bounds : tuple of ndarray of shape (n_clusters,), default=None
        Least and most samples of the clusters, which their numbers keep to.
    """

    def __init__(self, labellings, n_clusters, bounds=None):
        self.n_clusters = n_clusters
        self._bounds = bounds
        self.labels: list[np.ndarray] = []
        self._seen: set[bytes] = set()
        self.add(labellings)

    def __len__(self):
        return len(self.labels)

    def aligned(self, labels):
        """Labels in the numbering that they have here."""
        if not self.labels:
            return labels
        costs = 0.0
        if self._bounds is not None:  # one sample out of them costs more than all that agree
            sizes = np.bincount(labels, minlength=self.n_clusters)
            costs = (len(labels) + 1) * out_of_bounds(sizes, *self._bounds)
        return aligned(labels, np.eye(self.n_clusters)[self.labels[0]], costs)

    def add(self, labellings):
        """Append those that are new; return how many."""
        before = len(self)
        for labels in labellings:
            labels = self.aligned(labels)
            key = numbered(labels).tobytes()
            if key not in self._seen:
                self._seen.add(key)
                self.labels.append(labels)
        return len(self) - before

    @property
    def signs(self):
        """Signs of the machines, of shape (n_machines, n_labellings, n_samples)."""
        return signs_of(np.array(self.labels), self.n_clusters)


# --- the saddle point ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Saddle:
    """Solution of (7) over some labellings.

    Attributes
    ----------
    weights : ndarray of shape (n_labellings,)
        Weights mu of the labellings.
    alpha : ndarray of shape (n_machines, n_samples)
        Multipliers, the best response to the weights.
    squares : ndarray of shape (n_labellings,)
        Quadratic terms of the labellings at these multipliers.
    objective : float
        Value of (7). No labelling among those given has a smaller objective.
    gap : float
        Duality gap relative to the objective. It is exact: what is best against the weights is a
        machine, and what is best against its multipliers is one of the labellings.
    n_iter : int
        Newton steps.
    """

    weights: np.ndarray
    alpha: np.ndarray
    squares: np.ndarray
    objective: float
    gap: float
    n_iter: int

    @property
    def lower_bounds(self):
        """G of each labelling at the multipliers, which its objective cannot be below."""
        return self.objective - (self.squares - self.weights @ self.squares)

    def violation(self, square):
        """Gap, relative to the objective, if a labelling with this quadratic term were added."""
        return max(float(square - self.weights @ self.squares) / self.objective, 0.0)


def mixed_kernel(K, S, weights):
    """Kernel of a machine: K * yy', summed over its labellings by their weights."""
    used = weights > 0
    mixed = (S[used].T * weights[used]) @ S[used]
    mixed *= K
    return mixed


@dataclass(frozen=True)
class _Response:
    """Machines that are optimal for weights of labellings.

    Their spaces, with a kernel matrix and a factor each, are made again when they are needed where
    those of many clusters would fill the memory.
    """

    machines: list
    spaces: list

    @classmethod
    def to(cls, weights, K, signs, machine, starts):
        """Fit a machine, whose labels are all one, on each mixed kernel."""
        machines, spaces = [], []
        for S, start in zip(signs, starts, strict=True):
            space = KernelSpace(mixed_kernel(K, S, weights))
            machines.append(machine.fit(space, np.ones(len(K)), start))
            spaces.append(space if len(signs) <= FEW_CLUSTERS else None)
        return cls(machines, spaces)

    @property
    def alpha(self):
        return np.array([found.coef for found in self.machines])

    @property
    def objective(self):
        return sum(found.objective for found in self.machines)

    @property
    def inexact(self):
        """Contribution of the machines' own duality gaps to the gap."""
        return sum(found.objective - found.dual_objective for found in self.machines)


def find_saddle(K, signs, machine, *, weights=None, start=None, tol=1e-3, max_iter=50):
    r"""Weights of labellings at the saddle point, by Newton's method.

    .. math:: \min_{\mu \in \Delta} \phi(\mu), \qquad \phi(\mu) = \max_\alpha \ell(\alpha)
              - \sum_k \mu_k q_k(\alpha), \qquad q_k(\alpha) = \tfrac12 (y_k \odot \alpha)^\top K
              (y_k \odot \alpha)

    The inner problem is a machine on the mixed kernel whose labels are all one. So phi is convex
    and piecewise smooth with the gradient -q; its Hessian :math:`c_k^\top (D^{-1} + K_\mu)^{-1}
    c_l`, with :math:`c_k = \partial_\alpha q_k` and D the curvature of the losses, costs a few
    triangular solves with the factor that the machine has left. The paper takes noisy gradient
    steps in both unknowns instead; see `mirror_descent.mirror_descent`.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        Kernel matrix.
    signs : ndarray of shape (n_machines, n_labellings, n_samples)
        Labellings.
    machine : Machine
        The machine.
    weights : ndarray of shape (n_labellings,), default=None
        Weights to begin with; equal ones by default.
    start : ndarray of shape (n_machines, n_samples), default=None
        Multipliers to begin with.
    tol : float, default=1e-3
        Largest duality gap relative to the objective.
    max_iter : int, default=50
        Most Newton steps.

    Returns
    -------
    saddle : Saddle
    """
    n_machines, n_labellings, n_samples = signs.shape
    weights = np.full(n_labellings, 1 / n_labellings) if weights is None else weights
    losses = machine.losses(np.ones(n_samples))
    starts = [None] * n_machines if start is None else start
    response = _Response.to(weights, K, signs, machine, starts)
    for n_iter in range(max_iter + 1):
        # 1. The gap at the best response.
        alpha, objective = response.alpha, response.objective
        slopes = [((S * a) @ K) * S for S, a in zip(signs, alpha, strict=True)]
        squares = sum(0.5 * slope @ a for slope, a in zip(slopes, alpha, strict=True))
        gap = float(squares.max() - weights @ squares + response.inexact) / objective
        if gap <= max(tol, 1e-15) or n_iter == max_iter:
            break
        # 2. The minimum of the quadratic model of phi on the simplex.
        hessian = np.zeros((n_labellings, n_labellings))
        for found, kept, S, slope in zip(
            response.machines, response.spaces, signs, slopes, strict=True
        ):
            space = KernelSpace(mixed_kernel(K, S, weights)) if kept is None else kept
            root = space.whitened(slope.T, losses.slopes(found.scores)[1])
            hessian += root.T @ root
        step = simplex_minimum(weights, squares, hessian) - weights
        # 3. As much of the way there as phi falls.
        length, promised = 1.0, squares @ step
        while True:
            tried = weights + length * step
            trial = _Response.to(tried, K, signs, machine, alpha)
            fell = objective - trial.objective
            if fell >= DESCENT * length * promised or length <= SHORTEST_STEP:
                break
            length *= 0.3
        if fell <= 0:  # rounding is all that is left
            break
        weights, response = tried, trial
    return Saddle(weights, alpha, squares, objective, gap, n_iter)


def simplex_minimum(weights, descent, hessian):
    """Minimum over the simplex of a quadratic function, given by its derivatives at `weights`."""
    n_weights = len(weights)
    scale = max(float(np.abs(hessian).max()), float(np.abs(descent).max()))
    if scale == 0:
        return weights
    curvature, descent = hessian / scale, descent / scale
    # curvature may be a matter of rounding, or next to none
    damping = 1e-10 * np.trace(curvature) / n_weights + 1e-14
    root = cholesky(curvature + damping * np.eye(n_weights))
    target = root @ weights + solve_triangular(root, descent, trans=1)
    # the last row demands a sum of one, with more weight than all others
    urgent = 1e3 * np.abs(root).max()
    system = np.vstack([root, np.full(n_weights, urgent)])
    found, _ = nnls(system, np.append(target, urgent), maxiter=100 * n_weights)
    return found / found.sum()


# --- the labellings -----------------------------------------------------------------------------


def pool(K, machine, band, rng):
    """Diverse labellings to begin with.

    Signs of leading eigenvectors of the centred and of the normalised kernel, for two clusters;
    k-means in the spaces of both, several times or, for many clusters, the best of several; and
    the result of improving machines and labels in turn from each of them, with the kernel's
    leading eigenvectors in its place. Where labels are known, the machine of these alone gives
    another one.
    """
    n_samples, n_clusters = len(K), band.n_clusters
    n_vectors = min(max(SPECTRAL_STARTS, n_clusters), n_samples - 1)
    values, vectors = leading_eigenvectors(double_centred(K, band.counted), n_vectors, rng)
    embeddings = [vectors * np.sqrt(np.maximum(values, 0.0))]
    degrees = K.sum(axis=1) if band.counted is None else K @ band.counted
    if (degrees > 0).all():
        roots = 1 / np.sqrt(degrees)
        _, cuts = leading_eigenvectors(roots[:, None] * K * roots, n_vectors, rng)
        embeddings.append(cuts * roots[:, None] * np.sqrt(n_samples))
    directions = [column[:, None] for places in embeddings for column in places.T]
    scores = directions if n_clusters == 2 else []
    n_starts, n_runs = (KMEANS_STARTS, 1) if n_clusters <= FEW_CLUSTERS else (1, KMEANS_STARTS)
    for places in embeddings:
        for _ in range(n_starts):
            with warnings.catch_warnings():  # of fewer distinct places
                warnings.simplefilter("ignore", ConvergenceWarning)
                means = KMeans(n_clusters, n_init=n_runs, random_state=rng)
                means.fit(places, sample_weight=band.counted)
            scores.append(-means.transform(places))
    if band.links.teaches:
        scores.append(taught_scores(K, machine, band))
    found = Candidates(
        (band.nearest(band.numbered(score)) for score in scores),
        n_clusters,
        None if band.bounds is None else band.sizes,
    )
    values, vectors = leading_eigenvectors(K, min(ROUGH_RANK, n_samples - 1), rng)
    rough = FeatureSpace(vectors * np.sqrt(np.maximum(values, 0.0)))
    found.add([alternate(rough, labels, machine, band)[0] for labels in found.labels])
    return found


def taught_scores(K, machine, band):
    """Scores of the machines of the samples with known labels alone."""
    known = band.links.known_labels
    machine = replace(machine, sample_weight=(known >= 0).astype(np.float64))
    machines = machine.fit_labels(KernelSpace(K), known, band.n_clusters)
    return np.column_stack([found.scores for found in machines])


def leading_eigenvectors(A, n_vectors, rng):
    """Largest eigenvalues and their vectors, the largest first."""
    if n_vectors > 0.1 * len(A):
        values, vectors = np.linalg.eigh(A)
    else:
        values, vectors = eigsh(A, k=n_vectors, v0=rng.uniform(-1, 1, len(A)), tol=1e-3, rng=0)
    order = np.argsort(-values)[:n_vectors]
    return values[order], vectors[:, order]


def alternate(space, labels, machine, band, max_iter=20):
    """Fit machines to labels and label by the machines, as long as the objective falls.

    Returns
    -------
    labels : ndarray of shape (n_samples,)
        The best labels.
    machines : list of MarginDistribution
        Their machines.
    """
    best, kept = np.inf, labels
    machines: list = []
    for _ in range(max_iter):
        starts = [found.coef for found in machines] or None
        fitted = machine.fit_labels(space, labels, band.n_clusters, starts)
        objective = objective_of(fitted)
        if objective >= best:
            break
        best, kept, machines = objective, labels, fitted
        labels = band.nearest(np.column_stack([found.scores for found in fitted]))
        if np.array_equal(labels, kept):
            break
    return kept, machines


def most_violated(K, alpha, scores, band):
    r"""Labellings of large quadratic term, which the multipliers alpha violate most.

    .. math:: \max_{y \in B} \; \tfrac12 (y \odot \alpha)^\top K (y \odot \alpha)

    is the maximum of a convex function: from each start, the labelling that is best for the
    tangent is never worse, and a few such steps reach a fixed point. Where there are more starts
    than labellings that a round adds, those that fall behind stop.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        Kernel matrix.
    alpha : ndarray of shape (n_machines, n_samples)
        Multipliers.
    scores : array-like of shape (n_starts, n_samples, n_machines)
        Scores whose labellings are the starts.
    band : Band
        The set B.

    Returns
    -------
    labels : ndarray of shape (n_starts, n_samples)
        Labellings, the most violated first.
    squares : ndarray of shape (n_starts,)
        Their quadratic terms.
    """
    tried = band.nearest_of_each(np.asarray(scores))
    labels = tried.copy()
    squares = np.full(len(labels), -np.inf)
    moving = np.arange(len(labels))
    for _ in range(MAX_ASCENTS if band.n_clusters <= FEW_CLUSTERS else FEW_ASCENTS):
        signs = signs_of(tried, band.n_clusters)
        slopes = ((signs * alpha[:, None]) @ K) * alpha[:, None]
        values = 0.5 * np.einsum("mij,mij->i", slopes, signs)
        rose = values > squares[moving] * (1 + 1e-12)
        squares[moving[rose]], labels[moving[rose]] = values[rose], tried[rose]
        rose &= squares[moving] >= np.sort(squares)[-NEW_LABELLINGS:][0]
        moving = moving[rose]
        if len(moving) == 0:
            break
        tried = band.steepest_of_each(slopes[:, rose].transpose(1, 2, 0))
    order = np.argsort(-squares, kind="stable")
    return labels[order], squares[order]


def quadratic_terms(K, alpha, signs):
    """Quadratic terms of labellings at multipliers."""
    turned = signs * alpha[:, None]
    return 0.5 * np.einsum("mij,mij->i", turned @ K, turned)


@dataclass(frozen=True)
class Generated:
    """Labellings that were generated, and the saddle point over them.

    Attributes
    ----------
    candidates : Candidates
        The labellings.
    saddle : Saddle
        The solution over them.
    violation : float
        Largest gap, relative to the objective, that any labelling that was found makes.
    """

    candidates: Candidates
    saddle: Saddle
    violation: float


def generate(K, machine, band, *, solve, max_labellings, tol, iterations, rng):
    """Grow the set of labellings until none is found that the solution violates.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        Kernel matrix.
    machine : Machine
        The machine.
    band : Band
        The set B.
    solve : callable
        `find_saddle`, or what else solves the same problem.
    max_labellings : int
        Most labellings, not counting those to begin with.
    tol : float
        Largest duality gap over the labellings, and violation by others, relative to the
        objective.
    iterations : Iterations
        Loop counter of the rounds.
    rng : RandomState
        Draws starts.

    Returns
    -------
    generated : Generated
    """
    candidates = pool(K, machine, band, rng)
    most = len(candidates) + max_labellings
    weights: Any = None
    alpha: Any = None
    for _ in iterations:
        # 1. The saddle point over the labellings at hand.
        signs = candidates.signs
        saddle = solve(K, signs, machine, weights=weights, start=alpha, tol=tol)
        alpha = saddle.alpha
        # 2. The labellings that it violates most.
        starts = ascent_starts(K, alpha, signs[:, saddle.weights > NEGLIGIBLE], rng)
        found, _ = most_violated(K, alpha, starts, band)
        # with more than two clusters, only labellings in this numbering count
        found = np.array([candidates.aligned(labels) for labels in found])
        squares = quadratic_terms(K, alpha, signs_of(found, band.n_clusters))
        found, violation = found[np.argsort(-squares)], saddle.violation(squares.max())
        iterations.record(saddle.objective)
        room = min(NEW_LABELLINGS, most - len(candidates))
        last = iterations.stopped or iterations.n_iter == iterations.max_iter
        if violation <= tol or room <= 0 or last:
            break
        # 3. They join in with little weight.
        n_new = candidates.add(found[:room])
        if n_new == 0:
            break
        weights = np.append(saddle.weights * (1 - NEW_WEIGHT), np.full(n_new, NEW_WEIGHT / n_new))
    return Generated(candidates, saddle, violation)


def ascent_starts(K, alpha, signs, rng):
    """Starts of the search for violated labellings: known ones, eigenvectors, and random ones.

    For many clusters known ones alone, as others are far below them.
    """
    n_machines, n_samples = alpha.shape
    if n_machines > FEW_CLUSTERS:
        return [*signs.transpose(1, 2, 0)]
    n_vectors = min(SPECTRAL_STARTS, n_samples - 1)
    spectral = [leading_eigenvectors(K * a * a[:, None], n_vectors, rng)[1] for a in alpha]
    drawn = rng.standard_normal((RANDOM_STARTS, n_samples, n_machines))
    return [*signs.transpose(1, 2, 0), *np.stack(spectral, axis=2).swapaxes(0, 1), *drawn]


# --- readouts -----------------------------------------------------------------------------------


def best_labelling(space, machine, labellings, saddle, n_clusters):
    """The labelling of the least objective. Those that cannot have it are not fitted."""
    steps, bounds = first_steps(space, machine, labellings, n_clusters)
    bounds = np.maximum(bounds, saddle.lower_bounds)
    best, least = labellings[0], np.inf
    for number in np.argsort(bounds, kind="stable"):
        if bounds[number] >= least:
            break
        machines = machine.fit_labels(space, labellings[number], n_clusters, steps[number])
        if objective_of(machines) < least:
            best, least = labellings[number], objective_of(machines)
    return best


def first_steps(space, machine, labellings, n_clusters):
    """Machines of labellings after one Newton step from zero, and what bounds their objectives.

    At zero all margins are too small by the same amount, so that the machines of all labellings
    share one factor. Where few margins leave the zone above, a step ends next to the solution, and
    its dual objective is a close bound.

    Returns
    -------
    steps : list of n_labellings ndarray of shape (n_machines, n_samples)
        Coefficients of the machines.
    bounds : ndarray of shape (n_labellings,)
        Lower bounds on the objectives.
    """
    steps, bounds = [], []
    for labels in labellings:
        all_losses = [machine.losses(y) for y in signs_of(labels, n_clusters)]
        slopes = [one.slopes(np.zeros(len(labels))) for one in all_losses]
        pulls, curvatures = zip(*slopes, strict=True)
        coef = space.direction(-np.column_stack(pulls), curvatures[0])
        scores = space.values(coef)
        bounds.append(
            sum(
                space.inner(a, a, f) / 2 + losses.total(f) - losses.gap(f, a)
                for losses, a, f in zip(all_losses, coef.T, scores.T, strict=True)
            )
        )
        steps.append(coef.T)
    return steps, np.array(bounds)


def vote(labels, weights, n_clusters, counted=1.0):
    """Weighted share of labellings that put each sample in each cluster.

    The paper's sign of the weighted sum. Labellings are aligned to the one of the largest weight:
    y and -y are the same clusters, and their votes would cancel. Samples may count as several.
    """
    one_hot = np.eye(n_clusters)
    first = one_hot[labels[int(np.argmax(weights))]] * np.reshape(counted, (-1, 1))
    return sum(w * one_hot[aligned(y, first)] for y, w in zip(labels, weights, strict=True))


def consensus(labels, weights, n_clusters, counted=1.0, max_iter=100):
    """Votes in which a labelling counts the more, the better it agrees with the outcome.

    For two clusters it is the leading eigenvector of the weighted sum of yy', by the power method,
    for which the sign of a labelling does not matter.
    """
    one_hot, counted = np.eye(n_clusters) - 1 / n_clusters, np.reshape(counted, (-1, 1))
    outcome = vote(labels, weights, n_clusters, counted) - 1 / n_clusters
    for _ in range(max_iter):
        before, outcome = outcome, np.zeros_like(outcome)
        for y, w in zip(labels, weights, strict=True):
            ballot = one_hot[aligned(y, counted * before)]
            outcome += w * np.sum(counted * ballot * before) * ballot
        outcome /= max(np.sqrt(np.sum(counted * outcome**2)), 1e-300)
        if np.linalg.norm(outcome - before) <= 1e-6:
            break
    return outcome
