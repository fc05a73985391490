"""Semidefinite maximum margin clustering against cvxpy, theorems, brute force and invariances."""

import importlib.util
import json
from itertools import product
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from numpydoc.validate import validate
from scipy.linalg import eigvalsh
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from separatrix.criteria.generalized_margin import (
    GeneralizedMarginClustering,
    generalized_kernel,
    solve_generalized_margin,
)
from separatrix.criteria.semidefinite_margin import (
    SemidefiniteMarginClustering,
    solve_semidefinite_margin,
)
from separatrix.metrics import clustering_error
from separatrix.result import Progress, Status
from separatrix.solvers.interior_point import solve_program
from separatrix.solvers.label_programs import (
    MAX_SAMPLES,
    GeneralizedProgram,
    LabelProgram,
    MachineProgram,
    best_labelling,
    label_bound,
)

GOLDEN = Path(__file__).parents[1] / "golden"
spec = importlib.util.spec_from_file_location("regenerate_sdp", GOLDEN / "regenerate_sdp.py")
oracle = importlib.util.module_from_spec(spec)
spec.loader.exec_module(oracle)

ESTIMATORS = [SemidefiniteMarginClustering, GeneralizedMarginClustering]
MARGIN = [
    (program, parameter)
    for program in ("semidefinite_margin", "generalized_margin")
    for parameter in oracle.PARAMETERS[program]
]


def solved(program, K, parameter, **options):
    if program == "generalized_margin":
        G = generalized_kernel(K, oracle.SUM_PENALTY)
        return solve_generalized_margin(G, C=parameter, **options)
    return solve_semidefinite_margin(K, C=parameter, balance=oracle.BALANCE[program], **options)


def kernel(n, name="rbf"):
    return oracle.kernel_matrix(name, oracle.points(n))


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(60, centers=[[0, 0], [6, 0]], random_state=0)


# --- the programs -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", oracle.KERNELS)
@pytest.mark.parametrize(("program", "parameter"), MARGIN)
def test_optimum_is_that_of_cvxpy(program, parameter, name):
    K = kernel(30, name)
    optimum, error = oracle.solve(program, K, parameter)
    found = solved(program, K, parameter, tol=1e-7)
    assert found.status is Status.CONVERGED
    assert found.gap <= 1e-7
    assert found.objective == pytest.approx(optimum, rel=1e-5)
    # Clarabel measures its error before it undoes its scaling of the problem
    assert found.lower_bound <= optimum + 100 * error * abs(optimum)


@pytest.mark.parametrize(
    "case",
    [
        case
        for case in json.loads((GOLDEN / "sdp.json").read_text())
        if case["program"] != "hard_volume"
    ],
    ids=lambda case: "-".join(str(case[key]) for key in ("program", "n", "kernel", "parameter")),
)
def test_optimum_is_golden(case):
    found = solved(case["program"], kernel(case["n"], case["kernel"]), case["parameter"])
    assert found.objective == pytest.approx(case["optimum"], rel=1e-5)
    assert found.gap <= 1e-6
    assert found.lower_bound <= case["optimum"] + max(case["error"], 1e-6) * case["optimum"]


@pytest.mark.parametrize("C", [0.05, 1.0, 1e3])
@pytest.mark.parametrize("balance", [0.0, 0.3, 1.0])
def test_margin_certificate_holds_without_the_solver(C, balance):
    """Both bounds follow from what is returned by linear algebra and one quadratic program."""
    n = 81
    K = kernel(n)
    found = solve_semidefinite_margin(K, C=C, balance=balance)
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


def test_generalized_certificate_holds_without_the_solver():
    K = kernel(80)
    G = generalized_kernel(K, 1e4)
    for C in (0.05, 1e3):
        found = solve_generalized_margin(G, C=C)
        S = np.linalg.inv(G)
        assert eigvalsh(S - np.diag(found.x))[0] >= -1e-6 * np.abs(S).max() * 1e-6
        assert (found.x >= 0).all()
        assert (found.x <= C).all()
        assert found.lower_bound == pytest.approx(found.x.sum(), rel=1e-12)
        missing = np.maximum(1 - np.diag(found.M), 0).sum()
        value = np.vdot(S, found.M) + C * missing
        assert eigvalsh(found.M)[0] >= -1e-10 * np.abs(found.M).max()
        assert found.objective == pytest.approx(value, rel=1e-6)
        assert found.gap <= 1e-6


