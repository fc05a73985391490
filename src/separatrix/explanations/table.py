"""The rows to explain: as the estimator takes them, and as columns for readers."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler

from separatrix.data.gate import check_rows, computed
from separatrix.models.scores import in_memory
from separatrix.tables.columns import Column, named_columns

__all__ = ["Table", "shuffled"]


@dataclass(frozen=True)
class Table:
    """Rows as the estimator takes them, and their columns; sparse rows have names only."""

    X: Any
    names: list[str]
    columns: list[Column]

    @classmethod
    def of(cls, X, estimator, feature_names):
        """The table that an estimator takes, with given names or its own."""
        X = computed(X)
        fitted = getattr(estimator, "feature_names_in_", None)
        known = fitted if feature_names is None and not hasattr(X, "columns") else feature_names
        if not sp.issparse(X):
            X = X if hasattr(X, "columns") else in_memory(X)
            columns = named_columns(X, known)
            return cls(X, [column.name for column in columns], columns)
        X = check_rows(X)
        names = range(X.shape[1]) if known is None else known
        names = [f"feature {name}" if known is None else str(name) for name in names]
        if len(names) != X.shape[1]:
            raise ValueError(
                f"feature_names has {len(names)} names but X has {X.shape[1]} columns; pass one "
                "name per column."
            )
        return cls(X, names, [])

    @cached_property
    def numbers(self):
        """The columns as a matrix, NaN where missing; None if some are not numbers."""
        if not self.columns:
            return self.X
        if any(column.kind != "numbers" for column in self.columns):
            return None
        return np.column_stack([column.values for column in self.columns])

    @cached_property
    def deviations(self):
        """Standard deviation of each column of numbers."""
        return np.sqrt(StandardScaler(with_mean=False).fit(self.numbers).var_)

    def rows(self, places):
        """Some rows, as the estimator takes them."""
        if hasattr(self.X, "columns"):
            return nw.from_native(self.X, eager_only=True)[places].to_native()
        return self.X[places]

    def made_of(self, values):
        """Rows of other numbers, as the estimator takes them."""
        if not hasattr(self.X, "columns"):
            return values
        frame = nw.from_native(self.X, eager_only=True)
        return nw.from_numpy(values, frame.columns, backend=frame.implementation).to_native()


def shuffled(X, column, order):
    """Rows with one column, given by its place, in another order."""
    if not hasattr(X, "columns"):
        changed = X.copy()
        changed[:, column] = X[order, column]
        return changed
    frame = nw.from_native(X, eager_only=True)
    values = frame[:, column]
    return frame.with_columns(values[order].alias(values.name)).to_native()
