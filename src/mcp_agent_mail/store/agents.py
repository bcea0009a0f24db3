"""Agents at rest."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import AgentId, OutboxSeq, ProjectId
from mcp_agent_mail.domain.agents import (
    SCRATCH_PROGRAM,
    Agent,
    AgentKind,
    AgentStatus,
    AttachmentsPolicy,
    ContactPolicy,
    NewAgent,
)
from mcp_agent_mail.domain.events import ArchiveCommit
from mcp_agent_mail.domain.identity.names import name_key
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.store.engine.port import Connection
from mcp_agent_mail.store.projects import PROJECT_COLUMNS, to_project

_NAMES = (
    "id",
    "project_id",
    "kind",
    "name",
    "program",
    "model",
    "task_description",
    "inception_ts",
    "last_active_ts",
    "profiled_ts",
    "contact_policy",
    "attachments_policy",
    "status",
    "status_note",
    "status_ts",
    "retired_ts",
    "unread_count",
    "open_unread_count",
    "retired_by_operator",
)
_COLUMNS = ", ".join(_NAMES)
_OF_A = ", ".join(f"a.{name}" for name in _NAMES)

_BY_ID = f"SELECT {_COLUMNS} FROM agents WHERE id = ?"
_BY_NAME = f"SELECT {_COLUMNS} FROM agents WHERE project_id = ? AND name_key = ?"
_OF_PROJECT = len(PROJECT_COLUMNS.split(","))
_BY_NAME_AT = f"""
    SELECT {PROJECT_COLUMNS}, {_OF_A}
    FROM projects p CROSS JOIN agents a ON a.project_id = p.id AND a.name_key = ? WHERE p.human_key = ?
"""
_BY_NAMES = f"""
    SELECT {_COLUMNS} FROM agents
    WHERE project_id = ? AND name_key IN (SELECT value FROM json_each(?)) ORDER BY id LIMIT ?
"""
_ACTIVE = """
    SELECT DISTINCT a.project_id, a.id
    FROM json_each(?) asked
    JOIN agents a ON a.id = asked.value ->> 1 AND a.project_id = asked.value ->> 0
    JOIN projects p ON p.id = a.project_id
    WHERE a.retired_ts IS NULL AND p.archived_ts IS NULL
"""
_BY_TOKEN_HASH = f"SELECT {_COLUMNS} FROM agents WHERE token_hash = ?"
_EVERYWHERE = f"""
    SELECT {_OF_A} FROM agents a JOIN projects p ON p.id = a.project_id
    WHERE a.name_key = ? AND p.archived_ts IS NULL
    ORDER BY a.project_id LIMIT ?
"""
_NEWEST_ELSEWHERE = f"""
    SELECT {_OF_A} FROM agents a JOIN projects p ON p.id = a.project_id
    WHERE a.id IN (SELECT id FROM agents ORDER BY id DESC LIMIT ?)
    AND a.project_id <> ? AND a.kind = 'agent' AND a.retired_ts IS NULL AND p.archived_ts IS NULL
    AND a.program <> '{SCRATCH_PROGRAM}'
    ORDER BY a.id DESC LIMIT ?
"""
_LISTED = "project_id = ? AND kind = 'agent' AND (? OR retired_ts IS NULL) AND last_active_ts >= ?"
_LIST = f"SELECT {_COLUMNS} FROM agents WHERE {_LISTED} ORDER BY last_active_ts DESC, id DESC LIMIT ?"
_COUNT = f"SELECT count(*) FROM agents WHERE {_LISTED}"
_RECIPIENT_NAMES = f"""
    SELECT name FROM agents WHERE project_id = ? AND kind <> 'system' AND (retired_ts IS NOT NULL) = ?
    AND program <> '{SCRATCH_PROGRAM}' ORDER BY last_active_ts DESC, id DESC LIMIT ?
