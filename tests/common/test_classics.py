"""What every classic method keeps to: the contract of the library."""

import inspect
import pickle
import warnings

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning

from separatrix.classics.discriminative_kmeans import DiscriminativeKMeans
from separatrix.classics.kernel_kmeans import KernelKMeans
from separatrix.classics.lda_kmeans import LDAKMeans
from separatrix.classics.mutual_information import SquaredLossMutualInformationClustering
from separatrix.classics.tree_cut import TreeCutClustering

MEANS = [KernelKMeans, DiscriminativeKMeans, LDAKMeans]
CLASSICS = [*MEANS, SquaredLossMutualInformationClustering, TreeCutClustering]

every_classic = pytest.mark.parametrize("estimator", CLASSICS)
every_kmeans = pytest.mark.parametrize("estimator", MEANS)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@every_classic
@pytest.mark.parametrize("n_clusters", [1, 2, 3])
def test_contract_of_a_fit(estimator, n_clusters, iris):
    X, y = iris
    model = estimator(n_clusters)
    parameters = clone(model).get_params()
    model.fit(X, np.random.default_rng(0).permutation(y))
    assert model.get_params() == parameters
    sizes = np.bincount(model.labels_, minlength=n_clusters)
    assert len(sizes) == n_clusters
    assert (np.diff(sizes) <= 0).all()
    assert len(model.history_) >= (n_clusters > 1)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(clone(model).fit(X).labels_, model.labels_)  # y was ignored
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(X + 0.1), model.predict(X + 0.1))
    shape = (len(X),) if n_clusters <= 2 else (len(X), n_clusters)
    assert model.decision_function(X).shape == shape


@every_classic
def test_only_the_first_parameter_is_positional(estimator):
    parameters = inspect.signature(estimator).parameters.values()
    assert [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY] == ["n_clusters"]


@every_classic
def test_order_of_samples_does_not_matter(estimator):
    X, _ = make_blobs(90, 4, centers=3, cluster_std=2.0, random_state=1)
    order = np.random.default_rng(0).permutation(len(X))
    model = estimator(3).fit(X)
    if estimator is SquaredLossMutualInformationClustering:  # its folds are drawn by position
        model = estimator(3, n_neighbors=7).fit(X)
    shuffled = clone(model).fit(X[order])
    np.testing.assert_array_equal(shuffled.labels_, model.labels_[order])


@every_classic
@settings(max_examples=15, deadline=None, derandomize=True)
@given(
    X=arrays(
        np.float64,
        st.tuples(st.integers(4, 14), st.integers(1, 4)),
        elements=st.integers(-2, 2).map(float),
    ),
    n_clusters=st.integers(2, 4),
    dtype=st.sampled_from([np.float64, np.float32, np.int64]),
)
def test_ties_copies_and_constants(estimator, X, n_clusters, dtype):
    """Awkward samples have labels that new samples can have too, or there is a clear word."""
    X = X.astype(dtype)
    model = estimator(n_clusters)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X)
    assert {warning.category for warning in caught} <= {ConvergenceWarning}
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    if len(np.unique(model.labels_)) < n_clusters:
        assert "Fewer clusters" in str(caught[0].message)


@every_classic
def test_missing_clusters_are_told(estimator):
    X = np.repeat([[0.0, 0.0], [1.0, 2.0]], [6, 4], axis=0)
    model = estimator(3)
    with pytest.warns(ConvergenceWarning, match="Fewer clusters"):
        model.fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert len(np.unique(model.labels_)) == 2


@every_classic
def test_constant_samples_are_told(estimator):
    with pytest.warns(ConvergenceWarning, match="Fewer clusters"):
        estimator(2).fit(np.ones((8, 3)))


@every_classic
@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_units_do_not_matter(estimator, scale):
    """All of them measure in units of their own, so a unit for all features changes nothing."""
    X, _ = make_blobs(60, 3, centers=3, random_state=0)
    np.testing.assert_array_equal(estimator(3).fit(scale * X).labels_, estimator(3).fit(X).labels_)


