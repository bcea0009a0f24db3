"""The drain as an archiver opens it: alone on the archives of its store."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.archive.locks import ArchiveLock, ArchivesBusy
from mcp_agent_mail.core.clock import SECOND, Micros, system_clock
from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.domain.archive_format.lease_snapshot import snapshot_name
from mcp_agent_mail.features.archiving.open_drain import open_drain
from mcp_agent_mail.features.archiving.protocol import LOCK_FILE, Blocked
from tests.archive_harness import ArchiveHarness, fill, git


def test_a_new_archiver_does_not_start_while_another_holds_the_archives(harness: ArchiveHarness) -> None:
    impatient = replace(harness.settings, lock_timeout_s=0.0)

    with (
        ArchiveLock(harness.root / LOCK_FILE, timeout_s=0),
        pytest.raises(ArchivesBusy),
        open_drain(impatient, report=harness.reports.append, fault_hook=lambda _: None),
    ):
        pass

    (told,) = harness.reports
    assert isinstance(told, Blocked)
    assert told.message


def test_what_is_pending_goes_into_git_by_the_settings_and_the_lock_is_free_again(harness: ArchiveHarness) -> None:
    project = fill(harness, Path("/code/app"))
    settings = replace(harness.settings, author_name="post", author_email="post@example.com")

    with open_drain(settings, report=harness._hear, fault_hook=no_fault) as drain:
        drain.flush(Micros(system_clock() + 60 * SECOND))

    assert git(harness.path(project), "log", "-1", "--format=%an <%ae>", "main").strip() == "post <post@example.com>"
    assert harness.verify().is_clean
    with ArchiveLock(harness.root / LOCK_FILE, timeout_s=0):
        pass


def test_the_snapshot_of_leases_is_kept_beside(harness: ArchiveHarness) -> None:
    project = fill(harness, Path("/code/app"))

    with open_drain(harness.settings, report=harness._hear, fault_hook=no_fault) as drain:
        drain.flush(Micros(system_clock() + 60 * SECOND))

    assert (harness.path(project).parent / snapshot_name(project.slug)).exists()


def test_an_archive_may_be_begun_in_its_project_where_the_settings_say_so(
    harness: ArchiveHarness, tmp_path: Path
) -> None:
    (tmp_path / "app").mkdir()
    fill(harness, tmp_path / "app")

    with open_drain(replace(harness.settings, in_workspace=True), report=harness._hear, fault_hook=no_fault) as drain:
        drain.flush(Micros(system_clock() + 60 * SECOND))

    assert (tmp_path / "app" / ".mcp-mail" / "archive.json").exists()
