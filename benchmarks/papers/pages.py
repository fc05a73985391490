"""Pages of a paper's tables, ours beside the published numbers, cell by cell."""

from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from benchmarks.papers.harness import (
    BETTER,
    DEFAULT,
    DEVIATION,
    MISSED,
    OURS,
    PAPER,
    WITHIN,
    distinct,
    published_value,
    spoken,
    standard_error,
    verdict,
)

MARKS = {BETTER: "★", WITHIN: "✓", MISSED: "✗", None: ""}
FEWER = "°"
LEGEND = (
    "✓ within the paper's spread, or within the stated tolerance if the paper gives no spread; ★ "
    f"better by more than that; ✗ not reached; {FEWER} measured with fewer repeats or a smaller "
    "grid than the protocol states; – not measured, or not printed in the paper."
)
NOT_YET = "not looked into yet"
WHAT_IS_AIMED_AT = (
    "The aim is that 80 % of the measured cells of the papers' own methods are within the "
    "paper's spread or better in the column 'any of the three', where a cell is reached if the "
    "paper's algorithm, ours or our default reaches it."
)
WITHOUT_LATER = "without later readings"
WHAT_COUNTS = (
    f"{WHAT_IS_AIMED_AT} Only the true classes show which of the three does so. Percentages are "
    "of the cells measured. A cell is measured 'in full' if all its columns have the repeats and "
    "the grid of the protocol. Several readings of a row count as one cell, which a column "
    "reaches if one of the readings does. Some rows and columns were added because a cell was not "
    f"reached; the line '{WITHOUT_LATER}' leaves them out, and each table names them."
)
NAMES_OF_COUNTS = [
    "cells", "measured", "of these in full", PAPER, OURS, DEFAULT, "any of the three",
    "other methods",
]  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """A cell with what was found."""

    cell: Any
    found: Any
    is_partial: bool
    verdict: str | None
    missing: list  # jobs that it needs and that have no result

    @property
    def is_reached(self):
        return self.verdict in (BETTER, WITHIN)


def entries_of(table, results):
    """All cells of a table with their values and verdicts."""
    jobs = {job.name: job for job in table.jobs}
    for cell in table.cells:
        found, is_partial = read(cell.read, cell.needs, jobs, results, cell.aggregates)
        needed = [jobs[name] for name in cell.needs if name in jobs]
        missing = [job for job in needed if results.of(job)[0] is None]
        judged = verdict(table, cell.published, found)
        yield Entry(cell, found, is_partial, judged, missing)


def read(function, needs, jobs, results, aggregates=False):
    """A function of what some jobs returned; None where one of them, or all, have not been run."""
    told = [results.of(jobs[name]) for name in needs if name in jobs]
    known = [(values, is_partial) for values, is_partial in told if values is not None]
    if not known or (len(known) < len(needs) and not aggregates):
        return None, False
    is_partial = len(known) < len(needs) or any(fewer for _, fewer in known)
    return function(*(values for values, _ in known)), is_partial


# --- a page -------------------------------------------------------------------------------------


def page(paper, tables, results):
    """Markdown of all tables of a paper."""
    entries = {table.name: list(entries_of(table, results)) for table in tables}
    records = list(results.records.values())
    lines = [
        f"# {paper.title}: published and ours",
        "",
        f"{paper.citation} Written by `python -m benchmarks.papers {paper.name}`.",
        "",
        LEGEND,
        "",
        "## Counts",
        "",
        WHAT_COUNTS,
        "",
        *counts(tables, entries),
        "",
        *said_of_figures(tables, results),
    ]
    for table in tables:
        lines += section(paper, table, entries[table.name], results)
    lines += ["## Measured with", "", *versions_of(records)]
    return "\n".join(lines).rstrip() + "\n"


def section(paper, table, entries, results):
    lines = [f"## {table.title}", "", table.protocol, ""]
    if table.better is not None and any(entry.cell.published is not None for entry in entries):
        lines += [compared(table), ""]
    shown = {entry.cell.variant for entry in entries}
    lines += [f"- {name}: {text}" for name, (_, text) in table.variants.items() if name in shown]
    lines += ["", *later_readings(table)]
    why = paper.published.get("why", {}).get(table.name, {})
    for column in table.own:
        own = [entry for entry in entries if entry.cell.column == column]
        if own:
            lines += [f"### {column}", "", *rows_of_method(table, own, why, results), ""]
    others = [entry for entry in entries if entry.cell.column not in table.own]
    if others:
        lines += ["### Other methods", ""] if table.own else []
        lines += [*rows_of_all(table, others), ""]
    return [*lines, *claims(table, results)]


def compared(table):
    """How the verdicts of a table come about."""
    text = f"{table.unit[:1].upper()}{table.unit[1:]}; {table.better} is better."
    if table.spread == DEVIATION:
        text += " 'Within' means at most one standard deviation of the paper away, combined with "
        text += "our standard error"
    elif table.spread is not None:
        text += " 'Within' means at most two standard errors away, the paper's combined with ours"
    else:
        text += " The paper gives no spread: 'within' means no farther away than the tolerance"
    if table.tolerance:
        text += f"{', or' if table.spread else ','} {table.tolerance:g}"
    return text + "."


