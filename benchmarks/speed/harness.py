"""Time and memory of every clusterer beside its peers, from a thousand to a million samples.

    python benchmarks/speed/harness.py                            # what is not measured yet
    python benchmarks/speed/harness.py --only KernelKMeans --sizes 1000 10000
    python benchmarks/speed/harness.py --again                    # all anew, beside the last run
    python benchmarks/speed/harness.py --report                   # the tables alone
    python docs/draw_speed.py                                     # the plots

Each clusterer at its defaults against KMeans(n_init=10), SpectralClustering on neighbours,
GaussianMixture and GemClus' LinearMMD. Where GemClus is not installed its rows say so; another
interpreter that has it can add them: OTHER/bin/python benchmarks/speed/harness.py --only GemClus.

Every cell is a process of its own with one thread. It tells the seconds of its first small fit,
then those of a warm fit, its peak of memory beyond the data, and the adjusted Rand index. Seconds
are those of the processor, so that other work on the machine counts little. A process that needs
more of them than --limit, or more memory than the machine has, is ended, and larger cells of that
clusterer are not tried. Every finished cell is kept in results/speed/harness.json: a run that was
killed is taken up where it ended.
"""

import argparse
import importlib.util
import json
import os
import platform
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import numpy as np
from gauges import peak_bytes
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from output import heading

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "results" / "speed" / "harness.json"
# What the project promises: times KMeans at 100,000 samples, times SpectralClustering for graphs,
# the power of n, and for many clusters seconds and the index that KMeans may be ahead.
RATIO_LIMIT, GRAPH_RATIO_LIMIT, EXPONENT_LIMIT = 5, 1, 1.15
MANY_SECONDS, MANY_ARI, FIRST_SECONDS = 5, 0.02, 3
PROMISED_SAMPLES = 100_000
SIZES = (1_000, 10_000, 100_000, 1_000_000)
# Growth is read from here on; below, what does not depend on n counts as much.
GROWTH_SAMPLES = 10_000
CLUSTERS = (2, 10)
N_FEATURES = 50
MANY_SAMPLES, MANY_CLUSTERS = 10_000, 100
WARM_SAMPLES = 300
# Repeats of a fit, of which the median counts, while they take less than this altogether.
REPEATS, REPEAT_SECONDS = 3, 2.0
NOT_TRIED = "not tried: "
CHANGE = 1.25  # a ratio to the last run that is told
KINDS = {
    "boundaries": (
        "MaximinSeparationClustering",
        "MaximumMarginClustering",
        "CuttingPlaneMarginClustering",
        "RegularizedLeastSquaresClustering",
        "InformationMaximizationClustering",
    ),
    "graphs and trees": (
        "MaximumVolumeClustering",
        "HardMaximumVolumeClustering",
        "SquaredLossMutualInformationClustering",
        "TreeCutClustering",
        "AutoClustering",
    ),
    "k-means and its kin": ("KernelKMeans", "LDAKMeans", "DiscriminativeKMeans"),
    "mixes and programs": (
        "OptimalMarginDistributionClustering",
        "LabelGenerationMarginClustering",
        "SemidefiniteMarginClustering",
        "GeneralizedMarginClustering",
    ),
}
ON_GRAPHS = {
    "HardMaximumVolumeClustering",
    "MaximumVolumeClustering",
    "SquaredLossMutualInformationClustering",
}
PEERS = {
    "KMeans": lambda k: KMeans(k, n_init=10, random_state=0),
    "SpectralClustering": lambda k: SpectralClustering(
        k, affinity="nearest_neighbors", random_state=0
    ),
    "GaussianMixture": lambda k: GaussianMixture(k, random_state=0),
    "GemClus": lambda k: importlib.import_module("gemclus.linear").LinearMMD(k, random_state=0),
}
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


def names():
    """Peers, and all clusterers."""
    return [*PEERS, *(name for kind in KINDS.values() for name in kind)]


def is_missing(name):
    """Whether a clusterer is that of another package, which is not installed."""
    return name == "GemClus" and importlib.util.find_spec("gemclus") is None


