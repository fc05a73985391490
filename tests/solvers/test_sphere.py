"""Quadratic functions on a sphere against brute force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import null_space

from separatrix.solvers.sphere import minimize_on_sphere, second_minimum_on_sphere


def cost(values, targets, x):
    return values @ x**2 - 2 * (targets * x).sum(axis=0)


def angles(n_angles, radius=1.0):
    """Points of a circle, a column each."""
    turn = 2 * np.pi * np.arange(n_angles) / n_angles
    return radius * np.stack([np.cos(turn), np.sin(turn)])


def assert_solves(values, targets, radius=1.0):
    """Sufficient for the global minimum: stationary, of the right length, eta <= lambda_1."""
    x, eta = minimize_on_sphere(values, targets, radius)
    assert x.shape == targets.shape
    np.testing.assert_allclose(np.linalg.norm(x, axis=0), radius, rtol=1e-14)
    assert (eta <= values[0]).all()
    residual = (values[:, None] - eta) * x - targets
    size = np.abs(values).max() * radius + np.abs(targets).max(axis=0)
    assert (np.abs(residual).max(axis=0) <= 1e-13 * len(values) * size).all()
    return x, eta


def random_problem(rng, n, n_problems=1, flat=False):
    """Eigenvalues, some of them equal if `flat`, and targets of all sizes."""
    values = np.sort(rng.normal(size=n)) * 10 ** rng.uniform(-2, 2)
    if flat:
        values = np.sort(np.round(values / np.ptp(values) * 2) if n > 1 else values)
    return values, rng.normal(size=(n, n_problems)) * 10 ** rng.uniform(-3, 2, n_problems)


# The global minimum


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 7, 40])
def test_the_optimality_conditions_hold(n, flat):
    rng = np.random.default_rng(n)
    for _ in range(20):
        values, targets = random_problem(rng, n, n_problems=5, flat=flat)
        assert_solves(values, targets, radius=10 ** rng.uniform(-2, 2))


def test_no_point_of_a_circle_is_lower():
    """Nor is the solution lower than a parabola through the lowest points allows."""
    rng = np.random.default_rng(0)
    circle = angles(4000)
    for case in range(60):
        values, targets = random_problem(rng, 2)
        if case % 3 == 0:
            targets[0] = 0.0  # the hard case, or near it
        x, _ = assert_solves(values, targets)
        lowest = cost(values, targets, circle).min()
        reached = cost(values, targets, x)[0]
        scale = np.abs(values).max() + np.abs(targets).max()
        assert reached <= lowest + 1e-14 * scale
        # the second derivative along the circle is at most 4 * scale
        assert reached >= lowest - 2 * scale * (np.pi / 4000) ** 2


@pytest.mark.parametrize("n", [3, 5])
def test_no_random_point_is_lower(n):
    rng = np.random.default_rng(n)
    points = rng.normal(size=(n, 20_000))
    points /= np.linalg.norm(points, axis=0)
    for case in range(20):
        values, targets = random_problem(rng, n, flat=case % 2 == 0)
        x, _ = assert_solves(values, targets)
        scale = np.abs(values).max() + np.abs(targets).max()
        assert cost(values, targets, x)[0] <= cost(values, targets, points).min() + 1e-13 * scale


def test_the_hard_case_fills_up_along_the_first_axis():
    values = np.array([1.0, 2.0, 4.0])
    x, eta = assert_solves(values, np.array([[0.0], [0.3], [0.6]]))
    # at eta = lambda_1: 0.3 / (2 - 1) and 0.6 / (4 - 1)
    np.testing.assert_allclose(x[:, 0], [np.sqrt(1 - 0.3**2 - 0.2**2), 0.3, 0.2], rtol=1e-14)
    assert eta[0] == values[0]


def test_without_a_first_part_a_long_target_needs_no_filling():
    values = np.array([1.0, 2.0, 4.0])
    x, eta = assert_solves(values, np.array([[0.0], [3.0], [0.6]]))
    assert x[0, 0] == 0
    assert eta[0] < 1


@pytest.mark.parametrize("first", [1e-300, 1e-150, 1e-17, 1e-9])
def test_next_to_the_hard_case(first):
    """The limit is the hard case's solution, from the side of the target."""
    values = np.array([-1.0, 0.0, 2.0])
    targets = np.array([[first, -first], [0.3, 0.3], [0.6, 0.6]])
    x, _ = assert_solves(values, targets)
    filled = np.sqrt(1 - 0.3**2 - 0.2**2)
    np.testing.assert_allclose(x, [[filled, -filled], [0.3] * 2, [0.2] * 2], rtol=1e-7)


