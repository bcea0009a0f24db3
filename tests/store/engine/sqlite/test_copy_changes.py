"""What a commit changed of messages and copies: told after it, and only what somebody could read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mcp_agent_mail.core.errors import Conflict
from mcp_agent_mail.domain.copy_changes import CopyChange
from mcp_agent_mail.store.transaction import Tx
from tests.seeded_store import SeededStore, open_seeded_store


@dataclass
class Listening:
    seeded: SeededStore
    told: list[frozenset[CopyChange]] = field(default_factory=list)

    async def heard(self) -> list[frozenset[CopyChange]]:
        await asyncio.sleep(0)
        told, self.told[:] = list(self.told), []
        return told


@pytest.fixture
async def listening(tmp_path: Path) -> AsyncIterator[Listening]:
    async with open_seeded_store(tmp_path) as seeded:
        heard = Listening(seeded)
        seeded.store.on_copy_change(heard.told.append)
        await seeded.store.write(lambda _: None)
        yield heard


async def test_a_send_is_told_of_each_copy_and_of_each_project_whose_mail_it_is(listening: Listening) -> None:
    seeded = listening.seeded
    message, _ = await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red, seeded.fox]))

    (told,) = await listening.heard()

    assert {(one.message_id, one.is_open) for one in told} == {(message.id, True)}
    assert {one.agent_id for one in told} == {None, seeded.red.id, seeded.fox.id}
    assert {one.project_id for one in told} == {None, seeded.app.id, seeded.lib.id}


async def test_a_receipt_is_told_of_the_copy_and_of_an_acknowledgement_after_it_too(listening: Listening) -> None:
    seeded = listening.seeded
    message, _ = await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red]))
    await listening.heard()
    await seeded.store.write(lambda tx: tx.inboxes.mark_read(seeded.red.id, message.id, tx.now))
    await seeded.store.write(lambda tx: tx.inboxes.acknowledge(seeded.red.id, message.id, tx.now))

    told = await listening.heard()

    assert [[(one.agent_id, one.project_id) for one in each] for each in told] == [[(seeded.red.id, None)]] * 2


async def test_what_is_rolled_back_is_not_told(listening: Listening) -> None:
    seeded = listening.seeded
    message, _ = await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red]))
    await listening.heard()

    def refused(tx: Tx) -> None:
        tx.inboxes.mark_read(seeded.red.id, message.id, tx.now)
        raise Conflict("No.", hint="Do not.")

    with pytest.raises(Conflict):
        await seeded.store.write(refused)

    assert await listening.heard() == []


async def test_nothing_is_noted_while_nobody_listens(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        seeded.store.on_mail_change(lambda _: None)
        await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red]))

        made = await seeded.store.write(
            lambda tx: tx.meta._connection.execute("SELECT name FROM temp.sqlite_schema").fetchall()
        )

    assert "copy_changes" not in {name for (name,) in made}
