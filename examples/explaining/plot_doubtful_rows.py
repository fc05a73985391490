"""
Rows in doubt
=============

Margins show which images lie deep inside their cluster and which are close to another. The second
row shows the images to check by hand.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from separatrix import MaximumMarginClustering
from separatrix.plots import MarginDistributionDisplay

images, digits = load_digits(return_X_y=True)
images = images[np.isin(digits, (3, 8))]
model = MaximumMarginClustering(2, kernel="linear").fit(images)
margins = np.abs(model.decision_function(images))
MarginDistributionDisplay.from_estimator(model, images)

# %%
order = np.argsort(margins)
figure, axes = plt.subplots(2, 10, figsize=(9, 2.4), layout="constrained")
rows = {"typical": order[::-1][:10], "in doubt": order[:10]}
for line, (name, chosen) in zip(axes, rows.items(), strict=True):
    for ax, row in zip(line, chosen, strict=True):
        ax.imshow(images[row].reshape(8, 8), cmap="gray_r")
        ax.set(xticks=[], yticks=[])
        ax.set_title(f"cluster {model.labels_[row]}", fontsize="x-small")
    line[0].set_ylabel(name)
