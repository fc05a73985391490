"""
Clusters of any shape
=====================

Handwritten digits lie along bent sheets in the space of their pixels. A graph of nearest
neighbours follows these sheets, and maximum volume clustering finds them as clusters. Every image
has a response: its sign is the cluster, its size the confidence.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from separatrix import MaximumVolumeClustering
from separatrix.metrics import clustering_error

images, digits = load_digits(return_X_y=True)
pair = np.isin(digits, (3, 9))
images, digits = images[pair], digits[pair]
kmeans = KMeans(2, n_init=10, random_state=0).fit(images)
model = MaximumVolumeClustering(2).fit(images)
print(f"share of images in error: k-means {clustering_error(digits, kmeans.labels_):.3f}")
print(f"maximum volume {clustering_error(digits, model.labels_):.3f}")

# %%
# Responses near zero belong to images between the clusters.
responses = model.decision_function(images)
figure, ax = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
for digit in (3, 9):
    ax.hist(responses[digits == digit], bins=40, alpha=0.7, label=f"images of a {digit}")
ax.set(xlabel="response", ylabel="images")
ax.legend()
