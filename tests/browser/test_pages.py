"""Every page at three widths, in both schemes, with script and without: nobody is shut out, and nothing moves."""

from __future__ import annotations

import asyncio
import base64
import os
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.architecture.trees import ROOT
from tests.browser.chromium import Watched, open_chromium, sign_in_by, watched_page
from tests.browser.places import REFUSED, places
from tests.image_samples import corner_lit, encoded
from tests.server.pages.browsers import ServedPages, serve_pages

pytestmark = [pytest.mark.browser, pytest.mark.timeout(1_800)]

WIDTHS = (360, 800, 1440)
MOST_SHIFT = 0.05
_INSTALLED = ROOT / ".venv" / "npm" / "node_modules" / "axe-core" / "axe.min.js"
AXE = Path(os.environ.get("AXE_CORE_FILE", _INSTALLED))
"""`make browser` installs it; another copy can be named."""
PICTURES = os.environ.get("BROWSER_PICTURES")
"""A folder that gets a picture of each page that the operator reads, to be looked at by a person."""
_VIOLATIONS = """async () => (await axe.run()).violations.map(
  (one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 160)).slice(0, 3).join(" ; ")}`)"""
_PICTURE = f"data:image/png;base64,{base64.b64encode(encoded(corner_lit(), 'PNG')).decode()}"
_TEXT = "data:text/plain;base64,bm90ZXM="
_BODY = (
    """The **coupon** is checked.

| step | before | after |
|---|---:|---:|
| bank | 300 ms | 290 ms |

- [x] tests
- [ ] load test

```python
def total(items: list[int]) -> int:
    \"\"\"In cents.\"\"\"
    return sum(items)  # before tax, whatever the currency of the shop is, and whoever pays in the end for all of it
```

> [the spec](https://example.com/spec) and ![chart](https://tracker.example/p.png)

"""
    + "averyveryverylongwordwithoutanybreak" * 8
)


async def _register(served: ServedPages, app: str) -> None:
    for name in ("BlueLake", "GreenHill", "RedStone", "AmberFox", "VioletMoon", "QuietFox"):
        await served.call(
            "register_agent", project_key=app, name=name, program="claude-code", model="m", task_description="x " * 40
        )
    await served.call("set_contact_policy", project_key=app, agent_name="QuietFox", policy="contacts_only")


async def _send_mail(served: ServedPages, app: str) -> int:
    """The number of the last one. All are of one thread; the last of all is held."""
    number = 0
    for index in range(12):
        sent = await served.call(
            "send_message",
            project_key=app,
            sender_name=("BlueLake", "GreenHill", "RedStone")[index % 3],
            to=[("AmberFox", "VioletMoon")[index % 2], *(["Human"] if index % 4 == 0 else [])],
            subject=f"Schema migration {index} is ready " + "and has a long subject " * (index % 3 * 4),
            body_md=_BODY,
            importance=("normal", "high", "urgent", "low")[index % 4],
            ack_required=index % 2 == 0,
            thread_id="DB-14",
            topic="release",
            attachment_paths=[_PICTURE, _TEXT] if index == 11 else [],
        )
        number = sent["deliveries"][0]["payload"]["id"]
    await served.call(
        "send_message", project_key=app, sender_name="BlueLake", to=["QuietFox"], subject="Held", body_md="x"
    )
    return number


async def _seed(served: ServedPages, folder: Path) -> dict[str, str]:
    """A project of six agents in Git, one like it beside it, what they hold and ask; and the keys of its pages."""
    app, beside = str(folder / "store-web"), str(folder / "store-api")
    for path in (app, beside):
        await asyncio.to_thread(Path(path).mkdir)
        await served.call("ensure_project", human_key=path)
    slug = (await served.call("ensure_project", human_key=app))["slug"]
    await _register(served, app)
    number = await _send_mail(served, app)
    held = await served.call(
        "file_reservation_paths", project_key=app, agent_name="BlueLake", paths=["src/**/a_long_name_*.py", "docs/x.md"]
    )
    for agent, target in (("GreenHill", "QuietFox"), ("BlueLake", "RedStone"), ("VioletMoon", "AmberFox")):
        await served.call("request_contact", project_key=app, from_agent=agent, to_agent=target, reason="For the plan")
    await served.archive()
    history = (await served.browser().get(f"/mail/archive/activity?project={slug}")).text
    carried = (await served.browser().get(f"/mail/{slug}/message/{number}")).text
    picture = re.search(r'<img [^>]*src="/mail/[^"]*/attachments/([0-9a-f]{64})"', carried)
    commit = re.search(r"/mail/archive/commit/([0-9a-f]{40})", history)
    assert picture is not None
    assert commit is not None
    return {
        "project": slug,
        "message": str(number),
        "thread": "DB-14",
        "agent": "BlueLake",
        "name": "BlueLake",
        "sha256": picture[1],
        "commit": commit[1],
        "reservation": str(held["granted"][0]["id"]),
        "folder": "agents",
        "file": "archive.json",
        "word": "coupon",
        "at": "2030-01-01T00:00:00Z",
    }


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[tuple[ServedPages, dict[str, str]]]:
    async with serve_pages(tmp_path, HTTP_RATE_LIMIT_ENABLED="false") as opened:
        yield opened, await _seed(opened, tmp_path)


