"""Pages of a paper's tables, ours beside the published numbers, cell by cell."""

from dataclasses import dataclass
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
    published_value,
    standard_error,
    verdict,
)

MARKS = {BETTER: "★", WITHIN: "✓", MISSED: "✗", None: ""}
FEWER = "°"
LEGEND = (
    "✓ within the paper's spread, or within the stated tolerance where it has none; ★ better by "
    f"more than that; ✗ not reached; {FEWER} so far measured with fewer repeats or a smaller "
    "grid than the protocol says; – not measured, or not printed in the paper."
)
NOT_YET = "not looked into yet"


@dataclass(frozen=True)
class Entry:
    """A cell with what was found."""

    cell: Any
    found: Any
    is_partial: bool
    verdict: str | None


def entries_of(table, results):
    """All cells of a table with their values and verdicts."""
    jobs = {job.name: job for job in table.jobs}
    for cell in table.cells:
        found, is_partial = read(cell.read, cell.needs, jobs, results, cell.aggregates)
        yield Entry(cell, found, is_partial, verdict(table, cell.published, found))


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
        f"# {paper.TITLE}: published and ours",
        "",
        f"{paper.CITATION} Written by `python -m benchmarks.papers {paper.NAME}`.",
        "",
        LEGEND,
        "",
        "## Counts",
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
    lines += [""]
    why = paper.PUBLISHED.get("why", {}).get(table.name, {})
    for column in table.own:
        own = [entry for entry in entries if entry.cell.column == column]
        if own:
            lines += [f"### {column}", "", *rows_of_method(table, own, why), ""]
    others = [entry for entry in entries if entry.cell.column not in table.own]
    if others:
        lines += ["### Other methods", ""] if table.own else []
        lines += [*rows_of_all(table, others), ""]
    return [*lines, *claims(table, results)]


def compared(table):
    """How the verdicts of a table come about."""
    text = f"{table.unit}; {table.better} is better."
    if table.spread == DEVIATION:
        text += " Within: at most the paper's standard deviation away, our standard error added"
    elif table.spread is not None:
        text += " Within: at most two standard errors away, the paper's and ours together"
    else:
        text += " The paper has no spread. Within: no farther away than the tolerance"
    if table.tolerance:
        text += f"{', or' if table.spread else ','} {table.tolerance:g}"
    return text + "."


def rows_of_method(table, entries, why):
    """A Markdown table of one method: paper, our variants, and the reason where all miss."""
    variants = [name for name in table.variants if any(e.cell.variant == name for e in entries)]
    judged = table.better is not None and any(entry.verdict for entry in entries)
    header = ["", "paper", *variants, *(["not reached because"] if judged else [])]
    lines = markdown_head(header)
    for row in dict.fromkeys(entry.cell.row for entry in entries):
        of_row = {e.cell.variant: e for e in entries if e.cell.row == row}
        published = next(iter(of_row.values())).cell.published
        cells = [row, printed(published)]
        cells += [shown(table, of_row[name]) if name in of_row else "–" for name in variants]
        if judged:
            cells.append(reason(table, row, list(of_row.values()), why))
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


def reason(table, row, entries, why):
    """Why no variant that counts reaches the cell; empty where one does, or none was measured."""
    counted = [e for e in entries if table.variants[e.cell.variant][0] != DEFAULT]
    if not any(e.verdict for e in counted) or any(e.verdict != MISSED for e in counted):
        return ""
    column = entries[0].cell.column
    for key in (f"{row} / {column}", f"{row} / *", f"* / {column}"):
        if key in why:
            return why[key]
    return NOT_YET


def claims(table, results):
    if not table.claims:
        return []
    lines = ["Statements, and whether they hold here:", ""]
    for claim, holds, told in checked(table, results):
        mark = "–" if holds is None else MARKS[WITHIN] if holds else MARKS[MISSED]
        lines.append(f"- {mark} {claim.text}{f' Here: {told}.' if told else ''}")
    return [*lines, ""]


def checked(table, results):
    jobs = {job.name: job for job in table.jobs}
    for claim in table.claims:
        found, _ = read(claim.check, claim.needs, jobs, results, claim.aggregates)
        yield claim, *((None, "") if found is None else found)


def index(papers):
    """Markdown of the totals of all papers; `papers` has each with its tables and results."""
    names = ["", "cells", "measured", "by either", PAPER, OURS, DEFAULT, "other methods"]
    lines = [
        "# The papers: published and ours",
        "",
        "Cells of the papers' own methods that are within the paper's spread or better. Written "
        "by `python -m benchmarks.papers`; each page has its tables cell by cell, with what was "
        "chosen by the true classes, and the reasons for what is not reached.",
        "",
        *markdown_head(names),
    ]
    for paper, tables, results in papers:
        counting = [table for table in tables if table.counts]
        total = sum(counted(table, list(entries_of(table, results))) for table in counting)
        lines.append(markdown_row([f"[{paper.TITLE}]({paper.NAME}.md)", *as_counts(total)]))
    names = [paper.NAME for paper, _, _ in papers]
    return "\n".join([*lines, "", "```{toctree}", ":hidden:", "", *names, "```"]) + "\n"


# --- counts -------------------------------------------------------------------------------------


def counts(tables, entries):
    """How many cells of the paper's own methods are reached, by whom."""
    lines = markdown_head(
        ["", "cells", "measured", "by either", PAPER, OURS, DEFAULT, "other methods"]
    )
    total = np.zeros(8, dtype=int)
    for table in tables:
        numbers = counted(table, entries[table.name])
        if not numbers[0] and not numbers[7]:
            continue
        total += numbers if table.counts else 0
        label = table.title.split(":")[0] + ("" if table.counts else ", not in the total")
        lines.append(markdown_row([label, *as_counts(numbers)]))
    return [*lines, markdown_row(["all", *as_counts(total)])]


def as_counts(numbers):
    cells, measured, either, paper, ours, default, others, of_others = numbers
    share = f" ({either / measured:.0%})" if measured else ""
    return [cells, measured, f"{either}{share}", paper, ours, default, f"{others} of {of_others}"]


def counted(table, entries):
    """Published cells of own methods; those measured; reached by either, each role; of others."""
    places: dict[tuple, list] = {}
    for entry in entries:
        if entry.cell.published is not None and table.better is not None:
            places.setdefault((entry.cell.row, entry.cell.column), []).append(entry)
    reached = np.zeros(8, dtype=int)
    for (_, column), of_place in places.items():
        good = {
            table.variants[e.cell.variant][0] for e in of_place if e.verdict in (BETTER, WITHIN)
        }
        is_measured = any(e.verdict for e in of_place)
        if column not in table.own:
            reached[6:] += [bool(good), is_measured]
            continue
        reached[:2] += [1, is_measured]
        reached[2] += bool(good - {DEFAULT})
        reached[3:6] += [PAPER in good, OURS in good, DEFAULT in good]
    return reached


def said_of_figures(tables, results):
    found = [holds for table in tables for _, holds, _ in checked(table, results)]
    if not found:
        return []
    tried = [holds for holds in found if holds is not None]
    text = f"Statements about figures without numbers that hold: {sum(tried)} of {len(tried)}"
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
