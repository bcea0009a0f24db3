"""A real database whose files are taken away below whoever has it open."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.store.engine.open_files import DatabaseTakenAway
from tests.seeded_store import SeededStore, open_seeded_store

ENDS = ("", "-wal", "-shm")


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def write(seeded: SeededStore, times: int = 1) -> None:
    for _ in range(times):
        await seeded.store.write(lambda tx: tx.meta.note_check(tx.now))


def name_of(seeded: SeededStore, end: str) -> Path:
    return seeded.store.path.with_name(f"{seeded.store.path.name}{end}")


@pytest.mark.parametrize("ends", [("",), ("-wal",), ("-shm",), ENDS])
async def test_a_deleted_file_ends_all_writing_and_no_reading(seeded: SeededStore, ends: tuple[str, ...]) -> None:
    await write(seeded)
    for end in ends:
        name_of(seeded, end).unlink()

    with pytest.raises(DatabaseTakenAway) as refused:
        await write(seeded, times=2)

    assert refused.value.data == {"path": str(name_of(seeded, ends[0]))}
    assert "am doctor restore BACKUP" in refused.value.hint
    assert refused.value.text == seeded.store.problem
    assert await seeded.store.read(lambda view: view.agents.find(seeded.blue.id)) == seeded.blue


async def test_a_file_with_the_same_bytes_in_its_place_is_another_one(seeded: SeededStore) -> None:
    await write(seeded)
    shutil.copy(seeded.store.path, copy := name_of(seeded, ".copy"))
    copy.replace(seeded.store.path)

    with pytest.raises(DatabaseTakenAway):
        await write(seeded)


async def test_once_the_very_file_is_back_all_goes_on_and_what_was_owed_is_stored(seeded: SeededStore) -> None:
    away = seeded.store.path.rename(name_of(seeded, ".away"))
    stored = asyncio.get_running_loop().create_future()
    for _ in range(8):
        with pytest.raises(DatabaseTakenAway):
            await write(seeded)
    seeded.store.write_soon(lambda tx: tx.meta.note_check(tx.now), stored.set_result)
    with pytest.raises(DatabaseTakenAway):
        await write(seeded)

    away.rename(seeded.store.path)
    await write(seeded)
    await stored

    assert seeded.store.problem is None


async def test_nothing_of_a_refused_write_is_kept(seeded: SeededStore) -> None:
    at = await seeded.store.read(lambda view: view.meta.checked_at())
    away = seeded.store.path.rename(name_of(seeded, ".away"))
    with pytest.raises(DatabaseTakenAway):
        await write(seeded)
    away.rename(seeded.store.path)

    assert await seeded.store.read(lambda view: view.meta.checked_at()) == at
