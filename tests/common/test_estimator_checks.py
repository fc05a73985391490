"""scikit-learn's own checks on every exported estimator, with default parameters."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import separatrix

EXPORTS = [getattr(separatrix, name) for name in separatrix.__all__]
# What is not so, with the reason that the docs give; everything else is.
NOT_SO = {
    "AutoClustering": {
        "check_sample_weight_equivalence_on_dense_data": "some candidates take no weights",
    }
}


# the checks provoke and inspect warnings of their own
@pytest.mark.filterwarnings("default")
@parametrize_with_checks(
    [export() for export in EXPORTS if isinstance(export, type)],
    expected_failed_checks=lambda estimator: NOT_SO.get(type(estimator).__name__, {}),
)
def test_sklearn_check(estimator, check, request):
    if check.func.__name__ not in NOT_SO.get(type(estimator).__name__, {}):
        request.getfixturevalue("few_tables")
    check(estimator)
