"""The skeleton of every fit, and the two kinds of clusterers: by boundaries and on graphs."""

import warnings
from abc import ABCMeta, abstractmethod
from contextlib import contextmanager
from inspect import signature
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import ClassifierTags, check_random_state
from sklearn.utils.validation import check_is_fitted

from separatrix._sklearn import (
    DOC_LINK,
    check_same_namespace,
    fit_context,
    is_dask,
    is_lazy,
    is_numpy,
    namespace_of,
    python_scalar,
    refuse_dask,
    to_numpy,
)
from separatrix._typing import Array, ArrayLike, Samples, Weights
from separatrix.data.distinct import few_distinct_rows
from separatrix.data.gate import FLOATS, check_samples, check_weights
from separatrix.data.ordering import are_distinct
from separatrix.data.rows import (
    answers,
    beside,
    exactly_beside,
    map_rows,
    rows_at,
    rows_beside,
)
from separatrix.estimators.docstrings import (
    BOUNDARY_SAMPLES,
    GRAPH_SAMPLES,
    SAMPLES,
    described,
)
from separatrix.estimators.memberships import (
    assigned,
    calibrated,
    mean_probability,
    predicted_probabilities,
    temperature_of,
    transformed,
    within_bounds,
)
from separatrix.estimators.outliers import (
    check_outliers,
    complete_absent,
    fit_without_outliers,
    marked,
    n_left_in,
)
from separatrix.estimators.parameters import N_CLUSTERS
from separatrix.estimators.refits import earlier_labels, started_from
from separatrix.estimators.representatives import fit_to_few
from separatrix.estimators.teaching import numbers_of_known, strength_of_teaching
from separatrix.labels.links import links_of
from separatrix.labels.numbering import agreeing_order, order_within
from separatrix.labels.sizes import Sizes, size_bounds
from separatrix.models.boundaries import Boundaries
from separatrix.models.calibration import Calibration
from separatrix.models.scores import score_features
from separatrix.models.starts import check_init
from separatrix.result import (
    Labelling,
    ObservedProgress,
    Problem,
    SolverResult,
    Status,
    renumbered,
)
from separatrix.similarity.kernels import Kernel, resolved_gamma

Clusterer = TypeVar("Clusterer", bound="BaseClustering")
# The seed for random_state=None, so that the same data give the same clusters each time.
DEFAULT_SEED = 0
# What a fit sets in addition to the attributes that end in an underscore.
PRIVATE_FITTED = ("_model", "_unit", "_calibration", "_agreement", "_n_columns", "_outliers")


def random_state_of(estimator):
    """The estimator's generator of random numbers."""
    seed = estimator.random_state
    return check_random_state(DEFAULT_SEED if seed is None else seed)


@contextmanager
def kept_on_failure(estimator):
    """Restore what was fitted before if a fit fails; meanwhile parameters are Python scalars."""
    before = _fitted(estimator)
    try:
        with _python_scalars(estimator):
            yield
    except BaseException:
        for name in _fitted(estimator):
            delattr(estimator, name)
        vars(estimator).update(before)
        raise


@contextmanager
def _python_scalars(estimator):
    """Numbers of NumPy among the parameters as those of Python.

    What is made of an int8 would overflow, and a float32 would lower the precision.
    """
    params = estimator.get_params(deep=False)
    given = {name: value for name, value in params.items() if isinstance(value, np.generic)}
    vars(estimator).update({name: python_scalar(value) for name, value in given.items()})
    try:
        yield
    finally:
        vars(estimator).update(given)


def _fitted(estimator):
    """Attributes that a fit sets, by name."""
    return {
        name: value
        for name, value in vars(estimator).items()
        if name in PRIVATE_FITTED or (name.endswith("_") and not name.startswith("_"))
    }


def default_parameters(estimator):
    """Defaults of the parameters of an estimator, by name."""
    return {one.name: one.default for one in signature(type(estimator)).parameters.values()}


