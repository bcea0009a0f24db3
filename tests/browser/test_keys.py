"""Keys of the pages in a browser: what each does, where none does anything, and how a person switches them off."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Browser, BrowserContext, Page

from tests.browser.chromium import Watched, open_chromium, sign_in_by, watched_page
from tests.server.pages.browsers import ServedPages, serve_pages

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

APP = "/code/web-shop"


_OPEN = "[data-reader] [data-article]"


class Shop:
    """A project with a thread of three messages, and the operator's browser."""

    def __init__(self, served: ServedPages, browser: Browser, slug: str, thread: list[int]) -> None:
        self.served, self.browser, self.slug, self.thread = served, browser, slug, thread

    async def context(self) -> BrowserContext:
        return await self.browser.new_context(viewport={"width": 1440, "height": 900})

    async def write(self, to: str, subject: str, **terms: str | bool) -> int:
        """From BlueLake."""
        sent = await self.served.call(
            "send_message", project_key=APP, sender_name="BlueLake", to=[to], subject=subject, body_md="x", **terms
        )
        return int(sent["deliveries"][0]["payload"]["id"])

    async def signed_in(self, context: BrowserContext) -> Watched:
        watched = await watched_page(context, self.served.url)
        await sign_in_by(watched, (await self.served.call("create_sign_in_link"))["path"])
        return watched


@asynccontextmanager
async def _shop(folder: Path) -> AsyncIterator[Shop]:
    async with serve_pages(folder, HTTP_RATE_LIMIT_ENABLED="false") as served, open_chromium() as browser:
        slug = (await served.call("ensure_project", human_key=APP))["slug"]
        for name in ("BlueLake", "RedStone"):
            await served.call("register_agent", project_key=APP, name=name, program="p", model="m")
        thread = []
        for number in range(3):
            sent = await served.call(
                "send_message",
                project_key=APP,
                sender_name="BlueLake",
                to=["RedStone"],
                subject=f"Step {number}",
                body_md="x\n\n" * 40,
                thread_id="DB-14",
            )
            thread.append(sent["deliveries"][0]["payload"]["id"])
        yield Shop(served, browser, slug, thread)


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[Shop]:
    async with _shop(tmp_path) as opened:
        yield opened


async def _type(page: Page, *keys: str) -> None:
    for key in keys:
        await page.keyboard.press(key)


async def _leads(page: Page, origin: str, keys: tuple[str, ...], path: str) -> None:
    await _type(page, *keys)
    await page.wait_for_url(origin + path)


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
        await _leads(watched.page, shop.served.url, ("g", letter), path)

    await watched.open("/mail")
    await _leads(watched.page, shop.served.url, ("j", "g", "a"), f"{project}/agents")
    assert watched.errors == []


async def test_brackets_step_through_a_thread(shop: Shop) -> None:
    watched = await shop.signed_in(await shop.context())
    page, first, second, third = watched.page, *shop.thread
    message = f"/mail/{shop.slug}/message"

    await watched.open(f"{message}/{first}")
    await _type(page, "[")
    await _leads(page, shop.served.url, ("]",), f"{message}/{second}")
    await _leads(page, shop.served.url, ("]",), f"{message}/{third}")
    await _leads(page, shop.served.url, ("[",), f"{message}/{second}")
    await watched.open(f"/mail/{shop.slug}/thread/DB-14")
    stood = []
    for key in ("]", "]", "]", "]", "["):
        await _type(page, key)
        stood.append(await page.evaluate("document.activeElement.textContent"))

    assert stood == ["Step 0", "Step 1", "Step 2", "Step 2", "Step 1"]
    assert watched.errors == []


async def test_beside_the_list_a_thread_is_stepped_through_in_place(shop: Shop) -> None:
    watched = await shop.signed_in(await shop.context())
    await watched.open("/mail")

    await _type(watched.page, "j", "o")
    await watched.page.wait_for_selector("[data-reader] h1:text-is('Step 2')")
    await _type(watched.page, "[")
    await watched.page.wait_for_selector("[data-reader] h1:text-is('Step 1')")

    assert watched.page.url == f"{shop.served.url}/mail?open={shop.slug}.{shop.thread[1]}"
    assert "previous, next of the thread" in await watched.page.inner_text(".keys-here")


