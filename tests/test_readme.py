"""The README's example runs, and what it names exists."""

import re
from pathlib import Path

import separatrix

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def test_example_runs(capsys):
    (example,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert re.search(r"guaranteed separation: 0\.\d\d\n", printed)
    assert len(example.strip().splitlines()) <= 11


def test_every_estimator_is_in_the_table():
    for name in separatrix.__all__:
        if isinstance(getattr(separatrix, name), type):
            assert f"| `{name}` |" in README


def test_links_lead_to_files():
    root = Path(__file__).parent.parent
    for target in re.findall(r"\]\(((?!http)[^)#]+)\)", README):
        assert (root / target).is_file(), target
