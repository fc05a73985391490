"""How often samples are put together by several clusterings."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from separatrix._typing import ArrayLike, Axes, Figure
from separatrix.data.gate import check_labels
from separatrix.plots.canvas import axes_for, chosen_rows, counted, note, require_matplotlib
from separatrix.plots.colors import HEAT

__all__ = ["CoassociationDisplay"]


class CoassociationDisplay:
    """Heat map of the co-association matrix: how often samples share a cluster.

    Samples are drawn in the order of an average-linkage tree of the matrix, so that those that
    are often together lie side by side. Clear blocks are clusters on which the clusterings agree.

    Parameters
    ----------
    coassociation : ndarray of shape (n_samples, n_samples)
        Share of the clusterings in which two samples are in one cluster.
    remark : str, default=""
        Remark below the picture.

    Attributes
    ----------
    order_ : ndarray of shape (n_samples,)
        The samples from top to bottom.
    image_ : AxesImage
        The heat map.
    ax_, figure_ : Axes, Figure
        Axes and figure of the drawing.

    Examples
    --------
    >>> from separatrix.plots import CoassociationDisplay
    >>> CoassociationDisplay.from_labels([[0, 0, 1], [0, 1, 1]]).coassociation
    array([[1. , 0.5, 0. ],
           [0.5, 1. , 0.5],
           [0. , 0.5, 1. ]])
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, coassociation, *, remark=""):
        self.coassociation = coassociation
        self.remark = remark

    @classmethod
    def from_labels(
        cls,
        labels: Sequence[ArrayLike],
        *,
        max_samples: int = 500,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the co-association matrix of labels.

        Parameters
        ----------
        labels : sequence of array-like of shape (n_samples,)
            Labels of the same samples, in the same order, one array per clustering.
        max_samples : int, default=500
            Largest number of samples to draw; from more, a random selection is drawn, the same
            each time.
        ax : Axes, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            Passed to `imshow`.

        Returns
        -------
        CoassociationDisplay
            The display, drawn.
        """
        require_matplotlib(cls.__name__)
        labels = [check_labels(one) for one in labels]
        sizes = sorted({len(one) for one in labels})
        if len(sizes) != 1:
            raise ValueError(f"labels have lengths {sizes}: pass one label per sample in each.")
        rows = chosen_rows(sizes[0], max_samples)
        together = np.mean([one[rows, None] == one[rows] for one in labels], axis=0)
        remarks = [f"{len(labels)} clusterings", counted(len(rows), sizes[0])]
        return cls(together, remark=", ".join(filter(None, remarks))).plot(ax, **kwargs)

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
        CoassociationDisplay
            The display itself.
        """
        ax = axes_for(self, ax)
        together = np.asarray(self.coassociation)
        self.order_ = _tree_order(together)
        style = {"cmap": HEAT, "vmin": 0.0, "vmax": 1.0, "interpolation": "nearest"}
        ordered = together[np.ix_(self.order_, self.order_)]
        self.image_ = ax.imshow(ordered, **style | kwargs)
        ax.set(xticks=[], yticks=[], xlabel="samples", ylabel="samples")
        ax.figure.colorbar(self.image_, ax=ax, label="share of clusterings with both together")
        note(ax, self.remark)
        return self


def _tree_order(together):
    """Samples in the order of the leaves of an average-linkage tree."""
    if len(together) < 2:
        return np.arange(len(together))
    return leaves_list(linkage(squareform(1.0 - together, checks=False), "average"))
