"""Every public name: documented, light to import, and true to the contract."""

import inspect
import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone, is_clusterer
from sklearn.datasets import load_iris

import separatrix
from support import few_rounds

pytestmark = pytest.mark.usefixtures("few_tables")

ESTIMATORS = [
    getattr(separatrix, name)
    for name in separatrix.__all__
    if isinstance(getattr(separatrix, name), type)
]
# What numpydoc asks for beyond scikit-learn's own style: an extended summary, See Also and
# Examples in every method, and a returned value without a name.


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X[::3], y[::3]


def test_exports_resolve_and_unknown_names_do_not():
    assert set(separatrix.__all__) <= set(dir(separatrix))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        separatrix.nonsense


def test_import_is_lazy():
    """Importing the package loads neither numba nor scikit-learn, until a name is used."""
    program = (
        "import sys, separatrix\n"
        "assert 'sklearn' not in sys.modules and 'numba' not in sys.modules\n"
        "separatrix.MaximinSeparationClustering\n"
        "assert not {'numba', 'dask', 'matplotlib', 'torch'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: e.__name__)
def test_only_the_first_parameter_is_positional(estimator):
    parameters = list(inspect.signature(estimator).parameters.values())
    positional = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    assert positional in ([], ["n_clusters"])


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: e.__name__)
def test_fit_keeps_parameters_and_survives_pickling(estimator, iris):
    X, y = iris
    model = estimator()
    before = clone(model).get_params()
    model.fit(X, y)
    assert model.get_params() == before
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    np.testing.assert_array_equal(clone(model).fit(X, y).predict(X), model.predict(X))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", [e for e in ESTIMATORS if is_clusterer(e())])
def test_fit_ignores_y(estimator, iris):
    """A grid search with a label scorer passes y; it must not leak into the clusters."""
    X, y = iris
    shuffled = np.random.RandomState(0).permutation(y)
    for n_clusters in (2, 3):
        model = estimator(n_clusters, **few_rounds(estimator))
        labels = [clone(model).fit(X, target).labels_ for target in (None, shuffled)]
        np.testing.assert_array_equal(*labels)