def set_fitted(estimator, attributes):
    """Set fitted attributes, and remove those of an earlier fit."""
    for name in set(_fitted(estimator)) - {"n_features_in_", "feature_names_in_", "_unit"}:
        delattr(estimator, name)
    vars(estimator).update(attributes)


# --- the skeleton -------------------------------------------------------------------------------


class BaseClustering(
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
    metaclass=ABCMeta,
):
    """Makes the problem, solves it, numbers the clusters and warns the user.

    A criterion implements `_problem`, which turns validated data into what all starts share,
    `_solve`, which returns the result of its solver, and `_attributes`, its own fitted attributes.
    The kind of model, boundaries or responses on a graph, brings the rest. This class knows no
    criterion and no model.
    """

    labels_: Array
    outlier_scores_: Array
    objective_: float
    history_: list[float]
    n_iter_: int
    n_features_in_: int
    feature_names_in_: Array
    _doc_link_module, _doc_link_template = "separatrix", DOC_LINK

    n_clusters: int
    min_size: Any
    max_size: Any
    random_state: Any
    _parameter_constraints: dict = {**N_CLUSTERS}
    _maximizes = False  # whether a larger objective is better
    _start: Any = None  # labels to start from, if `_takes_start`
    _starts_with_fewer = False  # whether labels to start from may lack clusters
    _keeps_sizes = False  # whether the method itself looks for labels within the bounds of sizes
    _weighs_known = False  # whether samples of known labels weigh more, as `Links.taught` says

    _model: Any

    transform = transformed
    predict_proba = predicted_probabilities
    calibrate = calibrated
    score = mean_probability
    assign = assigned

    @abstractmethod
    def _validate_X(self, X, *, reset) -> Any:
        """Samples as solvers and models take them; `reset` where they are those of a fit."""

    @abstractmethod
    def _problem(self, X, sample_weight, links, progress, rng) -> Problem:
        """What all starts share. Long work in it is a task of `progress`."""

    @abstractmethod
    def _solve(self, problem, progress, rng) -> SolverResult:
        """What the solver of the criterion finds."""

    def _attributes(self, problem, result, order):
        """The criterion's own fitted attributes of a result, by name.

        Cluster i is what the result calls `order[i]`.
        """
        return {}

    def _attributes_without_solution(self):
        """The same if there is nothing to solve: one cluster, or too few distinct samples."""
        return {}

    def _n_tasks(self):
        """Largest number of tasks of a fit, for progress bars; None if that is not known."""
        return None

    @abstractmethod
    def _distinct_attributes(self, X, rows) -> dict[str, Any]:
        """Fitted attributes of the model in which each of some rows is a cluster, by name."""

    @abstractmethod
    def _model_attributes(self, model, X) -> dict[str, Any]:
        """Fitted attributes of a model, by name."""

    def _resolved(self, problem):
        """Values of shared parameters that were resolved, by name; None if there is no problem."""
        return {}

    def _fit(self, X, sample_weight=None, links=None):
        """Find the clusters of validated samples."""
        self._check_n_samples(X, sample_weight)
        if hasattr(self, "init"):
            check_init(self.init, X, sample_weight, self.n_clusters)
        trims, n_samples = getattr(self, "outliers", None) is not None, X.shape[0]
        if trims:
            check_outliers(self, X, sample_weight)
            n_samples = n_left_in(self.outliers, n_samples)
        self._check_sizes(n_samples, links)
        earlier = earlier_labels(self, X)
        context = self._init_callback_context(max_subtasks=None if trims else self._n_tasks())
        progress = ObservedProgress(self, context, X)
        given = (X, sample_weight, links, earlier, progress)
        if trims:
            model = fit_without_outliers(self, *given)
        else:
            taught = strength_of_teaching(self, X, sample_weight, links)
            model = self._fit_samples(*given, taught=taught)
        progress.close(model)
        return self

    def _fit_samples(self, X, sample_weight, links, earlier, progress, *, taught):
        """Set the attributes of a fit to all of these samples; what the solver found.

        `taught` is the largest factor of the weights of known labels. With zero, they are kept
        but do not influence the other samples.
        """
        learns = taught > 0
        rng = random_state_of(self)
        rows = self._clusters_known(X, sample_weight, links)
        if rows is not None:
            of_model, own = self._distinct_attributes(X, rows), self._attributes_without_solution()
            model = of_model["_model"]
            labels = map_rows(model.labels, X, width=max(X.shape[1], len(rows)))
            problem, rule = None, None
            result = SolverResult(Labelling(labels, 1), None, np.nan, [], Status.CONVERGED)
        else:
            with started_from(self, earlier, sample_weight):
                # 1) what all starts share
                seen = links.teaching(taught) if learns and links is not None else None
                problem = self._problem(X, sample_weight, seen, progress, rng)
                progress.attributes_of = lambda rule: self._model_attributes(
                    problem.completed(rule), X
                )
                # 2) the best clusters found
                result = self._solve(problem, progress, rng)
            # 3) their numbers: those of known labels, or the largest first
            order = self._numbers(result, seen)
            if not learns:
                named = result.labels if result.keeps_labels else problem.labels_of(result.model)
                order = numbers_of_known(to_numpy(named), links, sample_weight)
            rule = result.model.renumbered(order)
            # for a sample exactly on a boundary, the sign of the normal decides
            keeps = result.keeps_labels
            labels = renumbered(result.labels, order) if keeps else problem.labels_of(rule)
            final = Labelling(labels, self.n_clusters, sample_weight)
            # it may lose a cluster, and a solver may have the samples in another order
            again = self._order_within_sizes(final.order, labels)
            if not keeps and learns and (again != np.arange(self.n_clusters)).any():
                rule, order = rule.renumbered(again), order[again]
                labels = problem.labels_of(rule)
            if earlier is not None and links is None:
                again = agreeing_order(earlier, to_numpy(labels), self.n_clusters)
                again = self._order_within_sizes(again, labels)
                rule, order = rule.renumbered(again), order[again]
                labels = renumbered(labels, again) if keeps else problem.labels_of(rule)
            own = self._attributes(problem, result, order)
            of_model = self._model_attributes(problem.completed(rule), X)
            self._warn(result.status, final)
        if not learns:
            known = links.known_labels
            labels = beside(np.where(known >= 0, known, to_numpy(labels)), X)
        if self._breaks_sizes(labels, sample_weight, links):
            labels = self._labels_within_sizes(of_model["_model"], X)
        own = {**self._resolved(problem), **own}
        fitted = {
            "labels_": labels_beside(labels, X),
            "objective_": result.objective,
            "history_": list(result.history),
            "n_iter_": result.n_iter,
            **{name: _beside_samples(value, X) for name, value in own.items()},
            **of_model,
            "_calibration": Calibration.of(of_model["_model"], X, sample_weight),
            "_n_columns": X.shape[1],
        }
        set_fitted(self, fitted)
        return rule

    @property
    def _joins_landmarks(self):
        """Whether samples that are not in memory join landmarks of a graph."""
        return False

    @property
    def _takes_start(self):
        """Whether a fit without `init` can start from the labels `_start`."""
        return False

    @property
    def _has_bounds(self):
        """Whether sizes of clusters have bounds."""
        bounds = (getattr(self, "min_size", None), getattr(self, "max_size", None))
        return any(bound is not None for bound in bounds)

    @property
    def _bounds_sizes(self):
        """Whether the final labels have bounds, so that nothing else may decide them."""
        return self._has_bounds

    def _breaks_sizes(self, labels, sample_weight, links):
        """Whether labels may be outside the bounds of sizes."""
        return self._bounds_sizes and not (self._keeps_sizes and self._has_sizes(labels))

    def _has_sizes(self, labels):
        """Whether the clusters of labels have sizes within the bounds."""
        least, most = self._bounds_of(labels)
        sizes = Labelling(labels, self.n_clusters).weights
        return bool(((least <= sizes) & (sizes <= most)).all())

    def _bounds_of(self, labels):
        """Least and most samples of each cluster."""
        return size_bounds(labels.shape[0], self.n_clusters, self.min_size, self.max_size)

    def _sizes_in_bounds(self, n_samples):
        """Sizes within the bounds, and in balance as far as these allow; None without bounds."""
        if not self._has_bounds:
            return None
        any_balance = self.n_clusters  # a band that holds all sizes
        balance = getattr(self, "balance", any_balance)
        return Sizes.in_balance(n_samples, self.n_clusters, balance, self.min_size, self.max_size)

    def _numbers(self, result, links):
        """Clusters by their number; bounds of each are asked where there are labels of samples."""
        if links is not None:
            return links.order(result.labelling)
        order = result.labelling.order
        return self._order_within_sizes(order, result.labels) if result.keeps_labels else order

    def _order_within_sizes(self, order, labels):
        """The same order of clusters, unless bounds of each that the search kept need another."""
        if not (self._keeps_sizes and self._has_bounds):
            return order
        sizes = Labelling(labels, self.n_clusters).weights
        return order_within(order, sizes, *self._bounds_of(labels))

    def _check_sizes(self, n_samples, links):
        """Refuse bounds that no sizes meet, or that links might break."""
        if not self._bounds_sizes:
            return
        size_bounds(n_samples, self.n_clusters, self.min_size, self.max_size)
        if links is not None:
            raise ValueError(
                f"min_size={self.min_size} and max_size={self.max_size} cannot be combined with "
                "links or known labels here; leave one out, or use "
                "RegularizedLeastSquaresClustering."
            )

    def _labels_within_sizes(self, model, X):
        """Best labels by the scores of a model whose clusters have sizes within the bounds."""
        scores = map_rows(model.scores, X, width=max(X.shape[1], model.n_clusters))
        columns = score_features(scores, model.n_clusters)
        return within_bounds(columns, self.min_size, self.max_size, n_clusters=self.n_clusters)

    def __getstate__(self):
        """What is saved: labels of a dask array in memory, without the graph that makes them."""
        state = super().__getstate__()
        if is_dask(state.get("labels_")):
            state = {**state, "labels_": state["labels_"].compute()}
        return state

    def __setstate__(self, state):
        """What was saved; parameters that are newer than the model have their defaults."""
        super().__setstate__(default_parameters(self) | state)

    def _clusters_known(self, X, sample_weight, links):
        """Rows that are a cluster each if there is nothing to solve, else None.

        For one cluster, it is one row. If fewer samples are distinct than clusters asked for, each
        of them is a cluster, as in scikit-learn's KMeans, unless links separate equal samples.
        """
        if self.n_clusters == 1:
            first = rows_at(X, np.arange(1))
            return first.toarray() if sp.issparse(first) else first
        rows = few_distinct_rows(X, sample_weight, self.n_clusters) if links is None else None
        if rows is not None:
            samples = "sample" if len(rows) == 1 else "samples, each of which is a cluster"
            parted = ", except where `labels_` divide equal samples to keep the bounds on sizes"
            warnings.warn(
                f"Fewer clusters were found than n_clusters={self.n_clusters} asked for: X has "
                f"{len(rows)} distinct {samples}{parted * self._has_bounds}. Ask for "
                "fewer clusters, or check that X holds the features.",
                ConvergenceWarning,
                stacklevel=6,
            )
        return rows

    def _warn(self, status, labelling):
        """Warn if the solver did not end well, or if the final labels lack clusters."""
        if status is not Status.STOPPED and labelling.empty.any():
            status = Status.DEGENERATE
        if not status.is_silent:
            warnings.warn(status.value, ConvergenceWarning, stacklevel=6)

    @property
    def _n_features_out(self):
        """Columns of `transform`."""
        return self._model.n_clusters

    @property
    def _temperature(self):
        return temperature_of(self)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # scikit-learn's checks of sparse input read these of every estimator with probabilities
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags

    def _check_n_samples(self, X, sample_weight):
        n_samples = X.shape[0]
        if sample_weight is not None:
            n_samples = int((to_numpy(sample_weight) > 0).sum())
        if n_samples < self.n_clusters:
            counted = "" if sample_weight is None else " with positive sample_weight"
            raise ValueError(
                f"n_samples={n_samples}{counted} should be >= n_clusters={self.n_clusters}; "
                "ask for fewer clusters or pass more samples."
            )


