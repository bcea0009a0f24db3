"""One client at work: who it is, how it asks, what it notes."""

from __future__ import annotations

import http.client
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.crash.record import Cell, Record, Value
from tests.served import Answer, Connection

PROJECTS = ("/crash/one", "/crash/two")
NAMES = ("BlueLake", "RedStone", "GrayFox", "GreenCastle")
WITHOUT_PROJECT = ("ensure_project", "ensure_product", "macro_start_session")
REFUSALS_OF_A_DYING_SERVER = (http.client.SERVICE_UNAVAILABLE,)


class Actor:
    """`me` sends mail and is shared with other clients; `mine` is an agent that this client alone changes."""

    def __init__(self, record: Record, root: Path, number: int, seed: int) -> None:
        self.record = record
        self.number = number
        self.chance = random.Random(f"{seed}-{number}")
        self.project = PROJECTS[number % len(PROJECTS)]
        self.me = NAMES[number // len(PROJECTS) % len(NAMES)]
        self.mine = f"Side{number}"
        self.held: list[str] = []
        self.slots: list[str] = []
        self.files = root.parent / "files"
        self._root = root
        self._tag = f"{seed}x{number}"
        self._count = 0

    def unique(self) -> str:
        """Never given to anybody else."""
        self._count += 1
        return f"{self._tag}x{self._count}"

    def ask(self, connection: Connection, tool: str, /, **arguments: Any) -> Any:
        """The result, or None when a stopping server said so; anything else fails the round."""
        if tool not in WITHOUT_PROJECT:
            arguments = {"project_key": self.project, **arguments}
        return self._answer(tool, connection.rpc(tool, arguments))

    def ask_from(self, window: str, connection: Connection, tool: str, /, **arguments: Any) -> Any:
        """As `ask`, from a window."""
        arguments = {"project_key": self.project, **arguments}
        return self._answer(tool, connection.rpc(tool, arguments, **{"X-Agent-Window": window}))

    def ask_as_operator(self, connection: Connection, tool: str, /, **arguments: Any) -> Any:
        return self.ask_of_store(connection, tool, project_key=self.project, **arguments)

    def ask_of_store(self, connection: Connection, tool: str, /, **arguments: Any) -> Any:
        """As the operator, about what is of no project."""
        token = (self._root / "operator.token").read_text().strip()
        return self._answer(tool, connection.rpc(tool, arguments, Authorization=f"Bearer {token}"))

    def change(self, connection: Connection, tool: str, cell: Cell, value: Value, /, **arguments: Any) -> Any:
        """A call that makes `value` the last one of a cell."""
        self.record.begin(cell, value)
        result = self.ask(connection, tool, **arguments)
        if result is not None:
            self.record.settle(cell, value)
        return result

    def _answer(self, tool: str, answer: Answer) -> Any:
        if answer.status in REFUSALS_OF_A_DYING_SERVER:
            return None
        assert answer.status == http.client.OK, f"{tool}: {answer.status} {answer.value!r:.500}"
        self.record.count(tool)
        return answer.value


@dataclass(frozen=True, slots=True)
class Step:
    """Something that a client does now and then, `weight` times as often as a step of weight 1."""

    tools: tuple[str, ...]
    weight: int
    act: Callable[[Actor, Connection], None]
