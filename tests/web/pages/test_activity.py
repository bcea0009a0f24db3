"""Now over HTTP: who works, what is held, what came last."""

from __future__ import annotations

from pathlib import Path

from tests.server.whole_app import open_whole_app
from tests.web.pages.peopled import people


async def test_now_shows_who_works_what_is_held_and_the_newest_mail(tmp_path: Path) -> None:
    async with open_whole_app(tmp_path) as app:
        await people(app, tmp_path)
        shown = (await app.client.get("/mail/now")).text

    assert all(word in shown for word in ("TealRiver", "src/cart/**", "file_reservation_paths", "Coupon four"))
    assert "<img src=x" not in shown


async def test_an_empty_server_says_what_would_be_here(tmp_path: Path) -> None:
    async with open_whole_app(tmp_path) as app:
        shown = (await app.client.get("/mail/now")).text

    assert "am setup" in shown
    assert "am projects ensure" in shown
