"""Scores and labels of an estimator, as displays take them."""

import numpy as np

from separatrix.models.scores import (
    checked_labels,
    cluster_numbers,
    cluster_scores,
    dense,
    in_memory,
    leads,
    margins_of,
    predicted,
    rows_for,
    score_columns,
)
from separatrix.plots.canvas import require

__all__ = [
    "checked_labels",
    "cluster_numbers",
    "cluster_scores",
    "dense",
    "in_memory",
    "labels_of",
    "leads",
    "margins_of",
    "predicted",
    "rows_for",
    "score_columns",
    "score_rule",
]


def labels_of(estimator, X):
    """Clusters of the samples of `fit`, or of `X` for an estimator that does not keep them."""
    if hasattr(estimator, "labels_"):
        return in_memory(estimator.labels_)
    return predicted(estimator, X)


def score_rule(estimator, X):
    """Map from points to scores, or to ones and zeros for a clusterer that only predicts."""
    if hasattr(estimator, "decision_function"):
        return lambda points: cluster_scores(estimator, points)
    require(estimator, "predict", "a boundary needs a clusterer that labels new samples")
    clusters = np.arange(labels_of(estimator, X).max() + 1)
    return lambda points: (predicted(estimator, points)[:, None] == clusters).astype(np.float64)
