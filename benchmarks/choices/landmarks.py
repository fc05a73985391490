"""Landmarks or drawn rows? Graphs of rows that are not in memory, measured on sets with classes.

    python benchmarks/choices/landmarks.py              # quality, half an hour
    python benchmarks/choices/landmarks.py --part small # of one part of the sets
    python benchmarks/choices/landmarks.py --speed      # a million rows

`MaximumVolumeClustering` and `SquaredLossMutualInformationClustering` cluster landmarks that all
rows of a dask array join. Here this is compared with clusters of 5,000 rows alone, which the other
rows follow, and with a fit in memory, by the adjusted Rand index. The number of landmarks, that of
landmarks of a row, and the step that moves landmarks between their rows were chosen on the first
part of the sets; the second part confirms them. The third part is a set for which 5,000 rows are
too few: five rows are drawn of each small cluster. Speed is processor time until labels are there.
"""

import argparse
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
    "chosen": (
        "usps",
        "optdigits",
        "letter",
        "clustering_v1/other-chameleon_t4_8k",
        "clustering_v1/sipu-a3",
        "clustering_v1/sipu-worms_2",
        "filaments",
        "blobs",
    ),
    "confirmed": (
        "mnist",
        "satimage",
        "ringnorm",
        "clustering_v1/other-chameleon_t7_10k",
        "clustering_v1/wut-trajectories",
        "clustering_v1/sipu-a2",
        "clustering_v1/sipu-birch1",
        "rings",
    ),
    "small": ("small",),
}
MADE = {"blobs", "rings", "filaments", "small"}
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
    """Sets that are drawn at random.

    Blobs in 20 features; rings; 100 small clusters beside ten large ones; and thin lines that
    cross.
    """
    rng = np.random.default_rng(0)
    if name == "blobs":
        return make_blobs(N_MADE, 20, centers=30, cluster_std=4.0, random_state=0)
    if name == "rings":
        y = rng.integers(0, 5, N_MADE)
        angle, radius = 2 * np.pi * rng.random(N_MADE), 1 + y + 0.15 * rng.normal(size=N_MADE)
        return radius[:, None] * np.c_[np.cos(angle), np.sin(angle)], y
    if name == "small":
        y = rng.choice(110, N_MADE, p=np.repeat([0.09, 0.001], [10, 100]))
        centers, noise = 6 * rng.normal(size=(110, 5)), rng.normal(size=(N_MADE, 5))
        return centers[y] + noise * np.where(y < 10, 1.0, 0.3)[:, None], y
    y, along = rng.integers(0, 40, N_MADE), 3 * rng.random(N_MADE) - 1.5
    centers, angles = 10 * rng.random((40, 2)), 2 * np.pi * rng.random(40)
    directions = np.c_[np.cos(angles), np.sin(angles)]
    return centers[y] + along[:, None] * directions[y] + rng.normal(0, 0.02, (N_MADE, 2)), y


def labelled(name):
    """Rows that have a class, and their classes."""
    if name in MADE:
        return made(name)
    X, y = load(name)[:2]
    known = y > 0 if name.startswith("clustering_v1") else y >= 0
    return X[known], y[known]


def score(method, X, y, seed):
    model = method(len(np.unique(y)), random_state=seed).fit(X)
    return adjusted_rand_score(y, np.asarray(model.labels_))


def measure_quality(parts):
    found = {}
    print(f"{'':36}" + "".join(f"{name:>30}" for name in METHODS))
    print(f"{'':36}" + f"{'drawn':>10}{'landmarks':>10}{'memory':>10}" * len(METHODS))
    for part in parts:
        rows = []
        for name in SETS[part]:
            X, y = labelled(name)
            blocks = da.from_array(X, chunks=(ROWS_PER_BLOCK, X.shape[1]))
            row = []
            for drawn, joined in METHODS.values():
                row += [
                    np.mean([score(method, blocks, y, seed) for seed in SEEDS])
                    for method in (drawn, joined)
                ]
                row.append(score(joined, X, y, 0))
            print(f"{name:36}" + "".join(f"{value:10.3f}" for value in row), flush=True)
            rows.append(row)
        mean = np.mean(rows, axis=0)
        print(f"{f'mean, {part}':36}" + "".join(f"{value:10.3f}" for value in mean))
        found[part] = {"sets": len(rows)}
        for method, figures in zip(METHODS, mean.reshape(-1, 3).round(4).tolist(), strict=True):
            found[part][method] = dict(zip(("drawn", "landmarks", "memory"), figures, strict=True))
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
        found[name] = {"rows": N_MANY, "ratio": round(joined / drawn, 3)}
        print(f"{name:20}{drawn:8.1f} s drawn {joined:8.1f} s landmarks {joined / drawn:8.2f}")
    return found


def main():
    warnings.simplefilter("ignore")
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--part", choices=SETS, help="the sets; all by default")
    options.add_argument("--speed", action="store_true", help="measure speed instead of quality")
    asked = options.parse_args()
    if asked.speed:
        heading(f"{N_MANY:,} rows of 20 features, processor seconds")
        found = {"speed": measure_speed()}
    else:
        heading("Adjusted Rand index of rows that are not in memory, and in memory")
        found = measure_quality(SETS if asked.part is None else [asked.part])
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    text = json.dumps(kept | found, indent=1, sort_keys=True)
    RESULTS.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
