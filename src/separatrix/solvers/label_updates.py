"""Labels of least loss for the values of machines, in balance."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix._sklearn import like, namespace_of, to_numpy
from separatrix.labels.links import linked_labels, linked_signs
from separatrix.labels.offsets import balanced_offsets
from separatrix.labels.thresholds import balanced_threshold

__all__ = ["LabelUpdate", "linked", "signs_of", "weight_of"]


# --- labels of a machine ------------------------------------------------------------------------


def signs_of(labels, side, dtype):
    """Targets of a machine: on which side of its boundary clusters lie, by a row of the code."""
    xp, _ = namespace_of(labels)
    positive = xp.zeros_like(labels, dtype=xp.bool)
    for cluster in np.flatnonzero(side > 0):
        positive = positive | (labels == int(cluster))
    return 2 * xp.astype(positive, dtype) - 1


def weight_of(rows, sample_weight):
    """Summed weight of the rows in a mask."""
    xp, _ = namespace_of(rows)
    if sample_weight is None:
        return float(xp.count_nonzero(rows))
    return float(xp.sum(sample_weight[rows]))


@dataclass(frozen=True)
class Step:
    """New labels, what was added to fitted values for them, and whether they are in balance."""

    labels: Any
    shifts: np.ndarray
    within: bool


class LabelUpdate:
    """Labels of the values that machines have, of least loss among those in balance."""

    def __init__(self, sample_weight, n_clusters, *, loss, balance, links=None):
        self._weight = sample_weight
        self._links = links
        self._n_clusters = n_clusters
        self._loss = loss
        self._balance = balance

    def __call__(self, fitted):
        """Label the samples by the values of one machine, or of one for each cluster."""
        xp, _ = namespace_of(fitted[0])
        if self._n_clusters == 2:
            cut = balanced_threshold(
                fitted[0], self._weight, loss=self._loss, balance=self._balance
            )
            threshold = cut.threshold
            if np.isnan(threshold):  # a machine that tells nothing apart
                threshold = float(fitted[0][0])
            if self._links is not None:
                return self._linked_step(fitted[0] - threshold, -threshold)
            labels = xp.astype(fitted[0] > threshold, xp.int8)
            return Step(labels, np.array([-threshold]), cut.within)
        scores = xp.stack(fitted, axis=1)
        total = scores.shape[0] if self._weight is None else float(xp.sum(self._weight))
        size = total / self._n_clusters
        bounds = {
            "min_size": np.floor((1 - self._balance) * size),
            "max_size": np.ceil((1 + self._balance) * size),
        }
        if self._links is None:
            found = balanced_offsets(scores, self._weight, **bounds)
            labels = xp.argmax(scores + like(found.offsets, scores), axis=1)
        else:
            weight = to_numpy(self._weight)
            found = linked_labels(scores, self._links, sample_weight=weight, **bounds)
            labels = like(found.labels, scores)
        dtype = xp.int8 if self._n_clusters < 128 else xp.int32
        return Step(xp.astype(labels, dtype), found.offsets, found.within)

    def _linked_step(self, margins, shift):
        """Labels of two clusters that lose least among those that keep balance and links."""
        f, weight = to_numpy(margins), to_numpy(self._weight)
        # half of what the loss is larger by at -1 than at 1
        gains = {
            "square": f,
            "laplacian": np.clip(f, -1, 1),
            "hinge": 0.5 * (np.maximum(0, 1 + f) - np.maximum(0, 1 - f)),
        }[self._loss]
        gains = gains if weight is None else weight * gains
        found = linked_signs(gains, self._links, balance=self._balance, sample_weight=weight)
        labels = like((found.y > 0).astype(np.int8), margins)
        return Step(labels, np.array([shift]), found.within)


def linked(problem, boundaries, *, loss, balance):
    """Labels of all samples, nearest to those of boundaries, that keep links and balance."""
    features, coef = problem.X, boundaries.coef
    fitted = [
        features @ (row if sp.issparse(features) else like(row, features)) + float(offset)
        for row, offset in zip(coef, boundaries.intercept, strict=True)
    ]
    update = LabelUpdate(
        problem.sample_weight,
        boundaries.n_clusters,
        loss=loss,
        balance=balance,
        links=problem.links,
    )
    return update(fitted).labels
