"""Maximum volume clustering with soft labels: confident responses along the graph's long axes."""

import warnings
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh, qr, svd
from sklearn.utils.validation import check_is_fitted, validate_data

from separatrix._sklearn import Interval, StrOptions, fit_context, one_blas_thread
from separatrix.base import BaseClustering
from separatrix.chunks import is_dask
from separatrix.criteria.volume_models import Rotated, Split, Tree, TwoSided
from separatrix.features import GAMMA_CONSTRAINTS, resolved_gamma
from separatrix.forms import MATRICES, ONE_THREAD_ROWS, Form, form_of
from separatrix.graphs import KnownRows, check_similarity, similarity_graph
from separatrix.kernels import check_fits_memory, check_symmetric, double_centred
from separatrix.multiway import decoded
from separatrix.responders import (
    COARSE_NODES,
    DENSE_SAMPLES,
    LOW_VECTORS,
    PAPER_STARTS,
    DenseResponder,
    LowSpectrum,
    responder_of,
    signs_of,
    starts_near_second,
)
from separatrix.result import Progress, SolverResult, Status
from separatrix.stability import clustering_error_bound, finite_sample_stability

__all__ = [
    "MaximumVolumeClustering",
    "limit_matrix",
    "solve_orthogonal",
    "solve_sphere",
    "solve_sqp",
]

# reg="auto" is this times sqrt(n) over the distance from the first to the ninth nontrivial
# eigenvalue.
RHO = 2.0
# Most updates on a coarse graph, where they cost little.
COARSE_UPDATES = 300
# Change of responses and multiplier at which Algorithm 1 of the paper stops.
SQP_TOL = 1e-6


# --- the estimator ------------------------------------------------------------------------------


class VolumeGraphMixin:
    """From samples to the matrix Q: what the estimators of this criterion share."""

    matrix: str
    affinity: str
    graph: str
    n_neighbors: int
    gamma: Any
    neighbors: str
    reg: Any
    n_jobs: int | None

    _parameter_constraints: dict = {
        "matrix": [StrOptions({*MATRICES, "precomputed"})],
        "affinity": [StrOptions({"local", "rbf", "cosine", "precomputed"})],
        "graph": [StrOptions({"union", "mutual", "full"})],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "gamma": GAMMA_CONSTRAINTS,
        "neighbors": [StrOptions({"exact", "approximate"})],
        "reg": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither"), tuple],
        "n_jobs": [Integral, None],
    }

    @property
    def _precomputed(self):
        """Name of the parameter that says that X is no feature matrix, or None."""
        if self.matrix == "precomputed":
            return "matrix"
        return "affinity" if self.affinity == "precomputed" else None

    def _validate_X(self, X, *, reset):
        if is_dask(X):
            raise TypeError(
                f"{type(self).__name__} needs the whole graph in memory, got a dask array; pass "
                "X.compute(), or use MaximinSeparationClustering or MaximumMarginClustering."
            )
        dtype = np.float64 if self._precomputed else (np.float64, np.float32)
        X = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=dtype)
        if reset and self._precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"{self._precomputed}='precomputed' needs X to be a square matrix with a row and "
                f"a column per sample, got shape {X.shape}; use another {self._precomputed} for "
                "a feature matrix."
            )
        return X

    def _form(self, X):
        """The matrix Q of samples; keeps the graph for new ones."""
        if self._needs_dense_matrix():
            check_fits_memory(
                X.shape[0],
                remedy="use a sparse graph, matrix='normalized' and solver='sphere'",
            )
        self._graph = self._similarity_graph(X)
        return form_of(self._graph.W, self.matrix, self._graph.own)

    def _needs_dense_matrix(self):
        """Whether the solver cannot do without a matrix of all pairs of samples."""
        return self.matrix not in ("normalized", "unnormalized")

    def _similarity_graph(self, X):
        if self.matrix == "precomputed":
            return GivenGraph.of_matrix(X)
        if self.affinity == "precomputed":
            found = GivenGraph.of_similarities(X)
        else:
            gamma = resolved_gamma(self.gamma, X, None) if self.affinity == "rbf" else None
            found = similarity_graph(
                X,
                affinity=self.affinity,
                graph=self.graph,
                n_neighbors=self.n_neighbors,
                gamma=gamma,
                neighbors=self.neighbors,
                n_jobs=self.n_jobs,
            )
            self._check_varies(found)
        warn_of_isolated(found.W)
        return found

    def _check_varies(self, graph):
        """Refuse samples that are all equal."""
        if graph.known.are_equal:
            wanted = f"n_clusters={self.n_clusters}" if hasattr(self, "n_clusters") else "classes"
            raise ValueError(
                f"X has 1 distinct sample of {graph.W.shape[0]}, which no graph can part into "
                f"{wanted}; check that X holds the features."
            )

    def _resolved_rho(self):
        """The factor of an automatic `reg`; None if `reg` is a number."""
        if not isinstance(self.reg, tuple):
            return RHO if isinstance(self.reg, str) else None
        known = len(self.reg) == 2 and self.reg[0] == "auto"
        if not (known and isinstance(self.reg[1], Real) and 0 < float(self.reg[1]) < np.inf):
            raise ValueError(
                f"reg={self.reg!r} must be a positive number, 'auto' or ('auto', rho) with a "
                "positive number rho."
            )
        return float(self.reg[1])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._precomputed is not None
        return tags


