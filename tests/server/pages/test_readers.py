from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from mcp_agent_mail.web.headers import PAGE_HEADERS
from mcp_agent_mail.web.routes import MOVED, ROUTES
from tests.server.pages.browsers import Browser, ServedPages, serve_pages

EVENTS = "/mail/events"

APP = "/code/app"
SECRETS = ("SECRET-held", "SECRET-withdrawn", "SECRET-body", "SECRET-reason", "BlindFox")
"""What only the operator sees. BlindFox is written to by blind copies alone, and is listed with the agents."""
NAMES_ARE_LISTED = (
    "agents",
    "contacts",
    "network",
    "search",
    "compose",
    "archive",
    "now",
    "projects",
    "file_reservations",
)


@dataclass
class Swarm:
    served: ServedPages
    keys: Mapping[str, str]
    browsers: Mapping[str, Browser]


async def _send(served: ServedPages, **arguments: object) -> int:
    given = {"sender_name": "BlueLake", "to": ["RedStone"], "subject": "plain", "body_md": "b", "thread_id": "T"}
    sent = await served.call("send_message", project_key=APP, **{**given, **arguments})
    return int(sent["deliveries"][0]["payload"]["id"])


@pytest.fixture
async def swarm(tmp_path: Path) -> AsyncIterator[Swarm]:
    """Mail that is open, blind, held and withdrawn, and browsers of every role."""
    async with serve_pages(tmp_path, HTTP_RATE_LIMIT_ENABLED="false") as served:
        slug = (await served.call("ensure_project", human_key=APP))["slug"]
        for name in ("BlueLake", "RedStone", "QuietFox", "BlindFox"):
            await served.call("register_agent", project_key=APP, name=name, program="t", model="m")
        await served.call("set_contact_policy", project_key=APP, agent_name="QuietFox", policy="contacts_only")
        shown = await _send(served, bcc=["BlindFox"])
        held = await _send(served, to=["QuietFox"], subject="SECRET-held", body_md="SECRET-body")
        gone = await _send(served, subject="SECRET-withdrawn", body_md="SECRET-body")
        await served.call(
            "withdraw_message", project_key=APP, message_id=gone, sender_name="BlueLake", reason="SECRET-reason"
        )
        browsers = {"anybody": served.browser()}
        for role in ("reader", "writer", "operator"):
            made = await served.call("create_issued_token", expires="1d", role=role)
            browsers[role] = served.browser()
            assert (await browsers[role].sign_in(made["token"])).status_code == 303
        keys = {"project": slug, "thread": "T", "agent": "RedStone", "name": "RedStone", "message": str(shown)}
        yield Swarm(served, {**keys, "held": str(held), "gone": str(gone)}, browsers)


def paths_of(swarm: Swarm) -> Iterator[str]:
    """Of every page that is read, of each message where one is asked for, with each box and filter of the inbox."""
    for route in ROUTES:
        if route.path == EVENTS:  # A stream has no end, and no text.
            continue
        if route.get is None:
            continue
        for number in ("message", "held", "gone") if "{message}" in route.path else ("message",):
            keys = {**swarm.keys, "message": swarm.keys[number]}
            yield re.sub(r"{(\w+)}", lambda found, keys=keys: keys.get(found[1], "0" * 40), route.path)  # type: ignore[misc]
    for query in ("box=log", "box=needs", "q=from:BlueLake", "q=is:unread", "q=needs:ack", "q=topic:x", "before=9"):
        yield f"/mail?{query}"
    yield from MOVED


async def test_blind_held_and_withdrawn_mail_is_on_no_page_but_the_operators(swarm: Swarm) -> None:
    seen = set()

    for path in paths_of(swarm):
        for role, browser in swarm.browsers.items():
            page = await browser.get(path)
            assert page.status_code != 500, (path, role)
            assert {name: page.headers.get(name) for name, _ in PAGE_HEADERS}["cache-control"] == "no-store", path
            told = {word for word in SECRETS if word in page.text}
            if any(part in path for part in NAMES_ARE_LISTED):
                told -= {"BlindFox"}
            if role == "operator":
                seen |= told
            else:
                assert told == set(), (path, role)

    assert {"SECRET-held", "SECRET-withdrawn", "BlindFox"} <= seen


async def test_no_form_is_taken_without_its_token_from_whatever_role(swarm: Swarm) -> None:
    acts = [route.path for route in ROUTES if route.post is not None]
    assert acts

    for path in acts:
        address = re.sub(r"{(\w+)}", lambda found: swarm.keys.get(found[1], "1"), path)
        for role, browser in swarm.browsers.items():
            answers = [
                await browser.post(address, {}),
                await browser.post(address, {"csrf": "0" * 64}),
                await browser.post(address, {"csrf": ""}, origin="http://127.0.0.1:1", sec_fetch_site="same-site"),
            ]
            assert {answer.status_code for answer in answers} <= {401, 403}, (path, role)
    assert [await browser.who() for browser in swarm.browsers.values()] == ["Reading only", "reader", "writer", "Human"]
