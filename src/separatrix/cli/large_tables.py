"""Parquet tables that memory cannot hold: read, clustered and written block by block."""

import os
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet

import separatrix
from separatrix._output import quoted
from separatrix.cli import Refusal
from separatrix.cli.reading import NO_ROWS, VALUE, Table
from separatrix.cli.writing import with_labels
from separatrix.data.blocks import RowBlocks, parquet_batches
from separatrix.data.memory import physical_memory

__all__ = ["LargeTable", "is_large", "read_large_table"]

# Rows that a preparer is fitted to, and that reports and profiles show.
SAMPLE_ROWS = 50_000
BLOCK_ROWS = 200_000


def is_large(path, columns):
    """Whether a table is read block by block: a folder, or a Parquet file beyond memory."""
    if os.path.isdir(path):
        return True
    try:
        with open(path, "rb") as file:
            if file.read(4) != b"PAR1":
                return False
        metadata = pyarrow.parquet.read_metadata(path)
    except (OSError, pa.ArrowException):  # reading the whole table will report the problem
        return False
    n_columns = len(columns) if columns else metadata.num_columns
    return VALUE * metadata.num_rows * n_columns > physical_memory()


def read_large_table(path, reading):
    """A sample of the rows of a large table as a table, which knows where the others are."""
    try:
        files = _files_of(path)
        if not files.files:
            raise Refusal(f"{path}: there are no Parquet files in this folder")
        large = LargeTable(path, files, reading)
        if large.n_rows == 0:
            raise Refusal(f"{path}: {NO_ROWS}")
        data = large.sample(large.columns)
    except OSError as error:
        raise Refusal(f"{path}: {error.strerror or error}") from error
    except (pa.ArrowException, ValueError) as error:
        raise Refusal(f"{path}: cannot be read: {error}") from error
    told = f"{data.num_rows:,} of {large.n_rows:,} random rows decide how to prepare the others"
    return Table(
        path,
        files.schema.names,
        data,
        lambda typed: large.sample(files.schema.names),
        facts=(("sampled", told),),
        large=large,
    )


def _files_of(path):
    """The Parquet files of a folder, or a Parquet file; a file of another kind is named."""
    try:
        return pyarrow.dataset.dataset(path, format="parquet")
    except pa.ArrowInvalid:
        for folder, _, names in sorted(os.walk(path)):
            for name in sorted(one for one in names if not one.startswith((".", "_"))):
                with open(os.path.join(folder, name), "rb") as file:
                    if file.read(4) != b"PAR1":
                        remedy = "name one file, or a folder that has only Parquet files"
                        raise Refusal(f"{path}: {name!r} there is not Parquet; {remedy}") from None
        raise


@dataclass(frozen=True)
class LargeTable:
    """The rows of Parquet files, a block at a time."""

    name: str
    files: Any  # a dataset of pyarrow
    reading: Any

    @cached_property
    def columns(self):
        """Columns that are asked for."""
        names = self.files.schema.names
        if twice := sorted({one for one in names if names.count(one) > 1}):
            raise Refusal(
                f"{self.name}: two columns are called {quoted(sorted(twice))}; rename one"
            )
        return self.reading.chosen(self.name, names)

    @cached_property
    def n_rows(self):
        """Number of rows."""
        return self.files.count_rows()

    def blocks(self, columns=None):
        """Tables of some rows each, in their order; of all columns if none are named."""
        names = self.files.schema.names if columns is None else columns
        for batch in parquet_batches(self.files, BLOCK_ROWS, names):
            yield pa.Table.from_batches([batch]).select(names)

    def sample(self, columns):
        """Columns of rows drawn by chance, the same each time, in their order."""
        n_drawn = min(SAMPLE_ROWS, self.n_rows)
        drawn = np.sort(np.random.default_rng(0).choice(self.n_rows, n_drawn, replace=False))
        parts, start = [], 0
        for block in self.blocks(columns):
            inside = slice(*np.searchsorted(drawn, [start, start + block.num_rows]))
            parts.append(block.take(drawn[inside] - start))
            start += block.num_rows
        return pa.concat_tables(parts).combine_chunks()

    def features(self, preparer):
        """Features of all rows, as a fitted preparer makes them, read again for each pass."""
        from separatrix.tables.columns import columns_of

        used = [made.column for made in preparer.features_]
        # scaled features need no more than single precision, and take half of the time
        dtype = np.float64 if preparer.scaler_ is None else np.float32

        def read():
            for block in self.blocks(used):
                yield preparer.transform(columns_of(block))

        return RowBlocks(read, (self.n_rows, len(preparer.get_feature_names_out())), dtype)

    def task(self, preparer, estimator):
        """What the clusters of all rows depend on, by name."""
        files = [(os.path.abspath(file), os.stat(file)) for file in self.files.files]
        return {
            "version": separatrix.__version__,
            "files": [[file, told.st_size, told.st_mtime_ns] for file, told in files],
            "features": list(preparer.get_feature_names_out()),
            "preparation": repr(preparer.get_params()),
            "method": repr(estimator.get_params()),
            "estimator": type(estimator).__name__,
            "block_rows": BLOCK_ROWS,
        }

    def write_labels(self, path, labels, *, columns=None):
        """Write columns, all if None, and the labels of the rows, by the ending of `path`.

        Without any column, rows have their numbers from 1.
        """
        tables = self._labelled(labels, columns)
        if path.endswith(".parquet"):
            first = next(tables)
            with pyarrow.parquet.ParquetWriter(path, first.schema) as writer:
                for table in chain([first], tables):
                    writer.write_table(table)
            return
        delimiter = "\t" if path.endswith(".tsv") else ","
        with open(path, "wb") as file:
            for number, table in enumerate(tables):
                options = pyarrow.csv.WriteOptions(include_header=number == 0, delimiter=delimiter)
                pyarrow.csv.write_csv(table, file, options)

    def _labelled(self, labels, columns):
        start = 0
        for block in self.blocks(self.files.schema.names[:1] if columns == [] else columns):
            stop = start + block.num_rows
            if columns == []:
                block = pa.table({"row": np.arange(start + 1, stop + 1)})
            yield with_labels(block, labels[start:stop])
            start = stop
