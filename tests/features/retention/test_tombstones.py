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
from tests.archive_harness import ArchiveHarness, git, open_archive_harness
from tests.stored_contents import keep_content

DAYS = 30


@dataclass
class Archived:
    """BlueLake wrote to RedStone and blindly to GreenField of another project; both read it long ago."""

    harness: ArchiveHarness
    app: Project
    lib: Project
    blue: Agent
    message: Message

    def purge(self) -> int:
        at = cutoff_of(self.harness.clock(), DAYS)
        one = OldMessage(id=self.message.id, created_ts=Micros(0), may_go=True, copies=2, body_bytes=1)
        with self.harness.together():
            return _purge([one], RetentionCutoff(at=at), self.harness.tx)[0]

    def mail(self, project: Project) -> list[Path]:
        return sorted(self.harness.path(project).rglob("*__plan__*.md"))

    def findings(self) -> list[tuple[str, str, str | None]]:
        return [(found.check, found.problem, found.path) for found in self.harness.verify().findings]


@pytest.fixture
def archived(tmp_path: Path) -> Iterator[Archived]:
    with open_archive_harness(tmp_path) as harness:
        app, lib = harness.add_project("/code/app"), harness.add_project("/code/lib")
        blue, red, green = (
            harness.add_agent(app, "BlueLake"),
            harness.add_agent(app, "RedStone"),
            harness.add_agent(lib, "Green"),
        )
        message = harness.send(blue, [red], bcc=[green], body="the secret plan")
        harness.read(app, red, message)
        harness.read(lib, green, message)
        harness.archive()
        harness.clock.step(DAYS * 86_400)
        yield Archived(harness, app, lib, blue, message)


def test_every_copy_becomes_a_tombstone_and_verify_stays_clean(archived: Archived) -> None:
    assert archived.purge() == 1
    assert archived.harness.archive() == 0

    copies = [*archived.mail(archived.app), *archived.mail(archived.lib)]
    assert len(copies) == 4
    assert all("*Purged on 2027-02-14" in path.read_text() for path in copies)
    assert all('"purged": "2027-02-14T08:00:00' in path.read_text() for path in copies)
    assert archived.findings() == []


def test_the_history_keeps_the_text_and_the_commit_names_nobody(archived: Archived) -> None:
    archived.purge()
    archived.harness.archive()

    path = archived.harness.path(archived.app)
    assert "the secret plan" in git(path, "log", "-p", "--", "messages")
    assert git(path, "log", "-1", "--format=%s|%an|%b").startswith("archive: records|mcp-agent|Outbox-Seq:")


def test_only_the_senders_own_copy_still_names_the_blind_recipient(archived: Archived) -> None:
    archived.purge()
    archived.harness.archive()

    naming = [path for path in archived.mail(archived.app) if "Green@" in path.read_text()]
    assert [path.parts[-6:-3] for path in naming] == [("BlueLake", "outbox", "2027")]


@pytest.mark.parametrize("point", [FailPoint.BEFORE_IMPORT, FailPoint.AFTER_IMPORT])
def test_a_kill_while_tombstones_are_written_leaves_nothing_half_done(archived: Archived, point: FailPoint) -> None:
    archived.purge()
    archived.harness.archive_until_killed(point)

    assert archived.harness.archive() == 0
    assert archived.findings() == []


def test_an_archive_that_is_lost_is_written_again_with_tombstones(archived: Archived) -> None:
    archived.purge()
    archived.harness.archive()
    shutil.rmtree(archived.harness.path(archived.app))

    with archived.harness.together():
        _queue_anew(archived.harness.tx, archived.app)

    assert archived.harness.archive() == 0
    assert archived.findings() == []


def test_an_older_copy_of_an_archive_gets_its_tombstones(archived: Archived, tmp_path: Path) -> None:
    path = archived.harness.path(archived.app)
    shutil.copytree(path, tmp_path / "copy", symlinks=True)
    archived.purge()
    archived.harness.archive()
    shutil.rmtree(path)
    shutil.copytree(tmp_path / "copy", path, symlinks=True)

    with archived.harness.together():
        _queue_anew(archived.harness.tx, archived.app)

    assert archived.harness.archive() == 0
    assert archived.harness.failures == []
    assert archived.findings() == []


def test_what_the_purged_mail_alone_carried_leaves_both_archives(archived: Archived) -> None:
    harness = archived.harness
    red, green = (
        harness.tx.agents.find_by_name(project.id, name)
        for project, name in ((archived.app, "RedStone"), (archived.lib, "Green"))
    )
    assert red is not None
    assert green is not None
    archived.message = harness.send(archived.blue, [red, green], carried=[b"the secret picture"])
    for project, agent in ((archived.app, red), (archived.lib, green)):
        harness.read(project, agent, archived.message)
    harness.archive()
    harness.clock.step(DAYS * 86_400)

    assert archived.purge() == 1
    pending = archived.findings()
    assert harness.archive() == 0

    content = keep_content(harness.root, b"the secret picture")
    assert (pending, archived.findings()) == ([], [])
    for project in (archived.app, archived.lib):
        assert not (harness.path(project) / content.path).exists()
        assert git(harness.path(project), "show", f"main~1:{content.path}") == "the secret picture"
