"""A project with a thread of three messages before the operator's browser, and the keys that are pressed there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Browser, BrowserContext, Page

from tests.browser.chromium import Watched, open_chromium, sign_in_by, watched_page
from tests.server.pages.browsers import ServedPages, serve_pages

APP = "/code/web-shop"


class Shop:
    """A project with a thread of three messages, and the operator's browser."""

    def __init__(self, served: ServedPages, browser: Browser, slug: str, thread: list[int]) -> None:
        self.served, self.browser, self.slug, self.thread = served, browser, slug, thread

    async def context(self) -> BrowserContext:
        return await self.browser.new_context(viewport={"width": 1440, "height": 900})

    async def write(self, to: str, subject: str, **terms: str | bool) -> int:
        """From BlueLake."""
        sent = await self.served.call(
            "send_message", project_key=APP, sender_name="BlueLake", to=[to], subject=subject, body_md="x", **terms
        )
        return int(sent["deliveries"][0]["payload"]["id"])

    async def signed_in(self, context: BrowserContext) -> Watched:
        watched = await watched_page(context, self.served.url)
        await sign_in_by(watched, (await self.served.call("create_sign_in_link"))["path"])
        return watched


@asynccontextmanager
async def open_shop(folder: Path) -> AsyncIterator[Shop]:
    async with serve_pages(folder, HTTP_RATE_LIMIT_ENABLED="false") as served, open_chromium() as browser:
        slug = (await served.call("ensure_project", human_key=APP))["slug"]
        for name in ("BlueLake", "RedStone"):
            await served.call("register_agent", project_key=APP, name=name, program="p", model="m")
        thread = []
        for number in range(3):
            sent = await served.call(
                "send_message",
                project_key=APP,
                sender_name="BlueLake",
                to=["RedStone"],
                subject=f"Step {number}",
                body_md="x\n\n" * 40,
                thread_id="DB-14",
            )
            thread.append(sent["deliveries"][0]["payload"]["id"])
        yield Shop(served, browser, slug, thread)


async def type_keys(page: Page, *keys: str) -> None:
    for key in keys:
        await page.keyboard.press(key)


async def leads_to(page: Page, origin: str, keys: tuple[str, ...], path: str) -> None:
    await type_keys(page, *keys)
    await page.wait_for_url(origin + path)


async def rows_are(page: Page, selector: str, count: int) -> None:
    await page.wait_for_function(
        "([one, count]) => document.querySelectorAll(one).length === count", arg=[selector, count]
    )
