"""Samples, and what the passes over them were given."""

import numpy as np
import pytest

from separatrix.data import moments, rows
from separatrix.similarity import kernels


@pytest.fixture(scope="session")
def X():
    rng = np.random.default_rng(0)
    centers = rng.normal(scale=4.0, size=(4, 3))
    return centers[np.arange(90) * 7 % 4] + rng.normal(size=(90, 3)) @ rng.normal(size=(3, 3))


@pytest.fixture(scope="session")
def weight():
    return np.random.default_rng(1).integers(0, 4, size=90).astype(float)


@pytest.fixture
def seen(monkeypatch):
    """What each chunk function was given: a list of (name, rows) as the fit calls them."""
    calls = []
    for name in ("_move_chunk", "moments_of_chunk"):
        original = getattr(moments, name)

        def recording(rows, *args, _name=name, _original=original, **kwargs):
            calls.append((_name, rows))
            return _original(rows, *args, **kwargs)

        monkeypatch.setattr(moments, name, recording)
    return calls


@pytest.fixture
def small_samples(monkeypatch):
    """Starts, and landmarks of kernels, are found on forty rows."""
    monkeypatch.setattr(rows, "SAMPLE_SIZE", 40)
    monkeypatch.setattr(kernels, "LANDMARK_ROWS", 40)
    monkeypatch.setattr(kernels, "LANDMARK_ROWS_PER_FEATURE", 0)
