"""Tables of the papers: verdicts, runs taken up after a kill, pages, and a run of each paper."""

import math
import re
import signal
from dataclasses import replace
from functools import partial
from importlib import import_module

import numpy as np
import pytest

PAPERS = ("mspc", "mmc", "mvc", "umcrls", "odmc")
pytestmark = pytest.mark.usefixtures("benchmarks")


@pytest.fixture
def harness(benchmarks):
    return import_module("benchmarks.papers.harness")


@pytest.fixture
def pages(benchmarks):
    return import_module("benchmarks.papers.pages")


def table_of(harness, jobs=(), cells=(), **settings):
    variants = {
        "the paper's": (harness.PAPER, "as printed"),
        "ours": (harness.OURS, "as we do it"),
        "default": (harness.DEFAULT, "as it is"),
    }
    given = {"own": ("method",), "variants": variants} | settings
    return harness.Table("t", "Table T: errors", "error", "How.", jobs=list(jobs),
                         cells=list(cells), **given)  # fmt: skip


# --- verdicts -----------------------------------------------------------------------------------


@pytest.mark.parametrize("spread", [None, "standard deviation", "standard error"])
@pytest.mark.parametrize("better", ["lower", "higher"])
def test_verdict_is_by_the_distance_in_spreads(harness, spread, better):
    table = table_of(harness, better=better, spread=spread, tolerance=0.5)
    rng = np.random.default_rng(0)
    for _ in range(200):
        aim, width = rng.uniform(0, 10), rng.uniform(0, 3)
        runs = rng.normal(aim, 3, size=rng.integers(1, 5)).tolist()
        error = np.std(runs, ddof=1) / math.sqrt(len(runs)) if len(runs) > 1 else 0
        error = min(error, 2 * width)  # of few repeats, which prove nothing
        allowed = {
            None: 0.5,
            "standard deviation": max(0.5, math.hypot(width, error)),
            "standard error": max(0.5, 2 * math.hypot(width, error)),
        }[spread]
        worse_by = (np.mean(runs) - aim) * (1 if better == "lower" else -1)
        expected = "not reached" if worse_by > allowed else "within its spread"
        expected = "better" if worse_by < -allowed else expected
        published = aim if spread is None else [aim, width]
        assert harness.verdict(table, published, runs) == expected


def test_what_cannot_be_compared_has_no_verdict(harness):
    seconds = table_of(harness, better=None)
    errors = table_of(harness)
    assert harness.verdict(seconds, 1.0, 2.0) is None
    assert harness.verdict(errors, None, 2.0) is None
    assert harness.verdict(errors, 1.0, None) is None


# --- running ------------------------------------------------------------------------------------


def squared(value, log):
    with open(log, "a") as file:
        file.write(f"{value}\n")
    return {"square": value**2}


def broken(value):
    raise ValueError(f"no {value}")


def without_data(value):
    raise FileNotFoundError(2, "missing", f"{value}.npz")


def squares(harness, log, values):
    return [harness.Job(f"square {v}", squared, {"value": v, "log": str(log)}) for v in values]


def test_a_killed_run_is_taken_up_where_it_ended(harness, tmp_path):
    path, log = tmp_path / "paper.jsonl", tmp_path / "log"
    jobs = squares(harness, log, [1.0, 2.0, 3.0])
    harness.run(jobs[:2], harness.Results(path, 1), 1, say=str)
    path.write_text(path.read_text()[:-20])  # the kill came while the second was written
    results = harness.Results(path, 1)
    assert [results.has(job) for job in jobs] == [True, False, False]
    path.write_text(path.read_text().splitlines()[0] + "\n")
    assert harness.run(jobs, harness.Results(path, 1), 1, say=str) == []
    results = harness.Results(path, 1)
    assert [results.of(job) for job in jobs] == [
        ({"square": v**2}, False) for v in (1.0, 2.0, 3.0)
    ]
    assert sorted(log.read_text().split()) == ["1.0", "2.0", "2.0", "3.0"]


def test_a_line_cut_off_does_not_spoil_the_next(harness, tmp_path):
    path, log = tmp_path / "paper.jsonl", tmp_path / "log"
    jobs = squares(harness, log, [1.0, 2.0])
    harness.run(jobs[:1], harness.Results(path, 1), 1, say=str)
    with path.open("a") as file:
        file.write('{"key": "cut')
    harness.run(jobs, harness.Results(path, 1), 1, say=str)
    results = harness.Results(path, 1)
    assert all(results.has(job) for job in jobs)


