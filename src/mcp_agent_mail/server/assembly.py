"""The HTTP application over the services: the one place that imports FastMCP for the server process."""

from __future__ import annotations

from typing import Any

from fastmcp import FastMCP

from mcp_agent_mail import __version__
from mcp_agent_mail.bootstrap import Services
from mcp_agent_mail.core.settings import Settings
from mcp_agent_mail.server.auth import Gate
from mcp_agent_mail.server.calls import Calls
from mcp_agent_mail.server.http import HttpApp
from mcp_agent_mail.server.mcp import create_mcp
from mcp_agent_mail.server.mcp_endpoint import McpEndpoint


def build_http_app(settings: Settings, services: Services, *, operator_token: str) -> HttpApp:
    calls = Calls(services.tools, services.resources, log_calls=settings.tools_log_enabled)
    token = settings.http_bearer_token
    gate = Gate(
        allowed_hosts=settings.http_allowed_hosts,
        server_token=token.reveal() if token else None,
        operator_token=operator_token,
        trust_loopback=settings.http_allow_localhost_unauthenticated,
    )
    return HttpApp(
        create_endpoint(create_mcp(calls, version=__version__), fixtures=settings.test_fixtures_enabled),
        calls,
        gate,
        http_path=settings.http_path,
        is_ready=services.upkeep.is_ready,
        log_requests=settings.http_request_log_enabled,
    )


def create_endpoint(mcp: FastMCP[Any], *, fixtures: bool) -> McpEndpoint:
    """The MCP endpoint of a server, with what testers call beside it when `fixtures`."""
    if not fixtures:
        return McpEndpoint(mcp)
    from mcp_agent_mail.server.fixtures.endpoint import FixtureEndpoint  # noqa: PLC0415  # testers only
    from mcp_agent_mail.server.fixtures.mount import mount_fixtures  # noqa: PLC0415

    mount_fixtures(mcp)
    return FixtureEndpoint(mcp)
