"""Labels of dask arrays are those of the same rows in memory, however they are divided."""

import numpy as np
import pytest
from sklearn.base import clone

import separatrix
from support import fit_quietly

N_ROWS = 84
CHUNKS = {"one": (N_ROWS,), "two": (50, 34), "seven": (20, 1, 7, 30, 3, 12, 11)}
# Semidefinite programs need all pairs of rows, and refuse dask arrays.
CLUSTERERS = [
    public
    for public, entry in separatrix._REGISTRY.items()
    if entry.short_name is not None
    and public
    not in (
        "GeneralizedMarginClustering",
        "HardMaximumVolumeClustering",
        "SemidefiniteMarginClustering",
    )
]


def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(N_ROWS, 3)) + 6 * np.eye(3)[rng.integers(0, 3, N_ROWS)]


def labels_of(estimator, X):
    return np.asarray(fit_quietly(clone(estimator), X)[0].labels_)


@pytest.fixture(scope="module", params=CLUSTERERS)
def case(request):
    """A clusterer and the labels of rows in memory."""
    estimator = getattr(separatrix, request.param)(3, random_state=0)
    if "C_path" in estimator.get_params():
        estimator.set_params(C_path=1, max_iter=3)  # the same steps, fewer of them
    return estimator, labels_of(estimator, rows())


@pytest.mark.parametrize("chunks", CHUNKS)
def test_labels_do_not_depend_on_the_division(case, chunks):
    da = pytest.importorskip("dask.array")
    estimator, expected = case
    found = labels_of(estimator, da.from_array(rows(), chunks=(CHUNKS[chunks], 3)))
    np.testing.assert_array_equal(found, expected)


@pytest.fixture(scope="module")
def client():
    """Two worker processes."""
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(processes=True, **options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def test_labels_of_two_processes_are_those_of_one(case, client):
    dask, da = pytest.importorskip("dask"), pytest.importorskip("dask.array")
    estimator, expected = case
    with dask.config.set(scheduler=client):
        found = labels_of(estimator, da.from_array(rows(), chunks=(CHUNKS["seven"], 3)))
    np.testing.assert_array_equal(found, expected)
