"""Optima of the semidefinite programs by cvxpy, which takes half an hour: writes sdp.json.

    rm tests/golden/sdp.json
    pip install cvxopt
    python tests/golden/regenerate_sdp.py

Without the first line, only those are computed that are not there. Small programs are written as
the papers have them, with Schur complements, and the tests solve smaller ones live by the same
functions. Clarabel takes an hour for one of 100 samples in this form, and SCS does not reach five
digits in 50,000 steps; so the larger ones are solved in their dual form, by CVXOPT.
"""

import json
import warnings
from contextlib import suppress
from itertools import product
from pathlib import Path

import cvxpy as cp
import numpy as np

GOLDEN = Path(__file__).with_name("sdp.json")
KEYS = ("program", "n", "kernel", "parameter")
SIZES = (50, 100)
KERNELS = ("rbf", "narrow", "laplacian", "polynomial")
# the paper's gamma; C; C_delta
PARAMETERS = {
    "hard_volume": (1e-3, 1.0, 10.0),
    "semidefinite_margin": (1e-2, 1.0, 100.0),
    "generalized_margin": (0.3, 1.0, 1e3),
}
BALANCE = {"hard_volume": 0.1, "semidefinite_margin": 0.3}
# The paper's 1e4 is beyond what Clarabel can solve to six digits.
SUM_PENALTY = 10.0
# No setting of Clarabel solves all programs.
CLARABEL = [
    {"solver": "CLARABEL", **options}
    for options in (
        {"equilibrate_enable": False},
        {"equilibrate_enable": False, "direct_solve_method": "qdldl"},
        {"equilibrate_enable": False, "static_regularization_constant": 1e-10},
        {"max_step_fraction": 0.9},
        {"direct_solve_method": "qdldl"},
    )
]
CVXOPT = [
    {"solver": "CVXOPT", "abstol": tol, "reltol": tol, "feastol": tol, "kktsolver": kkt}
    for tol in (1e-9, 1e-8)
    for kkt in ("chol", "robust")
]
# Those that Clarabel solves in a minute.
AS_IN_THE_PAPER = {(50, "rbf"), (50, "narrow")}


def points(n):
    """Two noisy half circles, the second one smaller."""
    rng = np.random.RandomState(n)
    side = np.arange(n) < 0.6 * n
    angle = np.pi * rng.uniform(size=n)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    X[~side] = [1.0, 0.4] - X[~side]
    return X + 0.1 * rng.standard_normal((n, 2))


def kernel_matrix(name, X):
    """A kernel matrix with a diagonal of ones."""
    differences = X[:, None] - X
    if name in ("rbf", "narrow"):
        width = 0.6 if name == "rbf" else 0.3
        return np.exp(-(differences**2).sum(axis=2) / (2 * width**2))
    if name == "laplacian":
        return np.exp(-np.abs(differences).sum(axis=2))
    K = (X @ X.T + 1) ** 3
    return K / np.sqrt(np.outer(np.diag(K), np.diag(K)))


def kernel(n, name="rbf"):
    """Kernel matrix of that many points."""
    return kernel_matrix(name, points(n))


def golden_cases(program):
    """Those of a program, out of the file."""
    return [case for case in json.loads(GOLDEN.read_text()) if case["program"] == program]


def name_of(case):
    """Name of a case, for the lists of tests."""
    return "-".join(str(case[key]) for key in KEYS[1:])


def relaxed_labels(n, balance):
    """Products of labels: positive semidefinite, of unit diagonal, and in balance."""
    M = cp.Variable((n, n), PSD=True)
    return M, [cp.diag(M) == 1, cp.sum(M) <= max(balance * n, 1) ** 2]


def schur(matrix, vector, corner):
    column = cp.reshape(vector, (matrix.shape[0], 1), order="C")
    return cp.bmat([[matrix, column], [column.T, cp.reshape(corner, (1, 1), order="C")]])


def hard_volume(Q, reg, balance, *, C=1.0, bounded=True):
    """Problem (13) of Niu et al. (2013) in balance, and with the bound of its multiplier."""
    n = len(Q)
    M, constraints = relaxed_labels(n, balance)
    mu, nu = cp.Variable(n, nonneg=True), cp.Variable(n, nonneg=True)
    eta, t = cp.Variable(), cp.Variable()
    matrix = reg * cp.multiply(Q, M) - eta * np.eye(n)
    constraints += [schur(matrix, 1 - mu + nu, t + eta - 2 * C * cp.sum(mu)) >> 0]
    if bounded:
        constraints += [eta <= reg * np.linalg.eigvalsh(Q)[0]]
    return optimum(cp.Minimize(t), constraints)


