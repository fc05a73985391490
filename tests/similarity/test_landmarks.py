"""Graphs of landmarks against dense computations, for any division of the samples."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import eigvalsh
from sklearn.metrics.pairwise import euclidean_distances

from separatrix.similarity.landmarks import centred_landmarks, landmark_graphs, shares_of
from separatrix.tables import RowBlocks

N_NEIGHBORS = 7
N_NEAREST = 4  # half of it, rounded up
CHUNKS = {"one": (300,), "two": (299, 1), "seven": (20, 1, 77, 130, 33, 12, 27)}


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    return rng.normal(size=(300, 3)) + 4 * np.eye(3)[rng.integers(0, 3, 300)]


@pytest.fixture(scope="module")
def landmarks(samples):
    return samples[::10] + 0.01


@pytest.fixture(scope="module")
def weight():
    return np.random.default_rng(1).integers(0, 4, 300).astype(float)


def dense_shares(X, landmarks, affinity, gamma):
    """Shares of samples in their nearest landmarks, by all distances."""
    distances, among = euclidean_distances(X, landmarks), euclidean_distances(landmarks)
    if affinity == "rbf":
        similarity = np.exp(-gamma * distances**2)
    else:
        own = np.sort(distances, axis=1)[:, N_NEAREST - 1]
        theirs = np.sort(among, axis=1)[:, N_NEAREST]  # the first is the landmark itself
        similarity = np.exp(-0.5 * distances**2 / np.outer(own, theirs))
    far = np.argsort(distances, axis=1)[:, N_NEAREST:]
    np.put_along_axis(similarity, far, 0.0, axis=1)
    return similarity / similarity.sum(axis=1, keepdims=True)


def graph_of(X, weight, landmarks, affinity="local", gamma=None):
    choices = {"affinity": affinity, "gamma": gamma}
    return landmark_graphs(X, weight, landmarks, [N_NEIGHBORS], **choices)[N_NEIGHBORS]


@pytest.mark.parametrize(("affinity", "gamma"), [("local", None), ("rbf", 0.3)])
def test_similarities_are_those_of_dense_matrices(samples, landmarks, weight, affinity, gamma):
    Z = dense_shares(samples, landmarks, affinity, gamma)
    graph = graph_of(samples, weight, landmarks, affinity, gamma)
    assert_allclose(shares_of(samples, graph.landmarks).toarray(), Z, atol=1e-12)
    assert_allclose(graph.W.toarray(), (Z * weight[:, None]).T @ Z, atol=1e-10)
    assert_allclose(graph.counts, weight @ Z)
    assert (graph.W != graph.W.T).nnz == 0
    responses = np.arange(2.0 * len(landmarks)).reshape(-1, 2)
    assert_allclose(graph.of_samples(samples, responses), Z @ responses)


def test_eigenvalues_are_those_of_the_anchor_graph_of_all_samples(samples, landmarks):
    Z = dense_shares(samples, landmarks, "local", None)
    anchors = Z @ np.diag(1 / Z.sum(axis=0)) @ Z.T
    assert_allclose(anchors.sum(axis=1), 1.0)
    graph = graph_of(samples, None, landmarks)
    scale = np.diag(graph.counts**-0.5)
    found = eigvalsh(scale @ graph.W.toarray() @ scale)
    expected = eigvalsh(anchors)
    assert_allclose(found, expected[-len(landmarks) :], atol=1e-10)
    assert_allclose(expected[: -len(landmarks)], 0.0, atol=1e-10)


def test_weights_are_repetitions(samples, landmarks, weight):
    repeated = np.repeat(samples, weight.astype(int), axis=0)
    found, expected = (
        graph_of(samples, weight, landmarks).W.toarray(),
        graph_of(repeated, None, landmarks).W.toarray(),
    )
    assert_allclose(found, expected, atol=1e-10)


@pytest.mark.parametrize("chunks", CHUNKS)
def test_sums_do_not_depend_on_the_division(samples, landmarks, weight, chunks):
    da = pytest.importorskip("dask.array")
    whole = graph_of(samples, weight, landmarks).W.toarray()
    sizes = CHUNKS[chunks]
    parts = np.split(samples, np.cumsum(sizes)[:-1])
    for X in (
        da.from_array(samples, chunks=(sizes, 3)),
        RowBlocks(lambda: iter(parts), samples.shape),
    ):
        assert_allclose(graph_of(X, weight, landmarks).W.toarray(), whole, rtol=1e-12)


def test_one_pass_makes_the_graphs_of_several_numbers(samples, landmarks):
    graphs = landmark_graphs(samples, None, landmarks, [3, 12, N_NEIGHBORS], affinity="local")
    assert list(graphs) == [12, N_NEIGHBORS, 3]
    assert_array_equal(
        graphs[N_NEIGHBORS].W.toarray(), graph_of(samples, None, landmarks).W.toarray()
    )
    assert shares_of(samples, graphs[3].landmarks).nnz == 2 * len(samples)


def test_samples_far_from_all_landmarks_belong_to_the_nearest(samples, landmarks):
    graph = graph_of(samples, None, landmarks, "rbf", 0.3)
    far = np.array([[1e3, 0.0, 0.0], [0.0, 0.0, -1e3]])
    nearest = euclidean_distances(far, landmarks).argmin(axis=1)
    assert_array_equal(shares_of(far, graph.landmarks).toarray(), np.eye(len(landmarks))[nearest])


def test_landmarks_are_means_of_the_nearest_samples(samples, weight):
    weight = weight + 1
    start = np.arange(0, 300, 15)
    nearest = euclidean_distances(samples, samples[start]).argmin(axis=1)
    expected = [
        np.average(samples[nearest == j], axis=0, weights=weight[nearest == j])
        for j in range(len(start))
    ]
    assert_allclose(centred_landmarks(samples, weight, start), expected)


def test_landmarks_of_equal_samples_are_these(samples):
    few = np.repeat(samples[:5], 20, axis=0)
    found = centred_landmarks(few, None, np.arange(0, 100, 3))
    assert_array_equal(np.unique(found, axis=0), np.unique(samples[:5], axis=0))


def test_landmarks_without_common_samples_are_refused(samples, landmarks):
    graph = graph_of(samples, None, landmarks, "rbf", 1e9)
    assert sp.issparse(graph.W)
    with pytest.raises(ValueError, match="all similarities between samples are zero"):
        assert graph.n_isolated
