"""Run a part of the tests with the oldest versions that pyproject.toml allows.

python tests/packaging/check_minimum.py build/minimum

The environment is made in the named folder, with the interpreter that runs this script: the lowest
version of each dependency of the package and of its extras for users, and the newest tools.
"""

import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# of separatrix[A,B,...], which is what [all] gives users
FOR_USERS = re.findall(r"\w+", PROJECT["optional-dependencies"]["all"][0])[1:]
TESTS = (
    "tests/test_readme.py",
    "tests/test_metrics.py",
    "tests/test_datasets.py",
    "tests/test_onnx.py",
    "tests/common/test_exports.py",
    "tests/criteria/test_separation.py",
    "tests/criteria/test_volume.py",
    "tests/models",
    "tests/data",
    "tests/plots",
    "tests/cli/test_model_files.py",
)
TOOLS = (
    "pandas",
    "pytest",
    "pytest-xdist",
    "hypothesis",
    "numpydoc",
    "array-api-strict",
    "playwright",
)


def lowest(requirement):
    """The requirement of the oldest version that a requirement allows."""
    return re.sub(r">=\s*", "==", requirement)


def requirements():
    """Of the package and its extras for users, each at its oldest."""
    extras = [PROJECT["optional-dependencies"][extra] for extra in FOR_USERS]
    return [lowest(one) for group in [PROJECT["dependencies"], *extras] for one in group]


def main(folder):
    """Make the environment and run the tests in it."""
    venv.create(folder, with_pip=True, clear=True)
    python = Path(folder).resolve() / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    install = [python, "-m", "pip", "install", "--quiet"]
    subprocess.run([*install, *requirements(), *TOOLS], check=True)
    subprocess.run([*install, "--no-deps", "--editable", ROOT], check=True)
    # what old versions use of newer ones may be deprecated
    options = ["-q", "--numprocesses", "auto", "-W", "ignore::DeprecationWarning"]
    tests = [python, "-m", "pytest", *options, *TESTS]
    sys.exit(subprocess.run(tests, cwd=ROOT).returncode)


if __name__ == "__main__":
    main(*sys.argv[1:])
