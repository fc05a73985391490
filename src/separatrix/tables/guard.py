"""Which columns of a table can be used, their features, and findings about them."""

from separatrix._output import quoted
from separatrix.tables.columns import ColumnError, as_texts, recognised
from separatrix.tables.features import features_of
from separatrix.tables.findings import OVERRULED, Finding, reason_to_leave_out, same_as

__all__ = ["guarded"]


def guarded(columns, wishes):
    """Features of columns, and what was found; `wishes` has the parameters of TablePreparer."""
    _check(columns, wishes)
    used, findings = _sorted_out(columns, wishes)
    _check_use(used, findings, wishes)
    features = [features_of(column, wishes.impute) for column in used]
    for made, column in zip(features, used, strict=True):
        if n_missing := int(column.missing.sum()):
            values = "value" if n_missing == 1 else "values"
            filled = f"lacks {n_missing:,} {values}, filled by {made.filling}"
            findings.append(Finding(made.column, "filled", filled, n_missing=n_missing))
    place = {name: position for position, name in enumerate(columns)}
    return features, sorted(findings, key=lambda one: place[one.column])


def _check(columns, wishes):
    """Refuse a table without columns or rows, and parameters that name other columns."""
    if not columns:
        raise ValueError("X has 0 feature(s) (shape=(1, 0)) while a minimum of 1 is required.")
    n_rows = len(next(iter(columns.values())).values)
    if n_rows < 2:
        raise ValueError(f"X has n_samples={n_rows}; clusters need at least 2 rows.")
    for parameter in ("categorical", "drop", "keep"):
        if unknown := [one for one in getattr(wishes, parameter) if one not in columns]:
            raise ValueError(
                f"{parameter} names {quoted(unknown)}, not among the columns: {quoted(columns)}."
            )


def _sorted_out(columns, wishes):
    """The columns that can be used, and findings about the others."""
    used: list = []
    dropped: list = []
    findings: list[Finding] = []
    for name, column in columns.items():
        if name in wishes.drop:
            dropped.append(column)
            findings.append(Finding(name, "dropped", "is not to be used", left_out=True))
            continue
        named = name in wishes.categorical
        if named and column.is_usable:
            column = as_texts(column)
        elif not named:
            column = recognised(column, wishes.decimal)
        reason = reason_to_leave_out(column, wishes.max_categories, name in wishes.keep, named)
        # of two that are the same, the first is used
        if reason is None and name not in wishes.keep:
            twin = same_as(column, dropped + used)
            reason = twin and ("duplicate", f"tells the same as {twin!r}")
        if reason is None:
            used.append(column)
        else:
            kind, text = reason
            findings.append(Finding(name, kind, text, left_out=True))
    return used, findings


def _check_use(used, findings, wishes):
    """Refuse a table if no column is left, or if a requested column cannot be used."""
    asked = {*wishes.categorical, *wishes.keep} - set(wishes.drop)
    useless = [one for one in findings if one.column in asked or not used]
    if useless:
        told = "; ".join(f"{one.column!r} {one.text}" for one in useless)
        overruled = [one.column for one in useless if one.kind in OVERRULED and not used]
        remedy = "{keep}" if overruled else ""
        column = overruled[0] if overruled else useless[0].column
        raise ColumnError(column, f"columns of no use: {told}", remedy)
