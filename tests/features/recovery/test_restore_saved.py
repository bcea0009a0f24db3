from __future__ import annotations

import os
import sqlite3
import subprocess
from collections.abc import Collection
from contextlib import closing, nullcontext
from pathlib import Path

import pytest

from mcp_agent_mail.archive.repository import ArchiveRepository
from mcp_agent_mail.core.clock import SECOND, from_seconds, system_clock
from mcp_agent_mail.core.failpoints import FailPoint
from mcp_agent_mail.features.doctor.verify import verify_archives
from mcp_agent_mail.features.doctor.verify_store import verify_store
from mcp_agent_mail.features.projects.lookup import find_known_path
from mcp_agent_mail.features.recovery.refusals import RebuildRefused
from mcp_agent_mail.features.recovery.restore_saved import (
    NewPath,
    PathTaken,
    RestoreRefused,
    RestoreRequest,
    StoreInTheWay,
    UnknownOldPath,
    restore_here,
    restore_into,
)
from mcp_agent_mail.features.recovery.save import save
from mcp_agent_mail.features.recovery.saved_file import UnfitSavedFile
from mcp_agent_mail.store.engine.lock import StoreLock
from mcp_agent_mail.store.engine.sqlite.numbers import AHEAD
from mcp_agent_mail.store.rebuild.dump import dump
from tests.archive_harness import ArchiveHarness, Killed, killed_at, open_archive_harness, sealed_seqs
from tests.features.recovery.team import Team, silent
from tests.names_beside import NamesBeside
from tests.store.engine.sqlite.hot_journal import write_hot_journal
from tests.workspace.lending import lent_below

SWAPPING = (FailPoint.SWAP_BEGUN, FailPoint.SWAP_MOVED, FailPoint.SWAP_PLACED)


def _request(team: Team, file: Path, *paths: NewPath) -> RestoreRequest:
    return RestoreRequest(
        file=file, new_paths=paths, settings=team.harness.settings, unpacking=silent, rebuilding=silent
    )


def _said(database: Path) -> list[str]:
    """The harness writes events of residents as their own acts, which no tool does."""
    return [line for line in dump(database) if "acted" not in line]


def _is_clean(root: Path, database: Path | None = None) -> bool:
    database = database or root / "mail.sqlite3"
    return verify_archives(root, database, progress=silent).is_clean and not verify_store(database)


def _tips(root: Path) -> dict[str, str | None]:
    return {path.name: ArchiveRepository(path).tip() for path in (root / "projects").iterdir() if path.is_dir()}


def test_a_store_is_restored_at_another_path_as_it_was(team: Team, saved_pattern: Path, tmp_path: Path) -> None:
    restored = restore_into(_request(team, saved_pattern), tmp_path / "elsewhere")

    assert _is_clean(tmp_path / "elsewhere")
    assert _said(tmp_path / "elsewhere" / "mail.sqlite3") == _said(team.harness.database)
    assert _tips(tmp_path / "elsewhere") == _tips(team.root)
    assert restored.manifest.store_id == team.harness.store_id
    assert "registration tokens" in restored.rebuilt.not_rebuilt


def test_a_restored_store_is_gone_on_with_and_saved_again_to_the_same_bytes(
    team: Team, saved_pattern: Path, tmp_path: Path
) -> None:
    restore_into(_request(team, saved_pattern), tmp_path / "elsewhere")

    save(tmp_path / "elsewhere", tmp_path / "again.tar", known=None, progress=silent)
    with open_archive_harness(tmp_path / "elsewhere") as harness:
        harness.send(team.blue, [team.red], subject="Going on")
        assert harness.archive() == 0

    assert (tmp_path / "again.tar").read_bytes() == saved_pattern.read_bytes()
    assert _is_clean(tmp_path / "elsewhere")


def test_a_new_path_becomes_a_name_of_its_project_in_the_database_and_in_git(
    team: Team, saved_pattern: Path, tmp_path: Path
) -> None:
    root = tmp_path / "elsewhere"

    restore_into(_request(team, saved_pattern, NewPath(old="/code/app", new="/home/bo/app")), root)

    with open_archive_harness(root) as harness:
        found = find_known_path(harness.tx, "/home/bo/app")
        assert found is not None
        assert (found.slug, found.human_key) == ("code-app", "/code/app")
    assert "/home/bo/app" in (root / "projects" / "code-app" / "archive.json").read_text()
    assert _is_clean(root)


@pytest.mark.parametrize(
    ("paths", "refusal"),
    [
        ([NewPath(old="/code/other", new="/home/bo/app")], UnknownOldPath),
        ([NewPath(old="code-app", new="/home/bo/app")], UnknownOldPath),
        ([NewPath(old="/code/app", new="/code/lib")], PathTaken),
        ([NewPath(old="/code/app", new="/x"), NewPath(old="/code/lib", new="/x")], PathTaken),
    ],
)
def test_a_path_that_nobody_has_or_another_project_has_is_refused(
    team: Team, saved_pattern: Path, tmp_path: Path, paths: Collection[NewPath], refusal: type[Exception]
) -> None:
    before = set(tmp_path.iterdir())

    with pytest.raises(refusal):
        restore_into(_request(team, saved_pattern, *paths), tmp_path / "elsewhere")

    assert set(tmp_path.iterdir()) == before