def _axe() -> str:
    return AXE.read_text(encoding="utf-8")


async def _faults(watched: Watched, path: str, *, with_script: bool, is_read: bool) -> list[str]:
    watched.errors.clear()
    status = await watched.open(path)
    found = [f"status: {status}"] if is_read and status != 200 else []
    return found + await _faults_shown(watched, with_script=with_script)


async def _faults_shown(watched: Watched, *, with_script: bool) -> list[str]:
    """Of the page that is there. Pictures, files as text and answers for programs are no HTML: axe is for pages."""
    width, window = await watched.page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    if (await watched.page.evaluate("document.contentType")).startswith("image/"):
        # It stands in a page of the browser's own, of which our policy allows neither style nor script.
        return [one for one in watched.errors if not one.startswith("console:")]
    found = [*watched.errors, *([f"overflow: {width} of {window}"] if width > window else [])]
    if not with_script or not await watched.page.locator("main").count():
        return found
    shift = await watched.page.evaluate("window.__shift")
    await watched.page.evaluate(_axe())
    violations = await watched.page.evaluate(_VIOLATIONS)
    return [*found, *([f"shift: {shift}"] if shift > MOST_SHIFT else []), *(f"axe {one}" for one in violations)]


def _in_a_name(path: str) -> str:
    return re.sub(r"[^a-z0-9-]+", "-", path.removeprefix("/mail").lower()).strip("-")[:120] or "inbox"


async def _preview(watched: Watched, project: str) -> None:
    """The form to write with, once its text and whom a group reaches are shown."""
    await watched.open(f"/mail/{project}/overseer/compose")
    await watched.page.fill("input[name=to]", "all-active")
    await watched.page.fill("input[name=subject]", "The plan")
    await watched.page.fill("textarea[name=body_md]", _BODY)
    await watched.page.click("button[value=preview]")
    await watched.page.wait_for_selector("#preview")


@pytest.mark.parametrize("with_script", [True, False])
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_every_page_at_every_width(
    served: tuple[ServedPages, dict[str, str]], scheme: str, with_script: bool
) -> None:
    pages, keys = served
    faults: dict[str, list[str]] = {}
    looked = 0
    async with open_chromium() as browser:
        for width in WIDTHS:
            context = await browser.new_context(
                viewport={"width": width, "height": 900},
                color_scheme="dark" if scheme == "dark" else "light",
                java_script_enabled=with_script,
            )
            watched = await watched_page(context, pages.url)
            for signed_in in (False, True):
                if signed_in:
                    await sign_in_by(watched, (await pages.call("create_sign_in_link"))["path"])
                for path in places(keys):
                    is_read = signed_in and path not in REFUSED
                    if found := await _faults(watched, path, with_script=with_script, is_read=is_read):
                        faults[f"{width} {path} {'operator' if signed_in else 'anybody'}"] = found
                    if PICTURES and is_read and with_script:
                        await watched.page.screenshot(path=Path(PICTURES) / f"{scheme}-{width}-{_in_a_name(path)}.png")
                    looked += 1
            watched.errors.clear()
            await _preview(watched, keys["project"])
            if found := await _faults_shown(watched, with_script=with_script):
                faults[f"{width} preview"] = found
            await context.close()

    sys.stdout.write(f"\n{looked} pages, {scheme}, {'with' if with_script else 'without'} script\n")
    assert faults == {}, "\n".join(f"{where}: {one}" for where, those in faults.items() for one in those)


async def test_a_message_is_found_and_read_by_keys_alone(served: tuple[ServedPages, dict[str, str]]) -> None:
    pages, _ = served
    async with open_chromium() as browser:
        context = await browser.new_context(viewport={"width": 1440, "height": 900})
        watched = await watched_page(context, pages.url)
        await watched.open((await pages.call("create_sign_in_link"))["path"])
        keyboard = watched.page.keyboard
        await watched.page.focus("button[type=submit]")
        await keyboard.press("Enter")
        await watched.page.wait_for_url("**/mail")
        await keyboard.press("/")
        await keyboard.type("from:RedStone")
        await keyboard.press("Enter")
        await watched.page.wait_for_url("**/mail?**")
        await keyboard.press("j")
        await keyboard.press("j")
        await keyboard.press("k")
        await keyboard.press("o")
        await watched.page.wait_for_selector("[data-reader] h1")
        subject = await watched.page.inner_text("[data-reader] h1")
        await keyboard.press("g")
        await keyboard.press("i")
        await watched.page.wait_for_url("**/mail")
        await watched.note_violations()

    assert subject.startswith("Schema migration 11")
    assert watched.errors == []
