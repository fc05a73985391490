"""Repeated splits of a graph in two."""

from dataclasses import dataclass

import numpy as np

from separatrix.models.boundaries import decoded
from separatrix.models.graph_responses import Split, Tree
from separatrix.result import SolverResult, Status

__all__ = ["Clusters", "bisect_graph", "result_of"]


def result_of(model, objective, iterations, status):
    """Result of a solver, with the labels of its model."""
    clusters = Clusters(decoded(model.scores), model.n_clusters)
    return SolverResult(
        clusters.labels,
        model,
        objective=objective,
        history=iterations.history,
        n_iter=max(1, iterations.n_iter),
        status=Status.DEGENERATE if (clusters.weights == 0).any() else status,
        partition=clusters,
    )


@dataclass(frozen=True)
class Clusters:
    """Labels and the number of samples with each."""

    labels: np.ndarray
    n_clusters: int

    @property
    def weights(self):
        """Sizes of the clusters."""
        return np.bincount(self.labels, minlength=self.n_clusters).astype(np.float64)


def bisect_graph(form, solve_two, n_clusters, *, progress):
    """Split in two, again and again, the cluster that falls apart most easily.

    That is the one whose split has the smallest normalised cut in the graph of its own samples.

    Parameters
    ----------
    form : Form
        The matrix of all samples.
    solve_two : callable
        ``solve_two(form, progress)`` solves for two clusters.
    n_clusters : int
        Number of clusters.
    progress : Progress
        Each split is a task of it.

    Returns
    -------
    result : SolverResult
    """
    members = {0: np.arange(form.n_samples)}
    tried: dict[int, SolverResult] = {}
    splits: list[Split] = []
    history: list[float] = []
    statuses = []
    stopped = False
    fresh = [0]
    while len(members) < n_clusters and not stopped:
        for leaf in fresh:
            if len(members[leaf]) < 2 or not _has_links(form, members[leaf]):
                continue
            task = progress.subtask("split", None)
            part = form if len(members) == 1 else form.restricted(members[leaf])
            tried[leaf] = solve_two(part, task)
            stopped = task.close() or stopped
        possible = [leaf for leaf in tried if tried[leaf].status is not Status.DEGENERATE]
        if not possible:
            break
        leaf = min(possible, key=lambda leaf: normalized_cut(tried[leaf].model))
        split, new = tried.pop(leaf), len(members)
        statuses.append(split.status)
        history += split.history
        inside = members[leaf]
        splits.append(Split(leaf, new, inside, split.model))
        members[leaf], members[new] = inside[split.labels == 0], inside[split.labels == 1]
        fresh = [leaf, new]
    model = Tree(form.n_samples, n_clusters, splits)
    clusters = Clusters(decoded(model.scores), n_clusters)
    rough = [status for status in statuses if status is not Status.CONVERGED]
    if len(members) < n_clusters and not stopped:
        status = Status.DEGENERATE
    elif stopped:
        status = Status.STOPPED
    else:
        status = rough[0] if rough else Status.CONVERGED
    return SolverResult(
        clusters.labels,
        model,
        objective=float(np.mean([split.model.objective for split in splits])) if splits else 0.0,
        history=history,
        n_iter=max(1, len(history)),
        status=status,
        partition=clusters,
    )


def _has_links(form, members):
    """Whether any similarity ties the members to each other."""
    if form.name == "precomputed":
        return True
    W = form.W[members][:, members]
    return bool(abs(W).sum() > abs(W.diagonal()).sum())


def normalized_cut(model):
    """Weight between the two sides of a split over the weights at each of them."""
    form = model.form
    if form.name == "precomputed":  # no similarities: the most confident split per sample
        return -np.abs(model.h).sum() / form.n_samples**0.5
    upper = (model.h > 0).astype(np.float64)
    volume, total = form.degrees @ upper, form.degrees.sum()
    cut = volume - upper @ (form.W @ upper)
    return cut / volume + cut / (total - volume) if 0 < volume < total else np.inf
