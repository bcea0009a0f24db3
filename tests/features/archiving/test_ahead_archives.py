from __future__ import annotations

import shutil
from pathlib import Path

from mcp_agent_mail.features.archiving.ahead_archives import go_on_above_archives
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.engine.numbers import GAP, GivenNumbers, read_numbers
from tests.archive_harness import open_archive_harness


async def _started(database: Path, root: Path) -> GivenNumbers:
    async with Store(database) as store:
        await go_on_above_archives(store, root)
    given = read_numbers(database)
    assert given is not None
    return given


async def test_over_a_newer_archive_ids_go_on_above_what_it_shows_and_events_as_they_are(tmp_path: Path) -> None:
    root = tmp_path / "store"
    root.mkdir(mode=0o700)
    older = tmp_path / "older.sqlite3"
    with open_archive_harness(root) as harness:
        project = harness.add_project("/code/app")
        blue, red = harness.add_agent(project, "BlueLake"), harness.add_agent(project, "RedStone")
        harness.send(blue, [red], subject="First")
        harness.archive()
        harness.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        shutil.copy(harness.database, older)
        lost = harness.send(blue, [red], subject="Lost")
        harness.archive()
        newest = harness.database
    before = read_numbers(older)
    assert before is not None

    first, again = await _started(older, root), await _started(older, root)

    assert first.sequences["messages"] >= lost.id + GAP
    assert first.sequences["outbox"] == before.sequences["outbox"]
    assert first.counters["delivery"] >= before.counters["delivery"] + GAP
    assert again == first
    whole = read_numbers(newest)
    assert await _started(newest, root) == whole
