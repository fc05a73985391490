"""Docstrings of all public names follow numpydoc; pyproject.toml says what is asked of them."""

import inspect
import tomllib
from dataclasses import is_dataclass
from pathlib import Path

import pytest
from numpydoc.validate import ERROR_MSGS, validate

import separatrix

ROOT = Path(__file__).parents[2]
LISTED = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
    "numpydoc_validation"
]["checks"]
# numpydoc's own reading of the list: "all", and what is left out of all
CHECKS = set(ERROR_MSGS) - set(LISTED)


def public_objects():
    """What the package and its modules export."""
    for home in (separatrix, *(getattr(separatrix, name) for name in separatrix._MODULES)):
        exported = [getattr(home, name) for name in home.__all__]
        yield from (found for found in exported if not inspect.ismodule(found))


def documented():
    """Paths of the same and of the methods of classes that this library defines."""
    for found in public_objects():
        path = f"{found.__module__}.{found.__qualname__}"
        yield path
        if inspect.isclass(found):
            for name, member in inspect.getmembers(found, callable):
                home = getattr(member, "__module__", None) or ""
                if not name.startswith("_") and home.startswith("separatrix"):
                    yield f"{path}.{name}"


# Results and errors, which users are handed and never make: their attributes are documented.
HANDED_OUT = {
    f"{found.__module__}.{found.__qualname__}"
    for found in public_objects()
    if inspect.isclass(found) and (is_dataclass(found) or issubclass(found, Exception))
}


def test_the_list_names_checks_that_exist():
    assert "all" in LISTED
    assert set(LISTED) - {"all"} <= set(ERROR_MSGS)


@pytest.mark.parametrize("path", sorted(set(documented())))
def test_docstrings_follow_numpydoc(path):
    checks = CHECKS - {"PR01"} if path in HANDED_OUT else CHECKS
    assert [error for error in validate(path)["errors"] if error[0] in checks] == []
