"""Visits of people to the pages of a whole application, in process, with agents that write to each other."""

from __future__ import annotations

import html
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.server.whole_app import OPERATOR, WholeApp, open_whole_app

APP = "/code/app"
AGENTS = ("BlueLake", "RedStone", "GreenField", "QuietFox")
_SUBJECT = re.compile(r'<span class="subject">(?:<span class="dot"[^>]*></span>)?(.*?)</span>')
_NEXT = re.compile(r'rel="next" href="([^"]+)"')


def shown_text(answer: httpx.Response) -> str:
    """What a person reads of a page."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", answer.text)).split())


@dataclass(frozen=True)
class Visits:
    app: WholeApp

    @property
    def operator(self) -> Mapping[str, str]:
        return {"authorization": f"Bearer {OPERATOR}"}

    async def get(self, path: str, headers: Mapping[str, str] | None = None, /, **query: str) -> httpx.Response:
        """By anybody, unless `headers` say more."""
        return await self.app.client.get(path, params=query or None, headers=dict(headers or {}))

    async def send(self, **arguments: Any) -> int:
        """From BlueLake to RedStone, unless said otherwise; gives the message's number."""
        given = {"sender_name": "BlueLake", "to": ["RedStone"], "subject": "Plan", "body_md": "body", **arguments}
        sent = await self.app.call("send_message", project_key=APP, **given)
        return int(sent["deliveries"][0]["payload"]["id"])

    async def hold(self, **arguments: Any) -> int:
        """To QuietFox, who chooses who writes to it: held for its approval."""
        await self.app.call("set_contact_policy", project_key=APP, agent_name="QuietFox", policy="contacts_only")
        return await self.send(to=["QuietFox"], **arguments)

    def subjects(self, answer: httpx.Response) -> list[str]:
        """Of the rows of a list, in their order."""
        assert answer.status_code == 200, answer.text
        return [html.unescape(one) for one in _SUBJECT.findall(answer.text)]

    def next_href(self, answer: httpx.Response) -> str:
        found = _NEXT.search(answer.text)
        assert found is not None, answer.text
        return html.unescape(found[1])


@asynccontextmanager
async def open_visits(directory: Path, **settings: str) -> AsyncIterator[Visits]:
    async with open_whole_app(directory, HTTP_RATE_LIMIT_ENABLED="false", **settings) as app:
        await app.call("ensure_project", human_key=APP)
        for name in AGENTS:
            await app.call("register_agent", project_key=APP, name=name, program="tests", model="none")
        yield Visits(app)
