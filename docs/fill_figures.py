"""Write the figures of README and docs from the JSON files that benchmarks leave.

    python docs/fill_figures.py

A figure stands between marks that name its file in benchmarks/results, its keys and its format;
"over" divides two of them, and an underscore may stand for a blank in a key. In a table the bar
needs a backslash, or it would divide the cell:

    <!-- figure: speed/harness cells KMeans 1000/2 seconds | .2f -->0.03<!-- /figure -->

A table stands between marks that name the function that writes it, and what it is about:

    <!-- table: speed KernelKMeans LDAKMeans -->
    <!-- /table -->
"""

import json
import re
from functools import cache, reduce
from pathlib import Path
from statistics import fmean, median

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "benchmarks" / "results"
# The pages of the papers, of the parameters and of other libraries have scripts of their own.
WRITTEN_BY_OTHERS = {
    "api",
    "auto_examples",
    "compared.md",
    "extending",
    "papers",
    "parameters.md",
}
FIGURE = re.compile(r"(<!-- figure: (.*?) \\?\| (\S+) -->)(.*?)(<!-- /figure -->)", re.DOTALL)
TABLE = re.compile(r"(<!-- table: (\S+) (.*?) -->\n)(.*?)(<!-- /table -->)", re.DOTALL)


def pages():
    """README, CONTRIBUTING and the pages whose text is written by hand."""
    found = [
        HERE.parent / "README.md",
        HERE.parent / "CONTRIBUTING.md",
        *sorted(HERE.rglob("*.md")),
    ]
    return [
        page
        for page in found
        if page.parent == HERE.parent or page.relative_to(HERE).parts[0] not in WRITTEN_BY_OTHERS
    ]


@cache
def results(name):
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def value(words):
    """The figure that a mark names."""
    if " over " in words:
        above, below = words.split(" over ")
        return value(above) / value(below)
    name, *keys = words.split()
    return reduce(
        lambda part, key: part[key if key in part else key.replace("_", " ")], keys, results(name)
    )


# --- tables -------------------------------------------------------------------------------------


def speed(names):
    """Seconds and memory of clusterers beside KMeans, by the numbers of samples and clusters."""
    found = results("speed/harness")
    cells = {
        name: {cell: one for cell, one in mine.items() if cell.endswith(("/2", "/10"))}
        for name, mine in found["cells"].items()
    }
    shown = [name for name in ["KMeans", *names.split()] if cells.get(name)]
    sizes = sorted(
        {cell for name in shown for cell in cells[name]},
        key=lambda cell: [int(number) for number in cell.split("/")],
    )
    lines = [
        "| n, k | " + " | ".join(f"`{name}`" for name in shown) + " |",
        "|---|" + "---|" * len(shown),
    ]
    for cell in sizes:
        n_samples, n_clusters = map(int, cell.split("/"))
        row = [spent(cells[name].get(cell)) for name in shown]
        lines.append(f"| {n_samples:,}, {n_clusters} | " + " | ".join(row) + " |")
    return "\n".join([*lines, *busy(cells, shown, found["conditions"]["cores"])]) + "\n"


def busy(cells, shown, cores):
    """A word on other work of the machine, if it had any."""
    load = median(one["load"] for name in shown for one in cells[name].values())
    if load > cores:
        yield f"\nThe machine was also busy with other work (load {load:.0f} on {cores} cores)."


def spent(cell):
    """Seconds and memory of a cell, in words."""
    if cell is None:
        return "–"
    if "failed" in cell:
        reason = cell["failed"]
        words = {"not tried": "not tried", "ValueError": "refused"}
        return words.get(reason.split(":")[0], reason)
    seconds = f"{cell['seconds']:.2g}" if cell["seconds"] < 100 else f"{cell['seconds']:.0f}"
    return f"{seconds} s, {cell['megabytes']:.0f} MB"


