"""Small synthetic sets in the files that the benchmarks read, and their scripts as modules."""

import importlib.util
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks"
PER_CLASS = 14
DIGITS = [str(digit) for digit in range(10)]
TWO = ["a", "b"]
# Classes and features of each set.
SETS = {
    "letter": ("ABCDEFGH", 16),
    "satimage": (["1", "2", "3", "4", "5", "7"], 12),
    "mnist": (DIGITS, 25),
    "usps": (DIGITS, 25),
    "optdigits": (DIGITS, 25),
    "coil20": ([str(number) for number in range(1, 21)], 20),
    "isolet_1_5": ([str(number) for number in range(1, 27)], 12),
    "iris": (["x", "y", "z"], 4),
    "vehicle": (["bus", "saab"], 8),
    "haberman": (TWO, 3),
    "thyroid_new": (["1", "2", "3"], 5),
}
TABLES = """a9a australian breast_cancer breast_wisconsin colic credit_a credit_g diabetes
    echocardiogram german_ida german_onehot heart_c heart_h heart_statlog hepatitis house_votes
    image_ida ionosphere ringnorm spambase svmguide1 svmguide3 titanic twonorm"""
SHAPES = """fcps-atom fcps-lsun fcps-tetra fcps-wingnut graves-dense graves-line graves-ring
    other-iris5 sipu-flame sipu-pathbased sipu-s1 uci-ecoli uci-sonar uci-statlog wut-mk2 wut-mk4
    wut-twosplashes wut-x1"""
GROUPS = ["alt.atheism", "comp.graphics", "soc.religion", "talk.politics"]


def drawn(classes, n_features, rng, per_class=PER_CLASS):
    """Round clusters in random order, none of them negative."""
    y = rng.permutation(np.repeat(np.arange(len(classes)), per_class))
    centers = rng.uniform(0, 6, size=(len(classes), n_features))
    return np.abs(centers[y] + rng.normal(size=(len(y), n_features))), y


def write_sets(folder):
    rng = np.random.default_rng(0)
    sets = SETS | dict.fromkeys(TABLES.split(), (TWO, 24))
    sets |= {f"clustering_v1/{name}": (["noise", *TWO], 2) for name in SHAPES.split()}
    (folder / "clustering_v1").mkdir()
    for name, (classes, n_features) in sets.items():
        X, y = drawn(classes, n_features, rng, 3 * PER_CLASS if n_features == 24 else PER_CLASS)
        more = {
            "M": np.zeros(X.shape, dtype=bool),
            "alive1": np.where(np.arange(len(y)) % 9, y, -1),
            "split": np.arange(len(y)) % 2,
        }
        np.savez(folder / f"{name}.npz", X=X, y=y, classes=np.array(list(classes)), **more)
    y = rng.permutation(np.repeat(np.arange(len(GROUPS)), 30))
    words = csr_matrix(rng.poisson(0.2 + 2 * (np.arange(40) % len(GROUPS) == y[:, None])))
    parts = {part: getattr(words, part) for part in ("data", "indices", "indptr", "shape")}
    np.savez(folder / "newsgroups20_tf.npz", y=y, classes=np.array(GROUPS), **parts)


@pytest.fixture(scope="session")
def synthetic_sets(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sets")
    write_sets(folder)
    return folder


@pytest.fixture
def benchmarks(monkeypatch, synthetic_sets):
    """Set up what scripts find: data, each other, and no warnings as errors; undo it after."""
    monkeypatch.setenv("SEPARATRIX_DATA", str(synthetic_sets))
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])
    before = set(sys.modules)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    for name in set(sys.modules) - before:
        file = getattr(sys.modules[name], "__file__", None)
        if file and BENCHMARKS in Path(file).parents:
            del sys.modules[name]


@pytest.fixture
def script(benchmarks):
    """A function that loads a script of benchmarks as a module."""

    def load(path):
        sys.path.insert(0, str((BENCHMARKS / path).parent))
        name = Path(path).stem
        spec = importlib.util.spec_from_file_location(name, BENCHMARKS / path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # so that processes that joblib starts find its functions
        spec.loader.exec_module(module)
        return module

    return load
