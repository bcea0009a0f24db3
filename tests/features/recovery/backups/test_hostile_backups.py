"""A backup or a store's folder says of itself what its maker liked: none of that is done to anything but the store."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import SECOND, system_clock
from mcp_agent_mail.domain.projects import plain_slug
from mcp_agent_mail.features.archiving.ahead_archives import go_on_above_archives
from mcp_agent_mail.features.recovery.backups.backup import untold
from mcp_agent_mail.features.recovery.backups.place import StorePlace
from mcp_agent_mail.features.recovery.backups.restore_refusals import RestoreUnfit
from mcp_agent_mail.features.recovery.backups.source import ForeignBackup
from mcp_agent_mail.features.recovery.rebuilt_store import rebuild_in_place
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.engine.lock import StoreLock
from mcp_agent_mail.store.engine.noted_numbers import NoteFailed
from mcp_agent_mail.store.engine.sqlite.numbers import AHEAD, GAP, MOST_RESTORED, GivenNumbers, read_numbers
from mcp_agent_mail.store.engine.sqlite.schema import ForeignParts
from tests.archive_harness import open_archive_harness
from tests.features.recovery.backups.harness import Stored, change_manifest, faults_in, files_below, restorer_of, spoil
from tests.store.foreign_parts import put_check, put_view

_TRIGGER = "CREATE TRIGGER {name} AFTER INSERT ON messages BEGIN UPDATE agents SET task_description = 'read'; END"


FOREIGN = {
    "a trigger": [_TRIGGER.format(name="heard")],
    "a trigger by a table's name": [_TRIGGER.format(name="agents")],
    "a trigger by a name like SQLite's own": [_TRIGGER.format(name="sqliteXheard")],
    "a trigger by the name of a part of the search index": [_TRIGGER.format(name="messages_fts_data")],
    "a view": ["CREATE VIEW seen AS SELECT * FROM messages"],
    "a table": ["CREATE TABLE kept (text)"],
    "an index": ["CREATE INDEX quick ON messages (subject)"],
    "a part that is missing": ["DROP TRIGGER messages_fts_insert"],
    "a trigger that calls itself a table": [
        _TRIGGER.format(name="heard"),
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET type = 'table', name = 'messages_fts_data' WHERE name = 'heard'",
    ],
    "a constraint in a table that SQLite makes for itself": [
        "PRAGMA writable_schema = ON",
        (
            "UPDATE sqlite_schema SET sql = replace(sql, 'sz BLOB', 'sz BLOB, CHECK (length(randomblob(9)) > 0)') "
            "WHERE name = 'messages_fts_docsize'"
        ),
    ],
    "references that lead nowhere": ["UPDATE messages SET sender_id = 99"],
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_backup_that_says_it_was_at_fault_is_refused_all_the_same(
    name: str, went_on: StorePlace, backup: Path
) -> None:
    spoil(backup, *FOREIGN[name])
    before = went_on.database_path.read_bytes()

    why = "damaged: row" if name.startswith("references") else "not the schema that this program makes"
    with pytest.raises(RestoreUnfit, match=why):
        restorer_of(went_on).restore(backup)

    assert went_on.database_path.read_bytes() == before


def test_what_a_repair_mends_is_no_reason_to_refuse_the_backup_that_it_made(went_on: StorePlace, backup: Path) -> None:
    spoil(backup, "UPDATE agents SET unread_count = unread_count + 1")

    done = restorer_of(went_on).restore(backup)

    assert not done.verified
    assert "counter" in done.findings[0]


_FAR = 4_611_686_018_427_387_904
STRANGE = {
    "a slug that is a path": "UPDATE projects SET slug = '/tmp/elsewhere' WHERE id = 1",
    "a directory with a line break": "UPDATE projects SET human_key = '/a' || char(10) || char(27) WHERE id = 1",
    "a time beyond the calendar": f"UPDATE projects SET created_ts = {_FAR}",
    "sequences that leave too few": f"UPDATE sqlite_sequence SET seq = {_FAR}",
    "counters that leave too few": f"UPDATE counters SET value = {_FAR}",
    "no counters": "DELETE FROM counters",
    "no name": "DELETE FROM meta",
    "numbers of nothing": "INSERT INTO sqlite_sequence VALUES (NULL, 5)",
    "numbers by bytes": "INSERT INTO sqlite_sequence VALUES (x'ff00', 5)",
    "numbers by what is no text": "INSERT INTO sqlite_sequence VALUES (CAST(x'ff00' AS TEXT), 5)",
    "numbers of no table": "INSERT INTO sqlite_sequence VALUES (hex(zeroblob(50000)), 5)",
    "numbers that are there twice": "INSERT INTO sqlite_sequence SELECT * FROM sqlite_sequence WHERE name = 'agents'",
}


@pytest.mark.parametrize("name", STRANGE)
def test_a_value_that_this_program_never_writes_is_refused_whatever_the_backup_says(
    name: str, went_on: StorePlace, backup: Path
) -> None:
    spoil(backup, STRANGE[name])
    before = files_below(went_on.storage_root)

    with pytest.raises(RestoreUnfit, match="holds what this program never writes"):
        restorer_of(went_on).restore(backup)

    assert files_below(went_on.storage_root) == before


@pytest.mark.parametrize("name", STRANGE)
def test_and_so_it_is_in_a_stores_folder(name: str, filled: Stored, went_on: StorePlace, tmp_path: Path) -> None:
    shutil.copytree(filled.harness.root, tmp_path / "given")
    with closing(sqlite3.connect(tmp_path / "given/mail.sqlite3")) as connection, connection:
        connection.execute(STRANGE[name])

    with pytest.raises(RestoreUnfit, match="holds what this program never writes"):
        restorer_of(went_on).restore(tmp_path / "given")


def _numbers(place: StorePlace) -> GivenNumbers:
    found = read_numbers(place.database_path)
    assert found is not None
    return found


def test_the_numbers_of_a_hostile_backup_go_with_it(went_on: StorePlace, backup: Path, tmp_path: Path) -> None:
    """Whether what was there comes back by --undo, or out of a backup of its own."""
    own, before = tmp_path / "own", _numbers(went_on)
    shutil.copytree(backup, own)
    most = MOST_RESTORED - 10 * GAP
    spoil(
        backup,
        f"UPDATE sqlite_sequence SET seq = {most}",
        f"UPDATE counters SET value = {most} WHERE name IN ('delivery', 'fencing')",
    )
    restorer = restorer_of(went_on)
    restorer.restore(backup)
    assert _numbers(went_on).sequences["messages"] >= most

    restorer.undo()

    after = _numbers(went_on)
    assert all(after.sequences[name] <= number + 2 * GAP for name, number in before.sequences.items())
    assert all(after.counters[name] <= number + 2 * GAP for name, number in before.counters.items())
    restorer.restore(backup)
    restorer.restore(own)
    again = _numbers(went_on)
    assert all(number < again.sequences[name] < most for name, number in after.sequences.items())
    assert faults_in(went_on) == []


async def test_nor_does_a_start_or_a_rebuild_of_what_came_back_go_on_above_them(
    went_on: StorePlace, backup: Path, tmp_path: Path
) -> None:
    own, before = tmp_path / "own", _numbers(went_on)
    shutil.copytree(backup, own)
    spoil(
        backup,
        f"UPDATE sqlite_sequence SET seq = {MOST_RESTORED - 10 * GAP}",
        f"UPDATE counters SET value = {MOST_RESTORED - 10 * GAP} WHERE name IN ('delivery', 'fencing')",
    )
    restorer = restorer_of(went_on)
    restorer.restore(backup)
    restorer.undo()

    async with Store(went_on.database_path) as store:
        await go_on_above_archives(store, went_on.storage_root)
    rebuild_in_place(restorer.archiver, told=untold)

    after = _numbers(went_on)
    assert all(after.sequences[name] <= number + 5 * GAP for name, number in before.sequences.items())
    assert all(after.counters[name] <= number + 5 * GAP for name, number in before.counters.items())
    restorer.restore(own)
    assert faults_in(went_on) == []


def test_numbers_that_could_not_be_restored_again_are_refused(went_on: StorePlace, backup: Path) -> None:
    spoil(backup, f"UPDATE sqlite_sequence SET seq = {MOST_RESTORED - GAP + 1}")
    before = files_below(went_on.storage_root)

    with pytest.raises(RestoreUnfit, match="more numbers than a store gives out"):
        restorer_of(went_on).restore(backup)

    assert files_below(went_on.storage_root) == before


def test_where_the_note_cannot_be_written_nothing_is_restored(went_on: StorePlace, backup: Path) -> None:
    (went_on.storage_root / "numbers.json").mkdir()
    before = files_below(went_on.storage_root)

    with pytest.raises(NoteFailed, match=r"numbers\.json") as refused:
        restorer_of(went_on).restore(backup)

    assert "Move away what lies there" in refused.value.hint
    assert files_below(went_on.storage_root) == before
    assert not (went_on.storage_root / "restoring").exists()


def test_what_a_restored_store_gives_out_is_given_out_by_no_other(went_on: StorePlace, backup: Path) -> None:
    spoil(backup, "UPDATE sqlite_sequence SET seq = 70000000", "UPDATE agents SET unread_count = unread_count + 1")
    restorer = restorer_of(went_on)
    restorer.restore(backup)
    given = _numbers(went_on)

    restorer.undo()

    assert _numbers(went_on).sequences["messages"] > given.sequences["messages"]


_DAY = 86_400 * SECOND


@pytest.mark.parametrize("ahead", [AHEAD * 1_000, 2 * _DAY])
def test_a_backup_that_delivered_its_mail_after_today_is_refused(ahead: int, went_on: StorePlace, backup: Path) -> None:
    latest = max(system_clock(), _numbers(went_on).latest) + ahead
    spoil(backup, f"UPDATE counters SET value = {latest} WHERE name = 'delivered_ts'")

    with pytest.raises(RestoreUnfit, match="Its newest mail was delivered on"):
        restorer_of(went_on).restore(backup)


def test_mail_of_a_clock_that_was_set_back_since_is_restored_over_its_own_store(
    went_on: StorePlace, backup: Path
) -> None:
    latest = system_clock() + 3 * AHEAD
    with closing(sqlite3.connect(went_on.database_path)) as connection, connection:
        connection.execute("UPDATE counters SET value = ? WHERE name = 'delivered_ts'", (latest,))
    spoil(backup, f"UPDATE counters SET value = {latest} WHERE name = 'delivered_ts'")

    restorer_of(went_on).restore(backup)

    assert _numbers(went_on).latest == latest


@pytest.fixture
def lying_in_code(tmp_path: Path) -> Iterator[Stored]:
    """A store whose archive of `/…/code` lies in that directory."""
    code = tmp_path / "code"
    code.mkdir()
    (tmp_path / "store").mkdir(mode=0o700)
    with open_archive_harness(tmp_path / "store") as harness:
        harness.in_workspace = True
        project = harness.add_project(str(code))
        blue, red = harness.add_agent(project, "BlueLake"), harness.add_agent(project, "RedStone")
        harness.send(blue, [red])
        assert harness.archive() == 0
        yield Stored(harness, project, blue, red)


def _backup_of(stored: Stored, target: Path) -> Path:
    return stored.back_up(target).path


def test_files_go_back_to_the_directory_of_their_project(lying_in_code: Stored, tmp_path: Path) -> None:
    backup = _backup_of(lying_in_code, tmp_path / "backups")

    done = restorer_of(lying_in_code.place).restore(backup)

    assert (done.in_workspaces, done.now_in_store) == ((lying_in_code.project.slug,), ())


def _elsewhere(backup: Path, work_tree: Path) -> None:
    (archive,) = json.loads((backup / "manifest.json").read_text())["archives"]
    change_manifest(backup, archives=[archive | {"work_tree": str(work_tree)}])


@pytest.mark.parametrize("where", ["home", "home/.mcp-mail", "code", "code/../home/.mcp-mail", "code/below/.mcp-mail"])
def test_no_other_directory_that_a_backup_names_is_written_to(
    where: str, lying_in_code: Stored, tmp_path: Path
) -> None:
    backup = _backup_of(lying_in_code, tmp_path / "backups")
    for name in ("home/.git", "code/below"):
        (tmp_path / name).mkdir(parents=True)
    _elsewhere(backup, tmp_path / where)

    done = restorer_of(lying_in_code.place).restore(backup)

    assert (done.in_workspaces, done.now_in_store) == ((), (lying_in_code.project.slug,))
    assert [path.name for path in (tmp_path / "home").iterdir()] == [".git"]
    archive = lying_in_code.place.storage_root / "projects" / lying_in_code.project.slug
    assert (archive / "archive.json").exists()
    assert not (archive / ".git/agent-mail/work-tree").exists()


@pytest.mark.parametrize("what", ["a file of somebody", "another repository", "a link"])
def test_what_lies_in_the_place_of_the_files_is_left_alone(what: str, lying_in_code: Stored, tmp_path: Path) -> None:
    backup = _backup_of(lying_in_code, tmp_path / "backups")
    place = tmp_path / "code/.mcp-mail"
    place.rename(tmp_path / "moved")
    if what == "a link":
        place.symlink_to(tmp_path / "moved")
    else:
        place.mkdir()
        (place / ("notes" if what == "a file of somebody" else ".git")).mkdir()

    done = restorer_of(lying_in_code.place).restore(backup)

    assert done.now_in_store == (lying_in_code.project.slug,)


def test_a_directory_that_a_link_leads_to_is_not_gone_back_to(lying_in_code: Stored, tmp_path: Path) -> None:
    backup = _backup_of(lying_in_code, tmp_path / "backups")
    (tmp_path / "code").rename(tmp_path / "moved")
    (tmp_path / "code").symlink_to(tmp_path / "moved")

    assert restorer_of(lying_in_code.place).restore(backup).in_workspaces == ()


def test_in_an_empty_place_no_directory_outside_of_the_store_is_gone_back_to(
    lying_in_code: Stored, tmp_path: Path
) -> None:
    sources = (_backup_of(lying_in_code, tmp_path / "backups"), lying_in_code.harness.root)
    (tmp_path / "code/.mcp-mail").rename(tmp_path / "moved")
    for source in sources:
        root = tmp_path / f"elsewhere-{source.name}"
        place = StorePlace(storage_root=root, database_path=root / "mail.sqlite3")
        with StoreLock(root, place.database_path):
            done = restorer_of(place).restore(source)

        assert (done.in_workspaces, done.now_in_store) == ((), (lying_in_code.project.slug,))


def test_no_directory_is_written_to_that_the_replaced_store_does_not_write_to_itself(
    went_on: StorePlace, stored: Stored, backup: Path, tmp_path: Path
) -> None:
    """The project, too, is where the backup says: its database is its maker's."""
    (tmp_path / "home").mkdir()
    spoil(backup, f"UPDATE projects SET human_key = '{tmp_path}/home' WHERE slug = '{stored.project.slug}'")
    with closing(sqlite3.connect(backup / "mail.sqlite3")) as connection:
        connection.create_function("plain", 1, plain_slug)
        connection.execute("UPDATE projects SET plain_slug = plain(human_key)")
        connection.commit()
    spoil(backup)
    archives = json.loads((backup / "manifest.json").read_text())["archives"]
    mine = [one | ({"work_tree": f"{tmp_path}/home/.mcp-mail"} if "app" in one["slug"] else {}) for one in archives]
    change_manifest(backup, archives=mine)

    done = restorer_of(went_on).restore(backup)

    assert (done.in_workspaces, done.now_in_store) == ((), (stored.project.slug,))
    assert list((tmp_path / "home").iterdir()) == []


