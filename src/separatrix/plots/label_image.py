"""The segments of an image."""

from typing import Any, Self

import numpy as np

from separatrix._typing import ArrayLike, Axes, Figure
from separatrix.data.gate import check_numbers
from separatrix.images import segment_image
from separatrix.plots.canvas import axes_for, require_matplotlib
from separatrix.plots.colors import INK, cluster_color
from separatrix.plots.scores import cluster_numbers

__all__ = ["LabelImageDisplay"]


class LabelImageDisplay:
    """Image of labels, each segment in the colour of its cluster.

    Parameters
    ----------
    labels : ndarray of shape (height, width)
        Segment of each pixel.
    image : ndarray of shape (height, width) or (height, width, n_channels), default=None
        What was segmented. If given, its light and shade show through the colours.

    Attributes
    ----------
    image_ : AxesImage
        The picture.
    legend_ : Legend
        The segments with their shares of the pixels.
    ax_, figure_ : Axes, Figure
        Axes and figure of the drawing.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.plots import LabelImageDisplay
    >>> image = np.array([[10, 12, 200], [11, 210, 205], [12, 10, 11]], dtype=np.uint8)
    >>> display = LabelImageDisplay.from_image(image, 2)
    >>> [text.get_text() for text in display.legend_.get_texts()]
    ['0: 67%', '1: 33%']
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, labels, *, image=None):
        self.labels = cluster_numbers(labels)
        self.image = image
        shape, beside = self.labels.shape, ""
        if image is not None:
            self.image = check_numbers(image, "image")
            shape, beside = self.image.shape[:2], f" beside an image of {self.image.shape}"
        if self.labels.ndim != 2 or shape != self.labels.shape:
            raise ValueError(
                f"labels has shape {self.labels.shape}{beside}; pass one label per pixel, as "
                "(height, width)."
            )

    @classmethod
    def from_image(
        cls,
        image: ArrayLike,
        n_segments: int = 2,
        *,
        estimator: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Segment an image by `segment_image` and draw the segments.

        Parameters
        ----------
        image : array-like of shape (height, width) or (height, width, n_channels)
            Grey values or colours.
        n_segments : int, default=2
            Number of segments.
        estimator : object, default=None
            Clusterer of the colours; None is the default of `segment_image`.
        ax : Axes, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            Passed to `imshow`.

        Returns
        -------
        LabelImageDisplay
            The display, drawn.
        """
        require_matplotlib(cls.__name__)
        labels = segment_image(image, n_segments, estimator=estimator)
        return cls(labels, image=image).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the picture and its legend.

        Parameters
        ----------
        ax : Axes, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            Passed to `imshow`.

        Returns
        -------
        LabelImageDisplay
            The display itself.
        """
        ax = axes_for(self, ax)
        from matplotlib.colors import to_rgb
        from matplotlib.patches import Patch

        segments, codes = np.unique(self.labels, return_inverse=True)
        colors = np.array([to_rgb(cluster_color(segment)) for segment in segments])
        picture = colors[codes.reshape(self.labels.shape)]
        if self.image is not None:
            picture = 0.65 * picture + 0.35 * _lightness(self.image)[..., np.newaxis]
        self.image_ = ax.imshow(picture, **kwargs)
        ax.set_axis_off()
        shares = np.bincount(codes.ravel()) / codes.size
        patches = [
            Patch(facecolor=color, edgecolor=INK, linewidth=0.5, label=f"{segment}: {share:.0%}")
            for segment, color, share in zip(segments, colors, shares, strict=True)
        ]
        style = {"title": "segment", "fontsize": "small", "frameon": False}
        style |= {"loc": "upper left", "bbox_to_anchor": (1.01, 1), "borderaxespad": 0}
        self.legend_ = ax.legend(handles=patches, ncols=-(-len(patches) // 12), **style)
        return self


def _lightness(image):
    """Mean of the channels, from 0 for the darkest pixel to 1 for the lightest."""
    grey = image if image.ndim == 2 else image.mean(axis=2)
    spread = np.ptp(grey)
    return (grey - grey.min()) / spread if spread else np.ones_like(grey)
