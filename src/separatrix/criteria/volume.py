"""Maximum volume clustering with soft labels: confident responses on a graph."""

from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from sklearn.utils.validation import check_is_fitted

from separatrix._sklearn import (
    Interval,
    StrOptions,
    like,
    namespace_of,
    one_blas_thread,
    to_numpy,
)
from separatrix._typing import Array, ArrayLike
from separatrix.data.rows import check_fits_memory
from separatrix.estimators.base import (
    GraphClustering,
    fit_with_node_weights_and_links,
    similarities_of,
)
from separatrix.estimators.parameters import (
    GRAPH,
    N_CLUSTERS,
    OUTLIERS,
    POSITIVE,
    SIZE_BOUNDS,
    UPDATES,
    WARM_START,
)
from separatrix.models.graph_responses import GraphModel, GraphProblem, TwoSided, signs_of
from separatrix.result import Progress, SolverResult, Status
from separatrix.similarity.graphs import GivenGraph
from separatrix.similarity.kernels import double_centred, resolved_gamma
from separatrix.similarity.landmarks import LandmarkGraph
from separatrix.similarity.quadratic_forms import (
    DENSE_SAMPLES,
    LOW_VECTORS,
    MATRICES,
    ONE_THREAD_ROWS,
    LowSpectrum,
    resolved_rho,
)
from separatrix.solvers.bisection import bisect, normalized_cut
from separatrix.solvers.orthogonal_responses import solve_orthogonal
from separatrix.solvers.responses import (
    PAPER_STARTS,
    DenseResponder,
    responder_of,
    starts_near_second,
)
from separatrix.solvers.volume_sqp import solve_sqp
from separatrix.stability import (
    ErrorBound,
    Stability,
    clustering_error_bound,
    finite_sample_stability,
)

__all__ = ["MaximumVolumeClustering", "limit_matrix", "solve_sphere"]
# Eigenvectors beyond the number of clusters that responses to all of them are made of, at most.
SPARE_VECTORS = 20
# Beyond this many samples only the most promising start is followed.
MANY_NODES = 5_000
# Most updates of each of several starts on a graph, where they cost little.
UPDATES_OF_STARTS = 300


