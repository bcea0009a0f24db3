from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.archive_format.artifacts import ArchivedMail
from mcp_agent_mail.domain.messages import escaped_bytes
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.domain.retention import OldMessage, cutoff_of
from mcp_agent_mail.features.history import past_inboxes
from mcp_agent_mail.features.history.past_inboxes import StorePlaces, _RecoveredTexts, read_past_inbox
from mcp_agent_mail.features.history.shapes import show_past_inbox
from mcp_agent_mail.features.retention.service import _purge
from mcp_agent_mail.store.retention import RetentionCutoff
from mcp_agent_mail.store.transaction import View, open_view
from tests.archive_harness import ArchiveHarness, git, open_archive_harness, version_1
from tests.features.history.past_store import APP, TEXT, PastStore

MOMENTS = ["begun", "sent", "read", "answered", "opened", "retired", "returned", "purged"]


@dataclass
class Converted:
    """BlueLake wrote to RedStone, and blindly to Green of another project, into archives of version 1. It was read,
    purged, and the archives were converted: at once, or between the two.
    """

    harness: ArchiveHarness
    app: Project
    lib: Project
    red: Agent
    green: Agent
    sent: Micros

    def body_of(self, agent: Agent, project: Project) -> str | None:
        with open_view(self.harness.database) as view:
            places = StorePlaces(storage_root=self.harness.root)
            (item,) = show_past_inbox(read_past_inbox(view, agent, project, places, at=self.sent, limit=9))
        body: str | None = item["body_md"]
        return body


@pytest.fixture(params=[False, True], ids=["purged in version 1", "purged in version 2"])
def converted(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Converted]:
    with open_archive_harness(tmp_path) as harness:
        with version_1():
            app, lib = harness.add_project("/code/app"), harness.add_project("/code/lib")
            blue, red = harness.add_agent(app, "BlueLake"), harness.add_agent(app, "RedStone")
            green = harness.add_agent(lib, "Green")
            message = harness.send(blue, [red], bcc=[green], body="the secret plan")
            sent = harness.clock()
            harness.read(app, red, message)
            harness.read(lib, green, message)
            harness.converts = False
            harness.archive()
        harness.clock.step(40 * 86_400)
        harness.converts = request.param
        harness.archive()
        old = OldMessage(id=message.id, created_ts=Micros(0), may_go=True, copies=2, body_bytes=1)
        with harness.together():
            assert _purge([old], RetentionCutoff(at=cutoff_of(harness.clock(), 30)), harness.tx) == (1, [])
        harness.archive()
        harness.converts = True
        harness.archive()
        yield Converted(harness, app, lib, red, green, sent)


def inbox_of(
    view: View, past: PastStore, at: Micros, *, name: str = "RedStone", limit: int = 100
) -> list[dict[str, Any]]:
    agent, project = past.agent(view, name)
    places = StorePlaces(storage_root=past.root)
    return show_past_inbox(read_past_inbox(view, agent, project, places, at=at, limit=limit))


@pytest.mark.parametrize("moment", MOMENTS)
def test_the_inbox_of_then_is_what_was_fetched_then(view: View, past: PastStore, moment: str) -> None:
    shown = inbox_of(view, past, past.at[moment])

    assert [{key: value for key, value in item.items() if key != "purged_at"} for item in shown] == past.inboxes[moment]


def test_a_text_that_was_purged_since_says_so_and_one_that_was_purged_by_then_is_a_tombstone(
    view: View, past: PastStore
) -> None:
    before, after = (
        next(item for item in inbox_of(view, past, past.at[moment]) if item["id"] == past.ids["plan"])
        for moment in ("returned", "purged")
    )

    assert (before["body_md"], before["purged_at"]) == (TEXT, past.iso("purged"))
    assert [one["name"] for one in before["attachments"]] == ["attachment.txt"]
    assert "Purged on" in after["body_md"]
    assert "purged_at" not in after


def test_mail_that_came_later_is_not_there_and_a_moment_before_everything_has_none(view: View, past: PastStore) -> None:
    just_before = Micros(past.at["sent"] - 1)

    assert inbox_of(view, past, just_before) == []
    assert inbox_of(view, past, Micros(0)) == []
    assert [item["id"] for item in inbox_of(view, past, Micros(past.at["purged"] + SECOND), limit=1)] == [
        past.ids["late"]
    ]


def test_a_held_copy_is_there_from_its_approval_on(view: View, past: PastStore) -> None:
    green, lib = past.agent(view, "GreenField", project="/code/lib")
    places = StorePlaces(storage_root=past.root)

    held, approved = (
        read_past_inbox(view, green, lib, places, at=past.at[moment], limit=20) for moment in ("read", "answered")
    )

    assert [one.head.id for one in held.entries if one.head.id == past.ids["held"]] == []
    assert [one.head.id for one in approved.entries if one.head.id == past.ids["held"]] == [past.ids["held"]]


def test_where_the_archive_is_gone_the_text_is_missing_and_nothing_is_made_up(own_past: PastStore) -> None:
    shutil.rmtree(own_past.archive_of(APP))

    with own_past.view() as view:
        (plan,) = (one for one in inbox_of(view, own_past, own_past.at["sent"]) if one["id"] == own_past.ids["plan"])

    assert (plan["body_md"], plan["body_missing"], "body_omitted" in plan) == (None, "archive_missing", False)


