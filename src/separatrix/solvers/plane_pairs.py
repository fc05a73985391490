r"""Margin clustering by a machine between each two neighbouring clusters.

A multi-class machine whose mean scores must nearly agree has next to no biases. So its clusters
are cones around the mean of all samples, and if there are more of them than features, and one
more, some lie between others where no cone reaches. The machine of two clusters has the mean of
these in its place, and separates them wherever they lie.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix._sklearn import like, namespace_of, to_numpy
from separatrix.data.rows import join_rows, map_chunks
from separatrix.models.boundaries import Boundaries, pairwise_code
from separatrix.result import Labelling, SolverResult, Status
from separatrix.solvers.planes import minimize_over_planes

__all__ = ["Pairs", "neighboring_pairs", "pair_machines", "solve_plane_pairs"]

# After this many planes in a row that do not raise the lower bound, the rest is rounding.
PATIENCE = 20
# Clusters next to a cluster are looked for among so many nearest ones.
NEAREST = 10


def solve_plane_pairs(
    problem,
    labels,
    *,
    n_clusters,
    strength,
    score_balance,
    violation_tol,
    max_iter,
    tol,
    progress,
):
    r"""Alternate between the machines of a labelling and the labels that the machines give.

    .. math:: \min_{z, w, b} \; \sum_{(p, q)} \Big( \tfrac12 \|w_{pq}\|^2 + C \sum_{z_i \in
              \{p, q\}} \max(0, 1 - y_i f_{pq}(x_i)) \Big)
              \quad \text{subject to} \quad |f_{pq}(m_{pq})| \le l / n, \;
              f_{pq}(x) = w_{pq}^\top x + b_{pq},

    with the sides y of the samples of both clusters, their mean m in the starting labels, and a
    sum over the pairs of clusters that are neighbours there. Each term is the machine of two
    clusters of Zhao, Wang and Zhang (2008), by the same cutting planes. Other pairs, which have a
    third cluster between them, are cut halfway between their means. A sample goes to the cluster
    that wins all duels.

    New labels need not lower the sum over all pairs. Where they do not, the updates end with the
    labels before. Parameters and the result are those of `solve_cutting_plane`.
    """
    # 0) no machines yet: all samples lie inside their margins
    C = strength / problem.weight
    pairs = Pairs.of(problem, labels, n_clusters, C)
    start = pairs.machines_at(np.zeros_like(pairs.about), np.zeros(len(pairs.about)), labels)
    weights = to_numpy(problem.sample_weight)
    best: Any = None
    fitted: Any = None
    iterations = progress.iterations(max_iter)
    for _ in iterations:
        # 1) the machines of the labels
        machines = pair_machines(pairs, start, bound=score_balance, violation_tol=violation_tol)
        # 2) the labels of the machines, and their loss for them
        before, start = start, pairs.machines_at(machines.coef, machines.biases)
        gained = np.inf if best is None else best.objective.sum() - start.objective.sum()
        if gained > 0:
            best, fitted = start, machines
        objective = float(best.objective.sum())
        iterations.record(objective, pairs.boundaries(best.coef, best.biases))
        # 3) stop at a fixed point, or when nothing is gained
        if np.average(to_numpy(start.labels != before.labels), weights=weights) <= tol:
            iterations.status = Status.CONVERGED
            break
        if gained <= tol * objective:
            iterations.status = Status.STALLED
            break
    labelling = Labelling(best.labels, n_clusters, problem.sample_weight)
    return SolverResult(
        labelling,
        pairs.boundaries(best.coef, best.biases),
        objective=objective,
        history=iterations.history,
        status=Status.DEGENERATE if labelling.empty.any() else iterations.status,
        details=fitted,
    )


# --- pairs of clusters --------------------------------------------------------------------------


@dataclass(frozen=True)
class PairMachines:
    """Scores of pairs about the means of their samples, with tangent planes of their losses.

    Each field has an entry for each pair, but for the labels of the samples. The loss of a pair is
    the sum over its samples, at another machine at least `offset` less the products of `slopes`
    with its coef and of `counts` with its bias.
    """

    coef: np.ndarray
    biases: np.ndarray
    labels: Any
    objective: np.ndarray
    slopes: np.ndarray
    counts: np.ndarray
    offset: np.ndarray


@dataclass(frozen=True)
class Pairs:
    """Samples, and the pairs of clusters that machines are fitted to.

    Attributes
    ----------
    problem : PlaneProblem
        The data.
    C : float
        Weight of the sum of the losses.
    neighbors : ndarray of int of shape (n_pairs,)
        Pairs of neighbouring clusters among all pairs.
    about : ndarray of shape (n_pairs, n_features)
        Means of the samples of these at the start.
    halfway : Boundaries
        Boundaries halfway between the means of all pairs.
    sizes : ndarray of shape (n_pairs,)
        Weight of the samples of neighbours at the start.
    """

    problem: Any
    C: float
    neighbors: np.ndarray
    about: np.ndarray
    halfway: Boundaries
    sizes: np.ndarray

    @classmethod
    def of(cls, problem, labels, n_clusters, C):
        """Pairs of the clusters of labels."""
        parts = map_chunks(
            _sums_of_chunk, problem.X, labels, problem.sample_weight, n_clusters=n_clusters
        )
        sizes, sums = (sum(part) for part in zip(*parts, strict=True))
        present = np.maximum(sizes, np.finfo(np.float64).tiny)[:, None]
        means = np.where(sizes[:, None] > 0, sums / present, problem.mean)
        code = pairwise_code(n_clusters)
        neighbors = np.flatnonzero(neighboring_pairs(means)[np.triu_indices(n_clusters, 1)])
        members = np.abs(code[neighbors]).astype(np.float64)
        about = members @ (sizes[:, None] * means) / (members @ present)
        # scores are 1 and -1 at the means
        apart, middle = code @ means, 0.5 * np.abs(code) @ means
        squares = np.maximum(np.square(apart).sum(axis=1), np.finfo(np.float64).tiny)
        coef = 2 * apart / squares[:, None]
        halfway = Boundaries(coef, -(coef * middle).sum(axis=1), code)
        return cls(problem, C, neighbors, about, halfway, members @ sizes)

    def boundaries(self, coef, biases):
        """Boundaries of all pairs, of neighbours those of their machines."""
        normals, offsets = self.halfway.coef.copy(), self.halfway.intercept.copy()
        normals[self.neighbors] = coef
        offsets[self.neighbors] = self.offsets(coef, biases)
        return replace(self.halfway, coef=normals, intercept=offsets)

    def offsets(self, coef, biases, pairs=slice(None)):
        """Offsets of machines whose biases are scores at the means."""
        return biases - (coef * self.about[pairs]).sum(axis=1)

    def machines_at(self, coef, biases, labels=None, pairs=slice(None)):
        """Machines of given weights, their losses for labels or their own, in one pass.

        Those of some pairs need labels.
        """
        problem = self.problem
        rule = None if labels is not None else self.boundaries(coef, biases)
        parts = map_chunks(
            _plane_chunk,
            problem.X,
            labels,
            problem.sample_weight,
            rule=rule,
            coef=coef,
            intercept=self.offsets(coef, biases, pairs),
            code=self.halfway.code[self.neighbors[pairs]],
            width=max(4 * len(coef), 0 if rule is None else rule.width),
        )
        own, *sums = zip(*parts, strict=True)
        labels = join_rows(own) if labels is None else labels
        slopes, counts, offset, loss = (sum(part) for part in sums)
        slopes = slopes - counts[:, None] * self.about[pairs]
        objective = 0.5 * np.square(coef).sum(axis=1) + self.C * loss
        return PairMachines(coef, biases, labels, objective, slopes, counts, offset)


def neighboring_pairs(means):
    """Which clusters have no mean of a third one in the ball between their own means.

    Only the nearest few of each cluster count, so that machines are not many more than clusters.
    """
    squares = np.square(means[:, None] - means).sum(axis=2)
    near = np.zeros(squares.shape, dtype=bool)
    order = np.argsort(squares, axis=1, kind="stable")[:, 1 : NEAREST + 1]
    np.put_along_axis(near, order, True, axis=1)
    near |= near.T
    for p, q in np.argwhere(np.triu(near, 1)):
        inside = squares[p] + squares[q] < squares[p, q]
        inside[[p, q]] = False
        near[p, q] = near[q, p] = not inside.any()
    return near


def _sums_of_chunk(X, labels, weight, *, n_clusters):
    """Weights of the clusters in one chunk, and sums of their rows."""
    xp, device = namespace_of(X)
    clusters = xp.arange(n_clusters, device=device)
    members = xp.astype(xp.astype(labels, clusters.dtype)[:, None] == clusters, X.dtype)
    if weight is not None:
        members = members * xp.astype(weight, X.dtype)[:, None]
    sums = to_numpy(X.T @ members).T.astype(np.float64)
    return to_numpy(xp.sum(members, axis=0)).astype(np.float64), sums


def _plane_chunk(X, labels, weight, *, rule, coef, intercept, code):
    """Labels of one chunk, and slopes, counts, offsets and losses of pairs, summed over rows."""
    xp, _ = namespace_of(X)
    labels = rule.labels(X) if labels is None else labels
    scores = X @ like(coef.T, X) + like(intercept, X)
    sides = like(np.ascontiguousarray(code.T, dtype=np.float64), scores)
    sides = xp.take(sides, xp.astype(labels, xp.int64), axis=0)
    losses = xp.where(sides == 0, 0.0, xp.clip(1 - sides * scores, 0.0))
    inside = xp.astype(losses > 0, scores.dtype)
    if weight is not None:
        inside = inside * xp.astype(weight, scores.dtype)[:, None]
    pulls = sides * inside
    sums = (xp.sum(one, axis=0) for one in (pulls, inside, inside * losses))
    slopes = to_numpy(X.T @ pulls).T.astype(np.float64)
    return labels, slopes, *(to_numpy(one).astype(np.float64) for one in sums)


# --- the machines of a labelling ----------------------------------------------------------------


@dataclass(frozen=True)
class FittedPairs:
    """Machines of the labels of pairs, and how far their objectives may be from the least.

    `violation` is the sum of these distances in units of C times the weight of all samples,
    `n_planes` the number of planes of all pairs together.
    """

    coef: np.ndarray
    biases: np.ndarray
    objective: float
    violation: float
    n_planes: int


def pair_machines(pairs, start, *, bound, violation_tol):
    """Machines of the labels of `start`, each by planes of its own, all in the same passes.

    The best machine of a pair so far counts, including that of `start`, so no objective can rise.
    A pair ends when it is within `violation_tol` times C times the weight of its samples.
    """
    weight = np.maximum(pairs.sizes, np.finfo(np.float64).tiny)
    strength = pairs.C * weight
    coef, biases, objective = start.coef.copy(), start.biases.copy(), start.objective.copy()
    n_pairs, n_features = coef.shape
    floor, n_idle, n_planes = np.full(n_pairs, -np.inf), np.zeros(n_pairs, dtype=int), 0
    # a plane at zero, since no loss is negative
    slopes, counts = np.zeros((n_pairs, 1, n_features)), np.zeros((n_pairs, 1, 1))
    offsets = np.zeros((n_pairs, 1))
    going, machines = np.arange(n_pairs), start
    while True:
        # 1) the pairs that have not ended yet, and the planes of their last machines
        far = objective[going] - floor[going] > violation_tol * strength[going]
        ended = ~far | (n_idle[going] >= PATIENCE)
        if ended.all():
            break
        going, unit = going[~ended], weight[going[~ended], None]
        new = (machines.slopes, machines.counts[:, None], machines.offset[:, None])
        slopes, counts, offsets = (
            np.concatenate(
                [old[~ended], (one[~ended] / unit).reshape(-1, 1, *old.shape[2:])], axis=1
            )
            for old, one in zip((slopes, counts, offsets), new, strict=True)
        )
        n_planes += len(going)
        # 2) the least above the planes
        shares, places, values = minimize_over_planes(
            strength[going, None, None] * (slopes @ slopes.swapaxes(1, 2)),
            bound * counts,
            offsets,
            tol=1e-3 * violation_tol,
        )
        found = strength[going, None] * (shares[:, None] @ slopes)[:, 0], bound * places[:, 0]
        machines = pairs.machines_at(*found, start.labels, going)
        # 3) the best machines and the highest bounds so far
        better = machines.objective < objective[going]
        for kept, one in zip((coef, biases, objective), (*found, machines.objective), strict=True):
            kept[going[better]] = one[better]
        values = strength[going] * values
        n_idle[going] = np.where(values > floor[going], 0, n_idle[going] + 1)
        floor[going] = np.maximum(floor[going], values)
    left = np.maximum(objective - floor, 0.0).sum() / (pairs.C * pairs.problem.weight)
    return FittedPairs(coef, biases, float(objective.sum()), float(left), n_planes)