async def test_help_lists_every_key_and_none_fires_while_it_is_open(shop: Shop) -> None:
    watched = await shop.signed_in(await shop.context())
    page = watched.page
    await watched.open("/mail")

    await _type(page, "?")
    keys = [" ".join(await one.locator("kbd").all_inner_texts()) for one in await page.locator("dialog dt").all()]
    await _type(page, "j", "?", "g", "n")
    dialogs = await page.locator("dialog[open]").count()
    moved = await page.locator("[data-row].at").count()
    await _type(page, "Escape")
    await page.wait_for_selector("dialog", state="hidden")
    await _type(page, "j")

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

    await _type(watched.page, f"{modifier}+j", f"{modifier}+x", f"{modifier}+[")

    assert await watched.page.locator("[data-row].at, .choose input:checked").count() == 0


async def test_in_fields_keys_are_letters(shop: Shop) -> None:
    watched = await shop.signed_in(await shop.context())
    await watched.open(f"/mail/{shop.slug}/overseer/compose")

    for field in ("input[name=subject]", "textarea[name=body_md]"):
        await watched.page.focus(field)
        await _type(watched.page, "g", "n", "?", "j", "]", "/")

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

    await _type(page, "?")
    await page.uncheck("dialog .key-switch input")
    await _type(page, "Escape")
    await other.page.wait_for_function("!document.querySelector('.keys .key-switch input').checked")
    await watched.open("/mail")
    await _type(page, "j", "?", "x", "g", "n")
    is_on = await page.is_checked(".keys .key-switch input")
    moved = await page.locator("[data-row].at, dialog[open]").count()
    shown = await page.inner_text(".keys-here")
    await page.check(".keys .key-switch input")
    await page.click("#main", position={"x": 5, "y": 5})
    await _type(page, "j")

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
    await _type(watched.page, "j")

    assert await watched.page.locator("[data-row].at").count() == 0
    assert watched.errors == []


async def test_without_script_there_is_no_foot_and_the_thread_has_links(shop: Shop) -> None:
    context = await shop.browser.new_context(java_script_enabled=False)
    watched = await watched_page(context, shop.served.url)
    await watched.page.goto(f"{shop.served.url}/mail/{shop.slug}/message/{shop.thread[1]}")

    assert not await watched.page.is_visible(".keys")
    assert await watched.page.locator("a[rel=prev], a[rel=next]").all_inner_texts() == ["Previous", "Next"]


async def test_what_is_open_beside_the_list_has_an_address_that_back_forward_and_a_reload_find(shop: Shop) -> None:
    watched = await shop.signed_in(await shop.context())
    page, home = watched.page, shop.served.url + "/mail"
    first, second = (f"{home}?open={shop.slug}.{one}" for one in (shop.thread[2], shop.thread[1]))
    await watched.open("/mail")

    await _type(page, "j", "o")
    await page.wait_for_selector(f"{_OPEN} h1:text-is('Step 2')")
    await _type(page, "j", "o")
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
        await _type(page, key)
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

    await _type(page, "u")
    assert page.url == origin + "/mail"
    assert await page.inner_text(".keys-said") == "There is nothing to go back to."
    await _leads(page, origin, ("g", "n"), "/mail/now")
    await _leads(page, origin, ("g", "i"), "/mail")
    await _type(page, "j", "o")
    await page.wait_for_selector(_OPEN)
    await _type(page, "u")
    await page.wait_for_selector(_OPEN, state="detached")
    await _leads(page, origin, ("u",), "/mail/now")
    await watched.open(message)
    await _leads(page, origin, ("u",), f"/mail?q=project%3A{shop.slug}")
    assert watched.errors == []


async def test_the_message_is_in_view_however_far_down_its_row_is_and_the_row_stands_free(shop: Shop) -> None:
    for number in range(45):
        await shop.write("Human", f"Letter {number}")
    watched = await shop.signed_in(await shop.context())
    page = watched.page
    await watched.open("/mail")

    await _type(page, *"j" * 28, "o")
    await page.wait_for_selector(_OPEN)
    heading = await page.locator(f"{_OPEN} h1").bounding_box()
    await _type(page, *"k" * 20)
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
    await _type(page, "End")
    await page.wait_for_function("() => document.querySelector('[data-reader] [data-article]').scrollTop > 0")
    assert watched.errors == []


async def _offered(page: Page) -> list[str]:
    return await page.locator(".keys-here > :not([hidden]) > kbd").all_inner_texts()


