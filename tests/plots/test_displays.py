"""What every display keeps to, and the artists of all but the picture of boundaries."""

import re
import sys
from itertools import combinations

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.sparse as sp
from matplotlib.colors import to_rgb
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from separatrix import (
    AutoClustering,
    MaximinSeparationClustering,
    MaximumMarginClustering,
    OptimalMarginDistributionMachine,
    SquaredLossMutualInformationClustering,
    plots,
)
from separatrix.plots.canvas import chosen_rows
from separatrix.plots.colors import MUTED, cluster_color, cluster_marker

IRIS = load_iris()
X = IRIS.data
TWO = MaximinSeparationClustering(2).fit(X)
THREE = MaximinSeparationClustering(3).fit(X)
LABELS = {"two": TWO.labels_, "three": THREE.labels_, "species": IRIS.target}
IMAGE = np.repeat(np.array([[10, 12, 200], [11, 210, 205]], dtype=np.uint8), 4, axis=1)

# how each display is made, and where its main artist is
DRAWN = {
    "AgreementDisplay": (lambda d, **kw: d.from_labels(LABELS, **kw), lambda d: d.image_),
    "BoundaryDisplay": (lambda d, **kw: d.from_estimator(TWO, X, **kw), lambda d: d.points_[0]),
    "ClusterSizesDisplay": (
        lambda d, **kw: d.from_estimator(TWO, X, **kw),
        lambda d: d.blocks_[0],
    ),
    "CoassociationDisplay": (
        lambda d, **kw: d.from_labels(LABELS.values(), **kw),
        lambda d: d.image_,
    ),
    "HistoryDisplay": (lambda d, **kw: d.from_estimator(TWO, **kw), lambda d: d.line_),
    "LabelImageDisplay": (lambda d, **kw: d.from_image(IMAGE, 2, **kw), lambda d: d.image_),
    "MarginDistributionDisplay": (
        lambda d, **kw: d.from_estimator(TWO, X, **kw),
        lambda d: d.histograms_[0][0],
    ),
    "SelectionCurveDisplay": (
        lambda d, **kw: d.from_estimator(TWO, X, n_clusters=[2, 3], **kw),
        lambda d: d.line_,
    ),
    "WeightsDisplay": (lambda d, **kw: d.from_estimator(TWO, **kw), lambda d: d.bars_[0]),
}


@pytest.fixture(scope="module")
def auto():
    """A consensus that chose its number of clusters."""
    return AutoClustering(max_clusters=5, random_state=0).fit(X)


def note(display):
    return display.ax_.get_title(loc="right")


def drawn_texts(display):
    """Strings that reach the renderer, as they look."""
    display.figure_.canvas.draw()
    texts = display.figure_.findobj(mpl.text.Text)
    return [text._preprocess_math(text.get_text()) for text in texts if text.get_visible()]


# --- what every display keeps to ----------------------------------------------------------------


def test_all_displays_are_tried_here():
    assert sorted(DRAWN) == plots.__all__


@pytest.mark.parametrize("name", DRAWN)
def test_axes_are_taken_or_made_and_keywords_reach_the_main_artist(name):
    make, main_artist = DRAWN[name]
    _, ax = plt.subplots()
    display = make(getattr(plots, name), ax=ax, zorder=7.5)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert main_artist(display).axes is ax
    assert main_artist(display).get_zorder() == 7.5
    assert display.plot() is display
    assert display.ax_ is not ax
    display.figure_.canvas.draw()


class _NeverFitted(BaseEstimator):
    def __init__(self, n_clusters=2):
        self.n_clusters = n_clusters

    def fit(self, X, y=None):
        raise AssertionError("fitted in vain")


def test_without_matplotlib_the_extra_is_named_before_any_work(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"SelectionCurveDisplay.*separatrix\[plot\]"):
        plots.SelectionCurveDisplay.from_estimator(_NeverFitted(), X)
    with pytest.raises(ImportError, match=r"HistoryDisplay.*separatrix\[plot\]"):
        plots.HistoryDisplay([1.0, 2.0]).plot()


