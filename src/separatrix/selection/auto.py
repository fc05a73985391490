"""The default: candidates of several kinds, and their consensus."""

import warnings
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.isotonic import IsotonicRegression
from sklearn.utils.validation import check_is_fitted

from separatrix._sklearn import DOC_LINK, Interval, StrOptions, fit_context, one_thread
from separatrix._typing import Array, ArrayLike
from separatrix.data.frames import Frame
from separatrix.data.gate import check_samples, computed
from separatrix.estimators.base import kept_on_failure, random_state_of, set_fitted
from separatrix.estimators.parameters import N_JOBS
from separatrix.models.extensions import Extension
from separatrix.result import Labelling, ObservedProgress, Status, renumbered
from separatrix.selection.candidates import SCORES, Comparison, compared, families_of
from separatrix.selection.consensus import (
    agreement_words,
    consensus_labels,
    family_weights,
    vote_shares,
)
from separatrix.selection.gaps import chance_gap, gap_between
from separatrix.selection.number_of_clusters import (
    choice_words,
    plausible_numbers,
    selection_curve,
)
from separatrix.selection.pool import default_candidates
from separatrix.similarity.geometry import Geometry

__all__ = ["AutoClustering"]

# Samples that candidates are run on.
MAX_SAMPLES = {"fast": 3_000, "thorough": 10_000}


def one_cluster(n_samples):
    """Comparison of nothing."""
    none = np.zeros(1)
    return Comparison(
        ["one cluster"],
        ["none"],
        np.zeros((1, n_samples), dtype=np.int32),
        dict.fromkeys(SCORES, none),
        np.ones(1),
        np.ones((1, 1)),
        np.ones(1, dtype=bool),
        none,
        [""],
    )


# --- the estimator ------------------------------------------------------------------------------


