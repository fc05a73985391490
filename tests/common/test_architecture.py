"""The shape of the house: floors, short inheritance, one verb for drivers, no twins."""

import ast
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import separatrix

ROOT = Path(separatrix.__file__).parent
# From the ground up. A module imports from its own floor or from lower ones.
FLOORS = [
    {"_typing", "_sklearn", "_numba", "_output", "_staging"},
    {"result"},
    {"data"},
    {"similarity"},
    {"labels"},
    {"models"},
    {"solvers"},
    {"metrics", "drift", "stability", "datasets", "validity", "tables", "profiles"},
    {"estimators"},
    {"criteria", "classics", "classifiers"},
    {"selection", "images", "saving", "onnx", "explanations"},
    {"plots"},
    {"report"},
    {"cli", "__main__"},
]
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
METHODS = FLOOR_OF["criteria"]
# Longest run of equal lines that two places may share.
LONGEST_TWIN = 5


def modules():
    """Names of all modules below the package, with their syntax trees."""
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts != ("__init__",):
            yield ".".join(parts).removesuffix(".__init__"), ast.parse(path.read_text())


MODULES = dict(modules())


def imports(tree):
    """Modules of this package that a syntax tree imports, anywhere in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            for alias in node.names:
                full = f"{node.module}.{alias.name}".removeprefix("separatrix.")
                if node.module == "separatrix":
                    yield full
                elif node.module.startswith("separatrix."):
                    yield full if full in MODULES else node.module.removeprefix("separatrix.")
        elif isinstance(node, ast.ImportFrom):
            yield "a relative import"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "separatrix":
                    yield alias.name.removeprefix("separatrix").removeprefix(".")


def test_every_module_is_in_a_room():
    assert {name.split(".")[0] for name in MODULES} == set(FLOOR_OF)


@pytest.mark.parametrize("name", MODULES)
def test_imports_go_down(name):
    floor = FLOOR_OF[name.split(".")[0]]
    for other in imports(MODULES[name]):
        if other == "":  # the registry reaches all methods
            assert floor > METHODS, f"{name} imports the registry"
        else:
            assert FLOOR_OF[other.split(".")[0]] <= floor, f"{name} imports {other}"


@pytest.mark.parametrize(
    "name", [name for name in MODULES if FLOOR_OF[name.split(".")[0]] == METHODS]
)
def test_methods_never_import_each_other(name):
    others = [o for o in imports(MODULES[name]) if FLOOR_OF[o.split(".")[0]] == METHODS]
    assert not others


def public_classes():
    found = [getattr(separatrix, name) for name in separatrix.__all__]
    return [one for one in found if isinstance(one, type)]


def ancestors(cls):
    return [one for one in cls.__mro__ if one.__module__.startswith("separatrix")]


@pytest.mark.parametrize("cls", public_classes(), ids=lambda cls: cls.__name__)
def test_inheritance_is_short(cls):
    assert len(ancestors(cls)) <= 4


@pytest.mark.parametrize("cls", public_classes(), ids=lambda cls: cls.__name__)
def test_constraints_are_those_of_the_signature(cls):
    assert set(cls._parameter_constraints) == set(inspect.signature(cls).parameters)


@pytest.mark.parametrize("cls", public_classes(), ids=lambda cls: cls.__name__)
def test_no_class_attribute_stands_in_for_a_parameter(cls):
    known = {name for other in public_classes() for name in inspect.signature(other).parameters}
    own = {name for one in ancestors(cls) for name in vars(one)}
    assert not own & known


def drivers():
    """Functions called `solve_...`, by module."""
    for name, tree in MODULES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("solve_"):
                yield f"{name}.{node.name}", node


@pytest.mark.parametrize("driver", [pytest.param(node, id=name) for name, node in drivers()])
def test_drivers_return_a_result(driver):
    """What is called `solve_...` returns a SolverResult; other solvers have other verbs."""
    assert "SolverResult" in ast.unparse(driver)


def code_lines(path):
    """Lines of code with their numbers: no docstrings, comments, imports or declarations.

    Constructors repeat their parameters because scikit-learn asks for it, and signatures and
    annotations repeat names and types of what means the same.
    """
    text = path.read_text()
    lines = [line.split("  # ")[0].strip() for line in text.splitlines()]
    skipped = set()
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            skipped.update(range(first.lineno, first.end_lineno + 1))
        if isinstance(node, ast.Import | ast.ImportFrom) or (
            isinstance(node, ast.FunctionDef) and node.name == "__init__"
        ):
            skipped.update(range(node.lineno, node.end_lineno + 1))
        if isinstance(node, ast.FunctionDef):
            begin = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            skipped.update(range(begin, first.lineno))
        if isinstance(node, ast.AnnAssign) and node.value is None:
            skipped.update(range(node.lineno, node.end_lineno + 1))
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            skipped.update(range(node.lineno, node.end_lineno + 1))
    return [
        (number, line)
        for number, line in enumerate(lines, start=1)
        if line and not line.startswith("#") and number not in skipped
    ]


def test_nothing_is_written_twice():
    """No six lines of code in a row stand twice, brackets alone on a line not counted."""
    seen = {}
    twins = []
    for path in sorted(ROOT.rglob("*.py")):
        lines = [
            (n, line) for n, line in code_lines(path) if not re.fullmatch(r"[\])},(\[{]+", line)
        ]
        for start in range(len(lines) - LONGEST_TWIN):
            run = tuple(line for _, line in lines[start : start + LONGEST_TWIN + 1])
            place = f"{path.relative_to(ROOT)}:{lines[start][0]}"
            if run in seen:
                twins.append(f"{seen[run]} ~ {place}")
            seen.setdefault(run, place)
    assert not twins


def test_every_module_can_be_imported():
    for found in pkgutil.walk_packages([str(ROOT)], "separatrix."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
