"""Whether new rows fall into clusters as those of the fit did."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted

from separatrix._output import data_frame, html_table, in_digits, in_percent, text_table
from separatrix._sklearn import last_step
from separatrix._typing import Array, DataFrame, RandomState, Samples
from separatrix.data.gate import check_number, check_rows, naming
from separatrix.models.scores import cluster_scores, ignoring_names, in_memory, leads, predicted

__all__ = ["Drift", "assignment_drift", "drift_of_sizes"]

LEVEL = 0.05
LEAST_EXPECTED = 5  # rows in a cell; with fewer, chi-square is a poor approximation
N_DRAWS = 2_000  # tables drawn in its place
HEADER = ["cluster", "fit", "new"]


@dataclass(frozen=True, repr=False)
class Drift:
    """Comparison of new rows with those of a fit. It prints as a table.

    Attributes
    ----------
    clusters : list
        Labels of the clusters.
    sizes_fit, sizes_new : ndarray of shape (n_clusters,)
        Rows in each of them.
    p_shares : float
        Probability of shares that differ so much or more, if nothing has changed.
    margin_fit, margin_new : float or None
        Median margin: the score of the cluster minus the best other score. None where it is not
        known.
    p_margins : float or None
        Probability of margins that differ so much or more, if nothing has changed.
    separation_fit, separation_new : float or None
        Separation probability of the clusters, None where it is not known.
    level : float
        Probability of a false alarm.
    """

    clusters: list
    sizes_fit: np.ndarray
    sizes_new: np.ndarray
    p_shares: float
    margin_fit: float | None = None
    margin_new: float | None = None
    p_margins: float | None = None
    separation_fit: float | None = None
    separation_new: float | None = None
    level: float = LEVEL

    @property
    def shares_fit(self) -> Array:
        """Share of each cluster in the rows of the fit."""
        return self.sizes_fit / self.sizes_fit.sum()

    @property
    def shares_new(self) -> Array:
        """Share of each cluster in the new rows."""
        return self.sizes_new / self.sizes_new.sum()

    @property
    def n_tests(self) -> int:
        """Number of tests made, of shares and of margins."""
        return 1 if self.p_margins is None else 2

    @property
    def p_value(self) -> float:
        """Smallest probability of the tests, times their number (Bonferroni)."""
        smallest = min(self.p_shares, 1.0 if self.p_margins is None else self.p_margins)
        return min(1.0, self.n_tests * smallest)

    @property
    def has_changed(self) -> bool:
        """Whether there is a change, with the probability `level` of a false alarm."""
        return self.p_value < self.level

    @property
    def words(self) -> str:
        """The finding in one line."""
        n_new = int(self.sizes_new.sum())
        if not self.has_changed:
            rows = "row" if n_new == 1 else "rows"
            return f"no sign of change in {n_new:,} {rows} ({_told_p(self.p_value)})"
        told = []
        if self.n_tests * self.p_shares < self.level:
            largest = int(np.argmax(abs(self.shares_new - self.shares_fit)))
            told.append(
                f"cluster {self.clusters[largest]} has {in_percent(self.shares_new[largest])} of "
                f"the new rows, {in_percent(self.shares_fit[largest])} in the fit"
            )
        if self.p_margins is not None and self.n_tests * self.p_margins < self.level:
            told.append(
                f"the median margin is {in_digits(self.margin_new or 0)}, "
                f"{in_digits(self.margin_fit or 0)} in the fit"
            )
        return f"changed ({_told_p(self.p_value)}): {'; '.join(told)}"

    def _cells(self):
        shares = zip(self.clusters, self.shares_fit, self.shares_new, strict=True)
        rows = [[str(cluster), in_percent(fit), in_percent(new)] for cluster, fit, new in shares]
        others = {
            "median margin": (self.margin_fit, self.margin_new),
            "separation": (self.separation_fit, self.separation_new),
        }
        rows += [
            [name, *("unknown" if value is None else in_digits(value) for value in pair)]
            for name, pair in others.items()
            if pair != (None, None)
        ]
        return rows

    def __str__(self):
        return f"{text_table(HEADER, self._cells())}\n{self.words}"

    __repr__ = __str__

    def _repr_html_(self):
        """The same table, for notebooks."""
        return f"{html_table(HEADER, self._cells())}<p>{self.words}</p>"

    def to_frame(self) -> DataFrame:
        """Table of the clusters.

        Returns
        -------
        table : pandas.DataFrame
            Rows and shares of each cluster, in the fit and among the new rows.
        """
        columns = {
            "rows of the fit": self.sizes_fit,
            "new rows": self.sizes_new,
            "share in the fit": self.shares_fit,
            "share of new rows": self.shares_new,
        }
        return data_frame(columns, self.clusters, "cluster")


def _told_p(p_value):
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.2g}"


def assignment_drift(
    model: Any,
    X_new: Samples,
    X_fit: Samples = None,
    *,
    level: float = LEVEL,
    random_state: RandomState = None,
) -> Drift:
    """Test whether new rows fall into clusters as the rows of the fit did.

    Shares of clusters are compared by the chi-square test of homogeneity [1]_, and margins by the
    two-sample Kolmogorov-Smirnov test. The tests do not detect a change that moves rows along the
    boundaries, within their clusters.

    Parameters
    ----------
    model : object
        Fitted clusterer that predicts, or a pipeline that ends in one.
    X_new : {array-like, sparse matrix} of shape (n_samples, n_features)
        New rows, as `predict` takes them.
    X_fit : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
        Rows of the fit. None compares shares only, by `labels_` of the model. A fit places its
        boundaries between its own rows, whose margins are therefore a little larger than those of
        others: with few rows for many features, pass rows that were held back instead.
    level : float, default=0.05
        Probability of a false alarm.
    random_state : int, RandomState instance or None, default=None
        Draws tables for the test of shares where rows are few. None is the seed 0.

    Returns
    -------
    drift : Drift
        It prints as a table; `has_changed` and `words` give the result.

    References
    ----------
    .. [1] K. Pearson, "On the criterion that a given system of deviations from the probable in the
       case of a correlated system of variables is such that it can be reasonably supposed to have
       arisen from random sampling", Philosophical Magazine 50, 1900.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from separatrix import MaximinSeparationClustering
    >>> from separatrix.metrics import assignment_drift
    >>> X, y = make_blobs(600, centers=[[0, 0], [5, 5]], random_state=0)
    >>> model = MaximinSeparationClustering(2).fit(X[:300])
    >>> assignment_drift(model, X[300:], X[:300]).has_changed
    False
    >>> print(assignment_drift(model, X[300:][y[300:] == 1]).words)
    changed (p < 0.001): cluster 1 has 100 % of the new rows, 50 % in the fit
    """
    check_is_fitted(model)
    if not hasattr(model, "predict"):
        raise TypeError(
            f"{type(model).__name__} has no predict: pass a clusterer that labels new rows, or a "
            "pipeline that ends in one."
        )
    if not 0 < check_number(level, "level") < 1:
        raise ValueError(f"level={level!r} must lie between 0 and 1.")
    labels_new = predicted(model, X_new)
    if X_fit is not None:
        labels_fit = predicted(model, X_fit)
    else:
        clusterer = last_step(model)
        if not hasattr(clusterer, "labels_"):
            raise ValueError(
                f"X_fit=None needs labels_, which {type(clusterer).__name__} lacks; pass X_fit."
            )
        labels_fit = in_memory(clusterer.labels_)
    clusters, sizes_fit, sizes_new = _sizes(labels_fit, labels_new)
    separations = [_separation(model, *of) for of in ((X_fit, labels_fit), (X_new, labels_new))]
    margins = [_margins(model, X) for X in (X_fit, X_new)]
    medians = [None if one is None else float(np.median(one)) for one in margins]
    is_known = all(one is not None for one in margins)
    return Drift(
        clusters,
        sizes_fit,
        sizes_new,
        p_shares=_p_shares(sizes_fit, sizes_new, random_state),
        margin_fit=medians[0],
        margin_new=medians[1],
        p_margins=float(stats.ks_2samp(*margins, method="asymp").pvalue) if is_known else None,
        separation_fit=separations[0],
        separation_new=separations[1],
        level=level,
    )


def drift_of_sizes(sizes_fit, sizes_new):
    """Drift in the sizes of clusters 0, 1, ..."""
    fit, new = np.asarray(sizes_fit), np.asarray(sizes_new)
    return Drift(list(range(len(fit))), fit, new, p_shares=_p_shares(fit, new))


def _sizes(labels_fit, labels_new):
    """Names of all clusters, and their sizes in two labellings."""
    clusters, codes = np.unique(np.concatenate([labels_fit, labels_new]), return_inverse=True)
    both = codes[: len(labels_fit)], codes[len(labels_fit) :]
    return clusters.tolist(), *(np.bincount(one, minlength=len(clusters)) for one in both)


def _p_shares(sizes_fit, sizes_new, random_state=None):
    """Probability that two samples of one distribution have shares that differ so much."""
    table = np.array([sizes_fit, sizes_new])
    table = table[:, table.any(axis=0)]
    if table.shape[1] < 2:
        return 1.0
    test = stats.chi2_contingency(table, correction=False)
    if test.expected_freq.min() >= LEAST_EXPECTED:
        return float(test.pvalue)
    with naming("random_state"):
        rng = check_random_state(0 if random_state is None else random_state)
    drawn = stats.MonteCarloMethod(
        n_resamples=N_DRAWS, rng=np.random.default_rng(rng.randint(2**31))
    )
    return float(stats.chi2_contingency(table, correction=False, method=drawn).pvalue)


def _margins(model, X):
    """By how much the cluster of each row leads, or None where that is not known."""
    if X is None or not hasattr(model, "decision_function"):
        return None
    return leads(cluster_scores(model, X)).max(axis=1)


def _separation(model, X, labels):
    """Separation probability of the clusters of rows; None if it is undefined."""
    if X is None or get_tags(model).input_tags.pairwise:
        return None
    # metrics exports what is here, and so cannot be imported before
    from separatrix.metrics import separation_probability_score

    is_pipeline = hasattr(model, "steps") and len(model.steps) > 1
    clustered = labels != -1
    with suppress(ValueError), ignoring_names():  # from one cluster, or features that do not vary
        features = check_rows(model[:-1].transform(X) if is_pipeline else X)
        return separation_probability_score(features[clustered], labels[clustered])
