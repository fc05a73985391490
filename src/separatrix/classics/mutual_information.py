"""Squared-loss mutual information clustering: clusters most informative of samples."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh, qr
from scipy.optimize import linear_sum_assignment
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.metrics import pairwise_distances_argmin

from separatrix._sklearn import StrOptions, is_numpy, to_numpy
from separatrix._typing import Array, Samples
from separatrix.data.gate import check_samples
from separatrix.data.ordering import are_distinct
from separatrix.data.places import order_of_places
from separatrix.data.rows import (
    answers,
    check_fits_memory,
    exactly_beside,
    in_doubles,
    rows_at,
    rows_beside,
)
from separatrix.estimators.base import (
    GraphClustering,
    check_square,
    fit_with_node_weights_and_links,
    precomputed_parameter,
)
from separatrix.estimators.memberships import as_calibrated
from separatrix.estimators.parameters import (
    COUNT,
    GAMMA,
    N_CLUSTERS,
    OUTLIERS,
    SIZE_BOUNDS,
    WARM_START,
)
from separatrix.labels.sizes import unit_of
from separatrix.models.graph_responses import Posterior, linked
from separatrix.models.nearest_samples import NearestSample
from separatrix.result import SolverResult, Status, decoded
from separatrix.similarity.device_graphs import DeviceGraph
from separatrix.similarity.graphs import (
    GivenGraph,
    components,
    degrees,
    distinct_graph,
    joined_components,
    ordered_graph,
    searches_approximately,
)
from separatrix.similarity.kernels import resolved_gamma
from separatrix.similarity.multigrid import GraphHierarchy
from separatrix.solvers.device_information import solve_on_device
from separatrix.solvers.information_estimate import (
    MAX_SAMPLES,
    drawn_samples,
    information_of,
    least_squares_mutual_information,
)
from separatrix.solvers.orthogonal_responses import different_rows, orthogonal_factor

__all__ = ["SquaredLossMutualInformationClustering", "solve_information"]

# What n_neighbors="auto" and gamma="auto" choose from; widths are in mean distances.
AUTO_NEIGHBORS = (3, 5, 7, 10, 15, 20)
# For more clusters than this it is one number, since each takes as many eigenvectors as clusters.
CHOOSING_CLUSTERS, MANY_NEIGHBORS = 20, 10
AUTO_WIDTHS = (0.15, 0.25, 0.4, 0.6, 0.85, 1.2)
# For more clusters than this the eigenvectors are turned towards samples.
UNTURNED_CLUSTERS = 10
# Up to this many samples the decomposition of a dense matrix is faster than that of a sparse one.
DENSE_SAMPLES = 1_000
# Error of eigenvectors by multigrid, in the norm of the Laplacian.
EIGENVECTOR_TOL = 1e-3
# Entries of an eigenvector, as shares of the largest, that rounding may have made.
ROUNDING = 1e-8
# Least normalised similarity that connects samples.
LEAST_LINK = 1e-14


# --- the estimator ------------------------------------------------------------------------------

# Weight, as a share of the agreement with known labels, of vectors of clusters without any.
SLIGHT = 1e-6
# Number of copies of samples that represent their weights where similarities are chosen.
MOST_COPIES = 1_000_000


class SquaredLossMutualInformationClustering(GraphClustering):
    """Clusters that share the most information with the samples, in closed form.

    The probability of a cluster is modelled as a sum of kernels at the samples. The sums for which
    clusters and samples have the largest squared-loss mutual information are the leading
    eigenvectors of the kernel matrix [1]_, so there is no start and no local optimum. The kernel
    is chosen by an estimate of the same information that does not depend on it.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
    affinity : {"local", "rbf", "precomputed"}, default="local"
        Similarity of two samples. "local" is Gaussian, with the distance to the `n_neighbors`-th
        neighbour as the width at each sample; "rbf" is Gaussian of one width. "local" is zero
        except between neighbours. "precomputed" takes X itself, dense or sparse, with no negative
        values.
    n_neighbors : int or "auto", default="auto"
        Number of neighbours. "auto" chooses from 3 to 20, and takes 10 for more than 20 clusters.
    gamma : float, {"auto", "scale", "mean", "median"} or tuple, default="auto"
        Kernel coefficient: a number, or 1 / width**2 by a rule. "mean" takes the mean distance of
        two samples as the width, "median" the median distance, ("mean", 0.5) half of the mean
        distance; "scale" is 1 / (n_features * X.var()). "auto" chooses a width from 0.15 to 1.2 of
        the mean distance. For `affinity="rbf"`.
    normalize : bool, default=True
        Whether to divide kernels by the square roots of their sums at both samples, so that dense
        regions do not outweigh others.
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
    labels_ : array of shape (n_samples,)
        Cluster of each sample, the largest cluster first. The same as `predict` of the training
        data.
    probabilities_ : array of shape (n_samples, n_clusters)
        Probability of each cluster; `predict_proba` of the training data.
    mutual_information_ : float
        Estimated information by which the similarities were chosen; nan if there was no choice.
    n_neighbors_ : int or None
        Number of neighbours that was used; None for affinities other than "local".
    gamma_ : float
        Kernel coefficient that was used; nan for kernels without one, or if none was used.
    objective_ : float
        The information as the kernel itself approximates it. It is nan for one cluster, or for
        fewer distinct samples than clusters.
    history_ : list of float
        Objective at each iteration. There is one: the solution is known in closed form.
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
    MaximumVolumeClustering : Confident responses, starting from eigenvectors.

    Notes
    -----
    The leading eigenvectors of a sparse kernel are zero on samples that are connected to no
    cluster. These take the probabilities of the nearest sample that has some.

    The defaults depart from [1]_ in that kernels are normalised, and that probabilities add up to
    one for each sample. For more than 10 clusters the eigenvectors are turned towards samples that
    differ most, which leaves the information as it is and tells clusters apart that eigenvectors
    mix.

    For arrays of PyTorch or CuPy, graphs and their eigenvectors stay on the device if there are
    more than 1,000 distinct samples, `affinity` and `normalize` have their defaults, and there are
    no weights or links. Everything else is computed on the host. In both cases labels and
    probabilities belong to the same library and device as the samples.

    More than 5,000 samples that are not in memory (dask arrays, `RowBlocks`) divide themselves
    among landmarks, for "local" similarities: each sample among half as many as `n_neighbors`, at
    least two, in proportion to similarities. The kernel of all samples is then that of walks from
    sample to landmark to sample. Its leading eigenvectors follow from those of the landmarks'
    graph, which have the same eigenvalues, `separatrix.similarity.landmarks.LandmarkGraph`. A
    sample, new or not, has the mean probabilities of its landmarks. `normalize` changes nothing,
    since all sums of kernels are equal.

    The order of the rows does not matter. With precomputed similarities it may, if samples have
    the same values in another order.

    References
    ----------
    .. [1] M. Sugiyama, M. Yamada, M. Kimura, H. Hachiya, "On information-maximization clustering:
       tuning parameter selection and analytic solution", ICML 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import SquaredLossMutualInformationClustering
    >>> X = np.array([[1.0, 2], [1, 3], [1, 0], [10, 2], [10, 3], [10, 0], [11, 2]])
    >>> model = SquaredLossMutualInformationClustering(n_clusters=2).fit(X)
    >>> model.labels_
    array([1, 1, 1, 0, 0, 0, 0], dtype=int32)
    >>> model.predict([[0, 0], [12, 3]])
    array([1, 0], dtype=int32)
    """

    representatives_: Array
    landmarks_: Array
    probabilities_: Array
    mutual_information_: float
    n_neighbors_: int | None

    _model: Any
    _parameter_constraints: dict = {
        **N_CLUSTERS,
        "affinity": [StrOptions({"local", "rbf", "precomputed"})],
        "n_neighbors": [StrOptions({"auto"}), *COUNT],
        "gamma": [StrOptions({"auto"}), *GAMMA],
        "normalize": ["boolean"],
        **SIZE_BOUNDS,
        **OUTLIERS,
        **WARM_START,
    }

    def __init__(
        self,
        n_clusters=2,
        *,
        affinity="local",
        n_neighbors="auto",
        gamma="auto",
        normalize=True,
        min_size=None,
        max_size=None,
        outliers=None,
        warm_start=False,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.gamma = gamma
        self.normalize = normalize
        self.min_size = min_size
        self.max_size = max_size
        self.outliers = outliers
        self.warm_start = warm_start
        self.random_state = random_state

    fit = fit_with_node_weights_and_links

    def predict_proba(self, X: Samples) -> Array:
        """Probability of each cluster; for samples far from all others, that of the nearest one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples; where similarities are precomputed, those to the training samples.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_clusters)
            Rows add up to one.
        """
        X = self._validate_new(X, "predict_proba")
        found = answers(self._model.predict_proba, X, n_columns=self._model.n_clusters)
        return as_calibrated(self, found)

    def _validate_X(self, X, *, reset):
        sparse = self.affinity == "precomputed"
        X = check_samples(self, X, reset=reset, dtype=np.float64, sparse=sparse)
        if reset:
            check_square(X, precomputed_parameter(self))
        return X

    def _problem(self, X, sample_weight, links, progress, rng):
        if not is_numpy(X):
            if links is None and sample_weight is None and self._solves_on_device(X):
                return self._problem_on_device(X, progress, rng)
            X = in_doubles(to_numpy(X))
        # by their places alone, so that the order of the rows does not matter
        precomputed = self.affinity == "precomputed"
        order = order_of_places(X, sample_weight, pairs=precomputed)
        rows = X[order]
        weight = None if sample_weight is None else sample_weight[order]
        seed = rng.randint(2**31 - 1)  # all similarities are judged on the same draws
        if weight is None:
            copies = np.arange(len(order))
        elif self._landmarks is not None:
            copies = rng.choice(len(order), MAX_SAMPLES, p=weight / weight.sum())
        else:
            copies = copies_of(weight)
        candidates = self._candidates(rows, weight)
        task = progress.subtask("choice", len(candidates))
        best = search = None
        # the largest number of neighbours first: that search has found those of all others
        for chosen in reversed(candidates):
            step = task.subtask("affinity", 0)
            if self._landmarks is not None:
                graph = self._landmarks[chosen["n_neighbors"]]
            else:
                graph_of = partial(self._graph_of, sample_weight=weight, search=search, **chosen)
                graph = ordered_graph(X, order, graph_of, precomputed=precomputed)
                search = graph.search
            graph, nodes = linked(graph, links, sample_weight)
            problem = InformationProblem(graph=graph, chosen=chosen, nodes=nodes)
            # kernels of samples that are divided among landmarks have equal sums as they are
            normalize = self.normalize or self._landmarks is not None
            result = solve_information(problem, self.n_clusters, normalize=normalize)
            labels = problem.labels_of(result.model)
            if nodes is not None:
                result = nodes.kept(result, result.model.of_samples(result.model.responses))
                labels = result.labels
            information = np.nan
            if len(candidates) > 1:
                labels = labels[order]
                information = least_squares_mutual_information(
                    rows[copies], labels[copies], random_state=seed
                )
            if best is None or best.is_matched_by(information):
                best = replace(problem, result=result, information=information)
            if step.close():
                break
        task.close()
        return best

    def _solves_on_device(self, X):
        """Whether all is linear algebra that a device is good at, and there is enough of it."""
        n_few = max(DENSE_SAMPLES, 2 * self.n_clusters)
        is_plain = self.affinity == "local" and self.normalize
        return is_plain and X.shape[0] > n_few and are_distinct(X)

    def _problem_on_device(self, X, progress, rng):
        """The choice of similarities among distinct samples on a device."""
        order, candidates = order_of_places(X), self._candidates(X, None)
        drawn = order[drawn_samples(len(order), rng.randint(2**31 - 1))]
        rows = in_doubles(rows_at(X, drawn)) if len(candidates) > 1 else None
        numbers = [chosen["n_neighbors"] for chosen in reversed(candidates)]
        is_approximate = searches_approximately("auto", X)
        graphs = DeviceGraph.several(X, numbers, is_approximate=is_approximate)
        task, best = progress.subtask("choice", len(candidates)), None
        for number, graph in zip(numbers, graphs, strict=True):
            step = task.subtask("affinity", 0)
            result = solve_on_device(
                graph,
                self.n_clusters,
                least_link=LEAST_LINK,
                rounding=ROUNDING,
                turns=self.n_clusters > UNTURNED_CLUSTERS,
            )
            information = np.nan
            if rows is not None:
                information = information_of(rows, to_numpy(rows_beside(result.labels, drawn)))
            if best is None or best.is_matched_by(information):
                best = InformationProblem(
                    graph=graph,
                    chosen={"n_neighbors": number},
                    result=result,
                    information=information,
                )
            if step.close():
                break
        task.close()
        return best

    @property
    def _joins_landmarks(self):
        return self.affinity == "local"

    def _landmark_choices(self, rows):
        """Arguments of `landmark_graphs`."""
        numbers = [chosen["n_neighbors"] for chosen in self._candidates(rows, None)]
        return {"numbers": numbers, "affinity": "local"}

    def _candidates(self, X, sample_weight):
        """Parameters of the similarities to choose from."""
        if self._landmarks is not None:
            return [{"n_neighbors": number} for number in sorted(self._landmarks)]
        if self.affinity == "precomputed":
            return [{}]
        if self.affinity == "local":
            numbers = [self.n_neighbors]
            if self.n_neighbors == "auto":
                chooses = self.n_clusters <= CHOOSING_CLUSTERS
                numbers = list(AUTO_NEIGHBORS) if chooses else [MANY_NEIGHBORS]
            n_samples = X.shape[0] if sample_weight is None else int(sample_weight.sum())
            most = max(1, n_samples - 1)
            return [{"n_neighbors": n} for n in sorted({min(n, most) for n in numbers})]
        automatic = isinstance(self.gamma, str) and self.gamma == "auto"
        rules = [("mean", width) for width in AUTO_WIDTHS] if automatic else [self.gamma]
        return [{"gamma": float(resolved_gamma(rule, X, sample_weight))} for rule in rules]

    def _graph_of(self, X, sample_weight=None, n_neighbors=1, gamma=None, search=None):
        """Similarities of samples, and the rule that gives those of new samples."""
        if self.affinity == "precomputed":
            return GivenGraph.of_similarities(X)
        if self.affinity == "rbf":
            check_fits_memory(X.shape[0], remedy="use affinity='local', which is sparse")
        graph = "union" if self.affinity == "local" else "full"
        return distinct_graph(
            X,
            sample_weight,
            affinity=self.affinity,
            graph=graph,
            n_neighbors=n_neighbors,
            gamma=gamma,
            search=search,
        )

    def _n_tasks(self):
        return 2  # the choice, and the answer

    def _solve(self, problem, progress, rng):
        iterations = progress.iterations(1)
        for _ in iterations:
            iterations.record(problem.result.objective, problem.result.model)
        return problem.result

    def _attributes(self, problem, result, order):
        return {
            "mutual_information_": problem.information,
            "n_neighbors_": problem.chosen.get("n_neighbors"),
        }

    def _attributes_without_solution(self):
        return {"mutual_information_": np.nan, "n_neighbors_": None}

    def _distinct_attributes(self, X, rows):
        model = NearestSample.of_distinct(rows)
        return {"_model": model, "probabilities_": model.predict_proba(X)}

    def _model_attributes(self, model, X):
        probabilities = model.of_samples(model.probabilities)
        return {"_model": model, "probabilities_": exactly_beside(probabilities, X)}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.affinity == "precomputed"
        tags.array_api_support = True
        return tags


@dataclass(frozen=True, kw_only=True)
class InformationProblem:
    """Samples, the similarities chosen for them, and the resulting clusters.

    Attributes
    ----------
    graph : SimilarityGraph or GivenGraph
        Similarities of the samples; equal ones are one node.
    chosen : dict
        Parameters of these.
    nodes : LinkedNodes or None
        What links say of the nodes.
    result : SolverResult or None
        The answer, which is known in closed form.
    information : float
        Information of samples and labels, estimated from these.
    """

    graph: Any
    chosen: dict
    nodes: Any = None
    result: Any = None
    information: float = np.nan

    @property
    def X(self):
        """The similarities of the nodes."""
        return self.graph.W

    def is_matched_by(self, information):
        """Whether other similarities are at least as good, up to rounding, which must not decide.

        So of equally good ones the last is taken.
        """
        return information >= self.information - 1e-9 * abs(self.information)

    def completed(self, model):
        """The model holds the graph."""
        return model

    def labels_of(self, model):
        """Most probable clusters of the samples."""
        return decoded(model.of_samples(model.responses))


# --- the closed form ----------------------------------------------------------------------------


def solve_information(problem, n_clusters, *, normalize):
    r"""Clusters of the largest squared-loss mutual information with the samples.

    .. math:: \max_\alpha \; \frac{c}{2n} \sum_{y=1}^c \alpha_y^\top K^2 \alpha_y - \frac12
              \quad \text{s.t. } \alpha_y^\top \alpha_{y'} = \delta_{yy'}

    for :math:`p(y \mid x) = \sum_i \alpha_{y,i} K(x, x_i)` and clusters that are equally probable,
    eq. (16) of [2]_. The maximum is at the c leading eigenvectors. They are turned so that their
    sums are positive, or the sums of their cubes where sums are zero because kernels have equal
    sums; negative values become zero, and each is scaled to the same sum; then [1]_
    assigns samples to the largest. Here the values at each sample are divided by their sum, too,
    which makes them probabilities.

    Every rotation of the eigenvectors has the same information. Where labels are known, the one
    is taken whose columns agree best with these. For more than 10 clusters it is the one nearest
    to the most different samples; columns as they are mix many clusters whose eigenvalues are
    nearly equal.

    Parameters
    ----------
    problem : InformationProblem
        Samples and kernels K between them, the similarities. Those between neighbours are
        completed by a diagonal of ones.
    n_clusters : int
        Number of clusters c.
    normalize : bool
        Whether to take :math:`D^{-1/2} K D^{-1/2}` for K, with its sums of rows in D. Then samples
        in parts that no kernel connects have equal eigenvalues; of the vectors that are equally
        good those are taken that tell the parts apart.

    Returns
    -------
    result : SolverResult

    References
    ----------
    .. [1] M. Sugiyama, M. Yamada, M. Kimura, H. Hachiya, "On information-maximization clustering:
       tuning parameter selection and analytic solution", ICML 2011.
    .. [2] G. Niu, B. Dai, L. Shang, M. Sugiyama, "Maximum volume clustering: a new discriminative
       clustering approach", Journal of Machine Learning Research 14, 2013.
    """
    tiny, graph = np.finfo(np.float64).tiny, problem.graph
    counts = np.ones(graph.W.shape[0]) if graph.counts is None else graph.counts
    K, n_samples, roots = graph.W, float(counts.sum()), np.sqrt(counts)
    if graph.has_samples and graph.own == 0:
        K = K + sp.diags_array(counts.astype(np.float64))
    # eigenvectors of all samples are equal for equal ones: a vector of nodes over their roots
    mass = np.sqrt(np.maximum(degrees(K), tiny)) if normalize else roots
    scale, known = 1 / mass, np.zeros((len(roots), 0))
    scaled = sp.diags_array(scale) @ K @ sp.diags_array(scale)
    if normalize:
        known = component_vectors(scaled, mass, n_clusters)
    if normalize and sp.issparse(K) and len(roots) > max(DENSE_SAMPLES, 2 * n_clusters):
        values, vectors = leading_on_graph(K, scaled, n_clusters, known)
    else:
        values, vectors = leading_eigenvectors(scaled, n_clusters, known)
    leaning = roots @ vectors
    if normalize and np.allclose(mass / mass.sum(), roots / roots.sum(), rtol=1e-6, atol=0):
        # all sums but one are zero; few samples of large values are on the positive side
        leaning = (1 / roots) @ vectors**3
    vectors = vectors * np.where(leaning < 0, -1.0, 1.0)
    turn = np.eye(n_clusters)
    if problem.nodes is not None and problem.nodes.links.teaches:
        turn = taught_rotation(vectors.T @ (roots[:, None] * problem.nodes.known))
    elif n_clusters > UNTURNED_CLUSTERS:
        turn = orthogonal_factor(different_rows(vectors / roots[:, None], n_clusters).T)
    responses = (vectors @ turn) / roots[:, None]
    positive = np.where(responses > ROUNDING * responses.max(axis=0), responses, 0.0)
    sums = counts @ positive
    if problem.nodes is not None:  # known labels show how probable the clusters are
        sums = sums / problem.nodes.shares
    # K times an eigenvector is the eigenvalue times it, so that training samples are like new ones
    coef = scale[:, None] * ((vectors / np.maximum(values, tiny)) @ turn) / sums
    objective = n_clusters / (2 * n_samples) * float(np.sum(values**2)) - 0.5
    return SolverResult.of_responses(
        Posterior(graph, coef, probabilities_of(positive / sums, graph)),
        objective=objective,
        history=[objective],
        status=Status.CONVERGED,
        counts=graph.counts,
    )


def taught_rotation(agreement):
    """Rotation of vectors whose columns agree most with known labels, from how each agrees.

    Clusters without known labels get the vectors that agree least with the labels of the others.
    """
    vector, cluster = linear_sum_assignment(-agreement)
    slight = np.zeros_like(agreement)
    slight[vector, cluster] = SLIGHT * np.abs(agreement).max()
    return orthogonal_factor(agreement + slight)


def copies_of(weight):
    """Indices of samples, each as often as it weighs, in multiples of the unit of the weights.

    Beyond some number of copies the unit is larger, and every sample has at least one copy.
    """
    unit = max(unit_of(weight), weight.sum() / MOST_COPIES)
    return np.repeat(np.arange(len(weight)), np.maximum(1, np.rint(weight / unit)).astype(np.intp))


def component_vectors(K, roots, n_vectors):
    """Eigenvectors of the largest eigenvalue, one, of the normalised K: one for each component.

    Similarities that change eigenvalues by less than rounding do not connect samples. All
    combinations of these vectors are also such eigenvectors, but may have negative values. The
    heaviest components come first, and at most `n_vectors` of them.
    """
    _, component = components(K > LEAST_LINK)
    squares = np.bincount(component, weights=roots**2)
    heaviest = np.argsort(-squares, kind="stable")[:n_vectors]
    return np.where(component[:, None] == heaviest, roots[:, None] / np.sqrt(squares[heaviest]), 0)


def leading_eigenvectors(K, n_vectors, known):
    """Largest eigenvalues of a symmetric matrix, in decreasing order, and their vectors.

    Some of the largest eigenvalue, one, may be `known`.
    """
    n, n_known = known.shape
    n_sought = n_vectors - n_known
    if n_sought == 0:
        return np.ones(n_known), known
    if sp.issparse(K) and n > max(DENSE_SAMPLES, 2 * n_vectors):
        rest = LinearOperator(K.shape, matvec=lambda v: K @ v - known @ (known.T @ v))
        values, vectors = eigsh(rest, k=n_sought, which="LA", v0=np.full(n, n**-0.5), rng=0)
    else:
        K = K.toarray() if sp.issparse(K) else K
        values, vectors = eigh(K - known @ known.T, subset_by_index=[n - n_sought, n - 1])
    return np.r_[np.ones(n_known), values[::-1]], np.c_[known, vectors[:, ::-1]]


def leading_on_graph(K, normalized, n_vectors, known):
    """The same for the normalised K of a large graph.

    They are the smoothest vectors of its Laplacian, which multigrid finds; the trivial ones, one
    for each component, are known.
    """
    n_known = known.shape[1]
    if n_known == n_vectors:
        return np.ones(n_known), known
    hierarchy = GraphHierarchy(joined_components(K))
    _, vectors = hierarchy.eigenpairs(n_vectors - 1, tol=EIGENVECTOR_TOL)
    vectors = vectors[:, n_known - 1 :]
    vectors, _ = qr(vectors - known @ (known.T @ vectors), mode="economic")
    values, turn = eigh(vectors.T @ (normalized @ vectors))
    return np.r_[np.ones(n_known), values[::-1]], np.c_[known, vectors @ turn[:, ::-1]]


def probabilities_of(responses, graph):
    """Responses of the training samples as probabilities; those without take the nearest's."""
    none = responses.sum(axis=1) == 0
    if none.any() and graph.has_samples:
        others = np.flatnonzero(~none)
        nearest = pairwise_distances_argmin(graph.rows[none], graph.rows[others])
        responses[none] = responses[others[nearest]]
    elif none.any():
        responses[none] = 1.0
    return responses / responses.sum(axis=1, keepdims=True)
