from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_agent_mail.domain.project_identity import slug_alias
from mcp_agent_mail.domain.projects import AliasKind
from mcp_agent_mail.features.archiving.ahead.older_database import find_ahead, find_unclaimed
from mcp_agent_mail.features.doctor.check import CheckTarget, check_everything
from mcp_agent_mail.features.recovery.backups.backup import BackupMaker, BackupUnfit
from mcp_agent_mail.features.recovery.backups.place import StorePlace
from mcp_agent_mail.features.recovery.backups.repair import Repairer
from mcp_agent_mail.store.checks.artifacts import open_artifacts
from tests.archive_harness import ArchiveHarness, open_archive_harness
from tests.features.recovery.backups.harness import restorer_of

LIB = "code-lib"


@pytest.fixture(scope="module")
def pattern(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose database knows project `code-app` alone: `code-lib` and its archive came after its copy."""
    root = tmp_path_factory.mktemp("older") / "store"
    root.mkdir(mode=0o700)
    older = root.parent / "older.sqlite3"
    with open_archive_harness(root) as harness:
        app = harness.add_project("/code/app")
        blue, red = harness.add_agent(app, "BlueLake"), harness.add_agent(app, "RedStone")
        harness.send(blue, [red], subject="First")
        harness.archive()
        harness.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        shutil.copy(harness.database, older)
        lib = harness.add_project("/code/lib")
        fox = harness.add_agent(lib, "QuietFox")
        harness.send(fox, [fox], subject="Lost")
        harness.archive()
    for path in root.glob("mail.sqlite3*"):
        path.unlink()
    shutil.move(older, root / "mail.sqlite3")
    (root / "projects" / f"{LIB}.leases.json").touch()
    return root


@pytest.fixture
def older(pattern: Path, tmp_path: Path) -> Iterator[ArchiveHarness]:
    shutil.copytree(pattern, tmp_path / "store", symlinks=True)
    with open_archive_harness(tmp_path / "store") as harness:
        yield harness


def _place(harness: ArchiveHarness) -> StorePlace:
    return StorePlace(storage_root=harness.root, database_path=harness.database)


def _ahead(harness: ArchiveHarness) -> list[str | None]:
    report = harness.verify()
    assert all(
        finding.next_step.startswith("Stop the server and run `am doctor rebuild`") for finding in report.findings
    )
    return [finding.project for finding in report.findings if finding.problem == "ahead"]


def test_an_archive_of_the_store_that_no_project_claims_says_that_the_database_is_older(older: ArchiveHarness) -> None:
    (finding,) = older.verify().findings

    assert (finding.check, finding.problem, finding.project) == ("archive", "ahead", LIB)
    assert finding.next_step.startswith("Stop the server and run `am doctor rebuild`")
    assert "rm " not in finding.next_step
    assert "move" not in finding.next_step


def test_a_check_says_so_too(older: ArchiveHarness) -> None:
    target = CheckTarget(storage_root=older.root, database_path=older.database, owner=None, clock=older.clock)

    found = [finding for result in check_everything(target) for finding in result.findings]

    assert ("ahead", LIB) in [(finding.problem, finding.project) for finding in found]
    assert "unexpected" not in [finding.problem for finding in found]


async def test_a_repair_leaves_it_with_the_way_to_a_rebuild(older: ArchiveHarness, tmp_path: Path) -> None:
    repairer = Repairer(place=_place(older), archiver=older.settings, backups=tmp_path / "backups", keep=7)

    report = await repairer.repair(dry_run=True)

    assert [one.what for one in report.left] == [f"archive {LIB}"]
    assert "am doctor rebuild" in report.left[0].next_step


def test_no_backup_is_made_but_one_that_says_so_and_has_that_archive(older: ArchiveHarness, tmp_path: Path) -> None:
    with pytest.raises(BackupUnfit, match="knows no such project"):
        BackupMaker(place=_place(older)).make(tmp_path / "backups", keep=7)

    made = BackupMaker(place=_place(older), takes_faults=True).make(tmp_path / "backups", keep=7)
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    place = StorePlace(storage_root=tmp_path / "elsewhere", database_path=tmp_path / "elsewhere/mail.sqlite3")
    report = restorer_of(place).restore(made.path)

    assert not made.verified
    assert not report.verified
    assert (place.storage_root / "projects" / LIB / ".git").is_dir()


def test_events_that_are_not_those_of_the_database_say_so_whatever_their_numbers(older: ArchiveHarness) -> None:
    lib = older.add_project("/code/lib")
    assert lib.slug == LIB
    for _ in range(20):
        older.add_agent(lib, f"Agent{_}")

    assert _ahead(older) == [LIB]
    with pytest.raises(BackupUnfit, match="holds other events"):
        BackupMaker(place=_place(older)).make(older.root.parent / "backups", keep=7)


def test_what_was_committed_and_not_marked_is_not_ahead(older: ArchiveHarness) -> None:
    shutil.rmtree(older.root / "projects" / LIB)
    project = older.add_project("/code/new")
    older.unmarked = True
    older.archive()

    with open_artifacts(older.database) as artifacts:
        assert (older.root / "projects" / project.slug / ".git").is_dir()
        assert artifacts.outbox.last_commit(project.id) is None
        assert find_ahead(older.root, project, artifacts, older.database) is None


def test_an_archive_that_is_about_to_be_set_aside_for_an_adoption_is_claimed(older: ArchiveHarness) -> None:
    app = older.tx.projects.find_by_slug("code-app")
    assert app is not None
    older.tx.aliases.add(app.id, slug_alias(LIB), AliasKind.FORMER, older.clock())

    with open_artifacts(older.database) as artifacts:
        assert find_unclaimed(older.root, artifacts, older.database) == []


def test_a_copy_of_an_archive_in_another_folder_is_no_lost_project(older: ArchiveHarness) -> None:
    shutil.rmtree(older.root / "projects" / LIB)
    shutil.copytree(older.root / "projects" / "code-app", older.root / "projects" / "copied", symlinks=True)

    with open_artifacts(older.database) as artifacts:
        assert find_unclaimed(older.root, artifacts, older.database) == []


def test_folders_of_any_name_are_looked_at(older: ArchiveHarness) -> None:
    lib = older.root / "projects" / LIB
    lib.rename(lib.with_name("no\udcff slug"))

    with open_artifacts(older.database) as artifacts:
        (found,) = find_unclaimed(older.root, artifacts, older.database)
    assert found.data["path"].endswith("no\udcff slug")


def test_a_project_that_came_since_one_looked_is_not_lost(older: ArchiveHarness) -> None:
    shutil.rmtree(older.root / "projects" / LIB)
    with open_artifacts(older.database) as artifacts:
        artifacts.counts()  # The view is of this moment.
        older.add_project("/code/new")
        older.archive()

        assert find_unclaimed(older.root, artifacts, older.database) == []
