"""Maximum margin clustering: the labelling that a support vector machine separates best."""

from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted

from separatrix._sklearn import Interval, StrOptions, one_blas_thread, to_numpy
from separatrix.data.chunks import is_dask, map_rows
from separatrix.data.memory import check_fits_memory
from separatrix.data.sampling import SAMPLE_SIZE, sample_rows
from separatrix.estimators.base import BaseDiscriminativeClustering, LinkedWeightedFitMixin
from separatrix.estimators.kernel_features import KERNEL_CONSTRAINTS, KernelFeaturesMixin
from separatrix.models.boundaries import Boundaries, one_vs_rest_code
from separatrix.models.starts import kmeans_start, random_start, spectral_start
from separatrix.result import Progress, SolverResult, Status
from separatrix.similarity.kernels import KernelMap, fit_kernel_map, kernel_matrix
from separatrix.solvers.bisection import bisect
from separatrix.solvers.label_updates import LabelUpdate, linked, signs_of, weight_of
from separatrix.solvers.margin_problem import FeatureBasis, KernelBasis, MarginProblem, start_rows
from separatrix.solvers.svm import machines_of

__all__ = ["MaximumMarginClustering", "solve_margin"]

# Up to this many samples the whole kernel matrix is cheaper than a good approximation.
FULL_KERNEL_SAMPLES = 5_000
# Coordinates of the samples of a precomputed kernel that starts are found in.
START_FEATURES = 50
# Beyond this many features an eigendecomposition of their scatter matrix is no longer cheap.
WIDE = 2_048
# Relative error of low-rank kernels: at a large C, labels still change between 1e-6 and 1e-7.
KERNEL_TOL = 1e-8
# The first C of a path, as a share of the last.
PATH_START = 1e-4
# Most label updates at each but the last C of a path.
PATH_UPDATES = 10
# Updates in a row that improve the objective by no more than `tol` of it, after which it stalls.
PATIENCE = 5


# --- the estimator ------------------------------------------------------------------------------


