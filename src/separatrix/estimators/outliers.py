"""A fit that leaves out samples which belong to no cluster."""

import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from separatrix._sklearn import is_dask, is_lazy, namespace_of
from separatrix.data.distinct import row_hashes
from separatrix.data.rows import beside, map_rows, rows_at, rows_beside
from separatrix.estimators.teaching import strength_of_teaching
from separatrix.models.scores import in_memory
from separatrix.result import Labelling

__all__ = [
    "OutlierSearch",
    "check_outliers",
    "complete_absent",
    "fit_without_outliers",
    "marked",
    "n_left_in",
]

# Largest number of fits, each to the samples left in by the clusters of the fit before. Some rows
# at the limit may alternate for ever.
MAX_ROUNDS = 10


def check_outliers(estimator, X, sample_weight):
    """Refuse outliers where they cannot be found, or would leave too few samples."""
    outliers, tags = estimator.outliers, estimator.__sklearn_tags__()
    if is_lazy(X):
        kind = "a dask array" if is_dask(X) else repr(X)
        raise TypeError(
            f"outliers={outliers!r} needs all samples in memory, got {kind}; pass them as an "
            "array, or outliers=None."
        )
    if tags.input_tags.pairwise:
        raise ValueError(
            f"outliers={outliers!r} needs distances to new samples, which a precomputed matrix "
            "does not give; pass the features, or outliers=None."
        )
    n_left, n_clusters = n_left_in(outliers, X.shape[0], sample_weight), estimator.n_clusters or 1
    if n_left < n_clusters:
        raise ValueError(
            f"outliers={outliers} leaves {n_left} of the samples for n_clusters={n_clusters}; ask "
            "for fewer outliers or clusters."
        )


def n_left_in(outliers, n_samples, sample_weight=None):
    """Smallest number of samples that are not outliers, as far as it is known beforehand."""
    if sample_weight is not None:
        n_samples = int((in_memory(sample_weight) > 0).sum())
    return n_samples if isinstance(outliers, str) else n_samples - int(outliers * n_samples)


class Found(NamedTuple):
    """A rule that detects outliers, the scores of samples, and which of them are outliers."""

    rule: Any
    scores: np.ndarray
    out: np.ndarray


@dataclass(frozen=True)
class OutlierSearch:
    """Samples in memory, among which outliers are searched for, given clusters.

    Attributes
    ----------
    rows : {ndarray, sparse matrix} of shape (n_samples, n_features)
        The samples.
    weight : ndarray of shape (n_samples,)
        Their weights.
    movable : ndarray of bool of shape (n_samples,)
        Whether they may be outliers: those that links name belong to clusters.
    outliers : float or "auto"
        How many are searched.
    """

    rows: Any
    weight: np.ndarray
    movable: np.ndarray
    outliers: Any

    @classmethod
    def of(cls, estimator, X, sample_weight, links):
        """The search that the parameters of an estimator ask for."""
        weight = np.ones(X.shape[0]) if sample_weight is None else in_memory(sample_weight)
        movable = ~linked_samples(links, X.shape[0])
        return cls(rows_at(X), weight, movable, estimator.outliers)

    @cached_property
    def hashes(self):
        """Hashes of the samples, which all rounds share."""
        return row_hashes(self.rows)

    def first(self, n_clusters):
        """Outliers if all samples form one cluster."""
        return self.beside(np.zeros(len(self.weight), dtype=np.int32), n_clusters, sure=1.0)

    def beside(self, labels, n_clusters, **options):
        """Outliers relative to the clusters of labels, in which -1 means no cluster."""
        from separatrix.models.outliers import OutlierRule  # which loads numba

        rule, scores = OutlierRule.of(
            self.rows,
            self.weight,
            labels,
            n_clusters,
            self.outliers,
            self.movable,
            hashes=self.hashes,
            **options,
        )
        return Found(rule, scores, (scores > rule.limit) & self.movable)


