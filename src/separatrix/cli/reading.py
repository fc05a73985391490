"""Tables from files of many kinds and from standard input, or one line of refusal."""

import io
import os
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from separatrix._output import quoted
from separatrix.cli import Refusal
from separatrix.data.memory import physical_memory

__all__ = ["HEAD", "VALUE", "Reading", "Table", "check_fits", "names_of", "read_table"]

NO_ROWS = "there are names of columns, but no rows of data"
HEAD = 1 << 20  # bytes by which the kind of a file and the density of values in a text are found
VALUE = 3 * 8  # bytes of memory for each value: as read, encoded, and in the estimator
COMPRESSED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2"}  # by first bytes
INDEX = "is the index of pandas; --columns names it to use it"


@dataclass(frozen=True)
class Reading:
    """What to read of a file, and how: the options of the command line that say so."""

    columns: list[str] | None = None  # all if None
    id_column: str | None = None
    besides: tuple[str, ...] = ()  # columns to read as well
    truth: str | None = None  # a column to read first, so that what repeats it is not used
    text: frozenset[str] = frozenset()  # columns to read as texts
    decimal: str | None = None
    missing: tuple[str, ...] = ()  # words for missing values, besides the usual ones
    encoding: str | None = None
    sheet: str | None = None
    has_header: bool = True

    def chosen(self, name, header, indices=()):
        """Columns to read, of those that there are."""
        there = set(header)
        first = [self.truth] if self.truth else []
        for column in [*(self.columns or ()), *self.besides, *first, *self.ids]:
            if column not in there:
                found = f"there is no column {column!r}; there are {quoted(header)}"
                remedy = "; --id-column '' numbers the rows" if column in self.ids else ""
                raise Refusal(f"{name}: {found}{remedy}")
        apart = {*self.ids, *indices}
        chosen = self.columns or [one for one in header if one not in apart]
        chosen = list(dict.fromkeys([*first, *chosen, *self.besides]))
        if not chosen:
            raise Refusal(f"{name}: no column to cluster by; there are {quoted(header) or 'none'}")
        return chosen

    @property
    def ids(self):
        """The column that names the rows, if any."""
        return [self.id_column] if self.id_column else []


@dataclass(frozen=True)
class Table:
    """A table of a file.

    `header` names all columns; `data` has those that were asked for, as numbers, dates and texts;
    ``original(typed)`` reads all as they are in the file, of a text letter by letter unless
    `typed`; ``place(row)`` says where in the file a row, counted from 0, stands; `facts` are what
    a reader should know of how it was read, by name. Of a table that memory cannot hold, `data` is
    a sample, and `large` has all rows.
    """

    name: str
    header: list[str]
    data: pa.Table
    original: Callable[[bool], pa.Table]
    place: Callable[[int], str] = lambda row: f"row {row + 1}"
    facts: tuple[tuple[str, str], ...] = ()
    decimal: str | None = None  # sign before the fraction of numbers, where it is known
    delimiter: str = ","  # sign between the values of a text
    large: Any = None  # all rows of a table of which `data` is a sample

    @property
    def signs(self):
        """Signs between and within the values of a text."""
        return {"delimiter": self.delimiter, "decimal": self.decimal or "."}

    @cached_property
    def columns(self):
        """The same columns as arrays, which is all that the other modules look at."""
        from separatrix.tables.columns import columns_of

        return columns_of(self.data)


def names_of(header):
    """Unique names of columns: those without a name get their number, repeated names a suffix."""
    names = {}
    taken = set(header)
    for position, given in enumerate(header, 1):
        name = given if given.strip() else f"column {position}"
        number = 1
        while name in names or (name != given and name in taken):
            name, number = f"{given.strip() or 'column'}.{number}", number + 1
        names[name] = position
    return list(names)


def check_fits(n_bytes, name, remedy="pick --columns, or sample its rows"):
    """Refuse what memory cannot hold, before it is read."""
    memory = physical_memory()
    if n_bytes > memory:
        raise Refusal(
            f"{name}: too large: needs about {n_bytes / 1e9:.3g} GB of memory where this machine "
            f"has {memory / 1e9:.3g} GB; {remedy}"
        )


def read_table(path, reading):
    """Table in a file, whose kind is found from its first bytes."""
    name = "standard input" if path == "-" else path
    if path != "-" and (os.path.isdir(path) or path.endswith(".parquet")):
        from separatrix.cli.large_tables import is_large, read_large_table

        if is_large(path, reading.columns):
            return read_large_table(path, reading)
    try:
        table = _read(name, _unpacked(name, _bytes_of(path, name)), reading)
    except OSError as error:
        raise Refusal(f"{name}: {error.strerror or error}") from error
    except (pa.ArrowException, ValueError, zipfile.BadZipFile, NotImplementedError) as error:
        raise Refusal(f"{name}: cannot be read: {error}") from error
    if table.data.num_rows == 0:
        raise Refusal(f"{name}: {NO_ROWS}")
    return table


def _read(name, data, reading):
    """Table of bytes; what only some files need is imported for these."""
    from separatrix.cli import other_files as files

    start = data[:200].to_pybytes()
    if start.startswith(b"PAR1"):
        return files.read_parquet(name, data, reading)
    if start.startswith(b"PK\3\4"):
        members = zipfile.ZipFile(pa.BufferReader(data)).namelist()
        is_workbook = any(member.startswith("xl/") for member in members)
        return (files.read_workbook if is_workbook else files.read_npz)(name, data, reading)
    if start.startswith(b"\xd0\xcf\x11\xe0"):
        return files.read_workbook(name, data, reading)
    if start.startswith(b"SQLite format 3\0"):
        return files.read_sqlite(name, data, reading)
    if re.match(rb'\s*(\{\s*["}]|\[\s*[\[{])', start):
        return files.read_json(name, data, reading)
    from separatrix.cli.text_files import read_text

    return read_text(name, data, reading)


def _bytes_of(path, name):
    """Bytes of a file, which is mapped, or of a stream, which is read."""
    if path != "-" and Path(path).is_file() and os.path.getsize(path):
        return pa.memory_map(path).read_buffer()
    with open(0 if path == "-" else path, "rb", closefd=path != "-") as stream:
        return _poured(stream, name)


def _poured(stream, name):
    data = bytearray()
    while chunk := stream.read(64 * HEAD):
        data += chunk
        check_fits(3 * len(data), name)
    return pa.py_buffer(data)


def _unpacked(name, data):
    """The bytes within a compressed file, or within an archive of one text."""
    start = data[:4].to_pybytes()
    codec = next((one for magic, one in COMPRESSED.items() if start.startswith(magic)), None)
    if codec:
        try:
            return _poured(pa.CompressedInputStream(pa.BufferReader(data), codec), name)
        except OSError as error:
            remedy = f"damaged, or cut off: {error}; copy it again"
            raise Refusal(f"{name}: not all of it can be unpacked: {remedy}") from error
    if start == b"PK\3\4":
        with zipfile.ZipFile(pa.BufferReader(data)) as archive:
            members = [one for one in archive.namelist() if not one.startswith("__MACOSX/")]
            is_text = len(members) == 1 and not members[0].endswith(".npy")
            if is_text and not members[0].startswith("xl/"):
                with archive.open(members[0]) as stream:
                    return _unpacked(name, _poured(io.BufferedReader(stream), name))
    return data
