"""
Which clusters return?
======================

Cluster many halves of the data, and count for each pair of rows how often it ends up together.
Square blocks are clusters that do not depend on which rows were drawn; a blurred edge shows where
clusters meet.
"""

import numpy as np
from sklearn.datasets import load_iris

from separatrix import MaximumMarginClustering
from separatrix.plots import CoassociationDisplay

flowers = load_iris().data
rng = np.random.default_rng(0)
labellings = []
for _ in range(20):
    half = rng.choice(len(flowers), size=len(flowers) // 2, replace=False)
    model = MaximumMarginClustering(3, kernel="linear", balance=0.3).fit(flowers[half])
    labellings.append(model.predict(flowers))
CoassociationDisplay.from_labels(labellings)
