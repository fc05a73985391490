"""Methods on graphs and trees of samples that are not in memory: few points stand for all."""

import pickle

import numpy as np
import pytest
import skops.io
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from separatrix import (
    MaximumVolumeClustering,
    SquaredLossMutualInformationClustering,
    TreeCutClustering,
    skops_trusted_types,
)
from separatrix.data.checkpoints import Checkpoint
from separatrix.estimators import representatives
from separatrix.similarity import landmarks
from separatrix.similarity.landmarks import centred_landmarks, shares_of
from separatrix.tables import RowBlocks

da = pytest.importorskip("dask.array")
METHODS = [
    MaximumVolumeClustering,
    SquaredLossMutualInformationClustering,
    TreeCutClustering,
]
over_methods = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.__name__)


@pytest.fixture(scope="module")
def samples():
    X, _ = make_blobs([150, 90, 60], n_features=3, cluster_std=0.7, random_state=4)
    return X


# Clusters of drawn samples, and of landmarks.
DRAWN = [
    TreeCutClustering(3),
    MaximumVolumeClustering(3, affinity="rbf", graph="full"),
    SquaredLossMutualInformationClustering(3, affinity="rbf"),
]
JOINED = [
    MaximumVolumeClustering(3),
    MaximumVolumeClustering(2, n_neighbors=5),
    MaximumVolumeClustering(3, multiway="bisection", graph="mutual"),
    MaximumVolumeClustering(3, solver="sqp", matrix="unnormalized"),
    MaximumVolumeClustering(3, affinity="cosine"),
    MaximumVolumeClustering(3, affinity="rbf", neighbors="approximate"),
    SquaredLossMutualInformationClustering(3),
    SquaredLossMutualInformationClustering(2, n_neighbors=8, normalize=False),
]
CHUNKS = {"one": (300,), "two": (299, 1), "seven": (20, 1, 77, 130, 33, 12, 27)}
over_drawn = pytest.mark.parametrize("estimator", DRAWN, ids=str)
over_joined = pytest.mark.parametrize("estimator", JOINED, ids=str)


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(representatives, "N_REPRESENTATIVES", 80)
    monkeypatch.setattr(representatives, "LEAST_LANDMARKS", 60)


def as_dask(X, chunks=None):
    chunks = (50, 130, len(X) - 180) if chunks is None else chunks
    return da.from_array(X, chunks=(chunks, X.shape[1]))


def as_blocks(X):
    return RowBlocks(lambda: iter([X[:50], X[50:180], X[180:]]), X.shape)


@over_methods
def test_few_samples_have_the_labels_of_an_array(method, samples):
    expected = method(3).fit(samples).labels_
    for X in (as_dask(samples), as_blocks(samples)):
        assert_array_equal(np.asarray(method(3).fit(X).labels_), expected)


@over_drawn
@pytest.mark.usefixtures("few")
def test_other_samples_follow_the_representatives(estimator, samples):
    model = clone(estimator).fit(as_dask(samples))
    chosen = model.representatives_
    assert len(chosen) == len(np.unique(chosen)) == 80
    assert not hasattr(model, "landmarks_")
    alone = clone(estimator).fit(samples[chosen])
    assert_array_equal(model.labels_.compute(), alone.predict(samples))
    assert_array_equal(clone(estimator).fit(as_blocks(samples)).labels_, alone.predict(samples))
    for asked in ("predict", "decision_function", "transform", "predict_proba"):
        found, expected = getattr(model, asked)(as_dask(samples)), getattr(alone, asked)(samples)
        assert isinstance(found, da.Array), asked
        assert found.shape == expected.shape, asked
        assert_allclose(found.compute(), expected, err_msg=asked)


@over_joined
@pytest.mark.usefixtures("few")
def test_labels_by_landmarks_do_not_depend_on_the_division(estimator, samples):
    model = clone(estimator).fit(as_blocks(samples))
    assert not hasattr(model, "representatives_")
    assert model.landmarks_.shape == (60, 3)
    for chunks in CHUNKS.values():
        found = clone(estimator).fit(as_dask(samples, chunks)).labels_
        assert isinstance(found, da.Array)
        assert_array_equal(found.compute(), model.labels_)