def test_other_settings_or_protocols_are_other_measurements(harness, tmp_path):
    path, log = tmp_path / "paper.jsonl", tmp_path / "log"
    job, other = squares(harness, log, [1.0, 2.0])
    same_name = harness.Job(job.name, squared, other.settings)
    harness.run([job], harness.Results(path, 1), 1, say=str)
    results = harness.Results(path, 1)
    assert results.has(job)
    assert not results.has(same_name)
    assert results.of(same_name) == ({"square": 1.0}, True)  # stands in for it, and says so
    assert not harness.Results(path, 2).records


def test_compacted_results_keep_a_part_until_the_whole_is_there(harness, tmp_path):
    path, log = tmp_path / "paper.jsonl", tmp_path / "log"
    part, whole = squares(harness, log, [1.0, 2.0])
    whole = harness.Job(part.name, squared, whole.settings)
    stale = squares(harness, log, [9.0])
    results = harness.Results(path, 1)
    harness.run([part, *stale], results, 1, say=str)
    results.compact([whole])
    assert [one["job"] for one in harness.Results(path, 1).records.values()] == [part.name]
    harness.run([whole], results, 1, say=str)
    results.compact([whole])
    assert [one["values"] for one in harness.Results(path, 1).records.values()] == [{"square": 4}]


def test_a_failure_is_told_and_the_others_go_on(harness, tmp_path):
    said = []
    jobs = [
        harness.Job("broken", broken, {"value": 1}, cost=3),
        harness.Job("without data", without_data, {"value": "letter"}, cost=2),
        *squares(harness, tmp_path / "log", [2.0]),
    ]
    results = harness.Results(tmp_path / "paper.jsonl", 1)
    assert harness.run(jobs, results, 1, say=said.append) == ["broken"]
    assert results.has(jobs[2])
    told = "\n".join(said)
    assert "ValueError: no 1" in told
    assert "letter.npz is missing" in told
    assert "[3/3]" in told


def endless():
    while True:
        try:
            sum(range(1000))
        except Exception:  # a measurement that goes on whatever happens
            continue


@pytest.mark.skipif(not hasattr(signal, "SIGPROF"), reason="no such signal on this system")
def test_what_takes_too_long_is_stopped_and_tried_again_only_with_more_time(harness, tmp_path):
    said, path = [], tmp_path / "paper.jsonl"
    jobs = [harness.Job("endless", endless, {}), *squares(harness, tmp_path / "log", [2.0])]
    results = harness.Results(path, 1)
    assert harness.run(jobs, results, 1, say=said.append, limit=0.05) == []
    assert [results.has(job) for job in jobs] == [False, True]
    assert "endless: stopped after 0 s" in "\n".join(said)
    results = harness.Results(path, 1)
    assert results.of(jobs[0]) == (None, False)
    assert results.stopped_after(jobs[0]) == 0.05
    assert results.expected_seconds(jobs[0], jobs) == 0.05
    for limit, tried in ((0.05, 0), (0.1, 1)):
        said.clear()
        harness.run(jobs, results, 1, say=said.append, limit=limit)
        assert len(said) == 1 + tried
    assert results.stopped_after(jobs[0]) == 0.1


def test_no_more_time_is_left_than_the_limit_allows(harness, tmp_path):
    said = []
    jobs = squares(harness, tmp_path / "log", [1.0, 2.0, 3.0])
    jobs = [replace(job, cost=cost) for job, cost in zip(jobs, [1e-9, 1, 1], strict=True)]
    harness.run(jobs, harness.Results(tmp_path / "paper.jsonl", 1), 1, said.append, limit=7.0)
    assert said[1].startswith("[1/3]")
    assert said[1].endswith("; about 14 s left")


def test_cheap_measurements_come_first(harness, tmp_path):
    log = tmp_path / "log"
    costs = {1.0: 5, 2.0: 1, 3.0: 3}
    jobs = [
        replace(job, cost=costs[job.settings["value"]]) for job in squares(harness, log, costs)
    ]
    harness.run(jobs, harness.Results(tmp_path / "paper.jsonl", 1), 1, say=str)
    assert log.read_text().split() == ["2.0", "3.0", "1.0"]


