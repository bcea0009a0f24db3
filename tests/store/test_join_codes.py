from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from tests.seeded_store import open_seeded_store


async def test_codes_that_expired_unused_are_forgotten_and_used_ones_are_not(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        now = seeded.clock.now
        soon, later = Micros(now + SECOND), Micros(now + 100 * SECOND)
        used = await seeded.store.write(lambda tx: tx.join_codes.add(seeded.app.id, b"used", now, soon))
        await seeded.store.write(lambda tx: tx.join_codes.add(seeded.lib.id, b"unused", now, soon))
        await seeded.store.write(lambda tx: tx.join_codes.use(used.id, seeded.blue.id, now))

        await seeded.store.write(lambda tx: tx.join_codes.add(seeded.app.id, b"new", soon, later))

        used_code, unused, new = await seeded.store.read(
            lambda view: (view.join_codes.find(b"used"), view.join_codes.find(b"unused"), view.join_codes.find(b"new"))
        )
        assert used_code is not None
        assert (used_code.used_by, unused, new is None) == ("BlueLake", None, False)


async def test_a_code_is_stored_once(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        now = seeded.clock.now
        await seeded.store.write(lambda tx: tx.join_codes.add(seeded.app.id, b"same", now, Micros(now + 1)))

        with pytest.raises(sqlite3.IntegrityError):
            await seeded.store.write(lambda tx: tx.join_codes.add(seeded.lib.id, b"same", now, Micros(now + 1)))
