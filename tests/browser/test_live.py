"""What a page hears while it is open: nothing is missed between its making and its stream, in another tab's place, or
behind a stream that died without a word; and nothing moves under the cursor.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, Request, Route

from tests.browser.chromium import Watched, open_chromium, watched_page
from tests.server.pages.browsers import ServedPages, serve_pages

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

APP = "/code/web-shop"
STREAMS = "**/mail/events?*"
TABS = 8
_SAYS = "count => document.querySelector('.fresh:not([hidden])')?.textContent === `${count} new`"
_SILENCE_MS = 41_000


@dataclass
class Reader:
    """A browser of somebody who reads, and the agents' way to the server."""

    pages: ServedPages
    context: BrowserContext
    streams: list[Request] = field(default_factory=list)
    listens: asyncio.Event = field(default_factory=asyncio.Event)

    def on_request(self, request: Request) -> None:
        if "/mail/events" in request.url:
            self.streams.append(request)
            self.listens.set()

    async def send(self, subject: str) -> None:
        await self.pages.call(
            "send_message", project_key=APP, sender_name="BlueLake", to=["GreenHill"], subject=subject, body_md="b"
        )

    async def tab(self) -> Watched:
        watched = await watched_page(self.context, self.pages.url)
        watched.page.on("request", self.on_request)
        return watched


@pytest.fixture
async def reader(tmp_path: Path) -> AsyncIterator[Reader]:
    async with serve_pages(tmp_path, HTTP_RATE_LIMIT_ENABLED="false") as pages, open_chromium() as chromium:
        await pages.call("ensure_project", human_key=APP)
        for name in ("BlueLake", "GreenHill"):
            await pages.call("register_agent", project_key=APP, name=name, program="p", model="m")
        context = await chromium.new_context(viewport={"width": 1440, "height": 900})
        made = Reader(pages, context)
        for number in range(3):
            await made.send(f"Before {number}")
        yield made


async def test_mail_between_a_page_and_its_stream_is_shown(reader: Reader) -> None:
    tab = await reader.tab()

    async def late(route: Route) -> None:
        await reader.send("Between")
        await route.continue_()

    await tab.page.route(STREAMS, late, times=1)
    await tab.open("/mail")
    await tab.page.wait_for_function(_SAYS, arg=1)

    assert tab.errors == []


async def test_mail_between_two_tabs_that_listen_is_shown(reader: Reader) -> None:
    first = await reader.tab()
    await first.open("/mail")
    await asyncio.wait_for(reader.listens.wait(), 20)
    second = await reader.tab()

    async def late(route: Route) -> None:
        await reader.send("Between")
        await route.continue_()

    await second.page.route(STREAMS, late, times=1)
    await second.open("/mail")
    await first.page.close()
    await second.page.wait_for_function(_SAYS, arg=1)

    assert len(reader.streams) == 2


async def test_a_stream_that_says_nothing_is_opened_anew(reader: Reader) -> None:
    tab = await reader.tab()

    async def dead(_: Route) -> None:
        """It gets no answer."""

    await tab.page.clock.install()
    await tab.page.route(STREAMS, dead, times=1)
    await tab.open("/mail")
    await asyncio.wait_for(reader.listens.wait(), 20)
    await reader.send("Unheard")
    await tab.page.clock.fast_forward(_SILENCE_MS)
    await tab.page.wait_for_function(_SAYS, arg=1)

    assert len(reader.streams) == 2


async def test_many_tabs_have_one_stream_and_all_hear(reader: Reader) -> None:
    tabs = [await reader.tab() for _ in range(TABS)]
    for tab in tabs:
        await tab.open("/mail")
    await asyncio.wait_for(reader.listens.wait(), 20)
    await reader.send("To all")
    for tab in tabs:
        await tab.page.bring_to_front()
        await tab.page.wait_for_function(_SAYS, arg=1)

    assert len(reader.streams) == 1


async def test_what_comes_in_moves_nothing(reader: Reader) -> None:
    tab = await reader.tab()
    await tab.open("/mail")
    row = tab.page.locator("[data-row]").nth(1)
    await row.hover()
    before = await row.bounding_box(), await row.inner_text()
    await reader.send("New")
    await tab.page.wait_for_function(_SAYS, arg=1)

    assert (await row.bounding_box(), await row.inner_text()) == before
    assert await tab.page.locator("[data-row]").count() == 3
