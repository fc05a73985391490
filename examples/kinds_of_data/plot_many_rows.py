"""
Many rows
=========

All pixels of a photograph, more and more of them, on this machine. Starts and first iterations use
a sample of the rows, so few passes over all of them remain.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_sample_image

from separatrix import CuttingPlaneMarginClustering, MaximinSeparationClustering

pixels = load_sample_image("china.jpg").reshape(-1, 3).astype(float)
pixels = np.random.default_rng(0).permutation(pixels)
methods = {
    "KMeans(n_init=10)": KMeans(2, n_init=10, random_state=0),
    "CuttingPlaneMarginClustering": CuttingPlaneMarginClustering(2),
    "MaximinSeparationClustering": MaximinSeparationClustering(2),
}
numbers = [len(pixels) // part for part in (64, 16, 4, 1)]
figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for name, method in methods.items():
    method.fit(pixels[:1000])  # what is compiled at a first fit is not counted
    seconds = []
    for number in numbers:
        begin = time.perf_counter()
        method.fit(pixels[:number])
        seconds.append(time.perf_counter() - begin)
    ax.loglog(numbers, seconds, "o-", label=name)
ax.set(xlabel="rows", ylabel="seconds")
ax.legend()
