"""The README's example prints what is shown, and what it names exists."""

import re
from pathlib import Path

import separatrix

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def test_example_prints_what_is_shown(capsys):
    (example,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    (shown,) = re.findall(r"```text\n(.*?)```", README, flags=re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})
    assert capsys.readouterr().out == shown
    assert len(example.strip().splitlines()) <= 11


def test_the_table_names_estimators_that_exist():
    """All of them are in docs/parameters.md, which is generated."""
    named = re.findall(r"^\| `(\w+)` \|", README, flags=re.MULTILINE)
    assert len(named) >= 18
    for name in named:
        assert isinstance(getattr(separatrix, name), type)
    assert "docs/parameters.md" in README