async def test_the_foot_offers_what_acts_on_the_chosen_row_and_says_why_another_does_not(shop: Shop) -> None:
    await shop.write("Human", "Please see", ack_required=True)
    await shop.served.call(
        "file_reservation_paths", project_key=APP, agent_name="BlueLake", paths=["src/a.py"], ttl_seconds=3600
    )
    watched = await shop.signed_in(await shop.context())
    page = watched.page
    await watched.open("/mail")
    assert await page.is_disabled("#marks button[value=read]")

    await _type(page, "j")
    of_mine = await _offered(page)
    await _type(page, "j")
    of_agents = await _offered(page)
    said = []
    for key in "xea":
        await _type(page, key)
        said.append(await page.inner_text(".keys-said"))
    await watched.open(f"/mail/{shop.slug}/file_reservations")
    await _type(page, "j", "r")
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

    await _type(page, "j", "j", "x", "j", "x")
    assert await page.inner_text("[data-chosen]") == "2 chosen"
    async with page.expect_navigation():
        await _type(page, "e")
    assert await page.locator(".row.unread .subject").all_inner_texts() == ["Three"]
    await _type(page, "j")
    async with page.expect_navigation():
        await _type(page, "a")
    assert await page.locator(".row.unread, .row .owes").count() == 0
    await _type(page, "j", "o")
    await page.wait_for_selector(f"{_OPEN} h1:text-is('Three')")
    await _type(page, "j")
    number = (await page.locator("[data-row].at a.open").get_attribute("href") or "").rpartition("/")[2]
    await _leads(page, shop.served.url, ("r",), f"/mail/{shop.slug}/message/{number}/reply")
    assert await page.inner_text("h1") == "Reply to BlueLake"
    assert watched.errors == []


async def test_c_composes_in_the_rows_project_and_ctrl_k_searches(shop: Shop) -> None:
    other = (await shop.served.call("ensure_project", human_key="/code/other"))["slug"]
    watched = await shop.signed_in(await shop.context())
    page = watched.page

    await watched.open("/mail")
    await _leads(page, shop.served.url, ("c",), f"/mail/{other}/overseer/compose")
    await watched.open("/mail")
    await _leads(page, shop.served.url, ("j", "c"), f"/mail/{shop.slug}/overseer/compose")
    await watched.open("/mail")
    for key in ("Control+k", "Meta+k"):
        await _type(page, "j", key)
        assert await page.evaluate("document.activeElement.id") == "filter"
        await page.evaluate("document.activeElement.blur()")
    await watched.open("/mail/projects")
    await _leads(page, shop.served.url, ("Control+k",), "/mail/search")
    assert watched.errors == []


async def test_unsent_text_says_that_it_is_back_and_is_discarded(shop: Shop) -> None:
    watched = await shop.signed_in(await shop.context())
    page = watched.page
    path = f"/mail/{shop.slug}/overseer/compose"
    await watched.open(path)
    assert not await page.is_visible("[data-restored]")

    await page.fill("textarea[name=body_md]", "Half a thought")
    await page.check("input[name=broadcast]")
    await watched.open(path)
    assert await page.inner_text("[data-restored]") == "Your unsent text is back. Discard"
    assert await page.input_value("textarea[name=body_md]") == "Half a thought"
    assert not await page.is_checked("input[name=broadcast]")
    await page.click("[data-restored] button")
    assert await page.input_value("textarea[name=body_md]") == ""
    await watched.open(path)
    assert not await page.is_visible("[data-restored]")
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
    titles = await thread.page.locator(".thread h2").all_inner_texts()

    assert titles == ["Step 0", "Step 1", "Step 2", "Step 3"]
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

    await _type(page, "Tab", "Enter")
    await page.wait_for_url("**/mail")
    await _type(page, *["Tab"] * 4)
    assert await page.evaluate("document.activeElement.innerText.trim().split('\\n')[0]") == "Needs you"
    await _type(page, "Enter")
    await page.wait_for_url("**/mail?box=needs")
    await _type(page, "j")
    async with page.expect_navigation():
        await _type(page, "a")
    await _leads(page, shop.served.url, ("g", "i"), "/mail")
    await _leads(page, shop.served.url, ("j", "r"), f"/mail/{shop.slug}/message/{number}/reply")
    await page.keyboard.type("Yes, do")
    await _type(page, *["Tab"] * 3, "Enter")
    await page.wait_for_selector("[data-sent]")
    await watched.open("/mail?box=needs")
    await _type(page, "j")
    assert {"y", "n"} <= set(await _offered(page))
    async with page.expect_navigation():
        await _type(page, "y")

    assert "Nothing waits for you" in await page.inner_text("main")
    answered = await shop.served.call("fetch_inbox", project_key=APP, agent_name="BlueLake", include_bodies=True)
    assert [one["body_md"] for one in answered] == ["Yes, do"]
    copies = await shop.served.call("message_status", project_key=APP, message_id=number, agent_name="BlueLake")
    assert "acknowledged" in str(copies)
    assert watched.errors == []
