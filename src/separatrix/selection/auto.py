"""The default: candidates of several kinds, and their consensus."""

import warnings
from copy import deepcopy
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.random import sample_without_replacement
from sklearn.utils.validation import check_is_fitted

from separatrix._sklearn import (
    DOC_LINK,
    Interval,
    StrOptions,
    check_same_namespace,
    fit_context,
    is_dask,
    is_lazy,
    one_thread,
    to_numpy,
)
from separatrix._typing import Array, ArrayLike, Samples, Weights
from separatrix.data.gate import check_samples, computed, naming, on_host, weights_of
from separatrix.data.rows import exactly_beside, in_doubles, rows_at, rows_beside
from separatrix.estimators.base import (
    default_parameters,
    kept_on_failure,
    random_state_of,
    set_fitted,
)
from separatrix.estimators.docstrings import described
from separatrix.estimators.memberships import (
    assigned,
    mean_probability,
    transformed,
    within_bounds,
)
from separatrix.estimators.outliers import OutlierSearch, check_outliers, marked, n_left_in
from separatrix.estimators.parameters import N_JOBS, OUTLIERS, SIZE_BOUNDS, WARM_START
from separatrix.estimators.refits import check_columns
from separatrix.labels.links import linked_labels, links_of
from separatrix.labels.numbering import agreeing_order
from separatrix.labels.sizes import size_bounds
from separatrix.models.extensions import Extension
from separatrix.result import Labelling, ObservedProgress, Status
from separatrix.selection.assignment import (
    Assignment,
    LazyAssignment,
    columns_of_rows,
    labels_of_rows,
)
from separatrix.selection.candidates import Comparison, compared, families_of
from separatrix.selection.election import Election, Seen, more_agreed, one_cluster
from separatrix.selection.gaps import chance_gap, gap_between
from separatrix.selection.number_of_clusters import (
    choice_words,
    likeliest_number,
    plausible_numbers,
    selection_curve,
)
from separatrix.selection.pool import Given, default_candidates
from separatrix.selection.trust import trust_words
from separatrix.validity.structure import Structure, structure_of_samples

__all__ = ["AutoClustering"]

# Samples that candidates are run on.
MAX_SAMPLES = {"fast": 3_000, "thorough": 10_000}
# Samples that the boundary is fitted to, beside these.
REFITTED_ROWS = 10_000


# --- the estimator ------------------------------------------------------------------------------

FIT_TEXTS = {
    "X": """X : {array-like, dask array} of shape (n_samples, n_features)
    Samples. Of dask arrays and `RowBlocks`, only the samples that the candidates see are in
    memory, unless there are links, known labels, bounds of sizes or outliers.""",
    "sample_weight": """sample_weight : float or array-like of shape (n_samples,), default=None
    Nonnegative weights, for the candidates that take weights. No candidate uses samples of weight
    zero.""",
    "known_labels": """known_labels : array-like of int of shape (n_samples,), default=None
    Known clusters of samples, -1 where unknown; clusters keep these numbers.
    Candidates learn from them if they can, and those that agree with them have more votes.""",
}


