"""Regularised least-squares clustering of odd, large, sparse, lazy and moved data."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel

from least_squares_support import (
    KERNELS,
    SOLVERS,
    bounded_modes,
    corners,
    criterion,
    loss_matrix,
    plus_minus,
    refitted_without_each,
)
from separatrix import RegularizedLeastSquaresClustering
from separatrix.criteria import least_squares
from separatrix.criteria.least_squares import LeastSquaresProblem
from separatrix.solvers.flips import hat_matrix
from support import fit_quietly, groups, same_partition

# Odd data


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_as_many_clusters_as_samples(kernel, solver):
    """In the Gaussian kernel each sample is a cluster of its own."""
    X = np.random.default_rng(0).normal(size=(6, 8))
    for shares in ("free", "equal"):
        model = RegularizedLeastSquaresClustering(6, kernel=kernel, solver=solver, shares=shares)
        model.fit(X)
        np.testing.assert_array_equal(np.sort(model.labels_), np.arange(6))
        np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_one_cluster():
    X = groups()
    model = RegularizedLeastSquaresClustering().fit(X)
    model.set_params(n_clusters=1).fit(X)
    np.testing.assert_array_equal(model.labels_, np.zeros(60))
    np.testing.assert_array_equal(model.predict(X[:7]), np.zeros(7))
    np.testing.assert_array_equal(model.decision_function(X[:7]), np.zeros(7))
    assert np.isnan([model.objective_, model.gamma_, model.reg_]).all()
    assert (model.n_iter_, model.n_moves_) == (1, 0)
    fresh = RegularizedLeastSquaresClustering(1).fit(X)
    assert set(vars(model)) == set(vars(fresh))  # nothing is left of the earlier fit


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian"])
def test_two_samples(kernel, solver):
    X = np.array([[0.0, 1.0], [2.0, 5.0]])
    model = RegularizedLeastSquaresClustering(kernel=kernel, solver=solver).fit(X)
    np.testing.assert_array_equal(model.labels_, [0, 1])
    np.testing.assert_array_equal(model.predict(X), [0, 1])


@pytest.mark.parametrize("n_clusters", [2, 3])
def test_duplicates_stay_together(n_clusters):
    distinct = np.random.default_rng(0).normal(size=(9, 2))
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(9), 7))
    model, _ = fit_quietly(RegularizedLeastSquaresClustering(n_clusters), distinct[rows])
    assert len({(row, label) for row, label in zip(rows, model.labels_, strict=True)}) == 9
    assert len(np.unique(model.labels_)) == n_clusters


@pytest.mark.parametrize("max_samples", [5, 2000])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("value", [0.0, 1.0, 1e8])
def test_constant_data_are_not_silent(value, kernel, max_samples):
    X = np.full((20, 3), value)
    for n_clusters in (2, 3):
        model = RegularizedLeastSquaresClustering(
            n_clusters, kernel=kernel, max_samples=max_samples, reg=1e-3 * max(1.0, value) ** 6
        )
        with pytest.warns(ConvergenceWarning, match="Fewer clusters were found"):
            model.fit(X)
        np.testing.assert_array_equal(model.labels_, np.zeros(20))


def test_a_kernel_that_is_zero_is_refused_for_large_data():
    with pytest.raises(ValueError, match="is zero for all samples"):
        RegularizedLeastSquaresClustering(kernel=lambda a, b: 0.0, max_samples=5).fit(corners()[0])


@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian"])
@pytest.mark.parametrize("max_samples", [40, 2000])
def test_single_precision_finds_the_same_labels(max_samples, kernel):
    X, _ = corners()
    params = {"kernel": kernel, "max_samples": max_samples}
    double = RegularizedLeastSquaresClustering(3, **params).fit(X)
    single = RegularizedLeastSquaresClustering(3, **params).fit(X.astype(np.float32))
    np.testing.assert_array_equal(single.labels_, double.labels_)
    np.testing.assert_array_equal(single.predict(X.astype(np.float32)), single.labels_)
    assert single.labels_.dtype == np.int32
    if kernel != "laplacian":  # scikit-learn has it in double precision only
        assert single.decision_function(X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("max_samples", [40, 2000])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("shares", ["free", "equal"])
@pytest.mark.parametrize("n_clusters", [2, 3])
def test_sparse_equals_dense(n_clusters, shares, kernel, max_samples):
    rng = np.random.default_rng(0)
    rates = np.where(np.kron(np.eye(n_clusters), np.ones(4)), 3.0, 0.1)
    X = rng.poisson(rates[np.arange(80) % n_clusters]).astype(float)
    X += (X > 0) * rng.uniform(0, 0.1, size=X.shape)
    params = {"kernel": kernel, "max_samples": max_samples, "shares": shares}
    dense = RegularizedLeastSquaresClustering(n_clusters, **params).fit(X)
    thin = RegularizedLeastSquaresClustering(n_clusters, **params).fit(sparse.csr_array(X))
    np.testing.assert_array_equal(thin.labels_, dense.labels_)
    assert thin.objective_ == pytest.approx(dense.objective_)
    for model, rows in ((thin, sparse.csr_array(X)), (thin, X), (dense, sparse.csr_array(X))):
        np.testing.assert_array_equal(model.predict(rows), dense.labels_)
        if shares == "free":  # starts that find the same clusters may differ in their offsets
            np.testing.assert_allclose(
                model.decision_function(rows), dense.decision_function(X), atol=1e-6
            )


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_feature_names_are_kept(kernel):
    pd = pytest.importorskip("pandas")
    X, _ = corners()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = RegularizedLeastSquaresClustering(3, kernel=kernel).fit(frame)
    np.testing.assert_array_equal(model.feature_names_in_, ["a", "b", "c"])
    expected = RegularizedLeastSquaresClustering(3, kernel=kernel).fit(X).labels_
    np.testing.assert_array_equal(model.labels_, expected)
    np.testing.assert_array_equal(model.predict(frame), expected)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["b", "a", "c"]])


@pytest.mark.parametrize("max_samples", [40, 2000])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("shares", ["free", [0.5, 0.3, 0.2]])
def test_fitting_keeps_parameters_and_models_travel(shares, kernel, max_samples):
    X = groups(9, n=70, n_groups=3)
    model = RegularizedLeastSquaresClustering(
        3, kernel=kernel, shares=shares, max_samples=max_samples
    )
    params = model.get_params()
    model.fit(X)
    assert model.get_params() == params
    new = groups(10)
    there = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(there.predict(X), model.labels_)
    np.testing.assert_array_equal(there.decision_function(new), model.decision_function(new))
    again = clone(model).fit(X)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    assert again.history_ == model.history_
    np.testing.assert_array_equal(again.fit_predict(X), model.labels_)


@pytest.mark.parametrize("max_samples", [40, 2000])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("n_clusters", [1, 2, 3])
def test_dask_equals_local(n_clusters, kernel, max_samples):
    da = pytest.importorskip("dask.array")
    X = groups(11, n=90, n_groups=3)
    params = {"kernel": kernel, "max_samples": max_samples, "shares": "equal"}
    local = RegularizedLeastSquaresClustering(n_clusters, **params).fit(X)
    for chunks in (90, 45, (49, 1, 40)):
        lazy = da.from_array(X, chunks=(chunks, 4))
        model = RegularizedLeastSquaresClustering(n_clusters, **params).fit(lazy)
        np.testing.assert_array_equal(model.labels_, local.labels_)
        predicted, decision = model.predict(lazy), model.decision_function(lazy)
        assert isinstance(predicted, da.Array)
        assert isinstance(decision, da.Array)
        np.testing.assert_array_equal(predicted.compute(), local.labels_)
        assert decision.shape == local.decision_function(X).shape
        np.testing.assert_allclose(decision.compute(), local.decision_function(X), atol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_dask_arrays_with_holes_are_refused(value, kernel):
    """Whether or not the sample is one of those that are searched."""
    da = pytest.importorskip("dask.array")
    X = groups(n=60)
    params = {"kernel": kernel, "max_samples": 20}
    searched = RegularizedLeastSquaresClustering(**params).fit(X).sample_indices_
    for row in (searched[0], np.setdiff1d(np.arange(60), searched)[0]):
        holed = X.copy()
        holed[row, 1] = value
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            RegularizedLeastSquaresClustering(**params).fit(da.from_array(holed, chunks=(25, 4)))


@pytest.mark.parametrize("max_samples", [40, 2000])
@pytest.mark.parametrize("n_clusters", [1, 2, 3])
@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_other_arrays_get_the_same_labels(library, n_clusters, max_samples):
    xp = pytest.importorskip(library)
    X = groups(12, n=90, n_groups=3)
    params = {"kernel": "linear", "max_samples": max_samples, "shares": "equal"}
    local = RegularizedLeastSquaresClustering(n_clusters, **params).fit(X)
    rows = xp.asarray(X)
    with config_context(array_api_dispatch=True):
        model = RegularizedLeastSquaresClustering(n_clusters, **params).fit(rows)
        predicted = model.predict(rows)
    assert type(model.labels_) is type(rows) is type(model.coef_) is type(predicted)
    np.testing.assert_array_equal(np.asarray(model.labels_), local.labels_)
    np.testing.assert_array_equal(np.asarray(predicted), local.labels_)


@pytest.mark.parametrize("n_clusters", [2, 3])
def test_precomputed_and_callable_kernels_equal_the_named_one(n_clusters):
    X, new = groups(13, n=50, n_groups=3), groups(14, n=20)
    named = RegularizedLeastSquaresClustering(n_clusters, gamma=0.1, shares="equal").fit(X)
    given = RegularizedLeastSquaresClustering(n_clusters, kernel="precomputed", shares="equal")
    K = rbf_kernel(X, gamma=0.1)
    given.fit(K)
    np.testing.assert_array_equal(given.labels_, named.labels_)
    assert given.objective_ == pytest.approx(named.objective_)
    np.testing.assert_array_equal(given.predict(K), named.labels_)
    np.testing.assert_allclose(
        given.decision_function(rbf_kernel(new, X, gamma=0.1)),
        named.decision_function(new),
        atol=1e-9,
    )
    called = RegularizedLeastSquaresClustering(
        n_clusters, kernel=lambda a, b: np.exp(-0.1 * np.sum((a - b) ** 2)), shares="equal"
    ).fit(X)
    np.testing.assert_array_equal(called.labels_, named.labels_)
    assert np.isnan([called.gamma_, given.gamma_]).all()


def test_a_kernel_matrix_must_be_small_symmetric_and_dense():
    K = rbf_kernel(groups())
    with pytest.raises(ValueError, match="needs max_samples >= 60, the number of samples, got 59"):
        RegularizedLeastSquaresClustering(kernel="precomputed", max_samples=59).fit(K)
    RegularizedLeastSquaresClustering(kernel="precomputed", max_samples=60).fit(K)
    with pytest.raises(TypeError, match="dense array"):
        RegularizedLeastSquaresClustering(kernel="precomputed").fit(sparse.csr_array(K))
    K[0, 1] += 0.1
    with pytest.raises(ValueError, match="needs a symmetric matrix"):
        RegularizedLeastSquaresClustering(kernel="precomputed").fit(K)


# More samples than are searched


@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "laplacian"])
def test_the_classifiers_of_the_searched_samples_label_the_others(kernel, n_clusters):
    """Low-rank features of as many components as samples are the kernel."""
    X = np.abs(corners(15, n=150, n_groups=n_clusters, spread=2.0)[0])
    params = KERNELS[kernel]
    model = RegularizedLeastSquaresClustering(
        n_clusters, kernel=kernel, max_samples=50, n_components=50, random_state=3, **params
    ).fit(X)
    chosen = model.sample_indices_
    assert chosen.shape == (50,)
    assert (np.diff(chosen) > 0).all()
    assert chosen[0] >= 0
    assert chosen[-1] < 150
    assert (np.diff(chosen) > 1).any()  # not simply the first ones
    origin = X[chosen].mean(axis=0) if kernel == "linear" else 0.0
    ridge = KernelRidge(alpha=1.0, kernel=kernel, **params)
    targets = plus_minus(model.labels_[chosen], n_clusters)
    values = ridge.fit(X[chosen] - origin, targets).predict(X - origin)
    np.testing.assert_array_equal(values.argmax(axis=1), model.labels_)
    expected = values[:, 1] if n_clusters == 2 else values
    np.testing.assert_allclose(model.decision_function(X), expected, atol=2e-3)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    K = pairwise_kernels(X[chosen] - origin, metric=kernel, **params)
    left_out = refitted_without_each(K, targets, 1.0)
    left_out = left_out[:, 1] if n_clusters == 2 else left_out
    np.testing.assert_allclose(model.leave_one_out_scores_, left_out, atol=1e-8)
    A = loss_matrix(K, 1.0)
    assert model.objective_ == pytest.approx(criterion(A, targets.argmax(axis=1), n_clusters))


def test_a_sample_of_exactly_max_samples_is_searched_where_there_are_more():
    assert RegularizedLeastSquaresClustering().max_samples == 2000
    X = groups(n=100)
    for most, n_searched in [(20, 20), (99, 99), (100, 100), (101, 100)]:
        model = RegularizedLeastSquaresClustering(max_samples=most).fit(X)
        assert len(np.unique(model.sample_indices_)) == n_searched
        assert model.leave_one_out_scores_.shape == (n_searched,)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("mode", ["equal", "given", "between"])
def test_sizes_are_kept_by_the_samples_that_are_not_searched_too(mode, kernel):
    X = groups(16, n=203, n_groups=3, spread=2.0)
    params, sizes = bounded_modes(203, 3)[mode]
    for solver in SOLVERS:
        model = RegularizedLeastSquaresClustering(
            3, kernel=kernel, max_samples=40, solver=solver, **params
        ).fit(X)
        counts = np.bincount(model.labels_, minlength=3)
        assert (counts >= np.sort(sizes.least)[::-1]).all()
        assert (counts <= np.sort(sizes.most)[::-1]).all()
        np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("max_samples", [40, 2000])
def test_chance_comes_from_the_random_state_alone(max_samples):
    X = np.random.default_rng(0).normal(size=(90, 2))
    params = {"n_clusters": 4, "max_samples": max_samples, "solver": "stochastic", "n_init": 2}

    def outcome(random_state):
        model = RegularizedLeastSquaresClustering(**params, random_state=random_state).fit(X)
        return model.labels_.tolist(), model.sample_indices_.tolist(), model.objectives_.tolist()

    assert outcome(None) == outcome(None)
    assert outcome(1) == outcome(1)
    assert outcome(np.random.RandomState(1)) == outcome(1)
    assert outcome(1)[2] != outcome(2)[2]
    if max_samples == 40:
        assert outcome(1)[1] != outcome(2)[1]


# Invariances


@pytest.mark.parametrize("shares", ["free", "equal"])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly"])
def test_the_order_of_samples_does_not_matter_for_clear_groups(kernel, shares):
    X, truth = corners(n=90)
    order = np.random.default_rng(1).permutation(90)
    model = RegularizedLeastSquaresClustering(3, kernel=kernel, shares=shares).fit(X)
    shuffled = RegularizedLeastSquaresClustering(3, kernel=kernel, shares=shares).fit(X[order])
    assert same_partition(model.labels_, truth)
    assert same_partition(shuffled.labels_, truth[order])
    assert shuffled.objective_ == pytest.approx(model.objective_)
    # clusters of equal size are numbered as they appear
    for labels in (model.labels_, shuffled.labels_):
        firsts = [np.argmax(labels == cluster) for cluster in range(3)]
        assert firsts == sorted(firsts)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("max_samples", [40, 2000])
@pytest.mark.parametrize("origin", [10.0, 1e6])
def test_translations_do_not_matter(origin, max_samples, kernel):
    X, new = groups(17, n=80, n_groups=3), groups(18)
    params = {"kernel": kernel, "max_samples": max_samples, "shares": "equal"}
    model = RegularizedLeastSquaresClustering(3, **params).fit(X)
    moved = RegularizedLeastSquaresClustering(3, **params).fit(X + origin)
    np.testing.assert_array_equal(moved.labels_, model.labels_)
    assert moved.objective_ == pytest.approx(model.objective_, rel=1e-6)
    np.testing.assert_allclose(
        moved.decision_function(new + origin), model.decision_function(new), atol=1e-6
    )


@pytest.mark.parametrize("scale", [1e-8, 1e-3, 1e5])
def test_units_do_not_matter_for_a_width_by_distances(scale):
    X = groups(19, n=70, n_groups=3)
    expected = RegularizedLeastSquaresClustering(3).fit(X)
    model = RegularizedLeastSquaresClustering(3).fit(X * scale)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert model.objective_ == pytest.approx(expected.objective_)


@pytest.mark.parametrize("scale", [1e-2, 1e2])
def test_units_do_not_matter_for_the_linear_kernel_if_the_weight_of_norms_follows(scale):
    X = groups(20, n=70, n_groups=3)
    expected = RegularizedLeastSquaresClustering(3, kernel="linear").fit(X)
    model = RegularizedLeastSquaresClustering(3, kernel="linear", reg=scale**2).fit(X * scale)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert model.objective_ == pytest.approx(expected.objective_)


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_finds_groups_far_apart(solver):
    for n_clusters in (2, 3, 5):
        X, truth = corners(n=100, n_groups=n_clusters)
        model = RegularizedLeastSquaresClustering(n_clusters, solver=solver, n_init=20).fit(X)
        assert same_partition(model.labels_, truth)


def clouds_in_many_dimensions(n_samples=500, n_features=50, n_clusters=10):
    rng = np.random.default_rng(2)
    y = rng.integers(0, n_clusters, n_samples)
    centers = 0.3 * rng.standard_normal((n_clusters, n_features))
    return centers[y] + rng.standard_normal((n_samples, n_features)), y


def test_no_cluster_wins_all_samples_for_its_size_alone(monkeypatch):
    """The objective prefers uneven sizes where clusters overlap in many dimensions."""
    X, y = clouds_in_many_dimensions()
    model = RegularizedLeastSquaresClustering(10, n_init=2, random_state=0)
    mended = clone(model).fit(X)
    monkeypatch.setattr(least_squares, "MOST_AT_FLOOR", 10)
    collapsed = clone(model).fit(X)
    assert np.bincount(collapsed.labels_).max() > 3 * 50
    assert np.bincount(mended.labels_).max() < 2 * 50
    found = adjusted_rand_score(y, mended.labels_)
    assert found > 2 * adjusted_rand_score(y, collapsed.labels_)
    assert mended.objective_ == mended.history_[-1] > collapsed.objective_


def test_the_hat_matrix_without_sizes_knows_weights_as_repetition():
    rng = np.random.default_rng(0)
    Z, weight = rng.standard_normal((6, 3)), np.array([1.0, 2, 1, 3, 1, 1])
    copies = np.repeat(np.arange(6), weight.astype(int))
    once = SimpleNamespace(R=hat_matrix(Z @ Z.T, 1.0, weight), loss_weight=weight)
    K = Z[copies] @ Z[copies].T
    each = SimpleNamespace(R=hat_matrix(K, 1.0), loss_weight=None)
    of_nodes = LeastSquaresProblem.R_without_sizes.func(once)
    of_samples = LeastSquaresProblem.R_without_sizes.func(each)
    members = (copies[:, None] == np.arange(6)).astype(float)
    np.testing.assert_allclose(of_nodes, members.T @ of_samples @ members, atol=1e-12)
    assert of_samples.sum() == pytest.approx(0, abs=1e-10)
