"""Maximin separation clustering against brute force, the paper's theorems and its own contract."""

import collections
import itertools
import pickle
import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel

from separatrix import MaximinSeparationClustering, MinimaxProbabilityMachine
from separatrix.criteria import separation
from separatrix.labels.thresholds import lower_bound_cut
from separatrix.metrics import separation_lower_bound, separation_probability_score
from separatrix.models.boundaries import Boundaries
from separatrix.similarity.kernels import fit_kernel_map
from separatrix.solvers import minimax_sides as minimax
from separatrix.solvers.minimax_sides import MomentProblem

SOLVERS = ["mpm", "gep", "eig"]


def same_partition(a, b):
    """Whether two labellings differ in the names of the clusters at most."""
    return adjusted_rand_score(a, b) == 1.0


def fit_quietly(model, X, **kwargs):
    """The fitted model, and the words of its ConvergenceWarning or None."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, **kwargs)
    assert {warning.category for warning in caught} <= {ConvergenceWarning}
    assert len(caught) <= 1
    return model, str(caught[0].message) if caught else None


def groups(seed, n=60, d=4, n_groups=3):
    """Overlapping groups with correlated features of different units."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(scale=2.0, size=(n_groups, d))
    X = centers[np.arange(n) % n_groups] + rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) / 2
    return X[rng.permutation(n)]


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)[0]


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)[0]


@pytest.fixture(scope="module")
def counts():
    """Sparse-looking nonnegative data: two groups of words, and words of both."""
    rng = np.random.default_rng(0)
    rates = np.array([[2.0] * 6 + [0.2] * 6 + [0.5] * 3, [0.2] * 6 + [2.0] * 6 + [0.5] * 3])
    return rng.poisson(rates[np.arange(90) % 2]).astype(float)


# Brute force over all labellings


def all_labellings(X, reg):
    """Every partition of X in two, and its kappa, by vectorised bisection of the dual's slope."""
    n = len(X)
    Y = np.arange(1, 2 ** (n - 1))[:, None] >> np.arange(n - 1) & 1
    Y = np.hstack([np.zeros((len(Y), 1), dtype=int), Y])
    means, covariances = [], []
    for Z in (Y.astype(float), 1.0 - Y):
        size = Z.sum(axis=1)
        mean = Z @ X / size[:, None]
        second = np.einsum("bi,ij,ik->bjk", Z, X, X) / size[:, None, None]
        means.append(mean)
        covariances.append(
            second - mean[:, :, None] * mean[:, None, :] + reg * np.diag(X.var(axis=0))
        )
    inverse = np.linalg.inv(np.linalg.cholesky(sum(covariances)))
    ratios, vectors = np.linalg.eigh(inverse @ covariances[0] @ inverse.transpose(0, 2, 1))
    masses = np.einsum("bji,bjk,bk->bi", vectors, inverse, means[0] - means[1]) ** 2
    low, high = np.zeros((len(Y), 1)), np.ones((len(Y), 1))
    for _ in range(60):
        t = (low + high) / 2
        mixed = ratios * (1 - t) + (1 - ratios) * t
        slope = masses * (ratios * (1 - t) ** 2 - (1 - ratios) * t**2) / mixed**2
        rises = slope.sum(axis=1, keepdims=True) > 0
        low, high = np.where(rises, t, low), np.where(rises, high, t)
    return Y, np.sqrt((masses * t * (1 - t) / mixed).sum(axis=1))


