"""The whole application over a store with mail in Git, asked as a browser asks: signed in, or not."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from mcp_agent_mail.bootstrap.wiring import archiver_settings
from mcp_agent_mail.features.archiving.offline_drain import drain_in_process
from tests.server.whole_app import OPERATOR, WholeApp, open_whole_app, settings_of

HOSTILE = '<script>alert(1)</script> \u202e {{ 7*7 }} "onload='
AS_OPERATOR = {"authorization": f"Bearer {OPERATOR}"}
HTML = "data:text/html;base64,PHNjcmlwdD4xPC9zY3JpcHQ+"


@dataclass
class ArchivedApp:
    """`ids` are messages by name; `slug` is the project's."""

    app: WholeApp
    slug: str
    ids: dict[str, int] = field(default_factory=dict)

    async def get(self, path: str, **headers: str) -> httpx.Response:
        return await self.app.client.get(path, headers=headers)

    async def sign_in(self) -> None:
        """As the operator, by a link."""
        link = (await self.app.call("create_sign_in_link", AS_OPERATOR))["path"]
        form = await self.get(link)
        found = re.search(r'name="csrf" value="([0-9a-f]+)"', form.text)
        assert found is not None
        answer = await self.app.client.post(
            "/mail/sign-in",
            data={"csrf": found[1], "link": link.partition("link=")[2], "back": "/mail"},
            headers={"origin": "http://127.0.0.1"},
        )
        assert answer.status_code == 303, answer.text


@asynccontextmanager
async def open_archived_app(directory: Path) -> AsyncIterator[ArchivedApp]:
    async with open_whole_app(directory) as app:
        key = str(directory / "app")
        (directory / "app").mkdir()
        slug = (await app.call("ensure_project", human_key=key))["slug"]
        for name in ("BlueLake", "RedStone", "GreenHill"):
            await app.call("register_agent", project_key=key, name=name, program="x", model="y")
        archived = ArchivedApp(app, slug)
        letters: dict[str, dict[str, Any]] = {
            "plan": {"subject": HOSTILE, "body_md": HOSTILE, "attachment_paths": [HTML]},
            "blind": {"subject": "Ours", "body_md": "Quietly", "bcc": ["GreenHill"]},
        }
        for name, given in letters.items():
            sent = await app.call("send_message", project_key=key, sender_name="BlueLake", to=["RedStone"], **given)
            archived.ids[name] = sent["deliveries"][0]["payload"]["id"]
        settings = settings_of(directory)
        assert await drain_in_process(app.store, archiver_settings(settings), timeout_s=60) == []
        yield archived
