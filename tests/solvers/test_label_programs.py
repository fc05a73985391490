"""Programs over the products of labels: their derivatives, and the way back to labels."""

from itertools import combinations, permutations, product

import numpy as np
import pytest

from golden import regenerate_sdp as oracle
from separatrix.criteria.generalized_margin import generalized_kernel
from separatrix.criteria.semidefinite_margin import relax_semidefinite_margin
from separatrix.result import Progress
from separatrix.solvers.interior_point import optimize_program
from separatrix.solvers.label_programs import (
    Fold,
    GeneralizedProgram,
    LabelProgram,
    MachineProgram,
    TriangleCuts,
    best_labelling,
    optimize_labels,
)

CUTS = TriangleCuts(
    np.array([[0, 1, 2], [0, 1, 2], [1, 3, 6], [2, 4, 5]]),
    np.array([[1.0, 1, -1], [-1, -1, -1], [-1, 1, 1], [1, -1, 1]]),
)
# Five components of seven samples, of which some are apart.
FOLD = Fold(
    np.array([0, 1, 0, 2, 3, 4, 2]),
    np.array([1, 1, -1, 1, 1, 1, 1]),
    np.array([1.0, 1, -1, 1, -1]),
)


@pytest.mark.parametrize(
    "program",
    [
        LabelProgram(oracle.kernel(7), C=0.8, bound=2.0),
        LabelProgram(oracle.kernel(7), C=0.8, bound=2.0, unit=True, offset=3.0),
        LabelProgram(oracle.kernel(7), C=0.8, bound=2.0, cuts=CUTS),
        LabelProgram(oracle.kernel(7), C=0.8, bound=2.0, unit=True, offset=3.0, cuts=CUTS),
        LabelProgram(oracle.kernel(7), C=0.8, bound=2.0, unit=True, fold=FOLD),
        LabelProgram(oracle.kernel(7), C=0.8, bound=2.0, cuts=CUTS[:2], fold=FOLD),
        MachineProgram(oracle.kernel(7), 0.8),
        MachineProgram(oracle.kernel(7), 0.8, np.sqrt(np.arange(1.0, 8))),
        GeneralizedProgram(generalized_kernel(oracle.kernel(7), 2.0), 0.8),
        GeneralizedProgram(
            generalized_kernel(oracle.kernel(7), 2.0, np.arange(1.0, 8)),
            np.linspace(0.5, 0.8, 7),
            np.arange(1.0, 8),
        ),
    ],
    ids=[
        "label",
        "label-unit",
        "label-cuts",
        "label-unit-cuts",
        "label-unit-fold",
        "label-cuts-fold",
        "machine",
        "machine-weights",
        "generalized",
        "generalized-weights",
    ],
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
    assert len(rounded) == 25  # the first eigenvector, 12 turns of it, and 12 draws

    def machine(signs):
        program = MachineProgram(signs[:, None] * K * signs, C)
        return optimize_program(program, tol=1e-8, max_steps=100, progress=Progress()).objective

    values = [machine(signs) for signs in rounded]
    assert max(values) > min(values) * (1 + 1e-3)
    value = 2 * np.abs(response).sum() - response @ K @ response
    assert value == pytest.approx(min(values), rel=1e-5)


def test_without_further_roundings_the_first_eigenvector_decides():
    K = oracle.kernel(20, "laplacian")
    M = relax_semidefinite_margin(K, C=1.0, balance=0.3).M
    first = np.linalg.eigh(M)[1][:, -1]
    rng = np.random.RandomState(0)
    response = best_labelling(M, K, C=1.0, signs_of=np.sign, n_draws=0, rng=rng)
    assert abs(np.sign(response) @ np.sign(first)) == len(K)


# --- triangles ----------------------------------------------------------------------------------


def excesses(M):
    """By how much each constraint of Remark 21 is violated, written as the paper has them."""
    first = {
        (i, j, k): M[i, j] + M[j, k] - 1 - M[i, k]
        for i, j, k in permutations(range(len(M)), 3)
        if i < k  # the other way round it is the same
    }
    second = {
        triple: -M[triple[0], triple[1]] - M[triple[1], triple[2]] - 1 - M[triple[0], triple[2]]
        for triple in combinations(range(len(M)), 3)
    }
    return np.array([*first.values(), *second.values()])


def correlations(n, rank, seed):
    """A positive semidefinite matrix of unit diagonal."""
    vectors = np.random.default_rng(seed).normal(size=(n, rank))
    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    return vectors @ vectors.T


def test_every_labelling_keeps_all_triangles():
    for rest in product((-1.0, 1.0), repeat=6):
        signs = np.array([1.0, *rest])
        assert excesses(np.outer(signs, signs)).max() <= 0
        assert len(TriangleCuts.violated(np.outer(signs, signs), 1000)) == 0


@pytest.mark.parametrize("seed", range(4))
def test_violated_triangles_are_those_of_the_paper(seed):
    M = correlations(7, 2 + seed % 2, seed)
    expected = np.sort(excesses(M))[::-1]
    cuts = TriangleCuts.violated(M, 1000)
    found = cuts.values(M) - 1
    np.testing.assert_allclose(found, expected[expected > 1e-3], atol=1e-12)
    some = TriangleCuts.violated(M, 3)
    np.testing.assert_allclose(some.values(M), cuts.values(M)[:3])
    # their matrices
    for cut in range(len(cuts)):
        matrix = cuts[[cut]].add(np.ones(1), np.zeros((7, 7)))
        np.testing.assert_array_equal(matrix, matrix.T)
        assert np.vdot(matrix, M) == pytest.approx(cuts.values(M)[cut])


@pytest.mark.parametrize("unit", [False, True])
def test_the_certificate_holds_with_triangles(unit):
    n = 12
    program = LabelProgram(oracle.kernel(n), C=0.8, bound=3.0, unit=unit)
    options = {"tol": 1e-6, "max_steps": 100, "progress": Progress()}
    plain = optimize_labels(program, triangles=False, **options)
    found = optimize_labels(program, triangles=True, **options)
    assert excesses(plain.M).max() > 0.1
    assert excesses(found.M).max() <= 1e-3
    assert found.gap <= 1e-6
    assert found.lower_bound > plain.objective
    np.testing.assert_allclose(np.diag(found.M), 1, atol=1e-9)
    assert np.linalg.eigvalsh(found.M)[0] >= -1e-12
    assert len(found.history) == found.n_iter > plain.n_iter


def test_few_samples_have_no_triangles():
    for n in (2, 3):
        program = LabelProgram(oracle.kernel(n), C=0.8, bound=1.0)
        found = optimize_labels(
            program, triangles=True, tol=1e-6, max_steps=100, progress=Progress()
        )
        assert found.gap <= 1e-6


def test_linked_samples_have_one_row_of_the_program():
    """Equal to the program of all samples whose products are held, by an independent solver."""
    cp = pytest.importorskip("cvxpy")
    K, C, bound = oracle.kernel(7), 0.8, 3.0
    program = LabelProgram(K, C=C, bound=bound, fold=FOLD)
    found = optimize_program(program, tol=1e-7, max_steps=100, progress=Progress())
    M = program.products(found.M)
    same = FOLD.component[:, None] == FOLD.component
    np.testing.assert_allclose(M[same], np.outer(FOLD.sign, FOLD.sign)[same], atol=1e-6)
    # min t over M and multipliers of the bounds: t >= v' (K o M)^-1 v + 2 C 1'mu
    full, t = cp.Variable((7, 7), symmetric=True), cp.Variable()
    mu, nu = cp.Variable(7, nonneg=True), cp.Variable(7, nonneg=True)
    v = cp.reshape(1 + nu - mu, (7, 1), order="C")
    schur = cp.bmat([[cp.multiply(K, full), v], [v.T, cp.reshape(t, (1, 1), order="C")]])
    held = [
        full[i, j] == FOLD.sign[i] * FOLD.sign[j] for i, j in zip(*same.nonzero(), strict=True)
    ]
    rules = [schur >> 0, full >> 0, cp.sum(full) <= bound**2, *held]
    value = cp.Problem(cp.Minimize(t + 2 * C * cp.sum(mu)), rules).solve(solver=cp.CLARABEL)
    assert found.objective == pytest.approx(value, rel=1e-4)


@pytest.mark.parametrize(
    ("copies", "apart"), [([6, 6], False), ([0, 6, 6, 6], False), ([6] * 6, True)]
)
def test_copies_are_related_by_less_than_one_only_where_balance_presses(copies, apart):
    """Why there are no weights: a heavy sample is bound by the balance, its copies are not."""
    rows = np.append(np.arange(6), copies)
    K, bound = oracle.kernel(7)[np.ix_(rows, rows)], 2.5
    program = LabelProgram(K, C=0.8, bound=bound)
    free = optimize_program(program, tol=1e-7, max_steps=200, progress=Progress())
    nodes, component, sizes = np.unique(rows, return_inverse=True, return_counts=True)
    labels = map(np.array, product([-1.0, 1.0], repeat=len(nodes)))
    signs = min(labels, key=lambda one: abs(sizes @ one))
    assert abs(sizes @ signs) < bound
    fold = Fold(component, np.ones(len(rows)), signs)
    program = LabelProgram(K, C=0.8, bound=bound, fold=fold)
    tied = optimize_program(program, tol=1e-7, max_steps=200, progress=Progress())
    if apart:
        assert free.objective < tied.objective - 1e-3
    else:
        assert free.objective == pytest.approx(tied.objective, rel=1e-6)
    assert (free.M[-2, -1] < 0.99) == apart
