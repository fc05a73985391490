"""Samples, and the two sides of them between which a hyperplane is sought."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError

from separatrix._sklearn import namespace_of, to_numpy
from separatrix.data.chunks import beside, map_rows
from separatrix.data.moments import Moments, Units, total_moments
from separatrix.data.sampling import sample_rows, sample_size
from separatrix.labels.links import Links, linked_labels
from separatrix.models.boundaries import pairwise_code
from separatrix.models.partition import Partition
from separatrix.solvers.minimax import (
    ImplicitCovariances,
    minimax_direction,
    minimax_direction_by_passes,
)

__all__ = [
    "MomentProblem",
    "Sides",
    "Step",
    "minimax_between",
    "minimax_step",
    "pairwise_kappa",
    "pairwise_matrix",
]

# Beyond this many features a covariance matrix costs more than the passes that avoid it.
WIDE = 2048


# --- samples and the two sets between which a hyperplane is sought ------------------------------


@dataclass(frozen=True)
class MomentProblem:
    """Data with their overall moments, shared by all boundaries that are fitted to them.

    Attributes
    ----------
    X : {array, sparse matrix, dask array} of shape (n_samples, n_features)
        Features, after the kernel map if there is one.
    sample_weight : array of shape (n_samples,) or None
        Nonnegative weights.
    shift : ndarray of shape (n_features,)
        Point that moments are taken about.
    total : Moments
        Moments of all rows about `shift`; of wide data only the diagonal.
    units : Units
        Units in which the paper's Lambda is the identity matrix.
    reg : float
        The paper's lambda.
    isotropic : bool
        Whether all features have one unit, as kernel features must: their axes mean nothing.
    rows, row_weight : ndarray or sparse matrix, and ndarray or None
        Rows that starts are found on, and their weights.
    links : Links or None
        Links between the samples.
    """

    X: Any
    sample_weight: Any
    shift: np.ndarray
    total: Moments
    units: Units
    reg: float
    isotropic: bool
    rows: Any
    row_weight: Any
    links: Links | None = None

    @classmethod
    def of(cls, X, sample_weight, *, reg, isotropic, rng):
        """Draw rows and sum the moments of `X`, in one pass over it."""
        size = sample_size(X.shape[0])
        rows, row_weight = sample_rows(X, sample_weight, size=size, rng=rng)
        if sp.issparse(rows):  # a sparse matrix cannot be shifted
            shift = np.zeros(X.shape[1])
        else:
            shift = np.average(rows, axis=0, weights=row_weight).astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):  # the next lines tell in words
            total = total_moments(X, sample_weight, shift=shift, diagonal=X.shape[1] > WIDE)
        if not (np.isfinite(total.first).all() and np.isfinite(total.second).all()):
            raise ValueError(
                "X contains NaN, infinity or values too large for their squares to be summed "
                "in double precision; clean X or divide it by a large number."
            )
        units = Units.of(total, shift, isotropic=isotropic)
        return cls(X, sample_weight, shift, total, units, reg, isotropic, rows, row_weight)

    def check_varies(self):
        """Return self, but refuse constant data."""
        if not self.varies:
            raise ValueError(
                f"X is constant: none of its {self.X.shape[1]} features varies beyond rounding, "
                "so no boundary can separate clusters. Check that X holds the features, or scale "
                "it up if its values are smaller than 1e-150."
            )
        return self

    @property
    def varies(self):
        """Whether there is anything to separate."""
        return bool(self.units.active.any())

    def scatter(self, whole):
        """Summed squared distances of the samples from their mean, in the units of `whole`."""
        both = self.units.active & whole.units.active
        spread = self.units.scale[both] / whole.units.scale[both]
        return self.total.weight * float(np.sum(spread**2))

    def restricted(self, weights, rng):
        """The problem of the samples of positive weight alone."""
        return MomentProblem.of(
            self.X, beside(weights, self.X), reg=self.reg, isotropic=self.isotropic, rng=rng
        )

    @property
    def is_sampled(self):
        """Whether `rows` are a sample and not all rows of positive weight."""
        return self.X.shape[0] > sample_size(self.X.shape[0])

    def sampled(self, rng):
        """The problem of the sampled rows alone."""
        return MomentProblem.of(
            self.rows, self.row_weight, reg=self.reg, isotropic=self.isotropic, rng=rng
        )

    def rule(self, boundaries):
        """What labels the rows: boundaries, or the labels nearest to them that keep the links."""
        if self.links is None:
            return boundaries
        scores = map_rows(boundaries.decision, self.X, width=boundaries.code.shape[0])
        weight = to_numpy(self.sample_weight)
        labels = linked_labels(scores, self.links, sample_weight=weight).labels
        return beside(labels.astype(np.int32), self.X)

    def partition(self, n_clusters):
        """A partition of the rows that is yet to be assigned."""
        return Partition(
            self.X, self.sample_weight, n_clusters=n_clusters, total=self.total, shift=self.shift
        )


@dataclass(frozen=True)
class Sides:
    """Two unions of clusters, measured in the units of the samples of both.

    Attributes
    ----------
    problem : MomentProblem
        The data.
    partition : Partition
        The clusters.
    side : ndarray of shape (n_clusters,)
        1 for clusters of the positive side, -1 for the negative one, 0 for others.
    plus, minus : Moments
        Moments of the two sides.
    units : Units
        Units in which the total covariance of both sides is a correlation matrix.
    """

    problem: MomentProblem
    partition: Partition
    side: np.ndarray
    plus: Moments
    minus: Moments
    units: Units

    @classmethod
    def of(cls, problem, partition, side):
        """Sides that `side`, a row of a code, gives to the clusters of `partition`."""
        plus, minus = (partition.moments(np.flatnonzero(side == sign)) for sign in (1, -1))
        units = problem.units
        if not side.all():
            units = Units.of(plus + minus, problem.shift, isotropic=problem.isotropic)
            # what subtraction leaves of a feature that is constant on both sides is no variance
            gone = units.scale < 1e-7 * problem.units.scale
            units = replace(units, scale=np.where(gone, np.inf, units.scale))
        return cls(problem, partition, side, plus, minus, units)

    def mean(self, moments):
        """Mean in units."""
        return (moments.mean + self.problem.shift - self.units.mean) / self.units.scale

    @property
    def difference(self):
        """Mean of the positive side less mean of the negative one, in units."""
        return self.mean(self.plus) - self.mean(self.minus)

    def covariance(self, moments):
        """Covariance with the ridge, in units, of the features that vary."""
        active, covariance = self.units.active, moments.covariance
        if not active.all():
            covariance = covariance[np.ix_(active, active)]
        scale = self.units.scale[active]
        covariance /= scale
        covariance /= scale[:, None]
        covariance[np.diag_indices_from(covariance)] += self.problem.reg
        return covariance

    def implicit(self, *, merged=False):
        """The covariances of both sides as products only; of their union if `merged`."""
        xp, _ = namespace_of(self.partition.labels)
        signs = np.abs(self.side) if merged else self.side
        row_side = xp.take(
            beside(signs, self.problem.X), xp.astype(self.partition.labels, xp.int64)
        )
        moments = (self.plus + self.minus,) * 2 if merged else (self.plus, self.minus)
        return ImplicitCovariances(
            self.problem.X,
            self.problem.sample_weight,
            row_side,
            self.units,
            np.array([part.weight for part in moments]),
            np.array([self.mean(part) for part in moments]),
        )

    def singular(self):
        """The error that the covariances of the two sides leave no maximum."""
        return ValueError(
            f"reg={self.problem.reg:g} leaves the covariances of two clusters of weights "
            f"{self.plus.weight:g} and {self.minus.weight:g} singular in "
            f"{self.units.active.sum()} features, where the separation has no maximum; use a "
            "larger reg, such as 0.1, or fewer features."
        )

    def in_units(self, coef):
        """Direction `coef` of raw features in units."""
        return coef * np.where(self.units.active, self.units.scale, 0.0)

    def hyperplane(self, w, origin):
        """Normal and offset, for raw features, of w'x = origin in units."""
        coef = w / self.units.scale
        return coef, -float(coef @ self.units.mean) - origin


