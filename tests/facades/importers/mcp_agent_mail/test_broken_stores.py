"""Stores whose rows and files were changed at random: each is read to its end, or refused with a reason."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest

from mcp_agent_mail.domain.importing.refusals import SourceUnreadable, UnknownLayout
from tests.facades.importers.mcp_agent_mail.one_store import read_whole
from tests.facades.importers.mcp_store import make_mcp_store

FEW, MANY = 12, 300
VALUES: tuple[object, ...] = (
    None, "", 0, -1, 2**63 - 1, -(2**63), 1.5, float("inf"), b"\xff\xfe\x00", b"text", "\x00", "a\x00b", "x" * 70_000,
    "名前", "..", "../../x", "/abs", "null", "0001-01-01 00:00:00", "9999-12-31 23:59:59", "2024-02-30 00:00:00",
    "2024-01-01T00:00:00+14:00", "1e400", "[]", "{}", '[{"path": "../../../etc/passwd"}]', '[{"data": "!!!"}]',
    "[" * 5_000, "\u202eevil", "Human", "System", "1", "2", "999999",
)  # fmt: skip


def _change_rows(database: Path, dice: random.Random, times: int) -> None:
    with closing(sqlite3.connect(database)) as connection:
        listed = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        tables = [name for (name,) in listed]
        for _ in range(times):
            table = dice.choice(tables)
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            rows = [row[0] for row in connection.execute(f"SELECT rowid FROM {table}")]
            if not rows:
                continue
            with suppress(sqlite3.Error):  # A key that must be one of a kind.
                if dice.random() < 0.85:
                    changed = f"UPDATE {table} SET {dice.choice(columns)} = ? WHERE rowid = ?"
                    connection.execute(changed, (dice.choice(VALUES), dice.choice(rows)))
                else:
                    connection.execute(f"DELETE FROM {table} WHERE rowid = ?", (dice.choice(rows),))
        connection.commit()


def _change_files(archive: Path, dice: random.Random, times: int) -> None:
    files = sorted(path for path in archive.rglob("*") if path.is_file())
    for path in dice.sample(files, min(times, len(files))):
        content = path.read_bytes()
        at = dice.randrange(len(content) + 1)
        path.unlink()
        match dice.randrange(6):
            case 0:
                path.write_bytes(content[:at])
            case 1:
                path.write_bytes(content[:at] + bytes([dice.randrange(256)]) + content[at + 1 :])
            case 2:
                path.write_bytes(content.replace(b"\n", b"\r\n"))
            case 3:
                path.write_bytes(b"\xef\xbb\xbf" + content)
            case 4:
                path.symlink_to(archive)


def _read_changed(folder: Path, seed: int) -> bool:
    """Whether it was read; else it was refused."""
    dice = random.Random(seed)
    folder.mkdir()
    made = make_mcp_store(folder, messages=30, seed=seed)
    _change_rows(made.database, dice, dice.choice((5, 30, 100)))
    _change_files(made.archive, dice, dice.choice((0, 5, 40)))
    try:
        read_whole(made.database, made.archive if dice.random() < 0.7 else None)
    except (SourceUnreadable, UnknownLayout):
        return False
    return True


def test_a_store_with_anything_in_it_is_read_or_refused(tmp_path: Path) -> None:
    assert sum(_read_changed(tmp_path / str(seed), seed) for seed in range(FEW)) > FEW // 2


@pytest.mark.slow
def test_many_of_them_are_read_or_refused(tmp_path: Path) -> None:
    assert sum(_read_changed(tmp_path / str(seed), seed) for seed in range(MANY)) > MANY // 2
