"""From tables to numbers: names that map back, weights, and the same numbers for other tables."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from separatrix.tables import CellError, ColumnError, TablePreparer

RNG = np.random.RandomState(0)
N = 40
TABLE = pd.DataFrame(
    {
        "id": np.arange(100, 100 + N),
        "income": RNG.lognormal(8, 1, N),
        "plan": RNG.choice(["basic", "family", "plus"], N),
        "member": RNG.rand(N) < 0.5,
        "since": pd.to_datetime("2020-01-01") + pd.to_timedelta(RNG.randint(1500, size=N), "D"),
        "flag": RNG.randint(2, size=N),
    }
)


def with_gaps(column, rows):
    return TABLE.assign(**{column: TABLE[column].astype(object).where(~TABLE.index.isin(rows))})


@parametrize_with_checks([TablePreparer()])
def test_sklearn_check(estimator, check):
    check(estimator)


def test_features_have_the_names_of_their_columns():
    preparer = TablePreparer().fit(TABLE)
    expected = {
        "income": ["income"],
        "plan": ["plan=basic", "plan=family", "plan=plus"],
        "member": ["member=true"],
        "since": ["since year", "since season sin", "since season cos"]
        + ["since weekday sin", "since weekday cos"],
        "flag": ["flag"],
    }
    assert list(preparer.get_feature_names_out()) == [
        name for made in expected.values() for name in made
    ]
    sources = [name for name, made in expected.items() for _ in made]
    assert preparer.source_columns_.tolist() == sources
    shares = [
        name for name, is_share in zip(sources, preparer.are_shares_, strict=True) if is_share
    ]
    assert shares == ["plan"] * 3 + ["member", "flag"]


def test_features_in_units_are_what_one_would_make_by_hand():
    values = TablePreparer().fit(TABLE).in_units(TABLE)
    np.testing.assert_array_equal(values[:, 0], TABLE["income"])
    np.testing.assert_array_equal(values[:, 1:4], pd.get_dummies(TABLE["plan"]))
    np.testing.assert_array_equal(values[:, 4], TABLE["member"])
    since = TABLE["since"].dt
    np.testing.assert_array_equal(values[:, 5], since.year)
    season = np.arctan2(values[:, 6], values[:, 7]) % (2 * np.pi) / (2 * np.pi)
    np.testing.assert_allclose(season * 365.2425, since.day_of_year - 1, atol=1e-9)
    weekday = np.arctan2(values[:, 8], values[:, 9]) % (2 * np.pi) / (2 * np.pi)
    np.testing.assert_allclose(np.round(weekday * 7, 9) % 7, since.day_of_week, atol=1e-9)


def test_the_end_of_a_year_is_near_its_beginning():
    days = pd.DataFrame({"day": pd.to_datetime(["2021-01-01", "2021-12-31", "2021-07-01"])})
    values = TablePreparer(standardize=False, keep=["day"]).fit_transform(days)
    season = values[:, :2]
    assert np.linalg.norm(season[0] - season[1]) < 0.1 < 1 < np.linalg.norm(season[0] - season[2])


def test_no_column_weighs_more_because_it_has_more_features():
    preparer = TablePreparer().fit(TABLE)
    X = preparer.transform(TABLE)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    total = pd.Series(X.var(axis=0)).groupby(preparer.source_columns_).sum()
    expected = {"flag": 0.5, "income": 1, "member": 0.5, "plan": 0.5, "since": 1}
    np.testing.assert_allclose(total, pd.Series(expected))
    # whatever the number of levels
    for n_levels in (2, 5, 20):
        levels = pd.DataFrame({"x": np.arange(200) ** 2.0, "c": np.arange(200) % n_levels})
        made = TablePreparer(categorical=["c"]).fit_transform(levels)
        np.testing.assert_allclose(made[:, 1:].var(axis=0).sum(), 0.5)


def test_a_category_of_chance_does_not_outweigh_numbers():
    """The clusters of ten numbers, and not a coin that was tossed for each row."""
    rng = np.random.RandomState(0)
    group = np.repeat([0, 1], 60)
    table = pd.DataFrame(rng.normal(size=(120, 10)) + 1.2 * group[:, None])
    table.columns = [f"x{j}" for j in range(10)]
    for j, n_levels in enumerate((2, 2, 12)):
        table[f"c{j}"] = [f"v{value}" for value in rng.randint(n_levels, size=120)]
    pipeline = make_pipeline(TablePreparer(), KMeans(2, n_init=10, random_state=0))
    assert adjusted_rand_score(group, pipeline.fit_predict(table)) > 0.8


def test_units_do_not_matter_and_come_back():
    preparer = TablePreparer().fit(TABLE)
    X = preparer.transform(TABLE)
    other = TABLE.assign(income=TABLE["income"] * 100 + 7)
    np.testing.assert_allclose(TablePreparer().fit_transform(other), X)
    np.testing.assert_allclose(preparer.inverse_transform(X), preparer.in_units(TABLE))
    plain = TablePreparer(standardize=False).fit(TABLE)
    np.testing.assert_array_equal(plain.transform(TABLE), plain.in_units(TABLE))
    np.testing.assert_array_equal(plain.inverse_transform(X), X)


def test_columns_are_found_by_name_and_others_ignored():
    preparer = TablePreparer().fit(TABLE)
    other = TABLE[TABLE.columns[::-1]].assign(more=1).drop(columns="id")
    np.testing.assert_array_equal(preparer.transform(other), preparer.transform(TABLE))
    few = preparer.transform(pl.from_pandas(TABLE.iloc[:3]))
    np.testing.assert_allclose(few, preparer.transform(TABLE)[:3])
    with pytest.raises(ValueError, match="X lacks the columns 'plan', 'flag'; it has 'id'"):
        preparer.transform(TABLE.drop(columns=["plan", "flag"]))


def test_copies_and_pickles_do_the_same():
    preparer = TablePreparer(drop=["flag"], impute="mean").fit(TABLE)
    X = preparer.transform(TABLE)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(preparer)).transform(TABLE), X)
    np.testing.assert_array_equal(clone(preparer).fit_transform(TABLE), X)


# --- missing values -----------------------------------------------------------------------------


@pytest.mark.parametrize(("impute", "rule"), [("median", np.median), ("mean", np.mean)])
def test_missing_numbers_are_filled_and_counted(impute, rule):
    gaps = with_gaps("income", [3, 5])
    preparer = TablePreparer(impute=impute).fit(gaps)
    (finding,) = (one for one in preparer.findings_ if one.kind == "filled")
    assert (finding.column, finding.n_missing, finding.left_out) == ("income", 2, False)
    expected = rule(TABLE["income"].drop([3, 5]))
    np.testing.assert_allclose(preparer.in_units(gaps)[[3, 5], 0], expected)


def test_missing_categories_are_one():
    gaps = with_gaps("plan", [3, 5])
    preparer = TablePreparer().fit(gaps)
    names = list(preparer.get_feature_names_out())
    assert names[1:5] == ["plan=basic", "plan=family", "plan=plus", "plan=missing"]
    values = preparer.in_units(gaps)
    np.testing.assert_array_equal(np.flatnonzero(values[:, 4]), [3, 5])
    taken = gaps.assign(plan=gaps["plan"].replace("plus", "missing"))
    assert "plan=(missing)" in TablePreparer().fit(taken).get_feature_names_out()
    frequent = TablePreparer(impute="most-frequent").fit(gaps).in_units(gaps)
    most = gaps["plan"].mode()[0]
    np.testing.assert_array_equal(frequent[3, 1:4], np.array(["basic", "family", "plus"]) == most)


def test_what_is_missing_only_later_is_as_the_average_row():
    preparer = TablePreparer().fit(TABLE)
    later = preparer.transform(with_gaps("plan", [0]))
    np.testing.assert_allclose(later[0, 1:4], 0, atol=1e-12)


@pytest.mark.parametrize("column", ["income", "plan", "since"])
def test_missing_values_are_refused_if_asked(column):
    gaps = with_gaps(column, [7, 9])
    with pytest.raises(CellError, match=r"missing \(2 in this column\); pass impute='median'"):
        TablePreparer(impute=None).fit(gaps)
    preparer = TablePreparer(impute=None).fit(TABLE)
    with pytest.raises(CellError, match=f"column '{column}', row 7: the value is missing"):
        preparer.transform(gaps)


# --- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("income", np.inf, "row 2: inf is infinite"),
        ("income", 1e200, "row 2: 1e[+]200 is too large to compute with"),
        ("income", "much", "row 2: 'much' is not a number"),
        ("plan", "gold", "row 2: 'gold' is not one of its categories: 'basic', 'family', 'plus'"),
        ("since", "soon", "row 0: .* is not a date"),
    ],
)
def test_values_that_cannot_be_used_have_their_place(column, value, said):
    preparer = TablePreparer().fit(TABLE)
    wrong = TABLE.astype({column: object}).copy()
    wrong.loc[2, column] = value
    with pytest.raises(CellError, match=f"column '{column}', {said}"):
        preparer.transform(wrong)


def test_parameters_that_name_no_column_are_refused():
    for parameter in ("categorical", "drop", "keep"):
        with pytest.raises(ValueError, match=f"{parameter} names 'town', not among"):
            TablePreparer(**{parameter: ["town"]}).fit(TABLE)


def test_a_table_of_which_nothing_is_left_is_refused():
    table = TABLE[["id"]].assign(same=1)
    said = "'id' seems to .*; 'same' holds the same value in all rows; pass keep=.'id'.$"
    with pytest.raises(ColumnError, match=said):
        TablePreparer().fit(table)
    assert list(TablePreparer(keep=["id"]).fit(table).get_feature_names_out()) == ["id"]
    with pytest.raises(ColumnError, match="'same' holds the same value"):
        TablePreparer(keep=["id", "same"]).fit(table)
