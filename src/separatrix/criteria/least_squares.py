"""Regularised least-squares clustering: the labelling that least-squares classifiers fit best."""

from dataclasses import dataclass
from functools import partial
from itertools import combinations
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky
from scipy.linalg.lapack import dpotri
from sklearn.metrics import adjusted_rand_score

from separatrix._numba import njit
from separatrix._sklearn import (
    Interval,
    StrOptions,
    one_blas_thread,
    to_numpy,
)
from separatrix.balance import balanced_offsets
from separatrix.base import BaseDiscriminativeClustering, LinkedFitMixin
from separatrix.features import GAMMA_CONSTRAINTS, KERNEL_CONSTRAINTS, resolved_gamma
from separatrix.links import Links, linked_labels
from separatrix.multiway import Boundaries, one_vs_rest_code
from separatrix.result import SolverResult, Status
from separatrix.searched import SEARCH_CONSTRAINTS, SearchedMixin

__all__ = ["RegularizedLeastSquaresClustering", "hat_matrix", "solve_flips"]

# Of an even share, which a cluster of free size keeps at least.
FLOOR = 0.1
# Gains up to this are rounding errors; entries of hat matrices are at most one.
ROUNDING = 1e-12
# Most moves per sample, and most passes over them: searches end long before.
MAX_MOVES = 100
MAX_SWEEPS = 1_000
# Rounds of shaking; each claims half as many samples as the one before.
N_SHAKES = 20
# What reg="auto" and gamma="auto" choose from, and on how many samples and starts.
AUTO_WIDTHS = (0.25, 0.4, 0.6, 0.85, 1.2, 1.8)  # in mean distances
AUTO_REGS = (2.0**-6, 0.125, 0.5, 2.0)
AUTO_SAMPLES = 1_000
AUTO_STARTS = 5


# --- the estimator ------------------------------------------------------------------------------


