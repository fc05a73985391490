"""Rows of the data: passes over them chunk by chunk, and samples drawn of them.

Every pass over the data is a pure function of one chunk of rows, ``f(X_chunk, ...) -> partial``.
`map_chunks` runs it over a NumPy or sparse matrix, over an array of any namespace that
scikit-learn dispatches to, over the blocks of a dask array, or over blocks that are read one after
the other; the caller combines the partials.
"""

from dataclasses import fields, is_dataclass, replace
from functools import reduce
from operator import add

import numpy as np
import scipy.sparse as sp

from separatrix._sklearn import (
    is_dask,
    is_lazy,
    is_numpy,
    like,
    namespace_of,
    to_numpy,
    widest_float,
)
from separatrix.data.memory import physical_memory

# Numbers that a chunk function may make at a time, 32 MB of float64. Reading X does not count: a
# product with a vector makes one number per row, and smaller chunks only make the threads of BLAS
# wait for each other. A GPU needs fewer and larger chunks, since each one waits for the host.
CHUNK_SIZE = 2**22
DEVICE_CHUNK_SIZE = 2**26
# Numbers of X in a chunk that its function reads more than once: they should stay in the cache.
CACHE_SIZE = 2**18


def beside(values, X):
    """Move a NumPy array to the device of the rows of `X`; for a dask array it stays local."""
    return values if is_lazy(X) else like(values, X)


def exactly_beside(values, X):
    """A NumPy array where `X` is, in a precision that keeps its order; others as they are."""
    if is_numpy(X) or not isinstance(values, np.ndarray):
        return values
    xp, device = namespace_of(X)
    floating = np.issubdtype(values.dtype, np.floating)
    return xp.asarray(values, dtype=widest_float(X) if floating else None, device=device)


def parts_beside(whole, X):
    """A dataclass, and those that it holds, with their NumPy arrays where `X` is.

    Parts that need other steps for that have a method `beside`.
    """
    if is_numpy(X):
        return whole
    parts = {part.name: getattr(whole, part.name) for part in fields(whole)}
    return replace(whole, **{name: _beside(part, X) for name, part in parts.items()})


def _beside(part, X):
    if hasattr(part, "beside"):
        return part.beside(X)
    return parts_beside(part, X) if is_dataclass(part) else exactly_beside(part, X)


