"""
Clusters of equal or given sizes
================================

Three teams of fifty flowers each, or one team with half of them: least-squares clustering keeps
the sizes given by `shares`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from separatrix import RegularizedLeastSquaresClustering
from separatrix.plots import BoundaryDisplay

petals = load_iris(as_frame=True).data[["petal length (cm)", "petal width (cm)"]]
figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
for ax, shares in zip(axes, ("free", "equal", [0.5, 0.25, 0.25]), strict=True):
    model = RegularizedLeastSquaresClustering(3, shares=shares).fit(petals)
    BoundaryDisplay.from_estimator(model, petals, ax=ax)
    ax.set_title(f"shares={shares!r}\n{np.bincount(model.labels_)}", fontsize="medium")
