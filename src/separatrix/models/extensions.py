"""Labels of some samples, carried to all others by the rule that predicts them best."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import cdist
from scipy.special import log_softmax
from sklearn.neighbors import NearestNeighbors

from separatrix._sklearn import namespace_of, searched_rows
from separatrix.data.distinct import KnownRows
from separatrix.data.rows import exactly_beside, in_doubles, map_rows, parts_beside
from separatrix.models.scores import probabilities_of
from separatrix.result import decoded, renumbered
from separatrix.similarity.device_search import BlockedSearch
from separatrix.similarity.neighbors import nearest_search

__all__ = ["Extension", "KernelRule", "LinearRule", "NeighborRule", "QuadraticRule"]

# Neighbours that vote.
N_VOTERS = 5
# Of the mean variance, added to the variances of a cluster.
RIDGE = 0.05
# Of the median squared distance: the width of the kernel.
WIDTH = 0.5
# Weight of the norm of kernel scores, and the number of samples that they use.
PENALTY = 0.1
N_LANDMARKS = 500
# Scores of clusters without a sample.
LOWEST = -1e6
# Range of the factor that turns scores into logarithms of probabilities.
LARGEST_FACTOR = 1e3


# --- rules --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NeighborRule:
    """The five nearest labelled samples vote by their inverse squared distances."""

    search: NearestNeighbors | BlockedSearch
    clusters: np.ndarray
    n_clusters: int

    @classmethod
    def of(cls, rows, labels, n_clusters):
        """Learn labels of rows."""
        search = nearest_search(rows, min(N_VOTERS, len(rows)))
        return cls(search, np.asarray(labels), n_clusters)

    def beside(self, X):
        """The same rule for rows on the device of `X`."""
        search = BlockedSearch(exactly_beside(searched_rows(self.search), X))
        return replace(self, search=search, clusters=exactly_beside(self.clusters, X))

    def scores(self, rows):
        """Shares of the votes."""
        xp, device = namespace_of(rows)
        voters, distances = self._nearest(rows)
        # what the distance of a sample to itself may be after rounding
        rounding = float(xp.finfo(rows.dtype).eps) ** 0.5
        nearest = rounding * (1 + xp.max(xp.abs(rows), axis=1, keepdims=True))
        weights = 1 / xp.where(distances > nearest, distances, nearest) ** 2
        weights = weights / xp.sum(weights, axis=1, keepdims=True)
        members = xp.eye(self.n_clusters, dtype=rows.dtype, device=device)
        shares = xp.zeros((rows.shape[0], self.n_clusters), dtype=rows.dtype, device=device)
        for voter in range(voters.shape[1]):
            voted = xp.take(members, xp.take(self.clusters, voters[:, voter]), axis=0)
            shares = shares + weights[:, voter, None] * voted
        return shares

    def _nearest(self, rows):
        """The labelled samples nearest to rows, and their distances."""
        if isinstance(self.search, BlockedSearch):
            return self.search.nearest(rows, min(N_VOTERS, self.clusters.shape[0]))
        return self.search.kneighbors(rows)[::-1]


def _gaussians(rows, labels, n_clusters):
    """Means, covariances and log shares of clusters; a cluster without a sample has none."""
    n_features = rows.shape[1]
    sizes = np.bincount(labels, minlength=n_clusters)
    means, covariances = np.zeros((n_clusters, n_features)), []
    for c in range(n_clusters):
        own = rows[labels == c]
        means[c] = own.mean(axis=0) if len(own) else 0.0
        covariances.append((own - means[c]).T @ (own - means[c]) / max(len(own), 1))
    with np.errstate(divide="ignore"):
        shares = np.maximum(np.log(sizes / len(labels)), LOWEST)
    ridge = RIDGE * (float(rows.var(axis=0).mean()) or 1.0) * np.eye(n_features)
    return means, np.array(covariances), shares, sizes, ridge


@dataclass(frozen=True)
class LinearRule:
    """Gaussian clusters of a common covariance."""

    coef: np.ndarray
    intercept: np.ndarray

    @classmethod
    def of(cls, rows, labels, n_clusters):
        """Learn labels of rows."""
        means, covariances, shares, sizes, ridge = _gaussians(rows, labels, n_clusters)
        pooled = np.tensordot(sizes, covariances, axes=1) / len(rows) + ridge
        coef = cho_solve(cho_factor(pooled), means.T).T
        return cls(coef, shares - 0.5 * (coef * means).sum(axis=1))

    def scores(self, rows):
        """Log densities, less what is common to all clusters."""
        return rows @ self.coef.T + self.intercept


@dataclass(frozen=True)
class QuadraticRule:
    """Gaussian clusters, each of a covariance of its own."""

    means: np.ndarray
    whitenings: np.ndarray
    intercept: np.ndarray

    @classmethod
    def of(cls, rows, labels, n_clusters):
        """Learn labels of rows."""
        means, covariances, shares, _, ridge = _gaussians(rows, labels, n_clusters)
        roots = [cholesky(one + ridge, lower=True) for one in covariances]
        log_dets = np.array([np.log(np.diagonal(root)).sum() for root in roots])
        eye = np.eye(rows.shape[1])
        whitenings = np.array([solve_triangular(root, eye, lower=True).T for root in roots])
        return cls(means, whitenings, shares - log_dets)

    def scores(self, rows):
        """Log densities, less what is common to all clusters."""
        xp, _ = namespace_of(rows)
        squares = [
            xp.sum(((rows - self.means[c, :]) @ self.whitenings[c, :, :]) ** 2, axis=1)
            for c in range(self.means.shape[0])
        ]
        return self.intercept - 0.5 * xp.stack(squares, axis=1)


@dataclass(frozen=True)
class KernelRule:
    r"""Least squares scores of a Gaussian kernel, made of some hundred landmarks.

    .. math:: \min_A \|K_{nm} A - (Y - \bar y)\|^2 + \lambda \operatorname{tr} A^\top K_{mm} A
    """

    landmarks: np.ndarray
    gamma: float
    coef: np.ndarray
    intercept: np.ndarray

    @classmethod
    def of(cls, rows, labels, n_clusters):
        """Learn labels of rows."""
        rng = np.random.RandomState(0)
        landmarks = rows[np.sort(rng.permutation(len(rows))[:N_LANDMARKS])]
        # from differences: distances from inner products may be too rough for a positive matrix
        squares = cdist(landmarks, landmarks, "sqeuclidean")
        gamma = 1 / (WIDTH * (float(np.median(squares)) or float(squares.mean()) or 1.0))
        features = gaussian_kernel(rows, landmarks, gamma)
        members = np.eye(n_clusters)[labels]
        intercept = members.mean(axis=0)
        gram = features.T @ features + PENALTY * np.exp(-gamma * squares)
        gram[np.diag_indices_from(gram)] += 1e-9 * len(rows)
        coef = cho_solve(cho_factor(gram), features.T @ (members - intercept))
        return cls(landmarks, gamma, coef, intercept)

    def scores(self, rows):
        """Least squares scores, about one for the own cluster and zero for others."""
        return gaussian_kernel(rows, self.landmarks, self.gamma) @ self.coef + self.intercept


def gaussian_kernel(rows, landmarks, gamma):
    """Similarities of rows and landmarks, whose exponents are one product of matrices.

    This takes a third of the time of a kernel that goes several times through all distances.
    """
    xp, _ = namespace_of(rows)
    norms, ones = zip(*map(_norms_and_ones, (rows, landmarks)), strict=True)
    left = xp.concat([rows, ones[0], -gamma * norms[0]], axis=1)
    right = xp.concat([2 * gamma * landmarks, -gamma * norms[1], ones[1]], axis=1)
    exponents = left @ right.T
    if isinstance(exponents, np.ndarray):  # copies take longer than the exponentials there
        return np.exp(np.minimum(exponents, 0, out=exponents), out=exponents)
    return xp.exp(xp.where(exponents < 0, exponents, 0.0))


def _norms_and_ones(rows):
    """Columns of the squared norms of rows, and of ones."""
    xp, _ = namespace_of(rows)
    norms = xp.sum(rows * rows, axis=1, keepdims=True)
    return norms, xp.ones_like(norms)


RULES: dict[str, Any] = {
    "neighbors": NeighborRule,
    "kernel": KernelRule,
    "quadratic": QuadraticRule,
    "linear": LinearRule,
}


# --- the extension ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Extension:
    """Clusters of any sample, by the rule that predicts held-back labels best.

    The samples that it was made from keep their labels, whatever the rule predicts.

    Attributes
    ----------
    rule : str
        "neighbors", "kernel", "quadratic" or "linear".
    accuracies : dict of str to float
        Share of the labels that each rule predicted, learning them from the other half.
    """

    rule: str
    accuracies: dict
    frame: Any
    model: Any
    factor: float
    known: KnownRows
    known_labels: np.ndarray
    order: np.ndarray  # of the rule's clusters

    @classmethod
    def of(cls, frame, X, labels, n_clusters, rng):
        """Compare the rules on halves of the samples and fit the best to all."""
        rows = frame(X)
        halves = np.array_split(rng.permutation(len(rows)), 2)
        held_back = held_back_scores(rows, labels, n_clusters, halves)
        best, accuracies = best_rule(held_back, labels)
        return cls(
            best,
            accuracies,
            frame,
            RULES[best].of(rows, labels, n_clusters),
            likeliest_factor(held_back[best], labels),
            KnownRows.of(X),
            np.asarray(labels, dtype=np.int32),
            np.arange(n_clusters),
        )

    def refitted(self, X):
        """The same rule, fitted to the labels that it gives to more samples besides its own.

        What it knows of clusters comes from all of these then, for which fewer samples may be too
        few. Neighbours would only repeat themselves.
        """
        if self.rule == "neighbors":
            return self
        n_clusters = len(self.order)
        model = RULES[self.rule].of(self.frame(X), self.labels(X), n_clusters)
        return replace(self, model=model, order=np.arange(n_clusters))

    def renumbered(self, order):
        """The same extension, its cluster i being what was cluster `order[i]`."""
        labels = renumbered(self.known_labels, order)
        return replace(self, known_labels=labels, order=self.order[order])

    def scores(self, X):
        """Scores of the clusters, the largest for that of `labels`."""
        here, width = parts_beside(self, X), max(N_LANDMARKS, 2 * X.shape[1])
        return map_rows(here._scores_of_chunk, X, width=width)

    def _scores_of_chunk(self, rows):
        rows = in_doubles(rows)
        scores = self.model.scores(self.frame(rows))
        xp, _ = namespace_of(scores)
        scores = xp.take(scores, self.order, axis=1)
        # samples that have a label keep it
        places = self.known.match(rows)
        known = xp.take(self.known_labels, xp.where(places >= 0, places, 0))
        return with_first(scores, xp.where(places >= 0, known, decoded(scores)))

    def labels(self, X):
        """Clusters of samples."""
        return decoded(self.scores(X))

    def probabilities(self, X):
        """Probabilities of the clusters, calibrated on held-back labels."""
        return probabilities_of(self.scores(X), len(self.order), 1 / self.factor)


def with_first(scores, labels):
    """Scores whose largest is that of a label: in each row it changes places with that one.

    It is increased by one in the last digit, so that no other column has the same value.
    """
    xp, device = namespace_of(scores)
    columns = xp.arange(scores.shape[1], dtype=labels.dtype, device=device)
    best = decoded(scores)
    of_label, of_best = labels[:, None] == columns, best[:, None] == columns
    largest = xp.max(scores, axis=1, keepdims=True)
    smaller = xp.sum(xp.where(of_label, scores, 0.0), axis=1, keepdims=True)
    larger = xp.nextafter(largest, xp.full_like(largest, xp.inf))
    moved = xp.where(of_label, larger, xp.where(of_best, smaller, scores))
    return xp.where((labels != best)[:, None], moved, scores)


def held_back_scores(rows, labels, n_clusters, halves):
    """Scores of each half by each rule, learned from the other half."""
    held_back = {}
    for name, rule in RULES.items():
        scores = np.zeros((len(rows), n_clusters))
        for own, other in (halves, halves[::-1]):
            if len(own) and len(other):
                scores[own] = rule.of(rows[other], labels[other], n_clusters).scores(rows[own])
        held_back[name] = scores
    return held_back


def best_rule(held_back, labels):
    """Name of the rule that predicts most of the labels, and the share that each predicts."""
    accuracies = {
        name: float(np.mean(scores.argmax(axis=1) == labels)) for name, scores in held_back.items()
    }
    return max(accuracies, key=lambda name: accuracies[name]), accuracies


def likeliest_factor(scores, labels, sample_weight=None):
    """Factor by which scores are multiplied so that their softmax is likeliest for the labels."""
    rows = np.arange(len(labels))

    def loss(log_factor):
        likelihoods = log_softmax(np.exp(log_factor) * scores, axis=1)[rows, labels]
        return -np.average(likelihoods, weights=sample_weight)

    top = np.log(LARGEST_FACTOR)
    return float(np.exp(minimize_scalar(loss, bounds=(-top, top), method="bounded").x))
