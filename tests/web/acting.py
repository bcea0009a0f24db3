"""A person before the pages of a whole application: signs in as the operator, fills in forms, presses their buttons."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx

from tests.server.whole_app import OPERATOR, WholeApp, open_whole_app

SHOP, BILLS = "/code/shop", "/code/bills"
OWN = {"Origin": "http://127.0.0.1"}
BEARER = {"Authorization": f"Bearer {OPERATOR}"}

Pairs = list[tuple[str, str]]


@dataclass
class Form:
    """As a browser would send it: `fields` without its buttons. A field of another form's name is not in it."""

    action: str
    id: str
    fields: Pairs = field(default_factory=list)

    def filled(self, **given: str | list[str]) -> Pairs:
        """With these instead of what stands in the fields."""
        kept = [pair for pair in self.fields if pair[0] not in given]
        return kept + [
            (name, one) for name, value in given.items() for one in ([value] if isinstance(value, str) else value)
        ]

    def value(self, name: str) -> str:
        return dict(self.fields)[name]


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.forms: list[Form] = []
        self._open: Form | None = None
        self._area: str | None = None
        self._select: str | None = None
        self._text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._open = Form(given.get("action", ""), given.get("id", ""))
            self.forms.append(self._open)
        elif self._open is not None:
            self._begin_field(self._open, tag, given)

    def _begin_field(self, form: Form, tag: str, given: dict[str, str]) -> None:
        if tag == "input" and "name" in given:
            if given.get("type") != "checkbox" or "checked" in given:
                form.fields.append((given["name"], given.get("value", "" if given.get("type") != "checkbox" else "on")))
        elif tag == "textarea":
            self._area, self._text = given["name"], ""
        elif tag == "select":
            self._select = given["name"]
        elif tag == "option" and self._select and ("selected" in given or not self._has(self._select)):
            form.fields = [pair for pair in form.fields if pair[0] != self._select]
            form.fields.append((self._select, given.get("value", "")))

    def _has(self, name: str) -> bool:
        assert self._open is not None
        return any(pair[0] == name for pair in self._open.fields)

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea" and self._open is not None and self._area is not None:
            self._open.fields.append((self._area, self._text.removeprefix("\n")))
            self._area = None
        elif tag == "select":
            self._select = None
        elif tag == "form":
            self._open = None


def forms_of(page: httpx.Response) -> list[Form]:
    parser = _Forms()
    parser.feed(page.text)
    return parser.forms


def form_to(page: httpx.Response, action: str) -> Form:
    """The first form of the page that is sent there."""
    return next(one for one in forms_of(page) if one.action == action)


@dataclass
class Person:
    """Somebody before a browser. `app` is the whole application, where agents call tools beside it."""

    app: WholeApp

    async def get(self, path: str) -> httpx.Response:
        return await self.app.client.get(path)

    async def send(self, action: str, fields: Pairs, **headers: str) -> httpx.Response:
        data: dict[str, Any] = {}
        for name, value in fields:
            data.setdefault(name, []).append(value)
        return await self.app.client.post(action, data=data, headers={**OWN, **headers})

    async def sign_in(self) -> None:
        link = await self.app.call("create_sign_in_link", BEARER)
        page = await self.get(link["path"])
        form = form_to(page, "/mail/sign-in")
        answer = await self.send(form.action, form.fields)
        assert answer.status_code == 303, answer.text

    async def slug(self, project: str) -> str:
        return str((await self.app.call("ensure_project", human_key=project))["slug"])

    async def inbox(self, name: str, project: str = SHOP) -> list[dict[str, Any]]:
        found = await self.app.call("fetch_inbox", project_key=project, agent_name=name, include_bodies=True)
        return list(found)

    async def write(self, sender: str, to: str, project: str = SHOP, **more: Any) -> int:
        """Mail of an agent; its number."""
        mail: dict[str, Any] = {"subject": "Ready?", "body_md": "The parser is.", **more}
        sent = await self.app.call("send_message", project_key=project, sender_name=sender, to=[to], **mail)
        return int(sent["deliveries"][0]["payload"]["id"])

    async def status(self, message_id: int, sender: str, recipient: str = "Human") -> str:
        asked: dict[str, Any] = {"project_key": SHOP, "agent_name": sender, "message_id": message_id}
        found = await self.app.call("message_status", **asked)
        return str(next(one["status"] for one in found["recipients"] if one["name"] == recipient))


@asynccontextmanager
async def before_the_pages(directory: Path, **settings: str) -> AsyncIterator[Person]:
    """Two projects with agents, and nobody signed in."""
    async with open_whole_app(directory, **settings) as app:
        for project, names in ((SHOP, ("BlueLake", "GreenHill")), (BILLS, ("TealRiver",))):
            await app.call("ensure_project", human_key=project)
            for name in names:
                await app.call("register_agent", project_key=project, program="tests", model="none", name=name)
        yield Person(app)
