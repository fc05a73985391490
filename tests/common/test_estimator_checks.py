"""scikit-learn's own checks on every exported estimator, with default parameters, none excluded."""

import os

# SciPy decides at import whether it accepts arrays of other libraries; the checks need it.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import separatrix

ESTIMATORS = [
    getattr(separatrix, name)()
    for name in separatrix.__all__
    if isinstance(getattr(separatrix, name), type)
]


@pytest.mark.filterwarnings("default")
@parametrize_with_checks(ESTIMATORS)
def test_sklearn_check(estimator, check):
    check(estimator)
