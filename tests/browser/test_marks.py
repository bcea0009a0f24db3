"""Marks and answers of people: what follows an act, and what one went on to meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Route

from tests.browser.shop import APP, Shop, leads_to, open_shop, rows_are, type_keys

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

_OPEN = "[data-reader] [data-article]"


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[Shop]:
    async with open_shop(tmp_path) as opened:
        yield opened


async def test_an_act_leaves_one_where_one_stands(shop: Shop) -> None:
    for number in range(30):
        await shop.write("Human", f"Letter {number}", ack_required=True)
    watched = await shop.signed_in(await shop.context())
    page = watched.page
    chosen = page.locator("[data-row].at .subject")
    await leads_to(page, shop.served.url, ("g", "n"), "/mail/now")
    await watched.open("/mail?box=needs")

    await type_keys(page, *"j" * 25, "a")
    await rows_are(page, ".owes", 29)
    assert await chosen.inner_text() == "Letter 25"
    assert await page.evaluate("window.scrollY") > 0
    await type_keys(page, "a")
    await rows_are(page, ".owes", 28)
    assert await chosen.inner_text() == "Letter 26"
    await type_keys(page, "j")
    assert await chosen.inner_text() == "Letter 27"
    await type_keys(page, "o")
    await page.wait_for_selector("[data-article] h1:text-is('Letter 27')")
    await type_keys(page, "a")
    await page.wait_for_selector("[data-article]:has-text('You acknowledged it')")
    await leads_to(page, shop.served.url, ("u",), "/mail?box=needs")
    await page.route("**/mail/marks", lambda route: route.abort())
    await type_keys(page, "j", "a")
    await page.wait_for_selector(".keys-said:has-text('No answer came')")
    await page.unroute("**/mail/marks")
    await type_keys(page, "a")
    await rows_are(page, ".owes", 26)
    assert [one for one in watched.errors if "ERR_FAILED" not in one] == []


async def test_the_row_after_an_act_is_the_same_though_new_mail_came_above_it(shop: Shop) -> None:
    for subject in ("Older", "Newer"):
        await shop.write("Human", subject)
    watched = await shop.signed_in(await shop.context())
    page = watched.page
    await watched.open("/mail")
    await type_keys(page, "j", "j")
    await shop.write("Human", "Newest")
    await page.wait_for_selector(".fresh:text-is('1 new')")

    await type_keys(page, "e")
    await page.wait_for_selector("[data-row]:has-text('Newest')")

    assert await page.inner_text("[data-row].at .subject") == "Older"
    assert watched.errors == []


async def test_who_went_on_before_an_act_is_answered_keeps_what_one_does(shop: Shop) -> None:
    for number in range(3):
        await shop.write("Human", f"Letter {number}", ack_required=True)
    watched = await shop.signed_in(await shop.context())
    page = watched.page
    await watched.open("/mail")
    answers: asyncio.Queue[Route] = asyncio.Queue()

    async def late(route: Route) -> None:
        answers.put_nowait(route)

    await page.route("**/mail/marks", late)
    await type_keys(page, "j", "a", "j", "a", "/")
    await page.keyboard.type("era a")
    for _ in range(2):
        route = await answers.get()
        async with page.expect_response("**/mail/marks"):
            await route.continue_()
    await page.keyboard.type("nea")

    assert await page.input_value("#filter") == "era anea"
    assert await page.evaluate("document.activeElement.id") == "filter"
    mail = await shop.served.call("fetch_inbox", project_key=APP, agent_name="Human")
    assert [one["subject"] for one in mail if not one.get("acknowledged_at")] == ["Letter 0"]
    assert watched.errors == []


@pytest.mark.parametrize(("status", "body"), [(502, "<h1>Bad gateway</h1>"), (200, "")])
async def test_an_answer_that_is_no_page_of_ours_leaves_the_page_and_says_so(
    shop: Shop, status: int, body: str
) -> None:
    await shop.write("Human", "Letter")
    watched = await shop.signed_in(await shop.context())
    page = watched.page
    await watched.open("/mail")
    await page.route("**/mail/marks", lambda route: route.fulfill(status=status, body=body, content_type="text/html"))

    await type_keys(page, "j", "e")
    await page.wait_for_selector(".keys-said:has-text('No answer came')")

    assert await page.locator("[data-row]").count() == 4


async def test_a_request_that_is_answered_leaves_no_other_chosen(shop: Shop) -> None:
    for name in ("QuietFox", "GreenHill"):
        await shop.served.call("register_agent", project_key=APP, name=name, program="p", model="m")
        await shop.served.call("request_contact", project_key=APP, from_agent=name, to_agent="RedStone", reason="Plan")
    watched = await shop.signed_in(await shop.context())
    page = watched.page
    await watched.open("/mail?box=needs")

    async with page.expect_navigation():
        await type_keys(page, "j", "y")
    await type_keys(page, "y")

    assert await page.locator(".card.screen").count() == 1
    assert watched.errors == []


async def test_boxes_are_seen_before_anything_points_at_them(shop: Shop) -> None:
    await shop.write("Human", "One")
    watched = await shop.signed_in(await shop.context())
    page = watched.page

    await watched.open("/mail")
    await page.mouse.move(0, 0)
    box, tile = page.locator(".choose input"), page.locator(".row:has(.choose) .tile")
    at_rest = await page.evaluate("() => getComputedStyle(document.querySelector('.choose input')).opacity")
    how = await page.inner_text(".marks-bar")
    await box.focus()
    at_focus = await page.evaluate("() => getComputedStyle(document.querySelector('.choose input')).opacity")
    box_place, tile_place = await box.bounding_box(), await tile.bounding_box()
    await type_keys(page, "Space")

    assert 0.3 <= float(at_rest) < 1
    assert at_focus == "1"
    assert "choose it by x or its box" in how
    assert box_place is not None
    assert tile_place is not None
    assert box_place["x"] + box_place["width"] <= tile_place["x"]
    assert await tile.is_visible()
    assert await page.inner_text("[data-chosen]") == "1 chosen"
    assert not await page.locator(".marks-bar .how").is_visible()
    assert watched.errors == []


async def test_what_typing_finds_can_be_chosen_and_marked(shop: Shop) -> None:
    for number in range(51):
        await shop.write("RedStone" if number else "Human", f"Letter {number}")
    watched = await shop.signed_in(await shop.context())
    page = watched.page
    await watched.open("/mail")
    assert not await page.is_visible("#marks")

    await type_keys(page, "/")
    await page.keyboard.type("to:Human")
    await rows_are(page, "[data-row]", 1)
    await type_keys(page, "Escape", "j", "x", "e")
    await rows_are(page, ".row.unread", 0)

    assert watched.errors == []


async def test_a_key_means_the_message_that_is_read_and_not_a_row_that_was_chosen_before(shop: Shop) -> None:
    for subject in ("Read", "Chosen"):
        await shop.write("Human", subject, ack_required=True)
    watched = await shop.signed_in(await shop.context())
    page = watched.page
    await watched.open("/mail")

    await type_keys(page, "j", "x", "j", "o")
    await page.wait_for_selector(f"{_OPEN} h1:text-is('Read')")
    await type_keys(page, "a")
    await page.wait_for_selector(f"{_OPEN}:focus-within:has-text('You acknowledged it')")

    assert await page.locator(".row:has(.owes) .subject").all_inner_texts() == ["Chosen"]
    assert watched.errors == []
