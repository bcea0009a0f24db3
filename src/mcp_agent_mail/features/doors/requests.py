"""What doors ask, as the wire said it: nothing of it is judged yet."""

from __future__ import annotations

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.doors.names import Door


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorCaller:
    """Who calls by a door. `project_key` is None where the door knows no projects."""

    door: Door
    name: str
    project_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorSendRequest:
    """`external_id` is one that the sender chose. A mailbox that holds `mailbox_max` unread messages takes no more; 0
    is no bound. Unless it `makes_recipient`, the name must be known.
    """

    to: str
    body: str
    external_id: str | None = None
    mailbox_max: int = 0
    makes_recipient: bool = True