class MaximumVolumeClustering(GraphClustering):
    """Clusters of any shape, by responses that are confident and smooth on a similarity graph.

    Every sample gets a soft response; its sign is the cluster, its size the confidence. Of all
    responses of length one, the method looks for those that are large throughout and change little
    between similar samples: the paper [1]_ derives both from the volume of a cluster's hypotheses
    in a space shaped by the graph. Spectral clustering is the limit of a large `reg`, where only
    smoothness counts.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
    matrix : {"normalized", "unnormalized", "similarity", "dissimilarity", "precomputed"}, \
            default="normalized"
        The paper's Q, made of the similarities W: the normalised Laplacian plus I/n; the plain
        Laplacian plus a little I; W + I/n, which suits hard labels but otherwise separates similar
        samples; nI - W; or X itself, any symmetric matrix.
    affinity : {"local", "rbf", "cosine", "precomputed"}, default="local"
        Similarity of two samples. "local" is Gaussian, with the distance to the `n_neighbors`-th
        neighbour as the width at each sample; "rbf" is Gaussian of one width. "cosine" is the
        cosine, and "precomputed" takes X itself, a dense or sparse matrix of similarities.
    graph : {"union", "mutual", "full"}, default="union"
        Which samples are connected: those of which one is among the other's nearest neighbours
        ("union"), those where this holds both ways ("mutual"), or all ("full"), in a dense matrix.
    n_neighbors : int, default=10
        Number of neighbours.
    gamma : float, {"scale", "mean", "median"} or tuple, default=("mean", 0.5)
        Kernel coefficient: a number, or 1 / width**2 by a rule. "mean" takes the mean distance of
        two samples as the width, "median" the median distance, ("mean", 0.5) half of the mean
        distance; "scale" is 1 / (n_features * X.var()). For `affinity="rbf"`.
    neighbors : {"auto", "exact", "approximate"}, default="auto"
        How neighbours are searched: all of them are found ("exact"), or most, much faster, by
        random trees and neighbours of neighbours ("approximate"). "auto" is approximate beyond
        10,000 samples of more than 6 features.
    reg : float, "auto" or tuple, default="auto"
        Weight of the regularisation. It weighs smoothness, the paper's gamma. "auto" is 2 sqrt(n)
        over the distance from the first to the ninth nontrivial eigenvalue of the matrix, ("auto",
        0.5) a quarter of that.
    response_bound : float, "auto" or None, default="auto"
        Largest absolute sum of all responses to two clusters, the paper's b, which keeps both in
        use; None sets no bound, and "auto" is zero. Responses to more clusters at once have no
        such sum: there a number asks for repeated splits, in each of which it holds.
    solver : {"sphere", "sqp"}, default="sphere"
        Algorithm that looks for the solution. "sphere" optimises signs and responses in turn, so
        the objective never rises; "sqp" is the paper's Algorithm 1 from the paper's starts, the
        eigenvectors whose eigenvalues lie within 1e-4 of the second, which stops when its
        multiplier leaves its range. Both find two clusters.
    multiway : {"auto", "orthogonal", "bisection"}, default="auto"
        How more than two clusters are separated. By responses to all of them at once, in
        orthogonal columns ("orthogonal"), or by repeated splits in two, each time the one of the
        smallest normalised cut ("bisection"). "auto" is orthogonal, except for `solver="sqp"` and
        for a number as `response_bound`, which are defined for two clusters.
    n_combinations : int, default=30
        Number of random combinations of the first nine eigenvectors that serve as starts, in
        addition to the eigenvectors themselves. The best objective is kept.
    max_iter : int, default=100
        Largest number of updates of the labels from one start.
    tol : float, default=1e-4
        Stop when an update changes the clusters of at most this share of the samples; zero asks
        for an exact fixed point.
    n_jobs : int or None, default=None
        Number of jobs that run at the same time, as in joblib. They search for neighbours.
    min_size : int, float or array-like of shape (n_clusters,), default=None
        Smallest number of samples in each cluster. A whole number, or a share of the samples if it
        is below 1, for all clusters or one for each; None sets no bound. `labels_` and `assign`
        keep the bounds exactly; `predict` need not.
    max_size : int, float or array-like of shape (n_clusters,), default=None
        Largest number of samples in each cluster, given like `min_size`.
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
    labels_ : ndarray of shape (n_samples,)
        Cluster of each sample, the largest cluster first.
    response_ : ndarray of shape (n_samples,) or (n_samples, n_clusters)
        Soft responses, `decision_function` of the training data: for two clusters positive in
        cluster 1, otherwise largest in the sample's own cluster, and minus infinity for a cluster
        that was never split off.
    affinity_matrix_ : ndarray or CSR of shape (n_distinct, n_distinct)
        Similarities of the distinct samples, in the order in which they come first, and summed
        over equal ones; not set for a precomputed matrix, for one cluster, or where there are
        fewer distinct samples than clusters.
    reg_ : float
        Weight of the regularisation that was used; nan if none was.
    objective_ : float
        ``-2 * abs(h).sum() + reg_ * h @ Q @ h`` for two clusters: smaller is better. It is nan for
        one cluster, or for fewer distinct samples than clusters.
    history_ : list of float
        Objective at each iteration. The objective is the best of all starts, which run side by
        side; for `solver="sqp"`, and for several clusters at once, an iteration is a start.
    gamma_ : float
        Kernel coefficient that was used; nan for kernels without one, or if none was used.
    n_iter_ : int
        Iterations, the length of `history_`.
    outlier_scores_ : array of shape (n_samples,)
        Distance of each sample from those of clusters, in units of the usual distance within the
        nearest cluster; infinite where all samples of that cluster are equal. Only if `outliers`
        is not None.
    representatives_ : ndarray of shape (n_representatives,)
        Indices of the samples that were clustered, at most 5,000; other attributes belong to them,
        the largest cluster is the largest among them, and `labels_` of all samples are those of
        `predict`. Only for dask arrays and `RowBlocks`.
    landmarks_ : ndarray of shape (n_landmarks, n_features)
        Points that stand for all samples, 2,000 to 5,000 of them, in place of `representatives_`
        for more than 5,000 samples, unless all pairs have similarities. Other attributes belong
        to them, and the largest cluster is that of the largest share of the samples.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where X has them.

    See Also
    --------
    sklearn.cluster.SpectralClustering : The limit of smoothness alone.
    MaximumMarginClustering : Clusters on the two sides of a machine's boundary.

    Notes
    -----
    Up to 1,500 samples, and for dense graphs, one eigendecomposition serves all starts and
    iterations. Beyond, sparse graphs are solved by multigrid, without any dense matrix. A graph
    in several parts is joined there by very weak links; samples that are not similar to any other
    cannot be separated, and a warning says so.

    Beyond 5,000 samples only the most promising start is followed, and the loop also ends when an
    update improves the objective by no more than `tol` times its value.

    More than 5,000 samples that are not in memory (dask arrays, `RowBlocks`) divide themselves
    among landmarks, unless ``graph="full"``: each sample among its ``n_neighbors / 2`` nearest
    ones, at least two, in proportion to similarities. Landmarks are as similar as the samples that
    they share make them, `separatrix.similarity.landmarks.LandmarkGraph`, and the criterion is
    that of the parts of samples that lie at landmarks. So ``h @ Q @ h`` measures how much the
    responses of a sample's landmarks differ, and the sum of responses is that of all samples. A
    sample, new or not, has the mean response of its landmarks. All sums of similarities are equal
    then, so that "normalized" and "unnormalized" differ by a multiple of I alone.

    For arrays of PyTorch or CuPy, the graph, its eigenvectors and the updates stay on the device
    if there are more than 1,500 distinct samples, `affinity`, `graph`, `solver` and `multiway`
    have their defaults, and there are no weights or links. Neighbours are found there as on the
    host, all of them or, for many samples, most of them. Everything else is computed on the host.
    In both cases labels, responses and the sparse `affinity_matrix_` belong to the same library
    and device as the samples.

    The defaults depart from the paper. Its Algorithm 1 is ``solver="sqp"``, and its settings are
    ``reg=0.01``, ``response_bound=1 / n`` and starts from the eigenvectors nearest to the second;
    here the problem of Algorithm 1, (4) with the balance of (5), is solved by other updates, from
    more starts, with a `reg` that follows the graph and responses that sum to zero. The paper has
    two clusters only.

    The order of the rows does not matter, apart from rounding: where two starts are equally good,
    or eigenvalues of the matrix are equal, as in graphs that are symmetric or in many parts, other
    clusters of the same objective may be found.

    References
    ----------
    .. [1] G. Niu, B. Dai, L. Shang, M. Sugiyama, "Maximum volume clustering: a new discriminative
       clustering approach", Journal of Machine Learning Research 14, 2013, 2641-2687.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from separatrix import MaximumVolumeClustering
    >>> X, y = make_moons(200, noise=0.05, random_state=0)
    >>> model = MaximumVolumeClustering(n_clusters=2, random_state=0).fit(X)
    >>> int(min((model.labels_ != y).sum(), (model.labels_ == y).sum()))
    0
    >>> bool(model.predict([[0, 1]]) == model.predict([[1, -0.5]]))
    False
    """

    representatives_: Array
    landmarks_: Array
    response_: Array
    affinity_matrix_: Any
    reg_: float

    _parameter_constraints: dict = {
        **N_CLUSTERS,
        **GRAPH,
        **UPDATES,
        "matrix": [StrOptions({*MATRICES, "precomputed"})],
        "reg": [StrOptions({"auto"}), *POSITIVE, tuple],
        "response_bound": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left"), None],
        "solver": [StrOptions({"sphere", "sqp"})],
        "multiway": [StrOptions({"auto", "orthogonal", "bisection"})],
        "n_combinations": [Interval(Integral, 0, None, closed="left")],
        **SIZE_BOUNDS,
        **OUTLIERS,
        **WARM_START,
    }

    def __init__(
        self,
        n_clusters=2,
        *,
        matrix="normalized",
        affinity="local",
        graph="union",
        n_neighbors=10,
        gamma=("mean", 0.5),
        neighbors="auto",
        reg="auto",
        response_bound="auto",
        solver="sphere",
        multiway="auto",
        n_combinations=30,
        max_iter=100,
        tol=1e-4,
        n_jobs=None,
        min_size=None,
        max_size=None,
        outliers=None,
        warm_start=False,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.matrix = matrix
        self.affinity = affinity
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.gamma = gamma
        self.neighbors = neighbors
        self.reg = reg
        self.response_bound = response_bound
        self.solver = solver
        self.multiway = multiway
        self.n_combinations = n_combinations
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.min_size = min_size
        self.max_size = max_size
        self.outliers = outliers
        self.warm_start = warm_start
        self.random_state = random_state

    fit = fit_with_node_weights_and_links

    @property
    def _takes_start(self):
        is_split = self.n_clusters > 2 and self._resolved_multiway() == "bisection"
        return self.solver == "sphere" and not is_split

    def stability(self) -> Stability:
        """Whether the graph leaves the partition into two clusters ambiguous.

        It checks Section 5 of the paper: samples that are not similar to any other, equal
        eigenvalues, SI-symmetry up to 12 samples and, up to 60, mirror symmetries of the graph
        under which another partition is just as good.

        Returns
        -------
        stability : separatrix.stability.Stability
            Prints as plain sentences.
        """
        rule = self._two_sided("stability")
        return finite_sample_stability(rule.form.Q, to_numpy(rule.h))

    def error_bound(
        self, y_known: ArrayLike, known: ArrayLike, *, delta: float = 0.05, margin: float = 1.0
    ) -> ErrorBound:
        """Bound on the distance to the true partition, from some labels: Theorem 19 of the paper.

        Parameters
        ----------
        y_known : array-like of shape (n_known,)
            Labels of two classes.
        known : array-like of shape (n_known,)
            Indices of the samples that they belong to, chosen uniformly at random.
        delta : float, default=0.05
            Probability with which the bound may fail.
        margin : float, default=1.0
            Size of a response that counts as fully confident. The paper's value, one, gives a
            useless bound for responses of length one; ``1 / sqrt(n_samples)`` is their typical
            size.

        Returns
        -------
        bound : separatrix.stability.ErrorBound
            All terms, their sum, and whether the bound is of any use.
        """
        model = self._two_sided("error_bound")
        if isinstance(self._model.graph, LandmarkGraph):
            raise ValueError(
                f"error_bound needs responses of samples, but fit saw {len(self.landmarks_):,} "
                "landmarks of samples that were not in memory; fit samples in memory."
            )
        Q, eigenvalues = model.form.expanded(self._model.graph.place).Q, None
        if sp.issparse(Q):
            Q = Q.toarray() if Q.shape[0] <= DENSE_SAMPLES else None
        if Q is not None:
            eigenvalues = eigh(Q, eigvals_only=True)
            # a bound on the sum lets eta rise to where the spectrum gives no bound
            if model.eta >= model.reg * eigenvalues[0]:
                Q = eigenvalues = None
        return clustering_error_bound(
            to_numpy(self.response_),
            y_known,
            known,
            Q=Q,
            eigenvalues=eigenvalues,
            reg=model.reg,
            eta=model.eta,
            delta=delta,
            margin=margin,
        )

    def _two_sided(self, method):
        """The rule of two clusters, which `method` is about."""
        check_is_fitted(self)
        if self.n_clusters != 2:
            raise ValueError(
                f"{method} is defined for n_clusters=2 only; this estimator has {self.n_clusters}."
            )
        if not isinstance(self._model, GraphModel):
            raise ValueError(f"{method} needs 2 distinct samples, but the X of fit had 1.")
        return self._model.rule

    def _problem(self, X, sample_weight, links, progress, rng):
        resolved_rho(self.reg)
        multiway = self._resolved_multiway()
        if links is not None and (
            self.solver == "sqp" or (multiway == "bisection" and self.n_clusters > 2)
        ):
            raise ValueError(
                f"links need solver='sphere' and multiway='orthogonal', got solver="
                f"{self.solver!r} and multiway={multiway!r}, which keep no links."
            )
        if self.matrix not in ("normalized", "unnormalized") or self.solver == "sqp":
            check_fits_memory(
                X.shape[0],
                remedy="use a sparse graph, matrix='normalized' and solver='sphere'",
            )
        if self.matrix == "precomputed":
            graph = GivenGraph.of_matrix(to_numpy(X))
        elif self._landmarks is not None:
            graph = self._landmarks[self.n_neighbors]
        else:
            on_device = links is None and self._solves_on_device
            graph = similarities_of(self, X, sample_weight, on_device=on_device)
        return GraphProblem.of(graph, self.matrix, links, sample_weight)

    @property
    def _joins_landmarks(self):
        return self.graph != "full"

    def _landmark_choices(self, rows):
        """Arguments of `landmark_graphs`."""
        gamma = resolved_gamma(self.gamma, rows, None) if self.affinity == "rbf" else None
        return {
            "numbers": [self.n_neighbors],
            "affinity": self.affinity,
            "gamma": gamma,
            "neighbors": self.neighbors,
            "n_jobs": self.n_jobs,
        }

    @property
    def _solves_on_device(self):
        """Whether what is left after the graph is linear algebra that a device is good at."""
        splits = self.n_clusters > 2 and self._resolved_multiway() == "bisection"
        laplacian = self.matrix in ("normalized", "unnormalized")
        return laplacian and self.solver == "sphere" and not splits

    def _resolved_multiway(self):
        bounded = self.response_bound not in ("auto", None)
        if self.multiway == "auto":
            return "bisection" if self.solver == "sqp" or bounded else "orthogonal"
        if self.n_clusters > 2 and self.multiway == "orthogonal":
            if self.solver == "sqp":
                raise ValueError(
                    "solver='sqp' finds two clusters; use multiway='bisection' for n_clusters="
                    f"{self.n_clusters}."
                )
            if bounded:
                raise ValueError(
                    f"response_bound={self.response_bound!r} bounds the responses to two "
                    "clusters; use multiway='bisection', which keeps it in each split, or "
                    f"response_bound='auto' for n_clusters={self.n_clusters}."
                )
        return self.multiway

    @property
    def _resolved_bound(self):
        return 0.0 if self.response_bound == "auto" else self.response_bound

    def _solve(self, problem, progress, rng):
        small = problem.form.n_nodes <= ONE_THREAD_ROWS
        solve = one_blas_thread(self._solve_graph) if small else self._solve_graph
        result = solve(problem, progress, rng)
        if problem.nodes is None:
            return result
        return problem.nodes.kept(result, problem.completed(result.model).responses)

    def _solve_graph(self, problem, progress, rng):
        if self.n_clusters == 2:
            return self._split(problem, progress, rng)
        if self._resolved_multiway() == "bisection":
            seed = rng.randint(2**31 - 1)  # of every split, in whatever order they come
            return bisect(
                problem,
                lambda part, task: self._split(part, task, np.random.RandomState(seed)),
                self.n_clusters,
                progress=progress,
                rng=rng,
                cost=normalized_cut,
            )
        n_vectors = max(LOW_VECTORS, min(3 * self.n_clusters, self.n_clusters + SPARE_VECTORS))
        low = LowSpectrum.of(problem.form, n_vectors)
        return solve_orthogonal(
            low,
            self.n_clusters,
            reg=self._resolved_reg(low, problem.nodes),
            nodes=problem.nodes,
            n_random=self.n_combinations,
            max_iter=self.max_iter,
            tol=self.tol,
            progress=progress,
            rng=rng,
            start=self._start_of(problem),
        )

    def _start_of(self, problem):
        """Labels of the nodes that a fit starts from; None if it finds its own starts."""
        return None if self._start is None else problem.of_nodes(np.asarray(self._start))

    def _resolved_reg(self, low, nodes=None):
        rho = resolved_rho(self.reg)
        if rho is None:
            return float(self.reg)
        # the norm of the signs that responses should agree with: the square root of n
        length = low.form.n_samples**0.5
        if nodes is not None:
            length = float(np.linalg.norm(low.form.roots * nodes.pulls))
        return rho * length / low.scale

    def _split(self, problem, progress, rng):
        """Two clusters of the samples of a problem."""
        form, nodes = problem.form, problem.nodes
        responder = responder_of(form, self._resolved_bound, dense=self.solver == "sqp")
        reg = self._resolved_reg(responder, nodes)
        if self.solver == "sqp":
            return solve_sqp(
                responder,
                starts_near_second(responder.free, form),
                reg=reg,
                max_iter=self.max_iter,
                progress=progress,
            )
        start = self._start_of(problem) if self.n_clusters == 2 else None
        if start is None:
            signs = starting_signs(responder, self.n_combinations, reg, rng, nodes)
        else:
            signs = signs_of(like(start - 0.5, form.roots))[:, None]
        return solve_sphere(
            responder,
            signs,
            reg=reg,
            max_iter=self.max_iter,
            tol=self.tol,
            progress=progress,
            # the last samples would move slowly, with hardly any gain
            stall=self.tol if form.n_nodes > MANY_NODES else 0.0,
            nodes=nodes,
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        return tags

    def _n_tasks(self):
        if self.n_clusters > 2:
            bisects = self._resolved_multiway() == "bisection"
            return None if bisects else self.n_combinations + 2
        # those of Algorithm 1 are its starts
        return self.max_iter if self.solver == "sphere" else PAPER_STARTS


def limit_matrix(method, K, *, after=None):
    r"""Matrix Q with which a large `reg` turns maximum volume clustering into another method.

    See Section 4 of the paper. Pass it with ``matrix="precomputed"``. The fourth method of the
    section, unnormalised spectral clustering, is ``matrix="unnormalized"``.

    Parameters
    ----------
    method : {"kernel-k-means", "mutual-information"}
        :math:`\epsilon I - C K C` with the centring matrix C, whose limit is the relaxed kernel
        k-means, that is the first component of kernel PCA, and of PCA for :math:`K = X X^\top`;
        or :math:`\epsilon I - K^2`, whose limit is squared-loss mutual information clustering.
    K : array-like of shape (n_samples, n_samples)
        Kernel matrix.
    after : array-like of shape (n_samples,), default=None
        Responses that are kept out: the second ones of mutual information clustering are
        orthogonal to the first.

    Returns
    -------
    Q : ndarray of shape (n_samples, n_samples)
        Positive definite.
    """
    K = np.asarray(K, dtype=np.float64)
    if method == "kernel-k-means":
        M = double_centred(K)
    elif method == "mutual-information":
        M = K @ K
    else:
        raise ValueError(
            f"method={method!r} must be 'kernel-k-means' or 'mutual-information'; for spectral "
            "clustering use matrix='unnormalized'."
        )
    size = 1.1 * np.abs(M).sum(axis=1).max()
    Q = size * np.eye(len(M)) - (M + M.T) / 2
    if after is not None:
        kept_out = np.asarray(after, dtype=np.float64) / np.linalg.norm(after)
        Q += 4 * size * np.outer(kept_out, kept_out)
    return Q


# --- the drivers --------------------------------------------------------------------------------


def starting_signs(responder, n_random, reg, rng, nodes=None):
    """Signs of eigenvectors and combinations of them; on a graph the best of all alone.

    There, promising starts are improved first, or on a large graph the most promising one is
    taken as it is. Where both clusters have known labels, the responses to these alone are a
    start, and on a graph the only one.
    """
    taught = None
    if nodes is not None and nodes.links.teaches_all:
        known = nodes.pulls[:, None] * (nodes.known @ [[-1.0], [1.0]])
        taught = signs_of(responder.respond(known, reg).h)
    if isinstance(responder, DenseResponder):
        found = responder.candidates(n_random, reg, rng)
        return found if taught is None else np.hstack([taught, found])
    if taught is not None:
        return taught
    starts = responder.candidates(n_random, reg, rng)
    if responder.form.n_nodes > MANY_NODES:
        return starts[:, :1]
    found = [
        solve_sphere(responder, start, reg=reg, max_iter=UPDATES_OF_STARTS, progress=Progress())
        for start in (starts[:, place : place + 1] for place in range(starts.shape[1]))
    ]
    best = min(found, key=lambda result: result.objective)
    return signs_of(best.model.h)[:, None]


def solve_sphere(responder, signs, *, reg, max_iter, progress, tol=0.0, stall=0.0, nodes=None):
    r"""Improve signs and responses in turn, from all starts.

    .. math:: \min_h \; -2 \|h\|_1 + \gamma h^\top Q h
              \quad \text{s.t.} \quad \|h\|_2 = 1, \; |1^\top h| \le b

    Problem (4) of the paper with the balance of (5); :math:`\gamma` is `reg`. The paper considers
    the concave-convex procedure inapplicable because of the sphere. But for given signs
    :math:`\|h\|_1` is linear, and what is left, a quadratic function on a sphere, has its global
    minimum by a secular equation, as (26) has. So each update is exact, and the objective never
    rises.

    Parameters
    ----------
    responder : DenseResponder or GraphResponder
        Finds the best responses to given signs.
    signs : ndarray of shape (n_samples, n_starts)
        Starting signs.
    reg : float
        Weight of smoothness.
    max_iter : int
        Most updates.
    progress : Progress
        Where the loop counter comes from.
    tol : float, default=0.0
        Share of the signs that may still change at the end.
    stall : float, default=0.0
        Share of the objective; updates that gain no more than that are the last.
    nodes : LinkedNodes, default=None
        Links between nodes. Signs are then those that keep the links and agree best with the
        responses, which is exact, too, and those of known labels count more.

    Returns
    -------
    result : SolverResult
    """
    form, n_starts = responder.form, signs.shape[1]

    def settled(h):
        return signs_of(h) if nodes is None else nodes.signs(h, form.roots)

    h = signs = signs if nodes is None else settled(signs)
    eta, omega = np.empty(n_starts), np.empty(n_starts)
    objectives = np.full(n_starts, np.inf)
    moving = np.arange(n_starts)
    found = None
    iterations = progress.iterations(max_iter)
    for _ in iterations:
        # 1) responses to the signs
        old = _columns(signs, moving)
        found = responder.respond(old, reg, found)
        new = settled(found.h)
        reached = responder.objective(found.h, reg, new)
        # rounding and the tolerances of a responder may make the objective worse
        better = reached <= objectives[moving]
        improved = moving[better]
        if len(improved):
            h = _with_columns(h, improved, _columns(found.h, np.flatnonzero(better)))
        objectives[improved] = reached[better]
        eta[improved], omega[improved] = found.eta[better], found.omega[better]
        # 2) signs of the responses; starts whose signs stay are done
        moved = better & (_n_changed(form, new != old) > tol * form.n_samples)
        signs = _with_columns(signs, moving, new)
        moving = moving[moved]
        if n_starts > 1:
            found = None  # of other starts
        iterations.record(float(objectives.min()))
        if len(moving) == 0:
            iterations.status = Status.CONVERGED
            break
        if stall and has_stalled(iterations.history, stall):
            iterations.status = Status.STALLED
            break
    best = int(objectives.argmin())
    status = iterations.status
    if status is Status.MAX_ITER and best not in moving:
        status = Status.CONVERGED
    model = TwoSided(form, h[:, best], reg, float(eta[best]), float(omega[best]))
    return SolverResult.of_responses(
        model,
        objective=float(objectives[best]),
        history=iterations.history,
        status=status,
        counts=form.counts,
    )


def _columns(values, which):
    """Some columns of an array; on a device, where starts go one by one, the only one."""
    return values if len(which) == values.shape[1] else values[:, which]


def _with_columns(values, which, new):
    """The array with new values in some of its columns."""
    if len(which) == values.shape[1]:
        return new
    values[:, which] = new
    return values


def _n_changed(form, changed):
    """Numbers of samples whose signs changed."""
    if form.counts is None:
        return to_numpy(namespace_of(changed)[0].count_nonzero(changed, axis=0))
    return form.counts @ changed


def has_stalled(history, share):
    """Whether the last update gained no more than a share of the objective."""
    return len(history) > 1 and history[-2] - history[-1] <= share * abs(history[-1])
