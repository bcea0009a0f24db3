"""Real stores with projects and agents in them, for tests of mail."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.core.ids import new_store_id, token_hash
from mcp_agent_mail.domain.agents import Agent, AgentKind, AttachmentsPolicy, NewAgent
from mcp_agent_mail.domain.messages import Importance, Message, NewMessage, NewRecipient, Recipient, RecipientKind
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.engine.migrate import migrate
from mcp_agent_mail.store.transaction import Tx


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

    async def post(self, new: NewMessage, *recipients: NewRecipient) -> tuple[Message, list[Recipient]]:
        """Store a message as the store alone does it, without any of the checks of a send."""
        return await self.store.write(lambda tx: tx.messages.add(new, recipients, tx.now))


def place_new_store(path: Path) -> Path:
    """A store as the migrations make it, with an id of its own, unless one is there. They run once for all tests:
    each of them waits for the disk.
    """
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        made, store_id = _new_store()
        path.write_bytes(made.replace(store_id.encode(), new_store_id().encode()))
    return path


@cache
def _new_store() -> tuple[bytes, str]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "mail.sqlite3"
        migrate(path, fault_hook=no_fault)
        with closing(sqlite3.connect(path)) as connection:
            (store_id,) = connection.execute("SELECT value FROM meta WHERE key = 'store_id'").fetchone()
        return path.read_bytes(), store_id


@asynccontextmanager
async def open_seeded_store(directory: Path) -> AsyncIterator[SeededStore]:
    clock = SetClock()

    def seed(tx: Tx) -> tuple[Project, Project, list[Agent]]:
        app, lib = add_project(tx, "/code/app"), add_project(tx, "/code/lib")
        agents = [add_agent(tx, app, name) for name in ("BlueLake", "RedStone", "GreenField")]
        return app, lib, [*agents, *(add_agent(tx, lib, name) for name in ("QuietFox", "BlueLake"))]

    async with Store(place_new_store(directory / "mail.sqlite3"), clock=clock) as store:
        app, lib, agents = await store.write(seed)
        yield SeededStore(store, clock, app, lib, *agents)
