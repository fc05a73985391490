"""Segmentation of images by the colours of their pixels."""

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans, MeanShift
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from separatrix import MaximumMarginClustering, segment_image
from separatrix.images import WIDTH, _distinct_colors

BACKGROUND, RECTANGLE, STRIPE = (30, 90, 60), (220, 140, 70), (40, 60, 200)


def scene(height=24, width=30, n_channels=3, noise=6, seed=0):
    """An image of a background, a smaller rectangle and a stripe, and which pixels they have."""
    regions = np.zeros((height, width), dtype=np.int32)
    regions[3:16, 5:20] = 1
    regions[18:23, 2:29] = 2
    colors = np.array([BACKGROUND, RECTANGLE, STRIPE])
    colors = np.column_stack([colors, [250, 240, 245]])[:, :n_channels]
    rng = np.random.default_rng(seed)
    drawn = colors[regions] + rng.integers(-noise, noise + 1, (height, width, n_channels))
    return np.clip(drawn, 0, 255).astype(np.uint8), regions


def few_levels():
    """A colour image whose pixels share few colours, in regions that overlap."""
    image, _ = scene(noise=45)
    return image // 24 * 24


def paper_margin(**params):
    fixed = {"C": 500.0, "gamma": 1 / WIDTH**2, "balance": 0.6, "C_path": 1, "tol": 1e-3}
    return MaximumMarginClustering(**{**fixed, "random_state": 0, **params})


# --- segments -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_channels", [1, 3, 4])
def test_labels_have_the_shape_of_the_image(n_channels):
    image, _ = scene(n_channels=n_channels)
    segments = segment_image(image)
    assert segments.shape == image.shape[:2]
    assert segments.dtype == np.int32
    np.testing.assert_array_equal(np.unique(segments), [0, 1])


def test_regions_are_found_and_the_largest_comes_first():
    image, regions = scene()
    np.testing.assert_array_equal(segment_image(image, 3), regions)


def test_equal_colors_get_equal_labels():
    image = few_levels()
    segments = segment_image(image, 3)
    pixels = image.reshape(-1, 3)
    for color in np.unique(pixels, axis=0):
        assert len(np.unique(segments.ravel()[(pixels == color).all(axis=1)])) == 1


@pytest.mark.parametrize("loss", ["laplacian", "square", "hinge"])
def test_same_as_a_fit_on_all_pixels(loss):
    image = few_levels()
    pixels = image.reshape(-1, 3) / 255
    plain = paper_margin(loss=loss).fit(pixels).labels_
    segments = segment_image(image, estimator=paper_margin(loss=loss))
    assert adjusted_rand_score(plain, segments.ravel()) == 1.0


def test_default_is_the_margin_of_the_paper():
    image = few_levels()
    expected = segment_image(image, 4, estimator=paper_margin(multiway="bisection"))
    np.testing.assert_array_equal(segment_image(image, 4), expected)


def test_grey_images_with_and_without_a_channel():
    image, regions = scene(n_channels=1)
    np.testing.assert_array_equal(segment_image(image), regions == 1)
    np.testing.assert_array_equal(segment_image(image[:, :, 0]), regions == 1)


@pytest.mark.parametrize("n_segments", [1, 2, 5, 8])
def test_as_many_segments_as_asked_for(n_segments):
    image = few_levels()
    segments = segment_image(image, n_segments)
    sizes = np.bincount(segments.ravel())
    assert len(sizes) == n_segments
    assert (sizes > 0).all()
    assert (np.diff(sizes) <= 0).all()


def test_constant_image_is_one_segment():
    image = np.full((3, 4, 3), 17, dtype=np.uint8)
    np.testing.assert_array_equal(segment_image(image, 1), np.zeros((3, 4)))


def test_lists_and_views_are_images_too():
    image, _ = scene()
    expected = segment_image(image)
    np.testing.assert_array_equal(segment_image(image.tolist()), expected)
    np.testing.assert_array_equal(segment_image(image.transpose(1, 0, 2)), expected.T)
    before = image.copy()
    image.setflags(write=False)
    segment_image(image)
    np.testing.assert_array_equal(image, before)


# --- ranges of values ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "convert",
    [
        lambda image: image / 255,
        lambda image: image.astype(np.float32) / np.float32(255),
        lambda image: image.astype(np.uint16) * 257,
        lambda image: image.astype(np.int64),
        lambda image: image.astype(np.float64),
        lambda image: -image.astype(np.int16),
        lambda image: image.astype(np.int64) * 10**9,
    ],
    ids=["unit", "unit32", "uint16", "int64", "float255", "negative", "huge"],
)
def test_dtype_and_range_do_not_matter(convert, segments_of_levels):
    image, expected = segments_of_levels
    np.testing.assert_array_equal(segment_image(convert(image), 4), expected)


