"""Clusterings side by side, scored without labels."""

from dataclasses import dataclass, field

import numpy as np
from sklearn.utils import check_array, check_random_state

from separatrix._sklearn import one_thread
from separatrix.selection.candidates import (
    default_candidates,
    have_failed,
    named_candidates,
    run_candidates,
)
from separatrix.selection.consensus import (
    agreement_between_families,
    agreement_matrix,
    agreement_words,
    mean_ranks,
    support_by_others,
)
from separatrix.selection.validity import chance_gap, is_degenerate, lie_apart, scores_of

__all__ = ["Comparison", "check_range", "compare_clusterings"]
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
