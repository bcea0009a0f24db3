"""What there is to ask about, as the database of a store has it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_agent_mail.core.clock import Micros, iso

_PROJECTS = "SELECT id, human_key, slug FROM projects ORDER BY id"
_AGENTS = (
    "SELECT a.name, a.kind, p.human_key, p.slug FROM agents a JOIN projects p ON p.id = a.project_id ORDER BY a.id"
)
_MAIL = """
    SELECT DISTINCT m.message_id, p.human_key, m.thread_id FROM message_projects m
    JOIN projects p ON p.id = m.project_id ORDER BY m.message_id, p.id
"""
_CONTENTS = """
    SELECT DISTINCT c.sha256, p.human_key, p.slug FROM content_messages c
    JOIN message_projects m ON m.message_id = c.message_id JOIN projects p ON p.id = m.project_id ORDER BY 1, 2
"""
_PLACES = "SELECT DISTINCT path_pattern, p.human_key FROM leases l JOIN projects p ON p.id = l.project_id ORDER BY 1, 2"
_ADOPTERS = "SELECT human_key FROM projects WHERE id IN (SELECT project_id FROM project_aliases WHERE kind = 'former')"
_HELD_BLIND = "SELECT message_id FROM recipients WHERE kind = 'bcc' AND held_code IS NOT NULL"
_TIMES = "SELECT created_ts FROM messages ORDER BY id"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFacts:
    name: str
    kind: str
    project: str
    slug: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Projects as (key, slug), mail as (id, project, thread), contents as (sha256, project, slug), leases as (pattern,
    project). `adopters`: keys of projects that another has become part of; `held_blind`: ids of messages with a blind
    copy that was held.
    """

    projects: tuple[tuple[str, str], ...]
    agents: tuple[AgentFacts, ...]
    mail: tuple[tuple[int, str, str | None], ...]
    contents: tuple[tuple[str, str, str], ...]
    leased: tuple[tuple[str, str], ...]
    products: tuple[str, ...]
    aliases: tuple[str, ...]
    times: tuple[str, ...]
    adopters: frozenset[str]
    held_blind: frozenset[int]

    def threads(self) -> Iterator[tuple[str, str]]:
        """Each thread of each project, and what would be one if it were answered."""
        yield from sorted({(thread or str(number), project) for number, project, thread in self.mail})


# Rows as SQLite gives them.
def facts_of(database: Path) -> Facts:
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:

        def rows(query: str) -> list[Any]:
            return connection.execute(query).fetchall()

        times = [time for (time,) in rows(_TIMES)]
        return Facts(
            projects=tuple((key, slug) for _, key, slug in rows(_PROJECTS)),
            agents=tuple(
                AgentFacts(name=name, kind=kind, project=key, slug=slug) for name, kind, key, slug in rows(_AGENTS)
            ),
            mail=tuple(rows(_MAIL)),
            contents=tuple(rows(_CONTENTS)),
            leased=tuple(rows(_PLACES)),
            products=tuple(name for (name,) in rows("SELECT name FROM products ORDER BY id")),
            aliases=tuple(name for (name,) in rows("SELECT alias FROM project_aliases ORDER BY alias")),
            adopters=frozenset(key for (key,) in rows(_ADOPTERS)),
            held_blind=frozenset(number for (number,) in rows(_HELD_BLIND)),
            times=tuple(iso(Micros(time)) for time in times[len(times) // 2 :][:1]),
        )
