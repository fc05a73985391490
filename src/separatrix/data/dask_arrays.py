"""Passes over dask arrays: the chunk functions of the local passes, run block by block."""

from operator import add

import dask
import numpy as np

from separatrix.data.gate import check_block


def float_blocks(X, name):
    """`X` as a float dask array of known size, one block per row range if it has columns."""
    if hasattr(X, "to_dask_array"):
        X = X.to_dask_array(lengths=True)
    elif not hasattr(X, "to_delayed"):  # an array of xarray that holds a dask array
        X = X.data
    if X.dtype.kind not in "fiub":
        raise ValueError(
            f"{name} must be numeric, but its dask array holds {X.dtype}; convert it with astype."
        )
    if X.dtype not in (np.float64, np.float32):
        X = X.astype(np.float64)
    if any(np.isnan(size) for size in X.shape):
        X = X.compute_chunk_sizes()
    return X.rechunk({1: -1}) if X.ndim == 2 and X.numblocks[1] > 1 else X


def _row_bounds(X):
    return np.concatenate([[0], np.cumsum(X.chunks[0])])


def map_blocks(function, X, *row_arrays, **shared):
    """Yield ``function`` of each row block of the dask array `X`, as `map_chunks` does.

    The row arrays are local; each block is sent its own rows of them.
    """
    yield from dask.compute(*_tasks(function, X, row_arrays, shared))


def sum_blocks(function, X, *row_arrays, **shared):
    """Sum of ``function`` of all row blocks, of which the client sees the total alone."""
    parts, plus = _tasks(function, X, row_arrays, shared), dask.delayed(add, pure=True)
    while len(parts) > 1:  # neighbours first, so that no more parts wait than the tree is high
        pairs = zip(parts[::2], parts[1::2], strict=False)
        parts = [plus(*pair) for pair in pairs] + parts[len(parts) // 2 * 2 :]
    return parts[0].compute()


def _tasks(function, X, row_arrays, shared):
    """Tasks of the row blocks of `X`, in their order."""
    bounds = _row_bounds(X)
    task = dask.delayed(function, pure=True)
    # arguments that all blocks share become one node of the graph instead of one per block
    shared = {name: dask.delayed(value, traverse=False) for name, value in shared.items()}
    return [
        task(block, *(a if a is None else a[start:stop] for a in row_arrays), **shared)
        for block, start, stop in zip(X.to_delayed().ravel(), bounds[:-1], bounds[1:], strict=True)
    ]


def lazy_rows(function, X, *, n_columns, dtype):
    """Dask array of ``function(block)`` per row block; `n_columns` is None for a vector."""
    shape = {"drop_axis": 1} if n_columns is None else {"chunks": (X.chunks[0], (n_columns,))}
    return X.map_blocks(_of_checked_block, function=function, dtype=dtype, **shape)


def _of_checked_block(block, *, function):
    check_block(block)
    return function(block)
