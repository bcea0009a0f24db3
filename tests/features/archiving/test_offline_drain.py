"""What commands do to archives while they hold the store: the drain without a server, awaited to its end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.archive.locks import ArchiveLock, ArchivesBusy
from mcp_agent_mail.core.failpoints import FailPoint
from mcp_agent_mail.domain.archive_format.months import UnknownMonth
from mcp_agent_mail.features.archiving.offline_drain import check_out_in_process, drain_in_process
from mcp_agent_mail.features.archiving.protocol import LOCK_FILE, CheckOut
from mcp_agent_mail.store.database import Store
from tests.archive_harness import ArchiveHarness, Killed, fill, git, killed_at


async def test_everything_pending_is_brought_into_git_and_marked(harness: ArchiveHarness) -> None:
    project = fill(harness, Path("/code/app"))

    async with Store(harness.database) as store:
        failed = await drain_in_process(store, harness.settings, timeout_s=60)

    assert failed == []
    assert harness.tx.outbox.count_pending(project.id) == 0
    assert harness.verify().is_clean


async def test_who_waits_is_told_how_many_events_are_in_git(harness: ArchiveHarness) -> None:
    project = fill(harness, Path("/code/app"))
    pending = harness.tx.outbox.count_pending(project.id)
    told: list[tuple[int, int]] = []

    async with Store(harness.database) as store:
        await drain_in_process(store, harness.settings, timeout_s=60, progress=lambda *counts: told.append(counts))

    assert pending > 3
    assert (told[0], told[-1]) == ((0, pending), (pending, pending))
    assert told == sorted(told)


async def test_what_could_not_be_written_is_told_and_the_rest_is_written(harness: ArchiveHarness) -> None:
    bad, fine = fill(harness, Path("/code/bad")), fill(harness, Path("/code/fine"))
    harness.path(bad).parent.mkdir()
    harness.path(bad).write_text("in the way")

    async with Store(harness.database) as store:
        failed = await drain_in_process(store, harness.settings, timeout_s=60)

    assert {one.project for one in failed} == {bad.slug}
    assert harness.tx.outbox.count_pending(bad.id) > 0
    assert harness.tx.outbox.count_pending(fine.id) == 0


async def test_nothing_is_done_while_an_archiver_works_on_the_archives(harness: ArchiveHarness) -> None:
    fill(harness, Path("/code/app"))
    impatient = replace(harness.settings, lock_timeout_s=0.0)

    async with Store(harness.database) as store:
        with ArchiveLock(harness.root / LOCK_FILE, timeout_s=0), pytest.raises(ArchivesBusy):
            await drain_in_process(store, impatient, timeout_s=60)

    assert list(harness.root.glob("projects/*")) == []


async def test_what_was_cut_off_before_it_was_marked_is_found_in_git(harness: ArchiveHarness) -> None:
    project = fill(harness, Path("/code/app"))
    async with Store(harness.database) as store:
        with pytest.raises(Killed):
            await drain_in_process(store, harness.settings, timeout_s=60, fault_hook=killed_at(FailPoint.BEFORE_MARK))
        unmarked = harness.tx.outbox.count_pending(project.id)

        failed = await drain_in_process(store, harness.settings, timeout_s=60)

    assert unmarked > 0
    assert failed == []
    assert git(harness.path(project), "rev-list", "--count", "main").strip() == "1"
    assert harness.verify().is_clean


async def test_a_month_is_brought_back_and_one_that_is_unknown_is_refused(harness: ArchiveHarness) -> None:
    project = fill(harness, Path("/code/app"))
    harness.archive()
    (mail,) = (harness.path(project) / "messages").rglob("*.md")
    month = "-".join(mail.relative_to(harness.path(project)).parts[1:3])

    async with Store(harness.database) as store:
        done = await check_out_in_process(
            store, harness.settings, CheckOut(number=1, project=project.slug, month=month)
        )
        with pytest.raises(UnknownMonth):
            await check_out_in_process(
                store, harness.settings, CheckOut(number=2, project=project.slug, month="1999-01")
            )

    assert (done.request, done.problem) == (1, "")
    assert done.files >= 3
    assert mail.exists()