"""
_ADD = f"""
    INSERT INTO agents (
        project_id, kind, name, name_key, program, model, task_description,
        inception_ts, last_active_ts, profiled_ts, attachments_policy, token_hash
    ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    RETURNING {_COLUMNS}
"""
_UPDATE_PROFILE = f"""
    UPDATE agents SET program = ?, model = ?, task_description = ?, attachments_policy = ?,
        profiled_ts = ?, last_active_ts = max(last_active_ts, ?)
    WHERE id = ? RETURNING {_COLUMNS}
"""
_SET_STATUS = f"UPDATE agents SET status = ?, status_note = ?, status_ts = ? WHERE id = ? RETURNING {_COLUMNS}"
_SET_RETIRED = f"""
    UPDATE agents SET retired_ts = ?, retired_by_operator = ?, profiled_ts = ? WHERE id = ? RETURNING {_COLUMNS}
"""
_SET_CONTACT_POLICY = f"UPDATE agents SET contact_policy = ?, profiled_ts = ? WHERE id = ? RETURNING {_COLUMNS}"
_HAS_TOKEN = "SELECT 1 FROM agents WHERE id = ? AND token_hash IS NOT NULL"
_HAS_MEMBERS = "SELECT 1 FROM agents WHERE project_id = ? AND kind = 'agent' AND token_hash IS NOT NULL LIMIT 1"
_SET_TOKEN_HASH = "UPDATE agents SET token_hash = ? WHERE id = ?"
_AHEAD = 60 * SECOND
"""Notes of calls are written within seconds: what is so much later than one was written by a clock that was ahead."""
_TOUCH = f"""
    UPDATE agents
    SET last_active_ts = CASE WHEN last_active_ts > ?1 + {_AHEAD} THEN ?1 ELSE max(last_active_ts, ?1) END
    WHERE id = ?2
"""
# Of mail that nobody has got yet or that is for few eyes, of what came of a blind copy, and of consent no commit tells.
_RECENT_COMMITS = """
    SELECT DISTINCT c.id, c.project_id, c.hexsha, c.summary, c.authored_ts, c.last_seq
    FROM outbox o JOIN commits c ON c.id = o.commit_id
    JOIN agents a ON a.id = o.agent_id AND a.project_id = c.project_id
    WHERE o.agent_id = ? AND CASE o.kind
        WHEN 'mail' THEN EXISTS (
            SELECT 1 FROM message_projects mp JOIN messages m ON m.id = mp.message_id
            WHERE mp.project_id = c.project_id AND mp.message_id = o.message_id AND m.sender_id = o.agent_id)
        WHEN 'receipt' THEN EXISTS (
            SELECT 1 FROM recipients r
            JOIN message_projects mp ON mp.project_id = c.project_id AND mp.message_id = r.message_id
            WHERE r.message_id = o.message_id AND r.agent_id = o.agent_id AND r.kind <> 'bcc')
        WHEN 'contact' THEN 0 ELSE 1 END
    ORDER BY o.commit_id DESC LIMIT ?
"""

_Row = tuple[
    *tuple[AgentId, ProjectId, str, str, str, str, str, Micros, Micros, Micros, str, str],
    *tuple[str, str | None, Micros | None, Micros | None, int, int, int],
]

# Every call makes an agent of a row, some make thousands: a look into a dictionary is cheaper than asking the enum.
_KINDS = {one.value: one for one in AgentKind}
_CONTACT_POLICIES = {one.value: one for one in ContactPolicy}
_ATTACHMENTS_POLICIES = {one.value: one for one in AttachmentsPolicy}
_STATUSES = {one.value: one for one in AgentStatus}


def _agent(row: _Row) -> Agent:
    return Agent(
        id=row[0],
        project_id=row[1],
        kind=_KINDS[row[2]],
        name=row[3],
        program=row[4],
        model=row[5],
        task_description=row[6],
        inception_ts=row[7],
        last_active_ts=row[8],
        profiled_ts=row[9],
        contact_policy=_CONTACT_POLICIES[row[10]],
        attachments_policy=_ATTACHMENTS_POLICIES[row[11]],
        status=_STATUSES[row[12]],
        status_note=row[13],
        status_ts=row[14],
        retired_ts=row[15],
        unread_count=row[16],
        open_unread_count=row[17],
        retired_by_operator=bool(row[18]),
    )


_AT_ONCE = 500
_IDS_OF_PROJECT = "SELECT id FROM agents WHERE project_id = ? AND id > ? ORDER BY id LIMIT ?"


class Agents:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def _find(self, sql: str, *key: object) -> Agent | None:
        row = self._connection.execute(sql, key).fetchone()
        return None if row is None else _agent(row)

    def find(self, agent_id: AgentId) -> Agent | None:
        return self._find(_BY_ID, agent_id)

    def find_by_name(self, project_id: ProjectId, name: str) -> Agent | None:
        """Of any kind, retired or not; letter case and outer blanks of `name` do not matter."""
        return self._find(_BY_NAME, project_id, name_key(name))

    def find_by_name_at(self, human_key: str, name: str) -> tuple[Project, Agent] | None:
        """As `find_by_name`, in the project of this canonical path, and with it: one statement."""
        row = self._connection.execute(_BY_NAME_AT, (name_key(name), human_key)).fetchone()
        if row is None:
            return None
        return to_project(row[:_OF_PROJECT]), _agent(row[_OF_PROJECT:])

    def find_by_names(self, project_id: ProjectId, names: Collection[str]) -> dict[str, Agent]:
        """Those that exist of any kind, by `name_key` of the name asked for: one statement, however many names."""
        if len(names) == 1:
            (name,) = names
            agent = self.find_by_name(project_id, name)
            return {} if agent is None else {name_key(name): agent}
        keys = json.dumps([name_key(name) for name in names])
        rows = self._connection.execute(_BY_NAMES, (project_id, keys, len(names)))
        return {name_key(row[3]): _agent(row) for row in rows}

    def each(self, project_id: ProjectId) -> Iterator[Agent]:
        """Every agent of the project, Human, System and retired ones too, by id."""
        after = 0
        while ids := self._connection.execute(_IDS_OF_PROJECT, (project_id, after, _AT_ONCE)).fetchall():
            for (agent_id,) in ids:
                agent = self.find(AgentId(agent_id))
                assert agent is not None, agent_id
                yield agent
            (after,) = ids[-1]

    def find_by_token_hash(self, token_hash: bytes) -> Agent | None:
        return self._find(_BY_TOKEN_HASH, token_hash)

    def find_everywhere(self, name: str, limit: int = 50) -> list[Agent]:
        """The agents of this name in all projects that are not archived, oldest project first."""
        return [_agent(row) for row in self._connection.execute(_EVERYWHERE, (name_key(name), limit))]

    def newest_elsewhere(self, project_id: ProjectId, limit: int = 300) -> list[Agent]:
        """Of the `limit` agents that were registered last those of other projects, the newest first: for "did you
        mean". Neither retired ones nor those of archived projects.
        """
        rows = self._connection.execute(_NEWEST_ELSEWHERE, (limit, project_id, limit))
        return [_agent(row) for row in rows]

    def list_(
        self, project_id: ProjectId, *, include_retired: bool = False, active_since: int = 0, limit: int
    ) -> list[Agent]:
        """Registered agents (never `Human` or `System`), last active first; `active_since` is inclusive."""
        rows = self._connection.execute(_LIST, (project_id, include_retired, active_since, limit))
        return [_agent(row) for row in rows]

    def count(self, project_id: ProjectId, *, include_retired: bool = False, active_since: int = 0) -> int:
        """How many `list_` would give without a limit."""
        (number,) = self._connection.execute(_COUNT, (project_id, include_retired, active_since)).fetchone()
        return int(number)

    def names(self, project_id: ProjectId, *, is_retired: bool = False, limit: int = 300) -> list[str]:
        """The names one may mean, `Human` too, last active first: candidates for "did you mean". Those of retired
        agents are a list of their own; scratch agents are in neither.

        Comparing 300 takes 3 ms, and may happen on the writer's thread.
        """
        return [name for (name,) in self._connection.execute(_RECIPIENT_NAMES, (project_id, is_retired, limit))]

    def add(self, new: NewAgent, now: Micros) -> Agent:
        """Store a new agent. Look for its name first, in the same unit: a second one of the name is an
        IntegrityError.
        """
        values = (
            new.project_id,
            new.kind,
            new.name,
            name_key(new.name),
            new.program,
            new.model,
            new.task_description,
            now,
            now,
            now,
            new.attachments_policy,
            new.token_hash,
        )
        return _agent(self._connection.execute(_ADD, values).fetchone())

    def update_profile(
        self,
        agent_id: AgentId,
        *,
        program: str,
        model: str,
        task_description: str,
        attachments_policy: AttachmentsPolicy,
        now: Micros,
    ) -> Agent:
        values = (program, model, task_description, attachments_policy, now, now, agent_id)
        return _agent(self._connection.execute(_UPDATE_PROFILE, values).fetchone())

    def set_status(self, agent_id: AgentId, status: AgentStatus, note: str | None, now: Micros) -> Agent:
        return _agent(self._connection.execute(_SET_STATUS, (status, note, now, agent_id)).fetchone())

    def set_retired(self, agent_id: AgentId, at: Micros | None, now: Micros, *, by_operator: bool = False) -> Agent:
        """Retire the agent at `at`, or bring it back with None."""
        values = (at, by_operator and at is not None, now, agent_id)
        return _agent(self._connection.execute(_SET_RETIRED, values).fetchone())

    def active(self, asked: Collection[tuple[ProjectId, AgentId]]) -> set[tuple[ProjectId, AgentId]]:
        """Those of the pairs asked for that are an agent, not retired, of a project that is not archived."""
        rows = self._connection.execute(_ACTIVE, (json.dumps(list(asked)),))
        return {(ProjectId(project_id), AgentId(agent_id)) for project_id, agent_id in rows}

    def set_contact_policy(self, agent_id: AgentId, policy: ContactPolicy, now: Micros) -> Agent:
        return _agent(self._connection.execute(_SET_CONTACT_POLICY, (policy.value, now, agent_id)).fetchone())

    def set_token_hash(self, agent_id: AgentId, token_hash: bytes) -> None:
        self._connection.execute(_SET_TOKEN_HASH, (token_hash, agent_id))

    def has_token(self, agent_id: AgentId) -> bool:
        """Whether the name belongs to somebody: a name that others spoke of and nobody has registered has no token."""
        return self._connection.execute(_HAS_TOKEN, (agent_id,)).fetchone() is not None

    def has_members(self, project_id: ProjectId) -> bool:
        """Whether anybody has registered in the project, retired since or not."""
        return self._connection.execute(_HAS_MEMBERS, (project_id,)).fetchone() is not None

    def touch_many(self, activity: Iterable[tuple[AgentId, Micros]]) -> None:
        """Note when agents were last active; an older time than the stored one changes nothing, unless a clock
        that was ahead has written that one.
        """
        self._connection.executemany(_TOUCH, [(at, agent_id) for agent_id, at in activity])

    def recent_commits(self, agent_id: AgentId, limit: int) -> list[ArchiveCommit]:
        """Commits of its own project with an event that it caused and every agent there may know of, newest first."""
        rows = self._connection.execute(_RECENT_COMMITS, (agent_id, limit))
        return [
            ArchiveCommit(
                project_id=ProjectId(project_id),
                hexsha=hexsha,
                summary=summary,
                authored_ts=Micros(authored_ts),
                last_seq=OutboxSeq(last_seq),
            )
            for _, project_id, hexsha, summary, authored_ts, last_seq in rows
        ]
