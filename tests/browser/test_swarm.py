"""Two browsers beside three agents that write to each other: what is sent shows in both, what one decides leaves the
other, and a server that is started again is listened to again.

How long a message takes is measured and printed, never asserted: it is the machine's.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import pytest
from playwright.async_api import Request

from tests.browser.chromium import Watched, open_chromium, sign_in_by, watched_page
from tests.served import Served

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

APP = "/code/web-shop"
AGENTS = ("BlueLake", "GreenHill", "RedStone")
AT_A_PACE = 12
IN_A_ROW = 12
OF_EACH = 8
BEFORE_THE_STOP = 2
_SAYS = "count => document.querySelector('.fresh:not([hidden])')?.textContent === `${count} new`"
_SUBJECTS = "[data-row] .subject"


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A server process, the agents' way to it, and two browsers of the operator's."""

    server: Served
    client: httpx.AsyncClient
    browsers: tuple[Watched, Watched]
    asked: list[Request]

    async def call(self, tool: str, /, **arguments: Any) -> Any:
        answer = await self.client.post(f"/rpc/{tool}", json={"project_key": APP, **arguments})
        assert answer.status_code == 200, f"{tool}: {answer.status_code} {answer.text[:500]}"
        return answer.json()

    async def send(self, sender: str, to: str, subject: str, **given: Any) -> None:
        await self.call("send_message", sender_name=sender, to=[to], subject=subject, body_md="b", **given)

    async def open(self, path: str) -> None:
        for one in self.browsers:
            await one.open(path)

    async def both_say(self, count: int) -> list[float]:
        """When each says that so many messages are new, by the clock `time.perf_counter`."""

        async def says(one: Watched) -> float:
            await one.page.wait_for_function(_SAYS, arg=count)
            return time.perf_counter()

        return list(await asyncio.gather(*map(says, self.browsers)))

    async def show_new(self) -> None:
        for one in self.browsers:
            await one.page.click(".fresh")

    @property
    def errors(self) -> list[list[str]]:
        return [one.errors for one in self.browsers]


@pytest.fixture
async def beside(tmp_path: Path) -> AsyncIterator[Beside]:
    server = Served(tmp_path / "store", HTTP_RATE_LIMIT_ENABLED="false")
    with server:
        url = f"http://127.0.0.1:{server.port}"
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(httpx.AsyncClient(base_url=url, timeout=60))
            chromium = await stack.enter_async_context(open_chromium())
            pages = []
            for _ in range(2):
                context = await chromium.new_context(viewport={"width": 1440, "height": 900})
                pages.append(await watched_page(context, url))
            asked: list[Request] = []
            made = Beside(server=server, client=client, browsers=(pages[0], pages[1]), asked=asked)
            await client.post("/rpc/ensure_project", json={"human_key": APP})
            for name in (*AGENTS, "QuietFox"):
                await made.call("register_agent", name=name, program="p", model="m")
            for one in pages:
                one.page.on("request", lambda request: asked.append(request))  # noqa: PLW0108  # Playwright marks what it calls
                link = await asyncio.to_thread(server.am, "web", "--no-browser", "--json")
                await sign_in_by(one, json.loads(link.stdout)["url"].removeprefix(url))
            yield made


async def _shown_after(beside: Beside, count: int, *, pause_s: float) -> list[float]:
    """How long each of so many messages takes to each browser, in seconds; all are new to both."""
    took = []
    for number in range(count):
        await asyncio.sleep(pause_s)
        shown = asyncio.create_task(beside.both_say(number + 1))
        began = time.perf_counter()
        sender, to = AGENTS[number % 3], AGENTS[(number + 1) % 3]
        await beside.send(sender, to, f"Step {number}")
        took += [at - began for at in await shown]
    return took


def _told(took: list[float]) -> str:
    return f"p50 {median(took):.3f} s, max {max(took):.3f} s of {len(took)}"


