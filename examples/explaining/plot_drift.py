"""
Do new rows fall into clusters as before?
=========================================

A model of last year's tumours is applied to new ones: first a random part of the same table, then
a part with few small tumours. A test says whether the change is more than chance.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from separatrix import MaximinSeparationClustering
from separatrix.metrics import assignment_drift

tumours = load_breast_cancer(as_frame=True).data
fit, new = train_test_split(tumours, test_size=0.4, random_state=0)
model = MaximinSeparationClustering(2, init="scale-invariant").fit(fit)
large = new["mean radius"] > new["mean radius"].median()
batches = {"random": new, "few small ones": new[large | (np.arange(len(new)) % 4 == 0)]}

figure, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
for name, batch in {"fit": fit, **batches}.items():
    ax.bar(name, np.mean(model.predict(batch) == 1))
    if name != "fit":
        print(f"{name}: {assignment_drift(model, batch).words}")
ax.set_ylabel("share of cluster 1")
