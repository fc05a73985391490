"""AutoClustering of samples that are not in memory: dask arrays, and blocks that are read."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import make_blobs

from separatrix import AutoClustering
from separatrix.selection import auto
from separatrix.selection.consensus import family_weights, vote_shares
from separatrix.tables import RowBlocks

da = pytest.importorskip("dask.array")

pytestmark = pytest.mark.usefixtures("few_tables")


@pytest.fixture(scope="module")
def samples():
    X, _ = make_blobs([500, 300, 100], n_features=3, cluster_std=1.5, random_state=0)
    return X


def as_dask(X):
    return da.from_array(X, chunks=((150, 400, len(X) - 550), X.shape[1]))


def as_blocks(X, dtype=np.float64):
    return RowBlocks(lambda: iter([X[:150], X[150:550], X[550:]]), X.shape, dtype)


@pytest.fixture(scope="module")
def fitted(samples):
    """Fits to 400 of the samples, as a dask array and as blocks."""
    model = AutoClustering(3, max_samples=400)
    return model.fit(as_dask(samples)), AutoClustering(3, max_samples=400).fit(as_blocks(samples))


def test_samples_that_all_are_seen_have_the_labels_of_an_array(samples):
    expected = AutoClustering(3).fit(samples)
    for X in (as_dask(samples), as_blocks(samples)):
        model = AutoClustering(3).fit(X)
        assert_array_equal(np.asarray(model.labels_), expected.labels_)
        np.testing.assert_allclose(np.asarray(model.confidence_), expected.confidence_)


def test_dask_and_blocks_agree(samples, fitted):
    of_dask, of_blocks = fitted
    assert_array_equal(of_dask.labels_.compute(), of_blocks.labels_)
    np.testing.assert_allclose(of_dask.confidence_.compute(), of_blocks.confidence_)
    assert len(of_dask.sample_indices_) == 400
    sizes = np.bincount(of_blocks.labels_)
    assert (np.diff(sizes) <= 0).all(), "the largest cluster of all samples is not the first"


def test_answers_are_lazy_and_those_of_an_array(samples, fitted):
    of_dask, of_blocks = fitted
    for method in ("predict", "decision_function", "predict_proba", "transform"):
        lazy = getattr(of_dask, method)(as_dask(samples))
        assert isinstance(lazy, da.Array), method
        expected = getattr(of_dask, method)(samples)
        assert lazy.shape == expected.shape, method
        np.testing.assert_allclose(lazy.compute(), expected, err_msg=method)
        read = getattr(of_blocks, method)(as_blocks(samples))
        np.testing.assert_allclose(read, expected, err_msg=method)
    assert_array_equal(of_dask.labels_.compute(), of_dask.predict(samples))


def test_samples_that_were_seen_keep_their_votes(fitted):
    of_dask, _ = fitted
    seen, found = of_dask.sample_indices_, of_dask.candidates_
    labels, used = of_dask.labels_.compute()[seen], np.flatnonzero(found.usable)
    weights = family_weights([found.families[i] for i in used])
    shares = vote_shares(labels, found.labels[used], weights, 3)[np.arange(len(seen)), labels]
    np.testing.assert_allclose(of_dask.confidence_.compute()[seen], shares)


def test_blocks_of_single_precision(samples):
    X = samples.astype(np.float32)
    model = AutoClustering(3, max_samples=400).fit(as_blocks(X, np.float32))
    assert_array_equal(model.predict(X), model.labels_)


def test_never_more_samples_than_asked_for_are_in_memory(samples, monkeypatch):
    """Those for the candidates and for the boundary are read together."""
    monkeypatch.setattr(auto, "REFITTED_ROWS", 50)
    taken = []
    rows = RowBlocks.rows

    def counted(self, drawn=None):
        taken.append(self.shape[0] if drawn is None else len(drawn))
        return rows(self, drawn)

    monkeypatch.setattr(RowBlocks, "rows", counted)
    AutoClustering(max_samples=100).fit(as_blocks(samples))
    (n_taken,) = taken
    assert 100 < n_taken <= 150


def test_what_concerns_all_samples_takes_them_into_memory(samples):
    model = AutoClustering(3, max_size=310).fit(as_dask(samples))
    assert np.bincount(model.labels_).max() <= 310
    outliers = AutoClustering(3, outliers=0.02).fit(as_blocks(samples))
    assert (outliers.labels_ == -1).any()


def test_weights_of_zero_are_not_seen(samples):
    weight = np.where(np.arange(len(samples)) < 600, 1.0, 0.0)
    model = AutoClustering(3, max_samples=100).fit(as_dask(samples), sample_weight=weight)
    assert model.sample_indices_.max() < 600


def test_refits_keep_numbers_and_copies_are_in_memory(samples, fitted):
    of_dask, _ = fitted
    copy = pickle.loads(pickle.dumps(of_dask))
    assert isinstance(copy.labels_, np.ndarray)
    assert isinstance(copy.confidence_, np.ndarray)
    labels = copy.labels_
    # other sizes, by which the clusters would be numbered otherwise
    fewer = np.concatenate([np.flatnonzero(labels == 0)[:50], np.flatnonzero(labels > 0)])
    copy.set_params(warm_start=True).fit(da.from_array(samples[fewer], chunks=(100, 3)))
    assert np.mean(copy.labels_.compute() == labels[fewer]) > 0.9
