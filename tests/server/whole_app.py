"""The whole HTTP application over a real store, asked in process: no socket, no child process."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from starlette.types import Receive, Scope, Send

from mcp_agent_mail.bootstrap import build_services
from mcp_agent_mail.bootstrap.services import Services
from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.core.settings.server import Settings, load_settings
from mcp_agent_mail.features.health.results import ServerPlace
from mcp_agent_mail.server.assembly import build_http_app
from mcp_agent_mail.server.dispatch import RequestFacts
from mcp_agent_mail.server.lifespan import _store
from mcp_agent_mail.server.transport.http import Route
from mcp_agent_mail.store.database import Store
from tests.mcp_way import WAY_SETTINGS

OPERATOR = "amo_of-this-test"
PLACE = ServerPlace(
    environment="test", http_host="127.0.0.1", http_port=1, http_path="/mcp", database_url="", version="0"
)


@dataclass
class WholeApp:
    services: Services
    store: Store
    client: httpx.AsyncClient

    async def call(self, tool: str, /, headers: Mapping[str, str] | None = None, **arguments: Any) -> Any:
        """A call over `/rpc` that must succeed."""
        answer = await self.client.post(f"/rpc/{tool}", json=arguments, headers=dict(headers or {}))
        assert answer.status_code == 200, f"{tool}: {answer.status_code} {answer.text[:800]}"
        return answer.json()


def settings_of(directory: Path, **settings: str) -> Settings:
    """Of a store in `directory`, which is made; nothing of the person's who runs the tests."""
    environ = {"AGENT_MAIL_ENV_FILE": os.devnull, "STORAGE_ROOT": str(directory / "store"), **WAY_SETTINGS, **settings}
    loaded = load_settings(environ, cwd=directory).settings
    loaded.storage_root.mkdir(parents=True, exist_ok=True)
    return loaded


@asynccontextmanager
async def asking(route: Route, facts: RequestFacts) -> AsyncIterator[httpx.AsyncClient]:
    """A client of one route alone: what stands before it in the application is left out."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await route(scope, facts, receive, send)

    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app=app), base_url="http://127.0.0.1", timeout=60
    ) as client:
        yield client


@asynccontextmanager
async def open_services(settings: Settings) -> AsyncIterator[tuple[Services, Store]]:
    """What the application stands on, without it: that takes longest."""
    async with _store(settings, no_fault) as store:
        services = build_services(settings, store, place=PLACE, operator_token=OPERATOR)
        try:
            yield services, store
        finally:
            await services.close(timeout_s=1.0)


@asynccontextmanager
async def open_whole_app(directory: Path, **settings: str) -> AsyncIterator[WholeApp]:
    loaded = settings_of(directory, **settings)
    async with open_services(loaded) as (services, store):
        app = build_http_app(loaded, services, operator_token=OPERATOR)
        transport = httpx.ASGITransport(app=app)
        async with (
            app.opened(),
            httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=60) as client,
        ):
            yield WholeApp(services, store, client)
