"""Maximum volume clustering with hard labels: a semidefinite program, with a certified optimum."""

from dataclasses import dataclass, replace
from numbers import Real

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigvalsh
from sklearn.utils.validation import check_is_fitted

from separatrix._sklearn import Interval, StrOptions, fit_context, one_blas_thread
from separatrix.estimators.base import BaseClustering
from separatrix.estimators.graph import VolumeGraphMixin, VolumeProblem
from separatrix.labels.thresholds import balanced_threshold
from separatrix.models.boundaries import decoded
from separatrix.models.graph_responses import HardSides, extended
from separatrix.result import Progress, Status
from separatrix.similarity.spectra import ONE_THREAD_ROWS
from separatrix.solvers.graph_bisection import Clusters, bisect_graph, result_of
from separatrix.solvers.interior_point import solve_program
from separatrix.solvers.label_programs import (
    LabelProgram,
    best_labelling,
    check_size,
    label_bound,
    status_of,
)

__all__ = ["HardMaximumVolumeClustering", "solve_hard_volume"]

# reg="auto" is this times sqrt(n) over the largest eigenvalue.
RHO = 0.5


# --- the estimator ------------------------------------------------------------------------------


class HardMaximumVolumeClustering(VolumeGraphMixin, BaseClustering):
    """Clusters of similar size and large volume, by a convex relaxation with a certified optimum.

    Where `MaximumVolumeClustering` looks for soft responses, this looks for labels, and for the
    size of the response of each sample [1]_. The products of all pairs of labels become one
    positive semidefinite matrix, and what was a search over labellings becomes a semidefinite
    program. Its optimum is unique, so there are no starts, and its distance from what was found
    is certified. Labels are then read off the matrix.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters. More than two are found by repeated splits in two.
    affinity : {"local", "rbf", "cosine", "precomputed"}, default="local"
        Similarity of two samples: Gaussian, with the distance to the `n_neighbors`-th neighbour
        as the width at each sample; Gaussian of one width; cosine; or X itself, a dense or sparse
        matrix of similarities.
    graph : {"union", "mutual", "full"}, default="union"
        Which samples are compared: those of which one is among the other's nearest neighbours,
        those where this holds both ways, or all.
    n_neighbors : int, default=10
        Number of neighbours.
    gamma : float, {"scale", "mean", "median"} or tuple, default=("mean", 0.5)
        Coefficient of the "rbf" similarity exp(-gamma * distance**2), as a number or 1 / width**2
        by a rule: ("mean", 0.5) takes half the mean distance of two samples as the width.
    neighbors : {"exact", "approximate"}, default="exact"
        Search for neighbours by scikit-learn, or by faiss for many samples of many features.
    reg : float or "auto", default="auto"
        Weight of similarities against the size of responses, the paper's gamma. "auto" is
        0.5 sqrt(n) over the largest eigenvalue of the similarities.
    C : float, default=1.0
        Largest response of a sample. From one on it has no effect, since all responses together
        have length one.
    balance : float, default=0.5
        Largest difference in size of the two clusters of a split as a share of its samples; a
        difference of one sample is always allowed. Without balance, one cluster of all samples
        would be the optimum.
    n_init : int, default=10
        Random roundings of the matrix to labels, beside its first eigenvector. The labels of the
        least objective are kept.
    max_iter : int, default=100
        Most steps of the solver; 10 to 30 are the rule.
    tol : float, default=1e-6
        Certified gap, as a share of the objective, at which the solver stops.
    n_jobs : int or None, default=None
        Threads that search for neighbours.
    random_state : int, RandomState instance or None, default=None
        Draws the roundings; None draws the same ones each time.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each sample, the largest cluster first.
    response_ : ndarray of shape (n_samples,) or (n_samples, n_clusters)
        Scores, `decision_function` of the training data: for two clusters positive in cluster 1,
        otherwise largest in the sample's own cluster.
    affinity_matrix_ : ndarray or CSR of shape (n_samples, n_samples)
        Similarities.
    reg_ : float
        The weight that was used, of the first split for more than two clusters.
    objective_ : float
        Optimum of the program, from above. The mean over all splits for more than two clusters.
    certified_gap_ : float
        Proven largest distance of `objective_` from the optimum, as a share of it; the largest of
        all splits.
    alpha_length_ : float
        Length of the sizes of all responses, the least of all splits. Where it is one, the
        program's optimum is that of the paper's problem (13); where it is less, for a large `reg`
        or a C below 1 / sqrt(n), the problem solved is tighter (see `solve_hard_volume`).
    history_ : list of float
        Objective at each iteration.
    n_iter_ : int
        Iterations.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X has them.

    See Also
    --------
    MaximumVolumeClustering : Soft labels, for clusters of any size and for many samples.
    SemidefiniteMarginClustering : The same relaxation of maximum margin clustering.

    Notes
    -----
    A step costs a few products of matrices of the samples' size: 500 samples take seconds, 2,000
    minutes, and 5,000, the most allowed, an hour.

    References
    ----------
    .. [1] G. Niu, B. Dai, L. Shang, M. Sugiyama, "Maximum volume clustering: a new discriminative
       clustering approach", Journal of Machine Learning Research 14, 2013, 2641-2687.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from separatrix import HardMaximumVolumeClustering
    >>> X, y = make_moons(100, noise=0.05, random_state=0)
    >>> model = HardMaximumVolumeClustering(n_clusters=2).fit(X)
    >>> int(min((model.labels_ != y).sum(), (model.labels_ == y).sum()))
    0
    >>> model.certified_gap_ < 1e-6
    True
    """

    _parameter_constraints: dict = {
        **BaseClustering._parameter_constraints,
        **VolumeGraphMixin._parameter_constraints,
        "reg": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "C": [Interval(Real, 0, None, closed="neither")],
        "balance": [Interval(Real, 0, 1, closed="left")],
    }
    del _parameter_constraints["matrix"]
    matrix = "similarity"  # others than this one would part similar samples
    _smaller_is_better = True
    _default_seed = 0

    def __init__(
        self,
        n_clusters=2,
        *,
        affinity="local",
        graph="union",
        n_neighbors=10,
        gamma=("mean", 0.5),
        neighbors="exact",
        reg="auto",
        C=1.0,
        balance=0.5,
        n_init=10,
        max_iter=100,
        tol=1e-6,
        n_jobs=None,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.affinity = affinity
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.gamma = gamma
        self.neighbors = neighbors
        self.reg = reg
        self.C = C
        self.balance = balance
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
            Samples; or their similarities, where these are precomputed.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit(self._validate_X(X, reset=True))

    def predict(self, X):
        """Cluster of each sample: the sign of its score, or the largest of several.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; where similarities are precomputed, those of the new samples, one a row, to
            the training samples.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Cluster numbers from 0.
        """
        return decoded(self.decision_function(X))

    def decision_function(self, X):
        """Signed scores of samples: the responses of similar training samples, added up.

        A sample that equals one of the training data has its score. A sample that is similar to
        none takes the score of the nearest.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; where similarities are precomputed, those of the new samples, one a row, to
            the training samples.

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

    def _prepare(self, X, sample_weight, progress, rng):
        check_size(X.shape[0])
        return HardVolumeProblem(self._form(X), X, [], [])

    def _n_restarts(self):
        return 1  # the program has one optimum

    def _subtasks_of_restart(self):
        return self.max_iter if self.n_clusters == 2 else None

    def _fit_once(self, problem, restart, progress, rng):
        def split(form, task):
            small = form.n_samples <= ONE_THREAD_ROWS
            run = one_blas_thread(self._split) if small else self._split
            return run(form, problem, task, rng)

        if self.n_clusters == 2:
            result = split(problem.form, progress)
        else:
            result = bisect_graph(problem.form, split, self.n_clusters, progress=progress)
        labels = self._labels_of(result, problem, None)
        return replace(result, labels=labels, partition=Clusters(labels, self.n_clusters))

    def _split(self, form, problem, progress, rng):
        """Two clusters of the samples of a form."""
        # 1) relaxed labels
        Q = form.Q.toarray() if sp.issparse(form.Q) else form.Q
        values = eigvalsh(Q)
        reg = self.reg if self.reg != "auto" else RHO * len(Q) ** 0.5 / values[-1]
        relaxation = solve_hard_volume(
            Q,
            reg=reg,
            C=self.C,
            balance=self.balance,
            tol=self.tol,
            max_iter=self.max_iter,
            progress=progress,
        )
        problem.gaps.append(relaxation.gap)
        problem.lengths.append(np.linalg.norm(relaxation.x[: len(Q)]))
        # 2) the best labels near them, and the responses that go with these
        G = reg * Q + (relaxation.y[-1] - reg * values[0]) * np.eye(len(Q))
        responses = best_labelling(
            relaxation.M, G, C=self.C, signs_of=self._signs, n_draws=self.n_init, rng=rng
        )
        model = HardSides(form, G @ responses, responses, float(reg), relaxation.objective)
        status = status_of(relaxation, self.tol)
        if abs(np.where(model.h > 0, 1, -1).sum()) > label_bound(self.balance, len(Q)):
            status = Status.UNBALANCED
        return result_of(model, relaxation.objective, relaxation, status)

    def _signs(self, scores):
        balance = label_bound(self.balance, len(scores)) / len(scores)
        cut = balanced_threshold(scores, loss="square", balance=balance)
        return np.where(scores > cut.threshold, 1.0, -1.0)

    def _attributes(self, problem, partition, order):
        gaps, lengths = ([], []) if problem is None else (problem.gaps, problem.lengths)
        return {
            "certified_gap_": float(max(gaps, default=0.0)),
            "alpha_length_": float(min(lengths, default=np.nan)),
        }

    def _labels_of(self, result, problem, order):
        return decoded(self._scores_of(result.model, problem.X))

    def _scores_of(self, model, X):
        """Scores of the training samples, of which equal ones take that of the first."""
        return model.scores[self._graph.match(X)]

    def _model_attributes(self, model, X):
        if model is None:
            return {"_model": None, "response_": np.zeros(X.shape[0]), "reg_": np.nan}
        return {
            "_model": model,
            "response_": self._scores_of(model, X),
            "reg_": model.reg,
            "affinity_matrix_": self._graph.W,
        }

    def _set_model(self, model, X):
        self.__dict__.pop("affinity_matrix_", None)  # of an earlier fit
        super()._set_model(model, X)

    def _one_cluster_model(self, X):
        return None


@dataclass(frozen=True)
class HardVolumeProblem(VolumeProblem):
    """The samples, and what the splits have certified so far."""

    gaps: list
    lengths: list


# --- the program --------------------------------------------------------------------------------


def solve_hard_volume(Q, *, reg, C, balance, tol=1e-6, max_iter=100, progress=None):
    r"""Hard-label maximum volume clustering as a semidefinite program.

    .. math:: \min_{M, \eta} \max_{0 \le \alpha \le C} \; 2 \alpha^\top 1
              - \alpha^\top (\gamma Q \circ M - \eta I) \alpha - \eta
              \quad \text{s.t.} \quad M \succeq 0, \; \operatorname{diag} M = 1

    Problem (13) of Niu et al. (2013) without the Schur complement; :math:`\gamma` is `reg`. It
    makes similar samples alike only for similarities Q: from (10) to (11) the paper turns the
    minimum over labels into a maximum. Two constraints are added, which every labelling
    :math:`M = y y^\top` in balance meets.

    * :math:`1^\top M 1 \le l^2`, since :math:`M = 1 1^\top` is the optimum for nonnegative Q.
    * :math:`\eta \le \gamma \lambda_1(Q)`, as the paper asks of its soft labels, since
      :math:`Q \circ y y^\top` has the eigenvalues of Q. With it the program is `LabelProgram`
      for :math:`\gamma (Q - \lambda_1 I)` with :math:`\|\alpha\| \le 1`, because
      :math:`\eta I = \eta I \circ M`; without it there is a dual variable for each pair of
      samples. If :math:`\|\alpha\| = 1` at the optimum, it does not bind. For large
      :math:`\gamma` it does, and keeps M from a multiple of the identity that tells nothing.

    Parameters
    ----------
    Q : ndarray of shape (n, n)
        Symmetric matrix.
    reg : float
        Weight of similarities.
    C : float
        Largest alpha.
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
        Its x begins with alpha; the last of its y is :math:`\gamma \lambda_1 - \eta`.
    """
    lowest = reg * eigvalsh(Q, subset_by_index=[0, 0])[0]
    program = LabelProgram(
        reg * Q - lowest * np.eye(len(Q)),
        C=C,
        bound=label_bound(balance, len(Q)),
        unit=True,
        offset=-lowest,
    )
    return solve_program(program, tol=tol, max_iter=max_iter, progress=progress or Progress())
