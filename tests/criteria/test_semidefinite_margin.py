"""Semidefinite maximum margin clustering against cvxpy, theorems, brute force and invariances."""

from itertools import combinations, product

import cvxpy as cp
import numpy as np
import pytest
from scipy.linalg import eigvalsh
from sklearn.datasets import make_blobs

from golden import regenerate_sdp as oracle
from separatrix import SemidefiniteMarginClustering
from separatrix.criteria.semidefinite_margin import relax_semidefinite_margin
from separatrix.metrics import clustering_error
from separatrix.result import Progress, Status
from separatrix.solvers.interior_point import optimize_program
from separatrix.solvers.label_programs import MachineProgram, label_bound

BALANCE = oracle.BALANCE["semidefinite_margin"]


# --- the program --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", oracle.KERNELS)
@pytest.mark.parametrize("C", oracle.PARAMETERS["semidefinite_margin"])
def test_optimum_is_that_of_cvxpy(C, name):
    K = oracle.kernel(24, name)
    optimum, error = oracle.solve("semidefinite_margin", K, C)
    found = relax_semidefinite_margin(K, C=C, balance=BALANCE, tol=1e-7)
    assert found.status is Status.CONVERGED
    assert found.gap <= 1e-7
    assert found.objective == pytest.approx(optimum, rel=1e-5)
    # Clarabel measures its error before it undoes its scaling of the problem
    assert found.lower_bound <= optimum + 100 * error * abs(optimum)


@pytest.mark.parametrize("case", oracle.golden_cases("semidefinite_margin"), ids=oracle.name_of)
def test_optimum_is_golden(case):
    K = oracle.kernel(case["n"], case["kernel"])
    found = relax_semidefinite_margin(K, C=case["parameter"], balance=BALANCE)
    assert found.objective == pytest.approx(case["optimum"], rel=1e-5)
    assert found.gap <= 1e-6
    assert found.lower_bound <= case["optimum"] + max(case["error"], 1e-6) * case["optimum"]


@pytest.mark.parametrize(
    ("C", "balance"), [(0.05, 0.3), (1.0, 0.0), (1.0, 1.0), (1e3, 0.0), (1e3, 0.3)]
)
def test_certificate_holds_without_the_solver(C, balance):
    """Both bounds follow from what is returned by linear algebra and one quadratic program."""
    n = 81
    K = oracle.kernel(n)
    found = relax_semidefinite_margin(K, C=C, balance=balance)
    bound = label_bound(balance, n)
    # M is feasible, so the value of its machine is no less than the optimum
    M = found.M
    np.testing.assert_allclose(np.diag(M), 1, atol=1e-9)
    assert eigvalsh(M)[0] >= -1e-12
    assert M.sum() <= bound**2 * (1 + 1e-9)
    assert np.abs(M.sum(axis=1)).max() <= bound * (1 + 1e-9)  # the band of the papers
    alpha = cp.Variable(n)
    root = np.linalg.cholesky(K * M + 1e-13 * np.eye(n))
    value = 2 * cp.sum(alpha) - cp.sum_squares(root.T @ alpha)
    machine = cp.Problem(cp.Maximize(value), [alpha >= 0, alpha <= C])
    assert machine.solve(solver="CLARABEL") <= found.objective * (1 + 1e-7)
    # x is feasible, so its value is no more than the optimum
    alpha, d, tau = found.x[:n], found.x[n:-1], found.x[-1]
    assert (alpha >= 0).all()
    assert (alpha <= C).all()
    assert tau >= 0
    X = np.diag(d) + tau - np.outer(alpha, alpha) * K
    assert eigvalsh(X)[0] >= -1e-12 * np.abs(X).max()
    value = 2 * alpha.sum() - d.sum() - bound**2 * tau
    assert found.lower_bound == pytest.approx(value, rel=1e-12)
    assert value <= found.objective
    assert found.gap <= 1e-6


def machine_of(signs, K, C, tol=1e-8):
    """Value of the machine of labels."""
    program = MachineProgram(signs[:, None] * K * signs, C)
    return optimize_program(program, tol=tol, max_steps=100, progress=Progress()).objective


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_relaxation_bounds_every_labelling(C):
    """Brute force: no labels in balance have a better machine."""
    n = 9
    K = oracle.kernel(n)
    found = relax_semidefinite_margin(K, C=C, balance=0.4, tol=1e-8)
    labellings = [np.array([1.0, *rest]) for rest in product((-1.0, 1.0), repeat=n - 1)]
    values = [
        machine_of(signs, K, C, tol=1e-9) for signs in labellings if abs(signs.sum()) <= 0.4 * n
    ]
    assert found.objective <= min(values) * (1 + 1e-8)


@pytest.mark.parametrize("C", [0.1, 1.0])
def test_triangles_tighten_the_bound(C):
    """Between the program without them and the best labels; the optimum is that of cvxpy."""
    n, balance = 8, 0.3
    K = oracle.kernel(n)
    plain = relax_semidefinite_margin(K, C=C, balance=balance, tol=1e-7)
    found = relax_semidefinite_margin(K, C=C, balance=balance, triangles=True, tol=1e-7)
    M, constraints = oracle.relaxed_labels(n, balance)
    for i, j, k in combinations(range(n), 3):  # Remark 21, each constraint once
        ij, jk, ik = M[i, j], M[j, k], M[i, k]
        constraints += [
            ik >= ij + jk - 1,
            ij >= ik + jk - 1,
            jk >= ij + ik - 1,
            ik >= -ij - jk - 1,
        ]
    mu, nu, t = cp.Variable(n, nonneg=True), cp.Variable(n, nonneg=True), cp.Variable()
    matrix = oracle.schur(cp.multiply(K, M), 1 - mu + nu, t - 2 * C * cp.sum(mu))
    optimum, _ = oracle.optimum(cp.Minimize(t), [*constraints, matrix >> 0])
    assert found.objective == pytest.approx(optimum, rel=1e-3)
    assert found.lower_bound <= optimum * (1 + 1e-6)
    assert found.lower_bound > plain.objective * (1 + 1e-4)
    labellings = [np.array([1.0, *rest]) for rest in product((-1.0, 1.0), repeat=n - 1)]
    best = min(machine_of(y, K, C) for y in labellings if abs(y.sum()) <= balance * n)
    assert found.lower_bound <= best * (1 + 1e-8)


