"""Data and settings that several tests of the criteria share."""

import pytest
from sklearn.datasets import load_iris, load_wine
from threadpoolctl import threadpool_limits


@pytest.fixture(scope="session")
def iris():
    return load_iris(return_X_y=True)[0]


@pytest.fixture(scope="session")
def wine():
    return load_wine(return_X_y=True)[0]


@pytest.fixture
def one_blas_thread():
    """On a busy machine, threads that wait for each other cost more than small matrices do."""
    with threadpool_limits(1, user_api="blas"):
        yield
