"""
Watching the objective
======================

Two solvers of the separation criterion on the images of six digits. "mpm" maximises the criterion
itself, "gep" a lower bound that favours clusters of equal size. The bound never falls; the
criterion may, and then the best labels are returned.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from separatrix import MaximinSeparationClustering
from separatrix.plots import HistoryDisplay

images, digits = load_digits(return_X_y=True)
images = images[digits < 6]
figure, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
for solver in ("mpm", "gep"):
    model = MaximinSeparationClustering(2, solver=solver).fit(images)
    HistoryDisplay.from_estimator(model, name=f"solver={solver!r}", ax=ax)