def labels_beside(labels, X):
    """Labels in four bytes each; for a dask array, a dask array with the same blocks."""
    if is_dask(X) and not is_dask(labels):
        from dask.array import from_array

        labels = from_array(labels, chunks=(X.chunks[0],))
    elif isinstance(labels, np.ndarray):
        labels = beside(labels, X)
    xp, _ = namespace_of(labels)
    return xp.astype(labels, xp.int32)


def _beside_samples(value, X):
    return beside(value, X) if isinstance(value, np.ndarray) else value


def best_of_starts(solve, n_init, *, progress, max_subtasks, largest=False):
    """Best result of several starts, each a task of `progress`.

    Parameters
    ----------
    solve : callable
        ``solve(restart, progress)`` returns the SolverResult of start number `restart`.
    n_init : int
        Number of starts.
    progress : Progress
        Progress of the fit.
    max_subtasks : int or None
        Most tasks of a start, for progress bars.
    largest : bool, default=False
        Whether a larger objective is better.

    Returns
    -------
    result : SolverResult
        One with fewer clusters than asked for never beats one that has them.
    """
    results = []
    for restart in range(n_init):
        task = progress.subtask("restart", max_subtasks)
        result = solve(restart, task)
        results.append(result)
        if task.close(result.model.renumbered(result.labelling.order)):
            break
    sign = 1 if largest else -1
    return max(results, key=lambda r: (r.status is not Status.DEGENERATE, sign * r.objective))


