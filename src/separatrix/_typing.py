"""Types of what users pass and get, for the signatures of the public surface.

What is passed is checked when it comes in: arrays, sparse matrices and tables of any library, and
lists of numbers. No type covers these: NumPy's ArrayLike knows no sparse matrix and takes a text.
So the names here are for readers. What comes back is an array of the library that was passed; type
checkers are told of NumPy's, which most users have.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # both libraries are loaded by need
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame
else:
    Axes = Figure = DataFrame = Any

__all__ = [
    "Array",
    "ArrayLike",
    "Axes",
    "DataFrame",
    "Figure",
    "Function",
    "RandomState",
    "Samples",
    "Weights",
]

Samples: TypeAlias = Any
ArrayLike: TypeAlias = Any
Weights: TypeAlias = Any
RandomState: TypeAlias = int | np.random.RandomState | None
Array: TypeAlias = NDArray[Any]
Function = TypeVar("Function", bound=Callable[..., Any])
