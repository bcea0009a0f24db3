"""`am wait` of a server that is there and has no room for it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_agent_mail.cli.clients.wait import _Wait
from mcp_agent_mail.cli.exit_codes import exit_code_of
from mcp_agent_mail.core.errors import AgentMailError
from tests.cli.scripted_server import Scripted, ScriptedServer, answer
from tests.cli.shell import Shell

BUSY = {"error": {"type": "UNAVAILABLE", "message": "Full.", "data": {"retry_after_s": 3}}}
LIMITED = {"detail": "Too often.", "retry_after_s": 3}
MAIL = {"messages": [{"id": 7}], "next_cursor": 9}


class Clock:
    """Time passes by pauses alone, which it keeps."""

    def __init__(self) -> None:
        self.at = 0.0
        self.pauses: list[float] = []

    def now(self) -> float:
        return self.at

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.at += seconds


def waiting_at(url: str, shell: Shell, clock: Clock, timeout_s: int) -> _Wait:
    shell.set(AGENT_MAIL_URL=url)
    return _Wait(shell.context(), {"agent_name": "A"}, None, timeout_s, now=clock.now, pause=clock.pause)


@pytest.mark.parametrize(
    "busy",
    [answer(BUSY, status=503), Scripted(body=json.dumps(LIMITED).encode(), status=429, headers={"Retry-After": "3"})],
)
def test_a_busy_server_is_asked_again_when_it_says_for_longer_than_one_that_is_gone(
    busy: Scripted, shell: Shell
) -> None:
    clock = Clock()
    with ScriptedServer(*[busy] * 40, answer(MAIL)) as server:
        found = waiting_at(server.url, shell, clock, 3_600).run()

    assert found == MAIL
    assert clock.pauses == [3.0] * 40


@pytest.mark.parametrize(("refusal", "status", "code"), [(BUSY, 503, 69), (LIMITED, 429, 1)])
def test_one_that_is_busy_until_the_time_ends_ends_it_with_its_refusal(
    refusal: dict[str, Any], status: int, code: int, shell: Shell
) -> None:
    clock = Clock()
    busy = Scripted(body=json.dumps(refusal).encode(), status=status, headers={"Retry-After": "3"})
    with ScriptedServer(busy) as server, pytest.raises(AgentMailError) as ended:
        waiting_at(server.url, shell, clock, 7).run()

    assert exit_code_of(ended.value) == code
    assert clock.pauses == [3.0, 3.0, 1.0]
