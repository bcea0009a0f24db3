"""What archives are told of a message: what it carries, and what they keep no longer once it is purged."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.domain.attachments import Attachment, StoredContent
from mcp_agent_mail.domain.messages import Message
from mcp_agent_mail.store.mail.message_events import post, record_events, record_purges
from mcp_agent_mail.store.transaction import Tx
from tests.seeded_store import SeededStore, open_seeded_store
from tests.stored_contents import attached

ONE, OTHER = (StoredContent(sha256=digit * 64, bytes=7, extension="txt") for digit in "ab")


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def send(seeded: SeededStore, *contents: StoredContent) -> Message:
    carried: tuple[Attachment, ...] = tuple(map(attached, contents))
    new = replace(seeded.letter(seeded.blue), attachments=carried)
    message, _ = await seeded.store.write(lambda tx: post(tx, new, seeded.addressed([seeded.red])))
    return message


async def last_snapshot(seeded: SeededStore) -> dict[str, Any]:
    pending = await seeded.store.read(lambda view: view.outbox.pending(seeded.app.id))
    return pending[-1].snapshot


async def test_a_new_message_is_told_with_what_it_carries_and_that_is_kept(seeded: SeededStore) -> None:
    await send(seeded, ONE, OTHER)

    snapshot = await last_snapshot(seeded)
    kept = await seeded.store.read(lambda view: view.attachments.kept_bytes(seeded.app.id))

    assert [record["sha256"] for record in snapshot["attachments"]] == [ONE.sha256, OTHER.sha256]
    assert "freed" not in snapshot
    assert kept == ONE.bytes + OTHER.bytes


async def test_a_purge_drops_what_it_carried_and_says_what_nobody_else_carries(seeded: SeededStore) -> None:
    gone = await send(seeded, ONE, OTHER)
    await send(seeded, OTHER)

    await seeded.store.write(lambda tx: record_purges(tx, [gone.id]))

    snapshot = await last_snapshot(seeded)
    assert snapshot["freed"] == [ONE.path]
    assert "attachments" not in snapshot
    after = await seeded.store.read(lambda view: view.messages.find(gone.id))
    assert after is not None
    assert after.attachments == ()
    assert not await seeded.store.read(lambda view: view.attachments.is_carried(ONE.sha256))
    assert await seeded.store.read(lambda view: view.attachments.kept_bytes(seeded.app.id)) == OTHER.bytes


async def test_of_two_that_are_purged_together_the_last_frees_what_both_carried(seeded: SeededStore) -> None:
    both = [(await send(seeded, ONE)).id for _ in range(2)]

    def purge(tx: Tx) -> list[Any]:
        record_purges(tx, both)
        return [event.snapshot.get("freed") for event in tx.outbox.pending(seeded.app.id)[-2:]]

    assert await seeded.store.write(purge) == [None, [ONE.path]]


async def test_a_change_says_again_what_it_carries(seeded: SeededStore) -> None:
    message = await send(seeded, ONE)

    await seeded.store.write(lambda tx: record_events(tx, [message.id], None))

    assert [record["sha256"] for record in (await last_snapshot(seeded))["attachments"]] == [ONE.sha256]
