from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.store import lease_holders
from tests.seeded_store import SeededStore, open_seeded_store


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def told(seeded: SeededStore, agent: Agent) -> int | None:
    return await seeded.store.read(lambda view: view.holders.last_mail_ts(agent.id))


async def write(seeded: SeededStore, *, is_held: bool = False) -> int:
    """When it was written."""
    seeded.clock.step()
    to = seeded.addressed([seeded.red])
    message, _ = await seeded.post(
        seeded.letter(seeded.blue), *([replace(one, held_code="CONTACT_REQUIRED") for one in to] if is_held else to)
    )
    return message.created_ts


async def test_the_newest_mail_that_others_may_know_of_tells(seeded: SeededStore) -> None:
    before = await told(seeded, seeded.blue)
    await write(seeded)
    newest = await write(seeded)
    await write(seeded, is_held=True)

    assert (before, await told(seeded, seeded.blue)) == (None, newest)


async def test_so_far_back_and_no_further(seeded: SeededStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease_holders, "_LOOKED_AT", 3)
    open_ts = await write(seeded)
    for _ in range(2):
        await write(seeded, is_held=True)
    within = await told(seeded, seeded.blue)
    await write(seeded, is_held=True)

    assert (within, await told(seeded, seeded.blue)) == (open_ts, None)
