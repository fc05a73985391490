"""What displays load, and what presentation may read: no methods, and public attributes only."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import separatrix

ROOT = Path(separatrix.__file__).parent
PRESENTATION = [
    path for folder in ("plots", "report", "cli") for path in sorted((ROOT / folder).rglob("*.py"))
]
# Of the package itself, and of scikit-learn's search trees, which model files do not hold.
ALLOWED = {"_REGISTRY", "_PARTS", "_short_name"}
ALLOWED_IN = {"cli/models.py": {"_tree", "_fit_X"}}


def test_importing_displays_loads_neither_methods_nor_matplotlib():
    program = "import sys; from separatrix.plots import *; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    loaded = done.stdout.split()
    assert "separatrix.plots.weights" in loaded
    rooms = {name.split(".")[1] for name in loaded if name.startswith("separatrix.")}
    assert not rooms & {"criteria", "classics", "classifiers", "estimators", "selection"}
    assert "matplotlib" not in loaded


def private_names(tree):
    """Names with a leading underscore that are read of anything but `self` or `cls`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            owner, name = node.value, node.attr
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("getattr", "hasattr"):
            owner, name = node.args[0], getattr(node.args[1], "value", "")
        else:
            continue
        is_own = isinstance(owner, ast.Name) and owner.id in ("self", "cls")
        if str(name).startswith("_") and not str(name).startswith("__") and not is_own:
            yield name


@pytest.mark.parametrize("path", PRESENTATION, ids=lambda path: str(path.relative_to(ROOT)))
def test_presentation_reads_public_attributes_only(path):
    allowed = ALLOWED | ALLOWED_IN.get(path.relative_to(ROOT).as_posix(), set())
    assert set(private_names(ast.parse(path.read_text(encoding="utf-8")))) <= allowed
