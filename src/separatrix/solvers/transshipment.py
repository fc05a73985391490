"""Wasserstein distances of distributions on common points, by a network simplex method."""

import numpy as np

from separatrix._numba import njit

# Violation of a constraint that rounding may leave, in units of the largest cost.
ROUNDING = 1e-11
# Shift of the supplies that keeps flows from being zero, in units of a typical supply.
TIE_BREAK = 1e-9
# Pivots per point after which the method gives up; a few are usual.
MOST_PIVOTS = 1_000
# Marks of points.
UNKNOWN, ELSEWHERE, BELOW = 0, 1, 2


class Transshipment:
    r"""Least cost of moving mass between points, and its gradient.

    .. math:: W(s) = \max_f \; f^\top s \quad \text{s.t. } |f_i - f_j| \le c_{ij},
              \qquad \textstyle\sum_i s_i = 0

    which is the Wasserstein distance between the positive and the negative part of s if the costs
    c are a metric [1]_. Any maximiser f is a gradient of W at s.

    The dual is a flow along the edges of a tree: with symmetric costs the edges of any tree, each
    turned to where the mass beyond it has to go, are a feasible flow. So the tree that was optimal
    for other supplies is where the search begins.

    Parameters
    ----------
    cost : ndarray of shape (n_points, n_points)
        Symmetric, with the triangle inequality.
    n_problems : int
        Number of supplies that each call solves for.

    References
    ----------
    .. [1] R. K. Ahuja, T. L. Magnanti, J. B. Orlin, "Network flows", Prentice Hall 1993,
       chapter 11.
    """

    def __init__(self, cost, n_problems):
        self.cost = np.ascontiguousarray(cost, dtype=np.float64)
        n_points = len(self.cost)
        self._parents = np.zeros((n_problems, n_points), dtype=np.int64)  # children of the first
        self._parents[:, 0] = -1
        shifts = np.random.RandomState(0).uniform(size=n_points)  # the same each time
        self._tie_break = TIE_BREAK * (shifts - shifts.mean()) / n_points

    def __call__(self, supplies):
        """Distances and their gradients, a column of `supplies` each."""
        potentials = np.zeros(supplies.shape)
        for problem, supply in enumerate(supplies.T):
            mass = np.abs(supply).sum()
            if mass > 0:
                supply = supply / mass + self._tie_break
                potentials[:, problem] = _potentials(supply, self.cost, self._parents[problem])
        return np.einsum("ij,ij->j", potentials, supplies), potentials


@njit
def _potentials(
    supply,  # IN
    cost,  # IN
    parent,  # INOUT
):
    """Optimal potentials; `parent` is a tree, and becomes the optimal one."""
    n_points = len(supply)
    flow, potential = _tree_flow(supply, cost, parent)
    mark = np.zeros(n_points, dtype=np.int8)
    stack = np.empty(n_points, dtype=np.int64)
    tol = ROUNDING * cost.max()
    row, n_passed = 0, 0
    for _ in range(MOST_PIVOTS * n_points):
        # 1) the most violated constraint of the next point that has one
        worst, source, sink = tol, -1, -1
        while source < 0 and n_passed < n_points:
            for other in range(n_points):
                violation = abs(potential[row] - potential[other]) - cost[row, other]
                if violation > worst:
                    worst, source, sink = violation, row, other
            row, n_passed = (row + 1) % n_points, n_passed + 1
        if source < 0:
            break
        n_passed = 0
        if potential[source] < potential[sink]:
            source, sink = sink, source
        # 2) mass goes the direct way, until an edge of the way round has none left
        leaving, at_source = _pushed(flow, parent, source, sink, mark)
        if leaving < 0:
            break
        # 3) the part that this edge cuts off is attached to the new edge
        cut, kept = (source, sink) if at_source else (sink, source)
        mass = abs(flow[leaving])
        _rehang(flow, parent, cut, kept, leaving, mass if at_source else -mass)
        _mark_below(parent, cut, mark, stack)
        step = -worst if at_source else worst
        for point in range(n_points):
            if mark[point] == BELOW:
                potential[point] += step
    return potential


@njit
def _tree_flow(
    supply,  # IN
    cost,  # IN
    parent,  # IN
):
    """Mass that each point passes on to its parent, negative if it comes from there.

    Also the potentials: along an edge they fall by its cost, in the direction of the mass.
    """
    n_points = len(supply)
    order = np.empty(n_points, dtype=np.int64)  # parents first
    stack = np.empty(n_points, dtype=np.int64)
    seen = np.zeros(n_points, dtype=np.bool_)
    n_ordered = 0
    for point in range(n_points):
        height = 0
        while point >= 0 and not seen[point]:
            seen[point] = True
            stack[height] = point
            height += 1
            point = parent[point]
        while height > 0:
            height -= 1
            order[n_ordered] = stack[height]
            n_ordered += 1
    flow, potential = supply.copy(), np.zeros(n_points)
    for place in range(n_points - 1, 0, -1):
        flow[parent[order[place]]] += flow[order[place]]
    for place in range(1, n_points):
        point = order[place]
        length = cost[point, parent[point]]
        potential[point] = potential[parent[point]] + (length if flow[point] > 0 else -length)
    return flow, potential


@njit
def _pushed(
    flow,  # INOUT
    parent,  # IN
    source,
    sink,
    mark,  # OUT
):
    """Move as much mass as possible from the tree path between two points to their direct edge.

    Returns
    -------
    leaving : int
        Point whose edge to its parent has given all of its mass, which is left in `flow` there;
        -1 if rounding has left none that could.
    at_source : bool
        Whether it lies on the way of the source.
    """
    mark[:] = UNKNOWN
    point = source
    while point >= 0:
        mark[point] = BELOW
        point = parent[point]
    apex = sink
    while mark[apex] == UNKNOWN:
        apex = parent[apex]
    mass, leaving, at_source = np.inf, -1, True
    point = source
    while point != apex:
        if 0 < flow[point] < mass:
            mass, leaving, at_source = flow[point], point, True
        point = parent[point]
    point = sink
    while point != apex:
        if 0 < -flow[point] < mass:
            mass, leaving, at_source = -flow[point], point, False
        point = parent[point]
    if leaving < 0:
        return leaving, at_source
    point = source
    while point != apex:
        flow[point] -= mass
        point = parent[point]
    point = sink
    while point != apex:
        flow[point] += mass
        point = parent[point]
    flow[leaving] = mass
    return leaving, at_source


@njit
def _rehang(
    flow,  # INOUT
    parent,  # INOUT
    cut,
    kept,
    leaving,
    mass,
):
    """Make `kept` the parent of `cut`, and turn the edges from `cut` up to `leaving`."""
    point, above = cut, kept
    while True:
        next_point, next_mass = parent[point], -flow[point]
        parent[point], flow[point] = above, mass
        if point == leaving:
            break
        point, above, mass = next_point, point, next_mass


@njit
def _mark_below(
    parent,  # IN
    top,
    mark,  # OUT
    stack,  # OUT
):
    """Mark the points whose way to the root passes `top`, itself among them."""
    mark[:] = UNKNOWN
    mark[top] = BELOW
    for start in range(len(parent)):
        point, height = start, 0
        while point >= 0 and mark[point] == UNKNOWN:
            stack[height] = point
            height += 1
            point = parent[point]
        found = ELSEWHERE if point < 0 else mark[point]
        while height > 0:
            height -= 1
            mark[stack[height]] = found
