"""Who may see which page and send which form, in servers that are open and locked: every cell of the table, asked."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from mcp_agent_mail.bootstrap import wiring
from mcp_agent_mail.core.clock import SECOND
from mcp_agent_mail.domain.staleness import StalenessRules
from mcp_agent_mail.store.transaction import Tx, View
from mcp_agent_mail.web.cookies import FORM_COOKIE, SESSION_COOKIE
from mcp_agent_mail.web.forms import form_token
from mcp_agent_mail.web.routes import MOVED, ROUTES
from tests.server.pages.browsers import SIGN_IN, SIGN_OUT, Browser, ServedPages, serve_pages
from tests.server.pages.table import (
    AGENT,
    ANYBODY,
    FORMS,
    GET_IN_ITS_PLACE,
    IN_AN_OPEN_SERVER,
    LOCKED,
    OF_A_MESSAGE_THAT_IS_HELD,
    OF_WHAT_IS_NOT_THERE,
    OPEN,
    OPERATOR,
    READER,
    VISITORS,
    WRITER,
    expected,
)
from tests.server.whole_app import OPERATOR as OPERATOR_TOKEN

APP = "/code/app"
SETTINGS: Mapping[str, Mapping[str, str]] = {
    OPEN: {},
    LOCKED: {"HTTP_BEARER_TOKEN": "the-token-of-this-server", "HTTP_ALLOW_LOCALHOST_UNAUTHENTICATED": "false"},
}
QUERIES: Mapping[str, str] = {
    "/mail/search": "?q=plain",
    "/mail/{project}/search": "?q=plain",
    "/mail/archive/activity": "?project={project}",
    "/mail/archive/commit/{commit}": "?project={project}",
    "/mail/archive/timeline": "?project={project}",
    "/mail/archive/browser": "?project={project}",
    "/mail/archive/network": "?project={project}",
    "/mail/archive/time-travel": "?project={project}&agent={agent}&at=2036-05-01T10:00:00Z",
}
FIELDS: Mapping[str, Mapping[str, str]] = {
    SIGN_IN: {"token": OPERATOR_TOKEN},
    SIGN_OUT: {},
    "/mail/reminders": {"project": "{project}"},
    "/mail/marks": {"act": "read", "message": "{message}"},
    "/mail/{project}/message/{message}/reply": {"body_md": "Yes.", "act": "send", "idempotency_key": "reply-1"},
    "/mail/{project}/overseer/compose": {
        "to": "RedStone",
        "subject": "New",
        "body_md": "b",
        "act": "send",
        "idempotency_key": "compose-1",
    },
    "/mail/projects": {"act": "dismiss", "first": "{first}", "second": "{second}"},
    "/mail/{project}/contacts": {
        "to_agent": "QuietFox",
        "from_agent": "BlueLake",
        "from_project": "{project}",
        "answer": "approve",
    },
    "/mail/{project}/file_reservations/{reservation}/release": {"note": "Needed"},
}
"""A whole form of each, but for its token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """A server with something at every address; `keys` are those of paths, and of fields."""

    served: ServedPages
    keys: Mapping[str, str]
    browsers: Mapping[str, Browser]

    def filled(self, text: str) -> str:
        return re.sub(r"{(\w+)}", lambda found: self.keys[found[1]], text)

    async def fields(self, path: str, browser: Browser, *, secret_of: Browser | None = None) -> dict[str, str]:
        """As the page of this browser has them, with its token, or with that which another's page would have."""
        action = self.filled(path)
        given = {name: self.filled(value) for name, value in FIELDS[path].items()}
        return {**given, "csrf": form_token(await secret(secret_of or browser, path), action)}

    async def everything(self) -> dict[str, list[Any]]:
        """All rows that there are, but for when somebody was there last, and the store was looked after."""
        return await self.served.store.read(_rows)


_LOOKED_AT = ("last_active_ts", "used_ts", "last_used_ts")


def _rows(view: View) -> dict[str, list[Any]]:
    connection = view.meta._connection
    names = connection.execute("SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name <> 'meta'")
    return {
        name: [[row[one] for one in kept] for row in connection.execute(f"SELECT * FROM main.{name}").fetchall()]
        for (name,) in names.fetchall()
        for kept in [[at for at, column in _columns(connection, name) if column not in _LOOKED_AT]]
    }


def _columns(connection: Any, table: str) -> list[tuple[int, str]]:
    return [(row[0], row[1]) for row in connection.execute(f"PRAGMA main.table_info({table})").fetchall()]


