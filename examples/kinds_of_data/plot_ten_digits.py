"""
Images: all ten digits
======================

Least-squares clustering finds ten clusters at once, with curved boundaries. The mean image of each
cluster shows what it holds; two digits may share a cluster, and a digit written in two ways may
have two.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from separatrix import RegularizedLeastSquaresClustering

images, digits = load_digits(return_X_y=True)
model = RegularizedLeastSquaresClustering(10, n_init=5).fit(images)
print(f"adjusted Rand index {adjusted_rand_score(digits, model.labels_):.2f}")

figure, axes = plt.subplots(2, 5, figsize=(8, 3.6), layout="constrained")
for cluster, ax in enumerate(axes.flat):
    members = model.labels_ == cluster
    ax.imshow(images[members].mean(axis=0).reshape(8, 8), cmap="gray_r")
    ax.set(xticks=[], yticks=[])
    most = np.bincount(digits[members]).argmax()
    ax.set_title(f"{members.sum()} images, most of a {most}", fontsize="x-small")
