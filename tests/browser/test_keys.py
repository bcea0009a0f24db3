"""Keys of the pages in a browser: what each does, where none does anything, and how a person switches them off."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.browser.chromium import watched_page
from tests.browser.shop import Shop, leads_to, open_shop, type_keys

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[Shop]:
    async with open_shop(tmp_path) as opened:
        yield opened


async def test_g_and_a_letter_lead_to_pages_and_to_those_of_the_project(shop: Shop) -> None:
    watched = await shop.signed_in(await shop.context())
    project = f"/mail/{shop.slug}"

    for begin, letter, path in (
        ("/mail/projects", "i", "/mail"),
        ("/mail", "n", "/mail/now"),
        ("/mail", "p", "/mail/projects"),
        ("/mail", "o", "/mail/operations"),
        ("/mail/now", "r", "/mail/projects"),
        (project, "r", f"{project}/file_reservations"),
        (f"{project}/file_reservations", "a", f"{project}/agents"),
        (f"{project}/message/{shop.thread[0]}", "a", f"{project}/agents"),
        (f"/mail/archive/network?project={shop.slug}", "r", f"{project}/file_reservations"),
    ):
        await watched.open(begin)
        await leads_to(watched.page, shop.served.url, ("g", letter), path)

    await watched.open("/mail")
    await leads_to(watched.page, shop.served.url, ("j", "g", "a"), f"{project}/agents")
    assert watched.errors == []


async def test_brackets_step_through_a_thread(shop: Shop) -> None:
    watched = await shop.signed_in(await shop.context())
    page, first, second, third = watched.page, *shop.thread
    message = f"/mail/{shop.slug}/message"

    await watched.open(f"{message}/{first}")
    await type_keys(page, "[")
    await leads_to(page, shop.served.url, ("]",), f"{message}/{second}")
    await leads_to(page, shop.served.url, ("]",), f"{message}/{third}")
    await leads_to(page, shop.served.url, ("[",), f"{message}/{second}")
    await watched.open(f"/mail/{shop.slug}/thread/DB-14")
    stood = []
    for key in ("]", "]", "]", "]", "["):
        await type_keys(page, key)
        stood.append(await page.evaluate("document.activeElement.closest('.message').id"))

    assert stood == [f"m{number}" for number in (first, second, third, third, second)]
    assert watched.errors == []


async def test_beside_the_list_a_thread_is_stepped_through_in_place(shop: Shop) -> None:
    watched = await shop.signed_in(await shop.context())
    await watched.open("/mail")

    await type_keys(watched.page, "j", "o")
    await watched.page.wait_for_selector("[data-reader] h1:text-is('Step 2')")
    await type_keys(watched.page, "[")
    await watched.page.wait_for_selector("[data-reader] h1:text-is('Step 1')")

    assert watched.page.url == f"{shop.served.url}/mail?open={shop.slug}.{shop.thread[1]}"
    assert "previous, next of the thread" in await watched.page.inner_text(".keys-here")


async def test_help_lists_every_key_and_none_fires_while_it_is_open(shop: Shop) -> None:
    watched = await shop.signed_in(await shop.context())
    page = watched.page
    await watched.open("/mail")

    await type_keys(page, "?")
    keys = [" ".join(await one.locator("kbd").all_inner_texts()) for one in await page.locator("dialog dt").all()]
    await type_keys(page, "j", "?", "g", "n")
    dialogs = await page.locator("dialog[open]").count()
    moved = await page.locator("[data-row].at").count()
    await type_keys(page, "Escape")
    await page.wait_for_selector("dialog", state="hidden")
    await type_keys(page, "j")

    assert keys == [
        "j k", "Enter o", "u Escape", "[ ]", "x", "e", "a", "y n", "r", "c", "/ Ctrl+K ⌘K",
        "g i", "g n", "g p", "g r", "g a", "g o", "?",
    ]  # fmt: skip
    assert (dialogs, moved) == (1, 0)
    assert await page.locator("[data-row].at").count() == 1
    assert page.url == shop.served.url + "/mail"
    assert watched.errors == []


@pytest.mark.parametrize("modifier", ["Control", "Alt", "Meta"])
async def test_with_a_modifier_a_key_is_the_browsers(shop: Shop, modifier: str) -> None:
    watched = await shop.signed_in(await shop.context())
    await watched.open("/mail")

    await type_keys(watched.page, f"{modifier}+j", f"{modifier}+x", f"{modifier}+[")

    assert await watched.page.locator("[data-row].at, .choose input:checked").count() == 0


async def test_in_fields_keys_are_letters(shop: Shop) -> None:
    watched = await shop.signed_in(await shop.context())
    await watched.open(f"/mail/{shop.slug}/overseer/compose")

    for field in ("input[name=subject]", "textarea[name=body_md]"):
        await watched.page.focus(field)
        await type_keys(watched.page, "g", "n", "?", "j", "]", "/")

    assert await watched.page.input_value("input[name=subject]") == "gn?j]/"
    assert await watched.page.input_value("textarea[name=body_md]") == "gn?j]/"
    assert await watched.page.locator("dialog[open]").count() == 0


async def test_switched_off_they_stay_off_on_every_page_until_they_are_switched_on(shop: Shop) -> None:
    context = await shop.context()
    watched = await shop.signed_in(context)
    page = watched.page
    await watched.open("/mail")
    other = await watched_page(context, shop.served.url)
    await other.open("/mail")

    await type_keys(page, "?")
    await page.uncheck("dialog .key-switch input")
    await type_keys(page, "Escape")
    await other.page.wait_for_function("!document.querySelector('.keys .key-switch input').checked")
    await watched.open("/mail")
    await type_keys(page, "j", "?", "x", "g", "n")
    is_on = await page.is_checked(".keys .key-switch input")
    moved = await page.locator("[data-row].at, dialog[open]").count()
    shown = await page.inner_text(".keys-here")
    await page.check(".keys .key-switch input")
    await page.click("#main", position={"x": 5, "y": 5})
    await type_keys(page, "j")

    assert (is_on, moved, shown) == (False, 0, "")
    assert page.url == shop.served.url + "/mail"
    assert await page.locator("[data-row].at").count() == 1
    assert watched.errors == []


async def test_where_a_browser_keeps_nothing_the_switch_lasts_for_the_page(shop: Shop) -> None:
    context = await shop.context()
    await context.add_init_script(
        "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('no', 'SecurityError'); }})"
    )
    watched = await shop.signed_in(context)
    await watched.open("/mail")

    await watched.page.uncheck(".keys .key-switch input")
    await type_keys(watched.page, "j")

    assert await watched.page.locator("[data-row].at").count() == 0
    assert watched.errors == []


async def test_without_script_there_is_no_foot_and_the_thread_has_links(shop: Shop) -> None:
    context = await shop.browser.new_context(java_script_enabled=False)
    watched = await watched_page(context, shop.served.url)
    await watched.page.goto(f"{shop.served.url}/mail/{shop.slug}/message/{shop.thread[1]}")

    assert not await watched.page.is_visible(".keys")
    assert await watched.page.locator("a[rel=prev], a[rel=next]").all_inner_texts() == ["Previous", "Next"]
