"""
The unit of one feature
=======================

The alcohol of wines can be given in percent or in parts per thousand. In k-means a feature with
larger numbers matters more; maximin separation with its scale-invariant start returns the same
clusters in any unit.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import scale

from separatrix import MaximinSeparationClustering

wines = scale(load_wine().data)
factors = np.logspace(-2, 2, 17)
methods = {
    "KMeans": KMeans(3, n_init=10, random_state=0),
    "MaximinSeparationClustering": MaximinSeparationClustering(3, init="scale-invariant"),
}
figure, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
for name, method in methods.items():
    before = method.fit(wines).labels_
    same = []
    for factor in factors:
        changed = wines * np.where(np.arange(wines.shape[1]) == 0, factor, 1.0)
        same.append(adjusted_rand_score(before, method.fit(changed).labels_))
    ax.semilogx(factors, same, "o-", label=name)
ax.set(xlabel="alcohol multiplied by", ylabel="agreement with before")
ax.legend()
