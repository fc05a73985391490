"""What a report tells of a clustering, as numbers and names."""

import warnings
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from separatrix.data.gate import check_rows
from separatrix.metrics import separation_probability_score
from separatrix.plots.canvas import chosen_rows
from separatrix.plots.projection import plane_across
from separatrix.plots.scores import cluster_scores, dense, in_memory, margins_of

__all__ = ["NOISE", "Clustering", "Samples", "clustering_of", "picture_of", "samples_of"]

NOISE = "noise"  # what rows of no cluster are called
MAX_POINTS = 3_000
# Wide data are drawn with fewer points: the plane is found from dense rows.
MAX_DRAWN_VALUES = 2_000_000


@dataclass(frozen=True)
class Samples:
    """Rows with the names of their columns; without columns if these are other samples."""

    X: Any  # as the model takes them
    features: Any  # as numbers, dense or sparse
    values: Any  # as readers know them: before scaling, if a pipeline did no more than that
    names: list
    row_names: Any  # a list, or None


def samples_of(estimator, X, feature_names=None, row_names=None):
    """Samples as the model at the end of `estimator`, perhaps a pipeline, sees them."""
    model = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    steps = estimator[:-1] if model is not estimator and len(estimator) > 1 else None
    seen = X if steps is None else steps.transform(X)
    features = values = check_rows(seen)
    n_samples, n_features = features.shape
    own = getattr(X, "columns", getattr(estimator, "feature_names_in_", None))
    own = None if own is None else [str(name) for name in own]
    names = own if feature_names is None else [str(name) for name in feature_names]
    n_fitted = getattr(model, "n_features_in_", n_features)
    if n_fitted != n_features:
        raise ValueError(
            f"X has {n_features} columns but {type(model).__name__} was fitted on {n_fitted}; "
            "pass the data of the fit."
        )
    n_columns = X.shape[1] if len(getattr(X, "shape", ())) == 2 else n_features
    names = names or [f"feature {j}" for j in range(n_columns)]
    if len(names) != n_columns:
        raise ValueError(
            f"feature_names has {len(names)} names but X has {n_columns} columns; pass one name "
            "per column."
        )
    if steps is not None:
        before, names = names, _names_after(steps, own, names, n_features)
        if names == before:
            with suppress(TypeError, ValueError):  # from text, say
                values = check_rows(X)
    if estimator is not None and get_tags(estimator).input_tags.pairwise:
        features, values, names = np.empty((n_samples, 0)), np.empty((n_samples, 0)), []
    if row_names is None:
        row_names = X.index if hasattr(X, "iloc") else range(n_samples)
    row_names = list(row_names)  # by place, whatever index it has
    if len(row_names) != n_samples:
        raise ValueError(f"row_names has {len(row_names)} names but X has {n_samples} rows.")
    return Samples(seen, features, values, names, row_names)


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
    """A labelling of samples, with the model that made it; noise comes last, and is no cluster."""

    samples: Samples
    codes: np.ndarray  # positions in `clusters`
    clusters: list
    model: Any = None
    scores: Any = None  # (n_samples, n_clusters), if the model has any
    n_moved: int = 0  # rows whose label is not what the model predicts

    @cached_property
    def n_clusters(self):
        """Number of clusters, without noise."""
        return len(self.clusters) - (NOISE in self.clusters)

    @cached_property
    def clustered(self):
        """What selects the rows that are no noise."""
        return self.codes < self.n_clusters if NOISE in self.clusters else slice(None)

    @cached_property
    def sizes(self):
        """Number of rows in each cluster."""
        return np.bincount(self.codes, minlength=len(self.clusters))

    @cached_property
    def separation(self):
        """Separation probability, None where it has no meaning."""
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
        """Features, those first that tell most: by weight, or by the variance explained."""
        told = self.explained if self.weights is None else self.weight_shares
        return np.argsort(-told, kind="stable")

    @cached_property
    def leads(self):
        """By how much the own cluster of each row beats the best other one, or None."""
        is_known = self.scores is not None and self.n_clusters > 1
        return margins_of(self.scores, self.codes) if is_known else None

    def told_values(self, rows, n_features):
        """Name and values in these rows of the features that tell most."""
        told = self.ranking[:n_features]
        values = dense(self.samples.values[rows][:, told]).T.tolist()
        return list(zip([self.samples.names[j] for j in told], values, strict=True))

    def runners_up(self, rows):
        """The best other cluster of each row, by the scores."""
        others = self.scores[rows]
        others[np.arange(len(rows)), self.codes[rows]] = -np.inf
        return [self.clusters[code] for code in others.argmax(axis=1)]


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
    labels, predicted, scores = in_memory(model.labels_), None, None
    with warnings.catch_warnings():  # names are for readers here
        warnings.filterwarnings("ignore", message="X .*feature names")
        if hasattr(model, "decision_function"):
            scores = cluster_scores(model, samples.X)
            predicted = scores.argmax(axis=1)
        elif hasattr(model, "predict") and samples.names:  # some refuse similarities
            predicted = in_memory(model.predict(samples.X))
    if len(labels) != n_samples:  # not the rows of the fit
        if predicted is None:
            raise ValueError(
                f"X has {n_samples} rows but {type(model).__name__} was fitted on {len(labels)} "
                "and predicts no others; pass the rows of the fit."
            )
        labels = predicted
    n_moved = np.sum(predicted is not None and (labels != predicted) & (labels != -1))
    clusters, codes = np.unique(labels, return_inverse=True)
    names = [f"cluster {cluster}" for cluster in clusters]
    if clusters[0] == -1:
        names, codes, scores = [*names[1:], NOISE], (codes - 1) % len(names), None
    if scores is not None:  # less the columns of empty clusters
        scores = scores[:, clusters]
    return Clustering(samples, codes, names, model, scores, int(n_moved))


def picture_of(clustering):
    """Rows to draw, their points in a plane, names of its axes, and the boundary there.

    The boundary is (a, b, c) where a x + b y + c = 0, or None if it is no line.
    """
    samples, model = clustering.samples, clustering.model
    n_samples, n_features = samples.features.shape
    rows = chosen_rows(n_samples, min(MAX_POINTS, max(50, MAX_DRAWN_VALUES // n_features)))
    points = dense(samples.features[rows]).astype(np.float64)
    if n_features == 1:
        return rows, np.column_stack([points, rows]), (samples.names[0], "row"), None
    # without scores these are the principal components
    scores = np.zeros((n_samples, 1)) if clustering.scores is None else clustering.scores
    plane = plane_across(model, points, scores[rows], samples.names)
    coef, line = in_memory(getattr(model, "coef_", np.empty((0, 0)))), None
    if len(coef) == 1 and clustering.n_clusters == 2:  # its normal lies in the plane
        offset = plane.origin @ coef[0] + in_memory(model.intercept_)[0]
        line = (*map(float, plane.axes @ coef[0]), float(offset))
    return rows, plane.project(points), plane.names, line
