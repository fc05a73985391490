"""Segmentation of images: pixels of similar colour, found by clustering the colours."""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from separatrix._typing import Array, ArrayLike
from separatrix.data.gate import naming

__all__ = ["segment_image"]

# Kernel width of the paper, for values from 0 to 255, as a share of the range of values.
WIDTH = 500 / 255
# Possible ranges of values of an image, if its dtype does not determine it.
RANGES = (1.0, 255.0, 65535.0)


def segment_image(image: ArrayLike, n_segments: int = 2, *, estimator: Any = None) -> Array:
    """Split an image into regions of similar colour.

    The colours of the pixels are clustered, wherever in the image they lie. Equal colours are one
    sample, weighted by how many pixels have it, so the cost grows with the number of distinct
    colours.

    Parameters
    ----------
    image : array-like of shape (height, width) or (height, width, n_channels)
        Grey values, or 1, 3 or 4 channels; a fourth channel counts like the others. Values are
        divided by their range before they are clustered: 255 or 65535 for unsigned integers of 8
        or 16 bits, otherwise the first of 1 (not for integers), 255 and 65535 that no absolute
        value exceeds, or else the largest. So an image of floats up to 1 is split like the same
        image of integers up to 255.
    n_segments : int, default=2
        Number of regions.
    estimator : object, default=None
        Clusterer with a parameter `n_clusters` and with `sample_weight` in its `fit`, such as
        `sklearn.cluster.KMeans`. A clone of it is used, with `n_clusters` set to `n_segments`.
        None means `MaximumMarginClustering` with the paper's [1]_ Gaussian kernel of width 500 /
        255, in units of the range of values, and C=500. It splits the image in two, then one of
        the parts, and so on; the smaller side of a split has at least a fifth of it, so small
        objects on a plain background need an estimator with a larger `balance`.

    Returns
    -------
    ndarray of shape (height, width)
        Region of each pixel, an int32 from 0, the largest region first.

    See Also
    --------
    MaximumMarginClustering : The clusterer that is used by default.

    References
    ----------
    .. [1] K. Zhang, I. W. Tsang, J. T. Kwok, "Maximum margin clustering made practical", IEEE
       Transactions on Neural Networks 20(4), 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import segment_image
    >>> image = np.array([[10, 12, 200], [11, 210, 205], [12, 10, 11]], dtype=np.uint8)
    >>> segment_image(image)
    array([[0, 0, 1],
           [0, 1, 1],
           [0, 0, 0]], dtype=int32)
    """
    image = _checked_image(image)
    colors, color_of_pixel, n_pixels = _distinct_colors(image)
    _check_n_segments(n_segments, len(colors))
    if estimator is None:
        estimator = _default_estimator()
    estimator = _with_n_clusters(estimator, n_segments)
    estimator.fit(colors / _value_range(image), sample_weight=n_pixels.astype(np.float64))
    labels = _largest_first(np.asarray(estimator.labels_), n_pixels)
    return labels[color_of_pixel].reshape(image.shape[:2])


# --- the image ----------------------------------------------------------------------------------


def _checked_image(image):
    """The image as an array of finite numbers with its channels last."""
    with naming("image"):
        image = np.asarray(image)
    if image.ndim == 2:
        image = image[:, :, np.newaxis]
    if image.ndim != 3 or image.shape[2] not in (1, 3, 4):
        raise ValueError(
            f"image has shape {image.shape}: pass (height, width), or (height, width, n_channels) "
            "with 1, 3 or 4 channels."
        )
    if image.size == 0:
        raise ValueError(f"image has shape {image.shape}: it has no pixels.")
    if image.dtype.kind not in "buif":
        raise ValueError(f"image has dtype {image.dtype}: pass integers or floats.")
    if image.dtype.kind == "f":
        n_bad = np.count_nonzero(~np.isfinite(image))
        if n_bad:
            raise ValueError(
                f"image has NaN or infinity in {n_bad} of {image.size} values: replace them."
            )
    return image


