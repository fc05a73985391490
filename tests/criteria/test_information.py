"""Information maximisation against its definition, brute force and its invariances."""

import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit, log_softmax, softmax
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel

from separatrix import InformationMaximizationClustering
from separatrix.criteria.information import FIRST_LEADS
from separatrix.solvers.information_maximization import CentredRows, objective_of
from support import Recorder, fit_quietly, groups

OBJECTIVES = ["information", "mmd", "wasserstein"]
COMPARISONS = ["one-vs-all", "one-vs-one"]
every_objective = pytest.mark.parametrize("objective", OBJECTIVES)
every_comparison = pytest.mark.parametrize("comparison", COMPARISONS)


def unit_of(features, rotated=False):
    """Variance of a feature, or of a principal direction, averaged over the variance."""
    covariance = np.atleast_2d(np.cov(features.T, bias=True))
    variance = np.linalg.eigvalsh(covariance) if rotated else np.diag(covariance)
    return (variance**2).sum() / variance.sum()


def value_of(model, features, log_p):
    """The objective without its penalty, from probabilities."""
    n, n_clusters = log_p.shape
    unit = unit_of(features, rotated=model.kernel != "linear")
    rows = CentredRows.at_origin((features - features.mean(axis=0)) / np.sqrt(unit))
    weights = np.full(n, 1 / n)
    objective = objective_of(
        model.objective, model.comparison, rows, weights, n_clusters=n_clusters
    )
    return objective(log_p, weights)[0]


def penalized(model, X, coef, intercept):
    """The objective of a linear softmax of three or more clusters, penalty and all."""
    log_p = log_softmax(X @ coef.T + intercept, axis=1)
    return value_of(model, X, log_p) - model.reg_ * unit_of(X) * np.sum(coef**2)


# The objective and its maximum


@every_objective
@every_comparison
def test_the_objective_is_a_local_maximum(objective, comparison):
    X = groups(n=90, d=3, n_groups=3, spread=1.5)
    model = InformationMaximizationClustering(
        3, objective=objective, comparison=comparison, reg=0.05
    )
    model, _ = fit_quietly(model, X)
    best = penalized(model, X, model.coef_, model.intercept_)
    assert model.objective_ == pytest.approx(best, rel=1e-9)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-2, 1e-1):
        for _ in range(5):
            coef = model.coef_ + size * rng.normal(size=model.coef_.shape)
            intercept = (
                model.intercept_
                + size * rng.normal(size=3)
                - (coef - model.coef_) @ (X.mean(axis=0))
            )
            assert penalized(model, X, coef, intercept) <= best + 1e-6


@every_objective
def test_two_clusters_have_one_boundary(objective):
    """Of the two weights that it is the difference of, each is half of it up to the sign."""
    X = groups(n=80, d=3)
    model = InformationMaximizationClustering(objective=objective).fit(X)
    coef = np.vstack([-model.coef_, model.coef_]) / 2
    offset = np.r_[-model.intercept_, model.intercept_] / 2
    expected = penalized(model, X, coef, offset)
    assert model.objective_ == pytest.approx(expected, rel=1e-6)


@every_objective
@every_comparison
def test_the_objective_never_falls(objective, comparison):
    X = load_digits().data[:150]
    model = InformationMaximizationClustering(
        6, objective=objective, comparison=comparison, init="random", tol=0
    )
    model, _ = fit_quietly(model, X)
    assert len(model.history_) > 1
    assert (np.diff(model.history_) >= 0).all()
    assert model.objective_ == model.history_[-1]
    assert model.n_iter_ == len(model.history_)


def hard_values(model, X, n_clusters):
    """Objective without penalty of all labellings, with the labels of the best."""
    labellings = itertools.product(range(n_clusters), repeat=len(X) - 1)
    found = [
        (value_of(model, X, np.log(np.eye(n_clusters)[[0, *labels]] + 1e-300)), labels)
        for labels in labellings
    ]
    value, labels = max(found)
    return value, np.array([0, *labels])


@every_objective
@pytest.mark.parametrize(("n", "n_clusters"), [(8, 2), (6, 3)])
def test_no_soft_labels_beat_the_best_hard_ones(objective, n, n_clusters):
    """Mean distances from all samples are convex in the probabilities: vertices are best."""
    for seed in range(3):
        X = np.random.default_rng(seed).normal(size=(n, 2))
        model = InformationMaximizationClustering(n_clusters, objective=objective, reg=1e-4)
        model, _ = fit_quietly(model, X)
        assert model.objective_ <= hard_values(model, X, n_clusters)[0] + 1e-9


