"""
One unit changed
================

Two clusters, first with both features in metres, then with one of them in decimetres. KMeans
depends on the unit; maximin separation clustering with a scale-invariant start returns the same
clusters, and says how far apart they are.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from separatrix import MaximinSeparationClustering

INK, COLORS = "#22303c", ("#2a6f97", "#e07a3f")


def two_clusters(n_samples=400, seed=5):
    """Two clusters a clear gap apart in length, and a little apart in width."""
    rng = np.random.default_rng(seed)
    second = np.arange(n_samples) % 2
    length = 3.0 * second + rng.normal(0, 0.55, n_samples)
    width = 1.2 * second + 0.4 * length + rng.normal(0, 0.9, n_samples)
    return np.column_stack([length, width])


def draw(ax, X, model, title):
    labels = model.labels_
    low, high = X.min(axis=0), X.max(axis=0)
    pad = 0.06 * (high - low)
    xs, ys = (np.linspace(a - p, b + p, 500) for a, b, p in zip(low, high, pad, strict=True))
    grid = np.stack(np.meshgrid(xs, ys), axis=-1)
    regions = model.predict(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    ax.contourf(xs, ys, regions, levels=[-0.5, 0.5, 1.5], colors=COLORS, alpha=0.13)
    ax.contour(xs, ys, regions, levels=[0.5], colors=INK, linewidths=1.6)
    ax.scatter(*X.T, c=np.array(COLORS)[labels], s=13, linewidths=0)
    ax.set_title(title, loc="left", fontsize=10.5, color=INK)
    ax.set(xlim=xs[[0, -1]], ylim=ys[[0, -1]])
    ax.tick_params(labelsize=8, colors=INK)
    for side in ax.spines.values():
        side.set_color("#b8c0c8")


def main():
    metres = two_clusters()
    decimetres = metres * [1, 10]
    figure, axes = plt.subplots(2, 2, figsize=(8.4, 6.0), layout="constrained")
    for column, (X, unit) in zip(axes.T, [(metres, "m"), (decimetres, "dm")], strict=True):
        kmeans = KMeans(2, n_init=10, random_state=0).fit(X)
        ours = MaximinSeparationClustering(2, init="scale-invariant").fit(X)
        draw(column[0], X, kmeans, f"KMeans, width in {unit}")
        probability = ours.separation_probability_
        draw(column[1], X, ours, f"Maximin separation, width in {unit}: p = {probability:.2f}")
        column[1].set_xlabel("length (m)", fontsize=9, color=INK)
        for ax in column:
            ax.set_ylabel(f"width ({unit})", fontsize=9, color=INK)
    if len(sys.argv) > 1:  # a file to write
        figure.savefig(sys.argv[1], dpi=130)


if __name__ == "__main__":
    main()