@pytest.mark.parametrize("name", oracle.KERNELS)
def test_hard_margins_of_both_programs_are_one(name):
    """Without slack, (24) is (22) for the centred kernel: put d = alpha^2 / gamma there."""
    G = generalized_kernel(kernel(40, name), 1e4)
    generalized = solve_generalized_margin(G, C=1e6, tol=1e-8)
    margin = solve_semidefinite_margin(G, C=1e6, balance=1.0, tol=1e-8)
    assert generalized.objective == pytest.approx(margin.objective, rel=1e-6)


def test_generalized_kernel_is_the_paper_s_matrix_without_the_offset():
    n, penalty = 25, 3.0
    K = kernel(n)
    lifted = np.linalg.inv(K + np.eye(n) / n)
    W = lifted + penalty * np.ones((n, n))
    ones = lifted.sum(axis=1)
    eliminated = W - np.outer(ones, ones) / ones.sum()
    np.testing.assert_allclose(
        np.linalg.inv(generalized_kernel(K, penalty)), eliminated, rtol=1e-6
    )


def labellings(n, bound):
    """All label vectors in balance, the first label positive."""
    for rest in product((-1.0, 1.0), repeat=n - 1):
        signs = np.array([1.0, *rest])
        if abs(signs.sum()) <= bound:
            yield signs


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_relaxation_bounds_every_labelling(C):
    """Brute force: no labels in balance have a better machine."""
    n = 9
    K = kernel(n)
    found = solve_semidefinite_margin(K, C=C, balance=0.4, tol=1e-8)
    values = []
    for signs in labellings(n, 0.4 * n):
        program = MachineProgram(signs[:, None] * K * signs, C)
        machine = solve_program(program, tol=1e-9, max_iter=100, progress=Progress())
        values.append(machine.objective)
    assert found.objective <= min(values) * (1 + 1e-8)


def test_relaxation_is_exact_for_separated_clusters():
    """Within each cluster, M is then one; between them the kernel says nothing."""
    X = np.concatenate([oracle.points(10), oracle.points(11) + 10])
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 4)
    signs = np.where(np.arange(21) < 10, 1.0, -1.0)
    found = solve_semidefinite_margin(K, C=0.1, balance=0.3)
    np.testing.assert_allclose(found.M[:10, :10], 1, atol=1e-3)
    np.testing.assert_allclose(found.M[10:, 10:], 1, atol=1e-3)
    program = MachineProgram(signs[:, None] * K * signs, 0.1)
    machine = solve_program(program, tol=1e-8, max_iter=100, progress=Progress())
    assert found.objective == pytest.approx(machine.objective, rel=1e-5)


def test_generalized_relaxation_bounds_every_labelling():
    n = 8
    G = generalized_kernel(kernel(n), 1e4)
    S = np.linalg.inv(G)
    root = np.linalg.cholesky(S)
    found = solve_generalized_margin(G, C=1e6, tol=1e-8)
    values = []
    for signs in labellings(n, n - 1):
        w = cp.Variable(n)
        objective = cp.Minimize(cp.sum_squares(root.T @ w))
        values.append(cp.Problem(objective, [cp.multiply(signs, w) >= 1]).solve("CLARABEL"))
    assert found.objective <= min(values) * (1 + 1e-6)


def test_machine_is_that_of_a_quadratic_program():
    n, C = 40, 1.0
    K = kernel(n, "polynomial")
    signs = np.where(np.arange(n) < 20, 1.0, -1.0)
    N = signs[:, None] * K * signs
    machine = solve_program(MachineProgram(N, C), tol=1e-9, max_iter=100, progress=Progress())
    alpha = cp.Variable(n)
    root = np.linalg.cholesky(N + 1e-13 * np.eye(n))
    value = 2 * cp.sum(alpha) - cp.sum_squares(root.T @ alpha)
    optimum = cp.Problem(cp.Maximize(value), [alpha >= 0, alpha <= C]).solve("CLARABEL")
    assert machine.objective == pytest.approx(optimum, rel=1e-7)
    assert machine.lower_bound == pytest.approx(optimum, rel=1e-7)


