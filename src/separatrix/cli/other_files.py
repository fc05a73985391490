"""Tables in Parquet, NPZ, Excel, JSON and SQLite files."""

import io
import json
import sqlite3
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime, time, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from separatrix._output import quoted
from separatrix.cli import Refusal
from separatrix.cli.reading import INDEX, VALUE, Table, check_fits, names_of

__all__ = ["read_json", "read_npz", "read_parquet", "read_sqlite", "read_workbook"]


def read_parquet(name, data, reading):
    """Table in a Parquet file, without the index that pandas saves with it."""
    parquet = pyarrow.parquet.ParquetFile(pa.BufferReader(data))
    schema = parquet.schema_arrow
    marked = (schema.pandas_metadata or {}).get("index_columns", [])
    indices = [one for one in schema.names if one in marked or one.startswith("__index_level_")]
    if twice := {one for one in schema.names if schema.names.count(one) > 1}:
        raise Refusal(f"{name}: two columns are called {quoted(sorted(twice))}; rename one")
    chosen = reading.chosen(name, schema.names, indices)
    check_fits(VALUE * parquet.metadata.num_rows * len(chosen), name)
    kept = [*reading.ids, *reading.besides, reading.truth]
    apart = () if reading.columns else set(indices).difference(kept)
    facts = tuple((one, INDEX) for one in apart)
    table = parquet.read(columns=chosen).select(chosen)
    return Table(name, schema.names, table, lambda typed: parquet.read(), facts=facts)


def read_npz(name, data, reading):
    """Table in an archive of NumPy: one matrix, and perhaps the names of its columns."""
    members = zipfile.ZipFile(pa.BufferReader(data)).infolist()
    check_fits(VALUE / 8 * sum(member.file_size for member in members), name)
    if not all(member.filename.endswith(".npy") for member in members):
        raise Refusal(f"{name}: an archive of several files; unpack it, and name one of them")
    with np.load(pa.BufferReader(data), allow_pickle=False) as archive:
        keys = archive.files
        if {"data", "format", "shape"} <= set(keys):
            remedy = "save it with numpy.savez(file, X=matrix.toarray())"
            raise Refusal(f"{name}: a sparse matrix of SciPy; {remedy}")
        needed = {"X", "feature_names"}.intersection(keys)
        arrays = {key: _array(archive, key) for key in (needed if "X" in needed else keys)}
    if unread := [key for key in needed if arrays[key] is None]:
        remedy = "save numbers as numbers, and texts by astype(str)"
        raise Refusal(f"{name}: {quoted(unread)}: Python objects, or damaged; {remedy}")
    names = arrays.pop("feature_names", None)
    matrices = [array for array in arrays.values() if np.ndim(array) == 2]
    if len(matrices) != 1:
        raise Refusal(f"{name}: holds {quoted(keys)}; needs one matrix, or one called X")
    (X,) = matrices
    if X.dtype.kind in "cV":
        raise Refusal(f"{name}: the matrix holds {X.dtype} values; save real numbers")
    X = X.astype(float if X.dtype.char in "eg" else X.dtype.newbyteorder("="), copy=False)
    names = np.arange(X.shape[1]) if names is None else names
    if names.shape != X.shape[1:]:
        found = f"feature_names of shape {names.shape} for {X.shape[1]} columns"
        raise Refusal(f"{name}: {found}; save one name for each")
    names = [one.decode() if isinstance(one, bytes) else str(one) for one in names.tolist()]
    columns = dict(zip(names_of(names), (pa.array(column) for column in X.T), strict=True))
    return _chosen(name, columns, reading)


def _array(archive, key):
    """Array of an archive; None if it is none, or one of objects, which would run code."""
    try:
        found = archive[key]
    except Exception:  # NumPy raises errors of many types for damaged files
        return None
    return found if isinstance(found, np.ndarray) else None


def read_workbook(name, data, reading):
    """Table in a sheet of an Excel file: the first one with rows, or the one that is named."""
    from python_calamine import CalamineError, CalamineWorkbook

    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(data.to_pybytes()))
        sheets = book.sheet_names
        _check_part(name, "sheet", reading.sheet, sheets)
        for one in [reading.sheet] if reading.sheet else sheets:
            rows = book.get_sheet_by_name(one).to_python()
            if len(rows) > 1:
                break
    except CalamineError as error:
        raise Refusal(f"{name}: cannot be read: {error}; save it as CSV") from error
    if not sheets or not rows:
        raise Refusal(f"{name}: the file is empty")
    header, *rows = rows
    names = names_of(["" if cell is None else str(cell) for cell in header])
    cells = zip(*rows, strict=True) if rows else ([] for _ in names)
    columns = {one: _inferred(values) for one, values in zip(names, cells, strict=True)}
    facts = (("sheet", f"{one} of {quoted(sheets)}; --sheet names another"),)
    is_only = len(sheets) == 1 or reading.sheet
    return replace(_chosen(name, columns, reading), facts=() if is_only else facts)


