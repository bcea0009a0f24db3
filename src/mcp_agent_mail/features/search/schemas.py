"""What a search answers."""

from __future__ import annotations

from mcp_agent_mail.core.tools import Json
from mcp_agent_mail.features.search.results import SearchResult
from mcp_agent_mail.features.search.shapes import show_hit


def show_found(found: SearchResult) -> Json:
    """The answer of `search_messages`, as text and as structured content: the hits stand under the key `result`."""
    return {"result": [show_hit(hit, found.project.id) for hit in found.hits]}