def estimator_of(name, n_clusters):
    if name in PEERS:
        return PEERS[name](n_clusters)
    import separatrix  # not at the top: it is no part of what a peer takes

    return getattr(separatrix, name)(n_clusters)


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


def samples_of(n_samples, n_clusters):
    if n_clusters == MANY_CLUSTERS:
        return blobs_in_the_plane(n_samples, n_clusters)
    return overlapping_blobs(n_samples, N_FEATURES, n_clusters)


# --- one cell, in a process of its own ----------------------------------------------------------


def cell_of(n_samples, n_clusters):
    """What the results call a cell; "first" is a first call where nothing is compiled yet."""
    return f"{n_samples}/{n_clusters}" if n_samples else "first"


def measured(name, n_samples, n_clusters):
    """Seconds of the first small fit and of a warm one, megabytes beyond the data, and the ARI."""
    warnings.simplefilter("ignore")
    begin = time.process_time()
    estimator_of(name, 2).fit(overlapping_blobs(WARM_SAMPLES, 5, 2)[0])
    found = {"first": time.process_time() - begin}
    if n_samples is None:
        return found
    X, y = samples_of(n_samples, n_clusters)
    spent, labels = [], []

    def fit():
        begin = time.process_time()
        labels[:] = estimator_of(name, n_clusters).fit_predict(X)
        spent.append(time.process_time() - begin)

    with compilations() as compiled:
        peak = peak_bytes(fit)
    if compiled:  # for sizes and numbers of clusters that the small fit does not have
        spent.clear()
        fit()
    while len(spent) < REPEATS and sum(spent) < REPEAT_SECONDS:
        fit()
    found |= {"seconds": float(np.median(spent)), "ari": adjusted_rand_score(y, labels)}
    return found if peak is None else found | {"megabytes": peak / 1e6}


@contextmanager
def compilations():
    """Events of what numba compiles meanwhile; code that is on disk already makes none."""
    from numba.core import event  # not at the top: it is no part of what a peer takes

    with event.install_recorder("numba:compile") as recorder:
        yield recorder.buffer


def in_a_process(name, n_samples, n_clusters, limit, **environment):
    """What `measured` returns there, or the reason why it does not."""
    task = json.dumps({"name": name, "n_samples": n_samples, "n_clusters": n_clusters})
    done = subprocess.run(
        [sys.executable, __file__, "--task", task],
        env={**os.environ, **ONE_THREAD, **environment},
        capture_output=True,
        text=True,
        preexec_fn=lambda: restrict(limit),
    )
    if done.returncode == -signal.SIGXCPU:
        return {"failed": f"more than {limit} s"}
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["killed, as where no memory is left"]
        return {"failed": said[-1][:200]}
    return json.loads(done.stdout.splitlines()[-1])


def restrict(limit):
    """Let this process have so many seconds of the processor, and the memory of the machine."""
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def first_call(name, limit):
    """A first call on a new machine, compilation included."""
    with tempfile.TemporaryDirectory() as empty:
        return in_a_process(name, None, None, limit, NUMBA_CACHE_DIR=empty)


# --- a run --------------------------------------------------------------------------------------


def read(path):
    """Cells by clusterer of an earlier run."""
    return json.loads(path.read_text())["cells"] if path.exists() else {}


