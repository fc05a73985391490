"""
Outliers are no clusters
========================

Ten impossible flowers are added to iris. k-means gives them a cluster of their own; the tree cut
requires large enough parts on both sides of a cut, and leaves them with the nearest flowers.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris

from separatrix import TreeCutClustering

petals = load_iris().data[:, 2:]
wrong = np.random.default_rng(0).uniform([11, 5], [14, 8], size=(10, 2))
X = np.vstack([petals, wrong])
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
for ax, method in zip(axes, (KMeans(2, n_init=10), TreeCutClustering(2)), strict=True):
    ax.scatter(*X.T, c=method.fit_predict(X), cmap="viridis", s=18)
    ax.set(title=type(method).__name__, xlabel="petal length (cm)")
axes[0].set_ylabel("petal width (cm)")
