from __future__ import annotations

from typing import Any

import pytest

from mcp_agent_mail.cli.agentmail.notice_rules import FLOOR_S, LOOK_AGAIN_S, SLICE_S, Notices

NOW = 1_000_000.0


def mailbox(name: str = "a2", unread: int = 1, status: str = "ready", since: float | None = None) -> dict[str, Any]:
    return {"name": name, "unread": unread, "status": status, "status_since": since}


def test_a_ready_window_with_mail_is_told_once_a_minute() -> None:
    notices, boxes = Notices(), [mailbox()]

    first = notices.due(boxes, NOW)
    notices.note_told("a2", NOW)

    assert first == ["a2"]
    assert notices.due(boxes, NOW + FLOOR_S - 1) == []
    assert notices.wait_s(boxes, NOW + FLOOR_S - 1) == pytest.approx(1.0)
    assert notices.due(boxes, NOW + FLOOR_S) == ["a2"]


@pytest.mark.parametrize("box", [mailbox(unread=0), mailbox(status="work"), mailbox(status="offline")])
def test_who_has_no_mail_or_is_not_ready_is_left_alone(box: dict[str, Any]) -> None:
    assert Notices().due([box], NOW) == []
    assert Notices().wait_s([box], NOW) == SLICE_S


def test_who_was_not_ready_in_between_is_told_anew() -> None:
    notices = Notices()
    notices.note_told("a2", NOW)

    assert notices.due([mailbox(since=NOW - 5)], NOW + 1) == []
    assert notices.due([mailbox(since=NOW + 5)], NOW + 6) == ["a2"]


def test_a_clock_that_was_set_back_silences_nobody() -> None:
    notices = Notices()
    notices.note_told("a2", NOW)

    assert notices.due([mailbox()], NOW - 3_600) == ["a2"]


def test_a_prompt_in_which_something_stood_is_looked_at_again_soon() -> None:
    notices = Notices()
    notices.note_held_back("a2")

    assert notices.due([mailbox()], NOW) == ["a2"]
    assert notices.wait_s([mailbox()], NOW) == LOOK_AGAIN_S
    assert notices.due([mailbox(unread=0)], NOW) == []
    assert notices.wait_s([mailbox(unread=0)], NOW) == SLICE_S


def test_windows_that_are_gone_are_forgotten() -> None:
    notices = Notices()
    notices.note_told("a2", NOW)
    notices.note_held_back("a3")

    notices.keep(["a1"])

    assert notices.due([mailbox()], NOW + 1) == ["a2"]
    assert notices.wait_s([], NOW) == SLICE_S