def test_values_survive_the_file(harness):
    given = {"a": np.float64(1 / 3), "b": np.arange(2), "c": [np.True_, "word"], "d": (0.5, None)}
    expected = {"a": 0.333333, "b": [0, 1], "c": [1, "word"], "d": [0.5, None]}
    assert harness.rounded(given) == expected


# --- pages --------------------------------------------------------------------------------------


def told(values):
    return {"value": values}


def test_page_has_marks_counts_and_reasons(harness, pages, tmp_path):
    found = {"a, ours": 1.0, "a, the paper's": 5.0, "a, default": 9.0, "b, ours": 7.0}
    jobs = [harness.Job(name, told, {"values": value}) for name, value in found.items()]
    cells = [
        harness.value_cell(*job.name.split(", ")[:1], "method", job.name.split(", ")[1], job,
                           "value", 5.0)
        for job in jobs
    ]  # fmt: skip
    table = table_of(harness, jobs, cells, tolerance=0.1)
    claim = harness.Claim("All are small.", ("b, ours",), partial(at_most, most=6))
    table = harness.Table(**{**vars(table), "claims": [claim]})
    results = harness.Results(tmp_path / "paper.jsonl", 1)
    harness.run(jobs, results, 1, say=str)
    why = {"t": {"b / method": "The data are others."}}
    paper = harness.Paper("p", "Paper", "By us.", 1, {"why": why})
    lines = pages.page(paper, [table], results).splitlines()
    assert "| a | 5 | 5.00 ✓ | 1.00 ★ | 9.00 ✗ |  |" in lines
    assert "| b | 5 | – | 7.00 ✗ | – | The data are others. |" in lines
    assert "| all | 2 | 2 | 2 | 1 (50%) | 1 (50%) | 0 (0%) | 1 (50%) | 0 of 0 |" in lines
    assert "- ✗ All are small. Here: 7.0." in lines


def test_readings_of_a_row_are_one_cell(harness, pages, tmp_path):
    found = {"a, ours": 9.0, "a again, ours": 5.0, "b, ours": 9.0, "b again, ours": 9.0}
    jobs = [harness.Job(name, told, {"values": value}) for name, value in found.items()]
    unknown = harness.Job("c, ours", told, {"values": 1.0}, cost=7)
    cells = [
        harness.value_cell(job.name.split(", ")[0], "method", "ours", job, "value", 5.0)
        for job in [*jobs, unknown]
    ]
    again = {"a again": "a", "b again": "b"}
    table = table_of(harness, [*jobs, unknown], cells, tolerance=0.1, readings=again)
    results = harness.Results(tmp_path / "paper.jsonl", 1)
    for job in jobs:
        results.add(job, told(**job.settings), 30.0)
    paper = harness.Paper("p", "Paper", "By us.", 1, {"why": {"t": {"b / method": "Other data."}}})
    lines = pages.page(paper, [table], results).splitlines()
    assert "| all | 3 | 2 | 2 | 0 (0%) | 1 (50%) | 0 (0%) | 1 (50%) | 0 of 0 |" in lines
    assert "| a | 5 | 9.00 ✗ | reached as 'a again' |" in lines
    assert "| b again | 5 | 9.00 ✗ | Other data. |" in lines
    assert "| c | 5 | – | not measured: about 4 min of one core |" in lines