def semidefinite_margin(K, C, balance):
    """Problem (22) of Niu et al. (2013) in balance."""
    n = len(K)
    M, constraints = relaxed_labels(n, balance)
    mu, nu, t = cp.Variable(n, nonneg=True), cp.Variable(n, nonneg=True), cp.Variable()
    matrix = schur(cp.multiply(K, M), 1 - mu + nu, t - 2 * C * cp.sum(mu))
    return optimum(cp.Minimize(t), [*constraints, matrix >> 0])


def generalized_margin(K, C_delta, sum_penalty):
    """Problem (24) of Niu et al. (2013), for a kernel lifted by I/n."""
    n = len(K)
    P = np.hstack([np.eye(n), np.ones((n, 1))])
    e = np.append(np.ones(n), 0.0)
    W = P.T @ np.linalg.inv(K + np.eye(n) / n) @ P + sum_penalty * np.outer(e, e)
    gamma = cp.Variable(n)
    matrix = (W + W.T) / 2 - cp.diag(cp.hstack([gamma, 0]))
    constraints = [matrix >> 0, gamma >= 0, gamma <= C_delta]
    return optimum(cp.Maximize(cp.sum(gamma)), constraints)


def dual_form(K, C, balance, *, unit=False, offset=0.0):
    """The dual of the first two programs; with K = LL' the papers' quadratic term is linear."""
    n = len(K)
    values, vectors = np.linalg.eigh(K)
    kept = values > 1e-13 * values[-1]
    L = vectors[:, kept] * np.sqrt(values[kept])
    alpha, d, tau = cp.Variable(n, nonneg=True), cp.Variable(n), cp.Variable(nonneg=True)
    side = cp.diag(alpha) @ L
    matrix = cp.bmat([[cp.diag(d) + tau * np.ones((n, n)), side], [side.T, np.eye(L.shape[1])]])
    constraints = [(matrix + matrix.T) / 2 >> 0, alpha <= C]
    if unit:
        constraints += [cp.norm(alpha) <= 1]
    value = 2 * cp.sum(alpha) - cp.sum(d) - max(balance * n, 1) ** 2 * tau + offset
    return optimum(cp.Maximize(value), constraints, CVXOPT)


def optimum(objective, constraints, solvers=CLARABEL):
    """Optimum, and the solver's own relative error."""
    problem = cp.Problem(objective, constraints)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of inaccurate solutions, which are refused
        for options in solvers:
            with suppress(cp.SolverError):
                problem.solve(**options)
            if problem.status == cp.OPTIMAL:
                break
    assert problem.status == cp.OPTIMAL
    return float(problem.value), 1e-8  # no solver is asked for less


def solve(program, K, parameter):
    """Optimum of a program for a kernel matrix of unit diagonal, as the papers write it."""
    n = len(K)
    if program == "hard_volume":
        return hard_volume(K + np.eye(n) / n, parameter, BALANCE[program])
    if program == "semidefinite_margin":
        return semidefinite_margin(K, parameter, BALANCE[program])
    return generalized_margin(K, parameter, SUM_PENALTY)


def solve_dual(program, K, parameter):
    """The same, in the dual form where it is worth while."""
    n = len(K)
    if program == "hard_volume":
        Q = parameter * (K + np.eye(n) / n)
        lowest = np.linalg.eigvalsh(Q)[0]
        shifted = Q - lowest * np.eye(n)
        return dual_form(shifted, 1.0, BALANCE[program], unit=True, offset=-lowest)
    if program == "semidefinite_margin":
        return dual_form(K, parameter, BALANCE[program])
    return solve(program, K, parameter)


def main():
    golden = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else []
    known = [{key: case[key] for key in KEYS} for case in golden]
    for n, name in product(SIZES, KERNELS):
        K = kernel(n, name)
        by = solve if (n, name) in AS_IN_THE_PAPER else solve_dual
        for program, number in product(PARAMETERS, range(3)):
            values = (program, n, name, PARAMETERS[program][number])
            case = dict(zip(KEYS, values, strict=True))
            if case in known:
                continue
            optimum, error = by(program, K, case["parameter"])
            golden.append({**case, "optimum": optimum, "error": error})
            GOLDEN.write_text(json.dumps(golden, indent=1) + "\n")
            print(golden[-1], flush=True)


if __name__ == "__main__":
    main()
