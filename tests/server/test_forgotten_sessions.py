"""Sessions that the server does not know any more: one object each, bounded, whatever their ids are."""

from __future__ import annotations

from mcp_agent_mail.server.forgotten_sessions import ForgottenSessions


def test_an_id_names_one_object_and_another_id_another_one() -> None:
    sessions = ForgottenSessions()

    first, second = sessions.named(b"1"), sessions.named(b"2")

    assert first is not second
    assert sessions.named(b"1") is first


def test_those_that_were_named_last_are_kept() -> None:
    sessions = ForgottenSessions(most=2)
    first, second = sessions.named(b"1"), sessions.named(b"2")
    sessions.named(b"1")

    sessions.named(b"3")

    assert sessions.named(b"1") is first
    assert sessions.named(b"2") is not second


def test_long_ids_take_no_more_room_than_short_ones() -> None:
    sessions = ForgottenSessions()

    sessions.named(b"x" * 60_000)

    assert [len(key) for key in sessions._known] == [32]
