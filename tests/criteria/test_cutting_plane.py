"""Margin clustering by cutting planes against quadratic programs and brute force."""

import itertools
import pickle

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

import separatrix.data.rows
from separatrix.criteria import cutting_plane
from separatrix.criteria.cutting_plane import (
    CuttingPlaneMarginClustering,
    PlaneProblem,
    cutting_planes,
    machine_at,
)
from separatrix.solvers.planes import minimize_over_planes
from support import fit_quietly, groups
from transport_support import best_total

CLUSTERS = [2, 4]


# One convex problem against a quadratic program with a slack for every sample


class Reference:
    """The machine of given labels in the papers' own form, for any labels of the same samples."""

    def __init__(self, X, n_clusters, strength, balance, weight=None):
        n = len(X)
        weight = np.ones(n) if weight is None else weight
        self.n_clusters = n_clusters
        rows = 1 if n_clusters == 2 else n_clusters
        coef, intercept, slack = cp.Variable((rows, X.shape[1])), cp.Variable(rows), cp.Variable(n)
        scores = X @ coef.T + np.ones((n, 1)) @ cp.reshape(intercept, (1, rows), order="C")
        sums = weight @ scores
        limit = balance * weight.sum()
        if n_clusters == 2:
            self.signs = cp.Parameter(n)
            margins = [cp.multiply(self.signs, scores[:, 0])]
            bounds = [cp.abs(sums) <= limit]
        else:
            self.member = cp.Parameter((n, n_clusters))
            own = cp.sum(cp.multiply(self.member, scores), axis=1)
            # a cluster's own score is no rival: its margin is raised to one
            margins = [own - scores[:, r] + self.member[:, r] for r in range(n_clusters)]
            bounds = [
                cp.abs(sums[p] - sums[q]) <= limit
                for p, q in itertools.combinations(range(n_clusters), 2)
            ]
        norm = 0.5 * cp.sum_squares(coef)
        loss = strength / weight.sum() * (weight @ slack)
        self.problem = cp.Problem(
            cp.Minimize(norm + loss), [slack >= 0, *bounds, *(m >= 1 - slack for m in margins)]
        )

    def objective(self, labels):
        if self.n_clusters == 2:
            self.signs.value = 2.0 * labels - 1
        else:
            self.member.value = np.eye(self.n_clusters)[labels]
        return self.problem.solve(solver="CLARABEL")


def machine_of(X, labels, n_clusters, strength, balance, violation_tol, weight=None):
    problem = PlaneProblem.of(X, weight, np.random.RandomState(0))
    rows = 1 if n_clusters == 2 else n_clusters
    start = machine_at(problem, np.zeros((rows, X.shape[1])), np.zeros(rows), strength, labels)
    return cutting_planes(
        problem,
        start,
        strength=strength,
        bound=balance if n_clusters == 2 else balance / 2,
        violation_tol=violation_tol,
    )


def violation_of(model, X):
    """Largest violation of a constraint by a fit to tol=0, whose labels are the machine's own."""
    return model.gap_ * model.objective_ / (model.C_ * len(X))


