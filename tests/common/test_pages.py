"""README and docs: their code and commands run, and their links and images lead somewhere."""

import ast
import io
import re
import runpy
import shlex
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from shutil import copyfile

import numpy as np
import pytest

import separatrix
from separatrix.cli import main, reading
from separatrix.metrics import clustering_error

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
COMMAND_LINE = DOCS / "command_line.md"
GENERATED = ("api", "auto_examples")
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + [
    page for page in sorted(DOCS.rglob("*.md")) if page.relative_to(DOCS).parts[0] not in GENERATED
]
# Packages that pages show and that are too large, or too old, to be installed for them.
SHOWN = ("mlflow", "gemclus", "scanpy", "skrub", "shap", "skl2onnx", "onnxruntime")
NOT_INSTALLED = [name for name in SHOWN if find_spec(name) is None]
CODE = r"^```python\n(.*?)^```"
# A command stands on a line of its own, with or without a prompt, and may go on on the next. What
# it prints follows, up to the next command or the end of the indented text.
INDENTED = r"(?:^(?: {4}[^\n]*)?\n)+"
COMMAND = r"^    (?:\$ |(?=separatrix ))((?:[^\n\\]|\\\n)*)\n"


def texts(pattern, pages=PAGES):
    """Pages that have what a pattern finds, with all that it finds there."""
    flags = re.MULTILINE | re.DOTALL
    found = {page: re.findall(pattern, page.read_text(encoding="utf-8"), flags) for page in pages}
    return [
        pytest.param(page, pieces, id=str(page.relative_to(ROOT)))
        for page, pieces in found.items()
        if pieces
    ]


def code_of(page):
    return re.findall(CODE, page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def prose_of(page):
    """A page without its code between fences."""
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


def transcripts(page):
    """The commands that a page shows, each with what it says that the command prints, or ""."""
    found = []
    for block in re.findall(INDENTED, prose_of(page), re.MULTILINE):
        _, *pieces = re.split(COMMAND, block, flags=re.MULTILINE)
        found += zip(pieces[::2], map(comparable, map(unindented, pieces[1::2])), strict=True)
    return found


def unindented(text):
    return re.sub("^    ", "", text, flags=re.MULTILINE)


def comparable(text):
    """Text without its times, spaces at the ends of lines and empty lines around it."""
    lines = [line.rstrip() for line in re.sub(r"\d+\.\d s\b", "_ s", text).splitlines()]
    return "\n".join(lines).strip("\n")


@pytest.fixture(scope="module")
def customers(tmp_path_factory):
    """Folder of the tables and models that the pages speak of."""
    folder = tmp_path_factory.mktemp("pages")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        printed_by(DEMO)
    folder /= "separatrix-demo"
    for table in (Path(__file__).parent / "penguins").glob("*.csv"):
        copyfile(table, folder / table.name)
    return folder


DEMO = "separatrix demo"


class Terminal(io.StringIO):
    """What is shown on a screen of 80 columns without colours, as pages show it."""

    def isatty(self):
        return True


def printed_by(command):
    """What a command prints. It runs in this process if it needs no shell."""
    if not command.startswith("separatrix") or "|" in command:
        command = re.sub(
            r"\bseparatrix\b", f"{shlex.quote(sys.executable)} -m separatrix", command
        )
        shell = ["bash", "-c", f"set -o pipefail; {command}"]
        return subprocess.run(shell, check=True, stdout=subprocess.PIPE, text=True).stdout
    screen = Terminal()
    with (
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(screen),
        redirect_stderr(screen),
    ):
        patch.setenv("TERM", "dumb")
        patch.delenv("COLUMNS", raising=False)
        with pytest.raises(SystemExit) as ended:
            main(shlex.split(command.replace("\\\n", " "))[1:])
    assert ended.value.code == 0, f"{command}\n{screen.getvalue()}"
    return screen.getvalue()


@pytest.fixture(scope="module")
def ran(customers):
    """A function that runs the code of a page, once for all tests: its names, what it printed."""

    @cache
    def run(page):
        names, printed = {"__name__": "__main__"}, io.StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed):
            patch.chdir(customers)
            for block in code_of(page):
                if not any(re.search(rf"\b{name}\b", block) for name in NOT_INSTALLED):
                    exec(compile(block, page.name, "exec"), names)
        return names, printed.getvalue()

    return run


# CONTRIBUTING.md shows parts of files, which tests/common/test_extending.py runs.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # at the import of shap
@pytest.mark.parametrize(
    ("page", "blocks"), texts(CODE, [page for page in PAGES if page.name != "CONTRIBUTING.md"])
)
def test_code_runs_and_prints_what_is_shown(page, blocks, ran):
    """Line by line; a page may leave lines out."""
    _, printed = ran(page)
    printed = {line.rstrip() for line in printed.splitlines()}
    lines = [line.rstrip() for block in shown_by(page) for line in block.splitlines()]
    assert [line for line in lines if line not in printed and line] == []


