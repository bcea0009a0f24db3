"""Whom a session in a terminal window is taken for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.golden_outputs import HELD
from tests.clients.hook_program import HookHome
from tests.clients.hook_server import HookAnswers, hook_server


@pytest.fixture
def answers() -> Iterator[HookAnswers]:
    with hook_server() as answers:
        answers.only_asked = True
        yield answers


@pytest.fixture
def home(tmp_path: Path, answers: HookAnswers) -> HookHome:
    return HookHome(tmp_path, {"AGENT_MAIL_URL": answers.url})


def test_a_window_is_whom_registrations_from_it_go_by(home: HookHome, answers: HookAnswers) -> None:
    window = "3f0c1f52-58a6-4c8e-9a0a-5d1b6f2a7c11"
    others = {"window_uuid": "4" + window[1:], "display_name": "RedStone"}
    answers.windows = {"identities": [others, {"window_uuid": window, "display_name": "GreenHill"}]}

    for _ in range(2):
        home.play("claude", "UserPromptSubmit", MCP_AGENT_MAIL_WINDOW_ID=window.upper())

    assert [one["agent_name"] for one in answers.bodies("/event")] == ["GreenHill"] * 2
    assert f"X-Agent-Window: {window.upper()}" in answers.heads[0]
    assert answers.bodies("/rpc/list_window_identities") == [{"project_key": str(home.code)}]


def test_a_hook_asks_three_questions_at_most_and_tells_the_guards_record(home: HookHome, answers: HookAnswers) -> None:
    window = "3f0c1f52-58a6-4c8e-9a0a-5d1b6f2a7c11"
    answers.windows = {"identities": [{"window_uuid": window, "display_name": "GreenHill"}]}
    answers.check = {
        "agent": "GreenHill",
        "agent_known": True,
        "held": [{"path": "src/app.py", "holder": HELD, "is_own_too": False}],
        "held_count": 1,
    }

    printed = home.play("claude", "PreToolUse", MCP_AGENT_MAIL_WINDOW_ID=window)

    assert "edit refused" in printed
    assert [path.rpartition("/")[2] for path, _ in answers.asked] == [
        "list_window_identities",
        "event",
        "check",
        "events",
    ]


@pytest.mark.parametrize("windows", [{}, [], {"identities": [{}]}, {"error": {"type": "NOT_FOUND"}}, b""])
def test_a_window_that_nobody_knows_is_nobodys(windows: Any, home: HookHome, answers: HookAnswers) -> None:
    answers.windows = windows

    printed = home.play("claude", "Stop", MCP_AGENT_MAIL_WINDOW_ID="3f0c1f52-58a6-4c8e-9a0a-5d1b6f2a7c11")

    assert printed == ""
    assert answers.bodies("/event") == []
