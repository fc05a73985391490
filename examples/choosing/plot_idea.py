"""
Clusters by their boundary
==========================

The same flowers, divided in three ways. The line is the hyperplane that best separates the two
sides of each division. Its separation probability is the share of each side that it separates in
the worst case. Discriminative clustering takes the division whose boundary separates best.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from separatrix import MaximinSeparationClustering, MinimaxProbabilityMachine
from separatrix.metrics import separation_probability_score
from separatrix.plots.colors import cluster_color, cluster_marker

PAPER, INK = {"light": "white", "dark": "#14181e"}, {"light": "#22303c", "dark": "#ced6dd"}


def draw(ax, X, labels, title, ink):
    """A division, and the hyperplane that tells its sides apart best."""
    machine = MinimaxProbabilityMachine(reg=0.1).fit(X, labels)
    corners = zip(X.min(axis=0) - 0.3, X.max(axis=0) + 0.3, strict=True)
    xs, ys = (np.linspace(low, high, 300) for low, high in corners)
    grid = np.stack(np.meshgrid(xs, ys), axis=-1)
    values = machine.decision_function(grid.reshape(-1, 2)).reshape(300, 300)
    sides = [cluster_color(0), cluster_color(1)]
    ax.contourf(xs, ys, values, levels=[-np.inf, 0, np.inf], colors=sides, alpha=0.15)
    ax.contour(xs, ys, values, levels=[0], colors=ink, linewidths=2)
    for cluster in (0, 1):
        marker, color = cluster_marker(cluster), cluster_color(cluster)
        ax.scatter(*X[labels == cluster].T, s=9, marker=marker, color=color, linewidths=0)
    share = separation_probability_score(X, labels, reg=0.1)
    ax.set_title(f"{title}\nseparation {share:.2f}", fontsize=10, color=ink)
    ax.set(xticks=[], yticks=[])
    for side in ax.spines.values():
        side.set_color(ink)


def main(mode="light", path=None):
    X = load_iris().data[:, [2, 1]]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    divisions = {
        "by one feature": (X[:, 1] > 0).astype(int),
        "through a cluster": (X[:, 0] > np.median(X[:, 0]) + 0.2).astype(int),
        "by the best boundary": MaximinSeparationClustering(2).fit(X).labels_,
    }
    figure, axes = plt.subplots(1, 3, figsize=(6.6, 2.5), layout="constrained")
    figure.set_facecolor(PAPER[mode])
    for ax, (title, labels) in zip(axes, divisions.items(), strict=True):
        ax.set_facecolor(PAPER[mode])
        draw(ax, X, labels, title, INK[mode])
    if path is not None:
        figure.savefig(path, dpi=160)


if __name__ == "__main__":
    main(*sys.argv[1:3])
