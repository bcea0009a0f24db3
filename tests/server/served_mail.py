"""The whole server over real HTTP, with BlueLake and RedStone in one project."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from mcp_agent_mail.bootstrap.services import Services
from mcp_agent_mail.server.assembly import build_http_app
from mcp_agent_mail.server.transport.connection_limits import ConnectionLimiter, ConnectionLimits
from mcp_agent_mail.store.database import Store
from tests.server.hosted import hosted
from tests.server.whole_app import OPERATOR, open_services, settings_of

PROJECT = "/code/app"
ME = {"project_key": PROJECT, "agent_name": "RedStone"}


@dataclass
class Served:
    services: Services
    store: Store
    client: httpx.AsyncClient
    tokens: dict[str, str] = field(default_factory=dict)

    async def call(self, tool: str, **arguments: Any) -> Any:
        given = arguments if tool == "health_check" else {"project_key": PROJECT, **arguments}
        answer = await self.client.post(f"/rpc/{tool}", json=given)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def send(self, **arguments: Any) -> int:
        given = {"sender_name": "BlueLake", "to": ["RedStone"], "subject": "Plan", "body_md": "b", **arguments}
        sent = await self.call("send_message", **given)
        return int(sent["deliveries"][0]["payload"]["id"])

    async def feed(self, agent: str = "RedStone") -> list[dict[str, Any]]:
        return list((await self.call("fetch_inbox_events", agent_name=agent, limit=1_000))["events"])

    @property
    def streams(self) -> int:
        return self.services.delivery.waiters.figures().streams

    async def until_waiting(self, *, waits: int = 0, streams: int = 0) -> None:
        """Until so many have a place: it is another task's, or a client's, to take or to leave it."""
        figures = self.services.delivery.waiters.figures
        async with asyncio.timeout(10):
            while (figures().waits, figures().streams) != (waits, streams):  # noqa: ASYNC110  # nobody tells a test
                await asyncio.sleep(0.005)


@asynccontextmanager
async def serving(directory: Path, limits: ConnectionLimits | None = None, **settings: str) -> AsyncIterator[Served]:
    loaded = settings_of(directory, **settings)
    async with open_services(loaded) as (services, store):
        limiter = ConnectionLimiter(time.monotonic, limits)
        app = build_http_app(loaded, services, operator_token=OPERATOR, connections=limiter.figures)
        async with (
            hosted(app, on_stopping=services.wake, limiter=limiter) as url,
            httpx.AsyncClient(base_url=url, timeout=30, limits=httpx.Limits(max_connections=None)) as client,
        ):
            served = Served(services, store, client)
            await client.post("/rpc/ensure_project", json={"human_key": PROJECT})
            for name in ("BlueLake", "RedStone"):
                agent = await served.call("register_agent", name=name, program="p", model="m")
                served.tokens[name] = agent["registration_token"]
            yield served