@pytest.fixture(scope="module")
def segments_of_levels():
    image = few_levels()
    image[0, 0] = 255
    return image, segment_image(image, 4)


def test_masks_are_images_too():
    _, regions = scene()
    np.testing.assert_array_equal(segment_image(regions == 1), regions == 1)


@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
@pytest.mark.parametrize("n_channels", [1, 3, 4])
def test_distinct_colors_are_those_of_rows(dtype, n_channels):
    image = scene(n_channels=n_channels)[0].astype(dtype)
    expected = np.unique(
        image.reshape(-1, n_channels), axis=0, return_inverse=True, return_counts=True
    )
    for found, wanted in zip(_distinct_colors(image), expected, strict=True):
        np.testing.assert_array_equal(found, wanted.reshape(found.shape))


def test_many_distinct_values_in_each_of_four_channels():
    """Their numbers of values multiply to more than an integer holds."""
    image = np.random.default_rng(0).random((250, 250, 4))
    colors, color_of_pixel, n_pixels = _distinct_colors(image)
    assert len(colors) == 250**2
    assert (n_pixels == 1).all()
    np.testing.assert_array_equal(colors[color_of_pixel], image.reshape(-1, 4))


# --- estimators ---------------------------------------------------------------------------------


def test_kmeans_as_estimator():
    image, regions = scene()
    estimator = KMeans(n_clusters=7, n_init=10, random_state=0)
    np.testing.assert_array_equal(segment_image(image, 3, estimator=estimator), regions)
    assert estimator.n_clusters == 7
    assert not hasattr(estimator, "labels_")


def test_small_things_need_a_larger_balance():
    image, _ = scene()
    image[image[:, :, 0] > 30] = BACKGROUND
    image[5, 3:20] = RECTANGLE
    small = np.zeros(image.shape[:2])
    small[5, 3:20] = 1
    found = segment_image(image, estimator=paper_margin(balance=0.98))
    np.testing.assert_array_equal(found, small)


def test_a_color_of_nearly_all_pixels_is_told():
    mask = np.zeros((20, 20), dtype=bool)
    mask[0] = True
    with pytest.warns(ConvergenceWarning, match="balance"):
        segments = segment_image(mask)
    np.testing.assert_array_equal(segments, mask)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (AgglomerativeClustering(), "AgglomerativeClustering takes no sample_weight"),
        (MeanShift(), "MeanShift takes no sample_weight"),
    ],
)
def test_estimators_without_weights_are_refused(estimator, message):
    with pytest.raises(ValueError, match=message):
        segment_image(scene()[0], estimator=estimator)


def test_estimators_without_a_number_of_clusters_are_refused():
    with pytest.raises(ValueError, match="DBSCAN has no parameter n_clusters"):
        segment_image(scene()[0], estimator=DBSCAN())


# --- errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape", [(5,), (4, 5, 2), (3, 40, 50), (2, 4, 5, 3), ()], ids=lambda shape: f"{len(shape)}d"
)
def test_shapes_that_are_no_image_are_refused(shape):
    with pytest.raises(ValueError, match=r"image has shape .*1, 3 or 4 channels"):
        segment_image(np.zeros(shape))


def test_images_without_pixels_are_refused():
    with pytest.raises(ValueError, match="no pixels"):
        segment_image(np.zeros((0, 5, 3)))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused(value):
    image = scene()[0] / 255
    image[2, 3, 1] = value
    with pytest.raises(ValueError, match="NaN or infinity in 1 of 2160 values"):
        segment_image(image)


def test_values_that_are_no_numbers_are_refused():
    with pytest.raises(ValueError, match="pass integers or floats"):
        segment_image(np.array([["red", "green"], ["blue", "red"]]))


@pytest.mark.parametrize("n_segments", [0, -1, 2.5, "two", None])
def test_numbers_of_segments_below_one_are_refused(n_segments):
    with pytest.raises(ValueError, match=r"n_segments=.* should be an integer >= 1"):
        segment_image(scene()[0], n_segments)


def test_more_segments_than_colors_are_refused():
    image = np.array([[0, 255], [255, 0]], dtype=np.uint8)
    np.testing.assert_array_equal(segment_image(image, 2), [[0, 1], [1, 0]])
    with pytest.raises(ValueError, match=r"n_segments=3 should be <= 2, .* distinct colours"):
        segment_image(image, 3)
