"""The objective from iteration to iteration."""

from typing import Any, Self

import numpy as np

from separatrix._typing import Axes, Figure
from separatrix.data.gate import check_values
from separatrix.plots.canvas import axes_for, plain, require, require_matplotlib, styled
from separatrix.plots.colors import cluster_color

__all__ = ["HistoryDisplay"]


class HistoryDisplay:
    """The objective after each iteration of a fit.

    Parameters
    ----------
    history : array-like of shape (n_iter,)
        Objective after each iteration.
    name : str, default=None
        Name in the legend; None makes no legend.

    Attributes
    ----------
    line_ : Line2D
        The curve.
    ax_, figure_ : Axes, Figure
        Axes and figure of the drawing.

    Examples
    --------
    >>> from separatrix import MaximinSeparationClustering
    >>> from separatrix.datasets import make_two_gaussians
    >>> from separatrix.plots import HistoryDisplay
    >>> X, _ = make_two_gaussians(random_state=0)
    >>> model = MaximinSeparationClustering(2).fit(X)
    >>> display = HistoryDisplay.from_estimator(model)
    >>> len(display.line_.get_xdata()) == model.n_iter_
    True
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, history, *, name=None):
        self.history = check_values(history, "history")
        self.name = name

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, name: str | None = None, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw the history of a fitted clusterer.

        Parameters
        ----------
        estimator : object
            Fitted clusterer with `history_`.
        name : str, default=None
            Name in the legend; None makes no legend.
        ax : Axes, default=None
            Where to draw; None makes a figure. That of another history puts both in one picture.
        **kwargs : dict
            Passed to `plot` of the axes.

        Returns
        -------
        HistoryDisplay
            The display, drawn.
        """
        require_matplotlib(cls.__name__)
        remedy = "pass a clusterer that iterates; of a pipeline, its last step"
        require(estimator, "history_", remedy)
        if not len(estimator.history_):
            raise ValueError(
                f"history_ of {type(estimator).__name__} is empty: the fit had no iterations, as "
                "for n_clusters=1."
            )
        return cls(estimator.history_, name=name).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : Axes, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            Passed to `plot` of the axes.

        Returns
        -------
        HistoryDisplay
            The display itself.
        """
        ax = axes_for(self, ax, frame=False)
        from matplotlib.lines import Line2D

        # the next colour of the clusters, so that several histories differ
        style = {"marker": "o", "markersize": 4, "color": cluster_color(len(ax.lines))}
        if self.name is not None:
            style["label"] = plain(self.name)
        iterations = np.arange(1, len(self.history) + 1)
        (self.line_,) = ax.plot(iterations, self.history, **styled(Line2D, style, kwargs))
        ax.set(xlabel="iteration", ylabel="objective")
        ax.xaxis.get_major_locator().set_params(integer=True)
        if self.name is not None:
            ax.legend(fontsize="small")
        return self
