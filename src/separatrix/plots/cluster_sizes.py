"""How large the clusters are, and how sure."""

import numpy as np

from separatrix.plots.canvas import axes_for, require_matplotlib
from separatrix.plots.colors import INK, cluster_color
from separatrix.plots.scores import cluster_scores, in_memory, margins_of

__all__ = ["ClusterSizesDisplay"]

# Steps of a profile: more than a screen can show, and few enough for any number of samples.
_MAX_STEPS = 500


class ClusterSizesDisplay:
    """One block per cluster: its height is the size, its profile the confidence of its samples.

    Samples are sorted by confidence within their cluster, as in a silhouette plot. A block whose
    lower end is thin has many samples that could as well be elsewhere.

    Parameters
    ----------
    confidence : ndarray of shape (n_samples,)
        How surely each sample belongs to its cluster.
    labels : ndarray of shape (n_samples,)
        Clusters of the samples.
    confidence_name : str, default="confidence"
        What the confidence is.

    Attributes
    ----------
    blocks_ : list of PolyCollection
        The block of each cluster.
    ax_, figure_ : Axes, Figure
        What was drawn on.

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

    def __init__(self, confidence, labels, *, confidence_name="confidence"):
        self.confidence = confidence
        self.labels = labels
        self.confidence_name = confidence_name

    @classmethod
    def from_estimator(cls, estimator, X, *, ax=None, **kwargs):
        """Draw the clusters that a fitted clusterer finds among samples.

        The confidence is the probability of the cluster if the clusterer has `predict_proba`,
        and otherwise the margin: the score of the cluster less the best other one.

        Parameters
        ----------
        estimator : object
            Fitted clusterer with `predict_proba` or `decision_function`.
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
        if hasattr(estimator, "predict_proba"):
            scores, name = in_memory(estimator.predict_proba(X)), "probability of the cluster"
            labels = scores.argmax(axis=1)
            return cls(scores.max(axis=1), labels, confidence_name=name).plot(ax, **kwargs)
        scores = cluster_scores(estimator, X)
        labels = scores.argmax(axis=1)
        return cls(margins_of(scores, labels), labels, confidence_name="margin").plot(ax, **kwargs)

    def plot(self, ax=None, **kwargs):
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
        n_samples, top, names = len(self.labels), 0.0, {}
        self.blocks_ = []
        for cluster in np.unique(self.labels):
            confidence = self.confidence[self.labels == cluster]
            size = len(confidence)
            shares = np.linspace(1, 0, min(max(size, 2), _MAX_STEPS))
            heights = top + size * (1 - shares)
            style = {"color": cluster_color(cluster), "linewidth": 0}
            profile = np.quantile(confidence, shares)
            self.blocks_.append(ax.fill_betweenx(heights, 0, profile, **style | kwargs))
            names[top + size / 2] = f"cluster {cluster}: {size:,} ({size / n_samples:.0%})"
            top += size + 0.03 * n_samples
        ax.set_yticks(list(names), list(names.values()))
        ax.tick_params(axis="y", length=0)
        ax.set(xlabel=self.confidence_name, ylim=(top, -0.03 * n_samples))
        ax.axvline(0, color=INK, linewidth=1.0)
        ax.spines["left"].set_visible(False)
        return self
