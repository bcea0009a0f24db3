from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from mcp_agent_mail.facades.importers.sources import open_source
from tests.features.importing.changing_sources import SOURCES, ChangingSource, ClaudeMailbox, SeenMail, rows_here
from tests.features.importing.driving import brought_by
from tests.rebuild.histories import Played
from tests.rebuild.rebuilding import compare, rebuild
from tests.rebuild.world import World

FEW, MANY = 2, 30
RUNS = 6
HERE = "SELECT created_ts, body_md FROM messages ORDER BY id"
MAILBOXES = """
SELECT m.body_md, a.name FROM recipients r JOIN messages m ON m.id = r.message_id JOIN agents a ON a.id = r.agent_id
ORDER BY m.id
"""


async def bring(world: World, source: ChangingSource) -> int:
    """How many records came in."""
    with open_source(source.system, source.path, archive=source.archive) as reader:
        return (await brought_by(world.services.importing, reader)).added


async def play(world: World, made: type[ChangingSource], folder: Path, seed: int) -> None:
    """After each run all that ever stood there at a run is here once."""
    source, seen = made(folder, random.Random(seed)), SeenMail()
    for _ in range(3):
        source.append()
    for run in range(RUNS):
        for _ in range(source.dice.randint(1, 6) if run else 0):
            source.edit()
        await bring(world, source)
        seen.look(source)
        assert rows_here(world.rows(HERE)) == seen.rows(), (made.system, seed, run)
    assert await bring(world, source) == 0


@pytest.mark.parametrize("made", SOURCES)
@pytest.mark.parametrize("seed", range(FEW))
async def test_whatever_is_done_to_a_store_between_runs_all_its_mail_is_here_once(
    made: type[ChangingSource], seed: int, world: World, tmp_path: Path
) -> None:
    await play(world, made, tmp_path, seed)


@pytest.mark.slow
@pytest.mark.parametrize("made", SOURCES)
@pytest.mark.parametrize("seed", range(FEW, FEW + MANY))
async def test_of_many_stores_all_mail_is_here_once(
    made: type[ChangingSource], seed: int, world: World, tmp_path: Path
) -> None:
    await play(world, made, tmp_path, seed)


async def test_mail_of_a_mailbox_that_claude_mailbox_renamed_stays_and_what_is_new_comes_to_its_new_name(
    world: World, tmp_path: Path
) -> None:
    source = ClaudeMailbox(tmp_path, random.Random(1))
    add = "INSERT INTO messages VALUES (NULL, ?, ?, ?, ?, NULL)"
    source.run(add, values=("alice", "bob", "to bob", "2026-03-01T08:00:00.001Z"))
    source.run(add, values=("bob", "alice", "to alice", "2026-03-01T08:00:00.002Z"))
    await bring(world, source)

    for column in ("from_name", "to_name"):
        source.run(f"UPDATE messages SET {column} = 'robert' WHERE {column} = 'bob'")
    source.run(add, values=("alice", "robert", "to robert", "2026-03-01T08:00:00.003Z"))
    await bring(world, source)

    assert world.rows(MAILBOXES) == [("to bob", "bob"), ("to alice", "alice"), ("to robert", "robert")]
    assert {name for (name,) in world.rows("SELECT name FROM agents WHERE kind = 'agent'")} == {
        *("alice", "bob", "robert")
    }
    await world.drain()
    played = Played(root=world.settings.storage_root, now=world.clock.now, succeeded=Counter(), refused=Counter())
    compared = await compare(played, rebuild(played, tmp_path / "rebuilt"), tmp_path / "asked")
    assert compared.is_equal, str(compared)
