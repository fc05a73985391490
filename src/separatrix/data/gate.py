"""Checks of user input: it becomes arrays of numbers, or an error that names it."""

import re
from contextlib import contextmanager
from functools import partial
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.utils import assert_all_finite, check_array, column_or_1d, get_tags
from sklearn.utils.validation import validate_data

from separatrix._sklearn import (
    is_dask,
    is_lazy,
    is_numpy,
    namespace_of,
    supported_floats,
    to_numpy,
)
from separatrix.data.rows import beside

__all__ = [
    "FLOATS",
    "check_block",
    "check_count",
    "check_labels",
    "check_length",
    "check_number",
    "check_numbers",
    "check_rows",
    "check_samples",
    "check_values",
    "check_weights",
    "computed",
    "naming",
    "on_host",
    "weights_of",
]

FLOATS = (np.float64, np.float32)
# Largest absolute values in double and in single precision. Squares of larger ones, or sums of
# these, overflow, and those of the inverses underflow. Methods that first bring samples to a unit
# of their own go further.
LARGEST = {"double": 1e140, "single": 1e17}
LARGEST_FRAMED = {"double": 1e300, "single": 1e36}
LARGEST_WEIGHT = {"double": 1e100, "single": 1e17}
# Weights up to this share of the largest do not change any sum, and count as zero.
VANISHING = 1e-15
# NumPy's messages about values that are not numbers.
NO_NUMBER = re.compile("could not convert|real number|too large to|promoted|with a sequence")
REMEDY = "Encode text columns and dates as numbers first."


# --- words --------------------------------------------------------------------------------------


