from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import ContactId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.contacts import Contact, LinkStatus
from mcp_agent_mail.store.oversight import contact_pages
from mcp_agent_mail.store.oversight.contact_pages import ContactSlice
from tests.seeded_store import SeededStore, open_seeded_store

NEWEST = ContactId(1 << 50)


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def put(
    seeded: SeededStore, source: Agent, target: Agent, status: LinkStatus = LinkStatus.PENDING, lasts_s: int = 60
) -> Contact:
    return await seeded.store.write(
        lambda tx: tx.contacts.put(
            source.id,
            target.id,
            status=status,
            reason="",
            expires_ts=None if status is LinkStatus.BLOCKED else Micros(tx.now + lasts_s * SECOND),
            now=tx.now,
        )
    )


async def asked(seeded: SeededStore, limit: int = 10) -> list[tuple[str, str]]:
    found = await seeded.store.read(lambda view: view.contact_pages.requests_to(seeded.lib.id, view.now, limit))
    return [(one.source.name, one.target.name) for one in found]


async def links(seeded: SeededStore, before: ContactId = NEWEST, limit: int = 10) -> ContactSlice:
    return await seeded.store.read(lambda view: view.contact_pages.links_of(seeded.lib.id, before=before, limit=limit))


async def test_requests_are_those_that_wait_for_an_agent_of_the_project_newest_first(seeded: SeededStore) -> None:
    await put(seeded, seeded.blue, seeded.fox)
    await put(seeded, seeded.red, seeded.lib_blue)
    await put(seeded, seeded.green, seeded.fox, LinkStatus.APPROVED)
    await put(seeded, seeded.fox, seeded.blue)

    assert await asked(seeded) == [("RedStone", "BlueLake"), ("BlueLake", "QuietFox")]
    assert await asked(seeded, limit=1) == [("RedStone", "BlueLake")]


async def test_a_request_that_has_ended_is_shown_while_mail_waits_for_its_answer(seeded: SeededStore) -> None:
    await put(seeded, seeded.blue, seeded.fox)
    await put(seeded, seeded.red, seeded.fox)
    (copy,) = seeded.addressed([seeded.fox])
    await seeded.post(seeded.letter(seeded.blue), replace(copy, held_code="contact_required"))
    seeded.clock.step(61)

    assert await asked(seeded) == [("BlueLake", "QuietFox")]


async def test_links_are_those_from_and_to_the_project_whatever_they_are(seeded: SeededStore) -> None:
    first = await put(seeded, seeded.blue, seeded.fox, LinkStatus.BLOCKED)
    other = await put(seeded, seeded.blue, seeded.red)
    last = await put(seeded, seeded.fox, seeded.blue, LinkStatus.APPROVED)

    page = await links(seeded, limit=1)

    assert ([one.id for one in page.links], page.next_before) == ([last.id], last.id)
    assert page.next_before is not None
    rest = await links(seeded, before=page.next_before, limit=1)
    assert ([one.id for one in rest.links], rest.next_before) == ([first.id], None)
    assert await seeded.store.read(lambda view: view.contact_pages.numbered(other.id)) == other
    assert await seeded.store.read(lambda view: view.contact_pages.numbered(ContactId(last.id + 1))) is None


async def test_a_page_looks_back_a_bounded_way_and_says_where_to_go_on(
    seeded: SeededStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contact_pages, "REACH", 2)
    first = await put(seeded, seeded.blue, seeded.fox)
    await put(seeded, seeded.blue, seeded.red)
    await put(seeded, seeded.blue, seeded.green)

    page = await links(seeded)

    assert (page.links, page.next_before) == ([], first.id + 1)
    assert page.next_before is not None
    assert [one.id for one in (await links(seeded, before=page.next_before)).links] == [first.id]
