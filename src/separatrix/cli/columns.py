"""A table of a file as features, and findings about its columns."""

import shlex
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from separatrix._output import quoted
from separatrix.cli import Refusal
from separatrix.cli.reading import Reading, Table, read_table
from separatrix.tables.columns import CellError, ColumnError, as_texts
from separatrix.tables.features import CategoryFeatures
from separatrix.tables.findings import cluster_findings
from separatrix.tables.guard import guarded

__all__ = ["Features", "check_table", "featured", "preparing", "read_again"]

QUICKLY_CHECKED = 1_000_000  # few enough values to check twice
MOST_CLASSES = 20  # of a column that clusters are compared with


@dataclass(frozen=True)
class Features:
    """A table as features, with the preparer that makes them from another table.

    `values` are the features in units of the table, `X` as a clusterer takes them.
    """

    table: Table
    preparer: Any  # a fitted TablePreparer
    ids: dict
    truth: Any  # a column as texts, or None
    values: np.ndarray
    X: np.ndarray

    @cached_property
    def all_rows(self):
        """Features of all rows, of which those of a table beyond memory are read in blocks."""
        large = self.table.large
        return self.X if large is None else large.features(self.preparer)

    @property
    def names(self):
        """Names of the features."""
        return list(self.preparer.get_feature_names_out())

    @property
    def row_names(self):
        """Names of the rows: their ids, or texts that name them, or their numbers from 1."""
        named = (one.column for one in self.findings if one.kind == "id" and "name" in one.text)
        rows = next(iter(self.ids.values()), None)
        if rows is None and (column := next(named, None)) is not None:
            rows = self.table.data[column]
        return np.asarray(range(1, len(self.X) + 1) if rows is None else rows)

    @property
    def findings(self):
        """Findings about the columns, before they are clustered."""
        held_out = self.truth and self.truth.name
        return [one for one in self.preparer.findings_ if one.column != held_out]

    def findings_of(self, labels):
        """Findings about the columns and these clusters."""
        return cluster_findings(self.preparer, self.table.columns, labels)

    def typical_of(self, labels):
        """What is typical of each cluster, in words."""
        from separatrix.profiles import profile_of

        columns = self.preparer.columns_in(self.table.columns).values()
        return [one.text for one in profile_of(list(columns), labels).clusters]

    @property
    def known_classes(self):
        """The column that was held out, as texts by its name; None if there is none."""
        if self.truth is None:
            return None
        levels = [*self.truth.levels, None]  # the last is that of what is missing
        return {self.truth.name: [levels[code] for code in self.truth.values]}

    def crossed(self, labels):
        """Values of the truth, and of each how many rows are in each cluster."""
        truth, codes = self.truth, self.truth.values.copy()
        names = [*truth.levels, *["missing"] * bool(truth.missing.any())]
        codes[codes < 0] = len(truth.levels)
        counts = np.zeros((len(names), labels.max() + 1), dtype=int)
        clustered = labels >= 0
        np.add.at(counts, (codes[clustered], labels[clustered]), 1)
        return names, counts

    def card(self, labels):
        """What `predict` and `explain` need: columns, and means of clusters in their units."""
        from separatrix.report.evidence import OUTLIERS, Clustering, Samples

        samples = Samples(self.X, self.X, self.values, self.names, None)
        n_clusters, out = int(labels.max()) + 1, labels < 0
        names = [*range(n_clusters), *[OUTLIERS] * bool(out.any())]
        clusters = Clustering(samples, np.where(out, n_clusters, labels), names)
        return {
            "columns": {made.column: _categories(made) for made in self.preparer.features_},
            "id_column": next(iter(self.ids), None),
            "features": self.names,
            "shares": self.preparer.are_shares_.tolist(),
            "sizes": clusters.sizes[:n_clusters].tolist(),
            "means": clusters.means[:n_clusters].tolist(),
            "share": clusters.explained.tolist(),
            "deviation": self.X.std(axis=0).tolist(),
        }


def _categories(made):
    return made.levels if isinstance(made, CategoryFeatures) else None


def check_table(table, wishes):
    """Refuse a table, or options for its columns, before anything else is imported."""
    n_rows, columns = table.data.num_rows, table.data.column_names
    if n_rows == 1:
        raise Refusal(f"{table.name}: there is 1 row of data; clustering needs at least 2")
    for parameter in ("categorical", "drop", "keep"):
        for one in getattr(wishes, parameter):
            if one not in columns:
                told = f"--{parameter}: {one!r} is not among the columns: {quoted(columns)}"
                raise Refusal(f"{table.name}: {told}")
    if n_rows * len(columns) <= QUICKLY_CHECKED:
        with preparing(table):
            guarded(table.columns, wishes)


def featured(table, preparer, id_column=None, truth=None):
    """Features of a table, as a preparer makes them."""
    ids = {id_column: table.original(False)[id_column]} if id_column else {}
    held_out = None if truth is None else _classes(table, truth)
    with preparing(table):
        preparer.fit(table.columns)
        values = preparer.in_units(table.columns)
    X = values if preparer.scaler_ is None else preparer.scaler_.transform(values)
    return Features(table, preparer, ids, held_out, values, X)


def _classes(table, name):
    """The column that clusters are compared with, as texts."""
    column = as_texts(table.columns[name])
    if len(column.levels) > MOST_CLASSES:
        told = f"holds {len(column.levels):,} values, more than {MOST_CLASSES}"
        remedy = "name a column of classes, or --drop it"
        raise Refusal(f"{table.name}: --truth: column {name!r} {told}; {remedy}")
    return column


def read_again(path, pipeline, **options):
    """The table in a file whose rows a fitted pipeline labels; `options` are those of Reading."""
    preparer = pipeline[0]
    columns = [made.column for made in preparer.features_]
    texts = {made.column for made in preparer.features_ if isinstance(made, CategoryFeatures)}
    how = {"columns": columns, "text": frozenset(texts), "decimal": preparer.decimal}
    return read_table(path, Reading(**(how | options)))


@contextmanager
def preparing(table):
    """Turn a preparer's refusal of a table into a line for the user."""
    try:
        yield
    except CellError as error:
        where = f"{table.place(error.row)}, column {error.column!r}"
        raise Refusal(f"{table.name}: {where}: {error.told(_as_option)}") from error
    except ColumnError as error:
        raise Refusal(f"{table.name}: {error.told(_as_option)}") from error
    except ValueError as error:
        raise Refusal(f"{table.name}: {error}") from error


def _as_option(parameter, column):
    ways = {
        "impute": "--impute median",
        "decimal": "--decimal . or --decimal ','",
        "missing": "--missing WORD if it means that",
    }
    return "pass " + ways.get(parameter, f"--{parameter} {shlex.quote(column)}")
