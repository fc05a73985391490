"""What is typical of clusters, in the units and the words of their table."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from separatrix._output import data_frame, html_table, in_digits, in_percent, text_table
from separatrix._typing import ArrayLike, DataFrame
from separatrix.data.gate import check_labels, check_length, computed, on_host
from separatrix.tables.columns import named_columns

__all__ = ["ClusterProfile", "Difference", "Profile", "profile", "profile_of"]

MOST_TOLD = 3  # columns shown for each cluster
LEAST_TOLD = 0.2  # standard deviations; smaller differences are left out
CLEAR = 0.5  # standard deviations; beside such differences, smaller ones say nothing
MISSING = "missing"
HEADER = ["cluster", "rows", "share", "typical"]
QUARTILES = {"25 %": 0.25, "median": 0.5, "75 %": 0.75}


@dataclass(frozen=True)
class Difference:
    """How a cluster differs from the rest in a column.

    Attributes
    ----------
    column : str
        Name of the column.
    level : str or None
        Category that is more or less frequent; None for numbers and dates.
    value, overall : float
        Mean in the cluster and in the whole table: of the numbers, of dates in seconds since
        1970, or share of the rows of the category.
    effect : float
        Mean of the cluster minus that of the rest, in standard deviations of the whole column.
    text : str
        The same in words.
    shown : str
        The value alone, formatted for readers.
    """

    column: str
    level: str | None
    value: float
    overall: float
    effect: float
    text: str
    shown: str

    @property
    def name(self) -> str:
        """Name of the column, with the category."""
        return self.column if self.level is None else f"{self.column} = {self.level}"


@dataclass(frozen=True)
class ClusterProfile:
    """One cluster compared with the rest.

    Attributes
    ----------
    cluster : object
        Its label.
    size : int
        Number of its rows.
    share : float
        Their share of all rows.
    differences : list of Difference
        At most three columns that differ most from the rest.
    """

    cluster: Any
    size: int
    share: float
    differences: list[Difference]

    @property
    def text(self) -> str:
        """What is typical, in words."""
        told = ", ".join(one.text for one in self.differences)
        return told or "no column differs much from the rest"


@dataclass(frozen=True, repr=False)
class Profile:
    """Clusters of a table, each compared with the rest. It prints as a table.

    Attributes
    ----------
    clusters : list of ClusterProfile
        The clusters in the order of their labels.
    differences : dict of str to list of Difference
        For each column, or each category of it, how every cluster differs; those that differ most
        between clusters come first.
    n_unclustered : int
        Number of rows of no cluster, whose label is -1. They count as part of the rest.
    """

    clusters: list[ClusterProfile]
    differences: dict[str, list[Difference]]
    n_unclustered: int
    _columns: list[Any]
    _codes: np.ndarray  # places in `clusters`, as many as these are for rows of no cluster

    @cached_property
    def summaries(self) -> dict[str, list[float]]:
        """Quartiles of each column of numbers in each cluster; for each category, its share."""
        found: dict[str, list[float]] = {}
        for column in self._columns:
            if column.kind == "numbers":
                found |= _quartiles(column, self._codes, len(self.clusters))
            elif column.kind == "texts":
                names = (f"{column.name} = {level}" for level in _levels(column))
                found |= {name: [one.value for one in self.differences[name]] for name in names}
        return found

    def _cells(self):
        return [
            [str(one.cluster), f"{one.size:,}", in_percent(one.share), one.text]
            for one in self.clusters
        ]

    def _remark(self):
        rows = "row belongs" if self.n_unclustered == 1 else "rows belong"
        return f"{self.n_unclustered:,} {rows} to no cluster." if self.n_unclustered else ""

    def __str__(self):
        table = text_table(HEADER, self._cells(), left=(0, 3))
        return "\n".join(filter(None, [table, self._remark()]))

    __repr__ = __str__

    def _repr_html_(self):
        """The same table, for notebooks."""
        table = html_table(HEADER, self._cells())
        return table + (f"<p>{self._remark()}</p>" if self.n_unclustered else "")

    def to_frame(self) -> DataFrame:
        """Table of the clusters.

        Returns
        -------
        table : pandas.DataFrame
            A row for each cluster: its size, share and what is typical; the quartiles of each
            column of numbers, and the share of each category.
        """
        columns = {
            "rows": [one.size for one in self.clusters],
            "share": [one.share for one in self.clusters],
            "typical": [one.text for one in self.clusters],
        }
        index = [one.cluster for one in self.clusters]
        return data_frame(columns | self.summaries, index, "cluster")


def profile(X: Any, labels: ArrayLike, feature_names: Any = None) -> Profile:
    r"""Describe what is typical of each cluster: its size, and the columns that differ most.

    The difference of a column is the mean of the cluster minus that of the rest, in standard
    deviations of the whole column,

    .. math:: \frac{\bar x_k - \bar x_{-k}}{s}

    A category is compared by its share of the rows, so that its difference is comparable with that
    of a number. Differences below 0.5 are left out; where all are, those from 0.2 on are told.

    Parameters
    ----------
    X : data frame or array-like of shape (n_samples, n_columns)
        Table in familiar units: a data frame of pandas, polars or pyarrow, or an array. Texts and
        truth values are categories. Missing numbers and dates are left out of the means; a missing
        category is a category.
    labels : array-like of shape (n_samples,)
        The cluster of each row; the number -1 for rows of no cluster.
    feature_names : list of str, default=None
        Names of the columns; None takes those of the data frame, or numbers them.

    Returns
    -------
    profile : Profile
        It prints as a table; `to_frame` has the quartiles as well.

    See Also
    --------
    explain : What decides the cluster of a row, from a fitted estimator.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import profile
    >>> iris = load_iris()
    >>> names = ["sepal length", "sepal width", "petal length", "petal width"]
    >>> found = profile(iris.data, iris.target_names[iris.target], feature_names=names)
    >>> for one in found.clusters[2].differences:
    ...     print(one.text)
    large petal width (2.03, overall 1.2)
    large petal length (5.55, overall 3.76)
    large sepal length (6.59, overall 5.84)
    """
    columns = [one for one in named_columns(on_host(computed(X)), feature_names) if one.is_usable]
    if not columns:
        raise ValueError("X has no column of numbers, dates or texts; pass the original table.")
    labels = check_labels(labels)
    check_length("X", len(columns[0].values), "labels", len(labels))
    if np.all(labels == -1):
        raise ValueError("labels are all -1, so there is no cluster to describe; pass others.")
    return profile_of(columns, labels)


def profile_of(columns, labels):
    """Profile of clusters from columns as arrays; rows of no cluster have the label -1."""
    names = np.unique(labels[labels != -1])
    places = np.minimum(np.searchsorted(names, labels), len(names) - 1)
    codes = np.where(names[places] == labels, places, len(names))
    sizes = np.bincount(codes, minlength=len(names) + 1)
    told = [one for column in columns for one in _described(column, codes, len(names))]
    told.sort(key=lambda of_clusters: -max(abs(one.effect) for one in of_clusters))
    return Profile(
        clusters=[
            ClusterProfile(name.item(), int(size), size / len(labels), _largest(of_cluster))
            for name, size, of_cluster in zip(
                names, sizes[:-1], zip(*told, strict=True), strict=True
            )
        ],
        differences={of_clusters[0].name: list(of_clusters) for of_clusters in told},
        n_unclustered=int(sizes[-1]),
        _columns=columns,
        _codes=codes,
    )


def _largest(differences):
    """The differences worth showing, the largest first, one per column."""
    # of two categories that differ as much, the one that the cluster has more of
    ranked = sorted(differences, key=lambda one: (-round(abs(one.effect), 9), -one.effect))
    of_columns: dict[str, Difference] = {}
    for one in ranked:
        of_columns.setdefault(one.column, one)
    told = [one for one in of_columns.values() if abs(one.effect) >= LEAST_TOLD]
    clear = [one for one in told if abs(one.effect) >= CLEAR]
    return (clear or told)[:MOST_TOLD]


# --- one column ---------------------------------------------------------------------------------


def _described(column, codes, n_clusters):
    """How a column, or each category of it, differs in each cluster from the rest."""
    if column.kind == "texts":
        return _described_levels(column, codes, n_clusters)
    values = column.values
    if column.kind == "dates":
        values = np.where(column.missing, np.nan, values.astype("datetime64[s]").astype(float))
    known = ~np.isnan(values)
    if not known.all():
        values, codes = values[known], codes[known]
    means, overall, effects = _compared(values, codes, n_clusters)
    words = ("small", "large") if column.kind == "numbers" else ("early", "late")
    differences = []
    for mean, effect in zip(means, effects, strict=True):
        shown, of_all = (_shown(one, column.kind) for one in (mean, overall))
        text = f"{words[effect > 0]} {column.name} ({shown}, overall {of_all})"
        differences.append(Difference(column.name, None, mean, overall, effect, text, shown))
    return [differences]


def _described_levels(column, codes, n_clusters):
    """The same for categories, each by the ones and zeros of its rows."""
    levels = _levels(column)
    level_codes = np.where(column.values < 0, len(levels) - 1, column.values)
    table = np.bincount(
        level_codes * (n_clusters + 1) + codes, minlength=len(levels) * (n_clusters + 1)
    ).reshape(len(levels), -1)
    counts, in_level = table[:, :n_clusters], table.sum(axis=1)
    sizes, n_rows = counts.sum(axis=0), len(codes)
    shares, overall = counts / sizes, in_level / n_rows
    of_rest = (in_level[:, None] - counts) / np.maximum(n_rows - sizes, 1)
    spread = np.sqrt(overall * (1 - overall))
    varies = (spread[:, None] > 0) & (sizes < n_rows)
    effects = np.where(varies, shares - of_rest, 0.0) / np.where(spread > 0, spread, 1)[:, None]
    rows = zip(levels, shares.tolist(), overall.tolist(), effects.tolist(), strict=True)
    return [
        [
            _of_level(column.name, level, share, of_all, effect)
            for share, effect in zip(of_clusters, by, strict=True)
        ]
        for level, of_clusters, of_all, by in rows
    ]


def _levels(column):
    """Categories of a column, one for missing values among them where there are any."""
    return [*column.levels, *[MISSING] * bool(column.missing.any())]


def _of_level(column, level, share, overall, effect):
    shown = in_percent(share)
    often = _how_often(share, effect)
    text = f"{often} {column} = {level} ({shown}, overall {in_percent(overall)})"
    return Difference(column, level, share, overall, effect, text, shown)


def _how_often(share, effect):
    if effect > 0:
        return "always" if share == 1 else "mostly" if share > 0.5 else "often"
    return "never" if share == 0 else "rarely" if share <= 0.5 else "less often"


def _compared(values, codes, n_clusters):
    """Mean in each cluster, overall, and by how many deviations it differs from the rest's."""
    sizes = np.bincount(codes, minlength=n_clusters + 1)[:n_clusters]
    n_values, n_rest = len(values), len(values) - sizes
    if not n_values:
        return [np.nan] * len(sizes), np.nan, [0.0] * len(sizes)
    center, largest = values.mean(), np.abs(values).max() or 1.0
    unit = np.abs(values - center).max() or 1.0  # squares of large values might overflow
    centered = (values - center) / unit
    spread = centered.std()
    # of values as they are, so that the mean of zeros is zero and not what rounding leaves
    plain, sums = (
        np.bincount(codes, of_each, n_clusters + 1)[:n_clusters]
        for of_each in (values / largest, centered)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        means = largest * (plain / sizes)
        effects = (sums / sizes - (centered.sum() - sums) / n_rest) / spread
    varies = spread * unit > 1e-12 * abs(center)  # by more than rounding
    effects = np.where(np.isfinite(effects) & varies, effects, 0.0)
    return means.tolist(), float(center), effects.tolist()


def _quartiles(column, codes, n_clusters):
    """Quartiles of the numbers in each cluster, by name."""
    known = ~column.missing
    of_cluster = (column.values[known & (codes == code)] for code in range(n_clusters))
    of_clusters = np.array(
        [
            np.quantile(values, list(QUARTILES.values())) if values.size else [np.nan] * 3
            for values in of_cluster
        ]
    )
    return {
        f"{column.name} {quartile}": of_quartile.tolist()
        for quartile, of_quartile in zip(QUARTILES, of_clusters.T, strict=True)
    }


def _shown(value, kind):
    if kind == "numbers" or np.isnan(value):
        return in_digits(value)
    return str(np.datetime64(int(value), "s").astype("datetime64[D]"))