@pytest.mark.parametrize(("balance", "weighted"), [(0.0, True), (0.1, False)])
@pytest.mark.parametrize("strength", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("n_clusters", CLUSTERS)
def test_cutting_planes_solve_the_machine_with_all_slacks(n_clusters, strength, balance, weighted):
    rng = np.random.default_rng(0)
    X = groups(0, n=50, n_groups=n_clusters) + 5.0
    labels = rng.integers(0, n_clusters, size=50)
    weight = rng.integers(0, 3, size=50).astype(float) if weighted else None
    expected = Reference(X, n_clusters, strength, balance, weight).objective(labels)
    machine = machine_of(X, labels, n_clusters, strength, balance, 1e-8, weight)
    assert machine.objective == pytest.approx(expected, rel=1e-6)
    assert machine.violation <= 1e-8


@pytest.mark.parametrize("violation_tol", [0.3, 0.03])
@pytest.mark.parametrize("n_clusters", CLUSTERS)
def test_the_violation_bounds_the_distance_from_the_optimum(n_clusters, violation_tol):
    n_planes = []
    for seed in range(4):
        X = groups(seed, n=50, n_groups=n_clusters, spread=2.0)
        labels = np.random.default_rng(seed).integers(0, n_clusters, size=50)
        expected = Reference(X, n_clusters, 30.0, 0.1).objective(labels)
        machine = machine_of(X, labels, n_clusters, 30.0, 0.1, violation_tol)
        assert machine.violation <= violation_tol
        assert expected <= machine.objective * (1 + 1e-7)
        assert machine.objective - 30.0 * machine.violation <= expected * (1 + 1e-7)
        n_planes.append(machine.n_planes)
    exact = machine_of(X, labels, n_clusters, 30.0, 0.1, 1e-6)
    assert max(n_planes) <= exact.n_planes


@pytest.mark.parametrize("violation_tol", [0.03, 1e-3])
@pytest.mark.parametrize("n_clusters", CLUSTERS)
def test_the_gap_bounds_the_distance_from_the_optimum(n_clusters, violation_tol):
    for seed in range(2):
        X = groups(seed, n=50, n_groups=n_clusters)
        model = CuttingPlaneMarginClustering(
            n_clusters, C=30.0 / 50, violation_tol=violation_tol, tol=0
        ).fit(X)
        assert 0 <= violation_of(model, X) <= violation_tol
        expected = Reference(X, n_clusters, 30.0, 0.1).objective(model.labels_)
        assert expected <= model.objective_ * (1 + 1e-7)
        assert model.objective_ * (1 - model.gap_) <= expected * (1 + 1e-7)


@pytest.mark.parametrize("strength", [1e-12, 1e9])
@pytest.mark.parametrize("n_clusters", CLUSTERS)
def test_a_loss_of_next_to_no_or_all_weight(n_clusters, strength):
    for seed in range(2):
        X = groups(seed, n=50, n_groups=n_clusters, spread=3.0)
        C = strength / X.var(axis=0).sum() / 50
        model = CuttingPlaneMarginClustering(n_clusters, C=C, violation_tol=1e-5, tol=0)
        assert violation_of(fit_quietly(model, X)[0], X) <= 1e-5


@pytest.mark.parametrize("n_biases", [1, 3])
def test_the_master_problem_against_its_primal(n_biases):
    """With planes that repeat, a plane at zero, and more planes than features."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        slopes = np.vstack([np.zeros(5), rng.normal(size=(9, 5))])
        biases = np.vstack([np.zeros(n_biases), rng.normal(size=(9, n_biases))])
        offsets = np.append(0.0, rng.uniform(size=9))
        repeated = [0, *range(10), 4, 4]
        slopes, biases, offsets = slopes[repeated], biases[repeated], offsets[repeated]
        C = 10.0 ** (seed - 2)
        shares, place, value = minimize_over_planes(
            C * slopes @ slopes.T, biases, offsets, tol=1e-10
        )
        w, b = cp.Variable(5), cp.Variable(n_biases)
        height = cp.max(offsets - slopes @ w - biases @ b)
        primal = cp.Problem(
            cp.Minimize(0.5 / C * cp.sum_squares(w) + height), [cp.norm_inf(b) <= 1]
        )
        assert value == pytest.approx(primal.solve(solver="CLARABEL"), abs=1e-7)
        normal = C * shares @ slopes
        reached = 0.5 / C * normal @ normal + (offsets - slopes @ normal - biases @ place).max()
        assert reached == pytest.approx(value, abs=1e-7)


# The whole problem


def scores_of(model, X):
    return X @ model.coef_.T + model.intercept_


def objective_of(model, X, weight=None):
    """The papers' objective, written out for the boundaries of a model."""
    scores = scores_of(model, X)
    if scores.shape[1] == 1:
        margins = np.abs(scores[:, 0])
    else:
        highest = np.sort(scores, axis=1)
        margins = highest[:, -1] - highest[:, -2]
    weight = np.ones(len(X)) if weight is None else weight
    losses = weight @ np.maximum(0, 1 - margins)
    return 0.5 * np.sum(model.coef_**2) + model.C_ * losses


@pytest.mark.parametrize("C", ["scale", 0.3 / 70, 3.0 / 70])
@pytest.mark.parametrize("balance", [0.0, 0.02, 0.3])
@pytest.mark.parametrize("n_clusters", CLUSTERS)
def test_the_objective_falls_and_is_that_of_the_boundaries(n_clusters, balance, C):
    for seed in range(2):
        X = groups(seed, n=70, n_groups=n_clusters, spread=2.0)
        model = CuttingPlaneMarginClustering(
            n_clusters, C=C, score_balance=balance, init="random", random_state=seed, tol=0
        )
        model, _ = fit_quietly(model, X)
        assert (np.diff(model.history_) <= 1e-12).all()
        assert len(model.history_) == model.n_iter_
        assert model.history_[-1] == model.objective_
        assert model.objective_ == pytest.approx(objective_of(model, X), rel=1e-9)
        assert violation_of(model, X) <= model.violation_tol
        means = scores_of(model, X).mean(axis=0)
        largest = abs(means[0]) if n_clusters == 2 else np.ptp(means)
        assert largest <= balance + 1e-9


def all_labellings(n, n_clusters):
    """Each partition of n samples into at most `n_clusters` once: labels by first appearance."""
    for labels in itertools.product(range(n_clusters), repeat=n):
        if all(label <= max(labels[:i], default=-1) + 1 for i, label in enumerate(labels)):
            yield np.array(labels)


@pytest.mark.parametrize(("n_clusters", "n"), [(2, 8), (3, 6)])
def test_no_restart_beats_the_exhaustive_minimum(n_clusters, n, record_property):
    """And the best of twenty reaches it in most cases: the method is a local search."""
    n_cases, reached, shares = 3, 0, []
    for seed in range(n_cases):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, 2)) + 1.5 * rng.integers(0, n_clusters, size=n)[:, None]
        strength = [3.0, 30.0][seed % 2]
        reference = Reference(X, n_clusters, strength, 0.1)
        least = min(reference.objective(labels) for labels in all_labellings(n, n_clusters))
        found = []
        for _ in range(20):
            labels = rng.integers(0, n_clusters, size=n)
            labels[rng.permutation(n)[:n_clusters]] = np.arange(n_clusters)
            model = CuttingPlaneMarginClustering(
                n_clusters, C=strength / n, init=labels, violation_tol=1e-7, tol=0
            )
            model, _ = fit_quietly(model, X)
            found.append(model.objective_)
        assert min(found) >= least * (1 - 1e-6)
        shares.append(np.mean(np.array(found) <= least * (1 + 1e-5)))
        reached += min(found) <= least * (1 + 1e-5)
    record_property("share_of_optima_reached", float(reached / n_cases))
    record_property("share_of_starts_at_the_optimum", float(np.mean(shares)))
    print(f"optimum reached in {reached} of {n_cases} cases, by {np.mean(shares):.0%} of starts")
    assert reached > n_cases / 2


