"""What the commands compute, show and write."""

import csv
import io
import json
import os
import re
import shlex
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from sklearn.base import ClusterMixin
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

import separatrix
from separatrix._output import in_percent
from separatrix.cli import commands, main, screens

NAMES = ["width", "height", "depth"]
X = np.round(make_blobs(60, centers=[[0, 0, 0], [9, 9, 90], [0, 9, 400]], random_state=0)[0], 3)


def run(*arguments):
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    assert stopped.value.code == 0


def labels_in(path, delimiter=","):
    with open(path, newline="") as file:
        return np.array([int(row["cluster"]) for row in csv.DictReader(file, delimiter=delimiter)])


def separated(features, n_clusters=3):
    model = separatrix.MaximinSeparationClustering(n_clusters, random_state=0)
    return model.fit_predict(features)


def weighed(indicators):
    """Indicators of the categories of a column, which has half the variance of a number."""
    return StandardScaler().fit_transform(indicators) / np.sqrt(2 * indicators.shape[1])


def write_csv(path, columns):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "data.csv"
    write_csv(path, dict(zip(NAMES, X.T, strict=True)))
    return path


def test_numbers_are_standardised_by_default(tmp_path, table):
    out = tmp_path / "labels.csv"
    run("cluster", table, "-k", 3, "-m", "separation", "-o", out)
    np.testing.assert_array_equal(labels_in(out), separated(StandardScaler().fit_transform(X)))
    run("cluster", table, "-k", 3, "-m", "separation", "-o", out, "--no-standardize")
    np.testing.assert_array_equal(labels_in(out), separated(X))


def test_outliers_have_a_label_of_their_own(tmp_path, capfd, refused):
    data, out, model = (tmp_path / name for name in ("data.csv", "labels.csv", "model.skops"))
    far = np.vstack([X[:, :2], [[90.0, -90.0]]])
    kind = np.repeat(["a", "b"], [60, 1])
    write_csv(data, {"width": far[:, 0], "height": far[:, 1], "kind": kind})
    options = ["-k", 3, "-m", "separation", "-o", out, "--truth", "kind", "--model", model]
    run("cluster", data, *options, "--outliers", 0.02, "--report", tmp_path / "report.html")
    labels = labels_in(out)
    assert labels[-1] == -1
    assert labels[:-1].min() == 0
    assert "1 row belongs to no cluster: label -1" in capfd.readouterr().err
    run("predict", data, model, "-o", out)
    np.testing.assert_array_equal(labels_in(out), labels)
    assert "1 row belongs to no cluster" in capfd.readouterr().err
    run("explain", model)
    told = refused("cluster", data, "-k", 3, "-m", "k-means", "--outliers", "auto")
    assert "--outliers: k-means cannot leave out rows" in told
    told = refused("cluster", data, "-k", 3, "-m", "separation", "--outliers", "many")
    assert "'outliers' parameter" in told


def test_every_format_holds_the_same_table(tmp_path, table):
    columns = dict(zip(NAMES, X.T, strict=True))
    text = table.read_text()
    (tmp_path / "data.tsv").write_text(text.replace(",", "\t"))
    (tmp_path / "data.txt").write_bytes(b"\xef\xbb\xbf" + text.replace(",", ";").encode())
    pyarrow.parquet.write_table(pa.table(columns), tmp_path / "data.parquet")
    np.savez(tmp_path / "data.npz", X=X, feature_names=NAMES)
    expected = separated(StandardScaler().fit_transform(X[:, :2]))
    for name in ("data.csv", "data.tsv", "data.txt", "data.parquet", "data.npz"):
        out = tmp_path / "labels.tsv"
        options = ["--columns", "width,height", "-k", 3, "-m", "separation", "-o", out]
        run("cluster", tmp_path / name, *options)
        np.testing.assert_array_equal(labels_in(out, "\t"), expected)


