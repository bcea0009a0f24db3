from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.domain.contacts import LinkStatus
from mcp_agent_mail.features.oversight.contact_questions import (
    EXCERPT_CHARACTERS,
    ContactQuestion,
    contact_question,
)
from mcp_agent_mail.store.transaction import Tx, View
from tests.seeded_store import SeededStore, open_seeded_store


async def asked(seeded: SeededStore, limit: int) -> ContactQuestion:
    def request(tx: Tx) -> None:
        expires_ts = Micros(tx.now + SECOND)
        pair = (seeded.blue.id, seeded.fox.id)
        tx.contacts.put(*pair, status=LinkStatus.PENDING, reason="", expires_ts=expires_ts, now=tx.now)

    def look(view: View) -> ContactQuestion:
        contact = view.contacts.find(seeded.blue.id, seeded.fox.id)
        assert contact is not None
        return contact_question(view, contact, limit)

    await seeded.store.write(request)
    return await seeded.store.read(look)


@pytest.mark.parametrize("limit", [0, 2, 5])
async def test_the_first_of_the_mail_is_shown_and_all_of_it_counted(tmp_path: Path, limit: int) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        bodies = ["short", "x" * EXCERPT_CHARACTERS, "y" * (EXCERPT_CHARACTERS + 1)]
        for body in bodies:
            copy = replace(seeded.addressed([seeded.fox])[0], held_code="CONTACT_REQUIRED")
            await seeded.post(seeded.letter(seeded.blue, body=body), copy)
        await seeded.post(
            seeded.letter(seeded.red), replace(seeded.addressed([seeded.fox])[0], held_code="CONTACT_REQUIRED")
        )

        found = await asked(seeded, limit)

        assert [(one.excerpt, one.is_whole) for one in found.held] == [
            ("short", True),
            (bodies[1], True),
            ("y" * EXCERPT_CHARACTERS, False),
        ][:limit]
        assert found.held_total == 3
