"""Files that cannot be used: one line that says what and where, exit code 2, nothing written."""

import gzip
import io
import re
import sqlite3
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import scipy.sparse

from separatrix.cli import main, other_files, text_files
from separatrix.data import memory

TABLE = "age,city,pay\n" + "".join(f"{20 + i},{'xyz'[i % 3]},{i}.5\n" for i in range(30))
SEPARATION = ["-k", "2", "-m", "separation"]


def refusal(arguments, capfd):
    """The one line on standard error of a command that is refused."""
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    printed = capfd.readouterr()
    assert stopped.value.code == 2
    assert printed.out == ""
    (line,) = printed.err.splitlines()
    return line


def archive(member, content="content"):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as zipped:
        zipped.writestr(member, content)
    return file.getvalue()


def arrays(**saved):
    file = io.BytesIO()
    np.savez(file, **saved)
    return file.getvalue()


def bare_array(values):
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


def in_each_row(value):
    return "a,b\n" + "".join(f'"{value}",{i}\n' for i in range(30))


def test_the_table_itself_is_sound(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(TABLE)
    with pytest.raises(SystemExit) as stopped:
        main(["cluster", str(path), *SEPARATION, "--out", str(tmp_path / "labels.csv")])
    assert stopped.value.code == 0
    assert len((tmp_path / "labels.csv").read_text().splitlines()) == 31


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "the file is empty"),
        ("\n\r\n\n\n", "the file is empty"),
        ("age,pay\n", "names of columns, but no rows of data"),
        ("a,b", "names of columns, but no rows of data"),
        ("age,pay\n1,2\n", "1 row of data; clustering needs at least 2"),
        (TABLE.replace("25,z,5.5", "25,z"), "line 7: 2 fields where the header has 3; complete"),
        (
            TABLE.replace("25,z,5.5", "25,z,5.5,7"),
            "line 7: 4 fields where the header has 3; put quotes around a value that has ','",
        ),
        (f"Staff of 2020\n\n{TABLE}", "line 3 has 3 fields, and line 1 has one; delete the lines"),
        (f"Staff\n{TABLE}".replace(",", ";"), "line 2 has 3 fields, .* above the names"),
        (TABLE.replace("27,y,7.5", "27,y,many"), "line 9, column 'pay': 'many' is not a number"),
        (TABLE.replace("27,y,7.5", "27,y,inf"), "line 9, column 'pay': inf is infinite; put"),
        (TABLE.replace("7.5", "2e140"), r"line 9, column 'pay': 2e\+140 is too large.*scale"),
        ("1,2\n3,4\n5,6\n", "line 1 has only numbers; .*or pass --no-header"),
        ("1, 2\n3,4\n5,6\n", "line 1 has only numbers"),
        ("1,NaN,\n3,4,5\n5,6,7\n", "line 1 has only numbers"),
        ("-1e3,2\n3,4\n5,6\n", "line 1 has only numbers"),
        ("1.5e+00 2.5e+00\n1 2\n3 4\n", "line 1: only spaces .* put commas"),
        ("a b\n1 2\n3 4\n", "line 1: only spaces .* put commas"),
        *(
            (in_each_row(value), f"line 2, column 'a': '{re.escape(value)}' may have a comma")
            for value in ("1,234", "1.234,50 €", "(1 234)")
        ),
        (in_each_row("1,234"), "--decimal . or --decimal ',', or pass --categorical a$"),
        ("a,b\r1,2\r3,4\r", r"line 1: a carriage return ends no line; .*tr '\\r' '\\n'"),
        ('"a" "b"\n"1" "2"\n', "line 1: text after a closing quote; "),
        ("hour\n12:00:01\n12:00:02\n", "'hour' holds Time values"),
        ("word\nsame\nsame\n", "'word' holds the same value"),
        ("void,word\n,same\n,same\n", "'void' holds no values; 'word' holds the same value"),
        ("name\nx\ny\nz\n", "'name' seems to name the rows.*; pass --keep name$"),
        (TABLE.replace("27,y,7.5", '27,"y,7.5'), "line 9: a quote is not closed"),
        (TABLE.replace("27,y,7.5", '27,y,"7.5'), "line 9: a quote is not closed"),
        (b"a,b\n\x00\x01,\x02\n", "NUL bytes"),
        (b"PAR1 but no Parquet", "."),
        (b"PK\3\4 but no archive", "not a zip file"),
        (archive("xl/workbook.xml"), "cannot be read: .*; save it as CSV"),
        (gzip.compress(b"a,b\n", mtime=0), "names of columns, but no rows of data"),
        (gzip.compress(TABLE.encode(), mtime=0)[:-20], "cut off: .*; copy it again"),
        ('[{"a": 1}, 2]', "not a list of objects; write rows as objects"),
        ("[[1, 2], [3, 4]]", "not a list of objects; write rows as objects"),
        ('{"a": 1\n', "not JSON lines: .*put one object on each line"),
        (archive("X.npy"), "'X': Python objects, or damaged"),
        (archive("X.npy", ""), "'X': Python objects, or damaged"),
        (archive("X.npy", bare_array(np.eye(3))[:60]), "'X': Python objects, or damaged"),
        (bare_array(np.eye(3)), "a plain NumPy array; save it with numpy.savez"),
        (arrays(X=np.eye(3, 0)), "no column to cluster by"),
        (arrays(X=np.eye(3)[0]), "holds 'X'; needs one matrix, or one called X"),
        (arrays(a=np.eye(3), b=np.eye(3)), "holds 'a', 'b'; needs one matrix, or one called X"),
        (arrays(X=np.eye(3) * 1j), "holds complex128 values; save real numbers"),
        (arrays(X=np.array([[{}, {}]])), "'X': Python objects, .*; save numbers"),
        (arrays(X=np.eye(3), feature_names=["a"]), r"shape \(1,\) for 3 columns"),
        (arrays(X=np.eye(3)[:, :1], feature_names="a"), r"shape \(\) for 1 columns"),
        (
            arrays(X=np.eye(2), feature_names=np.array(["a", "b"], object)),
            r"'feature_names': Python objects, .*texts by astype\(str\)",
        ),
    ],
)
def test_malformed_files(tmp_path, capfd, content, said):
    path = tmp_path / "data.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    outputs = ["--out", tmp_path / "labels.csv", "--model", tmp_path / "model.skops"]
    line = refusal(["cluster", path, *SEPARATION, *outputs], capfd)
    assert line.startswith(f"separatrix: {path}: ")
    assert re.search(said, line)
    assert list(tmp_path.iterdir()) == [path]


