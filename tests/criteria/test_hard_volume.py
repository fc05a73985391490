"""Hard-label maximum volume clustering against cvxpy, limits, brute force and invariances."""

import importlib.util
import json
from itertools import product
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import eigvalsh
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning

from separatrix._sklearn import one_blas_thread
from separatrix.criteria.hard_volume import HardMaximumVolumeClustering, relax_hard_volume
from separatrix.metrics import clustering_error
from separatrix.result import Status
from separatrix.solvers.label_programs import MAX_SAMPLES, label_bound

GOLDEN = Path(__file__).parents[1] / "golden"
spec = importlib.util.spec_from_file_location("regenerate_sdp", GOLDEN / "regenerate_sdp.py")
oracle = importlib.util.module_from_spec(spec)
spec.loader.exec_module(oracle)

BALANCE = oracle.BALANCE["hard_volume"]


def matrix(n, name="narrow"):
    """The paper's Q = W + I/n."""
    return oracle.kernel_matrix(name, oracle.points(n)) + np.eye(n) / n


def solved(Q, reg, *, max_response=1.0, balance=BALANCE, **options):
    relax = one_blas_thread(relax_hard_volume)  # as the estimator does for so few samples
    return relax(Q, reg=reg, max_response=max_response, balance=balance, **options)


def length(found):
    return np.linalg.norm(found.x[: len(found.M)])


@pytest.fixture(scope="module")
def moons():
    return make_moons(80, noise=0.05, random_state=0)


# --- the program --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", oracle.KERNELS)
@pytest.mark.parametrize("reg", oracle.PARAMETERS["hard_volume"])
def test_optimum_is_that_of_cvxpy(reg, name):
    Q = matrix(20, name)
    optimum, error = oracle.hard_volume(Q, reg, BALANCE)
    found = solved(Q, reg, tol=1e-7)
    assert found.status is Status.CONVERGED
    assert found.gap <= 1e-7
    assert found.objective == pytest.approx(optimum, rel=1e-5)
    # Clarabel measures its error before it undoes its scaling of the problem
    assert found.lower_bound <= optimum + 100 * error * max(abs(optimum), 1)


@pytest.mark.parametrize("name", oracle.KERNELS)
@pytest.mark.parametrize("reg", [1e-3, 1.0])
def test_optimum_is_that_of_the_paper_where_alpha_has_length_one(reg, name):
    """Problem (13) without the bound on its multiplier, for the paper's gamma up to one."""
    Q = matrix(24, name)
    found = solved(Q, reg, tol=1e-7)
    assert length(found) == pytest.approx(1, abs=1e-5)
    optimum, _ = oracle.hard_volume(Q, reg, BALANCE, bounded=False)
    assert found.objective == pytest.approx(optimum, rel=1e-5)


def test_where_alpha_is_shorter_the_program_is_tighter_than_the_paper_s():
    Q = matrix(20)
    found = solved(Q, 30.0)
    assert length(found) < 0.9
    optimum, _ = oracle.hard_volume(Q, 30.0, BALANCE, bounded=False)
    assert optimum < found.lower_bound - 1.0


@pytest.mark.parametrize("bound", [0.1, 0.25])
def test_bound_of_alpha(bound):
    """A small one binds; the oracle has it as a multiplier."""
    Q = matrix(24)
    optimum, _ = oracle.hard_volume(Q, 1.0, BALANCE, C=bound)
    found = solved(Q, 1.0, max_response=bound, tol=1e-7)
    assert found.x[:24].max() > 0.999 * bound
    assert found.objective == pytest.approx(optimum, rel=1e-5)


@pytest.mark.parametrize(
    "case",
    [
        case
        for case in json.loads((GOLDEN / "sdp.json").read_text())
        if case["program"] == "hard_volume"
    ],
    ids=lambda case: "-".join(str(case[key]) for key in ("n", "kernel", "parameter")),
)
def test_optimum_is_golden(case):
    found = solved(matrix(case["n"], case["kernel"]), case["parameter"])
    assert found.objective == pytest.approx(case["optimum"], rel=1e-5)
    assert found.gap <= 1e-6
    slack = max(case["error"], 1e-6) * max(abs(case["optimum"]), 1)
    assert found.lower_bound <= case["optimum"] + slack


