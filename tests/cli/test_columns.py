"""Tables that can be used, though they are not as they should be: what is read of them."""

import csv
import re
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from separatrix.cli import listed, main, text_files
from separatrix.cli.columns import featured, read_again
from separatrix.cli.reading import Reading, names_of, read_table
from separatrix.tables import TablePreparer


def features(path, columns=None, id_column=None, categorical=None, impute="median", **options):
    text = frozenset(listed(categorical))
    reading = Reading(listed(columns) or None, id_column, text=text, **options)
    preparer = TablePreparer(
        categorical=listed(categorical),
        impute=impute,
        standardize=False,
        decimal=options.get("decimal"),
    )
    return featured(read_table(str(path), reading), preparer, id_column)


def predicted(path, fitted, id_column=None):
    """Ids and features of another table, as the preparer of the first makes them."""
    table = read_again(str(path), [fitted.preparer], id_column=id_column)
    ids = table.original(False)[id_column] if id_column else None
    return ids, fitted.preparer.in_units(table.data)


def left_out(found):
    return [one.column for one in found.findings if one.left_out]


def categories(found, name):
    (made,) = (made for made in found.preparer.features_ if made.column == name)
    return made.levels


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "data.csv"

    def write(content):
        path.write_bytes(content.encode())
        return path

    return write


IDS = ["007", "12345678901234567890", "1.10", "NA", "", " x", "2024-01-01", "7", "7"]


@pytest.mark.parametrize("columns", [None, "a", "a,b"])
def test_ids_of_a_text_are_kept_letter_by_letter(table, columns):
    path = table("id,a,b\n" + "".join(f"{one},{i},{i * i}\n" for i, one in enumerate(IDS)))
    found = features(path, columns, "id")
    assert found.ids["id"].to_pylist() == IDS
    assert found.row_names.tolist() == IDS
    assert found.names == ["a", "b"][: len(found.names)]
    assert predicted(path, found, "id")[0].to_pylist() == IDS


def test_ids_are_written_as_they_are_read(table, tmp_path):
    path = table("id,a\n" + "".join(f"{one},{i}\n" for i, one in enumerate(IDS)))
    command = ["cluster", str(path), "-k", "2", "-m", "separation", "--id-column", "id"]
    with pytest.raises(SystemExit) as stopped:
        main([*command, "--out", str(tmp_path / "labels.csv")])
    assert stopped.value.code == 0
    with open(tmp_path / "labels.csv", newline="") as file:
        assert [row["id"] for row in csv.DictReader(file)] == IDS


def test_ids_of_other_files_keep_their_type(tmp_path):
    frame = pd.DataFrame({"id": [3, 1, 2], "a": [0.5, 1.5, 2.5]})
    frame.to_parquet(tmp_path / "data.parquet")
    np.savez(tmp_path / "data.npz", X=frame.to_numpy(int), feature_names=["id", "a"])
    for name in ("data.parquet", "data.npz"):
        assert features(tmp_path / name, None, "id").ids["id"].to_pylist() == [3, 1, 2]


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz"])
def test_ids_may_be_a_feature_too(tmp_path, ending):
    path = tmp_path / f"data.{ending}"
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [4, 5, 7]})
    if ending == "csv":
        frame.to_csv(path, index=False)
    elif ending == "parquet":
        frame.to_parquet(path)
    else:
        np.savez(path, X=frame, feature_names=["a", "b"])
    both = features(path, "a,b", "a")
    assert both.names == ["a", "b"]
    ids, matrix = predicted(path, features(path), "a")
    np.testing.assert_array_equal(matrix, frame)
    assert [float(one) for one in ids.to_pylist()] == [1, 2, 3]
    assert both.ids["a"].equals(ids)


@pytest.mark.parametrize("start", ["", "\n\r\n", "\ufeff"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_an_only_column_loses_no_row(table, start, newline):
    path = table(start + newline.join(["a", "1", "", "9", '""', "2", ""]))
    np.testing.assert_array_equal(features(path, impute="mean").X[:, 0], [1, 4, 9, 4, 2])


def test_empty_lines_between_several_columns_are_no_rows(table):
    path = table("\na,b\n1,2\n\n3,4\n\n\n")
    np.testing.assert_array_equal(features(path).X, [[1, 2], [3, 4]])


def test_indices_of_pandas_are_no_features(tmp_path):
    path = tmp_path / "data.parquet"
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [3, 5, 9]}, index=[2, 0, 1])
    frame.to_parquet(path)
    found = features(path)
    assert found.names == ["a", "b"]
    ((name, told),) = found.table.facts
    assert name == "__index_level_0__"
    assert "the index of pandas" in told
    named = features(path, id_column="__index_level_0__")
    assert named.ids["__index_level_0__"].to_pylist() == [2, 0, 1]
    assert (named.names, named.table.facts) == (["a", "b"], ())
    wanted = features(path, "__index_level_0__,a")
    np.testing.assert_array_equal(wanted.X, [[2, 1], [0, 2], [1, 3]])
    assert wanted.table.facts == ()
    frame.set_index("b").to_parquet(path)
    assert [name for name, _ in features(path).table.facts] == ["b"]