class MaximumVolumeClustering(VolumeGraphMixin, BaseClustering):
    """Clusters of any shape, by responses that are confident and smooth on a similarity graph.

    Every sample gets a soft response; its sign is the cluster, its size the confidence. Among all
    responses of length one, those are sought that are large throughout, and that change little
    between similar samples: the paper [1]_ derives both from the volume of a cluster's hypotheses
    in a space shaped by the graph. Spectral clustering is the limit of a large `reg`, which looks
    at smoothness alone.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
    matrix : {"normalized", "unnormalized", "similarity", "dissimilarity", "precomputed"}, \
            default="normalized"
        The paper's Q, made of the similarities W: the normalised Laplacian plus I/n; the plain
        Laplacian plus a little I; W + I/n, which suits hard labels and parts similar samples here;
        nI - W; or X itself, any symmetric matrix.
    affinity : {"local", "rbf", "cosine", "precomputed"}, default="local"
        Similarity of two samples: Gaussian, with the distance to the `n_neighbors`-th neighbour
        as the width at each sample; Gaussian of one width; cosine; or X itself, a dense or sparse
        matrix of similarities.
    graph : {"union", "mutual", "full"}, default="union"
        Which samples are compared: those of which one is among the other's nearest neighbours,
        those where this holds both ways, or all, in a dense matrix.
    n_neighbors : int, default=10
        Number of neighbours.
    gamma : float, {"scale", "mean", "median"} or tuple, default=("mean", 0.5)
        Coefficient of the "rbf" similarity exp(-gamma * distance**2), as a number or 1 / width**2
        by a rule: ("mean", 0.5) takes half the mean distance of two samples as the width.
    neighbors : {"exact", "approximate"}, default="exact"
        Search for neighbours by scikit-learn, or by faiss for many samples of many features.
    reg : float, "auto" or tuple, default="auto"
        Weight of smoothness, the paper's gamma. "auto" is 2 sqrt(n) over the distance from the
        first to the ninth nontrivial eigenvalue of the matrix, ("auto", 0.5) a quarter of that.
    response_bound : float or None, default=0.0
        Largest absolute sum of all responses, the paper's b, which keeps both clusters at work;
        None leaves it free.
    solver : {"sphere", "sqp"}, default="sphere"
        Improve signs and responses in turn, each at best, so that the objective never rises; or
        the paper's Algorithm 1 from the paper's starts, the eigenvectors whose eigenvalues lie
        within 1e-4 of the second, which breaks off when its multiplier leaves its range. Both
        for two clusters.
    multiway : {"orthogonal", "bisection"}, default="orthogonal"
        For more than two clusters: responses to all of them at once, in orthogonal columns, or
        repeated splits in two.
    n_init : int, default=30
        Number of starts by random combinations of the nine first eigenvectors, beside these
        themselves. The best objective is kept.
    max_iter : int, default=100
        Most updates of the signs.
    tol : float, default=1e-4
        Stop when an update changes the clusters of at most this share of the samples; beyond
        5,000 samples also when it gains no more than this share of the objective.
    n_jobs : int or None, default=None
        Threads that search for neighbours.
    random_state : int, RandomState instance or None, default=None
        Draws the combinations; None draws the same ones each time.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each sample, the largest cluster first.
    response_ : ndarray of shape (n_samples,) or (n_samples, n_clusters)
        Soft responses, `decision_function` of the training data: for two clusters positive in
        cluster 1, otherwise largest in the sample's own cluster.
    affinity_matrix_ : ndarray or CSR of shape (n_samples, n_samples)
        Similarities; not there for a precomputed matrix.
    reg_ : float
        The weight of smoothness that was used.
    objective_ : float
        ``-2 * abs(h).sum() + reg_ * h @ Q @ h`` for two clusters: smaller is better.
    history_ : list of float
        Best objective after each iteration of all starts; after each start for `solver="sqp"` and
        for several clusters at once, where starts follow each other.
    n_iter_ : int
        Iterations of the slowest start, or the number of starts.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X has them.

    See Also
    --------
    sklearn.cluster.SpectralClustering : The limit of smoothness alone.
    MaximumMarginClustering : Clusters on the two sides of a machine's boundary.

    Notes
    -----
    Up to 1,500 samples, and for dense graphs, one eigendecomposition serves all starts and
    iterations. Beyond, sparse graphs are solved by multigrid, without any dense matrix. A graph
    in several parts is joined there by very weak links; samples without any similar one cannot be
    told apart, and a warning says so.

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

    _parameter_constraints: dict = {
        **BaseClustering._parameter_constraints,
        **VolumeGraphMixin._parameter_constraints,
        "response_bound": [Interval(Real, 0, None, closed="left"), None],
        "solver": [StrOptions({"sphere", "sqp"})],
        "multiway": [StrOptions({"orthogonal", "bisection"})],
    }
    _smaller_is_better = True
    _default_seed = 0

    def __init__(
        self,
        n_clusters=2,
        *,
        matrix="normalized",
        affinity="local",
        graph="union",
        n_neighbors=10,
        gamma=("mean", 0.5),
        neighbors="exact",
        reg="auto",
        response_bound=0.0,
        solver="sphere",
        multiway="orthogonal",
        n_init=30,
        max_iter=100,
        tol=1e-4,
        n_jobs=None,
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
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Find the clusters.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; or their similarities, or the matrix Q, where these are precomputed.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit(self._validate_X(X, reset=True))

    def predict(self, X):
        """Cluster of each sample: the sign of its response, or the largest of several.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; where similarities or Q are precomputed, those of the new samples, one a row,
            to the training samples.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Cluster numbers from 0.
        """
        return decoded(self.decision_function(X))

    def decision_function(self, X):
        """Soft responses of samples.

        A sample that equals one of the training data has its response. The response of any other
        is the one that the training samples' responses, held fixed, make optimal. A sample that
        is similar to none takes the response of the nearest.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; where similarities or Q are precomputed, those of the new samples, one a row,
            to the training samples.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_clusters)
            For two clusters one value, positive for cluster 1. Otherwise a column per cluster;
            the largest wins. All zero for one cluster.
        """
        check_is_fitted(self)
        X = self._validate_X(X, reset=False)
        if self.n_clusters == 1:
            return np.zeros(X.shape[0])
        return extended(self._graph, X, self.response_, self._model.to_new)

    def stability(self):
        """Whether the graph leaves the partition into two clusters undecided.

        Section 5 of the paper: samples without a similar one, equal eigenvalues, and, up to 60
        samples, mirror symmetries of the graph under which another partition is just as good.

        Returns
        -------
        stability : separatrix.stability.Stability
            Prints as plain sentences.
        """
        check_is_fitted(self)
        self._check_two_clusters("stability")
        return finite_sample_stability(self._model.form.Q, self.response_)

    def error_bound(self, y_known, known, *, delta=0.05, margin=1.0):
        """Bound on the distance to the true partition, from some labels: Theorem 19 of the paper.

        Parameters
        ----------
        y_known : array-like of shape (n_known,)
            Labels of two classes.
        known : array-like of shape (n_known,)
            Indices of samples, chosen uniformly at random, that they belong to.
        delta : float, default=0.05
            Probability with which the bound may fail.
        margin : float, default=1.0
            Size of a response that counts as fully confident. The paper has one, which says
            nothing for responses of length one; ``1 / sqrt(n_samples)`` is their typical size.

        Returns
        -------
        bound : separatrix.stability.ErrorBound
            All terms, their sum, and whether it says anything.
        """
        check_is_fitted(self)
        self._check_two_clusters("error_bound")
        model = self._model
        Q, eigenvalues = model.form.Q, None
        if sp.issparse(Q):
            Q = Q.toarray() if Q.shape[0] <= DENSE_SAMPLES else None
        if Q is not None:
            eigenvalues = eigh(Q, eigvals_only=True)
            # a bound on the sum lets eta rise to where the spectrum says nothing
            if model.eta >= model.reg * eigenvalues[0]:
                Q = eigenvalues = None
        return clustering_error_bound(
            self.response_,
            y_known,
            known,
            Q=Q,
            eigenvalues=eigenvalues,
            reg=model.reg,
            eta=model.eta,
            delta=delta,
            margin=margin,
        )

    def _check_two_clusters(self, method):
        if self.n_clusters != 2:
            raise ValueError(
                f"{method} is defined for n_clusters=2, this estimator has {self.n_clusters}."
            )

    def _needs_dense_matrix(self):
        return super()._needs_dense_matrix() or self.solver == "sqp"

    def _n_restarts(self):
        return 1  # starts share one batch

    def _prepare(self, X, sample_weight, progress, rng):
        self._resolved_rho()
        if self.n_clusters > 2 and self.solver == "sqp" and self.multiway == "orthogonal":
            raise ValueError(
                "solver='sqp' finds two clusters; use multiway='bisection' for n_clusters="
                f"{self.n_clusters}."
            )
        return VolumeProblem(self._form(X), X)

    def _fit_once(self, problem, restart, progress, rng):
        small = problem.form.n_samples <= ONE_THREAD_ROWS
        solve = one_blas_thread(self._solve) if small else self._solve
        return solve(problem, progress, rng)

    def _solve(self, problem, progress, rng):
        if self.n_clusters == 2:
            return self._split(problem.form, progress, rng)
        if self.multiway == "bisection":
            return bisect_graph(
                problem.form,
                lambda form, task: self._split(form, task, rng),
                self.n_clusters,
                progress=progress,
            )
        low = LowSpectrum.of(problem.form, max(LOW_VECTORS, 3 * self.n_clusters))
        return solve_orthogonal(
            low,
            self.n_clusters,
            reg=self._resolved_reg(low),
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
            progress=progress,
            rng=rng,
        )

    def _resolved_reg(self, low):
        rho = self._resolved_rho()
        return float(self.reg) if rho is None else rho * low.form.n_samples**0.5 / low.scale

    def _split(self, form, progress, rng):
        """Two clusters of the samples of a form."""
        responder = responder_of(form, self.response_bound, dense=self.solver == "sqp")
        reg = self._resolved_reg(responder)
        if self.solver == "sqp":
            return solve_sqp(
                responder,
                starts_near_second(responder.free),
                reg=reg,
                max_iter=self.max_iter,
                progress=progress,
            )
        return solve_sphere(
            responder,
            starting_signs(responder, self.n_init, reg, rng),
            reg=reg,
            max_iter=self.max_iter,
            tol=self.tol,
            progress=progress,
            # from a coarse answer the last samples would creep for long, for next to nothing
            stall=self.tol if form.n_samples > COARSE_NODES else 0.0,
        )

    def _subtasks_of_restart(self):
        if self.n_clusters > 2:
            return None if self.multiway == "bisection" else self.n_init + 1
        # those of Algorithm 1 are its starts
        return self.max_iter if self.solver == "sphere" else PAPER_STARTS

    def _labels_of(self, result, problem, order):
        return decoded(result.model.scores)

    def _model_attributes(self, model, X):
        if model is None:
            return {"_model": None, "response_": np.zeros(X.shape[0]), "reg_": np.nan}
        attributes = {"_model": model, "response_": model.scores, "reg_": model.reg}
        if self.matrix != "precomputed":
            attributes["affinity_matrix_"] = self._graph.W
        return attributes

    def _set_model(self, model, X):
        self.__dict__.pop("affinity_matrix_", None)  # of an earlier fit
        super()._set_model(model, X)

    def _one_cluster_model(self, X):
        return None


@dataclass(frozen=True)
class VolumeProblem:
    """What restarts share."""

    form: Form
    X: Any


def warn_of_isolated(W):
    """Warn of samples that no similarity tells anything about."""
    sums = np.asarray(W.sum(axis=1)).ravel() - W.diagonal()
    n_isolated = int((sums <= 0).sum())
    if n_isolated == W.shape[0]:
        raise ValueError(
            "all similarities between samples are zero, so nothing tells them apart; decrease "
            "gamma, increase n_neighbors or use another affinity."
        )
    if n_isolated:
        warnings.warn(
            f"{n_isolated} of {W.shape[0]} samples are similar to no other, so their clusters are "
            "arbitrary; decrease gamma, increase n_neighbors or use graph='union'.",
            UserWarning,
            stacklevel=8,
        )


@dataclass(frozen=True, eq=False)
class GivenGraph:
    """Similarities, or the matrix Q, that a user brought; has the methods of SimilarityGraph."""

    W: Any
    own: float
    known: KnownRows
    has_samples = False

    @classmethod
    def of_similarities(cls, X):
        """Graph of similarities, which are checked."""
        return cls._of(X, check_similarity(X))

    @classmethod
    def of_matrix(cls, X):
        """Any symmetric matrix."""
        check_symmetric(X, parameter="matrix")
        return cls._of(X, (0.5 * X + 0.5 * X.T).tocsr() if sp.issparse(X) else (X + X.T) / 2)

    @classmethod
    def _of(cls, X, W):
        return cls(W, float(W.diagonal().mean()), KnownRows.of(X))

    def match(self, X):
        """For each row of `X`, the sample with the same row; -1 if there is none."""
        return self.known.match(X)

    def to_new(self, X):
        """The rows of new samples are given, too."""
        return X


def extended(graph, X, responses, to_new):
    """Responses of samples: their own if they are known, else by `to_new` of their similarities.

    Samples that are similar to none take the response of the nearest.
    """
    known = graph.match(X)
    scores = responses[known]  # rows of new samples are overwritten
    new = np.flatnonzero(known < 0)
    if len(new):
        similarities = graph.to_new(X[new])
        scores[new] = to_new(similarities)
        alone = new[np.asarray(similarities.sum(axis=1)).ravel() == 0]
        if len(alone) and graph.has_samples:
            scores[alone] = responses[graph.nearest(X[alone])]
    return scores


def limit_matrix(method, K, *, after=None):
    r"""Matrix Q with which a large `reg` turns maximum volume clustering into another method.

    Section 4 of the paper. Pass it with ``matrix="precomputed"``. The fourth method of the
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