@pytest.mark.parametrize(("reg", "balance"), [(1e-3, 0.5), (1.0, 0.0), (100.0, 0.5)])
def test_certificate_holds_without_the_solver(reg, balance):
    """Both bounds follow from what is returned by linear algebra and one quadratic program."""
    n = 101
    Q = matrix(n)
    lowest = reg * eigvalsh(Q)[0]
    found = solved(Q, reg, balance=balance)
    bound = label_bound(balance, n)
    # M is feasible, so the value of the best alpha is no less than the optimum
    M = found.M
    np.testing.assert_allclose(np.diag(M), 1, atol=1e-9)
    assert eigvalsh(M)[0] >= -1e-12
    assert M.sum() <= bound**2 * (1 + 1e-9)
    alpha = cp.Variable(n)
    N = reg * Q * M - lowest * np.eye(n)
    root = np.linalg.cholesky(N + 1e-13 * np.trace(N) * np.eye(n))
    value = 2 * cp.sum(alpha) - cp.sum_squares(root.T @ alpha) - lowest
    machine = cp.Problem(cp.Maximize(value), [alpha >= 0, cp.norm(alpha) <= 1])
    tiny = 1e-6 * max(abs(found.objective), 1)
    assert machine.solve(solver="CLARABEL") <= found.objective + tiny
    # x is feasible, so its value is no more than the optimum
    alpha, d, tau = found.x[:n], found.x[n:-1], found.x[-1]
    assert alpha @ alpha <= 1
    assert (alpha >= 0).all()
    assert tau >= 0
    X = np.diag(d) + tau - np.outer(alpha, alpha) * (reg * Q - lowest * np.eye(n))
    assert eigvalsh(X)[0] >= -1e-12 * np.abs(X).max()
    value = 2 * alpha.sum() - d.sum() - bound**2 * tau - lowest
    assert found.lower_bound == pytest.approx(value, rel=1e-12)
    assert value <= found.objective
    assert found.gap <= 1e-6


def values_of_labels(Q, reg, C, bound):
    """The paper's objective, eta within its bound, of all labels in balance, by cvxpy."""
    n = len(Q)
    lowest = eigvalsh(Q)[0]
    alpha, signs = cp.Variable(n), cp.Parameter(n)
    root = np.linalg.cholesky(reg * (Q - lowest * np.eye(n)) + 1e-12 * np.eye(n))
    value = 2 * cp.sum(alpha) - cp.sum_squares(root.T @ cp.multiply(signs, alpha)) - reg * lowest
    problem = cp.Problem(cp.Maximize(value), [alpha >= 0, alpha <= C, cp.norm(alpha) <= 1])
    values = []
    for rest in product((-1.0, 1.0), repeat=n - 1):
        labels = np.array([1.0, *rest])
        if abs(labels.sum()) <= bound:
            signs.value = labels
            values.append(problem.solve(solver="CLARABEL"))
    return values


@pytest.mark.parametrize("reg", [0.1, 3.0])
def test_relaxation_bounds_every_labelling(reg):
    Q = matrix(8)
    values = values_of_labels(Q, reg, 1.0, 0.3 * 8)
    found = solved(Q, reg, balance=0.3, tol=1e-8)
    assert found.objective <= min(values) + 1e-6


@pytest.mark.parametrize("reg", [0.1, 3.0])
def test_triangles_tighten_the_bound(reg):
    Q = matrix(8)
    plain, tight = (solved(Q, reg, balance=0.3, triangles=on) for on in (False, True))
    assert plain.objective < tight.lower_bound
    assert tight.lower_bound <= min(values_of_labels(Q, reg, 1.0, 0.3 * 8)) + 1e-6
    with pytest.raises(ValueError, match="triangles=True takes too long for n_samples=101"):
        HardMaximumVolumeClustering(triangles=True).fit(np.arange(101.0)[:, None])


def test_limit_of_a_small_weight_is_the_bisection_of_the_graph():
    """For gamma to zero alpha is constant, and M maximises <Q, M>: the minimum bisection."""
    n, reg = 30, 1e-5
    Q = matrix(n)
    M, constraints = oracle.relaxed_labels(n, BALANCE)
    cut = cp.Problem(cp.Maximize(cp.trace(Q @ M)), constraints)
    cut.solve(solver="CLARABEL")
    found = solved(Q, reg, tol=1e-9)
    assert (2 * n**0.5 - found.objective) / reg == pytest.approx(cut.value / n, rel=1e-3)
    np.testing.assert_allclose(found.x[:n], n**-0.5, rtol=1e-3)


