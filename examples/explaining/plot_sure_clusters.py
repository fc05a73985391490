"""
Sizes, and how sure each cluster is
===================================

One block for each cluster, as high as its number of rows, with the most certain rows on top. A
full block is a distinct cluster; one that thins out overlaps with its neighbours.
"""

from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from separatrix import MaximinSeparationClustering
from separatrix.plots import ClusterSizesDisplay

wines = StandardScaler().fit_transform(load_wine().data)
model = MaximinSeparationClustering(3).fit(wines)
ClusterSizesDisplay.from_estimator(model, wines)
