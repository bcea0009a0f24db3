"""A server with every door open, over real sockets: each door's port or path, and what was asked there."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import httpx

from mcp_agent_mail.bootstrap.services import Services
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.server.assembly import build_http_app
from mcp_agent_mail.server.door_ports import opened_ports, wanted_ports
from mcp_agent_mail.store.database import Store
from tests.server.hosted import hosted
from tests.server.whole_app import OPERATOR, open_services, settings_of

OPEN = {
    "CLAIMS_ENABLED": "true",
    "POSTAL_ENABLED": "true",
    "POSTAL_PORT": "7777",
    "POSTAL_MAX_WAIT_SECONDS": "0",
    "CLAUDE_MAILBOX_ENABLED": "true",
    "AGENTMAIL_ENABLED": "true",
}
"""Every door's setting. Ports are free ones whatever stands here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllDoors:
    """`own` is the address of the port that a door has to itself; `project` the one of doors that know none."""

    url: str
    own: Mapping[Door, str]
    client: httpx.AsyncClient
    services: Services
    store: Store
    settings: Settings

    @property
    def project(self) -> str:
        return self.settings.facades_project

    def at(self, door: Door | None) -> str:
        """Where a door is that has a port to itself; None: this server's own port."""
        return self.url if door is None else self.own[door]


@asynccontextmanager
async def open_all_doors(directory: Path, **settings: str) -> AsyncIterator[AllDoors]:
    """Over a store in `directory`, as the settings say besides."""
    loaded = settings_of(directory, **{**OPEN, **settings})
    wanted = [replace(one, port=0) for one in wanted_ports(loaded)]
    async with open_services(loaded) as (services, store):
        with opened_ports(loaded.facades_host, wanted) as ports:
            app = build_http_app(loaded, services, operator_token=OPERATOR, door_ports=ports.doors)
            async with hosted(app, beside=ports.sockets) as url, httpx.AsyncClient(timeout=60) as client:
                yield AllDoors(
                    url=url,
                    own={door: address for address, door in ports.urls.items()},
                    client=client,
                    services=services,
                    store=store,
                    settings=loaded,
                )
