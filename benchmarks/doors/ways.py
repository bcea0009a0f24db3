"""Mail by the door `postal` and by this server's own tools: the same letters, by two kinds of client."""

from __future__ import annotations

import random
import re
import selectors
import socket
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from benchmarks.attachments import cpu_of_process_s
from benchmarks.load import GIVE_UP_S, Client, Script
from benchmarks.mix import Pool
from benchmarks.processes import Server
from benchmarks.scenarios import PROJECT
from benchmarks.wire import Dialect, McpSession, Refused
from mcp_agent_mail.domain.doors.texts import subject_of

_ID = re.compile(rb'\\"id\\":(\d+)')
"""Of a letter, within the text of an answer: the answer's own id stands outside of it."""
_READ_BYTES = 262_144
_REUSED_WITHIN_S = 4.0


class Way(StrEnum):
    POSTAL = "postal"
    NATIVE = "native"


class Deed(StrEnum):
    SEND = "send"
    TAKE = "take"


def writer_of(way: Way, number: int) -> str:
    return f"{'Pen' if way is Way.POSTAL else 'Writer'}{number:03d}"


def reader_of(way: Way, number: int) -> str:
    return f"{'Box' if way is Way.POSTAL else 'Reader'}{number:03d}"


class PostalSends:
    """Letters to one mailbox."""

    calls_per_letter = 1

    def __init__(self, number: int, pool: Pool) -> None:
        self._to = reader_of(Way.POSTAL, number)
        self._pool, self._random = pool, random.Random(number)  # repeatable

    def next(self) -> tuple[str, str, dict[str, Any]]:
        return "send", "send_to_agent", {"name": self._to, "msg": self._random.choice(self._pool.bodies)}

    def answered(self, kind: str, body: bytes) -> None:
        """Nothing follows from an answer."""


class NativeSends:
    """The same letters, with the subject that a door gives them."""

    calls_per_letter = 1

    def __init__(self, number: int, pool: Pool) -> None:
        self._from, self._to = writer_of(Way.NATIVE, number), reader_of(Way.NATIVE, number)
        self._pool, self._random = pool, random.Random(number)  # repeatable

    def next(self) -> tuple[str, str, dict[str, Any]]:
        body = self._random.choice(self._pool.bodies)
        return (
            "send",
            "send_message",
            {
                "project_key": PROJECT,
                "sender_name": self._from,
                "to": [self._to],
                "subject": subject_of(body),
                "body_md": body,
            },
        )

    def answered(self, kind: str, body: bytes) -> None:
        """Nothing follows from an answer."""


class PostalTakes:
    """The oldest letter of a mailbox, one after the other."""

    calls_per_letter = 1

    def next(self) -> tuple[str, str, dict[str, Any]]:
        return "take", "check_mail", {}

    def answered(self, kind: str, body: bytes) -> None:  # noqa: ARG002  # the protocol has the kind
        if b"from_agent" not in body:
            raise Refused(f"a mailbox had no letter any more: {body[:300]!r}")


class NativeTakes:
    """One unread letter with its text, and then the mark that it was read."""

    calls_per_letter = 2

    def __init__(self, number: int) -> None:
        self._who = {"project_key": PROJECT, "agent_name": reader_of(Way.NATIVE, number)}
        self._found: int | None = None

    def next(self) -> tuple[str, str, dict[str, Any]]:
        if self._found is None:
            return "fetch", "fetch_inbox", {**self._who, "limit": 1, "unread_only": True, "include_bodies": True}
        return "mark", "mark_message_read", {**self._who, "message_id": self._found}

    def answered(self, kind: str, body: bytes) -> None:
        if kind == "mark":
            self._found = None
            return
        found = _ID.search(body)
        if found is None:
            raise Refused(f"an inbox had no letter any more: {body[:300]!r}")
        self._found = int(found[1])


Letters = PostalSends | NativeSends | PostalTakes | NativeTakes
"""What one client does: `calls_per_letter` calls for each letter."""


def clients_of(way: Way, deed: Deed, number: int, pool: Pool) -> tuple[Dialect, Letters]:
    """The client of this number: the connection by which it calls, and what it does."""
    if way is Way.NATIVE:
        return McpSession(), NativeSends(number, pool) if deed is Deed.SEND else NativeTakes(number)
    if deed is Deed.SEND:
        return McpSession(f"/agents/{writer_of(way, number)}/mcp"), PostalSends(number, pool)
    return McpSession(f"/agents/{reader_of(way, number)}/mcp"), PostalTakes()


