"""
Are there clusters at all?
==========================

Every method returns clusters, whatever the data. `structure_test` draws tables like yours that
have no clusters, clusters these too, and says how often they look as good. A small p-value is
evidence of clusters. The test finds none in the diabetes table, and none in tables whose columns
were shuffled one by one.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.preprocessing import scale

from separatrix import MaximinSeparationClustering
from separatrix.metrics import structure_test


def shuffled(X, rng):
    """The table without its structure: each column in an order of its own."""
    return np.column_stack([rng.permutation(column) for column in X.T])


method = MaximinSeparationClustering(3)
rng = np.random.default_rng(0)
tables = {"diabetes": load_diabetes, "wine": load_wine, "iris": load_iris}
figure, ax = plt.subplots(figsize=(6.4, 3), layout="constrained")
for name, load in tables.items():
    X = scale(load().data)
    found = structure_test(X, method, n_draws=8)
    chance = structure_test(shuffled(X, rng), method, n_draws=8)
    print(f"{name}: {found.words}")
    ax.plot(max(chance.p_value, 1e-4), name, "o", color="0.6", label="columns shuffled")
    ax.plot(max(found.p_value, 1e-4), name, "D", color="C0", label="the table")
ax.axvline(found.level, color="0.6", linestyle=":")
ax.set(xscale="log", xlim=(5e-5, 1.5), xlabel="p-value, at least 0.0001")
ax.legend(*(entries[:2] for entries in ax.get_legend_handles_labels()), loc="center")
