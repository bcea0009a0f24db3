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
from tests.features.messaging.harness import NOBODY, Identities
from tests.seeded_store import SeededStore, open_seeded_store, token_of


@dataclass
class SummariesHarness:
    seeded: SeededStore
    identities: Identities
    tools: ToolTable

    def proof(self, agent: Agent) -> Credentials:
        return Credentials(via="mcp", agent_token=token_of(agent.name, self.seeded.project_of(agent)))

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
        seeded = self.seeded
        seeded.clock.step()
        letter = replace(seeded.letter(sender or seeded.blue, body=body, thread_id="plan-1"), **more)
        recipients = seeded.addressed([seeded.red] if to is None else to)
        blind = seeded.addressed(bcc or [], RecipientKind.BCC)
        held = [replace(one, held_code="CONTACT_REQUIRED") for one in seeded.addressed(held_for or [])]
        everyone: list[NewRecipient] = [*recipients, *blind, *held]
        message, _ = await seeded.post(letter, *everyone)
        return int(message.id)

    async def call(self, tool: str, credentials: Credentials = NOBODY, /, **arguments: Any) -> Any:
        return await self.tools.run(tool, {"project_key": "/code/app", **arguments}, credentials)

    async def thread(self, credentials: Credentials = NOBODY, /, **arguments: Any) -> Any:
        return await self.call("summarize_thread", credentials, **{"thread_id": "plan-1", **arguments})


@asynccontextmanager
async def open_summaries(directory: Path) -> AsyncIterator[SummariesHarness]:
    async with open_seeded_store(directory) as seeded:
        identities = Identities(seeded.store)
        service = SummaryService(seeded.store, clock=seeded.clock)
        yield SummariesHarness(seeded, identities, ToolTable(summary_tools(service, identities.caller)))
