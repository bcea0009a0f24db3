from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mcp_agent_mail.cli.row_flags import (
    HIGH,
    OVERDUE,
    UNREAD,
    inbox_style,
    inbox_words,
    lease_state,
    lease_style,
    mail_flags,
    unread_word,
)
from mcp_agent_mail.core.clock import parse_time

TTL_S = 1_800
NOW = parse_time("2020-02-29T12:00:00+00:00")
AT = datetime(2020, 2, 29, 12, tzinfo=UTC)


def item(age_s: float = 0, **keys: Any) -> dict[str, Any]:
    sent = AT - timedelta(seconds=age_s)
    return {"importance": "normal", "ack_required": False, "created_ts": sent.isoformat(), **keys}


def lease(left_s: float, **keys: Any) -> dict[str, Any]:
    return {"stale": False, "expires_ts": (AT + timedelta(seconds=left_s)).isoformat(), **keys}


@pytest.mark.parametrize(
    ("row", "words", "style"),
    [
        (item(), "unread", UNREAD),
        (item(read_at="2026-11-21T20:38:11Z"), "", ""),
        (item(read_at="2026-11-21T20:38:11Z", importance="high"), "high", HIGH),
        (item(importance="urgent"), "unread, urgent", "bold red"),
        (item(ack_required=True), "unread, ack", UNREAD),
        (item(TTL_S + 60, ack_required=True), "unread, overdue", OVERDUE),
        (item(TTL_S + 60, ack_required=True, importance="high"), "unread, high, overdue", OVERDUE),
        (item(TTL_S + 60, ack_required=True, read_at="x", acknowledged_at="x"), "acked", ""),
        (item(expired=True), "expired", ""),
        (item(TTL_S + 60, expired=True, ack_required=True), "expired, ack", ""),
        (item(expired=True, importance="urgent"), "expired, urgent", "bold red"),
        (item(read_at="x", withdrawn_at="x", withdrawn_reason=None), "withdrawn", ""),
        (item(read_at="x", superseded_by=9, importance="high"), "superseded, high", HIGH),
    ],
)
def test_an_inbox_says_in_words_what_its_colours_say(row: dict[str, Any], words: str, style: str) -> None:
    assert (inbox_words(TTL_S, now=NOW)(row), inbox_style(TTL_S, now=NOW)(row)) == (words, style)


def test_flags_for_a_pipe_are_importance_and_the_wish_for_an_acknowledgement() -> None:
    assert [mail_flags(row) for row in (item(), item(importance="low"), item(9_999, ack_required=True))] == [
        "",
        "low",
        "ack",
    ]


def test_a_pipe_is_told_that_mail_has_ended() -> None:
    rows = [item(expired=True, importance="low"), item(withdrawn_at="x"), item(superseded_by=9, withdrawn_at="x")]

    assert [mail_flags(row) for row in rows] == ["expired, low", "withdrawn", "withdrawn, superseded"]


def test_a_time_that_cannot_be_read_is_never_overdue() -> None:
    row = item(ack_required=True, created_ts="soon")

    assert inbox_words(TTL_S, now=NOW)(row) == "unread, ack"


@pytest.mark.parametrize(
    ("given", "words", "style"),
    [
        ((3_600, {}), "", ""),
        ((300, {}), "", HIGH),
        ((3_600, {"stale": True}), "idle", HIGH),
        ((-5, {}), "expired", OVERDUE),
        ((-5, {"stale": True}), "idle, expired", OVERDUE),
        ((-5, {"released_ts": "2026-11-21T20:38:11Z"}), "", ""),
        ((0, {"expires_ts": "soon"}), "", ""),
    ],
)
def test_a_reservation_says_in_words_that_it_is_idle_or_over(
    given: tuple[float, dict[str, Any]], words: str, style: str
) -> None:
    left_s, keys = given
    row = lease(left_s, **keys)

    assert (lease_state(row, now=NOW), lease_style(row, now=NOW)) == (words, style)


def test_unread_mail_is_called_so_and_what_was_read_or_has_expired_nothing() -> None:
    rows: list[dict[str, Any]] = [{"read_at": None}, {"read_at": "2026-11-21T20:38:11Z"}, {"expired": True}]

    assert [unread_word(row) for row in rows] == ["unread", "", ""]
