"""Tree cut clustering: clusters that long links of a spanning tree connect."""

from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.utils.validation import check_is_fitted

from separatrix._sklearn import Interval, StrOptions
from separatrix._typing import Array, Samples
from separatrix.data.distinct import KnownRows, row_hashes
from separatrix.data.gate import check_samples
from separatrix.data.rows import answers
from separatrix.estimators.base import (
    BaseClustering,
    fit_with_node_weights_and_links,
    n_score_columns,
)
from separatrix.estimators.outliers import marked
from separatrix.estimators.parameters import COUNT, N_CLUSTERS, OUTLIERS, SIZE_BOUNDS, WARM_START
from separatrix.labels.links import linked_labels
from separatrix.labels.sizes import unit_of
from separatrix.models.nearest_samples import NearestSample, exponent_of, in_units
from separatrix.models.scores import score_features
from separatrix.result import Labelling, SolverResult, Status
from separatrix.similarity.forest import ApproximateSearch
from separatrix.similarity.neighbors import ExactSearch, others_in
from separatrix.similarity.spanning_trees import (
    SpanningTree,
    contracted_tree,
    core_radii,
    cut_labels,
    joined_labels,
    neighbor_tree,
    parting_links,
    spanning_tree,
)

__all__ = ["TreeCutClustering", "solve_tree_cut"]

# Beyond this many samples the tree has links of neighbours; beyond so many features not all of
# these are found. Each sample has at least so many, and twice as many as make up its core radius.
MAX_SAMPLES, MAX_FEATURES, MIN_NEIGHBORS = 20_000, 4, 10
# Smallest sizes of parts in even shares, and a number of clusters up to which the first one is
# taken. Of more clusters, more than the last share are below the second one if sizes differ.
SMALLEST, LARGER, FEW_CLUSTERS, MOST_SMALL = 0.25, 0.5, 20, 0.3


# --- the estimator ------------------------------------------------------------------------------

# Largest number of samples, including copies by weight, that are counted one by one.
MOST_COUNTED = 100_000_000


