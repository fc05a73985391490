"""A score of the clustering for each number of clusters."""

import numpy as np
from sklearn.base import clone
from sklearn.metrics import silhouette_score

from separatrix.plots.canvas import axes_for, note, require_matplotlib
from separatrix.plots.colors import INK, cluster_color
from separatrix.plots.scores import in_memory

__all__ = ["SelectionCurveDisplay"]


class SelectionCurveDisplay:
    """Score against number of clusters, with the best number marked.

    Parameters
    ----------
    n_clusters : array-like of shape (n_numbers,)
        Numbers of clusters.
    scores : array-like of shape (n_numbers,) or (n_numbers, n_repeats)
        Score of each; if there are several, the mean is drawn, in the band of all of them.
    score_name : str, default="score"
        What the score is.
    greater_is_better : bool, default=True
        Whether the largest or the smallest mean is the best.

    Attributes
    ----------
    best_n_clusters_ : int
        The best number; of equally good ones the smallest.
    line_, mark_ : Line2D
        The curve and the mark of the best.
    band_ : PolyCollection or None
        From the least to the greatest of several scores.
    ax_, figure_ : Axes, Figure
        What was drawn on.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from separatrix import MaximumMarginClustering
    >>> from separatrix.plots import SelectionCurveDisplay
    >>> X, _ = make_blobs(150, centers=[[0, 0], [0, 9], [9, 0]], random_state=0)
    >>> model = MaximumMarginClustering(random_state=0)
    >>> SelectionCurveDisplay.from_estimator(model, X, n_clusters=[2, 3, 4]).best_n_clusters_
    3
    """

    def __init__(self, n_clusters, scores, *, score_name="score", greater_is_better=True):
        self.n_clusters = n_clusters
        self.scores = scores
        self.score_name = score_name
        self.greater_is_better = greater_is_better

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        *,
        n_clusters=range(2, 9),
        score=silhouette_score,
        greater_is_better=True,
        ax=None,
        **kwargs,
    ):
        """Fit a clusterer for each number of clusters and draw the scores of its labels.

        Parameters
        ----------
        estimator : object
            Clusterer with a parameter `n_clusters`; clones of it are fitted.
        X : array-like of shape (n_samples, n_features)
            Samples.
        n_clusters : iterable of int, default=range(2, 9)
            Numbers of clusters to try.
        score : callable, default=silhouette_score
            Called with `X` and the labels; returns a number.
        greater_is_better : bool, default=True
            Whether larger scores are better.
        ax : Axes, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            Passed to `plot` of the axes.

        Returns
        -------
        SelectionCurveDisplay
            The display, drawn.
        """
        require_matplotlib(cls.__name__)
        numbers = list(n_clusters)
        models = (clone(estimator).set_params(n_clusters=number).fit(X) for number in numbers)
        scores = [score(X, in_memory(model.labels_)) for model in models]
        name = getattr(score, "__name__", "score").replace("_", " ")
        display = cls(numbers, scores, score_name=name, greater_is_better=greater_is_better)
        return display.plot(ax, **kwargs)

    def plot(self, ax=None, **kwargs):
        """Draw the curve.

        Parameters
        ----------
        ax : Axes, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            Passed to `plot` of the axes.

        Returns
        -------
        SelectionCurveDisplay
            The display itself.
        """
        ax = axes_for(self, ax, frame=False)
        order = np.argsort(self.n_clusters)
        numbers = np.asarray(self.n_clusters)[order]
        scores = np.asarray(self.scores, dtype=np.float64)[order].reshape(len(numbers), -1)
        means = scores.mean(axis=1)
        best = np.nanargmax(means if self.greater_is_better else -means)
        self.best_n_clusters_ = int(numbers[best])
        style = {"marker": "o", "color": cluster_color(0)} | kwargs
        (self.line_,) = ax.plot(numbers, means, **style)
        self.band_ = None
        if scores.shape[1] > 1:
            edges = scores.min(axis=1), scores.max(axis=1)
            color = self.line_.get_color()
            self.band_ = ax.fill_between(numbers, *edges, color=color, alpha=0.2, linewidth=0)
        (self.mark_,) = ax.plot(
            numbers[best], means[best], "o", markersize=13, fillstyle="none", color=INK
        )
        note(ax, f"best: {numbers[best]} clusters")
        ax.set(xlabel="number of clusters", ylabel=self.score_name)
        ax.xaxis.get_major_locator().set_params(integer=True)
        return self
