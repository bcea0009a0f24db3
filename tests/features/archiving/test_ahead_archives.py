from __future__ import annotations

import json
import logging
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from mcp_agent_mail.features.archiving.ahead_archives import go_on_above_archives
from mcp_agent_mail.store.checks.artifacts import read_store_id
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.engine.noted_numbers import NOTE_FILE, note_given
from mcp_agent_mail.store.engine.sqlite.numbers import GAP, REACH, GivenNumbers, read_numbers
from tests.archive_harness import open_archive_harness


@dataclass(frozen=True)
class Copies:
    """`lost`: the id of a message that only the newest database and an archive have."""

    root: Path
    older: Path
    newest: Path
    lost: int


def _made(tmp_path: Path, lost_in: str) -> Copies:
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
        if lost_in != "/code/app":
            blue = red = harness.add_agent(harness.add_project(lost_in), "QuietFox")
        lost = harness.send(blue, [red], subject="Lost")
        harness.archive()
        return Copies(root, older, harness.database, lost.id)


async def _started(database: Path, root: Path) -> GivenNumbers:
    async with Store(database) as store:
        await go_on_above_archives(store, root)
    return _numbers(database)


def _numbers(database: Path) -> GivenNumbers:
    given = read_numbers(database)
    assert given is not None
    return given


@pytest.fixture
def ahead(tmp_path: Path) -> Copies:
    return _made(tmp_path, "/code/app")


@pytest.fixture
def stray(tmp_path: Path) -> Copies:
    """What was lost is in the archive of a project that the older database does not know."""
    return _made(tmp_path, "/code/lib")


async def test_over_a_newer_archive_ids_go_on_above_what_it_shows_and_events_as_they_are(ahead: Copies) -> None:
    whole, before = _numbers(ahead.newest), _numbers(ahead.older)
    assert await _started(ahead.newest, ahead.root) == whole
    assert not (ahead.root / NOTE_FILE).exists()

    first, again = await _started(ahead.older, ahead.root), await _started(ahead.older, ahead.root)

    assert first.sequences["messages"] >= ahead.lost + GAP
    assert first.sequences["outbox"] == before.sequences["outbox"]
    assert first.counters["delivery"] >= before.counters["delivery"] + GAP
    assert again == first


async def test_over_an_archive_that_no_project_claims_events_go_on_above_it_too_and_it_is_told(stray: Copies) -> None:
    whole, known = _numbers(stray.newest), _numbers(stray.older)
    async with Store(stray.older) as store:
        told = (await go_on_above_archives(store, stray.root)).strays
    first, again = _numbers(stray.older), await _started(stray.older, stray.root)

    assert [Path(one.data["path"]).name for one in told] == ["code-lib"]
    assert "am doctor rebuild" in told[0].hint
    kinds = ("projects", "agents", "messages", "outbox")
    assert all(first.sequences[kind] >= whole.sequences[kind] + GAP for kind in kinds)
    assert first.counters["fencing"] > known.counters["fencing"]
    assert again == first


async def test_another_older_copy_goes_on_above_what_the_first_one_gave_out(ahead: Copies, tmp_path: Path) -> None:
    another = tmp_path / "another.sqlite3"
    shutil.copy(ahead.older, another)
    first = await _started(ahead.older, ahead.root)

    second = await _started(another, ahead.root)

    assert second.sequences["messages"] >= first.sequences["messages"] + GAP
    assert second.counters["fencing"] >= first.counters["fencing"] + GAP


async def test_a_note_of_numbers_out_of_reach_or_of_another_store_moves_nothing(ahead: Copies) -> None:
    whole = _numbers(ahead.newest)
    for store_id, number in ((read_store_id(ahead.newest), 2 * REACH), ("another", 700)):
        said = {"store_id": store_id, "sequences": {"messages": number}, "counters": {"fencing": number}}
        (ahead.root / NOTE_FILE).write_text(json.dumps(said))

        assert await _started(ahead.newest, ahead.root) == whole


async def test_an_archive_that_holds_an_event_out_of_reach_moves_nothing(stray: Copies) -> None:
    before = _numbers(stray.older)
    with open_archive_harness(stray.root) as harness:
        harness.connection.execute(f"UPDATE sqlite_sequence SET seq = {2 * REACH} WHERE name = 'outbox'")
        project = harness.tx.projects.find_by_slug("code-lib")
        assert project is not None
        harness.send(harness.add_agent(project, "GreyOwl"), [harness.add_agent(project, "PinkHill")])
        harness.archive()

    after = await _started(stray.older, stray.root)

    assert all(after.sequences[kind] <= number + 2 * GAP for kind, number in before.sequences.items())


async def test_what_is_told_says_whether_an_archive_or_the_note_is_above(
    ahead: Copies, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    note_given(ahead.root, read_store_id(ahead.newest), _above(_numbers(ahead.newest)))
    await _started(ahead.newest, ahead.root)
    await _started(ahead.older, ahead.root)

    noted, archived = (record.getMessage() for record in caplog.records)

    assert noted.startswith("numbers.json notes more than the database gave out")
    assert archived.startswith("an archive has what the database does not know")


def _above(given: GivenNumbers) -> GivenNumbers:
    return GivenNumbers(sequences={"messages": given.sequences["messages"] + 7}, counters={}, latest=0)


async def test_where_the_note_cannot_be_written_ids_go_on_above_all_the_same_and_it_is_told(ahead: Copies) -> None:
    (ahead.root / NOTE_FILE).mkdir()

    async with Store(ahead.older) as store:
        went_on = await go_on_above_archives(store, ahead.root)

    assert went_on.unnoted is not None
    assert NOTE_FILE in went_on.unnoted.message
    assert _numbers(ahead.older).sequences["messages"] >= ahead.lost + GAP
