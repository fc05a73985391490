"""Boosted regression trees, as arrays."""

from dataclasses import dataclass

import numpy as np

__all__ = ["BoostedTrees"]


@dataclass(frozen=True)
class BoostedTrees:
    """Sum of small trees.

    Attributes
    ----------
    feature : ndarray of uint8 of shape (n_trees, n_nodes)
        Feature that a node asks for.
    threshold : ndarray of float32 of shape (n_trees, n_nodes)
        Up to it samples go left.
    left, right : ndarray of uint8 of shape (n_trees, n_nodes)
        Nodes that come next; zero at a leaf.
    value : ndarray of float32 of shape (n_trees, n_nodes)
        What a leaf adds.
    baseline : float
        What all samples begin with.
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    value: np.ndarray
    baseline: float

    def predict(self, X):
        """Values of samples, given in the features that the trees were grown on."""
        X = np.ascontiguousarray(X, dtype=np.float32)
        parts = self.feature, self.threshold, self.left, self.right, self.value
        return self.baseline + _sums(X, *parts)


def _sums(X, feature, threshold, left, right, value):
    """What the leaves that each sample falls into add up to."""
    rows, trees = np.arange(len(X))[:, None], np.arange(len(feature))
    nodes = np.zeros((len(X), len(feature)), dtype=np.intp)
    while (inner := left[trees, nodes] > 0).any():
        low = X[rows, feature[trees, nodes]] <= threshold[trees, nodes]
        below = np.where(low, left[trees, nodes], right[trees, nodes])
        nodes = np.where(inner, below, nodes)
    # added one by one, so that rounding does not depend on the other samples
    return value[trees, nodes].astype(np.float64).cumsum(axis=1)[:, -1]