def tiny_data(seed):
    """Nine or ten samples in two or three features, every third time in two groups."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(9 + seed % 2, 2 + seed % 2))
    X[: len(X) // 2] += 2.0 * (seed % 3 == 0)
    return X


@pytest.mark.parametrize("seed", range(4))
def test_score_equals_the_enumeration(seed):
    X = tiny_data(seed)
    Y, kappa = all_labellings(X, 0.1)
    assert len({tuple(y) for y in Y}) == 2 ** (len(X) - 1) - 1
    for i in range(seed, len(Y), 37):
        score = separation_probability_score(X, Y[i], reg=0.1)
        assert score == pytest.approx(kappa[i] ** 2 / (1 + kappa[i] ** 2), rel=1e-9)


def test_restarts_reach_the_exhaustive_optimum(record_property):
    """Most, not all: the method is a local search. None may claim more than the optimum."""
    n_cases, reached = 25, 0
    for seed in range(n_cases):
        X = tiny_data(seed)
        _, kappa = all_labellings(X, 0.1)
        model = MaximinSeparationClustering(reg=0.1, init="random", n_init=30, random_state=seed)
        model.fit(X)
        assert model.objective_ <= kappa.max() * (1 + 1e-9)
        reached += model.objective_ >= kappa.max() * (1 - 1e-9)
    record_property("share_of_optima_reached", float(reached / n_cases))
    print(f"optimum reached in {reached} of {n_cases} cases")
    assert reached > n_cases / 2


def test_the_optimum_is_a_fixed_point():
    """From the best labelling of all, an update finds nothing better."""
    for seed in range(25):
        X = tiny_data(seed)
        Y, kappa = all_labellings(X, 0.1)
        best = Y[kappa.argmax()]
        model = MaximinSeparationClustering(reg=0.1, init=best, max_iter=1).fit(X)
        assert same_partition(model.labels_, best)
        assert model.objective_ == pytest.approx(kappa.max(), rel=1e-9)


@pytest.mark.parametrize("multiway", ["pairwise", "one-vs-rest"])
@pytest.mark.parametrize("n_clusters", [2, 3, 5])
@pytest.mark.parametrize("solver", ["mpm", "gep"])
def test_silence_means_a_fixed_point(solver, n_clusters, multiway, record_property):
    """One more update leaves the labels as they are, if and only if the fit gave no warning."""
    outcomes = collections.Counter()
    for seed in range(12):
        X = groups(seed, n=50)
        params = {"solver": solver, "reg": 0.3, "multiway": multiway}
        model = MaximinSeparationClustering(
            n_clusters, init=["k-means", "random"][seed % 2], random_state=seed, **params
        )
        model, warning = fit_quietly(model, X)
        if warning is not None and "Fewer clusters" in warning:
            assert len(np.unique(model.labels_)) < n_clusters
            outcomes["degenerate"] += 1
            continue
        once_more, moved = fit_quietly(
            MaximinSeparationClustering(n_clusters, init=model.labels_, max_iter=1, **params), X
        )
        if warning is None:
            assert moved is None
            np.testing.assert_array_equal(once_more.labels_, model.labels_)
            outcomes["fixed point"] += 1
            if solver == "mpm" and (multiway == "pairwise" or n_clusters == 2):
                machine = MinimaxProbabilityMachine(reg=0.3).fit(X, model.labels_)
                np.testing.assert_array_equal(machine.predict(X), model.labels_)
        else:
            assert moved is not None
            assert not same_partition(once_more.labels_, model.labels_)
            outcomes["cycle" if "cycle" in warning else "max_iter"] += 1
    record_property("outcomes", dict(outcomes))
    print(solver, n_clusters, multiway, dict(outcomes))
    assert outcomes["fixed point"] > 0
    if solver == "gep" and n_clusters == 2:  # its objective rises, so that it cannot cycle
        assert outcomes["fixed point"] == 12


def test_a_cycle_is_noticed_and_told(iris, monkeypatch):
    """A step that swings between two cuts is not followed for all of max_iter updates."""
    swings = itertools.cycle([(2.0, 1.0), (4.0, 1.5)])

    def swinging(sides, start=None):
        cut, value = next(swings)
        return minimax.Step(np.eye(4)[2], -cut, value)

    monkeypatch.setattr(separation, "minimax_step", swinging)
    model = MaximinSeparationClustering(max_iter=50)
    with pytest.warns(ConvergenceWarning, match="The label updates run in a cycle"):
        model.fit(iris)
    assert model.n_iter_ < 6
    np.testing.assert_array_equal(model.predict(iris), model.labels_)


@pytest.mark.parametrize("max_iter", [1, 50])
def test_a_cluster_that_runs_empty_is_told(max_iter, iris, monkeypatch):
    """At any update, the last one too."""
    original = separation.minimax_step

    def greedy(sides, start=None):
        if sides.side[2] == 0:
            return original(sides, start)
        return minimax.Step(np.zeros(4), -1.0, 1.0)  # all for the other cluster

    monkeypatch.setattr(separation, "minimax_step", greedy)
    model = MaximinSeparationClustering(3, max_iter=max_iter)
    with pytest.warns(ConvergenceWarning, match="Fewer clusters were found than n_clusters"):
        model.fit(iris)
    np.testing.assert_array_equal(np.unique(model.labels_), [0, 1])
    np.testing.assert_array_equal(model.predict(iris), model.labels_)


def test_running_out_of_updates_is_told(iris):
    model = MaximinSeparationClustering(2, init=np.arange(150) % 2, max_iter=1)
    with pytest.warns(ConvergenceWarning, match="increase max_iter"):
        model.fit(iris)
    assert model.n_iter_ == len(model.history_) == 1
    np.testing.assert_array_equal(model.labels_, model.predict(iris))


def test_tol_is_the_share_of_samples_that_may_still_move():
    X = groups(0, n=200, n_groups=2)
    start = np.arange(200) % 2
    strict = MaximinSeparationClustering(init=start, tol=0.0).fit(X)
    loose = MaximinSeparationClustering(init=start, tol=0.9).fit(X)
    assert loose.n_iter_ == 1 < strict.n_iter_
    assert loose.history_ == strict.history_[:1]


# Invariance


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), d=st.integers(1, 5), n_clusters=st.integers(2, 4))
def test_score_is_invariant_to_invertible_maps(seed, d, n_clusters):
    """Theorem 1, with a shift on top."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(n_clusters), 3 * d + 4))
    X = rng.normal(size=(len(labels), d)) + rng.normal(size=(n_clusters, d))[labels]
    U, V = (np.linalg.qr(rng.normal(size=(d, d)))[0] for _ in range(2))
    mapped = X @ (U * 10.0 ** rng.uniform(-1, 1, size=d) @ V) + rng.normal(size=d)
    score = separation_probability_score(X, labels, reg=0)
    assert separation_probability_score(mapped, labels, reg=0) == pytest.approx(score, rel=1e-7)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), reg=st.sampled_from([0.0, 0.1, 10.0]))
def test_score_is_invariant_to_feature_scales(seed, reg):
    """Lambda follows the units, so that any regularisation keeps this much of Theorem 1."""
    rng = np.random.default_rng(seed)
    X, labels = rng.normal(size=(40, 3)), np.arange(40) % 2
    scales = 10.0 ** rng.uniform(-6, 6, size=3)
    score = separation_probability_score(X, labels, reg=reg)
    scaled = separation_probability_score(X * scales, labels, reg=reg)
    assert scaled == pytest.approx(score, rel=1e-8)


@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("data", ["iris", "wine", "cancer", "groups"])
def test_labels_do_not_depend_on_feature_scales(data, solver, n_clusters):
    load = {"iris": load_iris, "wine": load_wine, "cancer": load_breast_cancer}
    X = load[data](return_X_y=True)[0] if data in load else groups(7, n=120)
    rng = np.random.default_rng(0)
    d = X.shape[1]
    # for `eig` the start does not matter: it has none
    model = MaximinSeparationClustering(n_clusters, solver=solver, init="scale-invariant")
    expected = model.fit(X).labels_
    for scales in (
        2.0 ** rng.integers(-20, 20, size=d),
        10.0 ** rng.uniform(-6, 6, size=d),
        10.0 ** rng.uniform(-6, 6, size=d),
    ):
        np.testing.assert_array_equal(model.fit(X * scales).labels_, expected)


