"""Concurrent agents at work until the server dies under them."""

from __future__ import annotations

import http.client
import random
import threading
from collections.abc import Sequence
from typing import Any

from tests.crash.record import Record, Sent
from tests.served import Answer, Connection, Served

PROJECTS = ("/crash/one", "/crash/two")
NAMES = ("BlueLake", "RedStone", "GrayFox", "GreenCastle")
REFUSALS_OF_A_DYING_SERVER = (http.client.SERVICE_UNAVAILABLE,)


def set_up(server: Served, record: Record) -> None:
    with server.connect() as connection:
        for project in PROJECTS:
            connection.call("ensure_project", human_key=project)
            for name in NAMES:
                agent = connection.call("register_agent", project_key=project, program="tests", model="none", name=name)
                record.add_agent(project, agent["name"], agent["id"])


class Agent(threading.Thread):
    """Sends, replies, reads, acknowledges and registers; notes only what was answered with success."""

    def __init__(self, server: Served, record: Record, number: int, seed: int) -> None:
        super().__init__(daemon=True)
        self._server = server
        self._record = record
        self._random = random.Random(seed)
        self._project = PROJECTS[number % len(PROJECTS)]
        self._me = NAMES[number // len(PROJECTS) % len(NAMES)]
        self._tag = f"{seed}-{number}"
        self._count = 0
        self._leave = threading.Event()

    def leave(self) -> None:
        self._leave.set()

    def run(self) -> None:
        steps = (self._send, self._send, self._send, self._reply, self._read, self._acknowledge, self._register)
        try:
            with self._server.connect() as connection:
                while not self._leave.is_set():
                    self._random.choice(steps)(connection)
        except (OSError, http.client.HTTPException):
            return  # killed under us, which is the point
        except AssertionError as unexpected:
            self._record.add_unexpected(str(unexpected))

    def _ask(self, connection: Connection, tool: str, **arguments: Any) -> Any:
        """The result, or None when a stopping server said so; anything else fails the round."""
        answer: Answer = connection.rpc(tool, {"project_key": self._project, **arguments})
        if answer.status in REFUSALS_OF_A_DYING_SERVER:
            return None
        assert answer.status == http.client.OK, f"{tool}: {answer.status} {answer.value!r:.500}"
        return answer.value

    def _note(self, payload: dict[str, Any], body: str) -> None:
        names = tuple(dict.fromkeys([*payload["to"], *payload["cc"], *payload["bcc"]]))
        self._record.add_sent(Sent(payload["id"], self._project, self._me, names, payload["subject"], body))

    def _body(self) -> str:
        self._count += 1
        return f"message {self._tag}-{self._count} " + "word " * self._random.randint(0, 200)

    def _send(self, connection: Connection) -> None:
        body = self._body()
        others = self._random.sample(NAMES, self._random.randint(1, 3))
        extra = {"bcc": [self._random.choice(NAMES)]} if self._random.random() < 0.2 else {}
        result = self._ask(
            connection,
            "send_message",
            sender_name=self._me,
            to=others,
            subject=f"From {self._tag}",
            body_md=body,
            ack_required=self._random.random() < 0.5,
            **extra,
        )
        if result is not None:
            self._note(result["deliveries"][0]["payload"], body)

    def _own_inbox(self, connection: Connection) -> Sequence[dict[str, Any]]:
        return self._ask(connection, "fetch_inbox", agent_name=self._me, limit=20) or []

    def _reply(self, connection: Connection) -> None:
        if not (inbox := self._own_inbox(connection)):
            return
        body = self._body()
        message_id = self._random.choice(inbox)["id"]
        result = self._ask(connection, "reply_message", message_id=message_id, sender_name=self._me, body_md=body)
        if result is not None:
            self._note(result, body)

    def _read(self, connection: Connection) -> None:
        for item in self._own_inbox(connection)[:1]:
            result = self._ask(connection, "mark_message_read", agent_name=self._me, message_id=item["id"])
            if result is not None:
                self._record.add_read(self._project, self._me, item["id"], result["read_at"])

    def _acknowledge(self, connection: Connection) -> None:
        for item in self._own_inbox(connection)[1:2]:
            result = self._ask(connection, "acknowledge_message", agent_name=self._me, message_id=item["id"])
            if result is not None:
                self._record.add_acknowledged(self._project, self._me, item["id"], result["acknowledged_at"])

    def _register(self, connection: Connection) -> None:
        if self._random.random() > 0.1:
            return
        name = f"Late{self._random.choice(NAMES)}{self._random.randint(0, 9_999)}"
        result = self._ask(connection, "register_agent", program="tests", model="none", name=name)
        if result is not None:
            self._record.add_agent(self._project, result["name"], result["id"])