class AutoClustering(CallbackSupportMixin, ClusterMixin, BaseEstimator):
    """Consensus of clusterers of different kinds, weighted by how good each is predicted to be.

    Many cheap candidates cluster the samples, sharing neighbours, graphs and trees. How good each
    result is, is predicted without labels, by trees that were grown on synthetic data; the better,
    the more its vote counts. What the votes hold together becomes a cluster. No rule finds the
    right clusters of all data; `agreement_` says how far to trust these.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of clusters. None chooses one, which is a guess: see `plausible_n_clusters_`.
    tier : {"fast", "thorough"}, default="fast"
        Candidates on up to 3,000 samples, in about a second for 1,000; or some more of them on
        up to 10,000.
    max_samples : int or None, default=None
        Most samples that the search sees. Of more, it sees a random sample of this size, and what
        it finds labels the others. These get the labels of `boundary_`. None is 3,000 for the
        fast tier and 10,000 for the thorough one.
    max_clusters : int, default=10
        Most clusters that `n_clusters=None` chooses.
    n_jobs : int, default=None
        Number of jobs that run at the same time, as in joblib. Each is a candidate.
    random_state : int, RandomState instance or None, default=None
        Draws samples and starts. None is the seed 0, so that the same data give the same result
        each time.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each sample, the largest cluster first. That is the largest among the samples
        that the candidates saw. `predict` of the training data.
    agreement_ : float
        Mean adjusted Rand index of candidates from different families: the number to look at
        first. It is a sign of structure that methods reproduce, no proof that it is the one you
        look for; nan for one cluster.
    spacing_ : float
        Least distance between clusters in units of the longest step from sample to sample within
        the tighter of the two. Above one the clusters lie apart, and few methods may find them. On
        few samples, or along a line, chance makes gaps of up to two or three. It is infinite where
        the samples of a cluster are equal.
    agreement_words_ : str
        Both in words, chance considered.
    confidence_ : ndarray of shape (n_samples,)
        Share of the families' votes that each sample's cluster got. A vote share, no probability.
        Samples that the candidates did not see have the share of those that `boundary_` is as
        sure of.
    boundary_ : Extension
        Labels, scores and probabilities of any sample: the rule (nearest neighbours, a kernel,
        Gaussians of one covariance or of several) that predicts held-back labels of the consensus
        best, with the share that each rule predicted. The samples that candidates saw keep their
        labels.
    candidates_ : Comparison
        The candidates on the samples that they saw.
    best_candidate_ : str
        Name of the candidate of the most votes.
    best_candidate_labels_ : ndarray of shape (n_samples,)
        Its labels, extended to all samples in the same way; often as good as the consensus.
    n_clusters_ : int
        Number of clusters.
    selection_curve_ : dict of int to float
        Evidence for each number of clusters, for `n_clusters=None`.
    plausible_n_clusters_ : list of int
        Numbers of clusters that are hard to tell from the best, the best first.
    n_clusters_words_ : str
        How sure the choice is, in words.
    sample_indices_ : ndarray of shape (n_seen,)
        Indices of the samples that the search saw.
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

    On 98 data sets with known classes (`benchmarks/choices/selection.py`) the consensus was on
    average 0.14 of the adjusted Rand index above k-means and 0.09 above the best single method; on
    the measured ones among them 0.03 above k-means and where Gaussian mixtures are. On eight sets
    it was more than 0.1 below the better of k-means and spectral clustering. Strong agreement was
    nearly always right, and so were clusters that lie apart. Without agreement the median was
    close to chance: look at `candidates_`.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from separatrix import AutoClustering
    >>> X, _ = make_blobs(150, centers=[[0, 0], [0, 9], [9, 0]], random_state=0)
    >>> model = AutoClustering().fit(X)
    >>> model.n_clusters_
    3
    >>> model.agreement_words_
    'strong: methods of different kinds find nearly the same clusters'
    """

    labels_: Array
    agreement_: float
    spacing_: float
    agreement_words_: str
    confidence_: Array
    boundary_: Extension
    candidates_: Comparison
    best_candidate_: str
    best_candidate_labels_: Array
    n_clusters_: int
    selection_curve_: dict[int, float]
    plausible_n_clusters_: list[int]
    n_clusters_words_: str
    sample_indices_: Array
    n_features_in_: int
    feature_names_in_: Array
    _doc_link_module, _doc_link_template = "separatrix", DOC_LINK

    _parameter_constraints: dict = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "tier": [StrOptions({"fast", "thorough"})],
        "max_samples": [Interval(Integral, 2, None, closed="left"), None],
        "max_clusters": [Interval(Integral, 2, None, closed="left")],
        **N_JOBS,
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters=None,
        *,
        tier="fast",
        max_samples=None,
        max_clusters=10,
        n_jobs=None,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.tier = tier
        self.max_samples = max_samples
        self.max_clusters = max_clusters
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Run the candidates and let them vote.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        with kept_on_failure(self):
            return self._fit(X)

    def _fit(self, X):
        X = self._validate_X(X, reset=True)
        asked = 2 if self.n_clusters is None else self.n_clusters
        most = MAX_SAMPLES[self.tier] if self.max_samples is None else self.max_samples
        if min(len(X), most) < asked:
            raise ValueError(
                f"n_samples={len(X)} and max_samples={most} should be >= n_clusters={asked}; ask "
                "for fewer clusters or pass more samples."
            )
        rng = random_state_of(self)
        progress = ObservedProgress(self, self._init_callback_context(max_subtasks=None), X)
        # 1) what the candidates see
        drawn = np.sort(rng.permutation(len(X))[:most])
        frame = Frame.of(X[drawn])
        geometry = Geometry(frame(X[drawn]))
        # 2) how many clusters
        n_clusters, choice = self._chosen_n_clusters(geometry, progress, rng)
        # 3) the candidates and their consensus
        found = self._candidates(geometry, n_clusters, progress, rng)
        consensus, shares = elected(found, n_clusters, rng)
        spacing = gap_between(consensus, geometry.tree)
        chance = chance_gap(len(drawn), n_clusters)
        # 4) all samples
        extended = one_thread(Extension.of)
        boundary = extended(frame, X[drawn], consensus, n_clusters, rng)
        probabilities = boundary.probabilities(X)
        labels = probabilities.argmax(axis=1).astype(np.int32)
        order = Labelling(labels, n_clusters).order
        if not np.array_equal(order, np.arange(n_clusters)):  # of all samples the largest is first
            boundary, labels = boundary.renumbered(order), renumbered(labels, order)
            probabilities, shares = probabilities[:, order], shares[:, order]
        if len(np.unique(labels)) < n_clusters:
            warnings.warn(Status.DEGENERATE.value, ConvergenceWarning, stacklevel=4)
        best_labels = found.labels[found.best_index]
        if len(drawn) < len(X):
            rules = [boundary.rule]
            carried = extended(frame, X[drawn], best_labels, n_clusters, rng, rules)
            best_labels = carried.labels(X)
        fitted = {
            "boundary_": boundary,
            "labels_": labels,
            "confidence_": confidence_of(probabilities, drawn, shares, labels),
            "n_clusters_": n_clusters,
            "candidates_": found,
            "best_candidate_": found.best,
            "best_candidate_labels_": best_labels,
            "agreement_": found.family_agreement,
            "spacing_": spacing,
            "agreement_words_": agreement_words(
                found.family_agreement, gap=spacing, chance=chance
            ),
            "sample_indices_": drawn,
            **choice,
        }
        set_fitted(self, fitted)
        progress.close()
        return self

    def _validate_X(self, X, *, reset):
        return check_samples(
            self, computed(X), reset=reset, dtype=np.float64, sparse=False, scale_free=True
        )

    def predict(self, X: ArrayLike) -> Array:
        """Cluster of each sample, by the boundary between the clusters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Clusters.
        """
        check_is_fitted(self)
        X = self._validate_X(X, reset=False)
        return self.boundary_.labels(X)

    def decision_function(self, X: ArrayLike) -> Array:
        """Score samples by the boundary between the clusters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_clusters) or (n_samples,)
            Score of each cluster, the largest for that of `predict`; for two clusters the
            difference of the second and the first.
        """
        check_is_fitted(self)
        X = self._validate_X(X, reset=False)
        scores = self.boundary_.scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict_proba(self, X: ArrayLike) -> Array:
        """Estimate the probability of each cluster, as sure as held-back labels were predicted.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_clusters)
            They sum to one, and the largest is that of `predict`.
        """
        check_is_fitted(self)
        X = self._validate_X(X, reset=False)
        return self.boundary_.probabilities(X)

    def _chosen_n_clusters(self, geometry, progress, rng):
        """The number of clusters asked for, or that of the most evidence with what tells so."""
        if self.n_clusters is not None:
            return self.n_clusters, {}
        curve = selection_curve(
            geometry, self.max_clusters, self.n_jobs, rng, lambda: progress.subtask("number", 0)
        )
        plausible = plausible_numbers(curve)
        return plausible[0], {
            "selection_curve_": curve,
            "plausible_n_clusters_": plausible,
            "n_clusters_words_": choice_words(plausible),
        }

    def _candidates(self, geometry, n_clusters, progress, rng):
        if n_clusters == 1:
            return one_cluster(geometry.n_samples)
        return compared(
            geometry.X,
            geometry,
            families_of(default_candidates(self.tier)),
            n_clusters,
            self.n_jobs,
            rng,
            lambda *_: progress.subtask("candidate", 0).close(),
        )


@one_thread
def elected(found, n_clusters, rng):
    """Labels that candidates elect, the largest cluster first, and their vote shares."""
    used = np.flatnonzero(found.usable)
    if len(used) == 0:  # a poor answer rather than none
        used = np.flatnonzero(~found.failed)
    votes = found.votes[used] if found.votes.any() else np.full(len(used), 1 / len(used))
    labels = consensus_labels(found.labels[used[votes > 0]], votes[votes > 0], n_clusters, rng)
    labels = renumbered(labels, Labelling(labels, n_clusters).order)
    shares = family_weights([found.families[i] for i in used])
    return labels, vote_shares(labels, found.labels[used], shares, n_clusters)


def confidence_of(probabilities, drawn, shares, labels):
    """Vote share of each sample's cluster.

    Samples that the candidates did not see have the share of those that the boundary is as sure
    of.
    """
    seen = shares[np.arange(len(drawn)), labels[drawn]]
    if len(drawn) == len(labels):
        return seen
    sureness = probabilities.max(axis=1)
    rising = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    confidence = rising.fit(sureness[drawn], seen).predict(sureness)
    confidence[drawn] = seen
    return confidence