class RegularizedLeastSquaresClustering(
    LinkedFitMixin, SearchedMixin, BaseDiscriminativeClustering
):
    r"""Clusters that least-squares classifiers, one for each, tell apart with the least error.

    For every labelling the classifiers and their error are known in closed form, and so is the
    change of the error when one sample changes its cluster [1]_. The search moves one sample at a
    time. So as not to end in the next best local minimum it shakes: clusters take turns in
    claiming samples from the others, the least unwilling first, many at the beginning and ever
    fewer.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
    search : {"shaking", "steepest", "stochastic"}, default="shaking"
        Algorithm 3 of the paper; or 2, which moves the sample that improves most; or 1, which
        goes through the samples and moves each to where it fits best.
    reg : float or "auto", default=1.0
        Weight of the classifiers' norms, the paper's lambda. "auto" chooses without labels.
    kernel : str or callable, default="rbf"
        "linear", "rbf", "poly", "sigmoid", "laplacian", "cosine", "chi2", "precomputed" or a
        function of two samples. For the linear kernel samples are centred.
    gamma : float, {"auto", "scale", "mean", "median"} or tuple, default=("mean", 0.7)
        Kernel coefficient; "scale" is 1 / (n_features * X.var()), "mean" is 1 / sigma**2 with the
        mean distance of two samples as the width sigma, "median" with the median distance, and
        ("mean", 0.5) with half of the mean distance. "auto" chooses a multiple of the mean
        distance without labels.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and the sigmoid kernel.
    shares : {"free", "equal"} or array-like of shape (n_clusters,), default="free"
        Sizes of the clusters as shares of all samples. "equal" and given shares are kept to the
        sample. "free" shakes with equal shares and then lets samples move until none wants to,
        but leaves each cluster a tenth of an even share.
    min_size, max_size : int or None, default=None
        Bounds on the numbers of samples of all clusters, instead of `shares`.
    n_search : int, default=5000
        Up to this many samples the search is exact on all. Beyond, it runs on a random sample of
        at most 2,000, whose classifiers label the others.
    n_components : int, default=200
        Most features that stand for a kernel beyond `n_search` samples.
    n_init : int, default=20
        Number of random starts, of which the lowest objective is kept. Two clusters by shaking
        take one: in its first round a cluster claims all samples, so that the start is forgotten.
    random_state : int, RandomState instance or None, default=None
        Draws starts and samples; None draws the same ones each time.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        Cluster of each sample, the largest cluster first; `predict` of the training data.
    coef_ : array of shape (n_boundaries, n_features)
        Weights of the classifiers, for the linear kernel; one row for two clusters.
    intercept_ : array of shape (n_boundaries,)
        Their offsets.
    searched_ : ndarray of shape (n_searched,)
        Indices of the samples that were searched exactly: all, up to `n_search`.
    leave_one_out_scores_ : ndarray of shape (n_searched,) or (n_searched, n_clusters)
        What the classifiers would say of each of these had it been left out, in closed form;
        residuals are the targets, 1 in the own cluster and -1 elsewhere, less these. For two
        clusters that of cluster 1.
    objective_ : float
        Sum of squared errors and weighted norms over the classifiers: smaller is better.
    objectives_ : ndarray of shape (n_starts,)
        That of each start.
    history_ : list of float
        Lowest objective after each start.
    gamma_, reg_ : float
        Kernel coefficient (nan for kernels without one) and weight of norms that were used.
    n_iter_ : int
        Samples moved from the best start.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X has them.

    See Also
    --------
    MaximumMarginClustering : The same with the losses of support vector machines.

    Notes
    -----
    The objective does not compare clusters of different sizes well: without any bound one cluster
    could win all samples. "auto" ranks pairs of width and `reg` by stability, the mean agreement
    of the results of five starts, times the gap, the mean advantage of the own cluster over the
    next among the scores of `leave_one_out_scores_`, on at most 1,000 samples. With "auto" the
    start that is kept is the one of the largest such advantage, leads beyond one counted as one.

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

    _parameter_constraints: dict = {
        **BaseDiscriminativeClustering._parameter_constraints,
        **KERNEL_CONSTRAINTS,
        **SEARCH_CONSTRAINTS,
        "search": [StrOptions({"shaking", "steepest", "stochastic"})],
        "reg": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "gamma": [StrOptions({"auto"}), *GAMMA_CONSTRAINTS],
        "shares": [StrOptions({"free", "equal"}), "array-like"],
        "min_size": [Interval(Integral, 0, None, closed="left"), None],
        "max_size": [Interval(Integral, 1, None, closed="left"), None],
    }
    _smaller_is_better = True
    _default_seed = 0

    def __init__(
        self,
        n_clusters=2,
        *,
        search="shaking",
        reg=1.0,
        kernel="rbf",
        gamma=("mean", 0.7),
        degree=3,
        coef0=1,
        shares="free",
        min_size=None,
        max_size=None,
        n_search=5000,
        n_components=200,
        n_init=20,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.search = search
        self.reg = reg
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.shares = shares
        self.min_size = min_size
        self.max_size = max_size
        self.n_search = n_search
        self.n_components = n_components
        self.n_init = n_init
        self.random_state = random_state

    # --- what the base asks for ---

    def _prepare(self, X, sample_weight, progress, rng, links=None):
        self._check_precomputed(X)
        sizes = Sizes.of(X.shape[0], self.n_clusters, self.shares, self.min_size, self.max_size)
        rows, chosen = self._searched(X, rng)
        self.reg_, self._kernel_params_ = self._resolved(rows, sizes, progress, rng)
        K = self._kernel(rows, self._kernel_params_)
        R = hat_matrix(K, self.reg_, tol=self._tolerance(rows))
        return LeastSquaresProblem(X, rows, chosen, R, sizes, links)

    def _tolerance(self, rows):
        """Relative size of negative eigenvalues that rounding explains; None for safe kernels."""
        safe = self.kernel in ("linear", "rbf", "laplacian", "cosine", "chi2")
        if safe or (self.kernel == "poly" and self.coef0 >= 0 and self.degree % 1 == 0):
            return None
        return max(1e-7, rows.shape[0] * float(np.finfo(rows.dtype).eps))

    def _resolved(self, rows, sizes, progress, rng):
        """Weight of norms and parameters of the kernel, chosen if they are automatic."""
        has_gamma = self.kernel in ("rbf", "poly", "sigmoid", "laplacian", "chi2")
        choose_gamma = has_gamma and isinstance(self.gamma, str) and self.gamma == "auto"
        params = {}
        if has_gamma:
            rule = ("mean", 1.0) if isinstance(self.gamma, str) and self.gamma == "auto" else None
            gamma = resolved_gamma(self.gamma if rule is None else rule, rows, None)
            params = {"gamma": gamma, "degree": self.degree, "coef0": self.coef0}
        if not choose_gamma and self.reg != "auto":
            return float(self.reg), params
        choices = [params]
        if choose_gamma:
            choices = [{**params, "gamma": params["gamma"] / width**2} for width in AUTO_WIDTHS]
        regs = AUTO_REGS if self.reg == "auto" else (float(self.reg),)
        return self._chosen(rows, choices, regs, sizes, progress, rng)

    def _chosen(self, rows, choices, regs, sizes, progress, rng):
        """The pair of stability times leave-one-out gap."""
        n_rows = min(rows.shape[0], AUTO_SAMPLES)
        drawn = np.sort(rng.permutation(rows.shape[0])[:n_rows])
        some = rows[drawn][:, drawn] if self.kernel == "precomputed" else rows[drawn]
        starts = [random_labels(sizes.scaled(n_rows), rng) for _ in range(AUTO_STARTS)]
        task = progress.subtask("choice", len(choices) * len(regs))
        best = (-np.inf, float(regs[0]), choices[0])
        for params in choices:
            K = self._kernel(some, params)
            for reg in regs:
                step = task.subtask("candidate", 0)
                R = hat_matrix(K, reg, tol=self._tolerance(some))
                score = stability_times_gap(R, starts, sizes.scaled(n_rows), self.search)
                if score > best[0]:
                    best = (score, reg, params)
                step.close()
        task.close()
        return best[1:]

    def _n_restarts(self):
        return 1  # starts share the matrix, and only the best is extended to all samples

    def _n_tasks(self):
        return 1 + int(self._is_automatic())

    def _is_automatic(self):
        """Whether anything is chosen by how clear clusters are when samples are left out."""
        return self.reg == "auto" or (isinstance(self.gamma, str) and self.gamma == "auto")

    def _subtasks_of_restart(self):
        return self._n_starts()

    def _n_starts(self):
        """One for two clusters by shaking: in its first round one of them claims all samples."""
        return 1 if self.n_clusters == 2 and self.search == "shaking" else self.n_init

    def _fit_once(self, problem, restart, progress, rng):
        sizes = problem.sizes.scaled(len(problem.R))
        links = problem.searched_links
        found = []
        iterations = progress.iterations(self._n_starts())
        for _ in iterations:
            start = random_labels(sizes, rng, links)
            found.append(solve_flips(problem.R, start, sizes, search=self.search, links=links))
            iterations.record(min(run.objective for run in found))
        best = min(found, key=lambda run: run.objective)
        if self._is_automatic():
            best = max(found, key=lambda run: run.advantage(problem.R, most=1.0))
        boundaries, labels = self._classified(problem, best)
        outcome = Outcome(
            np.bincount(to_numpy(labels), minlength=self.n_clusters).astype(np.float64),
            best,
            np.array([run.objective for run in found]),
        )
        status = Status.CONVERGED
        if iterations.status is Status.STOPPED:
            status = Status.STOPPED
        elif not problem.sizes.met_by(outcome.weights):
            status = Status.SIZES_UNMET
        return SolverResult(
            labels,
            boundaries,
            objective=best.objective,
            history=iterations.history,
            n_iter=max(1, best.n_moves),
            status=Status.DEGENERATE if (outcome.weights == 0).any() else status,
            partition=outcome,
        )

    def _classified(self, problem, found):
        """The classifiers of a labelling, and the labels that they give to all samples.

        Offsets keep the sizes of clusters within their bounds, where these would be left.
        """
        targets = targets_of(found.labels, self.n_clusters)
        if self.n_clusters == 2:
            targets = targets[:, 1:]
        if problem.chosen is None or self.kernel == "linear":
            multipliers = problem.multipliers(targets, self.reg_)
            coef, intercept = self._model_of_multipliers(problem.rows, multipliers)
        else:
            coef, intercept = self._model_of_features(
                problem.rows, partial(ridge_weights, targets=targets, reg=self.reg_)
            )
        boundaries = Boundaries(coef, intercept, one_vs_rest_code(self.n_clusters))
        return self._sized(problem, boundaries, problem.sizes.least, problem.sizes.most)

    def _attributes(self, problem, partition, order):
        if problem is None:
            self.reg_, self._kernel_params_ = np.nan, {}
            for name in ("searched_", "leave_one_out_scores_"):  # of an earlier fit
                self.__dict__.pop(name, None)
            return {"gamma_": np.nan, "objectives_": np.array([])}
        scores = partition.best.leave_one_out(problem.R)[:, order]
        chosen = problem.chosen
        return {
            "gamma_": float(self._kernel_params_.get("gamma", np.nan)),
            "objectives_": partition.objectives,
            "searched_": np.arange(len(scores)) if chosen is None else chosen,
            "leave_one_out_scores_": scores[:, 1] if self.n_clusters == 2 else scores,
        }


# --- the problem --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sizes:
    """How many samples clusters aim at, and how many they may have.

    Attributes
    ----------
    targets : ndarray of shape (n_clusters,)
        Sizes that shaking aims at.
    least, most : ndarray of shape (n_clusters,)
        Bounds.
    """

    targets: np.ndarray
    least: np.ndarray
    most: np.ndarray

    @classmethod
    def of(cls, n_samples, n_clusters, shares, min_size, max_size):
        """Sizes by the parameters of the estimator, which are checked."""
        bounded = min_size is not None or max_size is not None
        even = np.full(n_clusters, n_samples / n_clusters)
        if not (isinstance(shares, str) and shares == "free"):
            if bounded:
                raise ValueError(
                    f"min_size={min_size} and max_size={max_size} go with shares='free' only, got "
                    f"shares={shares!r}; pass one or the other."
                )
            if isinstance(shares, str):
                return cls(even, np.floor(even + 1e-9), np.ceil(even - 1e-9))
            sizes = rounded(n_samples * given_shares(shares, n_clusters))
            return cls(sizes, sizes, sizes)
        if not bounded:
            floor = np.maximum(1, np.floor(FLOOR * even))
            return cls(even, floor, np.full(n_clusters, float(n_samples)))
        least = 0 if min_size is None else min_size
        most = n_samples if max_size is None else max_size
        check_feasible(n_samples, n_clusters, min_size, max_size)
        return cls(even, np.full(n_clusters, float(least)), np.full(n_clusters, float(most)))

    def scaled(self, n_samples):
        """The same for a sample of the samples."""
        n_all = round(self.targets.sum())
        if n_samples == n_all:
            return self
        ratio = n_samples / n_all
        least = np.floor(ratio * self.least + 1e-9)
        most = np.ceil(ratio * self.most - 1e-9)
        return Sizes(ratio * self.targets, np.maximum(least, 1), most)

    def met_by(self, sizes):
        """Whether sizes are within the bounds."""
        return bool(((self.least <= sizes) & (sizes <= self.most)).all())


def given_shares(shares, n_clusters):
    """Shares of clusters as an array, or an error."""
    shares = np.asarray(shares, dtype=np.float64)
    if shares.shape != (n_clusters,):
        raise ValueError(
            f"shares has shape {shares.shape} but n_clusters={n_clusters}; pass one share per "
            "cluster."
        )
    if not (shares > 0).all() or abs(shares.sum() - 1) > 1e-6:
        raise ValueError(
            f"shares must be positive and sum to 1, got {shares} with sum {shares.sum():.6g}; "
            "divide them by their sum."
        )
    return shares / shares.sum()


def rounded(sizes):
    """Whole sizes of the same sum, by the largest remainders."""
    whole = np.floor(sizes + 1e-9)
    n_short = round(sizes.sum() - whole.sum())
    whole[np.argsort(whole - sizes, kind="stable")[:n_short]] += 1
    return whole


def check_feasible(n_samples, n_clusters, min_size, max_size):
    """Refuse bounds that no sizes meet."""
    if min_size is not None and max_size is not None and min_size > max_size:
        raise ValueError(f"min_size={min_size} must not exceed max_size={max_size}.")
    if min_size is not None and n_clusters * min_size > n_samples:
        raise ValueError(
            f"min_size={min_size} is infeasible: n_clusters={n_clusters} needs "
            f"{n_clusters * min_size} samples, got {n_samples}."
        )
    if max_size is not None and n_clusters * max_size < n_samples:
        raise ValueError(
            f"max_size={max_size} is infeasible: n_clusters={n_clusters} has room for "
            f"{n_clusters * max_size} samples, got {n_samples}."
        )


@dataclass(frozen=True)
class LeastSquaresProblem:
    """What starts share.

    Attributes
    ----------
    X : array
        All samples.
    rows : ndarray or sparse matrix
        Those that are searched.
    chosen : ndarray of int or None
        Which they are; None if all.
    R : ndarray of shape (n_rows, n_rows)
        Hat matrix of ridge regression on them.
    sizes : Sizes
        Of all samples.
    links : Links or None
        Links between all samples.
    """

    X: Any
    rows: Any
    chosen: Any
    R: np.ndarray
    sizes: Sizes
    links: Links | None

    @property
    def searched_links(self):
        """Links among the searched samples, or None."""
        if self.links is None or self.chosen is None:
            return self.links
        return self.links.restricted(self.chosen)

    def multipliers(self, targets, reg):
        """(K + reg I)^-1 targets, which the hat matrix I - reg (K + reg I)^-1 has inside."""
        return (targets - self.R @ targets) / reg


def ridge_weights(Z, *, targets, reg):
    """Weights of features in ridge regressions on targets."""
    A = Z.T @ Z
    A[np.diag_indices_from(A)] += reg
    return cho_solve(cho_factor(A), Z.T @ targets)


@dataclass(frozen=True)
class Outcome:
    """Cluster sizes, the best search and the objectives of all."""

    weights: np.ndarray
    best: Any
    objectives: np.ndarray


@one_blas_thread
def hat_matrix(K, reg, *, tol=None):
    """Matrix of ridge regression without intercept that turns targets into fitted values.

    R = K (K + reg I)^-1, (12) of the paper, here by a Cholesky factor instead of the paper's
    eigendecomposition.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        Kernel matrix.
    reg : float
        Weight of norms.
    tol : float or None, default=None
        Negative eigenvalues are refused from this share of the largest diagonal entry on. None
        for kernels that are certain to be positive semidefinite, which are not checked.

    Returns
    -------
    R : ndarray of shape (n_samples, n_samples)
        Symmetric.
    """
    largest = np.abs(np.diag(K)).max()
    if tol is not None and factor_of(K, tol * max(largest, 1e-300)) is None:
        raise ValueError(
            "kernel is not positive semidefinite: its matrix has eigenvalues below "
            f"{-tol * largest:.3g}. Use a valid kernel, such as 'rbf'."
        )
    factor = factor_of(K, reg)
    too_small = ValueError(
        f"reg={reg:.3g} is too small beside kernel values of up to {largest:.3g}: the classifiers "
        "fit any labels up to rounding errors. Increase reg, or scale X down."
    )
    if factor is None:
        raise too_small
    inverse, _ = dpotri(factor, lower=1, overwrite_c=1)
    R = inverse.T  # in rows, with its upper half
    _complement(R, reg)
    if np.diag(R).max() >= 1:
        raise too_small
    return R


@njit
def _complement(
    A,  # INOUT
    reg,
):
    """I - reg A, both halves, from the upper half of a symmetric A."""
    n_samples = A.shape[0]
    for i in range(n_samples):
        A[i, i] = 1.0 - reg * A[i, i]
        for j in range(i + 1, n_samples):
            A[i, j] = A[j, i] = -reg * A[i, j]


def factor_of(K, strength):
    """Lower Cholesky factor of K + strength I, or None if that is not positive definite."""
    H = K.copy().T  # symmetric, and in the order that LAPACK works in
    H[np.diag_indices(len(K))] += strength
    try:
        return cholesky(H, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None


# --- the search ---------------------------------------------------------------------------------


def targets_of(labels, n_clusters):
    """Targets of the classifiers, (8) of the paper: 1 in the own cluster, -1 elsewhere."""
    return 2.0 * (labels[:, None] == np.arange(n_clusters)) - 1


def random_labels(sizes, rng, links=None):
    """Labels at random, as many of each as its target says, if links allow."""
    if links is not None:
        scores = rng.standard_normal((links.n_samples, links.n_clusters))
        least, most = np.floor(sizes.targets), np.ceil(sizes.targets)
        return linked_labels(scores, links, min_size=least, max_size=most).labels
    ends = np.round(np.cumsum(sizes.targets)).astype(np.intp)
    labels = np.searchsorted(ends, np.arange(ends[-1]), side="right")
    return rng.permutation(labels)


@dataclass(frozen=True)
class Flips:
    """Where a search ended.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,)
        Clusters.
    sums : ndarray of shape (n_clusters, n_samples)
        The hat matrix summed over the samples of each cluster.
    objective : float
        The criterion, (10) of the paper.
    n_moves : int
        Samples moved.
    """

    labels: np.ndarray
    sums: np.ndarray
    objective: float
    n_moves: int

    def leave_one_out(self, R):
        """Values that classifiers would give each sample had it been left out."""
        targets = targets_of(self.labels, len(self.sums))
        fitted = 2 * self.sums.T - self.sums.sum(axis=0)[:, None]
        return targets - (targets - fitted) / (1 - np.diag(R))[:, None]

    def advantage(self, R, most=np.inf):
        """Mean lead of the own cluster over the next when samples are left out, each up to `most`.

        Leads beyond one, the distance of a target from zero, say little more.
        """
        scores = self.leave_one_out(R)
        rows = np.arange(len(scores))
        own = scores[rows, self.labels]
        scores[rows, self.labels] = -np.inf
        return float(np.minimum(own - scores.max(axis=1), most).mean())


def solve_flips(R, labels, sizes, *, search, links=None):
    r"""Improve labels by moving one sample at a time.

    .. math:: Q(c) = \sum_h n - p_h(c)^\top R \, p_h(c), \qquad p_h(c)_i = \pm 1

    is (10) of the paper, with Lemma 1 put right: it has 1 where n belongs. Written with cluster
    indicators :math:`e_h` it is :math:`kn + (4 - k) 1^\top R 1 - 4 \sum_h e_h^\top R e_h`. Moving
    sample j from cluster c to d lowers it by :math:`8 (T_{dj} - T_{cj} + R_{jj})` with
    :math:`T_h = R e_h`, so each of the candidates costs O(1), and a move two rows of R.

    Parameters
    ----------
    R : ndarray of shape (n_samples, n_samples)
        Hat matrix.
    labels : ndarray of shape (n_samples,)
        Where to start.
    sizes : Sizes
        What shaking aims at, and the bounds that later moves keep.
    search : {"shaking", "steepest", "stochastic"}
        Algorithm 3, 2 or 1. Algorithm 3 need not end with the sizes it aims at, since clusters
        take turns. It is followed by the cheapest moves into the bounds, and by Algorithm 2
        within them, so that no single move is left that would improve. Where bounds forbid moves,
        classifiers with offsets label the samples anew as long as that improves: Q is concave in
        the indicators, so the best labels for its tangent are never worse.
    links : Links, default=None
        Links that `labels` keep. What is linked moves as a whole.

    Returns
    -------
    found : Flips
    """
    n_clusters = len(sizes.targets)
    nodes = Nodes.of(R, links)
    bounds = sizes.least.astype(np.int64), sizes.most.astype(np.int64)
    n_moves = 0
    labels = nodes.of_samples(labels)
    first = True
    while True:
        # 1. Moves of single nodes.
        sums, counts = sums_of(nodes.R, labels, n_clusters)[0], nodes.counts(labels, n_clusters)
        state = (nodes.R, sums, labels, counts, nodes.size, nodes.indptr, nodes.indices)
        if first and search == "shaking":
            n_moves += _shake(*state, sizes.targets, N_SHAKES)
        if first:
            n_moves += _settle(*state, *bounds)
        if search == "stochastic":
            n_moves += _sweep(*state, *bounds, MAX_SWEEPS)
        else:
            n_moves += _descend(*state, *bounds, MAX_MOVES * len(labels))
        first = False
        # 2. Labels of all samples that are best for the tangent, where bounds or links forbid
        # moves.
        found = nodes.to_samples(labels)
        sums, counts = sums_of(R, found, n_clusters)
        own = own_sum(sums, found)
        if links is None and not ((counts <= bounds[0]) | (counts >= bounds[1])).any():
            break
        again = tangent_labels(sums, bounds, links)
        if again is None:
            break
        if own_sum(sums_of(R, again, n_clusters)[0], again) <= own + ROUNDING * len(found):
            break
        n_moves += np.count_nonzero(again != found)
        labels = nodes.of_samples(again)
    objective = n_clusters * len(found) + (4 - n_clusters) * sums.sum() - 4 * own
    return Flips(found, sums, float(objective), int(n_moves))


def own_sum(sums, labels):
    """Sum of the hat matrix over pairs of samples in the same cluster."""
    return sums[labels, np.arange(len(labels))].sum()


def tangent_labels(sums, bounds, links):
    """Labels within bounds that have the largest sums, or None if there are none."""
    if links is not None:
        found = linked_labels(sums.T, links, min_size=bounds[0], max_size=bounds[1])
        return found.labels if found.within else None
    found = balanced_offsets(sums.T, min_size=bounds[0], max_size=bounds[1])
    return (sums.T + found.offsets).argmax(axis=1) if found.within else None


@dataclass(frozen=True)
class Nodes:
    """What moves as a whole: samples, or the components that links make of them.

    For two clusters the samples of a component may have either sign, so that one of its clusters
    gains what the other loses; signs are such that the one that its label says gains.

    Attributes
    ----------
    R : ndarray of shape (n_nodes, n_nodes)
        The hat matrix summed over nodes.
    size : ndarray of shape (n_nodes,)
        Samples that a cluster gains with a node.
    indptr, indices : ndarray
        Nodes that a node must be kept apart from, in compressed rows.
    links : Links or None
        What made the nodes.
    turn : ndarray of shape (n_nodes,)
        -1 where the sign of a component is not that of its first sample.
    """

    R: np.ndarray
    size: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    links: Links | None = None
    turn: Any = None

    @classmethod
    def of(cls, R, links):
        """Nodes of all samples."""
        if links is None:
            none = np.zeros(0, dtype=np.int64)
            return cls(R, np.ones(len(R), dtype=np.int64), np.zeros(len(R) + 1, np.int64), none)
        size = links.totals(np.ones(len(R)))
        turn = np.where(size < 0, -1, 1)
        summed = turn[:, None] * links.totals(links.totals(R).T) * turn
        pairs = np.concatenate([links.conflicts, links.conflicts[:, ::-1]])
        pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
        counts = np.bincount(pairs[:, 0], minlength=len(size))
        return cls(
            np.ascontiguousarray(summed),
            np.abs(size).astype(np.int64),
            np.append(0, np.cumsum(counts)).astype(np.int64),
            np.ascontiguousarray(pairs[:, 1]).astype(np.int64),
            links,
            turn,
        )

    def of_samples(self, labels):
        """Labels of nodes from those of samples that keep the links."""
        if self.links is None:
            return labels.astype(np.int64)
        labels = labels[self.links.representatives].astype(np.int64)
        return np.where(self.turn < 0, 1 - labels, labels)

    def to_samples(self, labels):
        """Labels of samples from those of nodes."""
        if self.links is None:
            return labels
        if self.links.n_clusters > 2:
            return self.links.spread(labels)
        return (self.links.spread(self.turn * (2 * labels - 1)) + 1) // 2

    def counts(self, labels, n_clusters):
        """Samples of each cluster."""
        return np.bincount(self.to_samples(labels), minlength=n_clusters).astype(np.int64)


def sums_of(R, labels, n_clusters):
    """The hat matrix summed over the samples of each cluster, and how many these are."""
    members = (labels == np.arange(n_clusters)[:, None]).astype(np.float64)
    return np.ascontiguousarray(members @ R), members.sum(axis=1).astype(np.int64)


@njit
def _move(
    R,  # IN
    sums,  # INOUT
    labels,  # INOUT
    counts,  # INOUT
    size,  # IN
    j,
    d,
):
    """Move node j to cluster d."""
    c = labels[j]
    for i in range(R.shape[0]):
        sums[c, i] -= R[j, i]
        sums[d, i] += R[j, i]
    counts[c] -= size[j]
    counts[d] += size[j]
    labels[j] = d


@njit
def _is_free(
    labels,  # IN
    indptr,  # IN
    indices,  # IN
    j,
    d,
):
    """Whether cluster d holds no node that node j must be kept apart from."""
    for entry in range(indptr[j], indptr[j + 1]):  # noqa: SIM110 (numba knows no generators)
        if labels[indices[entry]] == d:
            return False
    return True


@njit
def _shake(
    R,  # IN
    sums,  # INOUT
    labels,  # INOUT
    counts,  # INOUT
    size,  # IN
    indptr,  # IN
    indices,  # IN
    targets,  # IN
    n_shakes,
):
    """Algorithm 3: clusters claim samples in turn, by (11) with a target for each cluster."""
    n_nodes = R.shape[0]
    n_clusters = counts.shape[0]
    n_moves = 0
    for shake in range(n_shakes + 1):
        for d in range(n_clusters):
            n_claimed = int(targets[d] / 2.0**shake + targets[d] - counts[d] + 1e-9)
            while n_claimed > 0:
                best, chosen = -np.inf, -1
                for j in range(n_nodes):
                    c = labels[j]
                    if c != d and 0 < size[j] <= n_claimed:
                        gain = sums[d, j] - sums[c, j] + R[j, j]
                        if gain > best and _is_free(labels, indptr, indices, j, d):
                            best, chosen = gain, j
                if chosen < 0:
                    break
                _move(R, sums, labels, counts, size, chosen, d)
                n_claimed -= size[chosen]
                n_moves += 1
    return n_moves


@njit
def _beyond(count, least, most):
    """By how much a size is out of bounds."""
    return max(least - count, count - most, 0)


@njit
def _best_move(
    R,  # IN
    sums,  # IN
    labels,  # IN
    counts,  # IN
    size,  # IN
    indptr,  # IN
    indices,  # IN
    least,  # IN
    most,  # IN
    first,
    last,
    at_least,
    into_bounds,
):
    """Move, of one of the nodes from first to last, of the largest gain above `at_least`.

    It keeps sizes in bounds, or brings them nearer where `into_bounds`.

    Returns
    -------
    chosen, target : int
        Node and cluster; -1 if there is no such move.
    """
    n_clusters = counts.shape[0]
    best, chosen, target = at_least, -1, -1
    for j in range(first, last):
        c = labels[j]
        if not into_bounds and counts[c] - size[j] < least[c]:
            continue
        for d in range(n_clusters):
            if d == c:
                continue
            if into_bounds:
                before = _beyond(counts[c], least[c], most[c]) + _beyond(
                    counts[d], least[d], most[d]
                )
                after = _beyond(counts[c] - size[j], least[c], most[c]) + _beyond(
                    counts[d] + size[j], least[d], most[d]
                )
                if after >= before:
                    continue
            elif counts[d] + size[j] > most[d]:
                continue
            gain = sums[d, j] - sums[c, j] + R[j, j]
            if gain > best and _is_free(labels, indptr, indices, j, d):
                best, chosen, target = gain, j, d
    return chosen, target


@njit
def _settle(
    R,  # IN
    sums,  # INOUT
    labels,  # INOUT
    counts,  # INOUT
    size,  # IN
    indptr,  # IN
    indices,  # IN
    least,  # IN
    most,  # IN
):
    """Move the least unwilling nodes until all sizes are within their bounds."""
    n_moves = 0
    while True:
        chosen, target = _best_move(
            R,
            sums,
            labels,
            counts,
            size,
            indptr,
            indices,
            least,
            most,
            0,
            R.shape[0],
            -np.inf,
            True,
        )
        if chosen < 0:
            return n_moves
        _move(R, sums, labels, counts, size, chosen, target)
        n_moves += 1


@njit
def _descend(
    R,  # IN
    sums,  # INOUT
    labels,  # INOUT
    counts,  # INOUT
    size,  # IN
    indptr,  # IN
    indices,  # IN
    least,  # IN
    most,  # IN
    max_moves,
):
    """Algorithm 2 within bounds on sizes: the move that improves most, until there is none."""
    for n_moves in range(max_moves):
        chosen, target = _best_move(
            R,
            sums,
            labels,
            counts,
            size,
            indptr,
            indices,
            least,
            most,
            0,
            R.shape[0],
            ROUNDING,
            False,
        )
        if chosen < 0:
            return n_moves
        _move(R, sums, labels, counts, size, chosen, target)
    return max_moves


@njit
def _sweep(
    R,  # IN
    sums,  # INOUT
    labels,  # INOUT
    counts,  # INOUT
    size,  # IN
    indptr,  # IN
    indices,  # IN
    least,  # IN
    most,  # IN
    max_sweeps,
):
    """Algorithm 1 within bounds on sizes: each node in turn goes where it fits best."""
    n_moves = 0
    for _ in range(max_sweeps):
        moved = False
        for j in range(R.shape[0]):
            chosen, target = _best_move(
                R,
                sums,
                labels,
                counts,
                size,
                indptr,
                indices,
                least,
                most,
                j,
                j + 1,
                ROUNDING,
                False,
            )
            if chosen >= 0:
                _move(R, sums, labels, counts, size, j, target)
                moved = True
                n_moves += 1
        if not moved:
            break
    return n_moves


# --- choosing without labels --------------------------------------------------------------------


def stability_times_gap(R, starts, sizes, search):
    """How well starts agree, times how clearly samples belong to their clusters when left out."""
    found = [solve_flips(R, start, sizes, search=search) for start in starts]
    pairs = combinations([run.labels for run in found], 2)
    stability = np.mean([adjusted_rand_score(a, b) for a, b in pairs])
    best = min(found, key=lambda run: run.objective)
    return max(stability, 0.0) * max(best.advantage(R), 0.0)
