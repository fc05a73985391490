"""Tables from CSV, TSV, Parquet and NPZ files and from standard input, or one line of refusal."""

import csv
import io
import os
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from separatrix.cli import Refusal
from separatrix.data.rows import physical_memory

__all__ = ["Table", "check_fits", "quoted", "read_table"]

MISSING = ["", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?"]  # in texts
NO_ROWS = "there are names of columns, but no rows of data"
OUTPUTS = ("cluster", "confidence")  # columns of the labels
DELIMITERS = "\t,;|"
HEAD = 1 << 20  # bytes that tell what a file holds and how dense the values of a text are
MAX_LINE = 1 << 26  # bytes: what has no end of line by then is no table
NO_TABLE = {  # by their first bytes
    b"\x1f\x8b": "compressed; unpack it first, for example with gunzip",
    b"\xff\xfe": "UTF-16; convert it, for example with iconv -f utf-16 -t utf-8",
    b"\xfe\xff": "UTF-16; convert it, for example with iconv -f utf-16 -t utf-8",
    b"\x93N": "a bare array of NumPy; save it with numpy.savez(file, X=X)",
}
CSV_FAULTS = {  # by a part of what the module csv says
    "unexpected end of data": "a quote is not closed",
    "expected after": "text after a closing quote; double it in a text, or put a comma behind it",
    "new-line character": "a carriage return ends no line; convert it, as with tr '\\r' '\\n'",
    "field limit": f"a value of more than {MAX_LINE >> 20} MB; a quote may not be closed",
}
VALUE = 3 * 8  # bytes of memory for each value: as read, encoded, and in the estimator
csv.field_size_limit(MAX_LINE)


@dataclass(frozen=True)
class Table:
    """Named columns; ``place(row)`` says where in the file a row, counted from 0, stands.

    `ids` has the column that names the rows, if any, as it is in the file; `left_out` a reason for
    each column that was not read.
    """

    name: str
    columns: dict[str, pa.ChunkedArray]
    ids: dict[str, pa.ChunkedArray]
    left_out: dict[str, str] = field(default_factory=dict)
    place: Callable[[int], str] = lambda row: f"row {row + 1}"

    @property
    def n_rows(self):
        """Number of rows."""
        return len(next(iter(self.columns.values())))


@dataclass(frozen=True)
class _Wish:
    """Columns to read, all if None; the one that names the rows; those to read as text."""

    columns: list[str] | None
    ids: list[str]
    text: set[str]

    def chosen(self, name, header, indices=()):
        """Columns to read, of a header in which their names must be sound."""
        counts = Counter(header)
        for column in [*(self.columns or ()), *self.ids]:
            if column not in counts:
                found = f"there is no column {column!r}; there are {quoted(header)}"
                remedy = "; --id-column '' numbers the rows" if column in self.ids else ""
                raise Refusal(f"{name}: {found}{remedy}")
        apart = {*self.ids, *indices}
        chosen = list(dict.fromkeys(self.columns or (one for one in header if one not in apart)))
        used = {*chosen, *self.ids}
        for position, column in enumerate(header, 1):
            if column in used and not column.strip():
                remedy = "name it, leave it out (in pandas by index=False), or pick --columns"
                raise Refusal(f"{name}: header: column {position} has no name; {remedy}")
            if column in used and counts[column] > 1:
                raise Refusal(f"{name}: header: two columns are called {column!r}; rename one")
        if not chosen:
            raise Refusal(f"{name}: no column to cluster by; there are {quoted(header) or 'none'}")
        return chosen


def quoted(names, most=12):
    """Names in quotes, so that one sees where they end; only the first of many."""
    return ", ".join(f"{name!r:.80}" for name in names[:most]) + ", ..." * (len(names) > most)


def check_fits(n_bytes, name, remedy="pick --columns, or sample its rows"):
    """Refuse what memory cannot hold, before it is read."""
    memory = physical_memory()
    if n_bytes > memory:
        raise Refusal(
            f"{name}: too large: needs about {n_bytes / 1e9:.3g} GB of memory where this machine "
            f"has {memory / 1e9:.3g} GB; {remedy}"
        )


def read_table(path, *, columns=None, text=(), id_column=None):
    """Table in a file, told by its first bytes; only some `columns`, those in `text` as text.

    Without `columns` it is all but `id_column`, which is read as it is, and indices of pandas.
    """
    name = "standard input" if path == "-" else path
    if id_column in OUTPUTS:
        raise Refusal(f"{name}: column {id_column!r} has the name of an output; rename it")
    wish = _Wish(columns, [id_column] if id_column else [], set(text))
    try:
        data = _bytes_of(path, name)
        read = {b"PAR1": _read_parquet, b"PK\3\4": _read_npz}.get(data[:4].to_pybytes())
        table = (read or _read_text)(name, data, wish)
    except OSError as error:
        raise Refusal(f"{name}: {error.strerror or error}") from error
    except (pa.ArrowException, ValueError, zipfile.BadZipFile, NotImplementedError) as error:
        raise Refusal(f"{name}: cannot be read: {error}") from error
    if table.n_rows == 0:
        raise Refusal(f"{name}: {NO_ROWS}")
    return table


def _bytes_of(path, name):
    """Bytes of a file, which is mapped, or of a stream, which is read."""
    if path != "-" and Path(path).is_file() and os.path.getsize(path):
        return pa.memory_map(path).read_buffer()
    data = bytearray()
    with open(0 if path == "-" else path, "rb", closefd=path != "-") as stream:
        while chunk := stream.read(64 * HEAD):
            data += chunk
            check_fits(3 * len(data), name)
    return pa.py_buffer(data)


def _read_text(name, data, wish):
    head = data[:HEAD].to_pybytes()
    if found := NO_TABLE.get(head[:2]):
        raise Refusal(f"{name}: the file is {found}")
    if b"\0" in head:
        raise Refusal(f"{name}: neither UTF-8 text nor Parquet nor NPZ: it has NUL bytes")
    tried = [_Records(name, data, delimiter) for delimiter in DELIMITERS]
    records = max(tried, key=_Records.n_columns)
    header = _check_header(name, [fields for _, fields in islice(records, 2)])
    chosen = wish.chosen(name, header)
    density = (head.count(records.delimiter.encode()) + head.count(b"\n")) / len(head)
    check_fits(VALUE * data.size * density * (len(chosen) + len(wish.ids)) / len(header), name)
    table = records.read(
        header,
        include_columns=chosen,
        column_types=dict.fromkeys(wish.text.intersection(chosen), pa.string()),
        null_values=MISSING,
        strings_can_be_null=True,
    )
    types = dict.fromkeys(wish.ids, pa.string())
    ids = records.read(header, include_columns=wish.ids, column_types=types) if types else {}
    blocks = (data[start : start + HEAD] for start in range(0, data.size, HEAD))
    n_quotes = sum(block.to_pybytes().count(b'"') for block in blocks)
    if n_quotes % 2 or any(pa.types.is_binary(column.type) for column in table.values()):
        records.find_fault(len(header))
    return Table(name, table, ids, place=records.place)


def _check_header(name, lines):
    """Header of a text, of which it and the first record are given; refused if it is none."""
    if not lines:
        raise Refusal(f"{name}: the file is empty")
    words = [line[0].split() for line in lines if len(line) == 1]
    if len(words) == 2 and min(map(len, words)) > 1 and any(map(_is_value, words[1])):
        remedy = "put commas there, for example with tr -s ' ' ','"
        raise Refusal(f"{name}: line 1: only spaces stand between the columns; {remedy}")
    if all(map(_is_value, lines[0])):
        raise Refusal(f"{name}: line 1 has only numbers; put the names of the columns above it")
    if len(lines) == 1:
        raise Refusal(f"{name}: {NO_ROWS}")
    return lines[0]


def _is_value(text):
    """Whether this is a number or a missing one, and so no name of a column."""
    try:
        float(text)
    except ValueError:
        return text.strip() in MISSING
    return True


@dataclass(frozen=True)
class _Records:
    """Line number and fields of each record, slowly but with good errors.

    An empty line is a missing value where there is one column, and no record where there are more.
    """

    name: str
    data: pa.Buffer
    delimiter: str

    def _lines(self):
        stream = io.BufferedReader(pa.BufferReader(self.data))
        for number, line in enumerate(iter(lambda: stream.readline(MAX_LINE), b""), 1):
            if len(line) == MAX_LINE:
                raise Refusal(f"{self.name}: line {number}: has no end, and is no table")
            try:
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise Refusal(
                    f"{self.name}: line {number}: byte 0x{line[error.start]:02x} is not UTF-8; "
                    "convert the file, for example with iconv -f latin1 -t utf-8"
                ) from None

    def __iter__(self):
        records = csv.reader(self._lines(), delimiter=self.delimiter, strict=True)
        line = n_columns = 0
        try:
            for fields in records:
                line = records.line_num
                n_columns = n_columns or len(fields)
                if fields or n_columns == 1:
                    yield line, fields or [""]
        except csv.Error as error:
            known = (said for part, said in CSV_FAULTS.items() if part in str(error))
            raise Refusal(f"{self.name}: line {line + 1}: {next(known, error)}") from None

    def n_columns(self):
        """Fields in both header and first record; 0 if it is the wrong delimiter for quotes."""
        try:
            return min((len(fields) for _, fields in islice(self, 2)), default=0)
        except Refusal:
            return 0

    def read(self, header, **options):
        """Columns of all records below the header, as `options` of the conversion say."""
        head = self.data[:HEAD].to_pybytes()
        data = self.data[len(head) - len(head.lstrip(b"\r\n")) :]
        parse = pyarrow.csv.ParseOptions(
            delimiter=self.delimiter, newlines_in_values=True, ignore_empty_lines=len(header) > 1
        )
        convert = pyarrow.csv.ConvertOptions(**options)
        # a row must fit into a block; ten bytes are more than most values have
        read = pyarrow.csv.ReadOptions(block_size=max(HEAD, 10 * len(header)))
        try:
            table = pyarrow.csv.read_csv(pa.BufferReader(data), read, parse, convert)
        except pa.ArrowInvalid:
            self.find_fault(len(header))
            read.block_size = MAX_LINE
            table = pyarrow.csv.read_csv(pa.BufferReader(data), read, parse, convert)
        return dict(zip(table.column_names, table.columns, strict=True))

    def place(self, row):
        """Line of a row: of one record more, the header."""
        return next(f"line {line}" for n, (line, _) in enumerate(self) if n == row + 1)

    def find_fault(self, n_fields):
        """Refuse the first line that is not as the header says."""
        for line, fields in self:
            if len(fields) != n_fields:
                found = f"{len(fields)} fields where the header has {n_fields}"
                raise Refusal(f"{self.name}: line {line}: {found}")


def _read_parquet(name, data, wish):
    parquet = pyarrow.parquet.ParquetFile(pa.BufferReader(data))
    schema = parquet.schema_arrow
    marked = (schema.pandas_metadata or {}).get("index_columns", [])
    indices = [one for one in schema.names if one in marked or one.startswith("__index_level_")]
    chosen = wish.chosen(name, schema.names, indices)
    check_fits(VALUE * parquet.metadata.num_rows * len(chosen), name)
    table = parquet.read(columns=list(dict.fromkeys([*chosen, *wish.ids])))
    reason = "an index of pandas; to use it, name it in --columns"
    left_out = {} if wish.columns else dict.fromkeys(set(indices).difference(wish.ids), reason)
    columns, ids = ({one: table[one] for one in names} for names in (chosen, wish.ids))
    return Table(name, columns, ids, left_out)


def _read_npz(name, data, wish):
    members = zipfile.ZipFile(pa.BufferReader(data)).infolist()
    check_fits(VALUE / 8 * sum(member.file_size for member in members), name)
    if not all(member.filename.endswith(".npy") for member in members):
        raise Refusal(f"{name}: an archive, but not of NumPy; save a spreadsheet as CSV first")
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
    header = names.astype(str).tolist()
    column = dict(zip(header, X.T, strict=True))
    chosen = wish.chosen(name, header)
    columns, ids = (
        {one: pa.chunked_array([column[one]]) for one in names} for names in (chosen, wish.ids)
    )
    return Table(name, columns, ids)


def _array(archive, key):
    """Array of an archive; None if it is none, or one of objects, which would run code."""
    try:
        found = archive[key]
    except Exception:  # NumPy meets damage with errors of many types
        return None
    return found if isinstance(found, np.ndarray) else None
