"""Clusterers of different kinds, run side by side on the same samples and compared."""

import time
import warnings
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.cluster import AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import kneighbors_graph
from sklearn.utils import check_array, check_random_state
from sklearn.utils.parallel import Parallel, delayed

import separatrix
from separatrix._sklearn import one_thread
from separatrix.estimators.base import DEFAULT_SEED
from separatrix.selection.consensus import (
    agreement_between_families,
    agreement_matrix,
    agreement_words,
    mean_ranks,
    support_by_others,
)
from separatrix.selection.validity import (
    UNEVENNESS,
    chained_labels,
    chance_gap,
    is_degenerate,
    lie_apart,
    ridge_of,
    scores_of,
    shortest_links,
)

__all__ = [
    "Comparison",
    "check_range",
    "compare_clusterings",
    "compared",
    "default_candidates",
    "have_failed",
    "named_candidates",
    "run_candidates",
]

# How the note of a candidate begins that found nothing.
FAILED = "failed: "
# Clusters up to which candidates need not save time.
FEW_CLUSTERS = 5


def default_candidates(X, n_clusters, tier="fast"):
    """Families and clusterers by name: of different kinds, and cheap on a thousand samples."""
    k = n_clusters
    # for many clusters a boundary for each pair is too dear, and so are many starts
    multiway, n_init = ("pairwise", 5) if k <= FEW_CLUSTERS else ("one-vs-rest", 2)
    mixture = partial(GaussianMixture, k, reg_covar=ridge_of(X), n_init=(n_init + 1) // 2)
    nearest = partial(kneighbors_graph, n_neighbors=min(10, len(X) - 1), include_self=False)
    least_squares = partial(separatrix.RegularizedLeastSquaresClustering, k)
    volume = partial(separatrix.MaximumVolumeClustering, k)
    margin = partial(separatrix.MaximumMarginClustering, k)
    separation = partial(separatrix.MaximinSeparationClustering, k, multiway=multiway)
    information = separatrix.SquaredLossMutualInformationClustering
    spectral = partial(SpectralClustering, k, affinity="nearest_neighbors")
    fast = {
        "k-means": ("means", KMeans(k, n_init=10)),
        "LDA-k-means": ("means", separatrix.LDAKMeans(k)),
        "mixture": ("mixture", mixture()),
        "diagonal mixture": ("mixture", mixture(covariance_type="diag")),
        "Ward": ("linkage", AgglomerativeClustering(k)),
        "chains": ("chains", GiniLinkage(k)),
        "spectral": ("spectral", spectral(n_neighbors=min(10, len(X)))),
        "volume": ("volume", volume(n_combinations=n_init)),
        "least squares": ("least squares", least_squares(n_init=n_init)),
        "margin": ("margin", margin(loss="square")),
        "separation": ("separation", separation()),
    }
    if tier == "fast":
        return fast
    return fast | {
        "kernel k-means": ("means", separatrix.KernelKMeans(k)),
        "Ward on a graph": ("linkage", AgglomerativeClustering(k, connectivity=nearest)),
        "tied mixture": ("mixture", mixture(covariance_type="tied")),
        "spectral, 20 neighbours": ("spectral", spectral(n_neighbors=min(20, len(X)))),
        "volume by bisection": ("volume", volume(multiway="bisection")),
        "least squares, narrow": ("least squares", least_squares(gamma=("mean", 0.4), reg=0.5)),
        "margin, Laplacian loss": ("margin", margin()),
        "linear margin": ("margin", margin(kernel="linear", loss="square")),
        "separation, scale-invariant": ("separation", separation(init="scale-invariant")),
        "mutual information": ("information", information(k)),
    }


def clusterer_of(estimator):
    """The estimator, or the last step of a pipeline."""
    return clusterer_of(estimator.steps[-1][1]) if hasattr(estimator, "steps") else estimator


def named_candidates(estimators):
    """Families and clusterers by name, from a list or a dict of clusterers."""
    if hasattr(estimators, "fit"):
        raise TypeError(
            f"estimators should be a list or a dict of clusterers, got {estimators!r}; pass it in "
            "a list."
        )
    if isinstance(estimators, dict):
        return {
            str(name): (type(clusterer_of(one)).__name__, one) for name, one in estimators.items()
        }
    named: dict[str, tuple[str, Any]] = {}
    for one in estimators:
        family = type(clusterer_of(one)).__name__
        same = sum(known == family for known, _ in named.values())
        named[family if not same else f"{family} {same + 1}"] = (family, one)
    return named


def prepared(estimator, n_clusters, rng):
    """Clone with the number of clusters and a seed, where it takes them and has none."""
    estimator = clone(estimator)
    clusterer = clusterer_of(estimator)
    if n_clusters is not None:
        # mixtures call it otherwise
        for name in ("n_clusters", "n_components"):
            if name in clusterer.get_params():
                clusterer.set_params(**{name: n_clusters})
                break
    for name, value in sorted(estimator.get_params().items(), key=lambda item: item[0]):
        if name.split("__")[-1] == "random_state" and value is None:
            estimator.set_params(**{name: int(rng.randint(2**31 - 1))})
    return estimator


def _run(number, estimator, X):
    """Number of a candidate, its labels from 0, its seconds, and what went wrong."""
    begin = time.process_time()
    # samples are NumPy's here, whatever they were, and not all candidates know other arrays
    with (
        config_context(array_api_dispatch=False),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        try:
            labels = np.asarray(estimator.fit_predict(X))
            if labels.shape != (len(X),):
                raise ValueError(f"labels of shape {labels.shape} for {len(X)} samples")
            note = str(caught[0].message) if caught else ""
            n_noise = np.count_nonzero(labels == -1)
            if n_noise:
                note = f"{n_noise} samples are noise, here one cluster. {note}".rstrip()
        except Exception as error:  # one that fails should not end the others
            labels, note = np.zeros(len(X)), f"{FAILED}{error}"
    labels = np.unique(labels, return_inverse=True)[1].astype(np.int32)
    return number, labels, time.process_time() - begin, note.split("\n")[0]


def have_failed(notes):
    """Whether each of the candidates that left these notes raised an error."""
    return np.array([note.startswith(FAILED) for note in notes])


def run_candidates(candidates, X, *, n_clusters, n_jobs, rng, on_candidate=None):
    """Labels, seconds, notes and clusterers as they ran, with their seeds.

    The labels of a candidate that fails are all zero; its note says why. Seeds are drawn
    beforehand, so that the number of jobs changes nothing.
    """
    names = list(candidates)
    estimators = [prepared(estimator, n_clusters, rng) for _, estimator in candidates.values()]
    jobs = [delayed(_run)(number, clone(one), X) for number, one in enumerate(estimators)]
    results: list[Any] = [None] * len(jobs)
    run = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    for done, (number, *result) in enumerate(run(jobs), start=1):
        results[number] = result
        if on_candidate is not None:
            on_candidate(names[number], done, len(names))
    labels, seconds, notes = zip(*results, strict=True)
    return np.array(labels), np.array(seconds), list(notes), estimators


# Samples up to which threads of a candidate would rather wait for each other than help.
ONE_THREAD_ROWS = 2_000
# Values whose squares, summed over samples and features, are still finite.
LARGEST_VALUE = 1e140


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
    rng = check_random_state(DEFAULT_SEED if random_state is None else random_state)
    return compared(X, candidates, n_clusters, n_jobs, rng, on_candidate)


def check_range(X, most):
    """Refuse values that are too large to compute with."""
    largest = float(np.abs(X).max())
    if largest > most:
        raise ValueError(
            f"X has values up to {largest:.3g}, too large to compute with; scale X down to "
            f"{most:g} or less."
        )


def compared(X, candidates, n_clusters, n_jobs, rng, on_candidate=None):
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


class GiniLinkage(ClusterMixin, BaseEstimator):
    """Single linkage, except that while sizes are uneven a smallest cluster is joined.

    The rule of the Genie algorithm [1]_: sizes are uneven where their Gini index exceeds
    `unevenness`. Single linkage finds clusters of any shape that lie apart, but it ends in one
    cluster and single samples where they do not; this one does so less.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
    unevenness : float, default=0.3
        Largest Gini index of the sizes at which the shortest link of all is taken.

    References
    ----------
    .. [1] M. Gagolewski, M. Bartoszuk, A. Cena, "Genie: a new, fast, and outlier-resistant
       hierarchical clustering algorithm", Information Sciences 363, 2016.
    """

    def __init__(self, n_clusters=2, *, unevenness=UNEVENNESS):
        self.n_clusters = n_clusters
        self.unevenness = unevenness

    def fit(self, X, y=None):
        """Join samples until the clusters are left."""
        ends, _ = shortest_links(X)
        self.labels_ = chained_labels(ends, self.n_clusters, self.unevenness)
        return self