def losses_of(model, X):
    """Loss of each sample with each label, straight from the definition."""
    scores = scores_of(model, X)
    if scores.shape[1] == 1:
        scores = np.hstack([-scores, scores]) / 2
    rivals = [np.delete(scores, c, axis=1).max(axis=1) for c in range(scores.shape[1])]
    return np.maximum(1 - (scores - np.column_stack(rivals)), 0)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_clusters", CLUSTERS)
def test_labels_within_bounds_have_the_least_loss(n_clusters, weighted):
    """By an integer program; the objective is theirs, and no update raises it."""
    for seed in range(3):
        X = groups(seed, n=40, n_groups=n_clusters, spread=2.0)
        rng = np.random.default_rng(seed)
        weight = rng.integers(1, 4, size=40).astype(float) if weighted else None
        sizes = rng.multinomial(40, rng.dirichlet(np.full(n_clusters, 3.0)))
        low, high = np.maximum(sizes - 1, 0), sizes + 2
        model = CuttingPlaneMarginClustering(n_clusters, min_size=low, max_size=high, tol=0)
        model, _ = fit_quietly(model, X, sample_weight=weight)
        losses = losses_of(model, X) * (1 if weight is None else weight[:, None])
        loss = losses[np.arange(40), model.labels_].sum()
        assert loss == pytest.approx(-best_total(-losses, low, high), rel=1e-9)
        expected = 0.5 * np.sum(model.coef_**2) + model.C_ * loss
        assert model.objective_ == pytest.approx(expected, rel=1e-9)
        assert (np.diff(model.history_) <= 1e-12).all()


