"""Landmarks or drawn rows? Graphs of rows that are not in memory, measured on sets with classes.

    python benchmarks/choices/landmarks.py          # quality
    python benchmarks/choices/landmarks.py --speed  # a million rows

`MaximumVolumeClustering` and `SquaredLossMutualInformationClustering` cluster landmarks that all
rows of a dask array join. Here this is compared with clusters of 5,000 rows alone, which the other
rows follow, and with a fit in memory, by the adjusted Rand index. The number of landmarks, that of
landmarks of a row, and the step that moves landmarks between their rows were chosen on the first
part of the sets; the second part confirms them. Speed is processor time until labels are there.
"""

import json
import sys
import time
import warnings
from pathlib import Path

import dask.array as da
import numpy as np
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from separatrix import MaximumVolumeClustering, SquaredLossMutualInformationClustering

sys.path.insert(0, str(Path(__file__).parent.parent))
from data import load
from output import heading

RESULTS = Path(__file__).resolve().parents[1] / "results" / "choices" / "landmarks.json"
SETS = {
    "chosen on": (
        "usps",
        "optdigits",
        "letter",
        "clustering_v1/other-chameleon_t4_8k",
        "clustering_v1/sipu-a3",
        "clustering_v1/sipu-worms_2",
        "filaments",
        "blobs",
    ),
    "confirmed on": (
        "mnist",
        "satimage",
        "ringnorm",
        "clustering_v1/other-chameleon_t7_10k",
        "clustering_v1/wut-trajectories",
        "clustering_v1/sipu-a2",
        "clustering_v1/sipu-birch1",
        "rings",
    ),
}
N_MADE, SEEDS, ROWS_PER_BLOCK = 100_000, range(3), 20_000
N_MANY, ROUNDS = 1_000_000, 3


class DrawnVolume(MaximumVolumeClustering):
    """The same of drawn rows alone."""

    _joins_landmarks = False


class DrawnInformation(SquaredLossMutualInformationClustering):
    """The same of drawn rows alone."""

    _joins_landmarks = False


METHODS = {
    "volume": (DrawnVolume, MaximumVolumeClustering),
    "information": (DrawnInformation, SquaredLossMutualInformationClustering),
}


def made(name):
    """Sets that are drawn: round clusters in 20 features, thin lines that cross, and rings."""
    rng = np.random.default_rng(0)
    if name == "blobs":
        return make_blobs(N_MADE, 20, centers=30, cluster_std=4.0, random_state=0)
    if name == "rings":
        y = rng.integers(0, 5, N_MADE)
        angle, radius = 2 * np.pi * rng.random(N_MADE), 1 + y + 0.15 * rng.normal(size=N_MADE)
        return radius[:, None] * np.c_[np.cos(angle), np.sin(angle)], y
    y, along = rng.integers(0, 40, N_MADE), 3 * rng.random(N_MADE) - 1.5
    centers, angles = 10 * rng.random((40, 2)), 2 * np.pi * rng.random(40)
    directions = np.c_[np.cos(angles), np.sin(angles)]
    return centers[y] + along[:, None] * directions[y] + rng.normal(0, 0.02, (N_MADE, 2)), y


def labelled(name):
    """Rows that have a class, and their classes."""
    if name in ("blobs", "rings", "filaments"):
        return made(name)
    X, y = load(name)[:2]
    known = y > 0 if name.startswith("clustering_v1") else y >= 0
    return X[known], y[known]


def score(method, X, y, seed):
    model = method(len(np.unique(y)), random_state=seed).fit(X)
    return adjusted_rand_score(y, np.asarray(model.labels_))


def measure_quality():
    found = {}
    print(f"{'':30}" + "".join(f"{name:>30}" for name in METHODS))
    print(f"{'':30}" + f"{'drawn':>10}{'landmarks':>10}{'memory':>10}" * len(METHODS))
    for part, names in SETS.items():
        rows = []
        for name in names:
            X, y = labelled(name)
            blocks = da.from_array(X, chunks=(ROWS_PER_BLOCK, X.shape[1]))
            row = []
            for drawn, joined in METHODS.values():
                row += [
                    np.mean([score(method, blocks, y, seed) for seed in SEEDS])
                    for method in (drawn, joined)
                ]
                row.append(score(joined, X, y, 0))
            print(f"{name:30}" + "".join(f"{value:10.3f}" for value in row), flush=True)
            rows.append(row)
        mean = np.mean(rows, axis=0)
        print(f"{f'mean, {part}':30}" + "".join(f"{value:10.3f}" for value in mean))
        for place, method in enumerate(METHODS):
            found[f"{part.split()[0]} {method}"] = dict(
                zip(("drawn", "landmarks", "memory"), mean[3 * place :].round(4), strict=False)
            )
    return found


def measure_speed():
    found = {}
    X, _ = make_blobs(N_MANY, 20, centers=10, cluster_std=4.0, random_state=0)
    blocks = da.from_array(X.astype(np.float32), chunks=(10 * ROWS_PER_BLOCK, 20))
    for name, methods in METHODS.items():
        seconds = np.zeros((ROUNDS, 2))
        for turn in seconds:
            for place, method in enumerate(methods):
                begin = time.process_time()
                method(10, random_state=0).fit(blocks).labels_.compute()
                turn[place] = time.process_time() - begin
        drawn, joined = np.median(seconds, axis=0)
        found[f"speed {name}"] = {"rows": N_MANY, "ratio": round(joined / drawn, 3)}
        print(f"{name:20}{drawn:8.1f} s drawn {joined:8.1f} s landmarks {joined / drawn:8.2f}")
    return found


def main():
    warnings.simplefilter("ignore")
    speed = "--speed" in sys.argv
    heading(
        f"{N_MANY:,} rows of 20 features, processor seconds"
        if speed
        else "Adjusted Rand index of rows that are not in memory, and in memory"
    )
    found = measure_speed() if speed else measure_quality()
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    RESULTS.write_text(json.dumps(kept | found, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
