"""Models that skops saves are loaded by the types that are said to be enough."""

import numpy as np
import pytest
import skops.io
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import separatrix
from separatrix import MaximinSeparationClustering, MaximumVolumeClustering, skops_trusted_types

ESTIMATORS = [
    getattr(separatrix, name)
    for name, entry in separatrix._REGISTRY.items()
    if entry.home.startswith(("criteria", "classics", "classifiers", "selection.auto"))
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: one.__name__)
def test_the_types_are_enough(estimator, dtype):
    X, y = load_iris(return_X_y=True)
    X, y = X[::3].astype(dtype), y[::3]
    model = estimator()
    wanted = {"n_clusters": 3, "kernel": "rbf"} if dtype == np.float64 else {}
    known = model.get_params()
    model.set_params(**{name: value for name, value in wanted.items() if name in known})
    model.fit(X, y)
    data = skops.io.dumps(model)
    loaded = skops.io.loads(data, trusted=skops_trusted_types(estimator))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert skops_trusted_types(model) == skops_trusted_types(estimator)


def test_models_by_boundaries_trust_no_search_trees():
    assert not any("sklearn" in name for name in skops_trusted_types(MaximinSeparationClustering))
    assert any("KDTree" in name for name in skops_trusted_types(MaximumVolumeClustering))


def test_pipelines():
    X = load_iris().data[::3]
    model = make_pipeline(StandardScaler(), MaximinSeparationClustering(3)).fit(X)
    loaded = skops.io.loads(skops.io.dumps(model), trusted=skops_trusted_types(model))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_other_estimators_are_refused():
    with pytest.raises(TypeError, match=r"estimator is a sklearn.*KMeans.*pass an estimator of"):
        skops_trusted_types(KMeans(2))
