"""
Probabilities of clusters
=========================

Information maximisation trains a softmax classifier without labels, so it has probabilities for
each cluster. The darker a flower, the more certain its cluster; the least certain flowers are
between the two species that overlap.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

from separatrix import InformationMaximizationClustering

petals, species = load_iris(return_X_y=True)
petals = petals[:, 2:]
model = InformationMaximizationClustering(3, kernel="rbf").fit(petals)
surest = model.predict_proba(petals).max(axis=1)

figure, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
for kind, marker in enumerate("os^"):
    chosen = species == kind
    points = ax.scatter(
        *petals[chosen].T, c=surest[chosen], marker=marker, vmin=1 / 3, vmax=1, cmap="cividis_r"
    )
figure.colorbar(points, label="probability of the likeliest cluster")
ax.set(xlabel="petal length (cm)", ylabel="petal width (cm)")
ax.set_title("markers are the species, which the model did not see", fontsize="medium")
