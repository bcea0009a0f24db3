"""Contacts and mail over a real store with policies enforced, called as a server calls them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.resources import ResourceTable
from mcp_agent_mail.core.tools import Credentials, ToolTable
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.contacts import ContactRules
from mcp_agent_mail.domain.identity.caller import AgentAuth
from mcp_agent_mail.domain.identity.names import NameEnforcement
from mcp_agent_mail.features.archiving.backpressure import Backpressure
from mcp_agent_mail.features.contacts.consent import DeliveryPolicy
from mcp_agent_mail.features.contacts.service import ContactService
from mcp_agent_mail.features.contacts.tools import contact_tools
from mcp_agent_mail.features.identity.admission import NamingRules
from mcp_agent_mail.features.messaging.resources import messaging_resources
from mcp_agent_mail.features.messaging.service import MessagingService
from mcp_agent_mail.features.messaging.tools import messaging_tools
from mcp_agent_mail.features.search.service import SearchService
from mcp_agent_mail.features.search.tools import search_tools
from tests.features.messaging.office import APP, LIB, NOBODY, Identities
from tests.mailroom import Mailroom, open_mailroom, token_of

BODY_MAX_BYTES = 3 * 1024 * 1024


@dataclass
class House:
    """`noted` is every agent that was seen acting."""

    room: Mailroom
    identities: Identities
    tools: ToolTable
    resources: ResourceTable
    contacts: ContactService
    noted: list[str] = field(default_factory=list)

    def proof(self, agent: Agent) -> Credentials:
        return Credentials(via="mcp", agent_token=token_of(agent.name, self.room.project_of(agent)))

    async def call(self, tool: str, credentials: Credentials = NOBODY, /, **arguments: Any) -> Any:
        return await self.tools.run(tool, {"project_key": APP, **arguments}, credentials)

    async def read(self, uri: str, credentials: Credentials = NOBODY) -> Any:
        return await self.resources.read(f"resource://{uri}", credentials)

    async def send(self, credentials: Credentials = NOBODY, /, **arguments: Any) -> Any:
        """From BlueLake to RedStone unless said otherwise."""
        given = {"sender_name": "BlueLake", "to": ["RedStone"], "subject": "Plan", "body_md": "body", **arguments}
        return await self.call("send_message", credentials, **given)

    async def policy(self, agent: str, policy: str, project: str = APP) -> None:
        await self.call("set_contact_policy", project_key=project, agent_name=agent, policy=policy)

    async def ask(self, source: str = "BlueLake", target: str = "RedStone", **more: Any) -> Any:
        return await self.call("request_contact", from_agent=source, to_agent=target, **more)

    async def answer(self, *, accept: bool, source: str = "BlueLake", target: str = "RedStone", **more: Any) -> Any:
        return await self.call("respond_contact", from_agent=source, to_agent=target, accept=accept, **more)

    async def links(self, agent: str, project: str = APP) -> Any:
        return await self.call("list_contacts", project_key=project, agent_name=agent)

    async def subjects(self, agent: str, project: str = APP) -> list[str]:
        """Of its inbox, oldest first."""
        inbox = await self.call("fetch_inbox", project_key=project, agent_name=agent, after_id=0, limit=100)
        return [item["subject"] for item in inbox]

    async def held(self, agent: str, direction: str, project: str = APP) -> Any:
        held = await self.call(
            "held_mail", Credentials(via="local"), project_key=project, agent_name=agent, direction=direction
        )
        return held["messages"]

    def rows(self, sql: str, *values: object) -> list[Any]:
        return self.room.store._reading.execute(sql, values).fetchall()

    def everything(self) -> dict[str, list[Any]]:
        """All that a call could leave behind."""
        tables = ("agents", "contacts", "messages", "recipients", "message_projects", "outbox", "counters")
        return {table: self.rows(f"SELECT * FROM {table}") for table in tables}


async def refused(awaitable: Any) -> AgentMailError:
    try:
        await awaitable
    except AgentMailError as error:
        return error
    raise AssertionError("nothing was refused")


@asynccontextmanager
async def open_house(directory: Path, rules: ContactRules | None = None) -> AsyncIterator[House]:
    rules = ContactRules() if rules is None else rules
    async with open_mailroom(directory) as room:
        noted: list[str] = []
        identities = Identities(room.store, AgentAuth.OPEN)
        contacts = ContactService(
            room.store,
            rules=rules,
            new_names=NamingRules(enforcement=NameEnforcement.FREE),
            note_activity=lambda agent: noted.append(agent.name),
        )
        messaging = MessagingService(
            room.store,
            body_max_bytes=BODY_MAX_BYTES,
            note_activity=lambda agent: noted.append(agent.name),
            throttle=Backpressure().keep,
            clock=room.clock,
            delivery=DeliveryPolicy(rules=rules),
        )
        tools = ToolTable(
            [
                *contact_tools(contacts, identities.caller),
                *messaging_tools(messaging, identities.caller),
                *search_tools(SearchService(room.store), identities.caller),
            ]
        )
        resources = ResourceTable(messaging_resources(messaging, identities.caller))
        yield House(room, identities, tools, resources, contacts, noted)


__all__ = ["APP", "LIB", "NOBODY", "House", "open_house", "refused"]
