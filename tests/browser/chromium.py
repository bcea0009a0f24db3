"""The machine's own chromium, driven over the pages: what it says of them, and whom it asks."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, async_playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_WATCH = """
window.__told = [];
document.addEventListener("securitypolicyviolation",
  (event) => window.__told.push(`${event.effectiveDirective} ${event.blockedURI} ${event.sample}`));
window.__shift = 0;
new PerformanceObserver((list) => {
  for (const one of list.getEntries()) if (!one.hadRecentInput) window.__shift += one.value;
}).observe({type: "layout-shift", buffered: true});
"""


@dataclass
class Watched:
    """A page of a context, and what went wrong on it since `clear`."""

    page: Page
    origin: str
    errors: list[str] = field(default_factory=list)

    async def open(self, path: str) -> int:
        """The status; what the policy was told of counts as an error."""
        answer = await self.page.goto(self.origin + path, wait_until="load")
        await self.note_violations()
        return answer.status if answer else 0

    async def note_violations(self) -> None:
        self.errors += [f"policy: {one}" for one in await self.page.evaluate("window.__told ?? []")]

    async def on_dialog(self, dialog: Dialog) -> None:
        self.errors.append(f"dialog: {dialog.message}")
        await dialog.dismiss()

    def on_console(self, message: ConsoleMessage) -> None:
        """A refusal is a page of ours: that its status is told is no fault."""
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.errors.append(f"console: {message.text}")

    def on_request(self, request: Any) -> None:
        parts = urlsplit(request.url)
        if f"{parts.scheme}://{parts.netloc}" != self.origin and parts.scheme not in ("about", "data"):
            self.errors.append(f"asked: {request.url}")


@asynccontextmanager
async def open_chromium() -> AsyncIterator[Browser]:
    """Skips, loudly, where there is none."""
    path = next((found for name in _NAMES if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip("NO PAGE WAS OPENED: there is no chromium on PATH")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            await browser.close()


async def watched_page(context: BrowserContext, origin: str) -> Watched:
    await context.add_init_script(_WATCH)
    watched = Watched(await context.new_page(), origin)
    watched.page.on("dialog", watched.on_dialog)
    watched.page.on("console", watched.on_console)
    watched.page.on("pageerror", lambda error: watched.errors.append(f"script: {error}"))
    watched.page.on("request", watched.on_request)
    return watched


async def sign_in_by(watched: Watched, path: str) -> None:
    """Open the operator's link and press its button."""
    await watched.open(path)
    await watched.page.click("button[type=submit]")
    await watched.page.wait_for_load_state()