@pytest.mark.parametrize("n_clusters", [2, 3, 6])
@pytest.mark.usefixtures("few")
def test_rounding_decides_no_sign_of_eigenvectors(n_clusters):
    """Nor where kernels of landmarks have equal sums, so that eigenvectors have the sum zero."""
    X, _ = make_blobs(300, centers=6, n_features=3, cluster_std=4.0, random_state=0)
    method = SquaredLossMutualInformationClustering(n_clusters, n_neighbors=10)
    labels = [
        clone(method).fit(as_dask(X, chunks)).labels_.compute() for chunks in CHUNKS.values()
    ]
    assert_array_equal(labels[1], labels[0])
    assert_array_equal(labels[2], labels[0])


@over_joined
@pytest.mark.usefixtures("few")
def test_samples_have_the_mean_response_of_their_landmarks(estimator, samples):
    model = clone(estimator).fit(as_dask(samples))
    is_volume = hasattr(model, "response_")
    own = model.response_ if is_volume else model.probabilities_
    asked = model.decision_function if is_volume else model.predict_proba
    expected = shares_of(samples, model._model.graph.landmarks) @ own
    for X in (as_dask(samples), samples):
        assert_allclose(np.asarray(asked(X)), expected, atol=1e-12)
    clusters = expected > 0 if expected.ndim == 1 else expected.argmax(axis=1)
    assert_array_equal(model.labels_.compute(), clusters)
    assert_array_equal(model.predict(samples), clusters)
    assert (np.diff(np.bincount(clusters)) <= 0).all()


@over_joined
@pytest.mark.usefixtures("few")
def test_weights_of_samples_are_those_of_landmarks(estimator, samples):
    weight = np.where(samples[:, 0] > np.median(samples[:, 0]), 2.5, 0.5)
    model = clone(estimator).fit(as_dask(samples), sample_weight=weight)
    graph = model._model.graph
    expected = shares_of(samples, graph.landmarks).T @ weight
    assert_allclose(graph.counts, expected)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("method", METHODS[:2], ids=lambda method: method.__name__)
def test_samples_without_weight_change_no_landmark(method, samples):
    weight = np.r_[np.ones(len(samples)), np.zeros(50)]
    all_samples = np.vstack([samples, samples[:50] + 100.0])
    model = method(3).fit(as_blocks(all_samples), sample_weight=weight)
    assert_allclose(model._model.graph.counts.sum(), len(samples))
    assert model.landmarks_.max() < 50


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("method", METHODS[:2], ids=lambda method: method.__name__)
def test_landmarks_find_clusters(method):
    X, y = make_blobs([150, 90, 60], n_features=3, cluster_std=0.2, random_state=4)
    assert adjusted_rand_score(y, method(3).fit(as_blocks(X)).labels_) == 1.0


@pytest.mark.parametrize("method", METHODS[:2], ids=lambda method: method.__name__)
def test_landmarks_find_clusters_of_which_few_samples_are_drawn(method, monkeypatch):
    monkeypatch.setattr(representatives, "N_REPRESENTATIVES", 250)
    monkeypatch.setattr(representatives, "LEAST_LANDMARKS", 250)
    sizes = [2_000] * 2 + [80] * 12
    X, y = make_blobs(sizes, centers=8.0 * np.eye(14), cluster_std=1.0, random_state=0)
    labels = method(14).fit(as_blocks(X)).labels_
    monkeypatch.setattr(method, "_joins_landmarks", False)
    of_drawn = method(14).fit(as_blocks(X)).labels_
    assert adjusted_rand_score(y, of_drawn) < 0.6
    assert adjusted_rand_score(y, labels) > 0.9


@pytest.mark.usefixtures("few")
def test_fewer_distinct_samples_than_clusters_are_a_cluster_each(samples):
    X = np.repeat(samples[:3], 100, axis=0)
    for method in METHODS[:2]:
        with pytest.warns(ConvergenceWarning, match="3 distinct"):
            model = method(4).fit(as_blocks(X))
        assert len(np.unique(model.labels_)) == 3
        assert_array_equal(model.labels_, np.repeat(model.labels_[::100], 100))


