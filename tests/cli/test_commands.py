"""What the commands compute, show and write."""

import csv
import os
import re
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
from sklearn.preprocessing import StandardScaler

import separatrix
from separatrix.cli import main

PROGRAM = [sys.executable, "-c", "from separatrix.cli import main; main()"]
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


@pytest.fixture
def auto(monkeypatch):
    for name in ("AutoClustering", "compare_clusterings"):
        monkeypatch.setitem(separatrix._HOMES, name, "selection")


def test_numbers_are_standardised_by_default(tmp_path, table):
    out = tmp_path / "labels.csv"
    run("cluster", table, "-k", 3, "-m", "separation", "-o", out)
    np.testing.assert_array_equal(labels_in(out), separated(StandardScaler().fit_transform(X)))
    run("cluster", table, "-k", 3, "-m", "separation", "-o", out, "--no-standardize")
    np.testing.assert_array_equal(labels_in(out), separated(X))


def test_every_format_holds_the_same_table(tmp_path, table):
    columns = dict(zip(NAMES, X.T, strict=True))
    text = table.read_text()
    (tmp_path / "data.tsv").write_text(text.replace(",", "\t"))
    (tmp_path / "data.txt").write_bytes(b"\xef\xbb\xbf" + text.replace(",", ";").encode())
    pyarrow.parquet.write_table(pa.table(columns), tmp_path / "data.parquet")
    np.savez(tmp_path / "data.npz", X=X, feature_names=NAMES)
    expected = separated(StandardScaler().fit_transform(X[:, :2]))
    for name in ("data.csv", "data.tsv", "data.txt", "data.parquet", "data.npz"):
        out = tmp_path / "labels.csv"
        options = ["--columns", "width,height", "-k", 3, "-m", "separation", "-o", out]
        run("cluster", tmp_path / name, *options)
        np.testing.assert_array_equal(labels_in(out), expected)


def test_pipes_carry_the_labels_and_nothing_else(table):
    command = [*PROGRAM, "cluster", "-", "-k", "3", "-m", "separation"]
    with open(table, "rb") as data:
        done = subprocess.run(command, stdin=data, capture_output=True, check=True)
    lines = done.stdout.decode().splitlines()
    assert lines[0] == "row,cluster"
    found = [int(line.split(",")[1]) for line in lines[1:]]
    assert found == separated(StandardScaler().fit_transform(X)).tolist()
    assert b"standard input" not in done.stdout
    assert b"\x1b" not in done.stderr
    assert b"\r" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_terminal_has_a_progress_bar(table):
    leader, follower = os.openpty()
    command = [*PROGRAM, "cluster", str(table), "-k", "3", "-m", "separation", "--out", ""]
    subprocess.run(command, stderr=follower, check=True, env={**os.environ, "TERM": "xterm"})
    os.close(follower)
    assert re.search("[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]", os.read(leader, 1 << 16).decode())
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
    features = np.hstack([StandardScaler().fit_transform(X[:, :1]), indicators])
    np.testing.assert_array_equal(labels_in(out), separated(features, 2))
    with open(out, newline="") as file:
        assert [row["name"] for row in csv.DictReader(file)] == columns["name"]
    shown = capfd.readouterr().err
    assert "60 rows · 1 numeric, 1 categorical · 4 features" in shown
    assert re.search("note +left out: holds 60 texts", shown)
    assert re.search("same +left out: holds the same text", shown)


def test_numbers_taken_as_categories(tmp_path):
    shop = np.repeat([101, 205, 7], 20)
    path, out = tmp_path / "data.csv", tmp_path / "labels.tsv"
    write_csv(path, {"x": X[:, 0], "shop": shop})
    options = ["-k", 3, "-m", "separation", "-o", out, "--categorical", "shop"]
    run("cluster", path, *options)
    indicators = shop[:, None] == [101, 205, 7]
    features = np.hstack([StandardScaler().fit_transform(X[:, :1]), indicators])
    np.testing.assert_array_equal(labels_in(out, "\t"), separated(features))


