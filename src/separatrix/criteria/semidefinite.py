"""Maximum margin clustering by semidefinite programs: convex, so no start can mislead them."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh

from separatrix._sklearn import Interval, fit_context, one_blas_thread, to_numpy
from separatrix.balance import balanced_threshold
from separatrix.base import BaseDiscriminativeClustering
from separatrix.chunks import is_dask
from separatrix.features import KERNEL_CONSTRAINTS, KernelFeaturesMixin
from separatrix.forms import ONE_THREAD_ROWS
from separatrix.interior_point import solve_program
from separatrix.kernels import KernelMap, double_centred
from separatrix.label_programs import (
    GeneralizedProgram,
    LabelProgram,
    best_labelling,
    check_size,
    label_bound,
    status_of,
)
from separatrix.multiway import Boundaries, bisect, pairwise_code
from separatrix.partition import Labelling
from separatrix.result import Progress, SolverResult, Status
from separatrix.searched import centred_kernel, mean_of, normals_of

__all__ = [
    "GeneralizedMarginClustering",
    "SemidefiniteMarginClustering",
    "solve_generalized_margin",
    "solve_semidefinite_margin",
]


# --- the estimators -----------------------------------------------------------------------------


class SemidefiniteMixin(KernelFeaturesMixin):
    """From samples to clusters by a program over a kernel matrix: what the estimators share."""

    n_clusters: int
    C: float
    n_init: int
    max_iter: int
    tol: float
    _kernel_params_: dict

    _parameter_constraints: dict = {
        **BaseDiscriminativeClustering._parameter_constraints,
        **{name: KERNEL_CONSTRAINTS[name] for name in ("kernel", "gamma", "degree", "coef0")},
        "C": [Interval(Real, 0, None, closed="neither")],
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Find the clusters.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; or the matrix of kernel values between them, if that is precomputed.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit(self._validate_X(X, reset=True))  # type: ignore[attr-defined]

    def decision_function(self, X):
        """Signed values of the machines that part the clusters.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; their kernel with the training samples where that is precomputed.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_clusters)
            For two clusters one value, positive for cluster 1. Otherwise a column per cluster,
            the least of the values that tell it from others; the largest wins. All zero for one
            cluster.
        """
        return super().decision_function(X)

    def _validate_X(self, X, *, reset):
        if is_dask(X):
            raise TypeError(
                f"{type(self).__name__} needs all samples in memory, got a dask array; pass "
                "X.compute(), or use MaximumMarginClustering."
            )
        return super()._validate_X(X, reset=reset)

    def _prepare(self, X, sample_weight, progress, rng):
        self._check_precomputed(X)
        check_size(X.shape[0])
        X = to_numpy(X)
        self._kernel_params_ = self._kernel_params(X, None)
        self._feature_map, features = None, X
        linear = self.kernel == "linear"
        if linear:
            K = centred_kernel(X)
        else:
            self._feature_map = KernelMap.of(X, kernel=self.kernel, params=self._kernel_params_)
            K = features = self._feature_map(X)
        K = np.asarray(K, dtype=np.float64)
        problem = KernelProblem(0.5 * (K + K.T), features, linear, np.arange(len(K)), [])
        return problem.checked(self.kernel)

    def _n_restarts(self):
        return 1  # the program has one optimum

    def _subtasks_of_restart(self):
        return self.max_iter if self.n_clusters == 2 else None

    def _fit_once(self, problem, restart, progress, rng):
        def split(part, task):
            small = len(part.members) <= ONE_THREAD_ROWS
            return (one_blas_thread(self._split) if small else self._split)(part, task, rng)

        if self.n_clusters == 2:
            return split(problem, progress)
        return bisect(problem, split, self.n_clusters, progress=progress, rng=rng)

    def _split(self, problem, progress, rng):
        """Two clusters of the members of a problem."""
        # 1) relaxed labels
        K = problem.member_kernel
        G = self._machine_kernel(K)
        relaxation = self._relax(G, progress)
        problem.gaps.append(relaxation.gap)
        # 2) the best labels near them, and the boundary of their machine
        response = best_labelling(
            relaxation.M, G, C=self.C, signs_of=self._signs, n_draws=self.n_init, rng=rng
        )
        multipliers, intercept, within = self._rule(K, response)
        boundaries = problem.boundary(multipliers, intercept)
        # 3) labels by the boundary
        labelling = problem.partition(2)
        labelling.assign(boundaries)
        status = status_of(relaxation, self.tol)
        if len(np.unique(labelling.labels[problem.members])) < 2:
            status = Status.DEGENERATE
        elif not within:
            status = Status.UNBALANCED
        return SolverResult(
            labelling.labels,
            boundaries,
            objective=relaxation.objective,
            history=relaxation.history,
            n_iter=relaxation.n_iter,
            status=status,
            partition=labelling,
        )

    @abstractmethod
    def _machine_kernel(self, K):
        """The matrix that the program, and the machine of labels, run on."""

    @abstractmethod
    def _relax(self, G, progress):
        """Solve the program for that matrix."""

    @abstractmethod
    def _signs(self, scores):
        """Labels, -1 or 1, by scores of about that size."""

    @abstractmethod
    def _rule(self, K, response):
        """Multipliers of the kernel and offset of the machine, and whether it is in balance."""

    def _attributes(self, problem, partition, order):
        if problem is None:
            self._kernel_params_ = {}
        gaps = [] if problem is None else problem.gaps
        gamma = float(self._kernel_params_.get("gamma", np.nan))
        return {"gamma_": gamma, "certified_gap_": float(max(gaps, default=0.0))}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.array_api_support = False
        return tags


class SemidefiniteMarginClustering(SemidefiniteMixin, BaseDiscriminativeClustering):
    """Two clusters of widest margin by a convex relaxation, with a certified optimum.

    The first form of maximum margin clustering [1]_: the products of all pairs of labels become
    one positive semidefinite matrix, and what was a search over labellings becomes a semidefinite
    program, (22) of [2]_ and (6) of [3]_. Its optimum is unique, so there are no starts, and its
    distance from what was found is certified. Labels are then read off the matrix.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters. More than two are found by repeated splits in two.
    C : float, default=1.0
        Weight of the losses against the margin, as in `sklearn.svm.SVC`.
    balance : float, default=0.5
        Largest difference in size of the two clusters of a split as a share of its samples; a
        difference of one sample is always allowed. Without balance, one cluster of all samples
        would be the optimum.
    kernel : str or callable, default="rbf"
        "linear", "rbf", "poly", "sigmoid", "laplacian", "cosine", "chi2", "precomputed" or a
        function of two samples. For the linear kernel samples are centred, because boundaries of
        the program pass through the origin.
    gamma : float, {"scale", "mean", "median"} or tuple, default=("mean", 0.25)
        Kernel coefficient; "scale" is 1 / (n_features * X.var()), "mean" is 1 / sigma**2 with the
        mean distance of two samples as the width sigma, "median" with the median distance, and
        ("mean", 0.25) with a quarter of the mean distance.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and the sigmoid kernel.
    n_init : int, default=10
        Random roundings of the matrix to labels, beside its first eigenvector. The labels whose
        machine has the least objective are kept.
    max_iter : int, default=100
        Most steps of the solver; 10 to 30 are the rule.
    tol : float, default=1e-6
        Certified gap, as a share of the objective, at which the solver stops.
    random_state : int, RandomState instance or None, default=None
        Draws the roundings; None draws the same ones each time.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each sample, the largest cluster first; `predict` of the training data.
    coef_ : ndarray of shape (n_boundaries, n_features)
        Normals of the boundaries, for the linear kernel.
    intercept_ : ndarray of shape (n_boundaries,)
        Offsets of the boundaries.
    objective_ : float
        Optimum of the program, from above. Less the certified gap it bounds, from below, twice
        the objective of a machine without intercept for any labels in balance. The mean over all
        splits for more than two clusters.
    certified_gap_ : float
        Proven largest distance of `objective_` from the optimum, as a share of it; the largest
        of all splits.
    history_ : list of float
        Objective at each iteration.
    gamma_ : float
        Kernel coefficient; nan for kernels without one.
    n_iter_ : int
        Iterations.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X has them.

    See Also
    --------
    GeneralizedMarginClustering : A program in fewer variables, whose boundaries have an offset.
    MaximumMarginClustering : The same objective by alternating updates, for many samples.

    Notes
    -----
    A step costs a few products of matrices of the samples' size: 500 samples take seconds, 2,000
    minutes, and 5,000, the most allowed, an hour.

    References
    ----------
    .. [1] L. Xu, J. Neufeld, B. Larson, D. Schuurmans, "Maximum margin clustering", Advances in
       Neural Information Processing Systems 17, 2005.
    .. [2] G. Niu, B. Dai, L. Shang, M. Sugiyama, "Maximum volume clustering: a new discriminative
       clustering approach", Journal of Machine Learning Research 14, 2013.
    .. [3] K. Zhang, I. W. Tsang, J. T. Kwok, "Maximum margin clustering made practical", IEEE
       Transactions on Neural Networks 20(4), 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import SemidefiniteMarginClustering
    >>> X = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> model = SemidefiniteMarginClustering(n_clusters=2).fit(X)
    >>> model.labels_
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    >>> model.predict([[0, 0], [12, 3]])
    array([0, 1], dtype=int32)
    """

    _parameter_constraints: dict = {
        **SemidefiniteMixin._parameter_constraints,
        "balance": [Interval(Real, 0, 1, closed="left")],
    }
    _smaller_is_better = True
    _default_seed = 0

    def __init__(
        self,
        n_clusters=2,
        *,
        C=1.0,
        balance=0.5,
        kernel="rbf",
        gamma=("mean", 0.25),
        degree=3,
        coef0=1,
        n_init=10,
        max_iter=100,
        tol=1e-6,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.C = C
        self.balance = balance
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _machine_kernel(self, K):
        return K

    def _relax(self, K, progress):
        return solve_semidefinite_margin(
            K,
            C=self.C,
            balance=self.balance,
            tol=self.tol,
            max_iter=self.max_iter,
            progress=progress,
        )

    def _cut(self, scores, loss):
        balance = label_bound(self.balance, len(scores)) / len(scores)
        return balanced_threshold(scores, loss=loss, balance=balance)

    def _signs(self, scores):
        return np.where(scores > self._cut(scores, "square").threshold, 1.0, -1.0)

    def _rule(self, K, response):
        # the machine of the program has no intercept, and needs one only out of balance: at a
        # small C all values are far below one, and the loss is least at the edge of the balance
        scores = K @ response
        if abs(np.where(scores > 0, 1, -1).sum()) <= label_bound(self.balance, len(scores)):
            return response, 0.0, True
        cut = self._cut(scores, "hinge")
        return response, -cut.threshold, cut.within


class GeneralizedMarginClustering(SemidefiniteMixin, BaseDiscriminativeClustering):
    """Two clusters of widest margin, by a small convex program, with a certified optimum.

    Generalized maximum margin clustering [1]_ looks for the values that a machine with an
    intercept has at the samples: none closer to zero than one, of least norm, and of a sum near
    zero. Its relaxation, (24) of [2]_, has only one variable for each sample.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters. More than two are found by repeated splits in two.
    C : float, default=1.0
        Largest multiplier of a sample, the paper's C_delta: the price of a squared value below
        one.
    sum_penalty : float, default=1e4
        Weight of the squared sum of all values, the paper's C_e, which keeps both clusters at
        work.
    kernel : str or callable, default="rbf"
        "linear", "rbf", "poly", "sigmoid", "laplacian", "cosine", "chi2", "precomputed" or a
        function of two samples.
    gamma : float, {"scale", "mean", "median"} or tuple, default=("mean", 1.0)
        Kernel coefficient; "scale" is 1 / (n_features * X.var()), "mean" is 1 / sigma**2 with the
        mean distance of two samples as the width sigma, "median" with the median distance, and
        ("mean", 0.5) with half of the mean distance.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and the sigmoid kernel.
    n_init : int, default=10
        Random roundings of the relaxed values to labels, beside the paper's eigenvector. The
        labels whose machine has the least objective are kept.
    max_iter : int, default=100
        Most steps of the solver; 10 to 30 are the rule.
    tol : float, default=1e-6
        Certified gap, as a share of the objective, at which the solver stops.
    random_state : int, RandomState instance or None, default=None
        Draws the roundings; None draws the same ones each time.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each sample, the largest cluster first; `predict` of the training data.
    coef_ : ndarray of shape (n_boundaries, n_features)
        Normals of the boundaries, for the linear kernel.
    intercept_ : ndarray of shape (n_boundaries,)
        Offsets of the boundaries.
    objective_ : float
        Optimum of the program, from above. The mean over all splits for more than two clusters.
    certified_gap_ : float
        Proven largest distance of `objective_` from the optimum, as a share of it; the largest
        of all splits.
    history_ : list of float
        Objective at each iteration.
    gamma_ : float
        Kernel coefficient; nan for kernels without one.
    n_iter_ : int
        Iterations.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X has them.

    See Also
    --------
    SemidefiniteMarginClustering : The program of the first paper, with a balance of sizes.
    MaximumMarginClustering : Alternating updates, for many samples.

    Notes
    -----
    Cluster sizes are not bounded: only the sum of values is kept near zero, and one far sample
    can balance many near ones.

    References
    ----------
    .. [1] H. Valizadegan, R. Jin, "Generalized maximum margin clustering and unsupervised kernel
       learning", Advances in Neural Information Processing Systems 19, 2007.
    .. [2] G. Niu, B. Dai, L. Shang, M. Sugiyama, "Maximum volume clustering: a new discriminative
       clustering approach", Journal of Machine Learning Research 14, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import GeneralizedMarginClustering
    >>> X = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> model = GeneralizedMarginClustering(n_clusters=2).fit(X)
    >>> model.labels_
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    >>> model.predict([[0, 0], [12, 3]])
    array([0, 1], dtype=int32)
    """

    _parameter_constraints: dict = {
        **SemidefiniteMixin._parameter_constraints,
        "sum_penalty": [Interval(Real, 0, None, closed="neither")],
    }
    _smaller_is_better = True
    _default_seed = 0

    def __init__(
        self,
        n_clusters=2,
        *,
        C=1.0,
        sum_penalty=1e4,
        kernel="rbf",
        gamma=("mean", 1.0),
        degree=3,
        coef0=1,
        n_init=10,
        max_iter=100,
        tol=1e-6,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.C = C
        self.sum_penalty = sum_penalty
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _machine_kernel(self, K):
        return generalized_kernel(K, self.sum_penalty)

    def _relax(self, G, progress):
        return solve_generalized_margin(
            G, C=self.C, tol=self.tol, max_iter=self.max_iter, progress=progress
        )

    def _signs(self, scores):
        return np.where(scores > 0, 1.0, -1.0)

    def _rule(self, K, response):
        # values are those of the centred kernel, plus what little the penalty leaves of their sum
        multipliers = response - response.mean()
        left = response.sum() / (self.sum_penalty * len(K) ** 2)
        return multipliers, left - (K @ multipliers).mean(), True


# --- the problem --------------------------------------------------------------------------------


@dataclass(frozen=True)
class KernelProblem:
    """A kernel matrix and the samples of it that are to be split.

    Attributes
    ----------
    K : ndarray of shape (n_samples, n_samples)
        Kernel values between all samples.
    X : {ndarray, sparse matrix}
        Features that boundaries live in: the kernel values, or the samples of a linear kernel.
    linear : bool
        Whether the kernel is linear. Then samples are centred, the members of a split as well.
    members : ndarray of shape (n_members,)
        Indices of the samples to be split.
    gaps : list of float
        Certified gaps of all splits so far.
    """

    K: np.ndarray
    X: Any
    linear: bool
    members: np.ndarray
    gaps: list
    sample_weight = None

    def checked(self, kernel):
        """Return self, but refuse what no program can split."""
        if not self.varies:
            raise ValueError(
                "X is constant to the kernel: its samples do not differ beyond rounding in the "
                "kernel's space, so no boundary can separate clusters. Check that X holds the "
                "features; if they differ little, scale them up or use a larger gamma."
            )
        lowest, largest = eigvalsh(self.K)[[0, -1]]
        if lowest < -1e-6 * largest:
            raise ValueError(
                f"kernel={kernel!r} is not positive semidefinite: its matrix has the eigenvalue "
                f"{lowest:.3g} where its largest is {largest:.3g}. Use a valid kernel, such as "
                "'rbf'."
            )
        return self

    @cached_property
    def member_kernel(self):
        """Kernel values between the members."""
        K = self.K[np.ix_(self.members, self.members)]
        return double_centred(K) if self.linear else K

    def restricted(self, weights, rng):
        """The problem of the samples of positive weight alone."""
        return replace(self, members=np.flatnonzero(weights))

    @property
    def varies(self):
        """Whether there is anything to split."""
        return self.scatter(self) > 1e-12 * np.trace(self.member_kernel)

    def scatter(self, whole):
        """Summed squared distances of the members from their mean, in the kernel's space."""
        K = self.member_kernel
        return float(np.trace(K) - K.sum() / len(K))

    def partition(self, n_clusters):
        """A labelling of all samples that is yet to be assigned."""
        return Labelling(self.X, None, n_clusters=n_clusters)

    def boundary(self, multipliers, intercept):
        """Boundary where a sum of multiplied kernel values at the members, and an offset, is 0."""
        if self.linear:
            rows = self.X[self.members]
            coef = normals_of(rows, multipliers[:, None])[0]
            intercept = intercept - coef @ mean_of(rows)
        else:
            coef = np.zeros(len(self.K))
            coef[self.members] = multipliers
        return Boundaries(coef[None], np.array([intercept]), pairwise_code(2))


