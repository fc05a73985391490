"""Samples and scores on a plane: the data of a picture of boundaries."""

import numpy as np
from sklearn.utils import get_tags

from separatrix.data.gate import check_count, check_rows
from separatrix.data.rows import beside, map_rows, rows_beside
from separatrix.plots.canvas import chosen_rows, counted, feature_names
from separatrix.plots.projection import plane_across
from separatrix.plots.scores import dense, predicted, score_rule

__all__ = ["section_of"]

# A plane on which fewer samples keep their cluster says little about the boundary.
_LEAST_AGREEMENT = 0.9


def section_of(estimator, X, *, max_samples, resolution):
    """Arguments of a BoundaryDisplay, by name, for a fitted clusterer and samples."""
    resolution = check_count(resolution, "resolution", least=2)
    X = _checked(estimator, X)
    rule = score_rule(estimator, X)

    def score(points):
        return rule(beside(points, X))

    points = dense(rows_beside(X, chosen_rows(X.shape[0], max_samples)))
    scores = score(points)
    labels = scores.argmax(axis=1)
    plane = plane_across(estimator, points, scores, feature_names(estimator))
    coordinates = plane.project(points)
    moved = score(plane.lift(coordinates)).argmax(axis=1)
    agreement = np.mean(moved == labels)
    is_drawn = agreement >= _LEAST_AGREEMENT
    remarks = [counted(len(points), X.shape[0])]
    if X.shape[1] > 2:
        remarks.append(
            f"{'regions' if is_drawn else 'no regions'}: {agreement:.0%} of samples keep their "
            "cluster on the plane through the mean"
        )
    section = {
        "points": coordinates,
        "labels": _with_outliers(estimator, beside(points, X), labels),
        "axis_names": plane.names,
        "remark": "\n".join(filter(None, remarks)),
    }
    if is_drawn:
        section["grid"] = grid = _grid(coordinates, resolution)
        pairs = np.stack(np.meshgrid(*grid), axis=-1).reshape(-1, 2)
        on_grid = map_rows(lambda rows: score(plane.lift(rows)), pairs, width=X.shape[1])
        section["grid_scores"] = on_grid.reshape(resolution, resolution, -1)
    return section


def _with_outliers(estimator, X, labels):
    """Labels of samples by their scores, and -1 for those that the estimator calls outliers."""
    if not hasattr(estimator, "outlier_scores_"):
        return labels
    return np.where(predicted(estimator, X) == -1, -1, labels)


def _checked(estimator, X):
    """Samples that can be drawn in a plane."""
    if get_tags(estimator).input_tags.pairwise:
        raise ValueError(
            "a precomputed kernel or graph leaves no features to draw a boundary in; fit on "
            "features, or use MarginDistributionDisplay."
        )
    X = check_rows(X, dtype=None, lazy=True)
    if X.shape[1] < 2:
        raise ValueError(
            f"X has n_features={X.shape[1]}, but a plane needs at least 2; use "
            "MarginDistributionDisplay."
        )
    return X


def _grid(points, resolution):
    """Coordinates of a grid that reaches a little beyond the points."""
    low, high = points.min(axis=0), points.max(axis=0)
    pad = 0.06 * np.where(high > low, high - low, 1.0)
    return tuple(np.linspace(low - pad, high + pad, resolution).T)
