"""Files as people have them: the same table of many kinds of file gives the same features."""

import gzip
import json
import sqlite3
import zipfile
from datetime import date, datetime
from xml.sax.saxutils import escape

import numpy as np
import pyarrow as pa
import pytest

from separatrix.cli import Refusal
from separatrix.cli.columns import featured
from separatrix.cli.reading import Reading, names_of, read_table
from separatrix.tables import TablePreparer

RNG = np.random.RandomState(0)
COLUMNS = {
    "größe": [1.5, None, *RNG.normal(10, 3, 10).round(2).tolist()],
    "count": RNG.randint(100, size=12).tolist(),
    "stadt": ["Köln", "Ulm", None, *["Ulm", "Köln", "Nürnberg"] * 3],
    "tag": [date(2024, 1 + i % 7, 1 + i) for i in range(12)],
}
ROWS = list(zip(*COLUMNS.values(), strict=True))


def as_text(delimiter=",", decimal="."):
    def cell(value):
        return "" if value is None else str(value).replace(".", decimal)

    lines = [delimiter.join(COLUMNS), *(delimiter.join(map(cell, row)) for row in ROWS)]
    return "\n".join(lines) + "\n"


def as_objects():
    return [
        {name: str(value) if isinstance(value, date) else value for name, value in named}
        for named in (zip(COLUMNS, row, strict=True) for row in ROWS)
    ]


def as_columns(kept):
    """The same as columns by name, each what `kept` makes of a list of its cells."""
    return {name: kept([row[name] for row in as_objects()]) for name in COLUMNS}


def workbook(path, sheets):
    """A spreadsheet with these rows in sheets, made by hand of the least that there is to one."""

    def cell(value):
        if value is None:
            return "<c/>"
        if isinstance(value, date):
            days = (datetime(value.year, value.month, value.day) - datetime(1899, 12, 30)).days
            return f'<c s="1"><v>{days}</v></c>'
        if isinstance(value, str):
            return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'
        return f"<c><v>{value}</v></c>"

    main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    names, links = [], []
    with zipfile.ZipFile(path, "w") as archive:
        for number, (name, rows) in enumerate(sheets.items(), 1):
            body = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
            content = f"<worksheet {main}><sheetData>{body}</sheetData></worksheet>"
            archive.writestr(f"xl/worksheets/sheet{number}.xml", content)
            names.append(f'<sheet name="{name}" sheetId="{number}" r:id="r{number}"/>')
            target = f'Target="worksheets/sheet{number}.xml"'
            links.append(f'<Relationship Id="r{number}" Type="{office}/worksheet" {target}/>')
        styles = f'<styleSheet {main}><cellXfs><xf/><xf numFmtId="14"/></cellXfs></styleSheet>'
        archive.writestr("xl/styles.xml", styles)
        links.append(f'<Relationship Id="s" Type="{office}/styles" Target="styles.xml"/>')
        book = f'<workbook {main} xmlns:r="{office}"><sheets>{"".join(names)}</sheets></workbook>'
        archive.writestr("xl/workbook.xml", book)
        wrapped = f'<Relationships xmlns="{package}/relationships">{{}}</Relationships>'
        archive.writestr("xl/_rels/workbook.xml.rels", wrapped.format("".join(links)))
        root = f'<Relationship Id="b" Type="{office}/officeDocument" Target="xl/workbook.xml"/>'
        archive.writestr("_rels/.rels", wrapped.format(root))
        archive.writestr("[Content_Types].xml", f'<Types xmlns="{package}/content-types"/>')


def database(path, *names):
    base = sqlite3.connect(path)
    for name in names:
        base.execute(f"create table {name} ({', '.join(COLUMNS)})")
        rows = [tuple(str(one) if isinstance(one, date) else one for one in row) for row in ROWS]
        base.executemany(f"insert into {name} values (?, ?, ?, ?)", rows)
    base.commit()
    base.close()


