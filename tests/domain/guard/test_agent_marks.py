from __future__ import annotations

from itertools import groupby
from pathlib import Path

import pytest

from mcp_agent_mail.domain.guard.agent_marks import AGENT_MARKS, find_mark


@pytest.mark.parametrize("mark", AGENT_MARKS)
def test_a_mark_is_found_by_its_variable_whatever_its_value(mark: tuple[str, str, str]) -> None:
    assert find_mark({"PATH": "/bin", mark[0]: "seatbelt"}) == mark


@pytest.mark.parametrize("value", ["", "  ", "0", "false", "No", "off"])
def test_a_mark_that_is_switched_off_is_none(value: str) -> None:
    assert find_mark({"CLAUDECODE": value}) is None


@pytest.mark.parametrize("name", ["CODEX_HOME", "CURSOR_TRACE_ID", "GEMINI_API_KEY", "AGENT", "AGENT_NAME", "TERM"])
def test_what_people_have_in_their_shells_is_no_mark(name: str) -> None:
    assert find_mark({name: "x"}) is None


def test_the_page_of_the_guard_has_the_table() -> None:
    page = (Path(__file__).parents[3] / "docs" / "concepts" / "guard.md").read_text()

    for agent, marks in groupby(AGENT_MARKS, key=lambda mark: mark.agent):
        assert f"| {agent} | {', '.join(f'`{mark.variable}`' for mark in marks)} |" in page


def test_each_mark_says_where_it_is_told() -> None:
    assert len({mark.variable for mark in AGENT_MARKS}) == len(AGENT_MARKS)
    assert all(mark.source and mark.agent for mark in AGENT_MARKS)
