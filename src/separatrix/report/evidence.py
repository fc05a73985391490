"""What a report says about a clustering, as numbers and names."""

import warnings
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import euclidean_distances
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from separatrix.data.gate import check_rows, on_host
from separatrix.metrics import separation_probability_score
from separatrix.plots.canvas import chosen_rows
from separatrix.plots.projection import plane_across
from separatrix.plots.scores import cluster_scores, dense, in_memory, margins_of
from separatrix.profiles import profile_of
from separatrix.tables import TablePreparer, cluster_findings
from separatrix.tables.columns import Column, named_columns

__all__ = ["OUTLIERS", "Clustering", "Samples", "clustering_of", "picture_of", "samples_of"]

OUTLIERS = "outliers"  # what rows of no cluster are called
MAX_POINTS = 3_000
# Wide data are drawn with fewer points: the plane is found from dense rows.
MAX_DRAWN_VALUES = 2_000_000
MAX_COLUMNS = 200  # described; of more, those that separate the clusters best


@dataclass(frozen=True)
class Samples:
    """Rows with the names of their features; without features if these are other samples."""

    X: Any  # as the model takes them
    features: Any  # as numbers, dense or sparse
    values: Any  # as shown to readers: before scaling, if that is all a pipeline does
    names: list
    row_names: Any  # a list, or None
    are_shares: Any = None  # whether the mean of each value is a share of the rows, if known
    columns: Any = None  # of the table that the features are made of, if they are not its columns
    preparer: Any = None  # the TablePreparer that made them, if one did
    table: Any = None  # what it takes


def samples_of(estimator, X, feature_names=None, row_names=None):
    """Samples in the form that the model at the end of `estimator`, perhaps a pipeline, takes."""
    model = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    steps = estimator[:-1] if model is not estimator and len(estimator) > 1 else None
    seen, X = (on_host(one) for one in (X if steps is None else steps.transform(X), X))
    features = check_rows(seen)
    n_samples, n_features = features.shape
    n_fitted = getattr(model, "n_features_in_", n_features)
    if n_fitted != n_features:
        raise ValueError(
            f"X has {n_features} columns but {type(model).__name__} was fitted on {n_fitted}; "
            "pass the data of the fit."
        )
    if row_names is None:
        row_names = X.index if hasattr(X, "iloc") else range(n_samples)
    row_names = list(row_names)  # by place, whatever index it has
    if len(row_names) != n_samples:
        raise ValueError(f"row_names has {len(row_names)} names but X has {n_samples} rows.")
    if estimator is not None and get_tags(estimator).input_tags.pairwise:
        nothing = np.empty((n_samples, 0))
        return Samples(seen, nothing, nothing, [], row_names)
    if steps is not None and isinstance(steps[0], TablePreparer):
        told = _of_a_preparer(steps, X, features, feature_names)
    else:
        told = _of_numbers(estimator, steps, X, features, feature_names)
    return Samples(seen, features, row_names=row_names, **told)


def _of_numbers(estimator, steps, X, features, feature_names):
    """Rows of numbers as shown to readers: values, names, and columns of a table."""
    own = getattr(X, "columns", getattr(estimator, "feature_names_in_", None))
    own = None if own is None else [str(name) for name in own]
    names = own if feature_names is None else [str(name) for name in feature_names]
    n_columns = X.shape[1] if len(getattr(X, "shape", ())) == 2 else features.shape[1]
    names = names or [f"feature {j}" for j in range(n_columns)]
    if len(names) != n_columns:
        raise ValueError(
            f"feature_names has {len(names)} names but X has {n_columns} columns; pass one name "
            "per column."
        )
    made = names if steps is None else _names_after(steps, own, names, features.shape[1])
    values, columns = features, None
    if made == names:
        with suppress(TypeError, ValueError):  # from text, say
            values = check_rows(X)
    elif hasattr(X, "columns"):
        columns = [one for one in named_columns(X, names) if one.is_usable]
    return {"values": values, "names": made, "columns": columns or None}


