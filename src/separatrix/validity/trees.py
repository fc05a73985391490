"""Boosted regression trees, as arrays."""

from dataclasses import dataclass

import numpy as np

from separatrix._numba import njit

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


@njit
def _sums(X, feature, threshold, left, right, value):  # IN
    """What the leaves that each sample falls into add up to."""
    sums = np.zeros(len(X))
    for i in range(len(X)):
        for tree in range(len(feature)):
            node = 0
            while left[tree, node] > 0:
                low = X[i, feature[tree, node]] <= threshold[tree, node]
                node = left[tree, node] if low else right[tree, node]
            sums[i] += value[tree, node]
    return sums