def starting_signs(responder, n_random, reg, rng):
    """Signs of eigenvectors and combinations of them; on a large graph the best of all alone.

    There, promising starts are improved on a coarse form of the graph.
    """
    if isinstance(responder, DenseResponder):
        return responder.candidates(n_random, reg, rng)
    coarse, aggregates = responder.coarse
    if coarse is not None:
        coarse_reg = reg * responder.scale / coarse.scale
        return starting_signs(coarse, n_random, coarse_reg, rng)[aggregates]
    found = [
        solve_sphere(responder, start, reg=reg, max_iter=COARSE_UPDATES, progress=Progress())
        for start in responder.candidates(n_random, reg, rng).T[:, :, None]
    ]
    best = min(found, key=lambda result: result.objective)
    return signs_of(best.model.h)[:, None]


def solve_sphere(responder, signs, *, reg, max_iter, progress, tol=0.0, stall=0.0):
    r"""Improve signs and responses in turn, from all starts.

    .. math:: \min_h \; -2 \|h\|_1 + \gamma h^\top Q h
              \quad \text{s.t.} \quad \|h\|_2 = 1, \; |1^\top h| \le b

    Problem (4) of the paper with the balance of (5); :math:`\gamma` is `reg`. The paper holds
    the concave-convex procedure for inapplicable because of the sphere. But for given signs
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

    Returns
    -------
    result : SolverResult
    """
    n_samples, n_starts = signs.shape
    signs, h = signs.copy(), np.empty_like(signs)
    eta, omega = np.empty(n_starts), np.empty(n_starts)
    objectives = np.full(n_starts, np.inf)
    moving = np.arange(n_starts)
    found = None
    iterations = progress.iterations(max_iter)
    for _ in iterations:
        # 1) responses to the signs
        found = responder.respond(signs[:, moving], reg, found)
        reached = responder.objective(found.h, reg)
        # rounding, and the tolerances of a responder, may make it worse
        better = reached <= objectives[moving]
        improved = moving[better]
        h[:, improved], objectives[improved] = found.h[:, better], reached[better]
        eta[improved], omega[improved] = found.eta[better], found.omega[better]
        # 2) signs of the responses; starts whose signs stay are done
        new = signs_of(found.h)
        moved = better & ((new != signs[:, moving]).sum(axis=0) > tol * n_samples)
        signs[:, moving] = new
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
    model = TwoSided(responder.form, h[:, best], eta[best], omega[best], reg)
    return result_of(model, float(objectives[best]), iterations, status)


