"""AutoClustering: processor time of the first and of a warm fit against KMeans, and plain cases.

python benchmarks/speed/auto.py [--quick]
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

from separatrix import AutoClustering, TreeCutClustering

sys.path.insert(0, str(Path(__file__).parent.parent))
from output import heading


def seconds_of(model, X):
    begin = time.process_time()
    model.fit(X)
    return time.process_time() - begin


def spirals(n_samples, rng):
    """Two arms around each other."""
    turn = np.sqrt(rng.uniform(0.05, 1, n_samples // 2)) * 3 * np.pi
    arm = np.column_stack([turn * np.cos(turn), turn * np.sin(turn)])
    X = np.vstack([arm, -arm]) + 0.3 * rng.normal(size=(2 * len(arm), 2))
    return X, np.repeat([0, 1], len(arm))


def thin_strips(n_samples, rng):
    """Three long strips side by side."""
    y = np.repeat([0, 1, 2], n_samples // 3)
    X = np.column_stack([rng.uniform(0, 30, len(y)), y + 0.12 * rng.normal(size=len(y))])
    return X, y


def times(quick):
    heading("Processor seconds, and the ratio to KMeans(n_init=10)")
    first = seconds_of(AutoClustering(3), make_blobs(200, random_state=0)[0])
    print(f"first fit in a process, 200 samples: {first:.1f} s")
    print(f"{'n':>9}{'d':>4}{'k':>4}{'tier':>10}{'seconds':>9}{'ratio':>8}")
    cases = [(1_000, 10, 5, "fast"), (1_000, 10, None, "fast"), (10_000, 10, 5, "fast")]
    cases += [(10_000, 50, 10, "fast"), (10_000, 10, 5, "thorough")]
    if not quick:
        cases += [(1_000_000, 10, 5, "fast")]
    for n_samples, n_features, k, tier in cases:
        X, _ = make_blobs(n_samples, n_features, centers=k or 5, cluster_std=3, random_state=1)
        taken = seconds_of(AutoClustering(k, tier=tier), X)
        beside = seconds_of(KMeans(k or 5, n_init=10, random_state=0), X)
        print(
            f"{n_samples:9,}{n_features:4}{k or '?':>4}{tier:>10}{taken:9.2f}{taken / beside:8.1f}"
        )


def plain_cases():
    heading("Adjusted Rand index where the answer is plain")
    rng = np.random.default_rng(0)
    n = 9_000
    cases = {
        "clouds, n = 10,000, d = 50, k = 10": make_blobs(
            10_000, 50, centers=10, cluster_std=8.5, random_state=0
        ),
        "rings": make_circles(n, noise=0.06, factor=0.6, random_state=0),
        "moons": make_moons(n, noise=0.1, random_state=0),
        "spirals": spirals(n, rng),
        "thin strips": thin_strips(n, rng),
    }
    print(f"{'':36}{'fast':>7}{'thorough':>10}{'KMeans':>8}{'Spectral':>10}{'TreeCut':>9}")
    for name, (X, y) in cases.items():
        k = len(np.unique(y))
        many = X.shape[1] > 4
        solver = "lobpcg" if many else "arpack"
        models = [
            AutoClustering(k),
            AutoClustering(k, tier="thorough"),
            KMeans(k, n_init=10, random_state=0),
            SpectralClustering(
                k, affinity="nearest_neighbors", eigen_solver=solver, random_state=0
            ),
            TreeCutClustering(k),
        ]
        scores = [adjusted_rand_score(y, model.fit_predict(X)) for model in models]
        print(f"{name:36}{scores[0]:7.3f}{scores[1]:10.3f}{scores[2]:8.3f}{scores[3]:10.3f}"
              f"{scores[4]:9.3f}")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small samples alone")
    options = parser.parse_args()
    times(options.quick)
    if not options.quick:
        plain_cases()


if __name__ == "__main__":
    main()
