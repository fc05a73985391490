"""The picture of boundaries: its plane, its lines and regions, its samples."""

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from matplotlib.colors import to_rgb
from sklearn import config_context
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_blobs
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import (
    KernelKMeans,
    MaximinSeparationClustering,
    MaximumMarginClustering,
    MinimaxProbabilityMachine,
)
from separatrix.datasets import make_two_moons
from separatrix.models.boundaries import Boundaries
from separatrix.plots import BoundaryDisplay
from separatrix.plots.colors import cluster_color
from separatrix.plots.projection import plane_across
from separatrix.plots.scores import cluster_scores, leads


def blobs(n_features, centers, n_samples=120):
    return make_blobs(n_samples, n_features, centers=centers, cluster_std=2.0, random_state=3)[0]


def vertices(display):
    return np.vstack(
        [path.vertices for lines in display.boundaries_ for path in lines.get_paths()]
    )


def test_line_of_two_features_lies_where_the_decision_function_is_zero():
    X = blobs(2, 2)
    model = MaximinSeparationClustering(2).fit(X)
    display = BoundaryDisplay.from_estimator(model, X)
    on_line = vertices(display)
    assert len(on_line) > 10
    scale = np.abs(model.decision_function(X)).max()
    assert np.abs(model.decision_function(on_line)).max() < 1e-9 * scale
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("feature 0", "feature 1")


def test_curved_line_follows_the_decision_function():
    X, _ = make_two_moons(200, random_state=0)
    model = MaximumMarginClustering(2, random_state=0).fit(X)
    display = BoundaryDisplay.from_estimator(model, X, resolution=150)
    # linear interpolation between the points of a grid is off by the square of its step
    assert np.abs(model.decision_function(vertices(display))).max() < 0.02


@pytest.mark.parametrize("n_clusters", [2, 3])
def test_samples_are_drawn_once_in_the_colour_of_their_cluster(n_clusters):
    X = blobs(2, n_clusters)
    model = MaximinSeparationClustering(n_clusters).fit(X)
    display = BoundaryDisplay.from_estimator(model, X)
    assert len(display.points_) == len(display.regions_) == n_clusters
    assert len(display.boundaries_) == n_clusters - 1
    for cluster, points in enumerate(display.points_):
        np.testing.assert_array_equal(points.get_offsets(), X[model.labels_ == cluster])
        np.testing.assert_allclose(points.get_facecolor()[0, :3], to_rgb(cluster_color(cluster)))
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == [f"cluster {cluster}" for cluster in range(n_clusters)]


def test_regions_are_those_of_predict():
    X = blobs(2, 3)
    model = MaximinSeparationClustering(3).fit(X)
    display = BoundaryDisplay.from_estimator(model, X, resolution=40)
    corners = np.stack(np.meshgrid(*display.grid), axis=-1).reshape(-1, 2)
    np.testing.assert_array_equal(
        display.grid_scores.argmax(axis=2).ravel(), model.predict(corners)
    )
    low, high = (np.array([ends[i] for ends in display.grid]) for i in (0, -1))
    anywhere = np.random.default_rng(0).uniform(low, high, size=(3000, 2))
    # where three regions meet, the picture is as fine as its grid
    lead = leads(model.decision_function(anywhere)).max(axis=1)
    anywhere = anywhere[lead > 0.05 * lead.max()]
    for cluster, region in enumerate(display.regions_):
        inside = region.get_paths()[0].contains_points(anywhere)
        np.testing.assert_array_equal(inside, model.predict(anywhere) == cluster)


def test_linear_boundary_of_many_features_is_a_vertical_line():
    X = blobs(6, 2)
    model = MaximinSeparationClustering(2).fit(X)
    display = BoundaryDisplay.from_estimator(model, X)
    at = vertices(display)[:, 0]
    assert np.ptp(at) < 1e-6 * np.ptp(display.points[:, 0])
    # on that scale the decision function is the distance to the line
    distance = model.decision_function(X) / np.linalg.norm(model.coef_)
    np.testing.assert_allclose(display.points[:, 0] - at.mean(), distance, atol=1e-6)
    assert display.ax_.get_xlabel() == "normal of the boundary"
    assert display.ax_.get_ylabel() == "leading principal component\northogonal to it"
    assert "regions: 100% of samples" in display.ax_.get_title(loc="right")


