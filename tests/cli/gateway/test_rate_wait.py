from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from mcp_agent_mail.cli.exit_codes import WireError
from mcp_agent_mail.cli.gateway.rate_wait import WaitingGateway
from tests.cli.scripted_server import Scripted, ScriptedServer, answer
from tests.cli.shell import Shell

LIMITED = {"type": "RATE_LIMITED", "message": "Too many calls.", "hint": "Call again in 0.2 s."}


def limited(retry_after_s: float | None, code: str = "RATE_LIMITED") -> WireError:
    return WireError({**LIMITED, "type": code, "data": {"retry_after_s": retry_after_s}})


class Refusing:
    """Refuses what it is asked, one after the other, and then answers."""

    is_in_process = False

    def __init__(self, *refusals: WireError) -> None:
        self.refusals = list(refusals)
        self.asked = 0

    def _ask(self) -> None:
        self.asked += 1
        if self.refusals:
            raise self.refusals.pop(0)

    # Plain JSON.
    def call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        self._ask()
        return [tool, dict(arguments)]

    def read(self, uri: str) -> Any:
        self._ask()
        return uri

    def download(self, slug: str, sha256: str) -> Iterator[bytes]:
        self._ask()
        yield slug.encode()
        yield sha256.encode()


WAYS: list[tuple[Callable[[WaitingGateway], object], object]] = [
    (lambda gateway: gateway.call("whois", {"agent_name": "BlueLake"}), ["whois", {"agent_name": "BlueLake"}]),
    (lambda gateway: gateway.read("resource://projects"), "resource://projects"),
    (lambda gateway: list(gateway.download("app", "abc")), [b"app", b"abc"]),
]


@pytest.mark.parametrize(("ask", "answered"), WAYS, ids=["call", "read", "download"])
def test_a_short_wait_is_waited_once_and_said(
    ask: Callable[[WaitingGateway], object], answered: object, capsys: pytest.CaptureFixture[str]
) -> None:
    slept: list[float] = []
    server = Refusing(limited(1.5))

    found = ask(WaitingGateway(server, sleep=slept.append))

    assert (found, slept, server.asked) == (answered, [1.5], 2)
    assert capsys.readouterr().err == "Notice: the server takes no more requests just now; waiting 1.5 s.\n"


@pytest.mark.parametrize(
    "refusals",
    [
        [limited(5.1)],
        [limited(None)],
        [limited(1, "UNAVAILABLE")],
        [limited(1, "PERMISSION_DENIED")],
        [limited(1), limited(1)],
    ],
    ids=["long", "untold", "unavailable", "denied", "again"],
)
def test_anything_else_is_refused_as_it_was(refusals: list[WireError]) -> None:
    slept: list[float] = []
    last = refusals[-1]

    with pytest.raises(WireError) as refused:
        WaitingGateway(Refusing(*refusals), sleep=slept.append).read("resource://projects")

    assert refused.value is last
    assert len(slept) == len(refusals) - 1


def test_a_command_waits_no_more_than_half_a_minute_and_says_so_once(capsys: pytest.CaptureFixture[str]) -> None:
    slept: list[float] = []
    server = Refusing()
    gateway = WaitingGateway(server, sleep=slept.append)

    for _ in range(6):
        server.refusals = [limited(5)]
        gateway.read("resource://projects")
    server.refusals = [limited(5)]
    with pytest.raises(WireError):
        gateway.read("resource://projects")

    assert slept == [5.0] * 6
    assert capsys.readouterr().err.count("Notice: ") == 1


def test_a_command_goes_on_after_the_servers_wait(shell: Shell) -> None:
    refusal = {"error": {**LIMITED, "data": {"retry_after_s": 0.2}}}
    with ScriptedServer(answer(refusal, status=429), answer([])) as server:
        shell.set(AGENT_MAIL_URL=server.url)
        done = shell.am("projects", "list", "--json")

    assert (done.code, done.json()) == (0, [])
    assert done.err == "Notice: the server takes no more requests just now; waiting 0.2 s.\n"
    assert len(server.asked) == 2


def test_a_longer_wait_is_told_with_its_time(shell: Shell) -> None:
    below = Scripted(body=b'{"detail": "Too many requests."}', status=429, headers={"Retry-After": "9"})
    with ScriptedServer(below) as server:
        shell.set(AGENT_MAIL_URL=server.url)
        done = shell.am("projects", "list")

    assert done.code == 1
    assert done.err == "Error (RATE_LIMITED): Too many requests.\nHint: Call again in 9 s.\n"
    assert len(server.asked) == 1
