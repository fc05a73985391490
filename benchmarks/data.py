"""Data sets of the benchmarks, one .npz file each (README.md says where they come from)."""

import os
from functools import cache
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

REPOSITORY = Path(__file__).resolve().parents[1]


def found_folder():
    """Folder of the data sets; None where there is none."""
    named = os.environ.get("SEPARATRIX_DATA")
    if named:
        if not Path(named).is_dir():
            raise SystemExit(f"SEPARATRIX_DATA names {named}, which is not a folder.")
        return Path(named)
    usual = [REPOSITORY.parent / "shared" / "data", REPOSITORY / "benchmarks" / "data"]
    return next((candidate for candidate in usual if candidate.is_dir()), None)


def folder():
    """Folder of the data sets; ends the script, without an error, where there is none."""
    found = found_folder()
    if found is None:
        print("skipped: no data sets found; put them in benchmarks/data or set SEPARATRIX_DATA.")
        raise SystemExit(0)
    return found


def _read(name):
    """Samples as they are stored, labels from 0 and the names of the classes."""
    return _read_file(folder() / f"{name}.npz")


@cache
def _read_file(path):
    with np.load(path, allow_pickle=False) as file:
        if "X" in file:
            X = file["X"]
        else:
            X = csr_matrix(
                (file["data"], file["indices"], file["indptr"]), shape=tuple(file["shape"])
            )
        y = file["y"]
        classes = file["classes"] if "classes" in file else np.unique(y)
    return X, y, [str(label) for label in classes]


def load(name):
    """Samples (float64; some sets are sparse), labels and class names of a data set."""
    X, y, classes = _read(name)
    return X.astype(np.float64), y.copy(), list(classes)


def pair(name, a, b):
    """Samples of the classes named `a` and `b` alone, labelled 0 and 1."""
    X, y, classes = _read(name)
    first, second = classes.index(str(a)), classes.index(str(b))
    chosen = (y == first) | (y == second)
    return X[chosen].astype(np.float64), (y[chosen] == second).astype(int)


def without_constant_features(X):
    """The features that take more than one value."""
    return X[:, X.max(axis=0) > X.min(axis=0)]


def to_unit_range(X):
    """Each feature stretched to [-1, 1]; constant features are dropped."""
    X = without_constant_features(X)
    low, high = X.min(axis=0), X.max(axis=0)
    return 2 * (X - low) / (high - low) - 1