# --- what fit takes -----------------------------------------------------------------------------


def _links(estimator, X, *given):
    """Links between the samples; None if there are none."""
    return None if all(one is None for one in given) else links_of(X, estimator.n_clusters, *given)


@fit_context(prefer_skip_nested_validation=True)
@described(X=SAMPLES)
def fit_without_weights(self: Clusterer, X: Samples, y: Any = None) -> Clusterer:
    """Find the clusters."""
    with kept_on_failure(self):
        return self._fit(self._validate_X(X, reset=True))


@fit_context(prefer_skip_nested_validation=True)
@described(X=BOUNDARY_SAMPLES)
def fit_with_weights(
    self: Clusterer, X: Samples, y: Any = None, sample_weight: Weights = None
) -> Clusterer:
    """Find the clusters."""
    with kept_on_failure(self):
        X = self._validate_X(X, reset=True)
        return self._fit(X, check_weights(X, sample_weight))


@fit_context(prefer_skip_nested_validation=True)
@described(X=GRAPH_SAMPLES)
def fit_with_node_weights(
    self: Clusterer, X: Samples, y: Any = None, sample_weight: Weights = None
) -> Clusterer:
    """Find the clusters."""
    with kept_on_failure(self):
        X, present, *of_nodes = _nodes(self, X, sample_weight)
        self._fit(*of_nodes)
        return _with_absent(self, X, present)


