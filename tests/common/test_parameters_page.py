"""The page of all parameters is what its script writes."""

import runpy
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_is_up_to_date():
    """If this fails, run `make parameters`."""
    script = runpy.run_path(str(DOCS / "generate_parameters.py"))
    assert (DOCS / "parameters.md").read_text() == script["page"]()
