"""Components of graphs on devices against those of SciPy."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn import config_context

from device_support import as_numpy, strict_on_a_device, torch
from separatrix.similarity.device_components import components_on_device


def random_graph(n_nodes, n_links, seed):
    rng = np.random.default_rng(seed)
    i, j = rng.integers(0, n_nodes, size=(2, n_links))
    return sp.coo_array((rng.uniform(size=n_links), (i, j)), (n_nodes, n_nodes))


def chain(n_nodes):
    """A long path through nodes in random order."""
    order = np.random.default_rng(0).permutation(n_nodes)
    return sp.coo_array((np.ones(n_nodes - 1), (order[:-1], order[1:])), (n_nodes, n_nodes))


@pytest.mark.parametrize("library", [strict_on_a_device, torch])
@pytest.mark.parametrize(
    "graph",
    [
        *(random_graph(60, n_links, seed) for seed, n_links in enumerate((0, 5, 30, 60, 200))),
        chain(500),
        sp.coo_array((1, 1)),
    ],
    ids=lambda graph: f"{graph.shape[0]} nodes, {graph.nnz} links",
)
@pytest.mark.parametrize("least", [0.0, 0.5])
def test_components_are_those_of_scipy(graph, least, library):
    convert, W = library(), (graph + graph.T).tocsr()
    linked = W.data > least
    links = sp.csr_array((linked.astype(float), W.indices, W.indptr), W.shape, copy=True)
    links.eliminate_zeros()
    expected = connected_components(links, directed=False)[1]
    first = np.array([np.flatnonzero(expected == one)[0] for one in expected])
    with config_context(array_api_dispatch=True):
        parts = (convert(one.astype(np.int64)) for one in (W.indptr, W.indices))
        found = components_on_device(*parts, convert(linked))
    np.testing.assert_array_equal(as_numpy(found), first)