@pytest.mark.parametrize("n_clusters", [2, 3, 4])
@pytest.mark.parametrize("solver", SOLVERS)
def test_order_of_rows_does_not_matter(solver, n_clusters, wine):
    model = MaximinSeparationClustering(n_clusters, solver=solver)
    expected, _ = fit_quietly(model, wine)
    expected = expected.labels_.copy()
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(wine))
        labels = fit_quietly(model, wine[order])[0].labels_
        assert same_partition(labels, expected[order])


# Approach 2: the lower bound


def bound_by_definition(w, X, y, weight, reg):
    """Right side of equation (4)."""
    shares = [weight[y == c].sum() / weight.sum() for c in (0, 1)]
    delta = np.subtract(*(np.average(X[y == c], axis=0, weights=weight[y == c]) for c in (1, 0)))
    S = np.atleast_2d(np.cov(X.T, aweights=weight, bias=True))
    total = w @ (S + reg * np.diag(np.diag(S))) @ w
    squared = (w @ delta) ** 2
    return squared / (2 * total / min(shares) - 2 * max(shares) * squared)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), d=st.integers(1, 4), reg=st.sampled_from([0.0, 0.1, 3.0]))
def test_lower_bound_never_exceeds_the_separation(seed, d, reg):
    """Theorem 2, for the best direction and for any other, and the bound is what it says."""
    rng = np.random.default_rng(seed)
    n = 3 * d + 12
    X, y = rng.normal(size=(n, d)), np.arange(n) % rng.integers(2, 5) > 0
    weight = rng.integers(1, 4, size=n).astype(float)
    score = separation_probability_score(X, y, reg=reg, sample_weight=weight)
    best = separation_lower_bound(X, y, reg=reg, sample_weight=weight)
    assert best <= score * (1 + 1e-9)
    w = rng.normal(size=d)
    along = separation_lower_bound(X, y, coef=w, reg=reg, sample_weight=weight)
    assert along <= best * (1 + 1e-9)
    squared = bound_by_definition(w, X, y, weight, reg)
    assert along == pytest.approx(squared / (1 + squared), rel=1e-8)


def test_lower_bound_is_attained_by_equal_shares_and_variances():
    a = np.random.default_rng(0).normal(size=15)
    X, y = np.r_[a, a + 3.0][:, None], np.repeat([0, 1], 15)
    kappa = 3.0 / (2 * a.std())
    expected = pytest.approx(kappa**2 / (1 + kappa**2), rel=1e-10)
    assert separation_lower_bound(X, y, reg=0) == expected
    assert separation_probability_score(X, y, reg=0) == expected


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 25),
    distinct=st.integers(2, 12),
    weighted=st.booleans(),
    reg=st.sampled_from([1e-3, 0.1, 10.0]),
)
def test_cut_is_the_best_of_all_cuts(seed, n, distinct, weighted, reg):
    """Every split of the distinct values by a threshold, with repeated values and zero weights."""
    rng = np.random.default_rng(seed)
    values = rng.choice(rng.normal(size=distinct), size=n)
    values[:2] = 0.0, 1.0
    weight = np.r_[1.0, 2.0, rng.integers(0, 3, size=n - 2)] if weighted else np.ones(n)
    X = values[:, None]
    best = 0.0
    for below in np.unique(values)[:-1]:
        y = (values > below).astype(int)
        if min(weight[y == 0].sum(), weight[y == 1].sum()) > 0:
            best = max(best, bound_by_definition(np.ones(1), X, y, weight, reg))
    spread = (1 + reg) * np.cov(values, aweights=weight, bias=True)
    cut, bound = lower_bound_cut(values, weight if weighted else None, spread)
    assert bound == pytest.approx(best, rel=1e-8)
    assert not np.isin(cut, values)
    attained = bound_by_definition(np.ones(1), X, (values > cut).astype(int), weight, reg)
    assert attained == pytest.approx(best, rel=1e-8)


def test_equal_values_cannot_be_cut():
    cut, bound = lower_bound_cut(np.full(5, 2.0), None, 1.0)
    assert np.isnan(cut)
    assert bound == 0.0
    # all the weight on one value
    cut, bound = lower_bound_cut(np.array([0.0, 1.0, 1.0]), np.array([0.0, 1.0, 2.0]), 1.0)
    assert np.isnan(cut)


@pytest.mark.parametrize("weighted", [False, True])
def test_lower_bound_rises_until_it_is_that_of_the_labels(weighted):
    """Both halves of an update maximise the same bound, so that its history never falls."""
    n_updates = 0
    for seed in range(25):
        rng = np.random.default_rng(seed)
        X = groups(seed, n=80, d=1 + seed % 6, n_groups=4)
        weight = rng.integers(1, 5, size=80) if weighted else None
        model = MaximinSeparationClustering(
            solver="gep", reg=[0.01, 0.3, 2.0][seed % 3], init=rng.permutation(80) % 2
        )
        model.fit(X, sample_weight=weight)
        history = np.array(model.history_)
        assert (np.diff(history) >= -1e-12 * history[1:]).all()
        assert len(history) == model.n_iter_
        assert model.objective_ == history[-1]
        bound = separation_lower_bound(X, model.labels_, reg=model.reg, sample_weight=weight)
        assert bound == pytest.approx(history[-1] ** 2 / (1 + history[-1] ** 2), rel=1e-8)
        n_updates += len(history) - 1
    assert n_updates > 50  # otherwise nothing was shown


# Approach 3: the relaxation


