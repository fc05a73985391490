"""Choosing a clustering without labels: candidates side by side, and their consensus."""

import warnings
from dataclasses import dataclass, field, replace
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from separatrix._sklearn import Interval, StrOptions, fit_context, one_thread
from separatrix.base import ObservedProgress, order_of_clusters, renumbered
from separatrix.candidates import (
    default_candidates,
    have_failed,
    named_candidates,
    run_candidates,
)
from separatrix.chunks import row_slices
from separatrix.consensus import (
    SCORES,
    agreement_between_families,
    agreement_matrix,
    agreement_words,
    chance_gap,
    consensus_labels,
    consensus_weights,
    family_weights,
    gap_between,
    is_degenerate,
    lie_apart,
    links_of,
    mean_ranks,
    scores_of,
    support_by_others,
    vote_shares,
)
from separatrix.linkage import chained_labels
from separatrix.result import Status

__all__ = ["AutoClustering", "Comparison", "compare_clusterings"]

# Samples that candidates are run on.
MAX_SAMPLES = {"fast": 1_000, "thorough": 2_000}
# Samples up to which threads of a candidate would rather wait for each other than help.
ONE_THREAD_ROWS = 2_000
# Principal components that stand for more features than this.
MAX_FEATURES = 50
# Samples and candidates that the number of clusters is chosen on.
CURVE_SAMPLES = 500
CURVE_CANDIDATES = ("k-means", "mixture", "Ward", "spectral", "least squares")
CUT_WEIGHT = 4
# Evidence that two numbers of clusters may differ by and be hard to tell apart.
PLAUSIBLE = 0.1
# Values whose squares, summed over samples and features, are still finite.
LARGEST_VALUE = 1e140
# Values whose distances, before they are brought to the unit of their spread, are finite.
LARGEST_FRAMED = 1e300
# Neighbours that label a new sample.
N_VOTERS = 5


