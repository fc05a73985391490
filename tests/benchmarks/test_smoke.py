"""Every script under benchmarks runs, on sets so small that it takes a second."""

import io
import json
import os
import re
import runpy
import signal
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from functools import cache, partial
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn  # noqa: F401  (it sets variables of the environment)

import separatrix

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def main_of(module, monkeypatch, *arguments):
    """Run a script with some words behind its name."""
    monkeypatch.setattr(sys, "argv", [module.__name__, *map(str, arguments)])
    return module.main()


def printed_by(module, monkeypatch, *arguments):
    """What a script prints, which is printed as well."""
    with redirect_stdout(io.StringIO()) as printed:
        main_of(module, monkeypatch, *arguments)
    print(printed.getvalue())
    return printed.getvalue()


def shrink(module, monkeypatch, **attributes):
    """Give a script smaller constants and data."""
    for name, value in attributes.items():
        assert hasattr(module, name)
        monkeypatch.setattr(module, name, value)


def few(function, count=2):
    """A function of the first data sets alone."""
    return lambda: islice(function(), count)


def at_most(function, most):
    """A function whose first argument, a number of samples, is cut."""
    return lambda n, *args, **kwargs: function(min(n, most), *args, **kwargs)


# --- choices ------------------------------------------------------------------------------------


def run_multiway(module, monkeypatch, tmp_path):
    shrink(module, monkeypatch, REGS=(0.3,), data_sets=few(module.data_sets))
    main_of(module, monkeypatch)


def run_volume(module, monkeypatch, tmp_path):
    shrink(module, monkeypatch, RHOS=(1.0,), PAIR_SAMPLES=20)
    shrink(module, monkeypatch, data_sets=few(module.data_sets))
    shrink(module, monkeypatch, pairs_of_digits=few(module.pairs_of_digits))
    module.measure_pairs()
    module.measure_ways()


def run_landmarks(module, monkeypatch, tmp_path):
    kept = tmp_path / "landmarks.json"
    shrink(module, monkeypatch, RESULTS=kept, SETS={"chosen": ["rings"], "small": ["small"]})
    shrink(module, monkeypatch, N_MADE=500, N_MANY=300, ROUNDS=1, SEEDS=range(1))
    shrink(module, monkeypatch, METHODS={"volume": module.METHODS["volume"]})
    main_of(module, monkeypatch, "--part", "chosen")
    main_of(module, monkeypatch, "--speed")
    assert set(json.loads(kept.read_text("utf-8"))) == {"chosen", "speed"}


def run_margin(module, monkeypatch, tmp_path):
    shrink(module, monkeypatch, MAX_ROWS=40, CHOICES={"C_path": (1,)})
    shrink(module, monkeypatch, two_classes=few(module.two_classes))
    shrink(module, monkeypatch, more_classes=few(module.more_classes))
    main_of(module, monkeypatch, "C_path", "--sets")


def run_margin_distribution(module, monkeypatch, tmp_path):
    shrink(module, monkeypatch, MAX_ROWS=24, GRID={"C": (1.0,), "gamma": (("mean", 0.5),)})
    shrink(module, monkeypatch, OTHERS={"nu": (0.5,)}, data_sets=few(module.data_sets, 4))
    main_of(module, monkeypatch, "ODMC", "--jobs", 1, "--sets")


def run_known_labels(module, monkeypatch, tmp_path):
    kept = tmp_path / "known_labels.json"
    shrink(module, monkeypatch, RESULTS=kept)
    methods = ["KernelKMeans", "MaximinSeparationClustering"]
    module.main(methods, ["iris"], 45, seeds=range(1), jobs=1, keeps=True)
    assert set(json.loads(kept.read_text("utf-8"))) == {"classifiers", *methods}


def run_outliers(module, monkeypatch, tmp_path):
    kept = tmp_path / "outliers.json"
    shrink(module, monkeypatch, LEAST_SIZES=(5,), RESULTS=kept, MOST_ROWS=100)
    module.main(["KernelKMeans"], ["lsun"], draws=2, keeps=True)
    assert set(json.loads(kept.read_text("utf-8"))) == {"draws", "sets", "clean"}


def run_probabilities(module, monkeypatch, tmp_path):
    kept = tmp_path / "probabilities.json"
    shrink(module, monkeypatch, RESULTS=kept)
    methods = ["KernelKMeans", "TreeCutClustering"]
    module.main(["digits"], methods, rows=300, draws=1, jobs=1, keeps=True)
    assert set(json.loads(kept.read_text("utf-8"))) == set(methods)


