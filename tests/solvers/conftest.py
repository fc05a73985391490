"""What tests of several solvers share."""

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(scope="module")
def one_blas_thread():
    """Run a file on one thread: on small problems threads of BLAS only wait for each other."""
    with threadpool_limits(1, user_api="blas"):
        yield
