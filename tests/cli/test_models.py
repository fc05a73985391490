"""Model files: the same labels in another process, and refusal of what cannot be trusted."""

import io
import json
import subprocess
import sys
import warnings
import zipfile
from fractions import Fraction
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import separatrix
from model_support import repacked
from separatrix.cli import Refusal, main, models
from separatrix.cli.methods import make_estimator, methods
from separatrix.estimators import representatives
from separatrix.models import extensions
from separatrix.tables import RowBlocks, TablePreparer

pytestmark = pytest.mark.usefixtures("few_tables")

X = make_blobs(60, centers=3, random_state=1)[0]
ABOUT = {
    "columns": {"a": None, "b": None},
    "id_column": None,
    "features": ["a", "b"],
    "shares": [False, False],
    "sizes": [30, 30],
    "means": [[0.0, 1.0], [1.0, 0.0]],
    "share": [0.5, 0.5],
    "deviation": [1.0, 1.0],
}


def pipeline(method="separation", n_clusters=2, settings=(), rows=X):
    estimator = make_estimator(method, n_clusters, settings, 0)
    with warnings.catch_warnings():  # some methods do not converge on so little
        warnings.simplefilter("ignore")
        return Pipeline([("estimator", estimator.fit(rows))])


def save(path, method="separation", **card):
    models.save_model(path, pipeline(method), {**ABOUT, **card})
    return path


def schema_of(path):
    with zipfile.ZipFile(path) as archive:
        return archive.read(models.SCHEMA).decode()


def named_in(schema):
    """Modules and names of all classes in a schema."""
    named = set()
    json.loads(
        schema, object_hook=lambda node: named.add((node.get("__module__"), node.get("__class__")))
    )
    return named


def test_every_method_survives_saving(tmp_path):
    path = tmp_path / "model.skops"
    for method in methods():
        whole = pipeline(method)
        models.save_model(path, whole, ABOUT)
        loaded, card = models.load_model(path)
        np.testing.assert_array_equal(loaded.predict(X), whole.predict(X))
        assert type(loaded[-1]) is type(whole[-1])
        assert card["method"] == method
        assert card["versions"]["separatrix"] == separatrix.__version__


# --- names that do not change when a file moves -------------------------------------------------

# Models that hold all parts between them: method, number of clusters, settings.
SIMILARITIES = rbf_kernel(X)
HOLDERS = [
    ("auto", 2, [], X),
    ("separation", 2, ["kernel=rbf"], X),
    ("volume", 1, [], X),
    ("volume", 2, ["affinity=precomputed"], SIMILARITIES),
    ("volume", 3, [], X),
    ("volume", 3, ["multiway=bisection"], X),
    ("volume", 2, ["neighbors=approximate"], X),
    ("hard-volume", 2, [], X),
    ("mutual-information", 2, [], X),
    ("tree-cut", 2, [], X),
    ("kernel-kmeans", 2, ["outliers=0.1"], X),
]


# A table that a preparer says something of, with a column of each kind.
TABLE = pd.DataFrame(
    {
        "row": range(60),
        "a": [*X[:59, 0], np.nan],
        "color": np.tile(["red", "green", "blue"], 20),
        "day": pd.date_range("2024-01-01", periods=60),
    }
)


def pipeline_of_a_table():
    """A preparer of tables, and a candidate of auto by itself."""
    prepare = TablePreparer().fit(TABLE)
    ward = make_estimator("Ward", 2, [], 0).fit(prepare.transform(TABLE))
    return Pipeline([("prepare", prepare), ("Ward", ward)])


def test_a_preparer_says_the_same_after_loading(tmp_path):
    whole = pipeline_of_a_table()
    models.save_model(tmp_path / "model.skops", whole, ABOUT)
    loaded, card = models.load_model(tmp_path / "model.skops")
    assert card["method"] == "Ward"
    assert loaded[0].findings_ == whole[0].findings_ != []
    assert list(loaded[0].get_feature_names_out()) == list(whole[0].get_feature_names_out())
    np.testing.assert_array_equal(loaded[0].transform(TABLE), whole[0].transform(TABLE))
    np.testing.assert_array_equal(loaded.predict(TABLE), whole[-1].labels_)


