"""The snapshot of a project's live leases, beside its archive: written after what it shows, whatever is in the way."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.failpoints import FailPoint
from mcp_agent_mail.core.ids import OutboxSeq
from mcp_agent_mail.domain.archive_format.lease_snapshot import render_snapshot, snapshot_name
from mcp_agent_mail.domain.events import EventKind, OutboxEvent
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving import lease_snapshots
from mcp_agent_mail.features.archiving.lease_snapshots import LeaseSnapshots, SnapshotPlace
from mcp_agent_mail.features.archiving.protocol import PROJECTS_FOLDER, Failed, Recovered, Report
from mcp_agent_mail.store.agents import Agents
from mcp_agent_mail.store.leases import Leases
from mcp_agent_mail.store.projects import Projects
from tests.archive_harness import ArchiveHarness
from tests.features.archiving.leases import Held


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


def test_a_snapshot_of_leases_that_cannot_be_rendered_holds_nobody_up(
    harness: ArchiveHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, fine = harness.add_project("/code/bad"), harness.add_project("/code/fine")
    render = render_snapshot

    def poisoned(project: Project, *rest: object) -> bytes:
        assert project.id != bad.id, "nobody foresaw this"
        return render(project, *rest)  # type: ignore[arg-type]  # as it was called

    monkeypatch.setattr(lease_snapshots, "render_snapshot", poisoned)
    in_the_end = harness.archive()

    assert in_the_end == 0
    assert {(failed.project, failed.part) for failed in harness.failures} == {(bad.slug, "lease snapshot")}
    assert fine.slug in "".join(path.name for path in harness.path(fine).parent.glob("*leases*"))


class Scribe:
    """The snapshots of a store, without archives: whatever is in it counts as committed."""

    def __init__(self, harness: ArchiveHarness) -> None:
        self.harness = harness
        self.reports: list[Report] = []
        folder = harness.root / PROJECTS_FOLDER
        connection = harness.connection
        self.snapshots = LeaseSnapshots(
            SnapshotPlace(folder=folder, store_id=harness.store_id, interval=Micros(SECOND)),
            Leases(connection),
            Agents(connection),
            report=self.reports.append,
            clock=harness.clock,
        )

    def note(self, project: Project, kind: EventKind) -> None:
        event = OutboxEvent(
            seq=OutboxSeq(1),
            project_id=project.id,
            kind=kind,
            project_slug=project.slug,
            agent_id=None,
            snapshot={},
            created_ts=Micros(0),
        )
        self.snapshots.note(project, [event])

    def path(self, project: Project) -> Path:
        return self.harness.root / PROJECTS_FOLDER / snapshot_name(project.slug)

    def written(self) -> int:
        return len(list((self.harness.root / PROJECTS_FOLDER).glob("*.leases.json")))


@pytest.fixture
def scribe(harness: ArchiveHarness) -> Scribe:
    return Scribe(harness)


@pytest.mark.parametrize(
    ("kind", "is_written"), [(EventKind.RESERVATION, True), (EventKind.PROFILE, True), (EventKind.MAIL, False)]
)
def test_a_snapshot_is_due_after_what_tells_of_leases_and_who_can_hold_them(
    kind: EventKind, is_written: bool, scribe: Scribe
) -> None:
    project = scribe.harness.add_project("/code/app")

    scribe.note(project, kind)
    scribe.snapshots.step()

    assert scribe.path(project).exists() == is_written


def test_a_snapshot_is_written_again_after_the_interval_at_the_soonest(scribe: Scribe) -> None:
    project = scribe.harness.add_project("/code/app")
    scribe.note(project, EventKind.PROFILE)
    scribe.snapshots.step()
    scribe.path(project).unlink()
    at_rest = scribe.snapshots.step()
    scribe.note(project, EventKind.PROFILE)

    too_soon = scribe.snapshots.step()
    there_too_soon = scribe.path(project).exists()
    scribe.harness.clock.step(1)
    later = scribe.snapshots.step()

    assert (at_rest, too_soon, there_too_soon, later) == (None, 1.0, False, None)
    assert scribe.path(project).exists()


def test_what_has_nothing_due_is_forgotten_when_its_interval_is_over(scribe: Scribe) -> None:
    scribe.note(scribe.harness.add_project("/code/app"), EventKind.PROFILE)
    scribe.snapshots.step()
    scribe.harness.clock.step(1)

    scribe.snapshots.step()

    assert scribe.snapshots._known == {}


def test_twenty_are_written_at_once_and_the_next_step_goes_on_at_once(scribe: Scribe) -> None:
    for number in range(21):
        scribe.note(scribe.harness.add_project(f"/code/p{number}"), EventKind.PROFILE)

    first, after_first = scribe.snapshots.step(), scribe.written()
    second, after_second = scribe.snapshots.step(), scribe.written()

    assert (first, after_first) == (0.0, 20)
    assert (second, after_second) == (None, 21)


def test_one_that_fails_is_tried_again_later_and_its_end_is_told(scribe: Scribe) -> None:
    project = scribe.harness.add_project("/code/app")
    in_the_way = scribe.path(project).with_name(f"{scribe.path(project).name}.new")
    in_the_way.mkdir(parents=True)
    scribe.note(project, EventKind.PROFILE)
    pause = scribe.snapshots.step()
    in_the_way.rmdir()
    assert pause is not None

    early = scribe.snapshots.step()
    scribe.harness.clock.step(pause)
    scribe.snapshots.step()

    failed, recovered = scribe.reports
    assert isinstance(failed, Failed)
    assert (early, recovered) == (pause, Recovered(project=project.slug, part="lease snapshot"))
    assert scribe.path(project).exists()


def test_at_a_start_only_projects_with_leases_or_an_old_snapshot_are_looked_after(held: Held) -> None:
    scribe = Scribe(held.harness)
    held.hold()
    plain, old = held.harness.add_project("/code/plain"), held.harness.add_project("/code/old")
    scribe.path(old).parent.mkdir()
    scribe.path(old).write_text("old")

    scribe.snapshots.resume(Projects(held.harness.connection))
    looking = scribe.snapshots.step()
    scribe.snapshots.finish()

    assert looking == 0.0
    assert [scribe.path(project).exists() for project in (held.project, plain, old)] == [True, False, True]
    assert scribe.path(old).read_text() != "old"


def test_at_the_end_all_that_is_due_is_written_whatever_its_pace(scribe: Scribe) -> None:
    project = scribe.harness.add_project("/code/app")
    scribe.note(project, EventKind.PROFILE)
    scribe.snapshots.step()
    scribe.path(project).unlink()
    scribe.snapshots.finish()
    without_need = scribe.path(project).exists()
    scribe.note(project, EventKind.PROFILE)

    scribe.snapshots.finish()

    assert not without_need
    assert scribe.path(project).exists()