ALIASES = {
    "BoundaryDisplay": [{"c": "r"}, {"lw": 2}, {"edgecolors": "k"}],
    "ClusterSizesDisplay": [{"lw": 2}],
    "HistoryDisplay": [{"c": "r"}, {"ms": 9}],
    "MarginDistributionDisplay": [{"lw": 2}, {"ec": "k"}],
    "SelectionCurveDisplay": [{"c": "r"}],
    "WeightsDisplay": [{"fc": "r"}],
}


@pytest.mark.parametrize(
    ("name", "keyword"), [(name, keyword) for name in ALIASES for keyword in ALIASES[name]]
)
def test_short_names_of_keywords_replace_the_style(name, keyword):
    make, main_artist = DRAWN[name]
    artist = main_artist(make(getattr(plots, name), **keyword))
    ((alias, value),) = keyword.items()
    attribute = {"c": "facecolor" if name == "BoundaryDisplay" else "color"}.get(alias, alias)
    seen = getattr(artist, f"get_{attribute}")()
    if isinstance(value, str):
        assert to_rgb(np.reshape(seen, -1)[:3] if np.ndim(seen) else seen) == to_rgb(value)
    else:
        np.testing.assert_array_equal(seen, value)


@pytest.mark.parametrize("name", ["$a_$", r"$\foo$", "price $ to $", r"a\$b$c"])
def test_names_are_drawn_as_they_are(name):
    matrix, points = np.eye(2), np.eye(2)
    displays = [
        plots.AgreementDisplay(matrix, [name, "other"]),
        plots.BoundaryDisplay(points, [0, 1], axis_names=(name, ""), remark=name),
        plots.ClusterSizesDisplay([0.5, 1.0], [0, 1], confidence_name=name),
        plots.CoassociationDisplay(matrix, remark=name),
        plots.HistoryDisplay([1.0, 2.0], name=name),
        plots.SelectionCurveDisplay([2, 3], [0.1, 0.2], score_name=name),
        plots.WeightsDisplay([1.0], [name]),
    ]
    for display in displays:
        assert (name, False) in drawn_texts(display.plot())
    weights = plots.WeightsDisplay([1.0], ["a"], weight_name=name).plot()
    assert any(name in text and not is_math for text, is_math in drawn_texts(weights))


@pytest.mark.parametrize("make", [list, tuple, np.asarray])
def test_any_sequence_is_taken(make):
    labels, values = make([0, 1, 1]), make([0.5, 1.0, 2.0])
    assert len(plots.ClusterSizesDisplay(values, labels).plot().blocks_) == 2
    assert len(plots.MarginDistributionDisplay(values, labels).plot().histograms_) == 2
    assert len(plots.BoundaryDisplay(make([(0, 1), (1, 2), (0, 0)]), labels).plot().points_) == 2
    assert len(plots.AgreementDisplay(make([(1, 0), (0, 1)]), ["a", "b"]).plot().texts_) == 4


@pytest.mark.parametrize(
    "make",
    [
        lambda labels: plots.BoundaryDisplay(np.zeros((3, 2)), labels),
        lambda labels: plots.ClusterSizesDisplay(np.zeros(3), labels),
        lambda labels: plots.MarginDistributionDisplay(np.zeros(3), labels),
        lambda labels: plots.MarginDistributionDisplay.from_predictions(np.zeros(3), labels),
    ],
)
@pytest.mark.parametrize("labels", [[0, 1], [[0, 1, 1]]])
def test_labels_beside_other_samples_are_refused(make, labels):
    shape = re.escape(str(np.shape(labels)))
    with pytest.raises(ValueError, match=f"labels has shape {shape} beside 3 samples"):
        make(labels)


UNFITTED = MaximinSeparationClustering(2)


@pytest.mark.parametrize(
    "make",
    [
        lambda: plots.BoundaryDisplay.from_estimator(UNFITTED, X),
        lambda: plots.ClusterSizesDisplay.from_estimator(AutoClustering(), X),
        lambda: plots.HistoryDisplay.from_estimator(UNFITTED),
        lambda: plots.MarginDistributionDisplay.from_estimator(UNFITTED, X),
        lambda: plots.WeightsDisplay.from_estimator(UNFITTED),
    ],
)
def test_estimators_that_are_not_fitted_are_refused(make):
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        make()


