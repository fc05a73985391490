"""README and docs: their code and commands run, and their links and images lead somewhere."""

import re
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from sklearn.datasets import load_iris

from separatrix.cli import main

ROOT = Path(__file__).parents[2]
GENERATED = ("api", "auto_examples")
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + [
    page
    for page in sorted((ROOT / "docs").rglob("*.md"))
    if page.relative_to(ROOT / "docs").parts[0] not in GENERATED
]
CODE = r"^```python\n(.*?)^```"
# A command stands on a line of its own, with or without a prompt, and may go on on the next.
COMMAND = r"^    (?:\$ )?((?:cat [^\n]*\| *)?separatrix (?!\w*:)(?:[^\n\\]|\\\n)*)$"


def texts(pattern, pages=PAGES):
    """Pages that have what a pattern finds, with all that it finds there."""
    flags = re.MULTILINE | re.DOTALL
    found = {page: re.findall(pattern, page.read_text(encoding="utf-8"), flags) for page in pages}
    return [
        pytest.param(page, pieces, id=str(page.relative_to(ROOT)))
        for page, pieces in found.items()
        if pieces
    ]


@pytest.fixture(scope="module")
def customers(tmp_path_factory):
    """Folder of the tables and models that the pages speak of."""
    folder = tmp_path_factory.mktemp("customers")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        succeed("separatrix demo --to .")
        succeed("separatrix cluster customers.csv -k 2 -m separation --model linear.skops")
        # the penguins are not at hand; flowers have species too
        flowers = load_iris(as_frame=True).frame.rename(columns={"target": "species"})
        for name in ("penguins.csv", "penguins_raw.csv"):
            flowers.to_csv(name, index=False)
    return folder


def succeed(command):
    """Run a command of the command line, in this process if it is no pipe."""
    if "|" in command:
        command = command.replace("separatrix", f"{shlex.quote(sys.executable)} -m separatrix")
        subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], check=True)
        return
    with pytest.raises(SystemExit) as ended:
        main(shlex.split(command.replace("\\\n", " "))[1:])
    assert ended.value.code == 0, command


# CONTRIBUTING.md shows parts of files, which tests/common/test_extending.py runs.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("page", "blocks"), texts(CODE, [page for page in PAGES if page.name != "CONTRIBUTING.md"])
)
def test_code_runs(page, blocks, customers, monkeypatch):
    monkeypatch.chdir(customers)
    names = {"__name__": "__main__"}
    for block in blocks:
        if "mlflow" in block and find_spec("mlflow") is None:  # a large package, not installed
            continue
        exec(compile(block, page.name, "exec"), names)


@pytest.mark.parametrize(("page", "commands"), texts(COMMAND))
def test_commands_run(page, commands, customers, monkeypatch):
    monkeypatch.chdir(customers)
    for command in commands:
        succeed(command)


def anchors(page):
    """Anchors of the headings of a page, as the site and hosts of repositories make them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}


@pytest.mark.parametrize(("page", "targets"), texts(r"\]\(((?!https?://|mailto:)[^)\s]+)\)"))
def test_links_and_images_lead_to_files_of_the_repository(page, targets):
    for target in targets:
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.is_file(), f"{page.name} links to {target}"
        assert not ignored(file), f"{page.name} links to {target}, which git ignores"
        if anchor and file.suffix == ".md":
            assert anchor in anchors(file), f"{page.name} links to {target}"


def ignored(file):
    """Whether git ignores a file, so that no clone has it; False where there is no git."""
    try:
        done = subprocess.run(["git", "check-ignore", "-q", str(file)], cwd=ROOT)
    except FileNotFoundError:
        return False
    return done.returncode == 0