@fit_context(prefer_skip_nested_validation=True)
@described(X=GRAPH_SAMPLES)
def fit_with_node_weights_and_links(
    self: Clusterer,
    X: Samples,
    y: Any = None,
    sample_weight: Weights = None,
    *,
    must_link: ArrayLike = None,
    cannot_link: ArrayLike = None,
    known_labels: ArrayLike = None,
) -> Clusterer:
    """Find the clusters."""
    with kept_on_failure(self):
        if is_lazy(X):
            linked = must_link, cannot_link, known_labels
            return fit_to_few(self, X, sample_weight, linked, random_state_of(self))
        X, present, *of_nodes = _nodes(
            self, X, sample_weight, must_link, cannot_link, known_labels
        )
        self._fit(*of_nodes)
        return _with_absent(self, X, present)


def _nodes(estimator, X, sample_weight, *given):
    """Validated samples; the indices of those that are nodes of the graph; and these nodes.

    Samples of weight zero are not nodes. If all samples are nodes, the indices are None.
    """
    X = estimator._validate_X(X, reset=True)
    weight = to_numpy(check_weights(X, sample_weight))
    parameter = precomputed_parameter(estimator)
    if weight is not None and parameter is not None:
        raise ValueError(
            f"sample_weight cannot be combined with {parameter}='precomputed': multiply the "
            "matrix by the weights of both samples, or repeat rows and columns."
        )
    links = _links(estimator, X, *given)
    if weight is None or weight.all():
        return X, None, X, weight, links
    present = np.flatnonzero(weight)
    if links is not None:
        absent = np.flatnonzero((weight == 0) & (links.groups >= 0))
        if len(absent):
            raise ValueError(
                f"sample {absent[0]} has sample_weight=0, so it is not in the graph, but "
                "must_link, cannot_link or known_labels names it; leave it out there, or give it "
                "a small weight."
            )
        links = links.restricted(present)
    return X, present, rows_beside(X, present), weight[present], links