def test_totals_are_given_without_readings_added_after_a_miss(harness, pages, tmp_path):
    found = {"a, ours": 9.0, "a again, ours": 5.0, "b, ours": 9.0, "b, the paper's": 5.0}
    jobs = [harness.Job(name, told, {"values": value}) for name, value in found.items()]
    cells = [
        harness.value_cell(row, "method", variant, job, "value", 5.0)
        for (row, variant), job in zip((name.split(", ") for name in found), jobs, strict=True)
    ]
    results = harness.Results(tmp_path / "paper.jsonl", 1)
    for job in jobs:
        results.add(job, told(**job.settings), 30.0)
    paper = harness.Paper("p", "Paper", "By us.", 1, {})
    whole = "| 2 | 2 | 2 | 1 (50%) | 1 (50%) | 0 (0%) | 2 (100%) | 0 of 0 |"
    for later, paper_first, ours_first in (
        ((), "1 (50%)", "1 (50%)"),
        (("a again",), "1 (50%)", "0 (0%)"),
        (("the paper's",), "0 (0%)", "1 (50%)"),
    ):
        table = table_of(harness, jobs, cells, tolerance=0.1, readings={"a again": "a"},
                         later_readings=later)  # fmt: skip
        any_first = {(): "2 (100%)"}.get(later, "1 (50%)")
        page = pages.page(paper, [table], results)
        row = f"| 2 | 2 | 2 | {paper_first} | {ours_first} | 0 (0%) | {any_first} | 0 of 0 |"
        for written in (page, pages.index([(paper, [table], results)])):
            assert pages.WHAT_IS_AIMED_AT in written
            assert f"| all {whole}" in written
            assert f"| without later readings {row}" in written
        names = ", ".join(f"'{name}'" for name in later)
        assert (f"Added after a cell had been seen to miss: {names}." in page) == bool(later)


def test_a_cell_that_only_the_default_reaches_counts(harness, pages, tmp_path):
    jobs = [harness.Job(name, told, {"values": v}) for name, v in (("o", 9.0), ("d", 5.0))]
    cells = [
        harness.value_cell("a", "method", variant, job, "value", 5.0)
        for variant, job in zip(("ours", "default"), jobs, strict=True)
    ]
    results = harness.Results(tmp_path / "paper.jsonl", 1)
    for job in jobs:
        results.add(job, told(**job.settings), 30.0)
    table = table_of(harness, jobs, cells, tolerance=0.1)
    page = pages.page(harness.Paper("p", "Paper", "By us.", 1, {}), [table], results)
    assert "| all | 1 | 1 | 1 | 0 (0%) | 0 (0%) | 1 (100%) | 1 (100%) | 0 of 0 |" in page


def at_most(values, most):
    return values["value"] <= most, f"{values['value']}"


# --- the papers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", ["full", "quick", "smoke"])
@pytest.mark.parametrize("paper", PAPERS)
def test_tables_are_complete(paper, scale, harness):
    tables = harness.Paper.of(paper).tables(scale)
    assert len({table.name for table in tables}) == len(tables)
    for table in tables:
        assert {role for role, _ in table.variants.values()} <= set(harness.ROLES)
        names = [job.name for job in table.jobs]
        assert len(set(names)) == len(names)
        places = [(cell.row, cell.column, cell.variant) for cell in table.cells]
        assert len(set(places)) == len(places)
        for cell in table.cells:
            # one over all tasks of a paper may need some that a smaller scale leaves out
            assert set(cell.needs) <= set(names) or (scale != "full" and len(cell.needs) > 1)
            assert cell.variant in table.variants
        known = {name for cell in table.cells for name in (cell.row, cell.variant)}
        assert scale != "full" or set(table.later_readings) <= known
        for job in table.jobs:
            assert job.key(1) != job.key(2)  # its settings are JSON


@pytest.mark.parametrize("name", PAPERS)
def test_reasons_belong_to_cells(name, harness):
    paper = harness.Paper.of(name)
    tables = {table.name: table for table in paper.tables("full")}
    for name, reasons in paper.published.get("why", {}).items():
        rows = {cell.row for cell in tables[name].cells} | {"*", *tables[name].readings.values()}
        for place in reasons:
            row, column = place.split(" / ")
            assert row in rows
            assert column in {*tables[name].own, "*"}


@pytest.mark.parametrize("name", PAPERS)
def test_paper_runs(name, tmp_path, harness, pages, capsys):
    paper = harness.Paper.of(name)
    command = import_module("benchmarks.papers.__main__")
    options = "--smoke", "--jobs", "1", "--results", str(tmp_path), "--pages", str(tmp_path)
    assert command.main([name, *options]) == 0
    results = harness.Results(tmp_path / f"{name}.jsonl", paper.protocol)
    page = (tmp_path / f"{name}.md").read_text(encoding="utf-8")
    for table in paper.tables("smoke"):
        assert f"## {table.title}" in page
        names = {job.name for job in table.jobs}
        for entry in pages.entries_of(table, results):
            assert entry.found is not None or not set(entry.cell.needs) <= names
    assert f"[{paper.title}]({name}.md)" in (tmp_path / "index.md").read_text(encoding="utf-8")
    assert "left" in capsys.readouterr().out
    assert command.main([name, *options]) == 0  # nothing is left to be measured
    n_jobs = len(harness.distinct(j for table in paper.tables("smoke") for j in table.jobs))
    assert f"{n_jobs} of {n_jobs} measurements are there already" in capsys.readouterr().out


