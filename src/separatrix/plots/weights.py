"""The weights of a linear boundary."""

from typing import Any, Self

import numpy as np
from sklearn.preprocessing import StandardScaler

from separatrix._typing import Axes, Figure, Samples
from separatrix.data.gate import check_count, check_rows
from separatrix.models.boundaries import one_vs_rest_code
from separatrix.plots.canvas import (
    axes_for,
    feature_names,
    note,
    plain,
    require,
    require_matplotlib,
    styled,
)
from separatrix.plots.colors import INK, MUTED, cluster_color
from separatrix.plots.scores import in_memory

__all__ = ["WeightsDisplay"]


class WeightsDisplay:
    """Signed weights of features in a boundary, the largest at the top.

    A bar has the colour of the cluster that the feature speaks for, or grey if that side of the
    boundary has several clusters.

    Parameters
    ----------
    weights : array-like of shape (n_features,)
        Weights of the features.
    names : list of str
        Names of the features.
    sides : tuple of two lists of int, default=([0], [1])
        Clusters on the negative and on the positive side of the boundary.
    max_features : int, default=20
        Largest number of features to draw, those with the largest absolute weights.
    weight_name : str, default="weight"
        What the weights are.

    Attributes
    ----------
    bars_ : BarContainer
        The bars.
    ax_, figure_ : Axes, Figure
        Axes and figure of the drawing.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import MaximinSeparationClustering
    >>> from separatrix.plots import WeightsDisplay
    >>> X = load_iris(as_frame=True).data
    >>> display = WeightsDisplay.from_estimator(MaximinSeparationClustering(2).fit(X), X)
    >>> len(display.bars_)
    4
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, weights, names, *, sides=([0], [1]), max_features=20, weight_name="weight"):
        self.weights = weights
        self.names = names
        self.sides = sides
        self.max_features = check_count(max_features, "max_features")
        self.weight_name = weight_name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Samples = None,
        *,
        boundary: int = 0,
        max_features: int = 20,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the weights of a fitted linear clusterer.

        Parameters
        ----------
        estimator : object
            Fitted clusterer or classifier of this library with `coef_`.
        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            Samples. If given, weights are multiplied by the standard deviations of their
            features, so that features in different units can be compared.
        boundary : int, default=0
            Row of `coef_` to draw.
        max_features : int, default=20
            Largest number of features to draw.
        ax : Axes, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            Passed to `barh`.

        Returns
        -------
        WeightsDisplay
            The display, drawn.
        """
        require_matplotlib(cls.__name__)
        remedy = "pass a linear model, fitted with kernel='linear'; of a pipeline, its last step"
        require(estimator, "coef_", remedy)
        coef = in_memory(estimator.coef_)
        if boundary not in range(len(coef)):
            raise ValueError(f"boundary={boundary} should be one of the {len(coef)} of coef_.")
        weights, weight_name = coef[boundary], "weight"
        if X is not None:
            weights = weights * np.sqrt(StandardScaler(with_mean=False).fit(check_rows(X)).var_)
            weight_name = "weight × standard deviation"
        # a machine of another library separates each class from the rest
        rest = one_vs_rest_code(max(len(coef), 2))
        sides_of = in_memory(getattr(estimator, "boundary_sides_", rest))[boundary]
        display = cls(
            weights,
            feature_names(estimator),
            sides=tuple(np.flatnonzero(sides_of == side).tolist() for side in (-1, 1)),
            max_features=max_features,
            weight_name=weight_name,
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : Axes, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            Passed to `barh`.

        Returns
        -------
        WeightsDisplay
            The display itself.
        """
        ax = axes_for(self, ax, frame=False)
        from matplotlib.patches import Patch

        weights = np.asarray(self.weights)
        largest = np.argsort(-abs(weights), kind="stable")[: self.max_features]
        colors = [cluster_color(side[0]) if len(side) == 1 else MUTED for side in self.sides]
        style = {"color": [colors[int(weight > 0)] for weight in weights[largest]]}
        rows = np.arange(len(largest))
        self.bars_ = ax.barh(rows, weights[largest], **styled(Patch, style, kwargs))
        ax.set_yticks(rows, [plain(self.names[j]) for j in largest])
        ax.axvline(0, color=INK, linewidth=1.0)
        reach = 1.05 * max(abs(ax.dataLim.intervalx).max(), np.finfo(np.float64).tiny)
        ax.set(xlim=(-reach, reach), ylim=(len(largest) - 0.4, -0.6))
        left, right = map(_side_name, self.sides)
        ax.set_xlabel(f"{plain(self.weight_name)}\n← {left}          {right} →")
        if len(largest) < len(weights):
            note(ax, f"{len(largest)} largest of {len(weights):,} weights")
        return self


def _side_name(clusters):
    if len(clusters) == 1:
        return f"cluster {clusters[0]}"
    if len(clusters) > 4:
        return f"{len(clusters)} clusters"
    return "clusters " + ", ".join(map(str, clusters))
