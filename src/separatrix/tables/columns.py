"""Columns of tables of any make, as arrays: numbers, dates and texts."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import narwhals as nw
import numpy as np

from separatrix._output import quoted

__all__ = [
    "CellError",
    "Column",
    "ColumnError",
    "Columns",
    "as_texts",
    "columns_of",
    "named_columns",
    "recognised",
    "refuse",
]

MAX_VALUE = 1e140  # the largest that estimators compute with
NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*")
# with a decimal comma, separators of thousands, or signs such as those of currencies
GROUPED = "\\d{1,3}([.,'’ \u00a0\u202f]\\d{3})+"
FORMATTED = re.compile(
    f"[-−+($€£¥\\s]*({GROUPED}|\\d+)([.,]\\d*)?[)%$€£¥\\s\u00a0\u202f]*", re.ASCII
)
SIGNS = re.compile("[$€£¥%()+'’\\s\u00a0\u202f]")
# how dates are written; a day is told from a month only where some value has more than 12
DATES = ["%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y"]
DATES += ["%b %d %Y", "%d %b %Y", "%B %d, %Y", "%b %Y", "%Y-%m"]
TIMES = ("", " %H:%M", " %H:%M:%S", "T%H:%M:%S")
AMBIGUOUS = {"%m/%d/%Y", "%d/%m/%Y"}
# among numbers, so many different texts, or such a share of all values, are faults
FEW_FAULTS, FAULTY = 3, 0.05
MOST_DATES_TRIED = 30  # before all are


@dataclass(frozen=True)
class Column:
    """A column as an array.

    `values` are floats, NaN where missing; or seconds as datetime64, NaT where missing; or places
    in the sorted `levels` of texts, -1 where missing. For any other kind, all values are missing,
    and the kind says what it is.
    """

    name: str
    kind: str
    values: np.ndarray
    levels: Sequence[str] = ()

    @property
    def missing(self):
        """Whether each value is missing."""
        return self.values < 0 if self.kind == "texts" else np.isnan(self.values)

    @property
    def is_usable(self):
        """Whether features can be made of it."""
        return self.kind in ("numbers", "dates", "texts")

    def shown(self, row):
        """A value as it is shown to readers."""
        value = self.values[row]
        if self.missing[row]:
            return "the value"
        return f"{self.levels[value]!r:.80}" if self.kind == "texts" else str(value)


class TableError(ValueError):
    """A problem with a table, and its remedy.

    `remedy` has the names of parameters in braces, which `told` replaces by how these are passed.
    """

    def __init__(self, column, reason, remedy, place=""):
        self.column, self.reason, self.remedy = column, reason, remedy
        super().__init__(f"{place}{self.told(_as_argument)}")

    def told(self, passing: Callable[[str, str], str]) -> str:
        """State the reason and the remedy.

        Parameters
        ----------
        passing : callable
            ``passing(parameter, column)`` says how to pass a parameter that the remedy names.

        Returns
        -------
        text : str
            Both in one line.
        """
        names = re.findall(r"{(\w+)}", self.remedy)
        ways = {name: passing(name, self.column) for name in names}
        return "; ".join(filter(None, [self.reason, self.remedy.format(**ways)]))


class ColumnError(TableError):
    """Columns that cannot be used; `column` is the name of the first."""


class CellError(TableError):
    """A value that cannot be used, in a row counted from 0."""

    def __init__(self, column, row, reason, remedy):
        self.row = row
        super().__init__(column, reason, remedy, place=f"column {column!r}, row {row}: ")


def _as_argument(parameter, column):
    ways = {
        "impute": "impute='median'",
        "decimal": "decimal='.' or ','",
        "missing": "None in its place",
    }
    return "pass " + ways.get(parameter, f"{parameter}=[{column!r}]")


def refuse(column, mask, reason, remedy):
    """Refuse the first value of a column that a mask marks, if any."""
    rows = np.flatnonzero(mask)
    if rows.size:
        raise CellError(column.name, int(rows[0]), f"{column.shown(rows[0])} {reason}", remedy)


# --- from tables --------------------------------------------------------------------------------


class Columns(dict[str, Column]):
    """Columns by name. It replaces the table, which is thus converted only once."""

    @property
    def columns(self):
        """Names, as those of a data frame."""
        return list(self)


def columns_of(table):
    """Columns of a data frame of pandas, polars or pyarrow, or of an array, by name."""
    if isinstance(table, Columns):
        return table
    if not hasattr(table, "columns"):
        return _columns_of_array(table)
    names = [str(name) for name in getattr(table, "column_names", table.columns)]
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise ValueError(f"X has two columns called {quoted(twice)}; rename one of them.")
    frame = nw.from_native(table, eager_only=True)
    series = (frame[name] for name in frame.columns)
    named = zip(names, series, strict=True)
    return Columns((name, _column_of_series(name, one)) for name, one in named)


def named_columns(table, feature_names=None):
    """Columns of a table as a list, with names for readers."""
    columns = list(columns_of(table).values())
    if feature_names is None:
        is_frame = hasattr(table, "columns")
        return (
            columns
            if is_frame
            else [replace(column, name=f"feature {column.name}") for column in columns]
        )
    names = [str(name) for name in feature_names]
    if len(names) != len(columns):
        raise ValueError(
            f"feature_names has {len(names)} names but X has {len(columns)} columns; pass one "
            "name per column."
        )
    return [replace(column, name=name) for name, column in zip(names, columns, strict=True)]


def _columns_of_array(rows):
    values = np.asarray(rows)
    if hasattr(rows, "tocsr"):
        raise TypeError("X is sparse; pass a data frame or a dense array, as by X.toarray().")
    if values.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {values.ndim}D array instead. Reshape your data by "
            "X.reshape(-1, 1) if it has one column."
        )
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported: X must hold real numbers.")
    columns = {}
    for j in range(values.shape[1]):
        column = values[:, j]
        numeric = column.dtype.kind in "fiu"
        columns[str(j)] = (
            Column(str(j), "numbers", column.astype(float))
            if numeric
            else _column_of_objects(str(j), column.tolist())
        )
    return columns


def _column_of_series(name, series):
    """A column of a data frame."""
    dtype = series.dtype
    if dtype.is_numeric():
        return Column(name, "numbers", _floats(series))
    if dtype == nw.Date or dtype == nw.Datetime:
        seconds = series.cast(nw.Datetime("us")) if dtype == nw.Date else series
        seconds = seconds.dt.timestamp("ms") if len(series) else seconds
        return Column(name, "dates", _dates(_floats(seconds)))
    if dtype in (nw.String, nw.Categorical, nw.Enum, nw.Boolean, nw.Object, nw.Unknown):
        return _column_of_objects(name, series.to_list())
    return Column(name, f"{dtype} values", np.full(len(series), np.nan))


def _floats(series):
    values = series.cast(nw.Float64)
    if values.implementation.is_pyarrow():
        return np.concatenate([np.empty(0), *map(_floats_of_arrow, values.to_native().chunks)])
    return np.asarray(values.to_numpy(), dtype=float)


def _floats_of_arrow(array):
    """Numbers of an array of pyarrow, whose own conversion waits until pandas is imported."""
    bits, numbers = array.buffers()
    kept = slice(array.offset, array.offset + len(array))
    values = np.frombuffer(numbers)[kept] if len(array) else np.empty(0)
    if bits is None:
        return values
    present = np.unpackbits(np.frombuffer(bits, np.uint8), count=kept.stop, bitorder="little")
    return np.where(present[kept], values, np.nan)


def _dates(milliseconds):
    known = np.isfinite(milliseconds)
    seconds = np.floor(np.where(known, milliseconds, 0) / 1000).astype("datetime64[s]")
    return np.where(known, seconds, np.datetime64("NaT", "s"))


def _column_of_objects(name, values):
    """A column of Python's objects: numbers or dates if all are, or else texts."""
    present = {type(value) for value in values if not _is_missing(value)}
    if present and all(issubclass(one, (int, float, np.number)) for one in present - {bool}):
        if bool not in present:
            numbers = [np.nan if _is_missing(value) else float(value) for value in values]
            return Column(name, "numbers", np.array(numbers, dtype=float))
    elif present and all(hasattr(one, "isoformat") and hasattr(one, "year") for one in present):
        moments = [np.nan if _is_missing(value) else 1000 * _seconds(value) for value in values]
        return Column(name, "dates", _dates(np.array(moments)))
    elif any(issubclass(one, (dict, list, tuple, set, np.ndarray)) for one in present):
        kinds = ", ".join(sorted(one.__name__ for one in present))
        return Column(name, f"{kinds} values", np.full(len(values), np.nan))
    texts = [None if _is_missing(value) else _text(value) for value in values]
    return _column_of_texts(name, texts)


