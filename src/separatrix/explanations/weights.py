"""Weights of linear boundaries in the units of the table that a pipeline takes."""

from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from separatrix._sklearn import last_step
from separatrix.data.gate import check_rows
from separatrix.models.boundaries import one_vs_rest_code
from separatrix.models.scores import dense, ignoring_names, in_memory

__all__ = ["BoundaryWeights", "boundary_weights"]

MOST_PROBED = 2_000  # columns whose weights are found through the steps of a pipeline
MOST_CHECKED = 200  # rows on which they are confirmed
TOLERANCE = 1e-6


@dataclass(frozen=True)
class BoundaryWeights:
    """The weights of one boundary.

    Attributes
    ----------
    negative, positive : list of int
        Clusters on its two sides.
    weights : ndarray of shape (n_features,)
        Weight of each feature per unit of the table; a positive weight speaks for `positive`.
    per_deviation : ndarray of shape (n_features,)
        The weights times the standard deviations of the features, which makes them comparable.
    intercept : float
        Value of the boundary where all features are zero.
    """

    negative: list[int]
    positive: list[int]
    weights: np.ndarray
    per_deviation: np.ndarray
    intercept: float

    @property
    def name(self) -> str:
        """The clusters that it separates."""
        return f"{_named(self.negative)} | {_named(self.positive)}"

    @property
    def title(self) -> str:
        """The same in words, with the signs of their sides."""
        return f"Boundary between {_named(self.negative)} (−) and {_named(self.positive)} (+)"


def _named(clusters):
    return f"cluster{'s' * (len(clusters) > 1)} {', '.join(map(str, clusters))}"


def boundary_weights(estimator, table):
    """Weights of each boundary; none if its value is not a linear function of the columns."""
    clusterer = last_step(estimator)
    coef = in_memory(getattr(clusterer, "coef_", np.empty((0, 0))))
    if table.numbers is None or not len(coef):
        return []
    intercept = in_memory(clusterer.intercept_)
    if clusterer is not estimator and len(estimator.steps) > 1:
        found = _before(estimator[:-1], coef, intercept, table)
        if found is None:
            return []
        coef, intercept = found
    # a machine of another library separates each class from the rest
    sides = in_memory(getattr(clusterer, "boundary_sides_", one_vs_rest_code(max(len(coef), 2))))
    return [
        BoundaryWeights(
            np.flatnonzero(code == -1).tolist(),
            np.flatnonzero(code == 1).tolist(),
            weights,
            weights * table.deviations,
            float(offset),
        )
        for weights, offset, code in zip(coef, intercept, sides, strict=True)
    ]


def _before(steps, coef, intercept, table):
    """Weights and offsets for the columns before some steps, None if the steps are not affine.

    An affine function is determined by its values at one point and one step from there along each
    axis. The result is checked on the rows themselves.
    """
    if not table.columns or len(table.columns) > MOST_PROBED:
        return None

    def values_at(rows):
        with ignoring_names():
            return dense(check_rows(steps.transform(rows))) @ coef.T + intercept

    numbers, deviations = table.numbers, table.deviations
    center = np.nanmean(numbers, axis=0)
    step = np.where(deviations > 0, deviations, 1.0)
    complete = np.flatnonzero(np.isfinite(numbers).all(axis=1))[:MOST_CHECKED]
    with suppress(TypeError, ValueError):  # from steps that refuse rows which are not in X
        probes = values_at(table.made_of(np.vstack([center, center + np.diag(step)])))
        weights = (probes[1:] - probes[0]).T / step
        found = values_at(table.rows(complete)) - probes[0]
        expected = (numbers[complete] - center) @ weights.T
        if np.abs(found - expected).max(initial=0) <= TOLERANCE * np.abs(found).max(initial=0):
            return weights, probes[0] - weights @ center
    return None
