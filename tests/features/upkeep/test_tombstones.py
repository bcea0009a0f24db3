"""What a purge leaves in the archives: tombstones that `am doctor verify` knows, and the text in the history."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.failpoints import FailPoint
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.messages import Message
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.domain.retention import OldMessage, cutoff_of
from mcp_agent_mail.features.archiving.renew import _queue_anew
from mcp_agent_mail.features.retention.service import _purge
from mcp_agent_mail.store.retention import RetentionCutoff
from tests.archive_room import ArchiveRoom, git, open_archive_room

DAYS = 30


@dataclass
class Archived:
    """BlueLake wrote to RedStone and blindly to GreenField of another project; both read it long ago."""

    room: ArchiveRoom
    app: Project
    lib: Project
    blue: Agent
    message: Message

    def purge(self) -> int:
        at = cutoff_of(self.room.clock(), DAYS)
        one = OldMessage(id=self.message.id, created_ts=Micros(0), may_go=True, copies=2, body_bytes=1)
        with self.room.together():
            return _purge([one], RetentionCutoff(at=at), self.room.tx)

    def mail(self, project: Project) -> list[Path]:
        return sorted(self.room.path(project).rglob("*__plan__*.md"))

    def findings(self) -> list[tuple[str, str, str | None]]:
        return [(found.check, found.problem, found.path) for found in self.room.verify().findings]


@pytest.fixture
def archived(tmp_path: Path) -> Iterator[Archived]:
    with open_archive_room(tmp_path) as room:
        app, lib = room.add_project("/code/app"), room.add_project("/code/lib")
        blue, red, green = (
            room.add_agent(app, "BlueLake"),
            room.add_agent(app, "RedStone"),
            room.add_agent(lib, "Green"),
        )
        message = room.send(blue, [red], bcc=[green], body="the secret plan")
        room.read(app, red, message)
        room.read(lib, green, message)
        room.archive()
        room.clock.step(DAYS * 86_400)
        yield Archived(room, app, lib, blue, message)


def test_every_copy_becomes_a_tombstone_and_verify_stays_clean(archived: Archived) -> None:
    assert archived.purge() == 1
    assert archived.room.archive() == 0

    copies = [*archived.mail(archived.app), *archived.mail(archived.lib)]
    assert len(copies) == 4
    assert all("*Purged on 2027-02-14" in path.read_text() for path in copies)
    assert all('"purged": "2027-02-14T08:00:00' in path.read_text() for path in copies)
    assert archived.findings() == []


def test_the_history_keeps_the_text_and_the_commit_names_nobody(archived: Archived) -> None:
    archived.purge()
    archived.room.archive()

    path = archived.room.path(archived.app)
    assert "the secret plan" in git(path, "log", "-p", "--", "messages")
    assert git(path, "log", "-1", "--format=%s|%an|%b").startswith("archive: records|mcp-agent|Outbox-Seq:")


def test_only_the_senders_own_copy_still_names_the_blind_recipient(archived: Archived) -> None:
    archived.purge()
    archived.room.archive()

    naming = [path for path in archived.mail(archived.app) if "Green@" in path.read_text()]
    assert [path.parts[-6:-3] for path in naming] == [("BlueLake", "outbox", "2027")]


@pytest.mark.parametrize("point", [FailPoint.BEFORE_IMPORT, FailPoint.AFTER_IMPORT])
def test_a_kill_while_tombstones_are_written_leaves_nothing_half_done(archived: Archived, point: FailPoint) -> None:
    archived.purge()
    archived.room.archive_until_killed(point)

    assert archived.room.archive() == 0
    assert archived.findings() == []


def test_an_archive_that_is_lost_is_written_again_with_tombstones(archived: Archived) -> None:
    archived.purge()
    archived.room.archive()
    shutil.rmtree(archived.room.path(archived.app))

    with archived.room.together():
        _queue_anew(archived.room.tx, archived.app)

    assert archived.room.archive() == 0
    assert archived.findings() == []


def test_an_older_copy_of_an_archive_gets_its_tombstones(archived: Archived, tmp_path: Path) -> None:
    path = archived.room.path(archived.app)
    shutil.copytree(path, tmp_path / "copy", symlinks=True)
    archived.purge()
    archived.room.archive()
    shutil.rmtree(path)
    shutil.copytree(tmp_path / "copy", path, symlinks=True)

    with archived.room.together():
        _queue_anew(archived.room.tx, archived.app)

    assert archived.room.archive() == 0
    assert archived.room.failures == []
    assert archived.findings() == []
