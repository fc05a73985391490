"""What is said of columns: before they are clustered, and after."""

import numpy as np
import pandas as pd
import pytest

from separatrix.tables import TablePreparer, cluster_findings

N = 60
RNG = np.random.RandomState(1)
ORDER = RNG.permutation(N)
BASE = pd.DataFrame({"x": RNG.normal(size=N), "y": RNG.normal(size=N)})


def kinds(table, **parameters):
    """Kind of what was found of each column, and whether it is left out."""
    findings = TablePreparer(**parameters).fit(table).findings_
    return {one.column: (one.kind, one.left_out) for one in findings}


def found(values, name="column", **parameters):
    return kinds(BASE.assign(**{name: values}), **parameters).get(name)


@pytest.mark.parametrize(
    ("values", "name"),
    [
        (np.arange(N), "n"),
        (1000 - 5 * np.arange(N), "n"),
        (np.delete(np.arange(N + 8), [3, 9, 10, 20, 30, 31, 40, 50]), "n"),  # some are gone
        (ORDER, "n"),
        (ORDER + 0.0, "n"),
        (ORDER**2 * 7919, "customer_id"),
        (ORDER**2 * 7919, "OrderNumber No"),
        ([f"C{i:04d}" for i in ORDER], "n"),
    ],
)
def test_ids_are_left_out(values, name):
    assert found(values, name) == ("id", True)
    assert found(values, name, keep=[name]) is None


@pytest.mark.parametrize(
    "values",
    [
        ORDER**2 * 7919,  # large and different, but measured for all one knows
        np.sort(ORDER**2 * 7919),  # in the order of what was measured
        np.arange(N) // 2,  # not different
        np.arange(N) + 0.5,
        np.sort(RNG.exponential(size=N)),
    ],
)
def test_measurements_are_no_ids(values):
    assert found(values) is None


def test_columns_of_no_use_are_left_out():
    assert found(["same"] * N) == ("constant", True)
    assert found(np.full(N, np.nan)) == ("empty", True)
    assert found([None] * 31 + list(RNG.normal(size=29))) == ("missing", True)
    assert found([None] * 30 + list(RNG.normal(size=30))) == ("filled", False)
    assert found([f"text {i // 2}" for i in range(N)]) == ("texts", True)
    assert found([f"text {i // 2}" for i in range(N)], categorical=["column"]) is None
    assert found([f"text {i // 2}" for i in range(N)], max_categories=30) is None
    assert found(pd.to_timedelta(range(N), "D")) == ("type", True)
    assert found(RNG.normal(size=N), drop=["column"]) == ("dropped", True)


@pytest.mark.parametrize(
    "twins",
    [
        (lambda x: x, lambda x: x),
        (lambda x: x, lambda x: 32 + 1.8 * x),
        (lambda x: x, lambda x: -x),
        (lambda x: np.where(x > 0, "yes", "no"), lambda x: np.where(x > 0, 1, 0)),
        (lambda x: np.round(x), lambda x: [f"class {value:.0f}" for value in np.round(x) + 0.0]),
    ],
)
def test_the_second_of_twins_is_left_out(twins):
    x = RNG.normal(size=300)
    table = pd.DataFrame({"z": RNG.normal(size=300), "a": twins[0](x), "b": twins[1](x)})
    assert kinds(table) == {"b": ("duplicate", True)}
    assert kinds(table, keep=["b"]) == {}
    # the other of a twin that is not to be used would give it away
    assert kinds(table, drop=["a"]) == {"a": ("dropped", True), "b": ("duplicate", True)}
    almost = table["b"].copy()
    almost.iloc[250] = table["b"][table["b"] != table["b"].iloc[250]].iloc[0]
    assert kinds(table.assign(b=almost)) == {}


def test_numbers_that_all_differ_are_no_twins():
    assert kinds(BASE.assign(z=np.exp(BASE["x"]))) == {}


# --- after --------------------------------------------------------------------------------------


def told(table, labels, **parameters):
    preparer = TablePreparer(**parameters).fit(table)
    return [(one.column, one.kind) for one in cluster_findings(preparer, table, labels)]


def test_a_category_that_equals_the_clusters_is_told():
    labels = np.repeat([0, 1, 2], 20)
    names = np.array(["c", "a", "b"])[labels]
    assert told(BASE.assign(kind=names), labels) == [("kind", "equal")]
    # finer than the clusters, but of each value all rows are in one of them
    finer = np.where(RNG.rand(N) < 0.5, names, np.char.add(names, "2"))
    assert told(BASE.assign(kind=finer), labels) == [("kind", "equal")]
    shuffled = names[ORDER]
    assert told(BASE.assign(kind=shuffled), labels) == []


def test_a_column_that_dominates_is_told():
    table = BASE.assign(z=RNG.normal(size=N))
    labels = (table["z"] > 0).astype(int)
    assert told(table, labels) == [("z", "dominant")]
    total = (table.sum(axis=1) > 0).astype(int)
    assert told(table, total) == []
    assert told(table[["x", "z"]], labels) == []  # of two, one has always more
    assert told(table, np.zeros(N, dtype=int)) == []


def test_few_rows_of_many_values_tell_nothing():
    table = BASE.assign(kind=[f"v{i % 15}" for i in range(N)]).iloc[:30]
    labels = (np.arange(30) % 15 < 7).astype(int)
    assert ("kind", "equal") not in told(table, labels, categorical=["kind"])
    more = pd.concat([table] * 3)
    assert ("kind", "equal") in told(more, np.tile(labels, 3), categorical=["kind"])


def test_findings_print_as_sentences_about_columns():
    table = BASE.assign(same=1, gaps=np.where(np.arange(N) % 10, BASE["x"] ** 2, np.nan))
    findings = {one.column: str(one) for one in TablePreparer().fit(table).findings_}
    assert findings["same"] == "same holds the same value in all rows; left out"
    assert findings["gaps"].startswith("gaps lacks 6 values, filled by the median ")