def test_a_repeated_first_eigenvalue():
    values = np.array([1.0, 1.0, 3.0])
    x, eta = assert_solves(values, np.array([[3e-9], [4e-9], [0.8]]))
    # in the first eigenspace along the target, 0.8 / (3 - 1) outside of it
    room = np.sqrt(1 - 0.4**2)
    np.testing.assert_allclose(x[:, 0], [0.6 * room, 0.8 * room, 0.4], rtol=1e-7)
    x, eta = assert_solves(np.ones(4), np.array([[3.0], [0.0], [-4.0], [0.0]]), radius=2.0)
    np.testing.assert_allclose(x[:, 0], [1.2, 0, -1.6, 0], rtol=1e-14, atol=1e-15)
    assert eta[0] == pytest.approx(1 - 5 / 2, rel=1e-14)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_zero_targets_give_the_first_axis(n):
    x, eta = assert_solves(np.arange(3.0, 3.0 + n), np.zeros((n, 2)), radius=0.5)
    np.testing.assert_array_equal(x, 0.5 * np.eye(n)[:, [0, 0]])
    np.testing.assert_array_equal(eta, 3.0)


def test_one_dimension_has_two_points():
    x, eta = assert_solves(np.array([5.0]), np.array([[2.0, -3.0, 0.0]]), radius=4.0)
    np.testing.assert_array_equal(x, [[4.0, -4.0, 4.0]])
    np.testing.assert_allclose(eta, [5 - 0.5, 5 - 0.75, 5.0], rtol=1e-15)


@settings(deadline=None, max_examples=150)
@given(
    st.integers(1, 8),
    st.integers(0, 10**6),
    st.sampled_from([1e-120, 1e-30, 1e-8, 1.0, 1e8, 1e30, 1e120]),
    st.sampled_from([1e-30, 1e-8, 1.0, 1e8, 1e30]),
    st.sampled_from([1e-6, 1.0, 1e6]),
)
def test_any_scale_of_values_and_targets(n, seed, value_scale, ratio, radius):
    rng = np.random.default_rng(seed)
    values = np.sort(rng.normal(size=n)) * value_scale
    targets = rng.normal(size=(n, 2)) * value_scale * ratio
    targets[rng.random((n, 2)) < 0.2] = 0.0
    assert_solves(values, targets, radius)


def test_problems_do_not_disturb_each_other():
    rng = np.random.default_rng(0)
    values, targets = random_problem(rng, 6, n_problems=30)
    targets[0, ::4] = 0.0
    together, _ = minimize_on_sphere(values, targets)
    for j in range(30):
        alone, _ = minimize_on_sphere(values, targets[:, [j]])
        np.testing.assert_allclose(together[:, [j]], alone, rtol=1e-10, atol=1e-14)


def test_the_input_is_left_alone():
    values, targets = random_problem(np.random.default_rng(0), 5, n_problems=2)
    targets[0] = 0.0
    before = values.copy(), targets.copy()
    minimize_on_sphere(values, targets)
    second_minimum_on_sphere(values, targets)
    np.testing.assert_array_equal(values, before[0])
    np.testing.assert_array_equal(targets, before[1])


# The other local minimum


def local_minima(values, targets, n_angles):
    """Local minima on a circle, refined by parabolas, in order of cost."""
    circle = angles(n_angles)
    f = cost(values, targets, circle)
    before, after = np.roll(f, 1), np.roll(f, -1)
    low = np.flatnonzero((f < before) & (f <= after))
    shift = 0.5 * (before[low] - after[low]) / (before[low] - 2 * f[low] + after[low])
    turn = 2 * np.pi * (low + shift) / n_angles
    points = np.stack([np.cos(turn), np.sin(turn)])
    return points[:, np.argsort(cost(values, targets, points))]


