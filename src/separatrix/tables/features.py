"""Features of a column, with all that is needed to compute them for another table."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from separatrix._output import quoted
from separatrix.tables.columns import MAX_VALUE, CellError, as_texts, recognised, refuse

__all__ = ["CategoryFeatures", "DateFeatures", "NumberFeatures", "as_used", "features_of"]

MISSING = "missing"
# Variance of a category where that of a number is one. Two values by themselves are two clusters,
# however they came about: cutting a number of a normal distribution in two explains 2 / pi of its
# variance, and a coin should not explain more.
OF_CATEGORIES = 0.5
DAY, YEAR = 86_400, 365.2425 * 86_400  # in seconds
MISSING_REMEDY = "{impute}, or {drop}"


def features_of(column, impute):
    """Features of a column that can be used; None if it does not vary."""
    if column.kind == "numbers":
        return NumberFeatures.of(column, impute)
    return (DateFeatures if column.kind == "dates" else CategoryFeatures).of(column, impute)


def as_used(column, made, decimal):
    """A column as its features take it: as texts, or as the numbers or dates that texts are."""
    return as_texts(column) if isinstance(made, CategoryFeatures) else recognised(column, decimal)


def check_present(column, impute):
    """Refuse missing values where they are not to be filled."""
    if impute is None:
        missing = column.missing
        refuse(column, missing, f"is missing ({missing.sum():,} in this column)", MISSING_REMEDY)


def most_frequent(values):
    """The value that occurs most often, of equals the least."""
    found, counts = np.unique(values, return_counts=True)
    return found[counts.argmax()]


@dataclass(frozen=True)
class NumberFeatures:
    """A column of numbers as it is, with a number for those that are missing."""

    column: str
    impute: str | None
    filled: float
    two_values: tuple[float, ...] = ()  # if there are no others

    @classmethod
    def of(cls, column, impute):
        """Features of a column."""
        check_numbers(column)
        check_present(column, impute)
        present = column.values[~column.missing]
        ends = float(present.min()), float(present.max())
        two_values = ends if ends[0] < ends[1] and np.isin(present, ends).all() else ()
        rules: dict[str | None, Callable] = {"mean": np.mean, "most-frequent": most_frequent}
        filled = float(rules.get(impute, np.median)(present))
        return cls(column.name, impute, filled, two_values)

    @property
    def names(self):
        """Names of the features."""
        return [self.column]

    @property
    def are_shares(self):
        """Whether the means of the features are shares of rows."""
        return [self.two_values == (0, 1)]

    @property
    def variance(self):
        """Total variance of the scaled features."""
        return OF_CATEGORIES if self.two_values else 1.0

    @property
    def filling(self):
        """What replaces missing values, in words."""
        return f"the {str(self.impute).replace('-', ' ')} {self.filled:.6g}"

    def values(self, column, decimal):
        """The features of a column of another table."""
        column = recognised(column, decimal)
        if column.kind != "numbers" and not column.missing.all():
            row = int(np.flatnonzero(~column.missing)[0])
            reason = f"{column.shown(row)} is not a number, as in the table of the fit"
            raise CellError(column.name, row, reason, "correct it")
        check_numbers(column)
        check_present(column, self.impute)
        missing = column.missing
        return np.where(missing, self.filled, 0 if missing.all() else column.values)[:, None]


def check_numbers(column):
    """Refuse numbers that cannot be squared."""
    size = abs(column.values) if column.kind == "numbers" else np.zeros(1)
    refuse(column, np.isinf(size), "is infinite", "put a number in its place, or {drop}")
    refuse(column, size > MAX_VALUE, "is too large to compute with", "scale its column, or {drop}")


@dataclass(frozen=True)
class CategoryFeatures:
    """An indicator of each category, which are texts; of two, only that of the second.

    Missing values are a category of their own if there were any in the fit and `impute` fills
    them; what is missing only later has the shares of the fit.
    """

    column: str
    impute: str | None
    levels: list[str]
    shares: np.ndarray
    missing_is_level: bool

    @classmethod
    def of(cls, column, impute):
        """Features of a column."""
        check_present(column, impute)
        levels, codes = list(column.levels), column.values.copy()
        is_level = bool(column.missing.any()) and impute in ("median", "mean")
        if is_level:
            levels.append(MISSING if MISSING not in levels else f"({MISSING})")
            codes[codes < 0] = len(levels) - 1
        elif column.missing.any():
            codes[codes < 0] = most_frequent(codes[codes >= 0])
        shares = np.bincount(codes, minlength=len(levels)) / len(codes)
        return cls(column.name, impute, levels, shares, is_level)

    @property
    def variance(self):
        """Total variance of the scaled features."""
        return OF_CATEGORIES

    @property
    def _shown(self):
        """Places of the levels that have an indicator."""
        return range(len(self.levels))[-1:] if len(self.levels) == 2 else range(len(self.levels))

    @property
    def names(self):
        """Names of the features."""
        return [f"{self.column}={self.levels[code]}" for code in self._shown]

    @property
    def are_shares(self):
        """Whether the means of the features are shares of rows."""
        return [True] * len(self._shown)

    @property
    def filling(self):
        """What replaces missing values, in words."""
        if self.missing_is_level:
            return f"a category {self.levels[-1]!r}"
        return f"the most frequent, {self.levels[self.shares.argmax()]!r}"

    def values(self, column, decimal):
        """The features of a column of another table."""
        check_present(column, self.impute)
        column = as_texts(column)
        place = {level: code for code, level in enumerate(self.levels)}
        places = np.array([*(place.get(level, -1) for level in column.levels), -1])
        codes, missing = places[column.values], column.missing
        known = quoted(self.levels)
        refuse(
            column, (codes < 0) & ~missing, f"is not one of its categories: {known}", "correct it"
        )
        if self.missing_is_level:
            codes = np.where(missing, len(self.levels) - 1, codes)
        elif self.impute == "most-frequent":
            codes = np.where(missing, self.shares.argmax(), codes)
        shown = list(self._shown)
        indicators = (codes[:, None] == shown).astype(float)
        indicators[codes < 0] = self.shares[shown]
        return indicators


def _circle(share):
    """A share of a period as a point on the circle, so that its end is near its beginning."""
    return np.column_stack([np.sin(2 * np.pi * share), np.cos(2 * np.pi * share)])


# parts of dates, from seconds since 1970, which began on a Thursday
PARTS = {
    "year": lambda t: t.astype("datetime64[Y]").astype(float)[:, None] + 1970,
    "season": lambda t: _circle((t - t.astype("datetime64[Y]")).astype(float) / YEAR),
    "weekday": lambda t: _circle((t.astype("datetime64[D]").astype(float) + 3) % 7 / 7),
    "hour": lambda t: _circle((t - t.astype("datetime64[D]")).astype(float) / DAY),
}


@dataclass(frozen=True)
class DateFeatures:
    """The parts of dates that vary: year, season, weekday and hour, the last three on a circle."""

    column: str
    impute: str | None
    parts: list[str]
    filled: int  # seconds since 1970
    variance = 1.0  # total, of the scaled features

    @classmethod
    def of(cls, column, impute):
        """Features of a column."""
        check_present(column, impute)
        dates = np.sort(column.values[~column.missing])
        units = {"year": "Y", "season": "M", "hour": "s"}
        several = {
            part: len(np.unique(dates.astype(f"datetime64[{unit}]"))) > 1
            for part, unit in units.items()
        }
        days = dates.astype("datetime64[D]")
        months = days.astype("datetime64[M]")
        several["season"] = len(np.unique(months.astype(int) % 12)) > 1
        # if the day of the month or year is always the same, the weekday means nothing
        several["weekday"] = len(np.unique(days - months)) > 1
        several["hour"] = len(np.unique(dates - days)) > 1
        parts = [part for part in PARTS if several[part]]
        return cls(column.name, impute, parts, int(dates[len(dates) // 2].astype(int)))

    @property
    def names(self):
        """Names of the features."""
        ends = {"year": [""]}
        return [
            f"{self.column} {part}{end}"
            for part in self.parts
            for end in ends.get(part, [" sin", " cos"])
        ]

    @property
    def are_shares(self):
        """Whether the means of the features are shares of rows."""
        return [False] * len(self.names)

    @property
    def filling(self):
        """What replaces missing values, in words."""
        return f"the median {np.datetime64(self.filled, 's').astype('datetime64[D]')}"

    def values(self, column, decimal):
        """The features of a column of another table."""
        column = recognised(column, decimal)
        check_present(column, self.impute)
        if column.kind != "dates" and not column.missing.all():
            row = int(np.flatnonzero(~column.missing)[0])
            reason = f"{column.shown(row)} is not a date, as in the table of the fit"
            raise CellError(column.name, row, reason, "correct it")
        filled = np.datetime64(self.filled, "s")
        dates = np.full(len(column.values), filled)
        dates[~column.missing] = column.values[~column.missing]
        return np.hstack([PARTS[part](dates) for part in self.parts])
