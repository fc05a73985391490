"""
What separates the clusters
===========================

A linear boundary has a weight for each feature. Multiplied by the standard deviation of the
feature, weights are comparable across units: they say how far a typical change moves a row towards
the other cluster.
"""

from sklearn.datasets import load_breast_cancer

from separatrix import MaximinSeparationClustering
from separatrix.plots import WeightsDisplay

tumours = load_breast_cancer(as_frame=True).data
model = MaximinSeparationClustering(2, init="scale-invariant").fit(tumours)
WeightsDisplay.from_estimator(model, tumours, max_features=10)
