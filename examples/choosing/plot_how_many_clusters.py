"""
How many clusters?
==================

Without a number, `AutoClustering` tries up to ten clusters and gathers evidence for each number.
The data need not show the number of classes you know: two of the three species of iris overlap,
and the evidence is for two clusters.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import scale

from separatrix import AutoClustering

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained", sharey=True)
tables = {"wine, three regions": load_wine, "iris, three species": load_iris}
for ax, (name, load) in zip(axes, tables.items(), strict=True):
    model = AutoClustering().fit(scale(load().data))
    print(f"{name}: {model.n_clusters_words_}")
    ax.plot(*zip(*model.selection_curve_.items(), strict=True), "o-")
    ax.plot(model.n_clusters_, model.selection_curve_[model.n_clusters_], "o", ms=12, mfc="none")
    ax.set(title=name, xlabel="number of clusters")
axes[0].set_ylabel("evidence")