def _of_a_preparer(steps, X, features, feature_names):
    """The same of a table that the first step of a pipeline prepares."""
    if feature_names is not None:
        raise ValueError(
            f"feature_names={feature_names!r}: the TablePreparer of the pipeline names the "
            "features; rename the columns of X before the fit instead."
        )
    preparer = steps[0]
    names, values = list(preparer.get_feature_names_out()), features
    are_shares = None
    if len(steps) == 1:
        values, are_shares = preparer.in_units(X), preparer.are_shares_
    else:
        names = _names_after(steps, None, names, features.shape[1])
    return {
        "values": values,
        "names": names,
        "are_shares": are_shares,
        "columns": list(preparer.columns_in(X).values()),
        "preparer": preparer,
        "table": X,
    }


def _names_after(steps, own, names, n_columns):
    """Names of the columns that the steps of a pipeline make of columns of these names."""
    try:
        made = [str(name) for name in steps.get_feature_names_out(own or names)]
    except (AttributeError, ValueError):  # of a step that knows no names
        return [f"column {j} of the pipeline" for j in range(n_columns)]
    renamed = dict(zip(own or names, names, strict=True))
    return [renamed.get(name, name) for name in made]


def _variances(X):
    return StandardScaler(with_mean=False).fit(X).var_ if all(X.shape) else np.zeros(X.shape[1])


