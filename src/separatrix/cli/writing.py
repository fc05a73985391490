"""Output files that appear whole or not at all."""

import csv
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from separatrix.cli import Refusal

__all__ = ["Outputs", "write_labels"]


class Outputs:
    """Files made beside their places and moved there together, when the work is done.

    Paths that cannot be written are refused on entry, before any work; "-" is standard output.
    If the work ends by an error or an interrupt, no trace of it remains.
    """

    def __init__(self, source, **paths):
        self._source = source
        self._paths = {kind: path for kind, path in paths.items() if path}
        self._staged: dict[str, str] = {}

    def __getitem__(self, kind):
        """File to write this output to; None if it is not wanted."""
        return self._staged.get(kind)

    def __enter__(self):
        try:
            for kind, path in self._paths.items():
                self._stage(kind, Path(path).resolve())
        except BaseException as error:
            self._discard()
            if isinstance(error, OSError):
                raise Refusal(f"{path}: cannot be written: {error.strerror}") from error
            raise
        return self

    def __exit__(self, error_type, error, traceback):
        try:
            if error is None:
                self._deliver()
        except OSError as failure:
            error = failure
        finally:
            self._discard()
        if isinstance(error, OSError):  # such as a full disk
            raise Refusal(f"output: cannot be written: {error.strerror}") from error

    def _deliver(self):
        files_first = sorted(self._staged, key=lambda kind: self._paths[kind] == "-")
        for kind in files_first:
            staged, path = self._staged[kind], self._paths[kind]
            with open(staged, "r+b") as file:
                os.fsync(file.fileno())
                if path == "-":
                    # a reader that has seen enough is no error
                    with suppress(BrokenPipeError), open(1, "wb", closefd=False) as stream:
                        shutil.copyfileobj(file, stream)
            if path != "-":
                os.replace(staged, Path(path).resolve())

    def _stage(self, kind, path):
        if self._paths[kind] == "-":
            handle, self._staged[kind] = tempfile.mkstemp()
            os.close(handle)
            return
        if path == Path(self._source).resolve():
            raise Refusal(f"{path}: the output would overwrite the input")
        if [Path(other).resolve() for other in self._paths.values()].count(path) > 1:
            raise Refusal(f"{path}: two outputs have this name")
        if path.exists() and not (path.is_file() and os.access(path, os.W_OK)):
            raise Refusal(f"{path}: cannot be written: not a file with write permission")
        handle, self._staged[kind] = tempfile.mkstemp(path.suffix, f".{path.stem}-", path.parent)
        os.close(handle)
        os.umask(mask := os.umask(0))
        os.chmod(self._staged[kind], path.stat().st_mode if path.exists() else 0o666 & ~mask)

    def _discard(self):
        for staged in self._staged.values():
            Path(staged).unlink(missing_ok=True)


def write_labels(path, ids, labels, confidence=None):
    """Write a row for each label, as CSV, TSV or Parquet by the ending of `path`."""
    columns = {**(ids or {"row": np.arange(1, len(labels) + 1)}), "cluster": labels}
    if confidence is not None:
        columns["confidence"] = confidence.round(4)
    table = pa.table(columns)
    if path.endswith(".parquet"):
        pyarrow.parquet.write_table(table, path)
        return
    with open(path, "w", encoding="utf-8", newline="") as file:
        delimiter = "\t" if path.endswith(".tsv") else ","
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow(table.column_names)
        if all(map(pa.types.is_primitive, table.schema.types)):  # no quotes, so that it is fast
            file.flush()
            plain = pyarrow.csv.WriteOptions(include_header=False, delimiter=delimiter)
            pyarrow.csv.write_csv(table, file.buffer, plain)
        else:
            writer.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))
