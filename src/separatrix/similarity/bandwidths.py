"""Widths of kernels by the rules that the parameter `gamma` names."""

from numbers import Real

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import euclidean_distances

from separatrix.data.sampling import sample_rows

__all__ = ["distance_gamma", "resolved_gamma", "scale_gamma"]


def scale_gamma(X, weights=None):
    """Kernel coefficient 1 / (n_features * variance of X), as scikit-learn's SVC has it."""
    if not sp.issparse(X):  # far from the origin, squares would swallow the differences
        X = X - X.mean()
    squares = X.multiply(X) if sp.issparse(X) else X * X
    mean, square = (
        np.average(np.asarray(values.mean(axis=1)).ravel(), weights=weights)
        for values in (X, squares)
    )
    variance = square - mean**2
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


def distance_gamma(X, weights=None, *, rule="mean", multiple=1.0):
    """Kernel coefficient 1 / sigma**2, with a multiple of a typical distance as the width sigma.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        Samples; all their distances are computed.
    weights : ndarray of shape (n_samples,), default=None
        Their weights.
    rule : {"mean", "median"}, default="mean"
        Which distance of two samples is typical. A sample is no pair with itself.
    multiple : float, default=1.0
        Multiple of it.

    Returns
    -------
    gamma : float
    """
    distances = euclidean_distances(X if sp.issparse(X) else X - X.mean(axis=0))
    if weights is None and rule == "mean" and len(distances) > 1:
        typical = distances.sum() / (len(distances) * (len(distances) - 1))
        return 1.0 / (multiple * typical) ** 2 if typical > 0 else 1.0
    weights = np.ones(len(distances)) if weights is None else weights
    pairs = np.outer(weights, weights)
    # a sample of weight two is two equal samples, which make pairs at distance zero
    pairs[np.diag_indices_from(pairs)] = np.maximum(weights**2 - weights, 0.0)
    if not (pairs > 0).any():
        return 1.0
    if rule == "mean":
        typical = np.average(distances, weights=pairs)
    else:
        order = np.argsort(distances, axis=None)
        below = np.cumsum(pairs.ravel()[order])
        typical = distances.ravel()[order[np.searchsorted(below, 0.5 * below[-1])]]
    return 1.0 / (multiple * typical) ** 2 if typical > 0 else 1.0


# Rows whose distances to each other tell a typical one.
DISTANCE_ROWS = 2_000


def resolved_gamma(gamma, rows, weights):
    """The parameter `gamma`, a number or the rule for one, as a number."""
    if isinstance(gamma, str):
        if gamma == "scale":
            return scale_gamma(rows, weights)
        gamma = (gamma, 1.0)
    if not isinstance(gamma, tuple):
        return gamma
    known = len(gamma) == 2 and gamma[0] in ("mean", "median")
    if not (known and isinstance(gamma[1], Real) and float(gamma[1]) > 0):
        raise ValueError(
            f"gamma={gamma!r} must name a distance and a positive multiple of it, such as "
            "('mean', 0.5) or ('median', 1.0)."
        )
    # the width of a kernel is no place for chance: the same rows are drawn each time
    rows, weights = sample_rows(rows, weights, size=DISTANCE_ROWS, rng=np.random.RandomState(0))
    return distance_gamma(rows, weights, rule=gamma[0], multiple=float(gamma[1]))
