"""The tutorials, typed line by line; the calls of their agents are made as they are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pages.blocks import ROOT, blocks_of, calls_of
from tests.pages.reader import Reader

TUTORIALS = ROOT / "docs" / "tutorial"
_CLONE = 'git clone -q "$REPOSITORY" mail && cd mail'
_LINK = "make -s link"


def _follow(reader: Reader, page: Path, *, serves: bool) -> None:
    reader.types(_CLONE)
    reader.types(_LINK)
    if serves:
        reader.types("make serve")
    for language, text in blocks_of(page, "sh", "json"):
        if language == "sh":
            reader.types(text)
            continue
        for tool, arguments in calls_of(text):
            reader.says += str(reader.calls(tool, arguments))
        reader.rests()


def test_two_agents(tmp_path: Path) -> None:
    with Reader(tmp_path) as reader:
        _follow(reader, TUTORIALS / "two-agents.md", serves=False)

    assert "Who owns the price rounding?" in reader.says
    assert "Half-even, done by noon." in reader.says


@pytest.mark.slow
def test_a_session_with_macros(tmp_path: Path) -> None:
    with Reader(tmp_path) as reader:
        _follow(reader, TUTORIALS / "a-session-with-macros.md", serves=True)

    assert "calls of 8 agents, of 4 macros" in reader.says