def all_speeds(n_clusters):
    """Seconds, memory and growth of all clusterers and peers, by the number of samples."""
    found = results("speed/harness")
    measured = [
        size
        for size in found["sizes"]
        if any(f"{size}/{n_clusters}" in cells for cells in found["cells"].values())
    ]
    heads = ["", *(f"n = {size:,}" for size in measured), "power of n"]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for name in clusterers(found):
        cells = found["cells"].get(name, {})
        power = found["exponents"].get(name, {}).get(n_clusters)
        row = [spent(cells.get(f"{size}/{n_clusters}")) for size in measured]
        row.append("–" if power is None else f"{power:.2f}")
        lines.append(f"| `{name}` | " + " | ".join(row) + " |")
    of_these = {
        name: {cell: one for cell, one in cells.items() if cell.endswith(f"/{n_clusters}")}
        for name, cells in found["cells"].items()
    }
    return "\n".join([*lines, *busy(of_these, of_these, found["conditions"]["cores"])]) + "\n"


def clusterers(found):
    """Names of the peers and of the clusterers, kind by kind."""
    return [*found["peers"], *(name for kind in found["kinds"].values() for name in kind)]


def sizes_measured(case):
    """How many clusterers were measured, or failed, by the numbers of samples and clusters."""
    found = results("speed/harness")
    everyone = clusterers(found)
    lines = [
        "| samples | clusters | clusterers measured | too slow or too large |",
        "|---" * 4 + "|",
    ]
    for size in found["sizes"]:
        for n_clusters in case.split():
            cell = f"{size}/{n_clusters}"
            tried = [found["cells"].get(name, {}).get(cell) for name in everyone]
            failed = sum("failed" in one for one in tried if one)
            done = sum(one is not None for one in tried) - failed
            lines.append(f"| {size:,} | {n_clusters} | {done} of {len(everyone)} | {failed} |")
    return "\n".join(lines) + "\n"


def outliers(kind):
    """Means over sets with noise: what is called outliers, and the clusters of the rest."""
    found = results("outliers/noise")
    sets = found["sets"].values()
    lines = [
        "| | precision | recall | ARI of the rest | without `outliers` | lowered by over .01 | "
        "by more than chance |",
        "|---|---|---|---|---|---|---|",
    ]
    names = ("precision", "recall", "ari", "without")
    for method in found["clean"]:
        cells = [one[method][kind] for one in sets]
        lowered = sum(cell["ari"] < cell["without"] - 0.01 for cell in cells)
        clearly = sum(clearly_lowered(cell) for cell in cells)
        row = [f"{fmean(cell[name] for cell in cells):.2f}" for name in names]
        lines.append(f"| `{method}` | {' | '.join(row)} | {lowered} of {len(cells)} | {clearly} |")
    for peer in next(iter(sets))["peers"]:
        cells, least = [one["peers"][peer] for one in sets], peer.split()[1]
        row = [
            f"{fmean(cell[name] for cell in cells):.2f}" for name in ("precision", "recall", "ari")
        ]
        lines.append(f"| HDBSCAN, `min_cluster_size={least}` | {' | '.join(row)} | – | – | – |")
    return "\n".join(lines) + "\n"


def clearly_lowered(cell):
    """Whether outliers lower the ARI by over .01 and two standard errors over draws."""
    return cell["ari"] - cell["without"] + 2 * cell["error"] < -0.01


def lowered(kind):
    """Methods and sets whose clusters are worse without outliers, and without just the noise."""
    lines = [
        "| | all samples | without outliers | change | all samples | without the noise |",
        "|---|---|---|---|---|---|",
    ]
    for name, of_set in results("outliers/noise")["sets"].items():
        for method, one in of_set.items():
            if method == "peers" or one[kind]["ari"] >= one[kind]["without"] - 0.01:
                continue
            before, after, hand = one[kind]["without"], one[kind]["ari"], one["by hand"]
            row = f"{before:.2f} | {after:.2f} | {after - before:+.3f} ± {one[kind]['error']:.3f}"
            row += f" | {hand['without']:.2f} | {hand['ari']:.2f}"
            lines.append(f"| `{method}`, `{name}` | {row} |")
    return "\n".join(lines) + "\n"


def false_alarms(_):
    """Shares of clean samples that are called outliers."""
    lines = ["| | Gaussian clusters | evenly spread ones |", "|---|---|---|"]
    for method, one in results("outliers/noise")["clean"].items():
        lines.append(f"| `{method}` | {one['gaussian']:.2%} | {one['uniform']:.2%} |")
    return "\n".join(lines) + "\n"