def has_stalled(history, share):
    """Whether the last update gained no more than a share of the objective."""
    return len(history) > 1 and history[-2] - history[-1] <= share * abs(history[-1])


def solve_sqp(responder, signs, *, reg, max_iter, progress):
    r"""Sequential quadratic programming, Algorithm 1 of the paper, from all starts.

    Same problem as `solve_sphere`. Each step solves the quadratic program (5) in closed form:
    with :math:`A = \gamma Q - \eta I` its solution is a combination of :math:`A^{-1} s`,
    :math:`A^{-1} h` and :math:`A^{-1} 1`, and (7) becomes a sum of its multipliers. As in the
    paper, it ends when :math:`\eta` would leave :math:`\eta < \gamma \lambda_1`, with the
    responses before that step, or when responses settle to 1e-6.

    Parameters
    ----------
    responder : DenseResponder
        The matrix and its spectrum.
    signs : ndarray of shape (n_samples, n_starts)
        Starting signs.
    reg : float
        Weight of smoothness.
    max_iter : int
        Most steps from each start.
    progress : Progress
        Where the loop counter comes from; a pass is a start.

    Returns
    -------
    result : SolverResult
    """
    values = responder.free.values
    if values[0] <= 0:
        raise ValueError(
            "solver='sqp' needs a positive definite matrix, but its smallest eigenvalue is "
            f"{values[0]:.3g}; add a multiple of I, which changes no partition, or use "
            "solver='sphere'."
        )
    best: Any = None
    iterations = progress.iterations(signs.shape[1])
    for start in iterations:
        run = run_sqp(responder.free, signs[:, start], reg, responder.bound, max_iter)
        # a step meets the length to first order only, and longer responses must not win by it
        run = replace(run, h=run.h / np.linalg.norm(run.h))
        objective = float(responder.objective(run.h[:, None], reg)[0])
        if best is None or objective < best[0]:
            best = objective, run
        iterations.record(best[0])
    objective, run = best
    status = run.status if iterations.status is Status.MAX_ITER else iterations.status
    model = TwoSided(responder.form, run.h, run.eta, run.omega, reg)
    return replace(result_of(model, objective, iterations, status), n_iter=max(1, run.n_steps))


