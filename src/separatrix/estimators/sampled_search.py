"""Criteria whose search takes a kernel matrix: on all samples, or on some that speak for them."""

from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import assert_all_finite

from separatrix._sklearn import Interval, like, to_numpy
from separatrix.data.chunks import is_dask
from separatrix.data.memory import check_fits_memory
from separatrix.data.sampling import rows_at
from separatrix.estimators.kernel_features import KernelFeaturesMixin
from separatrix.labels.links import linked_labels
from separatrix.labels.numbering import renumbered
from separatrix.labels.offsets import balanced_offsets
from separatrix.models.boundaries import decoded
from separatrix.similarity.kernels import (
    KernelMap,
    centred_kernel,
    kernel_matrix,
    mean_of,
    normals_of,
)

__all__ = ["SEARCH_CONSTRAINTS", "SearchedMixin"]

# Samples that are searched where there are more than `n_search`.
LARGE_SEARCH = 2_000

SEARCH_CONSTRAINTS = {"n_search": [Interval(Integral, 2, None, closed="left")]}


class SearchedMixin(KernelFeaturesMixin):
    """Kernel matrix of the searched samples, and classifiers of all samples that come of it.

    Up to `n_search` samples are all searched. Beyond, a sample of them is, whose classifiers label
    the others. A problem has all samples as `X`, the searched ones as `rows`, which they are as
    `chosen`, None if all, and `links` of all samples or None.
    """

    n_clusters: int
    n_search: int
    _kernel_params_: dict
    _feature_map: Any

    def _searched(self, X, rng):
        """Samples that are searched exactly, and which they are; None if all."""
        chosen = self._drawn(X.shape[0], rng) if X.shape[0] > self.n_search else None
        rows = rows_at(X, chosen)
        if is_dask(X):  # other samples were checked at the door
            assert_all_finite(rows, input_name="X")
        return rows, chosen

    def _drawn(self, n_samples, rng):
        """The samples to search, where these are too many."""
        if self.kernel == "precomputed":
            raise ValueError(
                f"kernel='precomputed' needs n_search >= {n_samples}, the number of samples, got "
                f"{self.n_search}: the search cannot be extended without features."
            )
        size = min(self.n_search, LARGE_SEARCH)
        if size < self.n_clusters:
            raise ValueError(
                f"n_search={self.n_search} should be >= n_clusters={self.n_clusters}: of "
                f"{n_samples} samples only so many are searched."
            )
        return np.sort(rng.permutation(n_samples)[:size])

    def _kernel(self, rows, params):
        """Kernel matrix of searched samples; the linear one of centred samples."""
        check_fits_memory(rows.shape[0], remedy="use a smaller n_search")
        if self.kernel == "precomputed":
            return rows.astype(np.float64)
        if self.kernel == "linear":
            return np.asarray(centred_kernel(rows), dtype=np.float64)
        if self.kernel == "rbf" and not sp.issparse(rows):  # keeps the digits of distances
            rows = rows - rows.mean(axis=0)
        K = kernel_matrix(rows, rows, kernel=self.kernel, params=params)
        return np.asarray(K, dtype=np.float64)

    def _model_of_multipliers(self, rows, multipliers):
        """Weights and offsets of classifiers that are sums of the kernel at the searched rows."""
        self._feature_map = None
        if self.kernel == "linear":
            coef = normals_of(rows, multipliers)
            return coef, -coef @ mean_of(rows)
        self._feature_map = KernelMap.of(rows, kernel=self.kernel, params=self._kernel_params_)
        return multipliers.T, np.zeros(multipliers.shape[1])

    def _model_of_features(self, rows, fit):
        """Weights and offsets of classifiers that `fit` finds on low-rank features of the rows."""
        low_rank = self._kernel_map(rows, self._kernel_params_, max_rank=self.n_components)
        coef = fit(np.asarray(low_rank(rows), dtype=np.float64))
        # weights of kernel values at the landmarks spare every sample the way to its features
        self._feature_map = replace(low_rank, projection=None)
        return (low_rank.projection @ coef).T, np.zeros(coef.shape[1])

    def _sized(self, problem, boundaries, least, most):
        """Boundaries with offsets that keep cluster sizes, and labels that keep links as well."""
        scores = self._score_rows(problem.X, boundaries)
        if problem.links is None:
            columns = to_numpy(scores)
            columns = np.column_stack([-columns, columns]) if scores.ndim == 1 else columns
            offsets = balanced_offsets(columns, min_size=least, max_size=most).offsets
        else:
            found = linked_labels(scores, problem.links, min_size=least, max_size=most)
            offsets = found.offsets
        if scores.ndim == 1:
            offsets = np.array([offsets[1] - offsets[0]]) / 2
        boundaries = replace(boundaries, intercept=boundaries.intercept + offsets)
        if problem.links is not None:
            return boundaries, like(found.labels.astype(np.int32), scores)
        shift = float(offsets[0]) if scores.ndim == 1 else like(offsets, scores)
        return boundaries, decoded(scores + shift)

    def decision_function(self, X):
        """One classifier's value for each cluster.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
            Samples; their kernel with the training samples where that is precomputed.

        Returns
        -------
        scores : array of shape (n_samples,) or (n_samples, n_clusters)
            For two clusters one value, positive for cluster 1. Otherwise a column per cluster;
            the largest wins. All zero for one cluster. Lazy for a dask array.
        """
        return self._decision(X, "decision_function")

    def _score_rule(self, boundaries):
        if boundaries.n_clusters == 1:
            return super()._score_rule(boundaries)
        return ClassifierValues(self._feature_map, boundaries)

    def _score_rows(self, X, boundaries):
        scores = super()._score_rows(X, boundaries)
        if is_dask(X):  # other samples were checked at the door
            assert_all_finite(scores, input_name="X times the classifiers' weights")
        return scores

    def _labels_of(self, result, problem, order):
        if problem.chosen is None and problem.links is None:
            return decoded(self._score_rows(problem.X, result.model))
        # another pass over all samples would double the time of a fit, and knows of no links
        return renumbered(result.labels, order)


class ClassifierValues:
    """Picklable map from a chunk of samples to the values of classifiers."""

    def __init__(self, feature_map, boundaries):
        self.feature_map = feature_map
        self.boundaries = boundaries

    def __call__(self, X):
        features = X if self.feature_map is None else self.feature_map(X)
        coef, intercept = self.boundaries.coef, self.boundaries.intercept
        if len(coef) == 1:
            return features @ like(coef[0], features) + float(intercept[0])
        return features @ like(coef.T, features) + like(intercept, features)
