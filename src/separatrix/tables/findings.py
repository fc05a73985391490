"""Findings about the columns of a table, before it is clustered and after."""

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix._typing import ArrayLike

__all__ = ["OVERRULED", "Finding", "cluster_findings", "reason_to_leave_out", "same_as"]

HEAD = 100  # rows that are compared first
FEW_ROWS = 10  # so few may differ, or agree, by chance
# what columns of ids are called, as a whole word of the name
ID_NAME = re.compile(
    r"(^|[\W_])(id|ids|uid|uuid|guid|key|index|idx|row|nr|no|number|code|unnamed)([\W_\d]|$)|[a-z]I[dD]$",
    re.IGNORECASE,
)
OVERRULED = ("id", "missing", "duplicate", "texts")  # kinds of findings that `keep` overrules
EQUAL = 0.95  # share, beyond chance, above which a column and the clusters are the same
DOMINANT = 0.5  # share of what the clusters explain above which one column decides
TOLD_APART = 0.25  # share of the variance of a column that clusters explain if they follow it


@dataclass(frozen=True)
class Finding:
    """Something that a reader should know about a column.

    Parameters
    ----------
    column : str
        Name of the column.
    kind : str
        Before clustering "dropped", "id", "constant", "empty", "missing", "duplicate", "texts",
        "type" or "filled"; after it "equal" or "dominant".
    text : str
        What was found, as the rest of a sentence about the column.
    left_out : bool
        Whether the column is left out of the features.
    n_missing : int
        Number of missing values.
    """

    column: str
    kind: str
    text: str
    left_out: bool = False
    n_missing: int = 0

    def __str__(self):
        return f"{self.column} {self.text}{'; left out' if self.left_out else ''}"


# --- before -------------------------------------------------------------------------------------


def reason_to_leave_out(column, max_categories, is_kept, is_categorical):
    """Kind and text of the reason to leave out a column, or None.

    `is_kept` or `is_categorical` overrules reasons that are only guesses.
    """
    if not column.is_usable:
        return "type", f"holds {column.kind}, neither numbers, dates nor texts"
    n_rows, missing = len(column.values), column.missing
    present = column.values[~missing]
    if not present.size:
        return "empty", "holds no values"
    if np.all(present == present[0]) and not missing.any():
        return "constant", "holds the same value in all rows"
    if is_kept:
        return None
    if 2 * missing.sum() > n_rows:
        return "missing", f"lacks {missing.sum():,} of {n_rows:,} values, more than half"
    if is_categorical:
        return None
    if reason := _reason_for_id(column, present):
        return "id", reason
    n_texts = len(np.unique(present)) if column.kind == "texts" else 0
    if n_texts > max_categories:
        return "texts", f"holds {n_texts:,} different texts, more than {max_categories}"
    return None


def _reason_for_id(column, present):
    """Why a column looks as if it named or counted the rows, or None."""
    n_rows, is_text = len(column.values), column.kind == "texts"
    is_integer = column.kind == "numbers" and np.all(present == np.round(present))
    # measurements are recognised by their fractions, long before all of them are sorted
    if not (is_text or is_integer) or len(np.unique(present)) < n_rows:
        return None
    if is_text:
        return f"seems to name the rows: {n_rows:,} different texts"
    if n_rows < FEW_ROWS:
        return None
    looks = f"seems to number the rows: {n_rows:,} different integers"
    steps = np.diff(column.values)
    is_monotone = np.all(steps > 0) or np.all(steps < 0)
    # measurements neither rise by one step from row to row nor fill their range
    if is_monotone and 2 * np.sum(steps == np.median(steps)) >= len(steps):
        return f"{looks} in order"
    if np.ptp(present) < 2 * n_rows:
        return f"{looks} close together"
    return f"{looks}, with a name that is usual for ids" if ID_NAME.search(column.name) else None


def same_as(column, others):
    """Name of the first of the others that holds the same information as this column, or None."""
    return next((other.name for other in others if _tell_the_same(column, other)), None)


