"""Models of maximum volume clustering: responses of the training samples, and of new ones."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from separatrix.forms import Form
from separatrix.responders import LowSpectrum, signs_of

__all__ = ["Rotated", "Split", "Tree", "TwoSided"]

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
