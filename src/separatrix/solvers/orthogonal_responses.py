"""Responses to all clusters at once, in orthogonal columns."""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr, svd

from separatrix._sklearn import is_numpy, like, namespace_of, one_blas_thread, to_numpy
from separatrix.models.graph_responses import Rotated
from separatrix.result import SolverResult, Status
from separatrix.solvers.responses import PROMISING_STARTS, SCREENING_UPDATES, oriented

# Beyond so many products in an update, starts are tried on a part of the nodes first.
MANY_PRODUCTS = 2**22
SCREENING_NODES, SCREENING_NODES_PER_CLUSTER = 1_000, 10


def solve_orthogonal(
    low, n_clusters, *, reg, n_random, max_iter, tol, progress, rng, nodes=None, start=None
):
    r"""Responses to all clusters at once, in orthogonal columns.

    .. math:: \min_H \; -2 \sum_i \max_c H_{ic} + \gamma \operatorname{tr} H^\top Q H
              \quad \text{s.t.} \quad H^\top H = I

    This goes beyond the paper, which has two clusters only. A cluster of m samples adds about the
    square root of m to the first sum, so that clusters of even size are favoured as they are by
    :math:`\|h\|_1`. H is sought among combinations :math:`U A` of the first eigenvectors of Q. For
    given labels the first sum is linear and the second, up to a constant, concave in A; their
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
        Random starts, in addition to the one by a pivoted QR decomposition; on a large graph of
        many clusters the most promising of them.
    max_iter : int
        Most updates from each start.
    tol : float
        Share of the labels that may still change at the end.
    progress : Progress
        Where the loop counter comes from; a pass is a start.
    rng : RandomState
        Draws starts.
    nodes : LinkedNodes, default=None
        Links between nodes. Labels are then those that keep the links and have the largest
        responses, and those of known labels count more. Columns count by the roots of the shares
        of clusters among these, so that clusters of these shares are favoured over even ones.
    start : ndarray of int of shape (n_nodes,), default=None
        Labels of the nodes that the only start is from.

    Returns
    -------
    result : SolverResult
    """
    low = replace(low, vectors=oriented(low.vectors, low.form.roots))
    if start is not None:
        members = like(np.eye(n_clusters)[start], low.vectors)
        starts = [start_towards(low, low.form.roots[:, None] * members)]
    else:
        starts = usual_starts(low, n_clusters, reg, n_random, tol, rng, nodes)
    best: Any = None
    iterations = progress.iterations(len(starts))
    for restart in iterations:
        run = _rotate(low, low.form.roots, starts[restart], reg, max_iter, tol, nodes)
        if best is None or run[0] < best[0]:
            best = run
        iterations.record(best[0])
    objective, A, settled = best
    if nodes is not None:
        A = A * np.sqrt(nodes.shares)
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


def usual_starts(low, n_clusters, reg, n_random, tol, rng, nodes):
    """Rotations: towards known labels, by pivots, and at random."""
    n_vectors = len(low.values)
    rotations = [random_rotation(n_vectors, n_clusters, rng) for _ in range(n_random)]
    if low.form.n_nodes * n_vectors * n_clusters > MANY_PRODUCTS:
        rotations = promising(rotations, low, reg, tol)
    starts = [pivoted_start(low, n_clusters), *rotations]
    if nodes is not None and nodes.links.teaches_all:
        known = (low.form.roots * nodes.pulls)[:, None] * nodes.known
        starts.insert(0, start_towards(low, known))
    return starts


def start_towards(low, wanted):
    """Rotation whose responses are as near as possible to given ones, one column per cluster."""
    return orthogonal_factor(to_numpy(low.vectors.T @ wanted))