@dataclass(frozen=True)
class SQPRun:
    """Where Algorithm 1 ended from one start."""

    h: np.ndarray
    eta: float
    omega: float
    n_steps: int
    status: Status


def run_sqp(spectrum, signs, reg, bound, max_iter):
    """Algorithm 1 of the paper from one start."""
    largest = reg * spectrum.values[0]
    h, eta, omega = signs / len(signs) ** 0.5, 0.0, 0.0
    status = Status.MAX_ITER
    for step in range(max_iter):
        u, tau, new_omega = sqp_step(spectrum, h, eta, reg, bound)
        new_eta = eta + tau + new_omega * h.sum() / (h @ h)
        if new_eta >= largest:
            return SQPRun(h, eta, omega, step, Status.BROKEN_OFF)
        change = np.linalg.norm(u - h) + abs(new_eta - eta)
        h, eta, omega = u, new_eta, new_omega
        if change <= SQP_TOL:
            status = Status.CONVERGED
            break
    return SQPRun(h, eta, omega, step + 1, status)


def sqp_step(spectrum, h, eta, reg, bound):
    """Solution u = h + p of the quadratic program (5), with the multipliers of its constraints.

    Parameters
    ----------
    spectrum : Spectrum
        Of Q.
    h : ndarray of shape (n_samples,)
        Current responses.
    eta : float
        Current multiplier of their length.
    reg : float
        Weight of smoothness.
    bound : float or None
        Largest absolute sum of responses.

    Returns
    -------
    u : ndarray of shape (n_samples,)
        New responses.
    tau : float
        Multiplier of the linearised length.
    omega : float
        Multiplier of the sum; zero inside the bound.
    """
    V = spectrum.vectors
    sides = np.stack([signs_of(h), h, np.ones_like(h)], axis=1)
    a, c, d = (V @ ((V.T @ sides) / (reg * spectrum.values - eta)[:, None])).T
    missing = (1 + h @ h) / 2 - h @ a
    tau, omega = missing / (h @ c), 0.0
    u = a + tau * c
    if bound is not None and abs(u.sum()) > bound:
        target = np.copysign(bound, u.sum())
        system = np.array([[h @ c, h @ d], [c.sum(), d.sum()]])
        tau, omega = np.linalg.solve(system, [missing, target - a.sum()])
        u = a + tau * c + omega * d
    return u, float(tau), float(omega)


