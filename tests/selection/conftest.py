"""Samples whose clusters nobody doubts."""

import pytest
from sklearn.datasets import make_blobs


@pytest.fixture(scope="session")
def blobs():
    return make_blobs(120, centers=[[0, 0], [0, 9], [9, 0]], random_state=0)