def _with_absent(estimator, X, present):
    """The fitted estimator, with attributes of all samples."""
    if present is not None:
        complete_absent(estimator, X, present)
        estimator.labels_ = marked(estimator, X, estimator.labels_)
    return estimator


@fit_context(prefer_skip_nested_validation=True)
@described(X=BOUNDARY_SAMPLES)
def fit_with_links(
    self: Clusterer,
    X: Samples,
    y: Any = None,
    *,
    must_link: ArrayLike = None,
    cannot_link: ArrayLike = None,
    known_labels: ArrayLike = None,
) -> Clusterer:
    """Find the clusters."""
    with kept_on_failure(self):
        X = self._validate_X(X, reset=True)
        links = _links(self, X, must_link, cannot_link, known_labels)
        return self._fit(X, links=links)


@fit_context(prefer_skip_nested_validation=True)
@described(X=BOUNDARY_SAMPLES)
def fit_with_weights_and_links(
    self: Clusterer,
    X: Samples,
    y: Any = None,
    sample_weight: Weights = None,
    *,
    must_link: ArrayLike = None,
    cannot_link: ArrayLike = None,
    known_labels: ArrayLike = None,
) -> Clusterer:
    """Find the clusters."""
    with kept_on_failure(self):
        X = self._validate_X(X, reset=True)
        links = _links(self, X, must_link, cannot_link, known_labels)
        return self._fit(X, check_weights(X, sample_weight), links)


# --- clusterers by boundaries -------------------------------------------------------------------