def _tell_the_same(one, other):
    """Whether two columns are the same except for the unit or the names of categories."""
    n_rows = len(one.values)
    if n_rows > HEAD:  # a few rows are enough to distinguish most pairs
        heads = (replace(column, values=column.values[:HEAD]) for column in (one, other))
        if not _tell_the_same(*heads):
            return False
    if n_rows < FEW_ROWS or np.any(one.missing != other.missing):
        return False
    known = ~one.missing
    if one.kind == other.kind != "texts":
        a, b = (column.values[known].astype(float) for column in (one, other))
        with np.errstate(over="ignore", invalid="ignore"):  # such values are refused later
            a, b = ((x - x.mean()) / (x.std() or 1) for x in (a, b))
            return bool(np.allclose(a, b, atol=1e-9) or np.allclose(a, -b, atol=1e-9))
    a, b = (np.unique(column.values[known], return_inverse=True)[1] for column in (one, other))
    n_pairs = len(np.unique(a.astype(np.int64) * (b.max() + 1) + b))
    # columns with different values in most rows match any other such column
    return bool(n_pairs == a.max() + 1 == b.max() + 1 and 2 * n_pairs <= len(a))


# --- after --------------------------------------------------------------------------------------


def cluster_findings(preparer: Any, table: Any, labels: ArrayLike) -> list[Finding]:
    """Find columns that determine the clusters by themselves.

    Parameters
    ----------
    preparer : TablePreparer
        Fitted preparer.
    table : data frame
        The table of the fit.
    labels : array-like of shape (n_samples,)
        Clusters of its rows.

    Returns
    -------
    findings : list of Finding
        Of kind "equal" for a column of few values that determines the cluster of nearly every row;
        of kind "dominant" for a column with more than half of the variance that the clusters
        explain, where there are at least three columns.
    """
    from sklearn.metrics import adjusted_rand_score

    from separatrix._sklearn import one_blas_thread  # not at the top: refusals need no SciPy

    clusters, labels = np.unique(labels, return_inverse=True)
    if len(clusters) < 2:
        return []
    found = []
    for name, column in preparer.columns_in(table).items():
        if len(np.unique(column.values[:HEAD])) > preparer.max_categories:
            continue
        codes = np.unique(column.values, return_inverse=True)[1]
        if codes.max() >= preparer.max_categories:
            continue
        if adjusted_rand_score(codes, labels) > EQUAL:
            found.append(Finding(name, "equal", "has the same groups as the clusters"))
        elif _share_decided(codes, labels) > EQUAL:
            found.append(Finding(name, "equal", "decides the cluster by itself"))
    if found:
        return found
    X = preparer.transform(table)
    sources = np.asarray(preparer.source_columns_)
    names = [made.column for made in preparer.features_]
    explained, variance = (
        np.array([of_each[sources == name].sum() for name in names])
        for of_each in (one_blas_thread(_explained)(X, labels), X.var(axis=0))
    )
    most = explained.argmax()
    share = explained[most] / (explained.sum() or 1)
    decides = explained[most] > TOLD_APART * variance[most]  # and is not only less by chance
    if len(names) > 2 and share > DOMINANT and decides:
        told = f"has {100 * share:.0f} % of the variance that the clusters explain"
        return [Finding(names[most], "dominant", told)]
    return []


def _share_decided(codes, labels):
    """Share of the rows outside the largest cluster whose cluster a column determines."""
    counts = np.zeros((codes.max() + 1, labels.max() + 1))
    np.add.at(counts, (codes, labels), 1)
    if 5 * len(counts) > len(codes):  # so few rows of each value may lie together by chance
        return 0.0
    largest = counts.sum(axis=0).max()
    return (counts.max(axis=1).sum() - largest) / (len(codes) - largest)


def _explained(X, labels):
    """Variance of each feature that lies between clusters."""
    clusters, codes = np.unique(labels, return_inverse=True)
    members = np.eye(len(clusters))[codes]
    sizes = members.sum(axis=0)
    means = members.T @ X / sizes[:, None]
    return sizes @ (means - X.mean(axis=0)) ** 2 / len(X)
