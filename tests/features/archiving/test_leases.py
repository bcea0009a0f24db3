"""Leases in archives: one file each, which moves when the lease ends, and a snapshot of the live ones beside."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.failpoints import FailPoint
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.leases import EndedBy, Lease, LeaseKeys, LeaseKind, NewLease
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving.renew import _queue_anew
from mcp_agent_mail.store.lease_events import end_leases, record_event
from tests.archive_harness import ArchiveHarness, git, open_archive_harness

LIVE = "file_reservations/id-1.json"
ENDED = "file_reservations/released/2027/01/0/id-1.json"


class Held:
    """One project, one agent, and what it holds."""

    def __init__(self, harness: ArchiveHarness) -> None:
        self.harness = harness
        self.project: Project = harness.add_project("/code/app")
        self.agent: Agent = harness.add_agent(self.project, "BlueLake")

    def hold(self, pattern: str = "src/**", kind: LeaseKind = LeaseKind.FILE, ttl_s: int = 3_600) -> Lease:
        now = self.harness.clock()
        lease = self.harness.tx.leases.add(
            NewLease(
                project_id=self.project.id,
                agent_id=self.agent.id,
                agent=self.agent.name,
                kind=kind,
                path_pattern=pattern,
                keys=LeaseKeys(anchor="src"),
                exclusive=True,
                reason="the parser",
                expires_ts=Micros(now + ttl_s * SECOND),
            ),
            now,
        )
        record_event(self.harness.tx, lease, self.project, acting=self.agent)
        return lease

    def end(self, lease: Lease, by: EndedBy = EndedBy.RELEASE) -> None:
        end_leases(self.harness.tx, [lease], by, acting=self.agent)

    def revive(self, lease: Lease) -> Lease:
        now = self.harness.clock()
        ended = self.harness.tx.leases.find(lease.id)
        assert ended is not None
        back = self.harness.tx.leases.regrant(
            ended,
            Micros(now + 60 * SECOND),
            exclusive=True,
            is_folder=False,
            keys=LeaseKeys(anchor="src"),
            reason="again",
        )
        record_event(self.harness.tx, back, self.project, acting=self.agent, lapsed_ts=ended.released_ts)
        return back

    def file(self, path: str) -> dict[str, Any] | None:
        place = self.harness.path(self.project) / path
        return json.loads(place.read_bytes()) if place.exists() else None

    def snapshot(self) -> dict[str, Any]:
        path = self.harness.path(self.project)
        value: dict[str, Any] = json.loads(path.with_name(f"{path.name}.leases.json").read_bytes())
        return value


@pytest.fixture
def held(tmp_path: Path) -> Any:
    with open_archive_harness(tmp_path) as harness:
        yield Held(harness)


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


def test_the_snapshot_shows_live_leases_and_who_can_hold_some(held: Held) -> None:
    held.hold("src/app.py")
    held.end(held.hold("docs/**"))

    held.harness.archive()

    snapshot = held.snapshot()
    assert snapshot["project"] == {"id": 1, "slug": "code-app", "human_key": "/code/app"}
    assert (snapshot["format"], snapshot["store_id"], snapshot["truncated"]) == (1, held.harness.store_id, False)
    assert snapshot["agents"] == ["BlueLake"]
    assert [(one["id"], one["path_pattern"], one["exclusive"]) for one in snapshot["leases"]] == [
        (1, "src/app.py", True)
    ]


def test_a_snapshot_that_a_kill_left_behind_is_written_again_at_the_next_start(held: Held) -> None:
    lease = held.hold()
    held.harness.archive()
    held.end(lease)
    held.harness.archive_until_killed(FailPoint.BEFORE_MARK)
    held.harness.archive()

    assert held.snapshot()["leases"] == []


def test_at_a_start_a_snapshot_waits_for_no_archive(held: Held) -> None:
    held.hold()

    with held.harness.drain() as drain:
        drain.resume()
        drain.step()  # It looks whose are due,
        drain.step()  # and writes them.

    assert [one["id"] for one in held.snapshot()["leases"]] == [1]
    assert held.harness.failures == []


@pytest.mark.parametrize("has_older_copy", [True, False])
def test_an_archive_that_is_renewed_has_the_newest_state_of_each_lease(
    held: Held, tmp_path: Path, has_older_copy: bool
) -> None:
    """In an older copy the commits are found to be ours, whatever has become of their leases since."""
    path = held.harness.path(held.project)
    leases = [held.hold("a"), held.hold("b"), held.hold("c"), held.hold("slot", LeaseKind.SLOT)]
    held.harness.archive()
    held.end(leases[0])
    held.harness.archive()
    shutil.copytree(path, tmp_path / "older")
    for lease in leases[1:3]:
        held.end(lease)
    held.harness.archive()
    held.revive(leases[2])
    held.harness.archive()

    shutil.rmtree(path)
    if has_older_copy:
        shutil.copytree(tmp_path / "older", path)
    with held.harness.together():
        _queue_anew(held.harness.tx, held.project)
    held.harness.archive()

    assert held.harness.failures == []
    assert held.harness.verify().findings == ()


def test_a_snapshot_is_no_strange_archive(held: Held) -> None:
    held.hold()

    held.harness.archive()

    assert held.harness.verify().findings == ()


def test_a_pipe_in_the_way_of_a_snapshot_holds_nobody_up(held: Held) -> None:
    path = held.harness.path(held.project)
    path.parent.mkdir()
    os.mkfifo(path.with_name(f"{path.name}.leases.json.new"))
    held.hold()

    left = held.harness.archive()

    assert (left, held.harness.failures) == (0, [])
    assert [one["id"] for one in held.snapshot()["leases"]] == [1]


def test_no_snapshot_is_written_through_a_link(held: Held, tmp_path: Path) -> None:
    path = held.harness.path(held.project)
    path.parent.mkdir()
    precious = tmp_path / "precious"
    precious.write_text("kept")
    for name in (f"{path.name}.leases.json.new", f"{path.name}.leases.json"):
        path.with_name(name).symlink_to(precious)
    held.hold()

    held.harness.archive()

    assert precious.read_text() == "kept"
    assert [one["id"] for one in held.snapshot()["leases"]] == [1]
    assert not path.with_name(f"{path.name}.leases.json").is_symlink()


def test_a_folder_in_the_way_of_a_snapshot_is_told_and_holds_no_other_up(held: Held) -> None:
    path = held.harness.path(held.project)
    path.with_name(f"{path.name}.leases.json.new").mkdir(parents=True)
    held.hold()
    other = held.harness.add_project("/code/lib")
    held.harness.add_agent(other, "RedStone")

    left = held.harness.archive()

    assert left == 0
    assert {(told.project, told.part) for told in held.harness.failures} == {(held.project.slug, "lease snapshot")}
    assert held.harness.path(other).with_name(f"{other.slug}.leases.json").exists()


def test_archives_may_lie_behind_a_link_of_their_owner(held: Held, tmp_path: Path) -> None:
    (tmp_path / "larger-disk").mkdir()
    held.harness.path(held.project).parent.symlink_to(tmp_path / "larger-disk")
    held.hold()

    held.harness.archive()

    assert held.harness.failures == []
    assert [one["id"] for one in held.snapshot()["leases"]] == [1]
