"""Memory of refits, and fits at the same time in threads and processes.

An estimator is fitted again and again to the same samples; the memory of the process must stay
what it was. Then fits of all clusterers run in threads and in processes at the same time: their
labels must be those of fits one after another, and the threads that they use are counted. In
processes, which joblib gives their share of the cores, there should be about one for each core.
"""

import argparse
import gc
import os
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from joblib import Parallel, cpu_count, delayed
from sklearn.base import is_clusterer

import separatrix

# Fits until caches and the memory of threads are filled: this share of the refits, or more.
WARM_UP_SHARE, WARM_UP = 0.25, 10
SLACK, GROWTH = 1.0, 0.0005  # megabytes: of the allocator, and of each refit
N_THREADS = 8


def clusterers():
    """All clusterers, by name."""
    found = {name: getattr(separatrix, name) for name in separatrix._REGISTRY}
    kinds = {name: one for name, one in found.items() if isinstance(one, type)}
    return {name: one for name, one in kinds.items() if is_clusterer(one())}


def samples(seed, n_samples=40):
    """Two groups of samples."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_samples, 3)) + 4 * (np.arange(n_samples) % 2)[:, None]


def status(name):
    """A number that the system tells of this process."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(f"{name}:"))


def growth(estimator, n_refits):
    """Megabytes that refits of an estimator add to the memory of this process."""
    X, model = samples(0), estimator(2)
    for _ in range(max(WARM_UP, int(WARM_UP_SHARE * n_refits))):
        model.fit(X)
    gc.collect()
    before = status("VmRSS")
    for _ in range(n_refits):
        model.fit(X)
    gc.collect()
    return (status("VmRSS") - before) / 1024


def labels(name, seed):
    """Labels of a fit, and the threads that its process has."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = clusterers()[name](2, random_state=seed).fit(samples(seed)).labels_.tolist()
    return found, status("Threads"), os.getpid()


class MostThreads:
    """The most threads that this process has while a block runs."""

    def __enter__(self):
        self.count, self._ended = status("Threads"), threading.Event()
        self._watch = threading.Thread(target=self._look)
        self._watch.start()
        return self

    def _look(self):
        while not self._ended.wait(0.005):
            self.count = max(self.count, status("Threads") - 1)

    def __exit__(self, *_):
        self._ended.set()
        self._watch.join()


def refits(n_refits):
    """Print the growth of all clusterers; the number of those that grow."""
    print(f"\nMegabytes that {n_refits} refits add")
    n_growing = 0
    for name, estimator in clusterers().items():
        begin = time.perf_counter()
        added = growth(estimator, n_refits)
        is_growing = added > SLACK + GROWTH * n_refits
        n_growing += is_growing
        seconds = time.perf_counter() - begin
        print(f"{name:42}{added:8.2f}{seconds:8.1f} s{'  grows' * is_growing}", flush=True)
    return n_growing


def at_the_same_time(n_fits):
    """Print how many fits at the same time differ from those one after another."""
    names = list(clusterers())
    tasks = [(names[i % len(names)], i // len(names)) for i in range(n_fits)]
    expected = [labels(*task)[0] for task in tasks]
    begun = status("Threads")
    with MostThreads() as most, ThreadPoolExecutor(N_THREADS) as pool:
        in_threads = [found for found, _, _ in pool.map(lambda task: labels(*task), tasks)]
    told = list(Parallel(n_jobs=cpu_count())(delayed(labels)(*task) for task in tasks))
    in_processes = [found for found, _, _ in told]
    per_process = {}
    for _, count, process in told:
        per_process[process] = max(count, per_process.get(process, 0))
    wrong = [
        sum(a != b for a, b in zip(expected, found, strict=True))
        for found in (in_threads, in_processes)
    ]
    # each thread may have a team of OpenMP for itself
    limit = begun + N_THREADS * (1 + cpu_count())
    print(f"\n{n_fits} fits at the same time, on {cpu_count()} cores")
    counts = sorted(per_process.values())
    print(f"in {N_THREADS} threads: {wrong[0]} differ; {most.count} threads in use, of {limit}")
    print(f"in {len(counts)} processes: {wrong[1]} differ; {counts} threads in use")
    return sum(wrong) + (most.count > limit)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--refits", type=int, default=100, help="refits of each estimator")
    parser.add_argument("--fits", type=int, default=100, help="fits at the same time")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    violations = refits(options.refits) + at_the_same_time(options.fits)
    print("violations:", violations)
    return violations > 0


if __name__ == "__main__":
    sys.exit(main())
