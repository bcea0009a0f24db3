"""The rule of arguments that are cursors: numbers of the store's feed, which are no ids."""

from __future__ import annotations

from typing import Any

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.params import Id


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far its holder has looked, as an earlier answer said it; 0 is the oldest that is kept."""

    def schema(self) -> dict[str, Any]:
        return {"type": "integer"}

    def convert(self, name: str, value: object) -> int:
        """The number, read as `Id` reads one; whether it was ever given out is not asked. Raises InvalidInput, with
        where cursors come from.
        """
        try:
            return Id(low=0).convert(name, value)
        except InvalidInput as refused:
            fact = refused.message.replace("which is no id", "which is no cursor")
            raise InvalidInput(
                fact, hint=f"{name} is 0, or next_cursor of an earlier answer.", data=refused.data
            ) from refused