@pytest.mark.parametrize(("n_clusters", "sizes"), [(2, [5, 3]), (3, [2, 2, 2]), (3, [3, 2, 1])])
def test_bounds_reach_the_exhaustive_minimum_from_many_starts(n_clusters, sizes):
    n, reached = sum(sizes), 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, 2)) + 1.5 * rng.integers(0, n_clusters, size=n)[:, None]
        reference = Reference(X, n_clusters, 3.0, 0.1)
        least = min(
            reference.objective(labels)
            for labels in all_labellings(n, n_clusters)
            if sorted(np.bincount(labels, minlength=n_clusters)) == sorted(sizes)
        )
        params = {"C": 3.0 / n, "violation_tol": 1e-7, "tol": 0, "random_state": seed}
        params |= {"init": "random", "n_init": 20, "min_size": sizes, "max_size": sizes}
        model, _ = fit_quietly(CuttingPlaneMarginClustering(n_clusters, **params), X)
        np.testing.assert_array_equal(np.bincount(model.labels_), sizes)
        own = reference.objective(model.labels_)
        assert model.objective_ == pytest.approx(own, rel=1e-5)
        assert own >= least * (1 - 1e-6)
        reached += own <= least * (1 + 1e-5)
    assert reached >= 2


@pytest.mark.parametrize("weighted", [False, True])
def test_bounds_hold_where_a_start_is_from_a_sample(weighted, monkeypatch):
    monkeypatch.setattr(separatrix.data.rows, "SAMPLE_SIZE", 50)
    X = groups(0, n=200, n_groups=3)
    weight = np.arange(200) % 3 if weighted else None
    model = CuttingPlaneMarginClustering(3, max_size=[120, 60, 40], random_state=0)
    model, _ = fit_quietly(model, X, sample_weight=weight)
    assert (np.bincount(model.labels_, minlength=3) <= [120, 60, 40]).all()


@pytest.mark.parametrize("n_clusters", [2, 10])
def test_a_converged_fit_is_a_fixed_point(n_clusters):
    X = load_digits().data[:300]
    model = CuttingPlaneMarginClustering(n_clusters, violation_tol=1e-4, tol=0).fit(X)
    again = CuttingPlaneMarginClustering(n_clusters, violation_tol=1e-4, tol=0, init=model.labels_)
    again.fit(X)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    assert again.n_iter_ == 1
    assert again.objective_ == pytest.approx(model.objective_, rel=1e-2)


@pytest.mark.parametrize(
    ("init", "n_clusters"),
    [("k-means", 2), ("k-means", 3), ("k-means", 5), ("random", 2), ("random", 3)],
)
def test_groups_far_apart_are_found(init, n_clusters):
    truth = np.arange(60) % n_clusters
    X = 20.0 * np.eye(n_clusters)[truth] + np.random.default_rng(0).normal(size=(60, n_clusters))
    model = CuttingPlaneMarginClustering(n_clusters, init=init, n_init=10, random_state=0).fit(X)
    pairs = set(zip(model.labels_, truth, strict=True))
    assert len(pairs) == n_clusters


# Contract


