"""Arrays of other libraries than NumPy, for tests; one of them refuses to be read by NumPy."""

import numpy as np
import pytest


def strict():
    return pytest.importorskip("array_api_strict").asarray


def strict_on_a_device():
    """An array whose device, like a GPU, refuses to be read by NumPy."""
    xp = pytest.importorskip("array_api_strict")
    return lambda a: xp.asarray(a, device=xp.Device("device1"))


def torch():
    return pytest.importorskip("torch").asarray


def as_numpy(array):
    if hasattr(array, "to_device") and not isinstance(array, np.ndarray):
        import array_api_strict as xp

        array = array.to_device(xp.Device("CPU_DEVICE"))
    return np.asarray(array)
