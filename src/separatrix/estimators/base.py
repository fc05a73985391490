"""The fit skeleton that every estimator shares."""

import warnings
from abc import ABCMeta, abstractmethod
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from separatrix._sklearn import (
    Interval,
    check_same_namespace,
    check_sample_weight,
    fit_context,
    namespace_of,
    supported_floats,
    to_numpy,
)
from separatrix.data.chunks import beside, is_dask, map_rows
from separatrix.estimators.progress import ObservedProgress
from separatrix.labels.links import Links
from separatrix.labels.numbering import order_of_clusters, renumbered
from separatrix.models.boundaries import Boundaries, decoded
from separatrix.result import SolverResult, Status

__all__ = [
    "BaseClustering",
    "BaseDiscriminativeClustering",
    "BoundaryPredictorMixin",
    "LinkedFitMixin",
    "LinkedWeightedFitMixin",
]


class BoundaryPredictorMixin:
    """Validation and prediction for estimators whose model is a set of linear boundaries.

    The estimator sets `_boundaries`, and `_feature_map`, which is None or maps a chunk of
    samples to the features that the boundaries live in.
    """

    _boundaries: Boundaries
    _feature_map: Any
    classes_: np.ndarray

    def _validate_X(self, X, *, reset):
        if not is_dask(X):
            try:
                return validate_data(
                    self, X, reset=reset, accept_sparse="csr", dtype=supported_floats(X)
                )
            except ValueError as error:
                if "could not convert" not in str(error):
                    raise
                raise ValueError(
                    f"X must be numeric: {error}. Encode text columns as numbers first."
                ) from error
        from separatrix.data.dask_arrays import validate_dask

        X = validate_dask(X)
        if reset:
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
        elif X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        return X

    def _validate_weights(self, X, sample_weight):
        """Weights as an array beside the rows of `X`, or None."""
        if sample_weight is None:
            return None
        if is_dask(sample_weight):
            sample_weight = sample_weight.compute()
        rows = np.empty((X.shape[0], 0))  # only its length is looked at
        weights = check_sample_weight(
            to_numpy(sample_weight), rows, dtype=np.float64, ensure_non_negative=True
        )
        return beside(weights, X)

    def _model_attributes(self, boundaries, X):
        """Fitted attributes of a model, as arrays beside `X`.

        Coefficients are shown only where they belong to features.
        """
        coef, intercept = beside(boundaries.coef, X), beside(boundaries.intercept, X)
        attributes = {"_boundaries": boundaries, "intercept_": intercept}
        return attributes if self._feature_map is not None else {**attributes, "coef_": coef}

    def _set_model(self, boundaries, X):
        self.__dict__.pop("coef_", None)
        self.__dict__.update(self._model_attributes(boundaries, X))

    def _score_rule(self, boundaries):
        """Picklable map from a chunk of samples to their scores."""
        return _Score(self._feature_map, boundaries)

    def _check_classes(self, codes, weights):
        """Refuse fewer than two classes, and classes without weight."""
        n_classes = len(self.classes_)
        present = np.bincount(codes, weights=weights, minlength=n_classes) > 0
        if n_classes < 2 or not present.all():
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes in y, each with "
                f"positive weight; got {int(present.sum())} class of {n_classes}."
            )

    def _decision(self, X, method):
        """Scores of samples for public method `method`, lazily for a dask array."""
        check_is_fitted(self)
        X = self._validate_X(X, reset=False)
        boundaries = self._boundaries
        if is_dask(X):
            from separatrix.data.dask_arrays import lazy_rows

            n_columns = None if boundaries.n_clusters <= 2 else boundaries.n_clusters
            score = self._score_rule(boundaries)
            return lazy_rows(score, X, n_columns=n_columns, dtype=X.dtype)
        check_same_namespace(X, self, attribute="intercept_", method=method)
        return self._score_rows(X, boundaries)

    def _score_rows(self, X, boundaries):
        """Scores of all rows of `X`, computed even if that is a dask array."""
        made = 0 if self._feature_map is None else self._feature_map.rank
        return map_rows(self._score_rule(boundaries), X, width=boundaries.code.shape[0] + made)

    def decision_function(self, X):
        """Signed scores of samples: how far inside each cluster they lie.

        A score is the sample's smallest margin to the boundaries of a cluster, in the units of
        the method; those of `MaximinSeparationClustering` are such that the standard deviations
        of two neighbouring clusters across their boundary add up to one.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        scores : array of shape (n_samples,) or (n_samples, n_clusters)
            For two clusters one value, positive for cluster 1. Otherwise a column per cluster;
            the largest wins, and it is positive where no boundary disagrees. All zero for one
            cluster, which has no boundary. Lazy for a dask array.
        """
        return self._decision(X, "decision_function")

    def _predict_codes(self, X):
        """Indices of the clusters or classes of samples."""
        decision = self._decision(X, "predict")
        if is_dask(decision):
            return decision.map_blocks(
                decoded,
                drop_axis=() if decision.ndim == 1 else 1,
                dtype=np.int32,
            )
        return decoded(decision)


