"""Hostile mail in the browser: in every field that peers fill, on every page, to the operator and to a reader, with our
policy and without it; and in a bundle that is given away.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.async_api import Browser

from tests.browser.chromium import Watched, open_chromium, sign_in_by, watched_page
from tests.browser.hostile_mail import HostileMail, hostile_mail
from tests.browser.places import places
from tests.browser.vectors import VECTORS
from tests.server.pages.browsers import SIGN_IN

pytestmark = [pytest.mark.browser, pytest.mark.timeout(3_600)]

LEAST = 300
MOST_STEPS = 400
MAYBE_REFUSED = {"thread", "name"}
"""Fields of few characters: a vector among them is one that is made of these."""
FOREIGN = """() => [...document.querySelectorAll("main *:not(.split > template#nothing)")].filter((one) =>
  [...one.attributes].some((named) => named.name.startsWith("on") || named.name === "style" || named.name === "srcdoc")
  || ["SCRIPT", "IFRAME", "OBJECT", "EMBED", "STYLE", "BASE", "META", "LINK", "MATH", "TEMPLATE"]
    .includes(one.tagName)
  || (one.closest(".body") && ["IMG", "FORM", "BUTTON", "SVG", "svg"].includes(one.tagName))
  || (one.tagName === "A" && one.closest(".body") && one.href && !/^(https?|mailto):/.test(one.href))
).map((one) => one.outerHTML.slice(0, 200))"""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Whose, and how they look. `has_policy` False: what slips past the sanitiser would really run."""

    is_operator: bool
    width: int
    scheme: str = "light"
    has_policy: bool = True

    def __str__(self) -> str:
        who = "operator" if self.is_operator else "reader"
        return f"{who} {self.width} {self.scheme} {'policy' if self.has_policy else 'no policy'}"


VIEWS = (
    View(is_operator=True, width=1440),
    View(is_operator=True, width=1440, has_policy=False),
    View(is_operator=True, width=360, scheme="dark"),
    View(is_operator=False, width=360, scheme="dark"),
    View(is_operator=False, width=1440, has_policy=False),
)