def test_second_axis_has_the_largest_variance_of_all_orthogonal_to_the_normal():
    X = blobs(5, 2)
    model = MaximinSeparationClustering(2).fit(X)
    plane = plane_across(model, X, cluster_scores(model, X), list("abcde"))
    np.testing.assert_allclose(plane.axes @ plane.axes.T, np.eye(2), atol=1e-12)
    normal = model.coef_[0] / np.linalg.norm(model.coef_)
    remover = np.eye(5) - np.outer(normal, normal)
    largest = np.linalg.eigvalsh(remover @ np.cov(X.T) @ remover)[-1]
    assert np.var(plane.project(X)[:, 1], ddof=1) == pytest.approx(largest)


def test_kernel_axis_predicts_the_scores_best():
    X = blobs(4, 2)
    model = MaximumMarginClustering(2, random_state=0).fit(X)
    plane = plane_across(model, X, cluster_scores(model, X), list("abcd"))
    decision, centred = model.decision_function(X), X - X.mean(axis=0)
    least_squares = np.linalg.lstsq(centred, decision - decision.mean(), rcond=None)[0]
    best = np.corrcoef(centred @ least_squares, decision)[0, 1] ** 2
    found = np.corrcoef(plane.project(X)[:, 0], decision)[0, 1] ** 2
    assert best - 1e-3 < found <= best
    errors = []
    for left_out in range(len(X)):
        kept = np.arange(len(X)) != left_out
        design = np.column_stack([np.ones(len(X)), centred])
        weights = np.linalg.lstsq(design[kept], decision[kept], rcond=None)[0]
        errors.append(decision[left_out] - design[left_out] @ weights)
    stated = float(re.search(r"R² = (0\.\d\d)", plane.names[0])[1])
    assert stated == pytest.approx(1 - np.mean(np.square(errors)) / np.var(decision), abs=0.006)


def test_axes_of_three_linear_clusters_span_all_directions_that_matter():
    """Nearest means: three boundaries whose normals lie in one plane, so nothing is lost."""
    X = blobs(7, 3)
    machine = MinimaxProbabilityMachine().fit(X, np.arange(len(X)) % 3)
    means = np.array([X[i::3].mean(axis=0) + 5 * np.eye(7)[i] for i in range(3)])
    machine._model = Boundaries.nearest(means).pairwise
    machine.coef_ = machine._model.coef
    display = BoundaryDisplay.from_estimator(machine, X)
    assert "100% of samples" in display.remark
    assert display.axis_names == (
        "first direction of the normals",
        "second direction of the normals",
    )


