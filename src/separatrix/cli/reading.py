"""Tables from CSV, TSV, Parquet and NPZ files and from standard input, or one line of refusal."""

import csv
import io
import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from separatrix.cli import Refusal
from separatrix.kernels import physical_memory

__all__ = ["Table", "check_fits", "read_table"]

MISSING = ["", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?"]
HEAD = 1 << 20  # bytes that tell what a file holds and how dense the values of a text are
MAX_LINE = 1 << 26  # bytes: what has no end of line by then is no table
NO_TABLE = {  # by their first bytes
    b"\x1f\x8b": "compressed; unpack it first, for example with gunzip",
    b"\xff\xfe": "UTF-16; convert it, for example with iconv -f utf-16 -t utf-8",
    b"\xfe\xff": "UTF-16; convert it, for example with iconv -f utf-16 -t utf-8",
}
VALUE = 3 * 8  # bytes of memory for each value: as read, encoded, and in the estimator


@dataclass(frozen=True)
class Table:
    """Named columns; ``place(row)`` says where in the file a row, counted from 0, stands."""

    name: str
    columns: dict[str, pa.ChunkedArray]
    place: Callable[[int], str] = lambda row: f"row {row + 1}"

    @property
    def n_rows(self):
        """Number of rows."""
        return len(next(iter(self.columns.values()), ()))


def check_fits(n_bytes, name, remedy="pick --columns, or sample its rows"):
    """Refuse what memory cannot hold, before it is read."""
    memory = physical_memory()
    if n_bytes > memory:
        raise Refusal(
            f"{name}: too large: needs about {n_bytes / 1e9:.3g} GB of memory where this machine "
            f"has {memory / 1e9:.3g} GB; {remedy}"
        )


def read_table(path, *, columns=None, text=()):
    """Table in a file, told by its first bytes; only some `columns`, those in `text` as text."""
    name = "standard input" if path == "-" else path
    try:
        data = _bytes_of(path, name)
        if data.size < 4:
            raise Refusal(f"{name}: the file is empty")
        read = {b"PAR1": _read_parquet, b"PK\3\4": _read_npz}.get(data[:4].to_pybytes())
        table = read(name, data, columns) if read else _read_text(name, data, columns, set(text))
    except OSError as error:
        raise Refusal(f"{name}: {error.strerror or error}") from error
    except (pa.ArrowException, ValueError, zipfile.BadZipFile) as error:
        raise Refusal(f"{name}: {error}") from error
    if table.n_rows == 0:
        raise Refusal(f"{name}: there are no rows of data")
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


def _chosen(name, header, wanted):
    """Columns to read, from a header that must be sound."""
    for position, column in enumerate(header):
        if not column.strip():
            raise Refusal(f"{name}: header: column {position + 1} has no name")
        if column in header[:position]:
            raise Refusal(f"{name}: header: two columns are called {column!r}")
    for column in wanted or ():
        if column not in header:
            listed = ", ".join(header[:12]) + ", ..." * (len(header) > 12)
            raise Refusal(f"{name}: there is no column {column!r}; there are {listed}")
    return list(dict.fromkeys(wanted or header))


def _read_text(name, data, wanted, text):
    head = data[:HEAD].to_pybytes()
    if found := NO_TABLE.get(head[:2]):
        raise Refusal(f"{name}: the file is {found}")
    if b"\0" in head:
        raise Refusal(f"{name}: neither UTF-8 text nor Parquet nor NPZ: it has NUL bytes")
    first_line = head.lstrip(b"\r\n").split(b"\n", 1)[0]
    delimiter = max("\t,;", key=lambda one: first_line.count(one.encode()))
    records = _Records(name, data, delimiter)
    _, header = next(iter(records), (1, []))
    if not header:
        raise Refusal(f"{name}: the file is empty")
    chosen = _chosen(name, header, wanted)
    density = (head.count(delimiter.encode()) + head.count(b"\n")) / len(head)
    check_fits(VALUE * data.size * density * len(chosen) / len(header), name)
    if all(column.lstrip("+-").replace(".", "", 1).isdigit() for column in header):
        raise Refusal(f"{name}: line 1 has only numbers; put the names of the columns above it")
    # a row must fit into a block; ten bytes are more than most values have
    read = pyarrow.csv.ReadOptions(block_size=max(HEAD, 10 * len(header)))
    parse = pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    convert = pyarrow.csv.ConvertOptions(
        include_columns=chosen,
        column_types={column: pa.string() for column in text & set(chosen)},
        null_values=MISSING,
        strings_can_be_null=True,
    )
    try:
        table = pyarrow.csv.read_csv(pa.BufferReader(data), read, parse, convert)
    except pa.ArrowInvalid:
        records.find_fault(len(header))
        raise
    blocks = (data[start : start + HEAD] for start in range(0, data.size, HEAD))
    n_quotes = sum(block.to_pybytes().count(b'"') for block in blocks)
    is_text = not any(pa.types.is_binary(column.type) for column in table.columns)
    if n_quotes % 2 or not is_text:
        records.find_fault(len(header))
    return Table(name, dict(zip(chosen, table.columns, strict=True)), records.place)


@dataclass(frozen=True)
class _Records:
    """Line number and fields of each record that is not blank, slowly but with good errors."""

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
        records, line = csv.reader(self._lines(), delimiter=self.delimiter, strict=True), 0
        try:
            for fields in records:
                line = records.line_num
                if fields:
                    yield line, fields
        except csv.Error as error:
            reason = str(error).replace("unexpected end of data", "a quote is not closed")
            raise Refusal(f"{self.name}: line {line + 1}: {reason}") from None

    def place(self, row):
        """Line of a row: of one record more, the header."""
        return next(f"line {line}" for n, (line, _) in enumerate(self) if n == row + 1)

    def find_fault(self, n_fields):
        """Refuse the first line that is not as the header says."""
        for line, fields in self:
            if len(fields) != n_fields:
                found = f"{len(fields)} fields where the header has {n_fields}"
                raise Refusal(f"{self.name}: line {line}: {found}")


def _read_parquet(name, data, wanted):
    parquet = pyarrow.parquet.ParquetFile(pa.BufferReader(data))
    chosen = _chosen(name, parquet.schema_arrow.names, wanted)
    check_fits(VALUE * parquet.metadata.num_rows * len(chosen), name)
    table = parquet.read(columns=chosen)
    return Table(name, {column: table[column] for column in chosen})


def _read_npz(name, data, wanted):
    members = zipfile.ZipFile(pa.BufferReader(data)).infolist()
    check_fits(VALUE / 8 * sum(member.file_size for member in members), name)
    if not all(member.filename.endswith(".npy") for member in members):
        raise Refusal(f"{name}: an archive, but not of NumPy; save a spreadsheet as CSV first")
    arrays = dict(np.load(pa.BufferReader(data), allow_pickle=False))
    matrices = [key for key, array in arrays.items() if array.ndim == 2]
    if "X" not in matrices and len(matrices) != 1:
        raise Refusal(f"{name}: holds {list(arrays)}; needs one matrix, or one called X")
    X = arrays["X" if "X" in matrices else matrices[0]]
    header = [str(column) for column in arrays.get("feature_names", range(X.shape[1]))]
    if len(header) != X.shape[1]:
        raise Refusal(f"{name}: {len(header)} feature_names for {X.shape[1]} columns")
    chosen = _chosen(name, header, wanted)
    return Table(name, {c: pa.chunked_array([X[:, header.index(c)]]) for c in chosen})
