"""Groups that lie far apart, and the clusterers by what they take."""

import inspect
from functools import cache

import numpy as np
import pytest
from sklearn.base import ClusterMixin

import separatrix

CENTERS = np.array([[0.0, 0.0], [10.0, 0.0], [5.0, 9.0]])
# Of different size, so that the numbers of the clusters are known; and in balance for all methods.
SIZES = (11, 10, 9)

EXPORTS = [getattr(separatrix, name) for name in separatrix.__all__]
CLUSTERERS = [
    export for export in EXPORTS if isinstance(export, type) and issubclass(export, ClusterMixin)
]


def taking(parameter):
    """Clusterers that have a parameter."""
    return [one for one in CLUSTERERS if parameter in inspect.signature(one).parameters]


def fitting_with(argument):
    """Clusterers whose `fit` takes an argument."""
    return [one for one in CLUSTERERS if argument in inspect.signature(one.fit).parameters]


def each(estimators, known=None):
    """Parametrise a test by estimators; `known` are the reasons why some break the contract."""
    known = known or {}
    return pytest.mark.parametrize(
        "estimator",
        [
            pytest.param(
                one,
                id=one.__name__,
                marks=[pytest.mark.xfail(reason=known[one.__name__])]
                if one.__name__ in known
                else [],
            )
            for one in estimators
        ],
    )


def groups(sizes=SIZES, seed=0):
    """Samples of groups two wide whose centres lie ten apart, in random order, and their groups.

    The groups are numbered as clusters are: the largest first.
    """
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(len(sizes)), sizes)).astype(np.int32)
    return CENTERS[y] + rng.uniform(-1, 1, size=(len(y), 2)), y


@cache
def fitted(estimator):
    """The model of the three groups, shared by the tests that only look at it."""
    return estimator(len(SIZES), random_state=0).fit(groups()[0])
