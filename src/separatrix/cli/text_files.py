"""Tables in texts: values between commas, semicolons, tabs or bars."""

import codecs
import csv
import io
import re
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, takewhile
from typing import Any

import pyarrow as pa
import pyarrow.csv

from separatrix.cli import Refusal
from separatrix.cli.reading import HEAD, NO_ROWS, VALUE, Table, check_fits, names_of

__all__ = ["MISSING", "read_text"]

MISSING = ["", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?"]  # in texts
DELIMITERS = "\t,;|"
MAX_LINE = 1 << 26  # bytes: a longer line means that the file is not a table
MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}
COMMA = re.compile(r"[-+]?(\d+|\d{1,3}(\.\d{3})+),\d+")
MOST_TRIED = 1000  # values that show whether numbers have decimal commas
MOST_LINES_TRIED = 50  # that show whether the names of the columns are in the first line
CSV_FAULTS = {  # by a part of what the module csv says
    "unexpected end of data": "a quote is not closed",
    "expected after": "text after a closing quote; double it in a text, or put a comma behind it",
    "new-line character": "a carriage return ends no line; convert it, as with tr '\\r' '\\n'",
    "field limit": f"a value of more than {MAX_LINE >> 20} MB; a quote may not be closed",
}
csv.field_size_limit(MAX_LINE)


def read_text(name, data, reading):
    """Table in a text."""
    if reading.sheet:
        raise Refusal(f"{name}: --sheet: a text file has no sheets")
    head = data[:HEAD].to_pybytes()
    if head.startswith(b"\x93N"):
        remedy = "save it with numpy.savez(file, X=X)"
        raise Refusal(f"{name}: the file is a plain NumPy array; {remedy}")
    encoding, is_guess = _encoding(name, head, reading.encoding)
    records = _records(name, data, encoding)
    header = _header(name, records, reading.has_header)
    chosen = reading.chosen(name, header)
    density = (head.count(records.delimiter.encode()) + head.count(b"\n")) / max(len(head), 1)
    check_fits(VALUE * data.size * density * len(chosen) / len(header), name)
    if encoding == "utf-8" and is_guess and not _is_utf8(name, data):
        encoding = "cp1252"
    records = replace(records, data=_as_utf8(name, data, encoding), encoding="utf-8")
    facts: tuple[tuple[str, str], ...] = ()
    if is_guess and encoding not in ("utf-8", "utf-8-sig"):
        facts = (("encoding", f"{encoding}, which is a guess; --encoding names another"),)
    names = tuple(header)

    def read(**options):
        return records.read(names, reading.has_header, **options)

    words = [*MISSING, *reading.missing]
    typed: dict[str, Any] = {"null_values": words, "strings_can_be_null": True}
    # words for true and false stay texts, as in a table that has other words too
    typed |= {"decimal_point": reading.decimal or ".", "true_values": [], "false_values": []}
    texts = dict.fromkeys(reading.text.intersection(chosen), pa.string())
    table = read(include_columns=chosen, column_types=texts, **typed)
    decimal = reading.decimal
    if decimal is None and any(
        _has_decimal_commas(table[one]) for one in set(chosen) - set(texts)
    ):
        decimal = typed["decimal_point"] = ","
        table = read(include_columns=chosen, column_types=texts, **typed)
        facts += (("decimal", "a comma, which is a guess; --decimal . says otherwise"),)
    blocks = (records.data[start : start + HEAD] for start in range(0, records.data.size, HEAD))
    if sum(block.to_pybytes().count(b'"') for block in blocks) % 2:
        records.find_fault(len(names))

    def original(is_typed):
        strings = dict.fromkeys(names, pa.string())
        return read(**typed) if is_typed else read(column_types=strings)

    place = partial(records.place, has_header=reading.has_header)
    return Table(name, header, table, original, place, facts, decimal, records.delimiter)


def _has_decimal_commas(column):
    """Whether the texts of a column are numbers with a decimal comma, beyond doubt."""
    if not pa.types.is_string(column.type):
        return False
    values = column.drop_null()[:MOST_TRIED].to_pylist()
    numbers = [value for value in values if COMMA.fullmatch(value)]
    # of three digits behind it, the comma may separate thousands
    return 2 * len(numbers) > len(values) and any(len(n.split(",")[1]) != 3 for n in numbers)


# --- letters ------------------------------------------------------------------------------------


def _encoding(name, head, asked):
    """Encoding of a text, and whether it is a guess: by its mark, or UTF-8 until shown wrong."""
    if asked:
        try:
            return codecs.lookup(asked).name, False
        except LookupError:
            remedy = "pass one such as utf-8, cp1252, latin1 or utf-16"
            raise Refusal(f"--encoding {asked}: there is no such encoding; {remedy}") from None
    marked = next((found for mark, found in MARKS.items() if head.startswith(mark)), None)
    if marked:
        return marked, False
    if b"\0" in head:
        if head[1:200:2].count(0) > 50 and head[:200:2].count(0) == 0:
            return "utf-16-le", True
        kinds = "text, Parquet, NPZ, Excel, JSON or SQLite"
        raise Refusal(f"{name}: not one of {kinds}: it has NUL bytes; save it as CSV")
    return "utf-8", True


def _is_utf8(name, data):
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, data.size, HEAD):
            block = data[start : start + HEAD].to_pybytes()
            if start and b"\n" not in block and data.size > MAX_LINE:
                return True  # not a table, which is reported when its lines are read
            decoder.decode(block, final=start + HEAD >= data.size)
    except UnicodeDecodeError:
        return False
    return True


