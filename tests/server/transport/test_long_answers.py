"""A long answer that our kernel holds as a whole: it is sent when the client's has taken it, and only then."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest

from mcp_agent_mail.core.concurrency.hearing import SentPromise, current_hearing
from mcp_agent_mail.core.tools import Json, tool
from mcp_agent_mail.server.transport import answers, connection_limits
from tests.server.hosted import hosted, toy_app
from tests.server.transport.test_answers import LOOPS, calling, look_round, read, read_through
from tests.server.transport.test_protocol import ENDS_WITHIN_S

LONG = 400_000
"""More than a client takes that keeps little, and less than our kernel does."""
SHORTLY_S = 0.2
CLOSES = pytest.mark.parametrize("more", [b"", b"Connection: close\r\n"], ids=["kept", "closed"])

Scenario = Callable[[str, list[str]], Awaitable[None]]


def served(new_loop: Any, scenario: Scenario) -> list[str]:
    """What became of the answers when the scenario has ended."""
    told: list[str] = []

    async def long() -> Json:
        """Answer at length."""
        current_hearing().once_sent(SentPromise(sent=lambda: told.append("sent"), cut=lambda: told.append("cut")))
        return {"text": "x" * LONG}

    async def proven() -> Json:
        """Answer at length, and hear whether it was read."""
        words = {name: partial(told.append, name) for name in ("sent", "cut", "read", "unread")}
        current_hearing().once_sent(SentPromise(**words))
        return {"text": "x" * LONG}

    async def live() -> None:
        app = toy_app(
            more_tools=(tool(long, cluster="toys", title="Long"), tool(proven, cluster="toys", title="Proven"))
        )
        async with hosted(app) as url:
            await scenario(url, told)

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(live())
    return told


async def _until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(ENDS_WITHIN_S):
        while not is_so():  # noqa: ASYNC110  # nobody tells of it
            await asyncio.sleep(0.01)


def _counted_sweeps(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows with each sweep of the limiter, which is when whoever has had its time is let go."""
    sweeps: list[int] = []
    sweep = connection_limits.ConnectionLimiter.sweep

    def counted(limiter: connection_limits.ConnectionLimiter) -> None:
        sweep(limiter)
        sweeps.append(1)

    monkeypatch.setattr(connection_limits.ConnectionLimiter, "sweep", counted)
    return sweeps


@LOOPS
@CLOSES
@pytest.mark.parametrize("took_bytes", [0, 5_000, 100_000])
def test_what_a_client_leaves_unread_was_not_sent(new_loop: Any, more: bytes, took_bytes: int) -> None:
    async def scenario(url: str, told: list[str]) -> None:
        raw = await calling(url, b"long", more=more)
        await read_through(raw, b"\r\n\r\n")
        await read(raw, took_bytes)
        await look_round(url)
        assert told == []
        raw.close()
        await _until(lambda: bool(told))

    assert served(new_loop, scenario) == ["cut"]


@LOOPS
@CLOSES
def test_who_takes_it_late_has_all_of_it_and_it_was_sent(
    new_loop: Any, more: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_limits, "GONE_WITHIN_S", SHORTLY_S)
    taken, sweeps = list[int](), _counted_sweeps(monkeypatch)

    async def scenario(url: str, told: list[str]) -> None:
        raw = await calling(url, b"long", more=more)
        await read_through(raw, b"\r\n\r\n")
        swept = len(sweeps)
        await _until(lambda: len(sweeps) >= swept + 2)
        assert told == []
        taken.append(len(await read(raw, LONG + len(b'{"text":""}'))))
        await _until(lambda: bool(told))
        raw.close()
        await look_round(url)

    assert (served(new_loop, scenario), taken) == (["sent"], [LONG + len(b'{"text":""}')])


@LOOPS
@CLOSES
def test_who_takes_nothing_for_too_long_is_let_go_and_it_was_not_sent(
    new_loop: Any, more: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_limits, "TAKEN_WITHIN_S", SHORTLY_S)

    async def scenario(url: str, told: list[str]) -> None:
        raw = await calling(url, b"long", more=more)
        await _until(lambda: bool(told))
        raw.close()

    assert served(new_loop, scenario) == ["cut"]


@LOOPS
@CLOSES
def test_who_takes_some_of_it_in_that_time_has_it_again(
    new_loop: Any, more: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_limits, "TAKEN_WITHIN_S", SHORTLY_S)
    sweeps = _counted_sweeps(monkeypatch)

    async def scenario(url: str, told: list[str]) -> None:
        raw = await calling(url, b"long", more=more)
        await read_through(raw, b"\r\n\r\n")
        for _ in range(3):
            await read(raw, 2 * connection_limits.TAKEN_AT_LEAST_BYTES)
            swept = len(sweeps)
            await _until(lambda swept=swept: len(sweeps) > swept)  # type: ignore[misc]  # bound at once
        await read(raw, LONG + len(b'{"text":""}') - 6 * connection_limits.TAKEN_AT_LEAST_BYTES)
        await _until(lambda: bool(told))
        raw.close()

    assert served(new_loop, scenario) == ["sent"]


@LOOPS
def test_who_has_all_of_it_and_ends_at_once_has_read_it(new_loop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "LOOK_AGAIN_S", ENDS_WITHIN_S * 10)

    async def scenario(url: str, told: list[str]) -> None:
        raw = await calling(url, b"proven")
        await read_through(raw, b"\r\n\r\n")
        await read(raw, LONG + len(b'{"text":""}'))
        assert told == []
        raw.close()
        await _until(lambda: len(told) > 1)

    assert served(new_loop, scenario) == ["sent", "read"]


@LOOPS
def test_who_has_all_of_it_and_asks_again_at_once_has_read_it_unless_it_resets_then(
    new_loop: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "LOOK_AGAIN_S", ENDS_WITHIN_S * 10)

    async def scenario(url: str, told: list[str]) -> None:
        raw = await calling(url, b"proven")
        await read_through(raw, b"\r\n\r\n")
        await read(raw, LONG + len(b'{"text":""}'))
        await asyncio.get_running_loop().sock_sendall(raw, b"POST /rpc/")
        await _until(lambda: len(told) > 1)
        assert told == ["sent", "read"]
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raw.close()
        await _until(lambda: len(told) > 2)
        await look_round(url)

    assert served(new_loop, scenario) == ["sent", "read", "unread"]


@LOOPS
def test_who_has_taken_it_and_stays_is_let_go(new_loop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_limits, "GONE_WITHIN_S", SHORTLY_S)

    async def scenario(url: str, told: list[str]) -> None:
        raw = await calling(url, b"long", more=b"Connection: close\r\n")
        await read_through(raw, b"\r\n\r\n")
        await read(raw, 2 * LONG)
        await _until(lambda: bool(told))
        with pytest.raises(ConnectionError):
            await _go_on_sending(raw)
        raw.close()

    assert served(new_loop, scenario) == ["sent"]


async def _go_on_sending(raw: socket.socket) -> None:
    async with asyncio.timeout(ENDS_WITHIN_S):
        while True:
            await asyncio.get_running_loop().sock_sendall(raw, b"x")
            await asyncio.sleep(0.01)
