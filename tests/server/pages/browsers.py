"""Browsers of people at a real server: they keep cookies, press the buttons of forms and say where these come from."""

from __future__ import annotations

import html
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from mcp_agent_mail.bootstrap import build_services
from mcp_agent_mail.bootstrap.wiring import archiver_settings
from mcp_agent_mail.core.clock import SECOND, Micros, system_clock
from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.features.archiving.offline_drain import drain_in_process
from mcp_agent_mail.server.assembly import build_http_app
from mcp_agent_mail.server.lifespan import _store
from mcp_agent_mail.store.database import Store
from tests.server.hosted import hosted
from tests.server.whole_app import OPERATOR, PLACE, settings_of

SIGN_IN = "/mail/sign-in"
SIGN_OUT = "/mail/sign-out"


@dataclass
class ShiftedClock:
    """The machine's, so many seconds ahead."""

    ahead_s: int = 0

    def __call__(self) -> Micros:
        return Micros(system_clock() + self.ahead_s * SECOND)


@dataclass
class Browser:
    """Asks as itself; `fields` of a form are those that the page shows, and what is typed."""

    client: httpx.AsyncClient
    origin: str

    async def get(self, path: str, **headers: str) -> httpx.Response:
        return await self.client.get(path, headers=_named(headers))

    async def post(self, path: str, fields: Mapping[str, str], **headers: str) -> httpx.Response:
        """As its own page would, unless `headers` say otherwise; an empty one is not sent."""
        own = {"origin": self.origin, "sec_fetch_site": "same-origin", **headers}
        given = {name: value for name, value in own.items() if value}
        return await self.client.post(path, data=dict(fields), headers=_named(given))

    async def sign_in(self, token: str = OPERATOR) -> httpx.Response:
        page = await self.get(SIGN_IN)
        return await self.post(SIGN_IN, {"csrf": csrf_of(page, SIGN_IN), "token": token})

    async def sign_in_by(self, path: str) -> httpx.Response:
        """Open the link and press its button."""
        page = await self.get(path)
        code = re.search(r'name="link" value="([^"]*)"', page.text)
        return await self.post(SIGN_IN, {"csrf": csrf_of(page, SIGN_IN), "link": code[1] if code else ""})

    async def who(self) -> str:
        """As what the pages show it."""
        found = re.search(r'<div class="who">\s*<span>([^<]*)</span>', (await self.get("/mail")).text)
        return found[1] if found else "nobody"


def csrf_of(page: httpx.Response, action: str) -> str:
    found = re.search(rf'action="{action}"[^>]*>\s*<input type="hidden" name="csrf" value="(\w+)"', page.text)
    assert found is not None, page.text
    return html.unescape(found[1])


def _named(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


@dataclass
class ServedPages:
    url: str
    clock: ShiftedClock
    store: Store
    settings: Settings
    _clients: list[httpx.AsyncClient] = field(default_factory=list)

    def browser(self) -> Browser:
        client = httpx.AsyncClient(base_url=self.url, timeout=60)
        self._clients.append(client)
        return Browser(client, self.url)

    async def call(self, tool: str, /, **arguments: Any) -> Any:
        """As the operator; it must succeed."""
        headers = {"authorization": f"Bearer {OPERATOR}"}
        async with httpx.AsyncClient(base_url=self.url, headers=headers, timeout=60) as client:
            answer = await client.post(f"/rpc/{tool}", json=arguments)
        assert answer.status_code == 200, f"{tool}: {answer.status_code} {answer.text[:500]}"
        return answer.json()

    async def archive(self) -> None:
        """All that is there is in Git from now on: no archiver runs here."""
        assert await drain_in_process(self.store, archiver_settings(self.settings), timeout_s=600) == []

    async def close(self) -> None:
        for client in self._clients:
            await client.aclose()


@asynccontextmanager
async def serve_pages(directory: Path, port: int = 0, /, **settings: str) -> AsyncIterator[ServedPages]:
    loaded = settings_of(directory, **settings)
    clock = ShiftedClock()
    async with _store(loaded, no_fault) as store:
        services = build_services(loaded, store, place=PLACE, operator_token=OPERATOR, clock=clock)
        try:
            async with hosted(build_http_app(loaded, services, operator_token=OPERATOR), port=port) as url:
                served = ServedPages(url, clock, store, loaded)
                try:
                    yield served
                finally:
                    await served.close()
        finally:
            await services.close(timeout_s=1.0)