def row_slices(X, width=None, n_rows=None, rereads=False):
    """Slices of consecutive rows that make up the chunks of `X`, or of `n_rows` taken from it.

    `width` is the number of columns of what a pass makes per row; None if that is as many as X
    has. `rereads` means that the pass reads each chunk of X more than once.
    """
    n_samples, n_features = X.shape
    if n_rows is not None:
        n_samples = n_rows
    if sp.issparse(X):  # slicing a sparse matrix copies it, and a product needs no blocking
        return [slice(0, n_samples)]
    size = CHUNK_SIZE if isinstance(X, np.ndarray) else DEVICE_CHUNK_SIZE
    if rereads and isinstance(X, np.ndarray):
        size, width = CACHE_SIZE, None
    step = max(1, size // max(1, n_features if width is None else width))
    return [slice(start, min(start + step, n_samples)) for start in range(0, n_samples, step)]


def map_chunks(function, X, *row_arrays, width=None, rereads=False, **shared):
    """Yield ``function(X[rows], *(a[rows] for a in row_arrays), **shared)`` chunk by chunk.

    Parameters
    ----------
    function : callable
        Pure function of one chunk. For dask it must be importable by the workers.
    X : {array, sparse matrix, dask array} of shape (n_samples, n_features)
        The data.
    *row_arrays : array of shape (n_samples, ...) or None
        Arrays that are cut along with the rows; None is passed on as None.
    width : int, default=None
        Columns of the arrays that `function` makes of a chunk; None if as many as X has.
    rereads : bool, default=False
        Whether `function` goes over a chunk more than once, which then has to fit the cache.
    **shared
        Arguments that are the same for all chunks.

    Yields
    ------
    partial : object
        What `function` returned for the next chunk, in the order of the rows.
    """
    if is_dask(X):
        from separatrix.data.dask_arrays import map_blocks

        yield from map_blocks(function, X, *row_arrays, **shared)
        return
    if is_lazy(X):
        passing = _map_blocks(function, X, row_arrays, width=width, rereads=rereads, **shared)
        yield from X.passed(function.__qualname__, passing)
        return
    for rows in row_slices(X, width, rereads=rereads):
        # a whole matrix is passed as itself: even a full slice of a sparse one is a copy
        chunk = X if rows == slice(0, X.shape[0]) else X[rows, :]
        yield function(chunk, *(a if a is None else a[rows, ...] for a in row_arrays), **shared)


def _map_blocks(function, X, row_arrays, **options):
    """The same over blocks that are read one after the other."""
    start = 0
    for block in X:
        rows = slice(start, start + len(block))
        parts = (a if a is None else a[rows] for a in row_arrays)
        yield from map_chunks(function, block, *parts, **options)
        start += len(block)


def sum_over_chunks(function, X, *row_arrays, width=None, **shared):
    """Sum of what a function makes of all chunks, where the parts are too large to keep them all.

    Arguments are those of `map_chunks`. Parts of a dask array are added where they are, and a
    checkpoint keeps the sum alone.
    """
    if is_dask(X):
        from separatrix.data.dask_arrays import sum_blocks

        return sum_blocks(function, X, *row_arrays, **shared)
    if not is_lazy(X):
        return reduce(add, map_chunks(function, X, *row_arrays, width=width, **shared))
    parts = _map_blocks(function, X, row_arrays, width=width, **shared)
    (total,) = X.passed(function.__qualname__, (reduce(add, parts) for _ in range(1)))
    return total


def dense_blocks(X):
    """Yield the rows of a sparse matrix as dense arrays, as many at a time as a chunk holds."""
    X = X.tocsr()
    step = max(1, CHUNK_SIZE // max(1, X.shape[1]))
    for start in range(0, max(1, X.shape[0]), step):
        yield X[start : start + step].toarray()


def join_rows(parts):
    """One array from the arrays that chunks made, in the order of the rows."""
    parts = list(parts)
    return namespace_of(parts[0])[0].concat(parts) if len(parts) > 1 else parts[0]


def in_doubles(rows):
    """Rows in double precision, or in the widest that their device has."""
    if is_numpy(rows):
        return np.asarray(rows, dtype=np.float64)
    return namespace_of(rows)[0].astype(rows, widest_float(rows), copy=False)


def map_rows(transform, X, *, width):
    """Array of ``transform(chunk)`` for all rows of `X`; `width` as in `map_chunks`."""
    parts = map_chunks(_apply, X, transform=transform, width=width)
    first = next(parts)
    if type(first) is not np.ndarray or len(first) == X.shape[0]:
        return join_rows([first, *parts])
    # where all of them lie at once, next to their copies, memory is what takes the time
    values, start = np.empty((X.shape[0], *first.shape[1:]), dtype=first.dtype), len(first)
    values[:start] = first
    for part in parts:
        values[start : start + len(part)] = part
        start += len(part)
    return values


def _apply(X, *, transform):
    return transform(X)


def rows_made(function, X, *, width, n_columns=None, dtype=None):
    """What a function makes of all rows of `X`, a chunk at a time, lazily for a dask array.

    `width` is as in `map_chunks`. `n_columns`, None for one value per row, and `dtype`, None for
    that of `X`, describe the result for dask.
    """
    if not is_dask(X):
        return map_rows(function, X, width=width)
    from separatrix.data.dask_arrays import lazy_rows

    dtype = X.dtype if dtype is None else dtype
    return lazy_rows(function, X, n_columns=n_columns, dtype=dtype)


def answers(function, X, *, n_columns=None, dtype=np.float64):
    """What a function that looks at each row by itself makes of `X`; by blocks if not in memory.

    `n_columns` is None for one value per row. The result for a dask array is one.
    """
    if not is_lazy(X):
        return function(X)
    return rows_made(function, X, width=X.shape[1], n_columns=n_columns, dtype=dtype)


def features_of(X, feature_map):
    """Features that `feature_map` makes of all rows of `X`, lazily for a dask array.

    A `feature_map` of None leaves `X` as it is.
    """
    if feature_map is None:
        return X
    if is_dask(X):
        from separatrix.data.dask_arrays import lazy_rows

        return lazy_rows(feature_map, X, n_columns=feature_map.rank, dtype=X.dtype)
    if is_lazy(X):
        return X.mapped(feature_map, feature_map.rank)
    return map_rows(feature_map, X, width=feature_map.rank)


SAMPLE_SIZE, MOST_SAMPLED = 20_000, 400_000


def sample_size(n_samples):
    """Rows to find a start on: all of up to 20,000, later a fiftieth, and no more than 400,000.

    The error of the sample is then small compared with what the first passes over all rows
    correct, and rows that are not in memory are never too many for it.
    """
    return max(SAMPLE_SIZE, min(n_samples // 50, MOST_SAMPLED))


def rows_at(X, drawn=None):
    """Rows `drawn` of `X`, or all of them, as a NumPy or sparse matrix."""
    if is_dask(X):
        return to_numpy((X if drawn is None else X[drawn]).compute())
    if is_lazy(X):
        return X.rows(drawn)
    if drawn is None:
        return to_numpy(X)
    if sp.issparse(X):
        return X[drawn]
    return to_numpy(namespace_of(X)[0].take(X, like(drawn, X), axis=0))


def rows_beside(X, drawn):
    """Rows `drawn` of `X` where they are, lazily for a dask array; of read blocks in memory."""
    if is_lazy(X) and not is_dask(X):
        return X.rows(drawn)
    if is_dask(X) or isinstance(X, np.ndarray) or sp.issparse(X):
        return X[drawn]
    return namespace_of(X)[0].take(X, like(drawn, X), axis=0)


def with_values_at(values, places, others):
    """Values of which those at increasing places are replaced by others, which are NumPy's."""
    if isinstance(values, np.ndarray):
        values = values.copy()
        values[places] = others
        return values
    xp, device = namespace_of(values)
    places, others = exactly_beside(places, values), like(others, values)
    every = xp.arange(values.shape[0], dtype=places.dtype, device=device)
    nearest = xp.searchsorted(places, every)
    nearest = xp.where(nearest < places.shape[0], nearest, 0)
    is_replaced = xp.take(places, nearest) == every
    return xp.where(is_replaced, xp.take(others, nearest), values)


def sample_rows(X, sample_weight, *, size, rng):
    """Rows of `X` as a NumPy or sparse matrix: those of positive weight, or a sample of `size`.

    Parameters
    ----------
    X : {array, sparse matrix, dask array} of shape (n_samples, n_features)
        The data.
    sample_weight : array of shape (n_samples,) or None
        Nonnegative weights.
    size : int
        Most rows to return. A larger X is drawn from with replacement, in proportion to the
        weights.
    rng : RandomState
        Used only for drawing.

    Returns
    -------
    rows : ndarray or sparse matrix of shape (n_rows, n_features)
        The rows.
    weights : ndarray of shape (n_rows,) or None
        Their weights; None if all are one.
    """
    n_samples = X.shape[0]
    weights = to_numpy(sample_weight)
    if n_samples <= size:
        rows = rows_at(X)
        if weights is None or (weights > 0).all():
            return rows, weights
        return rows[weights > 0], weights[weights > 0]
    if weights is None:
        drawn = rng.randint(n_samples, size=size)
    else:
        cumulated = np.cumsum(weights)
        drawn = np.searchsorted(cumulated, rng.uniform(0, cumulated[-1], size), side="right")
    drawn.sort()
    return rows_at(X, drawn), None


def check_fits_memory(n_samples, *, remedy, n_matrices=2):
    """Refuse matrices of n_samples by n_samples that memory cannot hold: a kernel and a factor."""
    needed, memory = 8 * n_matrices * n_samples**2, physical_memory()
    if needed > memory:
        raise ValueError(
            f"{n_matrices} matrices of all pairs of {n_samples} samples need "
            f"{needed / 1e9:.3g} GB, but this machine has {memory / 1e9:.3g} GB; {remedy}."
        )
