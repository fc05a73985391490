"""From a table of any kind to numbers that a clusterer takes."""

from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from separatrix._output import quoted
from separatrix._sklearn import Interval, StrOptions, fit_context
from separatrix._typing import Array, Samples
from separatrix.tables.columns import columns_of
from separatrix.tables.features import as_used
from separatrix.tables.guard import guarded

__all__ = ["TablePreparer"]


class TablePreparer(TransformerMixin, BaseEstimator):
    """Numbers from a table of numbers, categories, truth values and dates.

    Numbers stay numbers. Categories become indicators, dates become year, season, weekday and
    hour, as far as they vary. Missing numbers are filled; missing categories are a category.
    Columns that would mislead are left out: those that name or count the rows, do not vary, lack
    more than half of their values, or repeat another column. `findings_` says what was found and
    done.

    A column does not weigh more because it becomes several features: each feature is standardised
    and divided by the square root of the number of features of its column. Columns of categories,
    and numbers of only two values, have half the variance of others.

    Parameters
    ----------
    categorical : list of str, default=()
        Columns to treat as categories, whatever they hold: numbers that are names, or more
        different texts than `max_categories`.
    drop : list of str, default=()
        Columns to leave out, together with any that repeat them.
    keep : list of str, default=()
        Columns to use even if they would be left out.
    impute : {"median", "mean", "most-frequent"} or None, default="median"
        What replaces missing numbers. Missing categories are a category of their own, or the most
        frequent one for "most-frequent". None refuses missing values.
    decimal : {".", ","} or None, default=None
        Decimal sign of numbers that are given as texts; the other sign may separate thousands.
        None refuses ambiguous numbers.
    max_categories : int, default=20
        Columns with more different texts than this are left out.
    standardize : bool, default=True
        Whether to standardise and weight features as described. Otherwise numbers keep their
        units.

    Attributes
    ----------
    findings_ : list of Finding
        Findings about columns: those left out, those with filled values.
    features_ : list
        How each column that is used becomes features.
    source_columns_ : ndarray of shape (n_features_out,)
        Name of the column that each feature comes from.
    are_shares_ : ndarray of shape (n_features_out,)
        Whether the mean of a feature is a share of rows, as for an indicator.
    scaler_ : StandardScaler or None
        Scaler of the features; None if they keep their units.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, where X has them.

    Examples
    --------
    >>> from separatrix.tables import TablePreparer
    >>> rows = [[i, "ab"[i % 2], i * i % 7] for i in range(12)]
    >>> preparer = TablePreparer().fit(rows)
    >>> list(preparer.get_feature_names_out())
    ['1=b', '2']
    >>> [(one.column, one.kind) for one in preparer.findings_]
    [('0', 'id')]
    """

    findings_: list[Any]
    features_: list[Any]
    source_columns_: Array
    are_shares_: Array
    scaler_: StandardScaler | None
    n_features_in_: int
    feature_names_in_: Array

    _parameter_constraints: dict = {
        "categorical": [list, tuple],
        "drop": [list, tuple],
        "keep": [list, tuple],
        "impute": [StrOptions({"median", "mean", "most-frequent"}), None],
        "decimal": [StrOptions({".", ","}), None],
        "max_categories": [Interval(Integral, 2, None, closed="left")],
        "standardize": ["boolean"],
    }

    def __init__(
        self,
        *,
        categorical=(),
        drop=(),
        keep=(),
        impute="median",
        decimal=None,
        max_categories=20,
        standardize=True,
    ):
        self.categorical = categorical
        self.drop = drop
        self.keep = keep
        self.impute = impute
        self.decimal = decimal
        self.max_categories = max_categories
        self.standardize = standardize

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Samples, y: Any = None) -> Self:
        """Learn which columns to use, and how to turn them into features.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_columns)
            Table: a data frame of pandas, polars or pyarrow, or an array.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted preparer.
        """
        columns = columns_of(X)
        self.features_, self.findings_ = guarded(columns, self)
        self.n_features_in_ = len(columns)
        self.feature_names_in_ = np.array(list(columns), dtype=object)
        if not hasattr(X, "columns"):
            del self.feature_names_in_
        self._names_in = list(columns)
        sizes = [len(made.names) for made in self.features_]
        self.source_columns_ = np.repeat([made.column for made in self.features_], sizes)
        self.are_shares_ = np.concatenate([made.are_shares for made in self.features_])
        self.scaler_ = None
        if self.standardize:
            self.scaler_ = StandardScaler().fit(self._in_units(columns))
            shares = [made.variance / len(made.names) for made in self.features_]
            self.scaler_.scale_ /= np.sqrt(np.repeat(shares, sizes))
        return self

    def columns_in(self, X: Samples) -> dict[str, Any]:
        """Columns of a table that features are made of, as arrays.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_columns)
            Table; its columns are found by their names, in any order.

        Returns
        -------
        columns : dict of str to Column
            The columns that are used, as numbers, dates or texts.
        """
        check_is_fitted(self)
        columns = columns_of(X)
        if not hasattr(X, "columns"):
            if len(columns) != self.n_features_in_:
                raise ValueError(
                    f"X has {len(columns)} features, but TablePreparer is expecting "
                    f"{self.n_features_in_} features as input."
                )
            columns = dict(zip(self._names_in, columns.values(), strict=True))
        names = [made.column for made in self.features_]
        if lacking := [name for name in names if name not in columns]:
            raise ValueError(f"X lacks the columns {quoted(lacking)}; it has {quoted(columns)}.")
        return {
            made.column: as_used(columns[made.column], made, self.decimal)
            for made in self.features_
        }

    def in_units(self, X: Samples) -> Array:
        """Make features in the units of the table, before they are scaled.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_columns)
            Table; its columns are found by their names, in any order.

        Returns
        -------
        values : ndarray of shape (n_samples, n_features_out)
            Features.
        """
        return self._in_units(self.columns_in(X))

    def _in_units(self, columns):
        return np.hstack(
            [made.values(columns[made.column], self.decimal) for made in self.features_]
        )

    def transform(self, X: Samples) -> Array:
        """Make features, in which all columns have the same weight.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_columns)
            Table; its columns are found by their names, in any order.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_features_out)
            Features.
        """
        values = self.in_units(X)
        return values if self.scaler_ is None else self.scaler_.transform(values)

    def inverse_transform(self, X: Samples) -> Array:
        """Bring features back to the units of the table.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features_out)
            Features as `transform` makes them, or means of them.

        Returns
        -------
        values : ndarray of shape (n_samples, n_features_out)
            Features in the units of the table.
        """
        check_is_fitted(self)
        return np.asarray(X) if self.scaler_ is None else self.scaler_.inverse_transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the features.

        Parameters
        ----------
        input_features : None
            Ignored: the names are those of the fit.

        Returns
        -------
        names : ndarray of str
            The name of the column, followed by a category or a part of the date.
        """
        check_is_fitted(self)
        return np.array([name for made in self.features_ for name in made.names], dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        return tags
