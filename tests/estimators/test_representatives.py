"""Methods on graphs and trees of samples that are not in memory: some represent all."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs

from separatrix import (
    MaximumVolumeClustering,
    SquaredLossMutualInformationClustering,
    TreeCutClustering,
)
from separatrix.estimators import representatives
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


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(representatives, "N_REPRESENTATIVES", 80)


def as_dask(X):
    return da.from_array(X, chunks=((50, 130, len(X) - 180), X.shape[1]))


def as_blocks(X):
    return RowBlocks(lambda: iter([X[:50], X[50:180], X[180:]]), X.shape)


@over_methods
def test_few_samples_have_the_labels_of_an_array(method, samples):
    expected = method(3).fit(samples).labels_
    for X in (as_dask(samples), as_blocks(samples)):
        assert_array_equal(np.asarray(method(3).fit(X).labels_), expected)


@over_methods
@pytest.mark.usefixtures("few")
def test_other_samples_follow_the_representatives(method, samples):
    model = method(3).fit(as_dask(samples))
    chosen = model.representatives_
    assert len(chosen) == len(np.unique(chosen)) == 80
    alone = method(3).fit(samples[chosen])
    assert_array_equal(model.labels_.compute(), alone.predict(samples))
    assert_array_equal(method(3).fit(as_blocks(samples)).labels_, alone.predict(samples))
    for asked in ("predict", "decision_function", "transform", "predict_proba"):
        found, expected = getattr(model, asked)(as_dask(samples)), getattr(alone, asked)(samples)
        assert isinstance(found, da.Array), asked
        assert found.shape == expected.shape, asked
        assert_allclose(found.compute(), expected, err_msg=asked)


@over_methods
@pytest.mark.usefixtures("few")
def test_copies_of_models_hold_labels_in_memory(method, samples):
    model = method(2).fit(as_dask(samples))
    copy = pickle.loads(pickle.dumps(model))
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