@every_kmeans
def test_values_whose_squares_overflow_are_refused(estimator):
    X = 1e200 * np.random.default_rng(0).normal(size=(20, 2))
    model = KernelKMeans(2, kernel="linear") if estimator is KernelKMeans else estimator(2)
    with pytest.raises(ValueError, match="too large"):
        model.fit(X)


@pytest.mark.parametrize(
    "model",
    [
        KernelKMeans(3, kernel="linear"),
        KernelKMeans(3),
        DiscriminativeKMeans(3),
        DiscriminativeKMeans(3, kernel="rbf"),
        LDAKMeans(3),
    ],
)
def test_weights_are_repetitions(model, iris):
    X = iris[0][::2]
    weights = np.random.default_rng(0).integers(0, 4, len(X))
    repeated = clone(model).fit(np.repeat(X, weights, axis=0))
    model = clone(model).fit(X, sample_weight=weights)
    np.testing.assert_array_equal(model.predict(X), repeated.predict(X))
    assert model.objective_ == pytest.approx(repeated.objective_, rel=1e-6)


@every_kmeans
@pytest.mark.parametrize("chunks", [(200,), (13, 187)])
def test_dask_arrays_give_the_same(estimator, chunks):
    X, _ = make_blobs(200, 4, centers=3, cluster_std=3.0, random_state=2)
    local = estimator(3).fit(X)
    lazy = estimator(3).fit(da.from_array(X, chunks=(chunks, -1)))
    np.testing.assert_array_equal(lazy.labels_, local.labels_)
    assert lazy.objective_ == pytest.approx(local.objective_, rel=1e-9)


@every_kmeans
def test_sparse_samples_give_the_same(estimator):
    rng = np.random.default_rng(0)
    rates = np.where(np.arange(12) // 4 == np.arange(3)[:, None], 3.0, 0.3)
    X = rng.poisson(rates[np.arange(90) % 3]).astype(float)
    dense, sparse = estimator(3).fit(X), estimator(3).fit(sp.csr_array(X))
    np.testing.assert_array_equal(sparse.labels_, dense.labels_)
    np.testing.assert_array_equal(sparse.predict(sp.csr_array(X)), sparse.labels_)
    assert sparse.objective_ == pytest.approx(dense.objective_, rel=1e-6)


@every_kmeans
def test_a_start_by_labels_is_checked(estimator, iris):
    X, y = iris
    with pytest.raises(ValueError, match=r"init has shape \(149,\) but X has 150 samples"):
        estimator(3, init=y[1:]).fit(X)
    with pytest.raises(ValueError, match="init must use each label from 0 to n_clusters-1=2"):
        estimator(3, init=y % 2).fit(X)


@every_kmeans
def test_more_starts_are_never_worse(estimator, iris):
    X, _ = iris
    sign = 1 if estimator._maximizes else -1
    one = estimator(5).fit(X).objective_
    several = estimator(5, n_init=6, random_state=0).fit(X).objective_
    assert sign * several >= sign * one * (1 - sign * 1e-12)


@every_kmeans
def test_too_few_updates_are_told(estimator):
    X = np.random.default_rng(0).normal(size=(300, 4))
    start = np.arange(300) % 5
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        estimator(5, init=start, max_iter=1).fit(X)


@every_kmeans
def test_many_samples_start_from_a_sample_of_them(estimator):
    """Beyond 20,000 samples the start is drawn, but the answer is one for all samples."""
    X, y = make_blobs(21_000, 2, centers=[[0, 0], [30, 0], [0, 30]], random_state=0)
    model = estimator(3, random_state=0, tol=0).fit(X)
    # groups thirty standard deviations apart: nobody is in doubt
    for group in range(3):
        assert len(np.unique(model.labels_[y == group])) == 1
    np.testing.assert_array_equal(model.predict(X), model.labels_)