def test_the_second_minimum_on_a_circle():
    rng = np.random.default_rng(1)
    n_second = 0
    for _ in range(200):
        values = np.sort(rng.normal(size=2))
        targets = rng.normal(size=(2, 1)) * 10 ** rng.uniform(-2, 0.5)
        expected = local_minima(values, targets, 20_000)
        first, _ = minimize_on_sphere(values, targets)
        np.testing.assert_allclose(first[:, 0], expected[:, 0], atol=1e-5)
        second, eta = second_minimum_on_sphere(values, targets)
        if expected.shape[1] == 1:
            assert np.isnan(second).all()
            assert np.isnan(eta).all()
        else:
            n_second += 1
            np.testing.assert_allclose(second[:, 0], expected[:, 1], atol=1e-5)
    assert 40 < n_second < 160  # both cases were seen


@pytest.mark.parametrize("n", [3, 6])
def test_the_second_minimum_meets_the_conditions_of_a_minimum(n):
    rng = np.random.default_rng(n)
    n_found = 0
    for _ in range(100):
        values, targets = random_problem(rng, n)
        radius = 10 ** rng.uniform(-1, 1)
        x, eta = second_minimum_on_sphere(values, targets, radius)
        if np.isnan(eta[0]):
            assert np.isnan(x).all()
            continue
        n_found += 1
        scale = np.abs(values).max() * radius + np.abs(targets).max()
        np.testing.assert_allclose(np.linalg.norm(x), radius, rtol=1e-12)
        residual = (values - eta[0]) * x[:, 0] - targets[:, 0]
        assert np.abs(residual).max() <= 1e-9 * scale
        along = null_space(x.T)
        curvature = np.linalg.eigvalsh(along.T @ np.diag(values - eta[0]) @ along)
        assert curvature[0] >= -1e-9 * scale / radius
        best, _ = minimize_on_sphere(values, targets, radius)
        assert cost(values, targets, x)[0] >= cost(values, targets, best)[0] - 1e-12 * scale
    assert n_found > 20


def test_descent_across_the_first_axis_ends_in_the_second_minimum():
    """Where none was found, it ends in the global one: none was missed."""
    rng = np.random.default_rng(3)
    n_second = 0
    for _ in range(40):
        values = np.sort(rng.normal(size=4))
        targets = rng.normal(size=(4, 1)) * 10 ** rng.uniform(-2, 0.5)
        best, _ = minimize_on_sphere(values, targets)
        second, _ = second_minimum_on_sphere(values, targets)
        x = best * np.array([[-1.0], [1], [1], [1]])
        shift = values[-1] + np.abs(targets).sum() + 1
        for _ in range(20_000):  # a projected gradient step, with a step that never rises
            moved = targets + (shift - values)[:, None] * x
            moved /= np.linalg.norm(moved)
            settled = np.abs(moved - x).max() < 1e-13
            x = moved
            if settled:
                break
        if np.linalg.norm(x - best) > 1e-4:
            n_second += 1
            np.testing.assert_allclose(second, x, atol=1e-6)
    assert n_second > 5


def test_the_second_minimum_of_the_hard_case_is_the_mirror_image():
    values = np.array([1.0, 2.0, 4.0])
    targets = np.array([[0.0], [0.3], [0.6]])
    first, _ = minimize_on_sphere(values, targets)
    second, eta = second_minimum_on_sphere(values, targets)
    np.testing.assert_allclose(second[:, 0], first[:, 0] * [-1, 1, 1], rtol=1e-14)
    assert eta[0] == values[0]
    # a first eigenspace of more dimensions has no other side
    second, _ = second_minimum_on_sphere(
        np.array([1.0, 1.0, 4.0]), np.array([[0.0], [0.0], [0.6]])
    )
    assert np.isnan(second).all()
