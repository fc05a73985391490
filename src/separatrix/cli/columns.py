"""Which columns of a table become features, and how."""

import csv
import shlex
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from separatrix.cli import Refusal
from separatrix.cli.reading import quoted, read_table
from separatrix.report.evidence import Clustering, Samples

__all__ = ["Features", "listed", "read_features", "read_matrix"]

MAX_CATEGORIES = 20  # a column of more texts is left out, unless it is said to be categorical
MAX_VALUE = 1e150  # the square of a larger one may overflow
NUMBER = r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$"
# with a decimal comma, separators of thousands, or signs such as those of currencies
GROUPED = "\\d{1,3}([.,'’ \u00a0\u202f]\\d{3})+"
FORMATTED = f"^[-−+($€£¥\\s]*({GROUPED}|\\d+)([.,]\\d*)?[)%$€£¥\\s\u00a0\u202f]*$"
NUMBERS = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
TEXTS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_dictionary)


@dataclass(frozen=True)
class Features:
    """A table as features, with all that is needed to make them from another table.

    `columns` has a list of categories for each name, or None for numbers; `left_out` a reason;
    `values` are the features in units of the table, `X` as a clusterer takes them.
    """

    name: str
    ids: dict
    columns: dict[str, list[str] | None]
    left_out: dict[str, str]
    imputes: bool
    encoder: ColumnTransformer
    scaler: ColumnTransformer | str
    values: np.ndarray
    X: np.ndarray

    @property
    def names(self):
        """Names of the features: the numbers, then each category."""
        plain = [name for name, categories in self.columns.items() if categories is None]
        return plain + [
            f"{name}={one}" for name, ones in self.columns.items() for one in ones or ()
        ]

    @property
    def row_names(self):
        """Names of the rows, their numbers from 1 if no column names them."""
        return np.asarray(next(iter(self.ids.values()), range(1, len(self.X) + 1)))

    def card(self, labels):
        """What `predict` and `explain` need: columns, and means of clusters in their units."""
        samples = Samples(self.X, self.X, self.values, self.names, None)
        clusters = Clustering(samples, labels, list(range(labels.max() + 1)))
        return {
            "columns": self.columns,
            "id_column": next(iter(self.ids), None),
            "imputes": self.imputes,
            "features": self.names,
            "sizes": clusters.sizes.tolist(),
            "means": clusters.means.tolist(),
            "share": clusters.explained.tolist(),
            "deviation": self.X.std(axis=0).tolist(),
        }


def listed(text):
    """Names between commas, with quotes as in CSV; None for None."""
    try:
        return text and next(csv.reader([text], skipinitialspace=True, strict=True))
    except csv.Error:
        remedy = "put commas between them, and a name that has a line break into quotes"
        raise Refusal(f"{text!r} is no list of names; {remedy}") from None


def read_features(path, columns, id_column, categorical, impute, standardize):
    """Features of the table in a file, as the options of these names say."""
    requested, categorical = listed(columns) or [], listed(categorical) or []
    table = read_table(path, columns=requested or None, text=categorical, id_column=id_column)
    for name in categorical:
        if name not in table.columns:
            used = quoted(list(table.columns))
            raise Refusal(f"{table.name}: --categorical: {name!r} is none of the columns: {used}")
    if table.n_rows == 1:
        raise Refusal(f"{table.name}: there is 1 row of data; clustering needs at least 2")
    kept: dict[str, list[str] | None] = {}
    useless: dict[str, str] = {}
    for name, values in table.columns.items():
        found = _categories(table, name, values, name in categorical, impute)
        if isinstance(found, str):
            useless[name] = found
        else:
            kept[name] = found
    asked = {*requested, *categorical} if kept else useless
    if reasons := "; ".join(f"{one!r} {useless[one]}" for one in useless if one in asked):
        raise Refusal(f"{table.name}: columns of no use: {reasons}")
    remedy = None if impute else "pass --impute mean, median or most-frequent"
    matrix = _matrix(table, kept, remedy)
    encoder, scaler = _encoder(kept, impute), _scaler(kept, standardize)
    values = encoder.fit_transform(matrix)
    X = values if scaler == "passthrough" else scaler.fit_transform(values)
    left_out = {**table.left_out, **useless}
    return Features(
        table.name, table.ids, kept, left_out, bool(impute), encoder, scaler, values, X
    )


def read_matrix(path, card, id_column):
    """Ids of rows, and what a saved model's encoder takes, of the table in a file."""
    columns = card["columns"]
    id_column = card["id_column"] if id_column is None else id_column
    texts = [name for name, categories in columns.items() if categories]
    table = read_table(path, columns=list(columns), text=texts, id_column=id_column)
    remedy = None if card["imputes"] else "the model was made without --impute"
    return table.ids, _matrix(table, columns, remedy)


