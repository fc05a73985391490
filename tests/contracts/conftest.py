"""Contracts ask what a fit gives, and not how sure the test for structure is."""

import pytest


@pytest.fixture(autouse=True)
def _with_few_tables(few_tables):
    """The test for structure takes most of the time of `AutoClustering`."""
