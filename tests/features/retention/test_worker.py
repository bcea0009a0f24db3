"""What works through all projects in turn, and tells what it found."""

from __future__ import annotations

import logging

import pytest

from mcp_agent_mail.features.retention import worker as worker_module
from mcp_agent_mail.features.retention.worker import RetentionFigures, RetentionPace, RetentionWorker
from tests.features.retention.harness import Attic


async def test_a_pass_looks_through_every_project_but_those_left_out(
    attic: Attic, caplog: pytest.LogCaptureFixture
) -> None:
    await attic.old(attic.seeded.red)
    worker = RetentionWorker(
        attic.service("code-lib"), RetentionPace(interval_s=60, reports=True, purges=False), clock=attic.seeded.clock
    )

    with caplog.at_level(logging.INFO, logger="mcp_agent_mail.retention"):
        await worker.look()

    (record,) = caplog.records
    assert record.facts["project"] == "code-app"  # type: ignore[attr-defined]
    figures = worker.figures()
    assert (figures.old, figures.may_go, figures.purged) == (1, 1, 0)
    assert len(attic.searched()) == 1


async def test_the_worker_purges_where_it_is_asked_to_and_stops_when_told(attic: Attic) -> None:
    await attic.old(attic.seeded.red)
    worker = RetentionWorker(
        attic.service(), RetentionPace(interval_s=60, reports=False, purges=True), clock=attic.seeded.clock
    )

    await worker.look()
    worker.start()
    await worker.stop()

    assert worker.figures().purged == 1
    assert attic.searched() == []


async def test_a_pass_that_only_reports_tells_nothing_of_projects_without_old_mail(
    attic: Attic, caplog: pytest.LogCaptureFixture
) -> None:
    pace = RetentionPace(interval_s=60, reports=True, purges=False)
    worker = RetentionWorker(attic.service(), pace, clock=attic.seeded.clock)
    before = worker.figures()

    with caplog.at_level(logging.INFO, logger="mcp_agent_mail.retention"):
        await worker.look()

    assert caplog.records == []
    assert before.looked_at is None
    assert worker.figures() == RetentionFigures(
        looked_at=attic.seeded.clock.now, old=0, may_go=0, purged=0, last_error=None
    )


async def test_what_was_purged_is_told_though_nobody_asked_for_reports(
    attic: Attic, caplog: pytest.LogCaptureFixture
) -> None:
    await attic.old(attic.seeded.red)
    pace = RetentionPace(interval_s=60, reports=False, purges=True)
    worker = RetentionWorker(attic.service(), pace, clock=attic.seeded.clock)

    with caplog.at_level(logging.INFO, logger="mcp_agent_mail.retention"):
        await worker.look()
        await worker.look()

    (record,) = caplog.records
    assert record.facts["purged"] == 1  # type: ignore[attr-defined]


async def test_a_pass_purges_so_much_at_most_over_all_projects_and_the_next_goes_on(
    attic: Attic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "PURGED_PER_CALL", 1)
    await attic.read(attic.seeded.red, await attic.send(attic.seeded.red))
    await attic.read(attic.seeded.red, await attic.send(attic.seeded.red))
    await attic.old(attic.seeded.red)
    pace = RetentionPace(interval_s=60, reports=False, purges=True)
    worker = RetentionWorker(attic.service(), pace, clock=attic.seeded.clock)

    purged = []
    for _ in range(4):
        await worker.look()
        purged.append(worker.figures().purged)

    assert purged == [1, 2, 3, 3]


async def test_a_pass_that_is_told_to_stop_goes_to_no_further_project_and_counts_as_none(attic: Attic) -> None:
    pace = RetentionPace(interval_s=60, reports=False, purges=False)
    worker = RetentionWorker(attic.service(), pace, clock=attic.seeded.clock)
    await worker.stop()

    await worker.look()

    assert worker.figures().looked_at is None
