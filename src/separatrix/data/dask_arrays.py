"""Passes over dask arrays: the chunk functions of the local passes, run block by block."""

import dask
import numpy as np
from sklearn.utils import assert_all_finite


def validate_dask(X):
    """Return `X` as a two-dimensional float dask array of known size, one block per row range."""
    if hasattr(X, "to_dask_array"):
        X = X.to_dask_array(lengths=True)
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D dask array of shape {X.shape} as X instead; "
            "reshape it to (n_samples, n_features)."
        )
    if X.dtype.kind not in "fiub":
        raise ValueError(f"X must be numeric, got a dask array of dtype {X.dtype}.")
    if X.dtype not in (np.float64, np.float32):
        X = X.astype(np.float64)
    if any(np.isnan(size) for size in X.shape):
        X = X.compute_chunk_sizes()
    return X.rechunk({1: -1}) if X.numblocks[1] > 1 else X


def _row_bounds(X):
    return np.concatenate([[0], np.cumsum(X.chunks[0])])


def map_blocks(function, X, *row_arrays, **shared):
    """Yield ``function`` of each row block of the dask array `X`, as `map_chunks` does.

    The row arrays are local; each block is sent its own rows of them.
    """
    bounds = _row_bounds(X)
    task = dask.delayed(function, pure=True)
    # arguments that all blocks share become one node of the graph instead of one per block
    shared = {name: dask.delayed(value, traverse=False) for name, value in shared.items()}
    tasks = [
        task(block, *(a if a is None else a[start:stop] for a in row_arrays), **shared)
        for block, start, stop in zip(X.to_delayed().ravel(), bounds[:-1], bounds[1:], strict=True)
    ]
    yield from dask.compute(*tasks)


def lazy_rows(function, X, *, n_columns, dtype):
    """Dask array of ``function(block)`` per row block; `n_columns` is None for a vector."""
    shape = {"drop_axis": 1} if n_columns is None else {"chunks": (X.chunks[0], (n_columns,))}
    return X.map_blocks(_of_finite_block, function=function, dtype=dtype, **shape)


def _of_finite_block(block, *, function):
    assert_all_finite(block, input_name="X")
    return function(block)
