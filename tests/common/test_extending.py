"""The worked example of CONTRIBUTING is a method like all others, in one file and one line."""

import ast
import importlib.util
import inspect
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import separatrix
from separatrix.models.starts import SampledProblem, random_start
from separatrix.result import Progress
from support import Recorder

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "extending" / "spherical_kmeans.py"
HOME, NAME = "classics.spherical_kmeans", "SphericalKMeans"


def load():
    """The example as if it lay where the registry line says, or as it lies there."""
    if importlib.util.find_spec(f"separatrix.{HOME}"):
        return importlib.import_module(f"separatrix.{HOME}")
    spec = importlib.util.spec_from_file_location(f"separatrix.{HOME}", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


MODULE = load()
ESTIMATOR = getattr(MODULE, NAME)


def registry_line():
    """The registry line that CONTRIBUTING asks for."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    return re.search(rf'^    "{NAME}": _Public\((.*)\),$', text, re.MULTILINE).group(1)


def test_the_page_shows_the_file():
    page = (ROOT / "CONTRIBUTING.md").read_text()
    assert f"```python\n{EXAMPLE.read_text()}```" in page


def test_it_has_at_most_sixty_lines_of_code():
    text = EXAMPLE.read_text()
    words = set()
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            words.update(range(first.lineno, first.end_lineno + 1))
    lines = enumerate(text.splitlines(), start=1)
    code = [line for n, line in lines if n not in words and line.strip().partition("#")[0]]
    assert len(code) <= 60


def test_one_line_registers_it(monkeypatch):
    assert len(f'    "{NAME}": _Public({registry_line()}),') <= 99  # as ruff asks
    home, short_name = ast.literal_eval(f"({registry_line()})")
    assert home == HOME
    monkeypatch.setitem(separatrix._REGISTRY, NAME, separatrix._Public(home, short_name))
    assert getattr(separatrix, NAME) is ESTIMATOR
    from separatrix.cli.methods import make_estimator, methods

    assert methods()[short_name] is ESTIMATOR
    assert make_estimator(short_name, 3, ["tol=0.5"], 0).get_params()["tol"] == 0.5


@pytest.mark.filterwarnings("default")
@parametrize_with_checks([ESTIMATOR()])
def test_sklearn_check(estimator, check):
    check(estimator)


def test_constraints_are_those_of_the_signature():
    assert set(ESTIMATOR._parameter_constraints) == set(inspect.signature(ESTIMATOR).parameters)


def directions(n_clusters=4, n_samples=200):
    """Samples of all lengths around directions at right angles, and which is whose."""
    rng = np.random.RandomState(0)
    y = np.arange(n_samples) % n_clusters
    X = np.eye(5)[y] + 0.1 * rng.normal(size=(n_samples, 5))
    return X * rng.uniform(0.1, 10, size=(n_samples, 1)), y


@pytest.mark.parametrize("n_clusters", [1, 2, 4])
def test_it_predicts(n_clusters):
    X, y = directions(n_clusters)
    model = ESTIMATOR(n_clusters).fit(X)
    assert adjusted_rand_score(model.labels_, y) == 1
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(clone(model).fit(X).labels_, model.labels_)


def lloyd_on_the_sphere(U, labels):
    """The same in plain loops, to the end: labels and mean cosine."""
    n_clusters = labels.max() + 1
    while True:
        sums = np.array([U[labels == c].sum(axis=0) for c in range(n_clusters)])
        cosines = U @ (sums / np.linalg.norm(sums, axis=1, keepdims=True)).T
        before, labels = labels, cosines.argmax(axis=1)
        if (labels == before).all():
            return labels, cosines.max(axis=1).mean()


def test_the_objective_is_the_mean_cosine_and_never_falls():
    X, _ = load_digits(return_X_y=True)
    model = ESTIMATOR(10, tol=0).fit(X)
    assert (np.diff(model.history_) >= 0).all()
    U = X / np.linalg.norm(X, axis=1, keepdims=True)
    np.testing.assert_allclose(np.linalg.norm(model.coef_, axis=1), 1)
    own = np.sum(U * model.coef_[model.labels_], axis=1)
    assert model.objective_ == pytest.approx(own.mean())
    # lengths have no part
    lengths = np.random.RandomState(0).uniform(0.1, 10, size=(len(X), 1))
    np.testing.assert_array_equal(clone(model).fit(lengths * X).labels_, model.labels_)


@pytest.mark.parametrize("n_clusters", [2, 3, 10])
def test_it_is_k_means_of_directions(n_clusters):
    """From one start it ends where plain loops end."""
    X, _ = load_digits(return_X_y=True)
    X = X[:600]
    U = X / np.linalg.norm(X, axis=1, keepdims=True)
    problem = SampledProblem(X=X, sample_weight=None, rows=U, row_weight=None)
    start = random_start(U, n_clusters, np.random.RandomState(0))
    found = MODULE.solve_spherical_kmeans(problem, start, max_iter=100, tol=0, progress=Progress())
    labels, cosine = lloyd_on_the_sphere(U, start.labels(U))
    assert len(found.history) > 3
    assert (np.diff(found.history) >= 0).all()
    assert found.objective == pytest.approx(cosine)
    np.testing.assert_array_equal(found.labels, labels)


def test_other_kinds_of_arrays_get_the_same_clusters():
    dask = pytest.importorskip("dask.array")
    X, _ = directions()
    labels = ESTIMATOR(4).fit(X).labels_
    np.testing.assert_array_equal(ESTIMATOR(4).fit(sp.csr_array(X)).labels_, labels)
    blocks = dask.from_array(X, chunks=(60, 5))
    model = ESTIMATOR(4).fit(blocks)
    np.testing.assert_array_equal(model.labels_, labels)
    np.testing.assert_array_equal(model.predict(blocks).compute(), labels)


def test_callbacks_see_every_update_and_can_stop_it():
    X = np.random.RandomState(0).normal(size=(300, 5))
    recorder = Recorder()
    model = ESTIMATOR(10).set_callbacks(recorder).fit(X)
    seen = recorder.of("iteration")
    assert len(seen) == model.n_iter_ > 1
    np.testing.assert_array_equal(
        np.sort(np.bincount(seen[-1][1])), np.sort(np.bincount(model.labels_))
    )
    stopped = ESTIMATOR(10).set_callbacks(Recorder(stop_at=[("iteration", 0)])).fit(X)
    assert stopped.n_iter_ == 1