@pytest.mark.parametrize("weighted", [False, True])
def test_the_scale_of_C_is_that_of_the_scatter(weighted):
    X, weight = groups(1), np.arange(60) % 3.0 if weighted else np.ones(60)
    scatter = weight @ np.square(X - np.average(X, axis=0, weights=weight)).sum(axis=1)
    for n_clusters in (2, 3):
        scaled = CuttingPlaneMarginClustering(n_clusters).fit(X, sample_weight=weight)
        assert pytest.approx(100 * n_clusters / scatter, rel=1e-12) == scaled.C_
        given = CuttingPlaneMarginClustering(n_clusters, C=scaled.C_).fit(X, sample_weight=weight)
        assert given.C_ == scaled.C_
        assert given.objective_ == scaled.objective_


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("n_clusters", CLUSTERS)
def test_predictions_are_the_labels(n_clusters, kernel):
    X = groups(1, n=80, n_groups=n_clusters, spread=1.5)
    model = CuttingPlaneMarginClustering(n_clusters, kernel=kernel).fit(X)
    decision = model.decision_function(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    winner = decision > 0 if n_clusters == 2 else decision.argmax(axis=1)
    np.testing.assert_array_equal(winner, model.labels_)
    sizes = np.bincount(model.labels_, minlength=n_clusters)
    assert (np.diff(sizes) <= 0).all()
    assert hasattr(model, "coef_") == (kernel == "linear")
    if kernel == "linear" and n_clusters > 2:
        np.testing.assert_array_equal(scores_of(model, X).argmax(axis=1), model.labels_)
        np.testing.assert_allclose(decision, scores_of(model, X), rtol=1e-12)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.decision_function(X), decision)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("n_clusters", [2, 3])
def test_weights_equal_repetition_and_zero_is_absence(n_clusters, kernel):
    X = groups(2, n=50, n_groups=n_clusters)
    counts = np.random.default_rng(0).integers(0, 4, size=50)
    rows = np.repeat(np.arange(50), counts)
    params = {"kernel": kernel, "violation_tol": 1e-4}
    weighted = CuttingPlaneMarginClustering(n_clusters, **params)
    weighted.fit(X, sample_weight=counts.astype(float))
    repeated = CuttingPlaneMarginClustering(n_clusters, **params).fit(X[rows])
    np.testing.assert_array_equal(weighted.labels_[rows], repeated.labels_)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-2)
    np.testing.assert_array_equal(weighted.predict(X), weighted.labels_)


@pytest.mark.parametrize("n_clusters", CLUSTERS)
def test_the_order_of_rows_does_not_matter(n_clusters):
    X = groups(3, n=61, n_groups=n_clusters)
    order = np.random.default_rng(0).permutation(61)
    model = CuttingPlaneMarginClustering(n_clusters).fit(X)
    shuffled = CuttingPlaneMarginClustering(n_clusters).fit(X[order])
    np.testing.assert_array_equal(shuffled.labels_, model.labels_[order])


@pytest.mark.parametrize(("unit", "origin"), [(1e-8, 0.0), (1e-3, 1e4), (1e6, 1e4)])
@pytest.mark.parametrize("n_clusters", CLUSTERS)
def test_units_and_origin_do_not_matter(n_clusters, unit, origin):
    X = groups(4, n_groups=n_clusters)
    model = CuttingPlaneMarginClustering(n_clusters, tol=0).fit(X)
    moved = CuttingPlaneMarginClustering(n_clusters, tol=0).fit(unit * (X + origin))
    np.testing.assert_array_equal(moved.labels_, model.labels_)
    assert moved.objective_ * unit**2 == pytest.approx(model.objective_, rel=1e-6)


def sparse_rows(n_clusters, n=80):
    rng = np.random.default_rng(0)
    rates = 0.2 + 2.0 * np.repeat(np.eye(n_clusters), 4, axis=1)
    return rng.poisson(rates[np.arange(n) % n_clusters]).astype(float)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("n_clusters", CLUSTERS)
def test_sparse_equals_dense(n_clusters, kernel):
    X = sparse_rows(n_clusters)
    dense = CuttingPlaneMarginClustering(n_clusters, kernel=kernel).fit(X)
    for container in (sparse.csr_array, sparse.csc_matrix):
        thin = CuttingPlaneMarginClustering(n_clusters, kernel=kernel).fit(container(X))
        np.testing.assert_array_equal(thin.labels_, dense.labels_)
        np.testing.assert_array_equal(thin.predict(container(X)), dense.labels_)
        assert thin.objective_ == pytest.approx(dense.objective_, rel=1e-6)


@pytest.mark.parametrize("n_clusters", CLUSTERS)
def test_sparse_samples_stay_sparse(n_clusters, monkeypatch):
    convert = {kind: kind.toarray for kind in (sparse.csr_array, sparse.csc_array)}

    def guarded(self, *args, **kwargs):
        assert min(self.shape) <= 1, "a sparse matrix was made dense"
        return convert[type(self)](self, *args, **kwargs)

    for kind in convert:
        monkeypatch.setattr(kind, "toarray", guarded)
        monkeypatch.setattr(kind, "todense", guarded)
    CuttingPlaneMarginClustering(n_clusters).fit(sparse.csr_array(sparse_rows(n_clusters)))


