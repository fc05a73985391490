"""Columns of tables of any make, and what their texts mean."""

from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from separatrix.tables import CellError
from separatrix.tables.columns import as_texts, columns_of, recognised

DAY = datetime(2024, 2, 29, 13, 5)
CELLS = {
    "whole": [3, 1, None],
    "real": [0.5, None, -2.5],
    "truth": [True, None, False],
    "text": ["b", None, "a"],
    "moment": [DAY, None, datetime(1969, 12, 31)],
    "day": [date(2024, 2, 29), date(1900, 1, 1), None],
}


def made_by_pandas():
    frame = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in CELLS.items()})
    types = {"whole": "Int64", "real": "float64", "truth": "boolean", "text": "category"}
    return frame.astype(types | {"moment": "datetime64[ns]"})


TABLES = {
    "pandas": made_by_pandas(),
    "polars": pl.DataFrame(CELLS),
    "pyarrow": pa.table(CELLS),
    "objects": np.array(list(zip(*CELLS.values(), strict=True)), dtype=object),
}


def of_one(cells, name="a"):
    return columns_of(pl.DataFrame({name: cells}))[name]


@pytest.mark.parametrize("maker", TABLES)
def test_tables_of_all_makers_are_the_same(maker):
    whole, real, truth, text, moment, day = columns_of(TABLES[maker]).values()
    kinds = [one.kind for one in (whole, real, truth, text, moment, day)]
    assert kinds == ["numbers", "numbers", "texts", "texts", "dates", "dates"]
    np.testing.assert_array_equal(whole.values, [3, 1, np.nan])
    np.testing.assert_array_equal(real.values, [0.5, np.nan, -2.5])
    assert (list(truth.levels), truth.values.tolist()) == (["false", "true"], [1, -1, 0])
    assert (list(text.levels), text.values.tolist()) == (["a", "b"], [1, -1, 0])
    np.testing.assert_array_equal(moment.values, np.array([DAY, None, "1969-12-31"], "M8[s]"))
    np.testing.assert_array_equal(
        day.values, np.array(["2024-02-29", "1900-01-01", None], "M8[s]")
    )


def test_arrow_slices_and_chunks_keep_their_gaps():
    numbers = pa.chunked_array([[0.5, None, 2.5, 1.5], [], [None, 7.5]])
    for start in range(6):
        cut = pa.table(
            {"a": numbers.slice(start, 4), "b": numbers.slice(start, 4).cast("float32")}
        )
        expected = [0.5, np.nan, 2.5, 1.5, np.nan, 7.5][start : start + 4]
        for one in columns_of(cut).values():
            np.testing.assert_array_equal(one.values, expected)


def test_kinds_that_are_of_no_use_are_named():
    frame = pl.DataFrame({"span": [pl.duration(days=1)], "list": [[1, 2]]})
    frame = pl.select(span=pl.duration(days=1), list=pl.lit([1, 2], pl.List(pl.Int64)))
    span, several = columns_of(frame).values()
    assert "Duration" in span.kind
    assert "List" in several.kind
    assert not span.is_usable
    assert "dict" in columns_of(np.array([[{}], [{}]], dtype=object))["0"].kind


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([1, 2], "Expected 2D array, got 1D"),
        ([[1j]], "Complex data not supported"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns called 'a'; rename"),
    ],
)
def test_what_is_no_table_is_refused(rows, said):
    with pytest.raises(ValueError, match=said):
        columns_of(rows)


def test_zoned_times_and_decimals_are_dates_and_numbers():
    moments = pd.DataFrame({"a": pd.to_datetime(["2024-01-01 12:00"]).tz_localize("UTC")})
    assert columns_of(moments)["a"].values.tolist() == [datetime(2024, 1, 1, 12)]
    assert of_one([Decimal("1.50"), None]).values[0] == 1.5


@pytest.mark.parametrize(
    ("text", "decimal", "number"),
    [
        (" -1.5e3 ", None, -1500),
        ("$5", None, 5),
        ("12.5 %", None, 12.5),
        ("−3", None, -3),
        ("1,234.50 €", ".", 1234.5),
        ("1.234,50 €", ",", 1234.5),
        ("(1 234)", ".", -1234),
        ("1'234'567", ".", 1234567),
        ("0,5", ",", 0.5),
    ],
)
def test_numbers_with_signs(text, decimal, number):
    column = recognised(of_one([text, "7"]), decimal)
    assert column.kind == "numbers"
    np.testing.assert_allclose(column.values, [number, 7])


@pytest.mark.parametrize("text", ["1,234", "1 234", "1.234,50"])
def test_a_comma_that_may_be_either_is_refused(text):
    with pytest.raises(CellError, match=r"row 1: .*may have a comma.*pass decimal='\.' or ','"):
        recognised(of_one(["7", text]))


def test_codes_of_which_most_are_numbers_are_texts():
    """As those of tickets, of which some begin with letters."""
    tickets = [str(1000 + 7 * i) for i in range(60)] + [f"PC {i}" for i in range(40)]
    assert recognised(of_one(tickets)).kind == "texts"
    few = [str(1000 + 7 * i) for i in range(98)] + ["unknown", "none of these"]
    with pytest.raises(CellError, match="'unknown' is not a number, as 98 of 100 values are"):
        recognised(of_one(few))


def test_the_first_text_among_numbers_is_refused_with_its_row():
    with pytest.raises(CellError) as refused:
        recognised(of_one(["1", None, "2", "many", "3", "few"]))
    assert (refused.value.column, refused.value.row) == ("a", 3)
    assert "'many' is not a number, as 3 of 5 values are" in str(refused.value)
    assert "categorical=['a']" in str(refused.value)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["2024-03-01", "2023-12-31"], ["2024-03-01", "2023-12-31"]),
        (["01.03.2024", "31.12.2023"], ["2024-03-01", "2023-12-31"]),
        (["3/1/2024", "12/31/2023"], ["2024-03-01", "2023-12-31"]),
        (["1/3/2024", "31/12/2023"], ["2024-03-01", "2023-12-31"]),
        (["Mar 1 2024", "Dec 31 2023"], ["2024-03-01", "2023-12-31"]),
        (["2024/03/01 06:30", "2023/12/31 00:00"], ["2024-03-01T06:30", "2023-12-31"]),
    ],
)
def test_texts_that_are_dates(texts, expected):
    column = recognised(of_one([*texts, None]))
    assert column.kind == "dates"
    np.testing.assert_array_equal(column.values, np.array([*expected, "NaT"], "M8[s]"))


@pytest.mark.parametrize("texts", [["1/3/2024", "2/4/2024"], ["2024-03-01", "soon"], ["a", "b"]])
def test_texts_that_may_be_no_dates_stay_texts(texts):
    assert recognised(of_one(texts)).kind == "texts"


def test_numbers_and_dates_as_texts():
    assert list(as_texts(of_one([2.0, None, 10.0, 1.5])).levels) == ["1.5", "10", "2"]
    assert as_texts(of_one([2.0, None, 10.0, 1.5])).values.tolist() == [2, -1, 1, 0]
    assert as_texts(of_one([DAY, None])).values.tolist() == [0, -1]
