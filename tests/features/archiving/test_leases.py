"""Leases in archives: one file each, which moves when the lease ends, and a snapshot of the live ones beside."""

from __future__ import annotations

import pytest

from mcp_agent_mail.core.failpoints import FailPoint
from mcp_agent_mail.domain.leases import LeaseKind
from tests.archive_harness import git
from tests.features.archiving.leases import Held

LIVE = "file_reservations/id-1.json"
ENDED = "file_reservations/released/2027/01/0-499/id-1.json"


def test_a_live_lease_lies_in_its_own_file(held: Held) -> None:
    held.hold()

    held.harness.archive()

    shown = held.file(LIVE)
    assert shown is not None
    assert {key: shown[key] for key in ("id", "project", "agent", "path_pattern", "exclusive", "reason")} == {
        "id": 1,
        "project": "/code/app",
        "agent": "BlueLake",
        "path_pattern": "src/**",
        "exclusive": True,
        "reason": "the parser",
    }
    assert (shown["released_ts"], shown["fencing"]) == (None, 1)


def test_the_file_of_a_lease_moves_when_the_lease_ends(held: Held) -> None:
    lease = held.hold()
    held.harness.archive()

    held.end(lease)
    held.harness.archive()

    ended = held.file(ENDED)
    assert held.file(LIVE) is None
    assert ended is not None
    assert (ended["ended_by"], ended["released_ts"]) == ("release", "2027-01-15T08:00:00.000000+00:00")
    assert held.harness.verify().is_clean


def test_a_lease_that_came_and_went_in_one_batch_leaves_only_its_end(held: Held) -> None:
    held.end(held.hold())

    held.harness.archive()

    assert (held.file(LIVE), held.file(ENDED) is not None) == (None, True)
    assert held.harness.verify().is_clean


def test_a_lease_that_is_granted_anew_comes_back_from_the_ended_ones(held: Held) -> None:
    lease = held.hold()
    held.end(lease)
    held.harness.archive()

    held.revive(lease)
    pending = held.harness.verify()
    held.harness.archive()

    assert (held.file(LIVE) is not None, held.file(ENDED)) == (True, None)
    assert (pending.is_clean, held.harness.verify().is_clean) == (True, True)


def test_a_build_slot_lies_in_a_folder_of_its_own(held: Held) -> None:
    held.hold("frontend-build", LeaseKind.SLOT)

    held.harness.archive()

    shown = held.file("build_slots/id-1.json")
    assert shown is not None
    assert (shown["slot"], "path_pattern" in shown) == ("frontend-build", False)
    assert held.harness.verify().is_clean


@pytest.mark.parametrize("point", [FailPoint.BEFORE_IMPORT, FailPoint.AFTER_IMPORT, FailPoint.BEFORE_MARK])
def test_a_kill_while_an_end_is_archived_leaves_no_file_behind(held: Held, point: FailPoint) -> None:
    lease = held.hold()
    held.harness.archive()
    held.end(lease)

    held.harness.archive_until_killed(point)
    held.harness.archive()

    assert (held.file(LIVE), held.file(ENDED) is not None) == (None, True)
    assert held.harness.verify().is_clean


def test_git_finds_nothing_to_say_about_an_archive_that_lost_a_file(held: Held) -> None:
    lease = held.hold()
    held.harness.archive()
    held.end(lease)

    held.harness.archive()

    assert git(held.harness.path(held.project), "status", "--porcelain") == ""
