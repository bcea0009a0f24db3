"""What is around every page."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from jinja2 import TemplateNotFound, UndefinedError

from mcp_agent_mail.web.context import MOST_WAITING, PagePlaces, TooManyPages
from tests.web.acting import SHOP, before_the_pages
from tests.web.visits import APP, Visits, open_visits


@pytest.fixture
async def visits(tmp_path: Path) -> AsyncIterator[Visits]:
    async with open_visits(tmp_path) as opened:
        yield opened


async def test_in_a_narrow_window_more_holds_what_has_no_place_beside_the_first_pages(visits: Visits) -> None:
    log = (await visits.get("/mail?box=log")).text
    mail = (await visits.get("/mail")).text

    more = log.partition('<details class="more">')[2].partition("</details>")[0]
    labels = re.findall(r"<span>([^<]+)</span>", more)
    assert labels[:5] == ["Log", "Projects", "Search", "History", "Operations"]
    assert "app" in labels
    assert (log.count('<summary class="here">'), mail.count('<summary class="here">')) == (1, 0)


async def test_from_a_page_of_a_project_history_is_that_projects(visits: Visits) -> None:
    of_project = (await visits.get("/mail", q="project:code-app")).text
    of_all = (await visits.get("/mail/now")).text
    slug = (await visits.app.call("ensure_project", human_key=APP))["slug"]

    assert f'<a href="/mail/archive/activity?project={slug}">' in of_project
    assert '<a href="/mail/archive/activity">' in of_all


async def test_a_letter_begins_in_the_newest_project_while_there_is_no_mail(tmp_path: Path) -> None:
    async with before_the_pages(tmp_path) as person:
        anonymous = (await person.get("/mail")).text
        await person.sign_in()
        await person.app.call("ensure_project", human_key="/code/last")
        without = (await person.get("/mail")).text
        await person.write("BlueLake", "GreenHill")
        with_mail = (await person.get("/mail")).text
        shop, last = await person.slug(SHOP), await person.slug("/code/last")

    assert "data-compose" not in anonymous
    assert f'href="/mail/{last}/overseer/compose" data-compose' in without
    assert f'href="/mail/{shop}/overseer/compose" data-compose' in with_mail


async def test_nothing_is_rendered_for_whoever_has_left_while_others_were_served() -> None:
    assert await PagePlaces().made("no-such-page.html", {}, lambda: True) == b""
    with pytest.raises(TemplateNotFound):
        await PagePlaces().made("no-such-page.html", {}, lambda: False)


async def test_whether_somebody_has_left_is_asked_when_their_turn_comes() -> None:
    left, places = asyncio.Event(), PagePlaces()
    waiting = [asyncio.create_task(places.made("no-such-page.html", {}, left.is_set)) for _ in range(8)]
    await asyncio.sleep(0)
    left.set()
    answers = await asyncio.gather(*waiting, return_exceptions=True)

    assert [type(one) for one in answers].count(bytes) == 6


async def test_payers_have_places_in_turn() -> None:
    places, gate, order = PagePlaces(), asyncio.Event(), list[str]()

    async def asks(payer: str) -> None:
        async with places.place(payer):
            order.append(payer)
            await gate.wait()

    tasks = [asyncio.create_task(asks(payer)) for payer in ["busy"] * 5 + ["other", "third"]]
    for _ in range(3):
        await asyncio.sleep(0)
    assert order == ["busy", "busy"]
    tasks[2].cancel()
    gate.set()
    await asyncio.gather(*tasks, return_exceptions=True)

    assert order[2:5] == ["other", "busy", "third"]
    assert sorted(order) == ["busy"] * 4 + ["other", "third"]


async def test_a_payers_line_is_bounded_and_small_pages_stand_in_none() -> None:
    places, gate = PagePlaces(), asyncio.Event()

    async def asks() -> None:
        async with places.place("busy"):
            await gate.wait()

    tasks = [asyncio.create_task(asks()) for _ in range(2 + MOST_WAITING)]
    for _ in range(3):
        await asyncio.sleep(0)
    with pytest.raises(TooManyPages) as refused:
        await places.made("mailbox.html", {}, payer="busy")
    with pytest.raises(UndefinedError):
        await places.made("error.html", {}, payer="busy")
    gate.set()
    await asyncio.gather(*tasks)

    assert refused.value.data["retry_after_s"] == 2