def shown_by(page):
    """What a page says that its code prints."""
    text = page.read_text(encoding="utf-8")
    return re.findall(r"^```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_what_is_shown_has_code_that_prints_it():
    assert any(shown_by(page) for page in PAGES)
    assert all(code_of(page) for page in PAGES if shown_by(page))


@pytest.mark.parametrize(
    "page", [page for page in PAGES if transcripts(page)], ids=lambda page: page.name
)
def test_commands_print_what_is_shown(page, customers, monkeypatch):
    """All of it, where anything is shown; a line of three dots stands for any lines.

    Times are those of another machine and are not compared. Commands name files of the folder that
    they run in, so that paths are.
    """
    monkeypatch.chdir(customers)
    for command, shown in transcripts(page):
        if command == DEMO:  # the tables come from it
            continue
        printed = comparable(printed_by(command))
        assert not shown or is_shown_by(shown, printed), f"{command}\n\n{printed}"


def is_shown_by(shown, printed):
    """Whether lines are those shown, where a line of three dots stands for any lines."""
    lines = [
        r"(?:.*\n)*" if line == "..." else re.escape(f"{line}\n") for line in shown.splitlines()
    ]
    return re.fullmatch("".join(lines), f"{printed}\n") is not None


def changed_rows(header, rows):
    """Tables of customers that cannot be used, with options, in the order of the page."""

    def with_value(line, column, value):
        new = [[*row] for row in rows]
        new[line - 2][header.index(column)] = value
        return [header, *new]

    yield with_value(8, "visits_per_month", "two"), ""
    yield with_value(2, "basket_eur", '"1,234"'), ""
    yield with_value(8, "age", ""), "--impute none"
    yield [header, *rows[:29], rows[29][:-1], *rows[30:]], ""
    yield [row[3:] for row in rows], ""
    yield [[*header, "cluster"], *([*row, row[3]] for row in rows)], ""
    whole = [header, *rows]
    yield whole, "--columns age"
    yield whole, "--out results/labels.csv"
    yield whole, "--out labels.xlsx"
    yield whole, "--labels-only --out customers.csv"


def test_refusals_are_those_shown(tmp_path, monkeypatch, capsys):
    """Line by line, but for how much memory there is."""
    monkeypatch.chdir(tmp_path)
    bundled = (Path(separatrix.__file__).parent / "cli" / "data" / "customers.csv").read_text()
    header, *rows = (line.split(",") for line in bundled.splitlines()[:251])
    printed = []
    for table, options in changed_rows(header, rows):
        Path("customers.csv").write_text("".join(",".join(row) + "\n" for row in table))
        with pytest.MonkeyPatch.context() as patch:
            if "--columns" in options:
                patch.setattr(reading, "physical_memory", lambda: 1000)
            with pytest.raises(SystemExit) as ended:
                main(shlex.split(f"cluster customers.csv --out labels.csv {options}"))
        assert ended.value.code == 2
        printed.append(capsys.readouterr().err)
    (block,) = re.findall(r"(?:^    separatrix: .*\n(?:    .*\n)*)", prose_of(COMMAND_LINE), re.M)
    shown = re.split(r"^(?=separatrix: )", unindented(block), flags=re.MULTILINE)[1:]
    assert [memoryless(one) for one in shown] == [memoryless(one) for one in printed]


def memoryless(text):
    return re.sub(r"[\d.e+-]+ GB", "_ GB", " ".join(text.split()))


def anchors(page):
    """Anchors of the headings of a page, as the site and hosts of repositories make them."""
    headings = re.findall(r"^#+ (.*)$", prose_of(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}


@pytest.mark.parametrize(("page", "targets"), texts(r"\]\(((?!https?://|mailto:)[^)\s]+)\)"))
def test_links_and_images_lead_to_files_of_the_repository(page, targets):
    for target in targets:
        path, _, anchor = target.partition("#")
        file = source((page.parent / path).resolve()) if path else page
        assert file.is_file(), f"{page.name} links to {target}"
        assert not ignored(file), f"{page.name} links to {target}, which git ignores"
        if anchor and file.suffix == ".md":
            assert anchor in anchors(file), f"{page.name} links to {target}"


def source(file):
    """The file itself, or the example that a page of the gallery is made of."""
    if not file.is_relative_to(DOCS / "auto_examples"):
        return file
    example = ROOT / "examples" / file.relative_to(DOCS / "auto_examples").with_suffix(".py")
    return example.with_name("GALLERY_HEADER.rst") if file.name == "index.rst" else example


def ignored(file):
    """Whether git ignores a file, so that no clone has it; False where there is no git."""
    try:
        done = subprocess.run(["git", "check-ignore", "-q", str(file)], cwd=ROOT)
    except FileNotFoundError:
        return False
    return done.returncode == 0


# --- the guide --------------------------------------------------------------------------------


def headings(page):
    """Headings of the second level, outside of code."""
    return re.findall(r"^## (.*)$", prose_of(page), re.MULTILINE)


def n_lines(block):
    return sum(bool(line.strip()) for line in block.splitlines())


def names_in(block):
    """Names that a block of code assigns, called or read."""
    return {node.id for node in ast.walk(ast.parse(block)) if isinstance(node, ast.Name)}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_new_user_gets_there_in_five_lines_each(customers, ran):
    """Clusters of a file, new rows, reasons, and the method for five situations."""
    page = DOCS / "start.md"
    blocks = code_of(page)
    assert len(blocks) == 3 + 5
    assert max(map(n_lines, blocks)) <= 5
    found, _ = ran(page)
    assigned = (customers / "assigned.csv").read_text(encoding="utf-8").splitlines()
    assert assigned[0].endswith(",cluster")
    assert len(assigned) == len(found["new"]) + 1
    assert {"profile", "explain"} <= names_in(blocks[2])
    assert found["voted"].agreement_words_
    other_units = found["wines"] * np.logspace(-2, 2, found["wines"].shape[1])
    before = found["separation"].labels_
    np.testing.assert_array_equal(found["separation"].fit(other_units).labels_, before)
    assert len(set(np.bincount(found["teams"]))) == 1
    known, species = found["known"], found["species"]
    pairs = np.equal.outer(known[known >= 0], known[known >= 0])
    assert (pairs == np.equal.outer(species[known >= 0], species[known >= 0])).all()
    assert clustering_error(found["moons"], found["shapes"].labels_) == 0


QUESTIONS = [page for page in (DOCS / "questions").glob("*.md") if page.name != "index.md"]


@pytest.mark.parametrize("page", QUESTIONS, ids=lambda page: page.stem)
def test_a_question_has_short_code_and_says_when_not(page):
    (block,) = code_of(page)
    assert n_lines(block) <= 10
    assert headings(page) == ["When not"]
    index = (DOCS / "questions" / "index.md").read_text(encoding="utf-8")
    assert f"]({page.name})" in index
    assert f"\n{page.stem}\n" in index


CRITERIA = ["separation", "margin", "volume", "least_squares"]
CRITERIA += ["labellings", "information", "relaxations", "classics"]


@pytest.mark.parametrize("name", CRITERIA)
def test_criteria_are_told_in_one_order(name):
    page = DOCS / f"{name}.md"
    order = ["Objective", "Intuition", "When to use it, and when not", "Example", "Cost"]
    found = headings(page)
    assert [heading for heading in found if heading in order] == order
    assert re.fullmatch("Papers?, and where we depart", found[-1])
    assert f"images/criterion_{name}.png" in page.read_text(encoding="utf-8")
    assert code_of(page)


@pytest.mark.parametrize("name", CRITERIA)
def test_names_in_formulas_have_no_backslash(name):
    """MathJax shows that of an underscore within \\text, but not within \\mathrm."""
    text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    assert re.findall(r"\\text\{[^}]*\\_", text) == []


def test_every_criterion_has_its_estimators_on_a_page():
    pages = "".join((DOCS / f"{name}.md").read_text(encoding="utf-8") for name in CRITERIA)
    for name, entry in separatrix._REGISTRY.items():
        if entry.home.startswith(("criteria", "classics")):
            assert f"`{name}`" in pages


def test_the_chart_is_drawn_and_leads_to_pages():
    drawn = runpy.run_path(str(DOCS / "draw_chart.py"))
    assert drawn["CHART"].read_text(encoding="utf-8") == drawn["chart"]()
    for _, method, page in drawn["QUESTIONS"]:
        assert {method, f"{method}Clustering"} & set(separatrix.__all__)
        assert (DOCS / "questions" / f"{page}.md").is_file()


CITATION = r'\.\. \[\d+\] (.*?)(?=\n\s*\.\. \[|\n\s*\n|\n\s*""")'


def test_the_bibliography_has_every_paper_that_docstrings_cite():
    listed = " ".join((DOCS / "bibliography.md").read_text(encoding="utf-8").split())
    cited = set()
    for module in (ROOT / "src").rglob("*.py"):
        text = module.read_text(encoding="utf-8")
        for entry in re.findall(CITATION, text, re.DOTALL):
            cited |= set(re.findall('"([^"]+)"', " ".join(entry.split())))
    assert len(cited) > 20
    assert {title for title in cited if title not in listed} == set()


EXAMPLES = sorted((ROOT / "examples").rglob("plot_*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_examples_say_what_they_teach(example):
    """A title, a text, and data that need no download."""
    code = example.read_text(encoding="utf-8")
    title, line, *text = ast.get_docstring(ast.parse(code)).splitlines()
    assert set(line) == {"="}
    assert len(line) == len(title)
    assert len(" ".join(text).split()) >= 20
    assert "fetch_" not in code


def test_the_gallery_has_twenty_examples():
    assert len(EXAMPLES) >= 20
