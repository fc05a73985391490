"""Speed and memory of maximin separation clustering, as ratios measured in one run.

Three questions, at 1,000,000 x 50 and at 10,000,000 x 20: what an iteration costs in products of
X with a vector, what a whole fit costs in fits of scikit-learn's KMeans(n_init=1), and how much
memory a fit needs beyond X. Every timing is the median of several runs that take turns.
"""

import argparse
import time

import numpy as np
from gauges import peak_bytes, seconds
from sklearn.cluster import KMeans

from separatrix import MaximinSeparationClustering

# What the project promises; the measured ratios are printed beside these.
ITERATION_LIMIT = 1.3
FIT_LIMIT = 1.0
MEMORY_LIMIT = 1.2


def overlapping_clusters(n_samples, n_features, seed=0):
    """Two overlapping Gaussians of unequal size, shape and spread, so that k-means is off."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n_features))
    second = rng.random(n_samples) < 0.35
    X[:, 0] *= 3.0  # much variance across the boundary's own direction
    X[second, 1:4] += 2.0
    X[second, 4:8] *= 0.5
    return X


class IterationClock:
    """Callback that notes the seconds of each iteration."""

    def __init__(self):
        self.seconds = []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        if context.task_name == "iteration":
            self._begin = time.perf_counter()

    def on_fit_task_end(self, estimator, context):
        if context.task_name == "iteration":
            self.seconds.append(time.perf_counter() - self._begin)


def measure(n_samples, n_features, repeats):
    X = overlapping_clusters(n_samples, n_features)
    w = np.random.default_rng(1).standard_normal(n_features)
    products, fits, kmeans, iterations = [], [], [], []
    for _ in range(repeats):
        products += [seconds(lambda: X @ w) for _ in range(5)]
        clock = IterationClock()
        model = MaximinSeparationClustering(random_state=0).set_callbacks(clock)
        fits.append(seconds(lambda model=model: model.fit(X)))
        iterations.append(clock.seconds)
        kmeans.append(seconds(lambda: KMeans(2, n_init=1, random_state=0).fit(X)))
    memory = peak_bytes(lambda: MaximinSeparationClustering(random_state=0).fit(X))
    product = np.median(products)
    # early iterations move more rows than late ones: the mean over a fit counts both
    per_iteration = np.median(iterations, axis=0)
    print(
        f"\n{n_samples:,} x {n_features} float64, {repeats} runs, {model.n_iter_} iterations each"
    )
    print(f"  X @ w                    {product:8.4f} s")
    report("iteration / (X @ w)", np.mean(per_iteration) / product, ITERATION_LIMIT)
    print("    seconds of each: " + " ".join(f"{spent:.4f}" for spent in per_iteration))
    report("fit / KMeans(n_init=1)", np.median(fits) / np.median(kmeans), FIT_LIMIT)
    print(f"    fit {np.median(fits):.2f} s, KMeans {np.median(kmeans):.2f} s")
    if memory is not None:
        report("peak memory beyond X / X", memory / X.nbytes, MEMORY_LIMIT)


def report(what, ratio, limit):
    verdict = "ok" if ratio <= limit else "MISSED"
    print(f"  {what:24s} {ratio:8.2f}   limit {limit:.1f}   {verdict}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    arguments = parser.parse_args()
    shrink = 10 if arguments.quick else 1
    for n_samples, n_features in ((1_000_000, 50), (10_000_000, 20)):
        measure(n_samples // shrink, n_features, arguments.repeats)


if __name__ == "__main__":
    main()