@every_objective
@pytest.mark.parametrize("n_clusters", [2, 3])
def test_clear_groups_are_the_best_labelling(objective, n_clusters):
    rng = np.random.default_rng(0)
    corners = np.array([[0.0, 0], [10, 0], [0, 10]])[:n_clusters]
    X = corners[np.arange(6) % n_clusters] + rng.normal(size=(6, 2))
    model = InformationMaximizationClustering(n_clusters, objective=objective, reg=1e-5).fit(X)
    value, labels = hard_values(model, X, n_clusters)
    assert model.objective_ == pytest.approx(value, rel=0.01)
    if objective != "information":  # which is as large for other labels that are even in size
        assert adjusted_rand_score(model.labels_, labels) == 1


# Kernels


def test_the_penalty_is_the_norm_in_the_space_of_the_kernel():
    X = groups(n=60, d=2, n_groups=3)
    model = InformationMaximizationClustering(3, kernel="rbf", gamma=0.5).fit(X)
    scores = model.decision_function(X)
    K = rbf_kernel(X, gamma=0.5)
    functions = scores - model._model.intercept
    norms = np.sum(functions * np.linalg.pinv(K, rcond=1e-9, hermitian=True).dot(functions))
    features = model._model.feature_map(X)
    np.testing.assert_allclose(features @ features.T, K, atol=1e-5)
    value = value_of(model, features, log_softmax(scores, axis=1))
    expected = value - model.reg_ * unit_of(features, rotated=True) * norms
    assert model.objective_ == pytest.approx(expected, rel=1e-3)
    assert not hasattr(model, "coef_")


@every_objective
def test_precomputed_kernels_are_like_others(objective):
    X = groups(n=50, d=2, n_groups=3)
    K = rbf_kernel(X, gamma=0.3)
    params = {"objective": objective, "gamma": 0.3}
    model = InformationMaximizationClustering(3, kernel="rbf", **params).fit(X)
    other = InformationMaximizationClustering(3, kernel="precomputed", **params).fit(K)
    np.testing.assert_array_equal(other.labels_, model.labels_)
    np.testing.assert_allclose(other.predict_proba(K), model.predict_proba(X), atol=1e-3)


def test_a_kernel_follows_curved_clusters():
    X, y = make_moons(300, noise=0.05, random_state=0)
    model = InformationMaximizationClustering(kernel="rbf", gamma=("mean", 0.3)).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1


# Probabilities


@every_objective
@pytest.mark.parametrize("n_clusters", [1, 2, 4])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_probabilities_are_the_softmax_of_scores(objective, n_clusters, kernel):
    X = groups(n=80, n_groups=max(2, n_clusters))
    model = InformationMaximizationClustering(n_clusters, objective=objective, kernel=kernel)
    model, _ = fit_quietly(model, X)
    probabilities, scores = model.predict_proba(X), model.decision_function(X)
    assert probabilities.shape == (80, n_clusters)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_array_equal(probabilities.argmax(axis=1), model.predict(X))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    if n_clusters == 2:
        np.testing.assert_allclose(probabilities[:, 1], expit(scores))
    if n_clusters > 2:
        np.testing.assert_allclose(probabilities, softmax(scores, axis=1))
    far = model.predict_proba(1e6 * X)
    assert np.isfinite(far).all()


@pytest.mark.parametrize("n_clusters", [1, 2, 3])
def test_probabilities_of_dask_arrays_are_lazy(n_clusters):
    dask = pytest.importorskip("dask.array")
    X = groups(n=60, n_groups=3)
    blocks = dask.from_array(X, chunks=(25, -1))
    local = InformationMaximizationClustering(n_clusters).fit(X)
    lazy = InformationMaximizationClustering(n_clusters).fit(blocks)
    np.testing.assert_array_equal(lazy.labels_, local.labels_)
    probabilities = lazy.predict_proba(blocks)
    assert hasattr(probabilities, "__dask_graph__")
    assert probabilities.shape == (60, n_clusters)
    np.testing.assert_allclose(probabilities.compute(), local.predict_proba(X), atol=1e-9)


# Invariances


@every_objective
@pytest.mark.parametrize(("scale", "shift"), [(1e-100, 0), (1e100, 0), (1.0, 1e3), (100.0, -1e5)])
def test_units_and_origin_do_not_matter(objective, scale, shift):
    X = groups(n=100, n_groups=3, spread=1.5)
    model = InformationMaximizationClustering(3, objective=objective).fit(X)
    other = clone(model).fit(scale * X + shift)
    np.testing.assert_array_equal(other.labels_, model.labels_)
    assert other.objective_ == pytest.approx(model.objective_, rel=1e-6)