# --- the programs -------------------------------------------------------------------------------


def solve_semidefinite_margin(K, *, C, balance, tol=1e-6, max_iter=100, progress=None):
    r"""Maximum margin clustering as a semidefinite program.

    .. math:: \min_M \max_{0 \le \alpha \le C} \; 2 \alpha^\top 1 - \alpha^\top (K \circ M) \alpha
              \quad \text{s.t.} \quad M \succeq 0, \; \operatorname{diag} M = 1, \;
              1^\top M 1 \le l^2

    Problem (22) of Niu et al. (2013), which is (6) of Zhang, Tsang and Kwok (2009) without the
    Schur complement. Their band :math:`-l 1 \le M 1 \le l 1` is replaced by the last constraint:
    for :math:`M = y y^\top` both say :math:`|1^\top y| \le l`, but of all other M it leaves fewer,
    since :math:`|(M 1)_i| \le (M_{ii} \, 1^\top M 1)^{1/2}`, and it has one multiplier for n.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Kernel matrix.
    C : float
        Weight of the losses.
    balance : float
        Largest difference of cluster sizes as a share of n; l is n times that, and at least one.
    tol : float, default=1e-6
        Certified gap to reach.
    max_iter : int, default=100
        Most steps.
    progress : Progress, default=None
        Where the loop counter comes from.

    Returns
    -------
    relaxation : Relaxation
        Its x holds alpha, the multipliers of the diagonal, and that of the balance.
    """
    program = LabelProgram(K, C=C, bound=label_bound(balance, len(K)))
    return solve_program(program, tol=tol, max_iter=max_iter, progress=progress or Progress())


