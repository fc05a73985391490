"""What `predict` says of the shares of clusters, beside those of the fit."""

import numpy as np
import pytest

from separatrix.cli import main


@pytest.fixture
def told(tmp_path, capfd):
    """Function from rows to the line by which `predict` compares them with 100 of two groups."""

    def write(name, rows):
        path = str(tmp_path / name)
        np.savetxt(path, rows, delimiter=",", header="a,b", comments="")
        return path

    def run(*command):
        with pytest.raises(SystemExit) as ended:
            main(list(command))
        assert ended.value.code == 0

    def line_of(rows):
        model = str(tmp_path / "model.skops")
        options = ["-k", "2", "-m", "separation", "--out", str(tmp_path / "labels.csv")]
        run("cluster", write("fit.csv", groups(100)), *options, "--model", model)
        capfd.readouterr()
        run("predict", write("new.csv", rows), model, "--out", str(tmp_path / "new_labels.csv"))
        shown = capfd.readouterr().err.splitlines()
        return next(line for line in shown if line.startswith("shares"))

    return line_of


def groups(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_rows, 2)) + 9.0 * (np.arange(n_rows) % 2)[:, None]


def test_predict_tells_whether_shares_have_changed(told):
    assert "no sign of change in 60 rows" in told(groups(60, seed=1))
    changed = told(groups(60, seed=1)[::2])
    assert "changed (p < 0.001)" in changed
    assert "has 100 % of the new rows, 50 % in the fit" in changed
