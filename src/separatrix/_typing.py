"""Types of what users pass and get, for the signatures of the public surface.

Arguments are checked at run time: arrays, sparse matrices and tables of any library, and lists of
numbers. No type covers all of these: NumPy's ArrayLike excludes sparse matrices and includes
texts. So the names here are for readers. Results are arrays of the library that was passed; for
type checkers they are NumPy's, which most users have.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # both libraries are loaded when needed
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
