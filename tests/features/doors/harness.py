"""Doors over a real store, beside native tools."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_agent_mail.core.concurrency.hearing import SentPromise
from mcp_agent_mail.core.tools import Credentials, ToolTable
from mcp_agent_mail.domain.contacts import ContactRules
from mcp_agent_mail.domain.doors.mailbox_rules import IdleRules
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.domain.identity.admission import ProjectAdmission
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.features.archiving.backpressure import Backpressure
from mcp_agent_mail.features.archiving.places import ArchivePlaces
from mcp_agent_mail.features.contacts.consent import DeliveryPolicy
from mcp_agent_mail.features.delivery.waiters import Waiters
from mcp_agent_mail.features.doors.mailbox_service import ActivityPorts, MailboxService
from mcp_agent_mail.features.doors.names import NamingRule, speak_as
from mcp_agent_mail.features.doors.pop_claims import CLAIMED_S
from mcp_agent_mail.features.doors.requests import DoorCaller
from mcp_agent_mail.features.doors.results import DoorSent, Popped
from mcp_agent_mail.features.doors.service import DoorService, DoorServices
from mcp_agent_mail.features.messaging.service import MessagingService
from mcp_agent_mail.features.messaging.tools import messaging_tools
from mcp_agent_mail.features.projects.service import ProjectService
from tests.features.delivery.harness import open_waiters
from tests.features.messaging.harness import NOBODY, Identities
from tests.seeded_store import SeededStore, open_seeded_store

HOME = "/neighbours"
IDLE = IdleRules(hide_after_minutes=1_440, retire_after_minutes=10_080)
OPERATOR = Caller(kind=CallerKind.OPERATOR, auth=AgentAuth.OPEN)


def at(name: str, door: Door = Door.POSTAL, project: str | None = None) -> DoorCaller:
    return DoorCaller(door=door, name=name, project_key=project)


@dataclass
class DoorsHarness:
    seeded: SeededStore
    doors: DoorService
    tools: ToolTable
    waiters: Waiters
    noted: list[str]
    mailboxes: MailboxService

    async def send(self, sender: str, to: str, body: str, external_id: str | None = None, **rest: Any) -> DoorSent:
        return await self.doors.send(at(sender), to, body, external_id=external_id, **rest)

    async def speak(self, name: str, door: Door = Door.POSTAL, project: str | None = None) -> None:
        """The name is the door's, whoever had it: a mailbox with nothing in it."""
        caller = at(name, door, project)
        await self.doors.homes.write(caller, lambda tx, home, new: speak_as(tx, home, door, name, new))

    async def pop(self, name: str) -> Popped | None:
        """Given, and its answer written."""
        popped = await self.doors.pop(at(name), wait_s=0)
        if popped is not None:
            await self.doors.settle(popped)
        return popped

    async def call(self, tool: str, credentials: Credentials = NOBODY, /, **arguments: Any) -> Any:
        return await self.tools.run(tool, {"project_key": HOME, **arguments}, credentials)

    async def rows(self, sql: str) -> list[Any]:
        return await self.seeded.store.read(lambda view: view.pops._connection.execute(sql).fetchall())


@asynccontextmanager
async def open_doors(
    directory: Path,
    auth: AgentAuth = AgentAuth.OPEN,
    admission: ProjectAdmission = ProjectAdmission.OPEN,
    rules: IdleRules = IDLE,
    claimed_s: float = CLAIMED_S,
    mailboxes_max: int = 10_000,
    facades_project: str = HOME,
) -> AsyncIterator[DoorsHarness]:
    async with open_seeded_store(directory) as seeded:
        store, noted = seeded.store, list[str]()
        identities = Identities(store, auth)
        messaging = MessagingService(
            store,
            body_max_bytes=100_000,
            note_activity=lambda agent: noted.append(agent.name),
            throttle=Backpressure().keep,
            clock=seeded.clock,
            delivery=DeliveryPolicy(rules=ContactRules()),
        )
        waiters = open_waiters(store)
        places = ArchivePlaces(projects_path=directory / "projects", in_workspace=False)
        doors = DoorService(
            store,
            DoorServices(messaging=messaging, projects=ProjectService(store, places=places), waiters=waiters),
            project_key=facades_project,
            rule=NamingRule(auth=auth, admission=admission, mailboxes_max=mailboxes_max),
            note_activity=lambda agent: noted.append(agent.name),
            claimed_s=claimed_s,
        )
        tools = ToolTable(messaging_tools(messaging, identities.caller))
        activity = ActivityPorts(note=lambda agent: noted.append(agent.name), newest=list)
        mailboxes = MailboxService(store, doors, waiters, activity, rules=rules)
        yield DoorsHarness(seeded, doors, tools, waiters, noted, mailboxes)


@dataclass
class ToldHearing:
    """A request of which the test says what became of its answer: it could not be begun (`lost`), was cut, or was
    written; and then read, or not.
    """

    began_s: float = 0.0
    leave: list[Callable[[], None]] = field(default_factory=list)
    lost: list[Callable[[], None]] = field(default_factory=list)
    written: list[Callable[[], None]] = field(default_factory=list)
    cut: list[Callable[[], None]] = field(default_factory=list)
    read: list[Callable[[], None]] = field(default_factory=list)
    unread: list[Callable[[], None]] = field(default_factory=list)

    @contextmanager
    def watched(self, tell: Callable[[], None]) -> Iterator[None]:
        self.leave.append(tell)
        yield

    def unless_heard(self, undo: Callable[[], None]) -> None:
        self.lost.append(undo)

    def once_sent(self, promise: SentPromise) -> None:
        self.written.append(promise.sent)
        self.cut.append(promise.cut)
        self.read.append(promise.read)
        self.unread.append(promise.unread)

    def tell(self, how: str) -> None:
        """What became of it, by the name of the list."""
        for one in getattr(self, how):
            one()


async def waiting(harness: DoorsHarness, name: str, count: int = 1) -> None:
    """Until so many wait for the mail of this name."""
    (agent_id,) = (await harness.rows(f"SELECT agent_id FROM wire_names WHERE name = '{name}'"))[0]
    while len(harness.waiters.of(agent_id)) < count:
        await settled(harness)


async def settled(harness: DoorsHarness) -> None:
    await harness.seeded.store.write(lambda _: None)


async def unread(harness: DoorsHarness, name: str) -> int:
    found = await harness.rows(f"SELECT unread_count FROM agents WHERE name = '{name}'")
    return int(found[0][0])