def result_of(model, objective, iterations, status):
    """Result of a solver, with the labels of its model."""
    clusters = Clusters(decoded(model.scores), model.n_clusters)
    return SolverResult(
        clusters.labels,
        model,
        objective=objective,
        history=iterations.history,
        n_iter=max(1, iterations.n_iter),
        status=Status.DEGENERATE if (clusters.weights == 0).any() else status,
        partition=clusters,
    )


@dataclass(frozen=True)
class Clusters:
    """Labels and the number of samples with each."""

    labels: np.ndarray
    n_clusters: int

    @property
    def weights(self):
        """Sizes of the clusters."""
        return np.bincount(self.labels, minlength=self.n_clusters).astype(np.float64)


# --- more than two clusters ---------------------------------------------------------------------


def solve_orthogonal(low, n_clusters, *, reg, n_init, max_iter, tol, progress, rng):
    r"""Responses to all clusters at once, in orthogonal columns.

    .. math:: \min_H \; -2 \sum_i \max_c H_{ic} + \gamma \operatorname{tr} H^\top Q H
              \quad \text{s.t.} \quad H^\top H = I

    Beyond the paper, which leaves more than two clusters open. A cluster of m samples adds about
    the square root of m to the first sum, so that clusters of even size are favoured as they are
    by :math:`\|h\|_1`. H is sought among combinations :math:`U A` of the first eigenvectors of Q.
    For given labels the first sum is linear and the second, up to a constant, concave in A; their
    tangent has its minimum at the orthogonal factor of a small matrix, and so the objective never
    rises.

    Parameters
    ----------
    low : LowSpectrum
        The first eigenvectors.
    n_clusters : int
        Number of clusters.
    reg : float
        Weight of smoothness.
    n_init : int
        Random starts, beside the one by a pivoted QR decomposition.
    max_iter : int
        Most updates from each start.
    tol : float
        Share of the labels that may still change at the end.
    progress : Progress
        Where the loop counter comes from; a pass is a start.
    rng : RandomState
        Draws starts.

    Returns
    -------
    result : SolverResult
    """
    best: Any = None
    iterations = progress.iterations(n_init + 1)
    for restart in iterations:
        start = pivoted_start(low, n_clusters) if restart == 0 else None
        if start is None:
            start = random_rotation(len(low.values), n_clusters, rng)
        run = _rotate(low, start, reg, max_iter, tol)
        if best is None or run[0] < best[0]:
            best = run
        iterations.record(best[0])
    objective, A, settled = best
    status = iterations.status
    if status is Status.MAX_ITER and settled:
        status = Status.CONVERGED
    return result_of(Rotated(low, A, reg), objective, iterations, status)


