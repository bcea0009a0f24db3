from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from tests.mailroom import open_mailroom


async def test_codes_that_expired_unused_are_forgotten_and_used_ones_are_not(tmp_path: Path) -> None:
    async with open_mailroom(tmp_path) as room:
        now = room.clock.now
        soon, later = Micros(now + SECOND), Micros(now + 100 * SECOND)
        used = await room.store.write(lambda tx: tx.join_codes.add(room.app.id, b"used", now, soon))
        await room.store.write(lambda tx: tx.join_codes.add(room.lib.id, b"unused", now, soon))
        await room.store.write(lambda tx: tx.join_codes.use(used.id, room.blue.id, now))

        await room.store.write(lambda tx: tx.join_codes.add(room.app.id, b"new", soon, later))

        found = [
            room.store.read(lambda view, key=key: view.join_codes.find(key)) for key in (b"used", b"unused", b"new")
        ]
        assert [None if code is None else code.used_by for code in found] == ["BlueLake", None, None]
        assert [code is None for code in found] == [False, True, False]


async def test_a_code_is_stored_once(tmp_path: Path) -> None:
    async with open_mailroom(tmp_path) as room:
        now = room.clock.now
        await room.store.write(lambda tx: tx.join_codes.add(room.app.id, b"same", now, Micros(now + 1)))

        with pytest.raises(sqlite3.IntegrityError):
            await room.store.write(lambda tx: tx.join_codes.add(room.lib.id, b"same", now, Micros(now + 1)))
