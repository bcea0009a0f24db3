"""The outbox at rest: what the archive still has to write, and which commit holds what it wrote.

A row enters in the unit of work that changes the state it tells of, so it exists exactly when
that change does. It is pending while `commit_id` is NULL; marking it done drops the snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import orjson

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import AgentId, MessageId, OutboxSeq, ProjectId
from mcp_agent_mail.domain.archive_format.layout import is_blind_receipt
from mcp_agent_mail.domain.events import (
    ArchiveCommit,
    Backlog,
    DoneEvent,
    EventKind,
    NewEvent,
    OutboxEvent,
    RecordedStep,
)
from mcp_agent_mail.store.engine.port import Connection
from mcp_agent_mail.store.mail.thread_pages import ThreadPages

MAX_EVENTS = 500
MAX_SNAPSHOT_CHARS = 8 * 1024 * 1024
"""Of one batch. The first event is always in, so one body of any legal size passes."""

MAX_STEPS = 50_000
"""Of one message: 5,500 recipients read and acknowledge it."""

MOST_UNOPENED = 200
"""Of one commit."""

_FIRST = OutboxSeq(0)
_NO_PROJECT = ProjectId(0)

_ADD = """
    INSERT INTO outbox (project_id, kind, agent_id, message_id, step, created_ts, snapshot, is_blind)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    RETURNING seq
"""
_PENDING = """
    SELECT o.seq, o.project_id, p.slug, o.kind, o.agent_id, o.created_ts, o.snapshot
    FROM outbox o JOIN projects p ON p.id = o.project_id
    WHERE o.project_id = ? AND o.seq > ? AND o.commit_id IS NULL
    ORDER BY o.seq LIMIT ?
"""
_NEXT_PROJECT = """
    SELECT project_id FROM outbox WHERE commit_id IS NULL AND project_id > ? ORDER BY project_id, seq LIMIT 1
"""
_HAS_PENDING = "SELECT 1 FROM outbox WHERE project_id = ? AND seq > ? AND commit_id IS NULL LIMIT 1"
_COUNT_PENDING = "SELECT count(*) FROM outbox WHERE project_id = ? AND seq > ? AND commit_id IS NULL"
_HIGHEST_SEQ = "SELECT seq FROM sqlite_sequence WHERE name = 'outbox'"
_BACKLOG = "SELECT count(*) FROM outbox WHERE commit_id IS NULL"
_OLDEST = "SELECT created_ts FROM outbox WHERE commit_id IS NULL ORDER BY seq LIMIT 1"
_COMMIT_COLUMNS = "c.project_id, c.hexsha, c.summary, c.authored_ts, c.last_seq"
_HAS_COMMIT = "SELECT 1 FROM commits WHERE project_id = ? AND hexsha = ?"
_LAST_COMMIT = f"SELECT {_COMMIT_COLUMNS} FROM commits c WHERE +c.project_id = ? ORDER BY c.id DESC LIMIT 1"
_LAST_COMMIT_AT = "SELECT authored_ts FROM commits ORDER BY id DESC LIMIT 1"
_BY_LAST_COMMIT = "SELECT project_id FROM commits GROUP BY project_id ORDER BY max(id) DESC, project_id"
_ADD_COMMIT = """
    INSERT INTO commits (project_id, hexsha, summary, authored_ts, last_seq) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (project_id, hexsha) DO UPDATE SET last_seq = max(last_seq, excluded.last_seq)
    RETURNING id
"""
_MARK = """
    UPDATE outbox SET commit_id = ?, snapshot = NULL
    WHERE project_id = ? AND seq <= ? AND commit_id IS NULL
"""
_DONE = """
    SELECT seq, kind, agent_id, message_id, step, is_blind FROM outbox
    WHERE project_id = ? AND seq > ? AND commit_id IS NOT NULL
    ORDER BY seq LIMIT ?
"""
_REOPEN = "UPDATE outbox SET commit_id = NULL, snapshot = ? WHERE seq = ?"
_RENUMBER = """
    INSERT INTO outbox (project_id, kind, agent_id, message_id, step, created_ts, snapshot, is_blind)
    SELECT project_id, kind, agent_id, message_id, step, created_ts, snapshot, is_blind FROM outbox
    WHERE project_id = ? ORDER BY seq
"""
_REMOVE_UP_TO = "DELETE FROM outbox WHERE project_id = ? AND seq <= ?"
_COMMITS = f"SELECT {_COMMIT_COLUMNS} FROM commits c WHERE c.project_id = ? ORDER BY c.id"
_STEPS = """
    SELECT o.project_id, o.kind, o.agent_id, o.step, c.hexsha FROM outbox o LEFT JOIN commits c ON c.id = o.commit_id
    WHERE o.seq IN (
        SELECT min(seq) FROM outbox INDEXED BY outbox_message
        WHERE message_id = ? AND kind IN ('mail', 'receipt') GROUP BY project_id, kind, agent_id, step)
    ORDER BY o.seq LIMIT ?