class _Score:
    """Picklable map from a chunk of samples to their scores."""

    def __init__(self, feature_map, boundaries):
        self.feature_map = feature_map
        self.boundaries = boundaries

    def __call__(self, X):
        if self.feature_map is not None:
            X = self.feature_map(X)
        return self.boundaries.decision(X)


class BaseClustering(CallbackSupportMixin, ClusterMixin, BaseEstimator, metaclass=ABCMeta):
    """Runs restarts, keeps the best, numbers the clusters and tells the user.

    A criterion implements `_prepare`, which turns validated data into a problem whose `X` holds
    the samples as the model sees them, `_fit_once`, which solves it from one start, and
    `_attributes`, its own fitted attributes. A kind of model, such as a set of boundaries, brings
    `_validate_X`, `_labels_of`, `_model_attributes`, `_one_cluster_model` and `predict`. This
    class knows no criterion and no model.
    """

    _parameter_constraints: dict = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, 1, closed="left")],
        "random_state": ["random_state"],
    }
    _smaller_is_better = False
    # what random_state=None stands for: None for chance, a number for the same draws each time
    _default_seed: int | None = None

    @abstractmethod
    def _validate_X(self, X, *, reset):
        """Samples as an array that solvers can take."""

    @abstractmethod
    def _labels_of(self, result, problem, order):
        """Labels that the model of a result, its clusters now numbered, gives to the samples.

        Cluster i is what `result.labels` still call `order[i]`.
        """

    @abstractmethod
    def _model_attributes(self, model, X):
        """Fitted attributes of a model, by name."""

    @abstractmethod
    def _one_cluster_model(self, X):
        """The model of all samples in one cluster."""

    @abstractmethod
    def _prepare(self, X, sample_weight, progress, rng):
        """Everything that restarts share. Long work in it is a task of `progress`."""

    @abstractmethod
    def _fit_once(self, problem, restart, progress, rng):
        """Solve from start number `restart`; return a SolverResult."""

    def _fit(self, X, sample_weight=None, links=None):
        """Find the clusters of validated samples."""
        n_samples = X.shape[0]
        if sample_weight is not None:
            n_samples = int((to_numpy(sample_weight) > 0).sum())
        if n_samples < self.n_clusters:
            counted = "" if sample_weight is None else " with positive sample_weight"
            raise ValueError(
                f"n_samples={n_samples}{counted} should be >= n_clusters={self.n_clusters}; "
                "ask for fewer clusters or pass more samples."
            )
        seed = self._default_seed if self.random_state is None else self.random_state
        rng = check_random_state(seed)
        context = self._init_callback_context(max_subtasks=self._n_tasks())
        progress = ObservedProgress(self, context, X)
        if self.n_clusters == 1:
            self._set_result(X, self._one_cluster(X), self._attributes(None, None, [0]))
        else:
            # criteria that know no links have no argument for them
            constraints = {} if links is None else {"links": links}
            problem = self._prepare(X, sample_weight, progress, rng, **constraints)
            best, order = self._best_of_restarts(problem, progress, rng)
            self._set_result(X, best, self._attributes(problem, best.partition, order))
        progress.close()
        return self

    def _best_of_restarts(self, problem, progress, rng):
        """The best result with its clusters numbered, and the order that made the numbers."""
        results = []
        for restart in range(self._n_restarts()):
            task = progress.subtask("restart", self._subtasks_of_restart())
            result = self._fit_once(problem, restart, task, rng)
            order = order_of_clusters(result.labels, result.partition.weights)
            result = replace(result, model=result.model.renumbered(order))
            results.append((result, order))
            if task.close(result.model):
                break
        # a result with fewer clusters than asked for never beats one that has them
        sign = -1 if self._smaller_is_better else 1
        best, order = max(
            results, key=lambda r: (r[0].status is not Status.DEGENERATE, sign * r[0].objective)
        )
        if not best.status.is_silent:
            warnings.warn(best.status.value, ConvergenceWarning, stacklevel=5)
        return replace(best, labels=self._labels_of(best, problem, order)), order

    def _check_init_labels(self, X, sample_weight):
        """Refuse a start by labels, the parameter `init`, that does not fit the samples."""
        labels = np.asarray(self.init)
        if labels.shape != (X.shape[0],):
            raise ValueError(
                f"init has shape {labels.shape} but X has {X.shape[0]} samples; pass one label "
                "per sample."
            )
        allowed = np.arange(self.n_clusters)
        weights = to_numpy(sample_weight)
        weights = np.ones(len(labels)) if weights is None else weights
        shares = [weights[labels == label].sum() / weights.sum() for label in allowed]
        if not np.isin(labels, allowed).all() or min(shares) <= 1e-12:
            raise ValueError(
                f"init must use each label from 0 to n_clusters-1={self.n_clusters - 1}, and no "
                f"other, on samples of positive weight; got {np.unique(labels)[:10]}."
            )

    def _init_labels(self, problem):
        """The start by labels, beside the rows of the problem, in a byte each if that will do."""
        dtype = np.int8 if self.n_clusters < 128 else np.int32
        return beside(np.asarray(self.init).astype(dtype), problem.X)

    def _n_restarts(self):
        """How often `_fit_once` is called."""
        return self.n_init

    def _n_tasks(self):
        """How many tasks a fit has, for progress bars: the restarts, and what prepares them."""
        return self._n_restarts()

    def _subtasks_of_restart(self):
        """Most tasks that a restart has, for progress bars; None if that is not known."""
        return self.max_iter

    def _one_cluster(self, X):
        labels = beside(np.zeros(X.shape[0], dtype=np.int8), X)
        return SolverResult(labels, self._one_cluster_model(X), np.nan, [], 1, Status.CONVERGED)

    def _attributes(self, problem, partition, order):
        """The criterion's own fitted attributes of a solution, by name.

        Cluster i is what `partition` calls `order[i]`. For one cluster, where there is nothing to
        solve, `problem` and `partition` are None.
        """
        return {}

    def _set_result(self, X, result, attributes):
        """Set the fitted attributes, in the namespace of `X`."""
        xp, _ = namespace_of(result.labels)
        self.labels_ = xp.astype(result.labels, xp.int32)
        self.objective_ = result.objective
        self.history_ = list(result.history)
        self.n_iter_ = result.n_iter
        for name, value in attributes.items():
            if isinstance(value, np.ndarray):
                value = beside(value, X)
            setattr(self, name, value)
        self._set_model(result.model, X)

    def _set_model(self, model, X):
        self.__dict__.update(self._model_attributes(model, X))


