"""Samples that are read block by block give what the same samples in memory give."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from separatrix import (
    CuttingPlaneMarginClustering,
    DiscriminativeKMeans,
    HardMaximumVolumeClustering,
    KernelKMeans,
    LabelGenerationMarginClustering,
    LDAKMeans,
    MaximinSeparationClustering,
    MaximumMarginClustering,
    RegularizedLeastSquaresClustering,
    SemidefiniteMarginClustering,
)
from separatrix.tables import RowBlocks

CLUSTERERS = [
    MaximinSeparationClustering(n_clusters=3),
    MaximinSeparationClustering(n_clusters=2, solver="gep"),
    MaximinSeparationClustering(n_clusters=2, kernel="rbf", n_components=20),
    MaximumMarginClustering(n_clusters=2, kernel="linear"),
    MaximumMarginClustering(n_clusters=2, low_rank="cholesky", n_components=20),
    CuttingPlaneMarginClustering(n_clusters=3),
    KernelKMeans(n_clusters=3, n_components=20),
    LDAKMeans(n_clusters=3),
    DiscriminativeKMeans(n_clusters=3),
]


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    centers = np.array([[0, 0, 0, 0], [5, 0, 0, 1], [0, 6, 1, 0]])
    return rng.normal(size=(600, 4)) + centers[rng.choice(3, 600, p=[0.5, 0.3, 0.2])]


def in_blocks(X, sizes=(7, 200, 1, 392), columns=None):
    assert sum(sizes) == len(X)
    bounds = np.cumsum(sizes)[:-1]
    return RowBlocks(lambda: iter(np.split(X, bounds)), X.shape, X.dtype, columns)


@pytest.mark.parametrize("estimator", CLUSTERERS, ids=repr)
def test_blocks_equal_memory(estimator, X):
    blocks = in_blocks(X)
    expected = estimator.fit(X)
    labels, objective, scores = expected.labels_, expected.objective_, expected.predict(X)
    found = estimator.fit(blocks)
    assert_array_equal(found.labels_, labels)
    assert_array_equal(found.predict(blocks), scores)
    assert_allclose(found.objective_, objective, rtol=1e-9)
    assert found.decision_function(blocks).shape[0] == len(X)


@pytest.mark.parametrize(
    "estimator",
    [
        RegularizedLeastSquaresClustering(n_clusters=3, max_samples=100),
        LabelGenerationMarginClustering(n_clusters=2, max_samples=100),
    ],
    ids=repr,
)
def test_search_on_a_part_of_the_blocks(estimator, X):
    labels = estimator.fit_predict(in_blocks(X))
    assert_array_equal(labels, estimator.fit_predict(in_blocks(X, sizes=(300, 300))))
    assert len(np.unique(labels)) == estimator.n_clusters


def test_few_rows_are_searched_whole(X):
    estimator = RegularizedLeastSquaresClustering(n_clusters=3)
    assert_array_equal(estimator.fit_predict(in_blocks(X)), estimator.fit_predict(X))


@pytest.mark.parametrize(
    "estimator", [HardMaximumVolumeClustering(2), SemidefiniteMarginClustering(2)]
)
def test_methods_that_need_memory_say_so(estimator, X):
    with pytest.raises(TypeError, match=r"X\.rows\(\)"):
        estimator.fit(in_blocks(X))


def test_weights(X):
    weight = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    estimator = MaximinSeparationClustering(n_clusters=3)
    expected = estimator.fit(X, sample_weight=weight).labels_
    assert_array_equal(estimator.fit(in_blocks(X), sample_weight=weight).labels_, expected)


def test_parquet(X, tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pa.table({f"f{i}": X[:, i].astype(np.float32) for i in range(4)})
    table = table.append_column("n", pa.array(np.arange(len(X)) % 7, pa.int8()))
    table = table.append_column("name", pa.array(["a"] * len(X)))
    for part in range(2):
        parquet.write_table(table.slice(part * 300, 300), tmp_path / f"{part}.parquet")
    names = ["f2", "f0", "n"]
    samples = RowBlocks.from_parquet(tmp_path, columns=names)
    assert samples.shape == (600, 3)
    assert samples.dtype == np.float32
    expected = np.column_stack([X[:, 2], X[:, 0], np.arange(600) % 7]).astype(np.float32)
    assert_array_equal(samples.rows(), expected)
    drawn = [599, 3, 3, 300]
    assert_array_equal(samples.rows(drawn), expected[drawn])
    estimator = MaximinSeparationClustering(n_clusters=2).fit(samples)
    assert list(estimator.feature_names_in_) == names
    with pytest.raises(ValueError, match="feature names should match"):
        estimator.predict(RowBlocks.from_parquet(tmp_path, columns=names[::-1]))
    with pytest.raises(ValueError, match=r"'name' of .* holds string"):
        RowBlocks.from_parquet(tmp_path)
    with pytest.raises(ValueError, match="'other', which"):
        RowBlocks.from_parquet(tmp_path, columns=["other"])


def test_memory_maps(X, tmp_path):
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    estimator = MaximinSeparationClustering(n_clusters=3)
    assert_array_equal(estimator.fit_predict(mapped), estimator.fit_predict(X))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"shape": (601, 4)}, r"returned 600 samples, but shape=\(601, 4\) says 601"),
        ({"shape": (599, 4)}, r"returned more than 599 samples"),
        ({"shape": (600, 3)}, r"block of shape \(600, 4\), but samples have 3 features"),
    ],
)
def test_blocks_that_are_not_as_told(changed, message, X):
    with pytest.raises(ValueError, match=message):
        MaximinSeparationClustering().fit(RowBlocks(lambda: [X], **changed))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"shape": (0, 4)}, r"shape=\(0, 4\)"),
        ({"shape": (4,)}, r"shape=\(4,\)"),
        ({"shape": (4, 4), "dtype": int}, "dtype=int64 must be float32 or float64"),
        ({"shape": (4, 4), "columns": ["a"]}, "columns has 1 names"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        RowBlocks(list, **arguments)


def test_bad_values_are_named(X):
    estimator = MaximinSeparationClustering().fit(X)
    spoiled = X.copy()
    spoiled[350, 2] = np.nan
    with pytest.raises(ValueError, match="X contains NaN"):
        MaximinSeparationClustering().fit(in_blocks(spoiled))
    with pytest.raises(ValueError, match="X contains NaN"):
        estimator.predict(in_blocks(spoiled))
    with pytest.raises(TypeError, match="must_link, cannot_link and known_labels"):
        MaximinSeparationClustering().fit(in_blocks(X), must_link=[[0, 1]])


def test_repr(X):
    assert repr(in_blocks(X)) == "<600 x 4 float64 samples, read in blocks>"
