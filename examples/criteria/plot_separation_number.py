"""
A number for how separate
=========================

The separation probability is found without labels. Among tasks of the same kind it shows which are
easy: each dot is a pair of digits, divided into two clusters.
"""

from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from separatrix import MaximinSeparationClustering
from separatrix.metrics import clustering_error

images, digits = load_digits(return_X_y=True)
separation, error = [], []
for pair in combinations(range(10), 2):
    chosen = np.isin(digits, pair)
    model = MaximinSeparationClustering(2).fit(images[chosen])
    separation.append(model.separation_probability_)
    error.append(clustering_error(digits[chosen], model.labels_))
figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
ax.plot(separation, error, "o", alpha=0.7)
ax.set(xlabel="separation probability, no labels used", ylabel="share of images in error")
ax.set_title(f"correlation {np.corrcoef(separation, error)[0, 1]:.2f}", fontsize="medium")
