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

from tests.browser.chromium import Watched, open_chromium, sign_in_by, watched_page
from tests.server.pages.browsers import ServedPages, serve_pages

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

APP = "/code/web-shop"
STREAMS = "**/mail/events?*"
TABS = 8
_SAYS = "count => document.querySelector('.fresh:not([hidden])')?.textContent === `${count} new`"
_SILENCE_MS = 41_000
_PAGE = 50
_THREAD_PAGE = 25
_LOCKED = {"HTTP_BEARER_TOKEN": "a-token-of-the-server-0123456789", "HTTP_ALLOW_LOCALHOST_UNAUTHENTICATED": "false"}
_NOTES_LOST = """
addEventListener("DOMContentLoaded", () => new MutationObserver((seen) => {
  for (const { target } of seen) if (target.dataset.lost && !target.hidden) window.__wasLost = true;
}).observe(document.body, { subtree: true, attributes: true }));
"""


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

    async def send(self, subject: str, to: str = "GreenHill", **terms: str | bool) -> None:
        sent = {"sender_name": "BlueLake", "to": [to], "subject": subject, "body_md": "b", **terms}
        await self.pages.call("send_message", project_key=APP, **sent)

    async def send_many(self, count: int, **terms: str) -> None:
        for number in range(count):
            await self.send(f"Late {number}", **terms)

    async def tab(self) -> Watched:
        watched = await watched_page(self.context, self.pages.url)
        watched.page.on("request", self.on_request)
        return watched


@pytest.fixture
async def reader(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Reader]:
    """Of a server with the settings that the test is given, if any."""
    settings = {"HTTP_RATE_LIMIT_ENABLED": "false", **getattr(request, "param", {})}
    async with serve_pages(tmp_path, **settings) as pages, open_chromium() as chromium:
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


async def test_a_tab_whose_session_another_ended_says_so_where_reading_is_free_too(reader: Reader) -> None:
    await reader.send("To the operator", to="Human", ack_required=True)
    first, second = await reader.tab(), await reader.tab()
    await sign_in_by(first, (await reader.pages.call("create_sign_in_link"))["path"])
    await first.open("/mail?box=needs")
    assert await first.page.title() == "(1) Needs you · Agent Mail"
    await reader.send("Another", to="Human", ack_required=True)
    await first.page.wait_for_function("() => document.title.startsWith('(2) ')")
    await second.open("/mail")

    await second.page.click(".side > .who button")
    await first.page.bring_to_front()
    await first.page.evaluate("document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))")

    await first.page.wait_for_selector("[data-lost=out]:not([hidden])")


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


async def test_more_new_mail_than_a_page_holds_leaves_no_hole_in_the_list(reader: Reader) -> None:
    tab = await reader.tab()
    await tab.open("/mail")
    await reader.send_many(_PAGE + 10)
    await tab.page.wait_for_selector(f".fresh:text-is('{_PAGE}+ new')")

    async with tab.page.expect_navigation():
        await tab.page.click(".fresh")

    subjects = await tab.page.locator("[data-row] .subject").all_inner_texts()
    assert subjects == [f"Late {number}" for number in range(_PAGE + 9, 9, -1)]
    assert tab.errors == []


async def test_new_mail_of_a_thread_leads_on_behind_the_end_of_its_page(reader: Reader) -> None:
    await reader.send_many(20, thread_id="LONG-1")
    tab = await reader.tab()
    bodies = tab.page.locator(".thread .messages > *")
    await tab.open(f"/mail/{(await reader.pages.call('ensure_project', human_key=APP))['slug']}/thread/LONG-1")
    assert await tab.page.inner_text("[data-live=place]") == "20 messages"

    await reader.send_many(10, thread_id="LONG-1")
    await tab.page.wait_for_function(_SAYS, arg=10)
    assert await tab.page.inner_text("[data-live=place]") == "1 to 25 of 30"
    assert await tab.page.locator("a[rel=next]").count() == 2
    await tab.page.click(".fresh")
    await tab.page.wait_for_function(_SAYS, arg=5)
    assert await bodies.count() == _THREAD_PAGE
    await reader.send("The 31st", thread_id="LONG-1")
    await tab.page.wait_for_function(_SAYS, arg=6)
    async with tab.page.expect_navigation():
        await tab.page.click(".fresh")

    assert await bodies.count() == _THREAD_PAGE
    assert await tab.page.inner_text("[data-live=place]") == "7 to 31 of 31"
    assert await tab.page.is_hidden(".fresh")
    assert tab.errors == []


@pytest.mark.parametrize("reader", [_LOCKED], indirect=True)
async def test_a_tab_says_that_its_session_has_ended_until_there_is_another(reader: Reader) -> None:
    tab, other = await reader.tab(), await reader.tab()
    await sign_in_by(tab, (await reader.pages.call("create_sign_in_link"))["path"])
    await other.open("/mail")
    await other.page.click(".side > .who button")
    await other.page.wait_for_url("**/mail/sign-in")

    await tab.page.bring_to_front()
    await tab.page.wait_for_selector(".lost:has-text('Signed out here. Sign in again')")
    await sign_in_by(other, (await reader.pages.call("create_sign_in_link"))["path"])
    await tab.page.bring_to_front()
    await tab.page.wait_for_selector("[data-lost=out]", state="hidden")

    assert tab.errors + other.errors == []


async def test_a_look_that_fails_once_is_not_told(reader: Reader) -> None:
    tab = await reader.tab()
    await tab.page.add_init_script(_NOTES_LOST)
    await tab.open("/mail")
    failed = asyncio.Event()

    async def fails(route: Route) -> None:
        failed.set()
        await route.abort()

    await tab.page.route("**/mail", fails, times=1)
    await reader.send("New")
    await tab.page.wait_for_function(_SAYS, arg=1)

    assert failed.is_set()
    assert not await tab.page.evaluate("window.__wasLost ?? false")


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        ("inbox/GreenHill", "After"),
        ("outbox/BlueLake", "After"),
        ("agents/BlueLake", "After"),
        ("file_reservations", "src/after.py"),
    ],
)
async def test_what_an_agent_has_sent_and_holds_follows(reader: Reader, place: str, shown: str) -> None:
    slug = (await reader.pages.call("ensure_project", human_key=APP))["slug"]
    tab = await reader.tab()
    await tab.page.goto(f"{reader.pages.url}/mail/{slug}/{place}")
    await asyncio.wait_for(reader.listens.wait(), 20)

    await reader.send("After")
    await reader.pages.call("file_reservation_paths", project_key=APP, agent_name="BlueLake", paths=["src/after.py"])

    await tab.page.wait_for_selector(f"main :text-is('{shown}')", timeout=20_000)