def test_files_name_our_classes_without_a_module(tmp_path, monkeypatch):
    path, parts = tmp_path / "model.skops", set()
    fitted = [(pipeline(*holder), holder[-1]) for holder in HOLDERS]
    for name, rule in extensions.RULES.items():
        monkeypatch.setattr(extensions, "RULES", {name: rule})
        fitted.append((pipeline("auto", 2, [], X), X))
    fitted.append((pipeline_of_a_table(), TABLE))
    monkeypatch.setattr(representatives, "N_REPRESENTATIVES", 20)
    fitted.append((pipeline("volume", 2, [], RowBlocks(lambda: iter([X]), X.shape)), X))
    for whole, rows in fitted:
        models.save_model(path, whole, ABOUT)
        ours = {pair for pair in named_in(schema_of(path)) if "separatrix" in str(pair[0])}
        assert {module for module, _ in ours} == {"separatrix"}
        parts |= {name for _, name in ours} - set(separatrix._REGISTRY)
        loaded, _ = models.load_model(path)
        np.testing.assert_array_equal(loaded.predict(rows), whole.predict(rows))
    assert parts == set(separatrix._PARTS)


def test_every_part_is_at_home_and_has_a_name_of_its_own():
    assert not set(separatrix._PARTS) & set(separatrix._REGISTRY)
    for name, home in separatrix._PARTS.items():
        found = models._class_of(name)
        assert found.__module__ == f"separatrix.{home}"
        assert found.__name__ == name
    for name in separatrix._REGISTRY:  # its functions are no classes
        found = getattr(separatrix, name)
        assert models._class_of(name) is (found if isinstance(found, type) else None)


def test_models_load_after_their_classes_have_moved(tmp_path, monkeypatch):
    path = save(tmp_path / "model.skops")
    expected = pipeline().predict(X)
    elsewhere = ModuleType("separatrix.elsewhere")
    for name in ("Boundaries", "MaximinSeparationClustering"):
        moved = type(name, (models._class_of(name),), {"__module__": elsewhere.__name__})
        setattr(elsewhere, name, moved)
    monkeypatch.setitem(sys.modules, elsewhere.__name__, elsewhere)
    monkeypatch.setitem(separatrix._PARTS, "Boundaries", "elsewhere")
    registered = separatrix._Public("elsewhere", "separation")
    monkeypatch.setitem(separatrix._REGISTRY, "MaximinSeparationClustering", registered)
    for _ in range(2):  # as it was saved, and saved from where its classes are now
        loaded, card = models.load_model(path)
        assert type(loaded[-1]) is elsewhere.MaximinSeparationClustering
        assert type(loaded[-1]._model) is elsewhere.Boundaries
        assert card["method"] == "separation"
        np.testing.assert_array_equal(loaded.predict(X), expected)
        models.save_model(path, loaded, ABOUT)


def test_another_process_predicts_the_same_labels(tmp_path):
    colors = np.array(["red", "green", "blue"])[np.arange(60) % 3]
    rows = [f"{a},{color},{b}" for (a, b), color in zip(X, colors, strict=True)]
    (tmp_path / "data.csv").write_text("\n".join(["a,color,b", *rows]) + "\n")
    command = "cluster {0}/data.csv -k 3 -m separation -o {0}/labels.csv --model {0}/model.skops"
    command += " --labels-only"
    with pytest.raises(SystemExit):
        main(command.format(tmp_path).split())
    # columns in another order, one more of them, and fewer rows
    shuffled = [f"{X[i, 1]},{i},{colors[i]},{X[i, 0]}" for i in range(7)]
    (tmp_path / "other.csv").write_text("\n".join(["b,more,color,a", *shuffled]) + "\n")
    program = (
        "import contextlib, sys\n"
        "from separatrix.cli import main\n"
        "for name in ('data', 'other'):\n"
        "    paths = [f'{name}.csv', 'model.skops', '--out', f'{name}_labels.csv']\n"
        "    with contextlib.suppress(SystemExit):\n"
        "        main(['predict', *paths, '--labels-only'])\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)
    expected = (tmp_path / "labels.csv").read_text()
    assert (tmp_path / "data_labels.csv").read_text() == expected
    assert (tmp_path / "other_labels.csv").read_text().splitlines() == expected.splitlines()[:8]


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,color\n1,red\n", "there is no column 'b'"),
        ("a,color,b\n1,pink,2\n", "line 2, column 'color': 'pink' is not one of its categories"),
        ("a,color,b\n1,red,two\n", "line 2, column 'b': 'two' is not a number"),
        ("a,color,b\n1,red,2024-01-01\n", "line 2, column 'b': 2024-01-01.* is not a number"),
        ("a,color,b\n1,red,\n", "line 2, column 'b': the value is missing"),
    ],
)
def test_tables_that_the_model_does_not_take(tmp_path, capfd, text, said):
    rows = [f"{a},{'red' if i % 2 else 'blue'},{b}" for i, (a, b) in enumerate(X)]
    (tmp_path / "data.csv").write_text("\n".join(["a,color,b", *rows]) + "\n")
    (tmp_path / "new.csv").write_text(text)
    model, out = str(tmp_path / "model.skops"), str(tmp_path / "labels.csv")
    commands = [
        ["cluster", "data.csv", "-k", "2", "-m", "separation", "--out", "", "--model", model]
        + ["--impute", "none"],
        ["predict", "new.csv", model, "--out", out],
    ]
    for command, code in zip(commands, (0, 2), strict=True):
        capfd.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main([command[0], str(tmp_path / command[1]), *command[2:]])
        assert stopped.value.code == code
    (line,) = capfd.readouterr().err.splitlines()
    assert pytest.raises(Refusal, match=said).matches(Refusal(line))
    assert not (tmp_path / "labels.csv").exists()