def test_one_column_with_commas_has_no_title_above_it(tmp_path):
    """Neither decimal commas nor parts of texts are fields."""
    path = tmp_path / "data.csv"
    for values in ("1,5 2,5 7,5 8,5", "a,2 b,2 a,2 b,2"):
        path.write_text("\n".join(["size", *values.split()]) + "\n")
        out = ["--out", str(tmp_path / "labels.csv")]
        with pytest.raises(SystemExit) as stopped:
            main(["cluster", str(path), "-k", "2", "-m", "k-means", *out])
        assert stopped.value.code == 0


def test_a_quoted_line_break_counts_as_a_line(tmp_path, capfd):
    path = tmp_path / "data.csv"
    path.write_text('a,b\n1,"x\ny"\n2,z\ninf,z\n')
    assert "line 5, column 'a'" in refusal(["cluster", path, *SEPARATION], capfd)


def small_machine(monkeypatch, gigabytes):
    sizes = {"SC_PAGE_SIZE": 1, "SC_PHYS_PAGES": gigabytes * 10**9}
    monkeypatch.setattr(memory.os, "sysconf", sizes.__getitem__)


def no_reading(*arguments):
    raise AssertionError("it was read")


def test_ten_gigabytes_of_sparse_text_are_refused_unread(tmp_path, capfd, monkeypatch):
    path = tmp_path / "data.csv"
    with open(path, "wb") as file:
        file.write(b"a,b,c,d\n" + b"0,0,0,0\n" * 200_000)
        file.truncate(10 * 10**9)
    small_machine(monkeypatch, 32)
    monkeypatch.setattr(text_files.pyarrow.csv, "read_csv", no_reading)
    line = refusal(["cluster", path, *SEPARATION], capfd)
    # one value in two bytes, of each of which three copies of eight bytes are kept
    assert "needs about 120 GB of memory where this machine has 32 GB; pick --columns" in line
    # a quarter of the columns needs a quarter of the memory
    with pytest.raises(AssertionError, match="it was read"):
        main(["cluster", str(path), *SEPARATION, "--columns", "a"])


