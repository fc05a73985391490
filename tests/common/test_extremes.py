"""Parameters at the ends of their ranges, and odd data: an answer in numbers, or words."""

import inspect
import warnings
from numbers import Real

import numpy as np
import pytest
from sklearn.utils._param_validation import Interval

import separatrix
from separatrix.estimators.parameters import NONNEGATIVE, POSITIVE

pytestmark = pytest.mark.usefixtures("few_tables")

ESTIMATORS = [
    getattr(separatrix, name)
    for name in separatrix.__all__
    if isinstance(getattr(separatrix, name), type) and name != "AutoClustering"
]
VALUES = (0.0, 1e-300, 1e-150, 1 - 1e-12, 1e100, 1e150)
FAST = {"max_iter": 3, "max_rounds": 2, "max_steps": 20, "n_init": 1, "n_combinations": 3}


def samples():
    """Two groups of samples, some of them equal."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10, 2)) + 4 * (np.arange(10) % 2)[:, None]
    return np.r_[X, X[:2]], np.arange(12) % 2


def extreme_parameters(estimator):
    for name in inspect.signature(estimator).parameters:
        for allowed in estimator._parameter_constraints[name]:
            if isinstance(allowed, Interval) and allowed.type is Real:
                for value in VALUES:
                    if value in allowed:
                        yield {name: value}


def fitted(estimator, params, X, y):
    """The model, without any warning but the documented ones; None where words refuse it."""
    model = estimator()
    if "gamma" in params:
        params = {("affinity" if "affinity" in model.get_params() else "kernel"): "rbf", **params}
    model.set_params(**{name: FAST[name] for name in FAST if name in model.get_params()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        try:
            return model.set_params(**params).fit(X, y)
        except ValueError as error:
            if type(error) is not ValueError or "array must not contain" in str(error):
                raise
            return None


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: e.__name__)
def test_the_ends_of_ranges_work_or_are_refused_in_words(estimator):
    X, y = samples()
    for params in extreme_parameters(estimator):
        model = fitted(estimator, params, X, y)
        if model is None:
            continue
        for name in ("objective_", "intercept_", "history_", "response_"):
            assert np.isfinite(getattr(model, name, 0.0)).all(), (params, name)
        assert np.isfinite(model.decision_function(X)).all(), params
        np.testing.assert_array_equal(model.predict(X)[:2], model.predict(X)[10:])
        if hasattr(model, "labels_"):
            np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: e.__name__)
def test_weights_beyond_their_bounds_are_named_with_them(estimator):
    X, y = samples()
    for name, allowed in estimator._parameter_constraints.items():
        for bound in (POSITIVE[0], NONNEGATIVE[0]):
            if any(bound is one for one in allowed):
                beyond = 5e-324 if bound is POSITIVE[0] else 1e300
                with pytest.raises(ValueError, match=rf"'{name}' parameter .* 1e\+150\]"):
                    estimator(**{name: beyond}).fit(X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: e.__name__)
@pytest.mark.parametrize("scale", [1e-120, 1e120])
def test_units_of_samples(estimator, scale):
    X, y = samples()
    model = fitted(estimator, {}, scale * X, y)
    if model is not None:
        assert np.isfinite(model.decision_function(scale * X)).all()
        if hasattr(model, "labels_"):
            np.testing.assert_array_equal(model.predict(scale * X), model.labels_)


def odd_samples(seed):
    """Few samples on grids, lines and corners."""
    rng = np.random.default_rng(seed)
    n, d = rng.integers(3, 12), rng.integers(1, 5)
    return [
        rng.integers(-1, 2, size=(n, d)).astype(float),
        np.outer(rng.normal(size=n), rng.normal(size=d)) + rng.normal(size=d),
        np.eye(4)[rng.integers(4, size=n)],
        1e5 + 1e-9 * rng.normal(size=(n, d)),
        rng.normal(size=(3, d)),
    ][seed % 5]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: e.__name__)
def test_odd_samples(estimator):
    for seed in range(3):
        X = odd_samples(seed)
        n_clusters = min(2 + seed % 3, len(X))
        params = {"n_clusters": n_clusters} if "n_clusters" in estimator().get_params() else {}
        model = fitted(estimator, params, X, np.arange(len(X)) % 2)
        if hasattr(model, "labels_"):
            np.testing.assert_array_equal(model.predict(X), model.labels_)
