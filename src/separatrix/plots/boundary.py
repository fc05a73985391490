"""The boundary between clusters, with the samples on either side."""

from typing import Any, Self

import numpy as np

from separatrix._typing import Axes, Figure, Samples
from separatrix.data.gate import check_numbers
from separatrix.plots.canvas import axes_for, note, plain, require_matplotlib, styled
from separatrix.plots.colors import INK, cluster_color, cluster_marker, cluster_name
from separatrix.plots.scores import checked_labels, leads
from separatrix.plots.section import section_of

__all__ = ["BoundaryDisplay"]


class BoundaryDisplay:
    """Samples in two dimensions and the boundaries between their clusters.

    Parameters
    ----------
    points : array-like of shape (n_points, 2)
        Where samples lie.
    labels : array-like of shape (n_points,)
        Their clusters.
    grid : tuple of ndarray, default=None
        Coordinates of a grid, along x and along y.
    grid_scores : ndarray of shape (n_y, n_x, n_clusters), default=None
        Scores of the clusters on the grid; the largest decides. None draws no regions.
    axis_names : tuple of str, default=("", "")
        What the two coordinates are.
    remark : str, default=""
        Remark below the picture.

    Attributes
    ----------
    points_ : list of PathCollection
        The samples of each cluster.
    regions_, boundaries_ : list of ContourSet
        The regions of clusters and the lines between them.
    ax_, figure_ : Axes, Figure
        Axes and figure of the drawing.

    Examples
    --------
    >>> from separatrix import MaximinSeparationClustering
    >>> from separatrix.datasets import make_two_gaussians
    >>> from separatrix.plots import BoundaryDisplay
    >>> X, _ = make_two_gaussians(random_state=0)
    >>> display = BoundaryDisplay.from_estimator(MaximinSeparationClustering(2).fit(X), X)
    >>> len(display.points_), len(display.boundaries_)
    (2, 1)
    """

    ax_: Axes
    figure_: Figure

    def __init__(
        self, points, labels, *, grid=None, grid_scores=None, axis_names=("", ""), remark=""
    ):
        self.points = check_numbers(points, "points")
        self.labels = checked_labels(labels, len(self.points))
        self.grid = grid
        self.grid_scores = grid_scores
        self.axis_names = axis_names
        self.remark = remark

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Samples,
        *,
        max_samples: int = 1000,
        resolution: int = 200,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the boundaries of a fitted clusterer.

        More than two features are projected: on the normal of the boundary (for a kernel, on the
        direction that best predicts its scores by least squares) and on the leading principal
        component orthogonal to it; or, if there are several boundaries, on the two directions in
        which the margins to them vary most. The regions are then those of the plane through the
        mean. They are drawn if at least nine in ten samples keep their cluster when they are
        moved onto the plane; the picture states the share.

        Parameters
        ----------
        estimator : object
            Fitted clusterer, with `decision_function` or at least `predict`.
        X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
            Samples.
        max_samples : int, default=1000
            Largest number of samples to draw; from more, a random selection is drawn, the same
            each time.
        resolution : int, default=200
            Points of the grid along each axis.
        ax : Axes, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            Passed to `scatter`.

        Returns
        -------
        BoundaryDisplay
            The display, drawn.
        """
        require_matplotlib(cls.__name__)
        section = section_of(estimator, X, max_samples=max_samples, resolution=resolution)
        return cls(**section).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw regions, boundaries and samples.

        Parameters
        ----------
        ax : Axes, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            Passed to `scatter`.

        Returns
        -------
        BoundaryDisplay
            The display itself.
        """
        ax = axes_for(self, ax)
        self.regions_: list[Any] = []
        self.boundaries_: list[Any] = []
        if self.grid_scores is not None:
            self._draw_regions(ax)
        self.points_ = [self._draw_cluster(ax, c, kwargs) for c in np.unique(self.labels)]
        ax.set(xlabel=plain(self.axis_names[0]), ylabel=plain(self.axis_names[1]))
        ax.legend(loc="best", fontsize="small")
        note(ax, self.remark)
        return self

    def _draw_cluster(self, ax, cluster, kwargs):
        from matplotlib.collections import PathCollection

        style = {
            "color": cluster_color(cluster),
            "marker": cluster_marker(cluster),
            "edgecolor": "white",
            "linewidth": 0.4,
            "s": 22,
            "label": cluster_name(cluster),
        }
        style = styled(PathCollection, style, kwargs)
        return ax.scatter(*self.points[self.labels == cluster].T, **style)

    def _draw_regions(self, ax):
        fields = leads(self.grid_scores)
        for cluster in range(fields.shape[-1]):
            field = fields[..., cluster]
            if field.min() >= 0 or field.max() <= 0:  # wins everywhere or nowhere
                continue
            color = cluster_color(cluster)
            self.regions_.append(
                ax.contourf(*self.grid, field, levels=[0, np.inf], colors=[color], alpha=0.15)
            )
            if cluster:  # the lines around cluster 0 are those around the others
                lines = ax.contour(*self.grid, field, levels=[0], colors=[INK], linewidths=1.4)
                self.boundaries_.append(lines)