def known_labels(_):
    """Means of the ARI of the other samples, and on how many sets known labels change it.

    And on how many they lower it by more than two standard errors of the gain.
    """
    found = dict(results("teaching/known_labels"))
    lines = [
        "| | without | with | raised on | lowered by over .01 on | by more than chance |",
        "|---|---|---|---|---|---|",
    ]
    of_peers = found.pop("classifiers")["sets"].values()
    for method, one in sorted(found.items()):
        rows = list(one["sets"].values())
        gains = [row[1] - row[0] for row in rows]
        raised, lowered = sum(gain > 0 for gain in gains), sum(gain < -0.01 for gain in gains)
        # older results have no standard errors
        clearly = sum(row[1] - row[0] + 2 * row[2] < -0.01 for row in rows if len(row) > 2)
        clearly = clearly if all(len(row) > 2 for row in rows) else "–"
        means = " | ".join(f"{fmean(row[at] for row in rows):.3f}" for at in (0, 1))
        counts = f"{raised} of {len(gains)} sets | {lowered} | {clearly}"
        lines.append(f"| `{method}`, {one['draws']} draws | {means} | {counts} |")
    names = ("`LabelSpreading`", "`SelfTrainingClassifier`")
    for name, column in zip(names, zip(*of_peers, strict=True), strict=True):
        lines.append(f"| {name} | – | {fmean(column):.3f} | – | – | – |")
    return "\n".join(lines) + "\n"


