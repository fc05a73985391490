"""Programs over the products of labels: their derivatives, and the way back to labels."""

import numpy as np
import pytest

from golden import regenerate_sdp as oracle
from separatrix.criteria.generalized_margin import generalized_kernel
from separatrix.criteria.semidefinite_margin import relax_semidefinite_margin
from separatrix.result import Progress
from separatrix.solvers.interior_point import optimize_program
from separatrix.solvers.label_programs import (
    GeneralizedProgram,
    LabelProgram,
    MachineProgram,
    best_labelling,
)


@pytest.mark.parametrize(
    "program",
    [
        LabelProgram(oracle.kernel(7), C=0.8, bound=2.0),
        LabelProgram(oracle.kernel(7), C=0.8, bound=2.0, unit=True, offset=3.0),
        MachineProgram(oracle.kernel(7), 0.8),
        GeneralizedProgram(generalized_kernel(oracle.kernel(7), 2.0), 0.8),
    ],
    ids=["label", "label-unit", "machine", "generalized"],
)
def test_derivatives_of_programs(program):
    """What a program says of its constraints fits together."""
    rng = np.random.RandomState(0)
    x, M, y = program.start()
    X, s = program.constraints(x)
    dx = 0.01 * x * rng.standard_normal(len(x))
    dX, ds = program.slope(x, dx)
    bent_X, bent_s = program.bend(dx)
    moved_X, moved_s = program.constraints(x + dx)
    np.testing.assert_allclose(X + dX + bent_X, moved_X, atol=1e-12)
    np.testing.assert_allclose(s + ds + bent_s, moved_s, atol=1e-12)
    # `pull` is the adjoint of `slope`, and `turn` how it changes
    still = program.pull(x, 0 * M, 0 * y)
    pull = program.pull(x, M, y) - still
    assert pull @ dx == pytest.approx(np.vdot(dX, M) + ds @ y, rel=1e-9)
    turned = program.pull(x + dx, M, y) - program.pull(x + dx, 0 * M, 0 * y) - pull
    np.testing.assert_allclose(program.turn(dx, M, y), turned, atol=1e-12)
    # the system, column by column
    A = rng.standard_normal((len(X), len(X)))
    Z = A @ A.T
    system = np.tril(program.system(x, s, Z, M, y))
    system += np.tril(system, -1).T
    for i in range(len(x)):
        unit = np.eye(len(x))[i]
        dX, ds = program.slope(x, unit)
        W = M @ dX @ Z
        column = program.pull(x, 0.5 * (W + W.T), y * ds / s) - still
        column -= program.turn(unit, M, y) + program.pull(x + unit, 0 * M, 0 * y) - still
        np.testing.assert_allclose(system[:, i], column, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("unit", [False, True])
def test_no_part_of_a_system_is_left_to_chance(unit, monkeypatch):
    """All of it is scaled, so what memory held before could warn of overflow."""
    monkeypatch.setattr(np, "empty", lambda shape, *_, **__: np.full(shape, np.nan))
    program = LabelProgram(oracle.kernel(7), C=0.8, bound=2.0, unit=unit)
    x, M, y = program.start()
    X, s = program.constraints(x)
    assert np.isfinite(program.system(x, s, np.linalg.inv(X), M, y)).all()


def test_labels_are_the_best_of_all_roundings():
    n, C = 30, 1.0
    K = oracle.kernel(n, "laplacian")
    found = relax_semidefinite_margin(K, C=C, balance=0.3)
    rounded = []

    def signs_of(scores):
        rounded.append(np.where(scores > np.median(scores), 1.0, -1.0))
        return rounded[-1]

    rng = np.random.RandomState(0)
    response = best_labelling(found.M, K, C=C, signs_of=signs_of, n_draws=12, rng=rng)
    assert len(rounded) == 13

    def machine(signs):
        program = MachineProgram(signs[:, None] * K * signs, C)
        return optimize_program(program, tol=1e-8, max_steps=100, progress=Progress()).objective

    values = [machine(signs) for signs in rounded]
    assert max(values) > min(values) * (1 + 1e-3)
    value = 2 * np.abs(response).sum() - response @ K @ response
    assert value == pytest.approx(min(values), rel=1e-5)
