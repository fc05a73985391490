"""Regularised least-squares clustering: the labelling that least-squares classifiers fit best."""

from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np

from separatrix._sklearn import Interval, StrOptions, to_numpy
from separatrix.estimators.base import BaseDiscriminativeClustering, LinkedFitMixin
from separatrix.estimators.kernel_features import GAMMA_CONSTRAINTS, KERNEL_CONSTRAINTS
from separatrix.estimators.sampled_search import SEARCH_CONSTRAINTS, SearchedMixin
from separatrix.labels.links import Links
from separatrix.labels.sizes import Sizes
from separatrix.models.boundaries import Boundaries, one_vs_rest_code
from separatrix.result import SolverResult, Status
from separatrix.similarity.bandwidths import resolved_gamma
from separatrix.solvers.flips import random_labels, solve_flips, stability_times_gap, targets_of
from separatrix.solvers.hat_matrix import hat_matrix, ridge_weights

__all__ = ["RegularizedLeastSquaresClustering"]
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


@dataclass(frozen=True)
class Outcome:
    """Cluster sizes, the best search and the objectives of all."""

    weights: np.ndarray
    best: Any
    objectives: np.ndarray