@dataclass(frozen=True)
class Clustering:
    """A labelling of samples, with the model that made it; outliers come last, in no cluster."""

    samples: Samples
    codes: np.ndarray  # positions in `clusters`
    clusters: list
    model: Any = None
    scores: Any = None  # (n_samples, n_clusters), if the model has any
    judged: Any = ...  # rows that the model was asked about; scores of others are NaN
    n_moved: int = 0  # of these, the rows whose label is not what the model predicts

    @cached_property
    def n_clusters(self):
        """Number of clusters, without outliers."""
        return len(self.clusters) - (OUTLIERS in self.clusters)

    @cached_property
    def clustered(self):
        """What selects the rows that are no outliers."""
        return self.codes < self.n_clusters if OUTLIERS in self.clusters else slice(None)

    @cached_property
    def sizes(self):
        """Number of rows in each cluster."""
        return np.bincount(self.codes, minlength=len(self.clusters))

    @cached_property
    def separation(self):
        """Separation probability; None if it is undefined."""
        if not self.samples.names or self.n_clusters < 2:
            return None
        rows = self.clustered
        with suppress(ValueError):  # from features that do not vary
            return separation_probability_score(self.samples.features[rows], self.codes[rows])

    @cached_property
    def confidence(self):
        """Confidence of the model in the cluster of each row, or None."""
        shares: Any = getattr(self.model, "confidence_", None)
        return in_memory(shares) if np.shape(shares) == self.codes.shape else None

    @cached_property
    def means(self):
        """Means of the shown values in each cluster, of shape (n_clusters, n_features)."""
        n_samples = len(self.codes)
        ones = (np.ones(n_samples), (self.codes, np.arange(n_samples)))
        members = sp.csr_array(ones, shape=(len(self.clusters), n_samples))
        return dense(members @ self.samples.values) / np.maximum(self.sizes, 1)[:, None]

    @cached_property
    def explained(self):
        """Share of the variance of each feature that lies between the clusters."""
        means, sizes = self.means[: self.n_clusters], self.sizes[: self.n_clusters]
        weights = sizes / sizes.sum()
        mean = weights @ means
        between = weights @ (means - mean) ** 2
        variance = _variances(self.samples.values[self.clustered])
        varies = variance > 1e-20 * mean**2  # by more than rounding
        return np.clip(np.where(varies, between, 0) / np.where(varies, variance, 1), 0, 1)

    @cached_property
    def weights(self):
        """Weights of linear boundaries times the features' standard deviations, or None."""
        coef = in_memory(getattr(self.model, "coef_", np.empty((0, 0))))
        return coef * np.sqrt(_variances(self.samples.features)) if coef.any() else None

    @cached_property
    def weight_shares(self):
        """Share of each feature in the weights, averaged over the boundaries."""
        sizes = abs(self.weights)
        return (sizes / np.maximum(sizes.sum(axis=1, keepdims=True), 1e-300)).mean(axis=0)

    @cached_property
    def ranking(self):
        """Features, the most important first: by weight, or by the variance explained."""
        told = self.explained if self.weights is None else self.weight_shares
        return np.argsort(-told, kind="stable")

    @cached_property
    def leads(self):
        """By how much the own cluster of each row beats the best other one, or None."""
        if self.scores is None or self.n_clusters < 2:
            return None
        found = np.full(len(self.codes), np.nan)
        found[self.judged] = margins_of(self.scores[self.judged], self.codes[self.judged])
        return found

    @cached_property
    def columns(self):
        """Columns as shown to readers."""
        if self.samples.columns is not None:
            return self.samples.columns
        values, names = self.samples.values, self.samples.names
        shown = np.sort(np.argsort(-self.explained, kind="stable")[:MAX_COLUMNS])
        return [Column(names[j], "numbers", dense(values[:, [j]])[:, 0]) for j in shown]

    @cached_property
    def profile(self):
        """What is typical of each cluster; None where there is no column or no cluster."""
        if not self.columns or not self.n_clusters:
            return None
        return profile_of(self.columns, np.where(self.codes < self.n_clusters, self.codes, -1))

    @cached_property
    def column_findings(self):
        """What there is to say of columns of a prepared table and these clusters."""
        if self.samples.preparer is None:
            return []
        return cluster_findings(self.samples.preparer, self.samples.table, self.codes)

    def told_values(self, rows, n_columns):
        """Name and values in these rows of the columns that differ most between clusters."""
        if self.profile is None:
            return []
        names = dict.fromkeys(of[0].column for of in self.profile.differences.values())
        by_name = {column.name: column for column in self.columns}
        return [(name, _cells(by_name[name], rows)) for name in list(names)[:n_columns]]

    def typical_rows(self, n_rows, n_clusters):
        """For each of the first clusters, the rows nearest to its mean in the model's features."""
        found: list[int] = []
        for code in range(min(self.n_clusters, n_clusters)):
            rows = np.flatnonzero(self.codes == code)
            members = self.samples.features[rows]
            if sp.issparse(members):
                distances = euclidean_distances(
                    members, np.asarray(members.mean(axis=0)).reshape(1, -1)
                )
            else:
                distances = np.linalg.norm(members - members.mean(axis=0), axis=1)
            found.extend(rows[np.argsort(np.ravel(distances), kind="stable")[:n_rows]])
        return np.array(found, dtype=int)

    @cached_property
    def doubts(self):
        """Rows, the most doubtful first, as far as it is known; None if it is not."""
        known = [one for one in (self.confidence, self.leads) if one is not None]
        if not known or self.n_clusters < 2:
            return None
        return np.lexsort([abs(one) for one in known[::-1]])

    def runners_up(self, rows):
        """The best other cluster of each row, by the scores."""
        others = self.scores[rows]
        others[np.arange(len(rows)), self.codes[rows]] = -np.inf
        return [self.clusters[code] for code in others.argmax(axis=1)]


def _cells(column, rows):
    """Values of a column in these rows, as shown to readers."""
    if column.kind == "texts":
        levels = [*column.levels, "missing"]
        return [levels[code] for code in column.values[rows]]
    if column.kind == "dates":
        return ["missing" if np.isnat(one) else str(one)[:10] for one in column.values[rows]]
    return ["missing" if np.isnan(one) else float(one) for one in column.values[rows]]


