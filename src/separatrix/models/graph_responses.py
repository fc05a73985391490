"""Models on graphs: responses of the training samples, and of new ones."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from separatrix.models.boundaries import decoded
from separatrix.similarity.quadratic_forms import Form
from separatrix.similarity.spectra import LowSpectrum

__all__ = [
    "HardSides",
    "Posterior",
    "Rotated",
    "Split",
    "Tree",
    "TwoSided",
    "extended",
    "scores_of",
    "signs_of",
]


def signs_of(responses):
    """Signs of responses; zero counts as negative, as it does for labels."""
    return np.where(responses > 0, 1.0, -1.0)


# Least distance of an eigenvalue from the diagonal that new samples go by, as a share of the most.
LEAST_GAP = 0.05


@dataclass(frozen=True, eq=False)
class TwoSided:
    """Responses whose signs are the two clusters.

    Attributes
    ----------
    form : Form
        The matrix.
    h : ndarray of shape (n_samples,)
        Responses.
    eta, omega : float
        Multipliers of their length and of their sum.
    reg : float
        Weight of smoothness.
    """

    form: Form
    h: np.ndarray
    eta: float
    omega: float
    reg: float
    n_clusters = 2

    @property
    def scores(self):
        """Responses of the training samples."""
        return self.h

    @property
    def objective(self):
        """The criterion."""
        return float(self.reg * self.h @ self.form.product(self.h) - 2 * np.abs(self.h).sum())

    def renumbered(self, order):
        """The model whose cluster i was cluster `order[i]`."""
        if order[0] == 0:
            return self
        # a response of exactly zero counts as negative and must not change sides
        turned = np.where(self.h == 0, np.finfo(np.float64).tiny, -self.h)
        return replace(self, h=turned, omega=-self.omega)

    def to_new(self, similarities):
        """Responses of new samples, from the optimality system of the training samples.

        Its row for a new sample reads ``(reg * q - eta) * h = sign(h) + pull``, where q is the
        diagonal entry and the pull that of the known responses; of the two signs that may solve
        it, that of the pull has the lower objective.
        """
        rows, diagonal = self.form.to_new(similarities)
        pull = self.omega - self.reg * np.asarray(rows @ self.h).ravel()
        return (pull + signs_of(pull)) / np.maximum(self.reg * diagonal - self.eta, 1e-300)


@dataclass(frozen=True, eq=False)
class Rotated:
    """Responses to several clusters, combinations of eigenvectors."""

    low: LowSpectrum
    A: np.ndarray
    reg: float

    @property
    def n_clusters(self):
        """Number of clusters."""
        return self.A.shape[1]

    @cached_property
    def scores(self):
        """Responses of the training samples."""
        return self.low.vectors @ self.A

    def renumbered(self, order):
        """The model whose cluster i was cluster `order[i]`."""
        return replace(self, A=self.A[:, order])

    def to_new(self, similarities):
        """Responses of new samples, by the eigenvectors' own equation.

        It divides by the distance of an eigenvalue from the diagonal. Where that is small, the
        eigenvector says nothing of new samples, and must not be blown up.
        """
        rows, diagonal = self.low.form.to_new(similarities)
        gaps = self.low.values - diagonal[:, None]
        least = LEAST_GAP * np.abs(gaps).max(axis=1, keepdims=True) + np.finfo(np.float64).tiny
        gaps = np.where(np.abs(gaps) > least, gaps, np.copysign(least, gaps))
        return (np.asarray(rows @ self.low.vectors) / gaps) @ self.A


@dataclass(frozen=True, eq=False)
class Split:
    """A cluster `leaf`, whose samples of positive response became the cluster `new`."""

    leaf: int
    new: int
    members: np.ndarray
    model: TwoSided


@dataclass(frozen=True, eq=False)
class Tree:
    """Repeated splits in two. A score is the least confident response on a cluster's branch."""

    n_samples: int
    n_clusters: int
    splits: list
    order: np.ndarray | None = None

    @property
    def reg(self):
        """Weights of smoothness of the first split."""
        return self.splits[0].model.reg if self.splits else np.nan

    @cached_property
    def scores(self):
        """Scores of the training samples."""

        def response(split, rows):
            return split.model.h[np.searchsorted(split.members, rows)]

        return self._scored(self.n_samples, response)

    def renumbered(self, order):
        """The model whose cluster i was cluster `order[i]`."""
        return replace(self, order=np.asarray(order))

    def to_new(self, similarities):
        """Scores of new samples, each compared with the samples of the splits it comes to."""

        def response(split, rows):
            return split.model.to_new(similarities[rows][:, split.members])

        return self._scored(similarities.shape[0], response)

    def _scored(self, n_rows, response):
        scores = np.full((n_rows, self.n_clusters), -np.inf)
        scores[:, 0] = np.inf
        inside = {0: np.arange(n_rows)}
        for split in self.splits:
            rows = inside[split.leaf]
            h = response(split, rows)
            scores[:, split.new] = scores[:, split.leaf]  # all others left the branch before
            scores[rows, split.new] = np.minimum(scores[rows, split.leaf], h)
            scores[rows, split.leaf] = np.minimum(scores[rows, split.leaf], -h)
            upper = h > 0
            # a response of zero is negative: the leaf keeps the sample
            scores[rows[h == 0], split.new] = -np.finfo(np.float64).tiny
            inside[split.leaf], inside[split.new] = rows[~upper], rows[upper]
        return scores if self.order is None else scores[:, self.order]


