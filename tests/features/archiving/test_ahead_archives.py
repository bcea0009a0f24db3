from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from mcp_agent_mail.features.archiving.ahead_archives import go_on_above_archives
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.engine.noted_numbers import read_noted
from mcp_agent_mail.store.engine.numbers import GAP, GivenNumbers, read_numbers
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
    assert read_noted(ahead.root) is None

    first, again = await _started(ahead.older, ahead.root), await _started(ahead.older, ahead.root)

    assert first.sequences["messages"] >= ahead.lost + GAP
    assert first.sequences["outbox"] == before.sequences["outbox"]
    assert first.counters["delivery"] >= before.counters["delivery"] + GAP
    assert again == first


async def test_over_an_archive_that_no_project_claims_events_go_on_above_it_too_and_it_is_told(stray: Copies) -> None:
    whole, known = _numbers(stray.newest), _numbers(stray.older)
    async with Store(stray.older) as store:
        told = await go_on_above_archives(store, stray.root)
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