def _as_utf8(name, data, encoding):
    """The text in UTF-8."""
    if encoding == "utf-8":
        return data
    if encoding == "utf-8-sig":
        return data[3:]
    errors = "replace" if encoding == "cp1252" else "strict"  # it leaves a few bytes undefined
    try:
        return pa.py_buffer(data.to_pybytes().decode(encoding, errors).encode())
    except UnicodeError as error:
        raise _wrong_encoding(name, encoding, error) from None


def _wrong_encoding(name, encoding, error):
    where = f"byte {getattr(error, 'start', 0):,}"
    return Refusal(f"{name}: {where} is not {encoding}; pass another --encoding, such as cp1252")


# --- names --------------------------------------------------------------------------------------


def _records(name, data, encoding):
    """Records of a text, by the delimiter that makes the most columns."""
    tried = [_Records(name, data, delimiter, encoding) for delimiter in DELIMITERS]
    return max(tried, key=_Records.n_columns)


def _header(name, records, has_header):
    """Names of the columns of a text; refused if it has none."""
    lines = [fields for _, fields in islice(records, 2)]
    if not lines:
        raise Refusal(f"{name}: the file is empty")
    words = [line[0].split() for line in lines if len(line) == 1]
    if len(words) == 2 and min(map(len, words)) > 1 and any(map(_is_value, words[1])):
        remedy = "put commas there, for example with tr -s ' ' ','"
        raise Refusal(f"{name}: line 1: only spaces separate the columns; {remedy}")
    if len(lines[0]) == 1:
        _check_title(name, records)
    if not has_header:
        return [f"column {position}" for position in range(1, len(lines[0]) + 1)]
    if all(map(_is_value, lines[0])):
        remedy = "put the names of the columns above it, or pass --no-header"
        raise Refusal(f"{name}: line 1 has only numbers; {remedy}")
    if len(lines) == 1:
        raise Refusal(f"{name}: {NO_ROWS}")
    return names_of(lines[0])


def _check_title(name, records):
    """Refuse lines of one field above names of columns, of which there are more."""
    for delimiter in DELIMITERS:
        try:
            first = list(islice(replace(records, delimiter=delimiter), MOST_LINES_TRIED))
        except Refusal:  # of quotes, which this delimiter does not separate
            continue
        above = list(takewhile(lambda record: len(record[1]) == 1, first))
        header, *rows = first[len(above) :] or [(0, [])]
        rows = [fields for _, fields in rows if any(fields)]
        if not rows or any(map(_is_value, header[1])):
            continue
        if all(len(row) == len(header[1]) and any(map(_is_value, row)) for row in rows):
            told = f"line {header[0]} has {len(header[1])} fields, and line 1 has one"
            remedy = "delete the lines above the names of the columns"
            raise Refusal(f"{name}: {told}; {remedy}")


def _is_value(text):
    """Whether this is a number or a missing value, and so not the name of a column."""
    try:
        float(text)
    except ValueError:
        return text.strip() in MISSING
    return True


# --- records ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Records:
    """Line number and fields of each record, slowly but with good errors.

    An empty line is a missing value where there is one column, and no record where there are more.
    """

    name: str
    data: pa.Buffer
    delimiter: str
    encoding: str

    def _lines(self):
        stream = io.BufferedReader(pa.BufferReader(self.data))
        if self.encoding.startswith("utf-16"):
            try:
                yield from io.TextIOWrapper(stream, self.encoding, newline="")
            except UnicodeError as error:
                raise _wrong_encoding(self.name, self.encoding, error) from None
            return
        for number, line in enumerate(iter(lambda: stream.readline(MAX_LINE), b""), 1):
            if len(line) == MAX_LINE:
                raise Refusal(f"{self.name}: line {number}: far too long; this is not a table")
            try:
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:  # what else it may be is found when all of it is read
                yield line.decode("latin1")

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

    def read(self, names, has_header, **options):
        """Columns of all records below the header, as `options` of the conversion say."""
        head = self.data[:HEAD].to_pybytes()
        data = self.data[len(head) - len(head.lstrip(b"\r\n")) :]
        parse = pyarrow.csv.ParseOptions(
            delimiter=self.delimiter, newlines_in_values=True, ignore_empty_lines=len(names) > 1
        )
        convert = pyarrow.csv.ConvertOptions(**options)
        # a row must fit into a block; ten bytes are more than most values have
        read = pyarrow.csv.ReadOptions(
            block_size=max(HEAD, 10 * len(names)),
            column_names=list(names),
            skip_rows_after_names=int(has_header),
        )
        try:
            table = pyarrow.csv.read_csv(pa.BufferReader(data), read, parse, convert)
        except pa.ArrowInvalid:
            self.find_fault(len(names))
            read.block_size = MAX_LINE
            table = pyarrow.csv.read_csv(pa.BufferReader(data), read, parse, convert)
        return table

    def place(self, row, has_header):
        """Line of a row: of one record more, the header."""
        return next(f"line {line}" for n, (line, _) in enumerate(self) if n == row + has_header)

    def find_fault(self, n_fields):
        """Refuse the first line that is not as the header says."""
        for line, fields in self:
            if len(fields) != n_fields:
                found = f"{len(fields)} fields where the header has {n_fields}"
                held = f"put quotes around a value that has {self.delimiter!r} in it"
                remedy = held if len(fields) > n_fields else "complete the line, or delete it"
                raise Refusal(f"{self.name}: line {line}: {found}; {remedy}")
