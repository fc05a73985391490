"""Maximum margin clustering: the labelling that a support vector machine separates best."""

from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted

from separatrix._sklearn import Interval, StrOptions, is_lazy, like, one_blas_thread, to_numpy
from separatrix._typing import ArrayLike, Samples
from separatrix.data.rows import SAMPLE_SIZE, check_fits_memory, map_rows, sample_rows
from separatrix.estimators.base import (
    BoundaryClustering,
    best_of_starts,
    fit_with_weights_and_links,
)
from separatrix.estimators.parameters import (
    BALANCE,
    KERNEL,
    N_CLUSTERS,
    N_COMPONENTS,
    OUTLIERS,
    POSITIVE,
    RESTARTS,
    SIZE_BOUNDS,
    WARM_START,
)
from separatrix.labels.numbering import order_within
from separatrix.labels.sizes import check_halves
from separatrix.models.boundaries import Boundaries, one_vs_rest_code
from separatrix.models.scores import score_features
from separatrix.models.starts import drawn_rows, labels_of_start, solve_from_start, start_of
from separatrix.result import (
    Labelling,
    Progress,
    SolverResult,
    Status,
    decoded,
    numbered,
    renumbered,
)
from separatrix.similarity.kernels import Kernel
from separatrix.solvers.bisection import bisect
from separatrix.solvers.extended_margin import ExtendedProblem
from separatrix.solvers.ridge import FeatureBasis, KernelBasis, MarginProblem
from separatrix.solvers.svm import (
    LabelUpdate,
    fit_all,
    linked,
    machines_of,
    objective_of,
    sign_columns,
    signs_of,
    weight_of,
)

__all__ = ["MaximumMarginClustering", "solve_margin"]

# Up to this many samples the whole kernel matrix is cheaper than a good approximation.
FULL_KERNEL_SAMPLES = 5_000
# Of more, labels are first found on this many, or on this many for each cluster.
PART_SAMPLES, PART_SAMPLES_PER_CLUSTER = 700, 100
# Machines then settle on this many, in at most this many updates, before all samples are used.
SETTLING_SAMPLES, SETTLING_SAMPLES_PER_CLUSTER = 5_000, 1_000
SETTLING_UPDATES = 20
# With more clusters than this they settle at once, on no more of each than the part has. Landmarks
# of the kernel are found on so many samples.
FEW_CLUSTERS = 20
LANDMARK_SAMPLES = 3_000
# Coordinates of the samples of a precomputed kernel that starts are found in.
START_FEATURES = 50
# Beyond this many features an eigendecomposition of their scatter matrix is no longer cheap.
WIDE = 2_048
# Relative error of low-rank kernels: at a large C, labels still change between 1e-6 and 1e-7.
KERNEL_TOL = 1e-8
# The same where the machines of all samples come from sums, whose rounding it amplifies.
LANDMARK_TOL = 1e-6
# The first C of a path, as a share of the last.
PATH_START = 1e-4
# Most label updates at each but the last C of a path.
PATH_UPDATES = 10
# Samples that starts are compared on, and how many starts are random.
SCREENED_SAMPLES = 400
N_RANDOM_STARTS = 3
# Share of the objective from k-means below which another start is better.
CLEARLY = 0.5
# With more clusters, a lower objective on so few samples does not mean better clusters of all.
MOST_SCREENED_CLUSTERS = 2
# Updates in a row that improve the objective by no more than `tol` of it, after which it stalls.
PATIENCE = 5


# --- the estimator ------------------------------------------------------------------------------


