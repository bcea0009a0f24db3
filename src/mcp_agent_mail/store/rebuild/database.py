"""A new database, filled with what archives say: ids and numbers as they were, what follows from them counted anew.

Written in one go without a journal: until `finish` returns it is nobody's store, and what is left of it is removed by
whoever began it. The triggers that live writes fire fill the search indexes.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from mcp_agent_mail.core.clock import Clock, Micros, system_clock
from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.core.file_sync import sync_path
from mcp_agent_mail.core.ids import AgentId, MessageId, OutboxSeq, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import AgentKind
from mcp_agent_mail.domain.archive_format.artifacts import (
    ArchivedAgent,
    ArchivedAlias,
    ArchivedContact,
    ArchivedLease,
    ArchivedOverdueNotice,
    ArchivedProductLink,
    ArchivedReceipt,
)
from mcp_agent_mail.domain.attachments import to_json
from mcp_agent_mail.domain.events import ArchiveCommit, EventKind
from mcp_agent_mail.domain.identity.names import name_key
from mcp_agent_mail.domain.importing.taken_records import ImportUnit
from mcp_agent_mail.domain.leases import LeaseKeys
from mcp_agent_mail.domain.messages import ReceiptStep
from mcp_agent_mail.domain.projects import Project, plain_slug
from mcp_agent_mail.store.doors.wire_names import WireNames
from mcp_agent_mail.store.engine.sqlite.connection import add_functions
from mcp_agent_mail.store.engine.sqlite.database_files import remove_unfinished
from mcp_agent_mail.store.engine.sqlite.migrate import migrate
from mcp_agent_mail.store.engine.sqlite.numbers import GAP, GivenNumbers, raise_in
from mcp_agent_mail.store.mail.inbox_counts import RECOUNT
from mcp_agent_mail.store.meta import Meta
from mcp_agent_mail.store.rebuild.ends import begin_feed, settle_ends
from mcp_agent_mail.store.rebuild.import_rows import add_import
from mcp_agent_mail.store.rebuild.mail_rows import MailRows, RebuiltMail
from mcp_agent_mail.store.rebuild.product_rows import link_product
from mcp_agent_mail.store.transaction import Tx

T = TypeVar("T")

_CACHE_KIB, _HASH_BYTES = 2 * 1024, 32
_ADD_PROJECT = """
INSERT INTO projects (id, slug, human_key, plain_slug, created_ts, archived_ts) VALUES (?, ?, ?, ?, ?, ?)
"""
_ADD_ALIAS = "INSERT INTO project_aliases (alias, project_id, kind, created_ts) VALUES (?, ?, ?, ?)"
_NOTE_STALE = "INSERT INTO stale_aliases (project_id) VALUES (?) ON CONFLICT DO NOTHING"
_ADD_AGENT = """
INSERT INTO agents (id, project_id, kind, name, name_key, program, model, task_description, inception_ts,
  last_active_ts, profiled_ts, contact_policy, attachments_policy, retired_ts, retired_by_operator, token_hash)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_ADD_CONTACT = """
INSERT INTO contacts (id, source_id, target_id, status, reason, created_ts, updated_ts, expires_ts)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET status = excluded.status, reason = excluded.reason, updated_ts = excluded.updated_ts,
    expires_ts = excluded.expires_ts
WHERE excluded.updated_ts >= updated_ts AND excluded.source_id = source_id AND excluded.target_id = target_id
"""
_IS_SAME_CONTACT = "SELECT 1 FROM contacts WHERE id = ? AND source_id = ? AND target_id = ?"
_ADD_LEASE = """
INSERT INTO leases (id, project_id, agent_id, kind, path_pattern, is_folder, ignore_case, anchor, tail, exclusive,
                    reason, branch, created_ts, expires_ts, released_ts, ended_by, evidence, fencing)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_HOLDER = "SELECT agent_id FROM leases WHERE id = ?"
_READ = "UPDATE recipients SET read_ts = coalesce(read_ts, :at) WHERE message_id = :message AND agent_id = :agent"
_ACKNOWLEDGED = """
UPDATE recipients SET read_ts = coalesce(read_ts, :at), ack_ts = coalesce(ack_ts, :at)
WHERE message_id = :message AND agent_id = :agent
"""
_ADD_NOTICE = "INSERT INTO overdue_notices (message_id, noted_ts, escalation) VALUES (?, ?, ?)"
_ADD_COMMIT = """
INSERT INTO commits (project_id, hexsha, summary, authored_ts, last_seq) VALUES (?, ?, ?, ?, ?)
"""
_COMMIT_ID = "SELECT id FROM commits WHERE project_id = ? AND hexsha = ?"
_ADD_EVENT = """
INSERT INTO outbox (seq, project_id, kind, agent_id, message_id, step, created_ts, commit_id, is_blind)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_WAS_HELD = "SELECT held_code IS NOT NULL FROM recipients WHERE message_id = ? AND agent_id = ?"
_HAS_CHANGED = """
SELECT purged_ts IS NOT NULL OR EXISTS (
    SELECT 1 FROM message_terms WHERE message_id = m.id AND (withdrawn_ts IS NOT NULL OR valid_until_ts IS NOT NULL))
  OR EXISTS (SELECT 1 FROM recipients WHERE message_id = m.id AND held_code IS NOT NULL)
FROM messages m WHERE id = ?
"""
_SENDER = "SELECT sender_id, created_ts FROM messages WHERE id = ?"
_NOTE_ACTIVITY = """
UPDATE agents SET last_active_ts = max(
    profiled_ts,
    coalesce((SELECT max(created_ts) FROM messages WHERE sender_id = agents.id), 0),
    coalesce((SELECT max(max(coalesce(read_ts, 0)), max(coalesce(ack_ts, 0))) FROM recipients
              WHERE agent_id = agents.id AND delivery_seq IS NOT NULL), 0),
    coalesce((SELECT max(created_ts) FROM leases WHERE agent_id = agents.id), 0))
WHERE kind = 'agent'
"""
_LEASES_BY_AGENT = "CREATE INDEX rebuilding_leases ON leases (agent_id, created_ts)"
_DROP_INDEX = "DROP INDEX rebuilding_leases"
_COUNTERS = """
UPDATE counters SET value = CASE name
    WHEN 'leases_ended' THEN (SELECT count(*) FROM leases WHERE released_ts IS NOT NULL)
    WHEN 'overdue' THEN coalesce((
        SELECT max(first) FROM (
            SELECT min(r.delivery_seq) AS first FROM overdue_notices n JOIN recipients r ON r.message_id = n.message_id
            WHERE r.delivery_seq IS NOT NULL GROUP BY n.message_id) AS told), 0)
    ELSE value END
"""
_HIGHEST = """
SELECT (SELECT coalesce(max(coalesce(delivery_seq, withdrawn_seq)), 0) FROM recipients),
       (SELECT coalesce(max(fencing), 0) FROM leases),
       (SELECT coalesce(max(delivered_ts), 0) FROM recipients)
"""
_FEED_TRIGGERS = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND name GLOB 'feed_*'"
_AUTOINCREMENT = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%AUTOINCREMENT%' ORDER BY name"
_FORGET_SEQUENCES = "DELETE FROM sqlite_sequence"
_STORE_ID = "UPDATE meta SET value = ? WHERE key = 'store_id'"
_BROKEN = "PRAGMA foreign_key_check"
_COUNTS = "SELECT (SELECT count(*) FROM projects), (SELECT count(*) FROM agents), (SELECT count(*) FROM messages)"