def _rotate(low, A, reg, max_iter, tol):
    """Objective and rotation that updates lead to from a start, and whether they settled."""
    n_samples = len(low.vectors)
    room = reg * (low.values[-1] - low.values)[:, None]
    labels = None
    for _ in range(max_iter):
        H = low.vectors @ A
        old, labels = labels, H.argmax(axis=1)
        settled = old is not None and (labels != old).sum() <= tol * n_samples
        if settled:
            break
        picked = np.zeros_like(A)
        for cluster in range(A.shape[1]):
            picked[:, cluster] = low.vectors[labels == cluster].sum(axis=0)
        A = orthogonal_factor(picked + room * A)
    H = low.vectors @ A
    objective = reg * (low.values @ A**2).sum() - 2 * H.max(axis=1).sum()
    return float(objective), A, settled


@one_blas_thread
def orthogonal_factor(matrix):
    """The nearest matrix with orthonormal columns."""
    left, _, right = svd(matrix, full_matrices=False)
    return left @ right


def pivoted_start(low, n_clusters):
    """Rotation that turns the first eigenvectors towards their most different rows."""
    U = low.vectors[:, :n_clusters]
    _, _, pivots = qr(U.T, mode="economic", pivoting=True)
    A = np.zeros((len(low.values), n_clusters))
    A[:n_clusters] = orthogonal_factor(U[pivots[:n_clusters]].T)
    return A