def test_relaxation_is_exact_for_separated_clusters():
    """Within each cluster, M is then one; between them the kernel says nothing."""
    X = np.concatenate([oracle.points(10), oracle.points(11) + 10])
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 4)
    signs = np.where(np.arange(21) < 10, 1.0, -1.0)
    found = relax_semidefinite_margin(K, C=0.1, balance=0.3)
    np.testing.assert_allclose(found.M[:10, :10], 1, atol=1e-3)
    np.testing.assert_allclose(found.M[10:, 10:], 1, atol=1e-3)
    assert found.objective == pytest.approx(machine_of(signs, K, 0.1), rel=1e-5)


def test_the_trivial_optimum_without_balance():
    """For a nonnegative kernel, one cluster of all samples is best if nothing forbids it."""
    K = oracle.kernel(20)
    found = relax_semidefinite_margin(K, C=1.0, balance=1.0)
    assert found.objective == pytest.approx(machine_of(np.ones(20), K, 1.0), rel=1e-6)


def test_optimum_does_not_depend_on_the_order_of_samples():
    K = oracle.kernel(41)
    order = np.random.RandomState(0).permutation(41)
    first, second = (
        relax_semidefinite_margin(matrix, C=1.0, balance=0.3, tol=1e-8)
        for matrix in (K, K[np.ix_(order, order)])
    )
    assert first.objective == pytest.approx(second.objective, rel=1e-7)
    np.testing.assert_allclose(first.M[np.ix_(order, order)], second.M, atol=1e-2)


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_tiny_and_badly_scaled_programs(n, scale):
    K = scale * oracle.kernel(n, "laplacian")
    for C in (1e-3, 1.0, 1e3):
        assert relax_semidefinite_margin(K, C=C, balance=0.0).gap <= 1e-6


# --- the estimator ------------------------------------------------------------------------------


@pytest.mark.parametrize("balance", [0.0, 0.1, 0.5])
def test_balance_is_kept(balance):
    X, _ = make_blobs([50, 11], centers=[[0, 0], [5, 0]], random_state=0)
    sizes = np.bincount(SemidefiniteMarginClustering(balance=balance).fit(X).labels_)
    assert sizes[0] - sizes[1] <= max(balance * 61, 1)


@pytest.mark.parametrize(("low", "high"), [([6, 3], [7, 4]), (5, 5)])
def test_labels_within_bounds_are_mostly_those_of_the_best_machine(low, high):
    """Of all labels within the bounds, whose machines the objective bounds from below."""
    reached, n = 0, 10
    for seed in range(3):
        K = np.cov(np.random.default_rng(seed).normal(size=(n, 3)) * [3.0, 1.0, 1.0])
        options = {"kernel": "precomputed", "balance": 0.9, "min_size": low, "max_size": high}
        model = SemidefiniteMarginClustering(C=1.0, n_roundings=30, **options).fit(K)
        least, most = np.broadcast_to(low, 2), np.broadcast_to(high, 2)
        values = {}
        for labels in product((0, 1), repeat=n):
            sizes = np.bincount(labels, minlength=2)
            if (least <= sizes).all() and (sizes <= most).all():
                values[labels] = machine_of(2.0 * np.array(labels) - 1, K, 1.0, tol=1e-6)
        own = values[tuple(model.labels_.tolist())]
        assert model.objective_ * (1 - model.gap_) <= min(values.values()) * (1 + 1e-6)
        reached += own <= min(values.values()) * (1 + 1e-4)
    assert reached >= 2


@pytest.mark.parametrize("C", [1e-3, 0.01, 1.0])
def test_a_small_C_does_not_move_the_boundary(C):
    """All values of the machine are then far below one, and the loss tells nothing of the cut."""
    X, y = make_blobs(80, centers=[[0, 0], [8, 0]], random_state=0)
    assert clustering_error(y, SemidefiniteMarginClustering(C=C).fit(X).labels_) == 0


def test_an_estimator_with_triangles():
    X, _ = make_blobs(16, centers=[[0, 0], [2, 0]], random_state=0)
    plain = SemidefiniteMarginClustering(balance=0.2).fit(X)
    tight = SemidefiniteMarginClustering(balance=0.2, triangles=True).fit(X)
    assert tight.gap_ <= 1e-6
    assert tight.objective_ * (1 - tight.gap_) > plain.objective_
    assert tight.n_iter_ == len(tight.history_)
    with pytest.raises(ValueError, match=r"triangles=True takes too long for n_samples=101.*100"):
        tight.fit(np.arange(101.0)[:, None])


def test_two_samples_that_hardly_touch_are_two_clusters():
    # products of their labels matter less than gap_tol, so that the relaxed ones may be anything
    X = np.array([[0.16309053984744715, -0.717641566474695],
                  [-0.40821651800378866, -0.6604083525396576]])  # fmt: skip
    model = SemidefiniteMarginClustering(2, max_steps=30, n_roundings=3).fit(X)
    assert sorted(model.labels_) == [0, 1]
    assert np.isfinite(model.intercept_).all()
