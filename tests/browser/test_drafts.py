"""A letter that is not sent stays in its tab, and is forgotten once that very letter was sent, or for somebody else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Page

from tests.browser.chromium import Watched, sign_in_by
from tests.browser.shop import APP, Shop, open_shop

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

_TEXT = "textarea[name=body_md]"
_SEND = "button[value=send]"


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[Shop]:
    async with open_shop(tmp_path) as opened:
        yield opened


@pytest.fixture
async def watched(shop: Shop) -> Watched:
    return await shop.signed_in(await shop.context())


def compose_of(shop: Shop) -> str:
    return f"/mail/{shop.slug}/overseer/compose"


async def write(page: Page, subject: str, text: str) -> None:
    await page.fill("input[name=to]", "BlueLake")
    await page.fill("input[name=subject]", subject)
    await page.fill(_TEXT, text)


async def send(page: Page) -> None:
    await page.click(_SEND)
    await page.wait_for_selector("[data-sent]")


async def send_unseen(watched: Watched, path: str) -> None:
    """As where the answer never came: the letter was sent, and its draft is back with its key."""
    page = watched.page
    await watched.open(path)
    await write(page, "First", "Sent unseen")
    kept = await page.evaluate("() => Object.entries(sessionStorage)")
    await send(page)
    await page.evaluate("kept => kept.forEach(([key, text]) => sessionStorage.setItem(key, text))", kept)
    await watched.open(path)


async def inbox(shop: Shop) -> list[str]:
    """The texts that BlueLake has got."""
    found = await shop.served.call("fetch_inbox", project_key=APP, agent_name="BlueLake", include_bodies=True)
    return sorted(one["body_md"] for one in found)


async def sign_out_elsewhere(watched: Watched) -> None:
    """In another tab of the same browser; a draft of this one stays."""
    other = await watched.page.context.new_page()
    await other.goto(watched.origin + "/mail")
    await other.click(".side > .who button")
    await other.wait_for_url("**/mail/sign-in")
    await other.close()


async def test_unsent_text_says_that_it_is_back_and_is_discarded(shop: Shop, watched: Watched) -> None:
    page, path = watched.page, compose_of(shop)
    await watched.open(path)
    assert not await page.is_visible("[data-restored]")

    await page.fill(_TEXT, "Half a thought")
    await page.check("input[name=broadcast]")
    await watched.open(path)
    assert await page.inner_text("[data-restored]") == "Your unsent text is back. Discard"
    assert await page.input_value(_TEXT) == "Half a thought"
    assert not await page.is_checked("input[name=broadcast]")
    async with page.expect_navigation():
        await page.click("[data-restored] a")
    assert await page.input_value(_TEXT) == ""
    await watched.open(path)
    assert not await page.is_visible("[data-restored]")
    assert watched.errors == []


async def test_a_letter_that_was_refused_is_kept_whatever_was_sent_before(shop: Shop, watched: Watched) -> None:
    page, path = watched.page, compose_of(shop)
    await watched.open(path)
    await write(page, "First", "Gone")
    await send(page)
    sent = page.url.removeprefix(watched.origin)
    await watched.open(path)

    await page.fill("input[name=to]", "NobodyAtAll")
    await page.fill(_TEXT, "Precious")
    await page.click(_SEND)
    await page.wait_for_selector("form[data-kept]")
    await watched.open(sent)
    await watched.open(path)

    assert await page.input_value(_TEXT) == "Precious"
    assert watched.errors == []


async def test_a_letter_that_nobody_was_signed_in_to_send_outlives_the_page_of_an_older_one(
    shop: Shop, watched: Watched
) -> None:
    page, path = watched.page, compose_of(shop)
    await watched.open(path)
    await write(page, "First", "Gone")
    await send(page)
    sent = page.url
    await watched.open(path)
    await write(page, "Second", "Precious")

    await sign_out_elsewhere(watched)
    await page.click(_SEND)
    await page.wait_for_selector("text=needs a session")
    other = Watched(await page.context.new_page(), watched.origin)
    await sign_in_by(other, (await shop.served.call("create_sign_in_link"))["path"])
    await page.evaluate("history.go(-2)")
    await page.wait_for_url(sent)
    await page.wait_for_selector("[data-sent]")
    await watched.open(path)

    assert await page.input_value(_TEXT) == "Precious"
    await send(page)
    assert await inbox(shop) == ["Gone", "Precious"]
    assert watched.errors == []


async def test_what_is_written_behind_a_preview_outlives_a_reload_of_it(shop: Shop, watched: Watched) -> None:
    page, path = watched.page, compose_of(shop)
    await watched.open(path)
    await write(page, "Plan", "Old")
    await page.click("button[value=preview]")
    await page.wait_for_selector(".preview")
    restored = await page.is_visible("[data-restored]")

    await page.fill(_TEXT, "Newer")
    await page.reload()
    shown = await page.input_value(_TEXT)
    told = await page.is_visible("[data-restored]")
    await watched.open(path)

    assert not restored
    assert (shown, told) == ("Newer", True)
    assert await page.input_value(_TEXT) == "Newer"
    assert watched.errors == []


@pytest.mark.parametrize("is_held", [False, True])
async def test_behind_an_answer_that_was_sent_the_form_is_blank(shop: Shop, watched: Watched, is_held: bool) -> None:
    """`is_held`: the browser has kept the page as it was, and shows it again without asking for it."""
    page = watched.page
    number = await shop.write("Human", "May I?")
    await watched.open(f"/mail/{shop.slug}/message/{number}/reply")
    await page.fill(_TEXT, "Yes")
    await send(page)

    await page.go_back()
    await page.wait_for_selector("h1:text-is('Reply to BlueLake')")
    if is_held:
        await page.evaluate("() => { document.querySelector('[name=body_md]').value = 'Yes'; }")
        async with page.expect_navigation():
            await page.evaluate("() => dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")

    assert await page.input_value(_TEXT) == ""
    assert not await page.is_visible("[data-restored]")
    assert await inbox(shop) == ["Yes"]
    assert watched.errors == []


async def test_a_letter_behind_one_that_was_discarded_is_a_letter_of_its_own(shop: Shop, watched: Watched) -> None:
    page, path = watched.page, compose_of(shop)
    await send_unseen(watched, path)
    assert await page.input_value(_TEXT) == "Sent unseen"

    async with page.expect_navigation():
        await page.click("[data-restored] a")
    await write(page, "Second", "Of its own")
    await send(page)

    assert await inbox(shop) == ["Of its own", "Sent unseen"]
    assert watched.errors == []


async def test_a_letter_that_was_sent_already_with_another_text_is_sent_by_the_next_press(
    shop: Shop, watched: Watched
) -> None:
    page, path = watched.page, compose_of(shop)
    await send_unseen(watched, path)

    await page.fill(_TEXT, "Changed")
    await page.click(_SEND)
    await page.wait_for_selector("[role=alert]:has-text('sent once already')")
    await send(page)
    await watched.open(path)

    assert await page.input_value(_TEXT) == ""
    assert await inbox(shop) == ["Changed", "Sent unseen"]
    assert watched.errors == []


@pytest.mark.parametrize(("role", "is_kept"), [(None, True), ("reader", False), ("operator", False)])
async def test_a_draft_outlives_its_session_for_whoever_wrote_it_alone(
    shop: Shop, watched: Watched, role: str | None, is_kept: bool
) -> None:
    """`role` is that of the token by which somebody else signs in; None for the operator again."""
    page, path = watched.page, compose_of(shop)
    await watched.open(path)
    await page.fill(_TEXT, "For my eyes")
    await sign_out_elsewhere(watched)

    if role is not None:
        made = await shop.served.call("create_issued_token", expires="1d", role=role)
        await watched.open("/mail/sign-in")
        await page.fill("#token", made["token"])
        await page.click("button[type=submit]")
        await page.wait_for_url("**/mail")
        assert "For my eyes" not in str(await page.evaluate("() => Object.entries(sessionStorage)"))
    await sign_in_by(watched, (await shop.served.call("create_sign_in_link"))["path"])
    await watched.open(path)

    assert await page.input_value(_TEXT) == ("For my eyes" if is_kept else "")
    assert watched.errors == []
