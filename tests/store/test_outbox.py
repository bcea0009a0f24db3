from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import OutboxSeq
from mcp_agent_mail.domain.events import ArchiveCommit, EventKind, NewEvent
from mcp_agent_mail.domain.projects import Project
from tests.archive_room import ArchiveRoom, open_archive_room


@pytest.fixture
def room(tmp_path: Path) -> Iterator[ArchiveRoom]:
    with open_archive_room(tmp_path) as opened:
        yield opened


def add_project(room: ArchiveRoom, path: str) -> Project:
    slug = path.strip("/").replace("/", "-")
    return room.tx.projects.add(slug=slug, human_key=path, plain_slug=slug, now=room.clock())


def add_events(room: ArchiveRoom, project: Project, count: int, text: str = "x") -> list[OutboxSeq]:
    event = NewEvent(
        project_id=project.id, kind=EventKind.PROFILE, agent_id=None, message_id=None, snapshot={"text": text}
    )
    return [room.tx.outbox.add(event, room.clock()) for _ in range(count)]


def commit(project: Project, last_seq: OutboxSeq, hexsha: str = "a" * 40) -> ArchiveCommit:
    return ArchiveCommit(
        project_id=project.id, hexsha=hexsha, summary="archive: n events", authored_ts=Micros(7), last_seq=last_seq
    )


def test_pending_events_come_oldest_first_after_the_one_named(room: ArchiveRoom) -> None:
    project = add_project(room, "/code/app")
    first, second, third = add_events(room, project, 3)

    found = room.tx.outbox.pending(project.id, after=first, limit=2)

    assert [event.seq for event in found] == [second, third]
    assert found[0].snapshot == {"text": "x"}
    assert found[0].project_slug == "code-app"


def test_a_batch_is_bounded_in_size_and_never_empty_while_something_is_pending(room: ArchiveRoom) -> None:
    project = add_project(room, "/code/app")
    seqs = add_events(room, project, 3, text="x" * 100)

    assert [event.seq for event in room.tx.outbox.pending(project.id, max_chars=250)] == seqs[:2]
    assert [event.seq for event in room.tx.outbox.pending(project.id, max_chars=1)] == seqs[:1]


def test_marking_ends_what_is_pending_up_to_the_commit_in_its_project_alone(room: ArchiveRoom) -> None:
    app, lib = add_project(room, "/code/app"), add_project(room, "/code/lib")
    (first,) = add_events(room, app, 1)
    (other,) = add_events(room, lib, 1)
    (last,) = add_events(room, app, 1)

    marked = room.tx.outbox.mark(commit(app, OutboxSeq(last - 1)))

    assert marked == 1
    assert [event.seq for event in room.tx.outbox.pending(app.id)] == [last]
    assert [event.seq for event in room.tx.outbox.pending(lib.id)] == [other]
    assert first < other < last


def test_marking_twice_changes_nothing(room: ArchiveRoom) -> None:
    project = add_project(room, "/code/app")
    (seq,) = add_events(room, project, 1)
    room.tx.outbox.mark(commit(project, seq))

    again = room.tx.outbox.mark(commit(project, seq))

    assert again == 0
    assert room.connection.execute("SELECT count(*) FROM commits").fetchone() == (1,)
    assert room.tx.outbox.last_commit(project.id) == commit(project, seq)


def test_a_receipt_keeps_its_step_when_its_snapshot_is_gone(room: ArchiveRoom) -> None:
    project = room.add_project("/code/app")
    blue, red = room.add_agent(project, "BlueLake"), room.add_agent(project, "RedStone")
    room.read(project, red, room.send(blue, [red]))

    room.tx.outbox.mark(commit(project, room.tx.outbox.highest_seq()))

    rows = room.connection.execute("SELECT step, snapshot FROM outbox WHERE kind = 'receipt'").fetchall()
    assert rows == [("read", None)]


def test_the_backlog_says_how_much_and_how_old(room: ArchiveRoom) -> None:
    project = add_project(room, "/code/app")
    empty = room.tx.outbox.backlog(room.clock())
    add_events(room, project, 2)
    room.clock.step(3)

    filled = room.tx.outbox.backlog(room.clock())

    assert (empty.pending_events, empty.oldest_pending_s) == (0, 0.0)
    assert (filled.pending_events, filled.oldest_pending_s) == (2, 3.0)


def test_the_commit_of_a_message_is_told_per_project(room: ArchiveRoom) -> None:
    app, lib = room.add_project("/code/app"), room.add_project("/code/lib")
    blue, fox = room.add_agent(app, "BlueLake"), room.add_agent(lib, "QuietFox")
    message = room.send(blue, [fox])

    last = room.tx.outbox.highest_seq()
    room.tx.outbox.mark(commit(lib, last, "b" * 40))

    assert room.commit_of_message(lib, message.id) == ("b" * 40, last)
    assert room.commit_of_message(app, message.id) is None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT project_id FROM outbox WHERE commit_id IS NULL AND project_id > 0 ORDER BY project_id, seq LIMIT 1",
        "SELECT 1 FROM outbox WHERE project_id = 1 AND seq > 0 AND commit_id IS NULL LIMIT 1",
        "SELECT created_ts FROM outbox WHERE commit_id IS NULL ORDER BY seq LIMIT 1",
    ],
)
def test_looking_for_work_never_scans_what_is_done(room: ArchiveRoom, sql: str) -> None:
    plan = room.connection.execute(f"EXPLAIN QUERY PLAN {sql}").fetchall()

    assert any("INDEX outbox_pending" in row[3] or "INDEX outbox_oldest" in row[3] for row in plan)
    assert not any("TEMP B-TREE" in row[3] for row in plan)