def clustering_of(estimator, X, feature_names=None, row_names=None):
    """The clustering that a fitted estimator, or a pipeline, makes of samples."""
    model = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if not hasattr(model, "labels_"):
        raise TypeError(
            f"{type(model).__name__} has no labels_: pass a fitted clusterer, a pipeline that "
            "ends in one, or a comparison."
        )
    samples = samples_of(estimator, X, feature_names, row_names)
    n_samples = samples.features.shape[0]
    labels, judged = in_memory(model.labels_), _rows_to_judge(model, samples)
    predicted, scores = _judgement(model, samples, judged)
    if len(labels) != n_samples:  # not the rows of the fit
        if predicted is None:
            raise ValueError(
                f"X has {n_samples} rows but {type(model).__name__} was fitted on {len(labels)} "
                "and predicts no others; pass the rows of the fit."
            )
        labels = predicted
    known = labels[judged]
    n_moved = np.sum(predicted is not None and (known != predicted) & (known != -1))
    clusters, codes = np.unique(labels, return_inverse=True)
    names = [f"cluster {cluster}" for cluster in clusters]
    if clusters[0] == -1:
        names, codes, scores = [*names[1:], OUTLIERS], (codes - 1) % len(names), None
    if scores is not None:  # less the columns of empty clusters
        all_scores = np.full((n_samples, len(clusters)), np.nan)
        all_scores[judged] = scores[:, clusters]
        scores = all_scores
    return Clustering(samples, codes, names, model, scores, judged, int(n_moved))


def _rows_to_judge(model, samples):
    """Rows whose scores are computed: all, or a part of many if that takes the model itself."""
    n_samples = samples.features.shape[0]
    confidence = in_memory(getattr(model, "confidence_", np.empty(0)))
    if n_samples <= MAX_POINTS or len(confidence) != n_samples or not samples.names:
        return np.arange(n_samples)
    least = np.argsort(confidence, kind="stable")[:MAX_POINTS]
    return np.union1d(_drawn(samples), least)


def _judgement(model, samples, rows):
    """Clusters that a model predicts for rows, and their scores; None for what it does not."""
    is_part = len(rows) < samples.features.shape[0]
    X = samples.features[rows] if is_part else samples.X
    with warnings.catch_warnings():  # names are for readers here
        warnings.filterwarnings("ignore", message="X .*feature names")
        if hasattr(model, "decision_function"):
            scores = cluster_scores(model, X)
            return scores.argmax(axis=1), scores
        if hasattr(model, "predict") and samples.names:  # some refuse similarities
            return in_memory(model.predict(X)), None
    return None, None


def _drawn(samples):
    """Rows to draw."""
    n_samples, n_features = samples.features.shape
    return chosen_rows(n_samples, min(MAX_POINTS, max(50, MAX_DRAWN_VALUES // max(n_features, 1))))


def picture_of(clustering):
    """Rows to draw, their points in a plane, names of its axes, and the boundary there.

    The boundary is (a, b, c) where a x + b y + c = 0, or None if it is no line.
    """
    samples, model = clustering.samples, clustering.model
    n_samples, n_features = samples.features.shape
    rows = _drawn(samples)
    points = dense(samples.features[rows]).astype(np.float64)
    if n_features == 1:
        return rows, np.column_stack([points, rows]), (samples.names[0], "row"), None
    # without scores these are the principal components
    scores = np.zeros((n_samples, 1))
    if clustering.scores is not None and clustering.n_clusters > 1:
        scores = clustering.scores
    plane = plane_across(model, points, scores[rows], samples.names)
    coef, line = in_memory(getattr(model, "coef_", np.empty((0, 0)))), None
    if len(coef) == 1 and clustering.n_clusters == 2:  # its normal lies in the plane
        offset = plane.origin @ coef[0] + in_memory(model.intercept_)[0]
        line = (*map(float, plane.axes @ coef[0]), float(offset))
    return rows, plane.project(points), plane.names, line
