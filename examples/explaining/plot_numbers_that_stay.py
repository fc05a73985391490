"""
Numbers that stay from fit to fit
=================================

Clusters are numbered by size, so a fit to other rows may number them differently. `align_labels`
gives the clusters of a new fit the numbers that agree best with the earlier ones.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from separatrix import MaximinSeparationClustering, align_labels

wines, regions = load_wine(return_X_y=True)
wines = scale(wines)
before = MaximinSeparationClustering(3).fit(wines)
later = wines[35:]  # most wines of the first region are gone
again = MaximinSeparationClustering(3).fit(later)
aligned = align_labels(before.predict(later), again.labels_)

figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained", sharey=True)
pictures = {
    "before": (wines, before.labels_),
    "refit": (later, again.labels_),
    "refit, numbers aligned": (later, aligned),
}
for ax, (title, (X, labels)) in zip(axes, pictures.items(), strict=True):
    for cluster in range(3):
        ax.scatter(*X[labels == cluster][:, [12, 6]].T, s=18, label=str(cluster))
    ax.set(title=title, xlabel="proline, scaled")
axes[0].set_ylabel("flavanoids, scaled")
axes[0].legend(title="cluster")
