"""Starting labellings.

A start is a rule, `Boundaries`, found on a sample of the rows and then applied to all of them in
the first pass. The first start is deterministic and a function of the weighted data alone, so
that a weight of two equals a repeated row; further restarts draw on the random state.
"""

import warnings

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier

from separatrix._sklearn import like, to_numpy
from separatrix.data.sampling import sample_rows
from separatrix.models.boundaries import Boundaries
from separatrix.similarity.bandwidths import distance_gamma

__all__ = ["kmeans_start", "random_start", "spectral_start"]
# Rows whose graph of similarities is cut.
SPECTRAL_ROWS = 2_000


def _principal_direction(X, weights):
    """Leading principal direction and mean of weighted rows; None if all rows are equal."""
    mean = np.asarray(weights @ X).ravel() / weights.sum()
    squares = np.asarray((X.multiply(X) if sp.issparse(X) else X * X).sum(axis=1)).ravel()
    distances = squares - 2 * (X @ mean) + mean @ mean
    farthest = int(np.argmax(np.where(weights > 0, distances, -np.inf)))
    row = X[[farthest]].toarray()[0] if sp.issparse(X) else X[farthest]
    start = np.asarray(row, dtype=np.float64) - mean
    if not np.any(np.abs(start) > 1e-12 * np.abs(mean)):
        return None, mean
    n_features = X.shape[1]
    if n_features == 1:
        return np.ones(1), mean

    def product(v):
        v = v.ravel()
        scores = weights * (X @ v - mean @ v)
        return np.asarray(X.T @ scores).ravel() - scores.sum() * mean

    operator = LinearOperator((n_features, n_features), matvec=product, dtype=np.float64)
    _, vectors = eigsh(operator, k=1, v0=start / np.linalg.norm(start), tol=1e-6)
    return vectors[:, 0], mean


def _principal_split_centers(X, n_clusters, weights):
    """Centres by cutting the widest cluster through its mean, across its principal direction."""
    labels = np.zeros(X.shape[0], dtype=np.intp)
    squares = np.asarray((X.multiply(X) if sp.issparse(X) else X * X).sum(axis=1)).ravel()

    def scatter(cluster):
        inside = weights * (labels == cluster)
        center = np.asarray(inside @ X).ravel() / inside.sum()
        return inside @ squares - inside.sum() * (center @ center)

    scatters = [scatter(0)]
    while len(scatters) < n_clusters:
        widest = int(np.argmax(scatters))
        inside = weights * (labels == widest)
        direction, mean = _principal_direction(X, inside)
        if direction is None:
            break
        upper = (labels == widest) & (np.asarray(X @ direction).ravel() > mean @ direction)
        labels[upper] = len(scatters)
        scatters[widest] = scatter(widest)
        scatters.append(scatter(len(scatters)))
    centers = [
        np.asarray((weights * (labels == c)) @ X).ravel() / (weights * (labels == c)).sum()
        for c in range(len(scatters))
    ]
    return np.array(centers)


def kmeans_start(rows, weights, n_clusters, *, rng=None, n_init=1):
    """Boundaries between the centres of k-means.

    Parameters
    ----------
    rows : ndarray or sparse matrix of shape (n_rows, n_features)
        Rows to cluster.
    weights : ndarray of shape (n_rows,) or None
        Their weights.
    n_clusters : int
        Number of clusters.
    rng : RandomState, default=None
        None starts k-means from principal splits, which is deterministic and independent of the
        order of the rows; otherwise it starts from k-means++.
    n_init : int, default=1
        How many runs from k-means++ the best is taken of.

    Returns
    -------
    boundaries : Boundaries
    """
    origin = np.zeros(rows.shape[1])
    rows = rows.astype(np.float64, copy=False)
    if not sp.issparse(rows):  # far from the origin, squares would swallow the differences
        origin = np.average(rows, axis=0, weights=weights)
        rows = rows - origin
    elif rows.indices.dtype != np.int32:  # k-means takes no others
        places = (rows.indices.astype(np.int32), rows.indptr.astype(np.int32))
        rows = sp.csr_array((rows.data, *places), shape=rows.shape)
    init = "k-means++"
    if rng is None:
        n_init = 1
        ones = np.ones(rows.shape[0]) if weights is None else weights
        init = _principal_split_centers(rows, n_clusters, ones)
        if len(init) < n_clusters:  # fewer distinct rows than clusters
            return Boundaries.nearest(_padded(init, n_clusters)).shifted(origin)
    kmeans = KMeans(n_clusters, init=init, n_init=n_init, tol=0, random_state=rng)
    with warnings.catch_warnings():  # equal rows or a long tail of moves: still a start
        warnings.simplefilter("ignore", ConvergenceWarning)
        kmeans.fit(rows, sample_weight=weights)
    return Boundaries.nearest(kmeans.cluster_centers_).shifted(origin)


def random_start(rows, n_clusters, rng):
    """Boundaries that give each sample the nearest of `n_clusters` rows drawn at random."""
    drawn = rng.permutation(rows.shape[0])[: 20 * n_clusters]
    candidates = rows[drawn].toarray() if sp.issparse(rows) else rows[drawn]
    _, first = np.unique(candidates, axis=0, return_index=True)  # equal rows make no boundary
    centers = candidates[np.sort(first)[:n_clusters]].astype(np.float64)
    return Boundaries.nearest(_padded(centers, n_clusters))


class _NearestRow:
    """Rule that gives each sample the label of the nearest of some rows."""

    def __init__(self, rows, labels):
        self._neighbor = KNeighborsClassifier(1).fit(rows, labels)

    def labels(self, X):
        """Labels of the rows of `X`, in its namespace."""
        return like(self._neighbor.predict(to_numpy(X)).astype(np.int8), X)


def spectral_start(rows, weights, n_clusters, rng):
    """Rule of the normalised cut of the rows' graph of Gaussian similarities.

    The width of the similarities is the mean distance of two rows. Beyond 2,000 rows a sample of
    them is cut, and the other rows join their nearest neighbour.
    """
    rows, weights = sample_rows(rows, weights, size=SPECTRAL_ROWS, rng=rng)
    cut = SpectralClustering(
        n_clusters,
        gamma=distance_gamma(rows, weights),
        assign_labels="cluster_qr",
        random_state=rng,
    )
    return _NearestRow(rows, cut.fit_predict(rows))


def _padded(centers, n_clusters):
    """Centres with the missing ones repeated; the repeated ones stay empty."""
    return np.vstack([centers, np.repeat(centers[-1:], n_clusters - len(centers), axis=0)])
