"""The list of slow tests names tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_slow_tests_exist():
    """If this fails, write the list anew: tests/slow_tests.py says how."""
    for name in (ROOT / "tests" / "slow.txt").read_text(encoding="utf-8").splitlines():
        file, *_, test = name.split("::")
        text = (ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"\b{test.rpartition('.')[2]}\b", text), name
