r"""Eigenvectors and linear systems of graph Laplacians with a million nodes.

For a connected graph with similarities W and degrees D, and for s = D^{-1/2} (the normalised
Laplacian) or s = 1 (the plain one),

.. math:: L = \operatorname{diag}(s) (D - W) \operatorname{diag}(s).

Everything is solved in the scaling x = z / s, where L becomes the pencil of A = D - W and the
masses m = s^{-2}, and the trivial eigenvector becomes the vector of ones. There, merging nodes
gives a graph with masses again: weights between merged nodes add up, and so do masses. A few
mergers lead to a graph of some hundred nodes, which dense linear algebra handles. The graphs on
the way precondition L + cI for every c >= 0 and give starting vectors for the eigenproblem.

The preconditioner is aggregation multigrid with a K-cycle [1]_: piecewise constant
interpolation, a Gauss-Seidel sweep down and one up, and at most two steps of conjugate gradients
on every coarser graph. A sweep also gives the residual, so that no step needs another product with
the matrix. Eigenvectors come from LOBPCG [2]_, refined from graph to graph.

Kernels run on one thread: steps are short, and threads that wait for each other on a busy
machine cost far more than they gain.

References
----------
.. [1] Y. Notay, "An aggregation-based algebraic multigrid method", ETNA 37, 2010, 123-146.
.. [2] A. V. Knyazev, "Toward the optimal preconditioned eigensolver: locally optimal block
   preconditioned conjugate gradient method", SIAM J. Sci. Comput. 23, 2001, 517-541.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.linalg.blas import daxpy

from separatrix._numba import njit
from separatrix._sklearn import one_blas_thread

MAX_COARSEST = 400  # nodes of the last graph: its eigendecomposition takes hundredths of a second
STRONG = 0.25  # edges at least this strong, relative to the strongest of both ends, can merge
INNER_REDUCTION = 0.25  # of the residual, which makes a second inner step unnecessary
SPARE_VECTORS = 2  # eigenvectors of coarse graphs beyond those asked for, and of many
SPARE_SHARE = 0.125  # so many on all graphs, since the last ones converge by the gap to others
FEW_VECTORS = 16  # so many are corrected until all of them have converged
COARSE_TOL = 0.1  # of eigenvectors of coarse graphs: interpolating them errs as much
MIN_NODES_PER_VECTOR = 10  # with fewer, dense linear algebra is better at eigenvectors
PATIENCE = 20  # steps within which conjugate gradients have to halve the residual


@njit
def _visit_breadth_first(
    indptr,  # IN
    indices,  # IN
    start,
    order,  # OUT
    seen,  # INOUT
):
    """Nodes by their distance from `start`; unseen ones have seen[i] == False at first."""
    n_nodes = len(order)
    n_found = 0
    first = start
    for other in range(n_nodes + 1):
        if not seen[first]:
            seen[first] = True
            order[n_found] = first
            head = n_found
            n_found += 1
            while head < n_found:
                node = order[head]
                head += 1
                for entry in range(indptr[node], indptr[node + 1]):
                    neighbour = indices[entry]
                    if not seen[neighbour]:
                        seen[neighbour] = True
                        order[n_found] = neighbour
                        n_found += 1
        if n_found == n_nodes:
            break
        first = other


@njit
def _permute(
    indptr,  # IN
    indices,  # IN
    weights,  # IN
    order,  # IN
    position,  # IN
    new_indptr,  # OUT
    new_indices,  # OUT
    new_weights,  # OUT
):
    """The symmetric matrix with row `order[i]` as row i, rows sorted, without its diagonal."""
    n_nodes = len(order)
    new_indptr[0] = 0
    for i in range(n_nodes):
        count = 0
        for entry in range(indptr[order[i]], indptr[order[i] + 1]):
            if indices[entry] != order[i]:
                count += 1
        new_indptr[i + 1] = new_indptr[i] + count
    free = new_indptr[:-1].copy()
    # row i is column i too: written column by column, rows come out sorted
    for i in range(n_nodes):
        for entry in range(indptr[order[i]], indptr[order[i] + 1]):
            j = position[indices[entry]]
            if j != i:
                new_indices[free[j]] = i
                new_weights[free[j]] = weights[entry]
                free[j] += 1


@njit
def _aggregate(
    indptr,  # IN
    indices,  # IN
    weights,  # IN
    strong,
    aggregates,  # OUT
):
    """Number the groups that nodes merge into, each of two nodes at least; how many they are."""
    n_nodes = len(aggregates)
    strongest = np.zeros(n_nodes)
    for i in range(n_nodes):
        aggregates[i] = -1
        for entry in range(indptr[i], indptr[i + 1]):
            strongest[i] = max(strongest[i], weights[entry])
    n_aggregates = 0
    # 1. a node and its strong neighbours, where all of these are free
    for i in range(n_nodes):
        n_free = 0 if aggregates[i] < 0 else -1
        for entry in range(indptr[i], indptr[i + 1]):
            j = indices[entry]
            if n_free >= 0 and weights[entry] >= strong * max(strongest[i], strongest[j]):
                n_free = n_free + 1 if aggregates[j] < 0 else -1
        if n_free <= 0:
            continue
        aggregates[i] = n_aggregates
        for entry in range(indptr[i], indptr[i + 1]):
            j = indices[entry]
            if weights[entry] >= strong * max(strongest[i], strongest[j]):
                aggregates[j] = n_aggregates
        n_aggregates += 1
    # 2. the others follow their strongest neighbour
    for i in range(n_nodes):
        if aggregates[i] >= 0:
            continue
        nearest = indices[indptr[i]]
        for entry in range(indptr[i], indptr[i + 1]):
            if weights[entry] == strongest[i]:
                nearest = indices[entry]
                break
        if aggregates[nearest] < 0:
            aggregates[nearest] = n_aggregates
            n_aggregates += 1
        aggregates[i] = aggregates[nearest]
    return n_aggregates


@njit
def _merge(
    indptr,  # IN
    indices,  # IN
    weights,  # IN
    aggregates,  # IN
    members,  # IN
    starts,  # IN
    new_indptr,  # OUT
):
    """Weights between groups; group g has the nodes members[starts[g]:starts[g + 1]]."""
    n_new = len(starts) - 1
    seen = np.full(n_new, -1, dtype=np.int64)
    new_indptr[0] = 0
    for row in range(n_new):
        count = 0
        seen[row] = row
        for member in members[starts[row] : starts[row + 1]]:
            for entry in range(indptr[member], indptr[member + 1]):
                column = aggregates[indices[entry]]
                if seen[column] != row:
                    seen[column] = row
                    count += 1
        new_indptr[row + 1] = new_indptr[row] + count
    new_indices = np.empty(new_indptr[n_new], dtype=indices.dtype)
    new_weights = np.empty(new_indptr[n_new], dtype=weights.dtype)
    free = new_indptr[:-1].copy()
    seen[:] = -1
    sums = np.zeros(n_new)
    touched = np.empty(n_new, dtype=np.int64)
    for row in range(n_new):
        count = 0
        for member in members[starts[row] : starts[row + 1]]:
            for entry in range(indptr[member], indptr[member + 1]):
                column = aggregates[indices[entry]]
                if column == row:
                    continue
                if seen[column] != row:
                    seen[column] = row
                    sums[column] = 0.0
                    touched[count] = column
                    count += 1
                sums[column] += weights[entry]
        # written as a column, so that rows come out sorted
        for column in touched[:count]:
            new_indices[free[column]] = row
            new_weights[free[column]] = sums[column]
            free[column] += 1
    return new_indices, new_weights


@njit
def _multiply(
    indptr,  # IN
    indices,  # IN
    weights,  # IN
    diagonal,  # IN
    z,  # IN
    image,  # OUT
):
    """image = (diagonal - W) z."""
    for i in range(len(z)):
        total = diagonal[i] * z[i]
        for entry in range(indptr[i], indptr[i + 1]):
            total -= weights[entry] * z[indices[entry]]
        image[i] = total


@njit
def _sweep_down(
    rows,  # IN, where rows begin, columns and weights
    diagonal,  # IN
    right,  # IN
    aggregates,  # IN
    z,  # OUT
    coarse_right,  # INOUT
):
    """A Gauss-Seidel sweep from zero; its residual is added up by groups.

    A row takes part only with its entries left of the diagonal: when node i changes, its later
    neighbours have not been visited, and the residual of its earlier ones is what i adds.
    """
    indptr, indices, weights = rows
    for i in range(len(z)):
        total = right[i]
        end = indptr[i]
        while end < indptr[i + 1] and indices[end] < i:
            total += weights[end] * z[indices[end]]
            end += 1
        z[i] = total / diagonal[i]
        for entry in range(indptr[i], end):
            coarse_right[aggregates[indices[entry]]] += weights[entry] * z[i]


@njit
def _sweep_up(
    rows,  # IN, where rows begin, columns and weights
    diagonal,  # IN
    right,  # IN
    aggregates,  # IN
    coarse,  # IN
    z,  # INOUT
    image,  # OUT
):
    """Add the groups' correction, sweep from the last node to the first; image = Az.

    When node i changes, the equations of its later neighbours hold, and are violated by what the
    change adds to them.
    """
    indptr, indices, weights = rows
    n_nodes = len(z)
    for i in range(n_nodes):
        z[i] += coarse[aggregates[i]]
        image[i] = right[i]
    for i in range(n_nodes - 1, -1, -1):
        total = right[i]
        for entry in range(indptr[i], indptr[i + 1]):
            total += weights[entry] * z[indices[entry]]
        change = total / diagonal[i] - z[i]
        z[i] += change
        entry = indptr[i + 1] - 1
        while entry >= indptr[i] and indices[entry] > i:
            image[indices[entry]] -= weights[entry] * change
            entry -= 1


@dataclass(frozen=True)
class _Graph:
    """A graph with masses, and how its nodes merge into those of the next one.

    Attributes
    ----------
    rows : tuple of ndarray
        Where rows begin, columns and weights. Rows are sorted and have no diagonal entry.
    masses : ndarray of shape (n_nodes,)
        Masses of the nodes.
    aggregates : ndarray of shape (n_nodes,) or None
        Node of the next graph that a node belongs to; None for the last graph.
    n_aggregates : int
        How many nodes the next graph has.
    """

    rows: tuple[np.ndarray, np.ndarray, np.ndarray]
    masses: np.ndarray
    aggregates: np.ndarray | None = None
    n_aggregates: int = 0

    @property
    def n_nodes(self):
        return len(self.masses)

    @cached_property
    def mass(self):
        """Total mass."""
        return float(self.masses.sum())

    @cached_property
    def degrees(self):
        """Sums of the rows."""
        return self.matrix @ np.ones(self.n_nodes)

    @property
    def matrix(self):
        """W as a sparse array."""
        return sp.csr_array(self.rows[::-1], shape=(self.n_nodes, self.n_nodes))

    def multiply(self, diagonal, z):
        """(diagonal - W) z."""
        image = np.empty(self.n_nodes)
        _multiply(*self.rows, diagonal, z, image)
        return image

    def centre(self, z):
        """Subtract from `z`, in place, its mean by mass; return the mean."""
        mean = (self.masses @ z) / self.mass
        z -= mean
        return mean

    def dense(self):
        """D - W as an array."""
        matrix = -self.matrix.toarray()
        matrix[np.diag_indices_from(matrix)] = self.degrees
        return matrix


def _ordered(W):
    """Rows of a graph with neighbours near each other in memory, and the order of its nodes.

    Breadth first from a node far out. This is a Cuthill-McKee order except for the sorting by
    degrees, for which SciPy takes quadratic time at a hub. A small graph keeps its order: dense
    linear algebra gains nothing from another.
    """
    n_nodes = W.shape[0]
    if n_nodes <= MAX_COARSEST:
        entries = W.tocoo()
        others = entries.row != entries.col
        i, j, weights = entries.row[others], entries.col[others], entries.data[others]
        kept = sp.csr_array((weights.astype(np.float64), (i, j)), shape=W.shape)
        kept.sort_indices()
        rows = kept.indptr.astype(np.int64), kept.indices.astype(np.int32), kept.data
        return rows, np.arange(n_nodes, dtype=np.int32)
    indptr, indices = W.indptr.astype(np.int64), W.indices.astype(np.int32, copy=False)
    order = np.zeros(n_nodes, dtype=np.int32)
    for _ in range(2):
        _visit_breadth_first(indptr, indices, order[-1], order, np.zeros(n_nodes, dtype=np.bool_))
    position = np.empty_like(order)
    position[order] = np.arange(n_nodes, dtype=np.int32)
    new_indptr, new_indices = np.empty_like(indptr), np.empty_like(indices)
    weights, new_weights = W.data.astype(np.float64, copy=False), np.empty(len(indices))
    _permute(indptr, indices, weights, order, position, new_indptr, new_indices, new_weights)
    n_kept = new_indptr[-1]
    return (new_indptr, new_indices[:n_kept], new_weights[:n_kept]), order


def _merged(rows, aggregates, n_aggregates):
    """Rows of the graph of merged nodes."""
    members = np.argsort(aggregates, kind="stable").astype(np.int32)
    starts = np.searchsorted(aggregates[members], np.arange(n_aggregates + 1))
    indptr = np.empty(n_aggregates + 1, dtype=np.int64)
    indices, weights = _merge(*rows, aggregates, members, starts, indptr)
    return indptr, indices, weights


def _coarsened(rows, masses):
    """The graph, the graph of its merged nodes, and so on until few are left."""
    graphs = []
    while len(masses) > MAX_COARSEST:
        aggregates = np.empty(len(masses), dtype=np.int32)
        n_aggregates = _aggregate(*rows, STRONG, aggregates)
        graphs.append(_Graph(rows, masses, aggregates, n_aggregates))
        rows = _merged(rows, aggregates, n_aggregates)
        masses = np.bincount(aggregates, weights=masses)
    return [*graphs, _Graph(rows, masses)]


class _Cycle:
    """Approximate inverse of D - W + shift * masses on vectors without trivial part.

    Parameters
    ----------
    graphs : list of _Graph
        From fine to coarse.
    spectrum : tuple of ndarray
        Nontrivial eigenvalues of the last graph, and eigenvectors orthonormal by mass.
    shift : float
        Nonnegative multiple of the masses.
    """

    def __init__(self, graphs, spectrum, shift):
        self.graphs = graphs
        self.shift = shift
        self.diagonals = [graph.degrees + shift * graph.masses for graph in graphs]
        values, self._last_vectors = spectrum
        self._last_inverse = 1 / (values + shift)

    def apply(self, right, depth=0):
        """Approximate solution z, of mean zero by mass, and its image under the matrix."""
        graph, diagonal = self.graphs[depth], self.diagonals[depth]
        if graph.aggregates is None:
            coefficients = self._last_inverse * (right @ self._last_vectors)
            return self._last_vectors @ coefficients, right.copy()
        z, image = np.empty(graph.n_nodes), np.empty(graph.n_nodes)
        coarse_right = np.zeros(graph.n_aggregates)
        _sweep_down(graph.rows, diagonal, right, graph.aggregates, z, coarse_right)
        coarse = self._solve_coarse(coarse_right, depth + 1)
        _sweep_up(graph.rows, diagonal, right, graph.aggregates, coarse, z, image)
        daxpy(graph.masses, image, a=-graph.centre(z) * self.shift)
        return z, image

    def _solve_coarse(self, right, depth):
        """At most two steps of conjugate gradients on a coarser graph."""
        graph = self.graphs[depth]
        daxpy(graph.masses, right, a=-right.sum() / graph.mass)
        z, image = self.apply(right, depth)
        energy = z @ image
        if graph.aggregates is None or not energy > 0:
            return z
        step = (z @ right) / energy
        residual = right - step * image
        if residual @ residual > INNER_REDUCTION**2 * (right @ right):
            second, second_image = self.apply(residual, depth)
            overlap = (second @ image) / energy
            daxpy(z, second, a=-overlap)
            daxpy(image, second_image, a=-overlap)
            second_energy = second @ second_image
            if second_energy > 0:
                second *= (second @ residual) / second_energy
                return step * z + second
        return step * z


def _conjugate_gradients(cycle, z, residual, roots, target, max_iter):
    """Improve `z` in place until the norm of residual / roots is at most `target`.

    The preconditioner changes from step to step, so a direction is made conjugate to the last
    one by its products and not by norms of residuals. A residual that does not shrink any more
    consists of rounding errors.
    """
    direction = image = None
    energy, best, n_since_best = 1.0, np.inf, 0
    for _ in range(max_iter):
        norm = float(np.linalg.norm(residual / roots))
        n_since_best += 1
        if norm < best / 2:
            best, n_since_best = norm, 0
        if norm <= target or n_since_best > PATIENCE:
            break
        correction, correction_image = cycle.apply(residual)
        if direction is not None:
            overlap = (correction @ image) / energy
            daxpy(direction, correction, a=-overlap)
            daxpy(image, correction_image, a=-overlap)
        direction, image = correction, correction_image
        energy = direction @ image
        if not energy > 0:
            break
        step = (direction @ residual) / energy
        daxpy(direction, z, a=step)
        daxpy(image, residual, a=-step)


def _nontrivial_spectrum(graph):
    """All nontrivial eigenvalues of a small graph, and eigenvectors orthonormal by mass."""
    roots = np.sqrt(graph.masses)
    matrix = graph.dense() / np.outer(roots, roots)
    # the trivial pair moves to the end, where no other can mix with it
    bound = 1 + 2 * np.max(graph.degrees / graph.masses)
    values, vectors = eigh(matrix + bound / graph.mass * np.outer(roots, roots))
    values, vectors = values[:-1], vectors[:, :-1]
    return np.maximum(values, np.finfo(np.float64).eps * bound), vectors / roots[:, None]


def _ritz(vectors, images, masses, n_pairs):
    """Smallest Ritz pairs in the span of some vectors.

    Parameters
    ----------
    vectors, images : ndarray of shape (n_vectors, n_nodes)
        Vectors as rows, and D - W times them.
    masses : ndarray of shape (n_nodes,)
        Masses of the nodes.
    n_pairs : int
        How many pairs.

    Returns
    -------
    values : ndarray of shape (n_pairs,)
    coefficients : ndarray of shape (n_pairs, n_vectors)
        Of the Ritz vectors, which are orthonormal by mass.
    """
    return ritz_pairs((vectors * masses) @ vectors.T, vectors @ images.T, n_pairs)


def ritz_pairs(gram, energy, n_pairs):
    """The same from the products of the vectors with each other, and with their images."""
    lengths = np.sqrt(np.diag(gram))
    scale = np.divide(1.0, lengths, where=lengths > 0, out=np.zeros_like(lengths))
    sizes, axes = eigh(gram * np.outer(scale, scale))
    kept = sizes > 1e-12 * sizes[-1]  # others span the same up to rounding
    basis = scale[:, None] * axes[:, kept] / np.sqrt(sizes[kept])
    values, rotation = eigh(basis.T @ ((energy + energy.T) / 2) @ basis)
    return values[:n_pairs], (basis @ rotation[:, :n_pairs]).T


def _refine(cycle, vectors, n_pairs, n_kept, *, tol, max_iter):
    """Smallest nontrivial eigenpairs of the first graph of a cycle, by LOBPCG.

    Parameters
    ----------
    cycle : _Cycle
        Preconditioner without shift.
    vectors : ndarray of shape (n_vectors, n_nodes)
        Where to start, as rows.
    n_pairs : int
        How many pairs are to converge.
    n_kept : int
        How many to go on with after the first step.
    tol : float
        Stop when r' A^+ r <= tol**2 * value for the residuals r; the preconditioner stands for
        the inverse.
    max_iter : int
        Most steps.

    Returns
    -------
    values : ndarray of shape (n_kept,)
    vectors : ndarray of shape (n_kept, n_nodes)
        Orthonormal by mass, by ascending eigenvalue.
    """
    graph = cycle.graphs[0]
    for vector in vectors:
        graph.centre(vector)
    images = np.stack([graph.multiply(graph.degrees, vector) for vector in vectors])
    values, turn = _ritz(vectors, images, graph.masses, len(vectors))
    # rows of the basis: vectors, what the last step changed, corrections of vectors
    n, n_changes = len(vectors), 0
    basis, basis_images = np.empty((2, 3 * n, graph.n_nodes))
    basis[:n], basis_images[:n] = turn @ vectors, turn @ images
    moving = np.arange(n)
    for _ in range(max_iter):
        first = n + n_changes
        n_rows = first + len(moving)
        errors = np.zeros(n)
        for row, k in enumerate(moving, first):
            residual = basis_images[k] - values[k] * graph.masses * basis[k]
            basis[row], basis_images[row] = cycle.apply(residual)
            errors[k] = residual @ basis[row]
        wanting = errors[:n_pairs] > tol**2 * values[:n_pairs]
        everyone = len(moving) == n
        values, turn = _ritz(basis[:n_rows], basis_images[:n_rows], graph.masses, n_kept)
        n_old, n = n, len(values)
        if everyone and not wanting.any():
            moving = moving[:0]
        elif n > FEW_VECTORS and wanting.any():
            # those that have converged wait for the others, with the spare ones always moving
            moving = np.flatnonzero(np.append(wanting, np.ones(n_old - len(wanting), bool))[:n])
        else:  # vectors may have changed places while some waited
            moving = np.arange(n)
        n_changes = len(moving)
        for rows in (basis, basis_images):
            change = turn[:, n_old:] @ rows[n_old:n_rows]
            rows[:n] = turn[:, :n_old] @ rows[:n_old] + change
            rows[n : n + n_changes] = change[moving]
        if not n_changes:
            break
    return values, basis[:n].copy()


class GraphHierarchy:
    """Coarser and coarser versions of a graph, for its Laplacian's eigenpairs and systems.

    With D the degrees and s = D**-0.5 if `normalized`, else m**-0.5, the Laplacian is
    L = diag(s) (D - W) diag(s). Its trivial eigenvector, 1/s at eigenvalue 0, is known and
    handled exactly. The same input gives the same output, on any number of threads.

    Parameters
    ----------
    W : sparse matrix of shape (n_nodes, n_nodes)
        Similarities in compressed rows: symmetric, nonnegative, of a connected graph. A copy in
        a better order is kept, not the matrix itself.
    normalized : bool, default=True
        Whether the Laplacian is normalised.
    masses : ndarray of shape (n_nodes,), default=None
        The masses m of the nodes of a Laplacian that is not; None if all are one.

    Attributes
    ----------
    n_nodes : int
        Number of nodes.
    degrees : ndarray of shape (n_nodes,)
        Sums of the rows of `W`.
    """

    @one_blas_thread
    def __init__(self, W, *, normalized=True, masses=None):
        self.n_nodes = W.shape[0]
        self.degrees = np.asarray(W.sum(axis=1), dtype=np.float64).ravel()
        rows, self._order = _ordered(W)
        if normalized:
            masses = self.degrees
        elif masses is None:
            masses = np.ones(self.n_nodes)
        masses = masses[self._order].astype(np.float64)
        self._graphs = _coarsened(rows, masses)
        self._roots = np.sqrt(masses)
        self._spectrum = _nontrivial_spectrum(self._graphs[-1])

    def _inside(self, x):
        """s * x in the order of this object."""
        return np.asarray(x, dtype=np.float64)[self._order] / self._roots

    def _outside(self, z):
        """z / s in the order of the caller."""
        x = np.empty(self.n_nodes)
        x[self._order] = z * self._roots
        return x

    def matvec(self, x):
        """L x."""
        graph = self._graphs[0]
        return self._outside(graph.multiply(graph.degrees, self._inside(x)) / graph.masses)

    @one_blas_thread
    def eigenpairs(self, n_pairs=1, *, tol=1e-2, max_iter=50, rng=None):
        """Smallest nontrivial eigenvalues of L and their eigenvectors.

        Parameters
        ----------
        n_pairs : int, default=1
            How many, at most ``n_nodes - 1``.
        tol : float, default=1e-2
            Error of eigenvectors, in the norm of L relative to their eigenvalue's root. Where
            eigenvalues are well apart, their own relative error is about its square.
        max_iter : int, default=50
            Most steps on a graph; fewer than ten are the rule.
        rng : Generator or RandomState, default=None
            Source of starting vectors where the coarsest graph has too few, which a star has.
            By default they are the same each time.

        Returns
        -------
        values : ndarray of shape (n_pairs,)
            Ascending.
        vectors : ndarray of shape (n_nodes, n_pairs)
            Orthonormal, and orthogonal to the trivial one.
        """
        rng = np.random.default_rng(0) if rng is None else rng
        n_pairs = min(n_pairs, self.n_nodes - 1)
        # coarse graphs carry spare vectors: on the way, eigenvalues may change places
        n_spare = max(SPARE_VECTORS, int(SPARE_SHARE * n_pairs))
        graphs, (values, vectors) = self._graphs, self._spectrum
        if self.n_nodes < MIN_NODES_PER_VECTOR * (n_pairs + n_spare):
            graphs, (values, vectors) = graphs[:1], _nontrivial_spectrum(graphs[0])
        values, vectors = values[:n_pairs], vectors.T[: n_pairs + n_spare]
        for depth in range(len(graphs) - 2, -1, -1):
            graph = graphs[depth]
            n_carried = min(n_pairs + n_spare, graph.n_nodes // MIN_NODES_PER_VECTOR)
            vectors = vectors[:n_carried, graph.aggregates]
            fresh = rng.standard_normal((n_carried - len(vectors), graph.n_nodes))
            values, vectors = _refine(
                _Cycle(graphs[depth:], self._spectrum, 0.0),
                np.concatenate([vectors, fresh]),
                n_pairs,
                n_carried if depth or n_spare > SPARE_VECTORS else n_pairs,
                tol=max(tol, COARSE_TOL) if depth else tol,
                max_iter=max_iter,
            )
        return values[:n_pairs], np.stack([self._outside(z) for z in vectors[:n_pairs]], axis=1)

    @one_blas_thread
    def solve(self, rhs, shift, *, start=None, tol=1e-4, max_iter=200):
        """Solution x of (L + shift * I) x = rhs.

        Parameters
        ----------
        rhs : ndarray of shape (n_nodes,)
            Right side.
        shift : float
            Positive multiple of the identity.
        start : ndarray of shape (n_nodes,), default=None
            Where to start; None is zero.
        tol : float, default=1e-4
            Norm of the residual relative to that of `rhs`. The error is then at most `tol` times
            the norm of `rhs` over `shift`.
        max_iter : int, default=200
            Most steps; ten to thirty are the rule.

        Returns
        -------
        x : ndarray of shape (n_nodes,)
            Its part along the trivial eigenvector is exact.
        """
        graph, cycle = self._graphs[0], _Cycle(self._graphs, self._spectrum, shift)
        right = self._inside(rhs) * graph.masses
        trivial = right.sum() / (shift * graph.mass)
        target = tol * np.linalg.norm(rhs)
        daxpy(graph.masses, right, a=-trivial * shift)
        if start is None:
            z, residual = np.zeros(self.n_nodes), right
        else:
            z = self._inside(start)
            graph.centre(z)
            residual = right - graph.multiply(cycle.diagonals[0], z)
        _conjugate_gradients(cycle, z, residual, self._roots, target, max_iter)
        return self._outside(z + trivial)
