"""No measured figure of README or docs is typed by hand: each is that of a benchmark's JSON."""

import ast
import re
import runpy
from pathlib import Path

import pytest
from PIL import Image

ROOT = Path(__file__).parents[2]
FILL = runpy.run_path(str(ROOT / "docs" / "fill_figures.py"))
PAGES = [pytest.param(page, id=str(page.relative_to(ROOT))) for page in FILL["pages"]()]

# Times, memory, shares, ratios, counts out of others, and scores to two digits.
SPENT = r"[\d.]*\d\s?(?:(?:ms|s|seconds?|minutes?|hours?|[kMG]i?B|times)\b|%)"
MEASURED = re.compile(rf"{SPENT}|\b\d+\sof\s(?:the\s)?\d+\b|(?<![\d,])\d?\.\d\d+")
# In docstrings scores are mostly values of parameters, and times also stand in words.
OF_DOCSTRINGS = re.compile(
    rf"{SPENT}|\b(?:in|takes?) (?:an?|some|few)? ?(?:second|minute|hour)s?\b"
)
# Numbers of that form that are no measurements: settings of the code, of papers, and theory.
NOT_MEASURED = {
    "README.md": ["3.11"],
    "docs/development.md": ["3.11", "3.13", "3.14"],
    "docs/explaining.md": ["5 %"],
    "docs/links.md": ["70 %"],
    "docs/margin.md": ["0.03", "0.15"],
    "docs/relaxations.md": ["0.001"],
    "docs/report.md": ["0.15", "0.58"],
    "docs/scaling.md": ["0.5 GB", "40 GB"],  # assumed
    "docs/selection.md": ["0.001", "0.01", "0.03", "0.045", "0.05", "0.15", "0.75"],
    "docs/separation.md": ["0.49", "0.58", "0.64"],  # tests/common/test_guide.py computes them
    "docs/start.md": ["3.11"],
    "docs/tables.md": ["64 %"],
    "docs/volume.md": ["0.01"],
}
# A share that is compared with the results below, a unit of dates, and a formula.
NOT_SPENT = {"1 %", "in seconds", "2 times"}
# They tell what was measured when something was decided or changed, and are not kept up to date.
RECORDS = "docs/design/", "docs/changelog.md"


def prose(text):
    """A page without code, what commands print, mathematics, and what stands between marks."""
    text = FILL["TABLE"].sub("", FILL["FIGURE"].sub("", text))
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^ {4}.*$", "", text, flags=re.MULTILINE)
    return re.sub(r"`[^`]*`|\$[^$]*\$|\]\([^)]*\)", "", text)


@pytest.mark.parametrize("page", PAGES)
def test_figures_are_those_of_the_results(page):
    """If this fails: python docs/fill_figures.py"""
    text = page.read_text(encoding="utf-8")
    assert FILL["filled"](text) == text
    # at the beginning of a line, Markdown takes a comment for the end of the paragraph
    assert not re.search("^ *<!-- figure", text, re.MULTILINE)
    # in a table a bare bar ends the cell, and the mark is shown instead of the figure
    assert not re.search(r"^\|.*<!-- figure: [^>]* \| ", text, re.MULTILINE)


def test_the_plots_of_speed_show_the_results():
    """If this fails: python docs/draw_speed.py"""
    drawn = runpy.run_path(str(ROOT / "docs" / "draw_speed.py"))
    results = FILL["results"]("speed/harness")
    for quantity, (_, name) in drawn["QUANTITIES"].items():
        with Image.open(drawn["IMAGES"] / name) as picture:
            assert picture.text[drawn["MARK"]] == drawn["checksum"](results, quantity)


def test_the_summary_of_speed_is_that_of_the_results():
    """What docs/speed.md says in short."""
    cells = FILL["results"]("speed/harness")["cells"]
    faster = ["MaximinSeparation", "CuttingPlaneMargin", "InformationMaximization"]
    faster = [f"{name}Clustering" for name in faster] + ["LDAKMeans", "DiscriminativeKMeans"]
    for cell in ("100000/2", "1000000/2"):
        spent = [cells[name][cell]["seconds"] for name in faster]
        assert max(spent) < cells["KMeans"][cell]["seconds"]
    voted = [one["seconds"] for cell, one in cells["AutoClustering"].items() if cell[-2:] == "/2"]
    assert len(voted) == 4
    assert max(voted) < 10
    for name in ("MaximumVolume", "SquaredLossMutualInformation"):
        largest = cells[f"{name}Clustering"]["1000000/2"]
        assert largest["seconds"] > 100
        assert largest["megabytes"] > 1000
    assert cells["TreeCutClustering"]["1000000/2"]["seconds"] < 60
    assert "more than" in cells["SpectralClustering"]["100000/2"]["failed"]
    for name in ("HardMaximumVolume", "SemidefiniteMargin", "GeneralizedMargin"):
        assert "ValueError" in cells[f"{name}Clustering"]["10000/2"]["failed"]


