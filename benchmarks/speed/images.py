"""Speed of the segmentation of photographs, as a ratio measured in one run.

What the split of a photograph's colours in two costs in fits of scikit-learn's KMeans(n_init=10)
on the same pixels. Every timing is the median of several runs that take turns.
"""

import argparse
import time

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_sample_image

from separatrix import segment_image

# What the project promises; the measured ratios are printed beside this.
LIMIT = 3.0


def seconds(function):
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


def measure(name, repeats):
    image = load_sample_image(name)
    pixels = image.reshape(-1, image.shape[2]).astype(np.float64)
    ours, kmeans = [], []
    for _ in range(repeats):
        ours.append(seconds(lambda: segment_image(image, 2)))
        kmeans.append(seconds(lambda: KMeans(2, n_init=10, random_state=0).fit(pixels)))
    n_colors = len(np.unique(pixels, axis=0))
    print(f"\n{name}: {len(pixels):,} pixels of {n_colors:,} colours, {repeats} runs")
    report("segments / KMeans(n_init=10)", np.median(ours) / np.median(kmeans), LIMIT)
    print(f"    segments {np.median(ours):.2f} s, KMeans {np.median(kmeans):.2f} s")


def report(what, ratio, limit):
    verdict = "ok" if ratio <= limit else "MISSED"
    print(f"  {what:28s} {ratio:8.2f}   limit {limit:.1f}   {verdict}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    arguments = parser.parse_args()
    for name in ("china.jpg", "flower.jpg"):
        measure(name, arguments.repeats)


if __name__ == "__main__":
    main()