@pytest.mark.parametrize("reg", [1e-3, 0.1, 1.0, 100.0])
@pytest.mark.parametrize("data", ["iris", "wine", "digits", "groups"])
def test_eigenvector_is_that_of_theorem_3(data, reg):
    """The leading eigenvector of the N x N matrix, as it is written, cuts the same samples off."""
    load = {"iris": load_iris, "wine": load_wine, "digits": load_digits}
    X = load[data](return_X_y=True)[0][:180] if data in load else groups(1, n=100, d=5)
    X = X[:, X.std(axis=0) > 0]
    centered = X - X.mean(axis=0)
    Lambda = np.diag((centered**2).sum(axis=0))  # of the paper's X'X
    n = len(X)
    inner = np.eye(n) + centered @ np.linalg.inv(reg * Lambda) @ centered.T
    theorem = np.eye(n) - np.linalg.inv(inner)
    q = np.linalg.eigh((theorem + theorem.T) / 2)[1][:, -1]
    assert np.abs(q).min() > 1e-9  # no sample lies on the boundary
    model = MaximinSeparationClustering(solver="eig", reg=reg).fit(X)
    assert same_partition(model.labels_, q > 0)
    assert separation_probability_score(X, q > 0, reg=reg) == pytest.approx(
        model.separation_probability_
    )


# Moments kept in step with the labels


