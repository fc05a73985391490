"""Outputs appear whole or not at all, whatever ends the work."""

import csv
import errno
import os
import signal
import stat
import subprocess
import sys

import numpy as np
import pytest

import separatrix
from separatrix.cli import Refusal, commands, main
from separatrix.cli.writing import Outputs, write_labels

TABLE = "a,b\n" + "".join(f"{i},{i % 7}\n" for i in range(30))


def test_files_appear_together_at_the_end(tmp_path):
    first, second = tmp_path / "a.csv", tmp_path / "b.html"
    first.write_text("old")
    with Outputs("-", labels=str(first), report=str(second), model="") as outputs:
        assert outputs["model"] is None
        for kind in ("labels", "report"):
            assert os.path.dirname(outputs[kind]) == str(tmp_path)
            with open(outputs[kind], "w") as file:
                file.write(kind)
        assert first.read_text() == "old"
        assert not second.exists()
    assert (first.read_text(), second.read_text()) == ("labels", "report")
    assert sorted(tmp_path.iterdir()) == [first, second]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, ValueError])
def test_nothing_remains_of_work_that_ends_early(tmp_path, error):
    path = tmp_path / "a.csv"
    path.write_text("old")

    def work():
        with Outputs("-", labels=str(path)) as outputs, open(outputs["labels"], "w") as file:
            file.write("half")
            raise error

    with pytest.raises(error):
        work()
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == "old"


def test_permissions_are_those_of_a_file_made_by_hand(tmp_path):
    (tmp_path / "plain").touch()
    (tmp_path / "old").touch()
    (tmp_path / "old").chmod(0o640)
    with Outputs("-", new=str(tmp_path / "new"), old=str(tmp_path / "old")):
        pass
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {"plain": modes["plain"], "new": modes["plain"], "old": 0o640}


def test_links_are_followed(tmp_path):
    (tmp_path / "target").touch()
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with Outputs("-", labels=str(tmp_path / "link")) as outputs:
        write_labels(outputs["labels"], {}, [1, 0])
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "row,cluster\n1,1\n2,0\n"


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_names_that_need_quotes_have_them(tmp_path, ending):
    path = str(tmp_path / f"labels.{ending}")
    names = ["plain", "a,b", "a\tb", 'a "b"', "two\nlines", "", "é"]
    confidence = np.array([1, 0.5, 1 / 3, 0, 0.25, 0.125, 0.99996])
    for ids in ({"na,me": names}, {"na\tme": list(range(7))}):
        write_labels(path, ids, np.arange(7), confidence)
        with open(path, newline="", encoding="utf-8") as file:
            header, *rows = csv.reader(file, delimiter="," if ending == "csv" else "\t")
        ((name, expected),) = ids.items()
        assert header == [name, "cluster", "confidence"]
        assert [row[0] for row in rows] == [str(one) for one in expected]
        assert [int(row[1]) for row in rows] == list(range(7))
        np.testing.assert_array_equal([float(row[2]) for row in rows], confidence.round(4))


def test_a_full_disk_is_told(tmp_path):
    with pytest.raises(Refusal, match="No space left"), Outputs("-", a=str(tmp_path / "a")):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")
def test_standard_output_that_takes_nothing(tmp_path):
    program = [sys.executable, "-c", "from separatrix.cli import main; main()"]
    (tmp_path / "data.csv").write_text("a,b\n" + "".join(f"{i},{i % 7}\n" for i in range(9000)))
    command = [*program, "cluster", str(tmp_path / "data.csv"), "-k", "2", "-m", "separation"]
    model = tmp_path / "model.skops"
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr == "separatrix: output: cannot be written: No space left on device\n"
    # a reader that has seen enough is no error
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*command, "--model", str(model)], stdout=writer)
    os.close(writer)
    assert done.returncode == 0
    assert model.exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_leave_nothing(tmp_path, number, code):
    (tmp_path / "data.csv").write_text(TABLE)
    (tmp_path / "labels.csv").write_text("old")
    program = (
        "import os, separatrix\n"
        f"stop = lambda *_: os.kill(os.getpid(), {int(number)})\n"
        "separatrix.MaximinSeparationClustering.fit = stop\n"
        "from separatrix.cli import main\n"
        "main()\n"
    )
    command = "cluster {0}/data.csv -k 2 -m separation -o {0}/labels.csv --model {0}/model.skops"
    command = command.format(tmp_path).split()
    done = subprocess.run([sys.executable, "-c", program, *command])
    assert done.returncode == code
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv", "labels.csv"]
    assert (tmp_path / "labels.csv").read_text() == "old"


def test_a_report_that_fails_takes_the_labels_with_it(tmp_path, monkeypatch):
    def fail(*arguments, **named):
        raise RuntimeError("a defect")

    monkeypatch.setattr(separatrix, "write_report", fail, raising=False)
    (tmp_path / "data.csv").write_text(TABLE)
    outputs = ["-o", str(tmp_path / "labels.csv"), "--report", str(tmp_path / "report.html")]
    with pytest.raises(RuntimeError, match="a defect"):
        main(["cluster", str(tmp_path / "data.csv"), "-k", "2", "-m", "separation", *outputs])
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]


def test_a_missing_part_is_told(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "separatrix.cli.commands", None)
    with pytest.raises(SystemExit) as stopped:
        main(["methods"])
    assert stopped.value.code == 2
    assert 'pip install "separatrix[cli]"' in capsys.readouterr().err
    assert commands.app is not None
