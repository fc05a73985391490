"""Degenerate, tied, flat and otherwise awkward data: a right answer or a clear word."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from separatrix import MaximinSeparationClustering, MinimaxProbabilityMachine
from separatrix.solvers.minimax import minimax_direction

GOOD = np.random.default_rng(0).normal(size=(20, 3))
TWO_POINTS = np.repeat([[0.0, 0.0], [1.0, 2.0]], [6, 4], axis=0)
BALANCED = np.array([[1.0, 1, 0], [-1, -1, 0], [1, -1, 1], [-1, 1, -1]] * 3)


@pytest.mark.parametrize("solver", ["mpm", "gep", "eig"])
@pytest.mark.parametrize("init", ["k-means", "random"])
def test_missing_clusters_are_told_by_splits(solver, init):
    for seed in range(4):
        model = MaximinSeparationClustering(
            3, solver=solver, multiway="bisection", init=init, random_state=seed
        )
        with pytest.warns(ConvergenceWarning, match="Fewer clusters"):
            model.fit(TWO_POINTS)
        np.testing.assert_array_equal(model.predict(TWO_POINTS), model.labels_)


def test_one_cluster_left_is_told_without_other_warnings():
    X = np.repeat([[0.0, 0.0], [1.0, 2.0]], 5, axis=0)
    model = MaximinSeparationClustering(3, init="random", random_state=2)
    with pytest.warns(ConvergenceWarning, match="Fewer clusters") as caught:
        model.fit(X)
    assert len(caught) == 1


def test_random_starts_are_distinct_samples():
    X = np.repeat([[0.0, 0.0], [1.0, 2.0]], 5, axis=0)
    for seed in range(10):
        model = MaximinSeparationClustering(init="random", random_state=seed).fit(X)
        assert len(np.unique(model.labels_)) == 2


def test_splits_never_lose_a_cluster_in_silence():
    X = np.array([[-1.0], [0], [0], [2], [-3], [1], [1], [1], [-1]])
    model = MaximinSeparationClustering(3, solver="eig", reg=0.1).fit(X)
    assert len(np.unique(model.labels_)) == 3


@pytest.mark.parametrize("solver", ["mpm", "eig"])
def test_max_iter_does_not_limit_splits(solver):
    model = MaximinSeparationClustering(5, solver=solver, multiway="bisection", max_iter=3)
    X = np.repeat(np.arange(5.0), 8)[:, None] * 10 + np.random.default_rng(0).normal(size=(40, 1))
    assert len(np.unique(model.fit(X).labels_)) == 5


@pytest.mark.parametrize("flip", [1, -1])
def test_samples_on_the_boundary_are_predicted_as_labelled(flip):
    X = flip * np.array([[-3.0], [0], [1], [1], [1]])
    model = MaximinSeparationClustering(solver="eig").fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_samples_on_boundaries_of_three_clusters():
    """Also on those of fits that lose a cluster."""
    X = np.array([[-1.0], [0], [1], [0], [-2], [1], [0], [0], [-2], [1], [0], [-1], [1], [-1]])
    for seed in range(20):
        model = MaximinSeparationClustering(3, init="random", reg=10, random_state=seed).fit(X)
        np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("rank", [3, 8])
@pytest.mark.parametrize("reg", [0.01, 0.3, 1.0])
def test_wide_data_of_low_rank(rank, reg):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(60, rank)) @ rng.normal(size=(rank, 2100))
        model = MaximinSeparationClustering(reg=reg).fit(X)
        np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_wide_data_with_equal_means():
    X = np.hstack([BALANCED, np.zeros((12, 2100))])
    model = MaximinSeparationClustering(init=[0, 0, 1, 1] * 3).fit(X)
    assert np.isfinite(model.coef_).all()


def test_lower_bound_of_equal_means():
    model = MaximinSeparationClustering(init=[0, 0, 1, 1] * 3, solver="gep").fit(BALANCED)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()


def test_lower_bound_needs_a_regular_covariance():
    X = np.hstack([GOOD, GOOD[:, :1]])
    with pytest.raises(ValueError, match="reg=0"):
        MaximinSeparationClustering(reg=0, solver="gep").fit(X)


def test_samples_without_weight_do_not_move_the_cut():
    X = np.array([[0.0], [1], [10], [11], [6.4]])
    weighted = MaximinSeparationClustering(solver="gep").fit(X, sample_weight=[1, 1, 1, 1, 0])
    absent = MaximinSeparationClustering(solver="gep").fit(X[:4])
    np.testing.assert_allclose(weighted.intercept_, absent.intercept_)


def test_weights_next_to_nothing_make_no_cluster():
    weight = np.r_[np.full(5, 1e-20), np.ones(15)]
    model = MaximinSeparationClustering(init=[0] * 5 + [1] * 15)
    with pytest.raises(ValueError, match="init must use each label"):
        model.fit(GOOD, sample_weight=weight)


def test_init_of_two_dimensions_is_named():
    with pytest.raises(ValueError, match="init"):
        MaximinSeparationClustering(init=np.zeros((20, 2))).fit(GOOD)


def test_kernel_of_zeros_is_one_cluster_with_a_warning():
    with pytest.warns(ConvergenceWarning, match="1 distinct sample"):
        model = MaximinSeparationClustering(kernel="precomputed").fit(np.zeros((20, 20)))
    assert not model.labels_.any()


def test_huge_values_are_named_without_other_warnings():
    with pytest.raises(ValueError, match=r"X has values up to .* too large"):
        MaximinSeparationClustering().fit(GOOD * 1e200)


@pytest.mark.parametrize("seed", range(20))
def test_one_set_may_be_flat(seed):
    """Without regularisation, if only the sum of the covariances is regular."""
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(2, 5)) + 1, rng.normal(size=(12, 5))
    S, T = np.cov(A.T, bias=True), np.cov(B.T, bias=True)
    direction = minimax_direction(S, T, A.mean(axis=0) - B.mean(axis=0))
    assert np.isfinite(direction.kappa)


def test_classes_may_be_floats():
    y = np.arange(20) % 2 + 3e9
    model = MinimaxProbabilityMachine().fit(GOOD, y)
    assert model.predict(GOOD).dtype == y.dtype
    assert np.isin(model.predict(GOOD), y).all()


def test_classifier_names_constant_data():
    with pytest.raises(ValueError, match="X is constant"):
        MinimaxProbabilityMachine().fit(np.ones((20, 3)), np.arange(20) % 2)
