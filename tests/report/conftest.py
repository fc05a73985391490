"""What the tests of reports share."""

import pytest

from report_support import IRIS
from separatrix import MaximinSeparationClustering


@pytest.fixture(scope="session")
def iris_model():
    return MaximinSeparationClustering(2).fit(IRIS)