@pytest.mark.parametrize("name", PAPERS)
def test_pages_are_those_of_the_results(name, harness, pages):
    """If this fails: python -m benchmarks.papers --pages-only"""
    command = import_module("benchmarks.papers.__main__")
    paper = harness.Paper.of(name)
    results = harness.Results(command.RESULTS / f"{name}.jsonl", paper.protocol)
    written = (command.PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert written == pages.page(paper, paper.tables("full"), results)
    assert pages.NOT_YET not in written  # each cell that is not reached has its reason


# Differences and ratios of figures that stand in the tables.
DERIVED = {
    "umcrls": {"2.7", "2.1"},
    "odmc": {".057", ".051"},
    # extremes of runs, whose mean is on the page
    "mmc": {"29.3", "35.9", "42.3", "43.4", "44.7", "44.9"},
}


def measured_on(page):
    """The numbers in the tables of a page, without its reasons, and in its statements."""
    found, last = [], None
    for line in page.splitlines():
        if line.startswith("|  |"):
            last = -1 if line.endswith("| not reached because |") else None
        elif line.startswith("| "):
            found += line.split("|")[2:-1][:last]
        elif line.startswith("- "):
            found.append(line)
    return [float(number) for cell in found for number in re.findall(NUMBER, cell)]


NUMBER = r"(?<![\w.,])\d*\.?\d+"


@pytest.mark.parametrize("name", PAPERS)
def test_figures_of_reasons_are_those_of_the_page(name, harness):
    """Reasons are written by hand, so that their figures could be those of an earlier run."""
    command = import_module("benchmarks.papers.__main__")
    there = measured_on((command.PAGES / f"{name}.md").read_text(encoding="utf-8"))
    lost = {}
    for reasons in harness.Paper.of(name).published.get("why", {}).values():
        for place, reason in reasons.items():
            for figure in re.findall(r"(?<![\w.,])\d*\.\d+", re.sub("`.*?`", "", reason)):
                digits = len(figure.partition(".")[2])
                same = {
                    round(number * unit, digits) for number in there for unit in (1, 0.01, 100)
                }
                if float(figure) not in same and figure.lstrip("0") not in DERIVED.get(name, ()):
                    lost[place] = figure
    assert lost == {}


def test_short_calls_are_timed_by_a_clock_that_ticks_in_hundredths(monkeypatch):
    odmc = import_module("benchmarks.papers.odmc")
    fine = odmc.time.process_time
    monkeypatch.setattr(odmc.time, "process_time", lambda: math.floor(100 * fine()) / 100)
    result, seconds = odmc.timed(pow, 2, 3)
    assert result == 8
    assert 0 < seconds < 1e-3


def test_only_what_is_named_is_measured(tmp_path, harness):
    command = import_module("benchmarks.papers.__main__")
    options = "--smoke", "--jobs", "1", "--results", str(tmp_path), "--pages", str(tmp_path)
    assert command.main(["mspc", "table2", *options, "--only", "k-means / breast"]) == 0
    protocol = harness.Paper.of("mspc").protocol
    results = harness.Results(tmp_path / "mspc.jsonl", protocol)
    assert [record["job"] for record in results.records.values()] == ["k-means / breast"]


def test_an_unknown_table_is_refused_by_name(tmp_path):
    command = import_module("benchmarks.papers.__main__")
    with pytest.raises(SystemExit, match="no such table: table99; there are table2, starts"):
        command.main(["mspc", "table99", "--results", str(tmp_path), "--pages", str(tmp_path)])


def test_without_data_nothing_is_run(monkeypatch, capsys):
    command = import_module("benchmarks.papers.__main__")
    monkeypatch.setattr(command, "found_folder", lambda: None)
    assert command.main(["mspc"]) == 0
    assert capsys.readouterr().out.startswith("skipped: ")