def test_where_git_has_forgotten_the_text_that_is_said(own_past: PastStore) -> None:
    own_past.execute("UPDATE outbox SET commit_id = (SELECT max(id) FROM commits)")

    with own_past.view() as view:
        (plan,) = (one for one in inbox_of(view, own_past, own_past.at["sent"]) if one["id"] == own_past.ids["plan"])

    assert (plan["body_md"], plan["body_missing"]) == (None, "not_in_archive")


def test_a_text_is_found_in_an_archive_that_was_converted_since(converted: Converted) -> None:
    assert converted.body_of(converted.red, converted.app) == "the secret plan"


def test_without_the_senders_archive_the_readers_own_has_the_text(converted: Converted) -> None:
    shutil.rmtree(converted.harness.path(converted.app))

    assert converted.body_of(converted.green, converted.lib) == "the secret plan"
    assert converted.body_of(converted.red, converted.app) is None


def test_a_text_for_which_one_answer_has_no_room_is_left_out(view: View, past: PastStore) -> None:
    agent, project = past.agent(view, "RedStone")
    head = view.messages.find_head(MessageId(past.ids["plan"]))
    assert head is not None
    places = StorePlaces(storage_root=past.root)

    just_enough, too_little = (
        _RecoveredTexts(view, agent, project, places, room=room)
        for room in (escaped_bytes(TEXT), escaped_bytes(TEXT) - 1)
    )

    assert isinstance(just_enough.read(head), ArchivedMail)
    assert just_enough.read(head) is None
    assert too_little.read(head) is None


def test_inline_attachments_come_along_while_their_contents_are_there(own_past: PastStore) -> None:
    own_past.execute(
        "UPDATE message_attachments SET attachments = replace(attachments, '\"is_inline\":false', '\"is_inline\":true')"
    )

    def attachment() -> dict[str, Any]:
        with own_past.view() as view:
            (item,) = (
                one for one in inbox_of(view, own_past, own_past.at["purged"]) if one["id"] == own_past.ids["late"]
            )
        (one,) = item["attachments"]
        return dict(one)

    there = attachment()
    shutil.rmtree(own_past.root / "attachments")
    gone = attachment()

    assert (there["type"], there["data_base64"]) == ("inline", "VGhlIG5vdGVzLg==")
    assert "data_base64" not in gone


def test_what_replaced_a_message_later_is_not_of_then(own_past: PastStore) -> None:
    plan, late, at = own_past.ids["plan"], own_past.ids["late"], own_past.at["purged"]
    own_past.execute(
        f"UPDATE recipients SET superseded_by = {late}, withdrawn_ts = {at} WHERE message_id = {plan} AND kind = 'to'"
    )

    with own_past.view() as view:
        (then,) = (one for one in inbox_of(view, own_past, own_past.at["read"]) if one["id"] == plan)

    assert {key: value for key, value in then.items() if key != "purged_at"} == next(
        one for one in own_past.inboxes["read"] if one["id"] == plan
    )


@pytest.mark.parametrize(("front", "is_read"), [(10_000, True), (0, False)])
def test_a_file_that_is_larger_than_any_front_and_the_room_is_not_read(
    view: View, past: PastStore, monkeypatch: pytest.MonkeyPatch, front: int, is_read: bool
) -> None:
    monkeypatch.setattr(past_inboxes, "_FRONT_BYTES", front)
    agent, project = past.agent(view, "RedStone")
    head = view.messages.find_head(MessageId(past.ids["plan"]))
    assert head is not None

    texts = _RecoveredTexts(view, agent, project, StorePlaces(storage_root=past.root), room=escaped_bytes(TEXT))

    assert (texts.read(head) is not None) is is_read


@pytest.mark.parametrize(("number", "told"), [("1", (TEXT, None)), ("7", (None, "not_in_archive"))])
def test_a_file_that_says_it_is_another_message_is_not_its_text(
    own_past: PastStore, number: str, told: tuple[str | None, str | None]
) -> None:
    archive = own_past.archive_of(APP)
    (file,) = archive.glob(f"messages/*/*/*/*__{own_past.ids['plan']}.md")
    path = file.relative_to(archive).as_posix()
    written = git(archive, "log", "--reverse", "--format=%H", "--", path).split()[0]
    content = git(archive, "show", f"{written}:{path}")
    assert content.count('"id": 1,') == 1
    file.write_text(content.replace('"id": 1,', f'"id": {number},'))
    git(archive, "commit", "-q", "--no-verify", "-m", "by hand", "--", path)
    own_past.execute(
        f"UPDATE commits SET hexsha = '{git(archive, 'rev-parse', 'HEAD').strip()}' WHERE hexsha = '{written}'"
    )

    with own_past.view() as view:
        (plan,) = (one for one in inbox_of(view, own_past, own_past.at["sent"]) if one["id"] == own_past.ids["plan"])

    assert (plan["body_md"], plan.get("body_missing")) == told


@pytest.mark.parametrize("content", [b"", b"The note", b"The notes. And more."])
def test_contents_that_are_not_what_they_were_do_not_come_along(own_past: PastStore, content: bytes) -> None:
    own_past.execute(
        "UPDATE message_attachments SET attachments = replace(attachments, '\"is_inline\":false', '\"is_inline\":true')"
    )
    for file in (own_past.root / "attachments").rglob("*"):
        if file.is_file() and file.read_bytes() == b"The notes.":
            file.chmod(0o600)
            file.write_bytes(content)

    with own_past.view() as view:
        (late,) = (one for one in inbox_of(view, own_past, own_past.at["purged"]) if one["id"] == own_past.ids["late"])

    assert [one["name"] for one in late["attachments"]] == ["attachment.txt"]
    assert "data_base64" not in late["attachments"][0]