def test_a_model_that_imputes_takes_missing_values(tmp_path):
    rows = [f"{a},{b}" for a, b in X]
    (tmp_path / "data.csv").write_text("\n".join(["a,b", ",1", *rows]) + "\n")
    model, out = str(tmp_path / "model.skops"), tmp_path / "labels.csv"
    options = ["-k", "2", "-m", "separation", "--out", "", "--impute", "mean", "--model", model]
    with pytest.raises(SystemExit):
        main(["cluster", str(tmp_path / "data.csv"), *options])
    mean = float(X[:, 0].mean())
    (tmp_path / "data.csv").write_text(f"a,b\n,3\n{mean!r},3\n")
    with pytest.raises(SystemExit):
        main(["predict", str(tmp_path / "data.csv"), model, "--out", str(out)])
    first, second = out.read_text().splitlines()[1:]
    assert first.split(",")[:2] == ["", "3"]
    assert first.split(",")[2] == second.split(",")[2]


def refused_by_all(refused, path):
    """The line by which `predict` and `explain` refuse a model; they write nothing."""
    data, out = path.parent / "data.csv", path.parent / "labels.csv"
    data.write_text("a,b\n1,2\n")
    lines = {refused("predict", data, path, "--out", out), refused("explain", path)}
    assert not out.exists()
    (line,) = lines
    return line


@pytest.mark.parametrize("name", [*ABOUT, "method", "versions"])
@pytest.mark.parametrize("value", ["absent", [[None]], {"a": 1}])
def test_cards_that_lack_or_misstate_are_refused(tmp_path, refused, name, value):
    path = save(tmp_path / "model.skops")
    with zipfile.ZipFile(path) as archive:
        card = json.loads(archive.read(models.CARD)) | {name: value}
    if value == "absent":
        del card[name]
    repacked(path, {models.CARD: json.dumps(card).encode()})
    assert f"lacks or misstates {name};" in refused_by_all(refused, path)


def replaced(path, content):
    """The model file with another object in it."""
    data = models._renamed(models._skops().dumps(content), models._without_home)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return repacked(path, {name: archive.read(name) for name in archive.namelist()})


def test_models_of_arrays_take_no_tables(tmp_path, refused):
    path = save(tmp_path / "model.skops")
    (tmp_path / "data.csv").write_text("a,b\n1,2\n")
    assert f"{path}: this model takes no tables" in refused("predict", tmp_path / "data.csv", path)


@pytest.mark.parametrize("content", [{}, [1], Pipeline([("scale", StandardScaler().fit(X))])])
def test_models_that_are_no_pipeline_to_a_clusterer_are_refused(tmp_path, refused, content):
    path = replaced(save(tmp_path / "model.skops"), content)
    assert "no pipeline to a clusterer" in refused_by_all(refused, path)


