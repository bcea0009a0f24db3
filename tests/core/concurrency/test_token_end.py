"""Whether a running call's token still counts."""

from __future__ import annotations

from mcp_agent_mail.core.concurrency.token_end import called_by_token, token_ended


def test_a_call_without_a_token_has_none_that_ends() -> None:
    assert token_ended() is None


def test_it_is_asked_of_the_call_that_is_running() -> None:
    with called_by_token(lambda: False):
        ended = token_ended()
        with called_by_token(lambda: True):
            inner = token_ended()

    assert inner is None
    assert token_ended() is None
    assert ended is not None
    assert (ended.code, ended.data) == ("AUTHENTICATION_REQUIRED", {})
