"""
A table with categories
=======================

Patients of the diabetes study, with a category among the numbers. `TablePreparer` turns a data
frame into numbers, gives all columns the same weight however many features they become, and says
what it did. `cluster_findings` warns if one column determines the clusters by itself.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.pipeline import make_pipeline

from separatrix import MaximinSeparationClustering, profile
from separatrix.tables import TablePreparer, cluster_findings

patients = load_diabetes(as_frame=True, scaled=False).data
patients["sex"] = patients["sex"].map({1.0: "first", 2.0: "second"})
model = make_pipeline(TablePreparer(), MaximinSeparationClustering(2)).fit(patients)
labels = model.predict(patients)
print(profile(patients, labels))
print(cluster_findings(model[0], patients, labels))

# %%
figure, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
for cluster in range(2):
    ax.scatter("s3", "s4", data=patients[labels == cluster], s=14, alpha=0.7, label=str(cluster))
ax.set(xlabel="s3, HDL cholesterol", ylabel="s4, total cholesterol over HDL")
ax.legend(title="cluster")