async def secret(browser: Browser, path: str) -> str:
    """Of the browser's session; of the form, on the page to sign in."""
    name = FORM_COOKIE if path == SIGN_IN else SESSION_COOKIE
    if path == SIGN_IN:
        await browser.get(SIGN_IN)
    held = [value for cookie, value in browser.client.cookies.items() if cookie.startswith(name)]
    return held[0] if held else "nothing"


async def _live_in(served: ServedPages) -> tuple[dict[str, str], str]:
    """The keys, and the token of RedStone."""
    project = await served.call("ensure_project", human_key=APP)
    siblings = [await served.call("ensure_project", human_key=f"/code/store-{one}") for one in ("web", "api")]
    agents = {}
    for name in ("BlueLake", "RedStone", "QuietFox"):
        agents[name] = await served.call("register_agent", project_key=APP, name=name, program="t", model="m")
    await served.call("set_contact_policy", project_key=APP, agent_name="QuietFox", policy="contacts_only")
    shown = await _send(served, to=["Human", "RedStone"], attachment_paths=["data:text/plain;base64,YWJj"])
    held = await _send(served, to=["QuietFox"])
    await _send(served, to=["RedStone"], ack_required=True)
    await served.store.write(_age)
    lease = await served.call("file_reservation_paths", project_key=APP, agent_name="BlueLake", paths=["a.py"])
    await served.archive()
    keys = {
        "project": project["slug"],
        "thread": "T",
        "agent": "RedStone",
        "name": "RedStone",
        "message": str(shown),
        "held": str(held),
        "reservation": str(lease["granted"][0]["id"]),
        "first": str(siblings[0]["id"]),
        "second": str(siblings[1]["id"]),
    }
    return keys, agents["RedStone"]["registration_token"]


def _age(tx: Tx) -> None:
    """All mail that is there was delivered a week ago."""
    tx.agents._connection.execute("UPDATE recipients SET delivered_ts = delivered_ts - ?", (604_800 * SECOND,))


async def _send(served: ServedPages, **arguments: object) -> int:
    given = {"sender_name": "BlueLake", "subject": "plain", "body_md": "b", "thread_id": "T", **arguments}
    sent = await served.call("send_message", project_key=APP, **given)
    return int(sent["deliveries"][0]["payload"]["id"])


@asynccontextmanager
async def live_in(directory: Path, server: str) -> AsyncIterator[House]:
    settings = {"HTTP_RATE_LIMIT_ENABLED": "false", "FILE_RESERVATIONS_CLEANUP_ENABLED": "false", **SETTINGS[server]}
    async with serve_pages(directory, **settings) as served:
        keys, token = await _live_in(served)
        browsers = {one: served.browser() for one in VISITORS}
        browsers[AGENT].client.headers["x-agent-token"] = token
        for role in (READER, WRITER, OPERATOR):
            made = await served.call("create_issued_token", expires="1d", role=role)
            assert (await browsers[role].sign_in(made["token"])).status_code == 303
        operator = browsers[OPERATOR]
        carried = await operator.get(f"/mail/{keys['project']}/attachments")
        commits = await operator.get(f"/mail/archive/activity?project={keys['project']}")
        keys["sha256"] = _first(r"/attachments/([0-9a-f]{64})", carried)
        keys["commit"] = _first(r"/archive/commit/([0-9a-f]{40})", commits)
        yield House(served=served, keys=keys, browsers=browsers)


def _first(pattern: str, page: httpx.Response) -> str:
    found = re.search(pattern, page.text)
    assert found is not None, page.text
    return found[1]


@pytest.fixture(params=[OPEN, LOCKED])
async def house(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[str, House]]:
    # What is reserved counts as left at once, so that the operator may release it.
    monkeypatch.setattr(wiring, "StalenessRules", lambda **_: StalenessRules(inactivity_s=0, grace_s=0))
    async with live_in(tmp_path, request.param) as opened:
        yield request.param, opened


def test_every_page_and_every_form_is_in_the_table() -> None:
    assert sorted(IN_AN_OPEN_SERVER) == sorted([*MOVED, *(one.path for one in ROUTES if one.get is not None)])
    assert sorted(FORMS) == sorted(one.path for one in ROUTES if one.post is not None)
    assert FORMS.keys() == GET_IN_ITS_PLACE.keys() == FIELDS.keys()


async def _status(browser: Browser, path: str) -> int:
    """A stream is left once it says how it begins."""
    async with browser.client.stream("GET", path) as answer:
        return answer.status_code


