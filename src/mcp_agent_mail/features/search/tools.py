"""The search tool."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.params import AGENT_ADDRESS, LIMIT, PROJECT_KEY, Choice, Matching, Text, Time
from mcp_agent_mail.core.tools import Json, ToolSpec, tool
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.messages import Importance
from mcp_agent_mail.domain.search.query import Order
from mcp_agent_mail.domain.threads import parse_thread_id
from mcp_agent_mail.features.search.schemas import show_found
from mcp_agent_mail.features.search.service import SearchRequest, SearchService


def search_tools(service: SearchService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    """The search within one project; that of a product has a tool of its own."""

    async def search_messages(
        *,
        project_key: Annotated[str, PROJECT_KEY],
        query: Annotated[str, Text(max_length=1_000, may_be_blank=True)],
        limit: Annotated[int, LIMIT] = 20,
        agent_name: Annotated[str | None, AGENT_ADDRESS] = None,
        importance: Annotated[str | None, Choice(tuple(one.value for one in Importance))] = None,
        from_agent: Annotated[str | None, AGENT_ADDRESS] = None,
        thread_id: Annotated[str | None, Matching(parse_thread_id)] = None,
        since_ts: Annotated[Micros | None, Time()] = None,
        order: Annotated[str, Choice(tuple(one.value for one in Order))] = "relevance",
    ) -> Json:
        """Find a project's mail by words: "a phrase", pre*, AND OR NOT, subject:word, body:word. agent_name keeps
        what that agent sent or got. Returns heads with a snippet; read one with resource://message/{id}.
        """
        request = SearchRequest(
            project_key=project_key,
            query=query,
            limit=limit,
            order=Order(order),
            agent_name=agent_name,
            importance=None if importance is None else Importance(importance),
            from_agent=from_agent,
            thread_id=thread_id,
            since_ts=since_ts,
        )
        return show_found(await service.search(await current_caller(), request))

    return [tool(search_messages, cluster="search", title="Search mail", read_only=True, idempotent=True)]