@every_objective
def test_constant_features_do_not_matter(objective):
    X = groups(n=60, n_groups=3, spread=1.5)
    model = InformationMaximizationClustering(3, objective=objective).fit(X)
    other = clone(model).fit(np.c_[X, np.full((60, 5), 7.0)])
    np.testing.assert_array_equal(other.labels_, model.labels_)
    assert other.objective_ == pytest.approx(model.objective_)


@every_objective
@every_comparison
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_weights_are_repetitions(objective, comparison, kernel):
    X = groups(n=60, n_groups=3, spread=1.5)
    weights = np.random.default_rng(0).integers(0, 4, len(X))
    model = InformationMaximizationClustering(
        3, objective=objective, comparison=comparison, kernel=kernel
    )
    repeated = clone(model).fit(np.repeat(X, weights, axis=0))
    model.fit(X, sample_weight=weights)
    np.testing.assert_array_equal(model.predict(X), repeated.predict(X))
    assert model.objective_ == pytest.approx(repeated.objective_, rel=1e-5)


@every_objective
def test_sparse_samples_give_the_same(objective):
    rng = np.random.default_rng(0)
    rates = np.where(np.arange(12) // 4 == np.arange(3)[:, None], 3.0, 0.3)
    X = rng.poisson(rates[np.arange(90) % 3]).astype(float)
    model = InformationMaximizationClustering(3, objective=objective)
    dense, sparse = clone(model).fit(X), clone(model).fit(sp.csr_array(X))
    np.testing.assert_array_equal(sparse.labels_, dense.labels_)
    assert sparse.objective_ == pytest.approx(dense.objective_, rel=1e-6)
    np.testing.assert_allclose(
        sparse.predict_proba(sp.csr_array(X)), dense.predict_proba(X), atol=1e-4
    )


@every_objective
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_order_of_samples_does_not_matter(objective, kernel):
    X = groups(n=90, n_groups=3, spread=1.5)
    order = np.random.default_rng(0).permutation(len(X))
    model = InformationMaximizationClustering(3, objective=objective, kernel=kernel).fit(X)
    other = clone(model).fit(X[order])
    np.testing.assert_array_equal(other.labels_, model.labels_[order])
    assert other.objective_ == pytest.approx(model.objective_, rel=1e-5)


# Starts and ends


def test_starts_do_not_collapse():
    """Even where most scores that point to the means would be worth less than none."""
    X = load_digits().data
    for reg in (0.001, 0.05):
        model = InformationMaximizationClustering(10, reg=reg).fit(X)
        assert len(np.unique(model.labels_)) == 10
        assert model.history_[0] > 0


def test_the_start_is_the_best_of_several():
    """Scores that point to the means, and lead by different amounts."""
    X, labels = groups(n=60, n_groups=3), np.arange(60) % 3
    model = InformationMaximizationClustering(3, init=labels).fit(X)
    means = np.array([X[labels == c].mean(axis=0) for c in range(3)]) - X.mean(axis=0)
    squares = np.square(means).sum(axis=1)
    for lead in FIRST_LEADS:
        coef = lead * means / squares.mean()
        offset = -0.5 * lead * squares / squares.mean() - coef @ X.mean(axis=0)
        assert model.history_[0] >= penalized(model, X, coef, offset)


def test_a_start_by_labels_is_used_and_checked():
    X = groups(n=60, n_groups=3)
    labels = InformationMaximizationClustering(3).fit(X).labels_
    model = InformationMaximizationClustering(3, init=labels).fit(X)
    np.testing.assert_array_equal(model.labels_, labels)
    with pytest.raises(ValueError, match=r"init has shape \(59,\) but X has 60 samples"):
        InformationMaximizationClustering(3, init=labels[1:]).fit(X)
    with pytest.raises(ValueError, match="init must use each label"):
        InformationMaximizationClustering(3, init=labels % 2).fit(X)


def test_more_starts_are_never_worse():
    X = load_digits().data[:300]
    params = {"init": "random", "random_state": 3}
    one, _ = fit_quietly(InformationMaximizationClustering(8, **params), X)
    several, _ = fit_quietly(InformationMaximizationClustering(8, n_init=5, **params), X)
    assert several.objective_ >= one.objective_


def test_too_strong_a_penalty_is_told():
    X = groups(n=60, n_groups=3)
    with pytest.warns(ConvergenceWarning, match="Fewer clusters"):
        model = InformationMaximizationClustering(3, reg=10.0).fit(X)
    assert model.objective_ == pytest.approx(0, abs=1e-6)


def test_too_few_updates_are_told():
    X = np.random.default_rng(0).normal(size=(200, 30))
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        InformationMaximizationClustering(5, max_iter=1, reg=1e-4).fit(X)


@every_objective
def test_constant_samples_and_copies_are_told(objective):
    for X in (np.ones((8, 3)), np.repeat([[0.0, 0.0], [1.0, 2.0]], [6, 4], axis=0)):
        model = InformationMaximizationClustering(3, objective=objective)
        model, words = fit_quietly(model, X)
        assert "Fewer clusters" in words
        np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_one_cluster_has_all_samples():
    X = groups(n=20)
    model = InformationMaximizationClustering(1).fit(X)
    np.testing.assert_array_equal(model.labels_, 0)
    np.testing.assert_array_equal(model.predict_proba(X), np.ones((20, 1)))
    assert model.history_ == []


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"objective": "entropy"}, "objective"),
        ({"comparison": "pairwise"}, "comparison"),
        ({"reg": -0.1}, "reg"),
        ({"kernel": "gaussian"}, "kernel"),
    ],
)
def test_parameters_that_cannot_work_are_named(params, words):
    with pytest.raises(ValueError, match=f"The '{words}' parameter"):
        InformationMaximizationClustering(**params).fit(groups())


