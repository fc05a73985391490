"""The first call of every estimator on a new machine: a small fit with nothing compiled.

    python benchmarks/speed/first_call.py --only TreeCutClustering

Each fit has a process of its own with an empty cache of compiled code, and one thread. Beside its
processor time stands what of it went into compilation, with the functions that took longest, and
what the second fit takes. Imports, most of them scikit-learn's, are counted apart.
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
from numba.core import event

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from output import heading

# What the project promises.
MOST_SECONDS = 3
N_SAMPLES, N_FEATURES = 300, 5
CLUSTERS = (2, 3)
MOST_NAMED = 3
RESULTS = Path(__file__).resolve().parents[1] / "results" / "speed"
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


def estimators():
    """Names of all clusterers."""
    import separatrix

    return [name for name, public in separatrix._REGISTRY.items() if public.short_name]


def overlapping_groups(n_clusters):
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_clusters, N_SAMPLES)
    centers = 4 / np.sqrt(2 * N_FEATURES) * rng.standard_normal((n_clusters, N_FEATURES))
    return centers[y] + rng.standard_normal((N_SAMPLES, N_FEATURES))


class Compilations(event.Listener):
    """Processor seconds that compiled functions took, those that they call included."""

    def __init__(self):
        self.seconds = {}
        self._begun = []

    def on_start(self, event):
        """Take note of the begin of a compilation."""
        self._begun.append(time.process_time())

    def on_end(self, event):
        """Take note of its end."""
        spent = time.process_time() - self._begun.pop()
        if not self._begun:  # what others call is counted with them
            name = event.data["dispatcher"].py_func.__name__
            self.seconds[name] = self.seconds.get(name, 0.0) + spent


def measured(name, n_clusters):
    """Processor seconds of imports, of the first and the second fit, and of compilations."""
    warnings.simplefilter("ignore")
    begin = time.process_time()
    import sklearn.cluster  # noqa: F401

    import separatrix

    make = getattr(separatrix, name)
    imported = time.process_time() - begin
    X, compilations = overlapping_groups(n_clusters), Compilations()
    event.register("numba:compile", compilations)
    spent = []
    try:
        for _ in range(2):
            begin = time.process_time()
            make(n_clusters).fit(X)
            spent.append(time.process_time() - begin)
    finally:
        event.unregister("numba:compile", compilations)
    return {
        "imports": imported,
        "first": spent[0],
        "second": spent[1],
        "compiled": compilations.seconds,
    }


def in_a_process(name, n_clusters, limit):
    """What `measured` returns in a process that finds nothing compiled."""
    with tempfile.TemporaryDirectory() as empty:
        try:
            done = subprocess.run(
                [sys.executable, __file__, "--task", name, str(n_clusters)],
                env={**os.environ, **ONE_THREAD, "NUMBA_CACHE_DIR": empty},
                capture_output=True,
                text=True,
                timeout=limit,
            )
        except subprocess.TimeoutExpired:
            return {"failed": f"more than {limit:g} s"}
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["killed"])[-1][:200]}
    return json.loads(done.stdout.splitlines()[-1])


def row_of(one):
    """A line of the table."""
    if "failed" in one:
        return one["failed"]
    compiled = sorted(one["compiled"].items(), key=lambda item: -item[1])
    slowest = ", ".join(f"{name} {seconds:.1f}" for name, seconds in compiled[:MOST_NAMED])
    late = "  MISSED" if one["first"] > MOST_SECONDS else ""
    spent = sum(one["compiled"].values())
    return f"{one['first']:7.2f}{spent:10.2f}{one['second']:8.2f}{late}  {slowest}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=None, metavar="NAME")
    parser.add_argument("--clusters", nargs="+", type=int, default=list(CLUSTERS))
    parser.add_argument("--limit", type=float, default=300.0, help="most seconds of a process")
    parser.add_argument("--output", default="first_call.json", help="file in results/speed")
    parser.add_argument("--task", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.task:
        print(json.dumps(measured(args.task[0], int(args.task[1]))))
        return
    results = {}
    for n_clusters in args.clusters:
        heading(f"first fit at n = {N_SAMPLES}, k = {n_clusters}: at most {MOST_SECONDS} s")
        print(f"{'':42}{'first':>7}{'compiled':>10}{'second':>8}")
        for name in args.only or estimators():
            one = results[f"{name} {n_clusters}"] = in_a_process(name, n_clusters, args.limit)
            print(f"{name:42}{row_of(one)}", flush=True)
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / args.output).write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
