"""The largest paint of pages in the machine's chromium, where it and Playwright are (`make page-costs` gets that).

A browser's processes come and go, so that nobody watches who else worked: others' work only makes a paint later.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.pages.content import Place
from benchmarks.pages.visitor import sign_in_link
from benchmarks.processes import Server
from benchmarks.wire import Refused

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_WIDTH, _HEIGHT = 1440, 900
_SETTLED_MS = 1_500
FLOOR = Place(name="a bare line of text", paths=["/health/liveness"])
_LARGEST = """() => new Promise((resolve) => {
  let last = null;
  new PerformanceObserver((list) => { for (const one of list.getEntries()) last = one.startTime; })
    .observe({type: "largest-contentful-paint", buffered: true});
  const look = (left) => last !== null || left === 0 ? resolve(last) : setTimeout(() => look(left - 1), 50);
  setTimeout(() => look(40), 100);
})"""
"""Milliseconds since the address was asked for; null where nothing was painted."""


def why_not() -> str | None:
    """What is missing for it."""
    if find_spec("playwright") is None:
        return "there is no Playwright"
    return None if browser_path() else "there is no chromium on PATH"


def largest_paints(server: Server, root: Path, shown: Sequence[Place], times: int) -> dict[str, dict[str, list[float]]]:
    """ms by page, for a first visit (nothing in the browser's cache) and for a next one; pages in turn.

    FLOOR is among them: what the same browser needs for next to nothing.
    """
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  # only `make page-costs` installs it

    origin = f"http://127.0.0.1:{server.port}"
    shown = [FLOOR, *shown]
    found: dict[str, dict[str, list[float]]] = {place.name: {"first": [], "next": []} for place in shown}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": _WIDTH, "height": _HEIGHT})
        page = context.new_page()
        page.goto(origin + sign_in_link(server, root))
        page.click("button[type=submit]")
        page.wait_for_load_state()
        signed_in = context.storage_state()
        context.close()
        for number in range(times):
            for place in shown:
                context = browser.new_context(viewport={"width": _WIDTH, "height": _HEIGHT}, storage_state=signed_in)
                page = settled_page(context)
                for kind in ("first", "next"):
                    page.goto(origin + place.path(number), wait_until="load")
                    if (took_ms := page.evaluate(_LARGEST)) is None:
                        raise Refused(f"{place.name}: nothing was painted")
                    found[place.name][kind].append(float(took_ms))
                context.close()
        browser.close()
    return found


def settled_page(context: BrowserContext) -> Page:
    """A new window, once it rests: while it opens, the browser loads pages of its own on the same processors, for up to
    0.4 s.
    """
    page = context.new_page()
    page.wait_for_timeout(_SETTLED_MS)
    return page


def browser_path() -> str | None:
    """Of the first chromium on PATH."""
    return next((path for name in _NAMES if (path := shutil.which(name))), None)