def test_optimum_does_not_depend_on_the_order_of_samples():
    Q = matrix(41)
    order = np.random.RandomState(0).permutation(41)
    first, second = (solved(P, 1.0, tol=1e-8) for P in (Q, Q[np.ix_(order, order)]))
    assert first.objective == pytest.approx(second.objective, rel=1e-7)
    np.testing.assert_allclose(first.M[np.ix_(order, order)], second.M, atol=1e-2)


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("reg", [1e-6, 1.0, 1e6])
def test_tiny_and_badly_scaled_programs(n, reg):
    assert solved(matrix(n), reg, balance=0.0).gap <= 1e-6


def test_indefinite_matrices_are_as_good():
    """A multiple of I in Q adds a constant: I times M is I."""
    Q = matrix(30)
    first, second = solved(Q, 0.5, tol=1e-8), solved(Q - 2 * np.eye(30), 0.5, tol=1e-8)
    assert second.objective == pytest.approx(first.objective + 1, rel=1e-6)


# --- the estimator ------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"affinity": "rbf", "graph": "full", "gamma": 20.0}])
def test_moons_and_new_samples(options, moons):
    X, y = moons
    model = HardMaximumVolumeClustering(**options).fit(X)
    assert clustering_error(y, model.labels_) == 0
    assert model.gap_ <= 1e-6
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(model.decision_function(X), model.response_)
    new, target = make_moons(300, noise=0.05, random_state=1)
    assert clustering_error(target, model.predict(new)) <= 0.02
    assert model.n_iter_ == len(model.history_)
    assert model.history_[-1] == pytest.approx(model.objective_)
    assert model.alpha_length_ == pytest.approx(1, abs=1e-3)


def test_number_of_clusters():
    X, y = make_blobs(75, centers=[[0, 0], [8, 0], [4, 7]], random_state=0)
    one = HardMaximumVolumeClustering(1).fit(X)
    assert (one.labels_ == 0).all()
    assert (one.predict(X[:5]) == 0).all()
    assert one.gap_ == 0
    three = HardMaximumVolumeClustering(3).fit(X)
    assert clustering_error(y, three.labels_) == 0
    np.testing.assert_array_equal(three.predict(X), three.labels_)
    assert three.response_.shape == (75, 3)
    by_name = HardMaximumVolumeClustering(3, multiway="bisection", random_state=0).fit(X)
    np.testing.assert_array_equal(by_name.response_, three.response_)


@pytest.mark.parametrize("balance", [0.0, 0.1, 0.5])
def test_balance_is_kept(balance):
    X, _ = make_blobs([50, 11], centers=[[0, 0], [3, 0]], random_state=0)
    sizes = np.bincount(HardMaximumVolumeClustering(balance=balance).fit(X).labels_)
    assert sizes[0] - sizes[1] <= max(balance * 61, 1)


def test_forms_of_input_agree(moons):
    X, _ = moons
    expected = HardMaximumVolumeClustering().fit(X)
    W = expected.affinity_matrix_
    for model, data in (
        (HardMaximumVolumeClustering(), sp.csr_array(X)),
        (HardMaximumVolumeClustering(affinity="precomputed"), W),
        (HardMaximumVolumeClustering(affinity="precomputed"), W.toarray()),
    ):
        model.fit(data)
        np.testing.assert_array_equal(model.labels_, expected.labels_)
        assert model.objective_ == pytest.approx(expected.objective_, rel=1e-5)
        np.testing.assert_array_equal(model.predict(data), model.labels_)


def test_duplicates_stay_together_and_results_repeat(moons):
    X = np.repeat(moons[0][:40], 2, axis=0)
    for k in (2, 3):
        model = HardMaximumVolumeClustering(k).fit(X)
        np.testing.assert_array_equal(model.labels_[::2], model.labels_[1::2])
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        again = HardMaximumVolumeClustering(k).fit(X)
        np.testing.assert_array_equal(again.labels_, model.labels_)


def test_refusals_name_the_remedy():
    import dask.array as da

    model = HardMaximumVolumeClustering()
    with pytest.raises(ValueError, match=f"n_samples={MAX_SAMPLES + 1} needs .* GB"):
        model.fit(np.arange(MAX_SAMPLES + 1.0)[:, None])
    with pytest.raises(TypeError, match="dask array"):
        model.fit(da.zeros((20, 2)))


def test_a_gap_above_tol_is_not_silent(moons):
    X, _ = moons
    words = r"certified gap .*, gap_, is above gap_tol; increase max_steps"
    with pytest.warns(ConvergenceWarning, match=words) as caught:
        model = HardMaximumVolumeClustering(max_steps=2).fit(X)
    assert [warning.filename for warning in caught] == [__file__]
    assert model.gap_ > 1e-6
    assert len(np.unique(model.labels_)) == 2
