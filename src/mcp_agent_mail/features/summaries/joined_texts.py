"""Several values in one text, with commas between them, where a tool takes them so."""

from __future__ import annotations

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.mistakes.argument_hints import joined_in
from mcp_agent_mail.core.params import Matching


@dataclass(frozen=True, slots=True)
class JoinedTexts(Matching):
    """As `Matching`; whoever sends a list is told how its values stand in one text."""

    def convert(self, name: str, value: object) -> str:
        """What `parse` makes of the text. Raises InvalidInput; of a list its hint is the text to send in its place."""
        # Not `super()`: a class with slots is made anew, and is no longer the one that it would look for.
        try:
            return Matching.convert(self, name, value)
        except InvalidInput as refused:
            if (text := joined_in(value)) is None:
                raise
            raise refused.reworded(hint=f"Several go in one text: {text}.", data=refused.data) from refused
