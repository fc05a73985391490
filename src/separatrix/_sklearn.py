"""The only place that imports scikit-learn's private names.

When a scikit-learn release moves one of them, this file is the whole repair.
"""

import functools
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.base import _fit_context
from sklearn.cluster._agglomerative import _hc_cut as cut_merges
from sklearn.utils._array_api import (
    _convert_to_numpy,
    _max_precision_float_dtype,
    check_same_namespace,
    get_namespace_and_device,
    supported_float_dtypes,
)
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads as openmp_threads
from sklearn.utils._param_validation import Interval as AnyInterval
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.parallel import _get_threadpool_controller
from sklearn.utils.validation import _check_sample_weight as check_sample_weight
from threadpoolctl import ThreadpoolController

from separatrix._typing import Function

__all__ = [
    "DOC_LINK",
    "Interval",
    "StrOptions",
    "check_same_namespace",
    "check_sample_weight",
    "cut_merges",
    "fit_context",
    "is_dask",
    "is_lazy",
    "is_numpy",
    "last_step",
    "lazy_kind",
    "like",
    "namespace_of",
    "one_blas_thread",
    "one_thread",
    "openmp_threads",
    "python_scalar",
    "refuse_dask",
    "searched_rows",
    "supported_floats",
    "to_numpy",
    "widest_float",
]


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[Function], Function]:
    """Decorator that checks parameters before a fit; type checkers see what it decorates."""
    return _fit_context(prefer_skip_nested_validation=prefer_skip_nested_validation)


# Page of an estimator, to which scikit-learn's diagrams of estimators link.
DOC_LINK = (
    "https://separatrix-clustering.github.io/separatrix/api/separatrix.{estimator_name}.html"
)


class Interval(AnyInterval):
    """Numbers of an interval; True and False do not count as numbers."""

    def is_satisfied_by(self, val):
        """Whether a value is such a number."""
        val = python_scalar(val)  # bounds may be out of the range of a float32
        return not isinstance(val, bool) and super().is_satisfied_by(val)


def python_scalar(value):
    """A scalar of NumPy as that of Python; anything else as it is."""
    if isinstance(value, np.floating):  # the item of a long double is a long double
        return float(value)
    return value.item() if isinstance(value, np.generic) else value


_NUMPY_NAMESPACE, _, _ = get_namespace_and_device(np.empty(0))
# Namespaces by the type of array: scikit-learn's search takes longer than a small step on a GPU.
_known_namespaces: dict[type, Any] = {}


def last_step(estimator):
    """The estimator, or the last step of a pipeline."""
    return last_step(estimator.steps[-1][1]) if hasattr(estimator, "steps") else estimator


def namespace_of(array):
    """Array namespace and device of `array`; sparse matrices count as NumPy."""
    if type(array) is np.ndarray:  # inner loops call this a thousand times
        return _NUMPY_NAMESPACE, None
    is_dispatched = get_config()["array_api_dispatch"]
    if is_dispatched and type(array) in _known_namespaces:
        return _known_namespaces[type(array)], array.device
    xp, follows_standard, device = get_namespace_and_device(array)
    if follows_standard and is_dispatched:
        _known_namespaces[type(array)] = xp
    return xp, device


def is_numpy(array):
    """Whether `array` belongs to NumPy, or to SciPy if it is sparse."""
    return namespace_of(array)[0] is _NUMPY_NAMESPACE


def is_dask(X):
    """Whether `X` is a dask collection, found without importing dask.

    Arrays of xarray have dask's methods, whether they hold a dask array or not. Collections of
    dask are recognised by their module, since it takes long to make the graph of a frame.
    """
    if not hasattr(X, "__dask_graph__"):
        return False
    return type(X).__module__.startswith("dask") or X.__dask_graph__() is not None


def is_lazy(X):
    """Whether the samples are not in memory: a dask collection, or blocks that are read."""
    return is_dask(X) or getattr(X, "is_read_in_blocks", False) is True


def lazy_kind(X):
    """What samples that are not in memory are, in words, and the code that loads them."""
    return ("a dask array", "X.compute()") if is_dask(X) else (repr(X), "X.rows()")


def refuse_dask(estimator, X, *, instead):
    """Refuse a dask array, or blocks that are read, where all samples are needed in memory."""
    if is_lazy(X):
        got, remedy = lazy_kind(X)
        raise TypeError(
            f"{type(estimator).__name__} needs all samples in memory, got {got}; pass "
            f"{remedy}, or use {instead}."
        )


def supported_floats(array):
    """Floating dtypes that estimators keep, in the namespace of `array`: double and single."""
    xp, device = namespace_of(array)
    return [t for t in supported_float_dtypes(xp, device) if t != getattr(xp, "float16", None)]


def widest_float(array):
    """Widest floating dtype that the device of `array` has."""
    xp, device = namespace_of(array)
    return _max_precision_float_dtype(xp, device)


def to_numpy(array):
    """Copy `array` to NumPy if it lives elsewhere; None and sparse matrices pass through."""
    if array is None or type(array) is np.ndarray or sp.issparse(array):
        return array
    xp, _ = namespace_of(array)
    return _convert_to_numpy(array, xp)


def like(array, reference):
    """Move a NumPy `array` to the namespace and device of `reference`.

    Floats take the dtype of `reference`, so that a product with it stays in its precision.
    """
    xp, device = namespace_of(reference)
    floating = np.issubdtype(array.dtype, np.floating)
    return xp.asarray(array, dtype=reference.dtype if floating else None, device=device)


def searched_rows(search):
    """Rows among which a fitted NearestNeighbors searches."""
    return search._fit_X


def one_blas_thread(function):
    """Run `function` on one BLAS thread.

    Factoring a matrix of a few hundred rows gains nothing from threads, and on a busy machine
    threads that wait for each other make it a thousand times slower.
    """
    return _limited(function, "blas")


def one_thread(function):
    """Run `function` on one thread of BLAS and OpenMP, for the same reason."""
    return _limited(function, None)


def _limited(function, user_api):
    @functools.wraps(function)
    def limited(*args, **kwargs):
        with _get_threadpool_controller().limit(limits=1, user_api=user_api):
            return function(*args, **kwargs)

    return limited


def _end_idle_threads():
    """End the threads that GNU OpenMP keeps for its next loop, which then starts others.

    After a fork the child has none of these threads, and would wait for them for ever.
    """
    for library in ThreadpoolController().select(prefix="libgomp").lib_controllers:
        pause = getattr(library.dynlib, "omp_pause_resource_all", None)
        if pause is not None:  # since GCC 9
            pause(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_end_idle_threads)
