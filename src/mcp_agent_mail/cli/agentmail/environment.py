"""The settings of `agentmail`: those of a hook, and who acts outside tmux."""

from __future__ import annotations

from mcp_agent_mail.clients.hook.environment import HookSettings, SettingSources
from mcp_agent_mail.core.unfilled_text import said

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

ENABLED = "AGENTMAIL_ENABLED"


class DoorSettings(HookSettings):
    """`door_name` is AGENTMAIL_NAME; `says_door` whether AGENTMAIL_ENABLED is given, whatever it says."""

    __slots__ = ("door_name", "says_door")

    def __init__(self, environ: Mapping[str, str]) -> None:
        super().__init__(environ)
        found = SettingSources(environ)
        self.door_name: str | None = said(found.text("AGENTMAIL_NAME"))
        self.says_door: bool = bool(found.text(ENABLED))
