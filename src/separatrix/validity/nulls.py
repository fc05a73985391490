"""Tables without clusters that resemble a given one."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import rankdata
from sklearn.isotonic import isotonic_regression

from separatrix.data.frames import Frame
from separatrix.validity.features import is_of_levels

__all__ = ["KINDS", "NullTables"]

# What is kept of the table: the correlations of its columns, its principal axes, or the distances
# of samples from the mean by its covariances.
KINDS = ("columns", "principal axes", "distances")
# Intervals that a distribution is described by, and the share of values around its mode.
N_INTERVALS = 64
DENSEST = 0.25
# Of the standard deviation, the least width of an interval: values may be equal.
LEAST_WIDTH = 1e-4
# Of the largest variance, the least of an axis along which samples vary.
FLAT = 1e-10
# Shares of ones between which a binary column has a threshold, and how often this is moved.
SHARES = (1e-6, 1 - 1e-6)
N_BALANCING = 12


def normal_scores(X, rng):
    """Ranks of each column as quantiles of the normal distribution, ties broken at random."""
    n_samples = len(X)
    quantiles = ndtri((np.arange(n_samples) + 0.5) / n_samples)
    scores = np.empty(X.shape)
    for j, column in enumerate(X.T):
        scores[np.lexsort((rng.random_sample(n_samples), column)), j] = quantiles
    return scores


def columns_of_levels(X):
    """Whether each column has few values."""
    return np.array([is_of_levels(column) for column in X.T])


def without_levels(X, rng):
    """Samples whose columns of few values are spread out: gaps between levels are no clusters."""
    X = X.copy()
    of_levels = columns_of_levels(X)
    X[:, of_levels] = normal_scores(X[:, of_levels], rng) * X[:, of_levels].std(axis=0)
    return X


@dataclass(frozen=True)
class OneHot:
    """Neighbouring columns of zeros and ones, at most one of which is one: a category.

    Parameters
    ----------
    columns : slice
        The columns.
    shares : ndarray of shape (n_columns,)
        Shares of ones.
    complete : bool
        Whether each sample has a one.
    """

    columns: slice
    shares: np.ndarray
    complete: bool

    def scores(self, latent, rng):
        """Normal scores of a category that normal variables draw, one for each column.

        The column whose variable is the farthest above its threshold has the one. Thresholds move
        until ones have the shares of the table: with other shares, a category would separate the
        samples less, or more.
        """
        latent = latent[:, self.columns]
        target = ndtri(self.shares)
        thresholds = -target
        for _ in range(N_BALANCING):
            ones = self._ones(latent - thresholds)
            drawn = np.clip(ones.mean(axis=0), 0.5 / len(latent), 1 - 0.5 / len(latent))
            thresholds += ndtri(drawn) - target
        return normal_scores(ones, rng)

    def _ones(self, above):
        ones = np.eye(above.shape[1])[above.argmax(axis=1)]
        if not self.complete:
            ones[above.max(axis=1) <= 0] = 0
        return ones


def one_hot_categories(X):
    """Longest runs of two or more columns that exclude each other."""
    binary = [len(np.unique(column)) == 2 for column in X.T]
    ones = (X.max(axis=0) == X) & binary
    shares = np.clip(ones.mean(axis=0), *SHARES)
    found, start = [], 0
    while start < X.shape[1]:
        counts, stop = ones[:, start].astype(int), start + 1
        while stop < X.shape[1] and binary[start] and binary[stop] and not counts.all():
            after = counts + ones[:, stop]
            if after.max() > 1:
                break
            counts, stop = after, stop + 1
        if stop - start > 1:
            columns = slice(start, stop)
            found.append(OneHot(columns, shares[columns], bool(counts.all())))
        start = stop
    return found


@dataclass(frozen=True)
class Unimodal:
    """The distribution with one mode that is near that of given values.

    Parameters
    ----------
    shares : ndarray of shape (n_edges,)
        Distribution function at the edges of intervals of constant density.
    edges : ndarray of shape (n_edges,)
        These edges.
    """

    shares: np.ndarray
    edges: np.ndarray

    @classmethod
    def of(cls, values):
        """Density that rises to the densest quarter of the values and falls from there.

        It is the nearest one in the least squares over the real line, as Grenander's estimator is.
        Intervals have equal steps of a normal distribution, so that a long tail stays long.
        """
        farthest = ndtri(1 - 0.5 / len(values))
        shares = ndtr(np.linspace(-farthest, farthest, N_INTERVALS + 1))
        shares = (shares - shares[0]) / (shares[-1] - shares[0])
        edges = np.quantile(values, shares)
        least = LEAST_WIDTH * float(values.std()) + np.finfo(float).tiny
        widths = np.maximum(np.diff(edges), least)
        density = np.diff(shares) / widths
        ends = np.searchsorted(shares, shares[shares <= 1 - DENSEST] + DENSEST)
        start = int(np.argmin(edges[ends] - edges[: len(ends)]))
        mode = (start + int(ends[start])) // 2
        sides = slice(mode), slice(mode, None)
        density = np.concatenate(
            [
                isotonic_regression(density[side], sample_weight=widths[side], increasing=rising)
                for side, rising in zip(sides, (True, False), strict=True)
            ]
        )
        shares = np.append(0.0, np.cumsum(density * widths))
        return cls(shares / shares[-1], edges[0] + np.append(0.0, np.cumsum(widths)))

    def quantiles(self, shares):
        """Values below which shares of the distribution lie."""
        return np.interp(shares, self.shares, self.edges)


@dataclass(frozen=True)
class Elliptical:
    """The distribution nearest to samples whose density is the same on ellipsoids, and falls.

    Parameters
    ----------
    shares : ndarray of shape (n_edges,)
        Distribution function at the edges of shells of constant density.
    volumes : ndarray of shape (n_edges,)
        Volumes within these edges, the largest one.
    farthest : float
        Distance of the farthest sample from the mean, by the covariances.
    root : ndarray of shape (n_features, rank)
        From directions on a sphere to those of samples.
    """

    shares: np.ndarray
    volumes: np.ndarray
    farthest: float
    root: np.ndarray

    @classmethod
    def of(cls, samples):
        """Distribution of centred samples: the concave one nearest to that of their volumes."""
        variances, axes = np.linalg.eigh(samples.T @ samples / len(samples))
        present = variances > FLAT * variances.max()
        root = axes[:, present] * np.sqrt(variances[present])
        distances = np.sort(np.linalg.norm(samples @ (root / variances[present]), axis=1))
        farthest, rank = float(distances[-1]), root.shape[1]
        volumes = np.append(0.0, (distances / farthest) ** rank)
        shares = np.linspace(0, 1, len(volumes))
        corners = upper_corners(volumes, shares)
        return cls(shares[corners], volumes[corners], farthest, root)

    def draw(self, n_samples, rng):
        """Samples of the distribution."""
        rank = self.root.shape[1]
        directions = rng.standard_normal((n_samples, rank))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        volumes = np.interp(rng.random_sample(n_samples), self.shares, self.volumes)
        return (self.farthest * volumes ** (1 / rank))[:, None] * directions @ self.root.T


def upper_corners(x, y):
    """Points of a rising curve that are corners of its least concave bound from above."""
    corners: list[int] = []
    for i in range(len(x)):
        while len(corners) > 1:
            a, b = corners[-2:]
            if (y[b] - y[a]) * (x[i] - x[a]) > (y[i] - y[a]) * (x[b] - x[a]):
                break
            corners.pop()
        corners.append(i)
    return corners


@dataclass(frozen=True)
class NullTables:
    """What tables without clusters keep of a given one: size, columns and correlations.

    Each column, or each principal coordinate, has the distribution with one mode that is nearest
    to its own. Columns depend on each other by a Gaussian copula; principal coordinates are
    independent. Where distances from the mean are kept, the density is the same on ellipsoids.

    Parameters
    ----------
    samples : ndarray of shape (n_samples, n_features)
        The table, its columns of levels spread out, in a frame.
    frames : list of Frame
        The frames that the table was put into, the first one first.
    columns, coordinates : list of Unimodal
        Distributions of the columns, and of the principal coordinates.
    root : ndarray of shape (n_features, n_features)
        Root of the correlations of the columns' normal scores.
    axes : ndarray of shape (n_features, n_features)
        Principal axes, in columns.
    categories : list of OneHot
        Columns of one category each.
    has_levels : bool
        Whether columns have been spread out.
    """

    samples: np.ndarray
    frames: list
    columns: list
    coordinates: list
    root: np.ndarray
    axes: np.ndarray
    categories: list
    has_levels: bool

    @classmethod
    def of(cls, X, rng):
        """What is kept of samples."""
        unit = Frame(X.mean(axis=0), None, float(np.ptp(X, axis=0).max()) or 1.0)
        X = unit(X)
        smooth = without_levels(X, rng)
        frame = Frame.of(smooth)
        samples = frame(smooth)
        ranks = ndtri((rankdata(samples, axis=0) - 0.5) / len(samples))
        spread = np.maximum(ranks.std(axis=0), np.finfo(float).tiny)
        axes = np.linalg.eigh(samples.T @ samples)[1]
        return cls(
            samples,
            [unit, frame],
            [Unimodal.of(column) for column in samples.T],
            [Unimodal.of(column) for column in (samples @ axes).T],
            root_of(ranks / spread),
            axes,
            one_hot_categories(X) if frame.axes is None else [],
            bool(columns_of_levels(X).any()),
        )

    @cached_property
    def elliptical(self):
        """Distribution of the distances from the mean, made for the first table that needs it."""
        return Elliptical.of(self.samples)

    def spread(self, X, rng):
        """Original samples with their columns of levels spread out again."""
        unit, frame = self.frames
        return frame(without_levels(unit(X), rng))

    def in_units(self, table):
        """A table as `draw` gives it, in the units of the samples as they were given."""
        for frame in reversed(self.frames):
            table = frame.inverse(table)
        return table

    def draw(self, kind, rng):
        """A table without clusters, of one of the `KINDS`."""
        shape = self.samples.shape
        if kind == "distances":
            return self.elliptical.draw(shape[0], rng)
        if kind == "principal axes":
            shares = rng.random_sample(shape)
            return at_quantiles(self.coordinates, shares) @ self.axes.T
        latent = rng.standard_normal(shape) @ self.root.T
        for category in self.categories:
            latent[:, category.columns] = category.scores(latent, rng)
        return at_quantiles(self.columns, ndtr(latent))


def root_of(scores):
    """Matrix R with R R' the correlations of centred scores."""
    values, vectors = np.linalg.eigh(scores.T @ scores / len(scores))
    return vectors * np.sqrt(np.maximum(values, 0))


def at_quantiles(distributions, shares):
    columns = zip(distributions, shares.T, strict=True)
    return np.column_stack([one.quantiles(column) for one, column in columns])
