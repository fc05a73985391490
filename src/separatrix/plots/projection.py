"""The plane in which a boundary in many dimensions is drawn."""

from dataclasses import dataclass

import numpy as np
from sklearn.decomposition import PCA
from sklearn.linear_model import RidgeCV
from sklearn.utils.extmath import svd_flip

from separatrix.plots.scores import in_memory

__all__ = ["Plane", "plane_across"]


@dataclass(frozen=True)
class Plane:
    """A plane in the space of features.

    Attributes
    ----------
    axes : ndarray of shape (2, n_features)
        Orthonormal directions.
    origin : ndarray of shape (n_features,)
        Where both coordinates are zero.
    names : tuple of str
        What the coordinates are.
    """

    axes: np.ndarray
    origin: np.ndarray
    names: tuple

    def project(self, X):
        """Coordinates of samples in the plane."""
        return (X - self.origin) @ self.axes.T

    def lift(self, coordinates):
        """Samples in the plane that have these coordinates."""
        return self.origin + coordinates @ self.axes


def plane_across(estimator, X, scores, feature_names):
    """The plane of two features; of more, the one in which the boundaries are seen best.

    Parameters
    ----------
    estimator : object
        Fitted clusterer.
    X : ndarray of shape (n_samples, n_features)
        Samples.
    scores : ndarray of shape (n_samples, n_clusters)
        Their scores.
    feature_names : list of str
        Names of the features.

    Returns
    -------
    Plane
        Its axes are the directions in which the margins to the boundaries vary most: for one
        boundary its normal alone. Where they leave room, the leading principal component
        orthogonal to them follows.
    """
    if X.shape[1] == 2:
        return Plane(np.eye(2), np.zeros(2), tuple(feature_names))
    mean = X.mean(axis=0)
    normals, name = _normals(estimator, X - mean, scores)
    axes = _leading_directions(normals, X - mean)
    nths = [""] if len(axes) == 1 else ["first ", "second "][: len(axes)]
    names = [nth + name for nth in nths]
    while len(axes) < 2:
        rest = X - mean - (X - mean) @ axes.T @ axes
        with np.errstate(invalid="ignore"):  # where nothing varies, any direction will do
            component = PCA(1, random_state=0).fit(rest).components_[0]
        axes = np.vstack([axes, _orthogonal(component, axes)])
        names.append("leading principal component" + ("\northogonal to it" if names else ""))
    return Plane(axes, mean, tuple(names))


def _normals(estimator, centred, scores):
    """Normals of the boundaries, in rows, and their name.

    A boundary that is not linear has none. The direction that best predicts the scores by least
    squares is used instead, with the ridge that leave-one-out chooses, since with more features
    than samples any scores can be matched.
    """
    coef = in_memory(getattr(estimator, "coef_", np.empty((0, 0))))
    if coef.size:
        return coef, "normal of the boundary" if len(coef) == 1 else "direction of the normals"
    targets = scores[:, 1:] if scores.shape[1] == 2 else scores
    targets = targets[:, np.isfinite(targets).all(axis=0)]  # clusters that win nowhere score -inf
    if not np.ptp(targets, axis=0).any():
        return np.empty((0, centred.shape[1])), ""
    fit = RidgeCV(np.logspace(-8, 2, 6) * np.square(centred).sum()).fit(centred, targets)
    explained = 1.0 + fit.best_score_ / targets.var(axis=0).mean()  # also by leave-one-out
    name = f"direction that best predicts\nthe scores (R² = {explained:.2f})"
    return np.atleast_2d(fit.coef_), name


def _leading_directions(normals, centred):
    """Orthonormal rows: at most two directions in which margins vary most."""
    if len(normals) > 1:
        left, spread, right = np.linalg.svd(centred @ normals.T, full_matrices=False)
        _, right = svd_flip(left, right, u_based_decision=False)
        normals = (right @ normals)[:2][spread[:2] > 1e-9 * max(spread[0], 1e-300)]
    normals = normals[normals.any(axis=1)]
    axes = np.empty((0, centred.shape[1]))
    for normal in normals:
        axes = np.vstack([axes, _orthogonal(normal, axes)])
    return axes


def _orthogonal(direction, axes):
    """Unit vector orthogonal to `axes`: the part of `direction` that is, if there is any."""
    direction = direction / max(float(np.linalg.norm(direction)), 1e-300)
    # the axes cannot span one unit vector more than they are
    candidates = np.vstack([direction, np.eye(len(axes) + 1, len(direction))])
    for _ in range(2):  # the second time for rounding
        candidates -= candidates @ axes.T @ axes
    norms = np.linalg.norm(candidates, axis=1)
    first = np.argmax(norms > 1e-9)
    return candidates[first] / norms[first]
