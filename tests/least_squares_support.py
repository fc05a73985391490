"""Least-squares clustering by its definition, which its tests compare with."""

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels

from separatrix.labels.sizes import Sizes

SOLVERS = ["shaking", "steepest", "stochastic"]
KERNELS = {
    "linear": {},
    "rbf": {"gamma": 0.3},
    "poly": {"gamma": 0.2, "degree": 2, "coef0": 1},
    "laplacian": {"gamma": 0.3},
    "cosine": {},
    "chi2": {"gamma": 0.3},
}


def kernel_of(X, name):
    """Kernel matrix as the estimator means it: the linear one of centred samples."""
    if name == "linear":
        X = X - X.mean(axis=0)
    return pairwise_kernels(X, metric=name, **KERNELS[name])


def corners(seed=0, n=90, n_groups=3, spread=0.5):
    """Groups that are far apart, in shuffled order, and which is which."""
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.arange(n) % n_groups)
    return 8.0 * np.eye(n_groups)[truth] + spread * rng.normal(size=(n, n_groups)), truth


def plus_minus(labels, n_clusters):
    """(8) of the paper, one column for each cluster."""
    return np.where(np.asarray(labels)[:, None] == np.arange(n_clusters), 1.0, -1.0)


def loss_matrix(K, reg):
    """The A of F(y) = y'Ay, (7) of the paper, with G = (K + reg I)^-1."""
    G = np.linalg.inv(K + reg * np.eye(len(K)))
    left = np.eye(len(K)) - K @ G
    return left.T @ left + reg * G @ K @ G


def criterion(A, labels, n_clusters):
    """(10) of the paper: F summed over the clusters."""
    P = plus_minus(labels, n_clusters)
    return np.einsum("ih,ij,jh->", P, A, P)


def refitted_without_each(K, targets, reg):
    values = np.empty_like(targets)
    for i in range(len(K)):
        rest = np.arange(len(K)) != i
        multipliers = np.linalg.solve(
            K[np.ix_(rest, rest)] + reg * np.eye(len(K) - 1), targets[rest]
        )
        values[i] = K[i, rest] @ multipliers
    return values


def bounded_modes(n, n_clusters):
    """Parameters of the estimator with the sizes that they allow, in this order of clusters."""
    shares = np.arange(1, n_clusters + 1) / np.arange(n_clusters + 1).sum()
    return {
        "free": ({}, Sizes.of(n, n_clusters, "free", None, None)),
        "equal": ({"shares": "equal"}, Sizes.of(n, n_clusters, "equal", None, None)),
        "given": ({"shares": shares}, Sizes.of(n, n_clusters, shares, None, None)),
        "between": (
            {"min_size": 2, "max_size": n // 2 + 1},
            Sizes.of(n, n_clusters, "free", 2, n // 2 + 1),
        ),
    }
