from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.domain.doors.names import Door, WireName
from mcp_agent_mail.store.transaction import Tx
from tests.seeded_store import SeededStore, open_seeded_store


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def add(seeded: SeededStore, name: str, agent: AgentId | None = None) -> WireName:
    agent_id = seeded.blue.id if agent is None else agent
    return await seeded.store.write(lambda tx: tx.wire_names.add(seeded.app.id, agent_id, name, tx.now))


async def test_a_name_is_found_by_its_key_in_its_project_alone(seeded: SeededStore) -> None:
    added = await add(seeded, "Ren\u00e9")

    found = await seeded.store.read(lambda view: view.wire_names.find(seeded.app.id, " rene\u0301 "))
    elsewhere = await seeded.store.read(lambda view: view.wire_names.find(seeded.lib.id, "Ren\u00e9"))

    assert found == added
    assert (added.name, added.owner, added.linked, added.created_ts) == (
        "Ren\u00e9",
        None,
        frozenset(),
        seeded.clock.now,
    )
    assert elsewhere is None


async def test_a_project_has_a_name_once(seeded: SeededStore) -> None:
    await add(seeded, "bob")

    with pytest.raises(sqlite3.IntegrityError):
        await add(seeded, "BOB", seeded.red.id)


async def test_a_name_gets_one_owner_and_linked_doors_come_and_go(seeded: SeededStore) -> None:
    added = await add(seeded, "bob")

    def use(tx: Tx) -> tuple[WireName, WireName, WireName]:
        owned = tx.wire_names.own(added, Door.POSTAL)
        for door in (Door.AGENTMAIL, Door.CLAUDE_MAILBOX):
            tx.wire_names.link(owned, door)
        linked = tx.wire_names.link(owned, Door.AGENTMAIL)
        tx.wire_names.unlink(linked, Door.CLAUDE_MAILBOX)
        return owned, linked, tx.wire_names.unlink(linked, Door.CLAUDE_MAILBOX)

    owned, linked, unlinked = await seeded.store.write(use)

    assert (owned.owner, owned.linked) == (Door.POSTAL, frozenset())
    assert linked.linked == {Door.AGENTMAIL, Door.CLAUDE_MAILBOX}
    assert (unlinked.owner, unlinked.linked) == (Door.POSTAL, frozenset({Door.AGENTMAIL}))
    with pytest.raises(AssertionError):
        await seeded.store.write(lambda tx: tx.wire_names.own(added, Door.AGENTMAIL))


async def test_names_are_listed_in_their_order_by_pages_and_by_agent(seeded: SeededStore) -> None:
    first, other, second = await add(seeded, "b"), await add(seeded, "x", seeded.red.id), await add(seeded, "a")

    page = await seeded.store.read(lambda view: view.wire_names.list_(limit=2))
    rest = await seeded.store.read(lambda view: view.wire_names.list_(after=page[-1].id, limit=2))
    own = await seeded.store.read(lambda view: view.wire_names.of_agent(seeded.blue.id))

    assert (page, rest) == ([first, other], [second])
    assert own == [first, second]
