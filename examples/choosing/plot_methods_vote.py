"""
Let methods vote
================

Methods of different kinds make different errors, so what they agree on is likely to be real.
`AutoClustering` runs them, takes their consensus and says how far they agree.
"""

from sklearn.datasets import load_iris

from separatrix import AutoClustering
from separatrix.plots import AgreementDisplay

flowers = load_iris().data
model = AutoClustering(n_clusters=3).fit(flowers)
print(f"agreement {model.agreement_:.2f}: {model.agreement_words_}")

# %%
# The agreement of each pair of candidates; those with the most votes come first.
AgreementDisplay.from_comparison(model.candidates_)
