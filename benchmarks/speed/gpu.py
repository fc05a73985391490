"""Clustering of GPU arrays beside NumPy: the same labels, and how much faster.

    python benchmarks/speed/gpu.py               # labels of every clusterer, then the times
    python benchmarks/speed/gpu.py --agreement   # the labels alone; of some, if they are named

The same estimator is given the same rows as a NumPy array and as arrays of PyTorch and CuPy. Two
yardsticks run on the same rows: a copy of them, for the bandwidth of the device, and k-means by
Lloyd's iterations in plain PyTorch. Prints one line and ends where there is no GPU.
"""

import os

os.environ.setdefault("SCIPY_ARRAY_API", "1")

import argparse
import json
import statistics
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import sklearn
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning

import separatrix
from separatrix import (
    AutoClustering,
    MaximinSeparationClustering,
    MaximumMarginClustering,
    MaximumVolumeClustering,
    RegularizedLeastSquaresClustering,
    SquaredLossMutualInformationClustering,
)
from separatrix._sklearn import to_numpy

RESULTS = Path(__file__).resolve().parents[1] / "results" / "speed" / "gpu.json"
# What the project promises: times the host's speed, times Lloyd's iteration, share of the copy.
SPEED_LIMIT, LLOYD_LIMIT, BANDWIDTH_LIMIT = 30, 2, 0.4
COPIED = 2**30  # numbers of four bytes


@dataclass(frozen=True)
class Case:
    """An estimator, the shape of its rows, and whether its iterations just read them.

    One that is `sampled` searches on a few rows on the host, and its boundary labels all: the
    time of these labels is also told by itself. The project promises a speed unless told
    otherwise.
    """

    estimator: BaseEstimator
    n_samples: int
    n_features: int
    n_clusters: int
    memory_bound: bool = False
    sampled: bool = False
    promised: bool = True


CASES = {
    "maximin separation": Case(
        MaximinSeparationClustering(random_state=0), 20_000_000, 50, 2, memory_bound=True
    ),
    "kernel margin": Case(
        MaximumMarginClustering(kernel="rbf", n_components=300, random_state=0), 5_000_000, 50, 2
    ),
    "least squares": Case(
        RegularizedLeastSquaresClustering(n_clusters=10, random_state=0), 5_000_000, 64, 10
    ),
    # at its defaults, with approximate neighbours on the host and all of them on a device
    "volume": Case(MaximumVolumeClustering(random_state=0), 1_000_000, 50, 2),
    # with all neighbours on both: those that an approximate search misses move one label in 50
    "volume, all neighbours": Case(
        MaximumVolumeClustering(neighbors="exact", random_state=0), 200_000, 50, 2
    ),
    "volume, three clusters": Case(
        MaximumVolumeClustering(3, neighbors="exact", random_state=0), 200_000, 50, 3
    ),
    "mutual information": Case(
        SquaredLossMutualInformationClustering(random_state=0), 200_000, 50, 2, promised=False
    ),
    "auto": Case(
        AutoClustering(3, random_state=0), 5_000_000, 20, 3, sampled=True, promised=False
    ),
}


def devices():
    """Name, a function that puts a NumPy array on the device, and one that waits for it."""
    try:
        import torch

        if torch.cuda.is_available():
            yield "torch cuda", lambda X: torch.asarray(X, device="cuda"), torch.cuda.synchronize
    except ImportError:
        pass
    try:
        import cupy

        if cupy.cuda.runtime.getDeviceCount():
            yield "cupy", cupy.asarray, cupy.cuda.Device().synchronize
    except Exception:  # CuPy raises its own errors where it finds no driver
        pass