@pytest.mark.usefixtures("few")
def test_landmarks_without_common_samples_are_told(samples):
    method = MaximumVolumeClustering(2, affinity="rbf", gamma=1e9)
    with pytest.raises(ValueError, match="all similarities between samples are zero"):
        method.fit(as_dask(samples))
    apart = np.vstack([samples, np.full((40, 3), 1e4) + np.arange(40)[:, None] // 20 * 1e3])
    with pytest.warns(UserWarning, match=r"2 of 59 landmarks have no sample in common"):
        method.set_params(gamma=1.0).fit(as_blocks(apart))


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("method", METHODS[:2], ids=lambda method: method.__name__)
def test_checkpoints_keep_the_sums_of_landmarks(method, samples, tmp_path, monkeypatch):
    def fitted():
        X = as_blocks(samples)
        X.checkpoint = Checkpoint(tmp_path / "kept", {})
        return method(3).fit(X)

    expected = method(3).fit(as_blocks(samples))
    assert_array_equal(fitted().labels_, expected.labels_)
    monkeypatch.delattr(landmarks, "shares_of")  # by which the sums were made
    resumed = fitted()
    assert_array_equal(resumed.labels_, expected.labels_)
    found, made = (model._model.graph.W for model in (resumed, expected))
    assert_array_equal(found.toarray(), made.toarray())


@pytest.mark.usefixtures("few")
def test_sums_of_landmarks_are_those_of_two_processes(samples):
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    expected = MaximumVolumeClustering(3).fit(as_blocks(samples)).labels_
    with (
        distributed.LocalCluster(processes=True, **options) as cluster,
        distributed.Client(cluster),
    ):
        model = MaximumVolumeClustering(3).fit(as_dask(samples, CHUNKS["seven"]))
        assert_array_equal(model.labels_.compute(), expected)


@pytest.mark.usefixtures("few")
def test_errors_of_samples_are_not_those_of_landmarks(samples):
    model = MaximumVolumeClustering(2).fit(as_dask(samples))
    with pytest.raises(ValueError, match="error_bound needs responses of samples"):
        model.error_bound([0, 1], [0, 200])


@over_joined
@pytest.mark.usefixtures("few")
def test_landmarks_that_no_sample_is_near_are_left_out(estimator, samples, monkeypatch):
    def with_a_far_one(*given):
        found = centred_landmarks(*given)
        return np.vstack([found[:20], [[-1e6, -1e6, -1e6]], found[20:]])

    monkeypatch.setattr(landmarks, "centred_landmarks", with_a_far_one)
    model = clone(estimator).fit(as_blocks(samples))
    monkeypatch.undo()
    assert np.abs(model.landmarks_).max() < 100
    assert (model._model.graph.counts > 0).all()


@pytest.mark.usefixtures("few")
def test_another_fit_keeps_the_numbers_of_clusters(samples):
    model = MaximumVolumeClustering(3, warm_start=True).fit(as_dask(samples))
    before = model.labels_.compute()
    assert_array_equal(model.fit(as_dask(samples[::-1].copy())).labels_.compute()[::-1], before)


@over_methods
@pytest.mark.usefixtures("few")
def test_copies_of_models_hold_labels_in_memory(method, samples):
    model = method(2).fit(as_dask(samples))
    saved = skops.io.loads(skops.io.dumps(model), trusted=skops_trusted_types(model))
    for copy in (pickle.loads(pickle.dumps(model)), saved):
        assert_array_equal(copy.labels_, model.labels_.compute())
        assert_array_equal(copy.predict(samples), copy.labels_)


@over_methods
def test_weights_are_those_of_an_array(method, samples):
    weight = np.where(np.arange(len(samples)) % 3 == 0, 0.0, 2.0)
    model = method(3).fit(as_dask(samples), sample_weight=weight)
    expected = method(3).fit(samples, sample_weight=weight)
    assert_array_equal(model.labels_.compute()[weight > 0], expected.labels_[weight > 0])


@pytest.mark.usefixtures("few")
def test_many_weights_say_how_often_a_sample_is_drawn(samples):
    weight = np.where(samples[:, 0] > np.median(samples[:, 0]), 1.0, 1e-9)
    model = TreeCutClustering(2).fit(as_dask(samples), sample_weight=weight)
    assert (weight[model.representatives_] == 1.0).all()


@over_methods
def test_what_concerns_all_samples_is_refused(method, samples):
    X = as_dask(samples)
    for parameter in ({"min_size": 10}, {"max_size": 200}, {"outliers": 0.1}):
        with pytest.raises(TypeError, match=rf"{next(iter(parameter))} needs all samples"):
            method(2, **parameter).fit(X)
    with pytest.raises(TypeError, match=r"known_labels needs all samples.*X\.compute"):
        method(2).fit(X, known_labels=np.full(len(samples), -1))
    with pytest.raises(TypeError, match=r"must_link needs all samples.*X\.rows"):
        method(2).fit(as_blocks(samples), must_link=[[0, 1]])


def test_similarities_are_refused(samples):
    with pytest.raises(TypeError, match="affinity='precomputed' needs all samples"):
        MaximumVolumeClustering(2, affinity="precomputed").fit(as_dask(samples))