def test_no_regions_where_the_plane_would_lie():
    """Clusters inside and outside of a sphere are mixed in every plane projection."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 12))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    X[::2] *= 4
    model = MaximumMarginClustering(2, init=np.arange(200) % 2, balance=0.1, gamma=0.2, C=10)
    display = BoundaryDisplay.from_estimator(model.fit(X), X)
    assert display.grid_scores is None
    assert not display.regions_
    assert display.ax_.get_title(loc="right").startswith("no regions")


def test_many_samples_are_thinned_and_counted():
    X = blobs(2, 2, n_samples=1500)
    model = MaximinSeparationClustering(2).fit(X)
    one, other = (BoundaryDisplay.from_estimator(model, X, max_samples=99) for _ in range(2))
    np.testing.assert_array_equal(one.points, other.points)
    assert {tuple(point) for point in one.points} <= {tuple(x) for x in X}
    assert len(one.points) == sum(len(p.get_offsets()) for p in one.points_) == 99
    assert one.ax_.get_title(loc="right") == "99 of 1,500 samples"


def test_names_of_features_and_kinds_of_input():
    iris = load_iris(as_frame=True).data.iloc[:, :2]
    model = MaximinSeparationClustering(2).fit(iris)
    expected = BoundaryDisplay.from_estimator(model, iris)
    assert expected.ax_.get_xlabel() == iris.columns[0]
    assert expected.ax_.get_ylabel() == iris.columns[1]
    da = pytest.importorskip("dask.array")
    X = iris.to_numpy()
    model = MaximinSeparationClustering(2).fit(X)
    for samples in (sp.csr_matrix(X), da.from_array(X, chunks=40), X.tolist(), pd.DataFrame(X)):
        drawn = BoundaryDisplay.from_estimator(model, samples)
        np.testing.assert_allclose(drawn.points, expected.points)
        np.testing.assert_array_equal(drawn.labels, expected.labels)


@pytest.mark.parametrize(
    "model",
    [
        KMeans(3, n_init=1, random_state=0),
        make_pipeline(StandardScaler(), KMeans(3, n_init=1, random_state=0)),
        GaussianMixture(3, random_state=0),
    ],
)
def test_a_clusterer_that_only_predicts(model):
    X = pd.DataFrame(blobs(2, 3), columns=["a", "b"])
    labels = model.fit(X).predict(X)
    display = BoundaryDisplay.from_estimator(model, X)
    np.testing.assert_array_equal(display.labels, labels)
    assert len(display.regions_) == 3
    # only some of the clusters among the samples that are drawn
    few = BoundaryDisplay.from_estimator(model, X[labels == 1])
    assert set(few.labels) == {1}


@pytest.mark.parametrize("n_features", [2, 3])
def test_one_cluster_and_constant_data_are_drawn_without_a_line(n_features):
    for X in (blobs(n_features, 2), np.ones((5, n_features))):
        model = MaximinSeparationClustering(1).fit(X)
        display = BoundaryDisplay.from_estimator(model, X)
        assert not display.boundaries_
        assert len(display.points_) == 1


def test_data_on_a_line_have_a_plane():
    X = np.outer(np.r_[0:5.0, 20:25.0], [1.0, 2.0, -1.0])
    display = BoundaryDisplay.from_estimator(MaximumMarginClustering(2, kernel="linear").fit(X), X)
    assert np.isfinite(display.points).all()
    assert np.ptp(display.points[:, 1]) < 1e-9


def test_what_has_no_plane_is_refused():
    X = blobs(3, 2)
    with pytest.raises(ValueError, match="n_features=1"):
        BoundaryDisplay.from_estimator(KernelKMeans(2).fit(X[:, :1]), X[:, :1])
    model = KernelKMeans(2, kernel="precomputed").fit(X @ X.T)
    with pytest.raises(ValueError, match="precomputed"):
        BoundaryDisplay.from_estimator(model, X @ X.T)


def test_leads_are_own_score_less_the_best_other():
    scores = np.array([[3.0, 1.0, -np.inf], [0.5, 2.0, 4.0]])
    found = leads(scores)
    np.testing.assert_allclose(found[:, :2], [[2, -2], [-3.5, -2]])
    assert found[1, 2] == 2
    assert np.isfinite(found).all()
    assert found[0, 2] < -1e300


def test_tensors_are_drawn_like_arrays():
    torch = pytest.importorskip("torch")
    X = blobs(4, 2)
    expected = BoundaryDisplay.from_estimator(MaximinSeparationClustering(2).fit(X), X)
    with config_context(array_api_dispatch=True):
        tensor = torch.asarray(X)
        model = MaximinSeparationClustering(2).fit(tensor)
        drawn = BoundaryDisplay.from_estimator(model, tensor)
    np.testing.assert_allclose(drawn.points, expected.points, atol=1e-6)
    np.testing.assert_array_equal(drawn.labels, expected.labels)
