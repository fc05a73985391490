"""Write docs/images/scaling.png: the measured curves of the page on scaling.

They come from benchmarks/results/speed/scaling.json, which benchmarks/speed/scaling.py writes. The
picture holds their checksum, by which a test knows whether it is up to date.
"""

import hashlib
import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "benchmarks" / "results" / "speed" / "scaling.json"
IMAGE = HERE / "images" / "scaling.png"
MARK = "Source"  # of the checksum, in the picture
AXES = {"n_samples": "samples", "n_features": "features", "n_clusters": "clusters"}


def checksum(report):
    """Of all that the picture shows."""
    shown = [report["names"], [[point["case"], point["seconds"]] for point in report["points"]]]
    return hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()


def curve(points, axis, usual, name):
    """Values of an axis and seconds, where all other axes are as usual."""
    others = [other for other in AXES if other != axis]
    along = [
        (point["case"][axis], point["seconds"][name])
        for point in points
        if all(point["case"][other] == usual[other] for other in others)
    ]
    return list(zip(*sorted(along), strict=True))


def usual_of(points):
    """The value of each axis that most points have."""
    values = {axis: [point["case"][axis] for point in points] for axis in AXES}
    return {axis: max(set(found), key=found.count) for axis, found in values.items()}


def main(results=RESULTS, image=IMAGE):
    report = json.loads(Path(results).read_text(encoding="utf-8"))
    points, usual = report["points"], usual_of(report["points"])
    figure, panels = plt.subplots(1, 3, figsize=(9, 3.4), sharey=True, layout="constrained")
    for panel, (axis, words) in zip(panels, AXES.items(), strict=True):
        for name in report["names"]:
            style = "k--" if name == "KMeans" else "o-"
            panel.loglog(*curve(points, axis, usual, name), style, label=name, markersize=4)
        fixed = ", ".join(f"{usual[other]:,} {AXES[other]}" for other in AXES if other != axis)
        panel.set(xlabel=words, title=fixed)
        panel.title.set_fontsize(9)
        values = curve(points, axis, usual, "KMeans")[0]
        panel.set_xticks(values, [f"{value:,}" for value in values])
        panel.minorticks_off()
    panels[0].set_ylabel("processor seconds")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    figure.savefig(image, dpi=150, metadata={MARK: checksum(report)})


if __name__ == "__main__":
    main()