def fit_without_outliers(estimator, X, sample_weight, links, earlier, progress):
    """Find clusters and outliers in turn, until the outliers stay the same.

    At first all samples count as one cluster. The clusters of the samples that are left in
    determine how wide gaps between samples usually are, and so which samples are left in next. A
    method that takes a start begins with the clusters of all samples, unless outliers have
    distorted these. How much known labels influence other samples is decided
    once, by the samples that are left in at first.

    Returns
    -------
    model : object
        What the solver found for the samples that are left in.
    """

    def some(kept):
        return (
            rows_beside(X, kept),
            None if sample_weight is None else rows_beside(sample_weight, kept),
            None if links is None else links.restricted(kept),
        )

    def fitted(kept, start=None):
        task = progress.subtask("round", estimator._n_tasks())
        with _started(estimator, start, kept, search.weight), _noted() as warned:
            model = estimator._fit_samples(
                *some(kept),
                None if earlier is None else earlier[kept],
                task,
                taught=taught,
            )
        return Fit(model, warned, dict(vars(estimator)), task.close(model))

    search = OutlierSearch.of(estimator, X, sample_weight, links)
    found = search.first(estimator.n_clusters)
    seen: set[bytes] = set()
    kept = np.flatnonzero(~found.out)
    with _started(estimator, None, kept, search.weight):
        taught = strength_of_teaching(estimator, *some(kept))
    fit = fitted(kept)
    counted = search.weight > 0  # the other samples do not change the fit
    if takes_start(estimator) and not fit.stopped and len(kept) < X.shape[0]:
        fit = _from_all(estimator, fit, X, kept, search.weight, fitted)
    while not fit.stopped and len(seen) < MAX_ROUNDS:
        before = found.out[counted].tobytes()
        seen.add(before)
        labels = np.full(X.shape[0], -1, dtype=np.int32)
        labels[kept] = in_memory(estimator.labels_)
        following = search.beside(labels, estimator.n_clusters)
        after = following.out[counted].tobytes()
        if after in seen:
            # the same outliers, or a set seen before: rows at the limit may alternate for ever
            found = following if after == before else found
            break
        found, kept = following, np.flatnonzero(~following.out)
        fit = fitted(kept, model_labels(estimator, X) if goes_on(estimator) else None)
    for one in fit.warned:
        warnings.warn(one.message, one.category, stacklevel=5)
    complete_absent(estimator, X, kept)
    labels = in_memory(estimator.labels_).copy()
    labels[found.out] = -1
    estimator.labels_ = beside(labels, X)
    estimator.outlier_scores_ = beside(found.scores, X)
    estimator._outliers = found.rule
    return fit.model


class Fit(NamedTuple):
    """What a fit to some samples found and set, its warnings, and whether to stop there."""

    model: Any
    warned: list
    attributes: dict
    stopped: bool


def _from_all(estimator, fit, X, kept, weight, fitted):
    """A fit that starts from the clusters of all samples, or a fresh one if that is better.

    The clusters of all samples are kept unless one of them consists mostly of outliers: without
    outliers, other clusters may have a better objective, but users do not expect the clusters to
    change. If outliers did distort them, the better objective decides.
    """
    free = {name: None for name in ("min_size", "max_size") if hasattr(estimator, name)}
    with _changed(estimator, **free):  # the bounds count the samples left in
        whole = fitted(np.arange(X.shape[0]))
    start, n_clusters = model_labels(estimator, X), estimator.n_clusters
    left, of_all = _sizes(start, n_clusters, kept, weight)
    again = fit._replace(stopped=whole.stopped)
    if not whole.stopped and not _is_lost(estimator, left, of_all):
        sign = 1 if estimator._maximizes else -1
        stands = (left >= 0.5 * of_all).all()
        again = fitted(kept, start)
        gain = sign * (again.attributes["objective_"] - fit.attributes["objective_"])
        if not stands and not gain > 0:
            again = fit._replace(stopped=again.stopped)
    vars(estimator).clear()
    vars(estimator).update(again.attributes)
    return again


def _sizes(labels, n_clusters, kept, weight):
    """Weights of clusters, of the samples that are kept and of all."""
    left = np.bincount(labels[kept], weight[kept], minlength=n_clusters)
    return left, np.bincount(labels, weight, minlength=n_clusters)