class BoundaryClustering(BaseClustering):
    """Clustering whose model is a set of boundaries in the space of features."""

    coef_: Array
    intercept_: Array
    boundary_sides_: Array

    _model: Boundaries

    fit = fit_with_weights

    def predict(self, X: Samples) -> Array:
        """Cluster of each sample: the side of the boundaries it lies on.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
            Samples; their kernel with the training samples where that is precomputed.

        Returns
        -------
        labels : array of shape (n_samples,)
            Cluster numbers from 0, and -1 for outliers where `outliers` is not None. Lazy for a
            dask array.
        """
        X = self._validate_new(X, "predict")
        return marked(self, X, self._model.labels_of_rows(X))

    def decision_function(self, X: Samples) -> Array:
        """Signed scores of samples: how far inside each cluster they lie.

        With a boundary around each cluster, a score is the value of that boundary,
        ``X @ coef_.T + intercept_`` for the linear kernel. Otherwise it is the sample's smallest
        margin to the boundaries between the cluster and others.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
            Samples; their kernel with the training samples where that is precomputed.

        Returns
        -------
        scores : array of shape (n_samples,) or (n_samples, n_clusters)
            For two clusters one value, positive for cluster 1. Otherwise a column per cluster,
            minus infinity for one that was never split off; the largest decides. All zero for one
            cluster. Lazy for a dask array.
        """
        return self._scores(X, "decision_function")

    def _scores(self, X, method):
        X = self._validate_new(X, method)
        return self._model.scores_of_rows(X)

    def _validate_new(self, X, method):
        check_is_fitted(self)
        X = self._validate_X(X, reset=False)
        if not is_lazy(X):
            check_same_namespace(X, self, attribute="intercept_", method=method)
        return X

    def _validate_X(self, X, *, reset):
        return check_samples(self, X, reset=reset)

    def _distinct_attributes(self, X, rows):
        Kernel.of(self).check_samples(X)
        return Boundaries.of_distinct(rows).attributes(X)

    def _model_attributes(self, model, X):
        return model.attributes(X)

    def _resolved(self, problem):
        if not hasattr(self, "gamma"):
            return {}
        return {"gamma_": np.nan if problem is None else problem.kernel.coefficient}

    def __sklearn_tags__(self):
        return Kernel.of(self).describe(super().__sklearn_tags__())


# --- clusterers on graphs -----------------------------------------------------------------------


class GraphClustering(BaseClustering):
    """Clustering whose model gives responses to samples by their similarities to others."""

    gamma_: float

    _model: Any  # a GraphModel, in most
    _landmarks: Any = None  # graphs of landmarks to cluster, by their number of neighbours

    fit = fit_without_weights

    def predict(self, X: Samples) -> Array:
        """Cluster of each sample: the sign of its response, or the largest of several.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; where similarities are precomputed, those of the new samples to the training
            samples, one row per new sample.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Cluster numbers from 0, and -1 for outliers where `outliers` is not None.
        """
        X = self._validate_new(X, "predict")
        return marked(self, X, answers(self._model.labels, X, dtype=np.int32))

    def decision_function(self, X: Samples) -> Array:
        """Soft responses of samples.

        A sample that equals a training sample has the response of that sample. The response of any
        other follows from its similarities to the training samples. A sample that is not similar
        to any takes the response of the nearest.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; where similarities are precomputed, those of the new samples to the training
            samples, one row per new sample.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_clusters)
            For two clusters one value, positive for cluster 1. Otherwise a column per cluster,
            minus infinity for one that was never split off; the largest decides. All zero for one
            cluster.
        """
        return self._scores(X, "decision_function")

    def _scores(self, X, method):
        X = self._validate_new(X, method)
        return answers(self._model.scores, X, n_columns=n_score_columns(self._model))

    def _validate_new(self, X, method):
        check_is_fitted(self)
        X = self._validate_X(X, reset=False)
        # callbacks see models that have no labels yet
        if not (is_lazy(X) or is_dask(getattr(self, "labels_", None))):
            check_same_namespace(X, self, attribute="labels_", method=method)
        return X

    def _validate_X(self, X, *, reset):
        return check_graph_samples(self, X, reset=reset)

    def _resolved(self, problem):
        return {"gamma_": np.nan if problem is None else problem.graph.gamma}

    def _distinct_attributes(self, X, rows):
        # neighbours load numba, which clusterers by boundaries do not need
        from separatrix.models.nearest_samples import NearestSample

        model = NearestSample.of_distinct(rows)
        return {"_model": model, "response_": model.scores(X), "reg_": np.nan}

    def _model_attributes(self, model, X):
        response = exactly_beside(model.responses, X)
        attributes = {"_model": model, "response_": response, "reg_": model.rule.reg}
        if not model.graph.is_matrix:
            attributes["affinity_matrix_"] = similarities_beside(model.graph.W, X)
        return attributes

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = precomputed_parameter(self) is not None
        return tags


