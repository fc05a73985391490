"""
The plane that tells clusters apart
===================================

The wines as they were measured: proline is in the hundreds, and k-means hardly uses anything else.
`LDAKMeans` looks for clusters and for the plane that separates them at the same time. Without
regularisation the criterion does not depend on units; it takes several starts to find its maximum.
"""

import matplotlib.pyplot as plt
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score

from separatrix import LDAKMeans

wines, regions = load_wine(return_X_y=True)
kmeans = KMeans(3, n_init=10, random_state=0).fit(wines)
model = LDAKMeans(3, reg=0.0, n_init=20).fit(wines)
for name, labels in (("k-means", kmeans.labels_), ("LDA-k-means", model.labels_)):
    print(f"{name}: adjusted Rand index {adjusted_rand_score(regions, labels):.2f}")

# %%
figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
axes[0].scatter(wines[:, 12], wines[:, 4], c=kmeans.labels_, cmap="viridis", s=18)
axes[0].set(xlabel="proline", ylabel="magnesium", title="KMeans cuts along proline")
axes[1].scatter(*(wines @ model.components_.T).T, c=model.labels_, cmap="viridis", s=18)
axes[1].set(xlabel="first component", ylabel="second component", title="LDAKMeans: its plane")