# --- side by side -------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Comparison:
    """Clusterings of the same samples, scored without labels.

    The scores tell which of these clusterings fits the samples better, each in a sense of its
    own. They do not tell whether any of them is right: a score of one data set means nothing
    beside that of another. How far families agree means more.

    Parameters
    ----------
    names : list of str
        Names of the candidates.
    families : list of str
        Their families: methods of one kind, which may agree because they err alike.
    labels : ndarray of shape (n_candidates, n_samples)
        Their labels, from 0.
    scores : dict of str to ndarray of shape (n_candidates,)
        "neighbors": share of the samples that the ten nearest of the other half of the samples
        would label so; "modularity" and "cut" (the normalised cut, negative): how well the graph
        of nearest neighbours falls apart; "likelihood": log density in the Gaussian of the own
        cluster; "gap": how far clusters are from each other, in units of the longest step from
        sample to sample within one; nan beyond 5,000 samples; "support": mean agreement with
        candidates of other families. Larger is better.
    ranks : ndarray of shape (n_candidates,)
        Mean rank by neighbourhoods (neighbors and modularity), likelihood and support, as a share
        of the best possible, and one more for those `apart`; zero for those not `usable`.
    agreement : ndarray of shape (n_candidates, n_candidates)
        Adjusted Rand index of each pair.
    usable : ndarray of bool of shape (n_candidates,)
        Whether all clusters asked for were found, each with a twentieth of an even share.
    seconds : ndarray of shape (n_candidates,)
        Processor time.
    notes : list of str
        First warning or the error of each; empty if all went well.
    estimators : list of clusterers
        The candidates as they ran, with their seeds, not fitted.
    """

    names: list
    families: list
    labels: np.ndarray
    scores: dict
    ranks: np.ndarray
    agreement: np.ndarray
    usable: np.ndarray
    seconds: np.ndarray
    notes: list
    estimators: list = field(default_factory=list)

    @property
    def best(self):
        """Name of the candidate of the best rank."""
        return self.names[self.best_index]

    @property
    def best_index(self):
        """Number of the candidate of the best rank."""
        return int(self.order[0])

    @property
    def order(self):
        """Numbers of the candidates, the best rank first and those that failed last."""
        return np.argsort(-np.where(self.failed, -1, self.ranks), kind="stable")

    @property
    def failed(self):
        """Whether each candidate raised an error."""
        return have_failed(self.notes)

    @property
    def n_clusters(self):
        """Number of clusters that each candidate found."""
        return np.array([len(np.unique(labels)) for labels in self.labels])

    @property
    def agreement_words(self):
        """What the agreement across families, and the gap of the best candidate, mean."""
        best = self.best_index
        return agreement_words(
            self.family_agreement,
            gap=self.scores["gap"][best],
            chance=chance_gap(self.labels.shape[1], self.n_clusters[best]),
        )

    @property
    def apart(self):
        """Whether the clusters of each candidate are usable and their gap is above one."""
        return lie_apart(self.scores["gap"], self.usable)

    @property
    def family_agreement(self):
        """Mean agreement of usable candidates from different families."""
        used = np.flatnonzero(self.usable)
        families = [self.families[i] for i in used]
        return agreement_between_families(self.agreement[np.ix_(used, used)], families)

    def __str__(self):
        width = max(len(name) for name in self.names)
        header = f"{'':{width}}  rank   k" + "".join(f"{name:>11}" for name in self.scores)
        lines, n_clusters = [header + "  sec.  remark"], self.n_clusters
        for i in self.order:
            scores = "".join(f"{column[i]:11.3f}" for column in self.scores.values())
            remark = ("" if self.usable[i] else "not used; ") + self.notes[i]
            lines.append(
                f"{self.names[i]:{width}}  {self.ranks[i]:4.2f} {n_clusters[i]:3}{scores} "
                f"{self.seconds[i]:5.2f}  {remark[:60]}".rstrip()
            )
        lines.append(
            f"agreement across families {self.family_agreement:.2f}, {self.agreement_words}"
        )
        return "\n".join(lines)

    __repr__ = __str__

    def to_dataframe(self):
        """Table of the candidates, the best first.

        Returns
        -------
        table : pandas.DataFrame
            A row for each candidate.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_dataframe needs pandas: pip install pandas") from error
        columns = {"family": self.families, "rank": self.ranks, "n_clusters": self.n_clusters}
        columns |= self.scores
        columns |= {"usable": self.usable, "seconds": self.seconds, "note": self.notes}
        table = pd.DataFrame(columns, index=pd.Index(self.names, name="candidate"))
        return table.iloc[self.order]

    def plot(self, ax=None):
        """Draw how far the candidates agree.

        Parameters
        ----------
        ax : Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : AgreementDisplay
            The display, drawn.
        """
        from separatrix.plots import AgreementDisplay

        return AgreementDisplay(self.agreement, self.names).plot(ax)


def compare_clusterings(
    X, estimators=None, *, n_clusters=None, n_jobs=None, random_state=None, on_candidate=None
):
    """Run clusterers on the same samples and score what they find, without labels.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples.
    estimators : list of clusterers or dict of str to clusterer, default=None
        Candidates; clones of them are fitted. Those of one class are a family, and pipelines
        belong to that of their last step. By default eleven of this library and of scikit-learn.
    n_clusters : int or None, default=None
        Number of clusters that each is asked for; None leaves it to the estimators. The default
        candidates need one.
    n_jobs : int, default=None
        Candidates that run at the same time, as in joblib.
    random_state : int, RandomState instance or None, default=None
        Seeds the candidates that have no seed, and halves the samples for a score.
    on_candidate : callable, default=None
        Called after each candidate with its name, the number done and the number of all.

    Returns
    -------
    comparison : Comparison
        It prints as a table, the best candidate first.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import make_moons
    >>> from separatrix import MaximumVolumeClustering, compare_clusterings
    >>> X, _ = make_moons(200, noise=0.05, random_state=0)
    >>> compare_clusterings(X, [KMeans(2), MaximumVolumeClustering(2)], random_state=0).best
    'MaximumVolumeClustering'
    """
    X = check_array(X, dtype=np.float64, ensure_min_samples=3)
    check_range(X, LARGEST_VALUE)
    if n_clusters is not None and not 1 <= n_clusters <= len(X):
        raise ValueError(
            f"n_clusters={n_clusters} must be at least 1 and at most n_samples={len(X)}."
        )
    if estimators is None:
        if n_clusters is None:
            raise ValueError(
                "n_clusters=None needs estimators that know it; pass n_clusters or estimators."
            )
        candidates = default_candidates(X, n_clusters)
    else:
        candidates = named_candidates(estimators)
    if not candidates:
        raise ValueError("estimators is empty: pass at least one clusterer.")
    rng = check_random_state(random_state)
    return _compared(X, candidates, n_clusters, n_jobs, rng, on_candidate)


def check_range(X, most):
    """Refuse values that are too large to compute with."""
    largest = float(np.abs(X).max())
    if largest > most:
        raise ValueError(
            f"X has values up to {largest:.3g}, too large to compute with; scale X down to "
            f"{most:g} or less."
        )


def _compared(X, candidates, n_clusters, n_jobs, rng, on_candidate=None):
    """Comparison of candidates, given as families and clusterers by name."""
    run = one_thread(_run_and_score) if len(X) <= ONE_THREAD_ROWS else _run_and_score
    return run(X, candidates, n_clusters, n_jobs, rng, on_candidate)


def _run_and_score(X, candidates, n_clusters, n_jobs, rng, on_candidate):
    labels, seconds, notes, estimators = run_candidates(
        candidates, X, n_clusters=n_clusters, n_jobs=n_jobs, rng=rng, on_candidate=on_candidate
    )
    failed = have_failed(notes)
    if failed.all():
        raise ValueError(f"All {len(notes)} candidates failed; the first {notes[0]}")
    degenerate = [is_degenerate(one, n_clusters or one.max() + 1) for one in labels]
    usable = ~failed & ~np.array(degenerate)
    families = [family for family, _ in candidates.values()]
    agreement = agreement_matrix(labels)
    scores = scores_of(X, labels, rng)
    scores["support"] = support_by_others(agreement, families, usable)
    scores = {name: np.where(failed, np.nan, column) for name, column in scores.items()}
    return Comparison(
        list(candidates),
        families,
        labels,
        scores,
        mean_ranks(scores, usable),
        agreement,
        usable,
        seconds,
        notes,
        estimators,
    )


# --- the vote of neighbours ---------------------------------------------------------------------


@dataclass(frozen=True)
class NeighborVote:
    """Labels and vote shares of new samples, from the nearest samples that have them.

    Neighbours weigh by their inverse squared distance, so that a sample that has a label keeps
    it, unless there are equal ones with another.
    """

    search: NearestNeighbors
    labels: np.ndarray
    shares: np.ndarray

    @classmethod
    def of(cls, X, labels, shares):
        """Let samples vote."""
        n_neighbors = min(N_VOTERS, len(X))
        return cls(NearestNeighbors(n_neighbors=n_neighbors).fit(X), labels, shares)

    def __call__(self, X, *others):
        """Labels and confidence of samples, and their labels by other labels of the voters."""
        distances, voters = self.search.kneighbors(X)
        # what the distance of a sample to itself may be after rounding
        nearest = np.sqrt(np.finfo(float).eps) * (1 + np.abs(X).max(axis=1, keepdims=True))
        weights = 1 / np.maximum(distances, nearest) ** 2
        weights /= weights.sum(axis=1, keepdims=True)

        def elected(labels):
            votes = np.zeros((len(X), self.shares.shape[1]))
            for voter, weight in zip(voters.T, weights.T, strict=True):
                votes[np.arange(len(X)), labels[voter]] += weight
            return votes.argmax(axis=1).astype(np.int32)

        labels = elected(self.labels)
        confidence = np.einsum("ij,ij->i", weights, self.shares[voters, labels[:, None]])
        return labels, np.minimum(confidence, 1.0), *map(elected, others)


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


# --- the number of clusters ---------------------------------------------------------------------


def selection_curve(X, max_clusters, n_jobs, rng, task):
    r"""Evidence for each number of clusters.

    .. math:: e(k) = a(k) - \frac4k \min_m \mathrm{ncut}_m(k)

    a is the agreement across five families of cheap candidates, ncut the normalised cut of the
    graph of nearest neighbours, over k the mean share that clusters lose to others: clusters
    should be found by most methods, and be apart. One is added for the largest number of clusters
    with a wide gap between them, which few methods may find.
    """
    rows = X[rng.permutation(len(X))[:CURVE_SAMPLES]]
    curve = {}
    for n_clusters in range(2, max(2, min(max_clusters, len(rows) // 4)) + 1):
        step = task()
        candidates = default_candidates(rows, n_clusters)
        candidates = {name: candidates[name] for name in CURVE_CANDIDATES}
        found = _compared(rows, candidates, n_clusters, n_jobs, rng)
        lost = -found.scores["cut"][found.usable].max(initial=-n_clusters) / n_clusters
        curve[n_clusters] = float(np.nan_to_num(found.family_agreement) - CUT_WEIGHT * lost)
        step.close()
    isolated = most_isolated(rows, curve)
    if isolated:
        curve[isolated] += 1
    return curve


def most_isolated(X, numbers):
    """Largest of several numbers of clusters with gaps beyond chance between all; None if none."""
    links = links_of(X)
    for n_clusters in sorted(numbers, reverse=True):
        labels = chained_labels(links[0], n_clusters)
        chance = chance_gap(len(X), n_clusters)
        if not is_degenerate(labels, n_clusters) and gap_between(labels, links) > chance:
            return n_clusters
    return None


def plausible_numbers(curve):
    """Numbers of clusters whose evidence is near the most, the best first, at most three.

    Of equal evidence the larger number comes first: its clusters can be joined.
    """
    ordered = sorted(curve, key=lambda k: (-round(curve[k], 2), -k))
    return [k for k in ordered[:3] if curve[k] >= max(curve.values()) - PLAUSIBLE]


def choice_words(plausible):
    """How sure the choice of a number of clusters is, in words."""
    best, *others = plausible
    close = "no other number comes near"
    if others:
        close = f"{' and '.join(map(str, others))} can hardly be told from it"
    return f"{best}: {close}. A guess: on data with known classes about half are right."


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
        found = _compared(
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