def test_no_penalty_is_allowed():
    X = groups(n=60, n_groups=3)
    for objective in OBJECTIVES:
        model = InformationMaximizationClustering(3, objective=objective, reg=0)
        model, _ = fit_quietly(model, X)
        assert len(np.unique(model.labels_)) == 3


def test_values_whose_squares_overflow_are_refused():
    with pytest.raises(ValueError, match="too large"):
        InformationMaximizationClustering().fit(1e200 * groups())


@every_objective
@every_comparison
def test_ties_copies_and_constants(objective, comparison):
    """Awkward samples have labels that new samples can have too, or there is a clear word."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        shape = (rng.integers(4, 15), rng.integers(1, 5))
        X = rng.integers(-2, 3, size=shape).astype(["f8", "f4", "i8"][seed % 3])
        n_clusters, kernel = 2 + seed % 3, ["linear", "rbf"][seed % 2]
        model = InformationMaximizationClustering(
            n_clusters, objective=objective, comparison=comparison, kernel=kernel
        )
        model, words = fit_quietly(model, X)
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        assert (np.diff(model.history_) >= 0).all()
        if len(np.unique(model.labels_)) < n_clusters:
            assert "Fewer clusters" in words


def test_many_samples_are_seen_in_part():
    """Beyond 20,000 samples the objective is that of a sample, and all have labels."""
    X, y = make_blobs(21_000, 2, centers=[[0, 0], [30, 0], [0, 30]], random_state=0)
    for init in ("k-means", y):
        model = InformationMaximizationClustering(3, init=init).fit(X)
        assert adjusted_rand_score(model.labels_, y) == 1
        np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_narrow_kernels_are_told():
    X = groups(n=400, d=10)
    model = InformationMaximizationClustering(kernel="rbf", gamma=100.0, n_components=50)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X)
    assert "n_components=50 features hold" in str(caught[0].message)
    assert caught[0].filename == __file__


def test_callbacks_see_every_update_and_can_stop_it():
    X = load_digits().data[:300]
    recorder = Recorder()
    model = InformationMaximizationClustering(10, tol=0).set_callbacks(recorder).fit(X)
    seen = recorder.of("iteration")
    assert len(seen) == model.n_iter_ > 1
    np.testing.assert_array_equal(
        np.sort(np.bincount(seen[-1][1])), np.sort(np.bincount(model.labels_))
    )
    stop = Recorder(stop_at=[("iteration", 0)])
    assert InformationMaximizationClustering(10, tol=0).set_callbacks(stop).fit(X).n_iter_ == 1


# Many clusters


def blobs_on_a_grid(side, n_each=20):
    """Round clusters at the corners of squares, far apart beside their spread."""
    corners = np.array([(i // side, i % side) for i in range(side**2)], dtype=float)
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(side**2), n_each)
    return corners[y] + 0.1 * rng.normal(size=(len(y), 2)), y


def test_the_automatic_weight_leaves_many_clusters_apart():
    """That for few would lose them: it would cost more than all information there is."""
    X, y = blobs_on_a_grid(5)
    model = InformationMaximizationClustering(25).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.8
    assert model.objective_ > 0.5 * np.log(25)
    assert 0 < model.reg_ < 0.02
    fixed, _ = fit_quietly(InformationMaximizationClustering(25, reg=0.02), X)
    assert fixed.objective_ < 0.5 * np.log(25)
    few, _ = fit_quietly(InformationMaximizationClustering(10), X)
    assert few.reg_ == 0.02


def test_clusters_of_one_sample_each_have_an_automatic_weight():
    """Nothing varies within the clusters, and their weights would have no bound."""
    model = InformationMaximizationClustering(24, max_iter=5)
    fit_quietly(model, np.arange(24.0)[:, None] ** 2)
    assert 0 < model.reg_ < 1e-3
