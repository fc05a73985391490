"""Wasserstein distances against linear programs."""

import numpy as np
import pytest
from scipy.stats import wasserstein_distance
from sklearn.metrics import euclidean_distances

from separatrix.solvers.transshipment import Transshipment
from transport_support import transport_cost


def check(solver, supplies):
    """Values are optimal, and potentials are feasible and attain them."""
    values, potentials = solver(supplies)
    expected = [transport_cost(supply, solver.cost) for supply in supplies.T]
    np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-9)
    steps = np.abs(potentials[:, None] - potentials[None])
    assert (steps <= solver.cost[:, :, None] + 1e-9).all()
    np.testing.assert_allclose(values, (potentials * supplies).sum(axis=0), rtol=1e-12)


@pytest.mark.parametrize("n_points", [2, 3, 8, 20])
def test_distances_are_those_of_linear_programs(n_points):
    rng = np.random.default_rng(n_points)
    solver = Transshipment(euclidean_distances(rng.normal(size=(n_points, 3))), 3)
    for _ in range(4):  # later ones start from the trees of those before
        supplies = rng.normal(size=(n_points, 3))
        check(solver, supplies - supplies.mean(axis=0))


@pytest.mark.parametrize("seed", range(10))
def test_ties_and_copies_do_no_harm(seed):
    """Hard labels of points on a grid: many flows and costs are equal, and some are zero."""
    rng = np.random.default_rng(seed)
    n_points = int(rng.integers(3, 22))
    points = rng.integers(0, 3, size=(n_points, 2)).astype(float)
    solver = Transshipment(euclidean_distances(points), 3)
    for _ in range(3):
        members = np.eye(3)[rng.integers(0, 3, size=n_points)]
        check(solver, (members - members.mean(axis=0)) / n_points)


def test_distances_on_a_line_are_those_of_scipy():
    rng = np.random.default_rng(0)
    points = rng.normal(size=200)
    p, q = rng.dirichlet(np.ones(200), size=2)
    solver = Transshipment(np.abs(points[:, None] - points), 1)
    values, _ = solver((p - q)[:, None])
    assert values[0] == pytest.approx(wasserstein_distance(points, points, p, q))


def test_potentials_are_gradients():
    rng = np.random.default_rng(0)
    solver = Transshipment(euclidean_distances(rng.normal(size=(30, 2))), 1)
    supply, step = rng.normal(size=(2, 30, 1))
    supply, step = supply - supply.mean(), 1e-6 * (step - step.mean())
    _, potentials = solver(supply)
    difference = solver(supply + step)[0] - solver(supply - step)[0]
    np.testing.assert_allclose(difference, 2 * (potentials * step).sum(axis=0), rtol=1e-6)


def test_nothing_to_move_costs_nothing():
    solver = Transshipment(np.zeros((1, 1)), 1)
    np.testing.assert_array_equal(solver(np.zeros((1, 1)))[0], [0.0])
    solver = Transshipment(np.zeros((4, 4)), 1)
    np.testing.assert_array_equal(solver(np.array([[1.0], [-1], [2], [-2]]))[0], [0.0])
