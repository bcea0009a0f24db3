"""Whose rights a commit changed: told after it, whichever statement did it, and only of what has changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mcp_agent_mail.core.errors import Conflict
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.domain.copy_changes import OversightChange, OversightChangeKind
from mcp_agent_mail.store.transaction import Tx
from tests.seeded_store import SeededStore, add_agent, open_seeded_store


@dataclass
class Listening:
    seeded: SeededStore
    told: list[frozenset[AgentId]] = field(default_factory=list)


@pytest.fixture
async def listening(tmp_path: Path) -> AsyncIterator[Listening]:
    async with open_seeded_store(tmp_path) as seeded:
        heard = Listening(seeded)
        seeded.store.on_right_change(heard.told.append)
        await seeded.store.write(lambda _: None)
        yield heard


async def test_a_new_token_a_retirement_and_a_return_are_told(listening: Listening) -> None:
    seeded, red = listening.seeded, listening.seeded.red.id
    await seeded.store.write(lambda tx: tx.agents.set_token_hash(red, b"another"))
    await seeded.store.write(lambda tx: tx.agents.set_retired(red, tx.now, tx.now))
    await seeded.store.write(lambda tx: tx.agents.set_retired(red, None, tx.now))
    await asyncio.sleep(0)

    assert listening.told == [{red}] * 3


async def test_of_a_project_that_is_archived_all_agents_are_told(listening: Listening) -> None:
    seeded = listening.seeded
    await seeded.store.write(lambda tx: tx.projects.set_archived(seeded.app.id, tx.now))
    await asyncio.sleep(0)

    (told,) = listening.told
    assert {seeded.red.id, seeded.blue.id} < told
    assert seeded.fox.id not in told


async def test_mail_a_profile_and_what_stays_as_it_was_are_no_news(listening: Listening) -> None:
    seeded, red = listening.seeded, listening.seeded.red.id
    await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red]))
    await seeded.store.write(lambda tx: tx.agents.set_retired(red, None, tx.now))
    await asyncio.sleep(0)

    assert listening.told == []


async def test_what_is_refused_is_not_told(listening: Listening) -> None:
    seeded = listening.seeded

    def refused(tx: Tx) -> None:
        tx.agents.set_token_hash(seeded.red.id, b"another")
        raise Conflict("No.", hint="-")

    with pytest.raises(Conflict):
        await seeded.store.write(refused)
    await asyncio.sleep(0)

    assert listening.told == []


async def test_before_somebody_listens_nothing_is_made(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        made = await seeded.store.write(
            lambda tx: tx.meta._connection.execute("SELECT name FROM temp.sqlite_schema").fetchall()
        )

    assert made == []


async def test_reservations_agents_and_held_mail_are_told_for_who_watches(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        told: list[OversightChange] = []
        seeded.store.on_oversight_change(told.extend)
        await seeded.store.write(lambda _: None)

        await seeded.store.write(lambda tx: tx.agents.set_retired(seeded.red.id, tx.now, tx.now))
        await seeded.store.write(lambda tx: tx.agents.set_token_hash(seeded.red.id, b"another"))
        await seeded.store.write(lambda tx: add_agent(tx, seeded.lib, "NewFox"))
        await asyncio.sleep(0)

    assert [(one.kind, one.project_id) for one in told] == [
        (OversightChangeKind.AGENT, seeded.app.id),
        (OversightChangeKind.AGENT, seeded.lib.id),
    ]