@pytest.mark.parametrize("n_clusters", CLUSTERS)
def test_single_precision_finds_the_same_labels(n_clusters):
    X = groups(6, n_groups=n_clusters, spread=0.7).astype(np.float32)
    double = CuttingPlaneMarginClustering(n_clusters).fit(X.astype(np.float64))
    single = CuttingPlaneMarginClustering(n_clusters).fit(X)
    np.testing.assert_array_equal(single.labels_, double.labels_)
    assert single.decision_function(X).dtype == np.float32
    # what single precision cannot tell does not keep the planes coming
    CuttingPlaneMarginClustering(n_clusters, violation_tol=1e-9).fit(X)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("n_clusters", [2, 3])
def test_dask_equals_local(n_clusters, kernel):
    da = pytest.importorskip("dask.array")
    X = groups(7, n=90, n_groups=n_clusters)
    lazy = da.from_array(X, chunks=((49, 1, 40), 4))
    for weight in (None, np.random.default_rng(0).integers(0, 3, size=90).astype(float)):
        local = CuttingPlaneMarginClustering(n_clusters, kernel=kernel)
        local.fit(X, sample_weight=weight)
        model = CuttingPlaneMarginClustering(n_clusters, kernel=kernel)
        model.fit(lazy, sample_weight=weight)
        np.testing.assert_array_equal(model.labels_, local.labels_)
        np.testing.assert_array_equal(model.predict(lazy).compute(), local.labels_)


@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_other_arrays_get_the_same_labels(library, weighted, n_clusters):
    xp = pytest.importorskip(library)
    X = groups(8, n=90, n_groups=n_clusters)
    weight = np.random.default_rng(0).integers(1, 3, size=90).astype(float) if weighted else None
    local = CuttingPlaneMarginClustering(n_clusters).fit(X, sample_weight=weight)
    rows = xp.asarray(X)
    with config_context(array_api_dispatch=True):
        given = None if weight is None else xp.asarray(weight)
        model = CuttingPlaneMarginClustering(n_clusters).fit(rows, sample_weight=given)
        predicted = model.predict(rows)
    assert type(model.labels_) is type(rows) is type(model.coef_)
    np.testing.assert_array_equal(np.asarray(model.labels_), local.labels_)
    np.testing.assert_array_equal(np.asarray(predicted), local.labels_)


@pytest.mark.parametrize("n_clusters", [2, 3])
def test_a_linear_kernel_is_linear_by_any_name(n_clusters):
    X = scale(load_wine().data)
    X -= X.mean(axis=0)
    named = CuttingPlaneMarginClustering(n_clusters, violation_tol=1e-4, tol=0).fit(X)
    for kernel, samples in (("precomputed", X @ X.T), (np.dot, X), ("poly", X)):
        params = {"degree": 1, "coef0": 0, "gamma": 1.0} if kernel == "poly" else {}
        model = CuttingPlaneMarginClustering(
            n_clusters, kernel=kernel, violation_tol=1e-4, tol=0, **params
        )
        model.fit(samples)
        np.testing.assert_array_equal(model.labels_, named.labels_)
        assert model.objective_ == pytest.approx(named.objective_, rel=1e-2)
        np.testing.assert_array_equal(model.predict(samples), named.labels_)


def test_the_best_of_the_restarts_is_kept():
    X = scale(load_iris().data)
    gains = []
    for seed in range(4):
        few, many = (
            CuttingPlaneMarginClustering(init="random", n_init=n_init, random_state=seed)
            for n_init in (1, 5)
        )
        gains.append(fit_quietly(few, X)[0].objective_ - fit_quietly(many, X)[0].objective_)
    assert min(gains) >= 0
    assert max(gains) > 0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_clusters", [2, 3])
