"""Archives are looked after beside the commits: on schedule, one at a time, and whatever fails holds no mail up."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from mcp_agent_mail.archive import writer as archive_writer
from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.failpoints import FailPoint
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving.drain import Drain
from mcp_agent_mail.features.archiving.maintenance import JOIN_EVERY, TIME_LIMIT
from mcp_agent_mail.features.archiving.protocol import CareFailed, CareTaken
from tests.archive_room import ArchiveRoom, Killed, git, killed_at, open_archive_room

LOOK_S = 0.02
LOOKS = 1_500


@dataclass
class Desk:
    """An archive and a drain at work on it, as in the archiver."""

    room: ArchiveRoom
    project: Project
    blue: Agent
    red: Agent

    @property
    def path(self) -> Path:
        return self.room.path(self.project)

    def packs(self) -> int:
        return len(list((self.path / ".git/objects/pack").glob("*.pack")))

    def commit(self, drain: Drain) -> None:
        """One more commit, so one more pack."""
        self.room.send(self.blue, [self.red])
        self.room.clock.step(1)
        drain.step()
        self.room.clock.step(1)
        drain.step()

    def care(self) -> list[CareTaken | CareFailed]:
        return [report for report in self.room.reports if isinstance(report, CareTaken | CareFailed)]

    def join_many(self, drain: Drain) -> None:
        self.commit(drain)
        self.work(drain, 1)

    def work(self, drain: Drain, reports: int) -> None:
        """Steps until there are so many more reports of care: Git runs beside us."""
        wanted = len(self.care()) + reports
        for _ in range(LOOKS):
            drain.step()
            if len(self.care()) >= wanted:
                return
            threading.Event().wait(LOOK_S)
        raise AssertionError(self.room.reports)


@pytest.fixture
def committer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.setattr(archive_writer, "MANY_PACKS", 6)
    with open_archive_room(tmp_path) as room:
        project = room.add_project("/code/app")
        yield Desk(room, project, room.add_agent(project, "BlueLake"), room.add_agent(project, "RedStone"))


def test_many_packs_are_joined_while_commits_go_on(committer: Desk) -> None:
    with committer.room.drain() as drain:
        for _ in range(6):
            committer.commit(drain)
        committer.work(drain, 1)
        committer.commit(drain)

    taken = committer.care()[-1]
    assert isinstance(taken, CareTaken)
    assert taken.packs <= 2
    assert committer.packs() <= 3
    assert git(committer.path, "fsck", "--strict") == ""
    assert committer.room.verify().findings == ()


def test_few_packs_are_joined_once_an_hour_when_there_are_new_ones(committer: Desk) -> None:
    with committer.room.drain() as drain:
        for _ in range(3):
            committer.commit(drain)
        before = committer.packs()
        drain.step()
        unhurried = committer.packs()
        committer.room.clock.step(JOIN_EVERY / SECOND)
        committer.work(drain, 2)  # the index is refreshed, then the packs are joined
        after = committer.packs()
        committer.room.clock.step(JOIN_EVERY / SECOND)
        wait = drain.step()

    assert (before, unhurried, after) == (3, 3, 1)
    assert wait is None


def test_an_idle_archiver_sleeps_until_the_hour_is_over(committer: Desk) -> None:
    with committer.room.drain() as drain:
        committer.commit(drain)
        committer.room.clock.step(5)
        wait = committer.room.tidy(drain)

    assert wait is not None
    assert JOIN_EVERY / SECOND - 60 < wait <= JOIN_EVERY / SECOND


def test_packs_that_a_person_keeps_apart_are_not_asked_about_at_every_step(committer: Desk) -> None:
    with committer.room.drain() as drain:
        for _ in range(5):
            committer.commit(drain)
        for pack in (committer.path / ".git/objects/pack").glob("*.pack"):
            pack.with_suffix(".keep").touch()
        committer.commit(drain)
        committer.room.clock.step(5)
        wait = committer.room.tidy(drain)

    assert wait is not None
    assert wait > 60
    assert committer.packs() == 6


def test_joining_that_takes_too_long_is_ended_reported_and_tried_again_later(
    committer: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with committer.room.drain() as drain:
        for _ in range(5):
            committer.commit(drain)
        committer.room.send(committer.blue, [committer.red])
        committer.room.clock.step(1)
        drain.step()
        committer.room.clock.step(1)
        with monkeypatch.context() as slow:
            slow.setenv("PATH", f"{slow_git(tmp_path)}:{os.environ['PATH']}")
            drain.step()
            drain.step()
            committer.room.clock.step(TIME_LIMIT / SECOND)
            drain.step()
        wait = committer.room.tidy(drain)
        failed = next(report for report in committer.care() if isinstance(report, CareFailed))
        committer.room.clock.step(600)
        committer.work(drain, 1)

    assert isinstance(failed, CareFailed)
    assert "cannot join packs" in failed.message
    assert wait is not None
    assert wait > 60
    assert committer.packs() == 1
    assert committer.room.failures == []


def slow_git(folder: Path) -> Path:
    """A Git that never ends joining packs."""
    place = folder / "slow"
    place.mkdir()
    script = place / "git"
    script.write_text(
        '#!/bin/sh\ncase "$*" in *pack-objects*) exec sleep 600;; esac\nPATH="${PATH#*:}" exec git "$@"\n'
    )
    script.chmod(0o755)
    return place


def test_a_damaged_pack_is_reported_by_care_and_mail_goes_on(committer: Desk) -> None:
    with committer.room.drain() as drain:
        for _ in range(5):
            committer.commit(drain)
        oldest = min((committer.path / ".git/objects/pack").glob("*.pack"), key=lambda path: path.stat().st_mtime_ns)
        oldest.chmod(0o600)
        oldest.write_bytes(oldest.read_bytes()[:60])
        committer.commit(drain)
        committer.work(drain, 1)

    assert any(isinstance(report, CareFailed) for report in committer.care())
    assert committer.packs() >= 6


@pytest.mark.parametrize("point", [FailPoint.REPACK, FailPoint.REPACK_DELETE])
def test_killed_while_packs_are_joined_nothing_is_lost_or_twice(committer: Desk, point: FailPoint) -> None:
    with committer.room.drain(killed_at(point)) as drain:
        for _ in range(5):
            committer.commit(drain)
        with pytest.raises(Killed):
            committer.join_many(drain)

    assert committer.room.archive() == 0

    assert git(committer.path, "fsck", "--strict") == ""
    assert git(committer.path, "status", "--porcelain") == ""
    assert committer.room.verify().findings == ()


def test_a_stop_ends_what_runs(committer: Desk) -> None:
    with committer.room.drain() as drain:
        for _ in range(6):
            committer.commit(drain)
        drain.flush(Micros(committer.room.clock() + 60 * SECOND))

    assert committer.packs() <= 2
    assert committer.room.verify().findings == ()


@pytest.fixture
def held_joining(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Until this file is there, a Git that joins packs waits."""
    place, let_go = tmp_path / "holding", tmp_path / "go"
    place.mkdir()
    script = place / "git"
    script.write_text(
        "#!/bin/sh\n"
        f'case "$*" in *pack-objects*) while [ ! -e {let_go} ]; do sleep 0.05; done;; esac\n'
        'PATH="${PATH#*:}" exec git "$@"\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")
    return let_go


@pytest.mark.parametrize("good", [5, 6], ids=["before-it-begins", "while-it-runs"])
def test_care_does_not_go_on_with_a_writer_that_a_failed_commit_gave_up(
    committer: Desk, held_joining: Path, good: int
) -> None:
    is_full = False

    def fault_hook(point: FailPoint) -> None:
        if is_full and point is FailPoint.AFTER_IMPORT:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with committer.room.drain(fault_hook) as drain:
        for _ in range(good):
            committer.commit(drain)
        care = drain._kept[committer.project.id].committer._care
        was_running = care.has_work
        is_full = True
        committer.commit(drain)
        runs_on = care.has_work
        is_full = False
        committer.room.clock.step(60)
        committer.commit(drain)
        held_joining.touch()
        committer.work(drain, 1)
        while isinstance(committer.care()[-1], CareFailed) or committer.packs() > 3:
            committer.work(drain, 1)

    assert was_running == (good == 6)
    assert not runs_on
    assert not [report for report in committer.care() if isinstance(report, CareFailed)]
    assert git(committer.path, "fsck", "--strict") == ""
    assert committer.room.verify().findings == ()
