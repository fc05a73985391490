"""The canonical order of rows: a function of their values."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context

from separatrix.data.ordering import canonical_order

TABLES = {
    "cloud": np.random.default_rng(0).normal(size=(200, 3)),
    "wide": np.random.default_rng(1).normal(size=(40, 700)),
    "equal rows": np.random.default_rng(2).integers(0, 3, size=(150, 2)).astype(float),
    "one feature": np.random.default_rng(3).normal(size=(50, 1)),
    "large": 1.7e308 * np.random.default_rng(4).uniform(-1, 1, size=(50, 5)),
    "far": 1e12 + np.random.default_rng(5).normal(size=(60, 4)),
    "zeros": np.where(np.eye(30) > 0, np.arange(30.0), -0.0),
}
FORMS = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "csr": sparse.csr_array,
    "csc": sparse.csc_array,
    "strided": lambda X: np.repeat(X, 2, axis=0)[::2],
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("table", TABLES)
def test_the_rows_come_out_the_same_however_they_come(table, form):
    X, rng = TABLES[table], np.random.default_rng(6)
    expected = X[canonical_order(FORMS[form](X))]
    for _ in range(5):
        shuffled = X[rng.permutation(len(X))]
        order = canonical_order(FORMS[form](shuffled))
        assert sorted(order) == list(range(len(X)))
        np.testing.assert_array_equal(shuffled[order], expected)


def test_equal_rows_lie_side_by_side_in_the_order_of_their_weights():
    X, rng = TABLES["equal rows"], np.random.default_rng(7)
    weight = rng.uniform(size=len(X))
    order = canonical_order(X, weight)
    changes = (np.diff(X[order], axis=0) != 0).any(axis=1)
    assert changes.sum() + 1 == len(np.unique(X, axis=0)) < len(X)
    assert (np.diff(weight[order])[~changes] > 0).all()


def test_different_rows_with_one_combined_value_do_not_part_equal_ones():
    """Values whose differences rounding swallows: hashes have to tell the rows apart."""
    X = np.array([[1e17, 0.0], [1e17, 1.0]])[np.random.default_rng(8).integers(0, 2, size=40)]
    order = canonical_order(X)
    assert np.count_nonzero(np.diff(X[order][:, 1])) == 1


@pytest.mark.parametrize("unit", [2.0, 1e-3, 1e6])
def test_units_do_not_matter(unit):
    for table in ("cloud", "wide", "one feature"):
        X = TABLES[table]
        np.testing.assert_array_equal(canonical_order(unit * X), canonical_order(X))


def test_dense_and_sparse_rows_have_one_order():
    for table in ("cloud", "wide", "zeros"):
        X = TABLES[table]
        np.testing.assert_array_equal(canonical_order(sparse.csr_array(X)), canonical_order(X))


@pytest.mark.parametrize("table", ["cloud", "wide", "equal rows", "one feature", "zeros"])
def test_rows_of_another_namespace_come_in_the_same_order(table):
    xp = pytest.importorskip("array_api_strict")
    with config_context(array_api_dispatch=True):
        found = canonical_order(xp.asarray(TABLES[table]))
    np.testing.assert_array_equal(
        TABLES[table][found], TABLES[table][canonical_order(TABLES[table])]
    )
