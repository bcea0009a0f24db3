"""Where a page of a list goes on, as its address says it."""

from __future__ import annotations

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.ids import read_number


class UnfitPageNumber(InvalidInput):
    """What stands in an address where a place in a list should."""


def page_number(text: str) -> int | None:
    """None where nothing is said. Raises UnfitPageNumber."""
    if not text:
        return None
    if (number := read_number(text)) is None:
        raise UnfitPageNumber(f"{text!r:.50} is no place in a list.", hint="Go on by the link at the end of the list.")
    return number
