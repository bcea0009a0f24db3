"""A store whose mail is searched, and how a test posts there and asks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.messages import RecipientKind
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.domain.search.query import Filters, Hit, Order, SearchScope, read_query
from mcp_agent_mail.store.mail.search import search
from tests.seeded_store import SeededStore


@dataclass
class Room:
    seeded: SeededStore

    async def post(
        self,
        subject: str,
        body: str = "text",
        *,
        sender: Agent | None = None,
        to: list[Agent] | None = None,
        bcc: list[Agent] | None = None,
        held: list[Agent] | None = None,
        **more: Any,
    ) -> int:
        """From BlueLake to RedStone unless said otherwise; a second after the one before. It waits for `held`."""
        seeded = self.seeded
        seeded.clock.step()
        letter = replace(seeded.letter(sender or seeded.blue, body=body), subject=subject, **more)
        recipients = seeded.addressed([seeded.red] if to is None else to)
        blind = seeded.addressed(bcc or [], RecipientKind.BCC)
        waiting = [replace(one, held_code="CONTACT_REQUIRED") for one in seeded.addressed(held or [])]
        message, _ = await seeded.post(letter, *recipients, *blind, *waiting)
        return int(message.id)

    async def search(
        self,
        text: str,
        *,
        within: Project | None = None,
        beside: Project | None = None,
        reader: Agent | None = None,
        whole_project: bool = True,
        order: Order = Order.RELEVANCE,
        limit: int = 20,
        **filters: Any,
    ) -> list[Hit]:
        """In `app` unless said otherwise, for a reader of all of its mail who is no agent."""
        query = read_query(text)
        assert query is not None
        scope = SearchScope(
            project_id=(within or self.seeded.app).id,
            agent_id=None if reader is None else reader.id,
            whole_project=whole_project,
            more_projects=() if beside is None else (beside.id,),
        )
        return await search(self.seeded.store, query, scope, Filters(**filters), order=order, limit=limit)

    async def ids(self, text: str, **more: Any) -> list[int]:
        return [hit.id for hit in await self.search(text, **more)]
