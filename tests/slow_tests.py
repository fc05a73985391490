"""Write tests/slow.txt: the slowest tests, without which the others take less than 90 seconds.

    python -m pytest --numprocesses auto --junitxml build/tests.xml
    python tests/slow_tests.py build/tests.xml

`pytest --fast` leaves these out. Of tests with parameters the sum is counted.
"""

import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

SLOW = Path(__file__).with_name("slow.txt")
BUDGET = 60  # seconds of one core for the tests that remain; collecting takes as long again


def measured(report):
    """Seconds of each test in a report of pytest."""
    seconds: Counter[str] = Counter()
    for case in ElementTree.parse(report).iter("testcase"):
        *folders, last = case.get("classname", "").split(".")
        name = case.get("name", "").partition("[")[0]
        if last.startswith("Test"):  # a class of tests
            (*folders, last), name = folders, f"{last}::{name}"
        seconds[f"{'/'.join([*folders, last])}.py::{name}"] += float(case.get("time", 0))
    return seconds


def slow(seconds):
    """The fewest tests without which the rest keeps within the budget."""
    rest, found = sum(seconds.values()), []
    for name, spent in seconds.most_common():
        if rest <= BUDGET:
            break
        found.append(name)
        rest -= spent
    return sorted(found)


if __name__ == "__main__":
    SLOW.write_text("".join(f"{name}\n" for name in slow(measured(sys.argv[1]))))
