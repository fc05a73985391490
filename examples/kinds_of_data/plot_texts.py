"""
Texts
=====

The docstrings of three parts of SciPy are texts that need no download. Words become sparse tf-idf
weights, cutting planes cluster them in time linear in the entries, and the heaviest words name
each cluster.
"""

import inspect

import matplotlib.pyplot as plt
import numpy as np
import scipy
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfVectorizer
from sklearn.metrics import adjusted_rand_score

from separatrix import CuttingPlaneMarginClustering

parts = ("linalg", "ndimage", "stats")
texts, topics = [], []
for part in parts:
    module = getattr(scipy, part)
    for name in sorted(module.__all__):
        function = getattr(module, name)
        if inspect.isroutine(function) and len(inspect.getdoc(function) or "") > 500:
            texts.append(inspect.getdoc(function))
            topics.append(part)

names = [*ENGLISH_STOP_WORDS, "scipy", *parts]  # which would give the topic away
words = TfidfVectorizer(
    stop_words=names, token_pattern="[a-z]{3,}", min_df=5, max_df=0.5, sublinear_tf=True
)
X = words.fit_transform(texts)
model = CuttingPlaneMarginClustering(3).fit(X)
score = adjusted_rand_score(topics, model.labels_)
print(f"{X.shape[0]} texts of {X.shape[1]} words, adjusted Rand index with the parts {score:.2f}")

# %%
# A score for each cluster is linear in the words, so the largest weights name it.
figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained")
vocabulary = words.get_feature_names_out()
for cluster, ax in enumerate(axes):
    heaviest = np.argsort(model.coef_[cluster])[-8:]
    ax.barh(vocabulary[heaviest], model.coef_[cluster, heaviest])
    ax.set_title(f"cluster {cluster}")
