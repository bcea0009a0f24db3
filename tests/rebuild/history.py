"""What one random history is made of: who is there, chances, and calls that may be refused."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.tools import Credentials
from tests.rebuild.world import ANYBODY, THE_OPERATOR, World

PROGRAM = {"program": "tests", "model": "none"}
NAMES = ("BlueLake", "RedStone", "GreenField", "QuietFox", "GreyOwl", "Zoe-2", "a_b")
LATE = "late"
"""Part of the name of a project whose agents have names that no other project's have, so that it can be adopted."""
THREADS = ("plan", "Release-1.2", "x.y")
TOPICS = ("build", "Build", "ops", "a.b")
HOUR = 3_600.0
DAY = 24 * HOUR


@dataclass(frozen=True, slots=True, kw_only=True)
class Somebody:
    """An agent as the store has it: not the overseer, nor the system."""

    name: str
    project: str
    slug: str


@dataclass(slots=True, kw_only=True)
class History:
    """`succeeded` and `refused` count calls by tool, and acts of the operator by name."""

    world: World
    chance: random.Random
    code: Path
    succeeded: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    _numbers: int = 0

    def number(self) -> int:
        """Never given before in this history."""
        self._numbers += 1
        return self._numbers

    def luck(self, share: float) -> bool:
        return self.chance.random() < share

    # Plain JSON, as the tool gives it.
    async def do(self, tool: str, credentials: Credentials = ANYBODY, /, **arguments: Any) -> Any:
        """The result; None of a refusal, which is as good as any other step: it must leave no trace."""
        try:
            result = await self.world.call(tool, credentials, **arguments)
        except AgentMailError:
            self.refused[tool] += 1
            return None
        self.succeeded[tool] += 1
        return result

    # Likewise.
    async def do_as_operator(self, tool: str, /, **arguments: Any) -> Any:
        return await self.do(tool, THE_OPERATOR, **arguments)

    async def act(self, name: str, work: Awaitable[object]) -> None:
        """Something that is no tool's, counted by its name."""
        try:
            await work
        except AgentMailError:
            self.refused[name] += 1
        else:
            self.succeeded[name] += 1

    def project(self) -> str:
        """The path of a project, or its slug; now and then of one that is set aside."""
        rows = self.world.rows("SELECT human_key, slug, archived_ts FROM projects ORDER BY id")
        open_ones = [row for row in rows if row[2] is None]
        key, slug, _ = self.chance.choice(rows if self.luck(0.05) or not open_ones else open_ones)
        return str(slug if self.luck(0.2) else key)

    def name_in(self, project: str) -> str:
        """Of an agent that is there, or may come."""
        name = self.chance.choice(NAMES)
        return f"Late{name}" if LATE in project else name

    def anybody(self, *, retired: bool = False) -> Somebody:
        """Some agent; of agents that are not retired nearly always."""
        rows = self.world.rows(
            "SELECT a.name, p.human_key, p.slug FROM agents a JOIN projects p ON p.id = a.project_id "
            "WHERE a.kind = 'agent' AND (p.archived_ts IS NULL OR ?) AND (a.retired_ts IS NULL OR ?) ORDER BY a.id",
            self.luck(0.03),
            retired or self.luck(0.03),
        )
        name, project, slug = self.chance.choice(rows)
        return Somebody(name=name, project=project, slug=slug)

    def neighbour(self, of: Somebody, *, elsewhere: float = 0.2) -> str:
        """Another agent as that one would address it: of its project mostly, else of some other."""
        if self.luck(elsewhere):
            other = self.anybody()
            return other.name if other.project == of.project else f"{other.name}@{other.slug}"
        rows = self.world.rows(
            "SELECT a.name FROM agents a JOIN projects p ON p.id = a.project_id "
            "WHERE p.human_key = ? AND a.kind = 'agent' ORDER BY a.id",
            of.project,
        )
        return str(self.chance.choice(rows)[0])

    # What SQLite gives.
    def some(self, query: str, *values: Any) -> Any:
        """One of the rows, or None."""
        rows = self.world.rows(query, *values)
        return self.chance.choice(rows) if rows else None


@dataclass(frozen=True, slots=True)
class Step:
    """Something that happens now and then, `weight` times as often as a step of weight 1. `acts` are tools, or what
    the operator does without one.
    """

    acts: tuple[str, ...]
    weight: float
    take: Callable[[History], Awaitable[None]]


def chosen(steps: Sequence[Step], chance: random.Random) -> Step:
    return chance.choices(steps, [step.weight for step in steps])[0]
