"""Sessions that the server does not know any more: one object each, bounded, for ids as servers give them out."""

from __future__ import annotations

import pytest

from mcp_agent_mail.server.forgotten_sessions import ForgottenSessions


def _id(number: int) -> bytes:
    return b"%032x" % number


def test_an_id_names_one_object_and_another_id_another_one() -> None:
    sessions = ForgottenSessions(most=10)

    first, second = sessions.find(_id(1)), sessions.find(_id(2))

    assert first is not None
    assert first is not second
    assert sessions.find(_id(1)) is first


def test_those_that_were_named_last_are_kept() -> None:
    sessions = ForgottenSessions(most=2)
    first, second = sessions.find(_id(1)), sessions.find(_id(2))
    sessions.find(_id(1))

    sessions.find(_id(3))

    assert sessions.find(_id(1)) is first
    assert sessions.find(_id(2)) is not second


@pytest.mark.parametrize("word", [b"", b"null", b"undefined", _id(1).upper()[:-1] + b"F", _id(1)[1:], _id(1) + b"\n"])
def test_a_word_that_no_server_gives_out_names_nobody(word: bytes) -> None:
    sessions = ForgottenSessions(most=10)

    assert sessions.find(word) is None
