"""Samples that are read block by block, for data that memory cannot hold."""

from collections.abc import Callable, Iterable, Iterator
from os import PathLike
from typing import Any

import numpy as np

from separatrix._typing import Array

__all__ = ["RowBlocks", "parquet_batches"]

# Numbers in a block of a Parquet file, 16 MB of float32: many blocks fit into memory.
BLOCK_SIZE = 2**22


def parquet_batches(files, n_rows, columns):
    """Columns of at most so many rows of Parquet files at a time, from a dataset of pyarrow."""
    from pyarrow.parquet import ParquetFile

    for file in files.files:
        # without buffers for what comes next one row group is in memory at a time
        with ParquetFile(file, pre_buffer=False) as parquet:
            yield from parquet.iter_batches(n_rows, columns=columns)


class RowBlocks:
    """Samples that are read block by block in every pass over them.

    Clusterers that take dask arrays take these too: nothing but a block and one label per sample
    is in memory. An array that `numpy.load` maps into memory does not need this: pass it directly.

    Parameters
    ----------
    read : callable
        ``read()`` returns an iterator over arrays of shape (n_rows, n_features), the same ones
        every time it is called.
    shape : tuple of int
        Number of samples and of features.
    dtype : dtype, default=float
        Type that blocks are converted to, float32 or float64.
    columns : list of str, default=None
        Names of the features.

    See Also
    --------
    RowBlocks.from_parquet : Samples in Parquet files.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import MaximinSeparationClustering
    >>> from separatrix.tables import RowBlocks
    >>> def read():
    ...     for seed in range(10):
    ...         rng = np.random.default_rng(seed)
    ...         yield rng.normal(rng.choice([-4, 4], (1000, 1)), 1.0, (1000, 2))
    >>> X = RowBlocks(read, shape=(10_000, 2))
    >>> labels = MaximinSeparationClustering(n_clusters=2).fit_predict(X)
    >>> labels.shape
    (10000,)
    """

    ndim = 2
    is_read_in_blocks = True
    # keeps the results of passes, so that a stopped fit can resume
    checkpoint: Any = None

    def __init__(
        self,
        read: Callable[[], Iterable[Any]],
        shape: tuple[int, int],
        dtype: Any = np.float64,
        columns: list[str] | None = None,
    ) -> None:
        self.read = read
        self.shape = tuple(int(size) for size in shape)
        self.dtype = np.dtype(dtype)
        self.columns = None if columns is None else list(columns)
        if len(self.shape) != 2 or min(self.shape) < 1:
            raise ValueError(f"shape={shape!r} must be the numbers of samples and of features.")
        if self.dtype not in (np.float32, np.float64):
            raise ValueError(f"dtype={self.dtype} must be float32 or float64.")
        if self.columns is not None and len(self.columns) != self.shape[1]:
            raise ValueError(
                f"columns has {len(self.columns)} names but shape={self.shape} has "
                f"{self.shape[1]} features."
            )

    @classmethod
    def from_parquet(
        cls, path: str | PathLike[str], columns: list[str] | None = None
    ) -> "RowBlocks":
        """Samples in a Parquet file, or in all Parquet files of a folder.

        Parameters
        ----------
        path : str or path-like
            The file or the folder.
        columns : list of str, default=None
            Columns to take as features; None takes all, which must be numbers.

        Returns
        -------
        samples : RowBlocks
            In single precision if that holds all columns.
        """
        try:
            from pyarrow import dataset, types
        except ImportError as error:
            raise ImportError("from_parquet needs pyarrow: pip install pyarrow") from error
        files = dataset.dataset(path, format="parquet")
        names = files.schema.names if columns is None else list(columns)
        unknown = [name for name in names if name not in files.schema.names]
        if unknown:
            raise ValueError(
                f"columns names {unknown[0]!r}, which {path} lacks; it has "
                f"{', '.join(map(repr, files.schema.names[:12]))}."
            )
        kinds = {name: files.schema.field(name).type for name in names}
        for name, kind in kinds.items():
            if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
                raise ValueError(
                    f"columns: {name!r} of {path} holds {kind}, not numbers; name the columns "
                    "to take, or prepare the table first."
                )
        single = all(np.can_cast(kind.to_pandas_dtype(), np.float32) for kind in kinds.values())
        dtype = np.float32 if single else np.float64

        def read():
            rows = max(1, BLOCK_SIZE // max(1, len(names)))
            for batch in parquet_batches(files, rows, names):
                columns = (
                    batch.column(name).to_numpy(zero_copy_only=False).astype(dtype, copy=False)
                    for name in names
                )
                yield np.column_stack(list(columns))

        return cls(read, (files.count_rows(), len(names)), dtype, names)

    def __iter__(self) -> Iterator[Array]:
        """Blocks of samples, in their order."""
        n_rows = 0
        for block in self.read():
            block = np.ascontiguousarray(block, dtype=self.dtype)
            if block.ndim != 2 or block.shape[1] != self.shape[1]:
                raise ValueError(
                    f"X.read() returned a block of shape {block.shape}, but samples have "
                    f"{self.shape[1]} features."
                )
            n_rows += len(block)
            if n_rows > self.shape[0]:
                break
            if len(block):
                yield block
        if n_rows != self.shape[0]:
            more = "more than " if n_rows > self.shape[0] else ""
            raise ValueError(
                f"X.read() returned {more}{min(n_rows, self.shape[0])} samples, but shape="
                f"{self.shape} says {self.shape[0]}; it must return all of them, every time."
            )

    def __repr__(self) -> str:
        n_samples, n_features = self.shape
        return f"<{n_samples:,} x {n_features} {self.dtype} samples, read in blocks>"

    def rows(self, drawn: Array | None = None) -> Array:
        """Samples with the given indices, in that order, or all of them.

        Parameters
        ----------
        drawn : array of int, default=None
            Numbers of the samples; None is all of them.

        Returns
        -------
        rows : array of shape (n_drawn, n_features)
            The samples, in memory.
        """
        (rows,) = self.passed("rows", (self._rows(drawn) for _ in range(1)))
        return rows

    def _rows(self, drawn):
        if drawn is None:
            return np.concatenate(list(self))
        drawn = np.asarray(drawn)
        order = np.argsort(drawn, kind="stable")
        wanted, found, start = drawn[order], [], 0
        for block in self:
            inside = slice(*np.searchsorted(wanted, [start, start + len(block)]))
            found.append(block[wanted[inside] - start])
            start += len(block)
        rows = np.empty((len(drawn), self.shape[1]), self.dtype)
        rows[order] = np.concatenate(found)
        return rows

    def mapped(self, function: Callable[[Array], Any], n_features: int) -> "RowBlocks":
        """Samples that a function makes of every block of these.

        Parameters
        ----------
        function : callable
            ``function(block)`` returns as many rows as the block has.
        n_features : int
            Number of features that the function returns.

        Returns
        -------
        blocks : RowBlocks
            The samples that are made, block by block as they are read.
        """

        def read():
            return (function(block) for block in self)

        made = RowBlocks(read, (self.shape[0], n_features), self.dtype)
        made.checkpoint = self.checkpoint
        return made

    def passed(self, name: str, parts: Iterable[Any]) -> Iterable[Any]:
        """Results of a pass over the samples, or of that pass before a fit was stopped.

        Parameters
        ----------
        name : str
            What the pass does.
        parts : iterable
            Its result for each block in turn.

        Returns
        -------
        parts : iterable
            The same, or the results kept in a checkpoint.
        """
        return parts if self.checkpoint is None else self.checkpoint.passed(name, parts)
