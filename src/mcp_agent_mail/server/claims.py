"""The MCP endpoint of the profile `claims`: a tool table of its own over the same services."""

from __future__ import annotations

from mcp_agent_mail import __version__
from mcp_agent_mail.bootstrap.services import Services
from mcp_agent_mail.facades.claims.resources import claims_resources
from mcp_agent_mail.facades.claims.tools import claims_tools
from mcp_agent_mail.features.identity.connection import ConnectionIdentity, ConnectionTools
from mcp_agent_mail.features.projects.path_resolution import ResolvingResourceTable, ResolvingToolTable
from mcp_agent_mail.server.completion import suggesting
from mcp_agent_mail.server.dispatch import Calls
from mcp_agent_mail.server.mcp import create_mcp, fast_path_of
from mcp_agent_mail.server.mcp_endpoint import McpEndpoint

MAX_SESSIONS = 500
"""Beyond these a client is served without one and does not notice."""


def claims_endpoint(services: Services, calls: Calls, *, has_fast_path: bool) -> McpEndpoint:
    """Its calls are told, and its long ones take turns, with those of `calls`. Nobody is told of changes, so that there
    are no event streams, and no prompts, which name tools of ours.
    """
    resolver = services.resolver
    tools = ConnectionTools(
        ResolvingToolTable(claims_tools(services), resolver), ConnectionIdentity(services.identity, resolver.run)
    )
    resources = ResolvingResourceTable(claims_resources(services), resolver)
    suggest = suggesting(services.suggestions, services.identity.caller)
    calls = calls.beside(tools, resources)
    mcp = create_mcp(calls, version=__version__, suggest=suggest, workflows=())
    fast_path = fast_path_of(mcp, calls) if has_fast_path else None
    endpoint = McpEndpoint(mcp, max_sessions=MAX_SESSIONS, fast_path=fast_path)
    endpoint.max_streams = 0
    return endpoint
