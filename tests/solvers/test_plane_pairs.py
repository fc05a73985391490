"""Machines of neighbouring pairs of clusters against quadratic programs and geometry."""

import itertools

import cvxpy as cp
import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from separatrix import CuttingPlaneMarginClustering
from separatrix.criteria.cutting_plane import PlaneProblem
from separatrix.solvers.plane_pairs import Pairs, neighboring_pairs, pair_machines
from support import fit_quietly


def crowded(seed, n=120, n_clusters=6, n_features=2):
    """Overlapping clusters, more than features, and their classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_clusters
    return 4 * rng.normal(size=(n_clusters, n_features))[y] + rng.normal(size=(n, n_features)), y


def machine_objective(X, sides, weight, C, bound, about):
    """Objective of the machine of two clusters, with a slack for every sample."""
    w, b, slack = cp.Variable(X.shape[1]), cp.Variable(), cp.Variable(len(X))
    scores = (X - about) @ w + b
    constraints = [slack >= 0, cp.multiply(sides, scores) >= 1 - slack, cp.abs(b) <= bound]
    goal = cp.Minimize(0.5 * cp.sum_squares(w) + C * (weight @ slack))
    return cp.Problem(goal, constraints).solve(solver="CLARABEL")


@pytest.mark.parametrize("bound", [0.0, 0.1])
@pytest.mark.parametrize("C", [1e-3, 0.1, 10.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_each_pair_has_the_machine_with_all_slacks(weighted, C, bound):
    X, y = crowded(0)
    weight = np.random.default_rng(1).integers(0, 3, len(X)).astype(float) if weighted else None
    problem = PlaneProblem.of(X, weight, np.random.RandomState(0))
    pairs = Pairs.of(problem, y, 6, C)
    start = pairs.machines_at(np.zeros_like(pairs.about), np.zeros(len(pairs.about)), y)
    fitted = pair_machines(pairs, start, bound=bound, violation_tol=1e-8)
    counted = np.ones(len(X)) if weight is None else weight
    objectives = pairs.machines_at(fitted.coef, fitted.biases, y).objective
    assert fitted.objective == pytest.approx(objectives.sum(), rel=1e-12)
    assert fitted.violation <= 1e-6
    assert len(objectives) >= 5
    for side, about, objective in zip(
        pairs.halfway.code[pairs.neighbors], pairs.about, objectives, strict=True
    ):
        sides = side[y].astype(float)
        inside = sides != 0
        np.testing.assert_allclose(about, np.average(X[inside], axis=0, weights=counted[inside]))
        expected = machine_objective(X[inside], sides[inside], counted[inside], C, bound, about)
        assert objective == pytest.approx(expected, rel=1e-5, abs=1e-7)


def test_the_gap_bounds_the_distance_from_the_optimum():
    X, y = crowded(2)
    problem = PlaneProblem.of(X, None, np.random.RandomState(0))
    pairs = Pairs.of(problem, y, 6, 1.0)
    start = pairs.machines_at(np.zeros_like(pairs.about), np.zeros(len(pairs.about)), y)
    exact = pair_machines(pairs, start, bound=0.1, violation_tol=1e-9)
    for violation_tol in (0.3, 0.03, 0.003):
        rough = pair_machines(pairs, start, bound=0.1, violation_tol=violation_tol)
        assert rough.n_planes < exact.n_planes
        least = rough.objective - rough.violation * pairs.C * problem.weight
        assert least * (1 - 1e-9) <= exact.objective <= rough.objective


def test_neighbours_have_no_third_mean_in_the_ball_between_them():
    means = np.random.default_rng(0).normal(size=(30, 3))
    found = neighboring_pairs(means)
    np.testing.assert_array_equal(found, found.T)
    assert not found.diagonal().any()
    for p, q in itertools.combinations(range(30), 2):
        center, radius = (means[p] + means[q]) / 2, np.linalg.norm(means[p] - means[q]) / 2
        others = np.delete(means, [p, q], axis=0)
        empty = (np.linalg.norm(others - center, axis=1) >= radius).all()
        near = min(np.sum(np.linalg.norm(means - means[a], axis=1) < 2 * radius) for a in (p, q))
        assert found[p, q] == (empty and near <= 10)


def test_a_cluster_between_others_is_found():
    """One machine for all clusters, whose biases are bounded, loses those in the middle."""
    rng = np.random.default_rng(0)
    grid = np.array(list(itertools.product(range(4), repeat=2)))
    y = np.arange(640) % 16
    X = 10 * grid[y] + rng.normal(size=(640, 2))
    model = CuttingPlaneMarginClustering(16, init=y, tol=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1.0
    assert model.coef_.shape == (120, 2)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("seed", range(4))
def test_objectives_never_rise_and_are_those_of_the_labels(seed):
    X, _ = crowded(seed, n=400, n_clusters=9)
    model, _ = fit_quietly(CuttingPlaneMarginClustering(9, tol=0), X)
    assert (np.diff(model.history_) <= 0).all()
    assert model.objective_ == model.history_[-1]
    assert 0 <= model.gap_ < 0.5
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_units_and_origin_of_the_features_do_not_matter():
    X, _ = crowded(5, n=400, n_clusters=9)
    labels = [
        fit_quietly(CuttingPlaneMarginClustering(9), scale * X + shift)[0].labels_
        for scale, shift in ((1.0, 0.0), (1e-6, 0.0), (1e4, 1e6))
    ]
    assert adjusted_rand_score(labels[0], labels[1]) == 1.0
    assert adjusted_rand_score(labels[0], labels[2]) > 0.99
