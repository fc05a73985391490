"""The package as the index and other programs see it: version, extras, addresses, citation."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import separatrix

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]
FOR_USERS = ("plot", "cli", "dask", "onnx")


def test_version_is_that_of_the_installed_package():
    assert separatrix.__version__ == version("separatrix")
    assert "__version__" in dir(separatrix)


def test_import_does_not_read_metadata():
    """The version is looked up when it is asked for, which is seldom."""
    program = "import sys, separatrix; assert 'importlib.metadata' not in sys.modules"
    subprocess.run([sys.executable, "-S", "-c", program], check=True, cwd=ROOT / "src")


def test_all_is_for_users_and_dev_for_developers():
    assert EXTRAS["all"] == [f"separatrix[{','.join(FOR_USERS)}]"]
    assert set(EXTRAS) == {*FOR_USERS, "all", "test", "docs", "dev"}


def test_classifiers_name_pythons_that_ci_tests():
    """It may test one more, which is named when the tests have run there."""
    prefix = "Programming Language :: Python :: 3."
    named = [one.removeprefix(prefix) for one in PROJECT["classifiers"] if prefix in one]
    assert PROJECT["requires-python"] == f">=3.{named[0]}"
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    tested = re.search(r"python: \[(.*)\]", workflow)[1]
    assert re.findall(r"3\.(\d+)", tested)[: len(named)] == named


def test_links_and_images_show_on_the_package_index():
    """Those of the repository become absolute, and lead to files that it has."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    rules = PYPROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]
    for rule in rules:
        readme = re.sub(rule["pattern"], rule["replacement"], readme)
    repository = PROJECT["urls"]["Repository"]
    raw = repository.replace("github.com", "raw.githubusercontent.com")
    targets = re.findall(r"(!?)\[[^\]]*\]\(([^)]+)\)", readme)
    assert {mark for mark, _ in targets} == {"", "!"}
    for mark, target in targets:
        home = f"{raw}/main/" if mark else f"{repository}/blob/main/"
        if target.startswith(home):
            assert (ROOT / target.removeprefix(home).split("#")[0]).is_file()
        else:
            assert re.match("https?://", target)
            assert not target.startswith((raw, repository))


def test_estimators_link_to_their_pages():
    """From scikit-learn's diagrams, to where docs/conf.py puts the page of each."""
    site = PROJECT["urls"]["Documentation"]
    for name, entry in separatrix._REGISTRY.items():
        if entry.home.startswith(("criteria", "classics", "classifiers", "selection.auto")):
            link = f"{site}api/separatrix.{name}.html"
            assert link in getattr(separatrix, name)()._repr_html_()


def test_the_first_page_leads_to_the_repository():
    page = (ROOT / "docs" / "start.md").read_text(encoding="utf-8")
    assert f"]({PROJECT['urls']['Repository']})" in page


def test_citation_agrees_with_the_package():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"license: {PROJECT['license']}\n" in citation
    assert f"repository-code: {PROJECT['urls']['Repository']}\n" in citation
    assert f"url: {PROJECT['urls']['Documentation']}\n" in citation
    assert not re.search(r"^version:", citation, re.MULTILINE), "git tags tell the version"
