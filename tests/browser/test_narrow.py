"""A window of 360 px: rows say where they are from, and no table is cut off."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.chromium import open_chromium, sign_in_by, watched_page
from tests.server.pages.browsers import serve_pages

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]

APP = "/code/web-shop"


async def test_rows_name_their_project_and_tables_are_stacks(tmp_path: Path) -> None:
    async with serve_pages(tmp_path) as pages, open_chromium() as chromium:
        slug = (await pages.call("ensure_project", human_key=APP))["slug"]
        for name in ("BlueLake", "GreenHill"):
            await pages.call("register_agent", project_key=APP, name=name, program="p", model="m")
        sent = {"sender_name": "BlueLake", "to": ["Human", "GreenHill"], "subject": "Plan", "body_md": "b"}
        await pages.call("send_message", project_key=APP, ack_required=True, **sent)
        held = {"paths": ["src/checkout/**"], "reason": "coupons of the whole checkout"}
        await pages.call("file_reservation_paths", project_key=APP, agent_name="BlueLake", **held)
        context = await chromium.new_context(viewport={"width": 360, "height": 800})
        watched = await watched_page(context, pages.url)
        await sign_in_by(watched, (await pages.call("create_sign_in_link"))["path"])

        await watched.open("/mail?box=needs")
        place = watched.page.locator(".row .place")
        assert (await place.inner_text(), await place.is_visible()) == ("web-shop", True)

        for path, table in ((f"/mail/{slug}/message/1", ".copies table"), ("/mail/now", ".held-files")):
            await watched.open(path)
            wide, room = await watched.page.eval_on_selector(
                table, "one => [one.scrollWidth, one.parentElement.clientWidth]"
            )
            assert wide <= room, path
