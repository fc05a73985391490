"""From two clusters to k by repeated splits in two."""

import numpy as np

from separatrix._sklearn import to_numpy
from separatrix.models.boundaries import Split
from separatrix.result import SolverResult, Status


def bisect(problem, solve_two, n_clusters, *, progress, rng, cost=None):
    """Split one cluster in two, again and again.

    Parameters
    ----------
    problem : object
        The data, with the samples as `X`. Its `restricted(weights, rng)` is the problem of the
        samples of positive weight, `varies` tells whether there is anything to split, and
        `scatter(whole)` how wide the samples spread in the units of another problem. Its
        `joined(splits, n_clusters)` makes a model of splits, and a labelling.
    solve_two : callable
        ``solve_two(problem, progress)`` solves for two clusters.
    n_clusters : int
        Number of clusters.
    progress : Progress
        Each split is a task of it.
    rng : RandomState
        Draws the rows that splits start from.
    cost : callable, default=None
        ``cost(split)`` of what `solve_two` found: every cluster is split on trial, and the
        cheapest split is kept. None splits the cluster of the largest scatter.

    Returns
    -------
    result : SolverResult
        Its details are those of the splits, one list after the other.
    """
    n_samples = problem.X.shape[0]
    weights = to_numpy(problem.sample_weight)
    weights = np.ones(n_samples) if weights is None else weights
    labels = np.zeros(n_samples, dtype=np.int32)
    leaves = {0: problem}
    tried: dict[int, SolverResult] = {}
    splits: list[Split] = []
    found: list[SolverResult] = []
    stopped = False
    while len(splits) + 1 < n_clusters and leaves and not stopped:
        # 1) split a cluster, or each of those that are new
        trials = [leaf for leaf in leaves if leaf not in tried]
        if cost is None:
            trials = [max(leaves, key=lambda leaf: leaves[leaf].scatter(problem))]
        for leaf in trials:
            task = progress.subtask("split", None)
            tried[leaf] = solve_two(leaves[leaf], task)
            stopped = task.close() or stopped
            if tried[leaf].status is Status.DEGENERATE:
                del tried[leaf], leaves[leaf]
        if not tried:
            continue
        # 2) keep the best split
        leaf = min(tried, key=lambda leaf: 0.0 if cost is None else cost(tried[leaf]))
        split = tried.pop(leaf)
        del leaves[leaf]
        new = len(splits) + 1
        members = np.flatnonzero(labels == leaf)
        upper = to_numpy(split.labels) == 1
        labels[members[upper if len(upper) == len(members) else upper[members]]] = new
        splits.append(Split(leaf, new, members, split.model))
        found.append(split)
        # 3) go on with its two halves
        if stopped or new + 1 == n_clusters:
            break
        for child in (leaf, new):
            part = problem.restricted(weights * (labels == child), rng)
            if part.varies:
                leaves[child] = part
    model, labelling = problem.joined(splits, n_clusters)
    return SolverResult(
        labelling,
        model,
        objective=float(np.mean([split.objective for split in found])) if found else 0.0,
        history=[value for split in found for value in split.history],
        status=_status(found, labelling, stopped),
        details=[detail for split in found for detail in split.details or []],
    )


def normalized_cut(split):
    """Weight between the two sides of a graph's split over the weights at each of them."""
    form, responses = split.model.form, split.model.responses
    if form.name == "precomputed":  # no similarities: the most confident split per sample
        return -(form.roots**2) @ np.abs(responses) / form.n_samples**0.5
    upper = (responses > 0).astype(np.float64)
    volume, total = form.degrees @ upper, form.degrees.sum()
    cut = volume - upper @ (form.W @ upper)
    return cut / volume + cut / (total - volume) if 0 < volume < total else np.inf


def _status(splits, labelling, stopped):
    """How repeated splits ended: as the first of them that did not end well."""
    if stopped:
        return Status.STOPPED
    if labelling.empty.any():
        return Status.DEGENERATE
    rough = [split.status for split in splits if split.status is not Status.CONVERGED]
    return rough[0] if rough else Status.CONVERGED