def _is_lost(estimator, left, of_all):
    """Whether the samples left in lack a cluster that a start needs, by the weights of clusters.

    Some methods may find fewer clusters than were asked for, and go on from these.
    """
    needed = of_all > 0 if estimator._starts_with_fewer else True
    return bool(((left == 0) & needed).any())


def goes_on(estimator):
    """Whether a fit can start from labels."""
    return hasattr(estimator, "init") or estimator._takes_start


def takes_start(estimator):
    """The same, if no start is given."""
    return goes_on(estimator) and isinstance(getattr(estimator, "init", ""), str)


def model_labels(estimator, X):
    """Labels that the model of an estimator gives to samples, whether they are outliers or not."""
    found = map_rows(estimator._model.labels, X, width=X.shape[1])
    return in_memory(found).astype(np.int32)


@contextmanager
def _noted():
    """Keep the warnings of a fit, which another fit may replace."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


@contextmanager
def _started(estimator, labels, kept, weight):
    """Let an estimator that takes a start begin with labels, or with those that it was given."""
    init = getattr(estimator, "init", None)
    given = None if isinstance(init, str) or init is None else np.asarray(init)[kept]
    is_whole = labels is not None and not _is_lost(
        estimator, *_sizes(labels, estimator.n_clusters, kept, weight)
    )
    start = labels[kept] if is_whole else given
    if start is None:
        yield
        return
    if not is_whole:
        _check_start_left(estimator, start, weight[kept])
    with _changed(estimator, **{"init" if hasattr(estimator, "init") else "_start": start}):
        yield


@contextmanager
def _changed(estimator, **attributes):
    """An estimator with other values of some attributes, for a while."""
    before = {name: vars(estimator)[name] for name in attributes if name in vars(estimator)}
    vars(estimator).update(attributes)
    try:
        yield
    finally:
        for name in attributes:
            del vars(estimator)[name]
        vars(estimator).update(before)


def _check_start_left(estimator, start, weight):
    """Refuse labels to start from if all samples of one of them are outliers."""
    labels = start.astype(np.int32)  # whole numbers, though they may be floats
    lost = np.flatnonzero(Labelling(labels, estimator.n_clusters, weight).empty)
    if len(lost):
        raise ValueError(
            f"outliers={estimator.outliers!r} leaves no sample of label {lost[0]} in init; ask "
            "for fewer outliers, or pass another init."
        )


def linked_samples(links, n_samples):
    """Which samples links or known labels name: these belong to clusters."""
    named = np.zeros(n_samples, dtype=bool)
    if links is not None:
        named[links.pairs.ravel()] = True
        named |= links.known_labels >= 0
    return named


def complete_absent(estimator, X, present):
    """Extend attributes of the fitted samples to all samples."""
    absent = np.setdiff1d(np.arange(X.shape[0]), present)
    model = estimator._model
    rules = {"labels_": model.labels, "response_": model.scores}
    if hasattr(estimator, "probabilities_"):
        rules["probabilities_"] = model.predict_proba
    for name, rule in rules.items():
        if hasattr(estimator, name):
            found = in_memory(getattr(estimator, name))
            values = np.empty((X.shape[0], *found.shape[1:]), dtype=found.dtype)
            values[present] = found
            if len(absent):
                values[absent] = in_memory(rule(rows_beside(X, absent)))
            setattr(estimator, name, beside(values, X))
    for name in ("sample_indices_", "cut_links_"):
        if hasattr(estimator, name):
            setattr(estimator, name, present[in_memory(getattr(estimator, name))])


def marked(estimator, X, labels):
    """Labels of samples, with -1 for those that the fit would have left out."""
    rule = getattr(estimator, "_outliers", None)
    if rule is None:
        return labels
    if is_dask(X):
        from separatrix.data.dask_arrays import lazy_rows

        out = lazy_rows(rule.are_outliers, X, n_columns=None, dtype=bool)
        return labels.map_blocks(_without, out, dtype=labels.dtype)
    return _without(labels, beside(rule.are_outliers(rows_at(X)), X))


def _without(labels, out):
    xp, device = namespace_of(labels)
    return xp.where(out, xp.asarray(-1, dtype=labels.dtype, device=device), labels)
