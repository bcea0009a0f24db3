"""What is around every page."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path

import pytest
from jinja2 import TemplateNotFound, UndefinedError

from mcp_agent_mail.core.concurrency.turns import TooMuchAtOnce
from mcp_agent_mail.web.context import MOST_WAITING, PagePlaces
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

    assert [type(one) for one in answers].count(bytes) == 7


class _Waits(Mapping[str, object]):
    """A model without names, which nobody can read before the gate is open."""

    def __init__(self, gate: threading.Event) -> None:
        self._gate = gate

    def __getitem__(self, name: str) -> object:
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        self._gate.wait()
        return iter(())

    def __len__(self) -> int:
        return 0


async def test_a_payers_line_is_bounded_and_keeps_neither_others_nor_small_pages_waiting() -> None:
    places, gate = PagePlaces(), threading.Event()

    busy = [
        asyncio.create_task(places.made("mailbox.html", _Waits(gate), payer="busy")) for _ in range(1 + MOST_WAITING)
    ]
    for _ in range(3):
        await asyncio.sleep(0)
    with pytest.raises(TooMuchAtOnce):
        await places.made("mailbox.html", {}, payer="busy")
    for template, payer in (("error.html", "busy"), ("mailbox.html", "other")):
        with pytest.raises(UndefinedError):
            await places.made(template, {}, payer=payer)
    assert not any(one.done() for one in busy)
    gate.set()

    ended = await asyncio.gather(*busy, return_exceptions=True)

    assert {type(one) for one in ended} == {UndefinedError}