@dataclass(frozen=True, eq=False)
class HardSides:
    """Two clusters by the signs of scores, sums of the responses of similar samples.

    Attributes
    ----------
    form : Form
        The matrix.
    h : ndarray of shape (n_samples,)
        Scores of the training samples.
    responses : ndarray of shape (n_samples,)
        Their responses: labels times alpha.
    reg : float
        Weight of similarities.
    objective : float
        Optimum of the program.
    """

    form: Form
    h: np.ndarray
    responses: np.ndarray
    reg: float
    objective: float
    n_clusters = 2

    @property
    def scores(self):
        """Scores of the training samples."""
        return self.h

    def renumbered(self, order):
        """The model whose cluster i was cluster `order[i]`."""
        if order[0] == 0:
            return self
        # a score of exactly zero counts as negative and must not change sides
        turned = np.where(self.h == 0, np.finfo(np.float64).tiny, -self.h)
        return replace(self, h=turned, responses=-self.responses)

    def to_new(self, similarities):
        """Scores of new samples."""
        rows, _ = self.form.to_new(similarities)
        return self.reg * np.asarray(rows @ self.responses).ravel()


def scores_of(probabilities):
    """Scores that `decoded` turns into the most probable clusters."""
    n_clusters = probabilities.shape[1]
    if n_clusters == 1:
        return np.zeros(len(probabilities))
    return probabilities[:, 1] - probabilities[:, 0] if n_clusters == 2 else probabilities


@dataclass(frozen=True, eq=False)
class Posterior:
    """Probabilities of clusters, for the training samples and for new ones.

    Attributes
    ----------
    graph : SimilarityGraph or GivenGraph
        Kernels between samples.
    coef : ndarray of shape (n_samples, n_clusters)
        Weights of the kernels at the training samples.
    probabilities : ndarray of shape (n_samples, n_clusters)
        Those of the training samples.
    objective, information : float
        Information as the kernel approximates it, and as estimated from samples and labels.
    chosen : dict
        Parameters of the kernel.
    """

    graph: Any
    coef: np.ndarray
    probabilities: np.ndarray
    objective: float
    information: float = np.nan
    chosen: dict = field(default_factory=dict)

    @property
    def labels(self):
        """Most probable clusters of the training samples."""
        return decoded(scores_of(self.probabilities))

    def renumbered(self, order):
        """The model whose cluster i was cluster `order[i]`."""
        coef, probabilities = self.coef[:, order], self.probabilities[:, order]
        return replace(self, coef=coef, probabilities=probabilities)

    def to_new(self, similarities):
        """Probabilities of new samples; neighbours vote where no sum of kernels is positive."""
        found = np.maximum(similarities @ self.coef, 0.0)
        none = found.sum(axis=1) == 0
        found[none] = similarities[none] @ self.probabilities + np.finfo(np.float64).tiny
        return found / found.sum(axis=1, keepdims=True)


def extended(graph, X, responses, to_new):
    """Responses of samples: their own if they are known, else by `to_new` of their similarities.

    Samples that are similar to none take the response of the nearest.
    """
    known = graph.match(X)
    scores = responses[known]  # rows of new samples are overwritten
    new = np.flatnonzero(known < 0)
    if len(new):
        similarities = graph.to_new(X[new])
        scores[new] = to_new(similarities)
        alone = new[np.asarray(similarities.sum(axis=1)).ravel() == 0]
        if len(alone) and graph.has_samples:
            scores[alone] = responses[graph.nearest(X[alone])]
    return scores
