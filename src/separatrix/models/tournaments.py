"""Samples whose cluster wins the duels with all others, found with few duels."""

import numpy as np

from separatrix._numba import njit


@njit
def winners_of_tournaments(X, coef, intercept, pair):
    """The cluster of each row that wins against every other; -1 if there is none.

    `pair` has the boundary of each two clusters, with the later one on its positive side.
    """
    n_clusters = pair.shape[0]
    winners = np.empty(X.shape[0], dtype=np.int64)
    for i in range(X.shape[0]):
        winner = 0
        for other in range(1, n_clusters):
            if _value(X, i, coef, intercept, pair[winner, other]) > 0:
                winner = other
        # those after it have lost against it already
        for other in range(winner):
            if not _value(X, i, coef, intercept, pair[other, winner]) > 0:
                winner = -1
                break
        winners[i] = winner
    return winners


@njit
def _value(X, i, coef, intercept, boundary):
    """Value of a boundary at row i."""
    value = intercept[boundary]
    for feature in range(X.shape[1]):
        value += coef[boundary, feature] * X[i, feature]
    return value