def test_what_an_estimator_lacks_is_named_with_the_remedy():
    means, density = KMeans(2, n_init=1).fit(X), DBSCAN().fit(X)
    with pytest.raises(ValueError, match=r"KMeans has no decision_function.*ClusterSizesDisplay"):
        plots.MarginDistributionDisplay.from_estimator(means, X)
    with pytest.raises(ValueError, match="KMeans has no history_: pass"):
        plots.HistoryDisplay.from_estimator(means)
    with pytest.raises(ValueError, match="DBSCAN has no predict: a boundary needs"):
        plots.BoundaryDisplay.from_estimator(density, X)
    with pytest.raises(ValueError, match="DBSCAN has no predict: draw its labels_ by"):
        plots.ClusterSizesDisplay.from_estimator(density, X)


# --- colours ------------------------------------------------------------------------------------

# Machado, Oliveira and Fernandes (2009): what dichromats see, in linear RGB
DICHROMATS = {
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def lab(color, seen_by=None):
    """CIE Lab of a colour, as a person with this vision sees it."""
    rgb = np.array(to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    if seen_by is not None:
        linear = np.clip(np.array(DICHROMATS[seen_by]) @ linear, 0, 1)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    t = np.array(to_xyz) @ linear / [0.9505, 1, 1.089]
    x, y, z = np.where(t > (6 / 29) ** 3, np.cbrt(t), t / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("seen_by", [None, *DICHROMATS])
def test_eight_colours_differ_for_every_kind_of_colour_vision(seen_by):
    seen = [lab(cluster_color(cluster), seen_by) for cluster in range(8)]
    # a difference of 2.3 is just noticeable side by side
    assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) > 4 * 2.3


def test_first_colours_differ_in_black_and_white():
    lightness = [lab(cluster_color(cluster))[0] for cluster in range(3)]
    assert min(abs(a - b) for a, b in combinations(lightness, 2)) > 10


def test_later_clusters_have_colours_and_markers_of_their_own():
    looks = {(cluster_color(cluster), cluster_marker(cluster)) for cluster in range(24)}
    assert len(looks) == 24
    assert len({cluster_color(cluster) for cluster in range(24)}) == 24


def test_outliers_are_drawn_apart():
    far = np.vstack([X, [[60.0, 60.0, 60.0, 60.0]]])
    model = MaximinSeparationClustering(2, outliers=0.007).fit(far)
    sizes = plots.ClusterSizesDisplay.from_estimator(model, far)
    names = [text.get_text() for text in sizes.ax_.get_yticklabels()]
    assert names[0] == "outliers: 1 (1%)"
    drawn = plots.BoundaryDisplay.from_estimator(model, far)
    assert [points.get_label() for points in drawn.points_] == [
        "outliers",
        "cluster 0",
        "cluster 1",
    ]
    assert len(drawn.points_[0].get_offsets()) == 1
    assert cluster_color(-1) not in {cluster_color(cluster) for cluster in range(8)}


def test_a_cluster_has_one_colour_in_all_displays():
    boundary = plots.BoundaryDisplay.from_estimator(THREE, X)
    margins = plots.MarginDistributionDisplay.from_estimator(THREE, X)
    sizes = plots.ClusterSizesDisplay.from_estimator(THREE, X)
    segments = plots.LabelImageDisplay(np.array([[0, 1, 2]])).plot()
    for cluster in range(3):
        seen = [
            boundary.points_[cluster].get_facecolor()[0],
            margins.histograms_[cluster][0].get_facecolor(),
            sizes.blocks_[cluster].get_facecolor()[0],
            segments.image_.get_array()[0, cluster],
        ]
        for color in seen:
            np.testing.assert_allclose(color[:3], to_rgb(cluster_color(cluster)), atol=1e-9)


def test_chosen_rows_are_a_fair_sample():
    np.testing.assert_array_equal(chosen_rows(5, 5), np.arange(5))
    rows = chosen_rows(10_000, 1000)
    assert len(np.unique(rows)) == 1000
    assert (np.diff(rows) > 0).all()
    # within five standard deviations of a sample of every tenth, in each tenth of the rows
    counts = np.bincount(rows // 1000)
    assert np.abs(counts - 100).max() < 5 * np.sqrt(100 * 0.9)


# --- margins ------------------------------------------------------------------------------------


def test_margins_of_two_clusters_are_signed_scores():
    display = plots.MarginDistributionDisplay.from_estimator(TWO, X)
    signs = 2 * TWO.labels_ - 1
    np.testing.assert_allclose(display.margins, signs * TWO.decision_function(X))
    assert note(display) == ""
    for cluster, line in enumerate(display.means_):
        mean = display.margins[TWO.labels_ == cluster].mean()
        assert line.get_xdata()[0] == pytest.approx(mean)
    flipped = plots.MarginDistributionDisplay.from_estimator(TWO, X, labels=1 - TWO.labels_)
    np.testing.assert_allclose(flipped.margins, -display.margins)
    assert note(flipped) == "100.0% of samples beyond the boundary"


def test_margins_that_rounding_alone_tells_apart_have_one_bar():
    margins = 1 + 1e-15 * np.arange(6)
    display = plots.MarginDistributionDisplay(margins, np.arange(6) % 2).plot()
    for bars in display.histograms_:
        heights = bars[0].get_xy()[:, 1]
        assert set(heights) == {0, 3}


def test_margins_of_three_clusters_are_own_less_best_other():
    display = plots.MarginDistributionDisplay.from_estimator(THREE, X)
    for margin, scores, own in zip(
        display.margins, THREE.decision_function(X), THREE.labels_, strict=True
    ):
        others = [score for cluster, score in enumerate(scores) if cluster != own]
        assert margin == pytest.approx(scores[own] - max(others))


@pytest.mark.parametrize("n_clusters", [1, 2, 5])
def test_histograms_count_every_sample_once(n_clusters):
    model = MaximinSeparationClustering(n_clusters).fit(X)
    display = plots.MarginDistributionDisplay.from_estimator(model, X, histtype="bar")
    counts = [sum(bar.get_height() for bar in bars) for bars in display.histograms_]
    np.testing.assert_array_equal(counts, np.bincount(model.labels_))


def test_areas_are_filled_while_they_are_few():
    few = plots.MarginDistributionDisplay.from_estimator(THREE, X)
    many = plots.MarginDistributionDisplay.from_estimator(MaximinSeparationClustering(5).fit(X), X)
    assert few.histograms_[0][0].get_fill()
    assert not many.histograms_[0][0].get_fill()


@pytest.mark.parametrize("model", [TWO, THREE])
def test_margins_from_scores_are_those_of_the_estimator(model):
    expected = plots.MarginDistributionDisplay.from_estimator(model, X)
    display = plots.MarginDistributionDisplay.from_predictions(model.decision_function(X).tolist())
    np.testing.assert_array_equal(display.margins, expected.margins)
    np.testing.assert_array_equal(display.labels, model.labels_)


@pytest.mark.parametrize("strange", [-1, 7, 0.5])
def test_clusters_without_scores_are_refused(strange):
    labels = np.array([strange, *THREE.labels_[1:]])
    remedy = "integers" if strange == 0.5 else "clusters 0 to 2; leave out"
    with pytest.raises(ValueError, match=f"labels has {strange}.*{remedy}"):
        plots.MarginDistributionDisplay.from_estimator(THREE, X, labels=labels)


# --- history ------------------------------------------------------------------------------------


def test_history_is_drawn_from_iteration_one():
    display = plots.HistoryDisplay.from_estimator(TWO)
    np.testing.assert_array_equal(display.line_.get_ydata(), TWO.history_)
    np.testing.assert_array_equal(display.line_.get_xdata(), np.arange(1, TWO.n_iter_ + 1))
    assert display.ax_.get_legend() is None


def test_two_histories_share_axes():
    one = plots.HistoryDisplay([1.0, 2.0], name="one").plot()
    two = plots.HistoryDisplay([2.0, 2.5, 2.6], name="two").plot(one.ax_)
    assert one.line_.get_color() != two.line_.get_color()
    assert [t.get_text() for t in two.ax_.get_legend().get_texts()] == ["one", "two"]


def test_empty_history_is_refused():
    with pytest.raises(ValueError, match="history_ of MaximinSeparationClustering is empty"):
        plots.HistoryDisplay.from_estimator(MaximinSeparationClustering(1).fit(X))


# --- sizes --------------------------------------------------------------------------------------


def test_blocks_have_the_size_and_confidence_of_their_clusters():
    display = plots.ClusterSizesDisplay.from_estimator(THREE, X)
    names = [text.get_text() for text in display.ax_.get_yticklabels()]
    bottom = -np.inf
    for cluster, block in enumerate(display.blocks_):
        confidence = display.confidence[THREE.labels_ == cluster]
        (path,) = block.get_paths()
        box = path.get_extents()
        assert box.height == pytest.approx(len(confidence))
        assert (box.x0, box.x1) == pytest.approx((0, confidence.max()))
        assert names[cluster].startswith(f"cluster {cluster}: {len(confidence)} (")
        assert box.y0 > bottom
        bottom = box.y1
        # one step per sample: the profile is the sorted confidence
        right = np.unique(path.vertices[path.vertices[:, 0] > 0, 0])
        np.testing.assert_allclose(right, np.unique(confidence), rtol=1e-9)
    assert display.ax_.get_xlabel() == "probability of the cluster"


def test_margins_are_the_confidence_without_probabilities():
    model = RidgeClassifier().fit(X, THREE.labels_)
    display = plots.ClusterSizesDisplay.from_estimator(model, X)
    best = np.sort(model.decision_function(X), axis=1)
    np.testing.assert_allclose(display.confidence, best[:, -1] - best[:, -2])
    assert display.ax_.get_xlabel() == "margin"


def test_probabilities_are_the_confidence_where_there_are_any():
    model = SquaredLossMutualInformationClustering(3, random_state=0).fit(X)
    display = plots.ClusterSizesDisplay.from_estimator(model, X)
    np.testing.assert_allclose(display.confidence, model.predict_proba(X).max(axis=1))
    assert display.ax_.get_xlabel() == "probability of the cluster"


def test_vote_shares_are_the_confidence_of_a_consensus(auto):
    display = plots.ClusterSizesDisplay.from_estimator(auto, X)
    np.testing.assert_array_equal(display.confidence, auto.confidence_)
    np.testing.assert_array_equal(display.labels, auto.labels_)
    others = plots.ClusterSizesDisplay.from_estimator(auto, X[::-1])
    np.testing.assert_allclose(others.confidence, auto.predict_proba(X[::-1]).max(axis=1))


@pytest.mark.parametrize(
    "model", [KMeans(3, n_init=1, random_state=0), make_pipeline(StandardScaler(), KMeans(3))]
)
def test_sizes_alone_where_there_is_no_confidence(model):
    display = plots.ClusterSizesDisplay.from_estimator(model.fit(X), X)
    sizes = np.bincount(model.predict(X))
    boxes = [block.get_paths()[0].get_extents() for block in display.blocks_]
    np.testing.assert_allclose([box.height for box in boxes], sizes)
    assert {(box.x0, box.x1) for box in boxes} == {(0, 1)}
    assert display.ax_.get_xlabel() == ""
    assert not len(display.ax_.get_xticks())


def test_sizes_from_labels_and_confidence():
    labels, confidence = [2, 0, 2], [0.5, 0.25, 1.0]
    display = plots.ClusterSizesDisplay.from_predictions(labels, confidence)
    assert display.blocks_[1].get_paths()[0].get_extents().x1 == 1.0
    assert display.ax_.get_xlabel() == "confidence"
    names = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert names == ["cluster 0: 1 (33%)", "cluster 2: 2 (67%)"]
    assert plots.ClusterSizesDisplay.from_predictions(labels).confidence is None


def test_profile_of_many_samples_has_few_vertices():
    rng = np.random.default_rng(0)
    display = plots.ClusterSizesDisplay(rng.random(50_000), rng.integers(0, 2, 50_000)).plot()
    assert len(display.blocks_[0].get_paths()[0].vertices) < 1100


# --- weights ------------------------------------------------------------------------------------


def test_weights_are_sorted_and_coloured_by_the_side_they_draw_to():
    model = MaximinSeparationClustering(2).fit(load_iris(as_frame=True).data)
    display = plots.WeightsDisplay.from_estimator(model, max_features=3)
    order = np.argsort(-np.abs(model.coef_[0]))[:3]
    widths = [bar.get_width() for bar in display.bars_]
    np.testing.assert_allclose(widths, model.coef_[0][order])
    names = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert names == [model.feature_names_in_[j] for j in order]
    for bar, width in zip(display.bars_, widths, strict=True):
        assert to_rgb(bar.get_facecolor()) == to_rgb(cluster_color(width > 0))
    assert note(display) == "3 largest of 4 weights"


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_weights_with_samples_do_not_depend_on_units(container):
    units = np.array([1.0, 10.0, 0.1, 5.0])
    one = plots.WeightsDisplay.from_estimator(TWO, container(X))
    rescaled = MaximinSeparationClustering(2, init=TWO.labels_).fit(X * units)
    np.testing.assert_array_equal(rescaled.labels_, TWO.labels_)
    other = plots.WeightsDisplay.from_estimator(rescaled, container(X * units))
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-3, atol=1e-4)


def test_sides_of_a_boundary_are_named():
    pairwise = plots.WeightsDisplay.from_estimator(THREE, boundary=2)
    assert re.fullmatch("weight\n← cluster 1 +cluster 2 →", pairwise.ax_.get_xlabel())
    rest = MaximinSeparationClustering(3, multiway="one-vs-rest").fit(X)
    np.testing.assert_array_equal(rest.boundary_sides_, 2 * np.eye(3) - 1)
    against = plots.WeightsDisplay.from_estimator(rest, boundary=1)
    assert re.fullmatch("weight\n← clusters 0, 2 +cluster 1 →", against.ax_.get_xlabel())
    colors = {to_rgb(bar.get_facecolor()) for bar in against.bars_}
    assert colors <= {to_rgb(MUTED), to_rgb(cluster_color(1))}
    many = plots.WeightsDisplay([1.0], ["a"], sides=([0, 1, 2, 3, 4], [5])).plot()
    assert "← 5 clusters" in many.ax_.get_xlabel()


def test_weights_need_a_linear_boundary_that_exists():
    with pytest.raises(ValueError, match="has no coef_"):
        plots.WeightsDisplay.from_estimator(MaximumMarginClustering(2, random_state=0).fit(X))
    with pytest.raises(ValueError, match="boundary=1 should be one of the 1"):
        plots.WeightsDisplay.from_estimator(TWO, boundary=1)


@pytest.mark.parametrize("machine", [OptimalMarginDistributionMachine(), LinearSVC()])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_of_a_machine_of_one_class_against_the_rest(machine, n_classes):
    kept = IRIS.target < n_classes
    machine.fit(X[kept], IRIS.target[kept])
    last = len(machine.coef_) - 1
    display = plots.WeightsDisplay.from_estimator(machine, boundary=last)
    np.testing.assert_array_equal(display.weights, machine.coef_[last])
    assert display.sides == (list(range(n_classes - 1)), [n_classes - 1])


# --- agreement and co-association ---------------------------------------------------------------


def test_agreement_is_the_adjusted_rand_index_of_each_pair():
    display = plots.AgreementDisplay.from_labels({**LABELS, "renamed": 2 - THREE.labels_})
    np.testing.assert_allclose(display.agreement, display.agreement.T)
    assert display.agreement[1, 3] == 1
    assert display.agreement[0, 2] == adjusted_rand_score(TWO.labels_, IRIS.target)
    np.testing.assert_array_equal(display.image_.get_array(), display.agreement)
    texts = np.array([float(text.get_text()) for text in display.texts_]).reshape(4, 4)
    np.testing.assert_allclose(texts, display.agreement, atol=0.005 + 1e-12)
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == [*LABELS, "renamed"]


def test_agreement_of_a_comparison_is_drawn_as_it_is(auto):
    _, ax = plt.subplots()
    display = plots.AgreementDisplay.from_comparison(auto.candidates_, ax=ax, zorder=7.5)
    np.testing.assert_array_equal(display.image_.get_array(), auto.candidates_.agreement)
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == auto.candidates_.names
    assert display.ax_ is ax
    assert display.image_.get_zorder() == 7.5


def test_nearly_zero_agreement_has_no_sign():
    display = plots.AgreementDisplay(np.array([[1.0, -1e-4], [-1e-4, 1.0]]), ["a", "b"]).plot()
    assert [text.get_text() for text in display.texts_] == ["1.00", "0.00", "0.00", "1.00"]


@pytest.mark.parametrize("n_clusterings", [2, 12, 20])
@pytest.mark.parametrize("figsize", [None, (6.4, 4.8), (5.5, 4.5)])
def test_every_number_fits_its_cell_or_is_not_drawn(n_clusterings, figsize):
    agreement = np.random.default_rng(0).uniform(-0.5, 1, (n_clusterings, n_clusterings))
    names = [f"clustering {i}" for i in range(n_clusterings)]
    ax = None if figsize is None else plt.subplots(figsize=figsize, layout="constrained")[1]
    display = plots.AgreementDisplay(agreement, names).plot(ax)
    display.figure_.canvas.draw()
    cells = display.ax_.transData.transform([[0, 0], [1, -1]])
    width, height = np.ptp(cells, axis=0)
    is_drawn = {text.get_visible() for text in display.texts_}
    assert is_drawn == {figsize is None or n_clusterings <= 12}
    for text, value in zip(display.texts_, agreement.ravel(), strict=True):
        box = text.get_window_extent()
        if text.get_visible():
            assert box.width < 0.9 * width
            assert box.height < height
            assert text.get_fontsize() > 6
        assert float(text.get_text()) == pytest.approx(value, abs=0.005 + 1e-12)
    names = [text.get_window_extent() for text in display.ax_.get_yticklabels()]
    assert all(one.height < height for one in names)


@pytest.mark.parametrize("labels", [{"a": [0, 1], "b": [0, 1, 1]}])
def test_labels_of_different_samples_are_refused(labels):
    with pytest.raises(ValueError, match=r"lengths, \{'a': 2, 'b': 3\}"):
        plots.AgreementDisplay.from_labels(labels)
    with pytest.raises(ValueError, match=r"lengths \[2, 3\]"):
        plots.CoassociationDisplay.from_labels(labels.values())


def test_coassociation_counts_meetings():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, size=(7, 20))
    display = plots.CoassociationDisplay.from_labels(labels)
    for i in range(20):
        for j in range(20):
            meetings = sum(one[i] == one[j] for one in labels)
            assert display.coassociation[i, j] == pytest.approx(meetings / 7)
    assert sorted(display.order_) == list(range(20))
    drawn = display.coassociation[np.ix_(display.order_, display.order_)]
    np.testing.assert_array_equal(display.image_.get_array(), drawn)
    assert note(display) == "7 clusterings"


def test_clusterings_that_agree_make_blocks():
    labels = np.random.default_rng(0).integers(0, 4, size=60)
    display = plots.CoassociationDisplay.from_labels([labels, 3 - labels, labels])
    assert np.count_nonzero(np.diff(labels[display.order_])) == 3


def test_many_samples_of_a_coassociation_are_thinned_and_counted():
    labels = np.zeros((2, 1000), dtype=int)
    display = plots.CoassociationDisplay.from_labels(labels, max_samples=30)
    assert display.coassociation.shape == (30, 30)
    assert note(display) == "2 clusterings, 30 of 1,000 samples"
    plots.CoassociationDisplay.from_labels(labels[:, :1])


# --- selection ----------------------------------------------------------------------------------


def test_selection_curve_scores_a_fit_of_each_number():
    model = MaximinSeparationClustering(5)
    display = plots.SelectionCurveDisplay.from_estimator(model, X, n_clusters=(4, 2, 3))
    expected = [
        silhouette_score(X, MaximinSeparationClustering(number).fit(X).labels_)
        for number in (2, 3, 4)
    ]
    np.testing.assert_array_equal(display.line_.get_xdata(), [2, 3, 4])
    np.testing.assert_allclose(display.line_.get_ydata(), expected)
    assert display.best_n_clusters_ == 2 + np.argmax(expected)
    assert display.mark_.get_xdata()[0] == display.best_n_clusters_
    assert note(display) == f"best: {display.best_n_clusters_} clusters"
    assert display.ax_.get_ylabel() == "silhouette score"
    assert model.n_clusters == 5
    assert not hasattr(model, "labels_")
    assert display.band_ is None


def test_the_curve_of_a_consensus_is_drawn_without_fitting(auto, monkeypatch):
    monkeypatch.setattr(AutoClustering, "fit", _NeverFitted.fit)
    display = plots.SelectionCurveDisplay.from_estimator(auto, X)
    np.testing.assert_array_equal(display.line_.get_xdata(), list(auto.selection_curve_))
    np.testing.assert_array_equal(display.line_.get_ydata(), [*auto.selection_curve_.values()])
    assert display.best_n_clusters_ == auto.n_clusters_
    assert display.ax_.get_ylabel() == "evidence"
    with pytest.raises(AssertionError, match="fitted in vain"):
        plots.SelectionCurveDisplay.from_estimator(auto, X, score=silhouette_score)
    with pytest.raises(AssertionError, match="fitted in vain"):
        plots.SelectionCurveDisplay.from_estimator(clone(auto), X)


def test_plausible_numbers_are_marked():
    curve = {2: 0.5, 3: 0.504, 4: 0.1, 5: 0.45}
    numbers, scores = curve.keys(), curve.values()
    display = plots.SelectionCurveDisplay(numbers, scores, plausible=[2, 3, 5]).plot()
    assert display.best_n_clusters_ == display.mark_.get_xdata()[0] == 2
    np.testing.assert_array_equal(display.plausible_.get_xdata(), [3, 5])
    np.testing.assert_array_equal(display.plausible_.get_ydata(), [0.504, 0.45])
    assert note(display) == "best: 2 clusters; plausible: 3, 5"
    alone = plots.SelectionCurveDisplay(numbers, scores).plot()
    assert alone.best_n_clusters_ == 3
    assert not len(alone.plausible_.get_xdata())


def test_a_curve_without_numbers_is_replaced_by_scores():
    """Where no clusters were found there is no evidence for several."""
    estimator = KMeans(2, n_init=1, random_state=0).fit(X)
    estimator.selection_curve_, estimator.plausible_n_clusters_ = {}, [1]
    display = plots.SelectionCurveDisplay.from_estimator(estimator, X)
    assert list(display.n_clusters) == list(range(2, 9))


def test_selection_curve_of_repeats_has_a_band():
    scores = np.array([[3.0, 1.0], [0.5, 0.7], [2.0, 6.0]])
    display = plots.SelectionCurveDisplay([2, 3, 4], scores, greater_is_better=False).plot()
    np.testing.assert_allclose(display.line_.get_ydata(), [2.0, 0.6, 4.0])
    assert display.best_n_clusters_ == 3
    box = display.band_.get_paths()[0].get_extents()
    assert (box.y0, box.y1) == (0.5, 6.0)


# --- segments -----------------------------------------------------------------------------------


def test_segments_of_an_image_and_their_shares():
    display = plots.LabelImageDisplay.from_image(IMAGE, 2)
    np.testing.assert_array_equal(display.labels, IMAGE > 100)
    texts = [text.get_text() for text in display.legend_.get_texts()]
    assert texts == ["0: 50%", "1: 50%"]
    plain = plots.LabelImageDisplay(display.labels).plot().image_.get_array()
    for segment in (0, 1):
        color = to_rgb(cluster_color(segment))
        assert (plain[display.labels == segment] == color).all()
        # light and shade move all channels of a pixel alike
        moved = display.image_.get_array()[display.labels == segment] - 0.65 * np.array(color)
        np.testing.assert_allclose(moved, moved[:, :1] * [1, 1, 1], atol=1e-12)
    drawn = display.image_.get_array()
    assert drawn.min() >= 0
    assert drawn.max() <= 1


def test_a_flat_image_and_many_segments_are_drawn():
    labels = np.arange(30).reshape(5, 6)
    display = plots.LabelImageDisplay(labels, image=np.full((5, 6, 3), 9.0)).plot()
    assert np.isfinite(display.image_.get_array()).all()
    assert len(display.legend_.get_texts()) == 30
