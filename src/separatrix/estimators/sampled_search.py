"""Search on a kernel matrix: of all samples, or of some whose classifiers label the others."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import assert_all_finite

from separatrix._sklearn import is_dask, is_lazy, like, namespace_of, to_numpy
from separatrix.data.distinct import DistinctRows
from separatrix.data.ordering import canonical_order, places_in, reordered
from separatrix.data.places import order_of_places
from separatrix.data.rows import map_rows, rows_at
from separatrix.labels.links import linked_labels
from separatrix.labels.sizes import balanced_offsets, without_ties
from separatrix.models.boundaries import Boundaries
from separatrix.models.scores import score_features
from separatrix.result import Labelling, decoded
from separatrix.similarity.kernels import Kernel, mean_of, normals_of
from separatrix.solvers.flips import ridge_weights, targets_of

REMEDY = "use a smaller max_samples"
# With more clusters than this, so many samples of each settle the classifiers, until no more than
# this share of them changes.
FEW_CLUSTERS = 20
SETTLING_SAMPLES, SETTLING_SAMPLES_PER_CLUSTER = 10_000, 100
SETTLED = 1e-3


def search_fields(estimator, X, sample_weight, links, rng, *, merges=True):
    """Fields of a problem: all samples, and those that are searched exactly.

    Equal ones are searched as one, unless `merges` is False.
    """
    kernel = Kernel.of(estimator)
    weight = None if sample_weight is None else to_numpy(sample_weight)
    order = search_order(X, kernel, estimator.max_samples, weight)
    X, links = ordered_samples(X, links, kernel, order)
    weight = None if weight is None else weight[order]
    drawn = drawn_samples(estimator, X, weight, rng)
    return {
        "X": X,
        "sample_weight": weight,
        "order": order,
        "drawn": drawn,
        "n_components": estimator.n_components,
        "links": links,
        **searched_rows(X, drawn, weight, kernel, merges=merges and links is None),
    }


def search_order(X, kernel, max_samples, sample_weight=None):
    """Order of the samples that makes draws and ties independent of the order of the rows.

    They are ordered by their distances, so that the order of the features does not matter either.
    Samples that are too many to be searched are not copied: they are ordered by their values, or
    keep their order if they are not in memory.
    """
    if kernel.is_precomputed:
        return order_of_places(to_numpy(X), pairs=True)
    if X.shape[0] <= max_samples:
        return order_of_places(rows_at(X), sample_weight)
    return np.arange(X.shape[0]) if is_lazy(X) else canonical_order(X)


def ordered_samples(X, links, kernel, order):
    """Samples, or their kernel matrix, and their links, in an order."""
    if np.array_equal(order, np.arange(len(order))):
        return X, links
    X = X[order] if is_dask(X) else reordered(rows_at(X) if is_lazy(X) else X, order)
    if kernel.is_precomputed:
        X = reordered(X.T, order).T
    return X, None if links is None else links.restricted(order)


def drawn_samples(estimator, X, weight, rng):
    """Samples, of positive weight, that are searched exactly; None if all are."""
    present = np.arange(X.shape[0]) if weight is None else np.flatnonzero(weight)
    n_samples, most = len(present), estimator.max_samples
    if n_samples <= most:
        return None if n_samples == X.shape[0] else present
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
    drawn = present[np.sort(rng.permutation(n_samples)[:most])]
    # samples that are not in memory are in the order in which they came
    return canonical_order(X)[drawn] if is_lazy(X) else drawn


def searched_rows(X, drawn, weight, kernel, *, merges):
    """Rows that are searched: the first of several equal samples, with the weight of all of them.

    Not if it must not `merge` them, since links or bounds on sizes may separate equal samples, nor
    for a kernel matrix, in which samples with equal rows need not be equal.
    """
    rows = rows_at(X, drawn)
    if is_lazy(X):  # other samples were checked by the gate
        assert_all_finite(rows, input_name="X")
    own = weight if weight is None or drawn is None else weight[drawn]
    if kernel.is_precomputed:
        rows = rows if drawn is None else rows[:, drawn]
        return {"rows": rows, "row_weight": own, "copies": None}
    distinct = DistinctRows.of(rows) if merges else None
    if distinct is None or distinct.are_all:
        return {"rows": rows, "row_weight": own, "copies": None}
    weights = np.bincount(distinct.place, own).astype(np.float64)
    return {"rows": rows[distinct.first], "row_weight": weights, "copies": distinct.place}


@dataclass(frozen=True, kw_only=True)
class SearchProblem:
    """Samples in an order of their values, and those that are searched exactly.

    Attributes
    ----------
    X : {array, sparse matrix, dask array}
        All samples.
    order : ndarray of int of shape (n_samples,)
        Which of the samples that were given each one is.
    sample_weight : ndarray of shape (n_samples,) or None
        Their weights.
    drawn : ndarray of int or None
        Samples that are searched; None if all.
    rows, row_weight : ndarray or sparse matrix, and ndarray or None
        Their rows, of equal ones the first, and how much they weigh together.
    copies : ndarray of int or None
        Row of each sample that is searched; None if each has its own.
    kernel : Kernel
        The kernel, with a number as `gamma`.
    n_components : int
        Largest number of features that approximate the kernel where not all samples are searched.
    links : Links or None
        Links between all samples.
    """

    X: Any
    sample_weight: Any
    order: np.ndarray
    drawn: Any
    rows: Any
    row_weight: Any
    copies: Any
    kernel: Kernel
    n_components: int
    links: Any = None

    @property
    def sample_indices(self):
        """Indices of the samples that are searched."""
        return np.arange(self.X.shape[0]) if self.drawn is None else self.drawn

    @property
    def is_sampled(self):
        """Whether not all samples of positive weight are searched."""
        if self.drawn is None:
            return False
        return self.sample_weight is None or len(self.drawn) < np.count_nonzero(self.sample_weight)

    @property
    def loss_weight(self):
        """Weights of the rows in the loss of a machine, in which known labels count more."""
        if self.links is None or not self.links.teaches:
            return self.row_weight
        return self.links.taught(self.sample_weight)[self.sample_indices]

    @property
    def n_counted(self):
        """How many samples there are, by their weights."""
        return self.X.shape[0] if self.sample_weight is None else float(self.sample_weight.sum())

    def sizes_of(self, labelling):
        """Sizes of the clusters of all samples, in the order of the numbers of known labels."""
        weights = labelling.weights
        return weights if self.links is None else weights[self.links.order(labelling)]

    def rows_of(self, values):
        """Values of the rows, from those of all samples."""
        values = values[self.sample_indices]
        if self.copies is None:
            return values
        return values[np.unique(self.copies, return_index=True)[1]]

    def samples_of(self, values):
        """Values of the searched samples, from those of the rows."""
        return values if self.copies is None else values[self.copies]

    def as_given_of(self, values):
        """Values of the searched samples, in the order in which these were given, from rows."""
        return self.samples_of(values)[self.as_given_columns]

    @property
    def searched_links(self):
        """Links among the searched samples, or None."""
        if self.links is None or self.drawn is None:
            return self.links
        return self.links.restricted(self.drawn)

    def as_given(self, values):
        """Values of all samples, in the order in which these were given."""
        return reordered(values, places_in(self.order))

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
            coef = normals_of(self.rows, multipliers, self.row_weight)
            return Boundaries.one_vs_rest(coef, -coef @ mean_of(self.rows, self.row_weight))
        if not self.is_sampled:
            feature_map = self.kernel.at(self.rows)
            if self.kernel.is_precomputed:
                feature_map = replace(feature_map, landmarks=self.sample_indices)
            return replace(Boundaries.one_vs_rest(multipliers.T, offsets), feature_map=feature_map)
        return self._of_features(weights_of(self._features(self.rows)))

    @cached_property
    def _low_rank(self):
        """Map of samples to features of the kernel."""
        return self.kernel.low_rank_map(self.rows, max_rank=self.n_components).checked()

    def _features(self, rows):
        return np.asarray(self._low_rank(rows), dtype=np.float64)

    def _of_features(self, weights):
        """Classifiers with these weights of the features."""
        # with weights of kernel values at the landmarks, samples need not be mapped to features
        coef = (self._low_rank.projection @ weights).T
        feature_map = replace(self._low_rank, projection=None)
        boundaries = Boundaries.one_vs_rest(coef, np.zeros(weights.shape[1]))
        return replace(boundaries, feature_map=feature_map)

    def settles(self, n_clusters):
        """Whether there are so many clusters that few samples of each were searched."""
        return (
            n_clusters > FEW_CLUSTERS
            and self.is_sampled
            and self.links is None
            and not self.kernel.is_linear
        )

    def settled(self, labels, *, n_clusters, reg, least, most, max_updates, rule=None):
        """Classifiers by least squares that settle on more samples than were searched.

        The samples of a cluster that were searched are too few to tell where it ends. So the
        classifiers of these label more, with the sizes of clusters within bounds, the next ones
        are fitted to all of these labels, and so on; or a rule labels more.

        Parameters
        ----------
        labels : ndarray of int of shape (n_rows,)
            Labels of the searched rows.
        n_clusters : int
            Number of clusters.
        reg : float
            Weight of norms beside the squared errors of as many samples as were searched.
        least, most : ndarray of shape (n_clusters,)
            Bounds of the sizes of the clusters of all samples.
        max_updates : int
            Most updates of the labels of more samples.
        rule : object, default=None
            Its method `labels` gives the labels of more samples, which are not updated then.

        Returns
        -------
        boundaries : Boundaries
        """
        from separatrix.labels.offsets import first_offsets  # which loads numba

        counted = np.ones(self.rows.shape[0]) if self.row_weight is None else self.row_weight
        n_searched = float(counted.sum())

        def weights_of(Z, labels, weight):
            targets = targets_of(labels, n_clusters)
            weight = weight * (n_searched / weight.sum())
            return ridge_weights(Z, targets=targets, reg=reg, weight=weight)

        # the samples are in an order of their values, so that it makes no difference how they came
        rows, own = self.settling_samples(n_clusters)
        Z = self._features(rows)
        own = np.ones(len(Z)) if own is None else own
        if rule is not None:
            return self._of_features(weights_of(Z, rule.labels(rows), own))
        weights = weights_of(self._features(self.rows), labels, counted)
        share, labels = own.sum() / self.n_counted, None
        for _ in range(max_updates):
            scores = Z @ weights
            offsets = first_offsets(scores, own, share * least, share * most)
            before, labels = labels, (scores + offsets).argmax(axis=1)
            weights = weights_of(Z, labels, own)
            if before is not None and np.average(labels != before, weights=own) <= SETTLED:
                break
        return self._of_features(weights)

    def settling_samples(self, n_clusters):
        """More samples of positive weight than are searched, in even steps of their order.

        Returns
        -------
        rows : ndarray or sparse matrix
        weight : ndarray or None
        """
        weight, n_samples = self.sample_weight, self.X.shape[0]
        present = np.arange(n_samples) if weight is None else np.flatnonzero(weight)
        size = min(max(SETTLING_SAMPLES, SETTLING_SAMPLES_PER_CLUSTER * n_clusters), len(present))
        drawn = present[np.linspace(0, len(present) - 1, size).astype(np.int64)]
        return rows_at(self.X, drawn), None if weight is None else weight[drawn]

    def sized(self, boundaries, least, most):
        """Boundaries with offsets that keep cluster sizes, and a labelling that keeps links."""
        scores = self._scores(boundaries)
        if self.links is None:
            xp, _ = namespace_of(scores)
            columns = xp.stack([-scores, scores], axis=1) if scores.ndim == 1 else scores
            found = balanced_offsets(columns, self.sample_weight, min_size=least, max_size=most)
            offsets = without_ties(columns, found.offsets)
        else:
            found = linked_labels(
                scores,
                self.links,
                min_size=least,
                max_size=most,
                sample_weight=self.sample_weight,
            )
            offsets = found.offsets
        if scores.ndim == 1:
            offsets = np.array([offsets[1] - offsets[0]]) / 2
        boundaries = replace(boundaries, intercept=boundaries.intercept + offsets)
        if self.links is not None:
            labels = like(found.labels.astype(np.int32), scores)
        else:
            shift = float(offsets[0]) if scores.ndim == 1 else like(offsets, scores)
            labels = decoded(scores + shift)
        return boundaries, Labelling(labels, boundaries.n_clusters, self.sample_weight)

    def bounded(self, boundaries, least, most):
        """Boundaries and a labelling whose clusters have counts of samples within bounds.

        The labels have the largest total of the scores, even where that separates equal samples.
        """
        from separatrix.labels.bounded import bounded_transport

        scores = self._scores(boundaries)
        columns = to_numpy(score_features(scores, boundaries.n_clusters))
        found = bounded_transport(columns, least, most)
        offsets = found.prices
        if scores.ndim == 1:
            offsets = np.array([offsets[1] - offsets[0]])
        boundaries = replace(boundaries, intercept=boundaries.intercept + offsets)
        labels = like(found.labels, scores)
        return boundaries, Labelling(labels, boundaries.n_clusters, self.sample_weight)

    def _scores(self, boundaries):
        """Scores of all samples, computed even if these are a dask array.

        Equal samples in memory get equal scores, to the last digit, so that no offset separates
        them.
        """
        if self._distinct is not None:
            distinct = self.X[self._distinct.first]
            scores = map_rows(boundaries.scores, distinct, width=boundaries.width)
            return scores[self._distinct.place]
        scores = map_rows(boundaries.scores, self.X, width=boundaries.width)
        if is_lazy(self.X):  # other samples were checked by the gate
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
        """Whether labels are kept, not predicted: links bind, or a pass would double the time."""
        return self.is_sampled or self.links is not None
