"""Seeds that hold, clusters that are counted, and fits that fail without a trace."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.base import is_clusterer
from sklearn.datasets import load_iris

import separatrix

pytestmark = pytest.mark.usefixtures("few_tables")

ESTIMATORS = [
    getattr(separatrix, name)
    for name in separatrix.__all__
    if isinstance(getattr(separatrix, name), type)
]
CLUSTERERS = [estimator for estimator in ESTIMATORS if is_clusterer(estimator())]
SYMMETRIC = """
import sys, warnings
import numpy as np
import separatrix
warnings.simplefilter("ignore")
tables = [np.eye(4)[np.arange(40) % 4], np.eye(12), np.kron(np.eye(3), np.ones((8, 4)))]
for name in sys.argv[1:]:
    estimator = getattr(separatrix, name)(3, random_state=0)
    if hasattr(estimator, "max_rounds"):
        estimator.set_params(max_rounds=2)
    for X in tables:
        try:
            labels = estimator.fit(X).labels_
        except ValueError as error:
            labels = type(error).__name__
        print(name, np.array2string(np.asarray(labels), threshold=1000).replace("\\n", ""))
"""


def test_seeds_hold_on_symmetric_data_in_fresh_processes():
    """Where eigenvalues are equal, eigensolvers start again from random vectors."""
    # SpectralClustering, one of the candidates of AutoClustering, seeds only its first vector
    names = [one.__name__ for one in CLUSTERERS if one.__name__ != "AutoClustering"]
    runs = [
        subprocess.run(
            [sys.executable, "-c", SYMMETRIC, *names], check=True, capture_output=True, text=True
        ).stdout
        for _ in range(2)
    ]
    assert runs[0] == runs[1]
    assert len(runs[0].splitlines()) == 3 * len(names)


def test_seeds_hold_from_fit_to_fit():
    X = np.eye(4)[np.arange(40) % 4]
    for estimator in (separatrix.LDAKMeans, separatrix.MaximinSeparationClustering):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = {tuple(estimator(3, random_state=0).fit(X).labels_) for _ in range(8)}
        assert len(found) == 1


@pytest.mark.parametrize("estimator", CLUSTERERS, ids=lambda e: e.__name__)
def test_missing_clusters_are_told(estimator):
    rng = np.random.RandomState(0)
    for n_distinct in (3, 4, 6):
        rows = rng.normal(size=(n_distinct, 3))
        X = rows[rng.randint(n_distinct, size=30)]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                model = estimator(5, random_state=0).fit(X)
            except ValueError:
                continue
        if len(np.unique(model.labels_)) < 5:
            words = " ".join(str(warning.message) for warning in caught)
            assert "Fewer clusters were found" in words


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: e.__name__)
def test_a_fit_that_fails_leaves_the_model_before(estimator):
    X, y = load_iris(return_X_y=True)
    X, y = X[::5], y[::5]
    model = estimator().fit(X, y)
    before, state = model.predict(X), set(vars(model))
    broken = X[:, :1].copy()
    broken[0] = np.nan
    for bad in (broken, np.array([["a"], ["b"]]), X[:1, :1]):
        with pytest.raises(ValueError):
            model.fit(bad, y[: len(bad)])
    assert set(vars(model)) == state
    np.testing.assert_array_equal(model.predict(X), before)
    with pytest.raises(ValueError, match="4 features"):
        model.predict(X[:, :1])
