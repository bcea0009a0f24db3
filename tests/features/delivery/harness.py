"""Delivery, mail and contacts over a real store, called as a server calls them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.core.tools import Credentials, ToolTable
from mcp_agent_mail.features.delivery.presence import Presences
from mcp_agent_mail.features.delivery.service import DeliveryService
from mcp_agent_mail.features.delivery.tools import delivery_tools, hook_tools
from mcp_agent_mail.features.delivery.waiters import Waiters
from mcp_agent_mail.notify.bus import MailBus, RightsBus
from mcp_agent_mail.store.database import Store
from tests.features.contacts.harness import NOBODY, ContactsHarness, open_contacts, refused


@dataclass
class DeliveryHarness(ContactsHarness):
    """`sent` is BlueLake's, and every message goes to RedStone unless said otherwise."""

    service: DeliveryService = field(kw_only=True)

    async def sent_id(self, credentials: Credentials = NOBODY, /, **arguments: Any) -> int:
        sent = await self.send(credentials, **arguments)
        number = sent["deliveries"][0]["payload"]["id"]
        assert isinstance(number, int)
        return number

    async def status(self, message_id: int, credentials: Credentials = NOBODY, /, **arguments: Any) -> Any:
        return await self.call("message_status", credentials, message_id=message_id, **arguments)

    async def statuses(self, message_id: int) -> dict[str, str]:
        """Of all copies, as the proven sender sees them."""
        found = await self.status(message_id, self.proof(self.seeded.blue))
        return {one["name"]: one["status"] for one in found["recipients"]}

    async def withdraw(self, message_id: int, credentials: Credentials = NOBODY, /, **arguments: Any) -> Any:
        given = {"sender_name": "BlueLake", "message_id": message_id, **arguments}
        return await self.call("withdraw_message", credentials, **given)

    async def feed(self, agent: str, **arguments: Any) -> Any:
        return await self.call("fetch_inbox_events", agent_name=agent, **arguments)

    async def events(self, agent: str, **arguments: Any) -> list[tuple[str, int]]:
        return [(one["event"], one["message_id"]) for one in (await self.feed(agent, **arguments))["events"]]

    async def inbox(self, agent: str, **arguments: Any) -> Any:
        return await self.call("fetch_inbox", agent_name=agent, **arguments)

    async def counts(self, agent: str) -> Any:
        return await self.inbox(agent, limit=0)

    def in_seconds(self, seconds: float) -> str:
        """A time from now, as callers write it."""
        return iso(type(self.seeded.clock.now)(self.seeded.clock.now + int(seconds * 1_000_000)))


def open_waiters(store: Store, limit: int = 100) -> Waiters:
    async def settle() -> None:
        await store.write(lambda _: None)

    return Waiters(MailBus(store.on_mail_change), RightsBus(store.on_right_change), settle, limit=limit)


@asynccontextmanager
async def open_delivery(directory: Path) -> AsyncIterator[DeliveryHarness]:
    async with open_contacts(directory) as opened:
        waiters = open_waiters(opened.seeded.store)
        service = DeliveryService(
            opened.seeded.store,
            waiters,
            note_activity=lambda agent: opened.noted.append(agent.name),
            presence=Presences(window_s=60, clock=opened.seeded.clock, live=waiters),
        )
        caller = opened.identities.caller
        tools = ToolTable([*opened.tools.specs(), *delivery_tools(service, caller), *hook_tools(service, caller)])
        yield DeliveryHarness(
            opened.seeded, opened.identities, tools, opened.resources, opened.contacts, opened.noted, service=service
        )


__all__ = ["NOBODY", "DeliveryHarness", "open_delivery", "refused"]
