"""Clustering of GPU arrays beside NumPy: the same labels, and how much faster.

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
from sklearn.base import clone

import separatrix
from separatrix import MaximinSeparationClustering, MaximumMarginClustering

ESTIMATORS = {
    "maximin separation": MaximinSeparationClustering(random_state=0),
    "maximum margin, square": MaximumMarginClustering(
        kernel="linear", loss="square", C=1.0, random_state=0
    ),
    "maximum margin, laplacian": MaximumMarginClustering(kernel="linear", C=1.0, random_state=0),
}
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


def timed_fit(estimator, X, wait):
    model = clone(estimator)
    begin = time.perf_counter()
    model.fit(X)
    wait()
    return model, time.perf_counter() - begin


def median_fit(estimator, X, wait, repeats):
    """A fitted model, and the median seconds of further fits."""
    model, _ = timed_fit(estimator, X, wait)
    return model, statistics.median(timed_fit(estimator, X, wait)[1] for _ in range(repeats))


def compare(name, estimator, X, found, repeats):
    local, here = median_fit(estimator, X, lambda: None, repeats)
    print(f"  {name:26} {'NumPy':12}{here:8.3f} s, {local.n_iter_} iterations", flush=True)
    for device, move, wait in found:
        with sklearn.config_context(array_api_dispatch=True):
            Z = move(X)
            wait()
            remote, there = median_fit(estimator, Z, wait, repeats)
            labels = remote.labels_.get() if device == "cupy" else remote.labels_.cpu().numpy()
        differ = np.mean(labels != local.labels_)
        print(
            f"  {'':26} {device:12}{there:8.3f} s, {remote.n_iter_} iterations, "
            f"{here / there:6.1f} x NumPy, {differ:.1e} of the labels differ",
            flush=True,
        )
        del Z, remote


def agreement(found, n_samples=20_000, n_features=20):
    """What every clusterer makes of device arrays: the labels of NumPy, or an error in a line."""
    X = overlapping(n_samples, n_features)
    X[: n_samples // 3, 8:12] += 3.0
    print(
        f"\nevery clusterer at its defaults, three clusters, {n_samples:,} x {n_features} float32"
    )
    for public, entry in separatrix._REGISTRY.items():
        if entry.short_name is None:
            continue
        estimator = getattr(separatrix, public)(3, random_state=0)
        local = None
        for device, move, _ in found:
            try:
                with sklearn.config_context(array_api_dispatch=True):
                    model = clone(estimator).fit(move(X))
            except TypeError as error:
                print(f"  {public:40} {device:12} refused: {error}", flush=True)
                continue
            local = local or clone(estimator).fit(X)
            labels = model.labels_.get() if device == "cupy" else model.labels_.cpu().numpy()
            same = np.mean(labels == local.labels_)
            print(f"  {public:40} {device:12} {same:.4%} of the labels are equal", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--agreement", action="store_true", help="labels of all, no times")
    arguments = parser.parse_args()
    found = list(devices())
    if not found:
        print("skipped: no GPU array library with a device was found")
        return
    agreement(found)
    if arguments.agreement:
        return
    for n_samples, n_features in SHAPES:
        X = overlapping(n_samples, n_features)
        print(f"\n{n_samples:,} x {n_features} float32", flush=True)
        for name, estimator in ESTIMATORS.items():
            compare(name, estimator, X, found, arguments.repeats)


if __name__ == "__main__":
    main()