@pytest.fixture(scope="module")
async def hostile(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[HostileMail]:
    """Nothing here changes it, and it takes long to write."""
    async with hostile_mail(tmp_path_factory.mktemp("hostile")) as filled:
        yield filled


async def _faults(watched: Watched, path: str) -> list[str]:
    """What ran, was asked or was told of, and what stands in the page that its author did not write."""
    watched.errors.clear()
    status = await watched.open(path)
    for at in range(3):
        await watched.page.mouse.move(200 + at * 200, 300)
    foreign = await watched.page.evaluate(FOREIGN)
    await watched.note_violations()
    return [
        *watched.errors,
        *(f"foreign: {one}" for one in foreign),
        *([f"status {status}"] if status >= 500 else []),
    ]


def test_there_are_many_of_them() -> None:
    assert len(VECTORS) >= LEAST
    assert len(set(VECTORS)) == len(VECTORS)


async def test_nothing_that_peers_write_runs(hostile: HostileMail) -> None:
    assert None not in hostile.messages
    assert {name for name, those in hostile.taken.items() if not those} <= MAYBE_REFUSED
    told = [f"{len(VECTORS)} vectors, taken by field: { {name: len(those) for name, those in hostile.taken.items()} }"]
    faults: dict[str, list[str]] = {}
    async with open_chromium() as browser:
        for view in VIEWS:
            looked = await _look(browser, hostile, view, faults)
            told.append(f"{view}: {looked} pages")

    sys.stdout.write("\n" + "\n".join(told) + "\n")
    assert faults == {}


async def _look(browser: Browser, hostile: HostileMail, view: View, faults: dict[str, list[str]]) -> int:
    """Over every page, every message and each list to its end; how many pages those were."""
    context = await browser.new_context(
        viewport={"width": view.width, "height": 900},
        color_scheme="dark" if view.scheme == "dark" else "light",
        bypass_csp=not view.has_policy,
    )
    watched = await watched_page(context, hostile.served.url)
    await _sign_in(watched, hostile, view)
    project = f"/mail/{hostile.slug}"
    one_by_one = [
        *places(await hostile.keys()),
        *(f"{project}/message/{number}" for number in hostile.messages),
        *(f"{project}/file_reservations/{number}" for number in range(1, len(hostile.taken["path"]), 8)),
    ]
    looked = 0
    for path in one_by_one:
        if found := await _faults(watched, path):
            faults[f"{view} {path}"] = found
        looked += 1
    lists = ["/mail", "/mail/projects", f"{project}/thread/T", f"{project}/attachments", f"{project}/file_reservations"]
    for first in lists:
        looked += await _walk(watched, first, f"{view} ", faults)
    await context.close()
    return looked


async def _sign_in(watched: Watched, hostile: HostileMail, view: View) -> None:
    if view.is_operator:
        await sign_in_by(watched, (await hostile.served.call("create_sign_in_link"))["path"])
        return
    made = await hostile.served.call("create_issued_token", expires="1d", role="reader")
    await watched.open(SIGN_IN)
    await watched.page.fill("input[name=token]", made["token"])
    await watched.page.click("main button[type=submit]")
    await watched.page.wait_for_selector(".who >> text=reader", state="attached")


async def _walk(watched: Watched, path: str, view: str, faults: dict[str, list[str]]) -> int:
    """From page to page of a list, to its end."""
    seen: set[str] = set()
    while path not in seen and len(seen) < MOST_STEPS:
        seen.add(path)
        if found := await _faults(watched, path):
            faults[view + path] = found
        following = await watched.page.query_selector("a[rel=next]")
        path = path if following is None else (await following.get_attribute("href") or path)
    return len(seen)


async def _export(hostile: HostileMail, target: Path) -> None:
    """As its person does, in a terminal beside the server."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "PYTHONPATH", "LANG")}
    environ = {**kept, "STORAGE_ROOT": str(hostile.served.settings.storage_root), "AGENT_MAIL_ENV_FILE": os.devnull}
    command = (sys.executable, "-m", "mcp_agent_mail", "share", "export", str(target), "--project", hostile.slug)
    made = await asyncio.create_subprocess_exec(
        *command, env=environ, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    output, _ = await made.communicate()
    assert made.returncode == 0, output.decode()


class _PlainFiles(SimpleHTTPRequestHandler):
    """As anybody serves a folder: no header of ours."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its name there
        """Nothing: a browser asks for thousands."""


@contextmanager
def _file_server(folder: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_PlainFiles, directory=str(folder))) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
async def bundle(hostile: HostileMail, tmp_path: Path) -> AsyncIterator[tuple[str, list[str]]]:
    """Where it is served, and the paths of its pages."""
    target = tmp_path / "bundle"
    await _export(hostile, target)
    pages = await asyncio.to_thread(lambda: sorted(str(page.relative_to(target)) for page in target.rglob("*.html")))
    with _file_server(target) as url:
        yield url, [f"/{page}" for page in pages]


async def test_nothing_that_peers_write_runs_in_a_bundle(bundle: tuple[str, list[str]]) -> None:
    url, pages = bundle
    faults: dict[str, list[str]] = {}
    async with open_chromium() as browser:
        for with_script in (True, False):
            context = await browser.new_context(
                viewport={"width": 1440, "height": 900}, java_script_enabled=with_script
            )
            watched = await watched_page(context, url)
            for path in pages:
                if found := await _faults(watched, path):
                    faults[f"{'with' if with_script else 'without'} script {path}"] = found
            if with_script:
                faults |= {f"search: {word}": found for word, found in await _search(watched, ("alert", "img"))}
            await context.close()

    sys.stdout.write(f"\n{len(VECTORS)} vectors in {len(pages)} pages of a bundle, with script and without\n")
    assert len(pages) > len(VECTORS)
    assert faults == {}


async def _search(watched: Watched, words: Iterable[str]) -> list[tuple[str, list[str]]]:
    """What is wrong with what the bundle's own search finds, by its word. It finds something."""
    faults = []
    await watched.open("/index.html")
    for word in words:
        watched.errors.clear()
        await watched.page.fill("[data-search] input", word)
        await watched.page.wait_for_function("() => /[1-9]/.test(document.querySelector('[data-said]').textContent)")
        await watched.page.wait_for_selector("[data-found] li")
        foreign = await watched.page.evaluate(FOREIGN)
        await watched.note_violations()
        if found := [*watched.errors, *(f"foreign: {one}" for one in foreign)]:
            faults.append((word, found))
        await watched.page.fill("[data-search] input", "")
    return faults
