"""Tests that `make test` leaves to `make long`: each took more than two seconds, most since they start servers and
commands.

`python -m tests.long_tests JUNIT.xml` writes the list anew from what `pytest --junitxml` recorded of all tests.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from statistics import fmean
from xml.etree import ElementTree as ET

LIST = Path(__file__).with_suffix(".txt")
ABOVE_S = 2.0
_KEPT = "architecture/ core/ crash/test_kill.py domain/ e2e/sessions/ pages/test_readme.py power/ store/"
KEPT = tuple(f"tests/{kept}" for kept in _KEPT.split())
"""What stands for the product's first promises and for its rules is part of each change, however long it takes."""


def long_tests() -> frozenset[str]:
    """As `tests/e2e/test_one.py::test_name`, for all parameters of it."""
    return frozenset(LIST.read_text().split())


def _slowest(junit: Path) -> list[str]:
    """Those that took so long in the mean over their parameters."""
    seconds: dict[str, list[float]] = defaultdict(list)
    for case in ET.parse(junit).iter("testcase"):
        path = case.attrib["classname"].replace(".", "/") + ".py"
        seconds[f"{path}::{case.attrib['name'].partition('[')[0]}"].append(float(case.attrib["time"]))
    return sorted(name for name, took in seconds.items() if _is_left_out(name, took))


def _is_left_out(name: str, took: list[float]) -> bool:
    """Models that hypothesis runs are classes, which no line of the list names."""
    return fmean(took) > ABOVE_S and "::test_" in name and not name.startswith(KEPT)


if __name__ == "__main__":
    LIST.write_text("\n".join(_slowest(Path(sys.argv[1]))) + "\n")
