"""Methods on graphs and by programs give the same clusters in whatever order the rows come."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.metrics.pairwise import rbf_kernel

from separatrix import (
    GeneralizedMarginClustering,
    HardMaximumVolumeClustering,
    MaximumVolumeClustering,
    SemidefiniteMarginClustering,
    SquaredLossMutualInformationClustering,
)
from separatrix.result import numbered

# Noise tells nothing: what is drawn, and not the samples, decides. Iris has samples as far from
# each other as from a third, and equal ones.
SAMPLES = {
    "noise": np.random.default_rng(0).normal(size=(40, 2)),
    "iris": load_iris().data[::3],
    "moons": make_moons(40, noise=0.1, random_state=0)[0],
}
CERTIFIED = [
    SemidefiniteMarginClustering(),
    SemidefiniteMarginClustering(kernel="linear"),
    GeneralizedMarginClustering(),
    HardMaximumVolumeClustering(),
]
EXACT = [
    *CERTIFIED,
    SquaredLossMutualInformationClustering(),
    SquaredLossMutualInformationClustering(affinity="rbf"),
]
ORDERS = [np.random.default_rng(seed).permutation(200) for seed in range(3)]


def mixed(X, order):
    """Rows of X in an order, from one of more rows."""
    order = order[order < len(X)]
    return X[order], order


@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("model", EXACT, ids=str)
def test_not_a_bit_changes(model, name, n_clusters):
    """Where there is one optimum or a closed form, all is done in an order of its own."""
    X, model = SAMPLES[name], clone(model).set_params(n_clusters=n_clusters)
    plain = clone(model).fit(X)
    for one in ORDERS[: 2 if n_clusters == 2 else 1]:
        rows, order = mixed(X, one)
        found = clone(model).fit(rows)
        # clusters of the same size are numbered in the order of the rows
        np.testing.assert_array_equal(numbered(found.labels_), numbered(plain.labels_[order]))
        assert found.objective_ == plain.objective_
        np.testing.assert_array_equal(numbered(found.predict(X)), numbered(plain.labels_))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(
    "model",
    [
        SemidefiniteMarginClustering(kernel="precomputed"),
        GeneralizedMarginClustering(kernel="precomputed"),
        HardMaximumVolumeClustering(affinity="precomputed"),
        SquaredLossMutualInformationClustering(3, affinity="precomputed"),
    ],
    ids=str,
)
def test_nor_does_the_order_of_a_matrix_matter(model, form):
    if form is not np.asarray and hasattr(model, "kernel"):
        pytest.skip("takes no sparse kernel")
    K = rbf_kernel(SAMPLES["noise"], gamma=1.0)
    plain = clone(model).fit(form(K))
    for one in ORDERS:
        _, order = mixed(K, one)
        matrix = form(K[np.ix_(order, order)])
        found = clone(model).fit(matrix)
        np.testing.assert_array_equal(numbered(found.labels_), numbered(plain.labels_[order]))
        np.testing.assert_array_equal(found.predict(matrix), found.labels_)
        # other samples than those of the fit, whose columns have the order of its rows
        new = form(rbf_kernel(SAMPLES["moons"], SAMPLES["noise"][order], gamma=1.0))
        first = form(rbf_kernel(SAMPLES["moons"], SAMPLES["noise"], gamma=1.0))
        np.testing.assert_array_equal(numbered(found.predict(new)), numbered(plain.predict(first)))


def test_the_similarities_are_in_the_order_of_the_rows():
    X = np.repeat(SAMPLES["moons"], 2, axis=0)[5:]
    model = HardMaximumVolumeClustering(affinity="rbf", graph="full", gamma=2.0).fit(X)
    distinct = X[np.sort(np.unique(X, axis=0, return_index=True)[1])]
    counts = np.array([(row == X).all(axis=1).sum() for row in distinct])
    expected = np.outer(counts, counts) * rbf_kernel(distinct, gamma=2.0)
    np.testing.assert_allclose(model.affinity_matrix_, expected)


@pytest.mark.parametrize(
    "params",
    [{}, {"n_clusters": 3}, {"n_clusters": 3, "multiway": "bisection"}, {"matrix": "similarity"}],
    ids=str,
)
@pytest.mark.parametrize("name", SAMPLES)
def test_starts_do_not_depend_on_the_order(name, params):
    """Of local optima, too, the same is found: eigenvectors are turned by their own entries."""
    X = SAMPLES[name]
    plain = MaximumVolumeClustering(**params).fit(X)
    for one in ORDERS:
        rows, order = mixed(X, one)
        found = MaximumVolumeClustering(**params).fit(rows)
        np.testing.assert_array_equal(numbered(found.labels_), numbered(plain.labels_[order]))
        assert found.objective_ == pytest.approx(plain.objective_, rel=1e-9)