def _seconds(moment):
    day = datetime(moment.year, moment.month, moment.day)
    hour, minute, second = (getattr(moment, part, 0) for part in ("hour", "minute", "second"))
    return (day - datetime(1970, 1, 1)).total_seconds() + 3600 * hour + 60 * minute + second


def _is_missing(value):
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def _text(value):
    return str(value).lower() if isinstance(value, (bool, np.bool_)) else str(value)


def _column_of_texts(name, texts):
    levels = sorted({text for text in texts if text is not None})
    if {level.lower() for level in levels} <= {"true", "false"}:  # as files of any kind mean them
        texts = [text and text.lower() for text in texts]
        levels = sorted({level.lower() for level in levels})
    place: dict[Any, int] = {None: -1, **{level: code for code, level in enumerate(levels)}}
    return Column(name, "texts", np.array([place[text] for text in texts], dtype=int), levels)


def as_texts(column):
    """The column with its numbers or dates as texts."""
    if column.kind == "texts":
        return column
    values, codes = np.unique(column.values, return_inverse=True)
    known = ~np.isnan(values)
    if column.kind == "numbers":
        shown = [
            f"{value:.0f}" if value == round(value) else str(value) for value in values[known]
        ]
    else:
        shown = [str(value) for value in values[known]]
    codes = np.where(codes < len(shown), codes, -1)
    order = np.argsort(shown, kind="stable")
    places = np.append(np.argsort(order), -1)
    return Column(column.name, "texts", places[codes], [shown[code] for code in order])


