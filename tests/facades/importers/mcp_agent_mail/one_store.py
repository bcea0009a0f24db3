"""A generated store that was read once, as the tests of its parts look at it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from mcp_agent_mail.domain.importing.records import (
    SourceAgent,
    SourceLease,
    SourceLink,
    SourceMessage,
    SourceProduct,
    SourceProject,
    SourceStore,
)
from mcp_agent_mail.facades.importers.sources import open_source
from tests.facades.importers.mcp_store import SCHEMA


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeStore:
    """All that a reader gave. `left` has the counts by kind, all reasons together."""

    store: SourceStore
    projects: list[SourceProject]
    agents: dict[str, SourceAgent]
    messages: list[SourceMessage]
    leases: list[SourceLease]
    links: list[SourceLink]
    products: list[SourceProduct]
    left: dict[str, int]
    notes: list[str]

    def message(self, subject: str) -> SourceMessage:
        (found,) = (one for one in self.messages if one.subject == subject)
        return found


def read_whole(path: Path, archive: Path | None = None) -> WholeStore:
    """In the order in which a reader is asked, which it is at most once for each."""
    with open_source("mcp-agent-mail", path, archive=archive) as reader:
        store, projects = reader.store(), list(reader.projects())
        agents = list(reader.agents())
        messages, leases, links = list(reader.messages()), list(reader.leases()), list(reader.links())
        products = list(reader.products())
        left: dict[str, int] = {}
        for one in reader.left_out():
            left[str(one.kind)] = left.get(str(one.kind), 0) + one.count
        notes = [one.text for one in reader.notes()]
    assert len({agent.key for agent in agents}) == len(agents)
    assert len({message.key for message in messages}) == len(messages)
    return WholeStore(
        store=store,
        projects=projects,
        agents={agent.key: agent for agent in agents},
        messages=messages,
        leases=leases,
        links=links,
        products=products,
        left=left,
        notes=notes,
    )


@contextmanager
def database_of(path: Path, *, schema: str = SCHEMA) -> Iterator[sqlite3.Connection]:
    """An empty one, or with another schema, that is whole at the end."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(schema)
        with connection:
            yield connection


def add_mail(
    connection: sqlite3.Connection, number: int, *, sender: int = 1, to: int = 2, thread: str | None = None,
    subject: str | None = None, attachments: str = "[]", project: int = 1,
) -> None:  # fmt: skip
    """At a second that follows from the number."""
    created = f"2026-03-01 08:{number // 60:02d}:{number % 60:02d}.000000"
    connection.execute(
        "INSERT INTO messages VALUES (?, ?, ?, ?, NULL, ?, 'body', 'normal', 0, ?, ?)",
        (number, project, sender, thread, subject or f"s{number}", created, attachments),
    )
    connection.execute("INSERT INTO message_recipients VALUES (?, ?, 'to', NULL, NULL)", (number, to))


def add_people(connection: sqlite3.Connection, *names: str, project: int = 1, first: int = 1) -> None:
    """The project too, where it is not there."""
    connection.execute(
        "INSERT OR IGNORE INTO projects VALUES (?, ?, ?, '2026-03-01 07:00:00')",
        (project, f"app-{project}", f"/data/{project}"),
    )
    for number, name in enumerate(names, first):
        connection.execute(
            "INSERT INTO agents VALUES "
            "(?, ?, ?, 'codex', 'gpt', '', '2026-03-01 07:00:00', NULL, 'auto', 'auto', NULL)",
            (number, project, name),
        )
