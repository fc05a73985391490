"""
Sizes, and how sure each cluster is
===================================

One block for each cluster, as high as it has rows, sorted by how sure these are. A full block is a
cluster of its own; one that thins out reaches into its neighbours.
"""

from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from separatrix import MaximinSeparationClustering
from separatrix.plots import ClusterSizesDisplay

wines = StandardScaler().fit_transform(load_wine().data)
model = MaximinSeparationClustering(3).fit(wines)
ClusterSizesDisplay.from_estimator(model, wines)
