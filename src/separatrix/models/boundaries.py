"""Linear boundaries between clusters, the model of most estimators."""

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix._sklearn import is_dask, like, namespace_of
from separatrix.data.rows import beside, map_rows, rows_made
from separatrix.result import decoded

# For more clusters than this, a tournament finds the one that wins all of its duels.
FEW_CLUSTERS = 20


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


@dataclass(frozen=True, eq=False)
class Split:
    """A cluster `leaf`, whose samples in the second of two clusters became the cluster `new`.

    `members` are the samples that were split, `model` separates the two clusters.
    """

    leaf: int
    new: int
    members: np.ndarray
    model: Any


@dataclass(frozen=True)
class Boundaries:
    """Hyperplanes, each with clusters on either side.

    With one boundary around each cluster, its value is the cluster's score. Otherwise a sample's
    score for a cluster is its smallest margin to the boundaries that involve the cluster, positive
    if it lies on the cluster's side of all of them. It belongs to the cluster with the largest
    score: the sign for two clusters, the winner of all duels for pairwise boundaries, the leaf of
    a tree of splits.

    Attributes
    ----------
    coef : ndarray of shape (n_boundaries, n_features)
        Normals.
    intercept : ndarray of shape (n_boundaries,)
        Offsets.
    code : ndarray of shape (n_boundaries, n_clusters)
        1 for clusters on the positive side, -1 on the negative one, 0 if not involved.
    feature_map : KernelMap or None
        What turns samples into the features that the boundaries live in.
    """

    coef: np.ndarray
    intercept: np.ndarray
    code: np.ndarray
    feature_map: Any = None

    @classmethod
    def of_steps(cls, steps, code):
        """Boundaries from fitted `steps`, one for each row of `code`."""
        coef = np.array([step.coef for step in steps])
        return cls(coef, np.array([step.offset for step in steps]), code)

    @classmethod
    def one_vs_rest(cls, coef, intercept):
        """One boundary around each cluster, of which the largest value wins; one for two."""
        return cls(coef, intercept, one_vs_rest_code(max(2, len(coef))))

    @classmethod
    def nearest(cls, centers):
        """Boundaries that give each sample the nearest of `centers`."""
        intercept = -0.5 * np.square(centers).sum(axis=1)
        if len(centers) == 2:
            centers, intercept = np.diff(centers, axis=0), np.diff(intercept)
        return cls.one_vs_rest(centers, intercept)

    @classmethod
    def of_splits(cls, splits, n_clusters, n_features):
        """The tree of splits, each with the boundary of two clusters as its model.

        Clusters that were never split off are involved in no boundary.
        """
        code = np.zeros((len(splits), n_clusters), np.int8)
        for row, split in enumerate(splits):
            # boundaries between the leaf and the others also hold for its new half
            code[:, split.new] = code[:, split.leaf]
            code[row, [split.leaf, split.new]] = -1, 1
        coef = np.array([split.model.coef[0] for split in splits]).reshape(-1, n_features)
        intercept = np.array([split.model.intercept[0] for split in splits])
        return cls(coef, intercept, code)

    @classmethod
    def of_one_cluster(cls, n_features):
        """No boundary at all."""
        return cls(np.zeros((0, n_features)), np.zeros(0), np.zeros((0, 1), np.int8))

    @classmethod
    def of_distinct(cls, rows):
        """Each of some distinct rows is a cluster, and others go to the nearest."""
        if len(rows) == 1:
            return cls.of_one_cluster(rows.shape[1])
        rows = np.asarray(rows, dtype=np.float64)
        origin = rows.mean(axis=0)  # far from zero, squares would swallow the differences
        return cls.nearest(rows - origin).shifted(origin)

    @property
    def n_clusters(self):
        """Number of clusters."""
        return self.code.shape[1]

    @property
    def width(self):
        """Number of intermediate values for the scores of a sample."""
        return self.code.shape[0] + (0 if self.feature_map is None else self.feature_map.rank)

    @property
    def is_one_vs_rest(self):
        """Whether there is one boundary around each cluster, in their order."""
        return self.n_clusters > 2 and np.array_equal(self.code, one_vs_rest_code(self.n_clusters))

    @property
    def pairwise(self):
        """Boundaries between all pairs of clusters, equivalent to those around each."""
        if not self.is_one_vs_rest:
            return self
        code = pairwise_code(self.n_clusters)
        return replace(self, coef=code @ self.coef, intercept=code @ self.intercept, code=code)

    def shifted(self, origin):
        """Boundaries for samples from boundaries for samples less `origin`."""
        return replace(self, intercept=self.intercept - self.coef @ origin)

    def scores(self, X):
        """Scores of the rows of `X`: one column per cluster, or one value for two clusters."""
        xp, device = namespace_of(X)
        if self.n_clusters == 1:
            return xp.zeros(X.shape[0], dtype=X.dtype, device=device)
        if self.feature_map is not None:
            X = self.feature_map(X)
        if self.n_clusters == 2:
            return X @ like(self.coef[0], X) + float(self.intercept[0])
        if self.is_one_vs_rest:
            return X @ like(self.coef.T, X) + like(self.intercept, X)
        return self._smallest_margins(self._values(X))

    def _values(self, X):
        """Values of the boundaries at the rows of `X`, those of one boundary side by side."""
        values = (X @ self.coef.T).T if sp.issparse(X) else like(self.coef, X) @ X.T
        return values + like(self.intercept, values)[:, None]

    def _smallest_margins(self, margins):
        """Scores of clusters from the values of boundaries."""
        xp, device = namespace_of(margins)
        # a sample on a boundary belongs to its negative side, as for two clusters
        tiny = float(xp.finfo(margins.dtype).smallest_normal)
        margins = xp.where(margins == 0, -tiny, margins)
        scores = []
        for cluster, side in enumerate(self.code.T):
            involved = np.flatnonzero(side)
            if involved.size == 0:  # a cluster that was never split off; the first holds its place
                score = 0.0 if cluster == 0 else -np.inf
                scores.append(xp.full(margins.shape[1], score, dtype=margins.dtype, device=device))
                continue
            signs = like(side[involved].astype(np.float64), margins)
            signed = xp.take(margins, like(involved, margins), axis=0) * signs[:, None]
            scores.append(xp.min(signed, axis=0))
        return xp.stack(scores, axis=1)

    def labels(self, X):
        """Clusters of the rows of `X`, in one byte each if that is enough.

        Passes over millions of labels are then cheap beside the product with `X`.
        """
        if self.n_clusters == 2:
            features = X if self.feature_map is None else self.feature_map(X)
            # s > -b is the same as s + b > 0, to the last bit, without another array
            labels = features @ like(self.coef[0], features) > -float(self.intercept[0])
        elif self._is_tournament and isinstance(X, np.ndarray):
            labels = self._winners(X)
        else:
            labels = decoded(self.scores(X))
        xp, _ = namespace_of(labels)
        return xp.astype(labels, xp.int8 if self.n_clusters < 128 else xp.int32)

    @property
    def _is_tournament(self):
        """Whether there are boundaries between all pairs of many clusters."""
        n_pairs = self.n_clusters * (self.n_clusters - 1) // 2
        return (
            self.n_clusters > FEW_CLUSTERS
            and len(self.code) == n_pairs
            and np.array_equal(self.code, pairwise_code(self.n_clusters))
        )

    def _winners(self, X):
        """Clusters of the rows of `X` that win all of their duels, by a tournament of each row.

        A cluster that wins all duels wins the tournament, so few duels are needed to find it. If
        there is none, the scores decide.
        """
        from separatrix.models.tournaments import winners_of_tournaments  # which loads numba

        features = X if self.feature_map is None else self.feature_map(X)
        pair = np.zeros((self.n_clusters, self.n_clusters), dtype=np.int64)
        low, high = np.triu_indices(self.n_clusters, 1)
        pair[low, high] = pair[high, low] = np.arange(len(self.code))
        rows = np.ascontiguousarray(features, dtype=np.float64)
        coef = np.ascontiguousarray(self.coef, dtype=np.float64)
        labels = winners_of_tournaments(rows, coef, self.intercept.astype(np.float64), pair)
        (open_,) = np.nonzero(labels < 0)
        if len(open_):
            labels[open_] = decoded(self.scores(X[open_]))
        return labels

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
        coef = (sign[:, None] * self.coef)[rows]
        return replace(self, coef=coef, intercept=intercept[rows], code=code[rows])

    def scores_of_rows(self, X):
        """Scores of all rows, a chunk at a time, lazily for a dask array."""
        n_columns = None if self.n_clusters <= 2 else self.n_clusters
        return rows_made(self.scores, X, width=self.width, n_columns=n_columns)

    def labels_of_rows(self, X):
        """Clusters of all rows, in the same way."""
        if not is_dask(X):
            return map_rows(self._whole_labels, X, width=self.width)
        scores = self.scores_of_rows(X)
        dropped = () if scores.ndim == 1 else 1
        return scores.map_blocks(decoded, drop_axis=dropped, dtype=np.int32)

    def _whole_labels(self, X):
        """Clusters in the type that users get."""
        labels = self.labels(X)
        xp, _ = namespace_of(labels)
        return xp.astype(labels, xp.int32)

    def attributes(self, X):
        """Fitted attributes of estimators, by name, as arrays beside `X`.

        Coefficients are shown only where they belong to the features of the samples.
        """
        attributes = {
            "_model": self,
            "intercept_": beside(self.intercept, X),
            "boundary_sides_": beside(self.code, X),
        }
        if self.feature_map is None:
            attributes["coef_"] = beside(self.coef, X)
        return attributes
