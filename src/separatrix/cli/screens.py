"""What the terminal shows."""

import os
import sys
from contextlib import contextmanager
from itertools import zip_longest
from textwrap import wrap

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table
from rich.text import Text

from separatrix._output import in_digits, in_percent
from separatrix.cli import Refusal, printable
from separatrix.plots.colors import cluster_color

__all__ = [
    "compared",
    "crossed",
    "explained",
    "facts",
    "grid",
    "means",
    "progress",
    "show",
    "sizes",
]

BAR = 28
UNLIMITED = 1 << 20
MOST_BOUNDARIES = 15  # of six clusters, by pairs


def _console(stderr=False):
    """Console on a standard stream, without a limit to its lines where that is no terminal."""
    stream = sys.stderr if stderr else sys.stdout
    limit = None if stream is None or stream.isatty() else UNLIMITED
    return Console(stderr=stderr, highlight=False, width=limit)


def show(*screens, stderr=False):
    """Print screens, with a blank line before each, on a standard stream."""
    console = _console(stderr)
    try:
        for screen in screens:
            console.print("", screen)
    except OSError as error:  # such as a full disk
        os.dup2(os.open(os.devnull, os.O_WRONLY), console.file.fileno())  # for what is buffered
        if not stderr:
            raise Refusal(f"standard output: cannot be written: {error.strerror}") from error


@contextmanager
def progress(n_steps):
    """Bar on standard error, none where that is no terminal; call it with each step's name.

    A call may correct the number of steps.
    """
    bar = BarColumn(BAR, complete_style=cluster_color(0), finished_style=cluster_color(0))
    shown = SpinnerColumn(style="dim"), bar, TextColumn("{task.description}", markup=False)
    quiet = not sys.stderr.isatty()
    with Progress(*shown, console=Console(stderr=True), transient=True, disable=quiet) as steps:
        task = steps.add_task("", total=n_steps, completed=-1)
        yield lambda step, total=n_steps: steps.update(
            task, description=printable(step), total=total, advance=1
        )


def _text(cell, style=""):
    return cell if isinstance(cell, Text) else Text(printable(str(cell)), style)


def grid(rows, header=(), justify="l"):
    """Cells in columns as the letters of `justify` say, the last of which repeats.

    l: flush left; r: flush right; n: the same, for numbers, which are never broken.
    """
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=bool(header), header_style="none")
    for j, name in enumerate(header or [""] * len(rows[0])):
        letter = justify[min(j, len(justify) - 1)]
        table.add_column(
            _text(name, "dim"),
            justify="left" if letter == "l" else "right",
            overflow="fold",
            no_wrap=letter == "n",
        )
    for row in rows:
        table.add_row(*map(_text, row))
    return table


def facts(*pairs):
    """Names and facts about them, where there are any."""
    return grid([[_text(name, "bold"), fact] for name, fact in pairs if fact])


def _cluster(cluster):
    return Text(str(cluster), f"bold {cluster_color(cluster)}")


def sizes(counts, typical=()):
    """A bar for the size of each cluster, and what is typical of it."""
    rows, longest = [], BAR // 2 if typical else BAR
    for cluster, count in enumerate(counts):
        bar = Text("━" * max(round(longest * count / max(counts)), 1), cluster_color(cluster))
        share = Text(in_percent(count / sum(counts)), "dim")
        rows.append([_cluster(cluster), bar, f"{count:,}", share, *typical[cluster : cluster + 1]])
    return grid(rows, justify="nlnnl")


def crossed(name, values, counts):
    """How many rows of each value of a column are in each cluster, the most of each in bold."""
    rows = []
    for value, of_value in zip(values, counts, strict=True):
        most = of_value.max()
        cells = [Text(f"{count:,}", "bold" if count == most else "") for count in of_value]
        rows.append([value, *cells])
    clusters = [_cluster(cluster) for cluster in range(counts.shape[1])]
    return grid(rows, [name, *clusters], "ln")


def explained(estimator, card, top):
    """The weights of each boundary of a linear model, if they are few; otherwise the means."""
    if not 1 <= len(getattr(estimator, "coef_", ())) <= MOST_BOUNDARIES:
        return means(card, top)
    boundaries = zip(estimator.coef_, estimator.boundary_sides_, strict=True)
    deviation = np.array(card["deviation"])  # so that features in different units can be compared
    return [_weights(coef * deviation, card["features"], code, top) for coef, code in boundaries]


def _weights(values, names, code, top):
    """The largest weights, as bars towards the clusters that they speak for."""
    sides = [np.flatnonzero(code == side) for side in (-1, 1)]
    colors = [cluster_color(side[0]) if len(side) == 1 else "none" for side in sides]
    ends = [f"cluster{'s' * (len(side) > 1)} {', '.join(map(str, side))}" for side in sides]
    half = BAR // 2

    def line(left, right):
        return Text.assemble((left.rjust(half), colors[0]), ("│", "dim"), (right, colors[1]))

    heads = zip_longest(*(wrap(end, half - 1) for end in ends), fillvalue="")
    rows = [[line(f"{left} ", f" {right}"), "", ""] for left, right in heads]
    for j in np.argsort(-abs(values), kind="stable")[:top]:
        bar = "━" * round(half * abs(values[j]) / (abs(values).max() or 1))
        pair = ("", bar) if values[j] > 0 else (bar, "")
        rows.append([line(*pair), names[j], f"{values[j]:+.2f}"])
    return grid(rows, justify="lln")


def means(card, top):
    """The features that differ most between clusters, with their means, the largest in bold.

    Clusters that find no room side by side are shown below each other.
    """
    rows = []
    for j in np.argsort(-np.array(card["share"]), kind="stable")[:top]:
        values = [of_cluster[j] for of_cluster in card["means"]]
        form = in_percent if card["shares"][j] else in_digits
        cells = [Text(form(value), "bold" if value == max(values) else "") for value in values]
        rows.append([card["features"][j], cells, Text(in_percent(card["share"][j]), "dim")])
    clusters = [_cluster(cluster) for cluster in range(len(card["means"]))]
    width, left, right = _console().width, "mean of", "explained"
    for_names = min(max(len(left), *(len(name) for name, _, _ in rows)), width // 2)
    widest = max(len(cell) for _, cells, _ in rows for cell in (*cells, *clusters))
    step = max((width - for_names - len(right) - 4) // (widest + 2), 1)
    shown = []
    for part in (slice(first, first + step) for first in range(0, len(clusters), step)):
        cells_of = [[name, *cells[part], share] for name, cells, share in rows]
        shown.append(grid(cells_of, [left, *clusters[part], right], "ln"))
    return shown


def compared(comparison):
    """The methods of a comparison, the most votes first, and what they remarked."""
    families = np.array(comparison.families)
    is_other = families[:, None] != families
    agrees = (comparison.agreement * is_other).sum(axis=1) / np.maximum(is_other.sum(axis=1), 1)
    rows, notes = [], []
    for i in comparison.order:
        counts = np.sort(np.bincount(comparison.labels[i]))[::-1]
        shares = " ".join(f"{100 * count / counts.sum():.0f}" for count in counts)
        numbers = [f"{comparison.votes[i]:.2f}", f"{agrees[i]:.2f}", shares]
        rows.append([comparison.names[i], *numbers, f"{comparison.seconds[i]:.1f} s"])
        notes.append((comparison.names[i], comparison.notes[i]))
    shown = [grid(rows, ["method", "vote", "agrees", "sizes %", "time"], "lnnrn")]
    return shown + [facts(*notes)] if any(note for _, note in notes) else shown
