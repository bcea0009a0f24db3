from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.archive.git_folder import ArchiveRefused
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.ids import new_token, token_hash
from mcp_agent_mail.features.recovery.backups.backup import BackupMaker, untold
from mcp_agent_mail.features.recovery.backups.manifest import NewerBackup
from mcp_agent_mail.features.recovery.backups.place import StorePlace
from mcp_agent_mail.features.recovery.backups.source import ForeignSource, UnfinishedSource, UnknownSource
from mcp_agent_mail.features.recovery.rebuilt_store import StoreCopyPlan, rebuild_into
from mcp_agent_mail.store.agents import Agents
from mcp_agent_mail.store.engine.lock import StoreInUse, StoreLock
from mcp_agent_mail.store.meta import Meta
from tests.features.recovery.backups.harness import Stored, faults_in, files_below, restorer_of, subjects_in
from tests.store.foreign_parts import change, put_view


def test_the_folder_of_another_store_is_a_source_too(went_on: StorePlace, filled: Stored, tmp_path: Path) -> None:
    shutil.copytree(filled.harness.root, tmp_path / "rebuilt")

    assert restorer_of(went_on).restore(tmp_path / "rebuilt").verified
    assert (subjects_in(went_on), faults_in(went_on)) == (["Plan"], [])


def test_a_folder_that_was_rebuilt_says_that_no_token_came_along_until_each_agent_has_one(
    went_on: StorePlace, filled: Stored, tmp_path: Path
) -> None:
    plan = StoreCopyPlan(most_files=100_000)
    made = rebuild_into(filled.harness.root, tmp_path / "rebuilt", plan, told=untold)
    restorer = restorer_of(went_on)

    done = restorer.restore(tmp_path / "rebuilt")
    assert done.not_rebuilt == made.rebuilt.not_rebuilt != ()
    # It is what is put in place that says so, not how it came there.
    backup = BackupMaker(place=went_on).make(tmp_path / "backups", keep=7).path
    assert restorer.undo().not_rebuilt == ()
    assert restorer.undo().not_rebuilt == restorer.restore(backup).not_rebuilt == made.rebuilt.not_rebuilt

    with closing(sqlite3.connect(went_on.database_path)) as connection, connection:
        agents = [agent for (agent,) in connection.execute("SELECT id FROM agents WHERE token_hash IS NOT NULL")]
        for agent in agents[1:]:
            Agents(connection).set_token_hash(agent, token_hash(new_token("t-")))
        assert Meta(connection).has_lost_tokens()
        Agents(connection).set_token_hash(agents[0], token_hash(new_token("t-")))
        assert not Meta(connection).has_lost_tokens()
    assert len(agents) == 3


def test_neither_a_file_nor_any_folder_is_a_source(went_on: StorePlace, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path, tmp_path / "nothing", went_on.storage_root):
        with pytest.raises(AgentMailError):
            restorer_of(went_on).restore(path)


@pytest.fixture
def other(filled: Stored, tmp_path: Path) -> Path:
    """The folder of a store, as somebody has sent it."""
    shutil.copytree(filled.harness.root, tmp_path / "other")
    return tmp_path / "other"


def test_a_fault_of_a_source_is_told_of_the_file_that_lies_there(went_on: StorePlace, other: Path) -> None:
    change(other / "mail.sqlite3", "UPDATE agents SET unread_count = 7 WHERE name = 'BlueLake'")

    with pytest.raises(AgentMailError, match="its counter says 7") as refused:
        restorer_of(went_on).restore(other)

    assert str(other / "mail.sqlite3") in refused.value.message
    assert "restoring" not in f"{refused.value.text} {refused.value.data}"


def test_nothing_is_written_in_a_store_that_is_a_source(went_on: StorePlace, other: Path) -> None:
    before = files_below(other)

    restorer_of(went_on).restore(other)

    assert files_below(other) == before


def test_what_the_journal_of_a_source_says_is_not_done(went_on: StorePlace, other: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    said = {"version": 1, "moves": [], "leftovers": [str(tmp_path / "mine"), str(other / "restoring")]}
    (other / "swap.json").write_text(json.dumps(said))
    (other / "restoring").mkdir()
    before = files_below(tmp_path)

    with pytest.raises(UnfinishedSource):
        restorer_of(went_on).restore(other)

    assert files_below(tmp_path) == before
    assert (other / "restoring").exists()


def test_a_store_that_somebody_owns_is_no_source(went_on: StorePlace, other: Path) -> None:
    with StoreLock(other, other / "mail.sqlite3"), pytest.raises(StoreInUse):
        restorer_of(went_on).restore(other)


def test_a_database_that_a_link_leads_to_is_no_source(went_on: StorePlace, other: Path, tmp_path: Path) -> None:
    (other / "mail.sqlite3").rename(tmp_path / "moved")
    (other / "mail.sqlite3").symlink_to(tmp_path / "moved")

    with pytest.raises(UnknownSource):
        restorer_of(went_on).restore(other)


@pytest.mark.parametrize("table", ["projects", "meta", "outbox", "counters", "agents"])
def test_a_strangers_view_is_refused_before_it_runs(table: str, went_on: StorePlace, other: Path) -> None:
    put_view(other / "mail.sqlite3", table)
    before = files_below(other)

    with pytest.raises(ForeignSource, match=f"{table} differs") as told:
        restorer_of(went_on).restore(other)

    assert str(other) in told.value.message
    assert files_below(other) == before
    assert not (went_on.storage_root / "restoring").exists()


def test_a_store_of_a_newer_version_is_no_source_whatever_it_holds(went_on: StorePlace, other: Path) -> None:
    put_view(other / "mail.sqlite3", "projects")
    change(other / "mail.sqlite3", "PRAGMA user_version = 9999")

    with pytest.raises(NewerBackup, match="store of schema 9999"):
        restorer_of(went_on).restore(other)


def _include_fifo(archive: Path) -> None:
    os.mkfifo(archive / ".git" / "more")
    with (archive / ".git" / "config").open("a") as config:
        config.write("[include]\n\tpath = more\n")


def _include_fifo_elsewhere(archive: Path) -> None:
    os.mkfifo(archive.parents[2] / "more")
    with (archive / ".git" / "config").open("a") as config:
        config.write(f"[include]\n\tpath = {archive.parents[2] / 'more'}\n")


def _endless_work_tree(archive: Path) -> None:
    (archive / ".git" / "agent-mail" / "work-tree").symlink_to("/dev/zero")


def _fifo_among_objects(archive: Path) -> None:
    (archive / ".git" / "objects" / "ab").mkdir(exist_ok=True)
    os.mkfifo(archive / ".git" / "objects" / "ab" / ("c" * 38))


@pytest.mark.parametrize("put", [_include_fifo, _include_fifo_elsewhere, _endless_work_tree, _fifo_among_objects])
@pytest.mark.parametrize("folder", ["projects", "adopted"])
def test_git_is_not_run_in_an_archive_of_a_source_that_a_stranger_has_set_up(
    went_on: StorePlace, other: Path, put: Callable[[Path], None], folder: str
) -> None:
    archive = next((other / "projects").iterdir())
    if folder == "adopted":
        (other / folder).mkdir()
        shutil.copytree(archive, other / folder / "former")
        archive = other / folder / "former"
    put(archive)

    with pytest.raises(ArchiveRefused):
        restorer_of(went_on).restore(other)