def read_json(name, data, reading):
    """Table in a file of JSON: an object on each line, a list of objects, or columns by name."""
    text = data.to_pybytes().decode("utf-8-sig")
    try:
        if text.lstrip().startswith("["):
            records = json.loads(text)
        else:
            records = [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError as error:
        remedy = "put one object on each line, or a list of objects into the file"
        raise Refusal(f"{name}: not JSON lines: {error}; {remedy}") from None
    if not records or not all(isinstance(record, Mapping) for record in records):
        remedy = 'write rows as objects, such as {"a": 1, "b": 2}'
        raise Refusal(f"{name}: not a list of objects; {remedy}")
    names = list(dict.fromkeys(key for record in records for key in record))
    cells = {one: [record.get(one) for record in records] for one in names}
    if len(records) == 1 and (by_column := _by_column(records[0])):
        cells = by_column
    columns = {one: _inferred(values) for one, values in cells.items()}
    return _chosen(name, columns, reading)


def _by_column(record):
    """Cells of each column, if an object holds columns as pandas or polars write them."""
    columns = list(record.values())
    if columns and all(isinstance(one, Mapping) for one in columns):  # by the names of the rows
        rows = list(columns[0])
        return {name: [one.get(row) for row in rows] for name, one in record.items()}
    if columns and all(isinstance(one, list) and len(one) == len(columns[0]) for one in columns):
        return record
    return None


def read_sqlite(name, data, reading):
    """Table in a database of SQLite: the only one, or the one that is named."""
    with tempfile.NamedTemporaryFile(suffix=".sqlite") as copy:
        copy.write(data)
        copy.flush()
        base = sqlite3.connect(f"file:{copy.name}?mode=ro", uri=True)
        try:
            found = base.execute("select name from sqlite_master where type in ('table','view')")
            tables = [one for (one,) in found if not one.startswith("sqlite_")]
            _check_part(name, "table", reading.sheet, tables)
            if len(tables) != 1 and not reading.sheet:
                remedy = "name one by --sheet"
                raise Refusal(f"{name}: holds the tables {quoted(tables)}; {remedy}")
            table = (reading.sheet or tables[0]).replace('"', '""')
            rows = base.execute(f'select * from "{table}"')
            names = names_of([one for one, *_ in rows.description])
            columns = {one: _inferred([]) for one in names}
            if found_rows := rows.fetchall():
                cells = zip(names, zip(*found_rows, strict=True), strict=True)
                columns = {one: _inferred(values) for one, values in cells}
        except sqlite3.Error as error:
            raise Refusal(f"{name}: cannot be read: {error}") from error
        finally:
            base.close()
    return _chosen(name, columns, reading)


def _check_part(name, kind, asked, there):
    if asked and asked not in there:
        raise Refusal(f"{name}: there is no {kind} {asked!r}; there are {quoted(there)}")


def _chosen(name, columns, reading):
    """Table of some of the columns."""
    whole = pa.table(columns)
    chosen = reading.chosen(name, list(columns))
    return Table(name, list(columns), whole.select(chosen), lambda typed: whole)


def _inferred(values):
    """Cells as an array: numbers if all are, dates if all are, or else texts."""
    cells = [None if value == "" or value != value else value for value in values]
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds == {float} and all(cell is None or cell.is_integer() for cell in cells):
        return pa.array([None if cell is None else int(cell) for cell in cells])
    if kinds <= {int, float} or kinds in ({bool}, {str}, {date}, {datetime}, {time}, {timedelta}):
        return pa.array([float(c) if isinstance(c, int) and float in kinds else c for c in cells])
    if kinds == {date, datetime}:
        return pa.array(
            [datetime(c.year, c.month, c.day) if type(c) is date else c for c in cells]
        )
    if kinds & {dict, list}:
        return pa.array([None if cell is None else json.dumps(cell) for cell in cells])
    return pa.array([cell if cell is None else str(cell) for cell in cells], pa.string())