def run_peers(module, monkeypatch, tmp_path):
    for name in ("own", "peers"):
        (tmp_path / f"{name}.json").write_text(json.dumps(module.read(name)), "utf-8")
    shrink(module, monkeypatch, RESULTS=tmp_path, PAGE=tmp_path / "compared.md")
    rows = [row for row in module.own_rows() if row.name == "KernelKMeans"]
    shrink(module, monkeypatch, own_rows=lambda: rows)
    kept = next(row for row in module.read("own")["rows"] if row["estimator"] == "KernelKMeans")
    module.main(peers=False, own=True)
    assert module.read("own")["rows"] == [kept]


def run_selection(module, monkeypatch, tmp_path):
    shrink(module, monkeypatch, RESULTS=tmp_path, LOG=tmp_path / "log.jsonl")
    shrink(module, monkeypatch, PARTS={"development": ["sklearn-wine", "fcps-atom"]})
    shrink(module, monkeypatch, AutoClustering=partial(fit_fast, module.AutoClustering))
    common = "--part", "development", "--rows", 50
    main_of(module, monkeypatch, "measure", *common, "--draws", 1, "--jobs", 1, "--no-k")
    main_of(module, monkeypatch, "report", *common)
    main_of(module, monkeypatch, "rules", *common)
    assert (tmp_path / "selection.html").exists()


def fit_fast(estimator, n_clusters=None, tier="fast", **options):
    """An estimator of the fast tier in any case: the thorough one takes ten times as long."""
    return estimator(n_clusters, **options)


def run_starts(module, monkeypatch, tmp_path):
    module.main({"development": ["sklearn-wine", "fcps-atom"]}, 40, 1, list(module.METHODS))


def run_tables(module, monkeypatch, tmp_path):
    shrink(module, monkeypatch, RULES=dict(islice(module.RULES.items(), 1)))
    main_of(module, monkeypatch, "--smoke")


def run_public_tables(module, monkeypatch, tmp_path):
    rng = np.random.default_rng(0)
    kind = np.repeat(["a", "b"], 30)
    table = pd.DataFrame(rng.normal(size=(60, 3)) + 3 * (kind == "b")[:, None], columns=[*"xyz"])
    table["z"] = table["z"].where(rng.random(60) > 0.1)
    table = table.assign(name=np.arange(60).astype(str), kind=kind)
    shrink(module, monkeypatch, KEPT=tmp_path, tables=lambda: [("drawn", table, "kind")])
    main_of(module, monkeypatch, "measure", "--jobs", 1)
    main_of(module, monkeypatch, "report")
    assert "all alike" in printed_by(module, monkeypatch, "rules")
    X, y = module.samples(table, "kind", rows=40)
    assert (X.shape, len(y)) == ((40, 3), 40)  # no column of names that all differ


def run_trust(module, monkeypatch, tmp_path):
    selection = sys.modules[module.stored.__module__]
    shrink(selection, monkeypatch, RESULTS=tmp_path, MAX_CLUSTERS=3)
    shrink(selection, monkeypatch, AutoClustering=partial(fit_fast, selection.AutoClustering))
    selection.measure_default("sklearn-wine", 60, 0, choose=True)
    halves = {"development": ["development"], "confirmation": []}
    shrink(module, monkeypatch, RESULTS=tmp_path, HALVES=halves)
    shrink(module, monkeypatch, PARTS={"development": ["sklearn-wine"]})
    main_of(module, monkeypatch, "measure", "--nulls", 1, "--rows", 60)
    main_of(module, monkeypatch, "report", "--nulls", 1, "--rows", 60)
    figures = json.loads((tmp_path / "trust.json").read_text())["development"]
    assert (figures["n_nulls"], figures["n_sets"]) == (1, 1)
    assert figures["levels"]["1.0"]["all"] in (0, 1)


# --- speed --------------------------------------------------------------------------------------


def run_assignments(module, monkeypatch, tmp_path):
    module.main(n=500, k=3)


def run_auto(module, monkeypatch, tmp_path):
    shrink(module, monkeypatch, make_blobs=at_most(module.make_blobs, 60))
    shrink(module, monkeypatch, AutoClustering=partial(fit_fast, module.AutoClustering))
    main_of(module, monkeypatch, "--quick")


def run_command_line(module, monkeypatch, tmp_path):
    shrink(module, monkeypatch, PEER="")
    module.compare("few rows", module.blobs(60, 4, 9), ["separation"], 1, tmp_path)


