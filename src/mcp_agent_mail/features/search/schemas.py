"""What a search answers."""

from __future__ import annotations

from mcp_agent_mail.core.errors import in_sentences
from mcp_agent_mail.core.tools import Json
from mcp_agent_mail.domain.identity.names import did_you_mean
from mcp_agent_mail.features.search.results import SearchResult
from mcp_agent_mail.features.search.shapes import show_hit, show_unfound


def show_found(found: SearchResult) -> Json:
    """The answer of `search_messages`, as text and as structured content: the hits stand under the key `result`. Where
    nothing was found for another reason than that nothing is there, or not all was searched, a `hint` says so.
    """
    hits = [show_hit(hit, found.project.id) for hit in found.hits]
    hint = in_sentences(
        show_unfound(is_asked=found.is_asked, is_literal=found.is_literal) if not hits else "",
        _no_thread(found),
        f"{found.only_of} is an agent of another project: only what it sent or got itself was searched."
        if found.only_of
        else "",
    )
    return {"result": hits, **({"hint": hint} if hint else {})}


def _no_thread(found: SearchResult) -> str:
    if found.no_thread is None:
        return ""
    return f"{did_you_mean(found.near)}No mail here is in thread {found.no_thread}; letter case counts."