def test_the_note_of_a_stores_folder_leads_nowhere_else(lying_in_code: Stored, tmp_path: Path) -> None:
    archive = lying_in_code.harness.root / "projects" / lying_in_code.project.slug
    (tmp_path / "home").mkdir()
    for note in ("work-tree", "work-tree.real"):
        (archive / ".git/agent-mail" / note).write_text(f"{tmp_path / 'home'}\n")
    lying_in_code.harness.describe(lying_in_code.project, lying_in_code.blue, "on")

    assert lying_in_code.harness.archive() == 1

    assert list((tmp_path / "home").iterdir()) == []
    assert not (tmp_path / ".mcp-mail").exists()
    assert "and those of an archive lie in a .mcp-mail" in lying_in_code.harness.failures[0].message


@pytest.mark.parametrize("kept", [put_view, put_check])
def test_a_kept_store_with_a_strangers_parts_is_not_gone_back_to(
    kept: Callable[[Path, str], None], went_on: StorePlace, backup: Path
) -> None:
    restorer_of(went_on).restore(backup)
    (undo,) = (went_on.storage_root / "undo").iterdir()
    kept(undo / "mail.sqlite3", "counters")
    before = went_on.database_path.read_bytes()

    with pytest.raises(ForeignParts, match="counters differs"):
        restorer_of(went_on).undo()

    assert went_on.database_path.read_bytes() == before


def test_a_store_with_a_strangers_parts_is_still_replaced_by_none_but_itself(went_on: StorePlace, backup: Path) -> None:
    put_view(went_on.database_path, "projects")
    shutil.rmtree(went_on.storage_root / "projects")
    change_manifest(backup, store_id="another")

    with pytest.raises(ForeignBackup, match="of store another"):
        restorer_of(went_on).restore(backup)


def test_a_backup_of_a_store_with_a_strangers_parts_is_not_made(stored: Stored, tmp_path: Path) -> None:
    put_view(stored.place.database_path, "projects")

    with pytest.raises(ForeignParts, match=str(stored.place.database_path)):
        stored.back_up(tmp_path / "backups")

    assert list((tmp_path / "backups").glob("2*")) == []


def test_a_fault_that_is_restored_is_told_of_the_store_that_has_it_now(went_on: StorePlace, backup: Path) -> None:
    spoil(backup, "UPDATE agents SET unread_count = 7 WHERE name = 'BlueLake'")

    (told,) = restorer_of(went_on).restore(backup).findings

    assert told.startswith(f"counters wrong: {went_on.database_path}: ")
