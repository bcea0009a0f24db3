"""The tools of summaries over a real store, called as a server calls them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mcp_agent_mail.core.tools import Credentials, ToolTable
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.messages import NewRecipient, RecipientKind
from mcp_agent_mail.features.summaries.service import SummaryService
from mcp_agent_mail.features.summaries.tools import summary_tools
from tests.features.messaging.office import NOBODY, Identities
from tests.mailroom import Mailroom, open_mailroom, token_of


@dataclass
class SummaryRoom:
    room: Mailroom
    identities: Identities
    tools: ToolTable

    def proof(self, agent: Agent) -> Credentials:
        return Credentials(via="mcp", agent_token=token_of(agent.name, self.room.project_of(agent)))

    async def post(
        self,
        body: str,
        *,
        sender: Agent | None = None,
        to: list[Agent] | None = None,
        bcc: list[Agent] | None = None,
        held_for: list[Agent] | None = None,
        **more: Any,
    ) -> int:
        """From BlueLake to RedStone unless said otherwise, in thread plan-1; a second after the one before."""
        room = self.room
        room.clock.step()
        letter = replace(room.letter(sender or room.blue, body=body, thread_id="plan-1"), **more)
        recipients = room.addressed([room.red] if to is None else to)
        blind = room.addressed(bcc or [], RecipientKind.BCC)
        held = [replace(one, held_code="CONTACT_REQUIRED") for one in room.addressed(held_for or [])]
        everyone: list[NewRecipient] = [*recipients, *blind, *held]
        message, _ = await room.post(letter, *everyone)
        return int(message.id)

    async def call(self, tool: str, credentials: Credentials = NOBODY, /, **arguments: Any) -> Any:
        return await self.tools.run(tool, {"project_key": "/code/app", **arguments}, credentials)

    async def thread(self, credentials: Credentials = NOBODY, /, **arguments: Any) -> Any:
        return await self.call("summarize_thread", credentials, **{"thread_id": "plan-1", **arguments})


@asynccontextmanager
async def open_summary_room(directory: Path) -> AsyncIterator[SummaryRoom]:
    async with open_mailroom(directory) as room:
        identities = Identities(room.store)
        service = SummaryService(room.store, clock=room.clock)
        yield SummaryRoom(room, identities, ToolTable(summary_tools(service, identities.caller)))
