"""The harness of speeds."""

import runpy
from pathlib import Path

SPEED = Path(__file__).parents[2] / "benchmarks" / "speed"


def test_clusterers_are_printed_without_their_peers(capsys, monkeypatch):
    """As in a file of results that has some of them only."""
    monkeypatch.syspath_prepend(SPEED)
    harness = runpy.run_path(str(SPEED / "harness.py"))
    cell = {"seconds": 1.0, "megabytes": 1.0, "ari": 0.5}
    name, n, k = "LDAKMeans", harness["MANY_SAMPLES"], harness["MANY_CLUSTERS"]
    cells = {name: {harness["cell_of"](n, k): cell}}
    harness["print_tables"](cells, {}, [], [])
    assert name in capsys.readouterr().out