def _value_range(image):
    """Largest value that an image of this kind may have; values are measured in it."""
    if image.dtype in (np.uint8, np.uint16):
        return float(np.iinfo(image.dtype).max)
    largest = max(abs(float(image.min())), abs(float(image.max())))
    ranges = RANGES[1:] if image.dtype.kind in "ui" else RANGES
    return next((limit for limit in ranges if largest <= limit), largest)


def _distinct_colors(image):
    """Distinct colours in lexical order, the index of each pixel's, and how often each occurs."""
    pixels = image.reshape(-1, image.shape[2])
    codes, color_of_pixel, n_pixels = np.unique(
        _color_codes(pixels), return_inverse=True, return_counts=True
    )
    colors = np.empty((len(codes), pixels.shape[1]))
    colors[color_of_pixel] = pixels
    return colors, color_of_pixel, n_pixels


def _color_codes(pixels):
    """One integer per pixel, in the lexical order of colours: it sorts much faster than rows."""
    codes, n_codes = np.zeros(len(pixels), dtype=np.int64), 1
    for channel in pixels.T:
        if channel.dtype == np.uint8:
            levels, n_levels = channel, 256
        else:
            levels, n_levels = _ranks(channel)
        if n_codes * n_levels > np.iinfo(np.int64).max:  # many channels of many values each
            codes, n_codes = _ranks(codes)
        codes, n_codes = codes * n_levels + levels, n_codes * n_levels
    return codes


def _ranks(values):
    """Rank of each value among the distinct ones, and the number of these."""
    distinct, ranks = np.unique(values, return_inverse=True)
    return ranks, len(distinct)


# --- the clusters -------------------------------------------------------------------------------


def _check_n_segments(n_segments, n_colors):
    if not isinstance(n_segments, Integral) or isinstance(n_segments, bool) or n_segments < 1:
        raise ValueError(f"n_segments={n_segments!r} should be an integer >= 1.")
    if n_segments > n_colors:
        raise ValueError(
            f"n_segments={n_segments} should be <= {n_colors}, the number of distinct colours of "
            "the image; ask for fewer segments."
        )


def _default_estimator():
    # loaded on first use: pictures of labels need no criterion
    from separatrix.criteria.margin import MaximumMarginClustering

    return MaximumMarginClustering(
        C=500.0,
        kernel="rbf",
        gamma=1 / WIDTH**2,
        # regions of a photograph differ much in size: one may have four times the other's pixels
        balance=0.6,
        multiway="bisection",
        n_components=25,  # an error of one in a million for a kernel this wide
        # there are far more colours than needed to separate the regions: as in the paper, start at
        # C itself, and stop at invisible changes
        C_path=1,
        tol=1e-3,
        random_state=0,
    )


def _with_n_clusters(estimator, n_clusters):
    """A clone of the estimator with its number of clusters set."""
    name = type(estimator).__name__
    if not hasattr(estimator, "fit") or not hasattr(estimator, "get_params"):
        raise TypeError(f"estimator={estimator!r} is not a clusterer; pass one, or None.")
    if not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(
            f"estimator={name} takes no sample_weight in fit, but a colour weighs as much as it "
            "has pixels; use another clusterer, such as MaximumMarginClustering or KMeans."
        )
    if "n_clusters" not in estimator.get_params():
        raise ValueError(
            f"estimator={name} has no parameter n_clusters; use another clusterer, such as "
            "MaximumMarginClustering or KMeans."
        )
    return clone(estimator).set_params(n_clusters=int(n_clusters))


def _largest_first(labels, weights):
    """Labels with the heaviest cluster as 0, whatever the clusterer called it."""
    order = np.argsort(-np.bincount(labels, weights=weights), kind="stable")
    return np.argsort(order).astype(np.int32)[labels]