def generalized_kernel(K, sum_penalty):
    r"""Kernel matrix G with which a machine without intercept is that of problem (23).

    There, values w have the cost :math:`\min_\lambda (w + \lambda 1)^\top K^{-1} (w + \lambda 1)
    + C_e (1^\top w)^2`, which is :math:`w^\top G^{-1} w` with :math:`G = H K H + 1 1^\top / (C_e
    n^2)` and the centring matrix H. So nothing is inverted to get there. As in the experiments of
    Niu et al. (2013), K is lifted first, by its mean diagonal entry over n.
    """
    n = len(K)
    lifted = K + np.trace(K) / n**2 * np.eye(n)
    return double_centred(lifted) + 1 / (sum_penalty * n**2)


def solve_generalized_margin(G, *, C, tol=1e-6, max_iter=100, progress=None):
    r"""Generalized maximum margin clustering.

    .. math:: \max_\gamma \; \gamma^\top 1 \quad \text{s.t.} \quad
              G^{-1} - \operatorname{diag} \gamma \succeq 0, \; 0 \le \gamma \le C

    Problem (24) of Niu et al. (2013), where the offset of the machine, the last row and column of
    their W, is eliminated beforehand (see `generalized_kernel`). It relaxes the least
    :math:`w^\top G^{-1} w + C \sum_i (1 - w_i^2)_+` over all values w, whose products M stands
    for. For :math:`C = \infty` it is `solve_semidefinite_margin` without balance, for the kernel
    G: put :math:`d_i = \alpha_i^2 / \gamma_i` there.

    Parameters
    ----------
    G : ndarray of shape (n, n)
        Positive definite matrix, of `generalized_kernel`.
    C : float
        Largest gamma, the paper's C_delta.
    tol : float, default=1e-6
        Certified gap to reach.
    max_iter : int, default=100
        Most steps.
    progress : Progress, default=None
        Where the loop counter comes from.

    Returns
    -------
    relaxation : Relaxation
        Its x is gamma.
    """
    program = GeneralizedProgram(G, C)
    found = solve_program(program, tol=tol, max_iter=max_iter, progress=progress or Progress())
    return replace(found, M=program.products(found.M))
