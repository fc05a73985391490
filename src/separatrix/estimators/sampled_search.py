"""Search on a kernel matrix: of all samples, or of some whose classifiers label the others."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import assert_all_finite

from separatrix._sklearn import is_dask, like, to_numpy
from separatrix.data.distinct import DistinctRows
from separatrix.data.ordering import canonical_order, reordered
from separatrix.data.places import order_of_places
from separatrix.data.rows import map_rows, rows_at
from separatrix.labels.links import linked_labels
from separatrix.labels.sizes import balanced_offsets, without_ties
from separatrix.models.boundaries import Boundaries
from separatrix.result import Labelling, decoded
from separatrix.similarity.kernels import Kernel, mean_of, normals_of

REMEDY = "use a smaller max_samples"


def search_fields(estimator, X, links, rng):
    """Fields of a problem: all samples, and those that are searched exactly."""
    kernel = Kernel.of(estimator)
    order = search_order(X, kernel, estimator.max_samples)
    X, links = ordered_samples(X, links, kernel, order)
    rows, drawn = searched_rows(estimator, X, rng)
    return {
        "X": X,
        "order": order,
        "rows": rows,
        "drawn": drawn,
        "n_components": estimator.n_components,
        "links": links,
    }


def search_order(X, kernel, max_samples):
    """Order of the samples by their values, so that draws and ties do not depend on how they come.

    Samples of a dask array that are too many to be searched stay as they come.
    """
    if is_dask(X) and X.shape[0] > max_samples:
        return np.arange(X.shape[0])
    if kernel.is_precomputed:
        return order_of_places(to_numpy(X), pairs=True)
    return canonical_order(X)


def ordered_samples(X, links, kernel, order):
    """Samples, or their kernel matrix, and their links, in an order."""
    if np.array_equal(order, np.arange(len(order))):
        return X, links
    X = X[order] if is_dask(X) else reordered(X, order)
    if kernel.is_precomputed:
        X = reordered(X.T, order).T
    return X, None if links is None else links.restricted(order)


def searched_rows(estimator, X, rng):
    """Samples that are searched exactly, and which they are; None if all."""
    n_samples, most = X.shape[0], estimator.max_samples
    drawn = None
    if n_samples > most:
        if Kernel.of(estimator).is_precomputed:
            raise ValueError(
                f"kernel='precomputed' needs max_samples >= {n_samples}, the number of samples, "
                f"got {most}: the search cannot be extended without features."
            )
        if most < estimator.n_clusters:
            raise ValueError(
                f"max_samples={most} should be >= n_clusters={estimator.n_clusters}: of "
                f"{n_samples} samples only so many are searched."
            )
        drawn = np.sort(rng.permutation(n_samples)[:most])
        if is_dask(X):  # whose samples are in the order in which they came
            drawn = canonical_order(X)[drawn]
    rows = rows_at(X, drawn)
    if is_dask(X):  # other samples were checked at the door
        assert_all_finite(rows, input_name="X")
    return rows, drawn


@dataclass(frozen=True, kw_only=True)
class SearchProblem:
    """Samples in an order of their values, and those that are searched exactly.

    Attributes
    ----------
    X : {array, sparse matrix, dask array}
        All samples.
    order : ndarray of int of shape (n_samples,)
        Which of the samples that were given each one is.
    rows : ndarray or sparse matrix
        Those that are searched.
    drawn : ndarray of int or None
        Which they are; None if all.
    kernel : Kernel
        The kernel, with a number as `gamma`.
    n_components : int
        Most features that stand for the kernel where not all samples are searched.
    links : Links or None
        Links between all samples.
    """

    X: Any
    order: np.ndarray
    rows: Any
    drawn: Any
    kernel: Kernel
    n_components: int
    links: Any = None

    @property
    def sample_indices(self):
        """Indices of the samples that are searched."""
        return np.arange(self.rows.shape[0]) if self.drawn is None else self.drawn

    @property
    def searched_links(self):
        """Links among the searched samples, or None."""
        if self.links is None or self.drawn is None:
            return self.links
        return self.links.restricted(self.drawn)

    def as_given(self, values):
        """Values of all samples, in the order in which these were given."""
        return reordered(values, np.argsort(self.order))

    @property
    def as_given_columns(self):
        """The searched samples in the order in which they were given."""
        return np.argsort(self.order[self.sample_indices])

    @property
    def given_indices(self):
        """Indices of the searched samples among those that were given."""
        return self.order[self.sample_indices][self.as_given_columns]

    def completed(self, boundaries):
        """Boundaries that take samples, or their kernel values, as users pass them."""
        if not self.kernel.is_precomputed:
            return boundaries
        feature_map = boundaries.feature_map
        landmarks = self.order[feature_map.landmarks]
        return replace(boundaries, feature_map=replace(feature_map, landmarks=landmarks))

    def labels_of(self, boundaries):
        """Clusters of all samples, in the order in which these were given."""
        return self.as_given(decoded(self._scores(boundaries)))

    def classifiers(self, multipliers, weights_of):
        """One classifier for each cluster, or one for two.

        Parameters
        ----------
        multipliers : ndarray of shape (n_rows, n_classifiers)
            Weights of the kernel at the searched samples.
        weights_of : callable
            ``weights_of(Z)`` are weights of low-rank features Z of these samples, which serve all
            samples where these were too many to search.

        Returns
        -------
        boundaries : Boundaries
        """
        offsets = np.zeros(multipliers.shape[1])
        if self.kernel.is_linear:
            coef = normals_of(self.rows, multipliers)
            return Boundaries.one_vs_rest(coef, -coef @ mean_of(self.rows))
        if self.drawn is None:
            feature_map = self.kernel.at(self.rows)
            return replace(Boundaries.one_vs_rest(multipliers.T, offsets), feature_map=feature_map)
        low_rank = self.kernel.low_rank_map(self.rows, max_rank=self.n_components).checked()
        weights = weights_of(np.asarray(low_rank(self.rows), dtype=np.float64))
        # weights of kernel values at the landmarks spare every sample the way to its features
        coef = (low_rank.projection @ weights).T
        feature_map = replace(low_rank, projection=None)
        return replace(Boundaries.one_vs_rest(coef, offsets), feature_map=feature_map)

    def sized(self, boundaries, least, most):
        """Boundaries with offsets that keep cluster sizes, and a labelling that keeps links."""
        scores = self._scores(boundaries)
        if self.links is None:
            columns = to_numpy(scores)
            columns = np.column_stack([-columns, columns]) if scores.ndim == 1 else columns
            found = balanced_offsets(columns, min_size=least, max_size=most)
            offsets = without_ties(columns, found.offsets)
        else:
            found = linked_labels(scores, self.links, min_size=least, max_size=most)
            offsets = found.offsets
        if scores.ndim == 1:
            offsets = np.array([offsets[1] - offsets[0]]) / 2
        boundaries = replace(boundaries, intercept=boundaries.intercept + offsets)
        if self.links is not None:
            labels = like(found.labels.astype(np.int32), scores)
        else:
            shift = float(offsets[0]) if scores.ndim == 1 else like(offsets, scores)
            labels = decoded(scores + shift)
        return boundaries, Labelling(labels, boundaries.n_clusters)

    def _scores(self, boundaries):
        """Scores of all samples, computed even if these are a dask array.

        Equal samples of NumPy have equal ones, to the last digit: no offset may part them.
        """
        if self._distinct is not None:
            distinct = self.X[self._distinct.first]
            scores = map_rows(boundaries.scores, distinct, width=boundaries.width)
            return scores[self._distinct.place]
        scores = map_rows(boundaries.scores, self.X, width=boundaries.width)
        if is_dask(self.X):  # other samples were checked at the door
            assert_all_finite(scores, input_name="X times the classifiers' weights")
        return scores

    @cached_property
    def _distinct(self):
        """Which samples are equal; None if none are, or if they are not in memory."""
        if not (isinstance(self.X, np.ndarray) or sp.issparse(self.X)):
            return None
        distinct = DistinctRows.of(self.X)
        return None if distinct.are_all else distinct

    @property
    def keeps_labels(self):
        """Whether labels are not made anew: links bind, or a pass would double the time."""
        return self.drawn is not None or self.links is not None
