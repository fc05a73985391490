"""Outputs appear whole or not at all, whatever ends the work."""

import csv
import errno
import os
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

import separatrix
from separatrix.cli import Refusal, commands, main
from separatrix.cli.writing import Outputs, write_labels

TABLE = "a,b\n" + "".join(f"{i},{i % 7}\n" for i in range(30))
CLUSTER = ["cluster", "data.csv", "-k", "2", "-m", "separation"]
unix_only = pytest.mark.skipif(sys.platform == "win32", reason="needs pipes with names")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder, with a table in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text(TABLE)
    return tmp_path


def main_of(*command):
    with pytest.raises(SystemExit) as stopped:
        main([*command])
    assert stopped.value.code == 0


def cluster(*options):
    main_of(*CLUSTER, *options)


def test_files_appear_together_at_the_end(tmp_path):
    first, second = tmp_path / "a.csv", tmp_path / "b.html"
    first.write_text("old")
    with Outputs("-", labels=str(first), report=str(second), model="") as outputs:
        assert outputs["model"] is None
        for kind in ("labels", "report"):
            assert Path(outputs[kind]).parents[1] == tmp_path  # so that it can be moved
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
    with Outputs("-", labels=str(tmp_path / "new"), model=str(tmp_path / "old")):
        pass
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {"plain": modes["plain"], "new": modes["plain"], "old": 0o640}


def test_a_report_keeps_the_permissions_of_the_one_before(folder):
    report = folder / "report.html"
    report.touch()
    report.chmod(0o640)
    cluster("--out", "", "--report", "report.html")
    assert report.stat().st_size
    assert stat.S_IMODE(report.stat().st_mode) == 0o640


def test_links_are_followed(tmp_path):
    (tmp_path / "target").touch()
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with Outputs("-", labels=str(tmp_path / "link")) as outputs:
        write_labels(outputs["labels"], {}, [1, 0])
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "row,cluster\n1,1\n2,0\n"


GROUPS = np.arange(60) % 2 * 9 + np.linspace(0, 1, 60)


@pytest.mark.parametrize("delimiter", [";", "|", ",", "\t"])
def test_tables_keep_their_signs(tmp_path, monkeypatch, delimiter):
    """As spreadsheets of many countries have them: values between semicolons, decimal commas."""
    monkeypatch.chdir(tmp_path)
    values = [f"{value:.2f}".replace(".", ",") for value in GROUPS]
    with open("in.csv", "w", newline="") as file:
        rows = [["name", "x"], *([f"n{number}", x] for number, x in enumerate(values))]
        csv.writer(file, delimiter=delimiter).writerows(rows)

    def read(path, written_with):
        with open(path, newline="") as file:
            return list(csv.reader(file, delimiter=written_with))

    main_of("cluster", "in.csv", "-k", "2", "--out", "out.csv", "--model", "m.skops")
    written_with = "," if delimiter == "\t" else delimiter
    header, *rows = read("out.csv", written_with)
    assert header == ["name", "x", "cluster", "confidence"]
    assert [row[1] for row in rows] == values
    assert all(re.fullmatch(r"[01],\d+", row[3]) for row in rows)
    main_of("predict", "in.csv", "m.skops", "--out", "again.tsv")
    assert [row[:3] for row in read("again.tsv", "\t")[1:]] == [row[:3] for row in rows]
    main_of("predict", "in.csv", "m.skops", "--out", "again")
    assert [row[:3] for row in read("again", delimiter)[1:]] == [row[:3] for row in rows]
    main_of("predict", "in.csv", "m.skops", "--out", "again.parquet")
    assert pyarrow.parquet.read_table("again.parquet")["x"].type == pyarrow.float64()


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
    with pytest.raises(Refusal, match="No space left"), Outputs(labels=str(tmp_path / "a")):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")
def test_standard_output_that_takes_nothing(folder, program):
    (folder / "data.csv").write_text("a,b\n" + "".join(f"{i},{i % 7}\n" for i in range(9000)))
    command = [*CLUSTER, "--model", "model.skops", "--report", "report.html"]
    with open("/dev/full", "w") as full:
        done = program(*command, stdout=full)
    assert done.returncode == 2
    assert done.stderr == "separatrix: output: cannot be written: No space left on device\n"
    assert [path.name for path in folder.iterdir()] == ["data.csv"]
    # a reader that has seen enough is no error
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as stdout:
        done = program(*command, stdout=stdout)
    assert done.returncode == 0
    assert {path.name for path in folder.iterdir()} == {"data.csv", "model.skops", "report.html"}


