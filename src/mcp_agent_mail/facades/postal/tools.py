"""The two tools, by the names and parameters that this door's users know. Their texts are what they were there."""

from __future__ import annotations

from types import MappingProxyType
from typing import Annotated, Any

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.params import Text
from mcp_agent_mail.core.tools import Json, ToolSpec, current_credentials, tool
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.facades.postal.options import PostalOptions
from mcp_agent_mail.features.doors.requests import DoorCaller
from mcp_agent_mail.features.doors.results import Popped
from mcp_agent_mail.features.doors.service import DoorService

ALIASES = MappingProxyType({"send_message": "send_to_agent", "check_mailbox": "check_mail"})
"""By which the README of that system calls them: taken, and not listed."""

_ANY = Text(2**31, may_be_blank=True, raw=True)
"""What is no name is refused as none, and a body by the rule for bodies."""


@dataclass(frozen=True, slots=True)
class TextOption:
    """Text that may be null, and is where it is left out."""

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}

    def convert(self, name: str, value: object) -> str:
        """The text as it came. Raises InvalidInput."""
        return _ANY.convert(name, value)


def postal_tools(doors: DoorService, options: PostalOptions, *, wait_s: float) -> list[ToolSpec]:
    """Whose calls they are is said by the path of each request. A look at an empty mailbox waits `wait_s` seconds."""

    async def send_to_agent(
        *,
        name: Annotated[str, _ANY],
        msg: Annotated[str, _ANY],
        msg_id: Annotated[str | None, TextOption()] = None,
    ) -> Json:
        """Sends a message to another agent."""
        sent = await doors.send(
            _caller(), name, msg, external_id=msg_id, mailbox_max=options.mailbox_max, body_called="msg"
        )
        return sent.id

    async def check_mail() -> Json:
        """Checks for the oldest unread message, waiting until one is available."""
        popped = await doors.pop(_caller(), wait_s=wait_s)
        return None if popped is None else show_popped(popped)

    return [
        tool(send_to_agent, cluster="postal", title="Send a message", idempotent=False),
        tool(check_mail, cluster="postal", title="Take the oldest message", destructive=True),
    ]


def show_popped(popped: Popped) -> Json:
    """In the keys of that system's specification, and in those of its program; what is ours comes after them."""
    return {
        "id": popped.id,
        "from": popped.sender,
        "from_agent": popped.sender,
        "content": popped.body,
        "created": iso(popped.created_ts),
    }


def _caller() -> DoorCaller:
    name = current_credentials().door_name
    assert name is not None, "the endpoint says whose path it is"
    return DoorCaller(door=Door.POSTAL, name=name)
