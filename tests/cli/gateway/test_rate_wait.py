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
def test_a_short_wait_is_waited_and_said(
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
        [limited(1), limited(5.1)],
    ],
    ids=["long", "untold", "unavailable", "denied", "long at last"],
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


def test_a_call_waits_again_while_others_are_faster(capsys: pytest.CaptureFixture[str]) -> None:
    """And never without a pause: a server may ask for none."""
    slept: list[float] = []
    server = Refusing(limited(0.06), limited(0.06), limited(0.5), limited(0))

    found = WaitingGateway(server, sleep=slept.append).read("resource://projects")

    assert (found, slept) == ("resource://projects", [0.06, 0.1, 0.5, 0.1])
    assert capsys.readouterr().err.count("Notice: ") == 1


def test_a_server_that_never_takes_the_call_is_left_when_the_time_is_over(capsys: pytest.CaptureFixture[str]) -> None:
    slept: list[float] = []
    server = Refusing(*(limited(0) for _ in range(1_000)))

    with pytest.raises(WireError):
        WaitingGateway(server, sleep=slept.append).read("resource://projects")

    assert 29 < sum(slept) <= 30
    assert capsys.readouterr().err.count("Notice: ") == 1


class Pieces(Refusing):
    def __init__(self, *pieces: bytes) -> None:
        super().__init__()
        self.pieces = pieces

    def download(self, slug: str, sha256: str) -> Iterator[bytes]:
        list(super().download(slug, sha256))
        yield from self.pieces


@pytest.mark.parametrize("pieces", [[], [b""], [b"", b"rest"]], ids=["none", "empty", "empty first"])
def test_a_download_has_all_its_pieces(pieces: list[bytes]) -> None:
    assert list(WaitingGateway(Pieces(*pieces)).download("app", "abc")) == pieces


@pytest.mark.parametrize("is_in_process", [True, False])
def test_whether_a_server_runs_is_as_the_gateway_says(is_in_process: bool) -> None:
    gateway = Refusing()
    gateway.is_in_process = is_in_process

    assert WaitingGateway(gateway).is_in_process is is_in_process


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


def test_a_time_without_end_is_told_as_a_refusal(shell: Shell) -> None:
    endless = "9" * 400
    body = f'{{"error": {{"type": "RATE_LIMITED", "message": "No.", "data": {{"retry_after_s": {endless}}}}}}}'
    below = Scripted(body=b'{"detail": "No."}', status=429, headers={"Retry-After": endless})
    with ScriptedServer(Scripted(body=body.encode(), status=429), below) as server:
        shell.set(AGENT_MAIL_URL=server.url)
        told = [shell.am("projects", "list") for _ in range(2)]

    assert [done.err for done in told] == [
        "Error (RATE_LIMITED): No.\n",
        "Error (RATE_LIMITED): No.\nHint: Call again in 86400 s.\n",
    ]