class BaseDiscriminativeClustering(BoundaryPredictorMixin, BaseClustering):
    """Clustering whose model is a set of boundaries in the space of features."""

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Find the clusters.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
            Samples.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Nonnegative weights. A weight of two equals a repeated sample, zero an absent one.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X = self._validate_X(X, reset=True)
        return self._fit(X, self._validate_weights(X, sample_weight))

    def _labels_of(self, result, problem, order):
        if getattr(problem, "links", None) is not None:  # which no boundary knows of
            return renumbered(result.labels, order)
        # where a sample lies exactly on a boundary, the turn of its normal decides
        boundaries = result.model
        return map_rows(boundaries.labels, problem.X, width=boundaries.code.shape[0])

    def _one_cluster_model(self, X):
        self._feature_map = None
        return Boundaries(np.zeros((0, X.shape[1])), np.zeros(0), np.zeros((0, 1), np.int8))

    def predict(self, X):
        """Cluster of each sample: the side of the boundaries it lies on.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        labels : array of shape (n_samples,)
            Cluster numbers from 0. Lazy for a dask array.
        """
        return self._predict_codes(X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.array_api_support = True
        return tags


class _LinkedMixin:
    """Links as arguments of `fit`."""

    n_clusters: int

    def _links(self, X, must_link, cannot_link, known_labels):
        """Links between the samples, or None."""
        given = (must_link, cannot_link, known_labels)
        if all(one is None for one in given):
            return None
        if is_dask(X):
            raise TypeError(
                "must_link, cannot_link and known_labels need samples in memory, got a dask "
                "array; compute X, or fit a sample of it."
            )
        links = Links.of(
            X.shape[0],
            self.n_clusters,
            must_link=must_link,
            cannot_link=cannot_link,
            known_labels=known_labels,
        )
        return None if links.is_empty else links


class LinkedFitMixin(_LinkedMixin):
    """`fit` with links."""

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, *, must_link=None, cannot_link=None, known_labels=None):
        """Find the clusters.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
            Samples; the kernel matrix where that is precomputed.
        y : None
            Ignored.
        must_link : array-like of int, default=None
            Samples that belong together: pairs of row indices, or one id per sample, equal ids
            linked and -1 for none, which is the form that cross-validation can slice.
        cannot_link : array-like of int, default=None
            Samples to keep apart, in either form.
        known_labels : array-like of int of shape (n_samples,), default=None
            Known clusters of samples, -1 where unknown: those of equal labels are kept together
            and those of different labels apart, whatever the numbers of their clusters.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X = self._validate_X(X, reset=True)  # type: ignore[attr-defined]
        links = self._links(X, must_link, cannot_link, known_labels)
        return self._fit(X, links=links)  # type: ignore[attr-defined]


class LinkedWeightedFitMixin(_LinkedMixin):
    """`fit` with weights and links."""

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X,
        y=None,
        sample_weight=None,
        *,
        must_link=None,
        cannot_link=None,
        known_labels=None,
    ):
        """Find the clusters.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
            Samples; the kernel matrix where that is precomputed.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Nonnegative weights. A weight of two equals a repeated sample, zero an absent one.
        must_link : array-like of int, default=None
            Samples that belong together: pairs of row indices, or one id per sample, equal ids
            linked and -1 for none, which is the form that cross-validation can slice.
        cannot_link : array-like of int, default=None
            Samples to keep apart, in either form.
        known_labels : array-like of int of shape (n_samples,), default=None
            Known clusters of samples, -1 where unknown: those of equal labels are kept together
            and those of different labels apart, whatever the numbers of their clusters.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X = self._validate_X(X, reset=True)  # type: ignore[attr-defined]
        links = self._links(X, must_link, cannot_link, known_labels)
        weights = self._validate_weights(X, sample_weight)  # type: ignore[attr-defined]
        return self._fit(X, weights, links)  # type: ignore[attr-defined]