def test_the_curves_of_scaling_show_the_results():
    """If this fails: python docs/draw_scaling.py"""
    drawn = runpy.run_path(str(ROOT / "docs" / "draw_scaling.py"))
    with Image.open(drawn["IMAGE"]) as picture:
        assert picture.text[drawn["MARK"]] == drawn["checksum"](FILL["results"]("speed/scaling"))


@pytest.mark.parametrize("page", PAGES)
def test_measured_figures_stand_between_marks(page):
    name = page.relative_to(ROOT).as_posix()
    if not name.startswith(RECORDS):
        found = set(MEASURED.findall(prose(page.read_text(encoding="utf-8"))))
        assert sorted(found) == NOT_MEASURED.get(name, [])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("takes 2.1 s and 30 MB", ["2.1 s", "30 MB"]),
        ("an index of .911, before 0.80", [".911", "0.80"]),
        ("right on 55 % of them, 3 times as fast", ["55 %", "3 times"]),
        ("better on 9 of the 15 sets", ["9 of the 15"]),
        ("beyond 20,000 samples of 50 features, 2 clusters in 3 steps", []),
    ],
)
def test_measured_figures_are_told_from_other_numbers(text, found):
    assert MEASURED.findall(text) == found


def test_figures_between_marks_are_written_anew(monkeypatch):
    results = {"some/file": {"a": {"b": 3.14159, "c": 2.0}}}
    monkeypatch.setitem(FILL["filled"].__globals__, "results", results.__getitem__)
    monkeypatch.setitem(FILL["TABLES"], "twice", lambda words: f"{words} {words}\n")
    text = "<!-- figure: some/file a b over some/file a c | .1f -->9<!-- /figure --> times\n"
    text += "<!-- table: twice x -->\nold\n<!-- /table -->"
    new = text.replace(">9<", ">1.6<").replace("\nold\n", "\n\nx x\n\n")
    assert FILL["filled"](text) == new
    assert FILL["filled"](new) == new


@pytest.mark.parametrize("page", PAGES)
def test_a_figure_typed_after_any_sentence_is_noticed(page):
    lines, n_typed, code, filled = [], 0, False, False
    for line in page.read_text(encoding="utf-8").splitlines():
        code ^= line.startswith("```")
        filled = (filled or line.startswith("<!-- table")) and not line.startswith("<!-- /table")
        if line.endswith((".", "|")) and not (code or filled or line.startswith("    ")):
            n_typed += 1
            line += f" In 3.{n_typed:03d} s."
        lines.append(line)
    noticed = MEASURED.findall(prose("\n".join(lines)))
    assert {f"3.{number:03d} s" for number in range(1, n_typed + 1)} <= set(noticed)


def docstrings():
    """Those of all modules, classes and functions of the package, without their examples."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                text = ast.get_docstring(node) or ""
                text = re.sub(r"Examples\n-{8}.*?(?=\n\n\w+\n---|\Z)", "", text, flags=re.DOTALL)
                yield f"{path.stem}.{getattr(node, 'name', '')}".rstrip("."), text


def test_docstrings_state_no_times():
    """What a fit takes is measured: pages have it from the results, and name the machine."""
    stated = {name: set(OF_DOCSTRINGS.findall(text)) - NOT_SPENT for name, text in docstrings()}
    assert {name: found for name, found in stated.items() if found} == {}


def test_few_samples_are_called_outliers_where_there_are_none():
    """As the docstrings of `outliers` say."""
    measured = FILL["results"]("outliers/noise")["clean"]
    shares = [share for of_method in measured.values() for share in of_method.values()]
    assert sum(share < 0.01 for share in shares) > len(shares) / 2