async def test_every_page_is_for_whom_the_table_says(house: tuple[str, House]) -> None:
    server, opened = house
    rows = {**IN_AN_OPEN_SERVER, **OF_A_MESSAGE_THAT_IS_HELD, **OF_WHAT_IS_NOT_THERE}
    before = await opened.everything()
    wrong = {}

    for path, statuses in rows.items():
        address = opened.filled(path + QUERIES.get(path, ""))
        told = tuple([await _status(opened.browsers[one], address) for one in VISITORS])
        if told != expected(server, path, statuses):
            wrong[path] = (told, expected(server, path, statuses))

    assert wrong == {}
    assert await opened.everything() == before


async def test_a_form_is_refused_unless_it_is_sent_by_its_own_page_in_its_own_session(house: tuple[str, House]) -> None:
    _, opened = house
    operator, other = opened.browsers[OPERATOR], opened.served.browser()
    await other.sign_in()
    before = await opened.everything()
    wrong: dict[tuple[str, str], object] = {}

    for path in FORMS:
        whole = await opened.fields(path, operator)
        bare = {name: value for name, value in whole.items() if name != "csrf"}
        of_another_act = form_token(await secret(operator, path), "/mail/another")
        of_another_session = (await opened.fields(path, operator, secret_of=other))["csrf"]
        action = opened.filled(path)
        ways: dict[str, tuple[dict[str, str], dict[str, str]]] = {
            "no token": (bare, {}),
            "an empty token": ({**bare, "csrf": ""}, {}),
            "a wrong token": ({**bare, "csrf": "0" * 64}, {}),
            "the token of another act": ({**bare, "csrf": of_another_act}, {}),
            "the token of another session": ({**bare, "csrf": of_another_session}, {}),
            "no origin and no referer": (whole, {"origin": ""}),
            "a referer of another site": (whole, {"origin": "", "referer": "http://elsewhere.example/mail"}),
            "an origin of another port": (whole, {"origin": "http://127.0.0.1:1"}),
            "the origin null": (whole, {"origin": "null"}),
            "the origin of another scheme": (whole, {"origin": operator.origin.replace("http:", "https:")}),
            "a sub-domain of ours": (whole, {"origin": operator.origin.replace("127.", "mail.127.")}),
            "of the same site": (whole, {"sec_fetch_site": "same-site"}),
            "of another site": (whole, {"sec_fetch_site": "cross-site"}),
            "of no page": (whole, {"sec_fetch_site": "none"}),
        }
        for what, (fields, headers) in ways.items():
            status = (await operator.post(action, fields, **headers)).status_code
            if status != 403:
                wrong[path, what] = status
        asked = await operator.client.get(action, params=whole)
        if asked.status_code != GET_IN_ITS_PLACE[path]:
            wrong[path, "GET"] = asked.status_code
        if await opened.everything() != before:
            wrong[path, "changed"] = True

    assert wrong == {}


async def test_a_form_is_taken_from_whom_the_table_says_and_of_anybody_else_nothing_changes(
    house: tuple[str, House],
) -> None:
    _, opened = house
    wrong: dict[tuple[str, str], object] = {}

    # Without a session nothing else is taken, and who signs in has one.
    for path in [*(one for one in FORMS if one not in (SIGN_IN, SIGN_OUT)), SIGN_OUT, SIGN_IN]:
        for visitor, status in zip(VISITORS, FORMS[path], strict=True):
            browser = opened.browsers[visitor]
            before = await opened.everything()
            fields = await opened.fields(path, browser)
            answer = await browser.post(opened.filled(path), fields, sec_fetch_site="")
            has_changed = await opened.everything() != before
            if (answer.status_code, has_changed) != (status, status == 303):
                wrong[path, visitor] = (answer.status_code, has_changed, answer.text[:2_000])

    assert wrong == {}


async def test_an_operators_token_beside_no_session_sends_no_form(house: tuple[str, House]) -> None:
    _, opened = house
    nobody = opened.browsers[ANYBODY]
    before = await opened.everything()

    for path in FORMS:
        if path == SIGN_IN:
            continue
        fields = await opened.fields(path, nobody, secret_of=opened.browsers[OPERATOR])
        answer = await nobody.post(opened.filled(path), fields, authorization=f"Bearer {OPERATOR_TOKEN}")
        assert answer.status_code == 401, path

    assert await opened.everything() == before


async def test_an_agents_own_token_signs_nobody_in(house: tuple[str, House]) -> None:
    _, opened = house
    token = str(opened.browsers[AGENT].client.headers["x-agent-token"])
    before = await opened.everything()

    answer = await opened.browsers[ANYBODY].sign_in(token)

    assert answer.status_code == 403
    assert await opened.everything() == before
