"""Fits in other processes and threads, and where nothing can be written."""

import errno
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numba.core import caching
from sklearn.base import ClusterMixin

import separatrix
from separatrix._numba import in_threads
from support import few_rounds, groups

CLUSTERERS = [
    found
    for name in separatrix._REGISTRY
    if isinstance(found := getattr(separatrix, name), type) and issubclass(found, ClusterMixin)
]


def run_script(path, source, timeout=120, **environment):
    """What a script writes; it and all that it starts are ended when the time is over."""
    path.write_text(source)
    command, streams = [sys.executable, str(path)], {"stdout": subprocess.PIPE, "text": True}
    streams |= {"stderr": subprocess.STDOUT, "env": os.environ | environment}
    with subprocess.Popen(command, start_new_session=True, **streams) as process:
        try:
            said, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            pytest.fail(f"no end after {timeout} s: {process.communicate()[0]}")
    assert process.returncode == 0, said
    return said


# --- nowhere to write ---------------------------------------------------------------------------

READ_ONLY = """
import numpy as np
import separatrix
from separatrix.solvers import mirror_descent

X = np.r_[np.zeros((9, 2)), np.ones((9, 2))] + np.arange(36).reshape(18, 2) / 100
labels = separatrix.LabelGenerationMarginClustering(2).fit(X).labels_
assert len(set(labels[:9])) == len(set(labels[9:])) == 1
print(separatrix.__file__)
"""


def test_a_read_only_installation_without_a_home(tmp_path):
    copy = tmp_path / "installed" / "separatrix"
    shutil.copytree(
        Path(separatrix.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__")
    )
    for folder in [copy, *(path for path in copy.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").touch()  # no folder, so that not even root can write into it
    nowhere = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR"), "/proc/nowhere")
    nowhere["PYTHONPATH"] = str(copy.parent)
    said = run_script(tmp_path / "script.py", READ_ONLY, **nowhere)
    assert said.strip() == str(copy / "__init__.py")


KERNEL = """
from separatrix._numba import njit

@njit
def doubled(number):
    return 2 * number
"""


def kernel_in(path):
    """A compiled function whose file is this one, loaded anew."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.doubled


@pytest.fixture
def cache(tmp_path):
    """Where compiled code is kept.

    The environment says so: a compilation reads all settings from it again if any has changed.
    """
    folder = tmp_path / "cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMBA_CACHE_DIR", str(folder))
        caching.config.reload_config()
        yield folder
    caching.config.reload_config()


def test_compiled_code_is_kept_and_damage_to_it_does_not_matter(tmp_path, cache, monkeypatch):
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL)
    monkeypatch.setenv("NUMBA_DISABLE_PERFORMANCE_WARNINGS", "1")  # a setting of someone else
    assert kernel_in(path)(3) == 6
    again = kernel_in(path)
    assert again(3) == 6
    assert sum(again.stats.cache_hits.values()) == 1
    kept = list(cache.rglob("*.nb?"))
    assert kept
    for file in kept:
        file.write_bytes(file.read_bytes()[:9])
    assert kernel_in(path)(3) == 6


def test_a_full_disk_does_not_stop_compiled_code(tmp_path, monkeypatch):
    def full(self, key, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(caching.IndexDataCacheFile, "save", full)
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL)
    assert kernel_in(path)(3) == 6


# --- processes ----------------------------------------------------------------------------------

POOL = """
import multiprocessing

import numpy as np
from separatrix import LDAKMeans
from separatrix.similarity.forest import ApproximateSearch

X = np.random.default_rng(0).normal(size=(1100, 8)) + 4 * (np.arange(1100) % 2)[:, None]


def work(_):
    return [*LDAKMeans(2).fit(X).labels_, *ApproximateSearch(X).others(5).ravel()]


if __name__ == "__main__":
    for method in {"fork", "spawn", "forkserver"} & set(multiprocessing.get_all_start_methods()):
        expected = work(0)
        print(method, flush=True)
        with multiprocessing.get_context(method).Pool(1) as pool:
            assert pool.map(work, [0]) == [expected]
"""


def test_processes_that_a_fit_has_preceded(tmp_path):
    """However they are started: fork, spawn or forkserver."""
    run_script(tmp_path / "script.py", POOL, OMP_NUM_THREADS="2", NUMBA_NUM_THREADS="2")


# --- threads ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("few_tables")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", CLUSTERERS, ids=lambda one: one.__name__)
def test_fits_in_eight_threads_equal_those_in_one(estimator):
    def fitted(seed):
        model = estimator(2, random_state=seed, **few_rounds(estimator))
        model.fit(groups(seed, n=20))
        return model.labels_.tolist(), getattr(model, "objective_", None)

    expected = [fitted(0), fitted(1)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(fitted, [0, 1] * 4)) == expected * 4


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("n_rows", [0, 1, 5, 100])
def test_threads_share_all_rows(n_threads, n_rows):
    seen = np.zeros(n_rows, dtype=int)

    def count(start, stop):
        seen[start:stop] += 1

    in_threads(count, n_rows, n_threads)
    assert (seen == 1).all()


def test_what_a_thread_raises_is_raised():
    def fail(start, stop):
        if stop > 50:
            raise ValueError("a part")

    with pytest.raises(ValueError, match="a part"):
        in_threads(fail, 100, 2)