class MaximumMarginClustering(
    LinkedWeightedFitMixin, KernelFeaturesMixin, BaseDiscriminativeClustering
):
    """Clusters of similar size that a support vector machine separates with the widest margin.

    Labels and boundary are improved in turn [1]_: fit a machine to the labels, then shift its
    threshold to where the loss is least among all cuts that keep the clusters in balance, and
    relabel. The Laplacian and the square loss penalise samples beyond the margin too, so labels
    stay easy to change; the hinge loss of the ordinary machine hardly leaves its start.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
    loss : {"laplacian", "square", "hinge"}, default="laplacian"
        Loss of the machine: support vector regression on the labels, which resists outliers, the
        least-squares machine, which is fastest, or the ordinary support vector machine.
    C : float, default=100.0
        Weight of the losses against the margin, as in `sklearn.svm.SVC`.
    epsilon : float, default=0.05
        Errors up to this cost nothing in the Laplacian loss.
    balance : float, default=0.1
        Largest difference in size of two clusters as a share of all samples, the paper's l / n.
        With k > 2 clusters one against rest, each holds (1 - balance) / k to (1 + balance) / k of
        the samples, up to one sample; with bisection, `balance` holds for each split.
    kernel : str or callable, default="rbf"
        "linear", "rbf", "poly", "sigmoid", "laplacian", "cosine", "chi2", "precomputed" or a
        function of two samples.
    gamma : float, {"scale", "mean", "median"} or tuple, default=("mean", 2.0)
        Kernel coefficient; "scale" is 1 / (n_features * X.var()), "mean" is 1 / sigma**2 with the
        mean distance of two samples as the width sigma, "median" with the median distance, and
        ("mean", 0.5) with half of the mean distance.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and the sigmoid kernel.
    low_rank : {"auto", "none", "cholesky", "nystroem"}, default="auto"
        Features that stand for the kernel: none, so that the whole kernel matrix is used; the
        columns of an incomplete Cholesky decomposition with pivoting; or random columns. "auto"
        takes the Cholesky features where a tenth as many as samples are enough, or beyond 5,000
        samples, and the whole matrix otherwise. For the linear kernel the features are those of
        X itself, unless X has more than 2,048 and more than samples.
    n_components : int, default=300
        Most features of a low-rank kernel.
    multiway : {"one-vs-rest", "bisection"}, default="one-vs-rest"
        For more than two clusters: one boundary around each, or repeated splits in two of the
        most scattered cluster.
    C_path : int, default=5
        Number of values of C, up to `C` from a ten-thousandth of it, that the labels pass through
        one after the other. 1 starts at `C` itself, as the paper does.
    init : {"k-means", "spectral", "random"} or array-like of shape (n_samples,), \
            default="k-means"
        Start: k-means on X, the normalised cut of the graph of Gaussian similarities, the nearest
        of random samples, or labels from 0. For more than 20,000 samples and features other than
        a whole kernel matrix, the start is found, and improved, on a random sample of them.
    n_init : int, default=1
        Number of starts, of which the best objective is kept. The first k-means start is
        deterministic, further ones are the best of ten k-means++ runs each.
    max_iter : int, default=100
        Most updates of the labels from one start.
    tol : float, default=1e-4
        Stop when an update changes the clusters of at most this share of the samples, or when five
        in a row improve the objective by no more than this share of it; zero asks for an exact
        fixed point.
    random_state : int, RandomState instance or None, default=None
        Draws samples and restarts. The default of one start on up to 20,000 samples is
        deterministic.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        Cluster of each sample, the largest cluster first; `predict` of the training data.
    coef_ : array of shape (n_boundaries, n_features)
        Normals of the boundaries, for the linear kernel.
    intercept_ : array of shape (n_boundaries,)
        Offsets of the boundaries.
    objective_ : float
        Half the squared norm of the normals plus C times the losses: smaller is better.
    history_ : list of float
        Objective at each iteration, for the C of that iteration.
    gamma_ : float
        Kernel coefficient; nan for kernels without one.
    n_iter_ : int
        Iterations of the best start.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X has them.

    See Also
    --------
    MaximinSeparationClustering : Clusters of any size, independent of the units of features.

    Notes
    -----
    With the hinge loss and without balance the updates are the concave-convex procedure on
    minimising the norm plus C times the losses max(0, 1 - abs(f)), so the objective falls at each
    of them. With the balance that is no longer certain: the threshold that keeps it is not the
    machine's own. A labelling that comes back ends the loop, and the best one met is returned.

    References
    ----------
    .. [1] K. Zhang, I. W. Tsang, J. T. Kwok, "Maximum margin clustering made practical", IEEE
       Transactions on Neural Networks 20(4), 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import MaximumMarginClustering
    >>> X = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> model = MaximumMarginClustering(n_clusters=2).fit(X)
    >>> model.labels_
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    >>> model.predict([[0, 0], [12, 3]])
    array([0, 1], dtype=int32)
    """

    _parameter_constraints: dict = {
        **BaseDiscriminativeClustering._parameter_constraints,
        **KERNEL_CONSTRAINTS,
        "loss": [StrOptions({"laplacian", "square", "hinge"})],
        "C": [Interval(Real, 0, None, closed="neither")],
        "epsilon": [Interval(Real, 0, 1, closed="left")],
        "balance": [Interval(Real, 0, 1, closed="left")],
        "low_rank": [StrOptions({"auto", "none", "cholesky", "nystroem"})],
        "multiway": [StrOptions({"one-vs-rest", "bisection"})],
        "C_path": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions({"k-means", "spectral", "random"}), "array-like"],
    }
    _smaller_is_better = True

    def __init__(
        self,
        n_clusters=2,
        *,
        loss="laplacian",
        C=100.0,
        epsilon=0.05,
        balance=0.1,
        kernel="rbf",
        gamma=("mean", 2.0),
        degree=3,
        coef0=1,
        low_rank="auto",
        n_components=300,
        multiway="one-vs-rest",
        C_path=5,
        init="k-means",
        n_init=1,
        max_iter=100,
        tol=1e-4,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.loss = loss
        self.C = C
        self.epsilon = epsilon
        self.balance = balance
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.low_rank = low_rank
        self.n_components = n_components
        self.multiway = multiway
        self.C_path = C_path
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def sparse_model(self, X, sample_weight=None):
        """Ordinary support vector machine that predicts the clusters from few samples.

        The machines of the Laplacian and the square loss depend on all samples. As the paper
        suggests, a machine with the hinge loss, fitted to the labels found, depends only on its
        support vectors.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples that this estimator was fitted on.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.

        Returns
        -------
        model : SVC
            Fitted scikit-learn classifier with the same kernel and C.
        """
        check_is_fitted(self)
        X = self._validate_X(X, reset=False)
        labels = to_numpy(self.labels_)
        if X.shape[0] != len(labels):
            raise ValueError(
                f"X has {X.shape[0]} samples, but the estimator was fitted on {len(labels)}; pass "
                "the X of fit."
            )
        if self.n_clusters == 1 or len(np.unique(labels)) < 2:
            raise ValueError("sparse_model needs at least 2 clusters, the fit found 1.")
        kernel, params = self.kernel, self._kernel_params_
        if callable(kernel) or kernel in ("laplacian", "cosine", "chi2"):
            kernel = partial(kernel_matrix, kernel=kernel, params=params)
            params = {}
        return SVC(C=self.C, kernel=kernel, **params).fit(X, labels, sample_weight=sample_weight)

    def _prepare(self, X, sample_weight, progress, rng, links=None):
        self._check_precomputed(X)
        self._check_balance(X, sample_weight)
        if links is not None and self.multiway == "bisection" and self.n_clusters > 2:
            raise ValueError(
                f"links need multiway='one-vs-rest': a bisection of n_clusters={self.n_clusters} "
                "clusters does not keep them."
            )
        if not isinstance(self.init, str):
            self._check_init_labels(X, sample_weight)
            if self.multiway == "bisection" and self.n_clusters > 2:
                raise ValueError(
                    "init as labels needs multiway='one-vs-rest': a bisection of n_clusters="
                    f"{self.n_clusters} clusters finds its own starts."
                )
        return replace(self._problem(X, sample_weight, rng).check_varies(), links=links)

    def _check_balance(self, X, sample_weight):
        """Refuse a band that no whole number of samples meets."""
        n_samples = X.shape[0]
        halves = self.n_clusters == 2 or self.multiway == "bisection"
        if halves and sample_weight is None and n_samples % 2 and self.balance * n_samples < 1:
            raise ValueError(
                f"balance={self.balance:g} is infeasible: n_samples={n_samples} is odd, so two "
                f"clusters differ by at least 1 sample and not by {self.balance * n_samples:.3g}; "
                f"use balance={np.ceil(1e4 / n_samples) / 1e4:g} or more."
            )

    def _problem(self, X, sample_weight, rng):
        """Features or kernel matrix that the machines are fitted on."""
        rows, row_weight = start_rows(X, sample_weight, rng)
        params = self._kernel_params(rows, row_weight)
        self._kernel_params_ = params
        self._feature_map = None
        if self.kernel == "linear" and self._has_few_features(X):
            basis = FeatureBasis.of(X, rows, row_weight)
            return MarginProblem.of(X, X, sample_weight, basis, rows, row_weight)
        low_rank_map = self._low_rank_map(X, rows, row_weight, params, rng)
        if low_rank_map is None:
            basis = self._kernel_basis(X, params)
            boundary_space = X if self.kernel == "linear" else basis.K
        elif self.kernel == "linear":
            basis = FeatureBasis.of(X, rows, row_weight, low_rank_map, low_rank_map.to_normals)
            boundary_space = X
        else:
            self._feature_map = low_rank_map
            basis = FeatureBasis.of(X, rows, row_weight, low_rank_map)
            boundary_space = basis.Z
        samples = X
        if self.kernel == "precomputed":  # a start by k-means needs coordinates
            K = to_numpy(X)
            samples = fit_kernel_map(K, kernel="precomputed", params={}, max_rank=START_FEATURES)(
                K
            )
            rows, row_weight = start_rows(samples, sample_weight, rng)
        return MarginProblem.of(samples, boundary_space, sample_weight, basis, rows, row_weight)

    def _has_few_features(self, X):
        """Whether the features of X itself serve the linear kernel."""
        if self.low_rank not in ("auto", "none"):
            return False
        n_samples, n_features = X.shape
        if not (sp.issparse(X) or isinstance(X, np.ndarray)):
            return True
        return n_features <= n_samples and (n_features <= WIDE or self.low_rank == "none")

    def _low_rank_map(self, X, rows, row_weight, params, rng):
        """Map of samples to the features of the kernel; None asks for its whole matrix."""
        n_samples = X.shape[0]
        tol = KERNEL_TOL if rows.dtype == np.float64 else 1e-6  # what single precision can tell
        fit = partial(fit_kernel_map, kernel=self.kernel, params=params, tol=tol)
        if self.low_rank == "none":
            return None
        if self.kernel == "precomputed":
            rows = X = to_numpy(X)
        elif self.low_rank == "nystroem":
            rows, _ = sample_rows(rows, row_weight, size=self.n_components, rng=rng)
        elif rows.shape[0] > SAMPLE_SIZE:
            rows, _ = sample_rows(rows, row_weight, size=SAMPLE_SIZE, rng=rng)
        if self.low_rank == "auto" and n_samples <= FULL_KERNEL_SAMPLES and not is_dask(X):
            # few columns tell whether few features are enough
            few = min(self.n_components, n_samples // 10)
            found = fit(rows, max_rank=few, complete=True) if few else None
        else:
            found = fit(rows, max_rank=self.n_components)
        return found if found is not None and found.rank else None

    def _kernel_basis(self, X, params):
        if is_dask(X):
            raise ValueError(
                f"low_rank={self.low_rank!r} asks for the kernel matrix of all {X.shape[0]} "
                "samples of a dask array; use low_rank='cholesky' or 'nystroem'."
            )
        check_fits_memory(X.shape[0], remedy="use low_rank='cholesky' or 'nystroem'")
        X = to_numpy(X)
        if self.kernel == "linear":
            K = kernel_matrix(X, X, kernel="linear", params={})
            return KernelBasis(K.astype(np.float64, copy=False), X)
        self._feature_map = KernelMap.of(X, kernel=self.kernel, params=params)
        K = X if self.kernel == "precomputed" else self._feature_map(X)
        return KernelBasis(K.astype(np.float64, copy=False), None)

    def _start(self, problem, n_clusters, restart, rng):
        """Labels of all samples of `problem` to start from."""
        if not isinstance(self.init, str):
            return self._init_labels(problem)
        rows, weights = problem.rows, problem.row_weight
        if self.init == "spectral":
            rule = spectral_start(rows, weights, n_clusters, rng)
        elif self.init == "random":
            rule = random_start(rows, n_clusters, rng)
        else:
            seeds = rng if restart else None
            rule = kmeans_start(rows, weights, n_clusters, rng=seeds, n_init=10)
        return map_rows(rule.labels, problem.samples, width=n_clusters)

    def _solve(self, problem, n_clusters, progress, restart, rng):
        def solve(part, progress, **start):
            # threads of BLAS only wait for each other on small problems
            run = one_blas_thread(solve_margin) if part.is_small else solve_margin
            return run(
                part,
                n_clusters=n_clusters,
                loss=self.loss,
                epsilon=self.epsilon,
                balance=self.balance,
                max_iter=self.max_iter,
                tol=self.tol,
                progress=progress,
                **start,
            )

        path = (
            np.geomspace(PATH_START * self.C, self.C, self.C_path) if self.C_path > 1 else [self.C]
        )
        if isinstance(self.init, str) and problem.is_sampled:
            # the path on a sample costs next to nothing and leaves few updates for all the data
            part = problem.sampled(rng)
            start = self._start(part, n_clusters, restart, rng)
            rough = solve(part, Progress(), labels=start, path=path)
            if rough.status is not Status.DEGENERATE:
                return solve(problem, progress, models=rough.partition.models, path=path[-1:])
        start = self._start(problem, n_clusters, restart, rng)
        return solve(problem, progress, labels=start, path=path)

    def _fit_once(self, problem, restart, progress, rng):
        if self.n_clusters == 2 or self.multiway == "one-vs-rest":
            return self._solve(problem, self.n_clusters, progress, restart, rng)
        return bisect(
            problem,
            lambda part, task: self._solve(part, 2, task, restart, rng),
            self.n_clusters,
            progress=progress,
            rng=rng,
        )

    def _subtasks_of_restart(self):
        splits = self.n_clusters > 2 and self.multiway == "bisection"
        return None if splits else self.max_iter

    def _attributes(self, problem, partition, order):
        if problem is None:
            self._kernel_params_ = {}
        return {"gamma_": float(self._kernel_params_.get("gamma", np.nan))}


# --- the driver ---------------------------------------------------------------------------------


def solve_margin(
    problem,
    *,
    n_clusters,
    loss,
    epsilon,
    balance,
    path,
    max_iter,
    tol,
    progress,
    labels=None,
    models=None,
):
    r"""Alternate between the machine of a labelling and the labelling of the machine.

    .. math:: \min_{y, w, b} \; \tfrac12 \|w\|^2 + C \sum_i s_i L(w^\top x_i + b, y_i)
              \quad \text{subject to} \quad \Big|\sum_i s_i y_i\Big| \le
              \text{balance} \sum_i s_i, \; y_i \in \{-1, 1\}

    Algorithms 1 and 2 of Zhang, Tsang and Kwok (2009), with L the hinge loss (iterSVM), the
    epsilon-insensitive Laplacian loss (iterSVR) or half the square loss (iterLS-SVM). For more
    than two clusters there is one machine for each against the rest, and the objectives add up.

    Departures from the paper: the labels pass through growing values of C, which keeps early
    labels easy to change; the paper stops "until convergence", but with the balance the updates
    can run in a cycle or wander without gain, which is told apart here.

    Parameters
    ----------
    problem : MarginProblem
        The data.
    n_clusters : int
        Number of clusters.
    loss : {"laplacian", "square", "hinge"}
        Loss L.
    epsilon : float
        Insensitivity of the Laplacian loss.
    balance : float
        Largest difference of cluster sizes.
    path : sequence of float
        Values of C; the last one is the problem's.
    max_iter : int
        Most updates of the labels.
    tol : float
        Share of the samples that may still change clusters at the end.
    progress : Progress
        Where the loop counter comes from.
    labels : array of shape (n_samples,), default=None
        Starting labels.
    models : list of Model, default=None
        Machines to start from, instead of labels.

    Returns
    -------
    result : SolverResult
        With a `Labelling` as its partition, which holds the machines as `models`.
    """
    ridge, weight = problem.ridge, problem.ridge.sample_weight
    code = one_vs_rest_code(n_clusters)
    machines = machines_of(ridge, len(code), loss=loss, epsilon=epsilon)
    links, present = problem.links, problem.basis.rows(problem.sample_weight)
    if links is not None and present is not None:
        links = links.restricted(present)
    update = LabelUpdate(weight, n_clusters, loss=loss, balance=balance, links=links)
    # 0) label all rows by the start
    if models is not None:
        labels = update(
            [machine.resume(model) for machine, model in zip(machines, models, strict=True)]
        ).labels
    else:
        labels = labels if present is None else labels[present]
    level, trace = 0, Trace(tol)
    rule: Any = None
    rules: list[Rule] = []
    iterations = progress.iterations(max_iter)
    for _ in iterations:
        at_end = level == len(path) - 1
        # 1) machines of the labels, which tell how good the rule was that made them
        fits = [
            machine.fit(signs_of(labels, side, ridge.dtype), path[level])
            for machine, side in zip(machines, code, strict=True)
        ]
        objective = float(sum(fit.objective for fit in fits))
        if at_end and rule is not None:
            rules.append(replace(rule, objective=objective))
        # 2) labels of the machines
        step = update([fit.fitted for fit in fits])
        models = [fit.model for fit in fits]
        normals, offsets = zip(*(ridge.boundary(model) for model in models), strict=True)
        boundaries = Boundaries(np.array(normals), np.array(offsets) + step.shifts, code)
        rule = Rule(boundaries, models, step.within, objective)
        iterations.record(objective, boundaries)
        # 3) stop at a fixed point, in a cycle or in a stall; on the way there, go on to the next C
        moved = weight_of(labels != step.labels, weight)
        ended = trace.end(labels, objective, moved <= tol * ridge.weight)
        labels = step.labels
        if at_end and ended:
            iterations.status = ended
            break
        if not at_end and (ended or trace.n_updates == PATH_UPDATES):
            level, trace = level + 1, Trace(tol)
    if rules and iterations.status is not Status.CONVERGED:
        rule = min(rules, key=lambda rule: rule.objective)
    labelling = problem.partition(n_clusters)
    labelling.assign(rule.boundaries)
    labelling.models = rule.models
    if problem.links is not None:  # of all samples, those without weight too
        labelling.labels = linked(problem, rule.boundaries, loss=loss, balance=balance)
    status = iterations.status
    if labelling.empty.any():
        status = Status.DEGENERATE
    elif not rule.within and status.is_silent:
        status = Status.UNBALANCED
    return SolverResult(
        labelling.labels,
        rule.boundaries,
        objective=rule.objective,
        history=iterations.history,
        n_iter=iterations.n_iter,
        status=status,
        partition=labelling,
    )


@dataclass(frozen=True)
class Rule:
    """Boundaries, the machines behind them, and the objective of the labels that they make."""

    boundaries: Boundaries
    models: list
    within: bool
    objective: float


class Trace:
    """Memory of the updates at one C, which tells when they lead no further."""

    def __init__(self, tol):
        self.n_updates = 0
        self._tol = tol
        self._seen = set()
        self._best = np.inf
        self._since_progress = 0

    def end(self, labels, objective, settled):
        """Status with which the updates end at `labels`, or None if they go on."""
        self.n_updates += 1
        if settled:
            return Status.CONVERGED
        fingerprint = hash(to_numpy(labels).tobytes())
        if fingerprint in self._seen:
            return Status.CYCLED
        self._seen.add(fingerprint)
        progress = objective < self._best * (1 - self._tol)
        self._since_progress = 0 if progress else self._since_progress + 1
        self._best = min(objective, self._best)
        return Status.STALLED if self._since_progress == PATIENCE else None
