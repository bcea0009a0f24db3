"""What is still done for an archive as the archiver ends: what somebody waits for, and the rest while time is left."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_agent_mail.features.archiving.protocol import CareFailed, CheckOut
from tests.archive_harness import ArchiveHarness, fill, git, write
from tests.features.archiving.test_committer import Desk, open_desk

QUARTER_S = 90 * 86_400
FIRST = "2027-01"


@pytest.fixture
def desk(harness: ArchiveHarness) -> Iterator[Desk]:
    """Of an archive whose first month is put away."""
    project = fill(harness, Path("/code/app"))
    harness.clock.step(QUARTER_S)
    write(harness, project)
    harness.max_tracked_files = 1
    with open_desk(harness, project) as opened:
        opened.committer.commit_all(opened.until())
        opened.committer.finish(opened.until(), opened.until())
        assert months(opened) == ["04"]
        yield opened


def months(desk: Desk) -> list[str]:
    return sorted({path.parts[-3] for path in (desk.path / "messages").glob("2027/*/*/*.md")})


def test_who_waits_for_a_month_has_more_time_than_the_rest(desk: Desk) -> None:
    desk.committer.check_out(CheckOut(number=1, project=desk.project.slug, month=FIRST))

    desk.committer.finish(desk.harness.clock(), desk.until())

    assert [(answer.request, answer.problem) for answer in desk.checked_out()] == [(1, "")]
    assert months(desk) == ["01", "04"]


def test_what_nobody_waits_for_is_left_when_its_time_is_up(desk: Desk) -> None:
    write(desk.harness, desk.project)
    desk.committer.commit_all(desk.until())

    desk.committer.finish(desk.harness.clock(), desk.until())
    is_left = not desk.committer.is_whole
    desk.committer.finish(desk.until(), desk.until())

    assert (is_left, desk.committer.is_whole) == (True, True)


def test_an_archive_that_somebody_moved_is_left_to_whoever_opens_it_next(desk: Desk) -> None:
    write(desk.harness, desk.project)
    desk.committer.commit_all(desk.until())
    moved = desk.path.rename(desk.path.with_name("moved"))

    desk.committer.finish(desk.until(), desk.until())

    assert desk.harness.failures == []
    assert not any(isinstance(report, CareFailed) for report in desk.harness.reports)
    assert not desk.path.exists()
    assert git(moved, "rev-list", "--count", "main").strip() == "2"


def test_who_waits_for_a_month_of_an_archive_that_somebody_moved_is_told_why_it_does_not_come(desk: Desk) -> None:
    desk.committer.check_out(CheckOut(number=1, project=desk.project.slug, month=FIRST))
    desk.path.rename(desk.path.with_name("moved"))

    desk.committer.finish(desk.until(), desk.until())

    (answer,) = desk.checked_out()
    assert answer.problem
