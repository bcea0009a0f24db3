"""Deliveries as webhooks are told of them: by their numbers, each with who sees whom by which name."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.domain.messages import RecipientKind
from tests.seeded_store import SeededStore, open_seeded_store


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def test_deliveries_behind_a_number_come_in_their_order_and_so_many_at_most(seeded: SeededStore) -> None:
    sent = [
        (await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red, seeded.green])))[0].id
        for _ in range(4)
    ]

    async def after(seq: int, limit: int) -> list[tuple[int, int]]:
        found = await seeded.store.read(lambda view: view.deliveries.after(seeded.red.id, seq, limit))
        return [(one.delivery_seq, one.message_id) for one in found]

    everything = await after(0, 10)
    assert [message for _, message in everything] == sent
    assert await after(0, 2) == everything[:2]
    assert await after(everything[1][0], 10) == everything[2:]
    assert await after(everything[3][0], 10) == []


async def test_a_sender_of_another_project_is_named_as_one_would_answer_it(seeded: SeededStore) -> None:
    await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.fox], RecipientKind.BCC))

    (found,) = await seeded.store.read(lambda view: view.deliveries.after(seeded.fox.id, 0, 10))

    assert (found.agent, found.project_slug, found.sender) == ("QuietFox", "code-lib", "BlueLake@code-app")
    assert (found.subject, found.importance, found.delivered_ts) == ("Plan", "normal", seeded.clock.now)