@contextmanager
def naming(name):
    """Give errors of NumPy and scikit-learn the name of what they refuse."""
    try:
        yield
    except (TypeError, ValueError, OverflowError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        if "inhomogeneous" in str(error):
            raise kind(f"{name} has rows of different lengths: pass an array.") from error
        if NO_NUMBER.search(str(error)):
            raise kind(f"{name} must be numeric: {error}. {REMEDY}") from error
        if re.search(rf"\b{re.escape(name)}\b", str(error)):
            raise
        raise kind(f"{name} cannot be used: {error}") from error


def check_length(name, n, other_name, n_other):
    """Refuse arrays that do not belong to the same samples."""
    if n != n_other:
        raise ValueError(
            f"{name} has {n} samples but {other_name} has {n_other}: "
            "pass one entry per sample, in the same order."
        )


# --- numbers ------------------------------------------------------------------------------------


def check_number(value, name):
    """A real number as Python's; an integer that no float can hold is infinite."""
    if not isinstance(value, Real):
        raise TypeError(f"{name}={value!r} must be a number.")
    number = int(value) if isinstance(value, Integral) else float(value)
    try:
        float(number)
    except OverflowError:
        return np.inf if number > 0 else -np.inf
    return number


def check_count(value, name, least=1, most=np.inf, of=""):
    """An integer as Python's, of at least `least` and at most `most`, which is called `of`."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name}={value!r} must be an integer.")
    if not least <= value <= most:
        limit = f" and at most {of}={most}" if most < np.inf else ""
        raise ValueError(f"{name}={value!r} must be at least {least}{limit}.")
    return int(value)


# --- samples ------------------------------------------------------------------------------------


def computed(values):
    """Values in memory: what dask would compute."""
    return values.compute() if is_dask(values) else values


def on_host(values):
    """Arrays of other libraries, which have a device, as NumPy's; everything else as it is."""
    is_elsewhere = hasattr(values, "device") and not isinstance(values, np.ndarray)
    return to_numpy(values) if is_elsewhere else values


def check_samples(estimator, X, *, reset, dtype=None, sparse=True, scale_free=False):
    """Samples as an array that solvers can take.

    Parameters
    ----------
    estimator : object
        What keeps the number and the names of the features.
    X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
        The samples.
    reset : bool
        Whether they are those of a fit and not new ones.
    dtype : dtype or tuple of dtypes, default=None
        What solvers compute in, the first if samples have another. None keeps double and single
        precision, which arrays of other libraries than NumPy always keep.
    sparse : bool, default=True
        Whether sparse matrices are taken.
    scale_free : bool, default=False
        Whether the unit of the samples does not matter. New samples are then measured in that of
        the fit, which the estimator keeps.

    Returns
    -------
    X : {array, sparse matrix, dask array} of shape (n_samples, n_features)
        Two-dimensional, finite, and not empty; blocks of new samples are looked at when computed.
    """
    if is_lazy(X):
        if reset and scale_free:
            estimator._unit = 1.0
        check = _check_lazy_samples if is_dask(X) else _check_read_samples
        return check(estimator, X, reset)
    X = _presented(X, "X")
    if not is_numpy(X) and not get_tags(estimator).array_api_support:
        raise TypeError(
            f"X is an array of {type(X).__module__.split('.')[0]}, but {type(estimator).__name__} "
            "with these parameters takes NumPy arrays only: convert it."
        )
    X = _checked_rows(X, partial(validate_data, estimator, reset=reset), "X", dtype, sparse)
    largest, limit = _largest(X), _limit(X, LARGEST)
    if not scale_free:
        _check_range(largest, "X", least=1 / limit if reset else 0.0, most=limit)
    elif reset:
        _check_range(largest, "X", most=_limit(X, LARGEST_FRAMED))
        estimator._unit = largest or 1.0
    else:  # in the unit of the fit, which models of earlier versions do not hold
        unit = getattr(estimator, "_unit", 1.0)
        _check_range(largest, "X", most=min(limit * unit, _limit(X, LARGEST_FRAMED)))
    return X


def _without_rows(X):
    """The names of the columns of `X`, as a table or an array without rows."""
    columns = getattr(X, "columns", None)
    if columns is None:
        return np.empty((0, *X.shape[1:]))
    try:
        from pandas import DataFrame
    except ImportError:
        from pyarrow import table

        return table({name: [] for name in columns})
    return DataFrame(columns=list(columns))


def _check_lazy_samples(estimator, X, reset):
    from separatrix.data.dask_arrays import map_blocks

    names, X = _without_rows(X), _lazy_rows(X, "X")
    with naming("X"):
        validate_data(estimator, names, skip_check_array=True, reset=reset)
    if reset:
        limit = _limit(X, LARGEST)
        _check_range(max(map_blocks(check_block, X)), "X", least=1 / limit, most=limit)
    return X


def _check_read_samples(estimator, X, reset):
    with naming("X"):
        validate_data(estimator, _without_rows(X), skip_check_array=True, reset=reset)
    if not reset:  # blocks are checked when they are read
        return X.mapped(_of_checked_block, X.shape[1])
    limit = _limit(X, LARGEST)
    _check_range(max(map(check_block, X)), "X", least=1 / limit, most=limit)
    return X


def _of_checked_block(block):
    check_block(block)
    return block


def check_rows(
    X, name="X", *, dtype=FLOATS, sparse=True, scale_free=False, lazy=False, min_samples=1, **kinds
):
    """Rows of numbers that a function takes, as `check_samples` has them for estimators.

    A dask array stays one if `lazy`, and an array of another library than NumPy if `dtype` is
    None. `kinds` are arguments of scikit-learn's `check_array`.
    """
    if is_dask(X) and lazy:
        return _lazy_rows(X, name)
    X = _presented(computed(X), name)
    X = X if dtype is None or is_numpy(X) else to_numpy(X)
    validate = partial(check_array, input_name=name, **kinds)
    X = _checked_rows(X, validate, name, dtype, sparse, min_samples)
    limit = _limit(X, LARGEST)
    if scale_free:
        _check_range(_largest(X), name, most=_limit(X, LARGEST_FRAMED))
    else:
        _check_range(_largest(X), name, least=1 / limit, most=limit)
    return X


def check_block(block):
    """Largest absolute value of a block of samples, which is refused if that is too large."""
    assert_all_finite(block, input_name="X")
    largest = _largest(block)
    _check_range(largest, "X", most=_limit(block, LARGEST))
    return largest


def _checked_rows(X, validate, name, dtype, sparse, min_samples=1):
    _check_shape(X, name, min_samples)
    # other libraries have dtypes of their own
    dtype = supported_floats(X) if dtype is None or not is_numpy(X) else dtype
    # numbers of more than double precision may become infinite, which causes an error below
    with naming(name), np.errstate(over="ignore", invalid="ignore"):
        return validate(X, accept_sparse="csr" if sparse else False, dtype=dtype)


def _lazy_rows(X, name):
    from separatrix.data.dask_arrays import float_blocks

    _check_dtypes(X, name)
    X = float_blocks(X, name)
    _check_shape(X, name)
    return X


def _presented(values, name):
    """Values as an object with a shape, and with dtypes that may be numeric."""
    with naming(name):
        values = values if hasattr(values, "shape") else np.asarray(values)
    _check_dtypes(values, name)
    if "sparse" in str(getattr(values, "layout", "")):  # of PyTorch
        raise TypeError(f"{name} is a sparse tensor: pass {name}.to_dense(), or a SciPy matrix.")
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(f"{name} has masked entries: fill or drop them.")
    return values


def _check_dtypes(values, name):
    """Refuse complex numbers, dates and text, by the column of a frame that holds them."""
    if hasattr(values, "dtypes") and len(values.shape) == 2:
        wheres = [f"its column {column!r} holds" for column in values.columns]
        dtypes = list(values.dtypes)
    else:
        wheres, dtypes = ["it holds"], [getattr(values, "dtype", None)]
    for where, dtype in zip(wheres, dtypes, strict=True):
        kind, words = getattr(dtype, "kind", None) or "?", str(dtype).lower()
        if kind == "c" or "complex" in words:
            raise ValueError(
                f"{name} must be real, but {where} complex numbers. Complex data not supported: "
                "pass real and imaginary parts as features."
            )
        if kind in "mM" or re.search("date|time|duration|period", words):
            raise ValueError(f"{name} must be numeric, but {where} dates ({dtype}). {REMEDY}")
        if kind in "UST" or re.match("str|utf8|large_string", words):
            raise ValueError(f"{name} must be numeric, but {where} text ({dtype}). {REMEDY}")


def _check_shape(X, name, min_samples=1):
    shape = tuple(X.shape)
    if len(shape) != 2:
        raise ValueError(
            f"{name} has shape {shape}, but needs a row per sample and a column per feature. "
            f"Reshape your data: {name}.reshape(-1, 1) if it is one feature, "
            f"{name}.reshape(1, -1) if it is one sample."
        )
    for count, least, what in zip(shape, (min_samples, 1), ("sample", "feature"), strict=True):
        if count < least:
            raise ValueError(
                f"{name} has {count} {what}(s) (shape={shape}) while a minimum of {least} is "
                "required: check how it was made."
            )


def _largest(X):
    """Largest absolute value, without a copy of all of them."""
    values = X.data if sp.issparse(X) else X
    if 0 in values.shape:
        return 0.0
    xp, _ = namespace_of(values)
    return max(float(xp.max(values)), -float(xp.min(values)))


def _limit(X, limits):
    """The limit for the precision of `X`."""
    return limits["single" if X.dtype == namespace_of(X)[0].float32 else "double"]


def _check_range(largest, name, *, most, least=0.0):
    """Refuse values that are too large to compute with, or too small though not all zero."""
    if largest > most:
        raise ValueError(
            f"{name} has values up to {largest:.3g}, too large to compute with; scale {name} down "
            f"to {most:g} or less."
        )
    if 0 < largest < least:
        raise ValueError(
            f"{name} has no values above {largest:.3g}, which are too small to compute with; "
            f"scale {name} up to {least:g} or more."
        )


# --- one entry per sample -----------------------------------------------------------------------


def check_numbers(values, name):
    """Real numbers of any shape, in double precision."""
    values = _presented(computed(values), name)
    if sp.issparse(values):
        raise TypeError(f"{name} is sparse: pass a dense array.")
    with naming(name), np.errstate(over="ignore"):
        return np.asarray(to_numpy(values), dtype=np.float64)


def check_values(values, name, *, scalar=False):
    """Finite numbers, one per sample, in double precision; or a scalar, if that is allowed."""
    values = check_numbers(values, name)
    if not (scalar and values.ndim == 0):
        _check_vector(values, name)
    n_bad = np.count_nonzero(~np.isfinite(values))
    if n_bad:
        raise ValueError(
            f"{name} has {n_bad} of {values.size} entries NaN or infinite: replace or drop them."
        )
    return values


def check_weights(X, sample_weight):
    """Weights as an array that matches the rows of `X`, or None."""
    if sample_weight is None:
        return None
    most = _limit(X, LARGEST_WEIGHT)
    return beside(weights_of(sample_weight, X.shape[0], most=most), X)


def weights_of(sample_weight, n_samples, of="X", most=LARGEST_WEIGHT["double"]):
    """Weights of samples in double precision. A scalar is the weight of each."""
    weights = check_values(sample_weight, "sample_weight", scalar=True)
    if weights.ndim == 0:
        weights = np.full(n_samples, float(weights))
    check_length("sample_weight", len(weights), of, n_samples)
    lowest, largest = weights.min(), weights.max()
    if lowest < 0:
        raise ValueError(f"sample_weight has minimum {lowest:g}: pass weights of 0 or more.")
    if largest == 0:
        raise ValueError("sample_weight is zero for all samples: pass some positive weights.")
    if not 1 / most <= largest <= most:
        raise ValueError(
            f"sample_weight has maximum {largest:g}, outside the range from {1 / most:g} to "
            f"{most:g} that can be computed with: divide the weights by their mean."
        )
    return np.where(weights > VANISHING * largest, weights, 0.0)


def check_labels(labels, name="labels", *, column=False):
    """Labels of samples: numbers, text or others that can be sorted, of one kind, none missing.

    With `column`, a column of them is taken with a warning.
    """
    given = computed(labels)
    with naming(name):
        labels = np.asarray(to_numpy(given) if hasattr(given, "shape") else given)
        labels = column_or_1d(labels, warn=True, input_name=name) if column else labels
    _check_vector(labels, name)
    if labels.dtype.kind == "O":
        missing = [_is_missing(label) for label in labels]
    else:
        missing = labels != labels  # NaN alone differs from itself
    n_missing = np.count_nonzero(missing)
    if n_missing:
        what = "NaN or None" if labels.dtype.kind == "O" else "NaN"
        raise ValueError(f"{name} has {what} in {n_missing} of {labels.size} entries: drop them.")
    if labels.dtype.kind == "O" and all(isinstance(label, Real) for label in labels):
        labels = np.array(labels.tolist())
    _check_one_kind(given, labels, name)
    return labels


def _is_missing(label):
    # comparing pandas' missing value with itself has no truth value
    return label is None or type(label).__name__ == "NAType" or bool(label != label)


def _check_vector(values, name):
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"{name} has shape {values.shape}: pass one entry per sample, 1-d.")


def _check_one_kind(given, labels, name):
    """Refuse labels that cannot be sorted, and numbers that NumPy turned into text among text."""
    mixed = False
    if labels.dtype.kind == "O":
        try:
            np.unique(labels)
        except TypeError:
            mixed = True
    elif labels.dtype.kind in "US" and isinstance(given, list | tuple):
        labels = np.asarray(given, dtype=object).ravel()
        mixed = any(not isinstance(label, str | bytes) for label in labels)
    if mixed:
        kinds = " and ".join(sorted({type(label).__name__ for label in labels}))
        raise TypeError(f"{name} mixes labels of the types {kinds}: pass labels of one type.")
