"""Settings that must be in place before NumPy and SciPy are imported."""

import os
from pathlib import Path

import pytest

# SciPy decides at import whether it accepts arrays of other libraries; array API input needs it.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
# Tests run in as many processes as there are cores: threads of BLAS and OpenMP would wait for each
# other, and k-means of a few samples would take five times as long.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

SLOW = Path(__file__).with_name("slow.txt")


def pytest_addoption(parser):
    parser.addoption("--fast", action="store_true", help=f"leave out what {SLOW.name} names")


def pytest_collection_modifyitems(config, items):
    if config.getoption("fast"):
        slow = set(SLOW.read_text(encoding="utf-8").splitlines())
        out = [item for item in items if item.nodeid.partition("[")[0] in slow]
        items[:] = [item for item in items if item not in out]
        config.hook.pytest_deselected(items=out)


@pytest.fixture
def few_tables(monkeypatch):
    """Let the test for structure draw few tables, where its finding does not matter."""
    from separatrix.validity import structure

    monkeypatch.setattr(structure, "FIRST_DRAWS", 3)
    monkeypatch.setattr(structure, "N_DRAWS", (3, 3))
    monkeypatch.setattr(structure, "N_LOOKS", 1)
