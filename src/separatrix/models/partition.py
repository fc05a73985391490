"""A labelling of the samples, kept in step with the moments of its clusters."""

import numpy as np
import scipy.sparse as sp

from separatrix._sklearn import namespace_of, to_numpy
from separatrix.data.chunks import join_rows, map_chunks, map_rows, row_slices
from separatrix.data.moments import Moments, moments_of_chunk

__all__ = ["Labelling", "Partition"]


def _take_rows(X, rows):
    return X[rows] if sp.issparse(X) else namespace_of(X)[0].take(X, rows, axis=0)


def _moments_of_rows(X, rows, signs, *, shift, diagonal):
    """Signed moments of some rows, a block at a time so that no large part of X is copied."""
    total = Moments.zero(X.shape[1], diagonal=diagonal)
    for block in row_slices(X, n_rows=rows.shape[0]):
        total = total + moments_of_chunk(
            _take_rows(X, rows[block]),
            None if signs is None else signs[block],
            shift=shift,
            diagonal=diagonal,
        )
    return total


def _move_chunk(X, weight, old, new, *, boundaries, n_clusters, shift, diagonal):
    """Relabel one chunk; return its labels, what weight moved, and what each cluster gained.

    Only clusters 0 to n_clusters - 2 are accounted for: the last one is the rest. `old` is None
    before the first labelling, `new` is None unless the labels are given.
    """
    if new is None:
        new = boundaries.labels(X)
    xp, _ = namespace_of(new)
    moved = None if old is None else new != old
    n_moved = new.shape[0] if old is None else int(xp.count_nonzero(moved))
    if n_moved == 0:
        return new, 0.0, []
    gains = []
    for cluster in range(n_clusters - 1):
        joins = new == cluster
        if old is None:
            changed = joins
        elif n_clusters == 2:
            changed = moved
        else:
            changed = joins != (old == cluster)
        (rows,) = xp.nonzero(changed)
        signs = None if weight is None else xp.take(weight, rows)
        if old is not None:
            turns = 2 * xp.astype(xp.take(joins, rows), xp.int8) - 1
            signs = turns if signs is None else signs * xp.astype(turns, signs.dtype)
        gains.append(_moments_of_rows(X, rows, signs, shift=shift, diagonal=diagonal))
    if weight is None:
        return new, float(n_moved), gains
    turned = weight if old is None else weight * xp.astype(moved, weight.dtype)
    return new, float(xp.sum(turned)), gains


class Partition:
    """Labels of the rows of `X` with the moments of each cluster.

    One pass over the data relabels all rows and updates the moments by the rows that changed,
    so that a pass costs little more than one product of X with a vector.

    Parameters
    ----------
    X : {array, sparse matrix, dask array} of shape (n_samples, n_features)
        The data.
    sample_weight : array of shape (n_samples,) or None
        Nonnegative weights, in the namespace of `X`.
    n_clusters : int
        Number of clusters.
    total : Moments
        Moments of all rows about `shift`. Clusters keep second moments of the same form.
    shift : ndarray of shape (n_features,)
        Point that moments are taken about.
    """

    def __init__(self, X, sample_weight, *, n_clusters, total, shift):
        self.X = X
        self.sample_weight = sample_weight
        self.n_clusters = n_clusters
        self.total = total
        self.shift = shift
        self.labels = None
        self._gains = [
            Moments.zero(X.shape[1], diagonal=total.diagonal) for _ in range(n_clusters - 1)
        ]

    def assign(self, rule):
        """Relabel all rows by `rule`, labels or `Boundaries`; return the weight that moved."""
        boundaries, given = (rule, None) if hasattr(rule, "labels") else (None, rule)
        passes = map_chunks(
            _move_chunk,
            self.X,
            self.sample_weight,
            self.labels,
            given,
            boundaries=boundaries,
            n_clusters=self.n_clusters,
            shift=self.shift,
            diagonal=self.total.diagonal,
            width=1 if boundaries is None else boundaries.code.shape[0],
        )
        labels, total_moved = [], 0.0
        for new, moved, gains in passes:
            labels.append(new)
            total_moved += moved
            if gains:
                self._gains = [a + b for a, b in zip(self._gains, gains, strict=True)]
        self.labels = join_rows(labels)
        return total_moved

    def moments(self, clusters):
        """Moments of the union of `clusters` about the shift."""
        last = self.n_clusters - 1
        if last not in clusters:
            picked = [self._gains[c] for c in clusters]
            return sum(picked[1:], picked[0])
        # the last cluster is the rest, so a union with it is the total less the others
        union = self.total
        for cluster in set(range(last)) - set(clusters):
            union = union - self._gains[cluster]
        return union

    @property
    def weights(self):
        """Total weight of each cluster."""
        tracked = [gain.weight for gain in self._gains]
        return np.array([*tracked, self.total.weight - sum(tracked)])

    @property
    def empty(self):
        """Mask of the clusters without samples, up to rounding of their weights."""
        return self.weights <= 1e-12 * self.total.weight


class Labelling:
    """Labels of the rows of `X` with the total weight of each cluster.

    Parameters
    ----------
    X : {array, sparse matrix, dask array} of shape (n_samples, n_features)
        The data.
    sample_weight : array of shape (n_samples,) or None
        Nonnegative weights, in the namespace of `X`.
    n_clusters : int
        Number of clusters.

    Attributes
    ----------
    models : list or None
        The fitted functions behind the boundaries, where a solver wants to go on from them.
    """

    def __init__(self, X, sample_weight, *, n_clusters):
        self.X = X
        self.sample_weight = sample_weight
        self.n_clusters = n_clusters
        self.labels = None
        self.models = None

    def assign(self, boundaries):
        """Label all rows by `boundaries`."""
        self.labels = map_rows(boundaries.labels, self.X, width=boundaries.code.shape[0])

    @property
    def weights(self):
        """Total weight of each cluster."""
        return np.bincount(
            to_numpy(self.labels),
            weights=to_numpy(self.sample_weight),
            minlength=self.n_clusters,
        ).astype(np.float64)

    @property
    def empty(self):
        """Mask of the clusters without samples."""
        weights = self.weights
        return weights <= 1e-12 * weights.sum()