def test_pipes_carry_the_labels_and_nothing_else(table, program):
    with open(table, "rb") as data:
        done = program("cluster", "-", "-k", 3, "-m", "separation", "--labels-only", stdin=data)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0] == "row,cluster"
    found = [int(line.split(",")[1]) for line in lines[1:]]
    assert found == separated(StandardScaler().fit_transform(X)).tolist()
    assert "standard input" not in done.stdout
    assert "\x1b" not in done.stderr
    assert "\r" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_terminal_has_a_progress_bar(table, program):
    leader, follower = os.openpty()
    command = ["cluster", table, "-k", 3, "-m", "separation", "--out", ""]
    with open(follower, "wb", buffering=0) as terminal:
        done = program(*command, stderr=terminal, env={"TERM": "xterm"})
    assert done.returncode == 0
    assert re.search("[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]", os.read(leader, 1 << 16).decode())
    os.close(leader)


@pytest.mark.skipif(sys.platform == "win32", reason="needs such names of files")
def test_no_name_or_cell_steers_a_terminal_or_a_report(tmp_path, program):
    odd = "\x1b[2J\u202e\b"
    path = tmp_path / f"{odd}.csv"
    columns = {f"id{odd}": [f"{odd}{i}" for i in range(60)], f"x{odd}": X[:, 0]}
    columns |= {f"c{odd}": [f"{odd}{i % 2}" for i in range(60)], f"same{odd}": [odd] * 60}
    write_csv(path, columns)
    report, model, out = (tmp_path / f"{odd}{end}" for end in (".html", ".skops", "labels.csv"))
    method = ["-k", 2, "--id-column", f"id{odd}"]
    commands = [
        ["cluster", path, *method, "-m", "separation", "-o", out, "--report", report]
        + ["--model", model],
        ["predict", path, model, "-o", out],
        ["explain", model],
        ["compare", path, *method, "--methods", "separation,lda-kmeans", "--report", report],
        ["cluster", path, "--columns", odd],
    ]
    for command in commands:
        done = program(*command)
        assert done.returncode == 2 * ("--columns" in command)
        shown = done.stderr + done.stdout
        assert all(one.isprintable() or one == "\n" for one in shown)
        assert r"\x1b[2J\u202e\x08" in shown
        if report.exists():
            text = report.read_bytes().decode()
            assert all(one.isprintable() or one == "\n" for one in text)
            assert r"\x1b[2J\u202e\x08" in text
            report.unlink()


