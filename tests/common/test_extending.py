"""The worked example of CONTRIBUTING is a criterion like all others, in one file and one line."""

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
from sklearn.datasets import load_digits, make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import separatrix
from support import Recorder

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "extending" / "information.py"
HOME, NAME = "criteria.information", "InformationMaximizationClustering"


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
    assert make_estimator(short_name, 3, ["reg=0.5"], 0).get_params()["reg"] == 0.5


@pytest.mark.filterwarnings("default")
@parametrize_with_checks([ESTIMATOR()])
def test_sklearn_check(estimator, check):
    check(estimator)


def test_constraints_are_those_of_the_signature():
    assert set(ESTIMATOR._parameter_constraints) == set(inspect.signature(ESTIMATOR).parameters)


@pytest.mark.parametrize("n_clusters", [1, 2, 4])
def test_it_predicts(n_clusters):
    X, y = make_blobs(200, centers=n_clusters, cluster_std=0.5, random_state=0)
    model = ESTIMATOR(n_clusters).fit(X)
    assert adjusted_rand_score(model.labels_, y) == 1
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(clone(model).fit(X).labels_, model.labels_)


def test_the_objective_never_falls_and_its_gradient_is_right():
    X, y = load_digits(return_X_y=True)
    model = ESTIMATOR(10).fit(X[:600])
    assert (np.diff(model.history_) >= 0).all()
    assert adjusted_rand_score(model.labels_, y[:600]) > 0.5
    # at the optimum no small change of the weights helps
    scores = model.decision_function(X[:600])
    best = information(scores) - penalty(model, X[:600])
    rng = np.random.RandomState(0)
    for _ in range(5):
        other = clone(model).fit(X[:600])
        other.coef_ = model.coef_ + 1e-3 * rng.normal(size=model.coef_.shape)
        changed = X[:600] @ other.coef_.T + model.intercept_
        changed += (scores - changed).mean(axis=0)
        assert information(changed) - penalty(other, X[:600]) <= best + 1e-6


def information(scores):
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    mean = p.mean(axis=0)
    return np.mean(np.sum(p * np.log(p / mean), axis=1))


def penalty(model, X):
    return 0.5 * model.reg * X.var(axis=0).mean() * np.sum(model.coef_**2)


def test_other_kinds_of_arrays_get_the_same_clusters():
    dask = pytest.importorskip("dask.array")
    X, _ = make_blobs(200, centers=4, cluster_std=0.5, random_state=0)
    labels = ESTIMATOR(4).fit(X).labels_
    np.testing.assert_array_equal(ESTIMATOR(4).fit(sp.csr_array(X)).labels_, labels)
    blocks = dask.from_array(X, chunks=(60, 2))
    model = ESTIMATOR(4).fit(blocks)
    np.testing.assert_array_equal(model.labels_, labels)
    np.testing.assert_array_equal(model.predict(blocks).compute(), labels)


def test_callbacks_see_every_update_and_can_stop_it():
    X, _ = load_digits(return_X_y=True)
    recorder = Recorder()
    model = ESTIMATOR(10).set_callbacks(recorder).fit(X[:300])
    seen = recorder.of("iteration")
    assert len(seen) == model.n_iter_ > 1
    np.testing.assert_array_equal(
        np.sort(np.bincount(seen[-1][1])), np.sort(np.bincount(model.labels_))
    )
    stopped = ESTIMATOR(10).set_callbacks(Recorder(stop_at=[("iteration", 0)])).fit(X[:300])
    assert stopped.n_iter_ == 1