def random_rotation(n_vectors, n_clusters, rng):
    """Random rotation of the first eigenvectors."""
    A = np.zeros((n_vectors, n_clusters))
    A[:n_clusters] = orthogonal_factor(rng.standard_normal((n_clusters, n_clusters)))
    return A


def bisect_graph(form, solve_two, n_clusters, *, progress):
    """Split in two, again and again, the cluster that falls apart most easily.

    That is the one whose split has the smallest normalised cut in the graph of its own samples.

    Parameters
    ----------
    form : Form
        The matrix of all samples.
    solve_two : callable
        ``solve_two(form, progress)`` solves for two clusters.
    n_clusters : int
        Number of clusters.
    progress : Progress
        Each split is a task of it.

    Returns
    -------
    result : SolverResult
    """
    members = {0: np.arange(form.n_samples)}
    tried: dict[int, SolverResult] = {}
    splits: list[Split] = []
    history: list[float] = []
    statuses = []
    stopped = False
    fresh = [0]
    while len(members) < n_clusters and not stopped:
        for leaf in fresh:
            if len(members[leaf]) < 2 or not _has_links(form, members[leaf]):
                continue
            task = progress.subtask("split", None)
            part = form if len(members) == 1 else form.restricted(members[leaf])
            tried[leaf] = solve_two(part, task)
            stopped = task.close() or stopped
        possible = [leaf for leaf in tried if tried[leaf].status is not Status.DEGENERATE]
        if not possible:
            break
        leaf = min(possible, key=lambda leaf: normalized_cut(tried[leaf].model))
        split, new = tried.pop(leaf), len(members)
        statuses.append(split.status)
        history += split.history
        inside = members[leaf]
        splits.append(Split(leaf, new, inside, split.model))
        members[leaf], members[new] = inside[split.labels == 0], inside[split.labels == 1]
        fresh = [leaf, new]
    model = Tree(form.n_samples, n_clusters, splits)
    clusters = Clusters(decoded(model.scores), n_clusters)
    rough = [status for status in statuses if status is not Status.CONVERGED]
    if len(members) < n_clusters and not stopped:
        status = Status.DEGENERATE
    elif stopped:
        status = Status.STOPPED
    else:
        status = rough[0] if rough else Status.CONVERGED
    return SolverResult(
        clusters.labels,
        model,
        objective=float(np.mean([split.model.objective for split in splits])) if splits else 0.0,
        history=history,
        n_iter=max(1, len(history)),
        status=status,
        partition=clusters,
    )


def _has_links(form, members):
    """Whether any similarity ties the members to each other."""
    if form.name == "precomputed":
        return True
    W = form.W[members][:, members]
    return bool(abs(W).sum() > abs(W.diagonal()).sum())


def normalized_cut(model):
    """Weight between the two sides of a split over the weights at each of them."""
    form = model.form
    if form.name == "precomputed":  # no similarities: the most confident split per sample
        return -np.abs(model.h).sum() / form.n_samples**0.5
    upper = (model.h > 0).astype(np.float64)
    volume, total = form.degrees @ upper, form.degrees.sum()
    cut = volume - upper @ (form.W @ upper)
    return cut / volume + cut / (total - volume) if 0 < volume < total else np.inf