def check_moments(partition, X, labels, weight, clusters):
    inside = np.isin(labels, clusters)
    rows, weights = X[inside], weight[inside]
    moments = partition.moments(clusters)
    assert moments.weight == pytest.approx(weights.sum(), rel=1e-9)
    mean = np.average(rows, axis=0, weights=weights)
    np.testing.assert_allclose(moments.mean + partition.shift, mean, rtol=1e-9, atol=1e-9)
    covariance = np.cov(rows.T, aweights=weights, bias=True)
    np.testing.assert_allclose(moments.covariance, covariance, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(moments.variance, np.diag(covariance), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_clusters", [2, 4])
def test_moments_follow_the_labels(n_clusters, container, weighted):
    rng = np.random.default_rng(0)
    n, d = 200, 5
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6) + 0.5
    weight = rng.uniform(0.1, 3, size=n) if weighted else None
    problem = MomentProblem.of(
        container(X), weight, reg=0.1, isotropic=False, rng=np.random.RandomState(0)
    )
    partition = problem.partition(n_clusters)
    ones = np.ones(n) if weight is None else weight
    labels = np.full(n, -1)
    for step in range(120):
        if step % 10 == 0:  # a rule: whole regions move at once
            rule = Boundaries.nearest(rng.normal(size=(n_clusters, d)))
            new = rule.labels(container(X))
        else:
            new = labels.copy()
            movers = rng.choice(n, size=rng.integers(1, n), replace=False)
            new[movers] = rng.integers(n_clusters, size=len(movers))
            new[:8] = np.arange(8) % n_clusters
            rule = new = new.astype(np.int8)
        moved = partition.assign(rule)
        assert moved == pytest.approx(ones[new != labels].sum(), rel=1e-12)
        labels = np.asarray(new)
        np.testing.assert_array_equal(partition.labels, labels)
    for size in range(1, n_clusters):
        for clusters in itertools.combinations(range(n_clusters), size):
            check_moments(partition, X, labels, ones, list(clusters))
    sizes = np.bincount(labels, weights=ones, minlength=n_clusters)
    np.testing.assert_allclose(partition.weights, sizes, rtol=1e-9)


# The contract


# of more than two clusters `eig` refuses all but splits, as test_bad_input_is_named shows
WAYS = [
    (solver, n_clusters, multiway)
    for solver in SOLVERS
    for n_clusters in (1, 2, 3, 5)
    for multiway in ("auto", "pairwise", "one-vs-rest", "bisection")
    if solver != "eig" or n_clusters <= 2 or multiway in ("auto", "bisection")
]


@pytest.mark.parametrize(("solver", "n_clusters", "multiway"), WAYS)
def test_labels_are_predicted_and_numbered_by_size(solver, n_clusters, multiway, wine):
    model = MaximinSeparationClustering(n_clusters, solver=solver, multiway=multiway)
    model, warning = fit_quietly(model, wine)
    labels = model.labels_
    np.testing.assert_array_equal(model.predict(wine), labels)
    np.testing.assert_array_equal(model.fit_predict(wine) if warning is None else labels, labels)
    sizes = np.bincount(labels, minlength=n_clusters)
    assert (np.diff(sizes) <= 0).all()
    assert (sizes.min() == 0) == (warning is not None and "Fewer clusters" in warning)
    scores = model.decision_function(wine)
    assert scores.shape == ((178,) if n_clusters <= 2 else (178, n_clusters))
    if n_clusters == 1:
        assert (scores == 0).all()
        return
    decided = scores > 0 if n_clusters == 2 else scores.argmax(axis=1)
    np.testing.assert_array_equal(decided, labels)


@pytest.mark.parametrize("n_clusters", [2, 3, 4])
@pytest.mark.parametrize("multiway", ["pairwise", "one-vs-rest"])
def test_scores_are_the_smallest_margins_of_each_cluster(multiway, n_clusters, iris):
    """Rows of `coef_` are pairs with the later cluster on the positive side, or clusters."""
    model, _ = fit_quietly(MaximinSeparationClustering(n_clusters, multiway=multiway), iris)
    margins = iris @ model.coef_.T + model.intercept_
    scores = model.decision_function(iris)
    if n_clusters == 2:
        np.testing.assert_allclose(scores, margins[:, 0], rtol=1e-12)
        return
    if multiway == "pairwise":
        sides = np.array(
            [
                [(c == high) * 1 - (c == low) * 1 for c in range(n_clusters)]
                for low, high in itertools.combinations(range(n_clusters), 2)
            ]
        )
    else:
        sides = 2 * np.eye(n_clusters) - 1
    assert margins.shape[1] == len(sides)
    for cluster in range(n_clusters):
        involved = sides[:, cluster] != 0
        expected = (margins[:, involved] * sides[involved, cluster]).min(axis=1)
        np.testing.assert_allclose(scores[:, cluster], expected, rtol=1e-12)


@pytest.mark.parametrize("n_clusters", [2, 3, 5])
def test_separation_probability_is_the_score_of_the_labels(n_clusters, wine):
    """Of the worst pair; each pair is judged by its own samples alone."""
    model = MaximinSeparationClustering(n_clusters, reg=0.2).fit(wine)
    labels = model.labels_
    pairs = model.pairwise_separation_
    assert pairs.shape == (n_clusters, n_clusters)
    assert np.isnan(np.diag(pairs)).all()
    for a, b in itertools.combinations(range(n_clusters), 2):
        keep = np.isin(labels, [a, b])
        expected = separation_probability_score(wine[keep], labels[keep], reg=0.2)
        assert pairs[a, b] == pairs[b, a] == pytest.approx(expected, rel=1e-8)
    assert model.separation_probability_ == np.nanmin(pairs)
    assert model.separation_probability_ == pytest.approx(
        separation_probability_score(wine, labels, reg=0.2)
    )


@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("init", ["k-means", "scale-invariant"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_sparse_equals_dense(solver, init, n_clusters, counts):
    model = MaximinSeparationClustering(n_clusters, solver=solver, init=init)
    dense = fit_quietly(clone(model), counts)[0]
    for container in (sparse.csr_array, sparse.csr_matrix, sparse.coo_array):
        X = container(counts)
        fitted = fit_quietly(clone(model), X)[0]
        np.testing.assert_array_equal(fitted.labels_, dense.labels_)
        np.testing.assert_array_equal(fitted.predict(X), dense.labels_)
        np.testing.assert_allclose(fitted.coef_, dense.coef_, rtol=1e-6, atol=1e-9)
        assert fitted.separation_probability_ == pytest.approx(dense.separation_probability_)


@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("solver", SOLVERS)
def test_single_precision_differs_at_the_boundary_at_most(solver, n_clusters, wine):
    double = MaximinSeparationClustering(n_clusters, solver=solver).fit(wine)
    single = MaximinSeparationClustering(n_clusters, solver=solver).fit(wine.astype(np.float32))
    assert single.coef_.dtype == np.float32
    assert single.decision_function(wine.astype(np.float32)).dtype == np.float32
    differs = double.labels_ != single.labels_
    scores = double.decision_function(wine)[differs]
    gap = np.abs(scores) if n_clusters == 2 else np.diff(np.sort(scores)[:, -2:])
    # wine's largest feature has the value 1680, of which single precision keeps 1e-4
    assert (gap < 1e-3).all()
    assert single.objective_ == pytest.approx(double.objective_, rel=1e-3)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames_give_their_names(library, iris):
    frames = pytest.importorskip(library)
    names = ["sepal length", "sepal width", "petal length", "petal width"]
    frame = frames.DataFrame(dict(zip(names, iris.T, strict=True)))
    for solver in SOLVERS:
        model = MaximinSeparationClustering(3, solver=solver).fit(frame)
        expected = MaximinSeparationClustering(3, solver=solver).fit(iris)
        assert list(model.feature_names_in_) == names
        assert not hasattr(expected, "feature_names_in_")
        np.testing.assert_array_equal(model.labels_, expected.labels_)
        np.testing.assert_array_equal(model.predict(frame), expected.labels_)
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(frame[names[::-1]])


@pytest.mark.parametrize("multiway", ["auto", "bisection"])
@pytest.mark.parametrize("init", ["k-means", "scale-invariant"])
@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("solver", SOLVERS)
def test_weight_is_repetition(solver, n_clusters, init, multiway):
    params = {"solver": solver, "init": init, "multiway": multiway}
    for seed in range(3):
        X = groups(seed, n=70)
        weight = np.random.default_rng(seed).integers(0, 4, size=70)
        kept = weight > 0
        weighted, told = fit_quietly(
            MaximinSeparationClustering(n_clusters, **params), X, sample_weight=weight
        )
        repeated, told_too = fit_quietly(
            MaximinSeparationClustering(n_clusters, **params), np.repeat(X, weight, axis=0)
        )
        assert told == told_too
        expected = np.repeat(weighted.labels_, weight)
        np.testing.assert_array_equal(repeated.labels_, expected)
        assert weighted.separation_probability_ == pytest.approx(repeated.separation_probability_)
        absent, _ = fit_quietly(
            MaximinSeparationClustering(n_clusters, **params), X[kept], sample_weight=weight[kept]
        )
        np.testing.assert_array_equal(absent.labels_, weighted.labels_[kept])
        if solver != "gep":  # whose cut may lie beside a sample without weight
            np.testing.assert_array_equal(absent.predict(X), weighted.labels_)


@pytest.mark.parametrize("solver", SOLVERS)
def test_given_labels_may_be_weighted(solver):
    X = groups(4, n=50)
    weight = np.random.default_rng(0).integers(0, 3, size=50)
    start = np.arange(50) % 2
    weighted = MaximinSeparationClustering(init=start, solver=solver).fit(X, sample_weight=weight)
    repeated = MaximinSeparationClustering(init=np.repeat(start, weight), solver=solver)
    repeated.fit(np.repeat(X, weight, axis=0))
    np.testing.assert_array_equal(repeated.labels_, np.repeat(weighted.labels_, weight))


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_same_seed_gives_the_same_labels(solver, wine):
    params = {"solver": solver, "init": "random", "n_init": 3}
    for n_clusters in (2, 3):
        runs = [
            fit_quietly(
                MaximinSeparationClustering(n_clusters, random_state=seed, **params), wine
            )[0]
            for seed in (5, 5, np.random.RandomState(5))
        ]
        for other in runs[1:]:
            np.testing.assert_array_equal(runs[0].labels_, other.labels_)
            assert runs[0].history_ == other.history_


@pytest.mark.parametrize("init", ["k-means", "scale-invariant", "random"])
def test_restarts_keep_the_best(init):
    """More of them never end lower, and somewhere end higher: they are different starts."""
    gained = 0
    for seed in range(4, 7):
        X = groups(seed, n_groups=5)
        objectives = []
        for n_init in (1, 2, 4, 8):
            model = MaximinSeparationClustering(3, init=init, n_init=n_init, random_state=0)
            objectives.append(fit_quietly(model, X)[0].objective_)
        assert (np.diff(objectives) >= 0).all()
        gained += objectives[-1] > objectives[0]
    assert gained > 0


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_clone_pickle_and_parameters(solver, kernel, wine):
    start = np.arange(178) % 2
    model = MaximinSeparationClustering(2, solver=solver, kernel=kernel, gamma=1e-5, init=start)
    before = pickle.dumps(model.get_params())
    X = wine.copy()
    model.fit(X)
    assert pickle.dumps(model.get_params()) == before
    np.testing.assert_array_equal(X, wine)
    np.testing.assert_array_equal(clone(model).fit(wine).labels_, model.labels_)
    restored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(restored.predict(wine), model.labels_)
    np.testing.assert_array_equal(restored.decision_function(wine), model.decision_function(wine))


def test_y_is_ignored(iris):
    labels = MaximinSeparationClustering(3).fit(iris).labels_
    y = np.arange(150) % 3
    np.testing.assert_array_equal(MaximinSeparationClustering(3).fit(iris, y).labels_, labels)


# Wide data


def forbidden(*args, **kwargs):
    raise AssertionError("a covariance matrix was formed")


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("solver", SOLVERS)
def test_wide_data_get_the_same_labels(solver, n_clusters, container, counts, monkeypatch):
    X = container(counts)
    weight = np.random.default_rng(0).integers(1, 3, size=len(counts))
    model = MaximinSeparationClustering(n_clusters, solver=solver)
    for kwargs in ({}, {"sample_weight": weight}):
        narrow, told = fit_quietly(clone(model), X, **kwargs)
        with monkeypatch.context() as patch:
            patch.setattr(minimax, "WIDE", 2)
            patch.setattr(minimax.Sides, "covariance", forbidden)
            wide, told_too = fit_quietly(clone(model), X, **kwargs)
        assert told == told_too
        np.testing.assert_array_equal(wide.labels_, narrow.labels_)
        np.testing.assert_array_equal(wide.predict(X), narrow.labels_)
        np.testing.assert_allclose(
            wide.pairwise_separation_, narrow.pairwise_separation_, rtol=1e-5
        )


@pytest.mark.parametrize("solver", SOLVERS)
def test_wide_data_need_no_square_matrix(solver):
    rng = np.random.default_rng(0)
    d = 3000
    X = sparse.random_array((60, d), density=0.02, rng=rng).tocsr()
    tracemalloc.start()
    MaximinSeparationClustering(solver=solver).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * d**2 / 4


# Kernels


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    ("kernel", "params"),
    [
        ("rbf", {"gamma": 0.1}),
        ("rbf", {"gamma": 5.0}),
        ("poly", {"gamma": 0.2, "degree": 2, "coef0": 1}),
        ("linear", {}),
        ("cosine", {}),
        ("laplacian", {"gamma": 0.3}),
        ("chi2", {"gamma": 0.3}),
        ("precomputed", {}),
    ],
)
def test_features_reproduce_the_kernel(kernel, params, container):
    X = np.abs(groups(0, n=50, d=3))
    K = pairwise_kernels(X, metric="rbf" if kernel == "precomputed" else kernel, **params)
    if kernel == "precomputed" or (kernel == "chi2" and container is not np.asarray):
        container = np.asarray  # chi2 is for dense data
    sample = container(K if kernel == "precomputed" else X)
    kernel_map = fit_kernel_map(sample, kernel=kernel, params=params, max_rank=50)
    features = kernel_map(sample)
    assert features.shape[1] <= np.linalg.matrix_rank(K)
    # a positive semidefinite remainder is nowhere larger than on its diagonal
    scale = np.diag(K).max()
    assert np.abs(features @ features.T - K).max() <= 2e-6 * scale
    small = fit_kernel_map(sample, kernel=kernel, params=params, max_rank=2)
    assert small(sample).shape == (50, min(2, features.shape[1]))
    remainder = K - small(sample) @ small(sample).T
    assert np.linalg.eigvalsh(remainder).min() >= -1e-6 * scale


@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("solver", SOLVERS)
def test_precomputed_kernel_equals_the_kernel(solver, n_clusters):
    X, new = groups(0, n=80), groups(1, n=30)
    gamma = 0.05
    by_name = MaximinSeparationClustering(n_clusters, solver=solver, kernel="rbf", gamma=gamma)
    given_matrix = MaximinSeparationClustering(n_clusters, solver=solver, kernel="precomputed")
    by_function = MaximinSeparationClustering(
        n_clusters, solver=solver, kernel=lambda a, b: np.exp(-gamma * ((a - b) ** 2).sum())
    )
    K = rbf_kernel(X, gamma=gamma)
    expected = fit_quietly(by_name, X)[0]
    fit_quietly(given_matrix, K)
    fit_quietly(by_function, X)
    assert not hasattr(expected, "coef_")
    np.testing.assert_array_equal(expected.predict(X), expected.labels_)
    for model, rows, new_rows in (
        (given_matrix, K, rbf_kernel(new, X, gamma=gamma)),
        (by_function, X, new),
    ):
        np.testing.assert_array_equal(model.labels_, expected.labels_)
        np.testing.assert_array_equal(model.predict(rows), expected.labels_)
        np.testing.assert_array_equal(model.predict(new_rows), expected.predict(new))
        np.testing.assert_allclose(
            model.decision_function(new_rows), expected.decision_function(new), atol=1e-5
        )


@pytest.mark.parametrize("solver", ["mpm", "gep"])
def test_linear_kernel_matrix_equals_whitened_features(solver):
    """With a spherical total covariance one unit for all features is each feature's own."""
    X = groups(2, n=90, d=4)
    X -= X.mean(axis=0)
    X = X @ np.linalg.inv(np.linalg.cholesky(np.cov(X.T, bias=True))).T + 0.7
    np.testing.assert_allclose(np.cov(X.T, bias=True), np.eye(4), atol=1e-12)
    start = np.random.default_rng(0).permutation(90) % 2
    by_features = MaximinSeparationClustering(solver=solver, init=start).fit(X)
    by_matrix = MaximinSeparationClustering(solver=solver, init=start, kernel="precomputed")
    by_matrix.fit(X @ X.T)
    np.testing.assert_array_equal(by_matrix.labels_, by_features.labels_)
    np.testing.assert_allclose(by_matrix.history_, by_features.history_, rtol=1e-7)
    assert by_matrix.separation_probability_ == pytest.approx(by_features.separation_probability_)


@pytest.mark.parametrize("seed", range(3))
def test_kernel_labels_do_not_depend_on_a_rotation(seed):
    X = groups(seed, n=60)
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(4, 4)))[0]
    model = MaximinSeparationClustering(3, kernel="poly", degree=2)
    expected = fit_quietly(model, X)[0].labels_
    assert same_partition(fit_quietly(model, X @ Q)[0].labels_, expected)


