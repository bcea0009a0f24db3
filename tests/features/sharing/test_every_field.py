"""Every field that a bundle shows is redacted, by itself; and mail that nobody may have is in none of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.domain.agents import AgentKind, AttachmentsPolicy, NewAgent
from mcp_agent_mail.domain.messages import Importance, NewMessage, NewRecipient, RecipientKind
from mcp_agent_mail.features.sharing import service as sharing
from mcp_agent_mail.features.sharing.redaction import REDACTED
from mcp_agent_mail.features.sharing.results import SharedAttachment, SharedContent, SharedMail
from mcp_agent_mail.features.sharing.service import NothingToShare, ShareRequest
from tests.given_mail import GivenMail, all_text

KEYS = {
    name: f"ghp_{name:0<36.36}"
    for name in ("sender", "to", "cc", "program", "model", "task", "subject", "thread", "topic", "file", "project")
}
"""A key of a provider for each field, told apart by the name of it."""


def _agent(given: GivenMail, name: str) -> NewAgent:
    return NewAgent(
        project_id=given.app.id,
        kind=AgentKind.AGENT,
        name=name,
        program=KEYS["program"],
        model=KEYS["model"],
        task_description=KEYS["task"],
        attachments_policy=AttachmentsPolicy.AUTO,
        token_hash=None,
    )


def _collected(given: GivenMail, *threads: str, project: str | None = None) -> SharedMail:
    with given.service() as service:
        return service.collect(ShareRequest(project_keys=[project or given.app.human_key], threads=threads))


def _subjects(mail: SharedMail) -> list[str]:
    return [one.subject for project in mail.projects for one in project.messages]


def test_a_secret_in_any_field_of_mail_and_agents_is_taken_out(given: GivenMail, tmp_path: Path) -> None:
    tx, now = given.harness.tx, given.harness.clock()
    sender, to, cc = (tx.agents.add(_agent(given, KEYS[name]), now) for name in ("sender", "to", "cc"))
    kinds = ((to, RecipientKind.TO), (cc, RecipientKind.CC))
    message = NewMessage(
        sender=sender,
        project=given.app,
        thread_id=KEYS["thread"],
        topic=KEYS["topic"],
        subject=KEYS["subject"],
        body_md="b",
        importance=Importance.NORMAL,
        ack_required=False,
        reply_to=None,
        attachments=(given.attachment(b"text", f"{KEYS['file']}.txt"),),
    )
    tx.messages.add(message, [NewRecipient(agent=one, project=given.app, kind=kind) for one, kind in kinds], now)

    mail = _collected(given)
    given.export(tmp_path / "out")

    (shown,) = mail.projects[0].messages
    told = [shown.sender, *shown.to, *shown.cc, shown.subject, shown.thread, shown.topic, shown.attachments[0].name]
    assert len(mail.projects[0].agents) == 3
    for agent in mail.projects[0].agents:
        told += [agent.name, agent.program, agent.model, agent.task]
    assert [one for one in told if one is None or REDACTED not in one] == []
    assert [name for name, key in KEYS.items() if key in all_text(tmp_path / "out")] == []


def test_a_secret_in_the_name_of_a_project_is_taken_out(given: GivenMail) -> None:
    project = given.harness.add_project(f"/code/wares/{KEYS['project']}")
    agents = [given.harness.add_agent(project, name) for name in ("GreenField", "TealRiver")]
    message = replace(_plain(given, "Open"), sender=agents[0], project=project)
    recipient = NewRecipient(agent=agents[1], project=project, kind=RecipientKind.TO)
    given.harness.tx.messages.add(message, [recipient], given.harness.clock())

    (shown,) = _collected(given, project=project.human_key).projects

    assert shown.name == REDACTED


def _plain(given: GivenMail, subject: str) -> NewMessage:
    return NewMessage(
        sender=given.blue,
        project=given.app,
        thread_id=None,
        topic=None,
        subject=subject,
        body_md="b",
        importance=Importance.NORMAL,
        ack_required=False,
        reply_to=None,
    )


@pytest.mark.parametrize("thread", [(), ("T",)])
def test_mail_that_nobody_may_have_is_in_no_thread_either(given: GivenMail, thread: tuple[str, ...]) -> None:
    tx, now = given.harness.tx, given.harness.clock()
    given.send([given.red], subject="Held", held=True, thread="T")
    given.send([], bcc=[given.red], subject="Blind alone", thread="T")
    given.send([given.red], subject="Notice", is_system=True, thread="T")
    read = given.send([given.red], subject="Withdrawn after reading", thread="T")
    tx.inboxes.mark_read(given.red.id, read.id, now)
    tx.ladder.withdraw(read.id, now, "wrong")
    given.send([given.red], subject="Open", thread="T")

    assert _subjects(_collected(given, *thread)) == ["Open"]


def test_a_copy_that_waits_for_consent_is_none_that_it_came_to(given: GivenMail) -> None:
    ghost = given.harness.add_agent(given.app, "GhostOwl")
    waiting = NewRecipient(agent=ghost, project=given.app, kind=RecipientKind.TO, held_code="contact_required")
    came = NewRecipient(agent=given.red, project=given.app, kind=RecipientKind.TO)
    given.harness.tx.messages.add(_plain(given, "Open"), [waiting, came], given.harness.clock())

    (project,) = _collected(given).projects

    assert project.messages[0].to == ["RedStone"]
    assert [one.name for one in project.agents] == ["BlueLake", "RedStone"]


def test_mail_that_was_purged_is_not_given(given: GivenMail) -> None:
    gone = given.send([given.red], subject="Purged", thread="T")
    given.send([given.red], subject="Open", thread="T")
    given.harness.tx._connection.execute("UPDATE messages SET purged_ts = created_ts WHERE id = ?", (gone.id,))

    assert (_subjects(_collected(given)), _subjects(_collected(given, "T"))) == (["Open"], ["Open"])


def test_a_thread_of_notices_alone_is_nothing_to_share(given: GivenMail) -> None:
    given.send([given.red], subject="Notice", is_system=True, thread="T")

    with pytest.raises(NothingToShare):
        _collected(given, "T")


def test_what_is_answered_is_named_only_where_it_is_given_too(given: GivenMail) -> None:
    root = given.send([given.red], subject="Root", thread="T-1")
    answer = replace(_plain(given, "Answer"), thread_id="T-2", reply_to=root.id)
    recipient = NewRecipient(agent=given.red, project=given.app, kind=RecipientKind.TO)
    given.harness.tx.messages.add(answer, [recipient], given.harness.clock())

    requests: list[tuple[str, ...]] = [(), ("T-2",)]
    told = [
        [(one.subject, one.reply_to) for one in _collected(given, *request).projects[0].messages]
        for request in requests
    ]

    assert told == [[("Root", None), ("Answer", root.id)], [("Answer", None)]]


def _content_of(given: GivenMail, content: bytes, media_type: str) -> SharedContent:
    given.send([given.red], attachments=[given.attachment(content, "file", media_type)])
    with given.service() as service:
        (message,) = service.collect(ShareRequest(project_keys=[given.app.human_key])).projects[0].messages
        return service.content(message.attachments[0])


def test_a_file_with_a_zero_in_it_is_no_text(given: GivenMail) -> None:
    found = _content_of(given, b"plain\0text", "text/plain")

    assert (found.content, bool(found.why_left)) == (None, True)


def test_a_file_beyond_the_bound_is_named_and_not_read(given: GivenMail, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sharing.MOST_CONTENT_BYTES == 32 << 20
    monkeypatch.setattr(sharing, "MOST_CONTENT_BYTES", 4)

    with given.service() as service:
        kept = [service.content(_attachment(given, content)) for content in (b"four", b"fives")]

    assert [(one.content, bool(one.why_left)) for one in kept] == [(b"four", False), (None, True)]


def _attachment(given: GivenMail, content: bytes) -> SharedAttachment:
    stored = given.attachment(content, "a.txt").content
    return SharedAttachment(
        sha256=stored.sha256, name="a.txt", media_type="text/plain", bytes=len(content), width=None, height=None
    )
