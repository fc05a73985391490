"""
Let methods vote
================

Methods of different kinds err in different ways, so what they find in common is likely to be
there. `AutoClustering` runs them, takes their consensus and says how far they agree.
"""

from sklearn.datasets import load_iris

from separatrix import AutoClustering
from separatrix.plots import AgreementDisplay

flowers = load_iris().data
model = AutoClustering(n_clusters=3).fit(flowers)
print(f"agreement {model.agreement_:.2f}: {model.agreement_words_}")

# %%
# Who agrees with whom: the candidates that hold the most votes come first.
AgreementDisplay.from_comparison(model.candidates_)
