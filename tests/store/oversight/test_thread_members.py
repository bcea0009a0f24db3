from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.domain.messages import RecipientKind
from mcp_agent_mail.store.oversight import thread_members
from tests.seeded_store import SeededStore, open_seeded_store


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def members(seeded: SeededStore, thread_id: str = "T-1", limit: int = 9) -> list[AgentId]:
    home = seeded.blue.project_id
    return await seeded.store.read(lambda view: view.thread_members.list_(home, thread_id, limit))


async def test_who_wrote_and_who_was_openly_sent_it(seeded: SeededStore) -> None:
    (copy,) = seeded.addressed([seeded.fox])
    await seeded.post(seeded.letter(seeded.blue, thread_id="T-1"), copy)
    await seeded.post(seeded.letter(seeded.blue, thread_id="T-2"), replace(copy, kind=RecipientKind.BCC))
    await seeded.post(seeded.letter(seeded.blue, thread_id="T-3"), replace(copy, held_code="contact_required"))

    assert await members(seeded) == sorted([seeded.blue.id, seeded.fox.id])
    assert await members(seeded, "T-2") == [seeded.blue.id]
    assert seeded.fox.id not in await members(seeded, "T-3")
    assert await members(seeded, "t-1") == []
    assert len(await members(seeded, limit=1)) == 1


async def test_whom_the_message_went_to_that_a_thread_is_named_by_is_in_it(seeded: SeededStore) -> None:
    root, _ = await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red, seeded.fox]))
    await seeded.post(seeded.letter(seeded.red, thread_id=str(root.id)), *seeded.addressed([seeded.blue]))

    assert await members(seeded, str(root.id)) == sorted([seeded.blue.id, seeded.red.id, seeded.fox.id])


async def test_of_a_long_thread_the_newest_mail_counts(seeded: SeededStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_members, "MOST_MAIL", 1)
    (copy,) = seeded.addressed([seeded.fox])
    await seeded.post(seeded.letter(seeded.blue, thread_id="T-1"), copy)
    (own,) = seeded.addressed([seeded.blue])

    await seeded.post(seeded.letter(seeded.blue, thread_id="T-1"), own)

    assert await members(seeded) == [seeded.blue.id]
