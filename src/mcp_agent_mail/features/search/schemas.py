"""What a search answers."""

from __future__ import annotations

from mcp_agent_mail.core.tools import Json
from mcp_agent_mail.features.search.results import SearchResult
from mcp_agent_mail.features.search.shapes import show_hit

_NOTHING_ASKED = "The query has no word in it: give one."


def show_found(found: SearchResult, query: str) -> Json:
    """The answer of `search_messages`, as text and as structured content: the hits stand under the key `result`. A
    `query` without a word finds nothing, and a `hint` says so.
    """
    hits = [show_hit(hit, found.project.id) for hit in found.hits]
    is_empty = not hits and not any(character.isalnum() for character in query)
    return {"result": hits, **({"hint": _NOTHING_ASKED} if is_empty else {})}
