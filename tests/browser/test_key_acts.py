"""Keys that open, mark, answer and approve: each is pressed for its effect, and a whole task is done by keys alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Page

from tests.browser.chromium import watched_page
from tests.browser.shop import APP, Shop, leads_to, open_shop, rows_are, type_keys

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

_OPEN = "[data-reader] [data-article]"


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[Shop]:
    async with open_shop(tmp_path) as opened:
        yield opened


async def test_what_is_open_beside_the_list_has_an_address_that_back_forward_and_a_reload_find(shop: Shop) -> None:
    watched = await shop.signed_in(await shop.context())
    page, home = watched.page, shop.served.url + "/mail"
    first, second = (f"{home}?open={shop.slug}.{one}" for one in (shop.thread[2], shop.thread[1]))
    await watched.open("/mail")

    await type_keys(page, "j", "o")
    await page.wait_for_selector(f"{_OPEN} h1:text-is('Step 2')")
    await type_keys(page, "j", "o")
    await page.wait_for_selector(f"{_OPEN} h1:text-is('Step 1')")
    assert page.url == second
    await page.go_back()
    await page.wait_for_selector(f"{_OPEN} h1:text-is('Step 2')")
    assert page.url == first
    await page.go_forward()
    await page.wait_for_selector(f"{_OPEN} h1:text-is('Step 1')")
    await page.reload()
    assert await page.inner_text(f"{_OPEN} h1") == "Step 1"
    assert await page.inner_text("[data-row].at .subject") == "Step 1"
    for key, begin in (("u", second), ("Escape", first)):
        await page.goto(begin)
        await type_keys(page, key)
        await page.wait_for_selector(_OPEN, state="detached")
        assert page.url == home
    await page.go_back()
    await page.wait_for_selector(f"{_OPEN} h1:text-is('Step 2')")
    await page.click("[data-shut]")
    await page.wait_for_selector(_OPEN, state="detached")
    assert watched.errors == []


async def test_back_leads_to_the_page_before_and_never_to_the_spent_link(shop: Shop) -> None:
    watched = await shop.signed_in(await shop.context())
    page, origin = watched.page, shop.served.url
    message = f"/mail/{shop.slug}/message/{shop.thread[0]}"

    await type_keys(page, "u")
    assert page.url == origin + "/mail"
    assert await page.inner_text(".keys-said") == "There is nothing to go back to."
    await leads_to(page, origin, ("g", "n"), "/mail/now")
    await leads_to(page, origin, ("g", "i"), "/mail")
    await type_keys(page, "j", "o")
    await page.wait_for_selector(_OPEN)
    await type_keys(page, "u")
    await page.wait_for_selector(_OPEN, state="detached")
    await leads_to(page, origin, ("u",), "/mail/now")
    await watched.open(message)
    await leads_to(page, origin, ("u",), f"/mail?q=project%3A{shop.slug}")
    assert watched.errors == []


async def test_the_message_is_in_view_however_far_down_its_row_is_and_the_row_stands_free(shop: Shop) -> None:
    for number in range(45):
        await shop.write("Human", f"Letter {number}")
    watched = await shop.signed_in(await shop.context())
    page = watched.page
    await watched.open("/mail")

    await type_keys(page, *"j" * 28, "o")
    await page.wait_for_selector(_OPEN)
    heading = await page.locator(f"{_OPEN} h1").bounding_box()
    await type_keys(page, *"k" * 20)
    tops = await page.evaluate(
        """() => [".list-head", "[data-row].at", ".keys"]
        .map((one) => document.querySelector(one).getBoundingClientRect())
        .flatMap((box) => [box.top, box.bottom])"""
    )
    covering = await page.evaluate(
        """() => {
          const { left, top, width, height } = document.querySelector("#filter").getBoundingClientRect();
          return [0.01, 0.02, 0.05, 0.5].map((part) =>
            document.elementFromPoint(left + width * part, top + height / 2).closest(".choose, .filter").className);
        }"""
    )

    assert heading is not None
    assert 0 <= heading["y"] < 300
    _, head_end, row_top, row_end, foot_top, _ = tops
    assert head_end <= row_top < row_end <= foot_top
    assert covering == ["filter"] * 4
    await page.set_viewport_size({"width": 1440, "height": 300})
    await page.focus(_OPEN)
    await type_keys(page, "End")
    await page.wait_for_function("() => document.querySelector('[data-reader] [data-article]').scrollTop > 0")
    assert watched.errors == []


async def _offered(page: Page) -> list[str]:
    shown: list[str] = await page.locator(".keys-here > :not([hidden]) > kbd").all_inner_texts()
    return shown


async def test_the_foot_offers_what_acts_on_the_chosen_row_and_says_why_another_does_not(shop: Shop) -> None:
    await shop.write("Human", "Please see", ack_required=True)
    await shop.served.call(
        "file_reservation_paths", project_key=APP, agent_name="BlueLake", paths=["src/a.py"], ttl_seconds=3600
    )
    watched = await shop.signed_in(await shop.context())
    page = watched.page
    await watched.open("/mail")
    assert await page.is_disabled("#marks button[value=read]")

    await type_keys(page, "j")
    of_mine = await _offered(page)
    await type_keys(page, "j")
    of_agents = await _offered(page)
    said = []
    for key in "xea":
        await type_keys(page, key)
        said.append(await page.inner_text(".keys-said"))
    await watched.open(f"/mail/{shop.slug}/file_reservations")
    await type_keys(page, "j", "r")
    said.append(await page.inner_text(".keys-said"))

    assert {"x", "e", "a", "r", "c"} <= set(of_mine)
    assert not {"x", "e", "a", "y", "n"} & set(of_agents)
    assert "r" in of_agents
    assert not {"x", "e", "a", "r"} & set(await _offered(page))
    assert said == [
        "Mail to you can be chosen; this is none.",
        "Unread mail to you is marked read; agents mark theirs.",
        "Mail to you that asks for it is acknowledged; agents acknowledge theirs.",
        "No message is chosen that you can answer.",
    ]
    assert page.url.endswith("/file_reservations")
    assert watched.errors == []


async def test_keys_choose_mark_acknowledge_and_answer(shop: Shop) -> None:
    for subject in ("One", "Two", "Three"):
        await shop.write("Human", subject, ack_required=subject == "Three")
    watched = await shop.signed_in(await shop.context())
    page = watched.page
    await watched.open("/mail")

    await type_keys(page, "j", "j", "x", "j", "x")
    assert await page.inner_text("[data-chosen]") == "2 chosen"
    await type_keys(page, "e")
    await rows_are(page, ".row.unread", 1)
    assert await page.locator(".row.unread .subject").all_inner_texts() == ["Three"]
    await type_keys(page, "k", "k", "a")
    await rows_are(page, ".row.unread, .row .owes", 0)
    await type_keys(page, "o")
    await page.wait_for_selector(f"{_OPEN} h1:text-is('Three')")
    await type_keys(page, "j")
    number = (await page.locator("[data-row].at a.open").get_attribute("href") or "").rpartition("/")[2]
    await leads_to(page, shop.served.url, ("r",), f"/mail/{shop.slug}/message/{number}/reply")
    assert await page.inner_text("h1") == "Reply to BlueLake"
    assert watched.errors == []


async def test_r_answers_the_message_of_a_thread_that_was_gone_to(shop: Shop) -> None:
    watched = await shop.signed_in(await shop.context())
    await watched.open(f"/mail/{shop.slug}/thread/DB-14")

    answer = f"/mail/{shop.slug}/message/{shop.thread[1]}/reply"
    await leads_to(watched.page, shop.served.url, ("]", "]", "r"), answer)

    assert watched.errors == []


async def test_a_list_is_filtered_while_one_types_and_escape_leads_to_its_rows(shop: Shop) -> None:
    await shop.write("Human", "Coupons")
    watched = await shop.signed_in(await shop.context())
    page = watched.page
    await watched.open("/mail")

    await type_keys(page, "/")
    await page.keyboard.type("coupons")
    await rows_are(page, "[data-row]", 1)
    assert page.url == shop.served.url + "/mail?q=coupons"
    await type_keys(page, "Escape")
    assert await page.input_value("#filter") == "coupons"
    await type_keys(page, "j", "x")
    assert await page.inner_text("[data-chosen]") == "1 chosen"
    await type_keys(page, "/", "Control+a", "Delete")
    await rows_are(page, "[data-row]", 4)

    assert watched.errors == []


async def test_c_composes_in_the_rows_project_and_ctrl_k_searches(shop: Shop) -> None:
    other = (await shop.served.call("ensure_project", human_key="/code/other"))["slug"]
    watched = await shop.signed_in(await shop.context())
    page = watched.page

    await shop.served.call("register_agent", project_key="/code/other", name="BlueLake", program="p", model="m")
    sent = {"sender_name": "BlueLake", "to": ["Human"], "subject": "Newest", "body_md": "b"}
    await shop.served.call("send_message", project_key="/code/other", **sent)
    await watched.open("/mail")
    await leads_to(page, shop.served.url, ("c",), f"/mail/{other}/overseer/compose")
    await watched.open("/mail")
    await leads_to(page, shop.served.url, ("j", "j", "c"), f"/mail/{shop.slug}/overseer/compose")
    await watched.open("/mail")
    for key in ("Control+k", "Meta+k"):
        await type_keys(page, "j", key)
        assert await page.evaluate("document.activeElement.id") == "filter"
        await page.evaluate("document.activeElement.blur()")
    await watched.open("/mail/projects")
    await leads_to(page, shop.served.url, ("Control+k",), "/mail/search")
    assert watched.errors == []


async def test_who_reads_a_message_or_a_thread_is_told_of_new_mail_in_it(shop: Shop) -> None:
    context = await shop.context()
    watched = await shop.signed_in(context)
    alone, thread = await watched_page(context, shop.served.url), await watched_page(context, shop.served.url)
    await watched.open(f"/mail?open={shop.slug}.{shop.thread[2]}")
    await alone.open(f"/mail/{shop.slug}/message/{shop.thread[2]}")
    await thread.open(f"/mail/{shop.slug}/thread/DB-14")

    await shop.write("RedStone", "Step 3", thread_id="DB-14")
    for one in (watched, alone):
        await one.page.bring_to_front()
        await one.page.wait_for_selector("[data-article] [role=status]:has-text('1 newer')")
    await thread.page.bring_to_front()
    await thread.page.click(".fresh:text-is('1 new')")
    bodies = await thread.page.locator(".thread .message .body").count()

    assert bodies == len(shop.thread) + 1
    assert watched.errors + alone.errors + thread.errors == []


async def test_what_needs_a_person_is_acknowledged_answered_and_approved_by_keys_alone(shop: Shop) -> None:
    await shop.served.call("set_contact_policy", project_key=APP, agent_name="RedStone", policy="contacts_only")
    await shop.served.call("register_agent", project_key=APP, name="QuietFox", program="p", model="m")
    await shop.served.call(
        "request_contact", project_key=APP, from_agent="QuietFox", to_agent="RedStone", reason="Plan"
    )
    number = await shop.write("Human", "May I?", ack_required=True)
    watched = await watched_page(await shop.context(), shop.served.url)
    page = watched.page
    await watched.open((await shop.served.call("create_sign_in_link"))["path"])

    await type_keys(page, "Tab", "Enter")
    await page.wait_for_url("**/mail")
    await type_keys(page, *["Tab"] * 4)
    assert await page.evaluate("document.activeElement.innerText.trim().split('\\n')[0]") == "Needs you"
    await type_keys(page, "Enter")
    await page.wait_for_url("**/mail?box=needs")
    await type_keys(page, "j", "a")
    await rows_are(page, ".owes", 0)
    await leads_to(page, shop.served.url, ("g", "i"), "/mail")
    await leads_to(page, shop.served.url, ("j", "r"), f"/mail/{shop.slug}/message/{number}/reply")
    await page.keyboard.type("Yes, do")
    await type_keys(page, *["Tab"] * 3, "Enter")
    await page.wait_for_selector("[data-sent]")
    await watched.open("/mail?box=needs")
    await type_keys(page, "j")
    assert {"y", "n"} <= set(await _offered(page))
    async with page.expect_navigation():
        await type_keys(page, "y")
    assert "Nothing waits for you" in await page.inner_text("main")

    answered = await shop.served.call("fetch_inbox", project_key=APP, agent_name="BlueLake", include_bodies=True)
    assert [one["body_md"] for one in answered] == ["Yes, do"]
    copies = await shop.served.call("message_status", project_key=APP, message_id=number, agent_name="BlueLake")
    assert "acknowledged" in str(copies)
    assert watched.errors == []
