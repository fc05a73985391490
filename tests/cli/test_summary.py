"""The last lines of a command: what each cluster is, and what was done to the table."""

import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

from separatrix import profile
from separatrix.cli import commands, main
from separatrix.tables import CellError, TablePreparer, columns


@pytest.fixture
def shops(tmp_path):
    """A table of two kinds of shops, with an id, a gap and a category, and where it is."""
    rng = np.random.default_rng(0)
    is_large = np.arange(60) < 25
    table = pd.DataFrame(
        {
            "shop": [f"S{i:02}" for i in range(60)],
            "sales": np.where(is_large, 90.0, 20.0) + rng.normal(size=60),
            "staff": np.where(is_large, 9.0, 2.0) + rng.random(60),
            "kind": np.where(is_large, "mall", rng.choice(["street", "station"], 60)),
        }
    )
    table.loc[3, "staff"] = np.nan
    path = tmp_path / "shops.csv"
    table.to_csv(path, index=False)
    return table, path


def run(*command):
    with pytest.raises(SystemExit) as stopped:
        main([str(word) for word in command])
    assert stopped.value.code == 0


def test_each_cluster_is_told_as_python_tells_it(shops, tmp_path, capfd):
    table, path = shops
    run("cluster", path, "-k", 2, "-m", "separation", "-o", tmp_path / "labels.csv")
    labels = pd.read_csv(tmp_path / "labels.csv")["cluster"].to_numpy()
    shown = capfd.readouterr().err
    for one in profile(table[["sales", "staff", "kind"]], labels).clusters:
        assert one.text in shown
    assert "scaled      3 columns, to the same weight" in shown
    run("cluster", path, "-k", 2, "-m", "separation", "-o", "", "--no-standardize")
    assert "scaled" not in capfd.readouterr().err


def test_no_clusters_are_an_answer(tmp_path, capfd):
    path = tmp_path / "noise.csv"
    noise = np.random.default_rng(0).normal(size=(120, 3))
    pd.DataFrame(noise, columns=list("abc")).to_csv(path, index=False)
    run("cluster", path, "-o", tmp_path / "labels.csv")
    assert "no clusters found: the rows are one group" in capfd.readouterr().err
    assert set(pd.read_csv(tmp_path / "labels.csv")["cluster"]) == {0}
    run("cluster", path, "-k", 1, "-o", "")
    assert "1 cluster in" in capfd.readouterr().err


def test_columns_are_converted_once(shops, tmp_path, monkeypatch):
    _, path = shops
    converted, convert = [], columns._column_of_series

    def watched(name, series):
        converted.append(name)
        return convert(name, series)

    monkeypatch.setattr(columns, "_column_of_series", watched)
    outputs = ["-o", tmp_path / "l.csv", "--report", tmp_path / "r.html"]
    run("cluster", path, "-k", 2, "-m", "separation", *outputs, "--model", tmp_path / "m.skops")
    assert sorted(converted) == ["kind", "sales", "shop", "staff"]


def test_columns_stand_in_for_their_table(shops):
    table, _ = shops
    once = columns.columns_of(table)
    assert columns.columns_of(once) is once
    of_table, of_columns = TablePreparer().fit(table), TablePreparer().fit(once)
    np.testing.assert_array_equal(of_table.transform(table), of_columns.transform(once))
    assert of_table.findings_ == of_columns.findings_
    assert list(of_columns.feature_names_in_) == list(table.columns)


def test_what_refuses_a_table_needs_no_heavy_import():
    code = "import separatrix.cli.columns, sys; print('sklearn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("value", [np.inf, 1e200])
def test_values_that_are_refused_are_not_warned_of(value):
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=list("abc"))
    table.loc[5, "b"] = value
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(CellError, match="column 'b', row 5"):
            TablePreparer().fit(table)


def test_refusals_name_the_method_and_no_hidden_class(shops, refused):
    _, path = shops
    for method in ("k-means", "smooth mixture"):
        line = refused("cluster", path, "-k", 99, "-m", method, "-o", "")
        assert line.startswith(f"separatrix: {method}: n_samples=60 should be >= n_clusters=99")
        line = refused("cluster", path, "-k", 2, "-m", method, "--set", "x=1", "-o", "")
        assert line.endswith("it has n_clusters, random_state")
    line = refused("cluster", path, "-k", 99, "-m", "margin", "-o", "")
    assert line.startswith("separatrix: MaximumMarginClustering: ")


def test_labels_are_counted_some_at_a_time(monkeypatch):
    monkeypatch.setattr(commands, "COUNTED_ROWS", 7)
    labels = np.random.default_rng(0).integers(-1, 4, 100).astype(np.int32)
    expected = np.bincount(labels[labels >= 0]).tolist()
    assert commands._sizes(labels) == expected
    assert commands._sizes(labels, n_clusters=6) == [*expected, 0, 0]
    assert commands._sizes(labels[:0]) == []
