"""Responses to all clusters at once, in orthogonal columns."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import qr, svd

from separatrix._sklearn import one_blas_thread
from separatrix.models.graph_responses import Rotated
from separatrix.result import SolverResult, Status
from separatrix.solvers.responses import oriented


def solve_orthogonal(low, n_clusters, *, reg, n_random, max_iter, tol, progress, rng):
    r"""Responses to all clusters at once, in orthogonal columns.

    .. math:: \min_H \; -2 \sum_i \max_c H_{ic} + \gamma \operatorname{tr} H^\top Q H
              \quad \text{s.t.} \quad H^\top H = I

    Beyond the paper, which leaves more than two clusters open. A cluster of m samples adds about
    the square root of m to the first sum, so that clusters of even size are favoured as they are
    by :math:`\|h\|_1`. H is sought among combinations :math:`U A` of the first eigenvectors of Q.
    For given labels the first sum is linear and the second, up to a constant, concave in A; their
    tangent has its minimum at the orthogonal factor of a small matrix, and so the objective never
    rises.

    Parameters
    ----------
    low : LowSpectrum
        The first eigenvectors.
    n_clusters : int
        Number of clusters.
    reg : float
        Weight of smoothness.
    n_random : int
        Random starts, beside the one by a pivoted QR decomposition.
    max_iter : int
        Most updates from each start.
    tol : float
        Share of the labels that may still change at the end.
    progress : Progress
        Where the loop counter comes from; a pass is a start.
    rng : RandomState
        Draws starts.

    Returns
    -------
    result : SolverResult
    """
    low = replace(low, vectors=oriented(low.vectors, low.form.roots))
    best: Any = None
    iterations = progress.iterations(n_random + 1)
    for restart in iterations:
        start = pivoted_start(low, n_clusters) if restart == 0 else None
        if start is None:
            start = random_rotation(len(low.values), n_clusters, rng)
        run = _rotate(low, start, reg, max_iter, tol)
        if best is None or run[0] < best[0]:
            best = run
        iterations.record(best[0])
    objective, A, settled = best
    status = iterations.status
    if status is Status.MAX_ITER and settled:
        status = Status.CONVERGED
    return SolverResult.of_responses(
        Rotated(low, A, reg),
        objective=objective,
        history=iterations.history,
        status=status,
        counts=low.form.counts,
    )


def _rotate(low, A, reg, max_iter, tol):
    """Objective and rotation that updates lead to from a start, and whether they settled."""
    roots, n_samples = low.form.roots, low.form.n_samples
    weighted = roots[:, None] * low.vectors
    room = reg * (low.values[-1] - low.values)[:, None]
    labels = None
    for _ in range(max_iter):
        H = low.vectors @ A
        old, labels = labels, H.argmax(axis=1)
        settled = old is not None and (roots[labels != old] ** 2).sum() <= tol * n_samples
        if settled:
            break
        picked = np.zeros_like(A)
        for cluster in range(A.shape[1]):
            picked[:, cluster] = weighted[labels == cluster].sum(axis=0)
        A = orthogonal_factor(picked + room * A)
    H = low.vectors @ A
    objective = reg * (low.values @ A**2).sum() - 2 * (roots @ H.max(axis=1))
    return float(objective), A, settled


@one_blas_thread
def orthogonal_factor(matrix):
    """The nearest matrix with orthonormal columns."""
    left, _, right = svd(matrix, full_matrices=False)
    return left @ right


def pivoted_start(low, n_clusters):
    """Rotation that turns the first eigenvectors towards their most different rows."""
    U = low.form.to_samples(low.vectors[:, :n_clusters])
    _, _, pivots = qr(U.T, mode="economic", pivoting=True)
    A = np.zeros((len(low.values), n_clusters))
    A[:n_clusters] = orthogonal_factor(U[pivots[:n_clusters]].T)
    return A


def random_rotation(n_vectors, n_clusters, rng):
    """Random rotation of the first eigenvectors."""
    A = np.zeros((n_vectors, n_clusters))
    A[:n_clusters] = orthogonal_factor(rng.standard_normal((n_clusters, n_clusters)))
    return A
