from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.domain.contacts import LinkStatus
from mcp_agent_mail.domain.leases import EndedBy, LeaseKind
from mcp_agent_mail.store.contacts import ContactFlags
from mcp_agent_mail.store.mail import send_facts
from mcp_agent_mail.store.mail.send_facts import SendFacts
from mcp_agent_mail.store.transaction import Tx
from tests.seeded_store import SeededStore, open_seeded_store
from tests.store.grants import grant, new_lease

FOLDER = ".mcp-mail"


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def facts(seeded: SeededStore) -> SendFacts:
    return await seeded.store.read(lambda view: view.send_facts.of(seeded.blue.id, seeded.app.id, FOLDER))


async def test_who_has_no_links_where_nothing_is_held_is_told_no(seeded: SeededStore) -> None:
    assert await facts(seeded) == ((False, False), False)


async def test_links_and_denials_are_told_apart(seeded: SeededStore) -> None:
    def link(tx: Tx) -> None:
        tx.contacts.put(
            seeded.blue.id, seeded.fox.id, status=LinkStatus.BLOCKED, reason="", expires_ts=None, now=tx.now
        )

    await seeded.store.write(link)

    of_fox = await seeded.store.read(lambda view: view.send_facts.of(seeded.fox.id, seeded.lib.id, FOLDER))
    assert (await facts(seeded)).concerns == ContactFlags(has_links=True, has_denied=False)
    assert of_fox.concerns == ContactFlags(has_links=False, has_denied=True)


async def test_links_and_denials_of_the_sender_are_told(seeded: SeededStore) -> None:
    def link(tx: Tx) -> None:
        for source, target, status in (
            (seeded.blue, seeded.fox, LinkStatus.PENDING),
            (seeded.fox, seeded.blue, LinkStatus.BLOCKED),
        ):
            tx.contacts.put(source.id, target.id, status=status, reason="", expires_ts=None, now=tx.now)

    await seeded.store.write(link)

    found = await facts(seeded)
    assert found.concerns == (True, True)
    assert found.concerns == await seeded.store.read(lambda view: view.contacts.concerns(seeded.blue.id))


@pytest.mark.parametrize("pattern", [".mcp-mail/**", ".mcp-mail/agents/RedStone/inbox/**"])
async def test_what_another_agent_holds_of_the_folder_is_told_until_it_ends(seeded: SeededStore, pattern: str) -> None:
    (lease,) = await grant(seeded, seeded.red, pattern)

    assert (await facts(seeded)).may_be_held

    await seeded.store.write(lambda tx: tx.leases.end([(lease.id, tx.now)], EndedBy.RELEASE))
    assert not (await facts(seeded)).may_be_held


async def test_what_is_ones_own_or_shared_or_elsewhere_or_no_file_holds_nothing(seeded: SeededStore) -> None:
    await grant(seeded, seeded.blue, ".mcp-mail/**")
    await grant(seeded, seeded.red, ".mcp-mail/**", exclusive=False)
    await grant(seeded, seeded.red, "src/**", "**", ".mcp-mai", ".mcp-mailx", ".mcp-mailx/**")
    await grant(seeded, seeded.fox, ".mcp-mail/**")
    await seeded.store.write(
        lambda tx: tx.leases.add_many([new_lease(seeded, seeded.red, ".mcp-mail", kind=LeaseKind.SLOT)], tx.now)
    )

    assert not (await facts(seeded)).may_be_held


async def test_each_fact_is_a_probe_of_an_index(seeded: SeededStore) -> None:
    asked = {"agent": 1, "project": 1, "folder": FOLDER}
    plan = [row[3] for row in seeded.store._reading.execute(f"EXPLAIN QUERY PLAN {send_facts._FACTS}", asked)]

    looks = [step for step in plan if "SUBQUERY" not in step and step != "SCAN CONSTANT ROW"]
    assert len(looks) == 3
    assert all(step.startswith("SEARCH") and " INDEX " in step for step in looks), plan
