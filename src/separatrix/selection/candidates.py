"""Clusterers of different kinds, run side by side on the same samples and compared."""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from numbers import Integral
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from separatrix._output import data_frame
from separatrix._sklearn import last_step, one_thread
from separatrix._typing import Array, ArrayLike, DataFrame, RandomState
from separatrix.data.frames import Frame
from separatrix.data.gate import check_count, check_rows, naming
from separatrix.estimators.base import DEFAULT_SEED
from separatrix.selection.consensus import (
    agreement_between_families,
    agreement_matrix,
    agreement_words,
    standing_of,
    support_by_others,
    vote_weights,
)
from separatrix.selection.gaps import chance_gap, gap_between, is_degenerate, lie_apart
from separatrix.selection.pool import Candidate, Given, default_candidates
from separatrix.similarity.geometry import Geometry
from separatrix.validity.features import Measures, labelling_features, sample_features
from separatrix.validity.learned import learned_validity
from separatrix.validity.structure import seeded

__all__ = [
    "SCORES",
    "Comparison",
    "compare_clusterings",
    "compared",
    "have_failed",
    "named_candidates",
    "run_candidates",
]

NOTHING = Given()
# How the note of a candidate begins that found nothing.
FAILED = "failed: "
STOPPED = f"{FAILED}a callback stopped the fit before it was done"
# Scores shown for each candidate, and the names of these features.
FEATURES = {
    "neighbors": "confirmed",
    "modularity": "graph modularity",
    "likelihood": "full likelihood",
    "silhouette": "silhouette",
}
SCORES = ("validity", *FEATURES, "gap", "support")
# Samples that scores use; from more, a random part is drawn.
MAX_SCORED = 10_000
# Up to this many samples, threads of a candidate only wait for each other.
ONE_THREAD_ROWS = 3_000


def family_of(candidate):
    """Family of a candidate of the pool, or of a clusterer."""
    is_ours = isinstance(candidate, Candidate)
    return candidate.family if is_ours else type(last_step(candidate)).__name__


def named_candidates(estimators):
    """Families and clusterers by name, from a list or a dict of clusterers."""
    if hasattr(estimators, "fit"):
        raise TypeError(
            f"estimators should be a list or a dict of clusterers, got {estimators!r}; pass it in "
            "a list."
        )
    if isinstance(estimators, dict):
        return {str(name): (family_of(one), one) for name, one in estimators.items()}
    named: dict[str, tuple[str, Any]] = {}
    for one in estimators:
        family = family_of(one)
        same = sum(known == family for known, _ in named.values())
        named[family if not same else f"{family} {same + 1}"] = (family, one)
    return named


def prepared(estimator, n_clusters, rng):
    """Clone with the number of clusters and a seed, where it takes them and has none."""
    estimator = clone(estimator)
    clusterer = last_step(estimator)
    if n_clusters is not None:
        # mixtures use another name
        for name in ("n_clusters", "n_components"):
            if name in clusterer.get_params():
                clusterer.set_params(**{name: n_clusters})
                break
    return seeded(estimator, rng)


