"""
Straight and curved boundaries
==============================

One method, three kernels. The linear kernel gives weights that you can read; the narrower a
Gaussian kernel, the more its boundary bends. The images are those of three digits, in the plane of
their first two principal components.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from separatrix import MaximumMarginClustering
from separatrix.plots import BoundaryDisplay

images, digits = load_digits(return_X_y=True)
plane = PCA(2, random_state=0).fit_transform(images[digits < 3])
kernels = {
    "linear": {"kernel": "linear"},
    "Gaussian, wide": {"gamma": ("mean", 2.0)},
    "Gaussian, narrow": {"gamma": ("mean", 0.5)},
}
figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
for ax, (name, params) in zip(axes, kernels.items(), strict=True):
    model = MaximumMarginClustering(3, **params).fit(plane)
    BoundaryDisplay.from_estimator(model, plane, ax=ax)
    ax.set_title(name, fontsize="medium")
