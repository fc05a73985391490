"""
How even the clusters are
=========================

In the margin criterion, `balance` bounds the difference in size of two clusters, as a share of all
rows. It affects the answer: two of three tumours here are benign, so a tight balance must put some
of them on the other side.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from separatrix import MaximumMarginClustering
from separatrix.metrics import clustering_error

X, malignant = load_breast_cancer(return_X_y=True)
X = scale(X)
balances = (0.02, 0.1, 0.2, 0.3, 0.4)
sizes, errors = [], []
for balance in balances:
    model = MaximumMarginClustering(2, loss="square", balance=balance).fit(X)
    sizes.append(np.bincount(model.labels_))
    errors.append(clustering_error(malignant, model.labels_))
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
left.plot(balances, sizes, "o-")
left.set(xlabel="balance", ylabel="rows in each cluster", ylim=(0, None))
right.plot(balances, errors, "o-", color="0.3")
right.set(xlabel="balance", ylabel="share of rows in error", ylim=(0, None))