class MaximumMarginClustering(BoundaryClustering):
    """Clusters of similar size that a support vector machine separates with the widest margin.

    Labels and boundary are improved in turn [1]_: fit a machine to the labels, then shift its
    threshold to where the loss is least among all cuts that keep the clusters in balance, and
    relabel. The Laplacian and the square loss penalise samples beyond the margin too, so labels
    stay easy to change; with the hinge loss of the ordinary machine, labels hardly change from the
    start.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
    loss : {"laplacian", "square", "hinge"}, default="laplacian"
        Loss of the machine. "laplacian" is support vector regression on the labels, which resists
        outliers; "square" is the least-squares machine, which is fastest; "hinge" is the ordinary
        support vector machine.
    C : float, default=100.0
        Weight of the sum of the losses against half the squared norm, as in `sklearn.svm.SVC`.
    epsilon : float, default=0.05
        Errors up to this cost nothing in the Laplacian loss.
    balance : float, default=0.1
        Largest difference in size of two clusters as a share of all samples: each of k clusters
        holds (1 - balance) / k to (1 + balance) / k of them, up to one sample. With repeated
        splits in two, this holds for each split.
    min_size : int, float or array-like of shape (n_clusters,), default=None
        Smallest number of samples in each cluster. A whole number, or a share of the samples if it
        is below 1, for all clusters or one for each; None sets no bound. `labels_` and `assign`
        keep the bounds exactly; `predict` need not. So does each update of the labels, so that the
        boundaries are those of such clusters. Clusters are in `balance` as well, or as near to it
        as the bounds allow. Both count samples, whatever their weights.
    max_size : int, float or array-like of shape (n_clusters,), default=None
        Largest number of samples in each cluster, given like `min_size`.
    kernel : str or callable, default="rbf"
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
    low_rank : {"auto", "none", "cholesky", "nystroem"}, default="auto"
        Features that approximate the kernel. "none" uses the whole kernel matrix, "cholesky" the
        columns of an incomplete Cholesky decomposition with pivoting, "nystroem" random columns.
        "auto" takes the Cholesky features where a tenth as many as samples are enough, and the
        whole matrix otherwise; beyond 5,000 samples it finds labels on some of them first. For the
        linear kernel the features are those of X itself, unless X has more than 2,048 and more
        than samples.
    n_components : int, default=300
        Largest number of features that approximate a kernel whose whole matrix is not used.
    multiway : {"auto", "one-vs-rest", "bisection"}, default="auto"
        How more than two clusters are separated. By one boundary around each cluster
        ("one-vs-rest"), or repeated splits in two of the most scattered cluster ("bisection").
        "auto" is one-vs-rest.
    C_path : int, default=5
        Number of values of C, from a ten-thousandth of `C` up to `C`, for which the labels are
        improved one after the other. 1 starts at `C` itself, as the paper does.
    init : {"auto", "k-means", "spectral", "random"} or array-like of shape (n_samples,), \
            default="auto"
        Where the labels start. "k-means" on the features; "spectral", the normalised cut of the
        graph of Gaussian similarities; "random" for the nearest of random samples; or labels from
        0. "auto" is k-means, unless a spectral or one of three random starts ends at less than
        half of its objective on at most 400 samples. With links, or more than two clusters at a
        time, it is k-means.
    n_init : int, default=1
        Number of starts; the one with the best objective is kept.
    max_iter : int, default=100
        Largest number of updates of the labels from one start.
    tol : float, default=1e-4
        Stop when an update changes the clusters of at most this share of the samples; zero asks
        for an exact fixed point.
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
        data, except where links bind or bounds on sizes separate equal samples.
    coef_ : array of shape (n_boundaries, n_features)
        Normals of the boundaries, for the linear kernel.
    intercept_ : array of shape (n_boundaries,)
        Offsets of the boundaries.
    boundary_sides_ : ndarray of shape (n_boundaries, n_clusters)
        Side of each boundary that each cluster lies on: 1 or -1, and 0 where it does not matter.
    objective_ : float
        Half the squared norm of the normals plus C times the losses of the labels: smaller is
        better. It is that of the machine of the labels, the paper's problem (1), in which only
        the labels have to be in balance. It is nan for one cluster, or for fewer distinct samples
        than clusters.
    boundary_objective_ : float
        The same at the boundaries returned, whose offsets keep the clusters in balance; nan where
        `objective_` is.
    history_ : list of float
        Objective at each iteration. It belongs to the C of that iteration.
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
    MaximinSeparationClustering : Clusters of any size, independent of the units of features.

    Notes
    -----
    With the hinge loss and without balance the updates are the concave-convex procedure for the
    norm plus C times the losses max(0, 1 - abs(f)), so each lowers the objective. With the balance
    there is no such guarantee, because the threshold that keeps it is not the machine's own. The
    loop ends when a labelling recurs, and the best labelling is returned.

    The defaults depart from the paper. Its algorithms are ``C_path=1`` with ``init="k-means"`` or
    "spectral", with C of 500, 100 and 10 for the Laplacian, the square and the hinge loss, and a
    width of the kernel chosen by the true classes. Here the labels pass through growing values of
    C, from the best of several starts, at one width. The paper's l, which bounds the difference in
    size, is `balance` times the number of samples; its experiments only fit together if l is half
    of that.

    The loop also ends after five updates in a row that improve the objective by no more than
    `tol` times its value.

    With more than 5,000 samples and a kernel other than the linear one, `low_rank="auto"` finds
    labels on a random sample: 700 of them, or 100 for each cluster. Least-squares machines on
    `n_components` features extend these labels, first to some thousand samples and then to all,
    and their offsets keep all samples in balance. `history_` then belongs to the sample, and
    `objective_` to the boundaries returned. This does not apply to labels as `init`, links and
    bisections. More than 20 clusters start from k-means, and machines of the square loss settle at
    once, however few samples there are; `history_` then belongs to these machines.

    Otherwise, for more than 20,000 samples the start is found, and improved, on a random sample of
    them, unless the whole kernel matrix is used. The first start by k-means is deterministic;
    further ones are the best of ten k-means++ runs each.

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

    boundary_objective_: float
    gamma_: float

    _keeps_sizes = True
    _weighs_known = True
    _parameter_constraints: dict = {
        **N_CLUSTERS,
        **KERNEL,
        **N_COMPONENTS,
        **RESTARTS,
        **BALANCE,
        **SIZE_BOUNDS,
        "loss": [StrOptions({"laplacian", "square", "hinge"})],
        "C": POSITIVE,
        "epsilon": [Interval(Real, 0, 1, closed="left")],
        "low_rank": [StrOptions({"auto", "none", "cholesky", "nystroem"})],
        "multiway": [StrOptions({"auto", "one-vs-rest", "bisection"})],
        "C_path": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions({"auto", "k-means", "spectral", "random"}), "array-like"],
        **OUTLIERS,
        **WARM_START,
    }

    def __init__(
        self,
        n_clusters=2,
        *,
        loss="laplacian",
        C=100.0,
        epsilon=0.05,
        balance=0.1,
        min_size=None,
        max_size=None,
        kernel="rbf",
        gamma=("mean", 2.0),
        degree=3,
        coef0=1,
        low_rank="auto",
        n_components=300,
        multiway="auto",
        C_path=5,
        init="auto",
        n_init=1,
        max_iter=100,
        tol=1e-4,
        outliers=None,
        warm_start=False,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.loss = loss
        self.C = C
        self.epsilon = epsilon
        self.balance = balance
        self.min_size = min_size
        self.max_size = max_size
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
        self.outliers = outliers
        self.warm_start = warm_start
        self.random_state = random_state

    def sparse_model(self, X: Samples, sample_weight: ArrayLike = None) -> Any:
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
            raise ValueError("sparse_model needs at least 2 clusters, but the fit found 1.")
        kernel = Kernel.of(self)
        if kernel.has_gamma:  # none was used where each distinct sample is a cluster
            used = not np.isnan(self.gamma_)
            kernel = replace(kernel, gamma=self.gamma_) if used else kernel.resolved(X)
        machine = SVC(C=self.C, kernel=kernel.values)
        if kernel.name in ("linear", "rbf", "poly", "sigmoid", "precomputed"):
            machine = SVC(C=self.C, kernel=kernel.name, **kernel.params)
        return machine.fit(X, labels, sample_weight=sample_weight)

    fit = fit_with_weights_and_links

    @property
    def _bisects(self):
        return self.n_clusters > 2 and self.multiway == "bisection"

    def _problem(self, X, sample_weight, links, progress, rng):
        kernel = Kernel.of(self)
        kernel.check_samples(X)
        self._check_balance(X, sample_weight)
        if self._bisects and self._has_bounds:
            raise ValueError(
                f"min_size={self.min_size} and max_size={self.max_size} need multiway="
                f"'one-vs-rest': a bisection of n_clusters={self.n_clusters} clusters does not "
                "know how many clusters each half will become."
            )
        if self._bisects and (links is not None or not isinstance(self.init, str)):
            what = "init as labels needs" if links is None else "links need"
            raise ValueError(
                f"{what} multiway='one-vs-rest': a bisection of n_clusters={self.n_clusters} "
                "clusters finds its own starts and keeps no links."
            )
        if self._extends(X, kernel, links):
            return self._extended_problem(X, sample_weight, kernel, rng)
        # 1) rows from which starts and the width of the kernel are found
        drawn = drawn_rows(X, sample_weight, rng)
        kernel = kernel.resolved(drawn["rows"], drawn["row_weight"])
        # 2) what ridge regression runs on, and the space of the boundaries
        basis, space, feature_map = self._basis(X, kernel, drawn, rng)
        # 3) a start by k-means needs coordinates
        samples = X
        if kernel.is_precomputed:
            K = to_numpy(X)
            samples = kernel.low_rank_map(K, max_rank=START_FEATURES)(K)
            drawn = drawn_rows(samples, sample_weight, rng)
        return MarginProblem.of(
            samples=samples,
            X=space,
            sample_weight=sample_weight,
            basis=basis,
            kernel=kernel,
            feature_map=feature_map,
            links=links,
            **drawn,
        ).check_varies()

    def _extends(self, X, kernel, links):
        """Whether labels are found on some of the samples, and then extended to all."""
        return (
            (X.shape[0] > FULL_KERNEL_SAMPLES or self._has_many_clusters)
            and self.low_rank == "auto"
            and not (kernel.is_linear or kernel.is_precomputed)
            and isinstance(self.init, str)
            and links is None
            and not self._bisects
        )

    @property
    def _has_many_clusters(self):
        """Whether machines start from k-means: with so many clusters, other starts fail."""
        return self.n_clusters > FEW_CLUSTERS

    def _extended_problem(self, X, sample_weight, kernel, rng):
        """All samples, with the problem of few of them and of some more."""
        few = max(PART_SAMPLES, PART_SAMPLES_PER_CLUSTER * self.n_clusters)
        more = max(SETTLING_SAMPLES, SETTLING_SAMPLES_PER_CLUSTER * self.n_clusters)
        if self._has_many_clusters:
            few, more = LANDMARK_SAMPLES, max(SETTLING_SAMPLES_PER_CLUSTER * FEW_CLUSTERS, few)
        rows, row_weight = sample_rows(X, sample_weight, size=few, rng=rng)
        kernel = kernel.resolved(rows, row_weight)
        found, settling = (
            {"samples": rows, "rows": rows, "row_weight": weight, "sample_weight": weight}
            for rows, weight in (
                (rows, row_weight),
                sample_rows(X, sample_weight, size=more, rng=rng),
            )
        )
        basis, space, feature_map = self._basis(
            rows, kernel, {"rows": rows, "row_weight": row_weight}, rng
        )
        part = MarginProblem.of(
            X=space, basis=basis, kernel=kernel, feature_map=feature_map, **found
        ).check_varies()
        if not isinstance(basis, FeatureBasis):
            tol = LANDMARK_TOL if rows.dtype == np.float64 else 1e-4
            feature_map = kernel.low_rank_map(rows, max_rank=self.n_components, tol=tol)
        basis = FeatureBasis.of(
            settling["rows"], settling["rows"], settling["row_weight"], feature_map
        )
        return ExtendedProblem(
            X=X,
            sample_weight=sample_weight,
            part=part,
            settling=MarginProblem.of(
                X=basis.Z, basis=basis, kernel=kernel, feature_map=feature_map, **settling
            ),
        )

    def _check_balance(self, X, sample_weight):
        """Refuse a band that no whole number of samples meets."""
        if self._has_bounds:  # which come first
            return
        if sample_weight is None and (self.n_clusters == 2 or self._bisects):
            check_halves(self.balance, X.shape[0])

    def _basis(self, X, kernel, drawn, rng):
        """What ridge regression runs on, and the features of boundaries with their map."""
        if kernel.is_linear and self._has_few_features(X):
            return FeatureBasis.of(X, **drawn), X, None
        low_rank_map = self._low_rank_map(X, kernel, drawn, rng)
        if low_rank_map is None:
            return self._kernel_basis(X, kernel)
        if kernel.is_linear:
            to_normals = low_rank_map.to_normals
            basis = FeatureBasis.of(X, **drawn, feature_map=low_rank_map, to_coef=to_normals)
            return basis, X, None
        basis = FeatureBasis.of(X, **drawn, feature_map=low_rank_map)
        return basis, basis.Z, low_rank_map

    def _has_few_features(self, X):
        """Whether the features of X itself serve the linear kernel."""
        if self.low_rank not in ("auto", "none"):
            return False
        n_samples, n_features = X.shape
        if not (sp.issparse(X) or isinstance(X, np.ndarray)):
            return True
        return n_features <= n_samples and (n_features <= WIDE or self.low_rank == "none")

    def _low_rank_map(self, X, kernel, drawn, rng):
        """Map of samples to the features of the kernel; None asks for its whole matrix."""
        n_samples, (rows, row_weight) = X.shape[0], drawn.values()
        tol = KERNEL_TOL if rows.dtype == np.float64 else 1e-6  # the accuracy of single precision
        if self.low_rank == "none":
            return None
        if kernel.is_precomputed:
            rows = X = to_numpy(X)
        elif self.low_rank == "nystroem":
            rows, _ = sample_rows(rows, row_weight, size=self.n_components, rng=rng)
        elif rows.shape[0] > SAMPLE_SIZE:
            rows, _ = sample_rows(rows, row_weight, size=SAMPLE_SIZE, rng=rng)
        in_memory = isinstance(X, np.ndarray) or sp.issparse(X)
        if self.low_rank == "auto" and n_samples <= FULL_KERNEL_SAMPLES and in_memory:
            # a few columns show whether few features are enough
            few = min(self.n_components, n_samples // 10)
            found = (
                kernel.low_rank_map(rows, max_rank=few, tol=tol, complete=True) if few else None
            )
        else:
            found = kernel.low_rank_map(rows, max_rank=self.n_components, tol=tol)
        return found if found is not None and found.rank else None

    def _kernel_basis(self, X, kernel):
        if is_lazy(X):
            raise ValueError(
                f"low_rank={self.low_rank!r} asks for the kernel matrix of all {X.shape[0]} "
                "samples of a dask array; use low_rank='cholesky' or 'nystroem'."
            )
        check_fits_memory(X.shape[0], remedy="use low_rank='cholesky' or 'nystroem'")
        return KernelBasis.of(to_numpy(X), kernel)

    def _n_tasks(self):
        return self.n_init

    def _solve(self, problem, progress, rng):
        extends = isinstance(problem, ExtendedProblem)
        limits = {"progress": progress, "max_subtasks": None if self._bisects else self.max_iter}
        if extends and self._has_many_clusters:
            return best_of_starts(
                lambda restart, task: self._extended(
                    problem, self._start_of_many(problem, restart, rng), self.max_iter, task
                ),
                self.n_init,
                **limits,
            )
        part = problem.part if extends else problem
        best = best_of_starts(
            lambda restart, task: self._solve_once(part, restart, task, rng),
            self.n_init,
            **limits,
        )
        if not extends:
            return best
        labels = problem.first_labels(to_numpy(best.labels), best.model.code, self.C)
        return self._extended(problem, labels, SETTLING_UPDATES, Progress(), found=best)

    def _start_of_many(self, problem, restart, rng):
        """Labels that machines settle from, without a part to find better ones on."""
        settling, init = problem.settling, "k-means" if self.init == "auto" else self.init
        limits = {"restart": restart, "rng": rng, "n_init": 10}
        start = start_of(init, settling, self.n_clusters, **limits)
        return labels_of_start(start, settling, self.n_clusters)

    def _extended(self, problem, labels, max_iter, progress, found=None):
        """Machines of all samples, from labels of those that machines settle on."""
        return extend_margin(
            problem,
            labels,
            n_clusters=self.n_clusters,
            loss=self.loss,
            epsilon=self.epsilon,
            balance=self.balance,
            sizes=self._sizes_in_bounds(problem.X.shape[0]),
            C=self.C,
            max_iter=max_iter,
            tol=self.tol,
            progress=progress,
            found=found,
        )

    def _solve_once(self, problem, restart, progress, rng):
        if not self._bisects:
            return self._alternate(problem, self.n_clusters, restart, progress, rng)
        return bisect(
            problem,
            lambda part, task: self._alternate(part, 2, restart, task, rng),
            self.n_clusters,
            progress=progress,
            rng=rng,
        )

    def _alternate(self, problem, n_clusters, restart, progress, rng):
        path = [float(self.C)]
        if self.C_path > 1:
            path = np.geomspace(PATH_START * self.C, self.C, self.C_path).tolist()
        parameters = {
            "n_clusters": n_clusters,
            "epsilon": self.epsilon,
            "balance": self.balance,
            "sizes": self._sizes_in_bounds(problem.X.shape[0]),
            "max_iter": self.max_iter,
            "tol": self.tol,
        }

        def solve(part, start, progress, *, path):
            # threads of BLAS only wait for each other on small problems
            run = one_blas_thread(solve_margin) if part.is_small else solve_margin
            resumed = isinstance(start, SolverResult)
            return run(
                part,
                loss=self.loss,
                path=path[-1:] if resumed else path,
                progress=progress,
                machines=start.details[0].machines if resumed else None,
                labels=None if resumed else labels_of_start(start, part, n_clusters),
                **parameters,
            )

        def from_start(init, path, progress):
            return solve_from_start(
                problem,
                partial(solve, path=path),
                init,
                n_clusters,
                restart=restart,
                progress=progress,
                rng=rng,
                n_init=10,
                resume=lambda rough: rough,
            )

        if not (isinstance(self.init, str) and self.init == "auto"):
            return from_start(self.init, path, progress)
        taught = problem.known_start(n_clusters) if restart == 0 else None
        if taught is not None:  # the first values of C would undo the labels found so far
            return from_start(taught, path[-1:], progress)
        if problem.links is not None or n_clusters > MOST_SCREENED_CLUSTERS:
            return from_start("k-means", path, progress)
        screened = screened_start(problem, restart, rng, loss=self.loss, path=path, **parameters)
        if screened.is_whole:  # it has passed the other values of C already
            return from_start(screened.rule, path[-1:], progress)
        other = from_start(screened.rule, path[-1:], Progress())
        usual = from_start("k-means", path, progress)
        return other if is_clearly_better(other, usual) else usual

    def _attributes(self, problem, result, order):
        reached = [rule.reached for rule in result.details]
        return {"boundary_objective_": float(np.mean(reached)) if reached else np.nan}

    def _attributes_without_solution(self):
        return {"boundary_objective_": np.nan}


# --- the start ----------------------------------------------------------------------------------


@one_blas_thread
def screened_start(problem, restart, rng, *, loss, path, n_clusters, max_iter, **parameters):
    """Rule of the start that leads to the best result on some hundred samples.

    k-means is kept unless another start ends at less than half of its objective: where samples
    overlap, a slightly lower objective does not mean better clusters.

    The other starts follow the path of C together, and starts that reach the same labels continue
    as one. At the first, smallest C every loss pulls at nearly all samples alike, so the square
    loss, which is one ridge regression, replaces the others there.

    Parameters
    ----------
    problem : MarginProblem
        The data.
    restart : int
        Number of the start; the first one by k-means is deterministic.
    rng : RandomState
        Draws samples and random starts.
    loss, path, n_clusters, max_iter, **parameters
        As for `solve_margin`.

    Returns
    -------
    start : ScreenedStart
    """
    part = problem.screened(SCREENED_SAMPLES, rng)
    parameters |= {"n_clusters": n_clusters, "progress": Progress()}

    def start(init):
        found = start_of(init, part, n_clusters, restart=restart, rng=rng, n_init=10)
        return labels_of_start(found, part, n_clusters)

    def follow(labellings, loss, C, max_iter):
        """Where labellings lead, and only the first of those that become equal."""
        met: dict[bytes, SolverResult] = {}
        for labels in labellings:
            result = solve_margin(
                part, labels=labels, loss=loss, path=[C], max_iter=max_iter, **parameters
            )
            met.setdefault(numbered(result.labels).tobytes(), result)
        return list(met.values())

    # 1) k-means, with the loss itself
    labels = start("k-means")
    first = solve_margin(
        part, labels=labels, loss=loss, path=path, max_iter=max_iter, **parameters
    )
    # 2) the others from one C to the next, unless they meet k-means at once
    others = [start(init) for init in ["spectral"] + ["random"] * N_RANDOM_STARTS]
    for level, C in enumerate(path[:-1]):
        most = min(max_iter, PATH_UPDATES)
        if level == 0:
            results = follow([labels, *others], "square", C, most)[1:]
        else:
            results = follow(others, loss, C, most)
        others = [result.labels for result in results]
    # 3) the best
    best = min(
        follow(others, loss, path[-1], max_iter),
        key=lambda result: (result.status is Status.DEGENERATE, result.objective),
        default=first,
    )
    best = best if is_clearly_better(best, first) else first
    return ScreenedStart(part.completed(best.model), part.X.shape[0] < SCREENED_SAMPLES)


@dataclass(frozen=True)
class ScreenedStart:
    """A rule whose ``labels(X)`` are those of samples, and whether it was found on all of them."""

    rule: Any
    is_whole: bool


def is_clearly_better(result, other):
    """Whether a result has all clusters, and another has not or has twice the objective."""
    if Status.DEGENERATE in (result.status, other.status):
        return result.status is not Status.DEGENERATE
    return result.objective < CLEARLY * other.objective


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
    machines=None,
    sizes=None,
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
    can cycle or wander without gain, which is detected here.

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
    machines : list of RidgeModel, default=None
        Fitted machines to start from, instead of labels.
    sizes : Sizes, default=None
        Counts that clusters of all samples may have, instead of `balance`.

    Returns
    -------
    result : SolverResult
        With the `Rule` as its details.
    """
    ridge, links, present = problem.ridge, problem.links, problem.present
    weight = problem.sample_weight if present is None else problem.sample_weight[present]
    code = one_vs_rest_code(n_clusters)
    solvers = machines_of(ridge, len(code), loss=loss, epsilon=epsilon)
    if links is not None and present is not None:
        links = links.restricted(present)
    update = LabelUpdate(weight, n_clusters, loss=loss, balance=balance, links=links, sizes=sizes)
    # 0) label all rows by the start
    if machines is not None:
        labels = update(
            [solver.resume(model) for solver, model in zip(solvers, machines, strict=True)]
        ).labels
    else:
        labels = labels if present is None else labels[present]
        if sizes is not None:  # each cluster has bounds of its own
            labels = numbered_within(labels, sizes.scaled(labels.shape[0]))
    level, trace = 0, Trace(tol)
    rule: Any = None
    rules: list[Rule] = []
    iterations = progress.iterations(max_iter)
    for _ in iterations:
        at_end = level == len(path) - 1
        # 1) machines of the labels, which show how good the rule was that gave them
        fits = fit_all(solvers, sign_columns(labels, code, ridge.dtype), path[level])
        objective = float(sum(fit.objective for fit in fits))
        if at_end and rule is not None:
            rules.append(replace(rule, objective=objective))
        # 2) labels of the machines
        step = update([fit.fitted for fit in fits])
        machines = [fit.model for fit in fits]
        normals, offsets = zip(*(ridge.boundary(model) for model in machines), strict=True)
        boundaries = Boundaries(np.array(normals), np.array(offsets) + step.shifts, code)
        rule = Rule(boundaries, machines, step.within, path[level], objective)
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
    # of all samples, including those without weight
    scores = map_rows(rule.boundaries.scores, problem.X, width=rule.boundaries.width)
    values = [scores] if n_clusters == 2 else [scores[:, i] for i in range(n_clusters)]
    labels = decoded(scores)
    objective = rule.objective
    if problem.links is not None:
        labels = linked(problem, values, n_clusters, loss=loss, balance=balance)
    elif sizes is not None:
        labels = labels_within(scores, n_clusters, sizes)
        seen = labels if present is None else labels[present]
        fits = fit_all(solvers, sign_columns(seen, code, ridge.dtype), rule.C)
        objective = float(sum(fit.objective for fit in fits))
    labelling = Labelling(labels, n_clusters, problem.sample_weight)
    reached = sum(
        objective_of(
            f,
            signs_of(labels, side, ridge.dtype),
            problem.taught_weight,
            norm=model.norm,
            C=rule.C,
            loss=loss,
            epsilon=epsilon,
        )
        for f, side, model in zip(values, code, rule.machines, strict=True)
    )
    status = iterations.status
    if labelling.empty.any():
        status = Status.DEGENERATE
    elif not rule.within and status.is_silent:
        status = Status.UNBALANCED
    return SolverResult(
        labelling,
        rule.boundaries,
        objective=objective,
        history=iterations.history,
        status=status,
        details=[replace(rule, reached=reached)],
        keeps_labels=problem.links is not None or sizes is not None,
    )


