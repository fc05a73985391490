"""Squared-loss mutual information clustering of samples on a device, in closed form.

It takes the steps of `classics.mutual_information`, for kernels between neighbours that are
normalised, of distinct samples without weights and links. Only components of the graph, one number
for each sample, and matrices of some ten rows go to the host.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import eigh

from separatrix._sklearn import like, namespace_of, to_numpy
from separatrix.data.rows import exactly_beside, with_values_at
from separatrix.models.graph_responses import Posterior
from separatrix.result import SolverResult, Status
from separatrix.similarity.device_components import components_on_device
from separatrix.similarity.device_graphs import DeviceMatrix
from separatrix.similarity.device_search import BlockedSearch
from separatrix.similarity.device_spectra import DeviceLaplacian
from separatrix.solvers.orthogonal_responses import different_rows, orthogonal_factor

__all__ = ["SelfSimilar", "solve_on_device"]

# Error of eigenvectors, in the norm of the Laplacian. Many clusters need a small one: samples that
# the vectors are turned towards are chosen by them.
EIGENVECTOR_TOL = 1e-4


@dataclass(frozen=True, eq=False)
class SelfSimilar:
    """Normalised kernels of samples and their Laplacian; each sample has one to itself, of one.

    Attributes
    ----------
    W : DeviceMatrix
        Kernels between different samples.
    """

    W: DeviceMatrix
    name = "normalized"

    @property
    def n_nodes(self):
        """Number of samples."""
        return self.W.shape[0]

    @cached_property
    def degrees(self):
        """Sums of kernels."""
        return self.W.sums + 1.0

    @cached_property
    def scale(self):
        """What kernels are multiplied by on both sides."""
        return 1.0 / namespace_of(self.degrees)[0].sqrt(self.degrees)

    @cached_property
    def between(self):
        """Normalised kernels between different samples."""
        return self.W.scaled(self.scale)

    @cached_property
    def diagonal(self):
        """Diagonal of the Laplacian."""
        return 1.0 - 1.0 / self.degrees

    def product(self, h):
        """Normalised kernels times the columns of `h`."""
        return self.between @ h + h / self.degrees[:, None]

    def smoothness(self, h):
        """The Laplacian times the columns of `h`."""
        return self.diagonal[:, None] * h - self.between @ h


def solve_on_device(graph, n_clusters, *, least_link, rounding, turns):
    """Result of `solve_information` for a DeviceGraph.

    Parameters
    ----------
    graph : DeviceGraph
        Kernels of the samples.
    n_clusters : int
        Number of clusters.
    least_link : float
        Least normalised kernel that connects samples.
    rounding : float
        Entries of a vector, as shares of the largest, that rounding may have made.
    turns : bool
        Whether the eigenvectors are turned towards samples that differ most.
    """
    kernels = SelfSimilar(graph.W)
    xp, _ = namespace_of(kernels.degrees)
    n_samples = kernels.n_nodes
    known = component_vectors(kernels, n_clusters, least_link)
    values, vectors = leading_vectors(kernels, n_clusters, known)
    vectors = xp.where(xp.sum(vectors, axis=0) < 0, -vectors, vectors)
    turn = (
        orthogonal_factor(different_rows(vectors, n_clusters).T) if turns else np.eye(n_clusters)
    )
    responses = vectors @ like(turn, vectors)
    positive = xp.where(responses > rounding * xp.max(responses, axis=0), responses, 0.0)
    sums = xp.sum(positive, axis=0)
    tiny = np.finfo(np.float64).tiny
    combined = like((1 / np.maximum(values, tiny))[:, None] * turn, vectors)
    coef = kernels.scale[:, None] * (vectors @ combined) / sums
    objective = n_clusters / (2 * n_samples) * float(np.sum(values**2)) - 0.5
    return SolverResult.of_responses(
        Posterior(graph, coef, probabilities_on_device(positive / sums, graph)),
        objective=objective,
        history=[objective],
        status=Status.CONVERGED,
    )


def component_vectors(kernels, n_vectors, least_link):
    """Eigenvectors of the largest eigenvalue, one, of the normalised kernels.

    There is one for each component. The heaviest components come first.
    """
    xp, _ = namespace_of(kernels.degrees)
    W = kernels.W
    is_link = kernels.between.values > least_link
    component = components_on_device(W.starts, W.columns, is_link)
    _, number = np.unique(to_numpy(component), return_inverse=True)
    squares = np.bincount(number, weights=to_numpy(kernels.degrees))
    heaviest = np.argsort(-squares, kind="stable")[:n_vectors]
    inside = exactly_beside(number, component)[:, None] == exactly_beside(heaviest, component)
    lengths = like(np.sqrt(squares[heaviest]), kernels.degrees)
    return xp.where(inside, xp.sqrt(kernels.degrees)[:, None] / lengths, 0.0)


def leading_vectors(kernels, n_vectors, known):
    """Largest eigenvalues of the normalised kernels, in decreasing order, and their vectors.

    Those of the largest one, which components have, are known.
    """
    n_known = known.shape[1]
    if n_known == n_vectors:
        return np.ones(n_known), known
    xp, _ = namespace_of(known)
    _, vectors = DeviceLaplacian(kernels).eigenpairs(n_vectors - 1, tol=EIGENVECTOR_TOL)
    vectors = vectors[:, n_known - 1 :]
    vectors = vectors - known @ (known.T @ vectors)
    energy, gram = to_numpy(vectors.T @ kernels.product(vectors)), to_numpy(vectors.T @ vectors)
    values, turn = eigh((energy + energy.T) / 2, gram)
    turned = vectors @ like(turn[:, ::-1].copy(), vectors)
    return np.r_[np.ones(n_known), values[::-1]], xp.concat([known, turned], axis=1)


def probabilities_on_device(responses, graph):
    """Responses of the training samples as probabilities; those without take the nearest's."""
    xp, device = namespace_of(responses)
    none = xp.sum(responses, axis=1) == 0
    if bool(xp.any(none)):
        without, others = xp.nonzero(none)[0], xp.nonzero(~none)[0]
        rows = graph.search.rows
        search = BlockedSearch(xp.take(rows, others, axis=0))
        nearest, _ = search.nearest(xp.take(rows, without, axis=0), 1)
        every = xp.arange(responses.shape[0], dtype=others.dtype, device=device)
        nearest = to_numpy(xp.take(others, nearest[:, 0]))
        source = with_values_at(every, to_numpy(without), nearest)
        responses = xp.take(responses, source, axis=0)
    return responses / xp.sum(responses, axis=1, keepdims=True)
