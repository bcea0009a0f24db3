"""Real stores with projects and agents in them, for tests of mail."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import token_hash
from mcp_agent_mail.domain.agents import Agent, AgentKind, AttachmentsPolicy, NewAgent
from mcp_agent_mail.domain.messages import Importance, Message, NewMessage, NewRecipient, Recipient, RecipientKind
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import Tx, View
from tests.store_templates import StoreTemplate, make_template


@dataclass
class SetClock:
    """A clock that moves when told."""

    now: Micros = field(default=Micros(1_800_000_000 * SECOND))

    def __call__(self) -> Micros:
        return self.now

    def step(self, seconds: float = 1.0) -> None:
        """Forward, or back when negative."""
        self.now = Micros(self.now + int(seconds * SECOND))


def token_of(name: str, project: Project) -> str:
    return f"amt_{name}_{project.id}"


def add_project(tx: Tx, path: str) -> Project:
    slug = path.strip("/").replace("/", "-")
    project = tx.projects.add(slug=slug, human_key=path, plain_slug=slug, now=tx.now)
    add_agent(tx, project, "Human", AgentKind.HUMAN)
    add_agent(tx, project, "System", AgentKind.SYSTEM)
    return project


def add_agent(tx: Tx, project: Project, name: str, kind: AgentKind = AgentKind.AGENT) -> Agent:
    new = NewAgent(
        project_id=project.id,
        kind=kind,
        name=name,
        program="test",
        model="test",
        task_description="",
        attachments_policy=AttachmentsPolicy.AUTO,
        token_hash=token_hash(token_of(name, project)) if kind is AgentKind.AGENT else None,
    )
    return tx.agents.add(new, tx.now)


@dataclass
class SeededStore:
    """A store with two projects: `app` has BlueLake, RedStone, GreenField, `lib` has QuietFox and another BlueLake."""

    store: Store
    clock: SetClock
    app: Project
    lib: Project
    blue: Agent
    red: Agent
    green: Agent
    fox: Agent
    lib_blue: Agent

    def letter(
        self,
        sender: Agent,
        *,
        body: str = "body",
        importance: Importance = Importance.NORMAL,
        ack_required: bool = False,
        thread_id: str | None = None,
        topic: str | None = None,
    ) -> NewMessage:
        return NewMessage(
            sender=sender,
            project=self.project_of(sender),
            thread_id=thread_id,
            topic=topic,
            subject="Plan",
            body_md=body,
            importance=importance,
            ack_required=ack_required,
            reply_to=None,
        )

    def addressed(self, agents: Sequence[Agent], kind: RecipientKind = RecipientKind.TO) -> list[NewRecipient]:
        return [NewRecipient(agent=agent, project=self.project_of(agent), kind=kind) for agent in agents]

    def project_of(self, agent: Agent) -> Project:
        return self.app if agent.project_id == self.app.id else self.lib

    async def rows(self, sql: str, *values: object) -> list[Any]:
        return await self.store.long_read(lambda connection, _: connection.execute(sql, values).fetchall())

    async def post(self, new: NewMessage, *recipients: NewRecipient) -> tuple[Message, list[Recipient]]:
        """Store a message as the store alone does it, without any of the checks of a send."""
        return await self.store.write(lambda tx: tx.messages.add(new, recipients, tx.now))


_AGENTS = {"/code/app": ("BlueLake", "RedStone", "GreenField"), "/code/lib": ("QuietFox", "BlueLake")}


def _seed(tx: Tx) -> None:
    """Both projects first, as their ids tell."""
    projects = [(add_project(tx, path), names) for path, names in _AGENTS.items()]
    for project, names in projects:
        for name in names:
            add_agent(tx, project, name)


@cache
def _seeded() -> StoreTemplate:
    return make_template(_seed, SetClock())


def _found(view: View) -> tuple[list[Project], list[Agent]]:
    projects = [view.projects.find_by_human_key(path) for path in _AGENTS]
    found = [project for project in projects if project is not None]
    agents = [
        view.agents.find_by_name(project.id, name)
        for project, names in zip(found, _AGENTS.values(), strict=True)
        for name in names
    ]
    return found, [agent for agent in agents if agent is not None]


@asynccontextmanager
async def open_seeded_store(directory: Path) -> AsyncIterator[SeededStore]:
    clock, path = SetClock(), directory / "mail.sqlite3"
    _seeded().lay(path)
    async with Store(path, clock=clock) as store:
        (app, lib), agents = await store.read(_found)
        yield SeededStore(store, clock, app, lib, *agents)
