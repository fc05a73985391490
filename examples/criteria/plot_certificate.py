"""
A bound on what any labels can reach
====================================

The semidefinite relaxation of the margin criterion has one optimum, which the solver bounds from
both sides. `gap_` is a certificate: no balanced labels can have an objective below `objective_` by
more than this share. Local searches have no such bound.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from separatrix import SemidefiniteMarginClustering
from separatrix.plots import HistoryDisplay

wines = scale(load_wine().data)[::2]
figure, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
for balance in (0.1, 0.5):
    model = SemidefiniteMarginClustering(2, balance=balance).fit(wines)
    bound = model.objective_ * (1 - model.gap_)
    print(f"balance={balance}: the objective of any labels is at least {bound:.3f}")
    HistoryDisplay.from_estimator(model, name=f"balance={balance}", ax=ax)
