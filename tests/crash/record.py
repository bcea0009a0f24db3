"""What the clients were told, kept outside the server: the standard every restart is held against."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Sent:
    """A send or reply that was answered with success. `recipients` are names in the same project."""

    message_id: int
    project: str
    sender: str
    recipients: tuple[str, ...]
    subject: str
    body: str


@dataclass(slots=True)
class Record:
    """Filled by many threads, read when they have ended."""

    sent: list[Sent] = field(default_factory=list)
    read: dict[tuple[str, str, int], str] = field(default_factory=dict)
    acknowledged: dict[tuple[str, str, int], str] = field(default_factory=dict)
    agents: dict[tuple[str, str], int] = field(default_factory=dict)
    unexpected: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add_sent(self, sent: Sent) -> None:
        with self._lock:
            self.sent.append(sent)

    def add_read(self, project: str, agent: str, message_id: int, at: str) -> None:
        with self._lock:
            self.read.setdefault((project, agent, message_id), at)

    def add_acknowledged(self, project: str, agent: str, message_id: int, at: str) -> None:
        with self._lock:
            self.acknowledged.setdefault((project, agent, message_id), at)

    def add_agent(self, project: str, name: str, agent_id: int) -> None:
        with self._lock:
            self.agents[(project, name)] = agent_id

    def add_unexpected(self, what: str) -> None:
        with self._lock:
            self.unexpected.append(what)
