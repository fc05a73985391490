"""A score of the clustering for each number of clusters."""

from collections.abc import Callable, Iterable
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.metrics import silhouette_score

from separatrix._typing import ArrayLike, Axes, Figure
from separatrix.data.gate import check_numbers, naming, on_host
from separatrix.plots.canvas import axes_for, note, plain, require_matplotlib, styled
from separatrix.plots.colors import INK, MUTED, cluster_color
from separatrix.plots.scores import labels_of

__all__ = ["SelectionCurveDisplay"]


class SelectionCurveDisplay:
    """Score against number of clusters, with the best number marked.

    Parameters
    ----------
    n_clusters : iterable of int
        Numbers of clusters.
    scores : iterable of shape (n_numbers,) or (n_numbers, n_repeats)
        Score of each; if there are several, their mean is drawn, with a band from the least to the
        greatest.
    score_name : str, default="score"
        What the score is.
    greater_is_better : bool, default=True
        Whether the largest or the smallest mean is the best.
    plausible : sequence of int, default=()
        Numbers that are nearly as good as the best, the best first. If there are none, the best is
        that of the mean score.

    Attributes
    ----------
    best_n_clusters_ : int
        The best number; of equally good ones the smallest.
    line_, mark_ : Line2D
        The curve and the mark of the best.
    plausible_ : Line2D
        The marks of the other plausible numbers.
    band_ : PolyCollection or None
        From the least to the greatest of several scores.
    ax_, figure_ : Axes, Figure
        Axes and figure of the drawing.

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

    ax_: Axes
    figure_: Figure

    def __init__(
        self, n_clusters, scores, *, score_name="score", greater_is_better=True, plausible=()
    ):
        self.n_clusters = check_numbers(list(n_clusters), "n_clusters").astype(int)
        self.scores = check_numbers(list(scores), "scores")
        self.score_name = score_name
        self.greater_is_better = greater_is_better
        self.plausible = list(plausible)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        *,
        n_clusters: Iterable[int] | None = None,
        score: Callable[..., Any] | None = None,
        greater_is_better: bool = True,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Fit a clusterer for each number of clusters and draw the scores of its labels.

        If it chose its number itself, as `AutoClustering` does, its `selection_curve_` is drawn
        and nothing is fitted, unless `n_clusters` or `score` is given.

        Parameters
        ----------
        estimator : object
            Clusterer with a parameter `n_clusters`; clones of it are fitted.
        X : array-like of shape (n_samples, n_features)
            Samples.
        n_clusters : iterable of int, default=None
            Numbers of clusters to try; None is 2 to 8.
        score : callable, default=None
            Called with `X` and the labels; returns a number. None is `silhouette_score`.
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
        curve = getattr(estimator, "selection_curve_", None)  # empty for few samples
        if n_clusters is None and score is None and curve:
            plausible = estimator.plausible_n_clusters_
            display = cls(curve, curve.values(), score_name="evidence", plausible=plausible)
            return display.plot(ax, **kwargs)
        with naming("n_clusters"):
            numbers = list(range(2, 9) if n_clusters is None else n_clusters)
        score, rows = (silhouette_score, on_host(X)) if score is None else (score, X)
        models = (clone(estimator).set_params(n_clusters=number).fit(X) for number in numbers)
        scores = [score(rows, labels_of(model, X)) for model in models]
        name = getattr(score, "__name__", "score").replace("_", " ")
        display = cls(numbers, scores, score_name=name, greater_is_better=greater_is_better)
        return display.plot(ax, **kwargs)

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
        SelectionCurveDisplay
            The display itself.
        """
        ax = axes_for(self, ax, frame=False)
        from matplotlib.lines import Line2D

        order = np.argsort(self.n_clusters)
        numbers = self.n_clusters[order]
        scores = self.scores[order].reshape(len(numbers), -1)
        means = scores.mean(axis=1)
        best = np.nanargmax(means if self.greater_is_better else -means)
        self.best_n_clusters_, *others = map(int, self.plausible or numbers[[best]])
        style = {"marker": "o", "color": cluster_color(0)}
        (self.line_,) = ax.plot(numbers, means, **styled(Line2D, style, kwargs))
        self.band_ = None
        if scores.shape[1] > 1:
            edges = scores.min(axis=1), scores.max(axis=1)
            color = self.line_.get_color()
            self.band_ = ax.fill_between(numbers, *edges, color=color, alpha=0.2, linewidth=0)

        def mark(marked, **style):
            at = np.isin(numbers, marked)
            style |= {"markersize": 13, "fillstyle": "none"}
            return ax.plot(numbers[at], means[at], "o", **style)[0]

        self.mark_ = mark(self.best_n_clusters_, color=INK)
        self.plausible_ = mark(others, color=MUTED)
        also = f"; plausible: {', '.join(map(str, others))}" if others else ""
        clusters = "cluster" if self.best_n_clusters_ == 1 else "clusters"
        note(ax, f"best: {self.best_n_clusters_} {clusters}{also}")
        ax.set(xlabel="number of clusters", ylabel=plain(self.score_name))
        ax.xaxis.get_major_locator().set_params(integer=True)
        return self