def archived(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("table.csv", as_text())
        archive.writestr("__MACOSX/._table.csv", "noise")


WRITERS = {
    "csv": lambda path: path.write_text(as_text(), encoding="utf-8"),
    "mark": lambda path: path.write_text(as_text(), encoding="utf-8-sig"),
    "cp1252": lambda path: path.write_text(as_text(), encoding="cp1252"),
    "utf-16": lambda path: path.write_text(as_text(), encoding="utf-16"),
    "utf-16-le": lambda path: path.write_text(as_text(), encoding="utf-16-le"),
    "comma": lambda path: path.write_text(as_text(";", ","), encoding="utf-8"),
    "gzip": lambda path: path.write_bytes(gzip.compress(as_text().encode())),
    "zstd": lambda path: path.write_bytes(pa.compress(as_text().encode(), "zstd", asbytes=True)),
    "zip": archived,
    "lines": lambda path: path.write_text("\n".join(map(json.dumps, as_objects()))),
    "json": lambda path: path.write_text(json.dumps(as_objects(), indent=1)),
    "lists of columns": lambda path: path.write_text(json.dumps(as_columns(list))),
    "rows of columns": lambda path: path.write_text(
        json.dumps(as_columns(lambda cells: {str(row): cell for row, cell in enumerate(cells)}))
    ),
    "excel": lambda path: workbook(path, {"empty": [], "first": [list(COLUMNS), *ROWS]}),
    "sqlite": lambda path: database(path, "only"),
}


def features(path, **options):
    table = read_table(str(path), Reading(**options))
    return featured(table, TablePreparer(standardize=False, decimal=table.decimal))


@pytest.mark.parametrize("kind", WRITERS)
def test_files_of_many_kinds_hold_the_same_table(tmp_path, kind):
    expected = TablePreparer(standardize=False).fit(pa.table(COLUMNS))
    WRITERS[kind](tmp_path / "data")
    found = features(tmp_path / "data")
    assert found.names == list(expected.get_feature_names_out())
    np.testing.assert_allclose(found.X, expected.transform(pa.table(COLUMNS)))
    assert found.table.header == list(COLUMNS)
    told = dict(found.table.facts)
    guesses = {"cp1252": "encoding", "utf-16-le": "encoding", "comma": "decimal"}
    assert {name for name, fact in told.items() if "a guess" in fact} == {
        guesses[one] for one in (kind,) if one in guesses
    }
    if kind == "excel":
        assert told["sheet"].startswith("first of 'empty', 'first'")


def test_options_say_how_a_file_is_meant(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("a;b\n1,250;1\n2,375;2\n1.000,5;4\n", encoding="utf-8")
    np.testing.assert_allclose(features(path, decimal=",").X[:, 0], [1.25, 2.375, 1000.5])
    path.write_text('a;b\n"1,250";1\n"2,375";2\n7;4\n', encoding="utf-8")
    np.testing.assert_allclose(features(path, decimal=".").X[:, 0], [1250, 2375, 7])
    path.write_bytes("a,b\nz\u0161,1\nx,3\nx,4\n".encode("iso8859-2"))
    assert features(path, encoding="iso8859-2").names[0] == "a=z\u0161"
    path.write_text("a,b\n1,2\nunknown,5\n7,1\n")
    np.testing.assert_array_equal(features(path, missing=("unknown",)).X[:, 0], [1, 4, 7])
    path.write_text("1,2\n3,5\n7,1\n")
    assert features(path, has_header=False).names == ["column 1", "column 2"]
    np.testing.assert_array_equal(features(path, has_header=False).X, [[1, 2], [3, 5], [7, 1]])


def test_sheets_and_tables_have_names(tmp_path):
    path = tmp_path / "data"
    workbook(path, {"one": [["a"], [1], [2]], "two": [["b"], [3.5], [4], ["x"]]})
    assert features(path, sheet="one").names == ["a"]
    with pytest.raises(Refusal, match="no sheet 'three'; there are 'one', 'two'"):
        features(path, sheet="three")
    with pytest.raises(Refusal, match=r"column 'b': 'x' is not a number, as 2 of 3 values are"):
        features(path, sheet="two")
    path.unlink()
    database(path, "one", "two")
    assert features(path, sheet="two").table.header == list(COLUMNS)


def test_columns_without_a_name_and_twins_get_one(tmp_path):
    assert names_of(["", "a", "a", " ", "a.1", "a"]) == [
        "column 1",
        "a",
        "a.2",
        "column 4",
        "a.1",
        "a.3",
    ]
    path = tmp_path / "data.csv"
    path.write_text("," + "a,a,\n" + "".join(f"{i},{i % 5},{i % 7},\n" for i in range(20)))
    found = features(path)
    assert found.names == ["a", "a.1"]
    assert [(one.column, one.kind) for one in found.findings] == [
        ("column 1", "id"),
        ("column 4", "empty"),
    ]
    np.testing.assert_array_equal(found.X[:, 1], np.arange(20) % 7)


def test_a_compressed_file_that_is_cut_off_is_refused(tmp_path):
    path = tmp_path / "data.csv.gz"
    path.write_bytes(gzip.compress(as_text().encode())[:-20])
    with pytest.raises(Refusal, match=r"data\.csv\.gz: "):
        features(path)


def test_truth_values_are_the_same_in_any_file(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("a,b\n" + "".join(f"{i * i},{bool(i % 3)}\n" for i in range(12)))
    fitted = features(path)
    assert fitted.names == ["a", "b=true"]
    rows = pa.table({"a": [i * i for i in range(12)], "b": [bool(i % 3) for i in range(12)]})
    np.testing.assert_array_equal(fitted.preparer.in_units(rows), fitted.X)
