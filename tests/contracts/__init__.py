"""What the test suites of other clusterers ask for, asked of all clusterers here.

The contracts are those of scikit-learn (`cluster` and `mixture`), k-means-constrained and hdbscan.
The code is our own. Samples are groups that lie far apart, whose clusters nobody doubts, unless a
contract holds for any samples.

| file | contract | asked for by the tests of |
|---|---|---|
| `test_labels.py` | `predict` of the training samples is `labels_`; types and shapes | KMeans |
| | `fit_predict` is `fit` and `labels_`; scores and probabilities agree | GaussianMixture |
| | the same seed gives the same model; arguments and models are left alone | KMeans |
| | a pickled model predicts the same | SpectralClustering |
| `test_samples.py` | single precision, whole numbers, Fortran order, lists | KMeans, HDBSCAN |
| | CSR, CSC and COO equal dense samples; `np.matrix` is refused | KMeans, SpectralClustering |
| | names of features; missing values are refused | all of scikit-learn |
| | units, origin and order of samples in separated groups do not matter | KMeans |
| `test_weights.py` | ones are no weights; zero is absence, two a repetition; scale | KMeans |
| `test_degenerate.py` | copies; fewer distinct points than clusters are told | KMeans |
| | one cluster, as many as samples, more than samples; one feature | KMeans, BisectingKMeans |
| `test_precomputed.py` | precomputed equals computed; functions as kernels | SpectralClustering |
| | not square, not symmetric, negative, missing: refused | AffinityPropagation, HDBSCAN |
| | equal similarities are told | AffinityPropagation |
| | parts of a graph that nothing connects are the clusters | HDBSCAN, hdbscan |
| `test_sizes.py` | bounds are kept; those that bind nothing change nothing | k-means-constrained |
| | bounds that no sizes meet are refused with the numbers | k-means-constrained |
| `test_starts.py` | every kind of start; more starts are never worse | KMeans, GaussianMixture |
| | wrong starts and limits are refused; too few iterations are told | KMeans |
| | jobs do not change the model | KMeans, k-means-constrained, MeanShift |

These contracts do not apply:

| contract | of the tests of | reason |
|---|---|---|
| `transform`, `fit_transform`, `score`, `inertia_` | KMeans | boundaries have no centres |
| centres as `init`, and their type and order | KMeans | a start is labels, or a rule |
| empty clusters are filled with far samples | KMeans | a missing cluster is told instead |
| `partial_fit`, mini batches, `verbose` | MiniBatchKMeans | dask arrays and callbacks instead |
| scaled weights give the same centres | KMeans | C weighs sums of losses: same groups only |
| likelihood, AIC, BIC, `sample`, warm starts | GaussianMixture | there is no density |
| `predict(X, size_min, size_max)` | k-means-constrained | a sample is predicted by itself |
| label -1 for outliers, NaN as an outlier | HDBSCAN, hdbscan | each sample has a cluster |
| distances as X, `min_samples`, trees of clusters | HDBSCAN, hdbscan | similarities instead |
| a graph in parts is refused | HDBSCAN | the parts are the clusters |
| preferences, damping, exemplars | AffinityPropagation | other parameters |
| pickles across versions, memory, processes | all | in `tests/golden` and `tests/common` |
"""
