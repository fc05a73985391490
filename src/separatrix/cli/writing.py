"""Output files that appear whole or not at all."""

import csv
import io
import os
import shutil
import signal
import sys
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from separatrix._staging import staged
from separatrix.cli import TO_END, Refusal, answering, printable

__all__ = ["Outputs", "check_outputs", "with_labels", "write_labels"]

OUTPUTS = ("cluster", "confidence")  # columns that are written
ENDINGS = {"labels": (".csv", ".tsv", ".parquet"), "report": (".html",), "model": (".skops",)}


class Outputs:
    """Files made next to their destinations and moved there together when the work is done.

    Paths that cannot be written, or that are one of the `sources`, are refused on entry, before
    any work. "-" is standard output. Standard output and other special files, such as pipes and
    devices, are written before the files are moved. After an error or an interrupt no trace of the
    work remains; if it was killed, the next run removes what it left.
    """

    def __init__(self, *sources, **paths):
        self._sources = sources
        self._paths = {kind: path for kind, path in paths.items() if path}
        self._staged: dict[str, str] = {}  # files in the making
        self._cleanup = ExitStack()

    def __getitem__(self, kind):
        """File to write this output to; None if it is not wanted."""
        return self._staged.get(kind)

    def __enter__(self):
        try:
            for kind, path in self._paths.items():
                self._check(kind, path)
                self._stage(kind, path)
        except BaseException as error:
            self._cleanup.close()
            if isinstance(error, OSError):
                raise Refusal(f"{path}: cannot be written: {error.strerror}") from error
            raise
        # a reader that stops reading must not leave files behind
        self._cleanup.enter_context(answering(signal.SIG_IGN, "SIGPIPE"))
        return self

    def __exit__(self, error_type, error, traceback):
        try:
            with self._cleanup:
                if error is None:
                    self._deliver()
        except OSError as failure:
            error = failure
        if isinstance(error, OSError):  # such as a full disk
            raise Refusal(f"output: cannot be written: {error.strerror}") from error

    def _check(self, kind, path):
        if list(map(_place, self._paths.values())).count(_place(path)) > 1:
            where = "standard output" if path == "-" else path
            raise Refusal(f"{where}: two outputs would go there; name another file for the {kind}")
        if path == "-" and sys.stdout is None:
            raise Refusal(f"standard output: it is closed; name a file for the {kind}")
        if os.path.isfile(path) and any(_is_same(path, source) for source in self._sources):
            raise Refusal(f"{path}: the output would overwrite the input; name another file")
        if os.path.exists(path) and (os.path.isdir(path) or not os.access(path, os.W_OK)):
            raise Refusal(f"{path}: cannot be written: not a file with write permission")
        ending = Path(path).suffix
        if ending and ending.lower() not in ENDINGS[kind]:
            known = " or ".join(ENDINGS[kind])
            raise Refusal(f"{path}: the {kind} cannot be written as {ending}; name it {known}")

    def _stage(self, kind, path):
        place = Path(tempfile.gettempdir(), "separatrix") if _is_stream(path) else _place(path)
        folder = self._cleanup.enter_context(staged(place))
        made = folder / f"{kind}{Path(path).suffix.lower()}"
        made.touch()
        self._staged[kind] = str(made)

    def _deliver(self):
        moves = {}
        for kind, path in self._paths.items():
            with open(self._staged[kind], "r+b") as file:
                os.fsync(file.fileno())
                if not _is_stream(path):
                    moves[self._staged[kind]] = place = _place(path)
                    if place.exists():
                        os.chmod(self._staged[kind], place.stat().st_mode)
                    continue
                target = 1 if path == "-" else path
                # a reader that stops early is not an error
                with suppress(BrokenPipeError), open(target, "wb", closefd=target != 1) as stream:
                    _pour(file, stream)
        waiting: list[int] = []
        with answering(lambda number, frame: waiting.append(number), *TO_END):
            for staged, place in moves.items():
                os.replace(staged, place)
        for number in waiting:
            signal.raise_signal(number)


def _place(path):
    """Where an output goes in the end, behind all links."""
    return Path(os.path.realpath("/dev/stdout" if path == "-" else path))


def _is_stream(path):
    """Whether this is written to as it is, and not replaced by another file."""
    return path == "-" or (os.path.exists(path) and not os.path.isfile(path))


def _pour(file, stream):
    """Copy a file to a stream; control characters are escaped if it is a terminal."""
    if not stream.isatty():
        shutil.copyfileobj(file, stream)
        return
    for line in file:
        cells = line.decode(errors="surrogateescape").rstrip("\n").split("\t")
        stream.write(("\t".join(map(printable, cells)) + "\n").encode())


def _is_same(path, source):
    try:
        return os.path.samefile(path, 0 if source == "-" else source)
    except OSError:
        return False


def check_outputs(table, dropped=()):
    """Refuse a table whose columns have the names of outputs, unless they are dropped."""
    for name in OUTPUTS:
        if name in table.header and name not in dropped:
            remedy = f"pass --drop {name} to replace it, or --labels-only"
            raise Refusal(f"{table.name}: column {name!r} has the name of an output; {remedy}")


def with_labels(table, labels, confidence=None, decimal="."):
    """A table with the labels of its rows behind its columns."""
    table = table.drop_columns([name for name in OUTPUTS if name in table.column_names])
    table = table.append_column("cluster", pa.array(labels))
    if confidence is not None:
        values = confidence.round(4)
        if decimal != ".":
            values = [str(value).replace(".", decimal) for value in values]
        table = table.append_column("confidence", pa.array(values))
    return table


def write_labels(path, columns, labels, confidence=None, *, delimiter=",", decimal="."):
    """Write columns of a table and the labels of its rows, by the ending of `path`.

    `columns` is a table of Arrow or a dict; without any, rows have their numbers from 1.
    `delimiter` and `decimal` are the signs between and within the values of the table that was
    read: a text is written with the same, but for tabs, which are those of .tsv alone.
    """
    table = pa.table(columns or {"row": np.arange(1, len(labels) + 1)})
    if path.endswith(".parquet"):
        pyarrow.parquet.write_table(with_labels(table, labels, confidence), path)
        return
    table = with_labels(table, labels, confidence, decimal)
    if path.endswith(".tsv"):
        delimiter = "\t"
    elif path.endswith(".csv") and delimiter == "\t":
        delimiter = ","
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow(table.column_names)
        file.flush()
        plain = pyarrow.csv.WriteOptions(
            include_header=False, delimiter=delimiter, quoting_style="none"
        )
        try:
            pyarrow.csv.write_csv(table, file.buffer, plain)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # a value needs quotes
            file.truncate(len(_line(table.column_names, delimiter)))
            file.seek(0, os.SEEK_END)
            writer.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _line(cells, delimiter):
    """A line of a table in bytes."""
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerow(cells)
    return text.getvalue().encode()