def run_dask_arrays(module, monkeypatch, tmp_path):
    """On a worker in this process, which is not killed."""
    shrink(module, monkeypatch, ROWS_PER_BLOCK=300)
    killed = []
    monkeypatch.setattr(os, "kill", lambda *process_and_signal: killed.append(process_and_signal))
    options = {"n_workers": 1, "processes": False, "dashboard_address": None}
    with module.LocalCluster(**options) as cluster, module.Client(cluster) as client:
        found = {"iterations": module.measure_iterations(client, 900)}
        found["kill"] = module.measure_kill(client, 900)
    module.tell(found)
    assert killed == [(os.getpid(), signal.SIGKILL)]
    assert found["kill"]["different labels"] == 0


def run_disk(module, monkeypatch, tmp_path):
    shrink(module, monkeypatch, ROWS_PER_FILE=300)
    module.write_rows(tmp_path / "rows", 600)
    found = module.measure("separation", 600, 4.0, tmp_path)
    assert found["different labels"] == 0
    module.tell("separation", found)


def run_cutting_plane(module, monkeypatch, tmp_path):
    shrink(module, monkeypatch, documents=at_most(module.documents, 200))
    digits = module.load_digits()
    digits.data, digits.target = digits.data[:100], digits.target[:100]
    shrink(module, monkeypatch, load_digits=lambda: digits)
    main_of(module, monkeypatch, "--quick", "--repeats", 1)


def run_harness(module, monkeypatch, tmp_path):
    """Tables, measured in this process, and plots; a second run measures nothing."""
    calls = []

    def in_this_process(*cell_and_limit, **environment):
        calls.append(cell_and_limit)
        return module.measured(*cell_and_limit[:-1])

    shrink(module, monkeypatch, MANY_SAMPLES=150, MANY_CLUSTERS=3, SIZES=(60, 120))
    shrink(module, monkeypatch, GROWTH_SAMPLES=1, REPEATS=1)
    limited = module.in_a_process("KMeans", 60, 2, limit=1)  # the imports alone take longer
    assert limited == {"failed": "more than 1 s"}
    shrink(module, monkeypatch, in_a_process=in_this_process)
    kept = tmp_path / "harness.json"
    options = "--sizes", 60, 120, "--clusters", 2, "--results", kept
    only = "--only", "KMeans", "GemClus", "KernelKMeans"
    shrink(module, monkeypatch, is_missing=lambda name: name == "GemClus")
    printed = printed_by(module, monkeypatch, *only, *options)
    assert len(re.findall("^GemClus +not installed", printed, re.MULTILINE)) == 3
    assert "none is kept" in printed
    found = json.loads(kept.read_text())["cells"]
    assert set(found["KernelKMeans"]) == {"first", "60/2", "120/2", "150/3"}
    assert set(found["KMeans"]) == {"60/2", "120/2", "150/3"}
    assert set(module.exponents(found, (2,))["KernelKMeans"]) == {"2"}
    runpy.run_path(str(BENCHMARKS.parent / "docs" / "draw_speed.py"))["main"](kept, tmp_path)
    assert len(list(tmp_path.glob("speed_*.png"))) == 2
    n_calls = len(calls)
    main_of(module, monkeypatch, *only, *options)
    assert len(calls) == n_calls
    found["GemClus"] = {"60/2": {"seconds": 1.0, "ari": 1.0}}  # by an interpreter that has it
    module.write(kept, found)
    only = "--only", "GemClus", "KernelKMeans"
    printed = printed_by(module, monkeypatch, *only, *options, "--again")
    assert len(calls) == n_calls + 4
    assert json.loads((tmp_path / "harness_before.json").read_text())["cells"] == found
    assert json.loads(kept.read_text())["cells"]["GemClus"] == found["GemClus"]
    assert re.search("^cells measured again: 3, slower ., faster .$", printed, re.MULTILINE)


def test_what_took_too_long_is_not_tried_with_more_samples(script):
    harness = script("speed/harness.py")
    mine = {"first": {"first": 1.0}, "60/2": {"failed": "more than 9 s"}, "60/10": {"seconds": 1}}
    expected = {"failed": "not tried: more than 9 s at n = 60"}
    assert harness.untried(mine, 120, 2) == expected
    assert harness.untried(mine | {"120/2": expected}, 1000, 2) == expected
    assert harness.untried(mine, 120, 10) is None


def test_the_harness_knows_every_clusterer(script):
    harness = script("speed/harness.py")
    public = {name for name, entry in separatrix._REGISTRY.items() if entry.short_name}
    assert set(harness.names()) - set(harness.PEERS) == public


