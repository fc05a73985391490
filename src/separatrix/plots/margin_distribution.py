"""How far the samples of each cluster lie from the boundary."""

from typing import Any, Self

import numpy as np

from separatrix._typing import ArrayLike, Axes, Figure, Samples
from separatrix.plots.canvas import axes_for, note, require, require_matplotlib, styled
from separatrix.plots.colors import INK, cluster_color
from separatrix.plots.scores import (
    checked_labels,
    cluster_scores,
    in_memory,
    margins_of,
    score_columns,
)

__all__ = ["MarginDistributionDisplay"]

# Relative difference of margins that rounding may make.
ROUNDING = 1e-9


class MarginDistributionDisplay:
    """Histograms of the margins of each cluster, with their means.

    For two clusters the margin of sample i is :math:`y_i f(x_i)`, the decision function with the
    sign of its cluster, as in figures 2, 4 and 6 of [1]_. For more it is the score of its cluster
    minus the best other score.

    Parameters
    ----------
    margins : array-like of shape (n_samples,)
        Margin of each sample; negative on the wrong side of the boundary.
    labels : array-like of shape (n_samples,)
        Their clusters.

    Attributes
    ----------
    histograms_ : list of list of Polygon
        The histogram of each cluster.
    means_ : list of Line2D
        The mean margin of each cluster.
    ax_, figure_ : Axes, Figure
        Axes and figure of the drawing.

    References
    ----------
    .. [1] K. Zhang, I. W. Tsang, J. T. Kwok, "Maximum margin clustering made practical", IEEE
       Transactions on Neural Networks 20(4), 2009.

    Examples
    --------
    >>> from separatrix import MaximinSeparationClustering
    >>> from separatrix.datasets import make_two_gaussians
    >>> from separatrix.plots import MarginDistributionDisplay
    >>> X, _ = make_two_gaussians(random_state=0)
    >>> model = MaximinSeparationClustering(2).fit(X)
    >>> bool(MarginDistributionDisplay.from_estimator(model, X).margins.min() > 0)
    True
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, margins, labels):
        self.margins = in_memory(margins)
        self.labels = checked_labels(labels, len(self.margins))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Samples,
        *,
        labels: ArrayLike = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the margins of samples under a fitted clusterer.

        Parameters
        ----------
        estimator : object
            Fitted clusterer with `decision_function`.
        X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
            Samples; the kernel matrix where that is precomputed.
        labels : array-like of shape (n_samples,), default=None
            Clusters of the samples; None takes those of the scores, whose margins are never
            negative.
        ax : Axes, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            Passed to `hist`.

        Returns
        -------
        MarginDistributionDisplay
            The display, drawn.
        """
        require_matplotlib(cls.__name__)
        remedy = "only scores have margins; use ClusterSizesDisplay"
        require(estimator, "decision_function", remedy)
        return cls.from_predictions(cluster_scores(estimator, X), labels, ax=ax, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        scores: ArrayLike,
        labels: ArrayLike = None,
        *,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the margins that follow from scores.

        Parameters
        ----------
        scores : array-like of shape (n_samples,) or (n_samples, n_clusters)
            Values of a decision function: for two clusters one value, positive for cluster 1, and
            otherwise a column per cluster.
        labels : array-like of shape (n_samples,), default=None
            Clusters of the samples; None takes those of the scores.
        ax : Axes, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            Passed to `hist`.

        Returns
        -------
        MarginDistributionDisplay
            The display, drawn.
        """
        require_matplotlib(cls.__name__)
        scores = score_columns(scores)
        labels = scores.argmax(axis=1) if labels is None else labels
        return cls(margins_of(scores, labels), labels).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the histograms.

        Parameters
        ----------
        ax : Axes, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            Passed to `hist`.

        Returns
        -------
        MarginDistributionDisplay
            The display itself.
        """
        ax = axes_for(self, ax, frame=False)
        from matplotlib.patches import Patch

        clusters = np.unique(self.labels)
        # margins that differ by rounding alone count as equal, which have bars of their own width
        is_equal = np.ptp(self.margins) <= ROUNDING * np.abs(self.margins).max()
        edges = np.histogram_bin_edges(self.margins[: 1 if is_equal else None], bins=30)
        style = {"bins": edges, "linewidth": 1.5}
        # more than three areas on top of each other cannot be told apart
        filled = {"histtype": "stepfilled", "alpha": 0.45}
        style |= filled if len(clusters) <= 3 else {"histtype": "step"}
        self.histograms_, self.means_ = [], []
        for cluster in clusters:
            color = cluster_color(cluster)
            margins = self.margins[self.labels == cluster]
            style |= {"color": color, "edgecolor": color, "label": f"cluster {cluster}"}
            self.histograms_.append(ax.hist(margins, **styled(Patch, style, kwargs))[2])
            line = ax.axvline(margins.mean(), color=color, linestyle="--", linewidth=1.5)
            self.means_.append(line)
        ax.axvline(0, color=INK, linewidth=1.4)
        ax.set(xlabel="margin (0: boundary, dashed: mean)", ylabel="samples")
        ax.legend(fontsize="small")
        wrong = np.mean(self.margins < 0)
        note(ax, f"{wrong:.1%} of samples beyond the boundary" if wrong else "")
        return self