# Bad input

RNG = np.random.default_rng(0)
GOOD = RNG.normal(size=(20, 3))
DEPENDENT = np.hstack([GOOD, GOOD[:, :1]])
SQUARE = RNG.normal(size=(20, 20))


def spoilt(value):
    X = GOOD.copy()
    X[3, 1] = value
    return X


def weights(**kwargs):
    return {"sample_weight": np.full(kwargs.get("n", 20), kwargs.get("value", 1.0))}


BAD_INPUT = {
    "NaN": ({}, spoilt(np.nan), {}, "Input X contains NaN"),
    "infinity": ({}, spoilt(np.inf), {}, "Input X contains infinity"),
    "strings": (
        {},
        [["a", "b"], ["c", "d"]],
        {},
        "X must be numeric: could not convert string to float: 'a'",
    ),
    "one dimension": ({}, GOOD[:, 0], {}, "Expected 2D array, got 1D array"),
    "no features": ({}, GOOD[:, :0], {}, r"0 feature\(s\)"),
    "one sample": ({}, GOOD[:1], {}, "n_samples=1 should be >= n_clusters=2"),
    "few samples": ({"n_clusters": 21}, GOOD, {}, "n_samples=20 should be >= n_clusters=21"),
    "constant": ({}, np.full((20, 3), 7.3), {}, "X is constant: none of its 3 features varies"),
    "zero weights": ({}, GOOD, weights(value=0.0), "[Ss]ample.weights? must contain .* non-zero"),
    "negative weights": ({}, GOOD, weights(value=-1.0), "Negative values .* `sample_weight`"),
    "NaN weights": ({}, GOOD, weights(value=np.nan), "Input sample_weight contains NaN"),
    "weights of other length": (
        {},
        GOOD,
        weights(n=19),
        r"sample_weight.shape == \(19,\), expected \(20,\)",
    ),
    "few positive weights": (
        {"n_clusters": 3},
        GOOD,
        {"sample_weight": np.r_[1.0, 2.0, np.zeros(18)]},
        "n_samples=2 with positive sample_weight should be >= n_clusters=3",
    ),
    "kernel not square": (
        {"kernel": "precomputed"},
        GOOD,
        {},
        r"kernel='precomputed' needs X to be the square .* got shape \(20, 3\)",
    ),
    "kernel not symmetric": (
        {"kernel": "precomputed"},
        SQUARE,
        {},
        "kernel='precomputed' needs a symmetric matrix, but X differs",
    ),
    "kernel indefinite": (
        {"kernel": "precomputed"},
        SQUARE + SQUARE.T,
        {},
        "kernel is not positive semidefinite",
    ),
    "kernel indefinite later": (
        {"kernel": "precomputed"},
        np.ones((20, 20)) + 2 * np.eye(20)[::-1] + np.eye(20),
        {},
        "kernel is not positive semidefinite: after [1-9]",
    ),
    "kernel sparse": (
        {"kernel": "precomputed"},
        sparse.csr_array(GOOD @ GOOD.T),
        {},
        "kernel='precomputed' needs a dense array",
    ),
    "negative X": ({"kernel": "chi2"}, GOOD, {}, "X contains negative values"),
    "solver": ({"solver": "sdp"}, GOOD, {}, "The 'solver' parameter .* Got 'sdp'"),
    "multiway": ({"multiway": "tree"}, GOOD, {}, "The 'multiway' parameter .* Got 'tree'"),
    "kernel": ({"kernel": "gauss"}, GOOD, {}, "The 'kernel' parameter .* Got 'gauss'"),
    "init": ({"init": "pca"}, GOOD, {}, "The 'init' parameter .* Got 'pca'"),
    "init of other length": ({"init": [0, 1]}, GOOD, {}, "init has shape .2,. but X has 20"),
    "init lacks a label": ({"init": [0] * 20}, GOOD, {}, r"init must use each label .* got \[0\]"),
    "init from 1": ({"init": [1, 2] * 10}, GOOD, {}, r"init must use each label .* got \[1 2\]"),
    "init on absent samples": (
        {"init": [0] * 19 + [1]},
        GOOD,
        {"sample_weight": np.r_[np.ones(19), 0.0]},
        "init must use each label .* on samples of positive weight",
    ),
    "init for splits": (
        {"n_clusters": 3, "multiway": "bisection", "init": np.arange(20) % 3},
        GOOD,
        {},
        "init as labels needs multiway='pairwise' or 'one-vs-rest'",
    ),
    "eig against the rest": (
        {"n_clusters": 3, "solver": "eig", "multiway": "one-vs-rest"},
        GOOD,
        {},
        "multiway='one-vs-rest' does not go with solver='eig'.* use multiway='bisection'",
    ),
    "eig in pairs": (
        {"n_clusters": 3, "solver": "eig", "multiway": "pairwise"},
        GOOD,
        {},
        "multiway='pairwise' does not go with solver='eig'",
    ),
    "no clusters": ({"n_clusters": 0}, GOOD, {}, "The 'n_clusters' parameter .* Got 0"),
    "half a cluster": ({"n_clusters": 2.5}, GOOD, {}, "The 'n_clusters' parameter .* Got 2.5"),
    "negative reg": ({"reg": -0.1}, GOOD, {}, "The 'reg' parameter .* Got -0.1"),
    "NaN reg": ({"reg": np.nan}, GOOD, {}, "The 'reg' parameter .* Got nan"),
    "singular": ({"reg": 0}, DEPENDENT, {}, "reg=0 leaves .* singular .* use a larger reg"),
    "tol": ({"tol": -1e-3}, GOOD, {}, "The 'tol' parameter .* Got -0.001"),
    "n_init": ({"n_init": 0}, GOOD, {}, "The 'n_init' parameter .* Got 0"),
    "max_iter": ({"max_iter": 0}, GOOD, {}, "The 'max_iter' parameter .* Got 0"),
    "gamma": ({"kernel": "rbf", "gamma": 0}, GOOD, {}, "The 'gamma' parameter .* Got 0"),
    "n_components": ({"n_components": 0}, GOOD, {}, "The 'n_components' parameter .* Got 0"),
    "random_state": ({"random_state": "x"}, GOOD, {}, "The 'random_state' parameter .* Got 'x'"),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_is_named(case):
    params, X, kwargs, message = BAD_INPUT[case]
    with pytest.raises((ValueError, TypeError), match=message):
        MaximinSeparationClustering(**params).fit(X, **kwargs)


def test_bad_input_of_predict_is_named(iris):
    model = MaximinSeparationClustering()
    with pytest.raises(ValueError, match="not fitted yet"):
        model.predict(iris)
    model.fit(iris)
    for method in (model.predict, model.decision_function):
        with pytest.raises(ValueError, match=r"X has 3 features.* expecting 4 features"):
            method(iris[:, :3])
        with pytest.raises(ValueError, match="Input X contains NaN"):
            method(np.full((2, 4), np.nan))


@pytest.mark.parametrize("multiway", ["pairwise", "one-vs-rest"])
@pytest.mark.parametrize("solver", ["mpm", "gep"])
def test_missing_clusters_are_told(solver, multiway):
    X = np.repeat([[0.0, 0.0], [1.0, 2.0]], [6, 4], axis=0)
    model = MaximinSeparationClustering(3, solver=solver, multiway=multiway)
    with pytest.warns(ConvergenceWarning, match="Fewer clusters were found than n_clusters"):
        model.fit(X)
    np.testing.assert_array_equal(model.labels_, np.repeat([0, 1], [6, 4]))
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_distinct=st.integers(12, 30),
    n_repeated=st.integers(0, 10),
    n_features=st.integers(1, 6),
    n_constant=st.integers(0, 2),
    exponent=st.integers(-15, 15),
    dtype=st.sampled_from([np.float32, np.float64]),
    n_clusters=st.integers(1, 4),
    solver=st.sampled_from(SOLVERS),
    init=st.sampled_from(["k-means", "scale-invariant", "random"]),
    reg=st.sampled_from([1e-3, 0.3, 10.0]),
)
def test_any_data_keep_the_contract(
    seed,
    n_distinct,
    n_repeated,
    n_features,
    n_constant,
    exponent,
    dtype,
    n_clusters,
    solver,
    init,
    reg,
):
    """Repeated samples, constant features, huge and tiny values, both precisions."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_distinct, n_features)) * 10.0**exponent
    X = np.hstack([X, np.full((n_distinct, n_constant), 0.1)])
    X = X[np.r_[np.arange(n_distinct), rng.integers(n_distinct, size=n_repeated)]].astype(dtype)
    model = MaximinSeparationClustering(
        n_clusters, solver=solver, init=init, reg=reg, random_state=0
    )
    model, warning = fit_quietly(model, X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    sizes = np.bincount(model.labels_, minlength=n_clusters)
    assert (np.diff(sizes) <= 0).all()
    if warning is None or "Fewer clusters" not in warning:
        assert sizes.min() > 0
    for value in (model.coef_, model.intercept_, model.history_, model.decision_function(X)):
        assert np.isfinite(value).all()
    if n_clusters > 1:
        assert (model.coef_[:, n_features:] == 0).all()
        assert 0 <= model.separation_probability_ < 1


def test_well_separated_blobs_are_found():
    """What any method must do, for all ways to get more than two clusters."""
    X, y = make_blobs(200, centers=5, cluster_std=0.05, n_features=3, random_state=3)
    for solver, multiway in itertools.product(SOLVERS, ["auto", "bisection"]):
        model = MaximinSeparationClustering(5, solver=solver, multiway=multiway).fit(X)
        assert same_partition(model.labels_, y)