def test_ten_gigabytes_without_a_line_are_refused(tmp_path, capfd, monkeypatch):
    path = tmp_path / "data.csv"
    small_machine(monkeypatch, 1000)
    outputs = ["--out", tmp_path / "labels.csv"]
    for start, said in (
        (b"", "NUL bytes"),
        (b"a,b\n" + b"1,2\n" * 300_000, "line 300002: far too long"),
    ):
        with open(path, "wb") as file:
            file.write(start)
            file.truncate(10 * 10**9)
        assert said in refusal(["cluster", path, *SEPARATION, *outputs], capfd)
        assert list(tmp_path.iterdir()) == [path]


def test_binary_files_are_measured_before_they_are_unpacked(tmp_path, capfd, monkeypatch):
    zeros = np.zeros((1_000_000, 2))
    np.savez_compressed(tmp_path / "data.npz", X=zeros)
    small_machine(monkeypatch, 0)
    monkeypatch.setattr(other_files.np, "load", no_reading)
    assert "about 0.048 GB" in refusal(["cluster", tmp_path / "data.npz", *SEPARATION], capfd)


def test_sparse_matrices_are_told_apart(tmp_path, capfd):
    path = tmp_path / "data.npz"
    scipy.sparse.save_npz(path, scipy.sparse.csr_array(np.eye(3)))
    assert "sparse matrix of SciPy; save it with" in refusal(["cluster", path, *SEPARATION], capfd)


def test_values_too_large_to_average_are_refused(tmp_path, capfd):
    path = tmp_path / "data.csv"
    path.write_text("a,b\n1,1e308\n2,1e308\n3,\n4,5\n")
    line = refusal(["cluster", path, *SEPARATION, "--impute", "mean"], capfd)
    assert "line 2, column 'b': 1e+308 is too large to compute with; scale" in line


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--columns", "age,wage"], "there is no column 'wage'; there are 'age', 'city', 'pay'"),
        (["--columns", "age\npay"], r"'age\\npay' is not a list of names; put commas"),
        (
            ["--categorical", "town"],
            "--categorical: 'town' is not among the columns: 'age', 'city'",
        ),
        (["--columns", "age", "--categorical", "pay"], "'pay' is not among the columns: 'age'"),
        (["--columns", "city", "--id-column", "pay", "--categorical", "pay"], "not among the col"),
        (["--id-column", "name"], "there is no column 'name'"),
        (["--method", "magic"], "there is no method 'magic'; there are .*separation"),
        (["--set", "speed=9"], "separation has no such parameter; it has coef0, .*n_clusters"),
        (["--set", "reg=-1"], "MaximinSeparationClustering: .*'reg'"),
        (["-k", "31"], "MaximinSeparationClustering: n_samples=30 should be >= n_clusters=31"),
        (["--drop", "town"], "--drop: 'town' is not among the columns: 'age', 'city'"),
        (["--keep", "town"], "--keep: 'town' is not among the columns: 'age', 'city'"),
        (["--truth", "town"], "there is no column 'town'; there are 'age'"),
        (["--truth", "pay"], "--truth: column 'pay' holds 30 values, more than 20; name a"),
        (["--encoding", "klingon"], "--encoding klingon: there is no such encoding; pass one"),
        (["--encoding", "utf-16"], "is not utf-16; pass another --encoding"),
        (["--sheet", "first"], "--sheet: a text file has no sheets"),
        (["--out", "{folder}"], "not a file with write permission"),
        (["--out", "{folder}/none/labels.csv"], "cannot be written: No such file"),
        (["--out", "{folder}/data.csv/labels.csv"], "cannot be written: Not a directory"),
        (["--out", "{folder}/data.csv"], "the output would overwrite the input"),
        (["--report", "{folder}/x", "--model", "{folder}/x"], "two outputs"),
    ],
)
def test_options_that_cannot_work(tmp_path, capfd, options, said):
    path = tmp_path / "data.csv"
    path.write_text(TABLE)
    options = [option.format(folder=tmp_path) for option in options]
    outputs = ["--out", tmp_path / "labels.csv"]
    line = refusal(["cluster", path, *SEPARATION, *outputs, *options], capfd)
    assert re.search(said, line)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == TABLE


def test_a_column_named_as_categorical_must_be_of_use(tmp_path, capfd):
    path = tmp_path / "data.csv"
    path.write_text("a,b,c\n1,7,x\n2,7,x\n3,7,x\n")
    line = refusal(["cluster", path, *SEPARATION, "--categorical", "b"], capfd)
    assert line.endswith("columns of no use: 'b' holds the same value in all rows")


