"""Precomputed kernels and similarities, and graphs in parts.

As test_spectral.py, test_affinity_propagation.py, test_hdbscan.py and hdbscan ask for them.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from .cases import CENTERS, SIZES, each, groups, taking

GAMMA = 0.02
by_kernel = each(taking("kernel"))
by_graph = each(taking("graph"))
by_affinity = each(taking("affinity"))
CONTAINERS = [np.asarray, sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix]


def blocks(sizes=SIZES, seed=0):
    """Similarities of samples in parts that nothing connects, in random order, and the parts."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(len(sizes)), sizes)).astype(np.int32)
    W = rng.uniform(0.5, 1, size=(len(y), len(y)))
    W = (W + W.T) / 2 * (y[:, None] == y)
    np.fill_diagonal(W, 1.0)
    return W, y


# --- kernels ------------------------------------------------------------------------------------


@by_kernel
@pytest.mark.parametrize("sizes", [(11, 10), (11, 10, 9)], ids=["two", "three"])
def test_a_precomputed_kernel_equals_the_one_computed(estimator, sizes):
    X, y = groups(sizes)
    k, new = len(sizes), CENTERS[: len(sizes)] + 0.3
    named = estimator(k, kernel="rbf", gamma=GAMMA, random_state=0).fit(X)
    given = estimator(k, kernel="precomputed", random_state=0).fit(rbf_kernel(X, gamma=GAMMA))
    np.testing.assert_array_equal(named.labels_, y)
    np.testing.assert_array_equal(given.labels_, y)
    np.testing.assert_array_equal(given.predict(rbf_kernel(X, gamma=GAMMA)), y)
    values = rbf_kernel(new, X, gamma=GAMMA)
    np.testing.assert_array_equal(given.predict(values), np.arange(k))
    np.testing.assert_array_equal(named.predict(new), np.arange(k))
    np.testing.assert_allclose(
        given.decision_function(values), named.decision_function(new), rtol=1e-3, atol=1e-4
    )


@by_kernel
def test_a_kernel_may_be_a_function(estimator):
    X, y = groups((11, 10))

    def gaussian(a, b):
        return np.exp(-GAMMA * ((a - b) ** 2).sum())

    model = estimator(2, kernel=gaussian, random_state=0).fit(X)
    np.testing.assert_array_equal(model.labels_, y)
    np.testing.assert_array_equal(model.predict(X), y)


@by_kernel
@pytest.mark.parametrize("sizes", [(11, 10), (11, 10, 9)], ids=["two", "three"])
def test_blocks_of_a_kernel_are_the_clusters(estimator, sizes):
    """Samples of different blocks are at right angles."""
    _, y = blocks(sizes)
    K = (y[:, None] == y) + 0.1 * np.eye(len(y))
    model = estimator(len(sizes), kernel="precomputed", random_state=0).fit(K)
    np.testing.assert_array_equal(model.labels_, y)
    np.testing.assert_array_equal(model.predict(K), y)


@by_kernel
def test_kernels_that_are_none_are_refused(estimator):
    K, _ = blocks()
    model = estimator(3, kernel="precomputed")
    with pytest.raises(ValueError, match=r"kernel='precomputed' needs X to be the square matrix"):
        model.fit(K[:, 1:])
    lopsided = K + np.triu(np.ones_like(K), 1)
    with pytest.raises(ValueError, match=r"kernel='precomputed' needs a symmetric matrix"):
        model.fit(lopsided)
    with pytest.raises(TypeError, match="kernel='precomputed' needs a dense array"):
        model.fit(sp.csr_array(K))
    K[0, 0] = np.nan
    with pytest.raises(ValueError, match=r"\bX\b"):
        model.fit(K)


@by_kernel
def test_kernel_values_of_new_samples_have_a_column_per_training_sample(estimator):
    X, _ = groups((11, 10))
    model = estimator(2, kernel="precomputed", random_state=0).fit(rbf_kernel(X, gamma=GAMMA))
    with pytest.raises(ValueError, match=r"20 features.*21 features"):
        model.predict(rbf_kernel(X, X[1:], gamma=GAMMA))


# --- similarities -------------------------------------------------------------------------------


