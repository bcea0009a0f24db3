"""Messages whose sender was told that acknowledgements do not come."""

from __future__ import annotations

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import MessageId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class NotedMessage:
    """`created_ts`, `sender` and `project_id` are the message's; `escalation` is what was done besides."""

    message_id: MessageId
    project_id: ProjectId
    created_ts: Micros
    sender: str
    noted_ts: Micros
    escalation: str | None
