"""scikit-learn's own checks on every exported estimator.

Parameters are the defaults, but for limits of a search, which the checks of scikit-learn lower for
its own estimators as well.
"""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import separatrix
from support import few_rounds

EXPORTS = [getattr(separatrix, name) for name in separatrix.__all__]
# What is not so, with the reason that the docs give; everything else is.
NOT_SO = {
    "AutoClustering": {
        "check_sample_weight_equivalence_on_dense_data": "some candidates take no weights",
    }
}


def made(export):
    """An estimator whose search is short."""
    limits = {"max_clusters": 3} if export is separatrix.AutoClustering else few_rounds(export)
    return export(**limits)


# the checks provoke and inspect warnings of their own
@pytest.mark.filterwarnings("default")
@parametrize_with_checks(
    [made(export) for export in EXPORTS if isinstance(export, type)],
    expected_failed_checks=lambda estimator: NOT_SO.get(type(estimator).__name__, {}),
)
def test_sklearn_check(estimator, check, request):
    if check.func.__name__ not in NOT_SO.get(type(estimator).__name__, {}):
        request.getfixturevalue("few_tables")
    check(estimator)