class TreeCutClustering(BaseClustering):
    """Clusters that are left when long links of the minimum spanning tree are cut.

    The tree connects all samples by the shortest links. Clusters of any shape are connected by
    single links that are longer than those within them, but so are outliers. So a link is cut only
    if the parts on both sides are large enough, as in Lumbermark [1]_. Links are measured by
    mutual reachability, the distance of HDBSCAN [2]_, which keeps samples in sparse regions from
    bridging clusters. There are no starts and no randomness.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
    rule : {"cut", "join"}, default="cut"
        How the tree becomes clusters. "cut" cuts links from the longest to the shortest. "join"
        joins samples from the shortest link to the longest, the smallest clusters first while
        sizes are uneven: the rule of Genie [3]_.
    n_neighbors : int, default=5
        Number of neighbours. A link is at least as long as the distance of either end to the last
        of its neighbours; 1 leaves distances as they are. Small data sets have fewer: no more
        than the other samples of an even share, ``n_samples / n_clusters``.
    smallest_share : float or "auto", default="auto"
        Smallest size of the parts that a cut leaves, as a multiple of an even share, ``n_samples /
        n_clusters``; leaves of the tree do not count. "auto" is 0.25; for more than 20 clusters it
        is 0.5 if no more than three in ten clusters are then smaller than half of an even share.
        Where many clusters of similar sizes overlap, these few are mostly fringes of others; where
        sizes differ, 0.5 would join small clusters. For `rule="cut"`.
    unevenness : float, default=0.3
        Gini index of the sizes, from 0 to 1, above which a smallest cluster is joined first; 1 is
        single linkage. For `rule="join"`.
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
        Cluster of each sample, the largest cluster first. The same as `predict` of the training
        data.
    cut_links_ : ndarray of int of shape (n_clusters - 1, 2)
        Samples at the ends of the links between clusters, the longest link first.
    cut_lengths_ : ndarray of shape (n_clusters - 1,)
        Lengths of the links between clusters, the longest first.
    smallest_share_ : float
        Smallest size of the parts that a cut leaves, in even shares; nan for `rule="join"`.
    objective_ : float
        Total length of the links within clusters: smaller is better. It is nan for one cluster, or
        for fewer distinct samples than clusters.
    history_ : list of float
        Objective at each iteration. Each one cuts a link, the longest first.
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
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where X has them.

    See Also
    --------
    MaximumVolumeClustering : Clusters of any shape on a graph, which may overlap a little.
    AutoClustering : Chooses among methods.

    Notes
    -----
    Where the cuts give fewer clusters than asked for, the smallest size is halved until there are
    enough, and finally leaves count too. Equal samples are never separated.

    The tree is exact, in memory that grows with the number of samples and in time that grows with
    its square. Beyond 20,000 samples, it is the shortest of the trees whose links connect
    neighbours, of which most but not all are found if there are more than 4 features. This takes
    far less time, and the tree is a little longer than the exact one.

    Must-linked samples, and those of one known label, are one node of the tree, and the links
    between nodes that must not be in one cluster are cut first. Where cannot-links ask for more
    cuts than there are clusters, connected parts of the tree cannot keep them, and samples go to
    the nearest cluster that their links allow.

    A new sample goes to the cluster of the nearest training sample. The distance to a training
    sample counts as at least the distance of that sample to the last of its own neighbours, but as
    zero if both samples are equal. Each new sample is compared with all training samples.

    References
    ----------
    .. [1] M. Gagolewski, "Lumbermark: resistant clustering by chopping up mutual reachability
       minimum spanning trees", arXiv:2604.07143, 2026.
    .. [2] R. J. G. B. Campello, D. Moulavi, J. Sander, "Density-based clustering based on
       hierarchical density estimates", PAKDD 2013.
    .. [3] M. Gagolewski, M. Bartoszuk, A. Cena, "Genie: a new, fast, and outlier-resistant
       hierarchical clustering algorithm", Information Sciences 363, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import TreeCutClustering
    >>> X = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> model = TreeCutClustering(n_clusters=2).fit(X)
    >>> model.labels_
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    >>> model.predict([[0, 0], [12, 3]])
    array([0, 1], dtype=int32)
    """

    representatives_: Array
    cut_links_: Array
    cut_lengths_: Array
    smallest_share_: float

    _model: NearestSample
    _parameter_constraints: dict = {
        **N_CLUSTERS,
        "rule": [StrOptions({"cut", "join"})],
        "n_neighbors": COUNT,
        "smallest_share": [Interval(Real, 0, 1, closed="both"), StrOptions({"auto"})],
        "unevenness": [Interval(Real, 0, 1, closed="both")],
        **SIZE_BOUNDS,
        **OUTLIERS,
        **WARM_START,
    }
    fit = fit_with_node_weights_and_links

    def __init__(
        self,
        n_clusters=2,
        *,
        rule="cut",
        n_neighbors=5,
        smallest_share="auto",
        unevenness=0.3,
        min_size=None,
        max_size=None,
        outliers=None,
        warm_start=False,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.rule = rule
        self.n_neighbors = n_neighbors
        self.smallest_share = smallest_share
        self.unevenness = unevenness
        self.min_size = min_size
        self.max_size = max_size
        self.outliers = outliers
        self.warm_start = warm_start
        self.random_state = random_state

    def predict(self, X: Samples) -> Array:
        """Cluster of each sample: that of the nearest training sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Cluster numbers from 0, and -1 for outliers where `outliers` is not None.
        """
        check_is_fitted(self)
        X = self._validate_X(X, reset=False)
        return marked(self, X, answers(self._model.labels, X, dtype=np.int32))

    def decision_function(self, X: Samples) -> Array:
        """How near samples are to each cluster: minus the distance of its nearest sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_clusters)
            For two clusters one value, by how much cluster 1 is nearer. Otherwise a column per
            cluster, minus infinity for one without samples; the largest decides. All zero for one
            cluster.
        """
        check_is_fitted(self)
        X = self._validate_X(X, reset=False)
        return answers(self._model.scores, X, n_columns=n_score_columns(self._model))

    def _validate_X(self, X, *, reset):
        return check_samples(self, X, reset=reset, dtype=np.float64, sparse=False, scale_free=True)

    def _problem(self, X, sample_weight, links, progress, rng):
        n_samples = X.shape[0] if sample_weight is None else sample_weight.sum()
        most = max(1, int(n_samples // self.n_clusters) - 1)
        if self.rule == "join" and sample_weight is not None and unit_of(sample_weight) != 1:
            raise ValueError(
                "rule='join' counts samples, so sample_weight must hold whole numbers; round the "
                "weights, or use rule='cut'."
            )
        if self.rule == "join" and n_samples > MOST_COUNTED:
            raise ValueError(
                f"rule='join' counts samples, and sample_weight sums to {n_samples:.3g} of them, "
                f"more than {MOST_COUNTED:.0e}; divide the weights, or use rule='cut'."
            )
        return TreeProblem.of(X, min(self.n_neighbors, most), sample_weight, links)

    def _solve(self, problem, progress, rng):
        share = np.nan
        if self.rule == "cut":
            share = self.smallest_share
            if share == "auto":
                share = suitable_share(problem, self.n_clusters)
            smallest = share * problem.sizes.sum() / self.n_clusters
            labels_of = partial(cut_labels, smallest=smallest)
        else:
            labels_of = partial(joined_labels, unevenness=self.unevenness)
        result = solve_tree_cut(problem, self.n_clusters, labels_of, progress=progress)
        return replace(result, details=(result.details, float(share)))

    def _attributes(self, problem, result, order):
        tree, (cut, share) = problem.tree, result.details
        return {
            "cut_links_": problem.first[problem.ends[cut]],
            "cut_lengths_": np.ldexp(tree.lengths[cut], problem.exponent),
            "smallest_share_": share,
        }

    def _attributes_without_solution(self):
        return {
            "cut_links_": np.empty((0, 2), dtype=np.int64),
            "cut_lengths_": np.empty(0),
            "smallest_share_": np.nan,
        }

    def _distinct_attributes(self, X, rows):
        return {"_model": NearestSample.of_distinct(rows)}

    def _model_attributes(self, model, X):
        return {"_model": model}


@dataclass(frozen=True, kw_only=True)
class TreeProblem:
    """Samples, equal ones taken together, and the tree that connects them.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        The samples.
    known : KnownRows
        The distinct samples.
    first : ndarray of int of shape (n_distinct,)
        The first sample of each set of equal ones.
    place : ndarray of int of shape (n_samples,)
        The set that each sample is in.
    sizes : ndarray of shape (n_distinct,)
        Number of samples that equal each of the distinct ones, or their weight.
    exponent : int
        Samples are divided by two to this power, so that no square overflows.
    rows : ndarray of shape (n_distinct, n_features)
        Distinct samples in these units.
    radii : ndarray of shape (n_distinct,)
        Their distances to the last of their neighbours; zero where links are plain distances.
    tree : SpanningTree
        The tree of the nodes: the distinct samples, those that links bind as one.
    nodes : ndarray of int of shape (n_distinct,)
        Node of each distinct sample.
    ends : ndarray of int of shape (n_nodes - 1, 2)
        Distinct samples at the ends of the links of the tree.
    parting : ndarray of bool of shape (n_nodes - 1,) or None
        Links of the tree between samples that must not be in one cluster.
    links, sample_weight : Links or None, and ndarray or None
        Links between the samples, and weights of these.
    """

    X: np.ndarray
    known: KnownRows
    first: np.ndarray
    place: np.ndarray
    sizes: np.ndarray
    exponent: int
    rows: np.ndarray
    radii: np.ndarray
    tree: SpanningTree
    nodes: np.ndarray
    ends: np.ndarray
    parting: Any = None
    links: Any = None
    sample_weight: Any = None

    @classmethod
    def of(cls, X, n_neighbors, sample_weight=None, links=None):
        """The tree of samples whose links are smoothed by so many neighbours."""
        # in the order of their hashes, so that even ties do not depend on the order of samples
        hashes, first, place = np.unique(row_hashes(X), return_index=True, return_inverse=True)
        exponent = exponent_of(X)
        rows = in_units(X[first], exponent)
        n_distinct, n_features = rows.shape
        many = n_distinct > MAX_SAMPLES
        # for a tree a few neighbours of each sample are enough, and some of them may be missed
        approximate = partial(ApproximateSearch, least_kept=MIN_NEIGHBORS)
        search_in = approximate if many and n_features > MAX_FEATURES else ExactSearch
        radii, neighbors = np.zeros(n_distinct), None
        if many or n_neighbors > 1:
            n_sought = max(2 * n_neighbors, MIN_NEIGHBORS) if many else n_neighbors
            search = search_in(rows, n_jobs=None)
            neighbors = others_in(search, np.arange(n_distinct), n_distinct, n_sought)
        if n_neighbors > 1:
            radii = core_radii(rows, neighbors, np.bincount(place, sample_weight), n_neighbors)
        if many:
            tree = neighbor_tree(rows, radii, neighbors, nearest=n_features <= MAX_FEATURES)
        else:
            tree = spanning_tree(rows, radii)
        ends, nodes, parting = tree.ends, np.arange(n_distinct), None
        if links is not None:
            groups = links.restricted(first).groups  # of equal samples the first counts
            tree, nodes, kept = contracted_tree(tree, groups)
            ends = ends[kept]
            parting = links_to_cut(tree, nodes, links.restricted(first))
        return cls(
            X=X,
            known=KnownRows(hashes, np.arange(n_distinct)),
            first=first,
            place=place,
            sizes=np.bincount(place, sample_weight),
            exponent=exponent,
            rows=rows,
            radii=radii,
            tree=tree,
            nodes=nodes,
            ends=ends,
            parting=parting,
            links=links,
            sample_weight=sample_weight,
        )

    @property
    def node_sizes(self):
        """Number, or weight, of the samples of each node of the tree."""
        return np.bincount(self.nodes, self.sizes)

    def kept_labels(self, clusters, n_clusters):
        """Labels of the samples, by the clusters of the distinct ones, that keep all links.

        Where cutting the tree cannot keep all links, samples go to the nearest cluster that their
        links allow.
        """
        labels = clusters[self.place]
        if self.links is None or self.links.violations(labels) == 0:
            return labels
        scores = score_features(self.model(clusters, n_clusters).scores(self.X), n_clusters)
        return linked_labels(scores, self.links, sample_weight=self.sample_weight).labels

    def model(self, clusters, n_clusters):
        """The model of the clusters of the distinct samples."""
        known = self.known
        return NearestSample(n_clusters, self.rows, self.radii, clusters, self.exponent, known)

    def completed(self, model):
        """The model holds the samples."""
        return model

    def labels_of(self, model):
        """Clusters of the samples."""
        return model.clusters[self.place]


def links_to_cut(tree, nodes, links):
    """Links of the tree that must be cut because of links between the distinct samples.

    If these are too many, only those of known labels, which are never too many.
    """
    colors = np.full(tree.n_samples, -1)
    told = links.known_labels >= 0
    colors[nodes[told]] = links.known_labels[told]
    conflicts = nodes[links.pairs[links.apart]]
    parting = parting_links(tree, conflicts, colors)
    if parting.sum() >= links.n_clusters:
        parting = parting_links(tree, conflicts[:0], colors)
    return parting


# --- the cuts -----------------------------------------------------------------------------------


def suitable_share(problem, n_clusters):
    """Smallest size of the parts of a cut, in even shares: larger for many even clusters."""
    if n_clusters <= FEW_CLUSTERS:
        return SMALLEST
    sizes = problem.node_sizes
    even = sizes.sum() / n_clusters
    labels = cut_labels(
        problem.tree, n_clusters, smallest=SMALLEST * even, sizes=sizes, parting=problem.parting
    )
    are_small = np.bincount(labels, sizes, n_clusters) < LARGER * even
    return SMALLEST if are_small.mean() > MOST_SMALL else LARGER


def solve_tree_cut(problem, n_clusters, labels_of, *, progress):
    r"""Clusters that are connected parts of a minimum spanning tree.

    .. math:: \min_{T' \subset T, \; |T'| = n - k} \; \sum_{(i, j) \in T'} \ell_{ij},
              \qquad \ell_{ij} = \max(\|x_i - x_j\|, r_i, r_j)

    with the tree T of least total length and the core radii r. Without further conditions the
    k - 1 longest links are left out, which is single linkage. `labels_of` has the condition:

    - `cut_labels`: links are left out only between parts of a least size, as in [1]_. Where this
      gives too few clusters, the size is halved here.
    - `joined_labels`: links are taken from the shortest on while sizes are even, as in [2]_.

    Equal samples are one node of the tree, which [1]_ and [2]_ leave open.

    Parameters
    ----------
    problem : TreeProblem
        Samples and their tree.
    n_clusters : int
        Number of clusters k.
    labels_of : callable
        ``labels_of(tree, n_clusters, sizes=...)`` gives the parts of the tree.
    progress : Progress
        Called with each cut, the longest first.

    Returns
    -------
    result : SolverResult
        Its details are the indices of the links between clusters, the longest first.

    References
    ----------
    .. [1] M. Gagolewski, "Lumbermark: resistant clustering by chopping up mutual reachability
       minimum spanning trees", arXiv:2604.07143, 2026.
    .. [2] M. Gagolewski, M. Bartoszuk, A. Cena, "Genie: a new, fast, and outlier-resistant
       hierarchical clustering algorithm", Information Sciences 363, 2016.
    """
    tree = problem.tree
    labels = labels_of(tree, n_clusters, sizes=problem.node_sizes, parting=problem.parting)
    cut = np.flatnonzero(labels[tree.ends[:, 0]] != labels[tree.ends[:, 1]])[::-1]
    iterations = progress.iterations(max(1, len(cut)))
    iterations.status = Status.CONVERGED
    for step in iterations:
        within = np.delete(tree.lengths, cut[: step + 1]).sum()
        iterations.record(float(np.ldexp(within, problem.exponent)))
    cut = cut[: iterations.n_iter]  # fewer if a callback stopped the fit
    within = np.delete(tree.ends, cut, axis=0).T
    shape = (tree.n_samples, tree.n_samples)
    links = sp.csr_array((np.ones(within.shape[1]), within), shape)
    parts = connected_components(links, directed=False)[1].astype(np.int32)
    labels = problem.kept_labels(parts[problem.nodes], n_clusters)
    return SolverResult(
        Labelling(labels, n_clusters),
        problem.model(labels[problem.first], n_clusters),
        iterations.history[-1],
        iterations.history,
        iterations.status,
        details=cut,
        keeps_labels=problem.links is not None,
    )