def promising(rotations, low, reg, tol):
    """The best starts of several after some updates on a part of the nodes.

    The part is spread evenly along the first nontrivial eigenvector, whatever the order of the
    nodes.
    """
    n_nodes, n_clusters = low.form.n_nodes, rotations[0].shape[1] if rotations else 1
    n_part = min(n_nodes, max(SCREENING_NODES, SCREENING_NODES_PER_CLUSTER * n_clusters))
    xp, _ = namespace_of(low.vectors)
    along = xp.argsort(low.form.to_samples(low.vectors[:, 1]), stable=True)
    nodes = xp.take(along, like(np.linspace(0, n_nodes - 1, n_part).astype(np.intp), along))
    # so few that the host is as fast
    part = replace(low, vectors=to_numpy(xp.take(low.vectors, nodes, axis=0)))
    pulls = to_numpy(xp.take(low.form.roots, nodes))
    pulls = pulls * (float(xp.sum(low.form.roots)) / pulls.sum())
    runs = [_rotate(part, pulls, A, reg, SCREENING_UPDATES, tol) for A in rotations]
    order = np.argsort([objective for objective, _, _ in runs], kind="stable")
    return [runs[place][1] for place in order[:PROMISING_STARTS]]


def _rotate(low, pulls, A, reg, max_iter, tol, nodes=None):
    """Objective and rotation that updates lead to from a start, and whether they settled.

    Each node counts with its weight for its cluster.
    """
    xp, _ = namespace_of(low.vectors)
    room = reg * (low.values[-1] - low.values)[:, None]
    most_moved = tol * float(xp.sum(pulls**2))
    weight, stretch = pulls, np.ones(A.shape[1])
    if nodes is not None:
        weight, stretch = pulls * nodes.pulls, np.sqrt(nodes.shares)

    def responses(A):
        return low.vectors @ like(A * stretch, low.vectors)

    def labels_of(H):
        return xp.argmax(H, axis=1) if nodes is None else nodes.labels(H, weight)

    labels = None
    for _ in range(max_iter):
        old, labels = labels, labels_of(responses(A))
        if old is not None:
            moved = xp.astype(labels != old, pulls.dtype)
            settled = float(xp.sum(moved * pulls**2)) <= most_moved
        else:
            settled = False
        if settled:
            break
        A = orthogonal_factor(
            sums_in(labels, weight, low.vectors, A.shape[1]).T * stretch + room * A
        )
    H = responses(A)
    if nodes is None:
        agreement = weight @ xp.max(H, axis=1)
    else:
        agreement = weight @ H[np.arange(len(H)), labels_of(H)]
    objective = reg * (low.values @ A**2).sum() - 2 * float(agreement)
    return float(objective), A, settled


def sums_in(labels, weight, vectors, n_clusters):
    """Weighted sums of the rows of vectors in each cluster."""
    if is_numpy(vectors):
        starts = np.arange(len(labels) + 1)
        members = sp.csc_array((weight, labels, starts), (n_clusters, len(labels)))
        return members @ vectors
    xp, device = namespace_of(vectors)
    inside = labels[:, None] == xp.arange(n_clusters, dtype=labels.dtype, device=device)
    members = xp.astype(inside, vectors.dtype) * weight[:, None]
    return to_numpy(members.T @ vectors)


@one_blas_thread
def orthogonal_factor(matrix):
    """The nearest matrix with orthonormal columns."""
    left, _, right = svd(matrix, full_matrices=False)
    return left @ right


def pivoted_start(low, n_clusters):
    """Rotation that turns the first eigenvectors towards their most different rows."""
    U = low.form.to_samples(low.vectors[:, :n_clusters])
    A = np.zeros((len(low.values), n_clusters))
    A[:n_clusters] = orthogonal_factor(different_rows(U, n_clusters).T)
    return A


def different_rows(U, n_rows):
    """Rows of a matrix, each the longest of what the ones before leave of all, on the host."""
    if is_numpy(U):
        _, _, pivots = qr(U.T, mode="economic", pivoting=True)
        return U[pivots[:n_rows]]
    xp, _ = namespace_of(U)
    chosen, axes = [], np.zeros((0, U.shape[1]))
    squares = xp.sum(U * U, axis=1)
    for _ in range(n_rows):
        row = to_numpy(U[int(xp.argmax(squares)), :])
        rest = row - (row @ axes.T) @ axes
        axis = rest / max(np.linalg.norm(rest), np.finfo(np.float64).tiny)
        chosen.append(row)
        axes = np.vstack([axes, axis])
        squares = squares - (U @ like(axis, U)) ** 2
    return np.stack(chosen)


def random_rotation(n_vectors, n_clusters, rng):
    """Random rotation of the first eigenvectors."""
    A = np.zeros((n_vectors, n_clusters))
    A[:n_clusters] = orthogonal_factor(rng.standard_normal((n_clusters, n_clusters)))
    return A
