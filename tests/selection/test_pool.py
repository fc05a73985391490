"""The default candidates: labels of all of them, the same for a seed and in any order."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from separatrix.data.frames import Frame
from separatrix.selection.pool import CURVE_CANDIDATES, Candidate, default_candidates
from separatrix.similarity.geometry import Geometry

THOROUGH = default_candidates("thorough")


def geometry_of(X):
    return Geometry(Frame.of(X)(X))


def labels_of(name, geometry, n_clusters, seed=0):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a few samples are not worth convergence
        return THOROUGH[name].labels(geometry, n_clusters, np.random.RandomState(seed))


def overlapping(n, n_groups):
    return make_blobs(n, centers=n_groups, cluster_std=3.0, random_state=0)[0]


def test_tiers_and_the_curve():
    fast = default_candidates("fast")
    assert [*default_candidates()] == [*fast]
    assert fast.keys() < THOROUGH.keys()
    assert all(isinstance(one, Candidate) for one in THOROUGH.values())
    assert {fast[name].family for name in CURVE_CANDIDATES} > {"means", "mixture", "tree"}


@pytest.fixture(scope="module")
def shared(blobs):
    return geometry_of(blobs[0])


# ranks have no gaps, but no units either
OF_RANKS = [name for name in THOROUGH if name.endswith("of ranks")]


@pytest.mark.parametrize("name", [name for name in THOROUGH if name not in OF_RANKS])
def test_candidates_find_what_nobody_doubts(name, shared, blobs):
    labels = labels_of(name, shared, 3)
    assert np.shape(labels) == (len(blobs[0]),)
    assert adjusted_rand_score(blobs[1], labels) == 1


@pytest.mark.parametrize("name", OF_RANKS)
def test_scales_do_not_matter_to_ranks(name, shared, blobs):
    curved = geometry_of(np.column_stack([np.exp(blobs[0][:, 0]), np.cbrt(blobs[0][:, 1])]))
    np.testing.assert_array_equal(labels_of(name, curved, 3), labels_of(name, shared, 3))


@pytest.fixture(scope="module")
def doubtful():
    return geometry_of(overlapping(60, 3))


@pytest.mark.parametrize("n_clusters", [2, 6])
@pytest.mark.parametrize("name", THOROUGH)
def test_candidates_label_all_samples_the_same_way_for_a_seed(name, n_clusters, doubtful):
    a, b = (labels_of(name, doubtful, n_clusters, seed=7) for _ in range(2))
    assert np.shape(a) == (60,)
    assert 2 <= len(np.unique(a)) <= n_clusters
    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(("n", "n_clusters"), [(60, 4), (600, 2), (600, 4)])
def test_order_of_candidates_does_not_matter(n, n_clusters):
    """Embeddings are kept and cut to the vectors asked for, whoever asked first."""
    X = overlapping(n, n_clusters)
    names = [name for name, one in THOROUGH.items() if one.family in ("spectral", "embedding")]
    found = []
    for order in (names, names[::-1]):
        geometry = geometry_of(X)
        found.append({name: labels_of(name, geometry, n_clusters) for name in order})
    for name in names:
        np.testing.assert_array_equal(found[0][name], found[1][name], err_msg=name)
