from __future__ import annotations

import re
from pathlib import Path

from tests.long_tests import KEPT, _slowest, long_tests

ROOT = Path(__file__).parents[1]


def _stands(name: str) -> bool:
    path, _, function = name.partition("::")
    file = ROOT / path
    return file.is_file() and re.search(rf"^(async )?def {function}\(", file.read_text(), re.MULTILINE) is not None


def test_every_long_test_that_is_listed_stands_where_the_list_says() -> None:
    assert [name for name in sorted(long_tests()) if not _stands(name)] == []


def test_what_stands_for_the_first_promises_is_not_left_out() -> None:
    assert [name for name in long_tests() if name.startswith(KEPT)] == []


def test_the_mean_over_parameters_decides(tmp_path: Path) -> None:
    cases = [
        ("tests.one", "test_a[x]", "6.0"),
        ("tests.one", "test_a[y]", "0.2"),
        ("tests.one", "test_b[x]", "3.0"),
        ("tests.one", "test_b[y]", "0.5"),
        ("tests.power.test_power_loss", "test_c", "60"),
    ]
    junit = tmp_path / "junit.xml"
    written = (f'<testcase classname="{path}" name="{name}" time="{took}"/>' for path, name, took in cases)
    junit.write_text(f"<testsuites><testsuite>{''.join(written)}</testsuite></testsuites>")

    assert _slowest(junit) == ["tests/one.py::test_a"]