@dataclass(slots=True)
class Batch:
    """So many letters: the time on the wall, the server's CPU, and the time of each call by its kind."""

    letters: int
    wall_s: float
    cpu_s: float
    calls_ms: dict[str, list[float]]

    def add(self, other: Batch) -> None:
        self.letters += other.letters
        self.wall_s += other.wall_s
        self.cpu_s += other.cpu_s
        for kind, taken in other.calls_ms.items():
            self.calls_ms.setdefault(kind, []).extend(taken)

    @property
    def p50_ms(self) -> float:
        """Of a letter: where it takes two calls, of both together."""
        return sum(sorted(taken)[len(taken) // 2] for taken in self.calls_ms.values())

    @property
    def wall_ms(self) -> float:
        """On the wall, of a letter."""
        return 1e3 * self.wall_s / self.letters

    @property
    def cpu_us(self) -> float:
        return 1e6 * self.cpu_s / self.letters


class Callers:
    """Sessions that stay open, each with one call in flight while a batch runs. Connections that were idle for a while
    are made anew before a batch: servers close them.
    """

    def __init__(self, server: Server, clients: Sequence[tuple[Dialect, Letters]]) -> None:
        self._server = server
        self._clients = [_Counted(server.port, dialect, letters) for dialect, letters in clients]

    def close(self) -> None:
        for one in self._clients:
            one.client.close()

    def run(self, each: int) -> Batch:
        """Every client deals with exactly so many letters. Raises Refused where a call fails."""
        pid = self._server.process.pid
        calls_ms: dict[str, list[float]] = defaultdict(list)
        for one in self._clients:
            one.refresh()
        with selectors.DefaultSelector() as selector:
            cpu_before, began = cpu_of_process_s(pid), time.perf_counter()
            for one in self._clients:
                one.begin(each)
                selector.register(one.client.socket, selectors.EVENT_READ, one)
            while selector.get_map():
                _turn(selector, calls_ms)
            wall_s, cpu_s = time.perf_counter() - began, cpu_of_process_s(pid) - cpu_before
        return Batch(each * len(self._clients), wall_s, cpu_s, dict(calls_ms))


class _Counted:
    """A client that has so many calls left."""

    def __init__(self, port: int, dialect: Dialect, letters: Letters) -> None:
        script: Script = letters
        self.client = Client(port, dialect, script)
        self._port = port
        self._per_letter = letters.calls_per_letter
        self._used_s = time.monotonic()
        self.left = 0

    def refresh(self) -> None:
        """The session goes on over another connection where this one was not used for long."""
        if time.monotonic() - self._used_s > _REUSED_WITHIN_S:
            self.client.close()
            self.client.socket = socket.create_connection(("127.0.0.1", self._port), timeout=GIVE_UP_S)
            self.client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._used_s = time.monotonic()

    def begin(self, letters: int) -> None:
        self.left = letters * self._per_letter - 1
        self.client.send()


def _turn(selector: selectors.BaseSelector, calls_ms: dict[str, list[float]]) -> None:
    ready = selector.select(timeout=GIVE_UP_S)
    if not ready:
        raise Refused(f"no answer within {GIVE_UP_S:g} s")
    for key, _ in ready:
        one: _Counted = key.data
        client = one.client
        data = client.socket.recv(_READ_BYTES)
        if not data:
            raise Refused(f"the server closed a connection during {client.kind}")
        answer = client.reader.feed(data)
        if answer is None:
            continue
        calls_ms[client.kind].append((time.perf_counter_ns() - client.sent_ns) / 1e6)
        if not client.dialect.is_success(answer.status, answer.body):
            raise Refused(f"{client.kind}: {answer.status} {answer.body[:400]!r}")
        client.script.answered(client.kind, answer.body)
        if one.left:
            one.left -= 1
            client.send()
        else:
            selector.unregister(client.socket)


def to_and_fro(batches: Sequence[Callable[[], Batch]]) -> list[Batch]:
    """Each runs twice, the second time in the other order, so that what drifts meets all alike."""
    made = [run() for run in batches]
    for position, run in reversed(list(enumerate(batches))):
        made[position].add(run())
    return made
