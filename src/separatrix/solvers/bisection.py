"""From two clusters to k by repeated splits."""

import numpy as np

from separatrix._sklearn import to_numpy
from separatrix.models.boundaries import Boundaries
from separatrix.result import SolverResult, Status

__all__ = ["bisect"]


def bisect(problem, solve_two, n_clusters, *, progress, rng):
    """Split in two, again and again, the cluster with the largest scatter.

    Parameters
    ----------
    problem : object
        The data, with the features as `X`. Its `restricted(weights, rng)` is the problem of some
        samples, `varies` tells whether there is anything to split, `scatter(whole)` how wide the
        samples spread in the units of another problem, and `partition(n_clusters)` labels them.
    solve_two : callable
        ``solve_two(problem, progress)`` solves for two clusters.
    n_clusters : int
        Number of clusters.
    progress : Progress
        Each split is a task of it.
    rng : RandomState
        Draws the rows that splits start from.

    Returns
    -------
    result : SolverResult
        With its `Partition`.
    """
    weights = to_numpy(problem.sample_weight)
    weights = np.ones(problem.X.shape[0]) if weights is None else weights
    labels = np.zeros(problem.X.shape[0], dtype=np.int32)
    code = np.zeros((0, 1), np.int8)
    splits = []
    leaves = {0: problem}
    stopped = False
    while code.shape[1] < n_clusters and leaves:
        leaf = max(leaves, key=lambda cluster: leaves[cluster].scatter(problem))
        task = progress.subtask("split", None)
        split = solve_two(leaves.pop(leaf), task)
        stopped = task.close(split.model)
        if split.status is Status.DEGENERATE:
            if stopped:
                break
            continue
        splits.append(split)
        new = code.shape[1]
        labels[(labels == leaf) & (to_numpy(split.labels) == 1)] = new
        # whatever tells the leaf from the others tells its new half from them too
        code = np.vstack([np.hstack([code, code[:, [leaf]]]), np.zeros((1, new + 1), np.int8)])
        code[-1, [leaf, new]] = -1, 1
        if stopped:
            break
        for child in (leaf, new):
            part = problem.restricted(weights * (labels == child), rng)
            if part.varies:
                leaves[child] = part
    partition = problem.partition(n_clusters)
    unsplit = np.zeros((len(code), n_clusters - code.shape[1]), np.int8)
    coef = np.array([split.model.coef[0] for split in splits])
    boundaries = Boundaries(
        coef.reshape(len(splits), problem.X.shape[1]),
        np.array([split.model.intercept[0] for split in splits]),
        np.hstack([code, unsplit]),
    )
    partition.assign(boundaries)
    rough = [split.status for split in splits if split.status is not Status.CONVERGED]
    if stopped:
        status = Status.STOPPED
    elif partition.empty.any():
        status = Status.DEGENERATE
    else:
        status = rough[0] if rough else Status.CONVERGED
    return SolverResult(
        partition.labels,
        boundaries,
        objective=float(np.mean([split.objective for split in splits])) if splits else 0.0,
        history=[value for split in splits for value in split.history],
        n_iter=max(1, sum(split.n_iter for split in splits)),
        status=status,
        partition=partition,
    )