def test_the_folder_of_a_demo_does_not_steer_the_terminal(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(commands, "app", lambda *_, **__: 0)
    commands.demo(str(tmp_path / "\x1b[2J"))
    shown = capsys.readouterr().out
    assert all(one.isprintable() or one == "\n" for one in shown)
    assert r"\x1b[2J" in shown


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_the_progress_bar_obeys_no_model(monkeypatch):
    leader, follower = os.openpty()
    monkeypatch.setenv("TERM", "xterm")
    with open(follower, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        with screens.progress(1) as step:
            step("[red]\x1b]0;title\x07")
        shown = b""
        while b"title" not in shown:
            shown += os.read(leader, 1 << 16)
    assert b"[red]\\x1b]0;title\\x07" in shown
    os.close(leader)


def test_categories_become_indicators(tmp_path, capfd):
    rng = np.random.RandomState(0)
    colors = np.array(["red", "green", "blue, dark"])[rng.randint(3, size=60)]
    columns = {"name": [f"n{i}" for i in range(60)], "x": X[:, 0], "color": colors}
    columns |= {"note": [f"text {i}" for i in range(60)], "same": ["a"] * 60}
    path, out = tmp_path / "data.csv", tmp_path / "labels.csv"
    write_csv(path, columns)
    run("cluster", path, "-k", 2, "-m", "separation", "-o", out, "--id-column", "name")
    indicators = colors[:, None] == np.array(["blue, dark", "green", "red"])
    features = np.hstack([StandardScaler().fit_transform(X[:, :1]), weighed(indicators)])
    np.testing.assert_array_equal(labels_in(out), separated(features, 2))
    with open(out, newline="") as file:
        assert [row["name"] for row in csv.DictReader(file)] == columns["name"]
    shown = capfd.readouterr().err
    assert "60 rows · 1 numeric, 1 categorical · 4 features" in shown
    assert re.search("left out +note: seems to name the rows: 60 different texts", shown)
    assert re.search("left out +same: holds the same value in all rows", shown)
    assert "--keep NAME uses such a column all the same" in shown


def test_numbers_taken_as_categories(tmp_path):
    shop = np.repeat([101, 205, 7], 20)
    path, out = tmp_path / "data.csv", tmp_path / "labels.tsv"
    write_csv(path, {"x": X[:, 0], "shop": shop})
    options = ["-k", 3, "-m", "separation", "-o", out, "--categorical", "shop"]
    run("cluster", path, *options)
    indicators = shop[:, None] == [101, 205, 7]
    features = np.hstack([StandardScaler().fit_transform(X[:, :1]), weighed(indicators)])
    np.testing.assert_array_equal(labels_in(out, "\t"), separated(features))


@pytest.mark.parametrize(("impute", "filled"), [("mean", np.mean), ("median", np.median)])
def test_missing_values_are_filled(tmp_path, capfd, impute, filled):
    values, color = X.copy(), np.repeat(["a", "b", "b"], 20).astype("<U9")
    values[4, 0] = filled(np.delete(values[:, 0], 4))
    path, out = tmp_path / "data.csv", tmp_path / "labels.csv"
    columns = {name: list(map(str, column)) for name, column in zip(NAMES, X.T, strict=True)}
    columns["width"][4] = "NA"
    write_csv(path, {**columns, "color": ["", *color[1:]]})
    color[0] = "missing"
    options = ["--impute", impute] if impute == "mean" else []
    run("cluster", path, "-k", 2, "-m", "separation", "-o", out, *options)
    indicators = color[:, None] == np.array(["a", "b", "missing"])
    features = np.hstack([StandardScaler().fit_transform(values), weighed(indicators)])
    np.testing.assert_array_equal(labels_in(out), separated(features, 2))
    assert re.search("filled +2 missing values: width 1, color 1", capfd.readouterr().err)


def test_the_table_is_written_as_it_is_with_its_labels(tmp_path):
    text = 'id,x,note\n007,1.50,"a, ""b"""\n' + "".join(f"x{i},{i}e0,\n" for i in range(12))
    path, out = tmp_path / "data.csv", tmp_path / "out.csv"
    path.write_text(text)
    run("cluster", path, "-k", 2, "-m", "separation", "-o", out)
    before, after = (list(csv.reader(one.read_text().splitlines())) for one in (path, out))
    assert [row[:3] for row in after] == before
    assert after[0][3:] == ["cluster"]
    run("cluster", path, "-k", 2, "-m", "separation", "-o", tmp_path / "out.parquet")
    typed = pyarrow.parquet.read_table(tmp_path / "out.parquet")
    assert typed["x"].to_pylist() == [1.5, *range(12)]
    assert typed["cluster"].to_pylist() == labels_in(out).tolist()
    # its own output is a table too, and one of its columns has to make room
    run("cluster", out, "-k", 2, "-m", "separation", "-o", path, "--drop", "cluster")
    assert path.read_text() == out.read_text()


def test_decimal_commas_of_other_files(tmp_path, refused):
    """Numbers that a file of another kind has as texts."""
    rows = [{"x": f"{i * i % 17},{100 + 7 * i}", "y": i % 5} for i in range(12)]
    path = tmp_path / "data.json"
    path.write_text(json.dumps(rows))
    options = ["-k", 2, "-m", "separation", "-o", tmp_path / "out.csv"]
    assert "--decimal" in refused("cluster", path, *options)
    run("cluster", path, *options, "--decimal", ",")


def test_a_held_out_column_is_compared_with_the_clusters(tmp_path, capfd):
    kind, out = np.repeat(["x", "y", "z"], 20), tmp_path / "labels.csv"
    twin = np.repeat(["1st", "2nd", "3rd"], 20)  # either would give the kind away
    code = np.repeat([70, 80, 90], 20)
    path = tmp_path / "data.csv"
    kind[:3] = "y"
    twin[:3], code[:3] = "2nd", 80
    measured = dict(zip(NAMES, X.T, strict=True))
    write_csv(path, {"code": code, **measured, "kind": kind, "twin": twin})
    report = tmp_path / "report.html"
    options = ["-o", out, "--report", report, "--truth", "kind"]
    run("cluster", path, "-k", 3, "-m", "separation", *options)
    labels = labels_in(out)
    np.testing.assert_array_equal(labels, separated(StandardScaler().fit_transform(X)))
    shown = capfd.readouterr().err
    for name in ("code", "twin"):
        assert re.search(f"left out +{name}: tells the same as 'kind'", shown)
    for value in "xyz":
        counts = np.bincount(labels[kind == value], minlength=3)
        assert re.search(rf"^{value} +" + " +".join(map(str, counts)), shown, re.MULTILINE)
    score = adjusted_rand_score(kind, labels)
    assert f"clusters and kind  {score:.2f}" in shown
    text = report.read_text(encoding="utf-8")
    assert f"The adjusted Rand index of clusters and kind is {score:.2f}." in text
    assert "Held out, to compare with the clusters: kind." in text


def test_a_column_that_makes_the_clusters_is_told(tmp_path, capfd):
    rng = np.random.RandomState(0)
    columns = {f"x{j}": rng.normal(size=90) for j in range(3)}
    columns["group"] = 50 * np.repeat([0, 1, 2], 30)
    write_csv(tmp_path / "data.csv", columns)
    options = ["-k", 3, "-m", "k-means", "--out", ""]
    run("cluster", tmp_path / "data.csv", *options, "--no-standardize")
    told = "warning +group: has the same groups as the clusters; --drop group shows what else"
    assert re.search(told, capfd.readouterr().err)
    columns["group"] = columns["group"] + rng.normal(size=90)
    write_csv(tmp_path / "data.csv", columns)
    run("cluster", tmp_path / "data.csv", *options, "--no-standardize")
    assert re.search(r"warning +group: has \d+ % of the variance that the", capfd.readouterr().err)


def test_parameters_of_the_method(tmp_path, table):
    out = tmp_path / "labels.csv"
    options = ["--set", "kernel=rbf", "--set", "gamma=0.05", "--set", "n_init=2"]
    run("cluster", table, "-k", 2, "-m", "separation", "-o", out, *options)
    model = separatrix.MaximinSeparationClustering(
        2, kernel="rbf", gamma=0.05, n_init=2, random_state=0
    )
    expected = model.fit_predict(StandardScaler().fit_transform(X))
    np.testing.assert_array_equal(labels_in(out), expected)


def test_warnings_are_told(tmp_path, table, capfd, monkeypatch):
    fit = separatrix.MaximinSeparationClustering.fit

    def warn(self, X):
        import warnings

        warnings.warn("it did not converge", ConvergenceWarning, stacklevel=1)
        return fit(self, X)

    monkeypatch.setattr(separatrix.MaximinSeparationClustering, "fit", warn)
    run("cluster", table, "-k", 3, "-m", "separation", "-o", tmp_path / "labels.csv")
    assert re.search("note +it did not converge", capfd.readouterr().err)


@pytest.mark.parametrize("standardize", [True, False])
def test_report_tells_in_the_units_and_names_of_the_table(tmp_path, standardize):
    names, color = [f"n{i}" for i in range(60)], np.repeat(["red", "blue", "red"], 20)
    columns = {"name": names, "color": color, **dict(zip(NAMES, X.T, strict=True))}
    path, html = tmp_path / "data.csv", tmp_path / "r.html"
    write_csv(path, columns)
    options = ["-k", 2, "-m", "separation", "-o", tmp_path / "l.csv", "--report", html]
    options += ["--id-column", "name", "--model", tmp_path / "m.skops"]
    run("cluster", path, *options, "--standardize" if standardize else "--no-standardize")
    text = html.read_text(encoding="utf-8")
    assert "<h1>Clusters of data.csv</h1>" in text
    labels = labels_in(tmp_path / "l.csv")
    features = {**dict(zip(NAMES, X.T, strict=True)), "color=red": color == "red"}
    for name, values in features.items():
        form = "{:.0%}" if values.dtype == bool else "{:.3g}"
        means = [form.format(values[labels == cluster].mean()) for cluster in (0, 1)]
        cells = "".join(f'<td class="number">{mean}</td>' for mean in means)
        assert re.search(f'<div class="name">{name}</div></th>.*?{cells}</tr>', text)
    rows = text[text.index('id="rows"') : text.index('id="trust"')]
    assert set(re.findall('<div class="name">(.*?)</div></th>', rows)) <= set(names)
    assert f"separatrix predict new.csv {tmp_path / 'm.skops'} --out" in text
    assert ("numbers were divided by their standard deviation" in text) == standardize


def test_rows_without_names_have_the_numbers_of_the_labels(tmp_path, table):
    html = tmp_path / "r.html"
    run("cluster", table, "-k", 2, "-m", "separation", "--out", "", "--report", html)
    data = json.loads(re.search('id="data">(.*?)</script>', html.read_text())[1])
    assert data["tips"][0] == ["row", [str(row) for row in range(1, 61)]]


def test_auto_chooses_and_predicts(tmp_path, table, capfd):
    out, model = tmp_path / "labels.csv", tmp_path / "model.skops"
    run("cluster", table, "-o", out, "--model", model)
    found = separatrix.AutoClustering(random_state=0).fit(StandardScaler().fit_transform(X))
    np.testing.assert_array_equal(labels_in(out), found.labels_)
    with open(out, newline="") as file:
        confidence = [float(row["confidence"]) for row in csv.DictReader(file)]
    np.testing.assert_allclose(confidence, found.confidence_, atol=1e-4)
    told = f"agreement {found.agreement_:.2f}, {found.agreement_words_}"
    assert told in " ".join(capfd.readouterr().err.split())
    run("predict", table, model, "-o", tmp_path / "again.parquet")
    again = pyarrow.parquet.read_table(tmp_path / "again.parquet")
    np.testing.assert_array_equal(again["cluster"], found.labels_)
    np.testing.assert_array_equal(again["width"], X[:, 0])


def test_compare_ranks_methods(table, capfd):
    run("compare", table, "-k", 3, "--methods", "separation,lda-kmeans", "--rows", 50)
    shown = capfd.readouterr().out
    assert re.search("compared +50 of them", shown)
    rows = [line.split() for line in shown.splitlines() if line.startswith(("sep", "lda"))]
    ranks = [float(row[1]) for row in rows]
    assert len(rows) == 2
    assert ranks == sorted(ranks, reverse=True)
    assert all(abs(sum(map(int, row[3:6])) - 100) <= 1 for row in rows)
    # two families, so that each agrees with the other as far as the other with it
    assert rows[0][2] == rows[1][2]


def test_compare_writes_a_report(tmp_path, table, capfd):
    html = tmp_path / "r.html"
    methods = ["--methods", "separation,lda-kmeans", "--rows", 50]
    run("compare", table, "-k", 3, *methods, "--report", html)
    assert re.search(f"report +{re.escape(str(html)[:40])}", capfd.readouterr().out)
    text = html.read_text()
    assert "<h1>Clusterings of data.csv</h1>" in text
    data = json.loads(re.search('id="data">(.*?)</script>', text)[1])
    rows = np.array(data["tips"][0][1], dtype=int) - 1
    values = StandardScaler().fit_transform(X)[rows]
    assert len(set(rows)) == 50
    for name, column in data["tips"][1:]:
        np.testing.assert_allclose(
            np.array(column, float), values[:, NAMES.index(name)], rtol=1e-3
        )
    assert [name for name, _ in data["labellings"]] != []
    # one method alone agrees with no other
    run("compare", table, "-k", 3, "--methods", "separation", "--report", html)
    assert "nan" not in html.read_text()
    assert "nan" not in capfd.readouterr().out


def test_compare_tells_what_went_wrong(table, capfd, monkeypatch):
    def fail(self, X, y=None):
        raise ValueError("it cannot")

    monkeypatch.setattr(separatrix.LDAKMeans, "fit_predict", fail)
    run("compare", table, "-k", 3, "--methods", "separation,lda-kmeans")
    assert re.search("lda-kmeans +failed: it cannot", capfd.readouterr().out)


def test_methods_lists_every_clusterer(capfd):
    run("methods")
    shown = capfd.readouterr().out
    names = [name for name in separatrix._REGISTRY if isinstance(getattr(separatrix, name), type)]
    clusterers = [getattr(separatrix, name) for name in names]
    clusterers = [found for found in clusterers if issubclass(found, ClusterMixin)]
    listed = [line for line in shown.splitlines() if re.match(r"\w", line)]
    own = [line for line in listed if "a candidate of auto" not in line]
    assert len(own) == len(clusterers)
    for found in clusterers:
        assert " ".join(found.__doc__.split("\n")[0].split()[:4]) in shown
    assert any(line.startswith("smooth mixture") for line in listed)


@pytest.mark.parametrize(
    "method", ["k-means", "Ward", "whitened-spectral", "separation", "margin"]
)
def test_names_of_compare_are_methods(tmp_path, table, capfd, method):
    """What `compare` finds under a name is what `cluster -m` finds under it."""
    shown = []
    compared = separatrix.compare_clusterings

    def watched(*arguments, **named):
        shown.append(compared(*arguments, **named))
        return shown[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(separatrix, "compare_clusterings", watched, raising=False)
        run("compare", table, "-k", 3, "--methods", f"{method},lda-kmeans")
    out = tmp_path / "labels.csv"
    run("cluster", table, "-k", 3, "-m", method, "-o", out)
    (comparison,) = shown
    assert not any(comparison.notes)
    pairs = set(zip(comparison.labels[0].tolist(), labels_in(out).tolist(), strict=True))
    assert len(pairs) == len(set(comparison.labels[0])) == 3


def test_explain_shows_signed_weights_of_a_linear_model(tmp_path, table, capfd):
    model = tmp_path / "model.skops"
    options = ["-k", 2, "-m", "separation", "--out", "", "--no-standardize", "--model", model]
    run("cluster", table, *options)
    capfd.readouterr()
    run("explain", model, "--top", 2)
    header, *lines = capfd.readouterr().out.strip("\n").splitlines()
    fitted = separatrix.MaximinSeparationClustering(2, random_state=0).fit(X)
    weights = fitted.coef_[0] * X.std(axis=0)
    largest = np.argsort(-abs(weights))[:2]
    assert header.split("│")[0].strip() == "cluster 0"
    for line, j in zip(lines, largest, strict=True):
        bars, name, weight = line.rsplit(maxsplit=2)
        assert name == NAMES[j]
        assert weight == f"{weights[j]:+.2f}"
        assert ("━" in bars.split("│")[1]) == (weights[j] > 0)


def test_explain_shows_means_of_another_model(tmp_path, table, capfd):
    model, out = tmp_path / "model.skops", tmp_path / "labels.csv"
    run("cluster", table, "-k", 3, "-m", "kernel-kmeans", "-o", out, "--model", model)
    capfd.readouterr()
    run("explain", model)
    labels = labels_in(out)
    header, *lines = capfd.readouterr().out.strip("\n").splitlines()
    assert header.split() == ["mean", "of", "0", "1", "2", "explained"]
    explained = []
    for line in lines:
        name, *means = line.split()[:4]
        column = X[:, NAMES.index(name)]
        groups = [column[labels == cluster] for cluster in range(3)]
        np.testing.assert_allclose(
            [float(mean) for mean in means],
            [group.mean() for group in groups],
            rtol=5e-3,
            atol=5e-3,
        )
        within = sum(((group - group.mean()) ** 2).sum() for group in groups)
        expected = 1 - within / ((column - column.mean()) ** 2).sum()
        assert line.rstrip().endswith(in_percent(expected))
        explained.append(expected)
    assert explained == sorted(explained, reverse=True)


def test_years_and_rare_shares_are_shown_as_they_are(tmp_path, capfd):
    """A year has no comma, and a cluster of few rows is not one of 0 %."""
    year = np.repeat([1990, 2024], [300, 1]) + np.arange(301) % 3
    path, model = tmp_path / "data.csv", tmp_path / "model.skops"
    write_csv(path, {"year": year, "pay": 9 * np.repeat([1, 9], [300, 1]) + np.arange(301) % 7})
    run("cluster", path, "-k", 2, "-m", "k-means", "--out", "", "--model", model)
    assert re.search("^1 .* 1 +< 1 %", capfd.readouterr().err, re.MULTILINE)
    run("explain", model)
    assert re.search("^year +1991 +2024 ", capfd.readouterr().out, re.MULTILINE)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("k", [2, 12, 40])
def test_explain_fits_the_terminal(monkeypatch, width, k):
    means = np.random.RandomState(k).uniform(-5000, 5000, size=(k, 3))
    card = {"columns": dict.fromkeys(NAMES), "features": NAMES, "shares": [False] * 3}
    card |= {"means": means.tolist(), "share": [0.9, 0.5, 0.1]}
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("COLUMNS", str(width))
    screens.show(*screens.means(card, 3))
    shown = re.sub(r"\x1b\[[\d;]*m", "", sys.stdout.getvalue())
    assert max(map(len, shown.splitlines())) <= width
    cells = {name: [] for name in ("mean of", *NAMES)}
    for line in filter(None, shown.splitlines()):
        (name,) = (name for name in cells if line.startswith(name))
        cells[name] += line.removeprefix(name).removesuffix("  ").removesuffix(" %").split()[:-1]
    assert cells.pop("mean of") == [str(cluster) for cluster in range(k)]
    found = [[float(cell.replace(",", "")) for cell in row] for row in cells.values()]
    np.testing.assert_allclose(found, means.T, rtol=5e-3, atol=0.5)


def test_explain_of_many_clusters_in_a_pipe_has_one_line_for_each_feature(tmp_path, capfd):
    rows = np.repeat(np.random.RandomState(0).uniform(0, 100, size=(12, 3)), 5, axis=0)
    write_csv(tmp_path / "d.csv", dict(zip(NAMES, rows.T, strict=True)))
    for method in ("kernel-kmeans", "separation"):  # of 66 boundaries
        model = tmp_path / "m.skops"
        run("cluster", tmp_path / "d.csv", "-k", 12, "-m", method, "--out", "", "--model", model)
        capfd.readouterr()
        run("explain", model)
        header, *lines = capfd.readouterr().out.strip("\n").splitlines()
        assert header.split() == ["mean", "of", *map(str, range(12)), "explained"]
        assert sorted(line.split()[0] for line in lines) == sorted(NAMES)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("cluster d.csv -k 0", "Invalid value for '-k'.*; see separatrix cluster --help"),
        ("cluster d.csv -k x", "Invalid value for '-k'.*; see separatrix cluster --help"),
        ("cluster d.csv --nothing", "No such option: --nothing.*see separatrix cluster --help"),
        ("cluster", "Missing argument 'DATA'; see separatrix cluster --help"),
        ("nothing", "No such command 'nothing'; see separatrix --help"),
        ("compare d.csv -k 2 --random-state -1", "Invalid value for '--random-state'"),
        ("compare d.csv -k 2 --random-state 99999999999", "Invalid value for '--random-state'"),
        ("cluster d.csv -k 2 -m separation --set reg={[]:1}", "d.csv: No such file"),
    ],
)
def test_wrong_usage_is_told_in_one_line(refused, arguments, said):
    assert re.match(f"separatrix: {said}", refused(*arguments.split()))


def test_compare_refuses_what_cannot_be_reported(tmp_path, table, refused, monkeypatch):
    def fail(*arguments, **named):
        raise ValueError("it cannot")

    monkeypatch.setattr(separatrix, "write_report", fail, raising=False)
    options = ["-k", 2, "--methods", "separation", "--report", tmp_path / "r.html"]
    assert refused("compare", table, *options) == "separatrix: report: it cannot"
    assert list(tmp_path.iterdir()) == [table]


def test_version_and_module(capfd):
    run("--version")
    version = capfd.readouterr().out
    assert version == f"separatrix {separatrix.__version__}\n"
    command = [sys.executable, "-m", "separatrix", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == version
    run()  # no arguments ask for help
    assert "Usage: separatrix" in capfd.readouterr().out


def test_predict_notes_warnings_once_and_names_standard_input(tmp_path, table, program):
    model, rows = tmp_path / "m.skops", tmp_path / "rows.csv"
    run("cluster", table, "-k", 2, "-m", "separation", "--out", "", "--model", model)
    rows.write_text("width,height,depth\n" + "1,2,3\n" * 4)
    prelude = (
        "import warnings\n"
        "predict = separatrix.MaximinSeparationClustering.predict\n"
        "def warn(self, X):\n"
        "    for _ in range(2): warnings.warn('too large', RuntimeWarning)\n"
        "    return predict(self, X)\n"
        "separatrix.MaximinSeparationClustering.predict = warn\n"
    )
    with open(rows) as data:
        done = program("predict", "-", model, stdin=data, prelude=prelude)
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 5
    assert re.search("^standard input +4 rows", done.stderr, re.MULTILINE)
    assert len(re.findall("note +too large", done.stderr)) == 1
    assert "Warning" not in done.stderr


def customers():
    """The bundled table, line by line: made up, of three kinds of customer."""
    rng = np.random.RandomState(7)
    kind = rng.permutation(np.repeat([0, 1, 2], [130, 100, 70]))

    def drawn(means, deviations, low, high, digits):
        values = rng.normal(np.take(means, kind), np.take(deviations, kind))
        return [f"{value:.{digits}f}" for value in np.clip(values, low, high).round(digits)]

    numbers = {
        "age": drawn([52, 41, 27], [9, 6, 5], 18, 85, 0),
        "visits_per_month": drawn([3, 8, 12], [1.2, 2, 3], 0, 40, 0),
        "basket_eur": drawn([31, 84, 22], [8, 18, 7], 3, 300, 2),
        "evening_pct": drawn([18, 35, 71], [8, 10, 10], 0, 100, 0),
        "discount_pct": drawn([46, 21, 12], [10, 8, 6], 0, 100, 0),
        "returns_pct": drawn([2, 5, 11], [1.5, 2, 4], 0, 40, 1),
    }
    typical = rng.rand(300) < 0.8
    plan = np.array(["basic", "family", "plus"])[np.where(typical, kind, rng.randint(3, size=300))]
    region = rng.choice(["east", "north", "south", "west"], size=300)
    names = [f"C{i + 1:03d}" for i in range(300)]
    columns = {"customer": names, "region": region, "plan": plan, **numbers}
    yield ",".join(columns)
    yield from (",".join(row) for row in zip(*columns.values(), strict=True))


def test_demo_goes_from_the_bundled_table_to_a_report(tmp_path, capfd):
    folder = tmp_path / "the demo"
    for _ in range(2):  # again into the same folder
        run("demo", "--to", folder)
    printed = capfd.readouterr()
    header, *rows = customers()
    assert (folder / "customers.csv").read_text().splitlines() == [header, *rows[:250]]
    assert (folder / "new.csv").read_text().splitlines() == [header, *rows[250:]]
    found = {path.name for path in folder.iterdir()} - {"customers.csv", "new.csv"}
    assert found == {"labels.csv", "report.html", "model.skops", "new_labels.csv"}
    assert "250 rows · 6 numeric, 2 categorical · 13 features" in printed.err
    assert "basket_eur" in printed.out
    assert printed.out.endswith(f"open {(folder / 'report.html').as_uri()}\n")
    # the commands that it shows are those that it runs
    shown = [line[len("$ separatrix ") :] for line in printed.out.splitlines() if line[:1] == "$"]
    (folder / "new_labels.csv").unlink()
    run(*shlex.split(shown[1]))
    assert len(labels_in(folder / "new_labels.csv")) == 50
