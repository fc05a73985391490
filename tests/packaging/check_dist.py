"""What users find who install the wheel, and testers who unpack the sdist.

    python tests/packaging/check_dist.py dist

The wheel is installed in an empty environment, where README's example must print what README says
and its command must write its files. The tests of the sdist run in the environment of this script,
on the sources of the sdist and away from the repository.
"""

import os
import re
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Files beside the code without which something fails only for those who install a wheel.
NEEDED = ("py.typed", "__init__.pyi", "cli/data/customers.csv", "report/page.html")
# A part of the tests that reads files from everywhere in the sdist.
SDIST_TESTS = (
    "tests/test_readme.py",
    "tests/test_metrics.py",
    "tests/benchmarks/test_papers.py",
    "tests/common/test_compared_page.py",
    "tests/common/test_extending.py",
    "tests/common/test_figures.py",
    "tests/common/test_parameters_page.py",
    "tests/cli/test_model_files.py",
    "tests/packaging",
)


def run(*command, cwd, **environment):
    """What a command prints; its failure ends this program."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**clean, **environment},
        stdout=subprocess.PIPE,
        text=True,
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}")
    return done.stdout


def check_wheel(wheel, folder):
    """Install a wheel in an empty environment, and do there what README shows."""
    inside = zipfile.ZipFile(wheel).namelist()
    missing = [name for name in NEEDED if f"separatrix/{name}" not in inside]
    if missing:
        sys.exit(f"{wheel.name} lacks {', '.join(missing)}")
    venv.create(folder / "empty", with_pip=True)
    bin_ = folder / "empty" / ("Scripts" if os.name == "nt" else "bin")
    run(bin_ / "python", "-m", "pip", "install", "--quiet", wheel, cwd=folder)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    example, expected = re.search(
        r"```python\n(.*?)```.*?```text\n(.*?)```", readme, re.S
    ).groups()
    printed = run(bin_ / "python", "-c", example, cwd=folder)
    if printed != expected:
        sys.exit(f"README's example printed\n{printed}\nwhere README has\n{expected}")
    run(bin_ / "python", "-m", "pip", "install", "--quiet", f"{wheel}[cli]", cwd=folder)
    run(bin_ / "separatrix", "demo", "--to", "demo", cwd=folder)
    (command,) = re.findall(r"^    (separatrix cluster .*)$", readme, re.MULTILINE)
    words = command.split()
    run(bin_ / words[0], *words[1:], cwd=folder / "demo")
    for option in ("--out", "--report", "--model"):
        if not (folder / "demo" / words[words.index(option) + 1]).stat().st_size:
            sys.exit(f"{command} wrote an empty file")
    print(f"{wheel.name}: README's example and command work in an empty environment")


def check_sdist(sdist, folder):
    """Run a part of the tests of an sdist."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (unpacked,) = folder.glob("separatrix-*")
    tests = [sys.executable, "-m", "pytest", "-q", "-x", *SDIST_TESTS]
    printed = run(*tests, cwd=unpacked, PYTHONPATH=str(unpacked / "src"))
    print(f"{sdist.name}: {printed.splitlines()[-1]}")


def main(folder):
    """Check the wheel and the sdist in a folder."""
    (wheel,), (sdist,) = Path(folder).glob("*.whl"), Path(folder).glob("*.tar.gz")
    with (
        tempfile.TemporaryDirectory() as one,
        tempfile.TemporaryDirectory() as other,
        ThreadPoolExecutor(2) as pool,
    ):
        checks = [
            pool.submit(check_wheel, wheel.resolve(), Path(one)),
            pool.submit(check_sdist, sdist.resolve(), Path(other)),
        ]
        for check in checks:
            check.result()  # raises what ended it


if __name__ == "__main__":
    main(*sys.argv[1:])