def probabilities(_):
    """Expected calibration errors for a refit, before and after `calibrate`."""
    found = results("probabilities/refits")
    sets = ("digits", "satimage", "letter")
    lines = ["| | " + " | ".join(sets) + " |", "|---" * (len(sets) + 1) + "|"]
    for method, one in sorted(found.items()):
        cells = []
        for name in sets:
            if name not in one:
                cells.append("–")
                continue
            before = f"{one[name]['refit_error']:.3f}"
            after = one[name].get("calibrated_error")
            cells.append(before if after is None else f"{before} → {after:.3f}")
        of_what = "; ".join(sorted({draws_of_rows(cell) for cell in one.values()}))
        lines.append(f"| `{method}`, {of_what} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def draws_of_rows(cell):
    """From how many draws a figure comes, and of how many rows if not of all."""
    draws = f"{cell['draws']} draws"
    return draws if cell["rows"] is None else f"{draws} of {cell['rows']:,} rows"


def estimates(_):
    """Bytes and times of fits that nobody measured, under the assumptions that the page states."""
    n_features, n_passes, bytes_per_second, n_workers = 20, 10, 0.5e9, 100
    heads = [
        f"rows, {n_features} features, float32",
        "bytes",
        f"{n_passes} passes from one disk",
        f"on {n_workers} workers",
        "labels",
    ]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for power in (8, 9, 10):
        n_bytes = 4 * n_features * 10**power
        seconds = n_passes * n_bytes / bytes_per_second
        shared = f"{duration(seconds / n_workers)} and what dask adds"
        row = [f"{n_bytes / 1e9:.0f} GB", duration(seconds), shared, f"{4 * 10**power / 1e9:g} GB"]
        lines.append(f"| 1e{power} | " + " | ".join(row) + " |")
    return "\n".join(lines) + "\n"


def landmarks(_):
    """Indices of clusters by landmarks, beside those by drawn rows and in memory."""
    found = results("choices/landmarks")
    words = {
        "chosen": "on which the rules were chosen",
        "confirmed": "on which they were confirmed",
        "small": "with 100 clusters of 100 rows each beside ten large ones",
    }
    lines = ["| sets | method | 5,000 rows | landmarks | in memory |", "|---" * 5 + "|"]
    for part, which in words.items():
        for method, name in METHODS_ON_GRAPHS.items():
            one = found[part][method]
            figures = " | ".join(f"{one[key]:.3f}" for key in ("drawn", "landmarks", "memory"))
            lines.append(f"| {found[part]['sets']} {which} | `{name}` | {figures} |")
    return "\n".join(lines) + "\n"


METHODS_ON_GRAPHS = {
    "volume": "MaximumVolumeClustering",
    "information": "SquaredLossMutualInformationClustering",
}


def duration(seconds):
    """Seconds in the largest unit of which there are two or more, to two digits."""
    units = {"hours": 3600, "minutes": 60, "seconds": 1}
    name, unit = next((item for item in units.items() if seconds >= 2 * item[1]), ("seconds", 1))
    return f"{seconds / unit:.2g} {name}"


HALVES = {"development": ["development"], "confirmation": ["confirmation", "third"]}


def levels(_):
    """What each level of the test for structure makes of tables without clusters and of sets."""
    found = results("trust/trust")
    of_half = {half: found[half]["levels"] for half in HALVES if half in found}
    columns = {
        **{f"none, {half} tables": (half, "none") for half in of_half},
        **{f"right, {part}": (half, part) for half in of_half for part in HALVES[half]},
        **{f"missed, {half}": (half, "found but none") for half in of_half},
    }
    lines = ["| p below | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for level in found["development"]["levels"]:
        row = [f"{of_half[half][level][what]:.0%}" for half, what in columns.values()]
        shown = "without the test" if float(level) == 1 else level
        mark = "**" if float(level) == found["development"]["level"] else ""
        lines.append("| " + " | ".join(f"{mark}{cell}{mark}" for cell in [shown, *row]) + " |")
    return "\n".join(lines) + "\n"


# Shares, in the words of a page, and of how many tables or sets they are.
FOUND_SETS = "labelled: sets with ARI above .8"
VISIBLE_SETS = "labelled: sets that a candidate finds with ARI above .5"
TRUSTED_FIGURES = {
    "nulls: strong, n_clusters=None": ("tables without clusters called strong", "n_nulls"),
    "nulls: strong or moderate, n_clusters=None": ("called strong or moderate", "n_nulls"),
    "nulls: strong, n_clusters=2": ("called strong, two clusters asked for", "n_nulls"),
    "nulls: strong or moderate, n_clusters=2": (
        "called strong or moderate, two clusters asked for",
        "n_nulls",
    ),
    "nulls: no clusters, n_clusters=None": ("said to have no clusters", "n_nulls"),
    "labelled: of these strong or moderate": (
        "strong or moderate, of sets with ARI above .8",
        FOUND_SETS,
    ),
    "labelled: of these no clusters, n_clusters=None": (
        "no clusters, of sets that a candidate finds with ARI above .5",
        VISIBLE_SETS,
    ),
}


def words(_):
    """What the words of AutoClustering are worth on labelled sets and without clusters."""
    found = results("trust/trust")
    halves = [found[half] for half in HALVES if half in found]
    columns = {**{half: [found[half]] for half in HALVES if half in found}, "both": halves}
    lines = ["| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for word in ("strong", "moderate", "weak", "unsure", "none"):
        sets, mean = f"labelled: sets called {word}", f"labelled: mean ARI where {word}"
        cells = [
            f"{mean_over(of_column, mean, sets):.3f} ({n_sets} sets)"
            if (n_sets := sum(half[sets] for half in of_column))
            else "–"
            for of_column in columns.values()
        ]
        lines.append(f"| mean ARI where {word} | {' | '.join(cells)} |")
    for key, (text, counted) in TRUSTED_FIGURES.items():
        shares = [f"{mean_over(of_column, key, counted):.1%}" for of_column in columns.values()]
        lines.append(f"| {text} | {' | '.join(shares)} |")
    return "\n".join(lines) + "\n"


def mean_over(halves, key, counted):
    """A mean over the tables or sets of some halves, from the means of each."""
    counts = [half[counted] for half in halves]
    means = [half[key] for half in halves]
    return sum(n * mean for n, mean in zip(counts, means, strict=True) if n) / sum(counts)


TABLES = {
    "all_speeds": all_speeds,
    "estimates": estimates,
    "false_alarms": false_alarms,
    "known_labels": known_labels,
    "landmarks": landmarks,
    "levels": levels,
    "lowered": lowered,
    "outliers": outliers,
    "probabilities": probabilities,
    "sizes_measured": sizes_measured,
    "speed": speed,
    "words": words,
}


def filled(text):
    """The text of a page with the figures that its marks name."""
    text = FIGURE.sub(lambda m: f"{m[1]}{value(m[2]):{m[3]}}{m[5]}", text)
    return TABLE.sub(lambda m: f"{m[1]}\n{TABLES[m[2]](m[3])}\n{m[5]}", text)


if __name__ == "__main__":
    for page in pages():
        before = page.read_text(encoding="utf-8")
        if (after := filled(before)) != before:
            page.write_text(after, encoding="utf-8")
            print(f"figures of {page.name} written")