def test_nothing_is_written_over(team: Team, saved_pattern: Path, tmp_path: Path) -> None:
    taken, link = tmp_path / "taken", tmp_path / "link"
    taken.mkdir()
    (taken / "mine").touch()
    link.symlink_to(tmp_path / "nowhere")

    for folder in (taken, link, taken / "mine"):
        with pytest.raises(StoreInTheWay):
            restore_into(_request(team, saved_pattern), folder)

    assert (list(taken.iterdir()), (tmp_path / "nowhere").exists()) == ([taken / "mine"], False)


def test_a_damaged_file_leaves_nothing(team: Team, saved_pattern: Path, tmp_path: Path) -> None:
    content, damaged = saved_pattern.read_bytes(), tmp_path / "damaged.tar"
    damaged.write_bytes(content.replace(b'{"bytes":', b'{"bytes" :', 1))
    before = set(tmp_path.iterdir())

    with pytest.raises(UnfitSavedFile):
        restore_into(_request(team, damaged), tmp_path / "elsewhere")

    assert set(tmp_path.iterdir()) == before


def _here(team: Team, file: Path, root: Path, point: FailPoint | None = None) -> None:
    database = root / "mail.sqlite3"
    with StoreLock(root, database):
        if point is None:
            restore_here(_request(team, file), root, database)
        else:
            restore_here(_request(team, file), root, database, fault_hook=killed_at(point))


def test_the_place_of_the_settings_is_taken_where_no_store_is(team: Team, saved_pattern: Path, tmp_path: Path) -> None:
    root = tmp_path / "here"
    root.mkdir(mode=0o700)
    (root / "server.log").touch()

    _here(team, saved_pattern, root)

    assert _is_clean(root)
    assert not (root / "restoring").exists()
    with pytest.raises(StoreInTheWay, match=r"mail\.sqlite3 is there"):
        _here(team, saved_pattern, root)


@pytest.mark.parametrize("ending", ["-journal", "-wal", "-shm"])
def test_what_a_database_that_is_gone_has_left_is_in_the_way_by_name(
    team: Team, saved_pattern: Path, tmp_path: Path, ending: str
) -> None:
    root = tmp_path / "here"
    root.mkdir()
    stray = write_hot_journal(root / "mail.sqlite3").rename(root / f"mail.sqlite3{ending}")

    with pytest.raises(StoreInTheWay, match=rf"mail\.sqlite3{ending} is there") as refused:
        _here(team, saved_pattern, root)
    stray.rename(tmp_path / "kept")
    _here(team, saved_pattern, root)

    assert "move this file away" in refused.value.hint
    assert _is_clean(root)


def test_of_a_store_that_is_made_in_a_directory_of_a_project_no_mail_is_lent(
    team: Team, saved_pattern: Path, tmp_path: Path
) -> None:
    (tmp_path / "code" / "attachments").mkdir(parents=True)
    restore_into(_request(team, saved_pattern), tmp_path / "code" / "mail")
    (tmp_path / "code" / "attachments" / "mine.txt").touch()

    assert any((tmp_path / "code" / "mail" / "projects").rglob("*.md"))
    lent = lent_below(tmp_path / "code")
    assert {name for name in lent if "lock" not in name} == {"attachments/mine.txt"}


def test_a_database_that_lies_elsewhere_comes_there(team: Team, saved_pattern: Path, tmp_path: Path) -> None:
    root, database = tmp_path / "here", tmp_path / "db" / "other.sqlite3"
    database.parent.mkdir()

    names = NamesBeside(database)
    with StoreLock(root, database):
        restore_here(_request(team, saved_pattern), root, database, fault_hook=names)

    assert _is_clean(root, database)
    assert names.strangers() == []
    assert ".other.sqlite3.restoring" in names.seen
    assert not (root / "mail.sqlite3").exists()


def test_archives_without_a_database_are_not_replaced(team: Team, saved_pattern: Path) -> None:
    team.harness.connection.close()
    team.root.chmod(0o700)
    for path in team.root.glob("mail.sqlite3*"):
        path.unlink()
    before = _tips(team.root)

    with pytest.raises(StoreInTheWay) as refused, StoreLock(team.root, team.root / "mail.sqlite3"):
        restore_here(_request(team, saved_pattern), team.root, team.root / "mail.sqlite3")

    assert "am doctor rebuild" in refused.value.hint
    assert _tips(team.root) == before


