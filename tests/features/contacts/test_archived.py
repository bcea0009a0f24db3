"""Links and held mail in the archives: rewritten as they change, and byte for byte what the database says."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.failpoints import FailPoint
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.archive_format.commit_message import commit_text
from mcp_agent_mail.domain.messages import Importance, NewMessage, NewRecipient, RecipientKind
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving.renew import _queue_anew
from mcp_agent_mail.features.contacts.links import LinkRequest, answer, ask
from mcp_agent_mail.features.identity.actor import Actor
from mcp_agent_mail.store.mail.message_events import post
from tests.archive_harness import ArchiveHarness, git, open_archive_harness

DAY = Micros(86_400 * SECOND)


@dataclass
class Waiting:
    """BlueLake of app wrote to RedStone, and to QuietFox of lib and GreenField (blind), who are to approve it first."""

    harness: ArchiveHarness
    app: Project
    lib: Project
    blue: Agent
    red: Agent
    fox: Agent
    green: Agent

    def path(self, project: Project) -> Path:
        return self.harness.path(project)

    def answer(self, target: Agent, *, accept: bool) -> None:
        project = self.lib if target.project_id == self.lib.id else self.app
        now = self.harness.clock()
        source, at = Actor(agent=self.blue, project=self.app), Actor(agent=target, project=project)
        with self.harness.together():
            answer(self.harness.tx, source, at, Micros(now + DAY) if accept else None)

    def fates(self, path: Path) -> list[tuple[str, str | None, bool]]:
        """Of a mail file: each recipient, what became of its copy, and whether it has a delivery number."""
        recipients = front_of(path)["recipients"]
        return [(one["name"], one.get("status"), one["delivery_seq"] is not None) for one in recipients]

    def mail(self, project: Project, folder: str) -> list[Path]:
        return sorted((self.path(project) / folder).rglob("*plan*.md"))

    def findings(self) -> list[tuple[str, str, str | None]]:
        return [(found.check, found.problem, found.path) for found in self.harness.verify().findings]


def front_of(path: Path) -> dict[str, Any]:
    text = path.read_text()
    front: dict[str, Any] = json.loads(text.split("---json\n", 1)[1].split("\n---\n", 1)[0])
    return front


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[Waiting]:
    with open_archive_harness(tmp_path) as harness:
        app, lib = harness.add_project("/code/app"), harness.add_project("/code/lib")
        blue, red, green = (harness.add_agent(app, name) for name in ("BlueLake", "RedStone", "GreenField"))
        fox = harness.add_agent(lib, "QuietFox")
        to, bcc = RecipientKind.TO, RecipientKind.BCC
        with harness.together():
            new = NewMessage(
                sender=blue,
                project=app,
                thread_id=None,
                topic=None,
                subject="Plan",
                body_md="body",
                importance=Importance.NORMAL,
                ack_required=False,
                reply_to=None,
            )
            chosen = [
                NewRecipient(agent=red, project=app, kind=to, held_code="CONTACT_REQUIRED"),
                NewRecipient(agent=fox, project=lib, kind=to, held_code="CONTACT_REQUIRED"),
                NewRecipient(agent=green, project=app, kind=bcc, held_code="CONTACT_REQUIRED"),
            ]
            post(harness.tx, new, chosen)
            for agent, project, is_private in ((red, app, False), (fox, lib, False), (green, app, True)):
                request = LinkRequest(reason="because", ttl=DAY, is_private=is_private)
                ask(harness.tx, Actor(agent=blue, project=app), Actor(agent=agent, project=project), request)
        yield Waiting(harness, app, lib, blue, red, fox, green)


def test_held_mail_lies_with_its_sender_and_says_so(waiting: Waiting) -> None:
    waiting.harness.archive()

    (canonical,), (sent,) = waiting.mail(waiting.app, "messages"), waiting.mail(waiting.app, "agents/BlueLake/outbox")
    assert waiting.fates(canonical) == [("RedStone", "held", False), ("QuietFox@code-lib", "held", False)]
    assert waiting.fates(sent)[2] == ("GreenField", "held", False)
    assert waiting.mail(waiting.app, "agents/RedStone/inbox") == []
    assert waiting.mail(waiting.lib, ".") == []
    assert waiting.findings() == []


def test_an_approval_brings_the_copy_and_rewrites_what_is_there(waiting: Waiting) -> None:
    waiting.harness.archive()

    waiting.answer(waiting.fox, accept=True)
    waiting.harness.archive()

    (there,), (canonical,) = waiting.mail(waiting.lib, "agents/QuietFox/inbox"), waiting.mail(waiting.app, "messages")
    assert waiting.fates(there) == [("RedStone@code-app", "held", False), ("QuietFox", "delivered", True)]
    assert waiting.fates(canonical) == [("RedStone", "held", False), ("QuietFox@code-lib", "delivered", True)]
    assert waiting.findings() == []


def test_a_denial_is_written_into_the_senders_copies(waiting: Waiting) -> None:
    waiting.answer(waiting.red, accept=False)
    waiting.harness.archive()

    (canonical,) = waiting.mail(waiting.app, "messages")
    assert waiting.fates(canonical)[0] == ("RedStone", "refused", False)
    assert front_of(canonical)["recipients"][0]["refused_ts"] == "2027-01-15T08:00:00.000000+00:00"
    assert waiting.mail(waiting.app, "agents/RedStone/inbox") == []
    assert waiting.findings() == []


def test_a_link_is_a_file_in_both_projects(waiting: Waiting) -> None:
    waiting.answer(waiting.fox, accept=True)
    waiting.harness.archive()

    there = json.loads((waiting.path(waiting.lib) / "contacts/BlueLake@code-app/QuietFox.json").read_text())
    here = json.loads((waiting.path(waiting.app) / "contacts/BlueLake/QuietFox@code-lib.json").read_text())
    assert there == here
    assert (there["from"], there["to"], there["status"], there["reason"]) == (
        "BlueLake",
        "QuietFox",
        "approved",
        "because",
    )


def test_no_commit_speaks_of_what_nobody_has_got(waiting: Waiting) -> None:
    """Commits are shown to everybody. Each event has one of its own here."""
    with waiting.harness.drain() as drain:
        drain.resume()
    told = [commit_text([event]).subject for event in waiting.harness.tx.outbox.pending(waiting.app.id)]
    waiting.answer(waiting.red, accept=True)
    (first, *_) = [
        event for event in reversed(waiting.harness.tx.outbox.pending(waiting.app.id)) if "body" in str(event)
    ]

    assert [subject for subject in told if "Plan" in subject or "GreenField" in subject] == ["GreenField joined"]
    # Nor when it is approved: a commit says the same whether or not somebody had to be asked.
    assert commit_text([first]).subject == "archive: records"


@pytest.mark.parametrize("accept", [True, False])
def test_the_archives_are_whole_at_every_stage_with_and_without_pending_events(waiting: Waiting, accept: bool) -> None:
    assert waiting.findings() == []
    waiting.harness.archive()
    assert waiting.findings() == []
    for target in (waiting.green, waiting.fox, waiting.red):
        waiting.harness.clock.step(1)
        waiting.answer(target, accept=accept)
        assert waiting.findings() == []
        waiting.harness.archive()
        assert waiting.findings() == []
    assert waiting.harness.failures == []


def test_an_archive_killed_before_it_told_of_an_approval_goes_on(waiting: Waiting) -> None:
    waiting.harness.archive()
    waiting.answer(waiting.red, accept=True)
    waiting.harness.archive_until_killed(FailPoint.BEFORE_MARK)

    waiting.harness.archive()

    assert waiting.harness.failures == []
    assert waiting.findings() == []


def test_an_archive_that_is_renewed_from_an_older_copy_holds_the_newest_state(waiting: Waiting, tmp_path: Path) -> None:
    """The older copy has commits of the time when the mail was held; they are found to be ours."""
    waiting.harness.archive()
    old = {project.slug: tmp_path / f"old-{project.slug}" for project in (waiting.app, waiting.lib)}
    for project in (waiting.app, waiting.lib):
        shutil.copytree(waiting.path(project), old[project.slug])
    for target in (waiting.red, waiting.fox):
        waiting.answer(target, accept=True)
        waiting.harness.archive()

    for project in (waiting.app, waiting.lib):
        shutil.rmtree(waiting.path(project))
        shutil.copytree(old[project.slug], waiting.path(project))
        with waiting.harness.together():
            _queue_anew(waiting.harness.tx, project)
    waiting.harness.archive()

    assert waiting.harness.failures == []
    assert waiting.findings() == []
    assert git(waiting.path(waiting.app), "status", "--short") == ""
