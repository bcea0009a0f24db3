from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import OutboxSeq
from mcp_agent_mail.domain.events import ArchiveCommit, EventKind, NewEvent
from mcp_agent_mail.domain.projects import Project
from tests.archive_harness import ArchiveHarness, open_archive_harness


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[ArchiveHarness]:
    with open_archive_harness(tmp_path) as opened:
        yield opened


def add_project(harness: ArchiveHarness, path: str) -> Project:
    slug = path.strip("/").replace("/", "-")
    return harness.tx.projects.add(slug=slug, human_key=path, plain_slug=slug, now=harness.clock())


def add_events(harness: ArchiveHarness, project: Project, count: int, text: str = "x") -> list[OutboxSeq]:
    event = NewEvent(
        project_id=project.id, kind=EventKind.PROFILE, agent_id=None, message_id=None, snapshot={"text": text}
    )
    return [harness.tx.outbox.add(event, harness.clock()) for _ in range(count)]


def commit(project: Project, last_seq: OutboxSeq, hexsha: str = "a" * 40) -> ArchiveCommit:
    return ArchiveCommit(
        project_id=project.id, hexsha=hexsha, summary="archive: n events", authored_ts=Micros(7), last_seq=last_seq
    )


def test_pending_events_come_oldest_first_after_the_one_named(harness: ArchiveHarness) -> None:
    project = add_project(harness, "/code/app")
    first, second, third = add_events(harness, project, 3)

    found = harness.tx.outbox.pending(project.id, after=first, limit=2)

    assert [event.seq for event in found] == [second, third]
    assert found[0].snapshot == {"text": "x"}
    assert found[0].project_slug == "code-app"


def test_a_batch_is_bounded_in_size_and_never_empty_while_something_is_pending(harness: ArchiveHarness) -> None:
    project = add_project(harness, "/code/app")
    seqs = add_events(harness, project, 3, text="x" * 100)

    assert [event.seq for event in harness.tx.outbox.pending(project.id, max_chars=250)] == seqs[:2]
    assert [event.seq for event in harness.tx.outbox.pending(project.id, max_chars=1)] == seqs[:1]


def test_marking_ends_what_is_pending_up_to_the_commit_in_its_project_alone(harness: ArchiveHarness) -> None:
    app, lib = add_project(harness, "/code/app"), add_project(harness, "/code/lib")
    (first,) = add_events(harness, app, 1)
    (other,) = add_events(harness, lib, 1)
    (last,) = add_events(harness, app, 1)

    marked = harness.tx.outbox.mark(commit(app, OutboxSeq(last - 1)))

    assert marked == 1
    assert [event.seq for event in harness.tx.outbox.pending(app.id)] == [last]
    assert [event.seq for event in harness.tx.outbox.pending(lib.id)] == [other]
    assert first < other < last


def test_marking_twice_changes_nothing(harness: ArchiveHarness) -> None:
    project = add_project(harness, "/code/app")
    (seq,) = add_events(harness, project, 1)
    harness.tx.outbox.mark(commit(project, seq))

    again = harness.tx.outbox.mark(commit(project, seq))

    assert again == 0
    assert harness.connection.execute("SELECT count(*) FROM commits").fetchone() == (1,)
    assert harness.tx.outbox.last_commit(project.id) == commit(project, seq)


def test_a_receipt_keeps_its_step_when_its_snapshot_is_gone(harness: ArchiveHarness) -> None:
    project = harness.add_project("/code/app")
    blue, red = harness.add_agent(project, "BlueLake"), harness.add_agent(project, "RedStone")
    harness.read(project, red, harness.send(blue, [red]))

    harness.tx.outbox.mark(commit(project, harness.tx.outbox.highest_seq()))

    rows = harness.connection.execute("SELECT step, snapshot FROM outbox WHERE kind = 'receipt'").fetchall()
    assert rows == [("read", None)]


def test_the_backlog_says_how_much_and_how_old(harness: ArchiveHarness) -> None:
    project = add_project(harness, "/code/app")
    empty = harness.tx.outbox.backlog(harness.clock())
    add_events(harness, project, 2)
    harness.clock.step(3)

    filled = harness.tx.outbox.backlog(harness.clock())

    assert (empty.pending_events, empty.oldest_pending_s) == (0, 0.0)
    assert (filled.pending_events, filled.oldest_pending_s) == (2, 3.0)


def test_the_commit_of_a_message_is_told_per_project(harness: ArchiveHarness) -> None:
    app, lib = harness.add_project("/code/app"), harness.add_project("/code/lib")
    blue, fox = harness.add_agent(app, "BlueLake"), harness.add_agent(lib, "QuietFox")
    message = harness.send(blue, [fox])

    last = harness.tx.outbox.highest_seq()
    harness.tx.outbox.mark(commit(lib, last, "b" * 40))

    assert harness.commit_of_message(lib, message.id) == ("b" * 40, last)
    assert harness.commit_of_message(app, message.id) is None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT project_id FROM outbox WHERE commit_id IS NULL AND project_id > 0 ORDER BY project_id, seq LIMIT 1",
        "SELECT 1 FROM outbox WHERE project_id = 1 AND seq > 0 AND commit_id IS NULL LIMIT 1",
        "SELECT created_ts FROM outbox WHERE commit_id IS NULL ORDER BY seq LIMIT 1",
    ],
)
def test_looking_for_work_never_scans_what_is_done(harness: ArchiveHarness, sql: str) -> None:
    plan = harness.connection.execute(f"EXPLAIN QUERY PLAN {sql}").fetchall()

    assert any("INDEX outbox_pending" in row[3] or "INDEX outbox_oldest" in row[3] for row in plan)
    assert not any("TEMP B-TREE" in row[3] for row in plan)
