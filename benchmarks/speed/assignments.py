"""Seconds of labels within bounds of sizes, for scores of several kinds.

python benchmarks/speed/assignments.py --rows 1000000 --clusters 10
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from separatrix.labels.bounded import bounded_labels

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from output import heading


def scores_of(kind, n, k):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(n, k)) + rng.normal(size=k)
    if kind == "rounded":
        return scores.round(1)
    if kind == "of 50 kinds":
        return scores[rng.integers(0, 50, n)]
    return np.zeros((n, k)) if kind == "all equal" else scores


def main(n, k):
    even = n // k
    all_bounds = {
        "equal sizes": (even, even + 1),
        "at least 0.8 of them": (int(0.8 * even), n),
        "at most 1.3 of them": (0, int(1.3 * even) + 1),
    }
    bounded_labels(scores_of("normal", 50, k), np.full(k, 1), np.full(k, 50))  # compiles
    heading(f"{n} samples, {k} clusters: seconds of the processor")
    for kind in ("normal", "rounded", "of 50 kinds", "all equal"):
        scores = scores_of(kind, n, k)
        for name, (low, high) in all_bounds.items():
            begin = time.process_time()
            labels = bounded_labels(scores, np.full(k, low), np.full(k, high))
            seconds, sizes = time.process_time() - begin, np.bincount(labels, minlength=k)
            assert sizes.min() >= low
            assert sizes.max() <= high
            print(f"{kind:14} {name:22} {seconds:8.2f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--clusters", type=int, default=10)
    given = parser.parse_args()
    main(given.rows, given.clusters)
