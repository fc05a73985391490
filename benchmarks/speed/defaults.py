"""Processor time of every clusterer at its defaults, as multiples of scikit-learn's.

    python benchmarks/speed/defaults.py --only MaximumMarginClustering --sizes 10000 100000

The yardstick is KMeans(n_init=10) on the same data in the same run, for clusterers on graphs
SpectralClustering on neighbours too. Every fit has a process of its own with one thread, and is
warm: a small fit went before it. What that first one costs where nothing is compiled yet is
measured apart. Clusterers by semidefinite programs are left out.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.metrics import adjusted_rand_score

import separatrix

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from output import heading

# What the project promises.
RATIO_LIMIT, GRAPH_RATIO_LIMIT, EXPONENT_LIMIT, MANY_SECONDS, MANY_ARI, FIRST_SECONDS = (
    5,
    1,
    1.15,
    5,
    0.02,
    3,
)
RESULTS = Path(__file__).resolve().parents[1] / "results" / "speed"
SIZES = (10_000, 100_000)
N_FEATURES = 50
CLUSTERS = (2, 10)
MANY_SAMPLES, MANY_CLUSTERS = 10_000, 100
WARM_SAMPLES = 300
# Repeats of a fit, of which the median counts, while they take less than this altogether.
REPEATS, REPEAT_SECONDS = 5, 2.0
SEMIDEFINITE = {"SemidefiniteMarginClustering", "GeneralizedMarginClustering"}
ON_GRAPHS = {
    "HardMaximumVolumeClustering",
    "MaximumVolumeClustering",
    "SquaredLossMutualInformationClustering",
}
YARDSTICKS = {
    "KMeans": lambda k: KMeans(k, n_init=10, random_state=0),
    "SpectralClustering": lambda k: SpectralClustering(
        k, affinity="nearest_neighbors", random_state=0
    ),
}
# Beyond so many samples the eigenvectors of its graph take too long.
MOST_SPECTRAL = 100_000
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


def clusterers():
    """Names of the clusterers that are measured."""
    named = (name for name, public in separatrix._REGISTRY.items() if public.short_name)
    return [name for name in named if name not in SEMIDEFINITE]


def estimator_of(name, n_clusters):
    make = YARDSTICKS[name] if name in YARDSTICKS else getattr(separatrix, name)
    return make(n_clusters)


# --- the data -----------------------------------------------------------------------------------


def overlapping_blobs(n_samples, n_features, n_clusters, seed=0):
    """Round clusters of unit variance whose centres are typically four apart, with classes."""
    rng = np.random.default_rng(seed)
    centers = 4 / np.sqrt(2 * n_features) * rng.standard_normal((n_clusters, n_features))
    y = rng.integers(0, n_clusters, n_samples)
    return centers[y] + rng.standard_normal((n_samples, n_features)), y


def blobs_in_the_plane(n_samples, n_clusters, seed=0):
    """Round clusters of unit variance in a square, some of which overlap."""
    rng = np.random.default_rng(seed)
    centers = rng.uniform(0, 6 * np.sqrt(n_clusters), (n_clusters, 2))
    y = rng.integers(0, n_clusters, n_samples)
    return centers[y] + rng.standard_normal((n_samples, 2)), y


def samples_of(case):
    if case["n_features"] == 2:
        return blobs_in_the_plane(case["n_samples"], case["n_clusters"])
    return overlapping_blobs(case["n_samples"], case["n_features"], case["n_clusters"])


# --- one fit, in a process of its own -----------------------------------------------------------


def measured(name, case):
    """Processor seconds of a fit after a small one, those of the small one, and the ARI."""
    warnings.simplefilter("ignore")
    begin = time.process_time()
    estimator_of(name, 2).fit(overlapping_blobs(WARM_SAMPLES, 5, 2)[0])
    first = time.process_time() - begin
    if case is None:
        return {"seconds": first}
    X, y = samples_of(case)
    spent: list[float] = []
    while len(spent) < REPEATS and sum(spent) < REPEAT_SECONDS:
        model = estimator_of(name, case["n_clusters"])
        begin = time.process_time()
        model.fit(X)
        spent.append(time.process_time() - begin)
    ari = adjusted_rand_score(y, model.labels_)
    return {"seconds": float(np.median(spent)), "ari": ari}


def in_a_process(name, case, limit, **environment):
    """What `measured` returns there, or the reason why it does not."""
    task = json.dumps({"name": name, "case": case})
    try:
        done = subprocess.run(
            [sys.executable, __file__, "--task", task],
            env={**os.environ, **ONE_THREAD, **environment},
            capture_output=True,
            text=True,
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"more than {limit:g} s"}
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["killed"])[-1][:200]}
    return json.loads(done.stdout.splitlines()[-1])


def first_call(name, limit):
    """The first call of an estimator on a new machine, compilation included."""
    with tempfile.TemporaryDirectory() as empty:
        return in_a_process(name, None, limit, NUMBA_CACHE_DIR=empty)


# --- tables -------------------------------------------------------------------------------------


def measure_case(names, case, limit):
    """Print and return what fits of a case take, yardsticks first."""
    yardsticks = ["KMeans"]
    if ON_GRAPHS & set(names) and case["n_samples"] <= MOST_SPECTRAL:
        yardsticks.append("SpectralClustering")
    found = {}
    heading(f"n = {case['n_samples']:,}, d = {case['n_features']}, k = {case['n_clusters']}")
    print(f"{'':42}{'seconds':>9}{'/ KMeans':>10}{'/ Spectral':>12}{'ARI':>7}")
    for name in [*yardsticks, *names]:
        found[name] = in_a_process(name, case, limit)
        print(f"{name:42}{row_of(name, found, case)}", flush=True)
    return found


def row_of(name, found, case):
    """A line of the table."""
    one = found[name]
    if "failed" in one:
        return "  " + one["failed"]
    ratios = []
    for yardstick, width in (("KMeans", 10), ("SpectralClustering", 12)):
        wanted = yardstick == "KMeans" or name in ON_GRAPHS
        seconds = found.get(yardstick, {}).get("seconds")
        ratios.append(f"{one['seconds'] / seconds if wanted and seconds else np.nan:{width}.2f}")
    line = f"{one['seconds']:9.2f}{''.join(ratios).replace('nan', '   ')}{one['ari']:7.3f}"
    return line + missed(name, one, found, case)


def missed(name, one, found, case):
    """What a fit misses of the promises, in words."""
    if name in YARDSTICKS:
        return ""
    if case["n_clusters"] == MANY_CLUSTERS:
        late = one["seconds"] > MANY_SECONDS
        poor = one["ari"] < found["KMeans"]["ari"] - MANY_ARI
        return "  MISSED" if late or poor else ""
    on_graph = name in ON_GRAPHS
    yardstick = found.get("SpectralClustering" if on_graph else "KMeans", {})
    limit = (GRAPH_RATIO_LIMIT if on_graph else RATIO_LIMIT) * yardstick.get("seconds", np.inf)
    return "  MISSED" if case["n_samples"] >= 100_000 and one["seconds"] > limit else ""


def exponents(results, names):
    """Slope of the logarithms of seconds and samples, by the number of clusters."""
    heading(f"growth with n: seconds as a power of n, at most {EXPONENT_LIMIT}")
    found = {}
    for name in ["KMeans", *names]:
        slopes = {}
        for k in CLUSTERS:
            points = [
                (one["case"]["n_samples"], one["found"][name]["seconds"])
                for one in results
                if one["case"]["n_clusters"] == k and "seconds" in one["found"].get(name, {})
            ]
            if len(points) > 1:
                slopes[k] = float(np.polyfit(*np.log(points).T, 1)[0])
        found[name] = slopes
        if slopes:
            late = name not in YARDSTICKS and max(slopes.values()) > EXPONENT_LIMIT
            listed = "".join(f"   k = {k}: {slope:.2f}" for k, slope in slopes.items())
            print(f"{name:42}{listed}{'  MISSED' if late else ''}")
    return found


def first_calls(names, limit):
    """Print and return what first calls take."""
    heading(f"first call at n = {WARM_SAMPLES}, nothing compiled: at most {FIRST_SECONDS} s")
    found = {}
    for name in names:
        found[name] = one = first_call(name, limit)
        late = "seconds" in one and one["seconds"] > FIRST_SECONDS
        told = one["failed"] if "failed" in one else f"{one['seconds']:.2f} s"
        print(f"{name:42}{told:>9}{'  MISSED' if late else ''}", flush=True)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=clusterers(), metavar="NAME")
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--clusters", nargs="+", type=int, default=list(CLUSTERS))
    parser.add_argument("--million", action="store_true", help="a million samples, too")
    parser.add_argument("--quick", action="store_true", help="the smallest size alone")
    parser.add_argument("--no-first", action="store_true", help="leave out first calls")
    parser.add_argument("--no-many", action="store_true", help="leave out many clusters")
    parser.add_argument("--limit", type=float, default=600.0, help="most seconds of a process")
    parser.add_argument("--output", default="defaults.json", help="file in results/speed")
    parser.add_argument("--task", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.task:
        print(json.dumps(measured(**json.loads(args.task))))
        return
    sizes = args.sizes[:1] if args.quick else args.sizes + [1_000_000] * args.million
    cases = [
        {"n_samples": n, "n_features": N_FEATURES, "n_clusters": k}
        for n in sizes
        for k in args.clusters
    ]
    if not (args.quick or args.no_many):
        many = {"n_samples": MANY_SAMPLES, "n_features": 2, "n_clusters": MANY_CLUSTERS}
        cases.append(many)
    results = [
        {"case": case, "found": measure_case(args.only, case, args.limit)} for case in cases
    ]
    slopes = exponents(results, args.only)
    first = {} if args.no_first else first_calls(args.only, args.limit)
    RESULTS.mkdir(parents=True, exist_ok=True)
    report = {"cases": results, "exponents": slopes, "first": first}
    (RESULTS / args.output).write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