@dataclass(frozen=True)
class Step:
    """A fitted boundary and the value of the criterion for the labels it was fitted to."""

    coef: np.ndarray
    offset: float
    value: float


def minimax_between(sides, start=None):
    """Direction of largest kappa between two sides, in their units."""
    if sides.problem.total.diagonal:
        if sides.problem.reg == 0:
            raise ValueError(
                f"reg=0 is for at most {WIDE} features, got {len(sides.units.scale)}; use a "
                "positive reg."
            )
        if start is not None:
            start = sides.in_units(start)
        return minimax_direction_by_passes(sides.implicit(), sides.problem.reg, start=start)
    active = sides.units.active
    difference = sides.difference[active]
    try:
        found = minimax_direction(
            sides.covariance(sides.plus), sides.covariance(sides.minus), difference
        )
    except LinAlgError:
        raise sides.singular() from None
    coef = np.zeros(len(active))
    coef[active] = found.coef
    return replace(found, coef=coef)


def minimax_step(sides, start=None):
    """Minimax machine between two sides: direction and optimal offset.

    The hyperplane lies kappa standard deviations from the mean of either side. `start` is a
    normal to begin with, which only wide data need.
    """
    direction = minimax_between(sides, start)
    origin = direction.coef @ sides.mean(sides.plus) - direction.kappa * direction.sigma[0]
    coef, offset = sides.hyperplane(direction.coef, origin)
    return Step(coef, offset, direction.kappa)


def pairwise_matrix(code, values):
    """Symmetric matrix of one value per pair of clusters; nan on the diagonal."""
    matrix = np.full((code.shape[1], code.shape[1]), np.nan)
    for side, value in zip(code, values, strict=True):
        low, high = np.flatnonzero(side)
        matrix[low, high] = matrix[high, low] = value
    return matrix


def pairwise_kappa(problem, partition):
    """Separation kappa of each pair of clusters; nan for empty ones and on the diagonal."""
    code = pairwise_code(partition.n_clusters)
    empty = partition.empty
    values = [
        np.nan
        if empty[side != 0].any()
        else minimax_between(Sides.of(problem, partition, side)).kappa
        for side in code
    ]
    return pairwise_matrix(code, values)