def run_first_call(module, monkeypatch, tmp_path):
    """Measured in this process, where some functions may be compiled already."""
    shrink(module, monkeypatch, RESULTS=tmp_path, N_SAMPLES=40)
    shrink(module, monkeypatch, in_a_process=lambda name, k, limit: module.measured(name, k))
    main_of(module, monkeypatch, "--only", "TreeCutClustering", "KernelKMeans", "--clusters", 2)
    report = json.loads((tmp_path / "first_call.json").read_text())
    assert report["TreeCutClustering 2"]["first"] > 0
    assert sum(report["KernelKMeans 2"]["compiled"].values()) == 0


def run_scaling(module, monkeypatch, tmp_path):
    """The curves, and the figure that is drawn from what they leave."""
    shrink(module, monkeypatch, RESULTS=tmp_path, SAMPLES=(30, 60), FEATURES=(2,), CLUSTERS=(3,))
    shrink(module, monkeypatch, N_SAMPLES=60)
    main_of(module, monkeypatch, "--only", "KernelKMeans")
    figure = runpy.run_path(str(BENCHMARKS.parent / "docs" / "draw_scaling.py"))
    figure["main"](tmp_path / "scaling.json", tmp_path / "scaling.png")
    assert (tmp_path / "scaling.png").stat().st_size > 1_000


def run_gpu(module, monkeypatch, tmp_path):
    strict = pytest.importorskip("array_api_strict")
    small = {
        name: replace(case, n_samples=300, n_features=12) for name, case in module.CASES.items()
    }
    shrink(
        module,
        monkeypatch,
        CASES=small,
        COPIED=100,
        agreement=partial(module.agreement, n_samples=60, n_features=12),
        devices=lambda: [("strict", strict.asarray, lambda: None)],
    )
    main_of(module, monkeypatch, "--repeats", 1, "--out", tmp_path / "gpu.json")


def run_images(module, monkeypatch, tmp_path):
    load = module.load_sample_image
    shrink(module, monkeypatch, load_sample_image=lambda name: load(name)[:24, :24])
    main_of(module, monkeypatch, "--repeats", 1)


def run_import_time(module, monkeypatch, tmp_path):
    cheap = dict.fromkeys(module.STATEMENTS, "pass")
    shrink(module, monkeypatch, STATEMENTS=cheap)
    module.main(repeats=1)


def run_least_squares(module, monkeypatch, tmp_path):
    """Also what is compared with RLScore, which is not installed: its starts stand for it."""
    load = module.load_digits
    first = lambda **options: tuple(array[:150] for array in load(**options))  # noqa: E731
    answer = lambda python, starts, **task: {  # noqa: E731
        "seconds": np.ones(len(starts)),
        "labels": starts.argmax(axis=2),
    }
    shrink(module, monkeypatch, load_digits=first, run_rlscore=answer)
    main_of(module, monkeypatch, "--samples", 200, "--repeats", 1)


def run_margin_speed(module, monkeypatch, tmp_path):
    pixels, twonorm = module.pixels, module.twonorm
    shrink(module, monkeypatch, pixels=lambda name: pixels(name, 50), twonorm=lambda: twonorm(50))
    main_of(module, monkeypatch, "--samples", 200, "--repeats", 1)


def run_semidefinite(module, monkeypatch, tmp_path):
    module.against_scs(12, 1.0, 5)
    module.race(16, 12, 1.0, full=False)


def run_separation(module, monkeypatch, tmp_path):
    module.measure(400, 10, repeats=1)


def run_spanning_trees(module, monkeypatch, tmp_path):
    main_of(module, monkeypatch, "--samples", 100, "--features", 2)


def run_volume_speed(module, monkeypatch, tmp_path):
    main_of(module, monkeypatch, "--samples", 300, "--features", 3)


# --- robustness, quality, validity --------------------------------------------------------------


def run_kills(module, monkeypatch, tmp_path):
    shrink(module, monkeypatch, NUMBERS=(2,), run=cache(module.run))  # a process for each run
    assert not main_of(module, monkeypatch, "--runs", 0)


def run_memory(module, monkeypatch, tmp_path):
    names = ("KernelKMeans", "MaximinSeparationClustering")
    found = {name: module.clusterers()[name] for name in names}
    shrink(module, monkeypatch, clusterers=lambda: found, WARM_UP=1, cpu_count=lambda: 1)
    main_of(module, monkeypatch, "--refits", 1, "--fits", 2)


def run_models(module, monkeypatch, tmp_path):
    assert not main_of(module, monkeypatch, "--copies", 10)


def run_audit(module, monkeypatch, tmp_path):
    """Licences alone: tests ask no service."""
    asked = []

    def untold(found):
        asked.extend(found)
        return [{"name": name, "skip_reason": "not asked"} for name in found]

    shrink(module, monkeypatch, audited=untold)
    assert main_of(module, monkeypatch) == 0
    assert {"numba", "matplotlib", "typer", "dask", "skl2onnx"} <= set(asked)  # all extras