@pytest.mark.parametrize("point", SWAPPING)
def test_whenever_it_is_killed_the_next_holder_of_the_lock_has_a_whole_store(
    team: Team, saved_pattern: Path, tmp_path: Path, point: FailPoint
) -> None:
    root = tmp_path / "here"

    with pytest.raises(Killed):
        _here(team, saved_pattern, root, point)
    with StoreLock(root, root / "mail.sqlite3"):
        pass

    assert _is_clean(root)
    assert _said(root / "mail.sqlite3") == _said(team.harness.database)


def test_one_project_of_a_store_is_restored_without_the_others(team: Team, tmp_path: Path) -> None:
    save(team.root, tmp_path / "lib.tar", known=None, only=["code-lib"], progress=silent)

    restored = restore_into(_request(team, tmp_path / "lib.tar"), tmp_path / "elsewhere")

    assert restored.left_out == ("code-app",)
    assert _is_clean(tmp_path / "elsewhere")


def _lagging(harness: ArchiveHarness, slug: str, count: int) -> None:
    path = harness.root / "projects" / slug
    subprocess.run(["git", "-C", path, "update-ref", "refs/heads/main", f"main~{count}"], check=True)


@pytest.mark.parametrize("slug", ["code-app", "code-lib"])
def test_a_file_in_which_one_archive_lags_behind_the_other_is_restored_whole(
    team: Team, tmp_path: Path, slug: str
) -> None:
    team.harness.send(team.blue, [team.fox], bcc=[team.red], subject="Late", body="late body")
    team.harness.archive()
    _lagging(team.harness, slug, 1)
    save(team.root, tmp_path / "s.tar", known=None, progress=silent)

    restore_into(_request(team, tmp_path / "s.tar"), tmp_path / "elsewhere")

    assert _is_clean(tmp_path / "elsewhere")
    for archive, folder in (("code-app", "messages"), ("code-lib", "agents/QuietFox/inbox")):
        copies = (tmp_path / "elsewhere" / "projects" / archive / folder).rglob("*__late__*.md")
        assert [path.read_text().endswith("late body\n") for path in copies] == [True]


def test_a_restored_store_is_its_owners_alone(team: Team, saved_pattern: Path, tmp_path: Path) -> None:
    root = tmp_path / "elsewhere"

    restore_into(_request(team, saved_pattern), root)

    assert [path.stat().st_mode & 0o077 for path in (root, root / "mail.sqlite3")] == [0, 0]


@pytest.mark.parametrize(
    ("number", "refusal"),
    [((1 << 63) - 1, RebuildRefused), ((1 << 53) + 1, RebuildRefused), (1 << 53, RestoreRefused), (1 << 51, None)],
)
def test_numbers_that_leave_too_few_to_go_on_with_are_refused(
    team: Team, tmp_path: Path, number: int, refusal: type[Exception] | None
) -> None:
    with closing(sqlite3.connect(team.harness.database)) as connection, connection:
        connection.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'agents'", (number - 1,))
    team.harness.add_agent(team.app, "GreyOwl")
    team.harness.archive()
    save(team.root, tmp_path / "s.tar", known=None, progress=silent)

    with pytest.raises(refusal) if refusal else nullcontext():
        restore_into(_request(team, tmp_path / "s.tar"), tmp_path / "elsewhere")

    assert (tmp_path / "elsewhere").exists() is (refusal is None)


@pytest.mark.parametrize("ahead", ["a year", "the calendar"])
def test_a_file_that_tells_of_mail_of_after_today_is_refused(team: Team, tmp_path: Path, ahead: str) -> None:
    latest = from_seconds(1 << 40) if ahead == "the calendar" else system_clock() + AHEAD + 3_600 * SECOND
    with closing(sqlite3.connect(team.harness.database)) as connection, connection:
        connection.execute("UPDATE counters SET value = ? WHERE name = 'delivered_ts'", (latest - 1,))
    team.harness.send(team.blue, [team.red], subject="later")
    team.harness.archive()
    save(team.root, tmp_path / "s.tar", known=None, progress=silent)

    with pytest.raises(RestoreRefused, match="tells of mail that was delivered on"):
        restore_into(_request(team, tmp_path / "s.tar"), tmp_path / "elsewhere")

    assert not (tmp_path / "elsewhere").exists()


def test_a_commit_of_a_time_beyond_the_calendar_is_restored(team: Team, tmp_path: Path) -> None:
    archive, when = team.root / "projects" / "code-app", "@9223372036854775807 +0000"
    message = f"person: far ahead\n\nOutbox-Seq: {max(sealed_seqs(archive))}\n"
    git = ("git", "-C", str(archive), "-c", "user.name=P", "-c", "user.email=p@localhost")
    times = {"GIT_COMMITTER_DATE": when, "GIT_AUTHOR_DATE": when}
    made = [*git, "commit", "-q", "--allow-empty", "-m", message]
    subprocess.run(made, check=True, env={**os.environ, **times})
    save(team.root, tmp_path / "s.tar", known=None, progress=silent)

    restore_into(_request(team, tmp_path / "s.tar"), tmp_path / "elsewhere")

    assert _is_clean(tmp_path / "elsewhere")
