"""Refusals below the tools name the setting that was wrong, or that is lacking."""

from __future__ import annotations

import pytest

from mcp_agent_mail.cli.exit_codes import code_of
from mcp_agent_mail.cli.gateway.below_tools import refused_below
from mcp_agent_mail.cli.gateway.http import Server

URL = "http://127.0.0.1:8765"
NOT_VALID = f"AGENT_MAIL_TOKEN is not valid at {URL}."


@pytest.mark.parametrize(
    ("bearer", "agents", "message", "hint"),
    [
        (None, None, "Why.", "Set AGENT_MAIL_TOKEN to a token that was issued"),
        (None, "amt_own", "Why.", "Set AGENT_MAIL_TOKEN to a token that was issued"),
        (None, "amk_issued", "Why.", "AGENT_MAIL_AGENT_TOKEN holds a token that was issued (amk_…): put it into AGENT"),
        ("amk_gone", None, NOT_VALID, "It was revoked, has expired"),
        ("amt_own", None, NOT_VALID, "It holds an agent's registration_token: put that into AGENT_MAIL_AGENT_TOKEN."),
        ("secret", None, NOT_VALID, "It takes a token that was issued"),
        ("amo_operators", None, "Why.", "Set AGENT_MAIL_TOKEN to"),
    ],
    ids=str,
)
def test_a_token_that_opens_nothing_is_told_by_its_setting(
    bearer: str | None, agents: str | None, message: str, hint: str
) -> None:
    refused = refused_below(401, "Why.", Server(url=URL, bearer_token=bearer, agent_token=agents))

    assert (code_of(refused), refused.message) == ("AUTHENTICATION_REQUIRED", message)
    assert refused.hint.startswith(hint)


@pytest.mark.parametrize(("bearer", "message"), [(None, "Why."), ("amk_own", NOT_VALID)])
def test_a_server_that_nobody_named_and_that_has_another_store_is_told_as_none_of_ours(
    bearer: str | None, message: str
) -> None:
    refused = refused_below(401, "Why.", Server(url=URL, bearer_token=bearer, is_others=True))

    assert refused.message == message
    assert refused.hint.startswith(f"The server at {URL} has another store than yours. Choose another port")
    assert "am config set-port PORT" in refused.hint
    assert f"AGENT_MAIL_URL={URL}" in refused.hint


@pytest.mark.parametrize(
    ("status", "code"),
    [(403, "PERMISSION_DENIED"), (413, "INVALID_INPUT"), (429, "RATE_LIMITED"), (418, "UNAVAILABLE")],
)
def test_any_other_refusal_keeps_the_servers_words_and_speaks_of_no_token(status: int, code: str) -> None:
    refused = refused_below(status, "Why.", Server(url=URL, bearer_token="secret"))

    assert (code_of(refused), refused.message) == (code, "Why.")
    assert "TOKEN" not in refused.hint


@pytest.mark.parametrize(("again", "seconds"), [("9", 9), ("9" * 5_000, 86_400)], ids=["soon", "never"])
def test_when_to_call_again_is_said_of_rates_alone_and_has_an_end(again: str, seconds: int) -> None:
    limited = refused_below(429, "Why.", Server(url=URL), again=again)
    away = refused_below(503, "Why.", Server(url=URL), again=again)

    assert (limited.hint, limited.data) == (f"Call again in {seconds} s.", {"retry_after_s": seconds})
    assert (away.hint, away.data) == ("", {"retry_after_s": seconds})
