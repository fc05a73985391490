"""
A few known labels
==================

Ones and eights are the pair of digits that is hardest to tell apart without labels. Some of the
images have known digits. The clusters always keep these labels, and the boundary follows. The
curve counts errors among the other images only.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from separatrix import MaximumMarginClustering
from separatrix.metrics import clustering_error

images, digits = load_digits(return_X_y=True)
pair = np.isin(digits, (1, 8))
images, digits = images[pair], (digits[pair] == 8).astype(int)
order = np.random.default_rng(0).permutation(len(images))
counts = (0, 10, 20, 40, 80)
errors = []
for count in counts:
    known = np.full(len(images), -1)
    known[order[:count]] = digits[order[:count]]
    model = MaximumMarginClustering(2, kernel="linear").fit(images, known_labels=known)
    unseen = order[count:]
    errors.append(clustering_error(digits[unseen], model.labels_[unseen]))
figure, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
ax.plot(counts, errors, "o-")
ax.set(xlabel="known labels", ylabel="share of the others in error", ylim=(0, None))