def test_no_search_tree_is_stored_or_loaded(tmp_path):
    path = tmp_path / "model.skops"
    for method in ("auto", "volume", "hard-volume", "mutual-information"):
        whole = pipeline(method)
        models.save_model(path, whole, ABOUT)
        assert "KDTree" not in schema_of(path)
        with pytest.raises(Refusal, match=r"untrusted types: .*_kd_tree\.KDTree"):
            models.load_model(replaced(path, whole))
        models.save_model(path, whole, ABOUT)
        np.testing.assert_array_equal(whole.predict(X), whole[-1].labels_)  # its trees are back


def test_labels_that_are_not_computed_yet_are_saved(tmp_path):
    da = pytest.importorskip("dask.array")
    lazy = pipeline("auto", 3, rows=da.from_array(X, chunks=25))
    models.save_model(tmp_path / "model.skops", lazy, ABOUT)
    loaded, _ = models.load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(loaded[-1].labels_, lazy[-1].labels_.compute())


def test_estimators_that_no_model_holds_are_refused(tmp_path):
    foreign = Pipeline([("svm", SVC().fit(X, X[:, 0] > 0))])
    with pytest.raises(Refusal, match=r"untrusted types: sklearn\.svm\._classes\.SVC"):
        models.load_model(replaced(save(tmp_path / "model.skops"), foreign))


def test_indices_that_were_changed_are_refused(tmp_path, refused, monkeypatch):
    outside = 2**30
    monkeypatch.setattr(extensions, "RULES", {"neighbors": extensions.NeighborRule})
    for method in ("auto", "volume"):
        path, changed = save(tmp_path / "model.skops", method), pipeline(method)
        rows = pd.DataFrame(X, columns=["a", "b"])
        changed.steps.insert(0, ("prepare", TablePreparer(standardize=False).fit(rows)))
        if method == "auto":
            changed[-1].boundary_.model.clusters[:] = outside
            changed[-1].boundary_.model.search._tree = None
        else:
            changed[-1]._model.graph.W.indices[0] = outside
            changed[-1]._model.graph.search._search._tree = None
        replaced(path, changed)
        (tmp_path / "data.csv").write_text("a,b\n1,2\n")
        command = ["predict", tmp_path / "data.csv", path, "--out", tmp_path / "labels.csv"]
        assert str(path) in refused(*command)
        assert not (tmp_path / "labels.csv").exists()


def test_other_versions_are_told(tmp_path, monkeypatch, program):
    path = save(tmp_path / "model.skops")
    for package, name in ((separatrix, "separatrix"), (models.sklearn, "sklearn")):
        with monkeypatch.context() as changed:
            changed.setattr(package, "__version__", "0.0.1")
            other = rf"saved by {name} \S+, loaded by 0\.0\.1"
            with pytest.warns(UserWarning, match=other):
                models.load_model(path)
        done = program("explain", path, prelude=f"import {name} as p; p.__version__ = '0.0.1'")
        assert done.returncode == 0
        (line,) = done.stderr.splitlines()
        assert line.startswith(f"separatrix: note: {path}: saved by {name}")


APPROXIMATE = pipeline("volume", settings=["neighbors=approximate"])


def test_models_that_could_not_be_loaded_are_not_saved(tmp_path, monkeypatch):
    monkeypatch.delitem(separatrix._PARTS, "ApproximateSearch")
    with pytest.raises(Refusal, match=r"cannot be saved: it holds .*ApproximateSearch"):
        models.save_model(tmp_path / "model.skops", APPROXIMATE, ABOUT)
    assert not list(tmp_path.iterdir())


def test_an_approximate_search_is_built_again(tmp_path):
    """No index of a file reaches compiled code."""
    models.save_model(tmp_path / "model.skops", APPROXIMATE, ABOUT)
    loaded, _ = models.load_model(tmp_path / "model.skops")
    assert loaded[-1]._model.graph.search._table is None
    np.testing.assert_array_equal(loaded.predict(X + 0.01), APPROXIMATE.predict(X + 0.01))


def test_names_in_a_model_do_not_steer_the_terminal(tmp_path, capfd, refused):
    features = ["\x1b]0;title\x07", "\u202e\x9b2J"]
    path = save(tmp_path / "model.skops", "kernel-kmeans", features=features)
    capfd.readouterr()
    with pytest.raises(SystemExit):
        main(["explain", str(path)])
    shown = capfd.readouterr().out
    assert r"\x1b]0;title\x07" in shown
    assert r"\u202e\x9b2J" in shown
    assert all(one.isprintable() or one == "\n" for one in shown)
    line = refused("explain", "\x1b[31m.skops")
    assert r"\x1b[31m.skops" in line


