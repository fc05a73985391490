"""The compiler of inner loops, with our settings."""

import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from itertools import pairwise
from types import FunctionType

import numba
import numpy as np
from numba.core.caching import FunctionCache
from numba.core.dispatcher import Dispatcher

__all__ = ["Gradual", "in_threads", "interpreted", "map_in_threads", "njit"]


class _Kept(FunctionCache):
    """Compiled code on disk. Where it cannot be read or written, it is compiled again."""

    @contextmanager
    def _guard_against_spurious_io_errors(self):
        with suppress(OSError, EOFError, pickle.PickleError):
            yield


def njit(function=None, **options):
    """Compile a function once per machine, or once per process if no cache folder is writable.

    Without fastmath a sum keeps its order, so that the same input gives the same output on every
    machine.
    """
    if function is None:
        return partial(njit, **options)
    compiled = numba.njit(**{"fastmath": False, **options})(function)
    with suppress(RuntimeError):  # no folder for the cache, as in a read-only installation
        compiled._cache = _Kept(function)
    return compiled


def interpreted(compiled):
    """The function as Python runs it, and those that it calls, without compilation."""
    function = compiled.py_func
    called = {
        name: interpreted(value) if isinstance(value, Dispatcher) else value
        for name, value in function.__globals__.items()
        if name in function.__code__.co_names
    }
    names = {**function.__globals__, **called}
    return FunctionType(function.__code__, names, function.__name__, function.__defaults__)


class Gradual:
    """A compiled function whose first small calls run without compilation.

    Few samples do not justify the time of a compilation. Python takes the same steps in the
    same order, and so gives the same results.

    Parameters
    ----------
    compiled : Dispatcher
        The function, as `njit` returns it. The size of its first argument is its work.
    budget : int
        Work of all calls together that Python does. Beyond it, and where compiled code is at hand,
        in this process or on disk, that is used.
    largest : int, default=None
        Work of a single call beyond which it is compiled at once; None for the budget.
    """

    def __init__(self, compiled, budget, largest=None):
        self.compiled = compiled
        self._left = budget
        self._largest = budget if largest is None else largest

    def __call__(self, *args):
        work = args[0].size
        if work > min(self._left, self._largest) or self.compiled.signatures or self._is_on_disk:
            return self.compiled(*args)
        self._left -= work
        with np.errstate(all="ignore"):  # compiled code does not report it either
            return self._interpreted(*args)

    @cached_property
    def _interpreted(self):
        return interpreted(self.compiled)

    @cached_property
    def _is_on_disk(self):
        cache = getattr(self.compiled, "_cache", None)
        index = getattr(getattr(cache, "_cache_file", None), "_index_path", None)
        return index is not None and os.path.exists(index)


def in_threads(function, n_rows, n_threads):
    """Call ``function(start, stop)`` on consecutive parts of rows, in threads.

    They run in parallel if it was compiled with ``nogil=True``. Numba's own parallel loops would
    crash every process that is forked after the first of them.
    """
    if n_threads == 1:
        function(0, n_rows)
        return
    ends = np.linspace(0, n_rows, 4 * n_threads + 1).astype(int).tolist()
    map_in_threads(lambda part: function(*part), list(pairwise(ends)), n_threads)


def map_in_threads(function, items, n_threads):
    """The list of ``function(item)`` of some items, in as many threads; raises what one raises."""
    if n_threads == 1:
        return [function(item) for item in items]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(function, items))
