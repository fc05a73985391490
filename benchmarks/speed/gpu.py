"""Maximin separation clustering on GPU arrays beside NumPy: the same labels, and how much faster.

The same estimator is given the same rows as a NumPy array, a PyTorch tensor and a CuPy array; only
the products with X move to the device. Prints one line and ends where there is no GPU.
"""

import os

os.environ.setdefault("SCIPY_ARRAY_API", "1")

import argparse
import statistics
import time

import numpy as np
import sklearn

from separatrix import MaximinSeparationClustering

# scikit-learn's digits are too few; two noisy shapes of each size are enough to be timed
SHAPES = ((1_000_000, 50), (10_000_000, 50), (1_000_000, 784))


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


def overlapping(n_samples, n_features, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n_features), dtype=np.float32)
    second = rng.random(n_samples) < 0.35
    X[:, 0] *= 3.0
    X[second, 1:4] += 2.0
    X[second, 4:8] *= 0.5
    return X


def timed_fit(X, n_clusters, wait):
    model = MaximinSeparationClustering(n_clusters, random_state=0)
    begin = time.perf_counter()
    model.fit(X)
    wait()
    return model, time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    found = list(devices())
    if not found:
        print("skipped: no GPU array library with a device was found")
        return
    for n_samples, n_features in SHAPES:
        X = overlapping(n_samples, n_features)
        print(f"\n{n_samples:,} x {n_features} float32")
        local, _ = timed_fit(X, 2, lambda: None)
        here = statistics.median(
            timed_fit(X, 2, lambda: None)[1] for _ in range(arguments.repeats)
        )
        print(f"  {'NumPy':12} fit {here:7.3f} s, {local.n_iter_} iterations")
        for name, move, wait in found:
            with sklearn.config_context(array_api_dispatch=True):
                Z = move(X)
                wait()
                remote, _ = timed_fit(Z, 2, wait)
                there = statistics.median(
                    timed_fit(Z, 2, wait)[1] for _ in range(arguments.repeats)
                )
                labels = remote.labels_.get() if name == "cupy" else remote.labels_.cpu().numpy()
            differ = np.mean(labels != local.labels_)
            print(
                f"  {name:12} fit {there:7.3f} s, {remote.n_iter_} iterations, "
                f"{here / there:6.1f} x NumPy, {differ:.2e} of the labels differ"
            )
            del Z, remote


if __name__ == "__main__":
    main()
