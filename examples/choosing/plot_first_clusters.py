"""
First clusters
==============

Cluster a table, look at the boundary, and assign rows that come later. The wines were measured on
thirteen scales, so a pipeline standardises them first.
"""

from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import MaximinSeparationClustering
from separatrix.plots import BoundaryDisplay

wines = load_wine(as_frame=True).data
today, tomorrow = train_test_split(wines, test_size=30, random_state=0)
model = make_pipeline(StandardScaler(), MaximinSeparationClustering(n_clusters=2)).fit(today)
print("clusters of tomorrow's wines:", model.predict(tomorrow))

# %%
# The boundary is a hyperplane in thirteen dimensions. The picture shows it edge-on, as a line; the
# second axis is the direction along it in which the wines vary most.
scaled = model[0].set_output(transform="pandas").transform(today)
BoundaryDisplay.from_estimator(model[-1], scaled)
