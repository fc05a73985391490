"""How far several clusterings of the same samples agree."""

from typing import Any, Self

import numpy as np
from sklearn.metrics import adjusted_rand_score

from separatrix._typing import Axes, Figure
from separatrix.data.gate import check_labels, naming
from separatrix.plots.canvas import axes_for, plain, require_matplotlib
from separatrix.plots.colors import HEAT
from separatrix.plots.scores import in_memory

__all__ = ["AgreementDisplay"]

# Inches of a cell, of the margins beside and below all cells, and of the largest figure.
_CELL, _BESIDE, _BELOW, _MOST = 0.42, 2.8, 1.4, 20.0
# Points below which numbers are not readable.
_LEAST_FONT = 6.5


class AgreementDisplay:
    """Heat map of the agreement between clusterings.

    Parameters
    ----------
    agreement : array-like of shape (n_clusterings, n_clusterings)
        Adjusted Rand index of each pair: 1 for equal clusters, about 0 for chance.
    names : list of str
        Names of the clusterings.

    Attributes
    ----------
    image_ : AxesImage
        The heat map.
    texts_ : list of Text
        The values in its cells, row by row; invisible where cells are too small to read them.
    ax_, figure_ : Axes, Figure
        Axes and figure of the drawing.

    Examples
    --------
    >>> from separatrix.plots import AgreementDisplay
    >>> clusterings = {"one": [0, 0, 1, 1], "other": [1, 1, 0, 0], "third": [0, 1, 0, 1]}
    >>> AgreementDisplay.from_labels(clusterings).agreement
    array([[ 1. ,  1. , -0.5],
           [ 1. ,  1. , -0.5],
           [-0.5, -0.5,  1. ]])
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, agreement, names):
        self.agreement = in_memory(agreement)
        self.names = names

    @classmethod
    def from_labels(cls, labels: dict[str, Any], *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the agreement between labels.

        Parameters
        ----------
        labels : dict of str to array-like of shape (n_samples,)
            Labels of the same samples, in the same order, by the name of their clustering.
        ax : Axes, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            Passed to `imshow`.

        Returns
        -------
        AgreementDisplay
            The display, drawn.
        """
        require_matplotlib(cls.__name__)
        with naming("labels"):
            labels = dict(labels)
        columns = [check_labels(one, f"labels of {name!r}") for name, one in labels.items()]
        sizes = {name: len(column) for name, column in zip(labels, columns, strict=True)}
        if len(set(sizes.values())) > 1:
            raise ValueError(f"labels have different lengths, {sizes}: pass one per sample.")
        codes = [np.unique(column, return_inverse=True)[1] for column in columns]
        agreement = [[adjusted_rand_score(one, other) for other in codes] for one in codes]
        return cls(np.array(agreement), list(labels)).plot(ax, **kwargs)

    @classmethod
    def from_comparison(cls, comparison: Any, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the agreement between the candidates of a comparison.

        Parameters
        ----------
        comparison : Comparison
            What `compare_clusterings` returns, or `candidates_` of `AutoClustering`.
        ax : Axes, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            Passed to `imshow`.

        Returns
        -------
        AgreementDisplay
            The display, drawn.
        """
        return cls(comparison.agreement, comparison.names).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the heat map.

        Parameters
        ----------
        ax : Axes, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            Passed to `imshow`.

        Returns
        -------
        AgreementDisplay
            The display itself.
        """
        cells = min(_CELL * len(self.names), _MOST - _BESIDE)
        ax = axes_for(self, ax, figsize=(max(cells + _BESIDE, 6.4), max(cells + _BELOW, 4.8)))
        style = {"cmap": HEAT, "vmin": min(0.0, self.agreement.min()), "vmax": 1.0}
        self.image_ = ax.imshow(self.agreement, **style | kwargs)
        ticks, names = np.arange(len(self.names)), [plain(name) for name in self.names]
        ax.set_xticks(ticks, names, rotation=45, ha="right", rotation_mode="anchor")
        ax.set_yticks(ticks, names)
        self.texts_ = []
        for (row, column), value in np.ndenumerate(self.agreement):
            is_light = self.image_.norm(value) > 0.5
            style = {"color": "black" if is_light else "white", "ha": "center", "va": "center"}
            self.texts_.append(ax.text(column, row, f"{round(value, 2) + 0.0:.2f}", **style))
        ax.figure.colorbar(self.image_, ax=ax, label="adjusted Rand index")
        self._fit_texts(ax)
        return self

    def _fit_texts(self, ax):
        """Make names and numbers small enough for their cells.

        Numbers that would be too small are written shorter, or else left out.
        """
        figure = ax.figure.canvas.figure
        figure.draw_without_rendering()  # only after a layout have cells their size
        cell = ax.transData.get_matrix()[0, 0]  # pixels
        points = 72 * cell / figure.dpi
        for name in ax.get_xticklabels() + ax.get_yticklabels():
            name.set_fontsize(min(name.get_fontsize(), 0.7 * points))  # slanted by 45 degrees
        for write in (str, _shorter):
            for text in self.texts_:
                text.set_text(write(text.get_text()))
            widest = max(text.get_window_extent().width for text in self.texts_)
            size = self.texts_[0].get_fontsize() * min(1.0, 0.75 * cell / widest)
            if size >= _LEAST_FONT:
                break
        for text in self.texts_:
            text.set(fontsize=size, visible=size >= _LEAST_FONT)


def _shorter(number):
    return number.replace("0.", ".", 1).replace("1.00", "1")
