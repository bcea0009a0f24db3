from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.domain.contacts import LinkStatus, Relation
from mcp_agent_mail.store import contacts
from mcp_agent_mail.store.transaction import Tx
from tests.seeded_store import SeededStore, open_seeded_store


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def put(seeded: SeededStore, status: LinkStatus, expires_ts: Micros | None = None, reason: str = "") -> int:
    contact = await seeded.store.write(
        lambda tx: tx.contacts.put(
            seeded.blue.id, seeded.fox.id, status=status, reason=reason, expires_ts=expires_ts, now=tx.now
        )
    )
    return contact.id


async def test_a_link_is_one_row_whatever_becomes_of_it(seeded: SeededStore) -> None:
    first = await put(seeded, LinkStatus.PENDING, reason="one")
    seeded.clock.step()

    again = await put(seeded, LinkStatus.APPROVED, Micros(seeded.clock.now + SECOND), reason="two")

    contact = await seeded.store.read(lambda view: view.contacts.find(seeded.blue.id, seeded.fox.id))
    assert contact is not None
    assert first == again == contact.id
    assert (contact.source.name, contact.target.name, contact.target.project_slug) == (
        "BlueLake",
        "QuietFox",
        "code-lib",
    )
    assert (contact.reason, contact.updated_ts - contact.created_ts) == ("two", SECOND)


async def test_what_a_send_must_look_into_is_told_of_each_side(seeded: SeededStore) -> None:
    async def concerns() -> list[tuple[bool, bool]]:
        return await seeded.store.read(
            lambda view: [tuple(view.contacts.concerns(one.id)) for one in (seeded.blue, seeded.fox)]  # type: ignore[misc]
        )

    assert (await concerns()) == [(False, False), (False, False)]
    await put(seeded, LinkStatus.BLOCKED)
    assert (await concerns()) == [(True, False), (False, True)]

    lifted = await seeded.store.write(
        lambda tx: tx.contacts.lift(seeded.fox.id, [seeded.blue.id, seeded.red.id], tx.now)
    )

    assert [one.relation(seeded.clock.now) for one in lifted] == [Relation.EXPIRED]
    assert (await concerns()) == [(True, False), (False, False)]


@pytest.mark.parametrize(
    ("sql", "values", "index"),
    [
        ("CONCERNS", {"agent": 1}, "contacts_denied"),
        ("_LINKS", (1, "[2]"), "sqlite_autoindex_contacts_1"),
        ("_INBOUND", (1, 10), "contacts_target"),
        ("_OUTBOUND", (1, 10), "sqlite_autoindex_contacts_1"),
        ("_ELSEWHERE", {"source": 1, "name": "x", "now": 1, "limit": 2}, "sqlite_autoindex_contacts_1"),
    ],
)
async def test_links_are_found_by_an_index(seeded: SeededStore, sql: str, values: object, index: str) -> None:

    plan = seeded.store._reading.execute(f"EXPLAIN QUERY PLAN {getattr(contacts, sql)}", values).fetchall()  # type: ignore[arg-type]

    assert index in str(plan)
    assert "SCAN c" not in str(plan)


async def test_links_are_found_by_the_name_of_who_asks_in_every_project_that_is_open(seeded: SeededStore) -> None:
    def links(tx: Tx) -> None:
        for source in (seeded.blue, seeded.red, seeded.lib_blue):
            tx.contacts.put(source.id, seeded.fox.id, status=LinkStatus.PENDING, reason="", expires_ts=None, now=tx.now)
        tx.contacts.put(
            seeded.lib_blue.id, seeded.red.id, status=LinkStatus.PENDING, reason="", expires_ts=None, now=tx.now
        )

    async def named(name: str) -> list[int]:
        found = await seeded.store.read(lambda view: view.contacts.inbound_named(seeded.fox.id, name))
        return [contact.source.agent_id for contact in found]

    await seeded.store.write(links)

    assert await named(" bluelake ") == [seeded.blue.id, seeded.lib_blue.id]
    assert await named("Nobody") == []
    await seeded.store.write(lambda tx: tx.projects.set_archived(seeded.app.id, tx.now))
    assert await named("BlueLake") == [seeded.lib_blue.id]
