"""A door's own MCP endpoint: its tools alone, in its words; no instructions, resources or prompts of ours."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from starlette.types import Receive, Send

from mcp_agent_mail import __version__
from mcp_agent_mail.core.resources import ResourceTable
from mcp_agent_mail.facades.asgi import DoorRequest
from mcp_agent_mail.facades.tool_door import DoorTools, DoorToolTable
from mcp_agent_mail.server.dispatch import Calls, RequestFacts
from mcp_agent_mail.server.mcp import FACTS, create_mcp, fast_path_of
from mcp_agent_mail.server.mcp_endpoint import McpEndpoint
from mcp_agent_mail.server.rendering.mcp_words import words_of

MAX_SESSIONS = 500
"""Beyond these a client is served without one and does not notice."""


class DoorMcp:
    """Serves both eras. Its calls are told, and counted, with those of `calls`; profiles and output formats are no
    matter of a door's. There are no streams beside those that answer a call.
    """

    def __init__(self, tools: DoorTools, calls: Calls, *, has_fast_path: bool) -> None:
        calls, words = calls.beside(DoorToolTable(tools.tools), ResourceTable([])), words_of(tools)
        mcp = create_mcp(calls, version=__version__, workflows=(), words=words)
        self._endpoint = McpEndpoint(
            mcp,
            max_sessions=MAX_SESSIONS,
            progress_every_s=tools.progress_every_s,
            fast_path=fast_path_of(mcp, calls, words) if has_fast_path else None,
        )
        self._endpoint.max_streams = 0

    def opened(self) -> AbstractAsyncContextManager[None]:
        """Requests are answered between entry and exit, which ends all sessions."""
        return self._endpoint.opened()

    async def answer(self, request: DoorRequest, receive: Receive, send: Send) -> None:
        """Answer one request as that of whom its credentials tell: each request of a session has its own."""
        request.scope[FACTS] = RequestFacts(
            credentials=request.credentials, request_id=request.request_id, opener=request.opener
        )
        await self._endpoint.answer(request.scope, request.headers, receive, send)
