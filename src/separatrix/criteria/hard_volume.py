"""Maximum volume clustering with hard labels: a semidefinite program, with a certified optimum."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigvalsh

from separatrix._sklearn import StrOptions, one_blas_thread
from separatrix._typing import Array
from separatrix.data.places import order_of_places
from separatrix.data.rows import check_fits_memory
from separatrix.estimators.base import GraphClustering, fit_with_links, similarities_of
from separatrix.estimators.parameters import (
    BALANCE,
    CERTIFIED,
    GRAPH,
    N_CLUSTERS,
    OUTLIERS,
    POSITIVE,
    ROUNDINGS,
    SIZE_BOUNDS,
    WARM_START,
)
from separatrix.labels.links import Links, linked_signs
from separatrix.labels.sizes import balanced_threshold
from separatrix.labels.splits import bounds_of_splits
from separatrix.models.graph_responses import GraphProblem, HardSides, signs_of
from separatrix.result import Labelling, Progress, SolverResult, Status
from separatrix.similarity.graphs import ordered_graph
from separatrix.similarity.quadratic_forms import ONE_THREAD_ROWS
from separatrix.solvers.bisection import bisect, normalized_cut
from separatrix.solvers.label_programs import (
    Fold,
    LabelProgram,
    best_labelling,
    check_size,
    label_bound,
    optimize_labels,
    status_of,
)

__all__ = ["HardMaximumVolumeClustering", "relax_hard_volume"]

# reg="auto" is this times sqrt(n) over the largest eigenvalue.
RHO = 0.5


# --- the estimator ------------------------------------------------------------------------------


class HardMaximumVolumeClustering(GraphClustering):
    """Clusters of similar size and large volume, by a convex relaxation with a certified optimum.

    `MaximumVolumeClustering` looks for soft responses; this method looks for labels and for the
    size of each sample's response [1]_. The products of all pairs of labels form a positive
    semidefinite matrix, which turns the search over labellings into a semidefinite program. Its
    optimum is unique, so there are no starts, and the gap to it is certified. Labels are then read
    off the matrix.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
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
    reg : float or "auto", default="auto"
        Weight of the regularisation. It weighs similarities against the size of responses, the
        paper's gamma. "auto" is 0.5 sqrt(n) over the largest eigenvalue of the similarities.
    max_response : float, default=1.0
        Largest response of a sample, the paper's C. Values of one or more have no effect, since
        all responses together have length one.
    balance : float, default=0.5
        Largest difference in size of two clusters as a share of all samples: each of k clusters
        holds (1 - balance) / k to (1 + balance) / k of them, up to one sample. With repeated
        splits in two, this holds for each split.
    triangles : bool, default=False
        Whether the relaxed labels of any three samples keep the triangle constraints of Xu et al.
        (2005), as all labels do. The bound is tighter and the fit takes much longer, so at most
        100 samples are allowed.
    multiway : {"auto", "bisection"}, default="auto"
        How more than two clusters are separated. By repeated splits in two ("bisection"), which is
        also "auto". Each time the split of the smallest normalised cut is kept.
    n_roundings : int, default=10
        Roundings of the relaxed labels in addition to the one by the first eigenvector: this many
        rotate it into the second in equal steps, and as many are random. The labels whose machine
        has the lowest objective are kept. Zero leaves the rounding by the first eigenvector, as in
        the papers.
    max_steps : int, default=100
        Largest number of steps of the solver.
    gap_tol : float, default=1e-6
        Certified gap to the optimum, as a share of the objective, at which the solver stops.
    n_jobs : int or None, default=None
        Number of jobs that run at the same time, as in joblib. They search for neighbours.
    min_size : int, float or array-like of shape (n_clusters,), default=None
        Smallest number of samples in each cluster. A whole number, or a share of the samples if it
        is below 1, for all clusters or one for each; None sets no bound. `labels_` and `assign`
        keep the bounds exactly; `predict` need not. With two clusters so do all roundings; with
        more, neither half of a split is smaller than the smallest cluster may be, and the bounds
        are kept at the end. Clusters are in `balance` as well, or as near to it as the bounds
        allow.
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
        Cluster of each sample, the largest cluster first. The same as `predict` of the training
        data, except where links or bounds on sizes bind.
    response_ : ndarray of shape (n_samples,) or (n_samples, n_clusters)
        Scores, `decision_function` of the training data: for two clusters positive in cluster 1,
        otherwise largest in the sample's own cluster, and minus infinity for a cluster that was
        never split off.
    affinity_matrix_ : ndarray or CSR of shape (n_distinct, n_distinct)
        Similarities of the distinct samples, in the order in which they come first, and summed
        over equal ones; not set for one cluster, or where there are fewer distinct samples than
        clusters.
    reg_ : float
        Weight of the regularisation that was used; nan if none was. That of the first split for
        more than two clusters.
    objective_ : float
        Upper bound on the optimum of the program; for more than two clusters, the mean over all
        splits. It is nan for one cluster, or for fewer distinct samples than clusters.
    gap_ : float
        Proven bound on the distance from the optimum of the problem solved, as a share of its
        objective. The largest of all splits.
    alpha_length_ : float
        Norm of the sizes of all responses, the smallest over all splits. Where it is one, the
        program's optimum is that of the paper's problem (13); where it is less, for a large `reg`
        or a `max_response` below 1 / sqrt(n), the problem solved is tighter (see
        `relax_hard_volume`). It is nan for one cluster, or for fewer distinct samples than
        clusters.
    history_ : list of float
        Objective at each iteration.
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
    MaximumVolumeClustering : Soft labels, for clusters of any size and for many samples.
    SemidefiniteMarginClustering : The same relaxation of maximum margin clustering.

    Notes
    -----
    A step costs a few products of n-by-n matrices, so time grows with n^3 and memory with n^2.
    More than 5,000 samples are refused.

    With two clusters, links and known labels are kept exactly: the labels of a component of linked
    samples are fixed up to a common sign, so the matrix has one row for each component, and the
    optimum is certified among all labels that keep the links. More clusters come from repeated
    splits in two, which cannot guarantee links, so links are refused there. Where links and
    `balance` cannot both be kept, links are.

    There is no `sample_weight`, because a weight would not always mean repetition: where the
    balance binds, the relaxation may give copies of a sample different rows, which one weighted
    sample cannot have. The guide on relaxations has the proof.

    Two constraints that all balanced labels meet are added to the paper's program (13): `balance`,
    without which one cluster of all samples would be the optimum, and a bound on the multiplier of
    the length of responses (see `relax_hard_volume`). The paper cuts the first eigenvector at its
    mean; here the machines of several balanced cuts are compared. The solver usually takes 10 to
    30 steps.

    The order of the rows does not matter. With precomputed similarities it may, if samples have
    the same values in another order.

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
    >>> model.gap_ < 1e-6
    True
    """

    response_: Array
    affinity_matrix_: Any
    reg_: float
    gap_: float
    alpha_length_: float

    _keeps_sizes = True
    _parameter_constraints: dict = {
        **N_CLUSTERS,
        **GRAPH,
        **CERTIFIED,
        **BALANCE,
        "reg": [StrOptions({"auto"}), *POSITIVE],
        "max_response": POSITIVE,
        "triangles": ["boolean"],
        "multiway": [StrOptions({"auto", "bisection"})],
        **ROUNDINGS,
        **SIZE_BOUNDS,
        **OUTLIERS,
        **WARM_START,
    }

    def __init__(
        self,
        n_clusters=2,
        *,
        affinity="local",
        graph="union",
        n_neighbors=10,
        gamma=("mean", 0.5),
        neighbors="auto",
        reg="auto",
        max_response=1.0,
        balance=0.5,
        triangles=False,
        multiway="auto",
        n_roundings=10,
        max_steps=100,
        gap_tol=1e-6,
        n_jobs=None,
        min_size=None,
        max_size=None,
        outliers=None,
        warm_start=False,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.affinity = affinity
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.gamma = gamma
        self.neighbors = neighbors
        self.reg = reg
        self.max_response = max_response
        self.balance = balance
        self.triangles = triangles
        self.multiway = multiway
        self.n_roundings = n_roundings
        self.max_steps = max_steps
        self.gap_tol = gap_tol
        self.n_jobs = n_jobs
        self.min_size = min_size
        self.max_size = max_size
        self.outliers = outliers
        self.warm_start = warm_start
        self.random_state = random_state

    fit = fit_with_links

    def _problem(self, X, sample_weight, links, progress, rng):
        if links is not None and self.n_clusters > 2:
            raise ValueError(
                f"links need n_clusters=2, got n_clusters={self.n_clusters} and multiway="
                f"{self.multiway!r}: more clusters come of splits in two, which keep no "
                "links. Use MaximumVolumeClustering for more clusters."
            )
        check_size(X.shape[0], triangles=self.triangles)
        check_fits_memory(X.shape[0], remedy="use MaximumVolumeClustering")
        # by their places alone, so that the order of the rows does not matter
        precomputed = self.affinity == "precomputed"
        order = order_of_places(X, pairs=precomputed)
        graph_of = partial(similarities_of, self, stacklevel=8)
        graph = ordered_graph(X, order, graph_of, precomputed=precomputed)
        # matrices other than the similarities would separate similar samples
        problem = GraphProblem.of(graph, "similarity")
        return problem if links is None else LinkedProblem.with_links(problem, links)

    def _n_tasks(self):
        return None if self.n_clusters > 2 or self.triangles else self.max_steps

    def _solve(self, problem, progress, rng):
        n_samples = problem.form.n_samples
        bounds = bounds_of_splits(self, n_samples, n_samples)

        def split(part, task):
            small = part.form.n_samples <= ONE_THREAD_ROWS
            run = one_blas_thread(self._solve_two) if small else self._solve_two
            return run(part, task, rng, bounds(part.form.n_samples))

        if self.n_clusters == 2:
            return split(problem, progress)
        return bisect(
            problem, split, self.n_clusters, progress=progress, rng=rng, cost=normalized_cut
        )

    def _solve_two(self, problem, progress, rng, bounds):
        """Two clusters of the samples of a problem; the details are gap and length of alpha."""
        # 1) relaxed labels, of each of several equal samples
        form = problem.form
        Q = form.expanded(form.place).Q
        Q = Q.toarray() if sp.issparse(Q) else Q
        values, links = eigvalsh(Q), getattr(problem, "links", None)
        balance = self.balance if bounds is None else bounds.balance
        bound = label_bound(balance, len(Q))

        def signs_of_samples(scores):
            if links is not None:
                return linked_sides(scores, links, bound)
            if bounds is not None:
                return bounds.signs(_of_nodes(form, scores), form.counts)[form.place]
            return self._signs(_of_nodes(form, scores), form.counts)[form.place]

        reg = self.reg if self.reg != "auto" else RHO * len(Q) ** 0.5 / values[-1]
        relaxation = relax_hard_volume(
            Q,
            reg=reg,
            max_response=self.max_response,
            balance=balance,
            triangles=self.triangles,
            tol=self.gap_tol,
            max_steps=self.max_steps,
            progress=progress,
            fold=None if links is None else fold_of(links, bound),
        )
        # 2) the best labels near them, and their responses
        G = reg * Q + (relaxation.y[-1] - reg * values[0]) * np.eye(len(Q))
        responses = best_labelling(
            relaxation.M,
            G,
            C=self.max_response,
            signs_of=signs_of_samples,
            n_draws=self.n_roundings,
            rng=rng,
        )
        if links is not None and known_lean(G @ responses, links) < 0:
            responses = -responses
        if bounds is not None and bounds.met_by(-(G @ responses)):
            responses = -responses
        weights = form.roots * _of_nodes(form, responses)
        rule = HardSides(form, _of_nodes(form, G @ responses), float(reg), weights)
        status, signs = status_of(relaxation, self.gap_tol), signs_of(rule.h)[form.place]
        if links is not None:
            signs = linked_sides(rule.h[form.place], links, bound)
        if bounds is None and abs(signs.sum()) > bound:
            status = Status.UNBALANCED
        result = SolverResult.of_responses(
            rule,
            objective=relaxation.objective,
            history=relaxation.history,
            status=status,
            details=[(relaxation.gap, np.linalg.norm(relaxation.x[: len(Q)]))],
            counts=form.counts,
        )
        return result if links is None else problem.kept(result, signs)

    def _signs(self, scores, counts):
        """Signs of nodes by their scores, in balance."""
        n_samples = len(scores) if counts is None else counts.sum()
        balance = label_bound(self.balance, n_samples) / n_samples
        cut = balanced_threshold(scores, counts, loss="square", balance=balance)
        return np.where(scores > cut.threshold, 1.0, -1.0)

    def _model_attributes(self, model, X):
        _, first = np.unique(model.graph.place, return_index=True)
        nodes = np.argsort(first)
        W = model.graph.W[nodes][:, nodes]
        return {**super()._model_attributes(model, X), "affinity_matrix_": W}

    def _attributes(self, problem, result, order):
        gaps, lengths = zip(*result.details, strict=True) if result.details else ((), ())
        return {
            "gap_": float(max(gaps, default=0.0)),
            "alpha_length_": float(min(lengths, default=np.nan)),
        }

    def _attributes_without_solution(self):
        return {"gap_": 0.0, "alpha_length_": np.nan}


@dataclass(frozen=True, kw_only=True, eq=False)
class LinkedProblem(GraphProblem):
    """A graph whose samples have links.

    Attributes
    ----------
    order : ndarray of int of shape (n_samples,)
        The samples in the order of their nodes.
    links : Links
        Links between these.
    """

    order: np.ndarray
    links: Links

    @classmethod
    def with_links(cls, problem, links):
        """A problem with links between the samples in their original order."""
        order = np.argsort(problem.graph.place, kind="stable")
        fields = {"X": problem.X, "graph": problem.graph, "form": problem.form}
        return cls(**fields, order=order, links=links.restricted(order))

    def kept(self, result, signs):
        """A result with the labels given by signs of the ordered samples."""
        labels = np.empty(len(signs), dtype=np.int32)
        labels[self.order] = signs > 0
        return replace(result, labelling=Labelling(labels, 2), keeps_labels=True)


def known_lean(scores, links):
    """How far scores agree with known labels; negative if their signs are reversed."""
    told = links.known_labels >= 0
    return (2 * links.known_labels[told] - 1) @ scores[told]


def linked_sides(scores, links, bound):
    """Signs that keep links and agree best with scores or their opposites, balanced if any are."""
    turned = -scores if known_lean(scores, links) < 0 else scores
    return linked_signs(turned, links, balance=bound / len(scores)).y.astype(np.float64)


def fold_of(links, bound):
    """Components of linked samples, and labels of them, balanced if possible."""
    signs = linked_sides(np.zeros(links.n_samples), links, bound)
    return Fold(links.component, links.sign, signs[links.representatives])


def _of_nodes(form, values):
    """Mean values of the samples of each node, from values in the order of the nodes."""
    if form.counts is None:
        return values
    return np.bincount(form.place, values) / form.counts


# --- the program --------------------------------------------------------------------------------


def relax_hard_volume(
    Q,
    *,
    reg,
    max_response,
    balance,
    triangles=False,
    tol=1e-6,
    max_steps=100,
    progress=None,
    fold=None,
):
    r"""Hard-label maximum volume clustering as a semidefinite program.

    .. math:: \min_{M, \eta} \max_{0 \le \alpha \le C} \; 2 \alpha^\top 1
              - \alpha^\top (\gamma Q \circ M - \eta I) \alpha - \eta
              \quad \text{s.t.} \quad M \succeq 0, \; \operatorname{diag} M = 1

    Problem (13) of Niu et al. (2013) without the Schur complement; :math:`\gamma` is `reg`. It
    groups similar samples only if Q holds similarities: from (10) to (11) the paper turns the
    minimum over labels into a maximum. Two constraints are added, which every labelling :math:`M =
    y y^\top` in balance meets.

    * :math:`1^\top M 1 \le l^2`, since :math:`M = 1 1^\top` is the optimum for nonnegative Q.
    * :math:`\eta \le \gamma \lambda_1(Q)`, as the paper asks of its soft labels, since
      :math:`Q \circ y y^\top` has the eigenvalues of Q. With it the program is `LabelProgram`
      for :math:`\gamma (Q - \lambda_1 I)` with :math:`\|\alpha\| \le 1`, because
      :math:`\eta I = \eta I \circ M`; without it there is a dual variable for each pair of
      samples. If :math:`\|\alpha\| = 1` at the optimum, it does not bind. For large :math:`\gamma`
      it does, and keeps M from becoming a multiple of the identity, which holds no information.

    The triangle constraints of Remark 21 are an option: see `TriangleCuts`.

    Parameters
    ----------
    Q : ndarray of shape (n, n)
        Symmetric matrix.
    reg : float
        Weight of similarities.
    max_response : float
        Largest alpha, the paper's C.
    balance : float
        Largest difference of cluster sizes as a share of n; l is n times that, and at least one.
    triangles : bool, default=False
        Whether triangle constraints hold; those that are violated are added until none is.
    tol : float, default=1e-6
        Certified gap to reach.
    max_steps : int, default=100
        Most steps.
    progress : Progress, default=None
        Where the loop counter comes from.
    fold : Fold, default=None
        Components of samples whose labels are equal or opposite, so that the entries of M between
        them are 1 or -1. Where no labels keep links and balance, the bound of this is raised.

    Returns
    -------
    relaxation : Relaxation
        Its x begins with alpha; the last of its y is :math:`\gamma \lambda_1 - \eta`.
    """
    lowest = reg * eigvalsh(Q, subset_by_index=[0, 0])[0]
    bound = label_bound(balance, len(Q))
    if fold is not None:
        bound = max(bound, abs(fold.net @ fold.signs) + 0.5)  # so that there is an interior
    program = LabelProgram(
        reg * Q - lowest * np.eye(len(Q)),
        C=max_response,
        bound=bound,
        unit=True,
        offset=-lowest,
        fold=fold,
    )
    found = optimize_labels(
        program,
        triangles=triangles,
        tol=tol,
        max_steps=max_steps,
        progress=progress or Progress(),
    )
    return replace(found, M=program.products(found.M))
