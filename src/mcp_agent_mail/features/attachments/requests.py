"""What a send asks of attachments, parsed but not yet judged."""

from __future__ import annotations

from mcp_agent_mail.core.ids import AgentId, MessageId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import AttachmentsPolicy
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.projects import Project

_NOT_CONVERTED = "convert_images=false"
AS_IT_IS = f"with {_NOT_CONVERTED}"
"""What a send says whose images stay as they are. A reply has no such parameter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachmentRequest:
    """What a message of `project` is to carry. `project_key` names the project as the call did: it may be a directory
    of it. `convert` is None where the sender's policy decides. `answers`: of a reply, the message that it answers.
    """

    caller: Caller
    sender_id: AgentId
    project: Project
    project_key: str
    policy: AttachmentsPolicy
    paths: tuple[str, ...]
    body_md: str
    convert: bool | None
    answers: MessageId | None = None
    inline_max_bytes: int | None = None
    """Of this message, where that is less than what the settings say."""

    @property
    def unconverted(self) -> str:
        """How the same mail is sent with its images as they are: it stands in a hint in the place of AS_IT_IS."""
        return AS_IT_IS if self.answers is None else f"by send_message with reply_to={self.answers}, {_NOT_CONVERTED}"
