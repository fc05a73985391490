"""What is typical of clusters, in the units and the words of their table."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._output import data_frame, html_table, in_digits, in_percent, text_table
from separatrix._typing import ArrayLike, DataFrame
from separatrix.data.gate import check_labels, check_length, computed
from separatrix.tables.columns import named_columns

__all__ = ["ClusterProfile", "Difference", "Profile", "profile"]

MOST_TOLD = 3  # columns that are told of each cluster
LEAST_TOLD = 0.2  # standard deviations; a smaller difference is none to speak of
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
        Mean of the cluster less that of the rest, in standard deviations of the whole column.
    text : str
        The same in words.
    """

    column: str
    level: str | None
    value: float
    overall: float
    effect: float
    text: str


@dataclass(frozen=True)
class ClusterProfile:
    """One cluster beside the rest.

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
    """Clusters of a table, each beside the rest. It prints as a table.

    Attributes
    ----------
    clusters : list of ClusterProfile
        The clusters in the order of their labels.
    summaries : dict of str to list of float
        Of each column of numbers the quartiles in each cluster, of each category its share.
    n_unclustered : int
        Rows of no cluster, whose label is -1. They count among the rest.
    """

    clusters: list[ClusterProfile]
    summaries: dict[str, list[float]]
    n_unclustered: int

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
    r"""Tell what is typical of each cluster: its size, and the columns that differ most.

    A column differs by the mean of the cluster less that of the rest, in standard deviations of
    the whole column,

    .. math:: \frac{\bar x_k - \bar x_{-k}}{s}

    A category counts by the ones and zeros of its rows, so that the difference is one of shares
    and compares with that of numbers. Differences below 0.2 are not told.

    Parameters
    ----------
    X : data frame or array-like of shape (n_samples, n_columns)
        Table, in the units that readers know: a data frame of pandas, polars or pyarrow, or an
        array. Texts and truth values are categories. Missing numbers and dates are left out of
        the means; a missing category is a category.
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
    columns = [one for one in named_columns(computed(X), feature_names) if one.is_usable]
    if not columns:
        raise ValueError(
            "X has no column of numbers, dates or texts; pass the table that readers know."
        )
    labels = check_labels(labels)
    n_rows = len(columns[0].values)
    check_length("X", n_rows, "labels", len(labels))
    names = np.unique(labels[labels != -1])
    if not len(names):
        raise ValueError("labels are all -1, so there is no cluster to describe; pass others.")
    members = labels[:, None] == names
    told: list[list[Difference]] = [[] for _ in names]
    summaries: dict[str, list[float]] = {}
    for column in columns:
        differences, summary = _described(column, members)
        summaries |= summary
        for of_cluster, difference in zip(told, differences, strict=True):
            of_cluster.append(difference)
    return Profile(
        clusters=[
            ClusterProfile(name.item(), int(size), size / n_rows, _largest(of_cluster))
            for name, size, of_cluster in zip(names, members.sum(axis=0), told, strict=True)
        ],
        summaries=summaries,
        n_unclustered=int((~members.any(axis=1)).sum()),
    )


def _largest(differences):
    """The differences worth telling, the largest first."""
    worth = [one for one in differences if abs(one.effect) >= LEAST_TOLD]
    return sorted(worth, key=lambda one: -abs(one.effect))[:MOST_TOLD]


# --- one column ---------------------------------------------------------------------------------


def _described(column, members):
    """How a column differs in each cluster from the rest, and what sums it up, by name."""
    if column.kind == "texts":
        return _described_levels(column, members)
    values = column.values
    if column.kind == "dates":
        values = np.where(column.missing, np.nan, values.astype("datetime64[s]").astype(float))
    known = ~np.isnan(values)
    means, overall, effects = _compared(values[known], members[known])
    words = ("small", "large") if column.kind == "numbers" else ("early", "late")
    differences = [
        Difference(
            column.name,
            None,
            mean,
            overall,
            effect,
            f"{words[effect > 0]} {column.name} "
            f"({_shown(mean, column.kind)}, overall {_shown(overall, column.kind)})",
        )
        for mean, effect in zip(means, effects, strict=True)
    ]
    if column.kind == "dates":
        return differences, {}
    return differences, _quartiles(column.name, values[known], members[known])


def _described_levels(column, members):
    """The same for categories, by the one that differs most."""
    levels, codes = list(column.levels), column.values
    if column.missing.any():
        levels, codes = [*levels, MISSING], np.where(codes < 0, len(levels), codes)
    sizes = members.sum(axis=0)
    found, summary = [], {}
    for code, level in enumerate(levels):
        has_level = codes == code
        shares = (
            has_level.astype(int) @ members / sizes
        ).tolist()  # counted, so that all of them are 1
        _, overall, effects = _compared(has_level.astype(float), members)
        summary[f"{column.name} = {level}"] = shares
        found.append((level, shares, overall, effects))
    differences = []
    for cluster in range(members.shape[1]):
        # of two categories that differ as much, the one that the cluster has more of
        level, shares, overall, effects = max(
            found, key=lambda one: (round(abs(one[3][cluster]), 9), one[3][cluster])
        )
        share, effect = shares[cluster], effects[cluster]
        text = (
            f"{_how_often(share, effect)} {column.name} = {level} "
            f"({in_percent(share)}, overall {in_percent(overall)})"
        )
        differences.append(Difference(column.name, level, share, overall, effect, text))
    return differences, summary


def _how_often(share, effect):
    if effect > 0:
        return "always" if share == 1 else "mostly" if share > 0.5 else "often"
    return "never" if share == 0 else "rarely" if share <= 0.5 else "less often"


def _compared(values, members):
    """Mean in each cluster, overall, and by how many deviations it differs from the rest's."""
    sizes = members.sum(axis=0)
    n_values, n_rest = len(values), len(values) - sizes
    if not n_values:
        return [np.nan] * len(sizes), np.nan, [0.0] * len(sizes)
    center = values.mean()
    unit = np.abs(values - center).max() or 1.0  # squares of large values might overflow
    centered = (values - center) / unit
    spread = centered.std()
    sums = centered @ members
    with np.errstate(divide="ignore", invalid="ignore"):
        means = sums / sizes
        effects = (means - (centered.sum() - sums) / n_rest) / spread
    varies = spread * unit > 1e-12 * abs(center)  # by more than rounding
    effects = np.where(np.isfinite(effects) & varies, effects, 0.0)
    return (center + unit * means).tolist(), float(center), effects.tolist()


def _quartiles(name, values, members):
    """Quartiles of the numbers in each cluster, by name."""
    of_clusters = np.array(
        [
            np.quantile(values[of], list(QUARTILES.values())) if of.any() else [np.nan] * 3
            for of in members.T
        ]
    )
    return {
        f"{name} {quartile}": column.tolist()
        for quartile, column in zip(QUARTILES, of_clusters.T, strict=True)
    }


def _shown(value, kind):
    if kind == "numbers" or np.isnan(value):
        return in_digits(value)
    return str(np.datetime64(int(value), "s").astype("datetime64[D]"))
