"""The compiler of inner loops, with the settings of the house."""

from functools import partial
from typing import Any

import numba

__all__ = ["njit", "prange"]

# A kernel is compiled once per machine and kept on disk. Without fastmath a sum keeps its
# order, so that the same input gives the same output.
njit: Any = partial(numba.njit, cache=True, fastmath=False)
prange: Any = numba.prange
