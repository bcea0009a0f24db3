"""Servers that are never silent, and never done."""

from __future__ import annotations

import socket
from collections.abc import Callable

import pytest

from mcp_agent_mail.cli.commands import status
from mcp_agent_mail.cli.exit_codes import NoServer
from mcp_agent_mail.cli.gateway.http import HttpGateway, Server, Stranger
from mcp_agent_mail.cli.gateway.timed_answer import MAX_HEAD_BYTES, AnswerTime, HeadTooLong
from tests.cli.dripping_server import CONTINUE, HEAD, dripping
from tests.cli.shell import Shell

WITHIN_S = 0.3
ENDLESS = [(CONTINUE, CONTINUE), (b"", b"H"), (HEAD, b" "), (b"HTTP/1.1 200 OK\r\n", b"X-More: 1\r\n")]
WAYS: list[Callable[[HttpGateway], object]] = [
    lambda gateway: gateway.call("whois", {}),
    lambda gateway: gateway.read("resource://projects"),
    lambda gateway: gateway.page("/metrics", at_most=2_000_000),
]


@pytest.mark.parametrize("ask", WAYS, ids=["call", "read", "page"])
@pytest.mark.parametrize(("first", "piece"), ENDLESS, ids=["continue", "status", "body", "head"])
def test_an_answer_that_goes_on_for_ever_did_not_come_in_time(
    first: bytes, piece: bytes, ask: Callable[[HttpGateway], object]
) -> None:
    with dripping(first, piece, pieces=40) as url:
        gateway = HttpGateway(Server(url=url), answer_timeout_s=WITHIN_S)
        with pytest.raises(NoServer) as late:
            ask(gateway)

    assert late.value.message == f"{url} did not answer in time."


def test_answers_before_the_answer_have_an_end() -> None:
    """However fast they come: nothing else would end them before the time does."""
    with dripping(CONTINUE * (MAX_HEAD_BYTES // len(CONTINUE) + 1_000), b"", pieces=0) as url:
        gateway = HttpGateway(Server(url=url))
        with pytest.raises(Stranger) as endless:
            gateway.call("whois", {})

    assert "(more than a server of ours ever answers)" in endless.value.message


def test_an_answer_before_the_answer_is_none() -> None:
    with dripping(CONTINUE * 3, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", pieces=1, last=b"[]") as url:
        gateway = HttpGateway(Server(url=url))
        found = gateway.call("whois", {})
        gateway.close()

    assert found == []


def test_a_download_takes_longer_while_something_comes_of_it() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n"
    with dripping(head, b"x", pieces=40) as url:
        pieces = list(HttpGateway(Server(url=url), answer_timeout_s=WITHIN_S).download("app", "abc"))

    assert b"".join(pieces) == b"x" * 40


def test_a_download_that_stops_or_whose_head_never_comes_is_told() -> None:
    for first, piece, every_s in ((HEAD + b"x", b"", 1.0), (CONTINUE, CONTINUE, 0.02)):
        with dripping(first, piece, pieces=40, every_s=every_s) as url, pytest.raises(NoServer) as stopped:
            list(HttpGateway(Server(url=url), answer_timeout_s=WITHIN_S).download("app", "abc"))
        assert stopped.value.message == f"{url} did not answer in time."


def test_commands_end_beside_such_a_server(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status, "_ANSWER_TIMEOUT_S", WITHIN_S)
    with dripping(CONTINUE, CONTINUE, pieces=200) as url:
        shell.set(AGENT_MAIL_URL=url)
        done = shell.am("status", "--json")

    assert (done.code, done.json()["problem"]) == (69, f"{url} did not answer in time.")


class Pair:
    """An answer that is read with a clock of its own: each look at it takes `step_s`."""

    def __init__(self, step_s: float) -> None:
        self.ours, self.theirs = socket.socketpair()
        self.time = 0.0
        self.step_s = step_s
        self.answer_time = AnswerTime(10, now=self._now)

    def _now(self) -> float:
        self.time += self.step_s
        return self.time

    def read(self, content: bytes) -> int:
        self.theirs.sendall(content)
        return self.answer_time.read_into(bytearray(len(content)), self.ours)

    def close(self) -> None:
        self.ours.close()
        self.theirs.close()


@pytest.mark.parametrize(("is_download", "reads"), [(False, 4), (True, 20)])
def test_pieces_of_a_download_alone_have_each_the_time_of_an_answer(is_download: bool, reads: int) -> None:
    pair = Pair(step_s=2)
    pair.answer_time.begin()
    pair.answer_time.end_head(is_download=is_download)

    read = 0
    try:
        while read < 20:
            read += pair.read(b"x")
    except TimeoutError:
        pass
    finally:
        pair.close()

    assert read == reads


def test_only_a_head_is_bounded_and_each_answers_anew() -> None:
    pair = Pair(step_s=0)
    piece = b"x" * (MAX_HEAD_BYTES // 16)
    try:
        for _ in range(2):
            pair.answer_time.begin()
            assert sum(pair.read(piece) for _ in range(16)) == MAX_HEAD_BYTES
        with pytest.raises(HeadTooLong):
            pair.read(b"x")
        pair.answer_time.end_head()
        assert pair.read(b"x") == 1
    finally:
        pair.close()
