"""Write docs/images/speed_*.png: seconds and memory by the number of samples, on logarithmic axes.

    python docs/draw_speed.py

They come from benchmarks/results/speed/harness.json, which benchmarks/speed/harness.py writes. A
picture holds the checksum of what it shows, by which a test knows whether it is up to date.
"""

import hashlib
import json
from pathlib import Path

from matplotlib.figure import Figure

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "benchmarks" / "results" / "speed" / "harness.json"
IMAGES = HERE / "images"
QUANTITIES = {
    "seconds": ("seconds of the processor", "speed_time.png"),
    "megabytes": ("megabytes beyond the data", "speed_memory.png"),
}
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00")
PEER_STYLES = ("-s", "--^", ":v", "-.x")
LEAST = 0.001  # drawn for less, such as no memory at all, which has no logarithm
MARK = "Source"  # of the checksum, in a picture


def checksum(results, quantity):
    """Of all that a picture shows."""
    shown = {
        name: {cell: found.get(quantity) for cell, found in cells.items()}
        for name, cells in results["cells"].items()
    }
    asked = {key: results[key] for key in ("sizes", "clusters", "peers", "kinds")}
    return hashlib.sha256(json.dumps([asked, shown], sort_keys=True).encode()).hexdigest()


def draw(results, quantity, label, path):
    """A panel for each kind of method and number of clusters, with the peers in grey in all."""
    kinds, numbers = results["kinds"], results["clusters"]
    figure = Figure(figsize=(9, 3.1 * len(kinds)), layout="constrained")
    panels = figure.subplots(len(kinds), len(numbers), sharex=True, sharey=True, squeeze=False)
    for row, (kind, members) in zip(panels, kinds.items(), strict=True):
        for panel, n_clusters in zip(row, numbers, strict=True):
            for name, style in zip(results["peers"], PEER_STYLES, strict=True):
                points = curve(results, quantity, name, n_clusters)
                panel.plot(*points, style, label=name, color="0.6", ms=4)
            for name, color in zip(members, COLORS, strict=False):
                points = curve(results, quantity, name, n_clusters)
                panel.plot(*points, "-o", label=name, color=color, ms=4)
            panel.set_title(f"{kind}, {n_clusters} clusters", fontsize=10)
            panel.grid(alpha=0.25)
        row[-1].legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    sizes = results["sizes"]
    panels[0, 0].set(xscale="log", yscale="log", xlim=(sizes[0] / 1.6, sizes[-1] * 1.6))
    figure.supxlabel("samples")
    figure.supylabel(label)
    figure.savefig(path, dpi=110, metadata={MARK: checksum(results, quantity)})


def curve(results, quantity, name, n_clusters):
    """Numbers of samples and what was measured there; both empty where nothing was."""
    cells = results["cells"].get(name, {})
    found = {
        size: cells.get(f"{size}/{n_clusters}", {}).get(quantity) for size in results["sizes"]
    }
    measured = {size: max(value, LEAST) for size, value in found.items() if value is not None}
    return list(measured), list(measured.values())


def main(results=RESULTS, folder=IMAGES):
    found = json.loads(Path(results).read_text(encoding="utf-8"))
    for quantity, (label, name) in QUANTITIES.items():
        draw(found, quantity, label, Path(folder) / name)


if __name__ == "__main__":
    main()
