"""Mail to the person, who is `Human` in every project: to whom it came, and what was done with it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.identity.caller import Caller, require_operator
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import View


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanReceipt:
    """A message that came to `Human`. `projects` are those whose `Human` it came to, never none.

    `read_ts` and `ack_ts` are when the last of them read and acknowledged it, None while one has yet to.
    """

    message_id: MessageId
    projects: Sequence[Project]
    read_ts: Micros | None
    ack_ts: Micros | None
    asks_ack: bool


class HumanMailService:
    """Reads alone, for the operator: what marks mail are the tools that agents have."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def find(self, caller: Caller, message_ids: Collection[MessageId]) -> Mapping[MessageId, HumanReceipt]:
        """Those of the messages that came to a `Human`. Of the others nothing is said, be they there or not."""
        require_operator(caller)
        return await self._store.read(lambda view: _find(view, message_ids))


def _find(view: View, message_ids: Collection[MessageId]) -> Mapping[MessageId, HumanReceipt]:
    copies = view.all_mail.copies_of_person(message_ids)
    found = {}
    for message_id in message_ids:
        own = [copy for copy in copies if copy.message_id == message_id]
        projects = [project for copy in own if (project := view.projects.find(copy.project_id)) is not None]
        if not projects:
            continue
        found[message_id] = HumanReceipt(
            message_id=message_id,
            projects=projects,
            read_ts=_last_of([copy.read_ts for copy in own]),
            ack_ts=_last_of([copy.ack_ts for copy in own]),
            asks_ack=any(copy.ack_required for copy in own),
        )
    return found


def _last_of(times: Sequence[Micros | None]) -> Micros | None:
    known = [at for at in times if at is not None]
    return max(known) if len(known) == len(times) else None