def test_names_matter_only_of_columns_that_are_used(table):
    model = features(table("a,b\n1,2\n3,4\n"))
    path = table(",b,c,c,a\n0,2,5,5,1\n1,4,5,5,3\n")
    np.testing.assert_array_equal(features(path, "a,b").X, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(predicted(path, model)[1], [[1, 2], [3, 4]])


@pytest.mark.parametrize("delimiter", ["\t", ",", ";", "|"])
@pytest.mark.parametrize("name", ["a\nx", "a;;;x", "a,,,x", "a|||x", "a\t\t\tx", 'a"";x', "a x"])
def test_delimiters_within_quotes_do_not_count(table, delimiter, name):
    path = table(f'"{name}"{delimiter}"b"\n1{delimiter}2\n3{delimiter}4\n')
    found = features(path)
    assert found.names == [name.replace('""', '"'), "b"]
    np.testing.assert_array_equal(found.X, [[1, 2], [3, 4]])


def test_delimiters_are_those_of_the_rows_too(table):
    assert features(table("f|1,f|2\n1,2\n3,4\n")).names == ["f|1", "f|2"]
    assert features(table("f,1,x;f,2,y\n1;2\n3;4\n")).names == ["f,1,x", "f,2,y"]


@pytest.mark.parametrize("length", [200_000, 3_000_000])
def test_long_texts(table, length):
    path = table("".join(["a,b\n", *(f"{i * 'x'},{i}\n" for i in (1, 2, length))]))
    assert [len(one) for one in categories(features(path, categorical="a"), "a")] == [1, 2, length]


def test_formatted_numbers_may_be_categories(table):
    path = table("a,b\n5%,1\n10%,2\n5%,3\n")
    assert categories(features(path, categorical="a"), "a") == ["10%", "5%"]


@pytest.mark.parametrize("value", ["65+", "18-25", "10.0.0.1", "A5", "5 kg", "1/2"])
def test_texts_with_digits_are_texts(table, value):
    path = table("a,b\n" + "".join(f"{value if i % 2 else 'x'},{i}\n" for i in range(8)))
    assert categories(features(path), "a") == sorted([value, "x"])


def test_missing_values_are_as_documented(table):
    docs = Path(__file__).parents[2] / "docs" / "command_line.md"
    named = re.search(
        "a value is missing if it is empty or one of(.*?)[.:]", docs.read_text(), re.S
    )
    assert ["", *re.findall("`(.*?)`", named[1])] == text_files.MISSING
    words = text_files.MISSING
    rows = "".join(f"{i},{one}\n" for i, one in enumerate([*range(1, 14), *words]))
    np.testing.assert_array_equal(features(table(f"a,b\n{rows}")).X[13:, -1], 7)
    rows = "".join(f"{i % 5},{one}\n" for i, one in enumerate([*"x" * 13, *words]))
    found = features(table(f"a,b\n{rows}"))
    assert categories(found, "b") == ["missing", "x"] or categories(found, "b") == ["x", "missing"]
    np.testing.assert_array_equal(found.X[:, 1], np.repeat([0, 1], [13, len(words)]))


def test_not_a_number_is_no_category(tmp_path):
    np.savez(tmp_path / "data.npz", X=[[1, np.nan], [2, 3], [3, 4], [5, 4]])
    found = features(tmp_path / "data.npz", categorical="1", impute="most-frequent")
    assert categories(found, "1") == ["3", "4"]
    np.testing.assert_array_equal(found.X[0], found.X[2] - [2, 0])


@pytest.mark.parametrize("dtype", [">f8", ">i4", "<f2", np.longdouble, "U9", bool])
def test_arrays_of_any_kind_of_number(tmp_path, dtype):
    X = np.array([[0, 1], [1, 0], [1, 1]]).astype(dtype)
    np.savez(tmp_path / "data.npz", X=X)
    np.testing.assert_array_equal(features(tmp_path / "data.npz").X, [[0, 1], [1, 0], [1, 1]])


@pytest.mark.parametrize("key", ["X", "measured"])
def test_only_the_arrays_that_are_needed_are_loaded(tmp_path, key):
    path = tmp_path / "data.npz"
    np.savez(path, notes=np.array([{}, None]), feature_names=[b"a", b"b"], **{key: np.eye(2)})
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("void.npy", "")
    found = features(path)
    assert found.names == ["a", "b"]
    np.testing.assert_array_equal(found.X, np.eye(2))


def test_names_of_very_many_columns_are_compared_once(table, monkeypatch):
    compared = []

    class Name(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other):
            compared.append(other)
            return str.__eq__(self, other)

    n = 3000
    names = [Name(f"c{i}") for i in range(n)]
    for columns in (None, names):
        Reading(columns).chosen("data", names)
    names_of(names)
    assert len(compared) < 20 * n


def test_lists_of_names():
    assert listed(None) == []
    assert listed('a, "b,c"') == ["a", "b,c"]
    assert listed('"a\nb",c') == ["a\nb", "c"]