def test_inputs_are_not_overwritten(folder, refused, program):
    cluster("--out", "labels.csv", "--model", "model.skops")
    (folder / "link.csv").hardlink_to(folder / "data.csv")
    (folder / "model").symlink_to("model.skops")
    for command in (
        "predict data.csv model.skops --out model.skops",
        "predict data.csv model.skops --out model",
        "predict data.csv model.skops --out link.csv",
        "cluster data.csv -k 2 -m separation --model ./data.csv",
        "compare data.csv -k 2 --report data.csv",
    ):
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        assert "would overwrite the input" in refused(*command.split())
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    with open("data.csv") as data:
        done = program("predict", "-", "model.skops", "--out", "data.csv", stdin=data)
    assert done.returncode == 2
    assert "would overwrite the input" in done.stderr
    assert (folder / "data.csv").read_text() == TABLE


@pytest.mark.parametrize(
    ("option", "known"),
    [("--out", ".csv or .tsv or .parquet"), ("--report", ".html"), ("--model", ".skops")],
)
@pytest.mark.parametrize("name", ["x.xlsx", "x.csv.gz", "x.npz", "x.pdf"])
def test_endings_that_say_something_else_are_refused(folder, refused, option, known, name):
    line = refused("cluster", "data.csv", "-k", 2, "-m", "separation", option, name)
    assert line.startswith(f"separatrix: {name}: ")
    assert line.endswith(f"name it {known}")
    assert [path.name for path in folder.iterdir()] == ["data.csv"]


def test_endings_in_capitals_and_none_at_all(folder):
    cluster("--out", "labels.PARQUET", "--report", "r.HTML", "--model", "m.SKOPS")
    cluster("--out", "labels", "--report", "r", "--model", "m")
    assert (folder / "labels.PARQUET").read_bytes()[:4] == b"PAR1"
    assert (folder / "labels").read_text().startswith("a,b,cluster\n")
    assert (folder / "r.HTML").read_text().startswith("<!doctype html>")
    assert (folder / "r").read_text().startswith("<!doctype html>")
    assert len({path.stat().st_mode for path in folder.iterdir()}) == 1


def test_standard_output_takes_one_thing(folder, capfd, refused):
    method = ["data.csv", "-k", 2, "-m", "separation"]
    assert "two outputs" in refused("cluster", *method, "--report", "-")  # labels too
    assert "two outputs" in refused("cluster", *method, "--out", "-", "--model", "-")
    assert "name a file" in refused("compare", "data.csv", "-k", 2, "--report", "-")
    cluster("--out", "", "--report", "-")
    assert capfd.readouterr().out.startswith("<!doctype html>")


@unix_only
def test_devices_and_pipes_are_written_to(folder, program):
    os.mkfifo("pipe.tsv")
    cluster("--out", "/dev/null")
    with subprocess.Popen(["cat", "pipe.tsv"], stdout=subprocess.PIPE, text=True) as reader:
        cluster("--out", "pipe.tsv")
        assert reader.communicate()[0].startswith("a\tb\tcluster\n0\t")
    done = program(*CLUSTER, "--out", "/dev/stdout", "--labels-only")
    assert (done.returncode, done.stdout[:12]) == (0, "row,cluster\n")
    assert sorted(path.name for path in folder.iterdir()) == ["data.csv", "pipe.tsv"]
    assert stat.S_ISFIFO((folder / "pipe.tsv").stat().st_mode)


@unix_only
def test_labels_do_not_steer_a_terminal(folder):
    ids = {"na\tme": ["\x1b[2J", "\0\b", "\u202e", "é"]}
    terminal, follower = os.openpty()
    with Outputs(labels=os.ttyname(follower)) as outputs:
        write_labels(outputs["labels"], ids, [1, 0, 1, 0])
    shown = os.read(terminal, 1 << 16).decode().replace("\r\n", "\n")
    assert shown == "na\tme,cluster\n\\x1b[2J,1\n\\x00\\x08,0\n\\u202e,1\né,0\n"
    os.close(follower)
    os.close(terminal)
    with Outputs(labels="labels.csv") as outputs:  # a file has them letter by letter
        write_labels(outputs["labels"], ids, [1, 0, 1, 0])
    assert (folder / "labels.csv").read_text().splitlines()[1] == "\x1b[2J,1"


