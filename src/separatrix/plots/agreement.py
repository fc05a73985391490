"""How far several clusterings of the same samples agree."""

import numpy as np
from sklearn.metrics import adjusted_rand_score

from separatrix.plots.canvas import axes_for, require_matplotlib
from separatrix.plots.colors import HEAT
from separatrix.plots.scores import in_memory

__all__ = ["AgreementDisplay"]


class AgreementDisplay:
    """Heat map of the agreement between clusterings.

    Parameters
    ----------
    agreement : ndarray of shape (n_clusterings, n_clusterings)
        Adjusted Rand index of each pair: 1 for equal clusters, about 0 for chance.
    names : list of str
        Names of the clusterings.

    Attributes
    ----------
    image_ : AxesImage
        The heat map.
    texts_ : list of Text
        The values in its cells, row by row.
    ax_, figure_ : Axes, Figure
        What was drawn on.

    Examples
    --------
    >>> from separatrix.plots import AgreementDisplay
    >>> clusterings = {"one": [0, 0, 1, 1], "other": [1, 1, 0, 0], "third": [0, 1, 0, 1]}
    >>> AgreementDisplay.from_labels(clusterings).agreement
    array([[ 1. ,  1. , -0.5],
           [ 1. ,  1. , -0.5],
           [-0.5, -0.5,  1. ]])
    """

    def __init__(self, agreement, names):
        self.agreement = agreement
        self.names = names

    @classmethod
    def from_labels(cls, labels, *, ax=None, **kwargs):
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
        columns = [in_memory(column) for column in labels.values()]
        sizes = {name: len(column) for name, column in zip(labels, columns, strict=True)}
        if len(set(sizes.values())) > 1:
            raise ValueError(f"labels have different lengths, {sizes}: pass one per sample.")
        agreement = [[adjusted_rand_score(one, other) for other in columns] for one in columns]
        return cls(np.array(agreement), list(labels)).plot(ax, **kwargs)

    def plot(self, ax=None, **kwargs):
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
        ax = axes_for(self, ax)
        style = {"cmap": HEAT, "vmin": min(0.0, np.min(self.agreement)), "vmax": 1.0}
        self.image_ = ax.imshow(self.agreement, **style | kwargs)
        ticks = np.arange(len(self.names))
        ax.set_xticks(ticks, self.names, rotation=30, ha="right", rotation_mode="anchor")
        ax.set_yticks(ticks, self.names)
        self.texts_ = []
        for (row, column), value in np.ndenumerate(self.agreement):
            is_light = self.image_.norm(value) > 0.5
            style = {"color": "black" if is_light else "white", "ha": "center", "va": "center"}
            self.texts_.append(ax.text(column, row, f"{round(value, 2) + 0.0:.2f}", **style))
        ax.figure.colorbar(self.image_, ax=ax, label="adjusted Rand index")
        return self