@by_affinity
@pytest.mark.parametrize("kind", CONTAINERS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("sizes", [(11, 10), (11, 10, 9)], ids=["two", "three"])
def test_parts_of_a_graph_are_the_clusters(estimator, kind, sizes):
    """As many parts as clusters: nothing else is a cluster."""
    W, y = blocks(sizes)
    model = estimator(len(sizes), affinity="precomputed", random_state=0).fit(kind(W))
    np.testing.assert_array_equal(model.labels_, y)
    np.testing.assert_array_equal(model.predict(kind(W)), y)


@by_affinity
def test_parts_of_a_thin_graph_are_the_clusters(estimator):
    """Chains instead of cliques."""
    chains = [sp.diags_array([np.ones(n - 1)] * 2, offsets=[-1, 1]) for n in (11, 10)]
    model = estimator(2, affinity="precomputed", random_state=0)
    model.fit(sp.block_diag(chains, format="csr"))
    np.testing.assert_array_equal(model.labels_, np.repeat([0, 1], [11, 10]))


@by_affinity
def test_parts_are_kept_whole(estimator):
    """Fewer clusters than parts: clusters are unions of parts."""
    W, y = blocks((6, 5, 5, 4))
    model = estimator(2, affinity="precomputed", random_state=0).fit(W)
    for part in range(4):
        assert len(np.unique(model.labels_[y == part])) == 1
    assert len(np.unique(model.labels_)) == 2


@by_affinity
@pytest.mark.parametrize("sizes", [(11, 10), (11, 10, 9)], ids=["two", "three"])
def test_precomputed_similarities_equal_those_computed(estimator, sizes):
    X, y = groups(sizes)
    k, new = len(sizes), CENTERS[: len(sizes)] + 0.3
    full = {"graph": "full"} if "graph" in estimator().get_params() else {}
    params = {"affinity": "rbf", "gamma": 0.2, "random_state": 0, **full}
    computed = estimator(k, **params).fit(X)
    given = estimator(k, **{**params, "affinity": "precomputed"}).fit(rbf_kernel(X, gamma=0.2))
    np.testing.assert_array_equal(computed.labels_, y)
    np.testing.assert_array_equal(given.labels_, y)
    np.testing.assert_array_equal(given.predict(rbf_kernel(new, X, gamma=0.2)), np.arange(k))


@by_affinity
@pytest.mark.parametrize("kind", CONTAINERS[:2], ids=lambda kind: kind.__name__)
def test_similarities_that_are_none_are_refused(estimator, kind):
    W, _ = blocks()
    model = estimator(3, affinity="precomputed")
    with pytest.raises(
        ValueError, match=r"affinity='precomputed' needs X to be (a|the) square matrix"
    ):
        model.fit(kind(W[:, 1:]))
    with pytest.raises(ValueError, match="affinity='precomputed' needs a symmetric matrix"):
        model.fit(kind(W + np.triu(np.ones_like(W), 1)))
    with pytest.raises(ValueError, match="affinity='precomputed' needs nonnegative similarities"):
        model.fit(kind(W - 0.25))
    W[0, 1] = W[1, 0] = np.nan
    with pytest.raises(ValueError, match=r"\bX\b"):
        model.fit(kind(W))


@by_affinity
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_equal_similarities_are_told(estimator, value):
    """Nothing tells the samples apart."""
    model = estimator(2, affinity="precomputed", random_state=0)
    with pytest.warns(ConvergenceWarning, match="Fewer clusters .* 1 distinct sample"):
        model.fit(np.full((8, 8), value))
    assert not model.labels_.any()


@by_graph
@pytest.mark.parametrize("graph", ["union", "mutual"])
def test_parts_of_a_graph_of_neighbours_are_the_clusters(estimator, graph):
    """A graph that the estimator itself makes, of which the three groups are the parts."""
    X, y = groups()
    model = estimator(3, graph=graph, n_neighbors=7, random_state=0).fit(X)
    assert sp.csgraph.connected_components(model.affinity_matrix_)[0] == 3
    np.testing.assert_array_equal(model.labels_, y)


@by_graph
def test_samples_similar_to_no_other_are_told(estimator):
    W, y = blocks((11, 10))
    W = np.pad(W, (0, 1))
    model = estimator(2, affinity="precomputed", random_state=0)
    with pytest.warns(UserWarning, match="1 of 22 samples are not similar to any other"):
        model.fit(W)
    np.testing.assert_array_equal(model.labels_[:-1], y)