# --- what texts mean ----------------------------------------------------------------------------


def recognised(column, decimal=None):
    """The column as numbers or dates if its texts are such, or else as it is.

    `decimal` is the sign between the whole and the fraction. Without it a comma is refused, since
    it may also separate thousands.
    """
    if column.kind != "texts" or not column.levels:
        return column
    counts = np.bincount(column.values[column.values >= 0], minlength=len(column.levels))
    plain = np.array([NUMBER.fullmatch(level) is not None for level in column.levels])
    formatted = np.array([FORMATTED.fullmatch(level) is not None for level in column.levels])
    odd = ~(plain | formatted)
    n_odd, n_present = counts[odd].sum(), counts.sum()
    is_fault = odd.sum() <= FEW_FAULTS or n_odd <= FAULTY * n_present  # not codes such as A17
    if 2 * n_odd > n_present or not is_fault:
        return _recognised_dates(column)
    readable = [_number(level, decimal) for level in column.levels]
    unread = np.array([value is None for value in readable])
    marks = np.append(formatted & unread, False)  # the last place is that of what is missing
    told = "may have a comma for the decimal point or between thousands"
    refuse(column, marks[column.values], told, "{decimal}, or {categorical}")
    marks = np.append(unread, False)
    most = f"as {n_present - n_odd:,} of {n_present:,} values are"
    told, remedy = f"is not a number, {most}", "{missing}, {categorical} or {drop}"
    refuse(column, marks[column.values], told, remedy)
    values = np.array([*readable, np.nan], dtype=float)
    return Column(column.name, "numbers", values[column.values])


def _number(text, decimal):
    """The number that a text holds, or None; signs of currencies and per cent are ignored."""
    if decimal is None and NUMBER.fullmatch(text):
        return float(text)
    bare = SIGNS.sub("", text.replace("−", "-"))
    if decimal is None and ("," in bare or re.search(r"\d['’ \u00a0\u202f]\d", text)):
        return None
    if decimal == ",":
        bare = bare.replace(".", "").replace(",", ".")
    bare = bare.replace(",", "")
    if not NUMBER.fullmatch(bare):
        return None
    return -float(bare) if text.strip().startswith("(") else float(bare)


def _recognised_dates(column):
    forms = [day + clock for day in DATES for clock in TIMES]
    for level in column.levels[:MOST_DATES_TRIED]:
        forms = [form for form in forms if _moment(level, form) is not None]
    if AMBIGUOUS & {form.split(" ")[0].split("T")[0] for form in forms} and len(forms) > 1:
        forms = [form for form in forms if all(_moment(one, form) for one in column.levels)]
    if len(forms) != 1:
        return column
    moments = [_moment(level, forms[0]) for level in column.levels]
    if None in moments:
        return column
    seconds = np.array([*(_seconds(moment) for moment in moments), np.nan])
    return replace(column, kind="dates", values=_dates(1000 * seconds[column.values]), levels=())


def _moment(text, form):
    try:
        return datetime.strptime(text.strip(), form)
    except ValueError:
        return None