def overlapping(n_samples, n_features, n_clusters=2, seed=0):
    """Clouds of unequal shape and size that overlap."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n_features), dtype=np.float32)
    X[:, 0] *= 3.0
    sizes = np.arange(2, n_clusters + 2)
    cluster = rng.choice(n_clusters, n_samples, p=sizes / sizes.sum())
    shifts = rng.choice([-1.0, 1.0], (n_clusters, 6)).astype(np.float32)
    shifts[0] *= -np.sign(shifts[0] @ shifts[-1]) or 1.0
    X[:, 1:7] += 1.2 * shifts[cluster]
    X[cluster == 0, 7:11] *= 0.5
    return X


# --- times --------------------------------------------------------------------------------------


def timed_fit(estimator, X, wait, *callbacks):
    model = clone(estimator).set_callbacks(*callbacks) if callbacks else clone(estimator)
    begin = time.perf_counter()
    with warnings.catch_warnings():
        # few iterations are asked for on purpose
        warnings.filterwarnings("ignore", "The labels still changed", ConvergenceWarning)
        model.fit(X)
    wait()
    return model, time.perf_counter() - begin


class IterationClock:
    """A callback that reads the clock when an iteration over all rows has ended."""

    max_propagation_depth = None

    def __init__(self, wait):
        self.wait, self.ends = wait, []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        if context.task_name == "iteration":
            self.wait()
            self.ends.append(time.perf_counter())
        return False


def labels_seconds(model, X, wait):
    """Seconds in which a fitted model labels all rows, at best."""
    seconds = []
    for _ in range(3):
        begin = time.perf_counter()
        model.predict(X)
        wait()
        seconds.append(time.perf_counter() - begin)
    return min(seconds)


def time_of_pass(model, X, wait, most=8, turned=0.05):
    """Seconds of an iteration over all rows, as they are in the midst of a fit.

    Fits start from the labels found, some of them turned at random. The median of the times
    between ends of iterations is taken: what a fit costs besides these has no part in it.
    """
    rng = np.random.default_rng(0)
    start = to_numpy(model.labels_).astype(np.int8)
    moved = rng.integers(0, len(start), int(turned * len(start)))
    start[moved] = rng.integers(0, model.n_clusters, len(moved))
    estimator = clone(model).set_params(init=start, max_iter=most, tol=0.0)
    seconds: list[float] = []
    for _ in range(4):
        clock = IterationClock(wait)
        timed_fit(estimator, X, wait, clock)
        seconds.extend(np.diff(clock.ends))
    return statistics.median(seconds) if seconds else float("nan")


def copy_rate(move, wait):
    """Bytes read and written a second by a copy of many numbers."""
    X = move(np.zeros(COPIED, dtype=np.float32))
    seconds = []
    for _ in range(4):
        begin = time.perf_counter()
        Y = X + 0
        wait()
        seconds.append(time.perf_counter() - begin)
        del Y
    return 2 * 4 * COPIED / min(seconds)


def lloyd_seconds(X, n_clusters, n_iter=20):
    """Seconds of an iteration of k-means in plain PyTorch, the squared norms computed once."""
    import torch

    X = torch.asarray(X)
    centers = X[torch.randperm(X.shape[0], device=X.device)[:n_clusters]]

    def iterate(centers):
        distances = (centers * centers).sum(1) - 2.0 * (X @ centers.T)
        labels = distances.argmin(1)
        members = torch.nn.functional.one_hot(labels, n_clusters).to(X.dtype)
        return (members.T @ X) / members.sum(0).clamp(min=1.0)[:, None]

    centers = iterate(centers)
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(n_iter):
        centers = iterate(centers)
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / n_iter


def measure(name, case, found, repeats):
    """Times of a case on the host and on every device, printed and as a dict."""
    print(f"\n{name}: {case.n_samples:,} x {case.n_features} float32, {case.n_clusters} clusters")
    X = overlapping(case.n_samples, case.n_features, case.n_clusters)
    host, there = timed_fit(case.estimator, X, lambda: None)
    row = {"host_seconds": there, "host_threads": os.cpu_count(), "devices": {}}
    if case.sampled:
        row["host_labels_seconds"] = labels_seconds(host, X, lambda: None)
        told = f"{row['host_labels_seconds']:.2f} s to label the rows"
    else:
        told = f"{host.n_iter_} iterations"
    print(f"  {'NumPy':12}{there:8.2f} s, {told}", flush=True)
    row["shape"] = [case.n_samples, case.n_features, case.n_clusters]
    for device, move, wait in found:
        with sklearn.config_context(array_api_dispatch=True):
            Z = move(X)
            wait()
            _, first = timed_fit(case.estimator, Z, wait)
            fits = [timed_fit(case.estimator, Z, wait) for _ in range(repeats)]
            seconds = statistics.median(taken for _, taken in fits)
            same = float(np.mean(to_numpy(fits[0][0].labels_) == host.labels_))
            of_device = {"first": first, "warm": seconds, "ratio": there / seconds, "same": same}
            limit = f" (at least {SPEED_LIMIT})" if case.promised else ""
            print(
                f"  {device:12}{seconds:8.2f} s ({first:.2f} s the first time), "
                f"{there / seconds:6.1f} x NumPy{limit}, {same:.3%} of the labels are equal",
                flush=True,
            )
            if case.sampled:
                taken = labels_seconds(fits[0][0], Z, wait)
                ratio = row["host_labels_seconds"] / taken
                of_device |= {"labels_seconds": taken, "labels_ratio": ratio}
                print(f"  {'':12}{taken:8.2f} s to label the rows, {ratio:6.1f} x NumPy")
            if case.memory_bound:
                of_device |= measure_pass(fits[0][0], Z, move, wait, device)
            row["devices"][device] = of_device
            del Z, fits
    return row


def measure_pass(model, X, move, wait, device):
    """Time of one iteration beside a copy of the rows and an iteration of Lloyd's."""
    rate = copy_rate(move, wait)
    taken = time_of_pass(model, X, wait)
    share = 4 * X.shape[0] * X.shape[1] / taken / rate
    result = {"seconds_of_pass": taken, "copy_bytes_per_second": rate, "share_of_copy": share}
    print(
        f"  {'':12}{taken * 1e3:8.2f} ms an iteration: {share:.0%} of the {rate / 1e9:,.0f} GB/s "
        f"of a copy (at least {BANDWIDTH_LIMIT:.0%})"
    )
    if device.startswith("torch"):
        lloyd = lloyd_seconds(X, model.n_clusters)
        result["seconds_of_lloyd"] = lloyd
        print(
            f"  {'':12}{lloyd * 1e3:8.2f} ms an iteration of Lloyd's: ours takes "
            f"{taken / lloyd:.2f} times as long (at most {LLOYD_LIMIT})",
            flush=True,
        )
    return result