class AutoClustering(
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
):
    """Consensus of clusterers of different kinds, weighted by how good each is predicted to be.

    Many cheap candidates cluster the samples, sharing neighbours, graphs and trees. Trees grown on
    synthetic data predict, without labels, how good each result is; the better it is, the more its
    vote counts. Samples that the votes keep together become a cluster. No rule finds the right
    clusters in all data: `structure_` says whether there are any, and `agreement_` how far to
    trust these.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of clusters. None chooses a number, which is a guess: see `plausible_n_clusters_`.
        The choice of one cluster means that no clusters were found.
    tier : {"fast", "thorough"}, default="fast"
        "fast" runs candidates on up to 3,000 samples; "thorough" runs some more of them on up to
        10,000.
    max_samples : int or None, default=None
        Largest number of samples that the search uses. From more, it draws a random sample of this
        size, and the result labels the others. These get the labels of `boundary_`. None is 3,000
        for the fast tier and 10,000 for the thorough one.
    max_clusters : int, default=10
        Most clusters that `n_clusters=None` chooses.
    n_jobs : int, default=None
        Number of jobs that run at the same time, as in joblib. Each is a candidate.
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
    structure_ : Structure
        Comparison of the samples with similar tables that have no clusters: look at it first. Its
        `p_value` is the share of such tables in which as much structure is found; `words` says
        whether there are clusters. With `n_clusters=None` there is one cluster where it finds
        none.
    agreement_ : float
        Mean adjusted Rand index of the clusters with those of the candidates that voted, weighted
        by their votes. High agreement is a sign of structure that several methods find, not a
        proof that it is what you look for; nan for one cluster.
    spacing_ : float
        Smallest distance between clusters in units of the longest step from sample to sample
        within the tighter of the two. Above one, gaps separate the clusters, even if few methods
        find them. In few samples, or along a line, gaps of up to two or three arise by chance. It
        is infinite where the samples of a cluster are equal.
    agreement_words_ : str
        How far to trust the clusters: structure, agreement and spacing in words, and how many
        candidates voted.
    confidence_ : array of shape (n_samples,)
        Share of the families' votes for each sample's cluster: a share of votes, not a
        probability. Samples that the candidates did not use get the share of those that
        `boundary_` assigns with the same confidence.
    boundary_ : Extension
        Labels, scores and probabilities of any sample, by the rule (nearest neighbours, a kernel,
        Gaussians with one covariance or with several) that best predicts held-back labels of the
        consensus. Where there are more samples, all rules but neighbours are fitted once more, to
        up to 10,000 of them and the labels they give these. It also holds the share that each rule
        predicted. The samples that the candidates used keep their labels.
    candidates_ : Comparison
        The candidates on the samples that they used.
    best_candidate_ : str
        Name of the candidate with the most votes.
    best_candidate_labels_ : array of shape (n_seen,)
        Its labels of the samples that the search used, often as good as the consensus.
    n_clusters_ : int
        Number of clusters.
    n_clusters_if_any_ : int
        The number of clusters with the most evidence, if there are any: also where one cluster is
        the answer because none were found. For `n_clusters=None`. It is one for samples that are
        too few, or too much alike, to tell.
    selection_curve_ : dict of int to float
        Evidence for each number of clusters, if there are any, for `n_clusters=None`; empty for
        samples that are too few, or too much alike, to tell.
    plausible_n_clusters_ : list of int
        Numbers of clusters with nearly as much evidence as the best, the best first. One is among
        them where structure is in doubt.
    n_clusters_words_ : str
        How sure the choice is, in words.
    sample_indices_ : ndarray of shape (n_seen,)
        Indices of the samples that the search used.
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
    compare_clusterings : The candidates side by side, or your own.

    Notes
    -----
    Candidates use distances as they are: scale features first if their units differ. More than
    50 features are replaced by 50 principal components.
    For more than 20 clusters, those are left out that then take most of the time.

    For arrays of PyTorch or CuPy, the samples that candidates see are copied to the host, and so
    are all samples where `outliers` are searched. `boundary_` labels all samples on their device,
    in the widest precision it has. One value for each sample is an array of the same library and
    device; what belongs to candidates is on the host.

    On data sets with known classes (`benchmarks/choices/selection.py`) the consensus is on average
    ahead of every single method; on real measurements it is better than k-means and about as good
    as Gaussian mixtures. Where candidates agree strongly, or gaps separate the clusters, these are
    nearly always the classes. Without agreement they are close to chance: look at `candidates_`.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from separatrix import AutoClustering
    >>> X, _ = make_blobs(150, centers=[[0, 0], [0, 9], [9, 0]], random_state=0)
    >>> model = AutoClustering().fit(X)
    >>> model.n_clusters_
    3
    >>> model.agreement_words_
    'strong: the 23 of 26 candidates that voted find nearly the same clusters'
    """

    labels_: Array
    outlier_scores_: Array
    structure_: Structure
    agreement_: float
    spacing_: float
    agreement_words_: str
    confidence_: Array
    boundary_: Extension
    candidates_: Comparison
    best_candidate_: str
    best_candidate_labels_: Array
    n_clusters_: int
    n_clusters_if_any_: int
    selection_curve_: dict[int, float]
    plausible_n_clusters_: list[int]
    n_clusters_words_: str
    sample_indices_: Array
    n_features_in_: int
    feature_names_in_: Array
    _doc_link_module, _doc_link_template = "separatrix", DOC_LINK

    transform = transformed
    score = mean_probability
    assign = assigned

    _parameter_constraints: dict = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "tier": [StrOptions({"fast", "thorough"})],
        "max_samples": [Interval(Integral, 2, None, closed="left"), None],
        "max_clusters": [Interval(Integral, 2, None, closed="left")],
        **N_JOBS,
        "random_state": ["random_state"],
        **SIZE_BOUNDS,
        **OUTLIERS,
        **WARM_START,
    }

    def __init__(
        self,
        n_clusters=None,
        *,
        tier="fast",
        max_samples=None,
        max_clusters=10,
        n_jobs=None,
        min_size=None,
        max_size=None,
        outliers=None,
        warm_start=False,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.tier = tier
        self.max_samples = max_samples
        self.max_clusters = max_clusters
        self.n_jobs = n_jobs
        self.min_size = min_size
        self.max_size = max_size
        self.outliers = outliers
        self.warm_start = warm_start
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    @described(**FIT_TEXTS)
    def fit(
        self,
        X: Samples,
        y: Any = None,
        sample_weight: Weights = None,
        *,
        must_link: ArrayLike = None,
        cannot_link: ArrayLike = None,
        known_labels: ArrayLike = None,
    ) -> Self:
        """Run the candidates and let them vote."""
        with kept_on_failure(self):
            return self._fit(X, sample_weight, (must_link, cannot_link, known_labels))

    def _fit(self, X, sample_weight, linked):
        X = self._validate_X(X, reset=True)
        if is_lazy(X) and self._needs_all_samples(linked):
            X = in_doubles(rows_at(X))
        weight = None if sample_weight is None else weights_of(sample_weight, X.shape[0])
        asked, links = self._asked(X, linked)
        present = None if weight is None else np.flatnonzero(weight)
        most = MAX_SAMPLES[self.tier] if self.max_samples is None else self.max_samples
        self._check_numbers(X, weight, present, asked, most)
        earlier, rng = self._earlier_labels(X), random_state_of(self)
        progress = ObservedProgress(self, self._init_callback_context(max_subtasks=None), X)
        # 1) the samples for the candidates, and more for the boundary
        search = outlying = None
        if self.outliers is not None:
            search = OutlierSearch.of(self, X, weight, links)
            outlying = search.first(asked)
            left = ~outlying.out if weight is None else ~outlying.out & (weight > 0)
            present = np.flatnonzero(left)
        drawn = self._drawn(X, present, most, rng)
        taught = np.union1d(drawn, self._drawn(X, present, REFITTED_ROWS, deepcopy(rng)))
        rows = in_doubles(rows_at(X, taught))
        seen = replace(Seen.of(rows, np.searchsorted(taught, drawn)), indices=drawn)
        # 2) whether there are clusters, and how many, neither of which changes a later draw
        structure = structure_of_samples(seen.rows, self.n_jobs, deepcopy(rng))
        curve = self._curve(seen.geometry, structure, progress, deepcopy(rng))
        plausible = plausible_numbers(curve, structure.p_value)
        n_clusters = self.n_clusters or plausible[0]
        if links is not None and n_clusters != asked:
            n_clusters = max(n_clusters, asked)
            links = links_of(X, n_clusters, *linked)
        # 3) the candidates and the clusters that they elect
        told, start = (weight, links), deepcopy(rng)
        election = self._election(seen, told, n_clusters, progress, rng)
        if outlying is not None and n_clusters > 1:
            whole = self._election_of_all(
                X, seen.indices, outlying.out, told, n_clusters, progress, start
            )
            election = election if whole is None else more_agreed(election, whole)
        # 4) all samples
        boundary = one_thread(Extension.of)(
            seen.frame, seen.rows, election.labels, n_clusters, rng
        )
        if len(rows) > len(drawn):
            boundary = one_thread(boundary.refitted)(rows)
        assignment = (LazyAssignment if is_lazy(X) else Assignment).of(boundary, X)
        if search is not None and outlying is not None:
            labels = np.where(outlying.out, -1, to_numpy(assignment.labels))
            outlying = search.beside(labels, n_clusters)
            weight = search.weight * ~outlying.out
        order = self._order(assignment, weight, earlier, seen, election, links)
        if not np.array_equal(order, np.arange(n_clusters)):
            election, assignment = election.renumbered(order), assignment.renumbered(order)
        if assignment.lacks_clusters(weight):
            warnings.warn(Status.DEGENERATE.value, ConvergenceWarning, stacklevel=4)
        # 5) labels, which links, bounds of sizes and outliers may change
        labels = self._kept_within(assignment, links, outlying)
        fitted = {
            "boundary_": assignment.boundary,
            "labels_": labels,
            "confidence_": assignment.confidence(seen, election, labels),
            "sample_indices_": seen.indices,
            "_n_columns": X.shape[1],
        }
        if outlying is not None:
            labels = np.where(outlying.out, -1, to_numpy(labels)).astype(np.int32)
            fitted["labels_"] = labels
            fitted["outlier_scores_"], fitted["_outliers"] = outlying.scores, outlying.rule
        if self.n_clusters is None:
            fitted["selection_curve_"] = curve
            fitted["plausible_n_clusters_"] = plausible
            fitted["n_clusters_if_any_"] = likeliest_number(curve)
            fitted["n_clusters_words_"] = choice_words(
                plausible, structure, fitted["n_clusters_if_any_"]
            )
        fitted |= evidence_of(election, structure, seen.geometry)
        if not is_lazy(X):
            fitted = {name: exactly_beside(value, X) for name, value in fitted.items()}
        set_fitted(self, fitted)
        progress.close()
        return self

    def _asked(self, X, linked):
        """Least number of clusters, which is that asked for where one is, and links for it."""
        asked = 2 if self.n_clusters is None else self.n_clusters
        if all(one is None for one in linked):
            return asked, None
        if self.n_clusters is None:  # as many as known labels name
            asked = max(asked, n_named(linked[2]))
        return asked, links_of(X, asked, *linked)

    def _check_numbers(self, X, weight, present, asked, most):
        """Refuse numbers of clusters, outliers and sizes that the samples do not allow."""
        n_samples = n_left = X.shape[0]
        n_present = n_samples if present is None else len(present)
        if min(n_present, most) < asked:
            raise ValueError(
                f"n_samples={n_present} and max_samples={most} should be >= n_clusters="
                f"{asked}; ask for fewer clusters or pass more samples."
            )
        if self.outliers is not None:
            check_outliers(self, X, weight)
            n_left = n_left_in(self.outliers, n_samples)
        if self.n_clusters is not None:
            size_bounds(n_left, asked, self.min_size, self.max_size)

    def _order(self, assignment, weight, earlier, seen, election, links):
        """Clusters in the order of their final numbers.

        The largest of all samples is first, unless known labels or an earlier fit number them.
        """
        n_clusters = election.n_clusters
        if links is not None and links.teaches:  # the consensus has the numbers of known labels
            known = links.restricted(seen.indices)
            return known.order(Labelling(election.labels, n_clusters))
        if earlier is not None:
            rows, labels = assignment.in_memory(seen, election)
            return agreeing_order(to_numpy(earlier(rows)), to_numpy(labels), n_clusters)
        return Labelling(assignment.labels, n_clusters, weight).order

    def _kept_within(self, assignment, links, outlying):
        """Labels of all samples, changed where links or sizes of clusters ask for it."""
        if links is None and not self._has_bounds:
            return assignment.labels
        labels, X = np.array(to_numpy(assignment.labels)), assignment.X
        kept = np.arange(len(labels)) if outlying is None else np.flatnonzero(~outlying.out)
        if links is None:
            scores = to_numpy(assignment.boundary.scores(rows_beside(X, kept)))
            labels[kept] = within_bounds(scores, self.min_size, self.max_size)
            return labels
        sizes = size_bounds(len(kept), links.n_clusters, self.min_size, self.max_size)
        bounds = dict(zip(("min_size", "max_size"), sizes, strict=True))
        probabilities = to_numpy(assignment.probabilities)[kept]
        linked = linked_labels(probabilities, links.restricted(kept), **bounds)
        labels[kept] = linked.labels
        return labels

    def __setstate__(self, state):
        """What was saved; parameters that are newer than the model have their defaults."""
        super().__setstate__(default_parameters(self) | state)

    def __getstate__(self):
        """What is saved: of a dask array the values in memory, without the graph behind them."""
        state = super().__getstate__()
        return {name: computed(value) for name, value in state.items()}

    def _earlier_labels(self, X):
        """Function of samples: what the earlier fit predicts; None without `warm_start`."""
        if not self.warm_start or not hasattr(self, "boundary_"):
            return None
        check_columns(self, X)
        return self.boundary_.labels

    @property
    def _has_bounds(self):
        """Whether sizes of clusters have bounds."""
        return not (self.min_size is None and self.max_size is None)

    def _needs_all_samples(self, linked):
        """Whether samples must be in memory: something is asked of all of them together."""
        is_linked = any(one is not None for one in linked)
        return is_linked or self._has_bounds or self.outliers is not None

    def _drawn(self, X, present, most, rng):
        """Indices of the samples that the candidates see, of those that are present."""
        n_present = X.shape[0] if present is None else len(present)
        if is_lazy(X) and n_present > most:  # nothing as long as the samples is made
            drawn = np.sort(sample_without_replacement(n_present, most, random_state=rng))
        else:
            drawn = np.sort(rng.permutation(n_present)[:most])
        return drawn if present is None else present[drawn]

    def _validate_X(self, X, *, reset):
        if issparse(X):
            raise TypeError(
                "Sparse data was passed for X, but the candidates of AutoClustering need dense "
                "samples: put sklearn's TruncatedSVD(50) before it in a pipeline, or use "
                "CuttingPlaneMarginClustering."
            )
        return check_samples(self, X, reset=reset, dtype=np.float64, sparse=False, scale_free=True)

    def _validate_new(self, X, method):
        check_is_fitted(self)
        X = self._validate_X(X, reset=False)
        if not (is_lazy(X) or is_dask(self.labels_)):
            check_same_namespace(X, self, attribute="labels_", method=method)
        return X

    def predict(self, X: Samples) -> Array:
        """Cluster of each sample, by the boundary between the clusters.

        Parameters
        ----------
        X : {array-like, dask array} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        labels : array of shape (n_samples,)
            Cluster numbers from 0, and -1 for outliers where `outliers` is not None. Lazy for a
            dask array.
        """
        X = self._validate_new(X, "predict")
        return marked(self, X, labels_of_rows(self.boundary_, X))

    def decision_function(self, X: Samples) -> Array:
        """Score samples by the boundary between the clusters.

        Parameters
        ----------
        X : {array-like, dask array} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        scores : array of shape (n_samples, n_clusters) or (n_samples,)
            Score of each cluster, the largest for that of `predict`; for two clusters the
            difference of the second and the first. Lazy for a dask array.
        """
        return self._scores(X, "decision_function")

    def _scores(self, X, method):
        X = self._validate_new(X, method)
        scores = columns_of_rows(self.boundary_.scores, X, self.n_clusters_)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict_proba(self, X: Samples) -> Array:
        """Probability of each cluster, calibrated on held-back labels.

        Parameters
        ----------
        X : {array-like, dask array} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        probabilities : array of shape (n_samples, n_clusters)
            They sum to one, and the largest is that of `predict`. Lazy for a dask array.
        """
        X = self._validate_new(X, "predict_proba")
        return columns_of_rows(self.boundary_.probabilities, X, self.n_clusters_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        return tags

    @property
    def _n_features_out(self):
        """Columns of `transform`."""
        return self.n_clusters_

    def _curve(self, geometry, structure, progress, rng):
        """Evidence for each number of clusters, where none is asked for and there may be some."""
        if self.n_clusters is not None or not structure.is_tested:
            return {}
        return selection_curve(
            geometry, self.max_clusters, self.n_jobs, rng, lambda: progress.subtask("number", 0)
        )

    def _election(self, seen, told, n_clusters, progress, rng):
        """What candidates elect for the samples seen, of which users told weights and links."""
        weight, links = told
        given = Given(
            None if weight is None else weight[seen.indices],
            None if links is None else links.restricted(seen.indices),
        )
        found = self._candidates(seen.geometry, n_clusters, given, progress, rng)
        return Election.of(found, n_clusters, rng, given)

    def _election_of_all(self, X, drawn, out, told, n_clusters, progress, rng):
        """What candidates that see outliers too elect for the samples that are left in.

        None where there are no outliers, or where they spoil this: where a cluster consists mostly
        of them.
        """
        present = np.full(len(out), True) if told[0] is None else told[0] > 0
        absent, n_left = np.flatnonzero(out & present), np.count_nonzero(~out & present)
        n_more = -(-len(absent) * len(drawn) // n_left)  # as large a share as of the others
        if n_more == 0:
            return None
        rows = np.sort(np.concatenate([drawn, rng.permutation(absent)[:n_more]]))
        whole = self._election(Seen.of(X, rows), told, n_clusters, progress, rng)
        left = whole.restricted(~out[rows])
        sizes, of_all = (np.bincount(one.labels, minlength=n_clusters) for one in (left, whole))
        return left if (sizes > 0).all() and (2 * sizes >= of_all).all() else None

    def _candidates(self, geometry, n_clusters, given, progress, rng):
        if n_clusters == 1:
            return one_cluster(geometry.n_samples)
        return compared(
            geometry.X,
            geometry,
            families_of(default_candidates(self.tier, n_clusters)),
            n_clusters,
            self.n_jobs,
            rng,
            lambda *_: progress.subtask("candidate", 0).close(),
            given,
        )


def n_named(known_labels):
    """Number of clusters that known labels name; invalid labels are refused elsewhere."""
    with naming("known_labels"):
        labels = np.asarray([] if known_labels is None else on_host(known_labels))
    return int(labels.max()) + 1 if labels.size and labels.dtype.kind in "iu" else 0


def evidence_of(election, structure, geometry):
    """Attributes that say what the candidates found, and how far to trust it."""
    found, n_clusters = election.found, election.n_clusters
    spacing = gap_between(election.labels, geometry.tree)
    chance = chance_gap(geometry.n_samples, n_clusters)
    agreement = election.agreement if n_clusters > 1 else np.nan
    return {
        "n_clusters_": n_clusters,
        "candidates_": found,
        "best_candidate_": found.best,
        "best_candidate_labels_": found.labels[found.best_index],
        "structure_": structure,
        "agreement_": agreement,
        "spacing_": spacing,
        "agreement_words_": trust_words(agreement, found, structure, gap=spacing, chance=chance),
    }