@pytest.mark.parametrize(("impute", "filled"), [("mean", np.mean), ("median", np.median)])
def test_missing_values_are_filled_if_asked(tmp_path, impute, filled):
    values, color = X.copy(), np.repeat(["a", "b", "b"], 20)
    values[4, 0] = filled(np.delete(values[:, 0], 4))
    path, out = tmp_path / "data.csv", tmp_path / "labels.csv"
    columns = {name: list(map(str, column)) for name, column in zip(NAMES, X.T, strict=True)}
    columns["width"][4] = "NA"
    write_csv(path, {**columns, "color": ["", *color[1:]]})
    color[0] = "b"  # the most frequent one
    run("cluster", path, "-k", 2, "-m", "separation", "-o", out, "--impute", impute)
    indicators = color[:, None] == np.array(["a", "b"])
    features = np.hstack([StandardScaler().fit_transform(values), indicators])
    np.testing.assert_array_equal(labels_in(out), separated(features, 2))


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


def test_report_gets_the_features(tmp_path, table, monkeypatch):
    told = {}

    def write_report(estimator, X, path, *, feature_names, title, model_path):
        told.update(labels=estimator.labels_, X=X, names=feature_names, title=title)
        with open(path, "w") as file:
            file.write("<html>")

    monkeypatch.setattr(separatrix, "write_report", write_report, raising=False)
    options = ["-k", 3, "-m", "separation", "--out", "", "--report", tmp_path / "r.html"]
    run("cluster", table, *options)
    assert (tmp_path / "r.html").read_text() == "<html>"
    np.testing.assert_allclose(told["X"], StandardScaler().fit_transform(X))
    np.testing.assert_array_equal(told["labels"], separated(told["X"]))
    assert told["names"] == NAMES
    assert "data.csv" in told["title"]


def test_auto_chooses_and_predicts(tmp_path, table, capfd, auto):
    out, model = tmp_path / "labels.csv", tmp_path / "model.skops"
    run("cluster", table, "-o", out, "--model", model)
    found = separatrix.AutoClustering(random_state=0).fit(StandardScaler().fit_transform(X))
    np.testing.assert_array_equal(labels_in(out), found.labels_)
    with open(out, newline="") as file:
        confidence = [float(row["confidence"]) for row in csv.DictReader(file)]
    np.testing.assert_allclose(confidence, found.confidence_, atol=1e-4)
    assert found.agreement_words_ in capfd.readouterr().err
    run("predict", table, model, "-o", tmp_path / "again.parquet")
    again = pyarrow.parquet.read_table(tmp_path / "again.parquet")
    np.testing.assert_array_equal(again["cluster"], found.labels_)
    assert again["row"].to_pylist() == list(range(1, 61))


def test_compare_ranks_methods(table, capfd, auto):
    run("compare", table, "-k", 3, "--methods", "separation,lda-kmeans", "--rows", 50)
    shown = capfd.readouterr().out
    assert re.search("compared +50 of them", shown)
    rows = [line.split() for line in shown.splitlines() if line.startswith(("sep", "lda"))]
    ranks = [float(row[1]) for row in rows]
    assert len(rows) == 2
    assert ranks == sorted(ranks, reverse=True)
    assert all(sum(map(int, row[6:9])) == 50 for row in rows)


def test_methods_lists_every_clusterer(capfd, auto):
    run("methods")
    shown = capfd.readouterr().out
    names = [name for name in separatrix._HOMES if isinstance(getattr(separatrix, name), type)]
    clusterers = [getattr(separatrix, name) for name in names]
    clusterers = [found for found in clusterers if issubclass(found, ClusterMixin)]
    listed = [line for line in shown.splitlines() if re.match(r"[a-z]", line)]
    assert len(listed) == len(clusterers)
    for found in clusterers:
        assert " ".join(found.__doc__.split("\n")[0].split()[:4]) in shown


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
        name, *means, share, _ = line.split()
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
        assert abs(float(share) - 100 * expected) <= 0.5 + 1e-9
        explained.append(expected)
    assert explained == sorted(explained, reverse=True)


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


def test_demo_runs_on_the_bundled_table(capfd):
    run("demo", "--table")
    assert capfd.readouterr().out.splitlines() == list(customers())
    run("demo", "-k", 3, "-m", "separation")
    printed = capfd.readouterr()
    assert "300 rows · 6 numeric, 2 categorical · 13 features" in printed.err
    assert "basket_eur" in printed.out