def rows_of_method(table, entries, why, results):
    """A Markdown table of one method: paper, our variants, and the reason where all miss."""
    variants = [name for name in table.variants if any(e.cell.variant == name for e in entries)]
    published = any(entry.cell.published is not None for entry in entries)
    judged = table.better is not None and published
    header = ["", "paper", *variants, *(["not reached because"] if judged else [])]
    lines = markdown_head(header)
    for row in dict.fromkeys(entry.cell.row for entry in entries):
        of_row = {e.cell.variant: e for e in entries if e.cell.row == row}
        published = next(iter(of_row.values())).cell.published
        cells = [row, printed(published)]
        cells += [shown(table, of_row[name]) if name in of_row else "–" for name in variants]
        if judged:
            cells.append(reason(table, row, entries, why, results))
        lines.append(markdown_row(cells))
    return lines


def rows_of_all(table, entries):
    """A Markdown table of all methods together."""
    columns = list(dict.fromkeys((e.cell.column, e.cell.variant) for e in entries))
    with_paper = {e.cell.column for e in entries if e.cell.published is not None}
    several = {c for c, _ in columns if sum(c == other for other, _ in columns) > 1}
    header, told = [""], set()
    for column, variant in columns:
        if column in with_paper and column not in told:
            header.append(f"{column}, paper")
            told.add(column)
        header.append(f"{column}, {variant}" if column in several else column)
    lines = markdown_head(header)
    by_place = {(e.cell.row, e.cell.column, e.cell.variant): e for e in entries}
    for row in dict.fromkeys(entry.cell.row for entry in entries):
        cells, told = [row], set()
        for column, variant in columns:
            entry = by_place.get((row, column, variant))
            if column in with_paper and column not in told:
                same = (e for (r, c, _), e in by_place.items() if (r, c) == (row, column))
                first = next(same, None)
                cells.append(printed(first.cell.published if first else None))
                told.add(column)
            cells.append("–" if entry is None else shown(table, entry))
        lines.append(markdown_row(cells))
    return lines


def reason(table, row, entries, why, results):
    """Why no variant that counts reaches the cell; empty where one does."""
    counted = [e for e in entries if table.variants[e.cell.variant][0] != DEFAULT]
    of_row = [e for e in counted if e.cell.row == row]
    if any(e.is_reached or e.cell.published is None for e in of_row):
        return ""
    if not any(e.verdict for e in of_row):
        return why_not_measured(table, of_row, results)
    place = table.readings.get(row, row)
    for other in counted:
        if other.is_reached and table.readings.get(other.cell.row, other.cell.row) == place:
            return f"reached as '{other.cell.row}'"
    column = entries[0].cell.column
    for key in (f"{row} / {column}", f"{place} / {column}", f"{row} / *", f"* / {column}"):
        if key in why:
            return why[key]
    return NOT_YET


def why_not_measured(table, entries, results):
    """What the cheapest variant of a row would take."""
    costs = []
    for entry in entries:
        each = [results.expected_seconds(job, table.jobs) for job in distinct(entry.missing)]
        stopped = any(results.stopped_after(job) for job in entry.missing)
        if each and None not in each:
            costs.append((sum(each), stopped))
    if not costs:
        return "not measured"
    seconds, stopped = min(costs)
    return f"not measured: {'more than' if stopped else 'about'} {spoken(seconds)} of one core"


def claims(table, results):
    if not table.claims:
        return []
    lines = ["Statements, and whether they hold in our measurements:", ""]
    for claim, holds, told in checked(table, results):
        mark = "–" if holds is None else MARKS[WITHIN] if holds else MARKS[MISSED]
        lines.append(f"- {mark} {claim.text}{f' Here: {told}.' if told else ''}")
    return [*lines, ""]


def checked(table, results):
    jobs = {job.name: job for job in table.jobs}
    for claim in table.claims:
        found, _ = read(claim.check, claim.needs, jobs, results, claim.aggregates)
        yield claim, *((None, "") if found is None else found)


def later_readings(table):
    """Which rows and variants of a table came after a cell had been seen to miss."""
    if not table.later_readings:
        return []
    names = ", ".join(f"'{name}'" for name in table.later_readings)
    return [f"Added after a cell had been seen to miss: {names}.", ""]


def index(papers):
    """Markdown of the totals of all papers; `papers` has each with its tables and results."""
    lines = [
        "# The papers: published and ours",
        "",
        f"{WHAT_COUNTS} Each page compares its tables cell by cell. It states what was chosen by "
        "the true classes, and why cells are not reached. All of these pages are written by "
        "`python -m benchmarks.papers`.",
        "",
        *totals(papers, lambda paper: f"[{paper.title}]({paper.name}.md)"),
    ]
    names = [paper.name for paper, _, _ in papers]
    return "\n".join([*lines, "", "```{toctree}", ":hidden:", "", *names, "```"]) + "\n"


