"""Features of a labelling, from the samples alone."""

from functools import cached_property

import numpy as np
from scipy.linalg import eigh
from sklearn.metrics import pairwise_distances

__all__ = ["Measures", "is_of_levels", "labelling_features", "sample_features"]

# Samples whose distances to all others the silhouette uses.
N_SILHOUETTE = 1_000
# Neighbours that purity is measured on, and those of the other half that vote.
NEAR = (5, 10, 30)
N_VOTERS = 10
# Of the mean variance, added to the variances of a cluster.
RIDGE = 0.01
# Where logarithms of ratios end.
TINY = 1e-9
# Distinct values up to which a column is one of levels, as answers and categories are.
MOST_LEVELS = 12


# --- what all labellings of the same samples share ----------------------------------------------


class Measures:
    """The samples, prepared once to measure many labellings of them.

    Parameters
    ----------
    geometry : Geometry
        Neighbours, graphs and trees of the samples.
    rng : RandomState
        Halves the samples, and draws those of the silhouette.
    """

    def __init__(self, geometry, rng):
        X = geometry.X
        n_samples = len(X)
        self.geometry = geometry
        self.ridge = RIDGE * float(X.var(axis=0).mean()) + np.finfo(float).tiny
        order = rng.permutation(n_samples)
        half = np.zeros(n_samples, dtype=bool)
        half[order[: n_samples // 2]] = True
        others = half[geometry.neighbors] != half[:, None]
        self.votes = others & (np.cumsum(others, axis=1) <= N_VOTERS)
        self.drawn = np.sort(order[:N_SILHOUETTE])
        self.distances = pairwise_distances(X[self.drawn])
        self.spread = float(((X - X.mean(axis=0)) ** 2).sum()) + np.finfo(float).tiny
        self.alone = log_likelihoods(X, np.zeros(n_samples, dtype=np.int32), 1, self.ridge)
        # density, from the reach of the tenth neighbour
        reach = geometry.distances[:, :N_VOTERS][:, -1]
        self.reach = np.maximum(reach, TINY * max(float(reach.max()), TINY))
        self.log_density = -np.log(self.reach)
        self.graphs = {
            "graph": geometry.graph,
            "shared graph": geometry.shared_graph,
            "whitened graph": geometry.whitened.shared_graph,
        }
        self.degrees = {name: np.asarray(W.sum(axis=1)).ravel() for name, W in self.graphs.items()}
        self._embedded = {}

    @cached_property
    def of_samples(self):
        """Features that do not depend on the number of clusters: dict of str to float."""
        X, distances = self.geometry.X, self.geometry.distances
        n_samples, n_features = X.shape
        last = min(20, distances.shape[1]) - 1
        far = np.maximum(distances[:, last : last + 1], TINY)
        ratios = np.log(far / np.maximum(distances[:, :last], TINY)) if last else np.ones(1)
        deviations = X.std(axis=0)
        skew = ((X - X.mean(axis=0)) ** 3).mean(axis=0) / (deviations**3 + TINY)
        return {
            "log n": np.log(n_samples),
            "log d": np.log(n_features),
            "log dimension": -np.log(max(float(ratios.mean()), 1e-3)),
            "distinct": len(np.unique(X.round(6), axis=0)) / n_samples,
            "skew": float(np.abs(skew).mean()),
            "columns of levels": share_of_levels(X),
            "spread of density": float(self.log_density.std()),
        }

    def embedded_distances(self, n_clusters):
        """Distances of the drawn samples in the spectral embedding for a number of clusters."""
        if n_clusters not in self._embedded:
            places = self.geometry.embedding(n_clusters, "shared_graph")[self.drawn]
            self._embedded[n_clusters] = pairwise_distances(places)
        return self._embedded[n_clusters]


def is_of_levels(column):
    """Whether a column has few values: gaps between these come from the scale, not the samples."""
    return len(np.unique(column.round(6))) <= min(MOST_LEVELS, len(column) // 10)


def share_of_levels(X):
    """Share of columns of few values."""
    return float(np.mean([is_of_levels(column) for column in X.T]))


def sample_features(measures, n_clusters):
    """Features of the samples and the number of clusters: dict of str to float."""
    n_samples = measures.geometry.n_samples
    return measures.of_samples | {
        "log k": np.log(n_clusters),
        "log n/k": np.log(n_samples / n_clusters),
    }


# --- one labelling ------------------------------------------------------------------------------


def labelling_features(measures, labels):
    """Features of a labelling: dict of str to float.

    Parameters
    ----------
    measures : Measures
        The samples.
    labels : ndarray of int32 of shape (n_samples,)
        Labels from 0, none missing, at least two.
    """
    geometry = measures.geometry
    n_samples = geometry.n_samples
    sizes = np.bincount(labels)
    n_clusters = len(sizes)
    shares = sizes / n_samples
    features = {
        "evenness": float(-(shares * np.log(shares)).sum() / np.log(n_clusters)),
        "smallest": float(shares.min() * n_clusters),
        "largest": float(shares.max()),
    }
    features |= neighbor_features(measures, labels, shares)
    for name, W in measures.graphs.items():
        features |= graph_features(W, measures.degrees[name], labels, n_clusters, name)
    features |= density_features(measures, labels, n_clusters)
    features |= center_features(measures, labels, n_clusters)
    drawn, embedded = labels[measures.drawn], measures.embedded_distances(n_clusters)
    features |= silhouette_features(measures.distances, drawn, n_clusters, "silhouette")
    features |= silhouette_features(embedded, drawn, n_clusters, "embedded silhouette")
    features |= tree_features(geometry.tree, labels, shares, "tree")
    features |= tree_features(geometry.core_tree, labels, shares, "core tree")
    return features


def _neighbor_counts(neighbors, votes, labels, n_clusters):
    """Same-label neighbours of each sample among the first ones, and whether the vote is right."""
    found = labels[neighbors]
    match = found == labels[:, None]
    n_samples, n_near = neighbors.shape
    first = [min(n, n_near) for n in NEAR]
    same = np.column_stack([match[:, :n].sum(axis=1) / n for n in first])
    ballots = (np.arange(n_samples)[:, None] * n_clusters + found)[votes]
    count = np.bincount(ballots, minlength=n_samples * n_clusters).reshape(n_samples, n_clusters)
    most = count.max(axis=1, keepdims=True)
    right = (count[np.arange(n_samples), labels] == most[:, 0]) / (count == most).sum(axis=1)
    return same, right


def neighbor_features(measures, labels, shares):
    """How pure the neighbourhoods are, and how dense samples are where labels change."""
    geometry = measures.geometry
    n_clusters, sizes = len(shares), shares * len(labels)
    same, right = _neighbor_counts(geometry.neighbors, measures.votes, labels, n_clusters)
    purity = same.mean(axis=0)
    chance = float((shares**2).sum())
    of_clusters = np.bincount(labels, same[:, 1], minlength=n_clusters) / sizes
    confirmed = np.bincount(labels, right, minlength=n_clusters) / sizes
    near, away = geometry.neighbors[:, :N_VOTERS], geometry.distances[:, :N_VOTERS]
    crossing = labels[near] != labels[:, None]
    density = np.minimum(measures.log_density[:, None], measures.log_density[near])
    stretch = away / np.sqrt(measures.reach[:, None] * measures.reach[near])
    found = {f"purity {n}": float(p) for n, p in zip(NEAR, purity, strict=True)}
    found |= {
        "purity over chance": float((purity[1] - chance) / max(1 - chance, TINY)),
        "least purity": float(of_clusters.min()),
        "mean purity": float(of_clusters.mean()),
        "confirmed": float(right.mean()),
        "least confirmed": float(confirmed.min()),
        "border density": -3.0,
        "border length": 1.0,
        "border share": 0.0,
    }
    if crossing.any():
        ratio = stretch[crossing].mean() / max(float(stretch.mean()), TINY)
        found["border density"] = float(density[crossing].mean() - density.mean())
        found["border length"] = float(np.log(ratio + TINY))
        found["border share"] = float(crossing.any(axis=1).mean())
    means = np.bincount(labels, measures.log_density, minlength=n_clusters) / sizes
    squares = np.bincount(labels, measures.log_density**2, minlength=n_clusters) / sizes
    within = np.sqrt(np.maximum(squares - means**2, 0))
    found["density between"] = float(means.std())
    found["density within"] = float((shares * within).sum())
    return found


def _within(W, labels, n_clusters):
    """Similarities within each cluster."""
    of_rows = np.repeat(labels, np.diff(W.indptr))
    same = of_rows == labels[W.indices]
    return np.bincount(of_rows[same], W.data[same], minlength=n_clusters)


def graph_features(W, degrees, labels, n_clusters, name):
    """Modularity and normalised cuts of a graph."""
    within = _within(W, labels, n_clusters)
    volumes = np.maximum(np.bincount(labels, degrees, minlength=n_clusters), 1e-300)
    total = volumes.sum()
    cuts = 1 - within / volumes
    return {
        f"{name} modularity": float((within / total - (volumes / total) ** 2).sum()),
        f"{name} cut": float(cuts.mean()),
        f"{name} largest cut": float(cuts.max()),
    }


def log_likelihoods(X, labels, n_clusters, ridge):
    """Mean log density of samples, each in its cluster's Gaussian, for four kinds of covariance.

    Constants that all labellings share are left out.
    """
    n_samples, n_features = X.shape
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels, minlength=n_clusters)
    ends = np.cumsum(sizes)
    pooled = np.zeros((n_features, n_features))
    full = diagonal = spherical = mixing = 0.0
    for end, size in zip(ends, sizes, strict=True):
        rows = X[order[end - size : end]]
        centered = rows - rows.mean(axis=0)
        scatter = centered.T @ centered
        pooled += scatter
        values = np.maximum(eigh(scatter / size, eigvals_only=True, check_finite=False), 0)
        variances = np.diagonal(scatter) / size
        mixing += size * np.log(size / n_samples)
        full -= 0.5 * size * _penalty(values, ridge)
        diagonal -= 0.5 * size * _penalty(variances, ridge)
        mean = np.full(n_features, variances.mean())
        spherical -= 0.5 * size * _penalty(mean, ridge)
    values = np.maximum(eigh(pooled / n_samples, eigvals_only=True, check_finite=False), 0)
    tied = -0.5 * n_samples * _penalty(values, ridge)
    return np.array([full, diagonal, spherical, tied]) / n_samples + mixing / n_samples


def _penalty(variances, ridge):
    """Log determinant and mean square of Gaussians that have a ridge on their variances."""
    return np.log(variances + ridge).sum() + (variances / (variances + ridge)).sum()


def density_features(measures, labels, n_clusters):
    """Gain of the likelihood over one cluster, per feature."""
    X = measures.geometry.X
    n_samples, n_features = X.shape
    found = log_likelihoods(X, labels, n_clusters, measures.ridge)
    gains = (found - measures.alone) / n_features
    n_parameters = (n_clusters - 1) * (n_features + n_features * (n_features + 1) / 2)
    cost = n_parameters * np.log(n_samples) / (2 * n_samples * n_features)
    kinds = ("full", "diagonal", "spherical", "tied")
    features = {f"{kind} likelihood": float(g) for kind, g in zip(kinds, gains, strict=True)}
    return features | {"information criterion": float(gains[0] - cost)}


def center_features(measures, labels, n_clusters):
    """How far the means of clusters are from each other, relative to the spread around them."""
    X = measures.geometry.X
    sizes = np.bincount(labels, minlength=n_clusters)
    sums = np.column_stack([np.bincount(labels, column, minlength=n_clusters) for column in X.T])
    centers = sums / sizes[:, None]
    squares = ((X - centers[labels]) ** 2).sum(axis=1)
    radii = np.sqrt(np.bincount(labels, squares, minlength=n_clusters) / sizes)
    away = pairwise_distances(centers)
    np.fill_diagonal(away, np.inf)
    worst = ((radii[:, None] + radii) / np.maximum(away, TINY)).max(axis=1)
    return {
        "explained variance": float(1 - squares.sum() / measures.spread),
        "log Davies-Bouldin": float(np.log(worst.mean() + TINY)),
        "nearest centers": float(np.log(away.min() / max(float(np.median(radii)), TINY) + TINY)),
    }


def silhouette_features(distances, labels, n_clusters, name):
    """Silhouette from all distances, on average and of the worst cluster."""
    members = np.eye(n_clusters)[labels]
    sizes = members.sum(axis=0)
    rows = np.arange(len(labels))
    sums = distances @ members
    own = sums[rows, labels] / np.maximum(sizes[labels] - 1, 1)
    means = sums / np.maximum(sizes, TINY)
    means[:, sizes == 0] = np.inf
    means[rows, labels] = np.inf
    other = means.min(axis=1)
    proper = (sizes[labels] > 1) & np.isfinite(other)
    values = np.zeros(len(labels))
    values[proper] = (other - own)[proper] / np.maximum(np.maximum(own, other), TINY)[proper]
    of_clusters = (values @ members)[sizes > 0] / sizes[sizes > 0]
    return {
        name: float(values.mean()),
        f"least {name}": float(of_clusters.min()),
    }


def tree_features(tree, labels, shares, name):
    """How long the links between clusters are, relative to those within."""
    n_clusters = len(shares)
    ends, lengths = labels[tree.ends], tree.lengths
    between = ends[:, 0] != ends[:, 1]
    middle = max(float(lengths[len(lengths) // 2]), TINY * max(float(lengths[-1]), TINY))
    cut = lengths[between]
    longest, typical = np.zeros(n_clusters), np.zeros(n_clusters)
    inner = ends[~between, 0]
    np.maximum.at(longest, inner, lengths[~between])
    order = np.argsort(inner, kind="stable")  # lengths ascend in each cluster
    counts = np.bincount(inner, minlength=n_clusters)
    firsts = np.cumsum(counts) - counts
    at = firsts + np.minimum((0.95 * counts).astype(int), counts - 1)
    typical[counts > 0] = lengths[~between][order][at[counts > 0]]
    shortest = np.full(n_clusters, np.inf)
    for side in ends[between].T:
        np.minimum.at(shortest, side, cut)
    shortest[~np.isfinite(shortest)] = 0.0
    scale = np.maximum(np.maximum(shortest, typical), TINY)
    gaps = shortest / np.maximum(longest, TINY * max(float(lengths[-1]), TINY))
    place = np.flatnonzero(between)
    return {
        f"{name} cuts": float(np.log(len(cut) / (n_clusters - 1))),
        f"{name} cut length": float(np.log(cut.mean() / middle + TINY)),
        f"{name} least cut": float(np.log(cut.min() / middle + TINY)),
        f"{name} cut place": float((place.mean() + 0.5) / len(lengths)),
        f"{name} validity": float((shares * (shortest - typical) / scale).sum()),
        f"{name} gap": float(np.log(np.clip(gaps.min(), 1e-3, 20))),
    }
