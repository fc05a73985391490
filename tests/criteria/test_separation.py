"""Maximin separation clustering against brute force, the paper's theorems and its invariances."""

import collections
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning

from separatrix import MaximinSeparationClustering, MinimaxProbabilityMachine
from separatrix.labels.sizes import lower_bound_cut
from separatrix.metrics import separation_lower_bound, separation_probability_score
from separatrix.solvers import minimax
from support import correlated_groups, fit_quietly, same_partition

SOLVERS = ["mpm", "gep", "eig"]


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
    n_cases, reached = 15, 0
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
    """One more update leaves the labels as they are, if and only if the fit gave no warning.

    Unless the updates have passed better labels than those at which they ended.
    """
    outcomes = collections.Counter()
    for seed in range(12 if n_clusters < 5 else 6):
        X = correlated_groups(seed, n=50)
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
        if warning is None and moved is not None:
            assert model.objective_ == pytest.approx(max(model.history_), rel=1e-8)
            outcomes["better on the way"] += 1
        elif warning is None:
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


@pytest.mark.parametrize("n_clusters", [2, 3, 4])
def test_no_labels_on_the_way_are_better(n_clusters):
    """The fit does not end below a labelling that it has passed."""
    ended_lower = 0
    for seed in range(12):
        X = correlated_groups(seed, n=60)
        model, _ = fit_quietly(
            MaximinSeparationClustering(n_clusters, init="random", random_state=seed, tol=0), X
        )
        if len(np.unique(model.labels_)) < n_clusters:
            continue
        kappas = []
        for pair in itertools.combinations(range(n_clusters), 2):
            both = np.isin(model.labels_, pair)
            p = separation_probability_score(X[both], model.labels_[both], reg=0.3)
            kappas.append(np.sqrt(p / (1 - p)))
        assert model.objective_ == pytest.approx(np.mean(kappas), rel=1e-6)
        assert model.objective_ >= max(model.history_) * (1 - 1e-9)
        ended_lower += model.history_[-1] < max(model.history_) * (1 - 1e-6)
    assert ended_lower > 0  # otherwise nothing was shown


@pytest.mark.parametrize("solver", ["mpm", "gep"])
def test_features_that_are_constant_within_clusters_are_left_out(solver):
    """What rounding leaves of a constant when samples come and go is no variance.

    Where it counts as one, a third of these draws are refused.
    """
    X, _ = load_digits(return_X_y=True)
    for seed in range(50):
        rows = np.random.RandomState(seed).permutation(len(X))[:600]
        fit_quietly(MaximinSeparationClustering(10, solver=solver, max_iter=3), X[rows])


def test_a_cycle_is_noticed_and_told(iris, monkeypatch):
    """A step that swings between two cuts is not followed for all of max_iter updates."""
    swings = itertools.cycle([(2.0, 1.0), (4.0, 1.5)])

    def swinging(sides, start=None):
        cut, value = next(swings)
        return minimax.Step(np.eye(4)[2], -cut, value)

    monkeypatch.setattr(minimax, "minimax_step", swinging)
    model = MaximinSeparationClustering(max_iter=50)
    with pytest.warns(ConvergenceWarning, match="The label updates run in a cycle"):
        model.fit(iris)
    assert model.n_iter_ < 6
    np.testing.assert_array_equal(model.predict(iris), model.labels_)


@pytest.mark.parametrize("max_iter", [1, 50])
def test_a_cluster_that_runs_empty_is_told(max_iter, iris, monkeypatch):
    """At any update, the last one too."""
    original = minimax.minimax_step

    def greedy(sides, start=None):
        if sides.side[2] == 0:
            return original(sides, start)
        return minimax.Step(np.zeros(4), -1.0, 1.0)  # all for the other cluster

    monkeypatch.setattr(minimax, "minimax_step", greedy)
    model = MaximinSeparationClustering(3, init=np.arange(150) // 50, max_iter=max_iter)
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
    X = correlated_groups(0, n=200, n_groups=2)
    start = np.arange(200) % 2
    strict = MaximinSeparationClustering(init=start, tol=0.0).fit(X)
    loose = MaximinSeparationClustering(init=start, tol=0.9).fit(X)
    assert loose.n_iter_ == 1 < strict.n_iter_
    assert loose.history_ == strict.history_[:1]


# Invariance


@settings(max_examples=20, deadline=None)
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


@settings(max_examples=20, deadline=None)
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
    X = load[data](return_X_y=True)[0] if data in load else correlated_groups(7, n=120)
    rng = np.random.default_rng(0)
    d = X.shape[1]
    # for `eig` the start does not matter: it has none
    model = MaximinSeparationClustering(n_clusters, solver=solver, init="scale-invariant")
    expected = model.fit(X).labels_
    for scales in (
        2.0 ** rng.integers(-20, 20, size=d),
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


@settings(max_examples=25, deadline=None)
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


@settings(max_examples=30, deadline=None)
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
        X = correlated_groups(seed, n=80, d=1 + seed % 6, n_groups=4)
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
    X = load[data](return_X_y=True)[0][:180] if data in load else correlated_groups(1, n=100, d=5)
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


@pytest.mark.parametrize("data", ["iris", "wine", "digits"])
def test_labels_of_the_eigenvector_by_the_rule_of_the_paper(data):
    """The sign of XX'q, with q the leading eigenvector of the N x N matrix as it is written."""
    load = {"iris": load_iris, "wine": load_wine, "digits": load_digits}[data]
    X = load(return_X_y=True)[0][:180]
    X = X[:, X.std(axis=0) > 0]
    centered = X - X.mean(axis=0)
    Lambda = np.diag((centered**2).sum(axis=0))
    theorem = centered @ np.linalg.inv(centered.T @ centered + 0.3 * Lambda) @ centered.T
    q = np.linalg.eigh((theorem + theorem.T) / 2)[1][:, -1]
    model = MaximinSeparationClustering(solver="eig-paper").fit(X)
    assert same_partition(model.labels_, centered @ (centered.T @ q) > 0)
    if data == "wine":  # whose features have very different units
        ours = MaximinSeparationClustering(solver="eig").fit(X)
        assert not same_partition(model.labels_, ours.labels_)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("solver", SOLVERS)
def test_links_may_leave_one_cluster(solver):
    X = correlated_groups(0, n=6)
    model = MaximinSeparationClustering(solver=solver)
    with pytest.warns(ConvergenceWarning, match="Fewer clusters"):
        model.fit(X, must_link=[[i, i + 1] for i in range(5)])
    assert np.isfinite(model.objective_)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["mpm", "gep"])
def test_links_may_part_equal_samples(solver):
    X = np.repeat([[0.0, 1.0], [3.0, 1.0]], 8, axis=0)
    model = MaximinSeparationClustering(3, solver=solver)
    model.fit(X, cannot_link=[[0, 1], [1, 9], [0, 9]])
    assert len(set(model.labels_[[0, 1, 9]])) == 3
    assert np.isfinite(model.objective_)
