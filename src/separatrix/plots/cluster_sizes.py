"""How large the clusters are, and how certain."""

from typing import Any, Self

import numpy as np

from separatrix._typing import ArrayLike, Axes, Figure, Samples
from separatrix.data.gate import check_values
from separatrix.plots.canvas import axes_for, plain, require, require_matplotlib, styled
from separatrix.plots.colors import INK, cluster_color, cluster_name
from separatrix.plots.scores import (
    checked_labels,
    cluster_scores,
    in_memory,
    margins_of,
    predicted,
    rows_for,
)

__all__ = ["ClusterSizesDisplay"]

# Steps of a profile: more than a screen can show, and few enough for any number of samples.
_MAX_STEPS = 500


class ClusterSizesDisplay:
    """One block per cluster: its height is the size, its profile the confidence of its samples.

    Samples are sorted by confidence within their cluster, as in a silhouette plot. A block whose
    lower end is thin has many samples that could belong elsewhere.

    Parameters
    ----------
    confidence : array-like of shape (n_samples,) or None
        How certainly each sample belongs to its cluster; None draws sizes alone.
    labels : array-like of shape (n_samples,)
        Clusters of the samples.
    confidence_name : str, default="confidence"
        What the confidence is.

    Attributes
    ----------
    blocks_ : list of PolyCollection
        The block of each cluster.
    ax_, figure_ : Axes, Figure
        Axes and figure of the drawing.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import MaximinSeparationClustering
    >>> from separatrix.plots import ClusterSizesDisplay
    >>> X = load_iris().data
    >>> display = ClusterSizesDisplay.from_estimator(MaximinSeparationClustering(2).fit(X), X)
    >>> display.ax_.get_yticklabels()[0].get_text()
    'cluster 0: 100 (67%)'
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, confidence, labels, *, confidence_name="confidence"):
        self.confidence = confidence
        if confidence is not None:
            self.confidence = check_values(confidence, "confidence")
        self.labels = checked_labels(labels, None if confidence is None else len(self.confidence))
        self.confidence_name = confidence_name

    @classmethod
    def from_estimator(cls, estimator: Any, X: Samples, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the clusters that a fitted clusterer finds among samples.

        The confidence is `confidence_` for the samples of `fit` if the clusterer has it. Otherwise
        it is the probability of the cluster if there is `predict_proba`, or the margin if there is
        `decision_function`: the score of the cluster minus the best other score. Without any of
        these, only sizes are drawn.

        Parameters
        ----------
        estimator : object
            Fitted clusterer, with at least `predict`.
        X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
            Samples; the kernel matrix where that is precomputed.
        ax : Axes, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            Passed to `fill_betweenx`.

        Returns
        -------
        ClusterSizesDisplay
            The display, drawn.
        """
        require_matplotlib(cls.__name__)
        confidence, name = None, "confidence"
        if hasattr(estimator, "confidence_") and is_of_fit(estimator, X):
            labels, confidence = in_memory(estimator.labels_), estimator.confidence_
        elif hasattr(estimator, "predict_proba"):
            scores = in_memory(estimator.predict_proba(rows_for(estimator, X)))
            name = "probability of the cluster"
            labels, confidence = predicted(estimator, X), scores.max(axis=1)  # -1 for outliers
        elif hasattr(estimator, "decision_function"):
            scores, name = cluster_scores(estimator, X), "margin"
            labels = scores.argmax(axis=1)
            confidence = margins_of(scores, labels)
        else:
            remedy = "draw its labels_ by ClusterSizesDisplay.from_predictions"
            require(estimator, "predict", remedy)
            labels = predicted(estimator, X)
        return cls(confidence, labels, confidence_name=name).plot(ax, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        labels: ArrayLike,
        confidence: ArrayLike = None,
        *,
        confidence_name: str = "confidence",
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the clusters of labels.

        Parameters
        ----------
        labels : array-like of shape (n_samples,)
            Clusters of the samples.
        confidence : array-like of shape (n_samples,), default=None
            How certainly each sample belongs to its cluster; None draws sizes alone.
        confidence_name : str, default="confidence"
            What the confidence is.
        ax : Axes, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            Passed to `fill_betweenx`.

        Returns
        -------
        ClusterSizesDisplay
            The display, drawn.
        """
        return cls(confidence, labels, confidence_name=confidence_name).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the blocks, cluster 0 at the top.

        Parameters
        ----------
        ax : Axes, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            Passed to `fill_betweenx`.

        Returns
        -------
        ClusterSizesDisplay
            The display itself.
        """
        ax = axes_for(self, ax, frame=False)
        from matplotlib.collections import PolyCollection

        widths = np.ones(len(self.labels)) if self.confidence is None else self.confidence
        n_samples, top, names = len(self.labels), 0.0, {}
        self.blocks_ = []
        for cluster in np.unique(self.labels):
            confidence = widths[self.labels == cluster]
            size = len(confidence)
            shares = np.linspace(1, 0, min(max(size, 2), _MAX_STEPS))
            heights = top + size * (1 - shares)
            profile = np.quantile(confidence, shares)
            style = {"color": cluster_color(cluster), "linewidth": 0}
            style = styled(PolyCollection, style, kwargs)
            self.blocks_.append(ax.fill_betweenx(heights, 0, profile, **style))
            names[top + size / 2] = f"{cluster_name(cluster)}: {size:,} ({size / n_samples:.0%})"
            top += size + 0.03 * n_samples
        ax.set_yticks(list(names), list(names.values()))
        ax.tick_params(axis="y", length=0)
        ax.set(xlabel=plain(self.confidence_name), ylim=(top, -0.03 * n_samples))
        if self.confidence is None:
            ax.set(xlabel="", xticks=[])
        ax.axvline(0, color=INK, linewidth=1.0)
        ax.spines["left"].set_visible(False)
        return self


def is_of_fit(estimator, X):
    """Whether samples are those of the fit, judging by their clusters."""
    return np.array_equal(predicted(estimator, X), in_memory(estimator.labels_))