def _run(number, candidate, X, geometry, n_clusters, seed, given):
    """Number of a candidate, its labels from 0, its seconds, and what went wrong."""
    begin = time.process_time()
    # samples are NumPy's here, whatever they were, and not all candidates know other arrays
    with (
        config_context(array_api_dispatch=False),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        try:
            if isinstance(candidate, Candidate):
                learnt = given.arguments if candidate.learns else {}
                rng = np.random.RandomState(seed)
                labels = candidate.labels(geometry, n_clusters, rng, **learnt)
            else:
                labels = candidate.fit_predict(X)
            labels = np.asarray(labels)
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


def run_candidates(
    candidates, X, geometry, *, n_clusters, n_jobs, rng, on_candidate=None, given=NOTHING
):
    """Labels, seconds, notes and clusterers as they ran, with their seeds.

    The labels of a candidate that fails are all zero; its note says why. Seeds are drawn
    beforehand, so that the number of jobs changes nothing. Where `on_candidate` answers True, no
    other candidate counts.
    """
    names, ready = list(candidates), []
    for _, one in candidates.values():
        is_ours = isinstance(one, Candidate)
        ready.append(one if is_ours else prepared(one, n_clusters, rng))
    seeds = rng.randint(2**31 - 1, size=len(names))
    jobs = [
        delayed(_run)(
            number,
            one if isinstance(one, Candidate) else clone(one),
            X,
            geometry if isinstance(one, Candidate) else None,
            n_clusters,
            seeds[number],
            given,
        )
        for number, one in enumerate(ready)
    ]
    nothing = np.zeros(len(X), dtype=np.int32)
    not_run = (nothing, 0.0, STOPPED)
    results: list[Any] = [not_run] * len(jobs)
    is_stopped = False

    def jobs_until_stopped():
        for job in jobs:
            if is_stopped:
                return
            yield job

    # the few that are under way when a callback stops the fit end, and do not count
    run = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(jobs_until_stopped())
    for done, (number, *result) in enumerate(run, start=1):
        if is_stopped:
            continue
        results[number] = result
        is_stopped = on_candidate is not None and on_candidate(names[number], done, len(names))
    labels, seconds, notes = zip(*results, strict=True)
    estimators = [one for one in ready if not isinstance(one, Candidate)]
    return np.array(labels), np.array(seconds), list(notes), estimators


# --- side by side -------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Comparison:
    """Clusterings of the same samples, scored without labels.

    The scores say which of these clusterings fits the samples better, each in its own sense. They
    do not say whether any of them is right, and scores of different data sets cannot be compared.
    The agreement of families says more.

    Parameters
    ----------
    names : list of str
        Names of the candidates.
    families : list of str
        Their families: methods of one kind, which may agree because they make the same errors.
    labels : ndarray of shape (n_candidates, n_samples)
        Their labels, from 0.
    scores : dict of str to ndarray of shape (n_candidates,)
        "validity": `separatrix.metrics.validity_score`; "neighbors": share of the samples whose
        label is that of the ten nearest in the other half; "modularity": how well the clusters
        divide the graph of nearest neighbours; "likelihood": gain in log density, per feature, of
        a Gaussian for each cluster over one for all; "silhouette": that of scikit-learn, on up to
        1,000 samples; "gap": how far clusters are from each other, in units of the longest step
        from sample to sample within one; "support": mean agreement with candidates of other
        families. Larger is better.
    votes : ndarray of shape (n_candidates,)
        Share of each candidate in the vote: the better it is predicted to be, by these scores and
        some more features, the more; zero for candidates that are not `usable`.
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
    votes: np.ndarray
    agreement: np.ndarray
    usable: np.ndarray
    seconds: np.ndarray
    notes: list
    estimators: list = field(default_factory=list)

    @property
    def best(self) -> str:
        """Name of the candidate with the most votes."""
        return self.names[self.best_index]

    @property
    def best_index(self) -> int:
        """Index of the candidate with the most votes."""
        return int(self.order[0])

    @property
    def order(self) -> Array:
        """Numbers of the candidates, the most votes first and those that failed last."""
        standing = np.where(self.failed, -1.0, self.votes)
        validity = np.nan_to_num(self.scores.get("validity", standing))
        return np.lexsort([-validity, -standing])

    @property
    def failed(self) -> Array:
        """Whether each candidate raised an error."""
        return have_failed(self.notes)

    @property
    def is_stopped(self) -> bool:
        """Whether a callback stopped the fit before all candidates were done."""
        return STOPPED in self.notes

    @property
    def n_clusters(self) -> Array:
        """Number of clusters that each candidate found."""
        return np.array([len(np.unique(labels)) for labels in self.labels])

    @property
    def agreement_words(self) -> str:
        """What the agreement across families, and the gap of the best candidate, mean."""
        best = self.best_index
        return agreement_words(
            self.family_agreement,
            gap=self.scores["gap"][best],
            chance=chance_gap(self.labels.shape[1], self.n_clusters[best]),
        )

    @property
    def apart(self) -> Array:
        """Whether the clusters of each candidate are usable and their gap is above one."""
        return lie_apart(self.scores["gap"], self.usable)

    @property
    def family_agreement(self) -> float:
        """Mean agreement of usable candidates from different families."""
        used = np.flatnonzero(self.usable)
        families = [self.families[i] for i in used]
        return agreement_between_families(self.agreement[np.ix_(used, used)], families)

    def _cells(self):
        """Texts of the table, the header first."""
        rows, n_clusters = [["", "vote", "k", *self.scores, "sec.", "remark"]], self.n_clusters
        for i in self.order:
            scores = [f"{column[i]:.3f}" for column in self.scores.values()]
            remark = ("" if self.usable[i] else "not used; ") + self.notes[i]
            vote, seconds = f"{self.votes[i]:.2f}", f"{self.seconds[i]:.2f}"
            rows.append([self.names[i], vote, str(n_clusters[i]), *scores, seconds, remark[:60]])
        return rows

    def _summary(self):
        return f"agreement across families {self.family_agreement:.2f}, {self.agreement_words}"

    def __str__(self):
        width = max(len(name) for name in self.names)
        lines = []
        for name, vote, k, *scores, seconds, remark in self._cells():
            middle = "".join(f"{score:>11}" for score in scores)
            lines.append(f"{name:{width}}{vote:>6}{k:>4}{middle}{seconds:>6}  {remark}".rstrip())
        return "\n".join([*lines, self._summary()])

    __repr__ = __str__

    def _repr_html_(self):
        """The same table, for notebooks."""
        header, *rows = [[escape(text) for text in row] for row in self._cells()]
        head = "".join(f"<th>{text}</th>" for text in header)
        body = "".join(
            f"<tr><th>{row[0]}</th>{''.join(f'<td>{text}</td>' for text in row[1:])}</tr>"
            for row in rows
        )
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f"{table}<p>{escape(self._summary())}</p>"

    def to_dataframe(self) -> DataFrame:
        """Table of the candidates, the best first.

        Returns
        -------
        table : pandas.DataFrame
            A row for each candidate.
        """
        columns = {"family": self.families, "vote": self.votes, "n_clusters": self.n_clusters}
        columns |= self.scores
        columns |= {"usable": self.usable, "seconds": self.seconds, "note": self.notes}
        table = data_frame(columns, self.names, "candidate", "to_dataframe")
        return table.iloc[self.order]


def compare_clusterings(
    X: ArrayLike,
    estimators: Any = None,
    *,
    n_clusters: int | None = None,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    on_candidate: Callable[..., Any] | None = None,
) -> Comparison:
    """Run clusterers on the same samples and score their results, without known labels.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples.
    estimators : list of clusterers or dict of str to clusterer, default=None
        Candidates; clones of them are fitted. Those of one class form a family, and a pipeline
        belongs to the family of its last step. By default the candidates of `AutoClustering`.
    n_clusters : int or None, default=None
        Number of clusters for each candidate; None leaves it to the estimators. The default
        candidates need a number.
    n_jobs : int, default=None
        Number of candidates that run at the same time, as in joblib.
    random_state : int, RandomState instance or None, default=None
        Seeds the candidates that have no seed, and halves the samples for a score.
    on_candidate : callable, default=None
        Called after each candidate with its name, the number done and the total.

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
    X = check_rows(X, dtype=np.float64, sparse=False, min_samples=3)
    if n_clusters is not None:
        n_clusters = check_count(n_clusters, "n_clusters", most=len(X), of="n_samples")
    if estimators is None:
        if n_clusters is None:
            raise ValueError(
                "n_clusters=None needs estimators that set it; pass n_clusters or estimators."
            )
        candidates = families_of(default_candidates(n_clusters=n_clusters))
    else:
        candidates = named_candidates(estimators)
    if not candidates:
        raise ValueError("estimators is empty: pass at least one clusterer.")
    if n_jobs is not None and not (isinstance(n_jobs, Integral) and n_jobs):
        raise ValueError(f"n_jobs={n_jobs!r} must be an integer other than 0, or None.")
    with naming("random_state"):
        rng = check_random_state(DEFAULT_SEED if random_state is None else random_state)
    geometry = Geometry(Frame.of(X)(X))

    def told(*progress):
        if on_candidate is not None:
            on_candidate(*progress)  # its answer does not stop the others

    return compared(X, geometry, candidates, n_clusters, n_jobs, rng, told)


def families_of(candidates):
    """Families and candidates by name."""
    return {name: (one.family, one) for name, one in candidates.items()}


def compared(X, geometry, candidates, n_clusters, n_jobs, rng, on_candidate=None, given=NOTHING):
    """Comparison of candidates, given as families and clusterers by name.

    Clusterers from elsewhere get X, those of the pool its geometry. Candidates that can learn get
    what is `given` about the samples, and all labels are changed as little as needed to keep its
    links.
    """
    run = one_thread(_run_and_score) if len(X) <= ONE_THREAD_ROWS else _run_and_score
    return run(X, geometry, candidates, n_clusters, n_jobs, rng, on_candidate, given)


def _run_and_score(X, geometry, candidates, n_clusters, n_jobs, rng, on_candidate, given):
    if any(isinstance(one, Candidate) for _, one in candidates.values()):
        geometry.prepare(n_clusters)
    labels, seconds, notes, estimators = run_candidates(
        candidates,
        X,
        geometry,
        n_clusters=n_clusters,
        n_jobs=n_jobs,
        rng=rng,
        on_candidate=on_candidate,
        given=given,
    )
    confirmed = np.array([given.confirmed(one) for one in labels])
    labels = np.array([given.kept(one) for one in labels])
    failed = have_failed(notes)
    if failed.all():
        raise ValueError(f"All {len(notes)} candidates failed; the first {notes[0]}")
    degenerate = [is_degenerate(one, n_clusters or one.max() + 1) for one in labels]
    usable = ~failed & ~np.array(degenerate)
    families = [family for family, _ in candidates.values()]
    agreement = agreement_matrix(labels)
    scores, votes = scores_and_votes(geometry, labels, usable, agreement, families, rng, confirmed)
    return Comparison(
        list(candidates),
        families,
        labels,
        {name: np.where(failed, np.nan, column) for name, column in scores.items()},
        votes,
        agreement,
        usable,
        seconds,
        notes,
        estimators,
    )


def scores_and_votes(geometry, labels, usable, agreement, families, rng, confirmed=0.0):
    """Scores of candidates, and their shares in the vote.

    What known labels confirm of each candidate counts as much as its predicted validity.
    """
    if geometry.n_samples > MAX_SCORED:
        drawn = np.sort(rng.permutation(geometry.n_samples)[:MAX_SCORED])
        geometry, labels = Geometry(geometry.X[drawn]), labels[:, drawn]
    geometry.embedding(int(labels.max()) + 1, "shared_graph")  # once, for all numbers of clusters
    measures, validity = Measures(geometry, rng), learned_validity()
    scores = {name: np.full(len(labels), np.nan) for name in SCORES}
    told: list[Any] = [None] * len(labels)
    for i, one in enumerate(labels):
        one = np.unique(one, return_inverse=True)[1].astype(np.int32)
        scores["gap"][i] = gap_between(one, geometry.tree)
        if one.max() == 0:
            continue
        told[i] = labelling_features(measures, one)
        sample = sample_features(measures, int(one.max()) + 1)
        scores["validity"][i] = validity.of_each(told[i : i + 1], sample)[0]
        for name, feature in FEATURES.items():
            scores[name][i] = told[i][feature]
    scores["support"] = support_by_others(agreement, families, usable)
    votes = np.zeros(len(labels))
    voters = np.flatnonzero(usable & np.array([one is not None for one in told]))
    if len(voters):
        n_clusters = int(np.median([labels[i].max() + 1 for i in voters]))
        kinds = [families[i] for i in voters]
        among = validity.of_several(
            [told[i] for i in voters],
            sample_features(measures, n_clusters),
            agreement[np.ix_(voters, voters)],
            kinds,
        )
        n_features = geometry.X.shape[1]
        standing = standing_of(scores["validity"][voters], among, kinds, n_features)
        standing += (confirmed * np.ones(len(labels)))[voters]
        votes[voters] = vote_weights(standing, n_features)
    return scores, votes