def precomputed_parameter(estimator):
    """Name of the parameter by which X is not a feature matrix, or None."""
    params = estimator.get_params(deep=False)
    return next((n for n in ("matrix", "affinity") if params.get(n) == "precomputed"), None)


def n_score_columns(model):
    """Columns of the scores of a model; None if it has one value per sample."""
    return None if model.n_clusters <= 2 else model.n_clusters


def check_graph_samples(estimator, X, *, reset):
    """Samples, or their similarities, in memory where they are those of a fit."""
    if reset:
        instead = "MaximinSeparationClustering or MaximumMarginClustering"
        refuse_dask(estimator, X, instead=instead)
    parameter = precomputed_parameter(estimator)
    dtype = FLOATS if parameter is None else np.float64
    # a Gaussian needs squares of distances; local similarities take any scale
    scale_free = getattr(estimator, "affinity", None) != "rbf"
    X = check_samples(estimator, X, reset=reset, dtype=dtype, scale_free=scale_free)
    if reset:
        check_square(X, parameter)
    return X


def check_square(X, parameter):
    """Refuse X if `parameter` says that it is a matrix of all pairs of samples and it is not."""
    if parameter is not None and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"{parameter}='precomputed' needs X to be a square matrix with a row and a column per "
            f"sample, got shape {X.shape}; use another {parameter} for a feature matrix."
        )


def similarities_beside(W, X):
    """Similarities where the samples are: on a device a sparse matrix of its own library."""
    from separatrix.similarity.device_graphs import DeviceMatrix

    if isinstance(W, np.ndarray):
        return exactly_beside(W, X)
    if not isinstance(W, DeviceMatrix):
        if is_numpy(X):
            return W
        W = DeviceMatrix(*(exactly_beside(part, X) for part in (W.indptr, W.indices, W.data)))
    return W.native


def similarities_of(estimator, X, sample_weight=None, *, on_device=False, stacklevel=7):
    """Graph of the samples. Warns of samples that are not similar to any other."""
    graph = graph_of(estimator, X, sample_weight, on_device=on_device)
    n_isolated = graph.n_isolated
    if n_isolated:
        warnings.warn(
            f"{n_isolated} of {X.shape[0]} samples are not similar to any other, so their "
            "clusters are arbitrary; decrease gamma, increase n_neighbors or use graph='union'.",
            UserWarning,
            stacklevel=stacklevel,
        )
    return graph


def graph_of(estimator, X, sample_weight=None, *, on_device=False):
    """Graph of similarities that the parameters of an estimator ask for.

    With `on_device` it is made there where X is an array on a device, provided that it is a large
    graph of neighbours among distinct samples; all others are made on the host.
    """
    from separatrix.similarity.device_graphs import DeviceGraph
    from separatrix.similarity.graphs import GivenGraph, distinct_graph, searches_approximately
    from separatrix.similarity.quadratic_forms import DENSE_SAMPLES

    if not is_numpy(X):
        of_neighbors = (estimator.affinity, estimator.graph) == ("local", "union")
        suits = of_neighbors and sample_weight is None
        if on_device and suits and X.shape[0] > DENSE_SAMPLES and are_distinct(X):
            is_approximate = searches_approximately(estimator.neighbors, X)
            return DeviceGraph.of(X, estimator.n_neighbors, is_approximate=is_approximate)
        X = to_numpy(X)
    if estimator.affinity == "precomputed":
        return GivenGraph.of_similarities(X)
    gamma = None
    if estimator.affinity == "rbf":
        gamma = resolved_gamma(estimator.gamma, X, sample_weight)
    return distinct_graph(
        X,
        sample_weight,
        affinity=estimator.affinity,
        graph=estimator.graph,
        n_neighbors=estimator.n_neighbors,
        gamma=gamma,
        neighbors=estimator.neighbors,
        n_jobs=estimator.n_jobs,
    )