"""
_COMMITS_OF_MAIL = """
    SELECT DISTINCT c.id, c.hexsha FROM outbox o INDEXED BY outbox_message JOIN commits c ON c.id = o.commit_id
    WHERE o.message_id = ? AND o.project_id = ? AND o.kind = 'mail'
    ORDER BY c.id DESC LIMIT ?
"""
_UNOPENED_MAIL = """
    SELECT DISTINCT o.message_id FROM commits c JOIN outbox o INDEXED BY outbox_commit ON o.commit_id = c.id
    WHERE c.project_id = :project AND c.hexsha = :hexsha AND o.kind = 'mail' AND NOT EXISTS (
        SELECT 1 FROM message_projects p WHERE p.project_id = :project AND p.message_id = o.message_id)
    LIMIT :most
"""
_FORGET_COMMITS = "DELETE FROM commits WHERE project_id = ?"

_CommitRow = tuple[int, str, str, int, int]


def _commit(row: _CommitRow) -> ArchiveCommit:
    project_id, hexsha, summary, authored_ts, last_seq = row
    return ArchiveCommit(
        project_id=ProjectId(project_id),
        hexsha=hexsha,
        summary=summary,
        authored_ts=Micros(authored_ts),
        last_seq=OutboxSeq(last_seq),
    )


def _as_text(snapshot: dict[str, Any]) -> str:
    return orjson.dumps(snapshot).decode()


class Outbox:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, event: NewEvent, now: Micros) -> OutboxSeq:
        """Queue one event for the archive of its project, in the transaction of the change it tells of."""
        step = event.snapshot["step"] if event.kind is EventKind.RECEIPT else None
        snapshot = _as_text(event.snapshot)
        is_blind = event.kind is EventKind.RECEIPT and is_blind_receipt(event.snapshot)
        values = (event.project_id, event.kind.value, event.agent_id, event.message_id, step, now, snapshot, is_blind)
        (seq,) = self._connection.execute(_ADD, values).fetchone()
        return OutboxSeq(seq)

    @property
    def pages(self) -> ThreadPages:
        """What events of mail make due, over the same connection."""
        return ThreadPages(self._connection)

    def pending(
        self,
        project_id: ProjectId,
        *,
        after: OutboxSeq = _FIRST,
        limit: int = MAX_EVENTS,
        max_chars: int = MAX_SNAPSHOT_CHARS,
    ) -> list[OutboxEvent]:
        """The oldest pending events of one project, at most `limit` of them and about `max_chars` of snapshots."""
        events: list[OutboxEvent] = []
        room = max_chars
        rows = self._connection.execute(_PENDING, (project_id, after, limit))
        for seq, project, slug, kind, agent_id, created_ts, snapshot in rows:
            room -= len(snapshot)
            if events and room < 0:
                break
            events.append(
                OutboxEvent(
                    seq=OutboxSeq(seq),
                    project_id=ProjectId(project),
                    project_slug=slug,
                    kind=EventKind(kind),
                    agent_id=None if agent_id is None else AgentId(agent_id),
                    created_ts=Micros(created_ts),
                    snapshot=orjson.loads(snapshot),
                )
            )
        rows.close()
        return events

    def projects_by_last_commit(self) -> list[ProjectId]:
        """Every project whose archive has a commit, the one that was committed to last first."""
        return [project_id for (project_id,) in self._connection.execute(_BY_LAST_COMMIT)]

    def pending_projects(self, *, after: ProjectId = _NO_PROJECT) -> Iterator[ProjectId]:
        """Every project above `after` with a pending event, by id: one index probe each, however long the backlog."""
        project_id: int = after
        while (row := self._connection.execute(_NEXT_PROJECT, (project_id,)).fetchone()) is not None:
            (project_id,) = row
            yield ProjectId(project_id)

    def has_pending(self, project_id: ProjectId, *, after: OutboxSeq = _FIRST) -> bool:
        return self._connection.execute(_HAS_PENDING, (project_id, after)).fetchone() is not None

    def count_pending(self, project_id: ProjectId, *, after: OutboxSeq = _FIRST) -> int:
        (count,) = self._connection.execute(_COUNT_PENDING, (project_id, after)).fetchone()
        return int(count)

    def highest_seq(self) -> OutboxSeq:
        """The newest `seq` ever given out, 0 before the first."""
        row = self._connection.execute(_HIGHEST_SEQ).fetchone()
        return OutboxSeq(0 if row is None else row[0])

    def backlog(self, now: Micros) -> Backlog:
        """What the archives of all projects together still owe; the age of the oldest event in seconds,
        never below 0.
        """
        (count,) = self._connection.execute(_BACKLOG).fetchone()
        oldest = self._connection.execute(_OLDEST).fetchone()
        age = 0.0 if oldest is None else max(0.0, (now - oldest[0]) / SECOND)
        return Backlog(pending_events=count, oldest_pending_s=age)

    def mark(self, commit: ArchiveCommit) -> int:
        """Record `commit` and that it holds every pending event of its project up to `last_seq`.

        Returns how many events were pending. A repeat changes nothing.
        """
        values = (commit.project_id, commit.hexsha, commit.summary, commit.authored_ts, commit.last_seq)
        (commit_id,) = self._connection.execute(_ADD_COMMIT, values).fetchone()
        return self._connection.execute(_MARK, (commit_id, commit.project_id, commit.last_seq)).rowcount

    def reopen(self, project_id: ProjectId, snapshot_of: Callable[[DoneEvent], dict[str, Any]]) -> int:
        """Make every done event of the project pending again, and forget its commits; how many events those were."""
        count, after = 0, _FIRST
        while some := self.reopen_some(project_id, snapshot_of, after=after, limit=MAX_EVENTS):
            count, after = count + len(some), some[-1]
        self.forget_commits(project_id)
        return count

    def reopen_some(
        self,
        project_id: ProjectId,
        snapshot_of: Callable[[DoneEvent], dict[str, Any]],
        *,
        after: OutboxSeq,
        limit: int,
    ) -> list[OutboxSeq]:
        """Make the oldest done events of the project above `after` pending again; their numbers. None: none is left."""
        rows = self._connection.execute(_DONE, (project_id, after, limit)).fetchall()
        for seq, kind, agent_id, message_id, step, is_blind in rows:
            done = DoneEvent(
                seq=OutboxSeq(seq),
                kind=EventKind(kind),
                agent_id=None if agent_id is None else AgentId(agent_id),
                message_id=None if message_id is None else MessageId(message_id),
                step=step,
                is_blind=bool(is_blind),
            )
            self._connection.execute(_REOPEN, (_as_text(snapshot_of(done)), seq))
        return [OutboxSeq(row[0]) for row in rows]

    def forget_commits(self, project_id: ProjectId) -> None:
        """The archive has none, as far as the store knows. No event of the project may be done any more."""
        self._connection.execute(_FORGET_COMMITS, (project_id,))

    def renumber(self, project_id: ProjectId) -> None:
        """Give all events of the project, which are all pending, new numbers in the same order."""
        highest = self.highest_seq()
        self._connection.execute(_RENUMBER, (project_id,))
        self._connection.execute(_REMOVE_UP_TO, (project_id, highest))

    def commits(self, project_id: ProjectId) -> list[ArchiveCommit]:
        """Every commit that holds events of the project, oldest first."""
        return [_commit(row) for row in self._connection.execute(_COMMITS, (project_id,))]

    def steps_of(self, message_id: MessageId, limit: int = MAX_STEPS) -> list[RecordedStep]:
        """What archives were told of a message, each project's first time of each agent's each step, in that order."""
        rows = self._connection.execute(_STEPS, (message_id, limit))
        return [
            RecordedStep(
                project_id=ProjectId(project_id),
                kind=EventKind(kind),
                agent_id=None if agent_id is None else AgentId(agent_id),
                step=step,
                hexsha=hexsha,
            )
            for project_id, kind, agent_id, step, hexsha in rows
        ]

    def commits_of_mail(self, project_id: ProjectId, message_id: MessageId, limit: int) -> list[str]:
        """The hexshas of the commits that wrote the message in this project's archive, newest first."""
        rows = self._connection.execute(_COMMITS_OF_MAIL, (message_id, project_id, limit))
        return [hexsha for _, hexsha in rows]

    def unopened_mail(self, project_id: ProjectId, hexsha: str) -> tuple[list[MessageId], bool]:
        """The messages that the commit wrote and that are not open to all of the project, or not any more: at most
        MOST_UNOPENED, and whether these are all.
        """
        asked = {"project": project_id, "hexsha": hexsha, "most": MOST_UNOPENED + 1}
        found = [MessageId(row[0]) for row in self._connection.execute(_UNOPENED_MAIL, asked)]
        return found[:MOST_UNOPENED], len(found) <= MOST_UNOPENED

    def has_commit(self, project_id: ProjectId, hexsha: str) -> bool:
        """Was this commit seen in the project's archive?"""
        return self._connection.execute(_HAS_COMMIT, (project_id, hexsha)).fetchone() is not None

    def last_commit(self, project_id: ProjectId) -> ArchiveCommit | None:
        """The commit of the project's newest done event."""
        row = self._connection.execute(_LAST_COMMIT, (project_id,)).fetchone()
        return None if row is None else _commit(row)

    def last_commit_at(self) -> Micros | None:
        """When any archive was last committed to."""
        row = self._connection.execute(_LAST_COMMIT_AT).fetchone()
        return None if row is None else Micros(row[0])
