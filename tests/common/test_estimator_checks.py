"""scikit-learn's own checks on every exported estimator: default parameters, none excluded."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import separatrix

EXPORTS = [getattr(separatrix, name) for name in separatrix.__all__]


# the checks provoke and inspect warnings of their own
@pytest.mark.filterwarnings("default")
@parametrize_with_checks([export() for export in EXPORTS if isinstance(export, type)])
def test_sklearn_check(estimator, check):
    check(estimator)