@unix_only
def test_readers_that_leave_end_the_program_quietly(folder, program):
    cluster("--out", "", "--model", "model.skops")
    commands = ["methods", "--help", "explain model.skops"]
    commands += ["compare data.csv -k 2 --methods separation --report report.html"]
    for command in commands:
        reader, writer = os.pipe()
        os.close(reader)
        with open(writer, "wb") as stdout:
            done = program(*command.split(), stdout=stdout)
        assert (done.returncode, done.stderr) == (-signal.SIGPIPE, "")
    assert (folder / "report.html").exists()


@unix_only
def test_standard_streams_that_are_closed(folder, program):
    for closed, out, code in (("stderr", (), 0), ("stdout", (), 0), ("stdout", ("--out", "-"), 2)):
        done = program(*CLUSTER, "--out", "labels.csv", *out, closed=[closed])
        assert done.returncode == code
        assert (folder / "labels.csv").exists() == (code == 0)
        (folder / "labels.csv").unlink(missing_ok=True)
    assert [path.name for path in folder.iterdir()] == ["data.csv"]


def test_interrupts_wait_until_all_files_are_moved(tmp_path, monkeypatch):
    paths = [tmp_path / name for name in ("labels.csv", "report.html", "model.skops")]
    replace = os.replace

    def interrupted(*arguments):
        signal.raise_signal(signal.SIGINT)
        replace(*arguments)

    monkeypatch.setattr(os, "replace", interrupted)
    kinds = ("labels", "report", "model")
    former = signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored
    with (
        pytest.raises(KeyboardInterrupt),
        Outputs(**{kind: str(path) for kind, path in zip(kinds, paths, strict=True)}),
    ):
        pass
    signal.signal(signal.SIGINT, former)
    assert sorted(tmp_path.iterdir()) == sorted(paths)


@unix_only
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_signals_leave_nothing(folder, program, name, code):
    (folder / "labels.csv").write_text("old")
    number = int(getattr(signal, name))
    answer = "default_int_handler" if name == "SIGINT" else "SIG_DFL"
    prelude = (
        "import signal\n"
        # as in a terminal, whatever runs the tests ignores
        f"signal.signal({number}, signal.{answer})\n"
        f"stop = lambda *_: os.kill(os.getpid(), {number})\n"
        "separatrix.MaximinSeparationClustering.fit = stop\n"
    )
    outputs = ["--out", "labels.csv", "--model", "model.skops"]
    assert program(*CLUSTER, *outputs, prelude=prelude).returncode == code
    assert sorted(path.name for path in folder.iterdir()) == ["data.csv", "labels.csv"]
    assert (folder / "labels.csv").read_text() == "old"


@unix_only
def test_the_next_command_removes_what_a_kill_left(folder, program):
    for name in ("labels.csv", "report.html", "model.skops"):
        (folder / name).write_text("old")
    outputs = ["--out", "labels.csv", "--report", "report.html", "--model", "model.skops"]
    for where in ("MaximinSeparationClustering.fit", "write_report"):
        prelude = f"separatrix.{where} = lambda *_, **__: os.kill(os.getpid(), 9)\n"
        assert program(*CLUSTER, *outputs, prelude=prelude).returncode == -signal.SIGKILL
        left = [path for path in folder.iterdir() if path.name.startswith(".")]
        assert len(left) == 3
        assert (folder / "labels.csv").read_text() == "old"
    cluster(*outputs)
    visible = ["data.csv", "labels.csv", "model.skops", "report.html"]
    assert sorted(path.name for path in folder.iterdir()) == visible


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--out", "data.csv"], "would overwrite the input"),
        (["--out", "labels.xlsx"], "cannot be written as .xlsx"),
        (["--report", "report.txt"], "name it .html"),
        (["--out", "labels.csv", "--model", "missing/model.skops"], "cannot be written"),
    ],
)
def test_outputs_are_refused_before_anything_is_loaded(folder, options, message):
    """Loading scikit-learn takes longer than all of the rest."""
    run = "from separatrix.cli import main\n"
    run += "import atexit, sys\natexit.register(lambda: print('sklearn' in sys.modules))\nmain()"
    command = [sys.executable, "-c", run, *CLUSTER, *options]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout.split() == ["False"]
