"""The official MCP client over HTTP, at a server of ours that serves the profile `claims`."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from mcp_agent_mail.server.assembly import build_http_app
from tests.server.hosted import hosted
from tests.server.whole_app import OPERATOR, open_services, settings_of

PROFILE: dict[str, Any] = {"program": "tests", "model": "none"}


@dataclass
class Caller:
    """One client's session."""

    session: ClientSession

    async def call(self, tool: str, /, **arguments: Any) -> Any:
        """The structured content of a call that must succeed."""
        result = await self.session.call_tool(tool, arguments)
        assert not result.is_error, f"{tool}: {result.content}"
        return result.structured_content

    async def refused(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """The error object of a call that must fail."""
        result = await self.session.call_tool(tool, arguments)
        assert result.is_error, f"{tool}: {result.content}"
        assert result.structured_content is not None
        error: dict[str, Any] = result.structured_content["error"]
        return error

    async def tools(self) -> list[str]:
        return [tool.name for tool in (await self.session.list_tools()).tools]

    async def read(self, uri: str) -> Any:
        (content,) = (await self.session.read_resource(uri)).contents
        return json.loads(content.text)  # type: ignore[union-attr]  # JSON

    async def unreadable(self, uri: str) -> str:
        try:
            await self.session.read_resource(uri)
        except MCPError as refused:
            return str(refused)
        raise AssertionError(uri)

    async def create(self, project: Path | str, name: str) -> Any:
        return await self.call("create_agent", project_key=str(project), name_hint=name, **PROFILE)


@dataclass
class ClaimsServer:
    url: str

    @asynccontextmanager
    async def connected(
        self, query: str = "?profile=claims", headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[Caller]:
        async with (
            httpx2.AsyncClient(headers=dict(headers or {}), timeout=60) as http_client,
            streamable_http_client(f"{self.url}/mcp{query}", http_client=http_client) as streams,
            ClientSession(streams[0], streams[1]) as session,
        ):
            await session.initialize()
            yield Caller(session)


@asynccontextmanager
async def open_claims(directory: Path, **settings: str) -> AsyncIterator[ClaimsServer]:
    """A server over a store in `directory`, which serves the profile unless the settings say otherwise."""
    loaded = settings_of(directory, **{"CLAIMS_ENABLED": "true", **settings})
    async with (
        open_services(loaded) as (services, _),
        hosted(build_http_app(loaded, services, operator_token=OPERATOR)) as url,
    ):
        yield ClaimsServer(url)