def numbered_within(labels, sizes):
    """Labels with the numbers of clusters by which they are nearest to sizes."""
    labelling = Labelling(labels, len(sizes.least))
    return renumbered(labels, order_within(labelling.order, labelling.weights, *sizes.bounds))


def labels_within(scores, n_clusters, sizes):
    """Labels of the largest total score, with sizes in proportion to those of all samples."""
    from separatrix.labels.bounded import bounded_labels  # which loads numba

    columns, sizes = to_numpy(score_features(scores, n_clusters)), sizes.scaled(scores.shape[0])
    return like(bounded_labels(columns, *sizes.bounds), scores)


def extend_margin(
    problem,
    labels,
    *,
    n_clusters,
    loss,
    epsilon,
    balance,
    C,
    max_iter,
    tol,
    progress,
    found=None,
    sizes=None,
):
    """Machines of all samples, from labels of some thousand of them.

    Machines of the square loss settle on these. They label all samples, and what is returned are
    the machines of those labels, with the offsets that keep all samples in balance.

    Parameters
    ----------
    problem : ExtendedProblem
        The data.
    labels : ndarray of shape (n_settling,)
        Labels of the samples that machines settle on.
    n_clusters, loss, epsilon, balance, C, max_iter, tol, progress, sizes
        As for `solve_margin`.
    found : SolverResult, default=None
        Where the labels come from, whose status and history the result has; None if they are a
        mere start.

    Returns
    -------
    result : SolverResult
        With the `Rule` as its details.
    """
    code = one_vs_rest_code(n_clusters)
    # 1) some samples
    settled = solve_margin(
        problem.settling,
        n_clusters=n_clusters,
        loss="square",
        epsilon=epsilon,
        balance=balance,
        sizes=sizes,
        path=[C],
        max_iter=max_iter,
        tol=tol,
        progress=progress,
        labels=labels,
    )
    # 2) all samples
    machines = problem.machines_of_all(settled.model, C)
    rule = replace(machines.boundaries, feature_map=problem.landmarks)
    scores = map_rows(rule.scores, problem.X, width=rule.width)
    columns = [scores] if n_clusters == 2 else [scores[:, i] for i in range(n_clusters)]
    # 3) their balance
    update = LabelUpdate(
        problem.sample_weight, n_clusters, loss=loss, balance=balance, sizes=sizes
    )
    step = update(columns)
    rule = replace(rule, intercept=rule.intercept + step.shifts)
    reached = sum(
        objective_of(
            column + float(shift),
            signs_of(step.labels, side, scores.dtype),
            problem.sample_weight,
            norm=float(norm),
            C=C,
            loss=loss,
            epsilon=epsilon,
        )
        for column, shift, side, norm in zip(
            columns, step.shifts, code, machines.norms, strict=True
        )
    )
    labelling = Labelling(step.labels, n_clusters, problem.sample_weight)
    found = settled if found is None else found
    status = found.status
    if labelling.empty.any():
        status = Status.DEGENERATE
    elif not step.within and status.is_silent:
        status = Status.UNBALANCED
    return SolverResult(
        labelling,
        rule,
        objective=reached,
        history=found.history,
        status=status,
        details=[Rule(rule, [], step.within, C, reached, reached)],
        keeps_labels=sizes is not None or not is_lazy(problem.X),
    )


@dataclass(frozen=True)
class Rule:
    """Boundaries and their machines, for a value of C.

    `objective` is that of the machines of the labels that the boundaries give; `reached` is that
    of the boundaries themselves, whose offsets keep the balance.
    """

    boundaries: Boundaries
    machines: list
    within: bool
    C: float
    objective: float
    reached: float = np.nan


class Trace:
    """Record of the updates at one C, which shows when to stop."""

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
