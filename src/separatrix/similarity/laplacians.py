"""Degrees, Laplacians and components of similarity graphs."""

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

__all__ = ["components", "degrees", "joined_components", "laplacian"]
LAPLACIANS = ("unnormalized", "symmetric", "random-walk")


def degrees(W):
    """Degrees of the nodes of a graph: the sums of the rows of `W`, diagonal included."""
    return np.asarray(W.sum(axis=1)).ravel()


def laplacian(W, kind):
    """Laplacian of a graph, with D the diagonal matrix of its degrees.

    Parameters
    ----------
    W : ndarray or CSR of shape (n_nodes, n_nodes)
        Symmetric, nonnegative similarities. The diagonal counts in the degrees.
    kind : {"unnormalized", "symmetric", "random-walk"}
        D - W, or I - D^(-1/2) W D^(-1/2), or I - D^(-1) W.

    Returns
    -------
    L : ndarray or CSR of shape (n_nodes, n_nodes)
        Its eigenvalue zero is as often repeated as the graph has components [3]_. So that a node
        without similarities counts as one, its row and column are zero.
    """
    if kind not in LAPLACIANS:
        raise ValueError(f"kind={kind!r} is none of {LAPLACIANS}.")
    degree = degrees(W)
    if kind == "unnormalized":
        return _diagonal_less(degree, W, np.ones_like(degree), np.ones_like(degree))
    linked = degree > 0
    inverse = np.zeros_like(degree)
    inverse[linked] = degree[linked] ** (-0.5 if kind == "symmetric" else -1.0)
    other = inverse if kind == "symmetric" else np.ones_like(degree)
    return _diagonal_less(linked.astype(np.float64), W, inverse, other)


def _diagonal_less(diagonal, W, left, right):
    """diag(diagonal) - diag(left) W diag(right), exactly symmetric if `left` is `right`."""
    if sp.issparse(W):
        W = sp.coo_array(W)
        entries = (left[W.row] * right[W.col]) * W.data
        scaled = sp.csr_array((entries, (W.row, W.col)), W.shape)
        L = (sp.diags_array(diagonal, format="csr") - scaled).tocsr()
        L.sort_indices()
        return L
    L = np.multiply.outer(left, right)
    L *= W
    np.subtract(0.0, L, out=L)
    L[np.diag_indices_from(L)] += diagonal
    return L


def components(W):
    """Connected components of a graph; similarities above zero connect.

    Parameters
    ----------
    W : ndarray or CSR of shape (n_nodes, n_nodes)
        Symmetric, nonnegative similarities.

    Returns
    -------
    n_components : int
        Number of components.
    labels : ndarray of int, shape (n_nodes,)
        Component of each node.
    """
    linked = W > 0
    if not sp.issparse(W) and linked.all():  # no need of a sparse matrix larger than W
        return 1, np.zeros(W.shape[0], dtype=np.int32)
    return connected_components(sp.csr_array(linked), directed=False)


# Weight of the links that join the components of a graph, as a share of its mean degree.
BRIDGE = 1e-6


def joined_components(W):
    """Graph whose components, if there are several, are joined to the largest by weak links."""
    n_components, labels = components(W)
    if n_components == 1:
        return W
    degree = np.asarray(W.sum(axis=1)).ravel()
    largest = np.bincount(labels).argmax()
    # the node of largest degree of each component, the last in order of degree
    hubs = np.empty(n_components, dtype=np.intp)
    order = np.argsort(degree, kind="stable")
    hubs[labels[order]] = order
    others = hubs[np.arange(n_components) != largest]
    center = np.full(len(others), hubs[largest])
    weights = np.full(len(others), BRIDGE * degree.mean())
    links = sp.coo_array((weights, (others, center)), W.shape)
    return (W + links + links.T).tocsr()
