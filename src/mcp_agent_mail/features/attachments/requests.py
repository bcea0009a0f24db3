"""What a send asks of attachments, parsed but not yet judged."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.domain.agents import AttachmentsPolicy
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.projects import Project


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachmentRequest:
    """What a message of `project` is to carry. `project_key` names the project as the call did: it may be a directory
    of it. `convert` is None where the sender's policy decides.
    """

    caller: Caller
    sender_id: AgentId
    project: Project
    project_key: str
    policy: AttachmentsPolicy
    paths: tuple[str, ...]
    body_md: str
    convert: bool | None
