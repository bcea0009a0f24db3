"""Regular expressions mean the same on every Python that is supported."""

from __future__ import annotations

import re
from pathlib import Path

from tests.architecture.trees import PACKAGE, ROOT

_POSSESSIVE_GROUP = re.compile(r"\)(?:[*+?]|\{+[^{}\n]*(?:\{[^{}\n]*\})?[^{}\n]*\}+)\+(?!,-)")


def _found(source: Path) -> list[str]:
    return [
        f"{path.relative_to(source)}:{number}"
        for path in sorted(source.rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if _POSSESSIVE_GROUP.search(line)
    ]


def test_no_group_is_repeated_possessively() -> None:
    """`(?:…)*+` matches wrongly before Python 3.11.5, without an error; `(?>(?:…)*)` says the same everywhere."""
    assert _found(ROOT / PACKAGE) == []


def test_one_that_is_would_be_found(tmp_path: Path) -> None:
    lines = [r're.compile(r"(?:a|b)*+")', 'r"(a)?+"', 'rf"(?:a){{0,{MOST}}}+"', 'r"(?>(?:a)*)a++[b]*+"', '"()*+,-./"']
    (tmp_path / "one.py").write_text("\n".join(lines))

    assert _found(tmp_path) == ["one.py:1", "one.py:2", "one.py:3"]
