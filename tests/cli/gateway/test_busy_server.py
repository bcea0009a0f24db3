"""What is busy, and what only looks like it."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_agent_mail.cli.exit_codes import NoServer, WireError
from mcp_agent_mail.cli.gateway.busy_server import asked_to_wait_s, is_alive, is_busy
from mcp_agent_mail.cli.gateway.http import Server, Stranger
from mcp_agent_mail.core.errors import AgentMailError
from tests.cli.scripted_server import Scripted, ScriptedServer, answer


def wire(kind: str, **data: Any) -> WireError:
    return WireError({"type": kind, "message": "No.", "data": data})


@pytest.mark.parametrize(
    ("refused", "seconds"),
    [
        (wire("UNAVAILABLE", retry_after_s=3), 3.0),
        (wire("RATE_LIMITED", retry_after_s=0.5), 0.5),
        (wire("UNAVAILABLE", retry_after_s=86_400), 60.0),
        (wire("UNAVAILABLE", retry_after_s=-1), 0.0),
        (wire("RATE_LIMITED", retry_after_s=int("9" * 400)), 60.0),
        (wire("UNAVAILABLE", retry_after_s="soon"), None),
        (wire("UNAVAILABLE"), None),
        (wire("PERMISSION_DENIED", retry_after_s=3), None),
        (Stranger({"type": "UNAVAILABLE", "data": {"retry_after_s": 3}}), None),
        (NoServer("Gone.", data={"retry_after_s": 3}), None),
    ],
    ids=lambda value: str(value)[:20],
)
def test_who_is_there_says_when_to_come_again(refused: AgentMailError, seconds: float | None) -> None:
    assert asked_to_wait_s(refused) == seconds


def test_what_does_not_come_from_a_server_of_ours_is_not_busy() -> None:
    assert is_busy(wire("UNAVAILABLE"))
    assert not is_busy(Stranger({"type": "UNAVAILABLE"}))
    assert not is_busy(NoServer("Gone."))


@pytest.mark.parametrize(
    ("told", "lives"),
    [
        (answer({"status": "alive"}), True),
        (answer({"detail": "No room."}, status=503), True),
        (answer({"status": "else"}), False),
        (Scripted(body=b"<html>"), False),
        (Scripted(body=None), False),
    ],
)
def test_who_lives_says_so_or_that_it_has_no_room(told: Scripted, lives: bool) -> None:
    with ScriptedServer(told) as server:
        assert is_alive(Server(url=server.url)) is lives
