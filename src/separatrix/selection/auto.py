"""The default: candidates of several kinds, and their consensus."""

import warnings
from dataclasses import dataclass, replace
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted, validate_data

from separatrix._sklearn import Interval, StrOptions, fit_context, one_thread
from separatrix.data.rows import row_slices
from separatrix.estimators.base import kept_on_failure, random_state_of, set_fitted
from separatrix.result import Labelling, ObservedProgress, Status, renumbered
from separatrix.selection.candidates import Comparison, check_range, compared, default_candidates
from separatrix.selection.consensus import (
    agreement_words,
    consensus_labels,
    consensus_weights,
    family_weights,
    vote_shares,
)
from separatrix.selection.number_of_clusters import (
    choice_words,
    plausible_numbers,
    selection_curve,
)
from separatrix.selection.validity import SCORES, chance_gap, gap_between, links_of

__all__ = ["AutoClustering", "Frame", "NeighborVote"]

# Samples that candidates are run on.
MAX_SAMPLES = {"fast": 1_000, "thorough": 2_000}
# Values whose distances, before they are brought to the unit of their spread, are finite.
LARGEST_FRAMED = 1e300


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
    """Consensus of clusterers of different kinds, weighted by scores that need no labels.

    Candidates of several families cluster the samples. Each is scored without labels, and the
    better it ranks the more its vote counts; the families count alike. What most of them hold
    together becomes a cluster. No rule finds the right clusters of all data; `agreement_` says
    how far to trust these.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of clusters. None chooses one, which is a guess: see `plausible_n_clusters_`.
    tier : {"fast", "thorough"}, default="fast"
        Eleven candidates, about a second on 1,000 samples; or 21, up to a minute on 2,000.
    max_samples : int or None, default=None
        Most samples that the search sees. Of more, it sees a random sample of this size, and what
        it finds labels the others. These get the labels that their nearest samples vote for. None
        is 1,000 for the fast tier and 2,000 for the thorough one.
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
        few samples, or along a line, chance makes gaps of up to two or three.
    agreement_words_ : str
        Both in words, chance considered.
    confidence_ : ndarray of shape (n_samples,)
        Share of the families' votes that each sample's cluster got. A vote share, no probability.
    candidates_ : Comparison
        The candidates on the samples that they saw.
    best_candidate_ : str
        Name of the candidate of the best rank.
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
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X has them.

    See Also
    --------
    compare_clusterings : The candidates side by side, or your own.

    Notes
    -----
    Candidates use distances as they are: scale features first if their units differ. More than
    50 features are replaced by 50 principal components. New samples, and those beyond
    `max_samples`, get the label that their five nearest samples vote for by inverse squared
    distance, since a consensus may have any shape.

    On 97 data sets with known classes (`benchmarks/choices/selection.py`) the consensus was on
    average 0.13 of the adjusted Rand index above k-means, and above spectral clustering, Gaussian
    mixtures, Ward and Genie, on the sets that the rule was settled on and on others. On one set
    in fifteen it was more than 0.1 below the better of k-means and spectral clustering. Strong
    agreement was nearly always right, and so were clusters that lie apart, unless features take
    few values. Without agreement the median was close to chance: look at `candidates_`.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from separatrix import AutoClustering
    >>> X, _ = make_blobs(150, centers=[[0, 0], [0, 9], [9, 0]], cluster_std=2, random_state=0)
    >>> model = AutoClustering().fit(X)
    >>> model.n_clusters_
    3
    >>> model.agreement_words_
    'strong: methods of different kinds find nearly the same clusters'
    """

    _parameter_constraints: dict = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "tier": [StrOptions({"fast", "thorough"})],
        "max_samples": [Interval(Integral, 2, None, closed="left"), None],
        "max_clusters": [Interval(Integral, 2, None, closed="left")],
        "n_jobs": [Integral, None],
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
    def fit(self, X, y=None):
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
        X = validate_data(self, X, dtype=np.float64)
        check_range(X, LARGEST_FRAMED)
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
        rows = frame(X[drawn])
        # 2) how many clusters
        n_clusters, choice = self._chosen_n_clusters(rows, progress, rng)
        # 3) the candidates and their consensus
        found = self._candidates(rows, n_clusters, progress, rng)
        consensus, shares = elected(found, n_clusters, rng)
        spacing = gap_between(consensus, links_of(rows))
        chance = chance_gap(len(rows), n_clusters)
        # 4) all samples
        model = NeighborVote.of(frame, rows, consensus, shares)
        labels, confidence, best_labels = model.elect(X, found.labels[found.best_index])
        if len(np.unique(labels)) < n_clusters:
            warnings.warn(Status.DEGENERATE.value, ConvergenceWarning, stacklevel=4)
        fitted = {
            "_model": model,
            "labels_": labels,
            "confidence_": confidence,
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

    def predict(self, X):
        """Cluster of each sample, by the vote of its nearest training samples.

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
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return self._model.labels(X)

    def _chosen_n_clusters(self, rows, progress, rng):
        """The number of clusters asked for, or that of the most evidence with what tells so."""
        if self.n_clusters is not None:
            return self.n_clusters, {}
        curve = selection_curve(
            rows, self.max_clusters, self.n_jobs, rng, lambda: progress.subtask("number", 0)
        )
        plausible = plausible_numbers(curve)
        return plausible[0], {
            "selection_curve_": curve,
            "plausible_n_clusters_": plausible,
            "n_clusters_words_": choice_words(plausible),
        }

    def _candidates(self, rows, n_clusters, progress, rng):
        if n_clusters == 1:
            return one_cluster(len(rows))
        found = compared(
            rows,
            default_candidates(rows, n_clusters, self.tier),
            n_clusters,
            self.n_jobs,
            rng,
            lambda *_: progress.subtask("candidate", 0).close(),
        )
        # the model is saved without clusterers of other libraries
        return replace(found, estimators=[])


@one_thread
def elected(found, n_clusters, rng):
    """Labels that candidates elect, the largest cluster first, and their vote shares."""
    used = np.flatnonzero(found.usable)
    if len(used) == 0:  # a poor answer rather than none
        used = np.flatnonzero(~found.failed)
    # those that find clusters far apart need no support by others
    voters = np.flatnonzero(found.apart) if found.apart.any() else used
    weights = consensus_weights(found.ranks[voters], [found.families[i] for i in voters])
    labels = consensus_labels(found.labels[voters], weights, n_clusters, rng)
    labels = renumbered(labels, Labelling(labels, n_clusters).order)
    shares = family_weights([found.families[i] for i in used])
    return labels, vote_shares(labels, found.labels[used], shares, n_clusters)


# Principal components that stand for more features than this.
MAX_FEATURES = 50
# Neighbours that label a new sample.
N_VOTERS = 5


# --- the vote of neighbours ---------------------------------------------------------------------


@dataclass(frozen=True)
class NeighborVote:
    """Clusters of new samples, and vote shares, from the nearest samples that have them.

    Neighbours weigh by their inverse squared distance, so that a sample that has a label keeps
    it, unless there are equal ones with another.

    Attributes
    ----------
    frame : Frame
        Where and how far from each other samples lie.
    search : NearestNeighbors
        Finds the samples that vote.
    elected : ndarray of shape (n_voters,)
        Their clusters.
    shares : ndarray of shape (n_voters, n_clusters)
        Shares of the candidates' votes that these got.
    """

    frame: "Frame"
    search: NearestNeighbors
    elected: np.ndarray
    shares: np.ndarray

    @classmethod
    def of(cls, frame, rows, elected, shares):
        """Let samples vote, given in their frame."""
        n_neighbors = min(N_VOTERS, len(rows))
        return cls(frame, NearestNeighbors(n_neighbors=n_neighbors).fit(rows), elected, shares)

    @property
    def n_clusters(self):
        """Number of clusters."""
        return self.shares.shape[1]

    def labels(self, X):
        """Clusters of samples."""
        return self.elect(X)[0]

    def elect(self, X, *others):
        """Clusters and confidence of samples, and their labels by other labels of the voters."""
        slices = row_slices(X, width=N_VOTERS * (2 + self.n_clusters))
        parts = [self._elect_chunk(self.frame(X[rows]), *others) for rows in slices]
        return [np.concatenate(columns) for columns in zip(*parts, strict=True)]

    def _elect_chunk(self, X, *others):
        distances, voters = self.search.kneighbors(X)
        # what the distance of a sample to itself may be after rounding
        nearest = np.sqrt(np.finfo(float).eps) * (1 + np.abs(X).max(axis=1, keepdims=True))
        weights = 1 / np.maximum(distances, nearest) ** 2
        weights /= weights.sum(axis=1, keepdims=True)

        def winners(labels):
            votes = np.zeros((len(X), self.n_clusters))
            for voter, weight in zip(voters.T, weights.T, strict=True):
                votes[np.arange(len(X)), labels[voter]] += weight
            return votes.argmax(axis=1).astype(np.int32)

        labels = winners(self.elected)
        confidence = np.einsum("ij,ij->i", weights, self.shares[voters, labels[:, None]])
        return labels, np.minimum(confidence, 1.0), *map(winners, others)


@dataclass(frozen=True)
class Frame:
    """Samples about their mean, in units of their spread, on the first principal components.

    Place and unit matter to no candidate, only to rounding; many features matter to their time.
    """

    mean: np.ndarray
    axes: np.ndarray | None
    scale: float

    @classmethod
    def of(cls, X):
        """Frame of samples."""
        mean, axes = X.mean(axis=0), None
        spread = float(np.abs(X - mean).max()) or 1.0  # its square might be too large
        scale = spread * float(np.sqrt(np.mean(((X - mean) / spread) ** 2))) or 1.0
        if X.shape[1] > MAX_FEATURES:
            n_components = min(MAX_FEATURES, len(X))
            pca = PCA(n_components, svd_solver="full").fit((X - mean) / scale)
            axes = pca.components_.T
        return cls(mean, axes, scale)

    def __call__(self, X):
        """Samples in this frame."""
        placed = (X - self.mean) / self.scale
        return placed if self.axes is None else placed @ self.axes
