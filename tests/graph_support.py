"""What tests of responses on graphs share: samples, similarities, matrices and best values."""

import numpy as np
from scipy.linalg import null_space
from sklearn.datasets import make_blobs, make_moons

from separatrix.criteria.volume import solve_sphere
from separatrix.result import Progress
from separatrix.similarity.quadratic_forms import form_of
from separatrix.solvers.responses import DenseResponder

AFFINITIES = ["local", "rbf", "cosine"]
GRAPHS = ["union", "mutual", "full"]


def moons(n=160, noise=0.05, seed=0):
    """Two half circles and which of them each sample is of."""
    return make_moons(n, noise=noise, random_state=seed)


def three_blobs(n=90, seed=0):
    """Three round groups of falling size, and their numbers."""
    centers = [[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]]
    return make_blobs([n // 2, n // 3, n // 6], centers=centers, random_state=seed)


def random_similarities(rng, n):
    """A symmetric matrix of similarities, most of them small."""
    W = rng.random((n, n)) ** 3
    W = (W + W.T) / 2
    np.fill_diagonal(W, 0.0)
    return W


def random_definite(rng, n):
    """A positive definite matrix."""
    A = rng.normal(size=(n, n))
    return A @ A.T / n + 0.05 * np.eye(n)


def parts(sizes, seed=0, between=0.0):
    """Similarities within groups of the given sizes alone, and the groups, in random order."""
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    W = rng.uniform(0.3, 1.0, size=(len(groups), len(groups)))
    W = np.where(groups[:, None] == groups, W + W.T, between)
    np.fill_diagonal(W, 0.0)
    return W, groups


def criterion(Q, h, reg):
    """(4) of the paper."""
    return reg * h @ Q @ h - 2 * np.abs(h).sum()


def dense_responder(Q, bound):
    """Best responses on a matrix."""
    return DenseResponder(form_of(Q, "precomputed", 0.0), bound)


def solved(responder, reg, *, solve=solve_sphere, n_random=20, max_iter=200, seed=0):
    """The best of several starts."""
    starts = responder.candidates(n_random, reg, np.random.RandomState(seed))
    return solve(responder, starts, reg=reg, max_iter=max_iter, progress=Progress())


def balanced_best(Q, signs, reg):
    """Best responses of sum zero and their cost, on an explicit basis, by the dual function.

    The least value on the sphere is the greatest of eta - sum_i c_i^2 / (lambda_i - eta) over eta
    up to lambda_1: strong duality, which also holds in the hard case.
    """
    basis = null_space(np.ones((1, len(Q))))
    return sphere_values(basis.T @ Q @ basis, basis.T @ signs, reg)


def sphere_values(Q, targets, reg):
    """Least reg x'Qx - 2 c'x on the sphere for each column c, by bisection of the dual's slope."""
    values, vectors = np.linalg.eigh(reg * Q)
    squares = (vectors.T @ targets) ** 2
    low = values[0] - np.sqrt(squares.sum(axis=0)) - 1e-300
    high = np.full(targets.shape[1], values[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(200):
            eta = (low + high) / 2
            parts = np.where(squares > 0, squares / (values[:, None] - eta) ** 2, 0.0)
            rising = parts.sum(axis=0) < 1
            low, high = np.where(rising, eta, low), np.where(rising, high, eta)
        gaps = values[:, None] - low
        parts = np.where(gaps > 0, squares / gaps, 0.0)
    return low - parts.sum(axis=0)
