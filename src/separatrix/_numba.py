"""The compiler of inner loops, with the settings of the house."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial

import numba
import numpy as np
from numba.core.caching import FunctionCache

__all__ = ["in_threads", "njit"]


class _Kept(FunctionCache):
    """Compiled code on disk. Where it cannot be read or written, it is compiled again."""

    @contextmanager
    def _guard_against_spurious_io_errors(self):
        with suppress(OSError, EOFError, pickle.PickleError):
            yield


def njit(function=None, **options):
    """Compile a function once per machine; once per process where no folder can be written.

    Without fastmath a sum keeps its order, so that the same input gives the same output on every
    machine.
    """
    if function is None:
        return partial(njit, **options)
    compiled = numba.njit(**{"fastmath": False, **options})(function)
    with suppress(RuntimeError):  # no folder for the cache, as in a read-only installation
        compiled._cache = _Kept(function)
    return compiled


def in_threads(function, n_rows, n_threads):
    """Call ``function(start, stop)`` on consecutive parts of rows, in threads.

    They run side by side if it was compiled with ``nogil=True``. Loops that numba makes parallel
    would end every process that is forked after the first of them.
    """
    if n_threads == 1:
        function(0, n_rows)
        return
    ends = np.linspace(0, n_rows, 4 * n_threads + 1).astype(int).tolist()
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(function, ends[:-1], ends[1:]))  # raises what a part raises
