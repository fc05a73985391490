"""Data that several tests of the criteria share."""

import pytest
from sklearn.datasets import load_iris, load_wine


@pytest.fixture(scope="session")
def iris():
    return load_iris(return_X_y=True)[0]


@pytest.fixture(scope="session")
def wine():
    return load_wine(return_X_y=True)[0]