class RowsContradict(ValueError):
    """What the archives say cannot all be true: two things have one id, or something refers to what none tells of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuiltEvent:
    """An event that is in Git, with its number. `agent_id` is who acted; of a receipt whose it is."""

    seq: OutboxSeq
    project_id: ProjectId
    kind: EventKind
    agent_id: AgentId | None
    message_id: MessageId | None
    step: ReceiptStep | None
    created_ts: Micros
    commit_id: int
    is_blind: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuiltCounts:
    projects: int
    agents: int
    messages: int


class RebuiltDatabase:
    """`with RebuiltDatabase(path, store_id) as database:` at a place where nothing is; what fails leaves nothing there.

    Rows may refer to rows that come later. It is a store once `finish` has returned.
    """

    def __init__(self, path: Path, store_id: str, *, clock: Clock = system_clock) -> None:
        self._path = path
        self._store_id = store_id
        self._clock = clock
        self._is_finished = False
        self._highest_seq = 0

    def __enter__(self) -> Self:
        if os.path.lexists(self._path):
            raise FileExistsError(17, "a new database is made where nothing is", str(self._path))
        try:
            migrate(self._path, fault_hook=no_fault)
            self._connection = _opened(self._path)
            self._connection.execute("BEGIN EXCLUSIVE")
            self._connection.execute(_STORE_ID, (self._store_id,))
            self._no_token = Meta(self._connection).note_rebuilt()
            self._mail = MailRows(self._connection)
            # Of what archives tell no feed does: its triggers come back in the end.
            self._feed_triggers = self._connection.execute(_FEED_TRIGGERS).fetchall()
            for name, _ in self._feed_triggers:
                self._connection.execute(f"DROP TRIGGER {name}")
        except BaseException:
            remove_unfinished(self._path)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()
        if not self._is_finished:
            remove_unfinished(self._path)

    def _run(self, sql: str, values: Sequence[object]) -> sqlite3.Cursor:
        try:
            return self._connection.execute(sql, values)
        except sqlite3.IntegrityError as broken:
            raise RowsContradict(f"two things contradict each other: {broken}") from broken

    def add_project(self, project: Project, aliases: Iterable[ArchivedAlias]) -> None:
        """An alias of which nobody wrote down when it came, came with the project; its archive is to be told."""
        values = (project.id, project.slug, project.human_key, plain_slug(project.human_key))
        self._run(_ADD_PROJECT, (*values, project.created_ts, project.archived_ts))
        for alias in aliases:
            created_ts = project.created_ts if alias.created_ts is None else alias.created_ts
            self._run(_ADD_ALIAS, (alias.name, project.id, alias.kind.value, created_ts))
            if alias.created_ts is None:
                self._run(_NOTE_STALE, (project.id,))

    def add_agent(self, agent: ArchivedAgent) -> None:
        """Tokens are in no archive. Each name stays taken all the same: nobody knows a token that fits. A mailbox that
        nobody had spoken as waits for the first who does.
        """
        no_token = self._no_token + secrets.token_bytes(_HASH_BYTES - len(self._no_token))
        token_hash = no_token if agent.kind is AgentKind.AGENT and not agent.is_unclaimed else None
        self._run(
            _ADD_AGENT,
            (
                agent.id,
                agent.project_id,
                agent.kind.value,
                agent.name,
                name_key(agent.name),
                agent.program,
                agent.model,
                agent.task_description,
                agent.inception_ts,
                agent.profiled_ts,
                agent.profiled_ts,
                agent.contact_policy.value,
                agent.attachments_policy.value,
                *(agent.retired_ts, agent.retired_by_operator),
                token_hash,
            ),
        )
        try:
            WireNames(self._connection).restore(agent.aliases)
        except sqlite3.IntegrityError as broken:
            raise RowsContradict(f"a name of {agent.name} at doors contradicts another: {broken}") from broken

    def link_product(self, link: ArchivedProductLink) -> bool:
        """False where the product's id is another product's."""
        return self._checked(link_product, link)

    def add_contact(self, contact: ArchivedContact) -> bool:
        """Of two archives' files the newer one counts. False where the link's id is another link's."""
        ends = (contact.source.agent_id, contact.target.agent_id)
        times = (contact.created_ts, contact.updated_ts, contact.expires_ts)
        self._run(_ADD_CONTACT, (contact.id, *ends, contact.status, contact.reason, *times))
        return self._connection.execute(_IS_SAME_CONTACT, (contact.id, *ends)).fetchone() is not None

    def add_lease(self, lease: ArchivedLease, project_id: ProjectId, keys: LeaseKeys, evidence: str | None) -> None:
        """`keys` follow from its pattern; `evidence` is JSON."""
        values = (
            lease.id,
            project_id,
            lease.agent_id,
            lease.kind.value,
            lease.path_pattern,
            int(lease.is_folder),
            int(lease.ignore_case),
            keys.anchor,
            keys.tail,
            int(lease.exclusive),
            lease.reason,
            lease.branch,
            lease.created_ts,
            lease.expires_ts,
            lease.released_ts,
            None if lease.ended_by is None else lease.ended_by.value,
            evidence,
            lease.fencing,
        )
        self._run(_ADD_LEASE, values)

    def holder(self, lease_id: int) -> AgentId | None:
        return next((AgentId(row[0]) for row in self._connection.execute(_HOLDER, (lease_id,))), None)

    def add_mail(self, mail: RebuiltMail) -> None:
        """With its recipients, all of them unread, and what it carries."""
        try:
            self._mail.add(mail, to_json(mail.message.attachments))
        except sqlite3.IntegrityError as broken:
            raise RowsContradict(f"message {mail.message.id} contradicts another: {broken}") from broken

    def add_receipt(self, receipt: ArchivedReceipt) -> bool:
        """In the order in which they were given: the first of each counts. False where nobody got such a message."""
        sql = _READ if receipt.step is ReceiptStep.READ else _ACKNOWLEDGED
        values = {"at": receipt.at, "message": receipt.message_id, "agent": receipt.agent_id}
        return self._connection.execute(sql, values).rowcount == 1

    def add_notice(self, notice: ArchivedOverdueNotice) -> None:
        self._run(_ADD_NOTICE, (notice.message_id, notice.noted_ts, notice.escalation))

    def add_import(self, unit: ImportUnit) -> bool:
        return self._checked(add_import, unit)

    def _checked(self, add: Callable[[sqlite3.Connection, T], bool], one: T) -> bool:
        try:
            return add(self._connection, one)
        except sqlite3.IntegrityError as broken:
            raise RowsContradict(f"two things contradict each other: {broken}") from broken

    def add_commit(self, commit: ArchiveCommit) -> None:
        """Each archive's oldest first."""
        values = (commit.project_id, commit.hexsha, commit.summary, commit.authored_ts, commit.last_seq)
        self._highest_seq = max(self._highest_seq, commit.last_seq)
        self._run(_ADD_COMMIT, values)

    def commit_id(self, project_id: ProjectId, hexsha: str) -> int:
        (commit_id,) = self._connection.execute(_COMMIT_ID, (project_id, hexsha)).fetchone()
        return int(commit_id)

    def add_events(self, events: Iterable[RebuiltEvent]) -> None:
        self._connection.executemany(_ADD_EVENT, map(_event_row, events))

    def sender(self, message_id: MessageId) -> tuple[AgentId, Micros] | None:
        """Who sent the message, and when."""
        found = self._connection.execute(_SENDER, (message_id,))
        return next(((AgentId(row[0]), Micros(row[1])) for row in found), None)

    def was_held(self, message_id: MessageId, agent_id: AgentId) -> bool:
        """Did this copy need its recipient's approval?"""
        row = self._connection.execute(_WAS_HELD, (message_id, agent_id)).fetchone()
        return row is not None and bool(row[0])

    def has_changed(self, message_id: MessageId) -> bool:
        """Was it purged or withdrawn, may it have expired, or was a copy of it held?"""
        return bool((self._connection.execute(_HAS_CHANGED, (message_id,)).fetchone() or (0,))[0])

    def settle(self) -> Tx:
        """Count what follows from all that was added, and set every counter above it. What is given gives out new
        numbers: for what archives still have to be told.
        """
        self._mail.deliver_late(GAP)
        settle_ends(self._connection)
        for statement in (RECOUNT, _LEASES_BY_AGENT, _NOTE_ACTIVITY, _DROP_INDEX):
            self._connection.execute(statement)
        self._connection.execute(_COUNTERS)
        self._connection.execute(_FORGET_SEQUENCES)
        raise_in(self._connection, self._seen())
        begin_feed(self._connection)
        for _, trigger in self._feed_triggers:
            self._connection.execute(trigger)
        return Tx(self._connection, self._clock)

    def _seen(self) -> GivenNumbers:
        """What archives show of the numbers that were given out: some were, and Git never saw them."""
        sequences = {}
        for (table,) in self._connection.execute(_AUTOINCREMENT).fetchall():
            column = "seq" if table == "outbox" else "id"
            (sequences[table],) = self._connection.execute(f"SELECT coalesce(max({column}), 0) FROM {table}").fetchone()
        sequences["outbox"] = max(sequences["outbox"], self._highest_seq)
        delivery, fencing, latest = self._connection.execute(_HIGHEST).fetchone()
        return GivenNumbers(sequences=sequences, counters={"delivery": delivery, "fencing": fencing}, latest=latest)

    def finish(self) -> RebuiltCounts:
        """On disk when this returns. Raises RowsContradict."""
        if broken := self._connection.execute(_BROKEN).fetchmany(1):
            table, row_id, parent, _ = broken[0]
            row = f"row {row_id} of {table}" if row_id is not None else f"a row of {table}"
            raise RowsContradict(f"{row} refers to a row of {parent} that no archive tells of")
        counts = self._connection.execute(_COUNTS).fetchone()
        self._connection.execute("COMMIT")
        self._connection.close()
        for path in (self._path, self._path.parent):
            sync_path(path)
        self._is_finished = True
        return RebuiltCounts(projects=counts[0], agents=counts[1], messages=counts[2])


def _opened(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        for pragma in ("journal_mode=OFF", "synchronous=OFF", "foreign_keys=OFF", f"cache_size=-{_CACHE_KIB}"):
            connection.execute(f"PRAGMA {pragma}")
        add_functions(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _event_row(event: RebuiltEvent) -> Sequence[object]:
    return (
        event.seq,
        event.project_id,
        event.kind.value,
        event.agent_id,
        event.message_id,
        None if event.step is None else event.step.value,
        event.created_ts,
        event.commit_id,
        int(event.is_blind),
    )