@pytest.mark.parametrize(
    "program",
    [
        LabelProgram(kernel(7), C=0.8, bound=2.0),
        LabelProgram(kernel(7), C=0.8, bound=2.0, unit=True, offset=3.0),
        MachineProgram(kernel(7), 0.8),
        GeneralizedProgram(generalized_kernel(kernel(7), 2.0), 0.8),
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
    program = LabelProgram(kernel(7), C=0.8, bound=2.0, unit=unit)
    x, M, y = program.start()
    X, s = program.constraints(x)
    assert np.isfinite(program.system(x, s, np.linalg.inv(X), M, y)).all()


def test_optimum_does_not_depend_on_the_order_of_samples():
    K = kernel(41)
    order = np.random.RandomState(0).permutation(41)
    for solve in (
        lambda K: solve_semidefinite_margin(K, C=1.0, balance=0.3, tol=1e-8),
        lambda K: solve_generalized_margin(generalized_kernel(K, 1e4), C=1.0, tol=1e-8),
    ):
        first, second = solve(K), solve(K[np.ix_(order, order)])
        assert first.objective == pytest.approx(second.objective, rel=1e-7)
        np.testing.assert_allclose(first.M[np.ix_(order, order)], second.M, atol=1e-2)


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_tiny_and_badly_scaled_programs(n, scale):
    K = scale * kernel(n, "laplacian")
    for C in (1e-3, 1.0, 1e3):
        assert solve_semidefinite_margin(K, C=C, balance=0.0).gap <= 1e-6
        assert solve_generalized_margin(generalized_kernel(K, 1e4), C=C).gap <= 1e-6


def test_the_trivial_optimum_without_balance():
    """For a nonnegative kernel, one cluster of all samples is best if nothing forbids it."""
    K = kernel(20)
    found = solve_semidefinite_margin(K, C=1.0, balance=1.0)
    one = solve_program(MachineProgram(K, 1.0), tol=1e-8, max_iter=100, progress=Progress())
    assert found.objective == pytest.approx(one.objective, rel=1e-6)


# --- the estimators -----------------------------------------------------------------------------


@pytest.mark.filterwarnings("default")
@parametrize_with_checks([estimator() for estimator in ESTIMATORS])
def test_sklearn_check(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("kernel", ["rbf", "linear", "laplacian"])
def test_separated_clusters_are_found(estimator, kernel, blobs):
    X, y = blobs
    model = estimator(kernel=kernel).fit(X)
    assert len(set(zip(y, model.labels_, strict=True))) == 2
    assert model.certified_gap_ <= 1e-6
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.predict([[-1.0, 0]]) != model.predict([[7.0, 0]])
    assert model.history_[-1] == pytest.approx(model.objective_)
    assert model.n_iter_ == len(model.history_)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_number_of_clusters(estimator, kernel):
    X, y = make_blobs(75, centers=[[0, 0], [8, 0], [4, 12]], random_state=0)
    one = estimator(1, kernel=kernel).fit(X)
    assert (one.labels_ == 0).all()
    assert one.certified_gap_ == 0
    assert (one.decision_function(X) == 0).all()
    three = estimator(3, kernel=kernel).fit(X)
    assert len(set(zip(y, three.labels_, strict=True))) == 3
    np.testing.assert_array_equal(three.predict(X), three.labels_)
    assert three.decision_function(X).shape == (75, 3)
    assert three.certified_gap_ <= 1e-6


@pytest.mark.parametrize("balance", [0.0, 0.1, 0.5])
def test_balance_is_kept(balance):
    X, _ = make_blobs([50, 11], centers=[[0, 0], [5, 0]], random_state=0)
    sizes = np.bincount(SemidefiniteMarginClustering(balance=balance).fit(X).labels_)
    assert sizes[0] - sizes[1] <= max(balance * 61, 1)


@pytest.mark.parametrize("C", [1e-3, 0.01, 1.0])
def test_a_small_C_does_not_move_the_boundary(C):
    """All values of the machine are then far below one, and the loss tells nothing of the cut."""
    X, y = make_blobs(80, centers=[[0, 0], [8, 0]], random_state=0)
    assert clustering_error(y, SemidefiniteMarginClustering(C=C).fit(X).labels_) == 0


def test_no_gamma_where_the_kernel_has_none(blobs):
    assert np.isnan(SemidefiniteMarginClustering(kernel="linear").fit(blobs[0]).gamma_)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_forms_of_input_agree(estimator, blobs):
    X, _ = blobs
    expected = estimator(gamma=0.1).fit(X)
    K = np.exp(-0.1 * ((X[:, None] - X) ** 2).sum(axis=2))
    for model, data in (
        (estimator(gamma=0.1), sp.csr_array(X)),
        (estimator(kernel="precomputed"), K),
        (estimator(gamma=0.1), X.astype(np.float32)),
    ):
        model.fit(data)
        np.testing.assert_array_equal(model.labels_, expected.labels_)
        assert model.objective_ == pytest.approx(expected.objective_, rel=1e-5)
        np.testing.assert_array_equal(model.predict(data), model.labels_)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_linear_boundary_is_an_affine_function_that_moves_with_the_samples(estimator, blobs):
    X, _ = blobs
    model = estimator(kernel="linear").fit(X)
    values = X @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), values, atol=1e-9)
    far = estimator(kernel="linear").fit(X + 1e3)
    np.testing.assert_allclose(far.coef_, model.coef_, rtol=1e-3, atol=1e-6)
    np.testing.assert_array_equal(far.labels_, model.labels_)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_duplicates_stay_together_and_results_repeat(estimator, blobs):
    X = np.repeat(blobs[0][:30], 2, axis=0)
    model = estimator().fit(X)
    np.testing.assert_array_equal(model.labels_[::2], model.labels_[1::2])
    np.testing.assert_array_equal(estimator().fit(X).labels_, model.labels_)
    np.testing.assert_array_equal(
        estimator(random_state=3).fit(X).labels_, estimator(random_state=3).fit(X).labels_
    )


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_refusals_name_the_remedy(estimator):
    import dask.array as da

    rng = np.random.RandomState(0)
    with pytest.raises(ValueError, match=f"n_samples={MAX_SAMPLES + 1} needs .* GB"):
        estimator().fit(np.zeros((MAX_SAMPLES + 1, 1)))
    with pytest.raises(ValueError, match="constant to the kernel"):
        estimator().fit(np.ones((10, 2)))
    with pytest.raises(ValueError, match="kernel='sigmoid' is not positive semidefinite"):
        estimator(kernel="sigmoid", gamma=5.0, coef0=-3).fit(rng.standard_normal((20, 2)))
    with pytest.raises(ValueError, match="square matrix"):
        estimator(kernel="precomputed").fit(rng.standard_normal((20, 2)))
    with pytest.raises(TypeError, match="dask array"):
        estimator().fit(da.zeros((20, 2)))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_program_must_fit_memory(estimator, blobs, monkeypatch):
    monkeypatch.setattr("os.sysconf", lambda name: 100)  # ten kilobytes
    with pytest.raises(ValueError, match=r"25 matrices .* 60 samples need .* fit a sample"):
        estimator().fit(blobs[0])


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_gap_above_tol_is_not_silent(estimator, blobs):
    X, _ = blobs
    with pytest.warns(ConvergenceWarning, match=r"certified gap .* above tol; increase max_iter"):
        model = estimator(max_iter=2).fit(X)
    assert model.certified_gap_ > 1e-6
    assert len(np.unique(model.labels_)) == 2


def test_labels_are_the_best_of_all_roundings():
    n, C = 30, 1.0
    K = kernel(n, "laplacian")
    found = solve_semidefinite_margin(K, C=C, balance=0.3)
    rounded = []

    def signs_of(scores):
        rounded.append(np.where(scores > np.median(scores), 1.0, -1.0))
        return rounded[-1]

    rng = np.random.RandomState(0)
    response = best_labelling(found.M, K, C=C, signs_of=signs_of, n_draws=12, rng=rng)
    assert len(rounded) == 13

    def machine(signs):
        program = MachineProgram(signs[:, None] * K * signs, C)
        return solve_program(program, tol=1e-8, max_iter=100, progress=Progress()).objective

    values = [machine(signs) for signs in rounded]
    assert max(values) > min(values) * (1 + 1e-3)
    value = 2 * np.abs(response).sum() - response @ K @ response
    assert value == pytest.approx(min(values), rel=1e-5)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_docstrings_follow_numpydoc(estimator):
    home = f"{estimator.__module__}.{estimator.__name__}"
    ignored = {"ES01", "SA01", "EX01", "RT02"}
    for name in (home, *(f"{home}.{m}" for m in ("fit", "predict", "decision_function"))):
        assert not [error for error in validate(name)["errors"] if error[0] not in ignored]
