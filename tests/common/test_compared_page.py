"""The page that compares libraries is what was measured, and what our estimators take today."""

import inspect
import runpy
from pathlib import Path

import pytest

import separatrix

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(ROOT / "benchmarks" / "choices" / "peers.py"))


def test_the_page_is_what_was_measured(script):
    """If this fails, run `python benchmarks/choices/peers.py --own`."""
    assert script["PAGE"].read_text("utf-8") == script["page"]()


def test_the_rows_of_our_estimators_are_what_they_take(script):
    """A cell can be yes only if there is the parameter, and all with a parameter keep to it.

    The probes of links have three clusters, for which some refuse them.

    If this fails, run `python benchmarks/choices/peers.py --own`.
    """
    rows = {row["estimator"]: row["why_not"] for row in script["read"]("own")["rows"]}
    assert set(rows) == {row.name for row in script["own_rows"]()}
    for name, why_not in rows.items():
        estimator = getattr(separatrix, name)
        takes = {*inspect.signature(estimator).parameters}
        takes |= {*inspect.signature(estimator.fit).parameters}
        for cell, parameter in script["NEEDS"].items():
            given = why_not[cell] == "" or "links need n_clusters=2" in why_not[cell]
            assert given == (parameter in takes), (name, cell)


def test_one_row_is_measured_again(script):
    row = next(row for row in script["own_rows"]() if row.name == "KernelKMeans")
    kept = next(r for r in script["read"]("own")["rows"] if r["estimator"] == row.name)
    for cell in ("new samples", "probabilities", "size bounds", "must-links", "known labels"):
        script["PROBES"][cell](row)
        assert kept["why_not"][cell] == ""
    with pytest.raises(AssertionError, match="other clusters"):
        script["PROBES"]["two moons"](row)
    assert kept["why_not"]["two moons"]