def totals(papers, name_of):
    """A Markdown table of the counts of each paper and of all, with and without later readings."""
    lines, whole, first = markdown_head(["", *NAMES_OF_COUNTS]), Counts(), Counts()
    for paper, tables, results in papers:
        entries = {table.name: list(entries_of(table, results)) for table in tables}
        found = total_of(tables, entries)
        whole += found
        first += total_of(tables, entries, with_later=False)
        lines.append(markdown_row([name_of(paper), *found.shown()]))
    return [*lines, *rows_of_totals(whole, first)]


def rows_of_totals(whole, first):
    """The last rows of a table of counts."""
    return [
        markdown_row(["all", *whole.shown()]),
        markdown_row([WITHOUT_LATER, *first.shown()]),
    ]


# --- counts -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Counts:
    """Published cells of a paper's own methods, and how many are reached by whom."""

    cells: int = 0
    measured: int = 0
    whole: int = 0  # measured with the settings of the protocol
    paper: int = 0
    ours: int = 0
    default: int = 0
    any_of_them: int = 0
    others: int = 0  # cells of other methods that are reached
    of_others: int = 0  # and that are measured

    def __add__(self, other):
        return Counts(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def shown(self):
        reached = [
            self.with_share(count)
            for count in (self.paper, self.ours, self.default, self.any_of_them)
        ]
        others = f"{self.others} of {self.of_others}"
        return [self.cells, self.measured, self.whole, *reached, others]

    def with_share(self, count):
        return f"{count} ({count / self.measured:.0%})" if self.measured else "0"


def counts(tables, entries):
    """How many cells of the paper's own methods are reached, by whom."""
    lines = markdown_head(["", *NAMES_OF_COUNTS])
    for table in tables:
        found = counted(table, entries[table.name])
        if not found.cells and not found.of_others:
            continue
        label = table.title.split(":")[0] + ("" if table.counts else ", not in the total")
        lines.append(markdown_row([label, *found.shown()]))
    whole = total_of(tables, entries)
    return [*lines, *rows_of_totals(whole, total_of(tables, entries, with_later=False))]


def total_of(tables, entries, with_later=True):
    """Counts of the tables that are part of the total."""
    found = (counted(table, entries[table.name], with_later) for table in tables if table.counts)
    return sum(found, Counts())


def counted(table, entries, with_later=True):
    """Counts of a table; readings of the same row of the paper are one cell."""
    places: dict[tuple, list] = {}
    for entry in entries:
        if entry.cell.published is not None and table.better is not None:
            row = table.readings.get(entry.cell.row, entry.cell.row)
            places.setdefault((row, entry.cell.column), []).append(entry)
    later = () if with_later else table.later_readings
    total = Counts()
    for (_, column), readings in places.items():
        of_place = [e for e in readings if not {e.cell.row, e.cell.variant} & set(later)]
        good = {table.variants[e.cell.variant][0] for e in of_place if e.is_reached}
        measured = [e for e in of_place if e.verdict]
        if column in table.own:
            total += Counts(
                cells=1,
                measured=bool(measured),
                whole=bool(measured) and not any(e.is_partial for e in measured),
                paper=PAPER in good,
                ours=OURS in good,
                default=DEFAULT in good,
                any_of_them=bool(good),
            )
        else:
            total += Counts(others=bool(good), of_others=bool(measured))
    return total


def said_of_figures(tables, results):
    found = [holds for table in tables for _, holds, _ in checked(table, results)]
    if not found:
        return []
    tried = [holds for holds in found if holds is not None]
    text = f"Statements about figures and tables that hold here: {sum(tried)} of {len(tried)}"
    left = len(found) - len(tried)
    return [text + (f"; {left} not measured." if left else "."), ""]


def versions_of(records):
    """What the results were measured with."""
    if not records:
        return ["Nothing yet."]
    told = sorted({tuple(record["versions"].items()) for record in records})
    lines = [f"- {', '.join(f'{name} {value}' for name, value in one)}" for one in told]
    seconds = sum(record["seconds"] for record in records)
    lines.append(f"- {len(records)} measurements, {seconds / 60:.0f} minutes of one core")
    return lines


# --- printing -----------------------------------------------------------------------------------


def shown(table, entry):
    """A value with its spread and mark."""
    if entry.found is None:
        return "–"
    runs = np.atleast_1d(entry.found)
    text = f"{runs.mean():.{table.digits}f}"
    if len(runs) > 1:
        spread = standard_error(runs) if table.spread != DEVIATION else np.std(runs)
        text += f"±{spread:.{table.digits}f}"
    mark = MARKS[entry.verdict]
    return text + (f" {mark}" if mark else "") + (FEWER if entry.is_partial else "")


def printed(published):
    """A number as the paper has it."""
    if published is None:
        return "–"
    value, spread = published_value(published)
    return f"{value:g}" if spread is None else f"{value:g}±{spread:g}"


def markdown_head(names):
    return [markdown_row(names), "|" + "---|" + "---:|" * (len(names) - 1)]


def markdown_row(cells):
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"