# --- labels -------------------------------------------------------------------------------------


def agreement(found, names=(), n_samples=20_000, n_features=20):
    """What clusterers make of device arrays: the labels of NumPy, or an error in a line."""
    X = overlapping(n_samples, n_features, 3)
    print(f"\nclusterers at their defaults, three clusters, {n_samples:,} x {n_features} float32")
    rows = {}
    for public, entry in separatrix._REGISTRY.items():
        if entry.short_name is None or (names and public not in names):
            continue
        estimator = getattr(separatrix, public)(3, random_state=0)
        host = None
        for device, move, _ in found:
            try:
                with sklearn.config_context(array_api_dispatch=True):
                    labels = to_numpy(clone(estimator).fit(move(X)).labels_)
            except TypeError as error:
                rows.setdefault(public, {})[device] = str(error)
                print(f"  {public:40} {device:12} refused: {error}", flush=True)
                continue
            host = host or clone(estimator).fit(X)
            same = float(np.mean(labels == host.labels_))
            rows.setdefault(public, {})[device] = same
            print(f"  {public:40} {device:12} {same:.4%} of the labels are equal", flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--agreement", nargs="*", metavar="CLUSTERER", help="labels of all or of these, no times"
    )
    parser.add_argument("--only", nargs="+", choices=list(CASES), help="times of these alone")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where the results are kept")
    arguments = parser.parse_args()
    found = list(devices())
    if not found:
        print("skipped: no GPU array library with a device was found")
        return
    results = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}

    def keep(**parts):
        results.update(parts)
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(results, indent=1) + "\n")

    names = arguments.agreement
    if not arguments.only:
        keep(agreement=results.get("agreement", {}) | agreement(found, names or ()))
    if names is not None:
        return
    for name in arguments.only or CASES:
        keep(**{name: measure(name, CASES[name], found, arguments.repeats)})


if __name__ == "__main__":
    main()
