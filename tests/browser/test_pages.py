"""Every page at three widths, in both schemes, with script and without: nobody is shut out, and nothing moves."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.architecture.trees import ROOT
from tests.browser.chromium import Watched, open_chromium, sign_in_by, watched_page
from tests.browser.places import places
from tests.server.pages.browsers import ServedPages, serve_pages

pytestmark = [pytest.mark.browser, pytest.mark.timeout(1_800)]

APP = "/code/web-shop"
WIDTHS = (360, 800, 1440)
MOST_SHIFT = 0.05
_INSTALLED = ROOT / ".venv" / "npm" / "node_modules" / "axe-core" / "axe.min.js"
AXE = Path(os.environ.get("AXE_CORE_FILE", _INSTALLED))
"""`make browser` installs it; another copy can be named."""
_VIOLATIONS = """async () => (await axe.run()).violations.map(
  (one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 160)).slice(0, 3).join(" ; ")}`)"""
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


async def _seed(served: ServedPages) -> dict[str, str]:
    slug = (await served.call("ensure_project", human_key=APP))["slug"]
    for name in ("BlueLake", "GreenHill", "RedStone", "AmberFox", "VioletMoon", "QuietFox"):
        await served.call(
            "register_agent", project_key=APP, name=name, program="claude-code", model="m", task_description="x " * 40
        )
    await served.call("set_contact_policy", project_key=APP, agent_name="QuietFox", policy="contacts_only")
    number = 0
    for index in range(12):
        sent = await served.call(
            "send_message",
            project_key=APP,
            sender_name=("BlueLake", "GreenHill", "RedStone")[index % 3],
            to=[("AmberFox", "VioletMoon")[index % 2], *(["Human"] if index % 4 == 0 else [])],
            subject=f"Schema migration {index} is ready " + "and has a long subject " * (index % 3 * 4),
            body_md=_BODY,
            importance=("normal", "high", "urgent", "low")[index % 4],
            ack_required=index % 2 == 0,
            thread_id="DB-14",
            topic="release",
        )
        number = sent["deliveries"][0]["payload"]["id"]
    await served.call(
        "send_message", project_key=APP, sender_name="BlueLake", to=["QuietFox"], subject="Held", body_md="x"
    )
    return {"project": slug, "message": str(number), "thread": "DB-14", "agent": "BlueLake", "name": "BlueLake"}


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[tuple[ServedPages, dict[str, str]]]:
    async with serve_pages(tmp_path, HTTP_RATE_LIMIT_ENABLED="false") as opened:
        yield opened, await _seed(opened)


def _axe() -> str:
    return AXE.read_text(encoding="utf-8")


async def _faults(watched: Watched, path: str, *, with_script: bool) -> list[str]:
    watched.errors.clear()
    await watched.open(path)
    width, window = await watched.page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    found = [*watched.errors, *([f"overflow: {width} of {window}"] if width > window else [])]
    if not with_script:
        return found
    shift = await watched.page.evaluate("window.__shift")
    await watched.page.evaluate(_axe())
    violations = await watched.page.evaluate(_VIOLATIONS)
    return [*found, *([f"shift: {shift}"] if shift > MOST_SHIFT else []), *(f"axe {one}" for one in violations)]


@pytest.mark.parametrize("with_script", [True, False])
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_every_page_at_every_width(
    served: tuple[ServedPages, dict[str, str]], scheme: str, with_script: bool
) -> None:
    pages, keys = served
    faults: dict[str, list[str]] = {}
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
                    if found := await _faults(watched, path, with_script=with_script):
                        faults[f"{width} {path} {'operator' if signed_in else 'anybody'}"] = found
            await context.close()

    assert faults == {}


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
