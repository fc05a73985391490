"""Best responses to given signs against points of the sphere, the dual and their equations."""

import numpy as np
import pytest
from scipy.linalg import null_space

from graph_support import (
    balanced_best,
    dense_responder,
    random_definite,
    random_similarities,
    sphere_values,
)
from separatrix.similarity.quadratic_forms import form_of
from separatrix.solvers.responses import DenseResponder, responder_of


def sphere_points(rng, n, n_points):
    points = rng.normal(size=(n_points, n))
    return points / np.linalg.norm(points, axis=1)[:, None]


@pytest.mark.parametrize("n", [2, 3, 4])
def test_no_point_within_the_bound_is_better(n):
    rng = np.random.default_rng(n)
    points = sphere_points(rng, n, 40_000)
    kinds = {"inside": 0, "at an end": 0}
    for _ in range(150):
        Q = random_definite(rng, n) - rng.normal() * np.eye(n)
        bound = rng.uniform(0, 0.9) * n**0.5
        reg, signs = 10 ** rng.uniform(-1, 1.5), rng.choice([-1.0, 1.0], size=(n, 1))
        responder = dense_responder(Q, bound)
        found = responder.respond(signs, reg)
        h = found.h[:, 0]
        assert np.linalg.norm(h) == pytest.approx(1, abs=1e-13)
        assert abs(h.sum()) <= bound + 1e-13
        kinds["inside" if abs(h.sum()) < bound - 1e-9 else "at an end"] += 1
        allowed = points[np.abs(points.sum(axis=1)) <= bound]
        if len(allowed):
            costs = reg * np.einsum("ij,ij->i", allowed @ Q, allowed) - 2 * allowed @ signs[:, 0]
            reached = responder.quadratic(signs, found.h, reg)[0]
            assert reached <= costs.min() + 1e-12 * (1 + np.abs(costs).max())
    assert min(kinds.values()) > 20


def test_a_second_minimum_within_the_bound_beats_both_ends():
    """The best of all is just out of bounds, the other local minimum across from it inside."""
    rng = np.random.default_rng(0)
    points = sphere_points(rng, 3, 40_000)
    n_second = 0
    for _ in range(200):
        signs = rng.choice([-1.0, 1.0], size=(3, 1))
        along = rng.normal(size=3)  # but for a little, both sides of it are as good
        along += signs[:, 0] * (0.02 * rng.normal() - along @ signs[:, 0] / 3)
        along /= np.linalg.norm(along)
        Q = 0.1 * random_definite(rng, 3) - np.outer(along, along)
        reg, bound = 10 ** rng.uniform(0, 1), abs(along.sum()) * rng.uniform(0.85, 1.1)
        responder = dense_responder(Q, bound)
        free = dense_responder(Q, None).respond(signs, reg)
        found = responder.respond(signs, reg)
        reached = responder.quadratic(signs, found.h, reg)[0]
        if abs(free.h.sum()) > bound > abs(found.h.sum()) + 1e-9:
            n_second += 1
            allowed = points[np.abs(points.sum(axis=1)) <= bound]
            costs = reg * np.einsum("ij,ij->i", allowed @ Q, allowed) - 2 * allowed @ signs[:, 0]
            assert reached <= costs.min() + 1e-12
            ends = [responder._with_sum(signs, reg, total) for total in (-bound, bound)]
            assert all(reached < responder.quadratic(signs, end.h, reg)[0] for end in ends)
    assert n_second > 5


@pytest.mark.parametrize("bound", [0.0, None])
def test_responses_have_the_value_of_the_dual(bound):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 30))
        Q = random_definite(rng, n) - rng.normal() * np.eye(n)
        signs = rng.choice([-1.0, 1.0], size=(n, 7))
        reg = 10 ** rng.uniform(-2, 3)
        responder = dense_responder(Q, bound)
        found = responder.quadratic(signs, responder.respond(signs, reg).h, reg)
        expected = balanced_best(Q, signs, reg) if bound == 0 else sphere_values(Q, signs, reg)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("bound", [0.0, 0.2, 1.0, None])
def test_the_optimality_system_holds(bound):
    """reg Q h - eta h - s = omega 1, to the digits of the terms."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 30))
        Q = random_definite(rng, n)
        signs = rng.choice([-1.0, 1.0], size=(n, 5))
        reg = 10 ** rng.uniform(-2, 3)
        found = dense_responder(Q, bound).respond(signs, reg)
        residual = reg * Q @ found.h - found.eta * found.h - signs - found.omega
        assert np.abs(residual).max() <= 1e-11 * (1 + reg * np.abs(Q).max() * n)
        slack = bound is None or (np.abs(found.h.sum(axis=0)) < bound - 1e-9)
        assert (np.where(slack, found.omega, 0.0) == 0).all()


@pytest.mark.parametrize("bound", [0.0, 0.1, 0.7, 9.0, None])
def test_updates_never_raise_the_objective(bound):
    """Exact updates without the driver's safeguard, from every start alone."""
    n_moves, active = 0, 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(20, 70))
        Q = form_of(random_similarities(rng, n), ["normalized", "unnormalized"][seed % 2], 0.0).Q
        Q = random_definite(rng, n) if seed % 3 == 0 else Q
        reg = 10 ** rng.uniform(1, 3) / np.ptp(np.linalg.eigvalsh(Q))
        responder = responder_of(form_of(Q, "precomputed", 0.0), bound)
        signs = rng.choice([-1.0, 1.0], size=(n, 8))
        before = np.full(8, np.inf)
        for update in range(15):
            found = responder.respond(signs, reg)
            after = responder.objective(found.h, reg)
            assert (after <= before + 1e-12 * (1 + np.abs(after))).all()
            np.testing.assert_allclose(np.linalg.norm(found.h, axis=0), 1, atol=1e-13)
            if bound is not None:
                assert (np.abs(found.h.sum(axis=0)) <= bound + 1e-12).all()
                active += (np.abs(found.h.sum(axis=0)) >= bound - 1e-12).any()
            new = np.where(found.h > 0, 1.0, -1.0)
            n_moves += update > 0 and (new != signs).any()
            signs, before = new, after
    assert n_moves > 5
    assert (active > 0) == (bound is not None and bound < 9)


@pytest.mark.parametrize("bound", [0.0, 0.4, None])
@pytest.mark.parametrize("name", ["normalized", "unnormalized", "precomputed"])
def test_starts_are_eigenvectors_cut_at_their_means(name, bound):
    """(9), of those that tell samples apart: a Laplacian's first one, if it is left, does not."""
    rng = np.random.default_rng(0)
    W = random_definite(rng, 25) if name == "precomputed" else random_similarities(rng, 25)
    form = form_of(W, name, 0.0)
    basis = np.eye(25) if bound is None else null_space(np.ones((1, 25)))
    vectors = basis @ np.linalg.eigh(basis.T @ form.Q @ basis)[1]
    first = int(bound is None and form.is_laplacian)
    starts = DenseResponder(form, bound).candidates(30, 1.0, np.random.RandomState(0))
    assert starts.shape == (25, 39)
    assert set(np.unique(starts)) == {-1.0, 1.0}
    for start, vector in zip(starts.T[:9], vectors.T[first:], strict=False):
        expected = np.sign(vector - vector.mean())
        assert abs(start @ expected) == 25
