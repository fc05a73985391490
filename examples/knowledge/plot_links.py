"""
Pairs that belong together
==========================

Six flowers near the border are known to be of the same kind as another flower; lines show these
links. `must_link` always moves them to its cluster. The boundary follows only as far as the method
allows: links are about rows, not about places. `cannot_link` does the opposite.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from separatrix import MaximumMarginClustering
from separatrix.plots import BoundaryDisplay

petals, species = load_iris(return_X_y=True)
petals, species = petals[50:, 2:], species[50:]  # the two species that overlap
free = MaximumMarginClustering(2, kernel="linear").fit(petals)
wrong = np.flatnonzero(free.labels_ != species - 1)[:6]
sure = np.flatnonzero(free.labels_ == species - 1)
together = [[row, sure[species[sure] == species[row]][0]] for row in wrong]
linked = MaximumMarginClustering(2, kernel="linear").fit(petals, must_link=together)

figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for ax, model, title in zip(axes, (free, linked), ("no links", "six links"), strict=True):
    BoundaryDisplay.from_estimator(model, petals, ax=ax)
    for pair in together:
        ax.plot(*petals[pair].T, color="0.3", linewidth=0.8)
    ax.set(title=title, xlabel="petal length (cm)", ylabel="petal width (cm)")
