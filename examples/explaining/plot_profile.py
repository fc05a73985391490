"""
Clusters in words and rules
===========================

`profile` says what is typical of each cluster, in the units of the table. `explain` finds short
rules that describe each cluster, and tests them on held-back rows.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import MaximinSeparationClustering, explain, profile

wines = load_wine(as_frame=True).data
model = make_pipeline(StandardScaler(), MaximinSeparationClustering(3)).fit(wines)
labels = model.predict(wines)
print(profile(wines, labels))

# %%
# The rules, with the share of the rows they cover that belong to the cluster.
found = explain(model, wines).to_frame("clusters")
print(found.to_string())

# %%
# The two features that the rules name most.
figure, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
for cluster in range(3):
    ax.scatter("proline", "flavanoids", data=wines[labels == cluster], s=18, label=str(cluster))
ax.set(xlabel="proline", ylabel="flavanoids")
ax.legend(title="cluster")
