"""The tool by which the operator's command opens the pages in a browser."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.core.tools import Json, ToolSpec, tool
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.features.web_sessions.service import WebSessionService


def web_session_tools(service: WebSessionService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    """For the operator by `/rpc` and the command line: MCP clients neither see nor run it."""

    async def create_sign_in_link() -> Json:
        """A path that signs one browser in as the operator: once, within a minute."""
        link = service.make_link(await current_caller())
        return {"path": f"/mail/sign-in?link={link.code}", "expires_ts": iso(link.expires_ts)}

    return [tool(create_sign_in_link, cluster="identity", title="Make a sign-in link", operator_only=True)]
