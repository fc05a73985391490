"""Processor time of clusterers at their defaults by samples, features and clusters.

    python benchmarks/speed/scaling.py --only MaximinSeparationClustering --most 1000000

One process and one thread; KMeans(n_init=10) stands beside each. The results are kept, and
docs/draw_scaling.py draws the curves of the page on scaling from them.
"""

import argparse
import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from harness import estimator_of, overlapping_blobs

from output import heading

RESULTS = Path(__file__).resolve().parents[1] / "results" / "speed"
NAMES = ("MaximinSeparationClustering", "MaximumMarginClustering", "KernelKMeans")
SAMPLES, FEATURES, CLUSTERS = (1_000, 10_000, 100_000, 1_000_000), (2, 10, 50), (2, 10, 30)
# What is the same on a curve, unless it is what the curve is about.
N_SAMPLES, N_FEATURES, N_CLUSTERS = 10_000, 10, 2


def cases(most):
    """The points of all curves, as keyword arguments of the data, by what varies."""
    usual = {"n_samples": N_SAMPLES, "n_features": N_FEATURES, "n_clusters": N_CLUSTERS}
    ranges = {
        "n_samples": [n for n in SAMPLES if n <= most],
        "n_features": FEATURES,
        "n_clusters": CLUSTERS,
    }
    return [{**usual, name: value} for name, values in ranges.items() for value in values]


def seconds_of(name, case):
    """Processor seconds of a fit, the better of two where it is short."""
    X, _ = overlapping_blobs(**case)
    spent = []
    while len(spent) < 2 and sum(spent) < 1.0:
        model = estimator_of(name, case["n_clusters"])
        begin = time.process_time()
        model.fit(X)
        spent.append(time.process_time() - begin)
    return min(spent)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=list(NAMES), metavar="NAME")
    parser.add_argument("--most", type=int, default=SAMPLES[-1], help="most samples")
    parser.add_argument("--output", default="scaling.json", help="file in results/speed")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    names = ["KMeans", *args.only]
    for name in names:  # what is compiled, is compiled here
        estimator_of(name, 3).fit(overlapping_blobs(200, 5, 3)[0])
    with threadpool_limits(1):
        measure(names, args.most, args.output)


def measure(names, most, output):
    """Print and keep what fits take."""
    measured = {}
    heading("processor seconds")
    for case in cases(most):
        key = " ".join(f"{name}={value}" for name, value in case.items())
        if key in measured:
            continue
        measured[key] = {"case": case, "seconds": {n: seconds_of(n, case) for n in names}}
        told = "".join(f"  {n} {s:.3f}" for n, s in measured[key]["seconds"].items())
        print(f"{key}:{told}", flush=True)
        RESULTS.mkdir(parents=True, exist_ok=True)
        report = {"names": names, "points": list(measured.values())}
        (RESULTS / output).write_text(json.dumps(report, indent=1))
    growth = slopes(list(measured.values()), names)
    print("growth with samples:", {name: round(slope, 2) for name, slope in growth.items()})


def slopes(points, names):
    """Seconds as a power of samples, from the largest sizes measured."""
    along = [p for p in points if p["case"]["n_features"] == N_FEATURES]
    along = [p for p in along if p["case"]["n_clusters"] == N_CLUSTERS]
    along = sorted(along, key=lambda point: point["case"]["n_samples"])[-2:]
    if len(along) < 2:
        return {}
    n = np.log([point["case"]["n_samples"] for point in along])
    seconds = {name: np.log([point["seconds"][name] for point in along]) for name in names}
    return {name: float(np.diff(found)[0] / np.diff(n)[0]) for name, found in seconds.items()}


if __name__ == "__main__":
    main()
