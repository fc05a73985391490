"""What the terminal shows."""

import sys
from contextlib import contextmanager

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table
from rich.text import Text

from separatrix.plots.colors import cluster_color

__all__ = ["compared", "explained", "facts", "grid", "means", "progress", "show", "sizes"]

BAR = 28


def show(*screens, stderr=False):
    """Print screens, with a blank line before each, on a standard stream."""
    console = Console(stderr=stderr, highlight=False)
    for screen in screens:
        console.print("", screen)


@contextmanager
def progress(n_steps):
    """Bar on standard error, none where that is no terminal; call it with each step's name.

    A call may correct the number of steps.
    """
    bar = BarColumn(BAR, complete_style=cluster_color(0), finished_style=cluster_color(0))
    shown = SpinnerColumn(style="dim"), bar, TextColumn("{task.description}")
    quiet = not sys.stderr.isatty()
    with Progress(*shown, console=Console(stderr=True), transient=True, disable=quiet) as steps:
        task = steps.add_task("", total=n_steps, completed=-1)
        yield lambda step, total=n_steps: steps.update(
            task, description=step, total=total, advance=1
        )


def grid(rows, header=(), justify="l"):
    """Cells in columns, flush left or right as the letters of `justify` say; the last repeats."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=bool(header), header_style="none")
    for j, name in enumerate(header or [""] * len(rows[0])):
        title = name if isinstance(name, Text) else Text(name, "dim")
        right = justify[min(j, len(justify) - 1)] == "r"
        table.add_column(title, justify="right" if right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(str(cell)) for cell in row))
    return table


def facts(*pairs):
    """Names with what there is to say of them, where there is something."""
    return grid([[Text(name, "bold"), fact] for name, fact in pairs if fact])


def _cluster(cluster):
    return Text(str(cluster), f"bold {cluster_color(cluster)}")


def _percent(share):
    return f"{100 * share:.0f} %"


def _number(value):
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def sizes(counts):
    """A bar for the size of each cluster."""
    rows = []
    for cluster, count in enumerate(counts):
        bar = Text("━" * max(round(BAR * count / max(counts)), 1), cluster_color(cluster))
        share = Text(_percent(count / sum(counts)), "dim")
        rows.append([_cluster(cluster), bar, f"{count:,}", share])
    return grid(rows, justify="rlr")


def explained(estimator, card, top):
    """The weights of each boundary of a linear model; of another model, the means."""
    if not len(getattr(estimator, "coef_", ())):
        return [means(card, top)]
    boundaries = zip(estimator.coef_, estimator._boundaries.code, strict=True)
    deviation = np.array(card["deviation"])  # so that features of different units compare
    return [_weights(coef * deviation, card["features"], code, top) for coef, code in boundaries]


def _weights(values, names, code, top):
    """The largest weights, as bars to the side of the clusters that they draw to."""
    sides = [np.flatnonzero(code == side) for side in (-1, 1)]
    colors = [cluster_color(side[0]) if len(side) == 1 else "none" for side in sides]
    ends = ["cluster " + ", ".join(map(str, side)) for side in sides]
    half = max(BAR // 2, len(ends[0]) + 1)

    def line(left, right):
        return Text.assemble((left.rjust(half), colors[0]), ("│", "dim"), (right, colors[1]))

    rows = [[line(f"{ends[0]} ", f" {ends[1]}"), "", ""]]
    for j in np.argsort(-abs(values), kind="stable")[:top]:
        bar = "━" * round(half * abs(values[j]) / (abs(values).max() or 1))
        pair = ("", bar) if values[j] > 0 else (bar, "")
        rows.append([line(*pair), names[j], f"{values[j]:+.2f}"])
    return grid(rows, justify="llr")


def means(card, top):
    """The features that differ most between clusters, with their means, the largest in bold."""
    rows = []
    n_numbers = sum(categories is None for categories in card["columns"].values())
    for j in np.argsort(-np.array(card["share"]), kind="stable")[:top]:
        values = [of_cluster[j] for of_cluster in card["means"]]
        form = _number if j < n_numbers else _percent
        cells = [Text(form(value), "bold" if value == max(values) else "") for value in values]
        rows.append([card["features"][j], *cells, Text(_percent(card["share"][j]), "dim")])
    clusters = [_cluster(cluster) for cluster in range(len(card["means"]))]
    return grid(rows, ["mean of", *clusters, "explained"], justify="lr")


def compared(comparison):
    """The methods of a comparison, the best rank first, and what they remarked."""
    families = np.array(comparison.families)
    is_other = families[:, None] != families
    agrees = (comparison.agreement * is_other).sum(axis=1) / np.maximum(is_other.sum(axis=1), 1)
    rows, notes = [], []
    for i in np.argsort(-comparison.ranks, kind="stable"):
        counts = np.sort(np.bincount(comparison.labels[i]))[::-1]
        shares = " ".join(f"{100 * count / counts.sum():.0f}" for count in counts)
        numbers = [f"{comparison.ranks[i]:.2f}", f"{agrees[i]:.2f}", shares]
        rows.append([comparison.names[i], *numbers, f"{comparison.seconds[i]:.1f} s"])
        notes.append((comparison.names[i], comparison.notes[i]))
    shown = [grid(rows, ["method", "rank", "agrees", "sizes %", "time"], "lr")]
    return shown + [facts(*notes)] if any(note for _, note in notes) else shown
