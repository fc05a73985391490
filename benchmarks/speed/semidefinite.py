"""Speed of the semidefinite programs against SCS, a general solver, through cvxpy.

On the paper's two moons with the paper's similarities, in one run: how long does each take for
the same hard-label program, how far is the answer from the optimum, and how do time and certified
gap grow with the number of samples?
"""

import argparse
import time

import numpy as np
from sklearn.metrics import pairwise_distances

from separatrix.criteria.generalized_margin import generalized_kernel, relax_generalized_margin
from separatrix.criteria.hard_volume import relax_hard_volume
from separatrix.criteria.semidefinite_margin import relax_semidefinite_margin
from separatrix.datasets import make_two_moons

# What the project promises; the measured figures are printed beside these.
RATIO, GAP = 30, 1e-4
BALANCE = 0.1
# Seconds after which SCS on 100 samples is stopped.
LIMIT = 300


def similarities(n):
    """Gaussian, of a tenth of the mean distance."""
    X, _ = make_two_moons(n, random_state=0)
    D = pairwise_distances(X)
    width = D.sum() / (n * (n - 1)) / 10
    return np.exp(-(D**2) / (2 * width**2))


def timed(solve, *args, repeats=1, **options):
    """What a call returns, and the least of its times."""
    seconds = []
    for _ in range(repeats):
        begin = time.perf_counter()
        found = solve(*args, **options)
        seconds.append(time.perf_counter() - begin)
    return found, min(seconds)


def by_scs(Q, reg, limit):
    """Problem (13) of the paper in balance by SCS with cvxpy's settings: value and status."""
    import cvxpy as cp

    n = len(Q)
    M = cp.Variable((n, n), PSD=True)
    mu, nu = cp.Variable(n, nonneg=True), cp.Variable(n, nonneg=True)
    eta, t = cp.Variable(), cp.Variable()
    v = cp.reshape(1 - mu + nu, (n, 1), order="C")
    corner = cp.reshape(t + eta - 2 * cp.sum(mu), (1, 1), order="C")
    schur = cp.bmat([[reg * cp.multiply(Q, M) - eta * np.eye(n), v], [v.T, corner]])
    constraints = [cp.diag(M) == 1, cp.sum(M) <= max(BALANCE * n, 1) ** 2, schur >> 0]
    problem = cp.Problem(cp.Minimize(t), constraints)
    options = {} if limit is None else {"time_limit_secs": limit}
    problem.solve(solver="SCS", **options)
    return problem.value, problem.status


def hard_volume(n, reg):
    Q = similarities(n) + np.eye(n) / n
    repeats = 5 if n <= 100 else 1  # a tenth of a second is easily disturbed
    settings = {"reg": reg, "max_response": 1.0, "balance": BALANCE}
    found, seconds = timed(relax_hard_volume, Q, repeats=repeats, **settings)
    length = np.linalg.norm(found.x[:n])
    print(
        f"hard volume, n = {n:5,}, gamma = {reg:g}: {seconds:8.2f} s, {found.n_iter} steps, "
        f"objective {found.objective:.7g}, certified gap {found.gap:.1e}, |alpha| = {length:.4f}",
        flush=True,
    )
    return found, seconds


def against_scs(n, reg, limit):
    found, seconds = hard_volume(n, reg)
    Q = similarities(n) + np.eye(n) / n
    (value, status), theirs = timed(by_scs, Q, reg, limit)
    reached = "not finished"
    if status == "optimal":
        distance = abs(value - found.objective) / abs(found.objective)
        reached = f"objective {value:.7g}, {distance:.1e} from ours"
    print(
        f"  SCS, the same program: {theirs:8.2f} s, {reached}; ratio {theirs / seconds:.0f} "
        f"(promised at least {RATIO})",
        flush=True,
    )


def race(n, n_scs, reg, full):
    """Ours on n samples against SCS on a part of them."""
    found, seconds = hard_volume(n, reg)
    print(f"  promised: gap at most {GAP:g}, {'kept' if found.gap <= GAP else 'MISSED'}")
    Q = similarities(n_scs) + np.eye(n_scs) / n_scs
    (_, status), theirs = timed(by_scs, Q, reg, None if full else 1.5 * seconds)
    ended = "finished" if status == "optimal" else "not finished"
    verdict = "kept" if theirs > seconds else "MISSED"
    print(
        f"  SCS on {n_scs} samples: {ended} after {theirs:.1f} s (promised more than "
        f"{seconds:.1f} s: {verdict})",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out 2,000 samples")
    parser.add_argument("--full", action="store_true", help="let SCS run to its end")
    arguments = parser.parse_args()
    similarities(50)
    relax_hard_volume(np.eye(20) + 0.1, reg=1.0, max_response=1.0, balance=BALANCE)  # loads BLAS
    for reg in (1e-3, 1.0):
        against_scs(100, reg, None if arguments.full else LIMIT)
    for reg in (1e-3, 1.0):
        race(1_000, 200, reg, arguments.full)
    if not arguments.quick:
        for reg in (1e-3, 1.0):
            hard_volume(2_000, reg)
    K = similarities(500)
    for C in (1e-3, 1.0, 1e3):
        found, seconds = timed(relax_semidefinite_margin, K, C=C, balance=BALANCE)
        print(f"maximum margin, n = 500, C = {C:g}: {seconds:.2f} s, gap {found.gap:.1e}")
    K = similarities(1_000)
    for C in (1e-3, 1.0, 1e3):  # the paper's, twice that of the estimator
        G = generalized_kernel(K, 1e4)
        found, seconds = timed(relax_generalized_margin, G, C=C / 2)
        print(
            f"generalized margin, n = 1,000, C_delta = {C:g}: {seconds:.2f} s, gap "
            f"{found.gap:.1e}",
            flush=True,
        )


if __name__ == "__main__":
    main()