def run_mutation(module, monkeypatch, tmp_path):
    test = tmp_path / "test_nothing.py"
    test.write_text("def test_nothing():\n    pass\n")
    shrink(module, monkeypatch, SUBJECTS={"metrics.py": [str(test)]}, LIBRARIES=())
    survived = main_of(module, monkeypatch, "--sample", 1, "--jobs", 1)
    assert survived  # a test of nothing notices no fault


def run_train(module, monkeypatch, tmp_path):
    shrink(module, monkeypatch, RESULTS=tmp_path, N_TREES=2, numbered=numbered_both)
    kinds = {"general": ({"clouds": 1.0}, 1), "measured": ({"factors": 1.0}, 1)}
    shrink(module, monkeypatch, BATCHES=kinds, measured=cut_before(module.measured))
    model = tmp_path / "model.npz"
    main_of(module, monkeypatch, "--sets", 4, "--jobs", 1, "--output", model)
    assert model.exists()


def numbered_both(n_sets):
    """Sets of both batches, half of them held back."""
    return [(batch, seed) for seed in (0, 1) for batch in ("general", "measured")]


def cut_before(measured):
    """Measure a part of the samples alone."""

    def of_few(X, y, counts, **options):
        kept = np.random.default_rng(0).permutation(len(X))[:120]
        return measured(X[kept], y[kept], counts[kept], **options)

    return of_few


def run_traces(module, monkeypatch, tmp_path):
    monkeypatch.setattr(module.separatrix, "__all__", ["KernelKMeans"])
    main_of(module, monkeypatch, "--files")


RUNS = {
    "choices/known_labels.py": run_known_labels,
    "choices/outliers.py": run_outliers,
    "choices/peers.py": run_peers,
    "choices/public_tables.py": run_public_tables,
    "choices/probabilities.py": run_probabilities,
    "choices/landmarks.py": run_landmarks,
    "choices/margin.py": run_margin,
    "choices/margin_distribution.py": run_margin_distribution,
    "choices/multiway.py": run_multiway,
    "choices/selection.py": run_selection,
    "choices/starts.py": run_starts,
    "choices/tables.py": run_tables,
    "choices/trust.py": run_trust,
    "choices/volume.py": run_volume,
    "quality/audit.py": run_audit,
    "quality/mutation.py": run_mutation,
    "robustness/kills.py": run_kills,
    "robustness/memory.py": run_memory,
    "robustness/models.py": run_models,
    "speed/assignments.py": run_assignments,
    "speed/auto.py": run_auto,
    "speed/command_line.py": run_command_line,
    "speed/cutting_plane.py": run_cutting_plane,
    "speed/dask_arrays.py": run_dask_arrays,
    "speed/disk.py": run_disk,
    "speed/first_call.py": run_first_call,
    "speed/gpu.py": run_gpu,
    "speed/harness.py": run_harness,
    "speed/images.py": run_images,
    "speed/import_time.py": run_import_time,
    "speed/least_squares.py": run_least_squares,
    "speed/margin.py": run_margin_speed,
    "speed/scaling.py": run_scaling,
    "speed/semidefinite.py": run_semidefinite,
    "speed/separation.py": run_separation,
    "speed/spanning_trees.py": run_spanning_trees,
    "speed/volume.py": run_volume_speed,
    "traces.py": run_traces,
    "validity/train.py": run_train,
}


@pytest.mark.usefixtures("few_tables")
@pytest.mark.parametrize("path", RUNS)
def test_script_runs(path, script, monkeypatch, tmp_path, capsys):
    environment = dict(os.environ)
    RUNS[path](script(path), monkeypatch, tmp_path)
    assert capsys.readouterr().out
    # what scripts set there would reach the tests that follow in this process
    assert dict(os.environ) == environment


def test_every_script_has_a_run():
    scripts = {
        str(path.relative_to(BENCHMARKS))
        for path in BENCHMARKS.rglob("*.py")
        if '__name__ == "__main__"' in path.read_text(encoding="utf-8")
    }
    papers = "papers/__main__.py"  # in test_papers.py
    assert scripts - {papers} == set(RUNS)


def test_the_readme_lists_every_script():
    listed = re.findall(r"^\| `([\w/]+\.py)` \|", (BENCHMARKS / "README.md").read_text(), re.M)
    papers = {name for name in listed if name.startswith("papers/")}
    assert set(listed) - papers == set(RUNS)
    assert papers == {f"papers/{path.stem}.py" for path in BENCHMARKS.glob("papers/*.toml")}
