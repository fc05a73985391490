"""Sequential quadratic programming for soft responses, Algorithm 1 of the paper."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.models.graph_responses import TwoSided, signs_of
from separatrix.result import SolverResult, Status

# Change of responses and multiplier at which Algorithm 1 of the paper stops.
SQP_TOL = 1e-6
# Responses whose squares can still be summed.
LARGEST_RESPONSE = 1e140


def solve_sqp(responder, signs, *, reg, max_iter, progress):
    r"""Sequential quadratic programming, Algorithm 1 of the paper, from all starts.

    Same problem as `solve_sphere`. Each step solves the quadratic program (5) in closed form:
    with :math:`A = \gamma Q - \eta I` its solution is a combination of :math:`A^{-1} s`,
    :math:`A^{-1} h` and :math:`A^{-1} 1`, and (7) becomes a sum of its multipliers. As in the
    paper, it ends when :math:`\eta` would leave :math:`\eta < \gamma \lambda_1`, with the
    responses before that step, or when responses settle to 1e-6.

    Parameters
    ----------
    responder : DenseResponder
        The matrix and its spectrum.
    signs : ndarray of shape (n_samples, n_starts)
        Starting signs.
    reg : float
        Weight of smoothness.
    max_iter : int
        Most steps from each start.
    progress : Progress
        Where the loop counter comes from; a pass is a start.

    Returns
    -------
    result : SolverResult
    """
    values = responder.free.values
    if values[0] <= 0:
        raise ValueError(
            "solver='sqp' needs a positive definite matrix, but its smallest eigenvalue is "
            f"{values[0]:.3g}; add a multiple of I, which changes no partition, or use "
            "solver='sphere'."
        )
    best: Any = None
    iterations = progress.iterations(signs.shape[1])
    for start in iterations:
        roots = responder.form.roots
        run = run_sqp(responder.free, signs[:, start], reg, responder.bound, max_iter, roots)
        # a step keeps the length only to first order, and longer responses must not win by that
        run = replace(run, h=run.h / np.linalg.norm(run.h))
        objective = float(responder.objective(run.h[:, None], reg)[0])
        if best is None or objective < best[0]:
            best = objective, run
        iterations.record(best[0])
    objective, run = best
    status = run.status if iterations.status is Status.MAX_ITER else iterations.status
    model = TwoSided(responder.form, run.h, reg, run.eta, run.omega)
    return SolverResult.of_responses(
        model,
        objective=objective,
        history=iterations.history,
        status=status,
        counts=responder.form.counts,
    )


@dataclass(frozen=True)
class SQPRun:
    """Where Algorithm 1 ended from one start."""

    h: np.ndarray
    eta: float
    omega: float
    n_steps: int
    status: Status


def run_sqp(spectrum, signs, reg, bound, max_iter, roots=None):
    """Algorithm 1 of the paper from one start."""
    largest = reg * spectrum.values[0]
    roots = np.ones_like(signs) if roots is None else roots
    h, eta, omega = roots * signs / np.linalg.norm(roots), 0.0, 0.0
    status = Status.MAX_ITER
    for step in range(max_iter):
        u, tau, new_omega = sqp_step(spectrum, h, eta, reg, bound, roots)
        new_eta = eta + tau + new_omega * (roots @ h) / (h @ h)
        # nan where a step is not defined
        if not (new_eta < largest and 0 < np.abs(u).max() < LARGEST_RESPONSE):
            return SQPRun(h, eta, omega, step, Status.BROKEN_OFF)
        change = np.linalg.norm(u - h) + abs(new_eta - eta)
        h, eta, omega = u, new_eta, new_omega
        if change <= SQP_TOL:
            status = Status.CONVERGED
            break
    return SQPRun(h, eta, omega, step + 1, status)


def sqp_step(spectrum, h, eta, reg, bound, roots=None):
    """Solution u = h + p of the quadratic program (5), with the multipliers of its constraints.

    Parameters
    ----------
    spectrum : Spectrum
        Of Q.
    h : ndarray of shape (n_samples,)
        Current responses.
    eta : float
        Current multiplier of their length.
    reg : float
        Weight of smoothness.
    bound : float or None
        Largest absolute sum of responses.
    roots : ndarray of shape (n_samples,), default=None
        Weights of responses in their sum, the roots of a `Form`; None if they are one each.

    Returns
    -------
    u : ndarray of shape (n_samples,)
        New responses.
    tau : float
        Multiplier of the linearised length; not finite where no step meets the constraints.
    omega : float
        Multiplier of the sum; zero inside the bound.
    """
    roots = np.ones_like(h) if roots is None else roots
    V = spectrum.vectors
    sides = np.stack([roots * signs_of(h), h, roots], axis=1)
    a, c, d = (V @ ((V.T @ sides) / (reg * spectrum.values - eta)[:, None])).T
    missing = (1 + h @ h) / 2 - h @ a
    if h @ c == 0:
        return h, np.nan, 0.0
    tau, omega = missing / (h @ c), 0.0
    u = a + tau * c
    if bound is not None and abs(roots @ u) > bound:
        target = np.copysign(bound, roots @ u)
        system = np.array([[h @ c, h @ d], [roots @ c, roots @ d]])
        try:
            tau, omega = np.linalg.solve(system, [missing, target - roots @ a])
        except np.linalg.LinAlgError:
            return h, np.nan, 0.0
        u = a + tau * c + omega * d
    return u, float(tau), float(omega)