def test_damage_is_told_by_the_checksum(tmp_path):
    path = save(tmp_path / "model.skops")
    with zipfile.ZipFile(path) as archive:
        card = json.loads(archive.read(models.CARD))
    changed = json.dumps({**card, "method": "margin"}).encode()
    with pytest.raises(Refusal, match="wrong checksum"):
        models.load_model(repacked(path, {models.CARD: changed}, sealed=False))


def test_flipped_bits_are_told(tmp_path):
    path = save(tmp_path / "model.skops")
    content = path.read_bytes()
    for position in np.linspace(0, len(content) - 1, 60).astype(int):
        damaged = bytearray(content)
        damaged[position] ^= 0x55
        path.write_bytes(damaged)
        try:
            loaded, _ = models.load_model(path)
        except Refusal:
            continue
        # a bit of the archive that holds no content, such as a date
        np.testing.assert_array_equal(loaded.predict(X), pipeline().predict(X))


def test_foreign_types_are_refused_unloaded(tmp_path, monkeypatch):
    skops = models._skops()
    monkeypatch.setattr(skops, "loads", None)  # not even called
    path = save(tmp_path / "model.skops")
    payload = skops.dumps(Pipeline([("estimator", Fraction(1, 2))]))
    with zipfile.ZipFile(io.BytesIO(payload)) as archive:
        foreign = {name: archive.read(name) for name in archive.namelist()}
    with pytest.raises(Refusal, match=r"untrusted types: fractions\.Fraction"):
        models.load_model(repacked(path, foreign))


@pytest.mark.parametrize(
    "name",
    [
        "separatrix.cli.models.Path",  # a class that is only imported there
        "separatrix.cli.models.save_model",  # a function
        "separatrix.cli.models.os.system",
        "separatrix.nothing.Here",
        "separatrixer.base.BaseClustering",
        "separatrix.write_report",  # a function of the registry
        "separatrix._Public",
        "separatrix.Forest",  # a class that no saved model holds
        "separatrix.criteria.separation.MaximinSeparationClustering",  # names have no home
        "separatrix.models.boundaries.Boundaries",
        "os.system",
    ],
)
def test_only_classes_in_the_two_tables_are_our_own(tmp_path, name):
    path = save(tmp_path / "model.skops")
    module, _, attribute = name.rpartition(".")

    def rename(node):
        if node.get("__class__") == "MaximinSeparationClustering":
            node |= {"__module__": module, "__class__": attribute}
        return node

    schema = json.dumps(json.loads(schema_of(path), object_hook=rename))
    with pytest.raises(Refusal, match=f"untrusted types: {name}"):
        models.load_model(repacked(path, {models.SCHEMA: schema.encode()}))


@pytest.mark.parametrize("sealed", [True, False])
def test_the_commands_refuse_in_one_line(tmp_path, capfd, sealed):
    path, out = save(tmp_path / "model.skops"), tmp_path / "labels.csv"
    schema = schema_of(path).replace("MaximinSeparation", "Foreign")
    repacked(path, {models.SCHEMA: schema.encode()}, sealed=sealed)
    (tmp_path / "data.csv").write_text("a,b\n1,2\n")
    predict = ["predict", str(tmp_path / "data.csv"), str(path), "--out", str(out)]
    for command in (predict, ["explain", str(path)]):
        with pytest.raises(SystemExit) as stopped:
            main(command)
        assert stopped.value.code == 2
        (line,) = capfd.readouterr().err.splitlines()
        assert ("untrusted types" if sealed else "wrong checksum") in line
        assert not out.exists()


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "model.skops"
    with pytest.raises(Refusal, match="No such file"):
        models.load_model(path)
    path.write_bytes(b"no archive")
    with pytest.raises(Refusal, match="not a model file"):
        models.load_model(path)
    path.write_bytes(models._skops().dumps(pipeline()))
    with pytest.raises(Refusal, match="not a model that separatrix saved"):
        models.load_model(path)
    with pytest.raises(Refusal, match="not a model file, or damaged"):
        models.load_model(repacked(save(path), {models.CARD: b"[]"}))
