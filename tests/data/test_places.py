"""The order of samples by their places: free of rows, columns and motions."""

import numpy as np
import pytest
from scipy import sparse

from separatrix.data.places import order_of_places


def cloud(n=60, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_rows_come_out_the_same_however_they_come(form):
    X = cloud()
    X[::7] = X[0]
    expected = X[order_of_places(form(X))]
    for seed in range(5):
        mixed = X[np.random.default_rng(seed).permutation(len(X))]
        np.testing.assert_array_equal(mixed[order_of_places(form(mixed))], expected)


def test_motions_and_the_order_of_features_do_not_matter():
    X = cloud()
    rotation = np.linalg.qr(cloud(3, 3, seed=1))[0]
    order = order_of_places(X)
    for moved in (X @ rotation, X + 50, -X, 7 * X, X[:, [2, 0, 1]]):
        np.testing.assert_array_equal(order_of_places(moved), order)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_matrix_of_pairs_comes_out_the_same(form):
    K = cloud(40, 40)
    K = np.where(np.abs(K + K.T) > 1, K + K.T, 0.0)
    order = order_of_places(form(K), pairs=True)
    for seed in range(5):
        p = np.random.default_rng(seed).permutation(len(K))
        mixed = K[np.ix_(p, p)]
        np.testing.assert_array_equal(p[order_of_places(form(mixed), pairs=True)], order)