def _categories(table, name, values, is_categorical, impute):
    """Categories of a column, None if it holds numbers, or a reason why it is of no use."""
    if _holds(values, NUMBERS) and not is_categorical:
        return None
    if values.null_count == len(values):
        return "holds no values"
    if not _holds(values, NUMBERS + TEXTS):
        return f"holds {values.type} values, neither numbers nor texts"
    texts = _texts(values)
    plain, formatted = (pc.match_substring_regex(texts, form) for form in (NUMBER, FORMATTED))
    n_numeric = pc.sum(pc.or_(plain, formatted)).as_py() or 0
    n_present = len(texts) - texts.null_count
    if 2 * n_numeric >= n_present and not is_categorical:
        or_categories = f"or pass --categorical {shlex.quote(name)}"
        remedy = f"use a decimal point, no separators and no signs, {or_categories}"
        _refuse(table, name, pc.and_not(formatted, plain), f"is not a plain number; {remedy}")
        most = f"as {n_numeric:,} of {n_present:,} values are"
        remedy = f"correct it, {or_categories}"
        _refuse(table, name, pc.invert(plain), f"is not a number, {most}; {remedy}")
        return None
    categories = sorted(pc.unique(texts.drop_null()).to_pylist())
    if len(categories) < 2 and (impute or not texts.null_count):
        return "holds the same text in all rows"
    if len(categories) > MAX_CATEGORIES and not is_categorical:
        return f"holds {len(categories):,} texts, more than {MAX_CATEGORIES}"
    return categories


def _holds(values, kinds):
    return any(is_kind(values.type) for is_kind in kinds)


def _texts(values):
    """Values as texts; NaN is missing, as it is among numbers."""
    if pa.types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), None, values)
    return values.cast(pa.string())


def _refuse(table, name, mask, reason):
    """Refuse the first value that a mask marks, if any."""
    rows = np.flatnonzero(np.asarray(mask).astype(bool))
    if rows.size:
        value = table.columns[name][rows[0]].as_py()
        shown = "the value" if value is None or value != value else f"{value!r:.80}"
        raise Refusal(f"{table.name}: {table.place(rows[0])}, column {name!r}: {shown} {reason}")


def _matrix(table, columns, missing_remedy):
    """Numbers, and codes of categories; NaN where missing, unless there is a remedy to tell."""
    matrix = np.empty((table.n_rows, len(columns)))
    for j, (name, categories) in enumerate(columns.items()):
        values = table.columns[name]
        if categories:
            texts = _texts(values)
            values = pc.index_in(texts, value_set=pa.array(categories, pa.string()))
            unknown = pc.and_(pc.is_null(values), pc.is_valid(texts))
            _refuse(table, name, unknown, f"is none of its categories: {quoted(categories)}")
        elif _holds(values, TEXTS):
            values = pc.utf8_trim_whitespace(_texts(values))
            is_number = pc.match_substring_regex(values, NUMBER)
            _refuse(table, name, pc.invert(is_number), "is not a number; correct it")
        elif not _holds(values, NUMBERS) and not pa.types.is_null(values.type):
            raise Refusal(f"{table.name}: column {name!r} holds {values.type}, not numbers")
        matrix[:, j] = values.cast(pa.float64(), safe=False).to_numpy()
        missing = np.isnan(matrix[:, j])
        size = abs(matrix[:, j])
        _refuse(table, name, np.isinf(size), "is infinite; put a number in its place")
        _refuse(table, name, size > MAX_VALUE, "is too large to be squared; scale its column")
        if missing_remedy:
            count = f"{missing.sum():,} of its column are"
            _refuse(table, name, missing, f"is missing, as {count}; {missing_remedy}")
    return matrix


def _encoder(columns, impute):
    """Transformer of the matrix to values: the numbers, then categories as zeros and ones."""

    def imputer(strategy):
        return SimpleImputer(strategy=strategy, keep_empty_features=True)

    coded = np.array([categories is not None for categories in columns.values()])
    codes = [np.arange(len(categories)) for categories in columns.values() if categories]
    one_hot = OneHotEncoder(categories=codes, sparse_output=False)
    numbers = imputer(impute.replace("-", "_")) if impute else "passthrough"
    texts = make_pipeline(imputer("most_frequent"), one_hot) if impute else one_hot
    return ColumnTransformer(
        [("numbers", numbers, np.flatnonzero(~coded)), ("texts", texts, np.flatnonzero(coded))]
    )


def _scaler(columns, standardize):
    """Transformer of values to features: numbers with mean 0 and variance 1, if wanted."""
    n_numbers = sum(categories is None for categories in columns.values())
    if not standardize or not n_numbers:
        return "passthrough"
    return ColumnTransformer(
        [("numbers", StandardScaler(), slice(n_numbers))],
        remainder="passthrough",
        verbose_feature_names_out=False,
    )
