from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mcp_agent_mail.features.archiving.ahead.older_database import find_ahead
from mcp_agent_mail.features.doctor.verify import verify_archives
from mcp_agent_mail.features.recovery.backups.backup import BackupMaker, BackupUnfit
from mcp_agent_mail.features.recovery.backups.place import StorePlace
from mcp_agent_mail.store.checks.artifacts import open_artifacts
from tests.features.doctor.harness import Archived


@pytest.fixture
def older(archived: Archived, tmp_path: Path) -> Path:
    """A copy of the database that lacks what its archive has."""
    harness = archived.harness
    harness.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copy(harness.database, tmp_path / "older.sqlite3")
    harness.send(archived.blue, [archived.red], subject="Later")
    harness.archive()
    return tmp_path / "older.sqlite3"


def test_an_archive_that_is_ahead_is_a_finding_that_leads_to_a_rebuild(archived: Archived, older: Path) -> None:
    report = verify_archives(archived.harness.root, older, progress=lambda _done, _total: None)

    (finding,) = report.findings
    assert (finding.check, finding.problem, finding.project) == ("archive", "ahead", archived.project.slug)
    assert finding.next_step.startswith("Stop the server and run `am doctor rebuild`")


def test_no_backup_is_made_of_a_database_that_lacks_mail_but_one_that_says_so(
    archived: Archived, older: Path, tmp_path: Path
) -> None:
    place = StorePlace(storage_root=archived.harness.root, database_path=older)
    with pytest.raises(BackupUnfit, match="older than its archive") as refused:
        BackupMaker(place=place).make(tmp_path.with_name(f"{tmp_path.name}-backups"), keep=7)

    made = BackupMaker(place=place, takes_faults=True).make(tmp_path.with_name(f"{tmp_path.name}-backups"), keep=7)

    assert "am doctor rebuild" in refused.value.hint
    assert not made.verified
    assert any("older than its archive" in finding for finding in made.findings)


def test_what_was_given_out_and_committed_since_one_looked_is_not_ahead(archived: Archived) -> None:
    harness = archived.harness
    with open_artifacts(harness.database) as artifacts:
        artifacts.counts()  # The view is of this moment.
        harness.send(archived.blue, [archived.red], subject="Meanwhile")
        harness.archive()

        assert find_ahead(harness.root, archived.project, artifacts, harness.database) is None
