"""What a commit of a batch must hold, by which it is recognised."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import OutboxSeq
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.archive_format.blobs import blob_id
from mcp_agent_mail.domain.archive_format.layout import mail_files, mail_snapshot, profile_snapshot
from mcp_agent_mail.domain.archive_format.leases import stand_in
from mcp_agent_mail.domain.archive_format.versions import FORMAT_VERSION, OLDEST_VERSION
from mcp_agent_mail.domain.events import EventKind, OutboxEvent
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving import batch_content
from mcp_agent_mail.features.archiving.batch_content import up_to_size, what_was_written
from tests.archive_harness import ArchiveHarness, fill


def event(kind: EventKind, snapshot: dict[str, Any]) -> OutboxEvent:
    return OutboxEvent(
        seq=OutboxSeq(1),
        project_id=1,  # type: ignore[arg-type]  # any project
        project_slug="code-app",
        kind=kind,
        agent_id=None,
        created_ts=Micros(0),
        snapshot=snapshot,
    )


def agent_of(harness: ArchiveHarness, project: Project, name: str) -> Agent:
    agent = harness.tx.agents.find_by_name(project.id, name)
    assert agent is not None
    return agent


@pytest.fixture
def project(harness: ArchiveHarness, tmp_path: Path) -> Project:
    return fill(harness, tmp_path / "app")


@dataclass
class Sent:
    """A message to two, one of them of another project, as the archive of the sender's project has it."""

    snapshot: dict[str, Any]
    files: dict[str, bytes]


@pytest.fixture
def sent(harness: ArchiveHarness, project: Project) -> Sent:
    blue, red = (agent_of(harness, project, name) for name in ("BlueLake", "RedStone"))
    message = harness.send(blue, [blue, red])
    snapshot = mail_snapshot(message, harness.tx.messages.recipients(message.id), project.id)
    return Sent(snapshot, dict(mail_files(snapshot, FORMAT_VERSION)))


def test_of_mail_it_is_told_what_was_written_and_of_profiles_only_where(
    harness: ArchiveHarness, project: Project, sent: Sent
) -> None:
    blue = agent_of(harness, project, "BlueLake")
    batch = [event(EventKind.MAIL, sent.snapshot), event(EventKind.PROFILE, profile_snapshot(blue))]

    written = what_was_written(batch, harness.store_id, FORMAT_VERSION)

    blobs = {path: blob_id(content) for path, content in sent.files.items()}
    assert written.blobs == blobs | {"agents/BlueLake/profile.json": None}
    assert not written.is_vague


def test_of_mail_whose_text_is_gone_only_where_it_lies_is_told(sent: Sent) -> None:
    written = what_was_written([event(EventKind.MAIL, sent.snapshot | {"purged_ts": 1})], "store", FORMAT_VERSION)

    assert written.blobs == dict.fromkeys(sent.files)
    assert not written.is_vague


def test_of_who_had_got_held_mail_by_then_nothing_is_told(sent: Sent) -> None:
    recipients = [
        entry
        | (
            {"held_code": "CONTACT_REQUIRED", "status": "held", "refused_ts": None}
            if entry["name"] == "RedStone"
            else {}
        )
        for entry in sent.snapshot["recipients"]
    ]

    written = what_was_written(
        [event(EventKind.MAIL, sent.snapshot | {"recipients": recipients})], "store", FORMAT_VERSION
    )

    assert set(written.blobs) == {path for path in sent.files if "RedStone" not in path}
    assert set(written.blobs.values()) == {None}
    assert written.is_vague


def test_of_what_is_put_in_for_something_that_changed_since_nothing_is_told(
    harness: ArchiveHarness, project: Project
) -> None:
    blue = agent_of(harness, project, "BlueLake")

    written = what_was_written([event(EventKind.PROFILE, stand_in(profile_snapshot(blue)))], "store", FORMAT_VERSION)

    assert (written.blobs, written.is_vague) == ({}, True)


def test_in_another_version_of_the_format_it_is_told_as_that_has_it(sent: Sent) -> None:
    batch = [event(EventKind.MAIL, sent.snapshot)]
    before, now = (what_was_written(batch, "store", version).blobs for version in (OLDEST_VERSION, FORMAT_VERSION))

    assert len(before) == len(now)
    assert set(before).isdisjoint(now)
    assert set(before.values()).isdisjoint(now.values())


def test_what_mail_carries_counts_for_nothing(harness: ArchiveHarness, project: Project) -> None:
    blue, red = (agent_of(harness, project, name) for name in ("BlueLake", "RedStone"))
    message = harness.send(blue, [red], carried=[b"the plan"])
    snapshot = mail_snapshot(message, harness.tx.messages.recipients(message.id), project.id)

    written = what_was_written([event(EventKind.MAIL, snapshot)], harness.store_id, FORMAT_VERSION)

    assert set(written.blobs) == {path for path, _ in mail_files(snapshot, FORMAT_VERSION)}


@pytest.mark.parametrize(
    ("limit", "count"), [(0, 1), (59, 1), (60, 1), (119, 1), (120, 3), (179, 3), (180, 4), (10_000, 4)]
)
def test_a_commit_brings_no_more_than_so_much_of_contents(
    harness: ArchiveHarness, project: Project, monkeypatch: pytest.MonkeyPatch, limit: int, count: int
) -> None:
    """Of the second and third message the contents are the same: they come once."""
    monkeypatch.setattr(batch_content, "LARGE_BYTES", limit)
    blue, red = (agent_of(harness, project, name) for name in ("BlueLake", "RedStone"))
    events = []
    for data in (b"1" * 60, b"2" * 60, b"2" * 60, b"3" * 60):
        message = harness.send(blue, [red], carried=[data])
        snapshot = mail_snapshot(message, harness.tx.messages.recipients(message.id), project.id)
        events.append(event(EventKind.MAIL, snapshot))

    assert len(up_to_size(events)) == count
