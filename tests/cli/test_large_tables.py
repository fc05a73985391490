"""Tables that memory cannot hold: the same clusters, block by block."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from numpy.testing import assert_array_equal

from separatrix.cli import large_tables, main

N_ROWS = 900


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(large_tables, "BLOCK_ROWS", 70)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    second = rng.random(N_ROWS) < 0.3
    values = rng.normal(size=(N_ROWS, 3)) + 5.0 * second[:, None]
    return pa.table(
        {
            "customer": [f"c{i}" for i in range(N_ROWS)],
            "basket": values[:, 0],
            "plan": np.where(rng.random(N_ROWS) < 0.5, "family", "single"),
            "visits": values[:, 1].astype(np.float32),
            "age": np.round(values[:, 2]).astype(np.int16),
        }
    )


@pytest.fixture
def folder(table, tmp_path):
    where = tmp_path / "rows"
    where.mkdir()
    for part, start in enumerate(range(0, N_ROWS, 250)):
        pyarrow.parquet.write_table(
            table.slice(start, 250), where / f"{part}.parquet", row_group_size=60
        )
    return where


def run(*words):
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    assert ended.value.code == 0


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_folder_gives_the_clusters_of_one_file(ending, folder, table, tmp_path):
    whole, out = tmp_path / "whole.parquet", tmp_path / f"out.{ending}"
    pyarrow.parquet.write_table(table, whole)
    command = ["-k", 2, "-m", "separation", "--out"]
    run("cluster", whole, *command, tmp_path / "expected.parquet")
    run("cluster", folder, *command, out)
    read = pyarrow.parquet.read_table if ending == "parquet" else pyarrow.csv.read_csv
    found, expected = read(out), pyarrow.parquet.read_table(tmp_path / "expected.parquet")
    assert found.column_names == expected.column_names
    assert_array_equal(found["customer"], expected["customer"])
    assert_array_equal(found["cluster"], expected["cluster"])


def test_labels_alone_have_ids_or_numbers(folder, tmp_path):
    out = tmp_path / "out.parquet"
    run("cluster", folder, "-k", 2, "-m", "separation", "--labels-only", "--out", out)
    found = pyarrow.parquet.read_table(out)
    assert found.column_names == ["row", "cluster"]
    assert_array_equal(found["row"], np.arange(1, N_ROWS + 1))
    named = ["--id-column", "customer", "--labels-only", "--out", out]
    run("cluster", folder, "-k", 2, "-m", "separation", *named)
    assert pyarrow.parquet.read_table(out).column_names == ["customer", "cluster"]


def test_a_model_predicts_a_folder(folder, tmp_path, capfd):
    labels, again = tmp_path / "labels.parquet", tmp_path / "again.parquet"
    model, report = tmp_path / "model.skops", tmp_path / "report.html"
    outputs = ["--out", labels, "--model", model, "--report", report]
    run("cluster", folder, "-k", 2, "-m", "separation", *outputs)
    assert "900 rows" in capfd.readouterr().err
    assert report.stat().st_size > 10_000
    run("predict", folder, model, "--out", again)
    expected = pyarrow.parquet.read_table(labels)["cluster"]
    assert_array_equal(pyarrow.parquet.read_table(again)["cluster"], expected)


def test_a_file_beyond_memory_is_read_in_blocks(table, tmp_path, monkeypatch, capfd):
    whole = tmp_path / "whole.parquet"
    pyarrow.parquet.write_table(table, whole)
    monkeypatch.setattr(large_tables, "physical_memory", lambda: 10_000)
    run("cluster", whole, "-k", 2, "-m", "separation", "--out", tmp_path / "out.parquet")
    assert "sampled" in capfd.readouterr().err
    assert pyarrow.parquet.read_table(tmp_path / "out.parquet").num_rows == N_ROWS


def test_a_sample_is_drawn_in_the_order_of_the_rows(folder, table, monkeypatch):
    from separatrix.cli.reading import Reading, read_table

    monkeypatch.setattr(large_tables, "SAMPLE_ROWS", 40)
    sampled = read_table(str(folder), Reading())
    assert sampled.data.num_rows == 40
    assert sampled.large.n_rows == N_ROWS
    numbers = [int(name.as_py()[1:]) for name in sampled.data["customer"]]
    assert numbers == sorted(set(numbers))
    assert sampled.data.equals(table.take(numbers).combine_chunks())


def test_folders_without_tables_are_refused(tmp_path, refused):
    assert "there are no Parquet files" in refused("cluster", tmp_path)
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and nothing else")
    assert "cannot be read" in refused("cluster", tmp_path)


def test_methods_that_need_memory_are_refused(folder, refused):
    line = refused("cluster", folder, "-k", 2, "-m", "hard-volume")
    assert "HardMaximumVolumeClustering: it needs all rows in memory" in line
    assert "-m separation" in line


@pytest.mark.parametrize("method", ["auto", "volume", "tree-cut"])
def test_methods_that_sample_write_reports_and_models_of_a_folder(method, folder, tmp_path):
    labels, again = tmp_path / "labels.parquet", tmp_path / "again.parquet"
    model, report = tmp_path / "model.skops", tmp_path / "report.html"
    outputs = ["--out", labels, "--model", model, "--report", report]
    run("cluster", folder, "-k", 2, "-m", method, *outputs)
    found = pyarrow.parquet.read_table(labels)["cluster"].to_numpy()
    assert len(found) == N_ROWS
    assert report.stat().st_size > 10_000
    run("predict", folder, model, "--out", again)
    assert_array_equal(pyarrow.parquet.read_table(again)["cluster"], found)


class Interruptions:
    """Counts the blocks that are read, and interrupts when there were enough."""

    def __init__(self, monkeypatch):
        self.n_read, self.most = 0, np.inf
        original = large_tables.LargeTable.blocks

        def blocks(table, columns=None):
            for block in original(table, columns):
                self.n_read += 1
                if self.n_read > self.most:
                    raise KeyboardInterrupt
                yield block

        monkeypatch.setattr(large_tables.LargeTable, "blocks", blocks)


@pytest.mark.parametrize("method", ["separation", "kernel-kmeans"])
def test_an_interrupted_fit_goes_on_to_the_same_labels(method, folder, tmp_path, monkeypatch):
    """Wherever it stops, and with fewer blocks to read than from the beginning."""
    reading = Interruptions(monkeypatch)
    kept, out = tmp_path / "kept", tmp_path / "out.parquet"
    run("cluster", folder, "-k", 2, "-m", method, "--out", tmp_path / "expected.parquet")
    n_all, reading.n_read = reading.n_read, 0
    command = ["cluster", folder, "-k", 2, "-m", method, "--out", out, "--checkpoint", kept]
    for _ in range(2):
        reading.n_read, reading.most = 0, n_all // 2
        with pytest.raises((SystemExit, KeyboardInterrupt)):
            main([str(word) for word in command])
        assert not out.exists()
    reading.n_read, reading.most = 0, np.inf
    run(*command)
    assert reading.n_read < n_all
    assert not kept.exists()
    found = pyarrow.parquet.read_table(out)["cluster"]
    assert_array_equal(found, pyarrow.parquet.read_table(tmp_path / "expected.parquet")["cluster"])


def test_a_checkpoint_of_another_task_is_refused(folder, table, tmp_path, monkeypatch, capfd):
    reading = Interruptions(monkeypatch)
    kept, whole = tmp_path / "kept", tmp_path / "whole.parquet"
    command = ["cluster", folder, "-m", "separation", "--checkpoint", kept, "-k"]
    reading.most = 40
    with pytest.raises((SystemExit, KeyboardInterrupt)):
        main([str(word) for word in [*command, 2]])
    reading.most = np.inf
    pyarrow.parquet.write_table(table, whole)
    command[1:2], other = [folder], [whole, *command[2:]]
    refused = ([*command, 3], "differs in method"), (["cluster", *other, 2], "as a whole")
    for words, told in refused:
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        assert ended.value.code == 2
        assert told in capfd.readouterr().err
