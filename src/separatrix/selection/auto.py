"""The default: candidates of several kinds, and their consensus."""

import warnings
from dataclasses import replace
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from separatrix._sklearn import Interval, StrOptions, fit_context, one_thread
from separatrix.data.chunks import row_slices
from separatrix.estimators.progress import ObservedProgress
from separatrix.labels.numbering import order_of_clusters, renumbered
from separatrix.result import Status
from separatrix.selection.candidates import default_candidates
from separatrix.selection.comparison import Comparison, check_range, compared
from separatrix.selection.consensus import (
    agreement_words,
    consensus_labels,
    consensus_weights,
    family_weights,
    vote_shares,
)
from separatrix.selection.extension import N_VOTERS, Frame, NeighborVote
from separatrix.selection.number_of_clusters import (
    choice_words,
    plausible_numbers,
    selection_curve,
)
from separatrix.selection.validity import SCORES, chance_gap, gap_between, links_of

__all__ = ["AutoClustering"]

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
        Most samples that the candidates see, drawn at random; the others get their labels from
        the nearest of these. None is 1,000 for the fast tier and 2,000 for the thorough one.
    max_clusters : int, default=10
        Most clusters that `n_clusters=None` chooses.
    n_jobs : int, default=None
        Candidates that run at the same time, as in joblib.
    random_state : int, RandomState instance or None, default=None
        Draws samples and seeds the candidates; None draws the same ones each time.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each sample, `predict` of the training data; the cluster that is largest among
        the samples that the candidates saw comes first.
    agreement_ : float
        Mean adjusted Rand index of candidates from different families: the number to look at
        first. It is a sign of structure that methods reproduce, no proof that it is the one you
        look for; nan for one cluster.
    gap_ : float
        Least distance between clusters in units of the longest step from sample to sample within
        the tighter of the two. Above one the clusters lie apart, and few methods may find them.
        On few samples, or along a line, chance makes gaps of up to two or three.
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
    sample_indices_ : ndarray of int
        Samples that the candidates saw.
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
        X = validate_data(self, X, dtype=np.float64)
        check_range(X, LARGEST_FRAMED)
        asked = 2 if self.n_clusters is None else self.n_clusters
        most = MAX_SAMPLES[self.tier] if self.max_samples is None else self.max_samples
        if min(len(X), most) < asked:
            raise ValueError(
                f"n_samples={len(X)} and max_samples={most} should be >= n_clusters={asked}; ask "
                "for fewer clusters or pass more samples."
            )
        rng = check_random_state(0 if self.random_state is None else self.random_state)
        progress = ObservedProgress(self, self._init_callback_context(max_subtasks=None), X)
        # 1) what the candidates see
        self.sample_indices_ = np.sort(rng.permutation(len(X))[:most])
        self._frame = Frame.of(X[self.sample_indices_])
        rows = self._frame(X[self.sample_indices_])
        # 2) how many clusters
        self.n_clusters_ = self._chosen_n_clusters(rows, progress, rng)
        # 3) the candidates and their consensus
        self.candidates_ = self._candidates(rows, progress, rng)
        consensus, shares = self._consensus(rng)
        self.gap_ = gap_between(consensus, links_of(rows))
        self.agreement_ = self.candidates_.family_agreement
        self.agreement_words_ = agreement_words(
            self.agreement_, gap=self.gap_, chance=chance_gap(len(rows), self.n_clusters_)
        )
        # 4) all samples
        self._vote = NeighborVote.of(rows, consensus, shares)
        self.best_candidate_ = self.candidates_.best
        best = self.candidates_.labels[self.candidates_.best_index]
        self.labels_, self.confidence_, self.best_candidate_labels_ = self._voted(X, best)
        if len(np.unique(self.labels_)) < self.n_clusters_:
            warnings.warn(Status.DEGENERATE.value, ConvergenceWarning, stacklevel=2)
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
        return self._voted(X)[0]

    def _chosen_n_clusters(self, rows, progress, rng):
        """The number of clusters asked for, or the one with the most evidence."""
        for name in ("selection_curve_", "plausible_n_clusters_", "n_clusters_words_"):
            self.__dict__.pop(name, None)  # of an earlier fit
        if self.n_clusters is not None:
            return self.n_clusters
        self.selection_curve_ = selection_curve(
            rows, self.max_clusters, self.n_jobs, rng, lambda: progress.subtask("number", 0)
        )
        self.plausible_n_clusters_ = plausible_numbers(self.selection_curve_)
        self.n_clusters_words_ = choice_words(self.plausible_n_clusters_)
        return self.plausible_n_clusters_[0]

    def _candidates(self, rows, progress, rng):
        if self.n_clusters_ == 1:
            return one_cluster(len(rows))
        found = compared(
            rows,
            default_candidates(rows, self.n_clusters_, self.tier),
            self.n_clusters_,
            self.n_jobs,
            rng,
            lambda *_: progress.subtask("candidate", 0).close(),
        )
        # the model is saved without clusterers of other libraries
        return replace(found, estimators=[])

    @one_thread
    def _consensus(self, rng):
        """Labels that the candidates elect, the largest cluster first, and their vote shares."""
        found = self.candidates_
        used = np.flatnonzero(found.usable)
        if len(used) == 0:  # a poor answer rather than none
            used = np.flatnonzero(~found.failed)
        # those that find clusters far apart need no support by others
        voters = np.flatnonzero(found.apart) if found.apart.any() else used
        weights = consensus_weights(found.ranks[voters], [found.families[i] for i in voters])
        elected = consensus_labels(found.labels[voters], weights, self.n_clusters_, rng)
        sizes = np.bincount(elected, minlength=self.n_clusters_)
        elected = renumbered(elected, order_of_clusters(elected, sizes))
        shares = family_weights([found.families[i] for i in used])
        return elected, vote_shares(elected, found.labels[used], shares, self.n_clusters_)

    def _voted(self, X, *others):
        """Labels and confidence of samples, and labels by others of the samples that vote."""
        slices = row_slices(X, width=N_VOTERS * (2 + self.n_clusters_))
        parts = [self._vote(self._frame(X[rows]), *others) for rows in slices]
        return [np.concatenate(columns) for columns in zip(*parts, strict=True)]
