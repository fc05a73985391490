"""From two clusters to k: sets of linear boundaries and how they are decoded."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from separatrix._sklearn import like, namespace_of

__all__ = ["Boundaries", "one_vs_rest_code", "pairwise_code"]


def pairwise_code(n_clusters):
    """Code of one boundary per pair of clusters; for two clusters, of the boundary."""
    pairs = list(combinations(range(n_clusters), 2))
    code = np.zeros((len(pairs), n_clusters), dtype=np.int8)
    for row, (low, high) in zip(code, pairs, strict=True):
        row[low], row[high] = -1, 1
    return code


def one_vs_rest_code(n_clusters):
    """Code of one boundary per cluster against the rest; for two clusters, of the boundary."""
    if n_clusters == 2:
        return pairwise_code(2)
    return (2 * np.eye(n_clusters) - 1).astype(np.int8)


@dataclass(frozen=True)
class Boundaries:
    """Hyperplanes, each with clusters on either side.

    A sample's score for a cluster is its smallest margin to the boundaries that involve the
    cluster, positive if it lies on the cluster's side of all of them; it belongs to the cluster
    with the largest score. This one rule is the sign for two clusters, picks the winner of all
    duels for pairwise boundaries, the largest value for one against rest, and the leaf of a tree
    of splits.

    Attributes
    ----------
    coef : ndarray of shape (n_boundaries, n_features)
        Normals.
    intercept : ndarray of shape (n_boundaries,)
        Offsets.
    code : ndarray of shape (n_boundaries, n_clusters)
        1 for clusters on the positive side, -1 on the negative one, 0 if not involved.
    """

    coef: np.ndarray
    intercept: np.ndarray
    code: np.ndarray

    @property
    def n_clusters(self):
        """Number of clusters told apart."""
        return self.code.shape[1]

    @classmethod
    def nearest(cls, centers):
        """Boundaries that give each sample the nearest of `centers`."""
        code = pairwise_code(centers.shape[0])
        coef = code @ centers
        norms = np.einsum("ij,ij->i", centers, centers)
        return cls(coef, -0.5 * (code @ norms), code)

    def decision(self, X):
        """Scores of the rows of `X`: one column per cluster, or one value for two clusters."""
        xp, device = namespace_of(X)
        if self.n_clusters == 1:
            return xp.zeros(X.shape[0], dtype=X.dtype, device=device)
        if self.n_clusters == 2:
            return X @ like(self.coef[0], X) + float(self.intercept[0])
        margins = X @ like(self.coef.T, X) + like(self.intercept, X)
        scores = []
        for side in self.code.T:
            involved = np.flatnonzero(side)
            signed = xp.take(margins, like(involved, X), axis=1) * like(
                side[involved].astype(np.float64), X
            )
            scores.append(xp.min(signed, axis=1))
        return xp.stack(scores, axis=1)

    def labels(self, X):
        """Clusters of the rows of `X`, in one byte each if that is enough.

        Passes over millions of labels are then cheap beside the product with `X`.
        """
        labels = self.decode(self.decision(X))
        xp, _ = namespace_of(labels)
        return xp.astype(labels, xp.int8) if self.n_clusters < 128 else labels

    def decode(self, decision):
        """Clusters that go with the scores of `decision`."""
        xp, _ = namespace_of(decision)
        labels = decision > 0 if decision.ndim == 1 else xp.argmax(decision, axis=1)
        return xp.astype(labels, xp.int32)

    def renumbered(self, order):
        """Boundaries for the numbering in which cluster i is what was cluster `order[i]`.

        Rows are turned and sorted into one canonical form, so that equal partitions have equal
        coefficients: pairs (0, 1), (0, 2), ... with the later cluster on the positive side, and
        row i against the rest for cluster i.
        """
        code = self.code[:, order]
        first = np.take_along_axis(code, (code != 0).argmax(axis=1)[:, None], axis=1)[:, 0]
        balance = code.sum(axis=1)
        sign = np.where((balance > 0) | ((balance == 0) & (first > 0)), -1, 1).astype(np.int8)
        code = sign[:, None] * code
        rows = sorted(
            range(len(code)), key=lambda i: ((-abs(code[i])).tolist(), (-code[i]).tolist())
        )
        return Boundaries(
            (sign[:, None] * self.coef)[rows], (sign * self.intercept)[rows], code[rows]
        )
