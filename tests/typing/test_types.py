"""What type checkers and editors know of the package is complete and true."""

import inspect
import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import jedi
import numpy as np
import pytest
from numpydoc.docscrape import NumpyDocString

import separatrix
from separatrix.selection.candidates import Comparison

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FILES = [HERE / "ordinary_use.py", HERE / "wrong_use.py"]
# How docstrings name types, and what signatures call these.
NAMED = {
    "float": float,
    "int": int,
    "str": str,
    "list of float": list[float],
    "list of int": list[int],
    "dict of int to float": dict[int, float],
    "int or None": int | None,
    "Comparison": Comparison,
}


def public_objects():
    """Public classes and functions, those of public modules among them."""
    found = [getattr(separatrix, name) for name in separatrix.__all__]
    modules = [one for one in found if inspect.ismodule(one)]
    found += [getattr(module, name) for module in modules for name in module.__all__]
    return [one for one in found if not inspect.ismodule(one)]


CLASSES = [one for one in public_objects() if isinstance(one, type)]
ESTIMATORS = [one for one in CLASSES if hasattr(one, "fit")]


def public_functions():
    """Public functions, and the methods of public classes that are defined in this package."""
    found = []
    for one in public_objects():
        members = inspect.getmembers(one) if isinstance(one, type) else [(one.__name__, one)]
        candidates = [member for name, member in members if not name.startswith("_")]
        for function in candidates:
            function = inspect.unwrap(getattr(function, "__func__", function))
            if inspect.isfunction(function) and function.__module__.startswith("separatrix"):
                found.append(pytest.param(function, id=f"{one.__name__}.{function.__name__}"))
    return found


def marked(path, checker):
    """Numbers of the lines of a file that are marked as wrong, for all or for one checker."""
    lines = path.read_text(encoding="utf-8").splitlines()
    mark = re.compile(rf"# wrong(?: for {checker})?:")
    return [number for number, line in enumerate(lines, start=1) if mark.search(line)]


def pyright_lines():
    """Lines of the files of this folder of which pyright tells an error."""
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson", *FILES],
        capture_output=True,
        text=True,
        cwd=HERE,
    )
    if not done.stdout.startswith("{"):  # it fetches a part of itself where it first runs
        pytest.skip(f"pyright did not start: {done.stderr[-200:]}")
    errors = json.loads(done.stdout)["generalDiagnostics"]
    return [(Path(one["file"]), one["range"]["start"]["line"] + 1) for one in errors]


def mypy_lines():
    """Lines of the files of this folder of which mypy tells an error."""
    options = ["--config-file=", "--check-untyped-defs", "--ignore-missing-imports"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "--no-error-summary", *map(str, FILES)],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    errors = re.findall(r"^(.*?):(\d+): error", done.stdout, re.MULTILINE)
    return [((ROOT / name).resolve(), int(number)) for name, number in errors]


@pytest.mark.parametrize(("checker", "told"), [("pyright", pyright_lines), ("mypy", mypy_lines)])
def test_checkers_tell_mistakes_and_nothing_else(checker, told):
    expected = {(path, line) for path in FILES for line in marked(path, checker)}
    assert set(told()) == expected


def test_ordinary_use_runs(capsys, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    runpy.run_path(str(FILES[0]))["main"]()
    assert separatrix.__version__ in capsys.readouterr().out


def test_the_stubs_are_up_to_date():
    """If this fails, run `make stub`."""
    script = runpy.run_path(str(HERE / "regenerate_stub.py"))
    for path, text in script["stubs"]().items():
        assert path.read_text(encoding="utf-8") == text


def test_editors_complete_public_names():
    """Jedi, without running the code: names of the package, methods, and what a fit gives."""

    def completed(code):
        return {one.name for one in jedi.Script(code, path=HERE / "typed.py").complete()}

    assert set(separatrix.__all__) <= completed("import separatrix\nseparatrix.")
    made = "from separatrix import MaximumVolumeClustering as M\n"
    assert {"fit", "predict", "decision_function", "stability"} <= completed(made + "M(2).")
    assert {"labels_", "response_", "objective_"} <= completed(made + "M(2).fit([[0]]).")


@pytest.mark.parametrize("function", public_functions())
def test_signatures_are_annotated(function):
    signature = inspect.signature(function)
    bare = [
        name
        for name, parameter in signature.parameters.items()
        if parameter.annotation is parameter.empty and name not in ("self", "cls")
    ]
    assert not bare
    assert signature.return_annotation is not signature.empty


def annotated(cls):
    """Annotations of a class and of those of this package that it derives from."""
    ours = [one for one in reversed(cls.__mro__) if one.__module__.startswith("separatrix")]
    return {name: kind for one in ours for name, kind in inspect.get_annotations(one).items()}


def class_of(kind):
    """The class of an annotation; NDArray is an alias of its own from NumPy 2.5 on."""
    kind = getattr(kind, "__origin__", kind)
    kind = getattr(kind, "__value__", kind)
    return getattr(kind, "__origin__", kind)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: one.__name__)
def test_fitted_attributes_are_annotated_as_documented(estimator):
    known = annotated(estimator)
    documented = {e.name: e.type for e in NumpyDocString(inspect.getdoc(estimator))["Attributes"]}
    assert set(documented) <= set(known)
    assert {name for name in known if re.fullmatch(r"[a-zA-Z]\w*_", name)} <= set(documented)
    for name, text in documented.items():
        if re.match(r"(nd)?array (of \w+ )?of shape", text):
            assert class_of(known[name]) is np.ndarray, name
        elif text in NAMED:
            assert known[name] == NAMED[text], name