def test_labels_from_a_sample_are_near_those_of_all(n_clusters, weighted, monkeypatch):
    X = groups(9, n=3000, n_groups=n_clusters)
    weight = np.random.default_rng(0).integers(0, 3, size=3000).astype(float) if weighted else None
    whole = CuttingPlaneMarginClustering(n_clusters).fit(X, sample_weight=weight)
    monkeypatch.setattr(separatrix.data.rows, "SAMPLE_SIZE", 500)
    sampled = CuttingPlaneMarginClustering(n_clusters, random_state=0)
    sampled.fit(X, sample_weight=weight)
    again = CuttingPlaneMarginClustering(n_clusters, random_state=0)
    again.fit(X, sample_weight=weight)
    np.testing.assert_array_equal(again.labels_, sampled.labels_)
    assert np.mean(whole.labels_ != sampled.labels_) < 0.02
    assert sampled.objective_ == pytest.approx(objective_of(sampled, X, weight), rel=1e-9)


def test_ten_digits_are_told_apart():
    X = load_digits().data[:900]
    model = CuttingPlaneMarginClustering(10).fit(X)
    assert model.coef_.shape == (10, 64)
    assert len(np.unique(model.labels_)) == 10
    np.testing.assert_allclose(model.coef_.sum(axis=0), 0, atol=1e-9)  # only differences count


def test_one_cluster_holds_all():
    model = CuttingPlaneMarginClustering(1).fit(groups())
    assert not model.labels_.any()
    assert model.gap_ == model.n_planes_ == 0
    assert np.isnan(model.C_)


# Words of warning


def test_a_lost_cluster_is_told():
    uneven = np.arange(60) // 40  # at so small a C the bias of the larger cluster is all there is
    with pytest.warns(ConvergenceWarning, match="Fewer clusters"):
        CuttingPlaneMarginClustering(C=1e-6 / 60, score_balance=0.5, init=uneven).fit(groups())
    two_points = np.repeat([[0.0, 0.0], [1.0, 2.0]], 5, axis=0)
    with pytest.warns(ConvergenceWarning, match="Fewer clusters"):
        CuttingPlaneMarginClustering(3).fit(two_points)


def test_too_few_updates_are_told():
    X = groups(1, spread=4.0)
    full, _ = fit_quietly(CuttingPlaneMarginClustering(init="random", random_state=0, tol=0), X)
    assert full.n_iter_ > 1
    model = CuttingPlaneMarginClustering(init="random", random_state=0, tol=0, max_iter=1)
    with pytest.warns(ConvergenceWarning, match="max_iter") as caught:
        model.fit(X)
    assert caught[0].filename == __file__
    assert model.history_ == full.history_[:1]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"C": 0.0}, "'C'"),
        ({"C": "auto"}, "'C'"),
        ({"C": 1e12}, "C=1e\\+12 is too large"),
        ({"score_balance": 1.0}, "'score_balance'"),
        ({"violation_tol": 0.0}, "'violation_tol'"),
        ({"init": "pca"}, "'init'"),
        ({"init": np.zeros(59, dtype=int)}, "init has shape"),
        ({"init": np.zeros(60, dtype=int)}, "init must use each label"),
        ({"kernel": "precomputed"}, "square matrix"),
        ({"kernel": "rbf", "gamma": ("mean", -1.0)}, "gamma"),
        ({"n_clusters": 61}, "n_clusters=61"),
    ],
)
def test_bad_parameters_are_named(params, message, monkeypatch):
    monkeypatch.setattr(cutting_plane, "solve_cutting_plane", None)  # refused before the work
    with pytest.raises(ValueError, match=message):
        CuttingPlaneMarginClustering(**params).fit(groups())


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("value", [1.0, 1e8])
def test_data_that_the_kernel_cannot_tell_apart_are_refused(value, kernel):
    X = np.full((20, 3), value)
    X[0, 0] += 1e-15 * (1 + value)
    with pytest.raises(ValueError, match="constant"):
        CuttingPlaneMarginClustering(kernel=kernel, gamma=1.0).fit(X)


@pytest.mark.parametrize("n_clusters", [2, 3])
def test_as_few_samples_as_clusters(n_clusters):
    X = 3.0 * np.eye(3)[:n_clusters]
    model = CuttingPlaneMarginClustering(n_clusters).fit(X)
    assert sorted(model.labels_) == list(range(n_clusters))