def write(path, cells):
    """Replace the file in one step, so that a kill leaves the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".part")
    asked = {"sizes": SIZES, "clusters": CLUSTERS, "peers": list(PEERS), "kinds": KINDS}
    found = {"exponents": exponents(cells, CLUSTERS), "cells": cells}
    new.write_text(json.dumps({"conditions": conditions(), **asked, **found}, indent=1) + "\n")
    new.replace(path)


def conditions():
    """Where and by what this was measured."""
    versions = {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "numba")}
    return {
        "seconds": "of the processor, one thread",
        "python": platform.python_version(),
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        **versions,
    }


def measure(cells, chosen, cases, limit, save):
    """Fill in what is missing of the chosen clusterers, small cells first."""
    wanted = [(name, *case) for case in cases for name in chosen]
    for name, n_samples, n_clusters in wanted:
        mine = cells.get(name, {})
        cell = cell_of(n_samples, n_clusters)
        if cell in mine or is_missing(name) or (n_samples is None and name in PEERS):
            continue
        if n_samples is None:
            found = first_call(name, limit)
        else:
            found = untried(mine, n_samples, n_clusters) or in_a_process(
                name, n_samples, n_clusters, limit
            )
        cells[name] = mine
        mine[cell] = {key: rounded(value) for key, value in found.items()}
        mine[cell]["load"] = rounded(os.getloadavg()[0])  # of the machine: more than cores is busy
        print(f"{name:42}{cell:>14}  {told(mine[cell])}", flush=True)
        save(cells)


def untried(mine, n_samples, n_clusters):
    """The reason why a cell is not tried: a smaller one took too long or failed. None if none."""
    for cell, found in mine.items():
        n, _, k = cell.partition("/")
        if k == str(n_clusters) and int(n) < n_samples and "failed" in found:
            if found["failed"].startswith(NOT_TRIED):
                return {"failed": found["failed"]}
            return {"failed": f"{NOT_TRIED}{found['failed']} at n = {int(n):,}"}
    return None


def rounded(value):
    return float(f"{value:.4g}") if isinstance(value, float) else value


def told(found):
    """A cell in words."""
    if "failed" in found:
        return found["failed"]
    if "seconds" not in found:
        return f"{found['first']:.2f} s for the first call"
    return f"{found['seconds']:.3f} s, ARI {found['ari']:.3f}, {found.get('megabytes', 0):.0f} MB"


# --- tables -------------------------------------------------------------------------------------


def seconds_of(cells, name, cell):
    """Seconds of a cell; NaN where there are none."""
    return cells.get(name, {}).get(cell, {}).get("seconds", np.nan)


def print_tables(cells, before, sizes, clusters):
    """Seconds, memory and ARI of each size, beside the peers and the last run."""
    for n, k in [(n, k) for n in sizes for k in clusters] + [(MANY_SAMPLES, MANY_CLUSTERS)]:
        cell = cell_of(n, k)
        found = {name: cells[name][cell] for name in names() if cell in cells.get(name, {})}
        if not found:
            continue
        missing = [name for name in PEERS if is_missing(name) and name not in found]
        heading(f"n = {n:,}, k = {k}")
        print(f"{'':42}{'seconds':>9}{'/ KMeans':>10}{'/ spectral':>11}{'MB':>8}{'ARI':>7}")
        for name, one in found.items():
            if "failed" in one:
                print(f"{name:42}  {one['failed']}")
                continue
            ratios = [one["seconds"] / seconds_of(cells, peer, cell) for peer in list(PEERS)[:2]]
            line = f"{one['seconds']:9.2f}{ratios[0]:10.2f}{ratios[1]:11.2f}"
            line += f"{one.get('megabytes', np.nan):8.0f}{one['ari']:7.3f}"
            notes = missed(cells, name, n, k) + changed(cells, before, name, cell)
            print(f"{name:42}{line}{notes}")
        for name in missing:
            print(f"{name:42}  not installed; pip install {name.lower()}")


def missed(cells, name, n_samples, n_clusters):
    """What a cell misses of the promises, in words."""
    if name in PEERS:
        return ""
    cell = cell_of(n_samples, n_clusters)
    one = cells[name][cell]
    if n_clusters == MANY_CLUSTERS:
        poor = one["ari"] < cells.get("KMeans", {}).get(cell, {}).get("ari", np.nan) - MANY_ARI
        return "  MISSED" if poor or one["seconds"] > MANY_SECONDS else ""
    on_graph = name in ON_GRAPHS
    peer = seconds_of(cells, "SpectralClustering" if on_graph else "KMeans", cell)
    late = one["seconds"] > (GRAPH_RATIO_LIMIT if on_graph else RATIO_LIMIT) * peer
    return "  MISSED" if late and n_samples >= PROMISED_SAMPLES else ""


def change(cells, before, name, cell):
    """The ratio to KMeans, divided by that of the last run; NaN where one was not measured."""
    ratio, last = (
        seconds_of(run, name, cell) / seconds_of(run, "KMeans", cell) for run in (cells, before)
    )
    return ratio / last


def changed(cells, before, name, cell):
    """How a cell differs from that of the last run, in words, if it does."""
    ratio = change(cells, before, name, cell)
    if name in PEERS or not np.isfinite(ratio) or 1 / CHANGE < ratio < CHANGE:
        return ""
    return f"  {ratio:.2f} times the last run"


def print_changes(cells, before):
    """How many cells were measured since the last run, and how many of them differ from it."""
    heading(f"the last run, by the ratio to KMeans: a factor of {CHANGE} is a change")
    if not before:
        print("none is kept; --again keeps the one before it")
        return
    ratios = np.array(
        [
            change(cells, before, name, cell)
            for name in cells
            if name not in PEERS
            for cell, found in cells[name].items()
            if found != before.get(name, {}).get(cell)
        ]
    )
    slower, faster = np.sum(ratios >= CHANGE), np.sum(ratios <= 1 / CHANGE)
    print(f"cells measured again: {np.isfinite(ratios).sum()}, slower {slower}, faster {faster}")


def exponents(cells, clusters):
    """Slope of the logarithms of seconds and samples, by the number of clusters."""
    slopes = {}
    for name in cells:
        for k in clusters:
            points = [
                (n, seconds_of(cells, name, cell_of(n, k))) for n in SIZES if n >= GROWTH_SAMPLES
            ]
            points = [point for point in points if np.isfinite(point[1])]
            if len(points) > 1:
                slope = float(np.polyfit(*np.log(points).T, 1)[0])
                slopes.setdefault(name, {})[str(k)] = rounded(slope)
    return slopes


def print_growth(slopes):
    heading(
        f"growth: seconds as a power of n from {GROWTH_SAMPLES:,} on, at most {EXPONENT_LIMIT}"
    )
    for name, found in slopes.items():
        late = name not in PEERS and max(found.values()) > EXPONENT_LIMIT
        listed = "".join(f"   k = {k}: {slope:.2f}" for k, slope in found.items())
        print(f"{name:42}{listed}{'  MISSED' if late else ''}")


def print_first_calls(cells):
    heading(f"first call at n = {WARM_SAMPLES}, nothing compiled: at most {FIRST_SECONDS} s")
    for name, mine in cells.items():
        if "first" in mine:
            late = mine["first"].get("first", np.inf) > FIRST_SECONDS
            print(f"{name:42}{told(mine['first'])}{'  MISSED' if late else ''}")


# --- the command --------------------------------------------------------------------------------


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=names(), metavar="NAME")
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--clusters", nargs="+", type=int, default=list(CLUSTERS))
    parser.add_argument("--limit", type=int, default=600, help="most seconds of a cell")
    parser.add_argument("--again", action="store_true", help="measure anew, keep the last run")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where the cells are kept")
    parser.add_argument("--task", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.task:
        print(json.dumps(measured(**json.loads(args.task))))
        return
    last = args.results.with_name(f"{args.results.stem}_before.json")
    cells = read(args.results)
    cases = [(n, k) for n in args.sizes for k in args.clusters]
    cases = [(None, None), *cases, (MANY_SAMPLES, MANY_CLUSTERS)]
    if args.again:
        if cells:
            shutil.copyfile(args.results, last)
        for mine in (cells.get(name, {}) for name in args.only if not is_missing(name)):
            for case in cases:
                mine.pop(cell_of(*case), None)
    if not args.report:
        measure(cells, args.only, cases, args.limit, lambda cells: write(args.results, cells))
    print_tables(cells, read(last), args.sizes, args.clusters)
    print_growth(exponents(cells, args.clusters))
    print_first_calls(cells)
    print_changes(cells, read(last))


if __name__ == "__main__":
    main()
