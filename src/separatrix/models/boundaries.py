"""Linear boundaries between clusters, and the clusters of scores."""

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from separatrix._sklearn import like, namespace_of

__all__ = ["Boundaries", "decoded", "one_vs_rest_code", "pairwise_code"]


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


def decoded(scores):
    """Clusters or classes that go with scores: the sign of one column, the largest of several."""
    xp, _ = namespace_of(scores)
    labels = scores > 0 if scores.ndim == 1 else xp.argmax(scores, axis=1)
    return xp.astype(labels, xp.int32)


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
    def of_steps(cls, steps, code):
        """Boundaries from fitted `steps`, one for each row of `code`."""
        coef = np.array([step.coef for step in steps])
        return cls(coef, np.array([step.offset for step in steps]), code)

    @classmethod
    def nearest(cls, centers):
        """Boundaries that give each sample the nearest of `centers`."""
        code = pairwise_code(centers.shape[0])
        coef = code @ centers
        norms = np.einsum("ij,ij->i", centers, centers)
        return cls(coef, -0.5 * (code @ norms), code)

    def shifted(self, origin):
        """Boundaries for samples from boundaries for samples less `origin`."""
        return replace(self, intercept=self.intercept - self.coef @ origin)

    def decision(self, X):
        """Scores of the rows of `X`: one column per cluster, or one value for two clusters."""
        xp, device = namespace_of(X)
        if self.n_clusters == 1:
            return xp.zeros(X.shape[0], dtype=X.dtype, device=device)
        if self.n_clusters == 2:
            return X @ like(self.coef[0], X) + float(self.intercept[0])
        margins = X @ like(self.coef.T, X) + like(self.intercept, X)
        # a sample on a boundary counts to its negative side, as for two clusters
        tiny = float(xp.finfo(margins.dtype).smallest_normal)
        margins = xp.where(margins == 0, -tiny, margins)
        scores = []
        for cluster, side in enumerate(self.code.T):
            involved = np.flatnonzero(side)
            if involved.size == 0:  # a cluster that was never split off; the first holds its place
                score = 0.0 if cluster == 0 else -np.inf
                scores.append(xp.full(X.shape[0], score, dtype=margins.dtype, device=device))
                continue
            signed = xp.take(margins, like(involved, X), axis=1) * like(
                side[involved].astype(np.float64), X
            )
            scores.append(xp.min(signed, axis=1))
        return xp.stack(scores, axis=1)

    def labels(self, X):
        """Clusters of the rows of `X`, in one byte each if that is enough.

        Passes over millions of labels are then cheap beside the product with `X`.
        """
        xp, _ = namespace_of(X)
        if self.n_clusters == 2:
            # s > -b says the same as s + b > 0, to the last bit, without another array
            labels = X @ like(self.coef[0], X) > -float(self.intercept[0])
        else:
            labels = decoded(self.decision(X))
        return xp.astype(labels, xp.int8) if self.n_clusters < 128 else labels

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
        # a sample on a boundary belongs to the negative side; the least step of the offset keeps
        # it in its cluster when the sides change
        intercept = np.where(sign < 0, np.nextafter(-self.intercept, np.inf), self.intercept)
        rows = sorted(
            range(len(code)), key=lambda i: ((-abs(code[i])).tolist(), (-code[i]).tolist())
        )
        return Boundaries((sign[:, None] * self.coef)[rows], intercept[rows], code[rows])
