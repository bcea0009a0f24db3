"""Two servers with a crowd each, ours and the floor, whose calls wait for one event: how they are woken and weighed."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.kernel import process_tree
from benchmarks.processes import Server, cpu_s
from benchmarks.scenarios import call
from benchmarks.waiters.connections import GIVE_UP_S, Kind, Place
from benchmarks.waiters.crowd import Crowd
from benchmarks.wire import AnswerReader, McpSession, Refused, Rpc
from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.domain.agents import AgentKind, AttachmentsPolicy, NewAgent
from mcp_agent_mail.domain.projects import plain_slug, slugs_of
from mcp_agent_mail.store.engine.sqlite.connection import open_writing
from mcp_agent_mail.store.engine.sqlite.migrate import migrate
from mcp_agent_mail.store.transaction import Tx

PROJECT = "/bench/waiters"
WARM_PROJECT = "/bench/warm"
SENDER = "Sender"
WARM = 20
SETTINGS = {"CONTACT_ENFORCEMENT_ENABLED": "false"}
_LOOK_S = 0.05
_REUSED_WITHIN_S = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Woken:
    """One wake. Times in ms: each waiter's from the answer to whoever woke, or, at the floor, from the event that was
    set; `span_ms` is from the first waiter's answer to the last; `cpu_ms` of the server, sending included.
    """

    answers_ms: list[float]
    span_ms: float
    since_request_ms: float
    cpu_ms: float
    crowd_cpu_ms: float

    @property
    def last_ms(self) -> float:
        return max(self.answers_ms)


def agent_of(number: int) -> str:
    return f"Waiter{number:05d}"


def make_store(database: Path, agents: int) -> None:
    """Nothing but two projects: one with a sender and so many agents, one with WARM of them."""
    database.parent.mkdir(parents=True, exist_ok=True)
    migrate(database, fault_hook=no_fault)
    now = Micros(time.time_ns() // 1_000)
    with closing(open_writing(database)) as connection, connection:
        tx = Tx(connection, lambda: now)
        for human_key, count in ((PROJECT, agents), (WARM_PROJECT, WARM)):
            project = tx.projects.add(
                slug=slugs_of(human_key)[0], human_key=human_key, plain_slug=plain_slug(human_key), now=now
            )
            names = [(AgentKind.HUMAN, "Human"), (AgentKind.SYSTEM, "System"), (AgentKind.AGENT, SENDER)]
            for kind, name in [*names, *((AgentKind.AGENT, agent_of(number)) for number in range(count))]:
                new = NewAgent(
                    project_id=project.id,
                    kind=kind,
                    name=name,
                    program="bench",
                    model="none",
                    task_description="",
                    attachments_policy=AttachmentsPolicy.AUTO,
                    token_hash=None,
                )
                tx.agents.add(new, now)


def places(port: int, kinds: Sequence[Kind], count: int, project: str | None) -> list[Place]:
    """Each waits for an agent of its own; the kinds take turns."""
    return [
        Place(port=port, project=project, agent=agent_of(number), kind=kinds[number % len(kinds)])
        for number in range(count)
    ]


def anonymous_kib(server: Server) -> float:
    """Memory of the server's own process that no file stands behind (Linux; else 0)."""
    with suppress(OSError):
        for line in Path(f"/proc/{server.process.pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Anonymous:"):
                return float(line.split()[1])
    return 0.0


def tree_cpu_s(server: Server) -> float:
    """Of the server and its archiver."""
    return sum(cpu_s(pid) for pid in process_tree(server.process.pid))


class Waker:
    """A keep-alive connection that wakes; what comes between a wake's request and its answer is timed."""

    def __init__(self, server: Server, *, is_floor: bool, project: str = PROJECT) -> None:
        self.server = server
        self.is_floor = is_floor
        self._project = project
        self._dialect = McpSession() if is_floor else Rpc()
        self._reader = AnswerReader()
        self._socket: socket.socket | None = None
        self._used_s = 0.0

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def until_waiting(self, crowd: Crowd) -> None:
        """Have everybody of the crowd wait. Raises Refused when fewer do so for long."""
        ends = time.monotonic() + GIVE_UP_S
        crowd.ask()
        while (waiting := self.waiting()) != len(crowd.places):
            if time.monotonic() > ends:
                raise Refused(f"{waiting} wait where {len(crowd.places)} should")
            time.sleep(_LOOK_S)
            crowd.ask()

    def until_nobody(self) -> None:
        """Those whose connections were closed have left."""
        ends = time.monotonic() + GIVE_UP_S
        while waiting := self.waiting():
            if time.monotonic() > ends:
                raise Refused(f"{waiting} wait where nobody should")
            time.sleep(_LOOK_S)

    def wake_all(self, crowd: Crowd) -> Woken:
        """Everybody, by one message to all."""
        count = len(crowd.places)
        return self._wake(crowd, count, {"broadcast": True})

    def wake_one(self, crowd: Crowd, number: int) -> Woken:
        return self._wake(crowd, 1, {"to": [crowd.places[number].agent]})

    def _wake(self, crowd: Crowd, count: int, to: dict[str, Any]) -> Woken:
        self._connect()
        crowd.expect(count)
        cpu_before = cpu_s(self.server.process.pid)
        began_ns = time.perf_counter_ns()
        if self.is_floor:
            told_ns = self._call("wake")["at_ns"]
        else:
            self._call(
                "send_message", project_key=self._project, sender_name=SENDER, subject="Wake", body_md="up", **to
            )
            told_ns = time.perf_counter_ns()
        taken = crowd.taken()
        times = sorted(taken.at_ns.values())
        return Woken(
            answers_ms=[(at - told_ns) / 1e6 for at in times],
            span_ms=(times[-1] - times[0]) / 1e6,
            since_request_ms=(times[-1] - began_ns) / 1e6,
            cpu_ms=1e3 * (cpu_s(self.server.process.pid) - cpu_before),
            crowd_cpu_ms=1e3 * taken.cpu_s,
        )

    def waiting(self) -> int:
        if self.is_floor:
            return int(self._call("count")["waiting"])
        waiting = call(self.server, "health_check")["delivery"]
        return int(waiting["waits"]) + int(waiting["streams"])

    def _call(self, tool: str, **arguments: Any) -> Any:  # noqa: ANN401  # plain JSON
        self._connect()
        _, status, body = self._exchange(self._dialect.call(tool, arguments))
        if not self._dialect.is_success(status, body):
            raise Refused(f"{tool}: {status} {body[:400]!r}")
        value = json.loads(body)
        return json.loads(value["result"]["content"][0]["text"]) if self.is_floor else value

    def _connect(self) -> None:
        """Anew after a while: servers close what is idle."""
        if self._socket is not None and time.monotonic() - self._used_s < _REUSED_WITHIN_S:
            return
        self.close()
        self._socket = socket.create_connection(("127.0.0.1", self.server.port), timeout=GIVE_UP_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._dialect = McpSession() if self.is_floor else Rpc()
        for position in range(len(self._dialect.handshake())):
            head, _, _ = self._exchange(self._dialect.handshake()[position])
            if position == 0:
                self._dialect.greeted(head)
        self._used_s = time.monotonic()

    def _exchange(self, request: bytes) -> tuple[bytes, int, bytes]:
        assert self._socket is not None
        self._socket.sendall(request)
        while True:
            data = self._socket.recv(262_144)
            if not data:
                raise Refused(f"{self.server.name} closed the connection that wakes")
            if (answer := self._reader.feed(data)) is not None:
                self._used_s = time.monotonic()
                return answer.head, answer.status, answer.body