def test_a_column_that_names_the_rows_is_not_enough(tmp_path, capfd):
    path = tmp_path / "data.csv"
    path.write_text("name\nx\ny\nz\n")
    line = refusal(["cluster", path, *SEPARATION, "--id-column", "name"], capfd)
    assert "no column to cluster by; there are 'name'" in line


def test_a_long_value_is_cut(tmp_path, capfd):
    path = tmp_path / "data.csv"
    path.write_text(f"a\n1\n2\n{'x' * 200_000}\n")
    line = refusal(["cluster", path, *SEPARATION], capfd)
    assert "line 4, column 'a': 'xxx" in line
    assert len(line) < 400


def test_the_demo_overwrites_nothing_of_others(tmp_path, capfd):
    path = tmp_path / "labels.csv"
    path.write_text("mine")
    assert "holds other files; name another" in refusal(["demo", "--to", tmp_path], capfd)
    assert list(tmp_path.iterdir()) == [path]
    assert "cannot be written" in refusal(["demo", "--to", path], capfd)


def test_files_that_are_not_there(tmp_path, capfd):
    path = tmp_path / "data.csv"
    assert f"{path}: No such file" in refusal(["cluster", path, *SEPARATION], capfd)
    said = refusal(["cluster", tmp_path, *SEPARATION], capfd)
    assert f"{tmp_path}: there are no Parquet files" in said
    path.write_text(TABLE)
    said = refusal(["cluster", tmp_path, *SEPARATION], capfd)
    assert f"{tmp_path}: 'data.csv' there is not Parquet; name one file, or a folder" in said
    assert "x.skops: No such file" in refusal(["predict", path, "x.skops"], capfd)
    assert "separation needs a number" in refusal(["cluster", path, "-m", "separation"], capfd)


def test_columns_are_not_overwritten(tmp_path, capfd):
    path, out = tmp_path / "data.csv", tmp_path / "labels.csv"
    path.write_text(TABLE.replace("city", "cluster"))
    line = refusal(["cluster", path, *SEPARATION, "--out", out], capfd)
    assert "'cluster' has the name of an output; pass --drop cluster to replace it, or" in line
    assert not out.exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (TABLE.replace("27,y,7.5", "27,y,"), "line 9, column 'pay': the value is missing"),
        (TABLE.replace("27,y", "27,?"), "line 9, column 'city': the value is missing"),
        (TABLE.replace("27,y", "NA,y"), "line 9, column 'age': .*missing .1 in .*--impute"),
        ("a,region\n1,EU\n2,NA\n3,EU\n", "line 3, column 'region': the value is missing"),
        ("a,region\n1,x\n2,\n3,x\n", "line 3, column 'region': the value is missing"),
        ("a\n1\n\n9\n10\n", "line 3, column 'a': the value is missing"),
        ("a,day\n1,2024-01-01\n2,\n3,2025-01-01\n", "line 3, column 'day': the value is miss"),
    ],
)
def test_missing_values_are_refused_if_asked(tmp_path, capfd, content, said):
    path = tmp_path / "data.csv"
    path.write_text(content)
    options = ["--impute", "none", "--out", tmp_path / "labels.csv"]
    line = refusal(["cluster", path, *SEPARATION, *options], capfd)
    assert re.search(said, line)
    assert re.search("; pass --impute median, or pass --drop", line)


def test_a_database_of_several_tables_needs_a_name(tmp_path, capfd):
    path = tmp_path / "data.sqlite"
    base = sqlite3.connect(path)
    for name in ("one", "two"):
        base.execute(f"create table {name} (a, b)")
    base.commit()
    base.close()
    line = refusal(["cluster", path, *SEPARATION], capfd)
    assert "holds the tables 'one', 'two'; name one by --sheet" in line
    assert "no table 'x'; there are" in refusal(["cluster", path, "--sheet", "x"], capfd)


@pytest.mark.parametrize(
    "content", ["1,2\n3,4\n", "a,b\n1,2\nx,4\n3,1\n", "a,b\n1,2\ninf,4\n3,1\n", "a\nx\ny\n"]
)
def test_refusals_wait_for_no_library(tmp_path, content):
    """A table is refused before anything that takes long is imported."""
    (tmp_path / "data.csv").write_text(content)
    program = (
        "import sys\n"
        "from separatrix.cli import main\n"
        "try:\n    main(['cluster', 'data.csv'])\n"
        "except SystemExit as stopped:\n    assert stopped.code == 2\n"
        "assert not {'sklearn', 'scipy', 'numba', 'pandas'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)