async def test_what_agents_write_shows_in_both(beside: Beside) -> None:
    await beside.send("BlueLake", "RedStone", "The first")
    await beside.open("/mail")

    at_a_pace = await _shown_after(beside, AT_A_PACE, pause_s=0.7)
    await beside.show_new()
    in_a_row = await _shown_after(beside, IN_A_ROW, pause_s=0)
    await beside.show_new()

    sys.stdout.write(
        f"\na message shows, at a pace: {_told(at_a_pace)}; each sent once the last shows: {_told(in_a_row)}\n"
    )
    for one in beside.browsers:
        subjects = await one.page.locator(_SUBJECTS).all_inner_texts()
        assert sorted(subjects) == sorted(
            ["The first", *(f"Step {number}" for number in range(AT_A_PACE)), *(f"Step {n}" for n in range(IN_A_ROW))]
        )
    assert beside.errors == [[], []]


async def test_held_mail_that_is_approved_in_one_is_delivered_and_leaves_the_other(beside: Beside) -> None:
    await beside.call("set_contact_policy", agent_name="QuietFox", policy="contacts_only")
    await beside.open("/mail?box=needs")
    first, other = (one.page for one in beside.browsers)

    await beside.send("BlueLake", "QuietFox", "May I come in?")
    await beside.call("request_contact", from_agent="BlueLake", to_agent="QuietFox", reason="For the plan")
    for page in (first, other):
        await page.wait_for_selector("text=May I come in?")
    await first.click("button[value=approve]")
    await other.wait_for_selector("text=Nothing waits for you")

    found = await beside.call("fetch_inbox", agent_name="QuietFox")
    assert "May I come in?" in [one["subject"] for one in found]
    for page in (first, other):
        assert await page.locator("text=May I come in?").count() == 0
    assert beside.errors == [[], []]


async def _write(beside: Beside, sender: str, to: str, on_sent: Callable[[], None]) -> None:
    """As an agent whose server may be away: under its key it sends until it is told that it has."""
    for number in range(OF_EACH):
        while True:
            try:
                await beside.send(sender, to, f"{sender} {number}", idempotency_key=f"{sender}-{number}")
                break
            except httpx.TransportError:
                await asyncio.sleep(0.05)
        on_sent()


async def test_both_say_since_when_there_is_no_server_until_it_is_back(beside: Beside) -> None:
    await beside.open("/mail")
    lost = [one.page.locator("[data-lost=away]") for one in beside.browsers]

    await asyncio.to_thread(beside.server.kill)
    for one in lost:
        await one.wait_for(state="visible")
    told = [await one.inner_text() for one in lost]
    await asyncio.to_thread(beside.server.start)
    for one in lost:
        await one.wait_for(state="hidden")
    await beside.send("BlueLake", "RedStone", "Once it is back")
    await beside.both_say(1)

    assert all(re.match(r"Not up to date since \d\d:\d\d: no answer from the server\.", one) for one in told), told
    assert beside.errors == [[], []]


@pytest.mark.parametrize("end", ["stop", "kill"])
async def test_a_server_that_is_started_again_is_heard_without_a_gap(beside: Beside, end: str) -> None:
    await beside.send("BlueLake", "RedStone", "The first")
    await beside.open("/mail")
    sent = 0
    enough = asyncio.Event()

    def on_sent() -> None:
        nonlocal sent
        sent += 1
        if sent >= BEFORE_THE_STOP * len(AGENTS):
            enough.set()

    writers = [
        asyncio.create_task(_write(beside, sender, AGENTS[(at + 1) % 3], on_sent)) for at, sender in enumerate(AGENTS)
    ]
    await enough.wait()
    await asyncio.to_thread(getattr(beside.server, end))
    asked_before = len(beside.asked)
    sent_before = sent
    await asyncio.to_thread(beside.server.start)
    await asyncio.gather(*writers)
    await beside.both_say(OF_EACH * len(AGENTS))
    await beside.show_new()
    await beside.send("BlueLake", "RedStone", "The last")
    await beside.both_say(1)
    await beside.show_new()

    expected = ["The first", "The last", *(f"{name} {number}" for name in AGENTS for number in range(OF_EACH))]
    assert sent_before < OF_EACH * len(AGENTS)
    for one in beside.browsers:
        assert sorted(await one.page.locator(_SUBJECTS).all_inner_texts()) == sorted(expected)
    streams = [one for one in beside.asked[asked_before:] if "/mail/events" in one.url]
    # What nobody answered was never sent, and has the headers of a draft.
    answered = [one for one in streams if await one.response() is not None]
    assert len(answered) >= 2
    for stream in answered:
        assert "after=" in stream.url or (await stream.all_headers()).get("last-event-id")
    assert beside.errors == [[], []]
