"""Hashes of rows on devices, and known rows found again there."""

import numpy as np
import pytest
from sklearn import config_context

from device_support import as_numpy, strict, strict_on_a_device, torch
from separatrix.data.distinct import KnownRows, row_hashes

LIBRARIES = [strict, strict_on_a_device, torch]


def rows_of(dtype):
    """Rows of which some repeat, with zeros of either sign, and tiny and huge values."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 3)) * 10.0 ** rng.integers(-30, 30, size=(60, 3))
    rows[10:20] = rows[:10]
    rows[20:25, 1], rows[25:30] = 0.0, rows[20:25]
    rows[25:30, 1] = -0.0
    return rows.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("library", LIBRARIES)
def test_hashes_on_a_device_have_the_bits_of_the_host(library, dtype):
    convert, rows = library(), rows_of(dtype)
    with config_context(array_api_dispatch=True):
        there = convert(rows)
        found = row_hashes(there)
    assert found.device == there.device
    np.testing.assert_array_equal(as_numpy(found).view(np.uint64), row_hashes(rows))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("library", LIBRARIES)
def test_known_rows_are_found_on_a_device(library, dtype):
    convert, rows = library(), rows_of(dtype)
    known = KnownRows.of(rows[5:45])
    expected = known.match(rows)
    assert (expected >= 0).sum() > 40
    assert (expected < 0).any()
    with config_context(array_api_dispatch=True):
        there = convert(rows)
        found = known.beside(there).match(there)
    assert found.device == there.device
    np.testing.assert_array_equal(as_numpy(found), expected)
